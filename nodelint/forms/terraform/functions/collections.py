"""Implement Terraform functions for lists and objects, which may be partly unknown, and readers of arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

from nodelint.forms.lib.made_nodes import Collection, mapping, sequence
from nodelint.forms.terraform.nodes import (
    EvaluationFailure,
    collection_of,
    is_known,
    is_null,
    is_unknown,
    key_node,
    number_of,
    same_form,
    sorted_entries,
    text_of,
    unknown,
)
from nodelint.forms.terraform.types import ANY, STRING, ValueType, convert, list_of, type_of, unify
from nodelint.text.nodes import MappingEntry, Node
from nodelint.text.unknown_value import UNKNOWN

Function = Callable[..., object]
"""A function that gets the place of its call, and its arguments. It may raise `EvaluationFailure`."""


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


def take_list(node: Node) -> list[Node]:
    """Return the items of a list or tuple. Raise `EvaluationFailure` for a set, which has no order."""
    if collection_of(node) == "set":
        raise EvaluationFailure
    return take_items(node)


def take_texts(node: Node) -> list[Node]:
    """Return the items of a list, converted to strings."""
    return [convert(item, STRING) for item in take_items(node)]


def has_open_names(node: Node) -> bool:
    """Return whether some names of an object are unknown."""
    return is_unknown(node) or any(entry.name is None for entry in node.entries)


def hide_types(collections: Sequence[Node]) -> bool:
    """Return whether one of some lists or sets is empty, so that the type of its items is not known."""
    return any(node.kind == "sequence" and not node.items and collection_of(node) != "tuple" for node in collections)


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
    members = [(entry.name or "", entry.key, entry.value) for arg in given for entry in arg.entries]
    kinds = [type_of(arg) for arg in given]
    alike = all(collection_of(arg) == "map" for arg in given) and unify(kinds) in kinds
    return mapping(at, members, "map" if alike and given else "object")


def _concat(at: Node, *args: Node) -> object:
    if any(map(is_unknown, args)):
        return unknown(at)
    items = [item for arg in args for item in take_list(arg)]
    if hide_types(args) and not all(type_of(item) in (STRING, ANY) for item in items):
        return unknown(at)
    kinds = [type_of(arg) for arg in args]
    return list_of(at, items) if all(kind.name == "list" for kind in kinds) else sequence(at, items)


def _flatten(at: Node, value: Node) -> object:
    take_items(value) if not is_unknown(value) else None
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


def _convert_to(name: str) -> Function:
    def function(at: Node, value: Node) -> object:
        return convert(value, ValueType(name, (ANY,)))

    return function


def _list_of_entries(part: Callable[[MappingEntry], Node]) -> Function:
    def function(at: Node, value: Node) -> object:
        if has_open_names(value):
            return unknown(at)
        if value.kind != "mapping":
            raise EvaluationFailure
        kind: Collection = "list" if collection_of(value) == "map" else "tuple"
        return sequence(at, [part(entry) for entry in sorted_entries(value)], kind)

    return function


def _length(at: Node, value: Node) -> object:
    if has_open_names(value):
        return unknown(at)
    if value.kind != "scalar":
        return len(value.items or value.entries)
    if not isinstance(value.value, str):
        raise EvaluationFailure
    return unknown(at) if has_clusters(value.value) else len(value.value)


def has_clusters(text: str) -> bool:
    """Return whether several characters of a text may count as one for Terraform, which counts grapheme clusters."""
    return not text.isascii() and re.search("[^\0-\u02ff\u3040-\u9fff]", text) is not None


def _lookup(at: Node, value: Node, key: Node, other: Node | None = None) -> object:
    if has_open_names(value) or key.value is UNKNOWN:
        return unknown(at)
    if value.kind != "mapping":
        raise EvaluationFailure
    found = value.get(take_text(key))
    if found is None and other is None:
        raise EvaluationFailure
    kind = type_of(value)
    if kind.name == "map" and other is not None:
        other = convert(other, kind.of[0])
    return found if found is not None else other


def _element(at: Node, value: Node, index: Node) -> object:
    if is_unknown(value) or index.value is UNKNOWN:
        return unknown(at)
    items, number = take_list(value), take_integer(index)
    if not items:
        raise EvaluationFailure
    return items[number % len(items)] if number >= 0 else unknown(at)  # releases before 1.12 stop here


def _wrap_single_value(at: Node, value: Node) -> object:
    if is_unknown(value):
        return unknown(at)
    items = take_items(value)
    if len(items) > 1:
        raise EvaluationFailure
    return items[0] if items else None


def _coalesce(at: Node, *args: Node) -> object:
    wanted = unify([kind for kind in map(type_of, args) if kind != ANY])
    if wanted is None:
        raise EvaluationFailure
    for arg in args:
        if not is_known(arg):
            return unknown(at)
        if not is_null(arg) and not (arg.value == "" and wanted == STRING):
            return convert(arg, wanted)
    raise EvaluationFailure


def _coalesce_list(at: Node, *args: Node) -> object:
    for arg in args:
        if is_unknown(arg):
            return unknown(at)
        if take_list(arg):
            return arg
    raise EvaluationFailure


def _zip_map(at: Node, keys: Node, values: Node) -> object:
    if not is_known(keys) or is_unknown(values):
        return unknown(at)
    if len(take_items(keys)) != len(take_items(values)):
        raise EvaluationFailure
    kind: Collection = "map" if collection_of(values) == "list" else "object"
    return mapping(at, ((take_text(k), k, v) for k, v in zip(keys.items, take_list(values), strict=True)), kind)


def _slice(at: Node, value: Node, start: Node, end: Node) -> object:
    if is_unknown(value) or not (is_known(start) and is_known(end)):
        return unknown(at)
    first, last = take_integer(start), take_integer(end)
    if not 0 <= first <= last <= len(take_list(value)):
        raise EvaluationFailure
    return sequence(at, value.items[first:last], collection_of(value))


def _reverse(at: Node, value: Node) -> object:
    if is_unknown(value):
        return unknown(at)
    kind: Collection = "tuple" if collection_of(value) == "tuple" else "list"
    return sequence(at, take_items(value)[::-1], kind)


def _itself(at: Node, value: Node) -> object:
    return value


COLLECTIONS: dict[str, Function] = {
    "coalesce": _coalesce,
    "coalescelist": _coalesce_list,
    "concat": _concat,
    "element": _element,
    "flatten": _flatten,
    "keys": _list_of_entries(key_node),
    "length": _length,
    "lookup": _lookup,
    "merge": _merge,
    "nonsensitive": _itself,
    "one": _wrap_single_value,
    "reverse": _reverse,
    "sensitive": _itself,
    "slice": _slice,
    "tolist": _convert_to("list"),
    "tomap": _convert_to("map"),
    "toset": _convert_to("set"),
    "values": _list_of_entries(lambda entry: entry.value),
    "zipmap": _zip_map,
}
"""The functions by name."""
