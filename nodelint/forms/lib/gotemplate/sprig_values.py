"""Represent the values of template functions. A text records from which value each part comes.

A function raises `Unresolved` if its result is unknown, or only known in a cluster: its call stays template code.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal

from nodelint.text.nodes import MappingEntry, Node, SourceText
from nodelint.text.unknown_value import UNKNOWN
from nodelint.text.yaml.scalars import reads_as_text

Piece = tuple[str, Node | None]

DEEPEST = 100
"""The deepest nesting of lists and maps in a template value."""
_PIECE = 16
"""The bytes that count for a piece of text in addition to its characters."""


class Unresolved(Exception):
    """Raised if a result depends on something that is unknown before the installation."""


class Unset(Exception):
    """Raised if a value is empty or missing: the user of the chart must set it."""


class Printed(Exception):
    """Raised if a list or mapping is printed without a function that writes YAML or JSON."""


class TracedText:
    """A string made of segments (`pieces`), each with the value from which it comes.

    `free`: it is the same YAML as helm's, but quotes and lines may differ, so its characters must not be inspected.
    Code in double braces prints unknown values.
    """

    __slots__ = ("free", "pieces")

    def __init__(self, pieces: Sequence[Piece], free: bool = False) -> None:
        self.pieces = tuple(pieces)
        self.free = free

    def __str__(self) -> str:
        return "".join(text for text, _ in self.pieces)

    @property
    def size(self) -> int:
        """Return the bytes that count for the text: its characters, and some for each piece."""
        return sum([len(text) for text, _ in self.pieces]) + _PIECE * len(self.pieces)

    def lines(self) -> Iterator[list[Piece]]:
        """Yield the pieces of text of each line."""
        line: list[Piece] = []
        for text, node in self.pieces:
            first, *others = text.split("\n")
            line.append((first, node))
            at = len(first)
            for other in others:
                yield line
                line = [(other, node.from_character(at + 1) if isinstance(node, CopiedText) else node)]
                at += 1 + len(other)
        yield line


Value = Node | TracedText | str | int | float | bool | list[object] | None


class MadeNode(Node):
    """A value that a template computes: it is written nowhere. Go keeps its integers as integers."""

    __slots__ = ()


class PlacedNode(MadeNode):
    """A scalar of a value that was parsed from the output of a named template. It is written in that template."""

    __slots__ = ()


class SetNode(Node):
    """A value of `--set`. Go keeps its integers as integers, but those of files as floats."""

    __slots__ = ()


class CopiedText(Node):
    """Characters that were copied from a named template. Template code in them prints unknown values."""

    __slots__ = ()

    def from_character(self, number: int) -> CopiedText:
        """Return the characters from the index `number` on."""
        return CopiedText(self.source, self.start + number, self.end, "scalar", "plain", UNKNOWN)


class Unordered(list[object]):
    """A list whose order is random in Go: the keys of a map."""


def as_node(value: object) -> Node:
    """Return a value as a node.

    Raise `Unresolved` for the top of helm's data, and for a value that contains itself.
    """
    if isinstance(value, Node):
        return value
    if isinstance(value, TracedText) and len(value.pieces) == 1:
        text, node = value.pieces[0]
        if node is not None and node.kind == "scalar" and node.value == text:
            return node
    if isinstance(value, Unordered):
        raise Unresolved
    if isinstance(value, dict | list):
        return _make_collection(value, {}, 0)
    if isinstance(value, TracedText):
        return MadeNode(_NOWHERE, 0, 0, "scalar", "plain", str(value))
    if value is None or isinstance(value, str | int | float | bool):
        return MadeNode(_NOWHERE, 0, 0, "scalar", "plain", value)
    raise Unresolved


def _make_collection(value: dict[str, object] | list[object], made: dict[int, Node | None], depth: int) -> Node:
    """Return a list or map as a node. A value that occurs several times is converted once. Raise `Unresolved`."""
    if id(value) in made:
        known = made[id(value)]
        if known is None:
            raise Unresolved  # it contains itself
        return known
    if depth > DEEPEST or isinstance(value, Unordered):
        raise Unresolved
    made[id(value)] = None

    def convert(part: object) -> Node:
        return _make_collection(part, made, depth + 1) if isinstance(part, dict | list) else as_node(part)

    if isinstance(value, dict):
        node = MadeNode(_NOWHERE, 0, 0, "mapping", "flow")
        node.entries = [MappingEntry(as_node(name), convert(item), name) for name, item in value.items()]
    else:
        node = MadeNode(_NOWHERE, 0, 0, "sequence", "flow")
        node.items = [convert(item) for item in value]
    made[id(value)] = node
    return node


_NOWHERE = SourceText("", "")


def _origin(node: Node) -> Node | None:
    """Return the node to record as the origin of a printed value. None if it is written nowhere."""
    if isinstance(node, PlacedNode):
        return CopiedText(node.source, node.start, node.end, "scalar", "plain", UNKNOWN)
    return None if isinstance(node, MadeNode) else node


def truth(value: object) -> bool:
    """Return whether a template treats a value as true. Raise `Unresolved` for a text that is only partly known."""
    if isinstance(value, Node):
        if value.kind == "scalar":
            return truth(known(value))
        return bool(value.entries or value.items)
    if isinstance(value, TracedText):
        text = str(value)
        if value.free and "{{" in text:
            raise Unresolved
        return bool(text)
    return bool(value)


def known(node: Node) -> str | int | float | bool | None:
    """Return the value of a scalar. Raise `Unresolved` for a placeholder."""
    if isinstance(node.value, str | int | float | bool) or node.value is None:
        return node.value
    raise Unresolved


def is_nil(value: object) -> bool:
    """Return whether a value is null. Raise `Unresolved` for a placeholder."""
    return known(value) is None if isinstance(value, Node) and value.kind == "scalar" else value is None


def hold_value(value: object) -> object:
    """Return a scalar with the type that Go uses (numbers of files are floats), and other values unchanged."""
    if isinstance(value, TracedText):
        return str(value)
    if not isinstance(value, Node) or value.kind != "scalar":
        return value
    found = known(value)
    return float(found) if type(found) is int and type(value) is Node else found


def kind_of(value: object) -> str:
    """Return the Go kind of a value. Raise `Unresolved` if it has none here."""
    if isinstance(value, Node) and value.kind != "scalar":
        return "map" if value.kind == "mapping" else "slice"
    scalar = hold_value(value)
    if isinstance(scalar, list | dict):
        return "map" if isinstance(scalar, dict) else "slice"
    name = _KINDS.get(type(scalar))
    if name is None:
        raise Unresolved
    return name


_KINDS: dict[type, str] = {str: "string", bool: "bool", int: "int", float: "float64", type(None): "invalid"}


def printed(value: object) -> TracedText:
    """Return a value as a template prints it. Raise `Unset` and `Printed`."""
    if isinstance(value, TracedText):
        return value
    if isinstance(value, Node):
        if value.kind != "scalar":
            if not truth(value):
                raise Unset
            raise Printed
        if value.value is UNKNOWN or value.value is None or value.value == "":
            raise Unset
        return TracedText([(go_text(hold_value(value)), _origin(value))])
    if value is None:
        raise Unset
    if isinstance(value, list | dict):
        raise Printed
    if not isinstance(value, str | int | float):
        raise Unresolved
    return TracedText([(go_text(value), None)])


def go_text(value: object, json_form: bool = False) -> str:
    """Return a scalar as Go prints it. With `json_form`, numbers have the form of Go's JSON.

    Raise `Unresolved` for infinity and NaN.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, float):
        return str(value)
    if not math.isfinite(value):
        raise Unresolved
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    power = len(digits) + int(exponent) - 1
    least, most = (-6, 21) if json_form else (-4, 6)
    if value and not least <= power < most:
        shown = "".join(map(str, digits))
        shown = shown[0] + ("." + shown[1:] if shown[1:] else "")
        return f"{'-' * sign}{shown}e{'-' if power < 0 else '+'}{abs(power):02}"
    return format(Decimal(repr(value)).normalize(), "f") if value else "-0" if sign else "0"


UNSET = "${unset}"
"""The placeholder for an empty value."""


def yaml(node: Node, indent: str = "") -> Iterator[Piece]:
    """Yield a value as block YAML, without a final line break. Empty values become placeholders."""
    if node.kind == "scalar" or not truth(node):
        yield from _scalar(node)
        return
    for n, item in enumerate(node.items):
        yield ("\n" + indent if n else "") + "- ", None
        yield from yaml(item, indent + "  ")
    for n, entry in enumerate(node.entries):
        if n:
            yield "\n" + indent, None
        yield _key(entry.key), _origin(entry.key)
        yield ":", None
        below = entry.value
        if below.kind != "scalar" and truth(below):
            yield "\n" + indent + "  ", None
            yield from yaml(below, indent + "  ")
        else:
            yield " ", None
            yield from _scalar(below)


def _key(key: Node) -> str:
    text = go_text(known(key))
    return text if re.fullmatch(r"[A-Za-z][\w./-]*", text) and reads_as_text(text) else json.dumps(text)


def _scalar(node: Node) -> Iterator[Piece]:
    value = node.value if node.kind == "scalar" else None
    if value is UNKNOWN or value is None or value == "":
        yield UNSET, _origin(node)
    elif isinstance(value, str) and not (re.fullmatch(r"[A-Za-z0-9][\w./@-]*", value) and reads_as_text(value)):
        yield '"', None
        yield json.dumps(value, ensure_ascii=False)[1:-1], _origin(node)
        yield '"', None
    else:
        yield go_text(hold_value(node), json_form=True), _origin(node)


def flow(node: Node) -> Iterator[Piece]:
    """Yield a value as Go's JSON. Empty values become placeholders."""
    if node.kind == "scalar":
        if not truth(node) and node.value in (None, ""):
            yield f'"{UNSET}"', _origin(node)
        else:
            yield json_text(hold_value(node)), _origin(node)
        return
    yield "[" if node.kind == "sequence" else "{", None
    for n, item in enumerate(node.items):
        if n:
            yield ",", None
        yield from flow(item)
    for n, entry in enumerate(sorted(node.entries, key=lambda entry: go_text(known(entry.key)))):
        if n:
            yield ",", None
        yield json_text(go_text(known(entry.key))), _origin(entry.key)
        yield ":", None
        yield from flow(entry.value)
    yield "]" if node.kind == "sequence" else "}", None


def json_text(value: object) -> str:
    """Return a scalar as Go writes it in JSON."""
    if value is None:
        return "null"
    if not isinstance(value, str):
        return go_text(value, json_form=True)
    text = json.dumps(value, ensure_ascii=False)
    return re.sub("[<>&\u2028\u2029]", lambda match: f"\\u{ord(match[0]):04x}", text)
