"""Find charts and values files of helmfile releases that do not exist."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from nodelint.forms.helmfile.charts import HELMFILE
from nodelint.forms.lib.missing_sources import PLAIN_PATH, MissingSource, RepositoryNames
from nodelint.text import Node, Source
from nodelint.text.missing import items_of, text_of
from nodelint.text.reading import nodes_of

_EFFECT = "helmfile stops, and does not install the release"
_STOPS = "helmfile stops, and installs nothing"


def list_missing(source: Source, sources: Sequence[Source], of_any: bool = False) -> Iterator[MissingSource]:
    """Yield the charts and values files of a helmfile's releases that do not exist. Paths count from its folder."""
    if source.may_be_template or HELMFILE.search(source.path) is None:
        return
    tree = RepositoryNames(source, sources, of_any)
    folder = os.path.relpath(os.path.dirname(os.path.abspath(source.path)), tree.top)
    for root in nodes_of(source):
        for node in _list_files(root):
            path = os.path.normpath(os.path.join(folder, text_of(node)))
            if PLAIN_PATH.fullmatch(text_of(node)) and not tree.exists(path) and _concerns(source, tree):
                is_certain = not tree.is_not_checked_out(path)
                reason = tree.explain_path(path, text_of(node))
                yield MissingSource(node, reason, _STOPS, is_certain, (os.path.abspath(source.path), ""), "helmfile")
        for release in items_of(root.get("releases")):
            by = os.path.abspath(source.path), f"release {text_of(release.get('name'))}"
            for node, reason in _check(release, folder, tree):
                is_certain = not tree.is_not_checked_out(os.path.join(folder, text_of(node)))
                yield MissingSource(node, reason, _EFFECT, is_certain, by, by[1], node is not release.get("chart"))


def _list_files(root: Node) -> Iterator[Node]:
    """Yield the paths of the files that a helmfile includes, and of the values of its environments."""
    yield from items_of(root.get("bases"))
    for item in items_of(root.get("helmfiles")):
        path = item.get("path") if item.kind == "mapping" else item
        yield from [path] if path is not None else []
    environments = root.get("environments")
    for entry in environments.entries if environments is not None else ():
        if entry.value.get("missingFileHandler") is None:
            yield from (item for item in items_of(entry.value.get("values")) if item.kind == "scalar")


def _concerns(source: Source, tree: RepositoryNames) -> bool:
    return tree.concerns(source.text) or tree.holds_karpenter(os.path.dirname(os.path.relpath(source.path, tree.top)))


def _check(release: Node, folder: str, tree: RepositoryNames) -> Iterator[tuple[Node, str]]:
    node, chart = release.get("chart"), text_of(release.get("chart"))
    installed = release.get("installed")
    if node is None or (installed is not None and installed.value is False):
        return
    is_local = chart.startswith(("./", "../")) and PLAIN_PATH.fullmatch(chart) is not None
    path = os.path.normpath(os.path.join(folder, chart))
    text = release.source.text[release.start : release.end]
    reason = tree.explain_folder(path, text, ("Chart.yaml",)) if is_local else ""
    if reason:
        yield node, reason
    elif is_local and "missingFileHandler" not in release.source.text and tree.holds_karpenter(path):
        for item in items_of(release.get("values")):
            name = text_of(item)
            whole = os.path.normpath(os.path.join(folder, name))
            reason = tree.explain_file(whole, name) if name and PLAIN_PATH.fullmatch(name) else ""
            if reason:
                yield item, reason
