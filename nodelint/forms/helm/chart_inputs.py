"""Find the inputs on which an unknown value of a chart's template can depend: code, named templates, and values.

A value that no file sets is a placeholder whatever its code is, so equal placeholders do not prove equal values.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from nodelint.files.gate import gate
from nodelint.forms.helm.chart_values import find_releases, install_known_charts
from nodelint.forms.helm.charts import ChartFiles, values_place
from nodelint.forms.helm.values_files import beside, overrides
from nodelint.forms.input_text import InputText
from nodelint.forms.lib.chart_places import CHART, chart_of
from nodelint.forms.lib.gotemplate.surrounding_code import list_codes, list_surrounding_code
from nodelint.forms.lib.unread_inputs import in_one_line
from nodelint.forms.lib.values import read, values_root
from nodelint.model.finding import Span, span_of
from nodelint.text import Node, Source, UnknownValue
from nodelint.text.missing import items_of, text_of
from nodelint.text.reading import nodes_of

_INCLUDED = re.compile(r"\b(?:include|template)\s+\\?\"([^\"\\]+)\\?\"")
"""A named template. In a quoted text of YAML, its quotes may be escaped."""
_BY_NAME = re.compile(r"\b(?:include|template)\s+(?!\\?\")")
_TPL = re.compile(r"\btpl\b(?:\s+(\([^()]*\)|\$?\.Values[\w.]*))?")
_OF_OTHERS = re.compile(r"(?<![\w.])\$\w|(?<![\w$)])\.(?!Values\b)|\b(?:include|template|index)\b")
"""Code in the argument of `tpl` whose text is not a field of the values alone."""
_OF_CHART = re.compile(r"\.Chart\.([A-Z]\w*)")
VALUES = re.compile(r"\.Values\b((?:\.[A-Za-z_]\w*)*)(?:[ \t]+((?:\"[^\"]+\"[ \t]*)+))?")
"""A field of a chart's values. For `index .Values "a" "b"`, the second group has the names."""
_LOOP = re.compile(
    r"\{\{-?\s*range\b(?:(?:\s*\$\w+\s*,)?\s*(\$\w+)\s*:?=)?\s*\$?\.Values((?:\.[A-Za-z_]\w*)+)\s*-?\}\}"
)
"""A loop over one field of a chart's values: its variable, and the path of the field."""


class ChartInputs:
    """Finds inputs in the files of one side of a plan."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._files = ChartFiles({os.path.abspath(source.path): source for source in sources})
        self._roots: dict[str, list[Node]] = {}

    def list_inputs(self, node: Node) -> list[InputText]:
        """Return the inputs of an unknown value in a rendered template, or in a file that a template may read.

        Empty for a file that belongs to no chart.
        """
        built = node.source.built
        if chart_of(node.source.path) is None:
            return self._list_inputs_of_file(node)
        origin = built.find_origin(node) if built is not None else None
        places = (
            [span_of(at) for at in (origin.at, *(step[0] for step in origin.through))] if origin is not None else []
        )
        places = [at for at in places or [span_of(node)] if "{{" in at.source.text]
        codes = [code for at in places for code in _list_lines(at)]
        found = [InputText("template code", code, at) for at in places for code in _list_lines(at)]
        roots = self._list_values(node)
        found += self.list_definitions(node.source.path, codes, roots)
        texts = [*codes, *(given.text for given in found)]
        found += self._list_of_chart(node.source.path, texts)
        found += self._list_missing_charts(node.source.path, texts)
        loops = {tuple(loop[2].split(".")[1:]): loop[1] for text in texts if (loop := _LOOP.fullmatch(text))}
        texts = [text for text in texts if _LOOP.fullmatch(text) is None]
        paths = list(_list_paths(texts))
        for root in roots:
            items = {path: _find_item(node, root, path) for path in loops if path not in paths}
            found += _list_values(root, [*paths, *(path for path, item in items.items() if item is None)])
            for path, item in items.items():
                found += _list_of_item(".".join(path), item, _list_fields(loops[path], texts)) if item else []
        return found

    def _list_inputs_of_file(self, node: Node) -> list[InputText]:
        """Return the values that the code in a chart's file uses: a template may render the file by `tpl`."""
        at = span_of(node)
        codes = list(_list_lines(at)) if ".Values" in at.source.text[at.start : at.end] else []
        folder = os.path.dirname(os.path.abspath(node.source.path)) if codes else ""
        while folder and not gate.is_file(os.path.join(folder, CHART)):
            above = os.path.dirname(folder)
            folder = above if above != folder else ""
        if not folder:
            return []
        own = os.path.join(folder, "values.yaml")
        if own not in self._roots:
            self._roots[own] = [*self._list_roots(own)]
        paths = list(_list_paths(codes))
        return [given for root in self._roots[own] for given in _list_values(root, paths)]

    def _list_values(self, node: Node) -> Sequence[Node]:
        built = node.source.built
        if built is not None and built.values is not None:
            return (built.values,)
        return list(self._list_files(node.source.path))

    def list_existence_inputs(self, node: Node, is_shared: bool = False) -> list[InputText]:
        """Return an empty list: the code around an object is compared as it is written."""
        return []

    def _list_of_chart(self, path: str, codes: Sequence[str]) -> Iterator[InputText]:
        """Yield the fields of Chart.yaml that template code uses."""
        fields = dict.fromkeys(name for code in codes for name in _OF_CHART.findall(code))
        for root in self._read_of_chart(path, CHART) if fields else ():
            for name in fields:
                value = root.get(name[:1].lower() + name[1:])
                if value is not None:
                    yield InputText(f".Chart.{name}", in_one_line(value), span_of(value))

    def _read_of_chart(self, path: str, name: str) -> list[Node]:
        """Return the roots of a file at the top of a template's chart."""
        folder = chart_of(path)
        if folder is None:
            return []
        place = os.path.join(folder, name)
        source = self._files.sources.get(os.path.abspath(place)) or read(place)
        return nodes_of(source) if source is not None else []

    def _list_missing_charts(self, path: str, codes: Sequence[str]) -> Iterator[InputText]:
        """Yield the dependencies of a template's chart, if code includes a template that no file here defines."""
        names = {name for code in codes for name in _INCLUDED.findall(code)}
        if not names or names <= self._files.definitions(path).keys():
            return
        for file in (CHART, "Chart.lock"):
            for item in (
                item for root in self._read_of_chart(path, file) for item in items_of(root.get("dependencies"))
            ):
                yield InputText(f"dependency {text_of(item.get('name'))}", in_one_line(item), span_of(item))

    def list_values_of(self, path: str) -> list[Node]:
        """Return the roots of a chart's values, with which it may be installed, for one of its templates."""
        return list(self._list_files(path))

    def _list_files(self, path: str) -> Iterator[Node]:
        """Yield the roots of a chart's values files, for a template that was not rendered."""
        place = values_place(path)
        own = os.path.abspath(place) if place is not None else None
        if own is None:
            return
        if own not in self._roots:
            self._roots[own] = [*self._list_roots(own)]
        yield from self._roots[own]

    def _list_roots(self, own: str) -> Iterator[Node]:
        """Yield the values of a chart, and all other values with which it is installed, by files or by any form."""
        sources = self._files.sources
        defaults = sources.get(own) or read(own) or Source.from_text(own, "{}\n")
        for source in (
            defaults,
            *filter(None, (sources.get(os.path.abspath(file)) or read(file) for file in beside(own))),
        ):
            root = values_root(source)
            if root is not None:
                yield root
        charts, others = {own: defaults}, [*sources.values()]
        yield from (root for _, _, root in overrides(charts, others))
        for release in (*find_releases(charts, others), *install_known_charts(charts, others)):
            yield release.root

    def list_definitions(self, path: str, codes: Sequence[str], roots: Sequence[Node] = ()) -> list[InputText]:
        """Return the named templates that code includes, directly or indirectly.

        If a name is computed, return all; `roots` are the values with the texts that `tpl` renders.
        """
        if not any(_BY_NAME.search(code) or _TPL.search(code) or _INCLUDED.search(code) for code in codes):
            return []
        definitions = self._files.definitions(path)
        found: dict[str, InputText] = {}
        pending = list(codes)
        while pending:
            code = pending.pop()
            names: Sequence[str] = _INCLUDED.findall(code)
            texts = _list_rendered_texts(code, roots)
            if texts is None or _BY_NAME.search(code):
                names = list(definitions)
            pending += [text for text in texts or () if text != code]
            for name in names:
                if name in definitions and name not in found:
                    source, part, _ = definitions[name]
                    text = source.text[part.start : part.end]
                    found[name] = InputText(name, " ".join(text.split()), Span(source, part.start, part.end))
                    pending.append(text)
        return list(found.values())


def _list_rendered_texts(code: str, roots: Sequence[Node]) -> list[str] | None:
    """Return the template code in the values that code renders by `tpl`. None if a text is not known."""
    found: list[str] = []
    for argument in _TPL.findall(code):
        paths = [tuple(fields.split(".")[1:]) for fields, _ in VALUES.findall(argument)]
        if not paths or not all(paths) or not roots or _OF_OTHERS.search(argument):
            return None
        for node in (root.find(*path) for path in paths for root in roots):
            if node is None or _is_unset(node):
                return None  # whoever installs the chart sets it
            scalars = [part for part in node.walk() if part.kind == "scalar"]
            codes = [code for part in scalars for code in list_codes(part.unquoted.replace('\\"', '"'))]
            is_open = any(isinstance(part.value, UnknownValue) and "{{" not in part.text for part in scalars)
            if is_open or any(map(_TPL.search, codes)):
                return None
            found += codes
    return found


def _is_unset(node: Node) -> bool:
    """Return whether a value is empty: whoever installs the chart sets it."""
    return not (node.items or node.entries) if node.kind != "scalar" else node.value in (None, "")


def _list_lines(at: Span) -> Iterator[str]:
    """Yield the code in the lines of a place, and the code above that opens a block or sets a variable."""
    text = at.source.text
    start = text.rfind("\n", 0, at.start) + 1
    end = text.find("\n", at.end)
    # The code that prints a value may stand on the lines below its key.
    while at.start == at.end and end >= 0 and text[end:].lstrip().startswith("{{"):
        end = text.find("\n", len(text) - len(text[end:].lstrip()))
    yield from list_surrounding_code(text[:start])
    yield from list_codes(text[start : end if end >= 0 else len(text)])


def _list_paths(codes: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the paths of values that code uses. An empty path means all values."""
    for code in codes:
        for fields, names in VALUES.findall(code):
            yield (*fields.split(".")[1:], *re.findall(r'"([^"]+)"', names))


def _list_values(root: Node, paths: Sequence[tuple[str, ...]]) -> Iterator[InputText]:
    """Yield the value at each path. If a path ends early, yield the value at its last existing key."""
    for path in dict.fromkeys(paths):
        node = _follow(root, path)
        if node is not root or not path:
            yield InputText(".".join(path) or "values", in_one_line(node), span_of(node))


def _find_item(node: Node, root: Node, path: Sequence[str]) -> tuple[Node, Node] | None:
    """Return the (key, value) of the map or list item from which a loop renders the object around a node.

    `path` is the path of the map or list. For a list, key and value are the same node. None if there is no single
    item.
    """
    listed, built = root, node.source.built
    for step in path:
        below = listed.get(step)
        if below is None:
            return None
        listed = below
    while node.parent is not None:
        node = node.parent
    origins = [built.find_origin(part) for part in node.walk()] if built is not None else []
    places = {_place(origin.at) for origin in origins if origin is not None}
    items = [(entry.key, entry.value) for entry in listed.entries] or [(item, item) for item in listed.items]
    made = [(key, value) for key, value in items if not places.isdisjoint(map(_place, (key, *value.walk())))]
    return made[0] if len(made) == 1 else None


def _list_fields(variable: str | None, codes: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the fields of a loop's item that code uses. An empty path means the whole item."""
    if variable is None:
        return [()]
    uses = re.compile(rf"{re.escape(variable)}(?!\w)((?:\.[A-Za-z_]\w*)*)")
    return list(dict.fromkeys(tuple(used.split(".")[1:]) for code in codes for used in uses.findall(code)))


def _list_of_item(name: str, item: tuple[Node, Node], fields: Sequence[tuple[str, ...]]) -> Iterator[InputText]:
    """Yield the values of some fields of a loop's item, and the key if the item belongs to a map."""
    key, value = item
    if key is not value:
        yield InputText(name, in_one_line(key), span_of(key))
    for path in fields:
        node = _follow(value, path)
        if node is not value or not path:
            yield InputText(".".join((name, *path)), in_one_line(node), span_of(node))


def _place(at: Node | Span) -> tuple[int, int, int]:
    return id(at.source), at.start, at.end


def _follow(node: Node, path: Sequence[str]) -> Node:
    """Return the value at a path, or the last existing value on it."""
    for step in path:
        below = node.get(step)
        if below is None:
            return node
        node = below
    return node
