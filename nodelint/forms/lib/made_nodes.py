"""Create computed nodes, each with the place of the node from which it comes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from nodelint.text.nodes import MappingEntry, Node, Scalar


def scalar(at: Node, value: Scalar) -> Node:
    """Return a scalar at the place of another node."""
    style = at.style if at.value == value and at.kind == "scalar" else "plain"
    return Node(at.source, at.start, at.end, "scalar", style, value)


def sequence(at: Node, items: Iterable[Node], collection: Collection = "tuple") -> Node:
    """Return a tuple of some values. With `collection`, return a list or set, whose items have one type."""
    made = Node(at.source, at.start, at.end, "sequence", "hcl")
    if collection != "tuple":
        made = CollectionNode(at.source, at.start, at.end, "sequence", "hcl")
        made.collection = collection
    made.items = list(items)
    return made


def mapping(at: Node, members: Iterable[tuple[str, Node, Node]], collection: Collection = "object") -> Node:
    """Return an object of (name, key node, value) members. The last member of a name counts.

    With `collection`, return a map, whose values have one type.
    """
    made = Node(at.source, at.start, at.end, "mapping", "hcl")
    if collection != "object":
        made = CollectionNode(at.source, at.start, at.end, "mapping", "hcl")
        made.collection = collection
    made.entries = [
        MappingEntry(key, value, name)
        for name, (key, value) in {name: (key, value) for name, key, value in members}.items()
    ]
    return made


Collection = Literal["tuple", "list", "set", "object", "map"]


class CollectionNode(Node):
    """A list, set or map of Terraform: its values have one type."""

    __slots__ = ("collection",)

    collection: Collection


UNSET = "${unset}"
"""The placeholder for an unknown value in a text."""
