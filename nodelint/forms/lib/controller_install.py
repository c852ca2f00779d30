"""Describe installations of Karpenter's controller by the values of its chart, for all forms."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TypeVar

from nodelint.forms.lib.chart_values import RepositoryTree, ValuesLayer
from nodelint.forms.registry import TABLE
from nodelint.model.controller_settings import ControllerInstall, hides_settings, settings_of_values
from nodelint.model.finding import Span
from nodelint.text import Node, Source, SourceText
from nodelint.text.missing import items_of, text_of
from nodelint.text.reading import nodes_of


def make_install(
    at: Node, by: str, version: str, layers: Sequence[ValuesLayer], is_complete: bool
) -> ControllerInstall:
    """Return an installation with the merged values of layers, the weakest first."""
    values = Node(at.source, at.start, at.end, "mapping", "flow")
    for layer in layers:
        values = layer.apply(values)
    files = tuple({id(layer.given): layer.given for layer in layers}.values())
    settings = tuple(settings_of_values(values))
    is_complete = is_complete and not hides_settings(values)
    return ControllerInstall(place_of(at), by, version or None, settings, is_complete, values, files, not is_complete)


def place_of(node: Node) -> Span:
    """Return the place to report for an installation: the kind of an object, the name of a chart, else all of it."""
    named = node.get("kind") or node.get("chart") or node.get("name") or node
    return Span(named.source, named.start, named.end)


_Kept = TypeVar("_Kept")

KARPENTER_CHART = "karpenter"
_ADDRESS = r"(?:oci://|https?://)?(?:[\w.:@-]+/)+karpenter"
_PATCH_FIELDS = ("patches", "patchesJson6902")
_PATCHED = ("HelmRelease", "Application", "Deployment")


def is_controller(chart: str) -> bool:
    """Return whether a chart, by its name or address, is that of Karpenter's controller."""
    return chart == KARPENTER_CHART or re.fullmatch(_ADDRESS, chart) is not None


class ControllerFiles:
    """The files of a run, some of which install the controller, and files that they name."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = sources
        self._kept: dict[str, object] = {}
        self._by_path = {os.path.abspath(source.path): source for source in sources}
        folders = [os.path.dirname(path) for path in self._by_path]
        self._top = os.path.commonpath(folders) if folders else None
        """The folder that counts as repository for files outside of any repository."""
        self._roots: dict[int, list[Node]] = {}

    def keep(self, name: str, make: Callable[[], _Kept]) -> _Kept:
        """Return the result of `make`, which is called once for each name."""
        if name not in self._kept:
            self._kept[name] = make()
        return self._kept[name]  # type: ignore[return-value]

    def tree(self, source: SourceText) -> RepositoryTree | None:
        """Return the repository around a file. None if there is none."""
        return RepositoryTree.around(source, self._by_path, self._top)

    @cached_property
    def patched(self) -> set[str]:
        """Return the kinds of objects whose values a kustomization may change."""
        found: set[str] = set()
        for source in self.sources:
            if os.path.basename(source.path) not in TABLE.names or "patch" not in source.text:
                continue
            texts = [source.text, *self._texts_of_patches(source)]
            found.update(kind for kind in _PATCHED for text in texts if kind in text)
        return found

    def _texts_of_patches(self, kustomization: Source) -> Iterator[str]:
        """Yield the texts of the files that a kustomization names as patches."""
        folder, tree = os.path.dirname(os.path.abspath(kustomization.path)), self.tree(kustomization)
        for root in self.roots(kustomization) if tree is not None else ():
            named = [item.get("path") for field in _PATCH_FIELDS for item in items_of(root.get(field))]
            named += items_of(root.get("patchesStrategicMerge"))
            for node in named:
                path = os.path.normpath(os.path.join(folder, text_of(node)))
                patch = tree.read_file(path) if tree is not None and text_of(node) else None
                if patch is not None:
                    yield patch.text

    def roots(self, source: Source) -> list[Node]:
        """Return the top-level mappings of a file's documents, also of those in a text of another language."""
        if id(source) not in self._roots:
            row = TABLE.stating_form(source.path)
            if row is not None:
                roots = row.load().read_roots(source)
            elif source.path.endswith((".yaml", ".yml", ".json")) and not source.may_be_template:
                roots = nodes_of(source)
            else:
                roots = [document.root for document in source.documents if document.root is not None]
            self._roots[id(source)] = [root for root in roots if root.kind == "mapping"]
        return self._roots[id(source)]


def install_by(
    at: Node,
    by: str,
    version: str,
    layers: Sequence[ValuesLayer],
    tree: RepositoryTree,
    unread: bool = False,
) -> ControllerInstall:
    """Return an installation with the values of all layers. It is incomplete if `tree` has recorded gaps."""
    install = make_install(at, by, version, layers, not (unread or tree.gaps))
    tree.gaps.clear()
    return install
