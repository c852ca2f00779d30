"""Charts around a template: where their default values are, and conditions that ask for another field."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from nodelint.source import Node, Source, reading
from nodelint.source.compose import compose
from nodelint.source.discover import CHART
from nodelint.source.gotemplate import Action, BadTemplate, Block, Branch, Part, Pipeline, parse
from nodelint.source.unreadable import Unreadable
from nodelint.tuples import NamedTuple

_FOLDER = "templates"
_VALUES = "values.yaml"
_LARGEST = 4 << 20


def values_of(path: str) -> str | None:
    """The path of the default values for a template of a chart; None for any other file.

    A chart within another one has none of its own: the outer chart may give it others.
    """
    folder = os.path.dirname(path)
    while os.path.basename(folder) != _FOLDER:
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    chart = os.path.dirname(folder)
    if not os.path.isfile(os.path.join(chart, CHART)):
        return None
    outer, name = os.path.split(os.path.dirname(os.path.abspath(chart)))
    if name == "charts" and os.path.isfile(os.path.join(outer, CHART)):
        return None
    values = os.path.join(chart, _VALUES)
    return values if os.path.isfile(values) else None


def default_values(path: str) -> Node | None:
    """The default values for a template; None where it has none that can be read."""
    values = values_of(path)
    if values is None:
        return None
    try:
        home = reading.repository(os.path.dirname(os.path.abspath(values)))
        source = Source(values, reading.read(values, _LARGEST, within=home).decode())
        return compose(source, source.text, 0, masked=False)[0]
    except (OSError, ValueError, Unreadable, IndexError):
        return None


class Crossed(NamedTuple):
    """A field that a template writes under a condition on another one.

    `condition` is what the condition asks for, `value` the code that prints the field `meant`: where they stand.
    """

    key: str
    condition: tuple[int, int]
    value: tuple[int, int]
    meant: str


def crossed(text: str) -> list[Crossed]:
    """The fields of a template that another field's condition guards, which is printed by itself elsewhere."""
    try:
        parts = parse(text)
    except BadTemplate:
        return []
    blocks = list(_blocks(parts))
    bodies = [parts, *(branch.body for block in blocks for branch in block.branches)]
    names = {(key, value) for body in bodies for key, value, _ in _own(body, text)}
    found = []
    for block in blocks:
        branch = block.branches[0]
        asked = _path(branch.expression)
        given = [each for each in _own(branch.body, text) if each[1] is not None]
        inside = re.findall(_KEY, text[branch.code.end : block.end.start])
        if len(block.branches) > 1 or branch.word != "if" or asked is None or len(given) != 1 or len(inside) != 1:
            continue
        key, value, at = given[0]
        alike = value is not None and value != asked and value[:-1] == asked[:-1] and key == value[-1]
        if alike and value is not None and (asked[-1], asked) in names:
            found.append(Crossed(key, _place(text, branch, asked), at, _written(value)))
    return found


_KEY = r"(?m)^[ \t]*(?:- )?([A-Za-z][\w./-]*):"
_Path = tuple[str, ...]


def _blocks(parts: tuple[Part, ...]) -> Iterator[Block]:
    for part in parts:
        if isinstance(part, Block):
            yield part
            for branch in part.branches:
                yield from _blocks(branch.body)


def _own(parts: tuple[Part, ...], text: str) -> Iterator[tuple[str, _Path | None, tuple[int, int]]]:
    """The keys whose values code prints among some parts: key, the field that is printed, where the code is."""
    for part in parts:
        if isinstance(part, Action) and part.variable is None:
            line = text[text.rfind("\n", 0, part.code.start) + 1 : part.code.start]
            above = text[: part.code.outer_start] if not line.strip() else line
            key = re.search(r"([A-Za-z][\w./-]*):[ \t]*[\"']?$", above[-200:])
            if key is not None:
                yield key[1], _path(part.expression), (part.code.start, part.code.end)


def _path(expression: Pipeline | None) -> _Path | None:
    """The one field that a pipeline is about, from `.` or a variable on; None where it is about others too."""
    if expression is None or expression.kind == "value":
        return None
    if expression.kind == "call":
        fields = [path for arg in expression.args if (path := _path(arg)) is not None]
        return fields[0] if len(fields) == 1 and expression.value not in ("default", "include", "tpl") else None
    names = expression.value
    assert isinstance(names, tuple)
    return (expression.of, *names) if isinstance(expression.of, str) and names else None


def _written(path: _Path) -> str:
    return ".".join(["" if path[0] == "." else path[0], *path[1:]])


def _place(text: str, branch: Branch, path: _Path) -> tuple[int, int]:
    written = _written(path)
    start = text.index(written, branch.code.start)
    return start, start + len(written)
