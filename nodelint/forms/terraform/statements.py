"""Find releases that Terraform files state: by Helm charts, modules, variables with their defaults, and locals."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.forms.registry import TERRAFORM
from nodelint.forms.terraform.hcl import Token, words_of
from nodelint.model.evidence import DEFAULT, LOOSE, STATED, About, Evidence, match_chart, stated
from nodelint.text import Source

if TYPE_CHECKING:
    from nodelint.forms.terraform.hcltree import HclExpression

_JSON = (".tf.json", ".tofu.json")
MODULE_FILES = (".tf", ".tofu", ".tfvars", *_JSON)
_KARPENTER = r"(?i)karpenter[_-]?(?:(?:helm|chart|release|crd|controller|app|addon|image)[_-]?)*(?:version|tag)"
_KUBERNETES = r"(?:(?:eks|k8s|kubernetes|cluster)[_-])+version"
_HOLDERS = r"karpenter(?:_helm_config|_helm|_config|_addon|_values|_chart)?"
_PINS = ("chart_version", "version", "targetRevision")

# the most chained references: a local to a variable, and little more
_DEEPEST = 5

_Key = tuple[str, str]
"""The key of a variable or local: `var` or `local`, and its name."""


class Assigned(NamedTuple):
    """An assignment `key = value`.

    - `blocks`: the words of the blocks around it.
    - `block`: the number of the innermost block.
    - `at`: the offset of its value.
    - `text`: its text if it is a literal.
    - `refers`: the variable or local to which it refers.
    """

    blocks: tuple[tuple[str, ...], ...]
    block: int
    key: str
    at: int
    text: str | None
    refers: _Key | None


class Reference(NamedTuple):
    """A version that a variable or a local of a module states. `path` is a file in the folder of the module."""

    about: About
    path: str
    to: _Key


def assigned(text: str) -> Iterator[Assigned]:
    """Yield all assignments of an HCL text, with the words of the blocks and objects around each."""
    tokens = words_of(text).tokens
    around: list[tuple[tuple[str, ...], int]] = []
    words: list[str] = []
    for index, token in enumerate(tokens):
        kind = token.kind
        if kind in ("{", "[", "("):
            around.append((tuple(words), index))
            words = []
        elif kind in ("}", "]", ")"):
            if around:
                around.pop()
            words = []
        elif kind in ("nl", ","):
            words = []
        elif kind in ("id", "str"):
            words.append(text[token.start : token.end].strip('"'))
        elif kind in ("=", ":") and len(words) == 1 and index + 1 < len(tokens):
            literal, refers = _value(text, tokens, index + 1)
            if literal is not None or refers is not None:
                blocks = tuple(block for block, _ in around)
                yield Assigned(
                    blocks, around[-1][1] if around else -1, words[0], tokens[index + 1].start, literal, refers
                )
        elif kind not in ("=", ":"):
            words.append(kind)


def _list_assigned(path: str, text: str) -> Iterator[Assigned]:
    """Yield all assignments of a file of a module, in either syntax."""
    if not path.endswith(_JSON):
        yield from assigned(text)
        return
    from nodelint.forms.terraform.json_syntax import read_file
    from nodelint.text import Source

    blocks = read_file(Source(path, text)).blocks
    pending: list[tuple[tuple[tuple[str, ...], ...], HclExpression]] = [
        (((block.kind, *block.names),), block.body) for block in blocks if block.body is not None
    ]
    while pending:
        around, body = pending.pop()
        for key, value in zip(body.parts[::2], body.parts[1::2], strict=True):
            if value.kind == "object":
                pending.append(((*around, (str(key.value),)), value))
                continue
            through = re.fullmatch(r'"\$\{(var|local)\.([\w-]+)\}"', text[value.start : value.end])
            literal = str(value.value) if value.kind == "literal" else None
            if literal is not None or through is not None:
                refers = (through[1], through[2]) if through is not None else None
                yield Assigned(around, body.start, str(key.value), value.start, literal, refers)


def _value(text: str, tokens: list[Token], index: int) -> tuple[str | None, _Key | None]:
    """Return a literal, or the variable or local that is the whole value. Two None for other expressions."""
    first = tokens[index]

    def ends(at: int) -> bool:
        return at >= len(tokens) or tokens[at].kind in ("nl", ",", "}")

    if first.kind in ("str", "num") and ends(index + 1):
        written = text[first.start : first.end].strip('"')
        if first.kind == "num" and "." in written:
            written = written.rstrip("0").rstrip(".")  # Terraform turns the number 1.30 into the string "1.3"
        through = re.fullmatch(r"\$\{(var|local)\.([\w-]+)\}", written)
        return (None, (through[1], through[2])) if through else (written, None)
    if first.kind == "id" and ends(index + 3) and index + 2 < len(tokens) and tokens[index + 1].kind == ".":
        holder = text[first.start : first.end]
        if holder in ("var", "local") and tokens[index + 2].kind == "id":
            return None, (holder, text[tokens[index + 2].start : tokens[index + 2].end])
    return None, None


class Module:
    """The releases that a Terraform file states, directly or by references to variables and locals."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.evidence: list[Evidence] = []
        self.references: list[Reference] = []
        found = list(_list_assigned(path, text))
        blocks: dict[int, dict[str, Assigned]] = {}
        for item in found:
            blocks.setdefault(item.block, {})[item.key] = item
        for item in found:
            for about, by, weight in _states(item, blocks[item.block]):
                self._take(item, about, by, weight)
            if item.key == "repository" and _is_unpinned_old_chart(item, blocks[item.block]):
                line = text.count("\n", 0, item.at) + 1
                found_here = stated("karpenter", _NEWEST_OF_OLD_REPOSITORY, path, line, _OLD_REPOSITORY, STATED)
                self.evidence += [found_here] if found_here else []
        if "blueprints-addons" in text and not path.endswith(_JSON):
            from nodelint.forms.terraform.addon_releases import addon_releases

            self.evidence += addon_releases(path, text)

    def _take(self, assigned: Assigned, about: About, by: str, weight: int) -> None:
        if weight == DEFAULT and _is_called(self.path):
            weight = LOOSE
        if assigned.refers is not None:
            self.references.append(Reference(about, self.path, assigned.refers))
        elif assigned.text is not None:
            line = self.text.count("\n", 0, assigned.at) + 1
            if found := stated(about, assigned.text, self.path, line, by, weight):
                self.evidence.append(found)


_OLD_REPOSITORY, _NEWEST_OF_OLD_REPOSITORY = "charts.karpenter.sh", "0.16.3"
"""The chart repository before 0.17, and its newest release. Newer releases are in an OCI registry."""


def _is_unpinned_old_chart(repository: Assigned, block: dict[str, Assigned]) -> bool:
    """Return whether a block installs the newest chart of the old repository."""
    chart = block.get("chart")
    return (
        "version" not in block
        and chart is not None
        and chart.text == "karpenter"
        and _OLD_REPOSITORY in (repository.text or "")
    )


def _is_called(path: str) -> bool:
    """Return whether a file belongs to a module that others call, so that they override its defaults."""
    return "modules" in path.split("/")


def _states(assigned: Assigned, variables: dict[str, Assigned]) -> Iterator[tuple[About, str, int]]:
    """Yield what an assignment concerns (`karpenter` or `kubernetes`), its description, and its weight."""
    block = assigned.blocks[-1] if assigned.blocks else ()
    name = assigned.key
    if block == (assigned.text,):
        return  # an entry in a table of versions: another line chooses
    if block[:1] == ("variable",) and len(block) == 2:
        if assigned.key != "default" or len(assigned.blocks) > 1:
            return
        name = block[1]
        by, weight = f"the default of var.{name}", DEFAULT
    else:
        by, weight = (f"module.{block[1]}" if block[:1] == ("module",) and len(block) == 2 else name), STATED
    if re.fullmatch(_KARPENTER, name):
        yield "karpenter", by, DEFAULT if "crd" in name.lower() else weight
    elif re.fullmatch(_KUBERNETES, name):
        yield "kubernetes", by, weight
    elif block[:2] == ("resource", "aws_eks_cluster") and name == "version":
        yield "kubernetes", "the aws_eks_cluster", STATED
    elif name in _PINS and (about_crds := _installs(block, variables)) is not None:
        if block[:2] == ("resource", "helm_release"):
            by = "a helm_release"
        elif len(block) == 1:
            by = block[0]
        yield "karpenter", by, DEFAULT if about_crds else STATED
    elif name == "karpenter" and block and "version" in block[0].lower():
        yield "karpenter", block[0], weight


def _installs(block: tuple[str, ...], variables: dict[str, Assigned]) -> bool | None:
    """Return whether a block installs the chart of the CRDs (True) or of the controller (False). None for neither."""
    chart = variables.get("chart") or variables.get("chart_name")
    if chart is not None and chart.text is not None:
        found = match_chart(chart.text)
        return None if found is None else found[1] is not None
    if block[:2] == ("resource", "helm_release"):
        repository, name = variables.get("repository"), variables.get("name")
        if repository is not None and repository.text is not None and "karpenter" not in repository.text:
            return None
        return {"karpenter": False, "karpenter-crd": True}.get(name.text or "") if name is not None else None
    return False if len(block) == 1 and re.fullmatch(_HOLDERS, block[0]) else None


def resolved(references: Iterable[Reference], read: Callable[[str], str | None]) -> Iterator[Evidence]:
    """Yield the releases that references to variables and locals lead to, in the files of the same folder.

    `read` returns the text of a file, None if it cannot be read.
    """
    modules: dict[str, dict[_Key, list[tuple[str, str, Assigned]]]] = {}
    for reference in dict.fromkeys(references):
        folder = os.path.dirname(reference.path)
        if folder not in modules:
            modules[folder] = _definitions(folder, read)
        yield from _followed(reference, reference.to, modules[folder], 0)


def _followed(
    reference: Reference, key: _Key, defined: dict[_Key, list[tuple[str, str, Assigned]]], depth: int
) -> Iterator[Evidence]:
    for path, text, value in defined.get(key, ()):
        if value.text is not None:
            default = bool(value.blocks) and value.blocks[-1][:1] == ("variable",)
            line = text.count("\n", 0, value.at) + 1
            by = f"the default of var.{key[1]}" if default else f"{key[0]}.{key[1]}"
            weight = (LOOSE if _is_called(path) else DEFAULT) if default else STATED
            if found := stated(reference.about, value.text, path, line, by, weight):
                yield found
        elif value.refers is not None and depth < _DEEPEST:
            yield from _followed(reference, value.refers, defined, depth + 1)


def _definitions(folder: str, read: Callable[[str], str | None]) -> dict[_Key, list[tuple[str, str, Assigned]]]:
    """Return the variables and locals of a module, with values from its variable files."""
    found: dict[_Key, list[tuple[str, str, Assigned]]] = {}
    for name in gate.names(folder or os.curdir):
        if not name.endswith(MODULE_FILES):
            continue
        path = f"{folder}/{name}" if folder else name
        text = read(path)
        for assignment in _list_assigned(path, text) if text is not None else ():
            block = assignment.blocks[-1] if assignment.blocks else ()
            if name.endswith(".tfvars"):
                key = ("var", assignment.key) if not assignment.blocks else None
            elif len(assignment.blocks) != 1:
                key = None
            elif block[:1] == ("variable",) and len(block) == 2 and assignment.key == "default":
                key = ("var", block[1])
            else:
                key = ("local", assignment.key) if block == ("locals",) else None
            if key is not None:
                found.setdefault(key, []).append((path, text or "", assignment))
    return found


def resolve_releases(
    sources: Sequence[Source], references: Sequence[object], known: Sequence[Evidence]
) -> Iterator[Evidence]:
    """Yield the releases to which references lead, and those of `helm_release` blocks with values in other files."""
    texts = {source.path: source.text for source in sources if source.path.endswith(TERRAFORM.stating)}

    def read(path: str) -> str | None:
        return texts.get(path) or gate.load_text(path, _LARGEST)

    found = list(resolved(references, read))  # type: ignore[arg-type]
    yield from found
    if any("helm_release" in text for text in texts.values()):
        from nodelint.forms.terraform.controller_releases import evaluated

        yield from evaluated(sources, [*known, *found])


_LARGEST = 4 << 20
"""The most bytes of a file. Files that state a release are small."""
