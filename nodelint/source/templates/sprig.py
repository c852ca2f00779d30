"""Functions of templates over values; those of lists and maps are in `sprig_collections`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

from nodelint.source.nodes import Node
from nodelint.source.templates.sprig_collections import COLLECTIONS
from nodelint.source.templates.sprig_values import (
    Piece,
    Rope,
    Unresolved,
    Unset,
    as_node,
    flow,
    go_text,
    plain,
    printed,
    truth,
    yaml,
)

# -- functions; the last argument is what was piped in


def _to_yaml(value: object) -> Rope:
    value = as_node(value) if isinstance(value, dict | list) else value
    if not isinstance(value, Node):
        return printed(value)
    if value.kind != "scalar" and not truth(value):
        raise Unset
    return Rope(list(yaml(value)))


def _to_json(value: object) -> Rope:
    value = as_node(value) if isinstance(value, dict | list) else value
    if isinstance(value, Node):
        if not truth(value) and plain(value) in (None, "", [], {}):
            raise Unset
        return Rope(list(flow(value)))
    found = plain(value)
    if found is None:
        raise Unset
    return Rope([(json.dumps(found, ensure_ascii=False), None)])


def _quote(*values: object) -> Rope:
    pieces: list[Piece] = []
    for value in values:
        pieces += [(" ", None)] if pieces else []
        pieces.append(('"', None))
        pieces += [(json.dumps(text, ensure_ascii=False)[1:-1], node) for text, node in printed(value).pieces]
        pieces.append(('"', None))
    return Rope(pieces)


def _squote(value: object) -> Rope:
    return Rope([("'", None), *printed(value).pieces, ("'", None)])


def _indent(width: object, value: object) -> Rope:
    if not isinstance(width, int) or not 0 <= width <= 100:
        raise Unresolved
    pieces: list[Piece] = []
    for line in printed(value).lines():
        pieces += [("\n" if pieces else "", None), (" " * width, None), *line]
    return Rope(pieces)


def _nindent(width: object, value: object) -> Rope:
    return Rope([("\n", None), *_indent(width, value).pieces])


def _default(other: object, value: object = None) -> object:
    return value if truth(value) else other


def _required(_: object, value: object) -> object:
    return value


def _text(change: Callable[..., str]) -> Callable[..., object]:
    """A function of texts: what it gives is from no one value."""

    def function(*args: object) -> object:
        ropes = [printed(arg) for arg in args]
        new = change(*map(str, ropes))
        return ropes[-1] if new == str(ropes[-1]) else Rope([(new, None)])

    return function


def _tpl(text: object, _: object) -> object:
    if "{{" in str(printed(text)):
        raise Unresolved
    return text


def _trim(value: object) -> object:
    rope = printed(value)
    if str(rope) == str(rope).strip():
        return rope
    return Rope([(str(rope).strip(), rope.pieces[0][1] if len(rope.pieces) == 1 else None)])


def _number(value: object) -> object:
    try:
        return value if isinstance(plain(value), int) else int(float(str(plain(value))))
    except ValueError:
        raise Unresolved from None


def _coalesce(*values: object) -> object:
    return next((value for value in values if truth(value)), values[-1])


def _eq(value: object, *others: object) -> bool:
    if any(plain(other) is None for other in (value, *others)):
        raise Unresolved  # whoever installs the chart gives it
    return any(plain(value) == plain(other) for other in others)


def _has_key(mapping: object, key: object) -> bool:
    if isinstance(mapping, dict):
        return str(plain(key)) in mapping
    return isinstance(mapping, Node) and mapping.get(str(plain(key))) is not None


def _get(mapping: object, key: object) -> object:
    return mapping.get(str(plain(key))) if isinstance(mapping, Node | dict) else None


def _has_item(item: object, items: object) -> bool:
    values = plain(items)
    return isinstance(values, list) and plain(item) in values


def _index(value: object, *steps: object) -> object:
    for step in map(plain, steps):
        value = as_node(value) if isinstance(value, dict | list) else value
        if not isinstance(value, Node) or not isinstance(step, int | str):
            raise Unresolved
        value = value.find(step)
    return value


def _dig(*args: object) -> object:
    *steps, other, value = args
    for step in map(plain, steps):
        value = value.get(str(step)) if isinstance(value, Node | dict) else None
    return other if value is None else value


def _less(first: object, second: object) -> bool:
    a, b = plain(first), plain(second)
    if isinstance(a, int | float) and isinstance(b, int | float):
        return a < b
    raise Unresolved


def _length(value: object) -> int:
    found = plain(value)
    if isinstance(found, list | dict | str):
        return len(found)
    raise Unresolved


def _semver_compare(wanted: object, version: object) -> bool:
    match = re.fullmatch(r"(>=|<=|>|<|=?)\s*v?(\d+(?:\.\d+){0,2})(?:-0)?", str(printed(wanted)))
    given = re.fullmatch(r"v?(\d+(?:\.\d+){0,2})", str(printed(version)))
    if match is None or given is None:
        raise Unresolved
    left, other = ([*map(int, text.split(".")), 0, 0][:3] for text in (given[1], match[2]))
    return {">": left > other, "<": left < other, ">=": left >= other, "<=": left <= other}.get(
        match[1], left == other
    )


def _kind_is(kind: object, value: object) -> bool:
    names: dict[type, object] = {dict: "map", list: "slice", str: "string", bool: "bool", type(None): "invalid"}
    found = names.get(type(plain(value)))
    if found is None:
        raise Unresolved
    return str(plain(kind)) == found


def _join(between: object, items: object) -> object:
    values = plain(items)
    if not isinstance(values, list) or not values:
        raise Unset
    return Rope([(str(between).join(go_text(value) for value in values), None)])


def _printf(form: object, *values: object) -> object:
    shape = str(form)
    if re.search(r"%(?![sdv])", shape) or len(re.findall("%", shape)) != len(values):
        raise Unresolved
    parts = re.split("%[sdv]", shape)
    pieces: list[Piece] = [(parts[0], None)]
    for value, part in zip(values, parts[1:], strict=True):
        pieces += [*printed(value).pieces, (part, None)]
    return Rope([piece for piece in pieces if piece[0]])


def _ternary(yes: object, no: object, test: object) -> object:
    return yes if truth(test) else no


FUNCTIONS: dict[str, Callable[..., object]] = {
    "coalesce": _coalesce,
    "default": _default,
    "dig": _dig,
    "empty": lambda value=None: not truth(value),
    "eq": _eq,
    "ge": lambda a, b: not _less(a, b),
    "get": _get,
    "gt": lambda a, b: _less(b, a),
    "has": _has_item,
    "hasKey": _has_key,
    "indent": _indent,
    "index": _index,
    "int": _number,
    "int64": _number,
    "join": _join,
    "kindIs": _kind_is,
    "le": lambda a, b: not _less(b, a),
    "len": _length,
    "list": lambda *values: list(values),
    "lower": _text(str.lower),
    "lt": _less,
    "ne": lambda a, b: not _eq(a, b),
    "nindent": _nindent,
    "not": lambda value=None: not truth(value),
    "printf": _printf,
    "quote": _quote,
    "replace": _text(lambda old, new, text: text.replace(old, new)),
    "required": _required,
    "semverCompare": _semver_compare,
    "squote": _squote,
    "ternary": _ternary,
    "toJson": _to_json,
    "toString": printed,
    "toYaml": _to_yaml,
    "tpl": _tpl,
    "trim": _trim,
    "trimPrefix": _text(lambda prefix, text: text.removeprefix(prefix)),
    "trimSuffix": _text(lambda suffix, text: text.removesuffix(suffix)),
    "upper": _text(str.upper),
}


FUNCTIONS.update(COLLECTIONS)


def call(name: str, args: Sequence[object]) -> object:
    """What a function gives. Raises `Unresolved`, `Unset` and `Printed`."""
    function = FUNCTIONS.get(name)
    if function is None:
        raise Unresolved
    try:
        return function(*args)
    except TypeError:  # too many arguments, or too few
        raise Unresolved from None
