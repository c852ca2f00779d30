"""Functions of Terraform over lists and objects, of which parts may be unknown, and what functions take."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from nodelint.source.nodes import UNKNOWN, Node
from nodelint.source.terraform.tfeval import (
    EvaluationFailure,
    is_empty,
    is_known,
    is_unknown,
    key_node,
    mapping,
    number_of,
    same_form,
    sequence,
    text_of,
    unknown,
)

Function = Callable[..., object]
"""A function of a call: its place, and its arguments. It may raise `EvaluationFailure` where Terraform stops."""


# -- helpers


def take_text(node: Node) -> str:
    if node.kind != "scalar" or node.value is None:
        raise EvaluationFailure
    return text_of(node.value)


def take_integer(node: Node) -> int:
    number = number_of(node.value)
    if not isinstance(number, int):
        raise EvaluationFailure
    return number


def take_number(node: Node) -> int | float:
    number = number_of(node.value)
    if number is None:
        raise EvaluationFailure
    return number


def take_items(node: Node) -> list[Node]:
    if node.kind != "sequence":
        raise EvaluationFailure
    return node.items


def has_open_names(node: Node) -> bool:
    """Whether names of an object are not known."""
    return is_unknown(node) or any(entry.name is None for entry in node.entries)


def list_distinct(items: Sequence[Node]) -> list[Node]:
    found: dict[str, Node] = {}
    for item in items:
        found.setdefault(json.dumps(same_form(item), default=repr, sort_keys=True), item)
    return list(found.values())


# -- collections, of which parts may be unknown


def _merge(at: Node, *args: Node) -> object:
    given = [arg for arg in args if not (arg.kind == "scalar" and arg.value is None)]
    if any(map(has_open_names, given)):
        return unknown(at)
    if any(arg.kind != "mapping" for arg in given):
        raise EvaluationFailure
    return mapping(at, ((entry.name or "", entry.key, entry.value) for arg in given for entry in arg.entries))


def _concat(at: Node, *args: Node) -> object:
    if any(map(is_unknown, args)):
        return unknown(at)
    return sequence(at, [item for arg in args for item in take_items(arg)])


def _flatten(at: Node, value: Node) -> object:
    found: list[Node] = []
    pending = [value]
    while pending:
        node = pending.pop()
        if node.kind == "sequence":
            pending += reversed(node.items)
        elif is_unknown(node):
            return unknown(at)
        else:
            found.append(node)
    return sequence(at, found)


def _to_list(at: Node, value: Node) -> object:
    if is_unknown(value) or value.kind == "sequence":
        return value
    raise EvaluationFailure


def _to_set(at: Node, value: Node) -> object:
    if is_unknown(value):
        return value
    items = take_items(value)
    if not all(map(is_known, items)):
        return unknown(at)
    texts = list_distinct(items)
    if all(isinstance(item.value, str) for item in texts):
        texts.sort(key=lambda item: str(item.value))
    return sequence(at, texts)


def _to_map(at: Node, value: Node) -> object:
    return value


def _keys(at: Node, value: Node) -> object:
    if has_open_names(value):
        return unknown(at)
    entries = sorted(value.entries, key=lambda entry: entry.name or "")
    return sequence(at, [key_node(entry) for entry in entries])


def _values(at: Node, value: Node) -> object:
    if has_open_names(value):
        return unknown(at)
    return sequence(at, [entry.value for entry in sorted(value.entries, key=lambda entry: entry.name or "")])


def _length(at: Node, value: Node) -> object:
    if has_open_names(value):
        return unknown(at)
    return len(value.items or value.entries) if value.kind != "scalar" else len(take_text(value))


def _lookup(at: Node, value: Node, key: Node, other: Node | None = None) -> object:
    if has_open_names(value) or key.value is UNKNOWN:
        return unknown(at)
    found = value.get(take_text(key))
    if found is None and other is None:
        raise EvaluationFailure
    return found if found is not None else other


def _element(at: Node, value: Node, index: Node) -> object:
    if is_unknown(value) or index.value is UNKNOWN:
        return unknown(at)
    items, number = take_items(value), take_integer(index)
    if not items or number < 0:
        raise EvaluationFailure
    return items[number % len(items)]


def _wrap_single_value(at: Node, value: Node) -> object:
    if is_unknown(value):
        return unknown(at)
    items = take_items(value)
    if len(items) > 1:
        raise EvaluationFailure
    return items[0] if items else None


def _coalesce(at: Node, *args: Node) -> object:
    for arg in args:
        if not is_known(arg):
            return unknown(at)
        if not is_empty(arg):
            return arg
    raise EvaluationFailure


def _coalesce_list(at: Node, *args: Node) -> object:
    return _coalesce(at, *args)


def _zip_map(at: Node, keys: Node, values: Node) -> object:
    if not is_known(keys) or is_unknown(values):
        return unknown(at)
    if len(take_items(keys)) != len(take_items(values)):
        raise EvaluationFailure
    return mapping(at, ((take_text(k), k, v) for k, v in zip(keys.items, values.items, strict=True)))


def _slice(at: Node, value: Node, start: Node, end: Node) -> object:
    if is_unknown(value) or not (is_known(start) and is_known(end)):
        return unknown(at)
    first, last = take_integer(start), take_integer(end)
    if not 0 <= first <= last <= len(take_items(value)):
        raise EvaluationFailure
    return sequence(at, value.items[first:last])


def _reverse(at: Node, value: Node) -> object:
    return unknown(at) if is_unknown(value) else sequence(at, take_items(value)[::-1])


def _itself(at: Node, value: Node) -> object:
    return value


COLLECTIONS: dict[str, Function] = {
    "coalesce": _coalesce,
    "coalescelist": _coalesce_list,
    "concat": _concat,
    "element": _element,
    "flatten": _flatten,
    "keys": _keys,
    "length": _length,
    "lookup": _lookup,
    "merge": _merge,
    "nonsensitive": _itself,
    "one": _wrap_single_value,
    "reverse": _reverse,
    "sensitive": _itself,
    "slice": _slice,
    "tolist": _to_list,
    "tomap": _to_map,
    "toset": _to_set,
    "values": _values,
    "zipmap": _zip_map,
}
"""By name."""
