"""Find the files and folders that a kustomization names and that do not exist: kustomize does not build it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from nodelint.forms.kustomize.charts import list_inflated
from nodelint.forms.kustomize.kustomizations import KUSTOMIZATIONS
from nodelint.forms.lib.missing_sources import PLAIN_PATH, MissingSource, RepositoryNames
from nodelint.forms.lib.values import own_roots
from nodelint.text import Node, Source
from nodelint.text.missing import items_of, text_of

_EFFECT = "kustomize does not build the overlay"
_LISTS = ("resources", "bases", "components", "configurations", "crds", "transformers", "generators", "validators")
_PATCHES = ("patchesStrategicMerge",)
_WITH_PATH = ("patches", "patchesJson6902", "replacements")
_GENERATORS = ("configMapGenerator", "secretGenerator")
_HOST = re.compile(r"[\w-]+(?:\.[\w-]+)+/")
"""The beginning of an address without a protocol: `github.com/...`."""


def list_missing(source: Source, sources: Sequence[Source], of_any: bool = False) -> Iterator[MissingSource]:
    """Yield the paths in a kustomization that concerns Karpenter and that do not exist.

    A path is not certain to be missing if no other one has a similar name: a tool may write it before.
    """
    if os.path.basename(source.path) not in KUSTOMIZATIONS or source.may_be_template:
        return
    tree = RepositoryNames(source, sources, of_any)
    folder = os.path.relpath(os.path.dirname(os.path.abspath(source.path)), tree.top)
    concerns: bool | None = None
    for root in own_roots(source):
        for node, written, is_generated in (*_list_paths(root), *_list_generated(root)):
            path = os.path.normpath(os.path.join(folder, written))
            if not PLAIN_PATH.fullmatch(written) or path.startswith("..") or tree.exists(path):
                continue
            if concerns is None:
                concerns = tree.concerns(source.text) or tree.holds_karpenter(folder)
            if not concerns:
                return
            is_certain = not tree.is_not_checked_out(path) and tree.suggest(path) != ""
            yield _missing(node, tree.explain_path(path, written), is_certain, is_generated, "kustomization")
        yield from _list_missing_values(root, folder, tree)


def _missing(node: Node, reason: str, is_certain: bool, is_values: bool, name: str) -> MissingSource:
    by = os.path.abspath(node.source.path), name
    return MissingSource(node, reason, _EFFECT, is_certain, by, name, is_values)


def _list_paths(root: Node) -> Iterator[tuple[Node, str, bool]]:
    """Yield the files and folders of a kustomization: the place, the path, and False."""
    for field in _LISTS:
        for item in items_of(root.get(field)):
            path = text_of(item)
            if not _HOST.match(path) or path.startswith("."):
                yield item, path, False
    for field in _PATCHES:
        yield from ((item, text_of(item), False) for item in items_of(root.get(field)) if "\n" not in text_of(item))
    named = [item.get("path") for field in _WITH_PATH for item in items_of(root.get(field))]
    yield from ((node, text_of(node), False) for node in (*named, root.find("openapi", "path")) if node is not None)


def _list_generated(root: Node) -> Iterator[tuple[Node, str, bool]]:
    """Yield the files of the ConfigMaps and Secrets that a kustomization generates: the place, the path, and True."""
    for field in _GENERATORS:
        for item in items_of(root.get(field)):
            env = item.get("env")
            for node in (*items_of(item.get("envs")), *([env] if env is not None else [])):
                yield node, text_of(node), True
            for node in items_of(item.get("files")):
                yield node, text_of(node).rpartition("=")[2], True


def _list_missing_values(root: Node, folder: str, tree: RepositoryNames) -> Iterator[MissingSource]:
    """Yield the missing values files of the local charts that a kustomization inflates."""
    for chart, home in list_inflated(root):
        if not tree.holds_karpenter(os.path.relpath(home, tree.top)):
            continue
        own = chart.get("valuesFile")
        for node in (*((own,) if own is not None else ()), *items_of(chart.get("additionalValuesFiles"))):
            written = text_of(node)
            path = os.path.normpath(os.path.join(folder, written))
            reason = tree.explain_file(path, written) if written and PLAIN_PATH.fullmatch(written) else ""
            if reason:
                yield _missing(node, reason, True, True, f"helmCharts {text_of(chart.get('name'))}")
