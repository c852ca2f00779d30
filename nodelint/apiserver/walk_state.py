"""The state of a walk over an object: problems so far, and rules that wait."""

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
    """CEL rules that wait until the structure is known to be sound."""

    __slots__ = ("node", "path", "shape", "value")

    def __init__(self, shape: SchemaNode, node: Node, path: str, value: Any) -> None:
        self.shape = shape
        self.node = node
        self.path = path
        self.value = value


class WalkState(ABC):
    """An object, the schema of its kind at a release, and what was found so far.

    `partial`: the object may lack what another file adds. `loose`: unknown fields are no problem. `unknowns`: rules
    see a value that is not known, because it is a placeholder or of the wrong type. `judged` are the collections that
    were looked into, with what rules see of each.
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
        """Return where a mapping is announced: its key, for an entry of a list the entry itself."""
        if node is self.root:
            return self.obj.name_node
        parent = node.parent
        if parent is None or parent.kind != "mapping":
            return node
        if self._headed is not parent:  # of a long mapping, many values may be wrong
            self._headed = parent
            self._heads = {id(entry.value): entry.key for entry in reversed((*parent.entries, *parent.merges))}
        return self._heads.get(id(node), node)

    @abstractmethod
    def tried(self, node: Node, shape: SchemaNode) -> list[SchemaProblem]:
        """Return what would be wrong with a value of the object if it had another shape."""
