"""Find paths in Argo CD Applications that the repository does not have, so that Argo CD cannot render them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from nodelint.base.types import TYPE_CHECKING
from nodelint.forms.argocd.charts import ARGO, list_sources_of, list_specs, name_applier, skips_missing
from nodelint.forms.lib.missing_sources import PLAIN_PATH, MissingSource, RepositoryNames, concerns_karpenter
from nodelint.forms.lib.values import read
from nodelint.text.missing import items_of, text_of
from nodelint.text.reading import nodes_of

if TYPE_CHECKING:
    from nodelint.text import Node, Source

_EFFECT = "the Application is not rendered, or applies nothing"
_NEWEST = ("", "HEAD", "main", "master")
"""Revisions of the files that are read; another branch or a tag may hold other files."""
_BUILDS = ("kustomization.yaml", "kustomization.yml", "Kustomization", "Chart.yaml")
_MANIFESTS = (".yaml", ".yml", ".json", ".jsonnet")


def list_missing(source: Source, sources: Sequence[Source]) -> Iterator[MissingSource]:
    """Yield the paths of a file's Applications that the repository does not have, or that hold nothing to apply.

    `sources` are files with Applications: an address with a revision counts as this repository's if it occurs with an
    existing path.
    """
    if source.may_be_template:
        return
    tree = RepositoryNames(source, sources)
    own: set[tuple[str, str]] | None = None
    for root in nodes_of(source):
        for spec in list_specs(root, read) if text_of(root.get("apiVersion")).startswith(ARGO) else ():
            by = os.path.abspath(source.path), name_applier(root, spec)
            parts = list(list_sources_of(spec))
            for origins, node, reason in _check(root, parts, tree):
                own = {origin for file in sources for origin in _list_own(file, tree)} if own is None else own
                is_certain = origins <= own or ("(did you mean" in reason and all(o[1] == "" for o in origins))
                is_values = all(node is not part.get("path") for part in parts)
                yield MissingSource(node, reason, _EFFECT, is_certain, by, is_values)


def _origin_of(part: Node) -> tuple[str, str]:
    """Return the address and the revision of a source. The usual names of the newest revision count as one."""
    revision = text_of(part.get("targetRevision"))
    return text_of(part.get("repoURL")), "" if revision in _NEWEST else revision


def _list_own(source: Source, tree: RepositoryNames) -> Iterator[tuple[str, str]]:
    """Yield the addresses of this repository with their revisions: those that a file uses with an existing path."""
    for root in nodes_of(source) if ARGO in source.text and not source.may_be_template else ():
        for spec in list_specs(root, read):
            for part in list_sources_of(spec):
                path = text_of(part.get("path"))
                if path.strip("./") and tree.names(path):
                    yield _origin_of(part)


_Fault = tuple[set[tuple[str, str]], "Node", str]
"""The sources whose files count, the place of a path that does not exist, and the reason why Argo CD fails."""


def _check(root: Node, parts: Sequence[Node], tree: RepositoryNames) -> Iterator[_Fault]:
    text = root.source.text[root.start : root.end]
    for address in {text_of(part.get("repoURL")) for part in parts if part.get("chart") is None}:
        text = text.replace(address, "")  # the name of the repository says nothing about the Application
    for part in parts:
        node, path = part.get("path"), text_of(part.get("path"))
        if node is not None and PLAIN_PATH.fullmatch(path) and part.get("plugin") is None:
            reason = _explain_path(part, path, text, tree)
            if reason:
                yield {_origin_of(part)}, node, reason
                continue
        yield from _check_values(part, parts, text, tree)


def _explain_path(part: Node, path: str, text: str, tree: RepositoryNames) -> str:
    """Return why Argo CD cannot render the folder of a source, or applies nothing of it. Empty if it can."""
    reason = tree.explain_folder(path, text)
    names = tree.names(path)
    if reason or not names or not concerns_karpenter(text):
        return reason
    if part.get("helm") is not None and "Chart.yaml" not in names:
        return f"`{path}` has no Chart.yaml, and the Application has values of Helm"
    if part.get("directory") is None and not any(name in _BUILDS or name.endswith(_MANIFESTS) for name in names):
        return f"`{path}` has neither a manifest nor a kustomization.yaml"
    return ""


def _check_values(part: Node, parts: Sequence[Node], text: str, tree: RepositoryNames) -> Iterator[_Fault]:
    """Yield the missing values files of a source whose chart, or text, concerns Karpenter."""
    helm, chart = part.get("helm"), text_of(part.get("path"))
    if helm is None or skips_missing(helm):
        return
    if not concerns_karpenter(text) and not (chart and tree.holds_karpenter(chart)):
        return
    referred = {_origin_of(other) for other in parts if other.get("ref") is not None}
    for node in items_of(helm.get("valueFiles")):
        name = text_of(node)
        another = re.match(r"\$[\w-]+/", name)
        within = name[another.end() :] if another is not None else name
        is_relative = another is None and not name.startswith("/")
        if not PLAIN_PATH.fullmatch(within) or (is_relative and not chart):
            continue  # a chart of a registry has files of its own
        path = os.path.normpath(os.path.join(chart, within)) if is_relative else within.lstrip("/")
        reason = tree.explain_file(path, within)
        if reason and (another is None or referred):
            yield referred if another is not None else {_origin_of(part)}, node, reason
