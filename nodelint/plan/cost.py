"""What a change does to the cost of a fleet, as far as files tell.

A pool's files do not say how many nodes it has. So a pool is compared by the prices of the types that it can launch,
and a tree with workloads by the nodes that these need on both sides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.data import table

if TYPE_CHECKING:
    from nodelint.fit.cost import FleetCost
    from nodelint.karpenter.resolve import Resolution


class PoolSides(NamedTuple):
    """A pool's name, and what it can launch before and after; None for a side without it."""

    name: str
    before: Resolution | None
    after: Resolution | None


class PriceBounds(NamedTuple):
    """The least and the most that a node of a pool costs an hour on demand, in USD.

    `unpriced` is how many types have a price that is not known; `fee` is the part of EKS Auto Mode that is in it.
    """

    least: float
    most: float
    unpriced: int
    fee: float


class PoolCost(NamedTuple):
    """What a node of a pool costs before and after; None for a side that has no such pool or no price."""

    name: str
    before: PriceBounds | None
    after: PriceBounds | None

    @property
    def changed(self) -> bool:
        """Whether the bounds differ."""
        return self.before != self.after


class PlanCost(NamedTuple):
    """The pools whose prices change, and what the workloads of both sides cost; None if they are not packed.

    `price_region` and `price_date` are those of the prices, `region` is that of the facts.
    """

    pools: tuple[PoolCost, ...]
    before: FleetCost | None
    after: FleetCost | None
    price_region: str
    price_date: str | None
    region: str | None = None

    @property
    def difference(self) -> tuple[float, float] | None:
        """What the workloads cost more an hour with the fewest pods, and with the most. None if it is not known.

        Workloads that are left out on both sides for the same reason are no part of it.
        """
        sides = [side for side in (self.before, self.after) if side is not None and side.not_counted == self.left_out]
        bills = [(side.least, side.most) for side in sides if side.least is not None and side.most is not None]
        if len(bills) < 2:
            return None
        (old_least, old_most), (new_least, new_most) = bills
        return new_least.hourly - old_least.hourly, new_most.hourly - old_most.hourly

    @property
    def left_out(self) -> tuple[str, ...]:
        """Return why workloads are left out on both sides; nothing if the sides leave out different ones."""
        if self.before is None or self.after is None or self.before.left_out != self.after.left_out:
            return ()
        return self.after.left_out


def cost_of_plan(
    pools: Sequence[PoolSides], before: FleetCost | None, after: FleetCost | None, region: str | None
) -> PlanCost | None:
    """Return what a change costs.

    None if no pool changes what it can launch and no workload changes what it costs.
    """
    priced = (PoolCost(pool.name, _bounds(pool.before), _bounds(pool.after)) for pool in pools)
    costs = tuple(cost for cost in priced if cost.changed)
    if not costs and not _differ(before, after):
        return None
    catalogs = [side.catalog for pool in pools for side in (pool.after, pool.before) if side is not None]
    date = catalogs[0].prices.date(region) if catalogs else None
    used = catalogs[0].prices.region_for(region) if catalogs else "us-east-1"
    return PlanCost(costs, before, after, used, date, region)


def _differ(before: FleetCost | None, after: FleetCost | None) -> bool:
    if before is None or after is None:
        return False
    hourly = [
        [round(bill.hourly, 6) for bill in (side.least, side.most) if bill is not None] for side in (before, after)
    ]
    return hourly[0] != hourly[1]


def _bounds(side: Resolution | None) -> PriceBounds | None:
    """Return the bounds of the prices of what a pool can launch; None without such a type or any price."""
    if side is None:
        return None
    fee: float = table("auto_mode")["fee"]["part"] if side.pool.provider == "auto-mode" else 0.0
    prices = [price for price, _ in side.prices.list_prices(side.launchable)]
    known = [price * (1 + fee) for price in prices if price is not None]
    return PriceBounds(min(known), max(known), len(prices) - len(known), fee) if known else None


def not_known(cost: PlanCost) -> str:
    """Return in one sentence what the amounts leave open."""
    open_points = list(_open_points(cost))
    return f"not known: {', '.join(open_points)}"


def _open_points(cost: PlanCost) -> Iterator[str]:
    yield "savings plans and discounts"
    yield "spot prices"
    if cost.region is not None and cost.region != cost.price_region:
        yield f"the prices of {cost.region} (`nodelint refresh` asks)"
    yield "how many nodes run" if cost.after is None else "how far workloads scale and what consolidation saves"
