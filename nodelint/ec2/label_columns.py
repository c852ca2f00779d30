"""The labels of a snapshot's instance types, by column."""

from __future__ import annotations

from collections.abc import Iterable

from nodelint.ec2.snapshot import Snapshot
from nodelint.ec2.snapshot.columns import columns_of
from nodelint.ec2.type_set import TypeSet


class LabelColumns:
    """The labels of a snapshot's types as its rows have them. The views of the catalogue for all releases share
    them.
    """

    __slots__ = ("_positions", "_sets", "columns", "labels", "names")

    def __init__(self, snapshot: Snapshot) -> None:
        self.labels = snapshot.labels
        self.columns = columns_of(snapshot.rows)
        self.names = self.columns.names
        self._positions: dict[str, int] = {}
        self._sets: dict[str, dict[str, TypeSet]] = {}

    @property
    def positions(self) -> dict[str, int]:
        """Return the position of each type in the order of names."""
        if not self._positions:
            self._positions.update((name, i) for i, name in enumerate(self.names))
        return self._positions

    def column(self, key: str) -> tuple[str | None, ...]:
        """Return the value of a label for each instance type, in the order of `names`.

        It is None for a type that lacks the label.
        """
        return self.columns.labels(self.labels.index(key))

    def sets(self, key: str) -> dict[str, TypeSet]:
        """Return the values of a label, each with the set of its types."""
        if key not in self._sets:
            self._sets[key] = types_by_value(self.column(key))
        return self._sets[key]


def types_by_value(column: Iterable[str | None]) -> dict[str, TypeSet]:
    """Return the values in a column, each with the set of its types."""
    positions: dict[str, list[int]] = {}
    for index, value in enumerate(column):
        if value is not None:
            positions.setdefault(value, []).append(index)
    return {value: TypeSet.from_positions(indices) for value, indices in positions.items()}
