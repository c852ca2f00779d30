"""Represent Terraform values as nodes, each with the place where it is written.

An unknown value is a scalar with the value `UNKNOWN`. A sequence is a tuple unless it is a `CollectionNode`, and a
mapping is an object.
"""

from __future__ import annotations

from collections.abc import Iterable

from nodelint.base.budget import BudgetSpent
from nodelint.base.types import TYPE_CHECKING
from nodelint.forms.lib.made_nodes import Collection, CollectionNode, scalar
from nodelint.text.nodes import MappingEntry, Node, Scalar
from nodelint.text.unknown_value import UNKNOWN

if TYPE_CHECKING:
    from nodelint.forms.lib.gotemplate.sprig_values import Piece as TextPiece

_LEAST = 8
"""The size of a value that is not a string."""
_DEEPEST = 100
"""The deepest nesting of lists and objects in a Terraform value."""

RENDERED_FILE = "!rendered-file:"
"""The beginning of the tag of what `yamldecode` returns for a file that `templatefile` renders. The path follows."""


class EvaluationFailure(Exception):
    """Raised if Terraform would stop: there is no such key or item, or a value has the wrong type."""


class TextNode(Node):
    """A string composed of `pieces`, each with the node from which it comes."""

    __slots__ = ("pieces",)

    pieces: tuple[TextPiece, ...]


class EmptyDefault(Node):
    """An unknown value in place of a default that is null or empty and meant to be replaced.

    `default` is the value as long as nobody replaces it. Tests for an empty value use it.
    """

    __slots__ = ("default",)

    default: Node


def collection_of(node: Node) -> Collection:
    """Return the kind of collection of a sequence or mapping."""
    if isinstance(node, CollectionNode):
        return node.collection
    return "tuple" if node.kind == "sequence" else "object"


def is_known(node: Node) -> bool:
    """Return whether a value has no unknown part."""
    pending, seen = [node], set()
    while pending:
        part = pending.pop()
        if part.value is UNKNOWN:
            return False
        if part.kind == "scalar" or id(part) in seen:
            continue
        seen.add(id(part))  # a shared part is checked only once
        pending += part.items
        for entry in part.entries:
            pending += (entry.key, entry.value)
    return True


def unfolded_size(node: Node) -> int:
    """Return the number of characters of a value. Shared parts count each time. Raise `BudgetSpent`."""
    return _unfolded_size(node, {}, 0)


def _unfolded_size(node: Node, sizes: dict[int, int], depth: int) -> int:
    if node.kind == "scalar":
        return _LEAST + len(node.value) if isinstance(node.value, str) else _LEAST
    known = sizes.get(id(node))
    if known is not None:
        return known
    if depth > _DEEPEST:
        raise BudgetSpent("its values stand in each other more deeply than nodelint goes")
    size = _LEAST
    for item in node.items:
        size += _unfolded_size(item, sizes, depth + 1)
    for entry in node.entries:
        size += _LEAST + _unfolded_size(entry.value, sizes, depth + 1)
    sizes[id(node)] = size
    return size


def is_unknown(node: Node) -> bool:
    """Return whether a value is completely unknown."""
    return node.kind == "scalar" and node.value is UNKNOWN and not isinstance(node, TextNode)


def is_empty(node: Node) -> bool:
    """Return whether a value is null, an empty string, or an empty collection."""
    return node.value in (None, "") if node.kind == "scalar" else not (node.items or node.entries)


def is_null(node: Node) -> bool:
    """Return whether a value is null."""
    return node.kind == "scalar" and node.value is None


def unknown(at: Node) -> Node:
    """Return an unknown value with the source place of a node."""
    return Node(at.source, at.start, at.end, "scalar", "plain", UNKNOWN)


def empty_default(default: Node) -> EmptyDefault:
    """Return an unknown value in place of a default that is meant to be replaced."""
    made = EmptyDefault(default.source, default.start, default.end, "scalar", "plain", UNKNOWN)
    made.default = default
    return made


def assume_default(node: Node) -> Node:
    """Return a value, or for an `EmptyDefault` the default."""
    return node.default if isinstance(node, EmptyDefault) else node


def text_of(value: Scalar) -> str:
    """Return a scalar as a Terraform template prints it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _decimal(value)
    return str(value)


def _decimal(value: float) -> str:
    """Return a number without an exponent."""
    text = repr(value).removesuffix(".0")
    if "e" not in text:
        return text
    from decimal import Decimal

    return format(Decimal(text), "f")


def joined(at: Node, pieces: Iterable[TextPiece], whole: bool) -> TextNode:
    """Return a string composed of pieces. `whole`: all of it is known."""
    made = TextNode(at.source, at.start, at.end, "scalar", "plain")
    made.pieces = tuple(pieces)
    made.value = "".join(text for text, _ in made.pieces) if whole else UNKNOWN
    return made


def items_of(over: Node) -> list[tuple[Node, Node]] | None:
    """Return the keys and items over which a loop iterates. None if they are not known."""
    if over.kind == "sequence":
        if collection_of(over) == "set":
            return [(item, item) for item in over.items]
        return [(scalar(item, n), item) for n, item in enumerate(over.items)]
    if over.kind != "mapping" or any(entry.name is None for entry in over.entries):
        return None
    return [(key_node(entry), entry.value) for entry in sorted_entries(over)]


def sorted_entries(node: Node) -> list[MappingEntry]:
    """Return the entries of a mapping in the order of their names, which is Terraform's order."""
    return sorted(node.entries, key=lambda entry: entry.name or "")


def key_node(entry: MappingEntry) -> Node:
    """Return the key of an entry as a string."""
    return entry.key if entry.key.value == entry.name else scalar(entry.key, entry.name)


def same_form(node: Node) -> object:
    """Return a value in a form that compares as in Terraform: a bool is not a number, a list not a tuple."""
    if node.kind == "mapping":
        return collection_of(node), {entry.name: same_form(entry.value) for entry in node.entries}
    if node.kind == "sequence":
        return collection_of(node), [same_form(item) for item in node.items]
    return (isinstance(node.value, bool), node.value)


def number_of(value: Scalar) -> int | float | None:
    """Return a number, or the number in a string. None for anything else."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return int(value) if isinstance(value, float) and value.is_integer() else value
    if isinstance(value, str) and len(value) < 40:
        try:
            found = float(value)
        except ValueError:
            return None
        if found - found != 0 or value != value.strip() or "_" in value:  # inf, nan
            return None
        return int(found) if found.is_integer() else found
    return None
