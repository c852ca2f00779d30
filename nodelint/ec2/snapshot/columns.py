"""Instance types by column: a run needs a few labels of all types, and few whole rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from nodelint.base.types import Any
from nodelint.ec2.snapshot.records import Row, Snapshot

_NOTHING = "~"
"""Represents a missing value."""


class RowColumns:
    """The columns of rows: each has the values of all types in the order of their names."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.names = tuple([row[0] for row in rows])
        self._rows = rows
        self._labels: list[tuple[str | None, ...]] = []
        self._quantities: dict[int, tuple[str | None, ...]] = {}
        self._prices: dict[int, tuple[float | None, ...]] = {}

    def labels(self, column: int) -> tuple[str | None, ...]:
        """Return the values of a label, by the index of its column."""
        if not self._rows:
            return ()
        if not self._labels:  # all at once: most checks need most of them
            self._labels = list(zip(*[row[1] for row in self._rows], strict=True))
        return self._labels[column]

    def quantities(self, column: int) -> tuple[str | None, ...]:
        """Return the quantities of a resource, by the index of its column."""
        if column not in self._quantities:
            self._quantities[column] = tuple([row[2][column] for row in self._rows])
        return self._quantities[column]

    def quantities_of(self, position: int) -> Sequence[str | None]:
        """Return the quantities of a type, by its position in the order of names."""
        return self._rows[position][2]

    def network(self, position: int) -> list[Any] | None:
        """Return the network limits of a type, by its position in the order of names. None if none are known."""
        return self._rows[position][3]

    def prices(self, column: int) -> tuple[float | None, ...]:
        """Return the prices of a region in USD per hour, by the index of its column."""
        if column not in self._prices:
            self._prices[column] = tuple([row[4][column] for row in self._rows])
        return self._prices[column]


class TextColumns:
    """Columns with the methods of `RowColumns` that are stored as one text each. Iterating yields the rows.

    A text is split when its column is needed. This saves a run most of the time to read every row.
    """

    def __init__(self, written: dict[str, Any]) -> None:
        self.names = tuple(written["names"].split(" "))
        self._written = written
        self._columns: dict[tuple[str, int], tuple[str | None, ...]] = {}
        self._prices: dict[int, tuple[float | None, ...]] = {}
        self._quantities: list[tuple[str | None, ...]] = []
        self._networks: list[str] = []

    def labels(self, column: int) -> tuple[str | None, ...]:
        return self._column("labels", column)

    def quantities(self, column: int) -> tuple[str | None, ...]:
        return self._column("quantities", column)

    def quantities_of(self, position: int) -> Sequence[str | None]:
        if not self._quantities:
            every = (self.quantities(column) for column in range(len(self._written["quantities"])))
            self._quantities = list(zip(*every, strict=True))
        return self._quantities[position]

    def _column(self, part: str, column: int) -> tuple[str | None, ...]:
        found = self._columns.get((part, column))
        if found is None:
            values = self._written[part][column].split(" ")
            found = self._columns[part, column] = tuple([None if value == _NOTHING else value for value in values])
        return found

    def network(self, position: int) -> list[Any] | None:
        if not self._networks:
            self._networks = self._written["networks"].split(" ")
        limits: list[Any] | None = None
        if self._networks[position] != _NOTHING:
            limits = json.loads(self._networks[position])
        return limits

    def prices(self, column: int) -> tuple[float | None, ...]:
        if column not in self._prices:
            written = self._column("prices", column)
            self._prices[column] = tuple([None if price is None else float(price) for price in written])
        return self._prices[column]

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows, as a snapshot has them."""
        labels = zip(*(self.labels(column) for column in range(len(self._written["labels"]))), strict=True)
        prices = zip(*(self.prices(column) for column in range(len(self._written["prices"]))), strict=True)
        for position, (name, values, priced) in enumerate(zip(self.names, labels, prices, strict=True)):
            yield name, list(values), list(self.quantities_of(position)), self.network(position), list(priced)


def columns_of(rows: Any) -> RowColumns | TextColumns:
    """Return the columns of the rows of a snapshot."""
    return rows if isinstance(rows, TextColumns) else RowColumns(rows)


def columns_text(snapshot: Snapshot) -> dict[str, Any]:
    """Return the data for `TextColumns` from a snapshot's rows. Raise ValueError for a value that the form cannot
    hold.
    """
    import json

    rows = [*snapshot.rows]
    networks = [None if row[3] is None else json.dumps(row[3], separators=(",", ":")) for row in rows]
    return {
        "names": _join([row[0] for row in rows]),
        "labels": [_join([row[1][column] for row in rows]) for column in range(len(snapshot.labels))],
        "quantities": [_join([row[2][column] for row in rows]) for column in range(len(snapshot.resources))],
        "networks": _join(networks),
        "prices": [
            _join([None if row[4][column] is None else repr(row[4][column]) for row in rows])
            for column in range(len(snapshot.priced))
        ],
    }


def _join(values: Sequence[str | None]) -> str:
    if any(value is not None and (" " in value or value == _NOTHING) for value in values):
        raise ValueError(f"a value with a blank, or `{_NOTHING}`, stands in no column")
    return " ".join([_NOTHING if value is None else value for value in values])
