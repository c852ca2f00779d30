"""The prices of instance types, by region."""

from __future__ import annotations

from collections.abc import Mapping

from nodelint.base.tuples import NamedTuple
from nodelint.ec2.label_columns import LabelColumns
from nodelint.ec2.snapshot import Snapshot

_PRICES = "on-demand prices"
"""The name of prices in the list of sources."""


class RegionPrices(NamedTuple):
    """The prices that AWS answered for a region: the date, the on-demand price in USD per hour by type, and the spot
    prices by type and zone.
    """

    region: str
    date: str
    on_demand: Mapping[str, float]
    spot: Mapping[str, Mapping[str, float]]


class CatalogPrices:
    """The prices of the types of a catalogue: those that AWS answered for a region, else those of the snapshot."""

    __slots__ = ("_named", "_on_demand", "_snapshot", "_written", "answered")

    def __init__(self, snapshot: Snapshot, written: LabelColumns, answered: RegionPrices | None) -> None:
        self._snapshot = snapshot
        self._written = written
        self.answered = answered
        self._on_demand: tuple[float | None, ...] | None = None
        self._named: dict[str, dict[str, float | None]] = {}

    def on_demand(self, name: str, region: str = "us-east-1") -> float | None:
        """Return the on-demand price in USD per hour. None if none is known.

        A region without prices of its own has the prices of us-east-1, as in Karpenter when it starts. A Chinese
        region has none, because its prices are not in USD.
        """
        position = self._written.positions.get(name)
        return None if position is None else self.column(region)[position]

    def by_name(self, region: str) -> Mapping[str, float | None]:
        """Return the on-demand price of each type by its name, as `on_demand` does, for many types."""
        if region not in self._named:
            self._named[region] = dict(zip(self._written.names, self.column(region), strict=True))
        return self._named[region]

    def column(self, region: str = "us-east-1") -> tuple[float | None, ...]:
        """Return the on-demand price of each type, in the order of names, as `TypeSet.select` needs it. None for an
        unknown price.
        """
        answered = self.answered
        if answered is not None and self._is_answered(region):
            if self._on_demand is None:
                self._on_demand = tuple(map(answered.on_demand.get, self._written.names))
            return self._on_demand
        regions = self._snapshot.priced
        if region.startswith("cn-") or not regions:
            return (None,) * len(self._written.names)
        return self._written.columns.prices(regions.index(region if region in regions else "us-east-1"))

    def region_for(self, region: str | None) -> str:
        """Return the region whose prices are used for a region: us-east-1 if the region is None or has no prices of
        its own.
        """
        known = region is not None and (region in self._snapshot.priced or self._is_answered(region))
        return region if known and region is not None else "us-east-1"

    def _is_answered(self, region: str | None) -> bool:
        answered = self.answered
        return answered is not None and answered.region == region and bool(answered.on_demand)

    def date(self, region: str | None) -> str | None:
        """Return the date of the prices of a region. None if no source of prices states it."""
        if self.answered is not None and self._is_answered(region):
            return self.answered.date
        of_gov = self.region_for(region).startswith("us-gov-")
        days = [s.date for s in self._snapshot.sources if s.facts == _PRICES and ("us_gov" in s.origin) == of_gov]
        return max(days, default=None)
