"""Check the types of arguments of template functions: helm fails for any other type."""

from __future__ import annotations

from collections.abc import Callable

from nodelint.forms.lib.gotemplate.sprig_values import TracedText, Unordered, Unresolved, Unset, as_node, hold_value
from nodelint.text.nodes import Node
from nodelint.text.unknown_value import UNKNOWN

Function = Callable[..., object]


def typed(takes: str, function: Function) -> Function:
    """Return a function that checks its arguments and converts them to Python values.

    `takes` has a letter for each argument: `s` a string, `i` an integer, `n` any number, `m` a map as a node, `l` the
    items of a list, `a` any value unchanged. A `*` repeats the letter before it, a `?` makes it optional.
    """
    least = len(takes.replace("*", "").replace("?", "")) - ("*" in takes or "?" in takes)
    letters = takes.replace("*", "").replace("?", "")

    def call(*args: object) -> object:
        if len(args) < least or (len(args) > len(letters) and "*" not in takes):
            raise Unresolved
        kinds = letters + letters[-1] * max(len(args) - len(letters), 0)
        return function(*(_READERS[kind](arg) for kind, arg in zip(kinds, args, strict=False)))

    return call


def of_texts(takes: str, change: Callable[..., str]) -> Function:
    """Return a function that returns a text. If the text is equal to the last argument, that argument is returned."""
    checked = typed(takes, change)

    def function(*args: object) -> object:
        new = checked(*args)
        last = args[-1]
        if isinstance(last, Node) and last.kind == "scalar" and last.value == new:
            return last
        return last if isinstance(last, TracedText) and str(last) == new else TracedText([(str(new), None)])

    return function


def read_text(value: object) -> str:
    """Return the string of an argument. Raise `Unset` if it is empty, `Unresolved` for another type."""
    if value is None or (isinstance(value, Node) and (value.value is UNKNOWN or value.value in (None, ""))):
        if isinstance(value, Node) and value.kind != "scalar":
            raise Unresolved
        raise Unset
    scalar = hold_value(value)
    if not isinstance(scalar, str):
        raise Unresolved
    return scalar


def read_items(value: object) -> list[Node]:
    """Return the items of a list. Raise `Unset` if it is null, `Unresolved` for another type."""
    node = as_node(value)
    if node.kind == "scalar" and node.value is None:
        raise Unset
    if node.kind != "sequence":
        raise Unresolved
    return node.items


def read_map(value: object) -> Node:
    """Return a map. Raise `Unset` if it is null, `Unresolved` for another type."""
    node = as_node(value)
    if node.kind == "scalar" and node.value is None:
        raise Unset
    if node.kind != "mapping" or any(entry.name is None for entry in node.entries):
        raise Unresolved
    return node


def _read_integer(value: object) -> int:
    scalar = hold_value(value)
    if type(scalar) is not int:
        raise Unresolved
    return scalar


def _read_number(value: object) -> int | float:
    scalar = hold_value(value)
    if isinstance(scalar, bool) or not isinstance(scalar, int | float):
        raise Unresolved
    return scalar


def _read_anything(value: object) -> object:
    if isinstance(value, Unordered):
        raise Unresolved
    return value


_READERS: dict[str, Function] = {
    "s": read_text,
    "i": _read_integer,
    "n": _read_number,
    "m": read_map,
    "l": read_items,
    "a": _read_anything,
}
