"""List the folders that Flux Kustomizations and HelmReleases apply, with the repository and its revision."""

from __future__ import annotations

import os
from collections.abc import Iterator

from nodelint.files.safe_read import find_top
from nodelint.forms.flux.charts import is_helm_release
from nodelint.forms.flux.kustomizations import find_folder, list_kustomizations
from nodelint.forms.lib.unread_inputs import UnreadInputs, in_one_line
from nodelint.forms.requests import FolderUse, name_repository, name_revision
from nodelint.model.finding import span_of
from nodelint.model.gvk import is_other_kind
from nodelint.text import Node
from nodelint.text.missing import items_of, text_of
from nodelint.text.reading import nodes_of

_REPOSITORY = "GitRepository"


def list_applied_folders(files: UnreadInputs) -> Iterator[FolderUse]:
    """Yield the folders of Kustomizations, and the charts of HelmReleases."""
    repositories = _Repositories(files)
    for root in list_kustomizations([*files.by_path.values()]):
        prune, folder = root.find("spec", "prune"), find_folder(root)
        is_suspended = _is_suspended(root)
        if folder is not None:
            is_pruned = prune is None or prune.value is not False
            terms = (
                *repositories.list_terms(root, root.find("spec", "sourceRef")),
                *_list_fields(root, "kubeConfig"),
            )
            keeps = is_suspended or not is_pruned or text_of(root.find("spec", "deletionPolicy")) == "Orphan"
            deletes = "" if keeps else "Flux deletes what a Kustomization with `prune` has applied once it is gone"
            yield FolderUse(_name(root), folder, span_of(root), terms, (), deletes, is_suspended, not is_pruned)
    for source in [*files.by_path.values()]:
        if "HelmRelease" not in source.text or source.may_be_template:
            continue
        for root in filter(is_helm_release, nodes_of(source)):
            chart = text_of(root.find("spec", "chart", "spec", "chart"))
            reference = root.find("spec", "chart", "spec", "sourceRef")
            if chart and reference is not None and text_of(reference.get("kind")) == _REPOSITORY:
                home = find_top(os.path.dirname(os.path.abspath(source.path))) or files.top
                terms = (*repositories.list_terms(root, reference), *_list_release_terms(root))
                is_suspended = _is_suspended(root)
                deletes = "" if is_suspended else "Flux uninstalls the release of a HelmRelease that is gone"
                place = os.path.normpath(os.path.join(home, chart))
                yield FolderUse(_name(root), place, span_of(root), terms, (), deletes, is_suspended)


def _name(root: Node) -> str:
    return f"{text_of(root.get('kind'))} {text_of(root.find('metadata', 'name'))}"


def _is_suspended(root: Node) -> bool:
    suspend = root.find("spec", "suspend")
    return suspend is not None and suspend.value is True


def _list_release_terms(root: Node) -> Iterator[tuple[str, str]]:
    """Yield (field, text) for the fields of a HelmRelease that lead to another release or another rendered result.

    These are its name and namespaces, and fields such as `postRenderers`.
    """
    namespace = text_of(root.find("metadata", "namespace"))
    target = text_of(root.find("spec", "targetNamespace"))
    default = "-".join(filter(None, (target, text_of(root.find("metadata", "name")))))
    yield "releaseName", text_of(root.find("spec", "releaseName")) or default
    yield "targetNamespace", target or namespace
    yield "storageNamespace", text_of(root.find("spec", "storageNamespace")) or namespace
    yield from _list_fields(root, "kubeConfig")
    for number, renderer in enumerate(items_of(root.find("spec", "postRenderers"))):
        if renderer.get("kustomize") is None:
            yield f"postRenderers[{number}]", in_one_line(renderer)
        kustomize = renderer.get("kustomize")
        for entry in kustomize.entries if kustomize is not None else ():
            for item in items_of(entry.value):
                if not is_other_kind(text_of(item.find("target", "kind"))):
                    yield "postRenderers", f"{entry.name}: {in_one_line(item)}"


def _list_fields(root: Node, *names: str) -> Iterator[tuple[str, str]]:
    for name in names:
        found = root.find("spec", name)
        yield name, in_one_line(found) if found is not None else ""


class _Repositories:
    """The GitRepositories in the files of one side of a plan. They are read at first use."""

    def __init__(self, files: UnreadInputs) -> None:
        self._files = files
        self._found: dict[str, list[Node]] | None = None

    def list_terms(self, root: Node, reference: Node | None) -> Iterator[tuple[str, str]]:
        """Yield (field, text) pairs that identify the source of a Flux object.

        These are `sourceRef`, and for a GitRepository `url` and `ref.*`.
        """
        if reference is None:
            return
        kind, name = text_of(reference.get("kind")), text_of(reference.get("name"))
        yield "sourceRef", f"{kind} {name}"
        named = self._list().get(name, []) if kind == _REPOSITORY else []
        namespace = text_of(reference.get("namespace")) or text_of(root.find("metadata", "namespace"))
        same = [made for made in named if text_of(made.find("metadata", "namespace")) == namespace]
        for repository in same or named:
            yield "url", name_repository(text_of(repository.find("spec", "url")))
            revision = repository.find("spec", "ref")
            for entry in revision.entries if revision is not None else ():
                text = text_of(entry.value)
                yield f"ref.{entry.name}", name_revision(text) if entry.name == "branch" else text

    def _list(self) -> dict[str, list[Node]]:
        if self._found is None:
            self._found = {}
            for path in self._files.paths:
                source = self._files.read(path) if path.endswith((".yaml", ".yml")) else None
                if source is None or _REPOSITORY not in source.text or source.may_be_template:
                    continue
                for root in nodes_of(source):
                    if text_of(root.get("kind")) == _REPOSITORY:
                        self._found.setdefault(text_of(root.find("metadata", "name")), []).append(root)
        return self._found
