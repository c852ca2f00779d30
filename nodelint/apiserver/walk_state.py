"""The state of a walk over an object: the problems so far, and the rules to evaluate."""

from __future__ import annotations

from abc import ABC, abstractmethod

from nodelint.apiserver import problems as schema_words
from nodelint.apiserver.problems import SchemaProblem
from nodelint.apiserver.schema_node import SchemaNode, Written
from nodelint.base.types import Any
from nodelint.model.manifest import Object
from nodelint.model.releases import Version
from nodelint.text import Node


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

    def say(self, node: Node, path: str, message: str, **more: Any) -> None:
        """Record a problem of structure."""
        self.found.append(SchemaProblem("structure", node, path, schema_words.fit(message), **more))

    def unsound(self, node: Node, path: str, message: str, **more: Any) -> Any:
        """Record a problem that stops the API server from evaluating rules. Return the value that rules see in
        place of the wrong one.
        """
        self.unknowns = True
        self.say(node, path, message, **more)
        return schema_words.UNSOUND

    def outside(self, node: Node, path: str, what: str, since: Version | None, until: Version | None) -> bool:
        """Record a problem if the target release lacks a field or value. Return whether it does."""
        if since is not None and self.release < since:
            message = schema_words.needs(what, since, self.release)
        elif until is not None and self.release >= until:
            message = f"{what} was removed in Karpenter {until}, the target is {self.release}"
        else:
            return False
        message = schema_words.fit(message)
        self.found.append(SchemaProblem("release", node, path, message, since=since, until=until))
        return True

    @abstractmethod
    def tried(self, node: Node, shape: SchemaNode) -> list[SchemaProblem]:
        """Return the problems that a value of the object would have with another schema."""
