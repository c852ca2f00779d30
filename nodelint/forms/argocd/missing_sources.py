"""Find paths in Argo CD Applications that the repository does not have, so that Argo CD cannot render them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.files.safe_read import find_top
from nodelint.forms.argocd.charts import ARGO, list_sources_of
from nodelint.text.missing import items_of, text_of
from nodelint.text.reading import nodes_of

if TYPE_CHECKING:
    from nodelint.text import Node, Source

_PLAIN = re.compile(r"(?:[\w@.-]+/)*[\w@.-]+/?")
"""A path without a pattern or a placeholder."""
_NEWEST = ("", "HEAD", "main", "master")
"""Revisions of the files that are read; another branch or a tag may hold other files."""
_BUILDS = ("kustomization.yaml", "kustomization.yml", "Kustomization", "Chart.yaml")
_MANIFESTS = (".yaml", ".yml", ".json", ".jsonnet")


class MissingSource(NamedTuple):
    """A path of an Application at which Argo CD fails, with the reason."""

    node: Node
    reason: str


class _Tree:
    """The repository around a file. `sources` were already read; in an editor, some may not exist on the disk."""

    def __init__(self, source: Source, sources: Sequence[Source]) -> None:
        folder = os.path.dirname(os.path.abspath(source.path))
        outside = folder if os.path.isabs(source.path) else os.path.abspath(os.curdir)
        self.top = str(find_top(folder) or outside)
        self._read = {os.path.abspath(other.path) for other in sources}

    def names(self, path: str) -> set[str]:
        """Return the names in a folder. Empty if there is no such folder."""
        folder = os.path.normpath(os.path.join(self.top, path))
        below = (other[len(folder) + 1 :] for other in self._read if other.startswith(folder + os.sep))
        found = {name.partition(os.sep)[0] for name in below}
        return found.union(gate.names(folder)) if gate.is_folder(folder) else found

    def exists(self, path: str) -> bool:
        """Return whether a file or folder exists."""
        whole = os.path.normpath(os.path.join(self.top, path))
        return whole in self._read or gate.exists(whole)


def list_missing(source: Source, sources: Sequence[Source]) -> Iterator[MissingSource]:
    """Yield the paths of a file's Applications that the repository does not have, or that hold nothing to apply.

    `sources` are files with Applications: an address with a revision counts as this repository's if it occurs with an
    existing path.
    """
    if source.may_be_template:
        return
    tree = _Tree(source, sources)
    own = {origin for file in sources for origin in _list_own(file, tree)}
    for parts in _list_applications(source):
        for part in parts:
            if _origin_of(part) in own:
                yield from _check_path(part, tree)
            if {_origin_of(other) for other in parts if other.get("ref") is not None} <= own:
                yield from _check_values(part, tree)


def _list_applications(source: Source) -> Iterator[list[Node]]:
    """Yield the list of sources of each Application in a file that concerns Karpenter."""
    for root in nodes_of(source):
        is_of_argo = text_of(root.get("apiVersion")).startswith(ARGO)
        spec = root.get("spec") if is_of_argo and text_of(root.get("kind")) == "Application" else None
        parts = list(list_sources_of(spec)) if spec is not None else []
        text = source.text[root.start : root.end]
        for address in {text_of(part.get("repoURL")) for part in parts if part.get("chart") is None}:
            text = text.replace(address, "")  # the name of the repository says nothing about the Application
        if "karpenter" in text:
            yield parts


def _origin_of(part: Node) -> tuple[str, str]:
    """Return the address and the revision of a source. The usual names of the newest revision count as one."""
    revision = text_of(part.get("targetRevision"))
    return text_of(part.get("repoURL")), "" if revision in _NEWEST else revision


def _list_own(source: Source, tree: _Tree) -> Iterator[tuple[str, str]]:
    """Yield the addresses of this repository with their revisions: those that a file uses with an existing path."""
    for root in nodes_of(source) if not source.may_be_template else ():
        spec = root.get("spec") if text_of(root.get("kind")) == "Application" else None
        for part in list_sources_of(spec) if spec is not None else ():
            path = text_of(part.get("path"))
            if path.strip("./") and tree.names(path):
                yield _origin_of(part)


def _check_path(part: Node, tree: _Tree) -> Iterator[MissingSource]:
    node = part.get("path")
    path = text_of(node)
    if node is None or not _PLAIN.fullmatch(path) or part.get("plugin") is not None:
        return
    names = tree.names(path)
    if not names:
        yield MissingSource(node, f"the repository has no folder `{path}`")
    elif part.get("helm") is not None and "Chart.yaml" not in names:
        yield MissingSource(node, f"`{path}` has no Chart.yaml, and the Application has values of Helm")
    elif part.get("directory") is None and not any(name in _BUILDS or name.endswith(_MANIFESTS) for name in names):
        yield MissingSource(node, f"`{path}` has neither a manifest nor a kustomization.yaml")


def _check_values(part: Node, tree: _Tree) -> Iterator[MissingSource]:
    """Yield the missing values files that are named by a path from the top of the repository."""
    helm = part.get("helm")
    skips = helm.get("ignoreMissingValueFiles") if helm is not None else None
    if helm is None or (skips is not None and skips.value is not False):
        return
    for node in items_of(helm.get("valueFiles")):
        reference, _, path = text_of(node).partition("/")
        if reference.startswith("$") and _PLAIN.fullmatch(path) and not tree.exists(path):
            yield MissingSource(node, f"the repository has no values file `{path}`")
