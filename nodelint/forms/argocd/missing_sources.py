"""Find paths in Argo CD Applications that the repository does not have, so that Argo CD cannot render them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from nodelint.base.types import TYPE_CHECKING
from nodelint.forms.argocd.application_sets import list_unset_parameters
from nodelint.forms.argocd.charts import ARGO, list_sources_of, list_specs, name_applier, skips_missing
from nodelint.forms.argocd.git_generators import read_text_about
from nodelint.forms.lib.missing_sources import PLAIN_PATH, MissingSource, RepositoryNames
from nodelint.forms.lib.values import read
from nodelint.model.messages import did_you_mean
from nodelint.text.missing import items_of, text_of
from nodelint.text.reading import nodes_of

if TYPE_CHECKING:
    from nodelint.text import Node, Source

_EFFECT = "the Application is not rendered, or applies nothing"
_NEWEST = ("", "HEAD", "main", "master")
"""Revisions of the files that are read; another branch or a tag may hold other files."""
_BUILDS = ("kustomization.yaml", "kustomization.yml", "Kustomization", "Chart.yaml")
_MANIFESTS = (".yaml", ".yml", ".json", ".jsonnet")


def list_missing(source: Source, sources: Sequence[Source], of_any: bool = False) -> Iterator[MissingSource]:
    """Yield the paths of a file's Applications that the repository does not have, or that hold nothing to apply.

    `sources` are files with Applications: an address with a revision counts as this repository's if it occurs with an
    existing path.
    """
    if source.may_be_template:
        return
    tree = RepositoryNames(source, sources, of_any)
    own: set[tuple[str, str]] | None = None
    for root in nodes_of(source):
        if not text_of(root.get("apiVersion")).startswith(ARGO):
            continue
        text = read_text_about(root)
        unset, no_value = _explain_unset(root)
        for number, spec in enumerate(list_specs(root, read)):
            by = os.path.abspath(source.path), name_applier(root, spec)
            parts = list(list_sources_of(spec))
            for node, reason in unset.get(number, ()):
                paths = (text_of(part.get("path")) for part in parts)
                if tree.concerns(text) or any(path and tree.holds_karpenter(path) for path in paths):
                    yield MissingSource(node, reason, no_value, True, by, " ".join(by[1].split()[:2]), True)
            for origins, node, reason in _check(text, parts, tree):
                own = {origin for file in sources for origin in _list_own(file, tree)} if own is None else own
                is_newest = all(revision == "" for _, revision in origins)
                is_certain = origins <= own or (is_newest and tree.is_misspelled(text_of(node)))
                is_certain &= not tree.is_not_checked_out(text_of(node))
                is_values = all(node is not part.get("path") for part in parts)
                yield MissingSource(node, reason, _EFFECT, is_certain, by, " ".join(by[1].split()[:2]), is_values)


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


def _explain_unset(root: Node) -> tuple[dict[int, list[tuple[Node, str]]], str]:
    """Return the parameters that Applications of a set do not have, by their number, and what Argo CD does then."""
    found: dict[int, list[tuple[Node, str]]] = {}
    if text_of(root.get("kind")) != "ApplicationSet":
        return found, ""
    generators = root.find("spec", "generators")
    keys = {entry.name or "" for node in generators.walk() for entry in node.entries} if generators else set()
    for number, node, name in list_unset_parameters(root, read):
        reason = f"no generator gives the parameter `{name}` a value{did_you_mean(name, keys, 0.75)}"
        if name in keys:
            reason = f"not every element of the generators gives the parameter `{name}` a value"
        found.setdefault(number, []).append((node, reason))
    is_error = "missingkey=error" in map(text_of, items_of(root.find("spec", "goTemplateOptions")))
    go = root.find("spec", "goTemplate")
    if is_error:
        return found, "Argo CD creates no Application"
    return found, "Argo CD writes `<no value>`" if go is not None and go.value is True else "Argo CD keeps the code"


def _check(text: str, parts: Sequence[Node], tree: RepositoryNames) -> Iterator[_Fault]:
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
    if reason or not names or not tree.concerns(text):
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
    if not tree.concerns(text) and not (chart and tree.holds_karpenter(chart)):
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
