"""Find paths in HelmReleases and Flux Kustomizations that the repository does not have."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from nodelint.forms.flux.charts import is_helm_release, skips_missing
from nodelint.forms.flux.kustomizations import find_folder, is_kustomization
from nodelint.forms.lib.missing_sources import PLAIN_PATH, MissingSource, RepositoryNames, name_object
from nodelint.text import Node, Source
from nodelint.text.missing import items_of, text_of
from nodelint.text.reading import nodes_of

_REPOSITORY = "GitRepository"
_APPLIES_NOTHING = "Flux refuses the Kustomization, and applies no change"
_KEEPS_RELEASE = "Flux refuses the HelmRelease, and neither installs nor upgrades it"


def list_missing(source: Source, sources: Sequence[Source], of_any: bool = False) -> Iterator[MissingSource]:
    """Yield the paths of a file's Flux objects that the repository does not have.

    `sources` are files with such objects: a GitRepository is this one if it occurs with an existing path.
    """
    if source.may_be_template:
        return
    tree = RepositoryNames(source, sources, of_any)
    own: set[str] | None = None
    for root in nodes_of(source):
        for node, reason in _check(root, tree):
            own = {name for file in sources for name in _list_own(file, tree)} if own is None else own
            is_certain = _name_repository(root) in own or tree.is_misspelled(text_of(node))
            is_certain &= not tree.is_not_checked_out(text_of(node))
            effect = _APPLIES_NOTHING if is_kustomization(root) else _KEEPS_RELEASE
            name = f"{text_of(root.get('kind'))} {text_of(root.find('metadata', 'name'))}"
            is_values = node is not _find_path(root)
            yield MissingSource(node, reason, effect, is_certain, name_object(root), name, is_values)


def _list_own(source: Source, tree: RepositoryNames) -> Iterator[str]:
    """Yield the names of the GitRepositories that a file uses with an existing path."""
    for root in nodes_of(source) if "toolkit.fluxcd.io" in source.text and not source.may_be_template else ():
        node = _find_path(root)
        if text_of(node).strip("./") and tree.names(text_of(node)):
            yield _name_repository(root)


def _find_path(root: Node) -> Node | None:
    """Return the path of a folder in a HelmRelease or Kustomization. None for a chart of another kind of source."""
    if is_helm_release(root) and text_of(root.find("spec", "chart", "spec", "sourceRef", "kind")) == _REPOSITORY:
        return root.find("spec", "chart", "spec", "chart")
    if is_kustomization(root) and text_of(root.find("spec", "sourceRef", "kind")) == _REPOSITORY:
        return root.find("spec", "path")
    return None


def _name_repository(root: Node) -> str:
    path = ("spec", "chart", "spec") if is_helm_release(root) else ("spec",)
    return text_of(root.find(*path, "sourceRef", "name"))


def _check(root: Node, tree: RepositoryNames) -> Iterator[tuple[Node, str]]:
    """Yield the paths that do not exist, each with the reason why Flux fails."""
    node = _find_path(root)
    path = text_of(node)
    if node is None or not PLAIN_PATH.fullmatch(path) or not path.strip("./"):
        return
    text = root.source.text[root.start : root.end]
    if is_kustomization(root):
        reason = tree.explain_folder(path, text) if find_folder(root) is None else ""
    else:
        reason = tree.explain_folder(path, text, ("Chart.yaml",))
    if reason:
        yield node, reason
    elif is_helm_release(root) and not skips_missing(root) and tree.holds_karpenter(path):
        for item in items_of(root.find("spec", "chart", "spec", "valuesFiles")):
            name = text_of(item)
            reason = tree.explain_file(os.path.normpath(name), name) if PLAIN_PATH.fullmatch(name) else ""
            if reason:
                yield item, reason
