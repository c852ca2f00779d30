"""The state of a walk over an object: the problems so far, and the rules to evaluate."""

from __future__ import annotations

from abc import ABC, abstractmethod

from nodelint.apiserver.problems import SchemaProblem
from nodelint.apiserver.schema_node import SchemaNode, Written
from nodelint.base.types import TYPE_CHECKING
from nodelint.model.manifest import Object
from nodelint.model.releases import Version
from nodelint.text import Node

if TYPE_CHECKING:
    from typing import Any


class Job:
    """The CEL rules of a value, which are evaluated after the structure has been checked."""

    __slots__ = ("node", "path", "shape", "value")

    def __init__(self, shape: SchemaNode, node: Node, path: str, value: Any) -> None:
        self.shape = shape
        self.node = node
        self.path = path
        self.value = value


class WalkState(ABC):
    """An object, the schema of its kind in a release, and the problems so far.

    `partial`: another file may add fields to the object. `loose`: unknown fields are no problem. `unknowns`: rules
    see a value that is not known, because it is a placeholder or has the wrong type. `judged` are the collections
    that were checked, with the values that rules see.
    """

    def __init__(
        self, obj: Object, shape: SchemaNode, release: Version, *, loose: bool = False, partial: bool = False
    ) -> None:
        self.root = obj.node
        self.partial = obj.partial or partial
        self.obj = obj
        self.shape = shape
        self.release = release
        self.found: list[SchemaProblem] = []
        self.structural: list[SchemaProblem] = []
        self.unknowns = False
        self.jobs: list[Job] = []
        self.judged: list[tuple[SchemaNode, Written, Any]] = []
        self.loose = loose
        self._headed: Node | None = None
        self._heads: dict[int, Node] = {}

    def head(self, node: Node) -> Node:
        """Return the node to report for a mapping: its key. For an entry of a list, the entry itself; for the object,
        its name.
        """
        if node is self.root:
            return self.obj.name_node
        parent = node.parent
        if parent is None or parent.kind != "mapping":
            return node
        if self._headed is not parent:  # cached: many values of a long mapping may be wrong
            self._headed = parent
            self._heads = {id(entry.value): entry.key for entry in reversed((*parent.entries, *parent.merges))}
        return self._heads.get(id(node), node)

    @abstractmethod
    def tried(self, node: Node, shape: SchemaNode) -> list[SchemaProblem]:
        """Return the problems that a value of the object would have with another schema."""
