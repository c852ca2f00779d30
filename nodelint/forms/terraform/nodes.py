"""Values of Terraform as nodes, each of which knows where it is written.

What is not known is a scalar whose value is `UNKNOWN`, and nothing else. A sequence is a tuple unless it is a
`CollectionNode`, a mapping an object.
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
"""What a value counts that is no text."""
_DEEPEST = 100
"""Values that stand in each other."""


class EvaluationFailure(Exception):
    """Terraform stops here: no such key, no such item, a value of the wrong type."""


class TextNode(Node):
    """A text that was put together. `pieces` has its parts, each with the node that it is from."""

    __slots__ = ("pieces",)

    pieces: tuple[TextPiece, ...]


class EmptyDefault(Node):
    """What is not known, as it comes from a default that is null or empty, and there to be replaced.

    `default` is what it comes to while nobody does: what tests for that, or has something in its place, goes by it.
    """

    __slots__ = ("default",)

    default: Node


def collection_of(node: Node) -> Collection:
    """Return what kind of collection a sequence or mapping is."""
    if isinstance(node, CollectionNode):
        return node.collection
    return "tuple" if node.kind == "sequence" else "object"


def is_known(node: Node) -> bool:
    """Whether nothing in a value is unknown."""
    pending, seen = [node], set()
    while pending:
        part = pending.pop()
        if part.value is UNKNOWN:
            return False
        if part.kind == "scalar" or id(part) in seen:
            continue
        seen.add(id(part))  # what stands in it several times is looked at once
        pending += part.items
        for entry in part.entries:
            pending += (entry.key, entry.value)
    return True


def unfolded_size(node: Node) -> int:
    """Return how many characters a value is about, what stands in it several times each time. Raise `BudgetSpent`."""
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
    """Whether nothing of a value is known."""
    return node.kind == "scalar" and node.value is UNKNOWN and not isinstance(node, TextNode)


def is_empty(node: Node) -> bool:
    """Whether a value is null, an empty text, or has no items."""
    return node.value in (None, "") if node.kind == "scalar" else not (node.items or node.entries)


def is_null(node: Node) -> bool:
    """Whether a value is null."""
    return node.kind == "scalar" and node.value is None


def unknown(at: Node) -> Node:
    """Return what stands at a place, and is not known."""
    return Node(at.source, at.start, at.end, "scalar", "plain", UNKNOWN)


def empty_default(default: Node) -> EmptyDefault:
    """Return an unknown value in the place of a default that is meant to be replaced."""
    made = EmptyDefault(default.source, default.start, default.end, "scalar", "plain", UNKNOWN)
    made.default = default
    return made


def assume_default(node: Node) -> Node:
    """Return a value, or what it is while nobody replaces a default."""
    return node.default if isinstance(node, EmptyDefault) else node


def text_of(value: Scalar) -> str:
    """Return a scalar as a template of Terraform prints it."""
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
    """Return a text of pieces; `whole` says whether all of it is known."""
    made = TextNode(at.source, at.start, at.end, "scalar", "plain")
    made.pieces = tuple(pieces)
    made.value = "".join(text for text, _ in made.pieces) if whole else UNKNOWN
    return made


def items_of(over: Node) -> list[tuple[Node, Node]] | None:
    """Return the keys and items that a loop runs over; None if they are not known."""
    if over.kind == "sequence":
        if collection_of(over) == "set":
            return [(item, item) for item in over.items]
        return [(scalar(item, n), item) for n, item in enumerate(over.items)]
    if over.kind != "mapping" or any(entry.name is None for entry in over.entries):
        return None
    return [(key_node(entry), entry.value) for entry in sorted_entries(over)]


def sorted_entries(node: Node) -> list[MappingEntry]:
    """Return the entries of a mapping in the order of their names, as Terraform goes through them."""
    return sorted(node.entries, key=lambda entry: entry.name or "")


def key_node(entry: MappingEntry) -> Node:
    """Return the key of an entry as a text."""
    return entry.key if entry.key.value == entry.name else scalar(entry.key, entry.name)


def same_form(node: Node) -> object:
    """Return a value as one that compares as Terraform's do: a bool is no number, a list no tuple."""
    if node.kind == "mapping":
        return collection_of(node), {entry.name: same_form(entry.value) for entry in node.entries}
    if node.kind == "sequence":
        return collection_of(node), [same_form(item) for item in node.items]
    return (isinstance(node.value, bool), node.value)


def number_of(value: Scalar) -> int | float | None:
    """Return a number, also one that is written as a text; None for anything else."""
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
