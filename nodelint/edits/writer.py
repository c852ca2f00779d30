"""The languages that manifests are written in, behind one surface: YAML (JSON included), and those of forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nodelint.base.types import TYPE_CHECKING
from nodelint.edits import yaml
from nodelint.edits.collections import root_of
from nodelint.edits.formatting import Plain
from nodelint.forms.registry import TABLE
from nodelint.model.finding import Edit
from nodelint.text.nodes import Node

if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object


class Dialect(Protocol):
    """What a language does in its own way.

    The callers in `nodelint.edits` have checked the node against what all refuse.
    """

    SUFFIX: str
    """How the name of a file ends whose text is read in this language."""

    MOVES_TEXT: bool
    """Whether the text of an entry or object means the same in another place, and may be moved or copied there."""

    def set_value(self, node: Node, value: str | int | float | bool) -> list[Edit]:
        """Return edits that put another scalar in a node's place; for a key another name."""

    def replace(self, node: Node, value: Plain) -> list[Edit]:
        """Return edits that put another value in a node's place."""

    def insert_items(self, sequence: Node, index: int, items: Sequence[Plain]) -> list[Edit]:
        """Return edits that insert items, in this order, before the item of an index."""

    def add_keys(
        self, mapping: Node, values: Mapping[str, Plain], after: str | None = None, first: bool = False
    ) -> list[Edit]:
        """Return edits that add keys in their order: behind the key `after`, or `first`, else at the end."""

    def remove(self, node: Node) -> list[Edit]:
        """Take out an item of a list, or a key with its value, with its lines and the comments right above."""


def dialect_of(node: Node) -> Dialect:
    """Return the language that a node is written in. Raise `NotEditable` for one that is not edited."""
    style = root_of(node).style
    row = TABLE.of_style(style)
    return yaml if row is None else row.load().writer_of(style)
