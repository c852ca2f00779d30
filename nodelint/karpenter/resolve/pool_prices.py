"""The prices of the instance types of one NodePool, with the NodeOverlays that change them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property

from nodelint.ec2.catalog import Catalog
from nodelint.ec2.type_set import TypeSet, union

_GROUP = 40
"""The number of types of similar price in a group: there are about as many groups."""


class PoolPrices:
    """Prices in USD per hour, as Karpenter reads them.

    `region` is the region of the prices: us-east-1 if the class's region is not known. `zones` are the zones in which
    the class has subnets; None if they are not known. `changes` are the `price` or `priceAdjustment` of overlays for
    each type.
    """

    def __init__(
        self,
        catalog: Catalog,
        region: str | None,
        zones: Collection[str] | None,
        changes: Mapping[str, Sequence[str | None]],
    ) -> None:
        answered = catalog.prices.answered
        self._catalog = catalog
        self._zones = zones
        self._changes = changes
        self.region = region or (answered.region if answered is not None else "us-east-1")

    def in_region(self, name: str, region: str) -> float | None:
        """Return the on-demand price of a type in a region. None if it is not known."""
        price = self._catalog.prices.by_name(region).get(name)
        changes = self._changes.get(name)
        if not changes:
            return price
        prices = [adjust_price(price, change) for change in changes]
        return min((price for price in prices if price is not None), default=None)

    def least_spot(self, types: TypeSet) -> float | None:
        """Return the lowest spot price of some types in the zones of the class. None if the AWS facts have no spot
        price for them.
        """
        answered = self._catalog.prices.answered
        if answered is None or answered.region != self.region:
            return None
        prices = [
            price
            for name in self._catalog.names_in(types)
            for zone, price in answered.spot.get(name, {}).items()
            if self._zones is None or zone in self._zones
        ]
        return min(prices, default=None)

    def list_prices(self, types: TypeSet) -> Iterator[tuple[float | None, str]]:
        """Yield the on-demand price of each of some types, with its name. The price is None if it is not known."""
        return zip(types.select(self._column), self._catalog.names_in(types), strict=True)

    def cheapest(self, types: TypeSet, most: int) -> TypeSet:
        """Return the `most` cheapest types on demand, and the others with the price of the last one.

        All types are returned if there are not more than `most`. Otherwise types without a known price are left out,
        so fewer than `most` can remain.
        """
        if len(types) <= most:
            return types
        prices = sorted((price, name) for price, name in self.list_prices(types) if price)
        limit = prices[min(most, len(prices)) - 1][0] if prices else 0.0
        return self._catalog.types_of(name for price, name in prices if price <= limit)

    def cheapest_type(self, types: TypeSet) -> tuple[float, str] | None:
        """Return the lowest price of some types, with the first type that has it. None if no price is known."""
        for types_of_group, group in self._by_price:
            if not types_of_group.isdisjoint(types):
                return next((price, name) for only, price, name in group if not only.isdisjoint(types))
        return None

    @cached_property
    def _by_price(self) -> Sequence[tuple[TypeSet, Sequence[tuple[TypeSet, float, str]]]]:
        """Return each type with its price, the cheapest first, in groups with the set of their types."""

        def order() -> Sequence[tuple[TypeSet, Sequence[tuple[TypeSet, float, str]]]]:
            prices = zip(self._column, self._catalog.names, strict=True)
            known = sorted((price, name) for price, name in prices if price is not None)
            offers = [(self._catalog.only(name), price, name) for price, name in known]
            groups = [offers[start : start + _GROUP] for start in range(0, len(offers), _GROUP)]
            return [(union(only for only, _, _ in group), group) for group in groups]

        return order() if self._changes else self._catalog.remembered(("by price", self.region), order)

    @cached_property
    def _column(self) -> tuple[float | None, ...]:
        """Return the price of each type of the catalogue, computed once because each workload needs many of them."""
        if not self._changes:
            return self._catalog.prices.column(self.region)
        return tuple([self.in_region(name, self.region) for name in self._catalog.names])


def adjust_price(price: float | None, change: str | None) -> float | None:
    """Return a price after an overlay's `price` or `priceAdjustment`: `1.5`, `-0.2`, `+10%` (`AdjustedPrice` of
    core).

    None if an adjustment applies to an unknown price.
    """
    if change is None or price is None:
        return price if change is None or change[:1] in "+-" else float(change)
    if change[:1] not in "+-":
        return float(change)
    number = float(change.rstrip("%"))
    return max(price * (1 + number / 100) if change.endswith("%") else price + number, 0.0)
