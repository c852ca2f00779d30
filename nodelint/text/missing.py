"""Read fields of a node that may be missing."""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from nodelint.text.nodes import Node


def is_null(node: Node | None) -> bool:
    """Return whether a field is missing or has no value: for the API server this is the same."""
    return node is None or (node.kind == "scalar" and node.value is None)


def text_of(node: Node | None) -> str:
    """Return the text of a scalar; empty if the node is missing or is not a string."""
    return node.value if node is not None and isinstance(node.value, str) else ""


def items_of(node: Node | None) -> list[Node]:
    """Return the items of a list; empty if the node is missing or is not a list."""
    return node.items if node is not None else []
