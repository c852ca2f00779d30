"""Merge the instance types of two snapshots."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nodelint.base.types import T
from nodelint.ec2.snapshot import Row, Snapshot
from nodelint.model.keys import BANDWIDTH


def joined(old: Snapshot, new: Snapshot) -> Snapshot:
    """Return a snapshot with the types and columns of both. For a type in both, the facts of `new` count if it has
    them.
    """
    labels = _both(old.labels, new.labels)
    resources = _both(old.resources, new.resources)
    priced = _both(old.priced, new.priced)
    to_labels = _mover(new.labels, labels)
    to_resources = _mover(new.resources, resources)
    to_prices = _mover(new.priced, priced)
    old_labels = [index for index, label in enumerate(labels) if label not in new.labels or label == BANDWIDTH]
    old_resources = [index for index, resource in enumerate(resources) if resource not in new.resources]
    rows: dict[str, Row] = {}
    for name, values, quantities, network, prices in old.rows:
        rows[name] = (
            name,
            _widened(values, len(labels)),
            _widened(quantities, len(resources)),
            network,
            _widened(prices, len(priced)),
        )
    added = set()
    for name, values, quantities, network, prices in new.rows:
        values, quantities, prices = to_labels(values), to_resources(quantities), to_prices(prices)
        before = rows.get(name)
        if before is None:
            added.add(name)
        else:
            for index in old_labels:
                values[index] = before[1][index]
            for index in old_resources:
                quantities[index] = before[2][index]
            network = before[3] if network is None else network
            prices = [was if now is None else now for now, was in zip(prices, before[4], strict=True)]
        rows[name] = (name, values, quantities, network, prices)
    changes = [
        change._replace(values={name: value for name, value in change.values.items() if name in added})
        for change in new.changes
    ]
    former, latter = sorted((old, new), key=lambda snapshot: snapshot.date)
    return Snapshot(
        origin=f"{former.origin}, {former.date}; {latter.origin}",
        date=latter.date,
        sources=(*new.sources, *old.sources),
        labels=labels,
        resources=resources,
        priced=priced,
        changes=(*old.changes, *(change for change in changes if change.values)),
        rows=[rows[name] for name in sorted(rows)],
    )


def _both(ours: Sequence[str], theirs: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*ours, *theirs)))


def _mover(columns: Sequence[str], wanted: Sequence[str]) -> Callable[[list[T | None]], list[T | None]]:
    """Return a function that arranges values of `columns` under the columns `wanted`. None for a column that is
    missing.
    """
    if columns == wanted:
        return list
    places = [columns.index(column) if column in columns else None for column in wanted]
    return lambda values: [None if place is None else values[place] for place in places]


def _widened(values: list[T | None], width: int) -> list[T | None]:
    return values if len(values) == width else [*values, *[None] * (width - len(values))]
