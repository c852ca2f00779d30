"""Indexes of pods and of constraints by pod labels, so that a selector is compared with few pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nodelint.base.tuples import Generic
from nodelint.base.types import TYPE_CHECKING
from nodelint.why.constraints import Constraint

if TYPE_CHECKING:
    from typing import TypeVar

    _Entry = TypeVar("_Entry")


class PodIndex(Generic["_Entry"]):
    """Entries for pods, looked up by a constraint that selects the pods."""

    __slots__ = ("_all", "_by_label", "work")

    def __init__(self) -> None:
        self._all: list[tuple[str, Mapping[str, str], _Entry]] = []
        self._by_label: dict[tuple[str, str], list[tuple[str, Mapping[str, str], _Entry]]] = {}
        self.work = 0

    def add(self, namespace: str, labels: Mapping[str, str], entry: _Entry) -> None:
        """Add an entry for a pod with these labels."""
        item = namespace, labels, entry
        self._all.append(item)
        for pair in labels.items():
            self._by_label.setdefault(pair, []).append(item)

    def selected(self, constraint: Constraint) -> Iterator[_Entry]:
        """Yield the entries of the pods that a constraint selects."""
        pair = constraint.pair
        for namespace, labels, entry in self._all if pair is None else self._by_label.get(pair, ()):
            self.work += 1
            if constraint.selects(namespace, labels):
                yield entry


class ConstraintIndex(Generic["_Entry"]):
    """Constraints with an entry each, looked up by a pod that they select."""

    __slots__ = ("_by_label", "_others", "work")

    def __init__(self) -> None:
        self._by_label: dict[tuple[str, str], list[tuple[Constraint, _Entry]]] = {}
        self._others: list[tuple[Constraint, _Entry]] = []
        self.work = 0

    def add(self, constraint: Constraint, entry: _Entry) -> None:
        """Add a constraint with its entry."""
        pair = constraint.pair
        (self._others if pair is None else self._by_label.setdefault(pair, [])).append((constraint, entry))

    def selecting(self, namespace: str, labels: Mapping[str, str]) -> Iterator[tuple[Constraint, _Entry]]:
        """Yield the constraints that select a pod, with their entries."""
        if not self._others and not self._by_label:
            return
        for bucket in (self._others, *(self._by_label[pair] for pair in labels.items() if pair in self._by_label)):
            for constraint, entry in bucket:
                self.work += 1
                if constraint.selects(namespace, labels):
                    yield constraint, entry
