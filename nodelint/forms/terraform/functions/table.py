"""Call the functions of Terraform that depend only on their arguments. Unknown arguments give unknown results."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence

from nodelint.forms.lib.made_nodes import mapping, scalar, sequence
from nodelint.forms.registry import TERRAFORM
from nodelint.forms.terraform.arithmetic import calculated
from nodelint.forms.terraform.encode import json_pieces, yaml_pieces
from nodelint.forms.terraform.functions.addresses import ADDRESSES
from nodelint.forms.terraform.functions.collections import (
    COLLECTIONS,
    Function,
    hide_types,
    list_distinct,
    take_integer,
    take_items,
    take_list,
    take_number,
    take_text,
    take_texts,
)
from nodelint.forms.terraform.functions.text import KNOWN_TEXTS, PARTLY_KNOWN_TEXTS, print_format
from nodelint.forms.terraform.nodes import (
    RENDERED_FILE,
    EvaluationFailure,
    collection_of,
    is_empty,
    is_known,
    is_unknown,
    joined,
    same_form,
    sorted_entries,
    unknown,
)
from nodelint.forms.terraform.types import BOOL, NUMBER, STRING, convert, one_type, set_of
from nodelint.text.nodes import Node
from nodelint.text.unknown_value import UNKNOWN

_MOST_ROWS = 1024


def call_function(name: str, args: Sequence[Node], at: Node) -> Node:
    """Return the result of a function. Unknown if the function is not supported.

    Raise `EvaluationFailure` if Terraform would stop.
    """
    if name in _OF_NODES:
        function, needs_all = _OF_NODES[name], False
    elif name in _OF_KNOWN:
        function, needs_all = _OF_KNOWN[name], True
    else:
        return unknown(at)
    if needs_all and not all(map(is_known, args)):
        return unknown(at)
    try:
        found = function(at, *args)
    except (TypeError, ValueError):  # wrong number of arguments
        raise EvaluationFailure from None
    if isinstance(found, Node):
        return found
    return scalar(at, found) if isinstance(found, str | int | float | bool) or found is None else unknown(at)


# -- encoded values, which may be partly unknown


def _json_encode(at: Node, value: Node) -> object:
    if is_unknown(value):
        return unknown(at)
    return joined(at, json_pieces(value, compact=True), is_known(value))


def _yaml_encode(at: Node, value: Node) -> object:
    if is_unknown(value):
        return unknown(at)
    if isinstance(value.value, str) and "\n" in value.value:
        return unknown(at)
    plain = value.kind == "scalar" and not isinstance(value.value, str)
    return joined(at, [*yaml_pieces(value), ("\n...\n" if plain else "\n", value)], is_known(value))


# -- functions that need all of their arguments


_DATE = r"(?a)[1-9]\d{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|30)"
"""A date in YAML, which becomes a timestamp. The result of other forms is not supported."""


def _csv_decoded(at: Node, value: Node) -> object:
    """Return the rows of a CSV text as objects, whose names are in the first row."""
    import csv

    try:
        rows = [row for row in csv.reader(take_text(value).splitlines(keepends=True), strict=True) if row]
    except csv.Error:
        raise EvaluationFailure from None
    if not rows or any(len(row) != len(rows[0]) for row in rows):
        raise EvaluationFailure
    cells = ([(name, at, scalar(at, cell)) for name, cell in zip(rows[0], row, strict=True)] for row in rows[1:])
    return sequence(at, [mapping(at, row) for row in cells])


def _decoded(at: Node, value: Node, masked: bool = False) -> object:
    """Return the value of a YAML or JSON text. Nodes keep their places if the text is a whole file."""
    from nodelint.text.source import Source
    from nodelint.text.syntax_errors import Unreadable
    from nodelint.text.yaml.compose import compose

    whole = value.source.text
    text = take_text(value)
    at_home = value.start == 0 and value.end == len(whole) and text == whole
    source = value.source if at_home else Source(value.source.path, text)
    try:
        roots = compose(source, text, 0, masked=masked)
    except Unreadable:
        raise EvaluationFailure from None
    if len(roots) != 1 or roots[0] is None:
        return unknown(at)
    for node in roots[0].walk():
        written = text[node.start : node.end]
        # here a leading zero has no meaning, but Kubernetes' YAML reads an octal number
        if isinstance(node.value, int) and node.style == "plain" and re.fullmatch(r"[-+]?0[0-7]+", written):
            node.value = int(written)
        elif isinstance(node.value, int | float) and node.style == "plain" and "_" in written:
            node.value = written  # not a number here
        elif isinstance(node.value, str) and node.style == "plain" and re.fullmatch(_DATE, written):
            node.value = f"{written}T00:00:00Z"
    if not at_home:
        for node in roots[0].walk():
            node.source, node.start, node.end = at.source, at.start, at.end
        if value.start == 0 and not value.source.path.endswith(TERRAFORM.language):
            roots[0].tag = f"{RENDERED_FILE}{os.path.abspath(value.source.path)}"
    return roots[0]


def _format_row(at: Node, form: Node, row: Sequence[Node]) -> Node:
    found = print_format(at, form, *row)
    assert isinstance(found, Node)
    return found


def _format_list(at: Node, form: Node, *args: Node) -> object:
    """Return the results of `format` for each item. An argument that is no list is used for every item."""
    lengths = {len(arg.items) for arg in args if arg.kind == "sequence"}
    if len(lengths) > 1:
        raise EvaluationFailure
    length = lengths.pop() if lengths else 1
    rows = ([arg.items[n] if arg.kind == "sequence" else arg for arg in args] for n in range(length))
    return sequence(at, [_format_row(at, form, row) for row in rows], "list")


def _set_product(at: Node, *args: Node) -> object:
    rows: list[list[Node]] = [[]]
    for arg in args:
        items = one_type(take_items(arg))
        if len(rows) * len(items) > _MOST_ROWS:
            return unknown(at)
        rows = [[*row, item] for row in rows for item in items]
    made = [sequence(at, row) for row in rows]
    return set_of(at, made) if any(collection_of(arg) == "set" for arg in args) else sequence(at, made, "list")


def _index_of(at: Node, value: Node, item: Node) -> object:
    found = [same_form(member) for member in take_list(value)]
    if same_form(item) not in found:
        raise EvaluationFailure
    return found.index(same_form(item))


def _sum(at: Node, value: Node) -> object:
    made = scalar(at, 0)
    if not take_items(value):
        raise EvaluationFailure
    for item in take_items(value):
        made = scalar(at, calculated("+", [take_number(made), take_number(item)]))
        if made.value is UNKNOWN:
            break
    return made


def _chunk_list(at: Node, value: Node, size: Node) -> object:
    items, step = one_type(take_list(value)), take_integer(size)
    if step < 1:
        raise EvaluationFailure
    return sequence(at, [sequence(at, items[n : n + step], "list") for n in range(0, len(items), step)], "list")


def _contains(at: Node, value: Node, item: Node) -> object:
    return same_form(item) in [same_form(member) for member in take_items(value)]


def _sort(at: Node, value: Node) -> object:
    return sequence(at, sorted(take_texts(value), key=take_text), "list")


def _compact(at: Node, value: Node) -> object:
    return sequence(at, [item for item in take_texts(value) if not is_empty(item)], "list")


def _distinct(at: Node, value: Node) -> object:
    return sequence(at, list_distinct(one_type(take_items(value))), "list")


def _set_of(keep: Callable[[object, list[list[object]]], bool]) -> Function:
    def function(at: Node, *args: Node) -> object:
        whole = one_type([item for arg in args for item in take_items(arg)])
        if hide_types(args) and not all(isinstance(item.value, str) for item in whole):
            return unknown(at)
        rest = iter(whole)
        forms = [[same_form(next(rest)) for _ in arg.items] for arg in args]
        return set_of(at, [item for item in whole if keep(same_form(item), forms)])

    return function


def _range(at: Node, *args: Node) -> object:
    numbers = [take_integer(arg) for arg in args]
    start, end = (0, numbers[0]) if len(numbers) == 1 else numbers[:2]
    step = numbers[2] if len(numbers) > 2 else (1 if start <= end else -1)
    if not step or any(abs(number) >= 1 << 53 for number in numbers):
        raise EvaluationFailure
    found = range(start, end, step)
    if len(found) > 1024:
        raise EvaluationFailure
    return sequence(at, [scalar(at, number) for number in found], "list")


def _to_bool(at: Node, value: Node) -> object:
    return convert(value, BOOL)


def _to_string(at: Node, value: Node) -> object:
    return convert(value, STRING)


def _to_number(at: Node, value: Node) -> object:
    return convert(value, NUMBER)


def _power(at: Node, number: Node, power: Node) -> object:
    base, exponent = take_number(number), take_number(power)
    if not isinstance(base, int) or not isinstance(exponent, int) or not 0 <= exponent <= 64:
        return unknown(at)
    found = base**exponent if abs(base) < 1 << 53 else 1 << 53
    return found if abs(found) < 1 << 53 else unknown(at)  # it is computed with floats


def _transpose(at: Node, value: Node) -> object:
    found: dict[str, list[Node]] = {}
    if value.kind != "mapping":
        raise EvaluationFailure
    for entry in sorted_entries(value):
        for item in take_texts(entry.value):
            found.setdefault(take_text(item), []).append(scalar(entry.key, entry.name))
    return mapping(
        at, ((name, scalar(at, name), sequence(at, items, "list")) for name, items in sorted(found.items())), "map"
    )


def _match_keys(at: Node, values: Node, keys: Node, wanted: Node) -> object:
    if len(take_list(values)) != len(take_list(keys)):
        raise EvaluationFailure
    both = one_type([*keys.items, *take_items(wanted)])
    forms = [same_form(item) for item in both]
    own, searched = forms[: len(keys.items)], forms[len(keys.items) :]
    return sequence(
        at, [value for value, key in zip(one_type(values.items), own, strict=True) if key in searched], "list"
    )


_OF_NODES: dict[str, Function] = {
    **COLLECTIONS,
    **PARTLY_KNOWN_TEXTS,
    "jsonencode": _json_encode,
    "yamlencode": _yaml_encode,
}
_OF_KNOWN: dict[str, Function] = {
    **ADDRESSES,
    **KNOWN_TEXTS,
    "abs": lambda at, value: abs(take_number(value)),
    "alltrue": lambda at, value: all(item.value in (True, "true") for item in take_items(value)),
    "anytrue": lambda at, value: any(item.value in (True, "true") for item in take_items(value)),
    "ceil": lambda at, value: -int(-take_number(value) // 1),
    "compact": _compact,
    "contains": _contains,
    "chunklist": _chunk_list,
    "csvdecode": _csv_decoded,
    "distinct": _distinct,
    "floor": lambda at, value: int(take_number(value) // 1),
    "formatlist": _format_list,
    "index": _index_of,
    "jsondecode": _decoded,
    "matchkeys": _match_keys,
    "max": lambda at, *args: max(map(take_number, args)),
    "min": lambda at, *args: min(map(take_number, args)),
    "pow": _power,
    "range": _range,
    "setintersection": _set_of(lambda item, lists: all(item in members for members in lists)),
    "setproduct": _set_product,
    "setsubtract": _set_of(lambda item, lists: item in lists[0] and item not in lists[-1]),
    "setunion": _set_of(lambda item, lists: True),
    "signum": lambda at, value: (take_integer(value) > 0) - (take_integer(value) < 0),
    "sort": _sort,
    "sum": _sum,
    "tobool": _to_bool,
    "tonumber": _to_number,
    "tostring": _to_string,
    "transpose": _transpose,
    "yamldecode": _decoded,
}
