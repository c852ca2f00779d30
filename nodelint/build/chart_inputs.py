"""The inputs that an unknown value of a chart's template can depend on: code, named templates, and values.

A value that no file gives is a placeholder whatever its code is, so that equal placeholders prove nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from nodelint.build.input_text import InputText
from nodelint.build.roots import own_roots, read
from nodelint.model.finding import Span, span_of
from nodelint.source import Node, Source, SourceText
from nodelint.source.templates.charts import ChartFiles, chart_of
from nodelint.source.templates.surrounding_code import list_codes, list_codes_around

_INCLUDED = re.compile(r"\b(?:include|template)\s+\"([^\"]+)\"")
_BY_NAME = re.compile(r"\b(?:include|template)\s+(?!\")|\btpl\b")
VALUES = re.compile(r"\.Values\b((?:\.[A-Za-z_]\w*)*)(?:[ \t]+((?:\"[^\"]+\"[ \t]*)+))?")
"""A field of a chart's values; of `index .Values "a" "b"` the names that follow."""


class ChartInputs:
    """Finds inputs among the files of one side."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._files = ChartFiles({os.path.abspath(source.path): source for source in sources})

    def list_inputs(self, node: Node) -> list[InputText]:
        """Return the inputs of an unknown value in what a template comes to; none of a file of no chart."""
        built = node.source.built
        if chart_of(node.source.path) is None:
            return []
        origin = built.find_origin(node) if built is not None else None
        places = [span_of(at) for at in (origin.at, *(step[0] for step in origin.through))] if origin is not None else []
        places = [at for at in places or [span_of(node)] if "{{" in at.source.text]
        codes = [code for at in places for code in _list_lines(at)]
        found = [InputText("template code", code, at) for at in places for code in _list_lines(at)]
        found += self._list_definitions(node.source.path, codes)
        paths = list(_list_paths([*codes, *(given.text for given in found)]))
        parts = built.parts if built is not None else ()
        given = built.given if built is not None else ()
        values = [self._files.sources.get(part) or read(part) for part in parts if part.endswith((".yaml", ".yml"))]
        for source in {id(s): s for s in (*values, *given) if s is not None and chart_of(s.path) is None}.values():
            found += list_values(source, paths)
        return found

    def _list_definitions(self, path: str, codes: Sequence[str]) -> list[InputText]:
        """The named templates that code includes, also by others; all of them for a name that is worked out."""
        definitions = self._files.definitions(path)
        found: dict[str, InputText] = {}
        pending = list(codes)
        while pending:
            code = pending.pop()
            names = list(definitions) if _BY_NAME.search(code) else _INCLUDED.findall(code)
            for name in names:
                if name in definitions and name not in found:
                    source, part, _ = definitions[name]
                    text = source.text[part.start : part.end]
                    found[name] = InputText(name, " ".join(text.split()), Span(source, part.start, part.end))
                    pending.append(text)
        return list(found.values())


def _list_lines(at: Span) -> Iterator[str]:
    """The code in the lines of a place, and what is open or set above them."""
    text = at.source.text
    start = text.rfind("\n", 0, at.start) + 1
    end = text.find("\n", at.end)
    yield from list_codes_around(text[:start])
    yield from list_codes(text[start : end if end >= 0 else len(text)])


def _list_paths(codes: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The paths of values that code uses; an empty one for all values."""
    for code in codes:
        for fields, names in VALUES.findall(code):
            yield (*fields.split(".")[1:], *re.findall(r'"([^"]+)"', names))


def list_values(source: SourceText, paths: Sequence[tuple[str, ...]]) -> Iterator[InputText]:
    """Yield what a file says at some paths of values, wherever in it these begin: an Application holds values, too."""
    whole = source if isinstance(source, Source) else Source.from_text(source.path, source.text)
    for root in own_roots(whole):
        for path in dict.fromkeys(paths):
            if not path:
                yield InputText(os.path.basename(source.path), text_of(root), span_of(root))
            for top in _list_tops(root, path[0]) if path else ():
                node = _follow(top, path[1:])
                yield InputText(".".join(path), text_of(node), span_of(node))


def _list_tops(root: Node, key: str) -> Iterator[Node]:
    """The values of a key at the top of values; in another object, of the key at any place."""
    if root.get("apiVersion") is None:
        top = root.get(key)
        yield from (top,) if top is not None else ()
        return
    for node in root.walk():
        name = node.get("name")
        if node.kind == "mapping" and name is not None and isinstance(name.value, str):
            if re.split(r"[.\[]", name.value)[0] == key:  # a parameter
                yield node
        if node.kind == "mapping":
            yield from (entry.value for entry in node.entries if entry.name == key)
        elif node.style == "literal" and re.search(rf"(?m)^\s*{re.escape(key)}\s*:", node.text):
            yield node


def _follow(node: Node, path: Sequence[str]) -> Node:
    """The value at a path, or where the path ends."""
    for step in path:
        below = node.get(step)
        if below is None:
            return node
        node = below
    return node


def text_of(node: Node) -> str:
    """Return a value in one line, whatever way it is written in; a placeholder as it is written."""
    if any(part.kind == "scalar" and not isinstance(part.value, str | int | float | bool | None) for part in node.walk()):
        return " ".join(node.text.split())
    return repr(node.plain())
