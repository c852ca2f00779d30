"""Functions of templates over lists and maps, and those of numbers and texts that give no places."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nodelint.source.nodes import MappingEntry, Node
from nodelint.source.templates.sprig_values import MadeNode, Rope, Unresolved, as_node, plain, truth

_MOST_ITEMS = 1000


def _mapping(value: object) -> Node:
    node = as_node(value)
    if node.kind == "scalar" and node.value is None:
        return as_node({})
    if node.kind != "mapping" or any(entry.name is None for entry in node.entries):
        raise Unresolved
    return node


def _items(value: object) -> list[Node]:
    node = as_node(value)
    if node.kind == "scalar" and node.value is None:
        return []
    if node.kind != "sequence":
        raise Unresolved
    return node.items


def _with_entries(like: Node, entries: Sequence[MappingEntry]) -> Node:
    made = MadeNode(like.source, like.start, like.end, "mapping", "flow")
    made.entries = list(entries)
    return made


def _dict(*args: object) -> dict[str, object]:
    if len(args) % 2:
        raise Unresolved
    return {str(plain(key)): value for key, value in zip(args[::2], args[1::2], strict=True)}


def _omit(value: object, *keys: object) -> object:
    names = {str(plain(key)) for key in keys}
    if isinstance(value, dict):
        return {name: item for name, item in value.items() if name not in names}
    node = _mapping(value)
    return _with_entries(node, [entry for entry in node.entries if entry.name not in names])


def _pick(value: object, *keys: object) -> object:
    names = {str(plain(key)) for key in keys}
    node = _mapping(value)
    return _with_entries(node, [entry for entry in node.entries if entry.name in names])


def _merged(first: Node, other: Node, overwrite: bool) -> Node:
    """Two maps as one: what the first has counts, unless it is empty, or with `overwrite` the other has it."""
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


def _merge(first: object, *others: object) -> object:
    made = _mapping(first)
    for other in others:
        made = _merged(made, _mapping(other), False)
    return made


def _merge_overwrite(first: object, *others: object) -> object:
    made = _mapping(first)
    for other in others:
        made = _merged(made, _mapping(other), True)
    return made


def _keys(*values: object) -> object:
    return [entry.name or "" for value in values for entry in _mapping(value).entries]


def _values(value: object) -> object:
    return [entry.value for entry in _mapping(value).entries]


def _first(value: object) -> object:
    items = _items(value)
    return items[0] if items else None


def _last(value: object) -> object:
    items = _items(value)
    return items[-1] if items else None


def _concat(*values: object) -> object:
    return [item for value in values for item in _items(value)]


def _append(value: object, item: object) -> object:
    return [*_items(value), item]


def _prepend(value: object, item: object) -> object:
    return [item, *_items(value)]


def _unique(value: object) -> object:
    found: list[Node] = []
    for item in _items(value):
        if all(item.plain() != other.plain() for other in found):
            found.append(item)
    return found


def _sorted(value: object) -> object:
    return sorted(_items(value), key=lambda item: str(plain(item)))


def _until(number: object) -> object:
    count = _whole(number)
    if count > _MOST_ITEMS:
        raise Unresolved
    return list(range(count))


def _whole(value: object) -> int:
    found = plain(value)
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise Unresolved
    return int(found)


def _of_numbers(change: Callable[[int, int], int]) -> Callable[..., object]:
    def function(first: object, *others: object) -> object:
        made = _whole(first)
        for other in others:
            made = change(made, _whole(other))
        return made

    return function


def _divided(dividend: int, other: int) -> int:
    if not other:
        raise Unresolved
    made = abs(dividend) // abs(other)
    return made if (dividend < 0) == (other < 0) else -made


def _text(value: object) -> str:
    found = plain(value)
    if not isinstance(found, str):
        raise Unresolved
    return found


def _truncated(length: object, value: object) -> object:
    text, count = _text(value), _whole(length)
    cut = text[:count] if count >= 0 else text[count:]
    return value if cut == text else Rope([(cut, None)])


COLLECTIONS: dict[str, Callable[..., object]] = {
    "add": _of_numbers(lambda left, other: left + other),
    "append": _append,
    "concat": _concat,
    "contains": lambda part, text: _text(part) in _text(text),
    "deepCopy": lambda value: value,
    "dict": _dict,
    "div": _of_numbers(_divided),
    "first": _first,
    "hasPrefix": lambda start, text: _text(text).startswith(_text(start)),
    "hasSuffix": lambda end, text: _text(text).endswith(_text(end)),
    "keys": _keys,
    "last": _last,
    "max": _of_numbers(max),
    "merge": _merge,
    "mergeOverwrite": _merge_overwrite,
    "min": _of_numbers(min),
    "mul": _of_numbers(lambda left, other: left * other),
    "mustMerge": _merge,
    "mustMergeOverwrite": _merge_overwrite,
    "omit": _omit,
    "pick": _pick,
    "prepend": _prepend,
    "sortAlpha": _sorted,
    "splitList": lambda between, text: list(_text(text).split(_text(between))),
    "sub": _of_numbers(lambda left, other: left - other),
    "trunc": _truncated,
    "tuple": lambda *values: list(values),
    "uniq": _unique,
    "until": _until,
    "values": _values,
}
