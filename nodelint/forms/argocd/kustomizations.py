"""Change overlays by the `kustomize` fields of the Argo CD Applications that apply them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase

from nodelint.files.gate import gate
from nodelint.files.safe_read import find_top, is_inside
from nodelint.forms.argocd.application_sets import list_templates, list_unread_generators
from nodelint.forms.argocd.charts import ARGO, list_sources, list_sources_of, list_specs
from nodelint.forms.interface import FormRun
from nodelint.forms.lib.file_patterns import expand_braces
from nodelint.forms.lib.unread_inputs import UnreadInputs, in_one_line
from nodelint.forms.registry import KUSTOMIZE
from nodelint.forms.rendered import Built
from nodelint.forms.requests import ApplyFolder, FolderUse, name_repository, name_revision
from nodelint.model.finding import span_of
from nodelint.model.gap import Gap
from nodelint.text import Node
from nodelint.text.missing import items_of, text_of
from nodelint.text.reading import nodes_of

_PATTERNS = ("include", "exclude")
"""Fields of `directory` with patterns of files."""


def apply_sources(run: FormRun) -> Iterator[Built | Gap]:
    """Yield the overlays that Applications change, or a gap if one cannot be rendered."""
    for source in run.sources:
        if ARGO not in source.text or "kustomize" not in source.text or source.may_be_template:
            continue
        home = find_top(os.path.dirname(os.path.abspath(source.path)))
        for root in nodes_of(source) if home is not None else ():
            for number, part in enumerate(list_sources(root, run.read)):
                result = _apply(root, part, str(home), run)
                if isinstance(result, Gap):
                    yield result
                elif result is not None:
                    name = root.find("metadata", "name")
                    own = f"{os.path.abspath(source.path)}:{name.value if name is not None else ''}:{number}"
                    yield result._replace(cluster=own, label=source.path)


def _apply(root: Node, part: Node, home: str, run: FormRun) -> Built | Gap | None:
    """Return the rendered manifest of a source's folder with the Application's changes, or a gap.

    None if the Application changes nothing.
    """
    path, kustomize = part.get("path"), part.get("kustomize")
    if path is None or not isinstance(path.value, str) or kustomize is None or kustomize.kind != "mapping":
        return None
    folder = os.path.normpath(os.path.join(home, path.value.lstrip("/")))
    if gate.notes_refusal(folder, path.value, path.source, path.start):
        return None
    if not is_inside(folder, home) or not any(gate.is_file(os.path.join(folder, name)) for name in KUSTOMIZE.names):
        return None
    fields = {name: value for name in _FIELDS if (value := kustomize.get(name)) is not None}
    return run.apply(ApplyFolder(root, folder, fields)) if fields else None


_FIELDS = (
    *("patches", "namePrefix", "nameSuffix", "components"),
    *("namespace", "commonAnnotations", "commonLabels"),
)
"""Fields of a source's `kustomize` that kustomize has by the same name.

https://argo-cd.readthedocs.io/en/stable/user-guide/kustomize/
"""


_FINALIZER = "resources-finalizer.argocd.argoproj.io"
"""A finalizer of an Application: Argo CD then deletes the applied objects together with the Application.

https://argo-cd.readthedocs.io/en/stable/user-guide/app_deletion/
"""


def list_applied_folders(files: UnreadInputs) -> Iterator[FolderUse]:
    """Yield the folders of the sources of Applications, also of Applications that ApplicationSets create."""
    for path in files.paths:
        source = files.read(path) if path.endswith((".yaml", ".yml")) else None
        if source is None or ARGO not in source.text or source.may_be_template:
            continue
        tops = [str(find_top(os.path.dirname(path)) or files.top), files.top]
        for root in nodes_of(source):
            if text_of(root.get("apiVersion")).startswith(ARGO):
                yield from _list_uses(root, tops, files)


def _list_uses(root: Node, tops: Sequence[str], files: UnreadInputs) -> Iterator[FolderUse]:
    name = f"{text_of(root.get('kind'))} {text_of(root.find('metadata', 'name'))}"
    generators = tuple(("generators", in_one_line(part)) for part in list_unread_generators(root))
    deletes = _explain_deletion(root)
    for spec, named in _list_named_specs(root, files):
        sources = [*list_sources_of(spec)]
        for part in sources:
            folder = _read_text(part.get("path"))
            if folder:
                places = [os.path.normpath(os.path.join(top, folder.lstrip("/"))) for top in tops]
                found = next(filter(gate.is_folder, places), places[0])
                helm = part.get("helm")
                of_release = (
                    ("helm.releaseName", _read_text(helm.get("releaseName") if helm is not None else None)),
                    ("destination.namespace", _read_text(spec.find("destination", "namespace"))),
                )
                terms = (*named, *_list_terms(spec, sources, part), *generators)
                skips = _make_filter(part.get("directory"))
                yield FolderUse(name, found, span_of(root), terms, of_release, deletes, skips=skips)


def _list_named_specs(root: Node, files: UnreadInputs) -> Iterator[tuple[Node, tuple[tuple[str, str], ...]]]:
    """Yield the spec of an Application, or of each Application of a set, which is deleted if its name changes."""
    if text_of(root.get("kind")) != "ApplicationSet":
        yield from ((spec, ()) for spec in list_specs(root, files.read))
        return
    for made in list_templates(root, files.read):
        spec = made.get("spec")
        if spec is not None:
            yield spec, (("metadata.name", _read_text(made.find("metadata", "name"))),)


def _explain_deletion(root: Node) -> str:
    """Return what deletes the objects of an Application, or of an ApplicationSet's Applications, after its removal.

    Empty if nothing deletes them.
    """
    if text_of(root.get("kind")) == "ApplicationSet":
        keeps = root.find("spec", "syncPolicy", "preserveResourcesOnDeletion")
        if keeps is not None and keeps.value is True:
            return ""
        return "Argo CD deletes what the Applications of a set have applied once it is gone"
    finalizers = map(_read_text, items_of(root.find("metadata", "finalizers")))
    if any(name.startswith(_FINALIZER) for name in finalizers):
        return f"Argo CD deletes what an Application with `{_FINALIZER}` has applied once it is gone"
    return ""


def _list_terms(spec: Node, sources: Sequence[Node], own: Node) -> Iterator[tuple[str, str]]:
    """Yield (field, text) for the fields of an Application that decide what it applies of a folder, and where."""
    for field in ("server", "name"):
        yield f"destination.{field}", _read_text(spec.find("destination", field))
    for part in sources:
        if part is own or part.get("ref") is not None:
            yield "repoURL", name_repository(_read_text(part.get("repoURL")))
            yield "targetRevision", name_revision(_read_text(part.get("targetRevision")))
    plugin, directory = own.get("plugin"), own.get("directory")
    yield "plugin", in_one_line(plugin) if plugin is not None else ""
    for entry in directory.entries if directory is not None else ():
        if entry.name not in _PATTERNS or not isinstance(entry.value.value, str):
            yield f"directory.{entry.name}", in_one_line(entry.value)


def _make_filter(directory: Node | None) -> Callable[[str], bool] | None:
    """Return a function that returns whether Argo CD leaves out a file of a folder. None if it leaves out none.

    In its patterns, `*` also matches a slash.
    """
    include, exclude = (text_of(directory.get(field)) if directory is not None else "" for field in _PATTERNS)
    if not include and not exclude:
        return None

    def skips(path: str) -> bool:
        return bool((include and not matches(include, path)) or (exclude and matches(exclude, path)))

    def matches(pattern: str, path: str) -> bool:
        return any(fnmatchcase(path, choice) for choice in expand_braces(pattern) or (pattern,))

    return skips


def _read_text(node: Node | None) -> str:
    """Return the text of a scalar. With a placeholder, return it as it is written."""
    return text_of(node) or (node.unquoted if node is not None and node.kind == "scalar" else "")
