"""Read fields of a node that may be missing."""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from nodelint.text.nodes import Node


def is_null(node: Node | None) -> bool:
    """Whether a field is not there, or has no value, which is the same to an API server."""
    return node is None or (node.kind == "scalar" and node.value is None)


def text_of(node: Node | None) -> str:
    """Return the text of a scalar; empty for all else."""
    return node.value if node is not None and isinstance(node.value, str) else ""


def items_of(node: Node | None) -> list[Node]:
    """Return the items of a list; none for all else."""
    return node.items if node is not None else []
