"""Define one interface for edits in each language of manifests: YAML (with JSON), and the languages of forms."""

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
    """The edits of one language.

    The functions of `nodelint.edits` have already made the checks that are common to all languages.
    """

    SUFFIX: str
    """The ending of the file names of this language."""

    MOVES_TEXT: bool
    """Whether the text of an entry or object has the same meaning elsewhere, so that it can be moved or copied."""

    def set_value(self, node: Node, value: str | int | float | bool) -> list[Edit]:
        """Return edits that replace the value of a node with a scalar. For a key, they rename it."""

    def replace(self, node: Node, value: Plain) -> list[Edit]:
        """Return edits that replace the value of a node."""

    def insert_items(self, sequence: Node, index: int, items: Sequence[Plain]) -> list[Edit]:
        """Return edits that insert items, in this order, before the item at `index`."""

    def add_keys(
        self, mapping: Node, values: Mapping[str, Plain], after: str | None = None, first: bool = False
    ) -> list[Edit]:
        """Return edits that add keys, in order: after the key `after`, or at the start (`first`), else at the end."""

    def remove(self, node: Node) -> list[Edit]:
        """Return edits that remove an item, or a key with its value, with its lines and the comments above them."""


def dialect_of(node: Node) -> Dialect:
    """Return the language in which a node is written. Raise `NotEditable` if nodelint does not edit it."""
    style = root_of(node).style
    row = TABLE.of_style(style)
    return yaml if row is None else row.load().writer_of(style)
