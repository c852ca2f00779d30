"""Implement template functions for values: each returns the same as in helm, or raises `Unresolved`."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from nodelint.forms.lib.gotemplate.sprig_collections import COLLECTIONS
from nodelint.forms.lib.gotemplate.sprig_signatures import Function, read_text, typed
from nodelint.forms.lib.gotemplate.sprig_texts import TEXTS
from nodelint.forms.lib.gotemplate.sprig_values import (
    UNSET,
    CopiedText,
    MadeNode,
    PlacedNode,
    TracedText,
    Unordered,
    Unresolved,
    Unset,
    as_node,
    flow,
    hold_value,
    is_nil,
    json_text,
    kind_of,
    printed,
    truth,
    yaml,
)
from nodelint.text.nodes import MappingEntry, Node, SourceText
from nodelint.text.syntax_errors import Unreadable
from nodelint.text.yaml.compose import compose

# -- YAML and JSON


def _to_yaml(value: object) -> TracedText:
    value = as_node(value) if isinstance(value, dict | list) else value
    if not isinstance(value, Node):
        return TracedText(printed(value).pieces, free=True)
    if value.kind != "scalar" and not truth(value):
        raise Unset
    return TracedText(list(yaml(value)), free=True)


def _to_json(value: object) -> TracedText:
    value = as_node(value) if isinstance(value, dict | list) else value
    if isinstance(value, Node):
        if not truth(value) and (value.kind != "scalar" or value.value in (None, "")):
            raise Unset
        pieces = list(flow(value))
        return TracedText(pieces, free=any("${" in text for text, _ in pieces))
    scalar = hold_value(value)
    if scalar is None:
        raise Unset
    return TracedText([(json_text(scalar), None)])


def _from_yaml(text: object) -> object:
    """Return the value of a YAML text. A value that was printed into it keeps its place; other values have none."""
    traced_text = printed(text)
    written = str(traced_text)
    if "{{" in written or "${" in written.replace(UNSET, ""):
        raise Unresolved
    return read_printed(traced_text)


def read_printed(traced_text: TracedText) -> Node:
    """Return the value of a YAML text, each node with the place where it is written. Raise `Unresolved`."""
    written = str(traced_text)
    try:
        roots = compose(SourceText("", written), written, 0, masked=False)
    except Unreadable:
        raise Unresolved from None
    if len(roots) != 1 or roots[0] is None:
        raise Unresolved
    return _Printed(traced_text, written).make_node(roots[0])


class _Printed:
    """A printed text that is parsed as YAML. Its scalars are the printed values, or new ones."""

    def __init__(self, traced_text: TracedText, written: str) -> None:
        self._written = written
        self._pieces = traced_text.pieces
        self._starts = list(accumulate((len(text) for text, _ in traced_text.pieces), initial=0))

    def make_node(self, node: Node) -> Node:
        """Return a copy of a node of the text in which printed values have their places."""
        if node.kind == "scalar":
            return self._make_scalar(node)
        made = MadeNode(SourceText("", ""), 0, 0, node.kind, "flow", node.value)
        made.items = [self.make_node(item) for item in node.items]
        made.entries = [
            MappingEntry(self.make_node(entry.key), self.make_node(entry.value), entry.name) for entry in node.entries
        ]
        return made

    def _make_scalar(self, node: Node) -> Node:
        value = float(node.value) if type(node.value) is int else node.value
        quoted = node.style in ("single", "double")
        for start, end in ((node.start + quoted, node.end - quoted), (node.start, node.end)):
            number = max(bisect_right(self._starts, start) - 1, 0)
            text, given = self._pieces[number] if number < len(self._pieces) else ("", None)
            at = start - self._starts[number]
            if at + end - start > len(text):
                continue
            if isinstance(given, CopiedText):
                place = given.start + at
                return PlacedNode(given.source, place, place + end - start, "scalar", "flow", value)
            # A value of `--set` is another kind of number than one in a text.
            if given is None or type(given) is not Node or given.kind != "scalar" or len(text) != end - start:
                continue
            if given.value == node.value and type(given.value) is type(node.value):
                return given
            return PlacedNode(given.source, given.start, given.end, "scalar", "flow", value)
        return MadeNode(SourceText("", ""), 0, 0, "scalar", "flow", value)


def _from_json(text: str) -> object:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        raise Unresolved from None
    return _from_yaml(text)


def _of_kind(kind: str, read: Function) -> Function:
    def function(text: object) -> object:
        found = read(text)
        if kind_of(found) != kind:
            raise Unresolved
        return found

    return function


# -- choices


def _eq(value: object, *others: object) -> bool:
    if any(is_nil(operand) for operand in (value, *others)):
        raise Unresolved  # the user of the chart sets it
    same = [_is_same_scalar(value, other) for other in others]
    if not same:
        raise Unresolved
    return any(same)


def _is_same_scalar(first: object, other: object) -> bool:
    kind = kind_of(first)
    if kind != kind_of(other) or kind in ("map", "slice"):
        raise Unresolved  # helm fails
    return hold_value(first) == hold_value(other)


def _less(first: object, second: object) -> bool:
    kind, a, b = kind_of(first), hold_value(first), hold_value(second)
    if kind != kind_of(second) or kind not in ("int", "float64", "string"):
        raise Unresolved
    if isinstance(a, str) and isinstance(b, str):
        return a < b
    assert isinstance(a, int | float) and isinstance(b, int | float)
    return a < b


def _semver_compare(wanted: str, version: str) -> bool:
    bound = re.fullmatch(r"(>=|<=|>|<|=?)\s*v?(\d+(?:\.\d+){0,2})(-0)?", wanted)
    given = re.fullmatch(r"v?(\d+(?:\.\d+){0,2})", version)
    if bound is None or given is None:
        raise Unresolved
    lacks = bound[2].count(".") < 2  # `>1.2` and `=1.2` refer to all of 1.2
    if lacks and bound[1] in ("", "=", ">", "<="):
        raise Unresolved
    first, other = ([*map(int, text.split(".")), 0, 0][:3] for text in (given[1], bound[2]))
    results = {">": first > other, "<": first < other, ">=": first >= other, "<=": first <= other}
    return results.get(bound[1], first == other)


def _kind(value: object) -> str:
    found = kind_of(value)
    if found == "int":
        raise Unresolved  # Go has several
    return found


def _tpl(text: object, _: object) -> object:
    if "{{" in read_text(text):
        raise Unresolved
    return text


def _strings(value: object) -> object:
    node = as_node(value)
    if node.kind != "sequence":
        raise Unresolved
    return [printed(item) for item in node.items]


FUNCTIONS: dict[str, Function] = {
    "atoi": typed("s", lambda text: int(text) if re.fullmatch(r"-?\d{1,18}", text, re.ASCII) else 0),
    "coalesce": lambda *values: next((value for value in values if truth(value)), None),
    "default": lambda other, value=None: value if truth(value) else other,
    "empty": typed("a?", lambda value=None: not truth(value)),
    "eq": _eq,
    "fromJson": _of_kind("map", typed("s", _from_json)),
    "fromJsonArray": _of_kind("slice", typed("s", _from_json)),
    "fromYaml": _of_kind("map", typed("a", _from_yaml)),
    "fromYamlArray": _of_kind("slice", typed("a", _from_yaml)),
    "ge": typed("aa", lambda a, b: not _less(a, b)),
    "gt": typed("aa", lambda a, b: _less(b, a)),
    "kindIs": typed("sa", lambda kind, value: kind == _kind(value)),
    "kindOf": typed("a", _kind),
    "le": typed("aa", lambda a, b: not _less(b, a)),
    "lt": typed("aa", _less),
    "mustToJson": typed("a", _to_json),
    "mustToRawJson": typed("a", _to_json),
    "ne": typed("aa", lambda a, b: not _eq(a, b)),
    "not": typed("a", lambda value: not truth(value)),
    "print": typed("a", printed),
    "required": typed("sa", lambda message, value: value),
    "semverCompare": typed("ss", _semver_compare),
    "toJson": typed("a", _to_json),
    "toRawJson": typed("a", _to_json),
    "toString": typed("a", printed),
    "toStrings": typed("a", _strings),
    "toYaml": typed("a", _to_yaml),
    "tpl": typed("aa", _tpl),
    **TEXTS,
    **COLLECTIONS,
}

_KEEPING_LAYOUT = frozenset(
    {"indent", "nindent", "trim", "toString", "print", "default", "coalesce", "ternary", "required", "tpl"}
    | {"fromYaml", "fromYamlArray", "empty", "not", "list", "tuple", "dict", "append", "prepend"}
)
"""Functions that do not depend on the characters of a text, or only on its YAML."""


def call(name: str, args: Sequence[object]) -> object:
    """Return the result of a template function. Raise `Unresolved`, `Unset` and `Printed`."""
    function = FUNCTIONS.get(name)
    if function is None:
        raise Unresolved
    if name not in _KEEPING_LAYOUT and any(isinstance(arg, TracedText) and arg.free for arg in args):
        raise Unresolved
    if name not in ("sortAlpha", "len") and any(isinstance(arg, Unordered) for arg in args):
        raise Unresolved
    try:
        return function(*args)
    except (TypeError, RecursionError):  # wrong number of arguments, or a value (almost) within itself
        raise Unresolved from None
