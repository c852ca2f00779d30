"""Implement template functions for lists, maps and numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from nodelint.forms.lib.gotemplate.sprig_signatures import Function, read_items, read_map, read_text, typed
from nodelint.forms.lib.gotemplate.sprig_values import (
    MadeNode,
    TracedText,
    Unordered,
    Unresolved,
    as_node,
    hold_value,
    kind_of,
    printed,
    truth,
)
from nodelint.text.nodes import MappingEntry, Node

_MOST_ITEMS = 1000


def _with_entries(like: Node, entries: Sequence[MappingEntry]) -> Node:
    made = MadeNode(like.source, like.start, like.end, "mapping", "flow")
    made.entries = list(entries)
    return made


# -- maps


def _dict(*args: object) -> dict[str, object]:
    if len(args) % 2:
        raise Unresolved
    return {read_text(key): value for key, value in zip(args[::2], args[1::2], strict=True)}


def _has_key(mapping: object, key: str) -> bool:
    if isinstance(mapping, dict):
        return key in mapping
    return read_map(mapping).get(key) is not None


def _get(mapping: object, key: str) -> object:
    return mapping.get(key) if isinstance(mapping, dict) else read_map(mapping).get(key)


def _omit(value: object, *keys: str) -> object:
    if isinstance(value, dict):
        return {name: item for name, item in value.items() if name not in keys}
    node = read_map(value)
    return _with_entries(node, [entry for entry in node.entries if entry.name not in keys])


def _pick(value: object, *keys: str) -> object:
    node = read_map(value)
    return _with_entries(node, [entry for entry in node.entries if entry.name in keys])


def _dig(*args: object) -> object:
    *steps, other, value = args
    if not steps:
        raise Unresolved
    for step in map(read_text, steps):
        if value is None or (isinstance(value, Node) and value.kind == "scalar" and value.value is None):
            return other if value is None else None
        value = _get(value, step)
        if value is None:
            return other
    return value


def copy_maps(value: object) -> object:
    """Return a copy of a value with copies of its maps, at all levels.

    A later `set` on the copy does not change the original.
    """
    if isinstance(value, dict):
        return {name: copy_maps(item) for name, item in value.items()}
    if not isinstance(value, Node) or value.kind != "mapping":
        return value
    pairs = ((entry, copy_maps(entry.value)) for entry in value.entries)
    return _with_entries(value, [MappingEntry(entry.key, as_node(item), entry.name) for entry, item in pairs])


def _merged(first: Node, other: Node, overwrite: bool) -> Node:
    """Return two maps merged. The first map's value counts unless it is empty.

    With `overwrite`, the other's counts.
    """
    found = {entry.name: entry for entry in first.entries}
    for entry in other.entries:
        own = found.get(entry.name)
        if own is None:
            found[entry.name] = entry
        elif own.value.kind == entry.value.kind == "mapping":
            value = _merged(own.value, entry.value, overwrite)
            found[entry.name] = MappingEntry(own.key, value, own.name)
        elif overwrite or not truth(own.value):
            found[entry.name] = entry
    return _with_entries(first, list(found.values()))


def _merge(first: Node, *others: Node) -> object:
    for other in others:
        first = _merged(first, other, False)
    return first


def _merge_overwrite(first: Node, *others: Node) -> object:
    for other in others:
        first = _merged(first, other, True)
    return first


def _keys(*maps: Node) -> object:
    found = [entry.name or "" for mapping in maps for entry in mapping.entries]
    return Unordered(found) if len(found) > 1 else found


def _values(value: Node) -> object:
    found = [entry.value for entry in value.entries]
    return Unordered(found) if len(found) > 1 else found


# -- lists


def _unique(items: list[Node]) -> object:
    found: list[Node] = []
    for item in items:
        if all(not _is_same(item, other) for other in found):
            found.append(item)
    return found


def _remove_items(items: list[Node], *others: object) -> object:
    return [item for item in items if not any(_is_same(item, other) for other in others)]


def _has_item(item: object, value: object) -> bool:
    return value is not None and any(_is_same(item, other) for other in read_items(value))


def _is_same(first: object, other: object) -> bool:
    """Return whether two values are deeply equal, with the same types."""
    kind = kind_of(first)
    if kind != kind_of(other):
        return False
    if kind not in ("map", "slice"):
        return hold_value(first) == hold_value(other)
    first, second = as_node(first), as_node(other)
    if kind == "slice":
        pairs = zip(first.items, second.items, strict=False)
        return len(first.items) == len(second.items) and all(_is_same(a, b) for a, b in pairs)
    names = {entry.name for entry in first.entries}
    if names != {entry.name for entry in second.entries}:
        return False
    return all(_is_same(entry.value, second.get(entry.name or "")) for entry in first.entries)


def _sorted(value: object) -> object:
    items = value if isinstance(value, Unordered) else read_items(value) if kind_of(value) == "slice" else [value]
    texts = [item if isinstance(hold_value(item), str) else printed(item) for item in items]
    return sorted(texts, key=lambda item: str(printed(item)))


def _length(value: object) -> int:
    if isinstance(value, Unordered):
        return len(value)
    kind = kind_of(value)
    if kind == "string":
        return len(read_text(value).encode())
    if kind not in ("map", "slice"):
        raise Unresolved
    node = as_node(value)
    return len(node.entries or node.items)


def _part(items: list[Node], *ends: int) -> object:
    start, stop = (*ends, len(items))[:2] if ends else (0, len(items))
    if len(ends) > 2 or not 0 <= start <= stop <= len(items):
        raise Unresolved
    return items[start:stop]


def _index(value: object, *steps: object) -> object:
    for step in steps:
        node = as_node(value)
        scalar = hold_value(step)
        if node.kind == "mapping" and isinstance(scalar, str):
            value = node.get(scalar)
        elif node.kind == "sequence" and type(scalar) is int and 0 <= scalar < len(node.items):
            value = node.items[scalar]
        else:
            raise Unresolved
    return value


# -- numbers


def _until(number: int) -> object:
    if abs(number) > _MOST_ITEMS:
        raise Unresolved
    return list(range(0, number, -1 if number < 0 else 1))


def _until_step(start: int, stop: int, step: int) -> object:
    if not step or abs(stop - start) // abs(step) > _MOST_ITEMS:
        raise Unresolved
    return list(range(start, stop, step))


def to_integer(value: object) -> int:
    """Return the result of the function `int`.

    Raise `Unresolved` for other texts, which Go reads in its own way.
    """
    scalar = hold_value(value)
    if isinstance(scalar, bool):
        return int(scalar)
    if isinstance(scalar, str) and (scalar == "0" or scalar.removeprefix("-")[:1] not in ("", "0")):
        scalar = int(scalar) if scalar.removeprefix("-").isdecimal() and scalar.isascii() else None
    if not isinstance(scalar, int | float) or not math.isfinite(scalar) or abs(scalar) >= 1 << 63:
        raise Unresolved
    return int(scalar)


def _to_float(value: object) -> float:
    scalar = hold_value(value)
    try:
        found = float(scalar) if isinstance(scalar, str | int | float) else math.nan
    except ValueError:
        found = math.nan
    if not math.isfinite(found) or (isinstance(scalar, str) and not scalar.isascii()):
        raise Unresolved
    return found


def _of_integers(change: Callable[[int, int], int]) -> Function:
    def function(first: object, *others: object) -> object:
        made = to_integer(first)
        for other in others:
            made = change(made, to_integer(other))
        if abs(made) >= 1 << 63:
            raise Unresolved
        return made

    return function


def _divided(first: int, other: int) -> int:
    if not other:
        raise Unresolved
    made = abs(first) // abs(other)
    return made if (first < 0) == (other < 0) else -made


def _seq(*numbers: int) -> object:
    if not 1 <= len(numbers) <= 3:
        raise Unresolved
    first = 1 if len(numbers) == 1 else numbers[0]
    last = numbers[-1]
    step = numbers[1] if len(numbers) == 3 else (1 if last >= first else -1)
    if not step or abs(last - first) > _MOST_ITEMS or (last < first) != (step < 0):
        raise Unresolved
    return TracedText([(" ".join(map(str, range(first, last + (1 if step > 0 else -1), step))), None)])


def _rounded(value: object, places: int) -> object:
    number = _to_float(value)
    if number < 0 or not 0 <= places <= 10:
        raise Unresolved
    return math.floor(number * 10**places + 0.5) / 10**places


COLLECTIONS: dict[str, Function] = {
    "add": _of_integers(lambda first, other: first + other),
    "add1": typed("a", lambda value: to_integer(value) + 1),
    "all": lambda *values: all(map(truth, values)),
    "any": lambda *values: any(map(truth, values)),
    "append": typed("la", lambda items, item: [*items, item]),
    "ceil": typed("a", lambda value: float(math.ceil(_to_float(value)))),
    "compact": typed("l", lambda items: [item for item in items if truth(item)]),
    "concat": typed("l*", lambda *lists: [item for items in lists for item in items]),
    "deepCopy": typed("a", copy_maps),
    "deepEqual": typed("aa", _is_same),
    "dict": _dict,
    "dig": _dig,
    "div": typed("aa", _of_integers(_divided)),
    "first": typed("l", lambda items: items[0] if items else None),
    "float64": typed("a", _to_float),
    "floor": typed("a", lambda value: float(math.floor(_to_float(value)))),
    "get": typed("as", _get),
    "has": typed("aa", _has_item),
    "hasKey": typed("as", _has_key),
    "index": typed("aa*", _index),
    "initial": typed("l", lambda items: items[:-1]),
    "int": typed("a", to_integer),
    "int64": typed("a", to_integer),
    "keys": typed("m*", _keys),
    "last": typed("l", lambda items: items[-1] if items else None),
    "len": _length,
    "list": lambda *values: list(values),
    "max": _of_integers(max),
    "merge": typed("m*", _merge),
    "mergeOverwrite": typed("m*", _merge_overwrite),
    "min": _of_integers(min),
    "mod": typed("aa", _of_integers(lambda first, other: first - other * _divided(first, other))),
    "mul": _of_integers(lambda first, other: first * other),
    "omit": typed("as*", _omit),
    "pick": typed("as*", _pick),
    "pluck": typed("sm*", lambda key, *maps: [found for mapping in maps if (found := mapping.get(key)) is not None]),
    "prepend": typed("la", lambda items, item: [item, *items]),
    "rest": typed("l", lambda items: items[1:]),
    "reverse": typed("l", lambda items: items[::-1]),
    "round": typed("ai", _rounded),
    "seq": typed("i*", _seq),
    "slice": typed("li*", _part),
    "sortAlpha": _sorted,
    "sub": typed("aa", _of_integers(lambda first, other: first - other)),
    "tuple": lambda *values: list(values),
    "uniq": typed("l", _unique),
    "until": typed("i", _until),
    "untilStep": typed("iii", _until_step),
    "values": typed("m", _values),
    "without": typed("la*", _remove_items),
}
_MAY_FAIL = (
    *("append", "compact", "deepCopy", "first", "has", "initial", "last", "merge", "mergeOverwrite"),
    *("prepend", "rest", "reverse", "slice", "uniq", "without"),
)
"""Functions that also exist with the prefix `must`. On an error, helm fails with both."""
COLLECTIONS.update({f"must{name[0].upper()}{name[1:]}": COLLECTIONS[name] for name in _MAY_FAIL})
