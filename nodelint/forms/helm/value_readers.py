"""Find what reads a value of a chart, besides judged objects: other templates, guards, the schema, other charts."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence

from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.files.safe_read import find_top
from nodelint.forms.helm.chart_inputs import VALUES
from nodelint.forms.lib.chart_places import CHART
from nodelint.forms.lib.values import own_roots
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
_INLINE = ("values", "valuesObject")
"""Keys of objects that hold the values of a chart."""
_CONDITION = re.compile(r"\{\{-?\s*(?:else\s+)?(?:if|with|range)\s+(?:not\s+)?\$?\.Values[\w.]*\s*-?")
_TOP_KEY = re.compile(r"(?m)^[\"']?([\w-]+)[\"']?[ \t]*:")


class ChartValueReaders:
    """Finds the code in templates of judged charts that reads a value for something else than a judged object.

    It also finds a schema that refuses the new value, and places that pass the values file to another chart.
    """

    def __init__(self, judged: JudgedPlaces, _: Sequence[Source]) -> None:
        self._judged = judged
        self._charts = sorted(judged.charts)
        self._uses: dict[str, dict[str, list[tuple[tuple[str, ...], Span]]]] = {}
        self._texts: dict[str, list[tuple[str, str]]] = {}
        self._takers: dict[str, list[tuple[Span, str | None]]] = {}
        self._templates: dict[str, str] = {}

    def list_places(self, edit: Edit) -> Iterator[Span]:
        """Yield such places for the value that an edit changes."""
        if not edit.source.path.endswith(_ENDS):
            return
        names = _list_names(edit)
        for chart in self._charts if names else ():
            own = names[1:] if names[0] == os.path.basename(chart) and names[1:] else names
            yield from self._list_uses_of(chart, own)
            yield from _list_refusals(chart, own, edit)
        keys = _TOP_KEY.findall(edit.source.text, 0, edit.start)
        for place, folder in self._list_takers(os.path.abspath(edit.source.path)):
            if folder is None or (keys and self._reads(folder, keys[-1])):
                yield place

    def _list_uses_of(self, chart: str, names: tuple[str, ...]) -> Iterator[Span]:
        """Yield the code of a chart's templates that reads a value, a map around it, or a part of it."""
        for path, place in self._list_uses(chart).get(names[0], ()):
            known = os.path.abspath(place.source.path)
            length = min(len(path), len(names))
            if path[:length] != names[:length] or self._judged.holds(known, place.start, place.end):
                continue
            # A loop over the map, in a template with judged objects, reads the value for these objects.
            if len(path) >= len(names) or known not in self._judged.parts:
                yield place

    def _list_uses(self, chart: str) -> dict[str, list[tuple[tuple[str, ...], Span]]]:
        """Return the values that the code of a chart's templates reads: path and place of each, by the first key."""
        if chart not in self._uses:
            found = self._uses[chart] = {}
            for folder, _, names in gate.walk(os.path.join(chart, "templates")):
                for path in (os.path.join(folder, name) for name in sorted(names) if name != "NOTES.txt"):
                    text = gate.load_text(path, _LARGEST, within=chart)
                    source = Source(os.path.relpath(path).replace(os.sep, "/"), text or "")
                    for use in VALUES.finditer(source.text):
                        fields = tuple(use[1].split(".")[1:])
                        if fields and not _is_condition(source.text, use.start()):
                            found.setdefault(fields[0], []).append((fields, Span(source, use.start(), use.end())))
        return self._uses[chart]

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
                        folder = _find_folder(chart, (os.path.dirname(other), top)) if chart is not None else None
                        if chart is not None and folder not in self._charts:
                            found.append((span_of(node), folder))
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


def _is_condition(text: str, at: int) -> bool:
    """Return whether code only asks whether a value is there: it is there after an edit, too."""
    opened, closed = text.rfind("{{", 0, at), text.find("}}", at)
    return opened >= 0 and _CONDITION.fullmatch(text[opened:closed]) is not None


def _list_names(edit: Edit) -> tuple[str, ...]:
    """Return the keys that lead to the edited value. Empty if they are not known."""
    source = edit.source
    roots = own_roots(source) if isinstance(source, Source) else ()
    found: list[str] = []
    inner = next((root for root in roots if root.start <= edit.start <= root.end), None)
    while inner is not None:
        entry = next((entry for entry in inner.entries if entry.value.start <= edit.start <= entry.value.end), None)
        item = next((item for item in inner.items if item.start <= edit.start <= item.end), None)
        found += [entry.name] if entry is not None and entry.name is not None else []
        inner = entry.value if entry is not None else item
    inline = [number for number, name in enumerate(found) if name in _INLINE]
    return tuple(found[inline[-1] + 1 :] if inline else found)


def _list_refusals(chart: str, names: Sequence[str], edit: Edit) -> Iterator[Span]:
    """Yield the place of a chart's schema that does not allow the new value."""
    path = os.path.join(chart, "values.schema.json")
    text = gate.load_text(path, _LARGEST, within=chart) if gate.is_file(path) else None
    if text is None:
        return
    try:
        schema = json.loads(text)
    except ValueError:
        return
    for name in names:
        properties = schema.get("properties") if isinstance(schema, dict) else None
        schema = properties.get(name) if isinstance(properties, dict) else None
    if not isinstance(schema, dict) or _allows(schema, edit.text.strip("\"'")):
        return
    at = max(text.find(f'"{names[-1]}"'), 0)
    yield Span(Source(os.path.relpath(path).replace(os.sep, "/"), text), at, at + len(names[-1]) + 2)


def _allows(schema: dict[str, object], value: str) -> bool:
    """Return whether a schema allows a text. False if the schema refers to another one."""
    from jsonschema import Draft7Validator
    from jsonschema.exceptions import SchemaError

    parts = schema.get("items") if schema.get("type") == "array" else schema
    if not isinstance(parts, dict):
        return True
    if "$ref" in parts:
        return False
    try:
        return bool(Draft7Validator({key: part for key, part in parts.items() if key != "type"}).is_valid(value))
    except (SchemaError, TypeError, AttributeError):
        return False


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
