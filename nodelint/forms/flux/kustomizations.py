"""Change folders as Flux Kustomizations do: fill in the variables of `postBuild`, and apply patches.

https://fluxcd.io/flux/components/kustomize/kustomizations/#post-build-variable-substitution
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from nodelint.base.budget import MOST_BYTES, BudgetSpent, WorkBudget
from nodelint.base.tuples import NamedTuple
from nodelint.edits import NotEditable, find_steps, member_at, set_value
from nodelint.edits.collections import members_of, root_of
from nodelint.files import safe_read
from nodelint.files.file_keywords import OBJECTS_WITH_VALUES, holds_any
from nodelint.files.gate import gate
from nodelint.forms.flux.charts import list_values_objects
from nodelint.forms.interface import FormRun
from nodelint.forms.lib.gotemplate.evaluate import Filled, Segment
from nodelint.forms.lib.gotemplate.syntax import Code
from nodelint.forms.lib.text_map import Back, Uses, make_built
from nodelint.forms.map_edits import change_value, find_changes
from nodelint.forms.registry import KUSTOMIZE
from nodelint.forms.rendered import Built, LedEdits, lead_through
from nodelint.forms.requests import ApplyFolder
from nodelint.model.finding import Edit, Withheld
from nodelint.model.gap import Gap
from nodelint.text import UNKNOWN, Node, Source, SourceText
from nodelint.text.missing import items_of, text_of
from nodelint.text.reading import nodes_of

FLUX = "kustomize.toolkit.fluxcd.io"
_POST_BUILD = "postBuild"
_KIND = re.compile(r"(?m)^kind:[ \t]*[\"']?Kustomization\b")
_OFF = f"{FLUX}/substitute: disabled"
_VARIABLE = re.compile(r"(?<!\$)\$\{([A-Za-z_]\w*)(?:(:?[-=])([^{}\n]*))?\}")
_NUMBER = r"[-+]?[0-9][0-9_]*(?:\.[0-9]*)?(?:e[-+]?[0-9]+)?"
_NO_TEXT = re.compile(rf"(?i:true|false|yes|no|on|off|null|~|{_NUMBER}|[\[{{].*)?")
"""Text that YAML without quotes does not read as a string: kustomize removes the quotes around a variable."""
_SAME = ("patches", "namePrefix", "nameSuffix", "components")
"""Fields of a Kustomization that kustomize has by the same name."""
_OLDER = ("patchesStrategicMerge", "patchesJson6902")
"""Fields of v1beta2 with whole objects where kustomize has texts. They are not supported."""
_LARGEST = 4 << 20
_MOST_LEVELS = 64


class FluxKustomization(NamedTuple):
    """A Flux Kustomization.

    - `node`: the object.
    - `folder`: the absolute path of the folder that it applies.
    - `values`: its variables.
    - `open`: there may be more variables from outside of the repository, such as from a Secret.
    """

    node: Node
    folder: str
    values: Mapping[str, Node]
    open: bool

    @property
    def cluster(self) -> str:
        """Return the file and the name of the object: it differs between clusters."""
        return f"{os.path.abspath(self.node.source.path)}:{text_of(self.node.find('metadata', 'name'))}"

    @property
    def label(self) -> str:
        """Return the path of the object's file, relative to the folder that the object applies."""
        return os.path.relpath(self.node.source.path, self.folder).replace(os.sep, "/")

    @property
    def files(self) -> tuple[SourceText, ...]:
        """Return the files with values of its variables. The file of the object is the first."""
        return tuple({id(s): s for s in (self.node.source, *(node.source for node in self.values.values()))}.values())


def read_objects_with_values(sources: Sequence[Source], seen: set[str]) -> list[Source]:
    """Return the files with the ConfigMaps and Secrets from which Flux objects take variables and values.

    `seen` are the paths of all requested files.
    """
    have = {os.path.abspath(source.path) for source in sources}
    names = {
        name.encode() for object_root in list_kustomizations(sources) for _, name in _list_config_maps(object_root)
    }
    names.update(name.encode() for name in list_values_objects(sources))
    found = []
    for path in sorted(seen) if names else ():
        if path.endswith((".yaml", ".yml")) and os.path.abspath(path) not in have:
            try:
                data = gate.read_listed(path, _LARGEST)
            except OSError:
                continue
            if holds_any(data, OBJECTS_WITH_VALUES) and holds_any(data, names):
                found.append(Source.from_bytes(path.replace(os.sep, "/"), data))
    return found


def apply_kustomizations(run: FormRun, unbuilt: list[Gap]) -> Iterator[Built]:
    """Yield the overlays and files in which Kustomizations fill in a variable, or that they patch.

    Kustomizations that cannot be rendered are added to `unbuilt`.
    """
    sources = run.sources
    uses: Uses = {}
    for kustomization in _find_kustomizations(sources):
        targets = list(_list_targets(kustomization, sources, run.built))
        patched = _build_patched(kustomization, run) if _changes_objects(kustomization.node) else None
        if isinstance(patched, Gap):
            unbuilt.append(patched)
            patched = None
        if patched is not None:
            targets = [(patched.source, patched)]
        try:
            made = [(overlay, _fill(kustomization, source, uses)) for source, overlay in targets]
        except BudgetSpent as limit:
            unbuilt.append(_describe_unfilled(kustomization, f"not built: {limit}"))
            continue
        unbuilt += [_describe_unfilled(kustomization) for _, back in made if back is None]
        if any(back.values_filled for _, back in made if back is not None):
            yield from (_make_built(kustomization, back, overlay) for overlay, back in made if back is not None)
        elif patched is not None:
            yield patched


def _build_patched(kustomization: FluxKustomization, run: FormRun) -> Built | Gap | None:
    """Return the rendered manifest of a Kustomization's folder with its patches, or the gap if rendering failed.

    None if it has no Karpenter object.
    """
    node = kustomization.node
    made = run.apply(ApplyFolder(node, kustomization.folder, _list_fields(node)))
    if isinstance(made, Built):
        return made._replace(cluster=kustomization.cluster, label=kustomization.label)
    return made


def _changes_objects(root: Node) -> bool:
    """Return whether a Flux Kustomization has fields that change the objects of its folder and are supported."""
    spec = root.get("spec")
    if spec is None or any(spec.get(field) is not None for field in _OLDER):
        return False
    fields = (*_SAME, "targetNamespace", "commonMetadata")
    return any(spec.get(field) is not None for field in fields)


def _list_fields(root: Node) -> dict[str, Node]:
    """Return the equivalent fields of a kustomization, by their kustomize names."""
    spec = root.get("spec")
    named: dict[str, tuple[str, ...]] = {name: (name,) for name in _SAME}
    named |= {"namespace": ("targetNamespace",), "commonAnnotations": ("commonMetadata", "annotations")}
    named |= {"labels": ("commonMetadata", "labels")}
    values = {name: spec.find(*path) for name, path in named.items()} if spec is not None else {}
    return {name: value for name, value in values.items() if value is not None}


def _describe_unfilled(
    kustomization: FluxKustomization, reason: str = "what its variables make of it is no YAML"
) -> Gap:
    """Return the gap for a Kustomization whose objects cannot be rendered with its variables."""
    at = kustomization.node.find("spec", _POST_BUILD) or kustomization.node
    return Gap(at, "overlay", reason, subject=kustomization.folder)


def list_kustomizations(sources: Sequence[Source]) -> Iterator[Node]:
    """Yield the Flux Kustomizations in some files."""
    for source in sources:
        if _KIND.search(source.text) is not None and FLUX in source.text and not source.may_be_template:
            for root in nodes_of(source):
                if is_kustomization(root):
                    yield root


def is_kustomization(root: Node) -> bool:
    """Return whether an object is a Kustomization of Flux."""
    return text_of(root.get("kind")) == "Kustomization" and text_of(root.get("apiVersion")).startswith(FLUX)


def _list_config_maps(root: Node) -> Iterator[tuple[Node, str]]:
    """Yield the references to ConfigMaps from which a Kustomization takes variables, each with its name."""
    for reference in items_of(root.find("spec", _POST_BUILD, "substituteFrom")):
        name = text_of(reference.get("name"))
        if text_of(reference.get("kind")) == "ConfigMap" and name:
            yield reference, name


def _find_kustomizations(sources: Sequence[Source]) -> Iterator[FluxKustomization]:
    for root in list_kustomizations(sources):
        folder = find_folder(root)
        if folder is None:
            continue
        values: dict[str, Node] = {}
        named = dict(_find_config_maps(root, sources))
        for data in named.values():
            values.update(_entries(data))
        values.update(_entries(root.find("spec", _POST_BUILD, "substitute")))
        references = root.find("spec", _POST_BUILD, "substituteFrom")
        count = len(references.items) if references is not None else 0
        yield FluxKustomization(root, folder, values, len(named) < count)


def find_folder(root: Node) -> str | None:
    """Return the folder that a Kustomization applies. None if it does not exist.

    Its path counts from the top of the repository. If the repository stands in a folder of another one, the path
    counts from that folder, so the folders above the file are tried as well.
    """
    path = os.path.normpath(text_of(root.find("spec", "path")).lstrip("/") or ".")
    around = os.path.dirname(os.path.abspath(root.source.path))
    home = safe_read.find_top(around)
    above = [around]
    while above[-1] not in (home, os.path.dirname(above[-1])) and len(above) < _MOST_LEVELS:
        above.append(os.path.dirname(above[-1]))
    for top in dict.fromkeys(([home] if home is not None else []) + above[::-1]):
        folder = os.path.normpath(os.path.join(top, path))
        if gate.is_folder(folder) and safe_read.is_inside(folder, top):
            return folder
    named = root.find("spec", "path")
    if named is not None and home is not None:
        gate.notes_refusal(os.path.join(home, path), text_of(named), named.source, named.start)
    return None


def _find_config_maps(root: Node, sources: Sequence[Source]) -> Iterator[tuple[int, Node]]:
    """Yield the data of the ConfigMaps that a Kustomization names, by the ids of the references.

    Of several ConfigMaps with a name, the nearest counts. One of another cluster does not count.
    """
    around = os.path.dirname(os.path.abspath(root.source.path))
    homes = {os.path.dirname(os.path.abspath(other.source.path)) for other in list_kustomizations(sources)}
    for reference, name in _list_config_maps(root):
        found: dict[int, list[Node]] = {}
        for source in sources:
            if name not in source.text or "ConfigMap" not in source.text or source.may_be_template:
                continue
            if _is_of_another_cluster(os.path.dirname(os.path.abspath(source.path)), around, homes):
                continue
            common = len(os.path.commonpath([around, os.path.dirname(os.path.abspath(source.path))]))
            for other in nodes_of(source):
                data = other.get("data")
                if (
                    text_of(other.get("kind")) == "ConfigMap"
                    and text_of(other.find("metadata", "name")) == name
                    and data
                ):
                    found.setdefault(common, []).append(data)
        nearest = found[max(found)] if found else []
        if len(nearest) == 1:
            yield id(reference), nearest[0]


def _is_of_another_cluster(folder: str, around: str, homes: Collection[str]) -> bool:
    """Return whether a folder is within one that has Kustomizations of its own, and that is not around `around`.

    Clusters of one repository have objects of the same names, each in a folder of its own.
    """
    return any(
        safe_read.is_below(folder, home)
        and not safe_read.is_below(around, home)
        and not safe_read.is_below(home, around)
        for home in homes
    )


def _entries(mapping: Node | None) -> dict[str, Node]:
    """Return the scalars of a mapping by name. Scalars with a variable or a placeholder are left out."""
    entries = mapping.entries if mapping is not None else []
    return {
        entry.name: entry.value
        for entry in entries
        if entry.name is not None and entry.value.kind == "scalar" and _is_plain(entry.value)
    }


def _is_plain(value: Node) -> bool:
    return value.value is not UNKNOWN and "\n" not in value.unquoted and "$" not in value.unquoted


def _list_targets(
    kustomization: FluxKustomization, sources: Sequence[Source], overlays: Sequence[Built]
) -> Iterator[tuple[Source, Built | None]]:
    """Yield the texts that a Kustomization applies: of an overlay, or the files of a folder without one."""
    folder = kustomization.folder
    inside = os.path.join(folder, "")
    has_own = any(gate.is_file(os.path.join(folder, name)) for name in KUSTOMIZE.names)
    parts: set[str] = set()
    for overlay in overlays:
        if overlay.cluster == folder or (not has_own and overlay.cluster.startswith(inside)):
            yield overlay.source, overlay
        parts.update(overlay.parts)
    for source in sources if not has_own else ():
        path = os.path.abspath(source.path)
        if path.startswith(inside) and path not in parts and not source.may_be_template and _has_objects(source):
            yield source, None


def _has_objects(source: Source) -> bool:
    return source.path.endswith((".yaml", ".yml")) and "kind:" in source.text and not source.part


class _FluxBack(Back):
    """The source map of a text with Flux variables filled in."""

    def __init__(self, template: Source, result: Source, filled: Filled, uses: Uses) -> None:
        super().__init__(template, result, SourceText("", ""), filled, uses)
        self.default = "the value is written here"
        self.values_filled = filled.values
        self.overlay: Built | None = None

    def _lead_values(self, after: Source) -> LedEdits | Withheld:
        """Return the edits of files that make a change of the rendered text: of the text or of a variable.

        Return a `Withheld` if there are none.
        """
        made: list[Edit] = []
        direct: list[Edit] = []
        shared = False
        for node, new in find_changes(self.result, after):
            value = self.value(node)
            try:
                if node.kind != "scalar":
                    direct += change_value(self._find_in_template(node), new, node)
                    continue
                if value is None or value.kind != "scalar" or not isinstance(new, str | int) or isinstance(new, bool):
                    return Withheld("computed", self.find_origin(node).at)
                made += set_value(value, str(new))  # a variable is a string
            except NotEditable as error:
                return Withheld("not-editable", self.find_origin(node).at, str(error))
            shared = shared or len(self._uses.get(id(value), ())) > 1
        further = self._lead_further(direct) if direct else LedEdits(())
        if isinstance(further, Withheld):
            return further
        if not (made or direct):
            return Withheld("other-result")
        return LedEdits(list(dict.fromkeys([*made, *further.edits])), shared or further.shared)

    def _lead_further(self, edits: Sequence[Edit]) -> LedEdits | Withheld:
        """Return edits of the text with variables as edits of files."""
        return LedEdits(edits) if self.overlay is None else self.overlay.lead_edits(edits)

    def _find_in_template(self, node: Node) -> Node:
        """Return the list or mapping in the text with variables from which a node of the rendered text comes."""
        documents = zip(self.result.documents, self.template.documents, strict=False)
        root = root_of(node)
        place = next((other.root for own, other in documents if own.root is root), None)
        for step in find_steps(node):
            place = member_at(place, step) if place is not None and step < len(members_of(place)) else None
        if place is None or place.kind != node.kind:
            raise NotEditable("a variable makes a part of the value: edit it by hand")
        return place


def _fill(kustomization: FluxKustomization, source: Source, uses: Uses) -> _FluxBack | None:
    """Return a text with the variables of a Kustomization filled in.

    None if it cannot be read. Raise `BudgetSpent`.
    """
    text = source.text
    budget = WorkBudget(size=MOST_BYTES + len(text), what="its variables")
    segments: list[Segment] = []
    pieces: list[str] = []
    length, done, filled = 0, 0, 0

    def add(piece: str, start: int, code: Code | None = None, node: Node | None = None) -> None:
        nonlocal length
        if piece:
            budget.spend(1, len(piece))
            segments.append(Segment(length, start, code, node))
            pieces.append(piece)
            length += len(piece)

    # Flux substitutes variables only if it has a value for at least one.
    for match in _VARIABLE.finditer(text) if kustomization.values and _OFF not in text else ():
        value = kustomization.values.get(match[1])
        start, end = match.span()
        if value is None and (kustomization.open or not match[2]):
            continue  # Flux inserts nothing for an unknown variable, but its value may be defined elsewhere
        shown = value.unquoted if value is not None else match[3]
        is_quoted = text[start - 1 : start] in ("'", '"') and text[start - 1] == text[end : end + 1]
        if is_quoted and _NO_TEXT.fullmatch(shown):
            start, end = start - 1, end + 1
        add(text[done:start], done)
        if value is not None:
            uses.setdefault(id(value), set()).add((id(source), start))
            add(shown, start, Code(start, end, start, end, text[start:end]), value)
        else:
            add(shown, match.start(3))
        filled, done = filled + 1, end
    add(text[done:], done)
    result = Source.from_text(source.path, "".join(pieces), source.also)
    result.part = source.part
    if len(result.problems) > len(source.problems):
        return None
    return _FluxBack(source, result, Filled(result.text, tuple(segments), filled, 0), uses)


def _make_built(kustomization: FluxKustomization, back: _FluxBack, overlay: Built | None) -> Built:
    root = kustomization.node
    built = make_built((back,), root.source, (), fixing=True)
    back.overlay = overlay
    if overlay is not None:
        built = lead_through(built, overlay)._replace(find_object=overlay.find_object)
    files = dict.fromkeys((*built.parts, *(os.path.abspath(source.path) for source in kustomization.files)))
    return built._replace(
        parts=tuple(files),
        replaces=built.replaces if overlay is None else overlay.replaces,
        cluster=kustomization.cluster,
        label=kustomization.label,
        by_default=False,
        lost=overlay.lost if overlay is not None else (),
        unmatched=overlay.unmatched if overlay is not None else (),
        problems=overlay.problems if overlay is not None else (),
    )
