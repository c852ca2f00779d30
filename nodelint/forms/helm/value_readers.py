"""Find the charts without judged objects that take a file of values."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.files.safe_read import find_top
from nodelint.forms.lib.chart_places import CHART
from nodelint.model.finding import Span, span_of
from nodelint.text import Node, Source
from nodelint.text.missing import text_of

if TYPE_CHECKING:
    from nodelint.forms.requests import JudgedPlaces
    from nodelint.model.finding import Edit

_ENDS = (".yaml", ".yml", ".gotmpl")
_LARGEST = 1 << 20
_CHART_KEYS = ("chart", "chartPath", "path")
"""Keys with which an item names the chart that takes its values."""
_OF_KUSTOMIZE = ("valuesFile", "additionalValuesFiles")
"""Keys of an item of `helmCharts`, whose chart is its `name`."""
_TOP_KEY = re.compile(r"(?m)^[\"']?([\w-]+)[\"']?[ \t]*:")


class ValueReaders:
    """Finds the places that pass a values file to a chart without judged objects which reads the value."""

    def __init__(self, judged: JudgedPlaces, _: Sequence[Source]) -> None:
        self._judged = judged
        self._texts: dict[str, list[tuple[str, str]]] = {}
        self._takers: dict[str, list[tuple[Span, str | None]]] = {}
        self._templates: dict[str, str] = {}

    def list_places(self, edit: Edit) -> Iterator[Span]:
        """Yield such places for the value that an edit changes."""
        if not edit.source.path.endswith(_ENDS):
            return
        keys = _TOP_KEY.findall(edit.source.text, 0, edit.start)
        for place, chart in self._list_takers(os.path.abspath(edit.source.path)):
            if chart is None or (keys and self._reads(chart, keys[-1])):
                yield place

    def _list_takers(self, path: str) -> list[tuple[Span, str | None]]:
        """Return the places that pass a file to other charts, with the folder of each (None if it is elsewhere)."""
        if path not in self._takers:
            top, found = find_top(path) or os.path.dirname(path), []
            for other, text in self._list_texts(top):
                name = os.path.basename(path)
                if other == path or name not in text:
                    continue
                source = Source.from_text(os.path.relpath(other).replace(os.sep, "/"), text, re.escape(name))
                for document in source.documents:
                    for node in document.root.walk() if document.root is not None else ():
                        chart = _find_chart(node) if _names_file(node, name) else None
                        if chart is not None and not self._judged.has_folder(os.path.basename(chart.rstrip("/"))):
                            found.append((span_of(node), _find_folder(chart, (os.path.dirname(other), top))))
            self._takers[path] = found
        return self._takers[path]

    def _list_texts(self, top: str) -> list[tuple[str, str]]:
        if top not in self._texts:
            found = self._texts[top] = []
            for folder, _, names in gate.walk(top):
                for path in (os.path.join(folder, name) for name in names if name.endswith(_ENDS)):
                    text = gate.load_text(path, _LARGEST, within=top)
                    if text is not None:
                        found.append((path, text))
        return self._texts[top]

    def _reads(self, chart: str, key: str) -> bool:
        """Return whether the templates of a chart may read a value, by the first key of its path."""
        if chart not in self._templates:
            paths = [os.path.join(folder, name) for folder, _, names in gate.walk(chart) for name in names]
            texts = (gate.load_text(path, _LARGEST, within=chart) for path in paths if "templates" in path)
            self._templates[chart] = "\n".join(filter(None, texts))
        text = self._templates[chart]
        return ".Values" in text and re.search(rf"\b{re.escape(key)}\b", text) is not None


def _find_folder(chart: str, folders: Sequence[str]) -> str | None:
    """Return the folder of a chart of the repository. None for a chart elsewhere."""
    paths = (os.path.normpath(os.path.join(folder, chart)) for folder in folders)
    return next((path for path in paths if gate.is_file(os.path.join(path, CHART))), None)


def _names_file(node: Node, name: str) -> bool:
    return node.kind == "scalar" and text_of(node).rpartition("/")[2] == name


def _find_chart(node: Node) -> str | None:
    """Return the chart of the item around the name of a values file. None if the item has none."""
    above = node.parent
    while above is not None:
        is_mapping = above.kind == "mapping"
        is_inflated = is_mapping and any(above.get(key) is not None for key in _OF_KUSTOMIZE)
        for key in (*_CHART_KEYS, *(("name",) if is_inflated else ())) if is_mapping else ():
            value = above.get(key)
            if value is not None and value is not node and value.kind == "scalar" and text_of(value):
                return text_of(value)
        above = above.parent
    return None
