"""The effect of a change on the cost of a fleet, as far as the files show it.

The files do not show how many nodes a pool has. So a pool is compared by the prices of the types that it can launch,
and a repository with workloads by the nodes that these need on both sides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.data import table
from nodelint.karpenter.resolve.readiness import launched

if TYPE_CHECKING:
    from nodelint.fit.cost import FleetCost
    from nodelint.karpenter.resolve import Resolution


class PoolSides(NamedTuple):
    """A pool's name, and what it can launch before and after. None for a side without the pool."""

    name: str
    before: Resolution | None
    after: Resolution | None


class PriceBounds(NamedTuple):
    """The lowest and the highest on-demand price of a node of a pool, in USD per hour.

    `unpriced` is the number of types whose price is not known. `fee` is the fraction that EKS Auto Mode adds, which
    the prices include.
    """

    least: float
    most: float
    unpriced: int
    fee: float


class PoolCost(NamedTuple):
    """The prices of a node of a pool before and after. None for a side without the pool, or without a known price."""

    name: str
    before: PriceBounds | None
    after: PriceBounds | None

    @property
    def changed(self) -> bool:
        """Return whether the bounds differ."""
        return self.before != self.after


class PlanCost(NamedTuple):
    """The pools whose prices change, and the cost of the workloads on both sides; None if it is not computed.

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
        """Return the additional cost of the workloads in USD per hour, with the fewest and with the most pods. None
        if it is not known.

        Workloads that are left out on both sides for the same reason are not included.
        """
        sides = [side for side in (self.before, self.after) if side is not None and side.not_counted == self.left_out]
        bills = [(side.least, side.most) for side in sides if side.least is not None and side.most is not None]
        if len(bills) < 2:
            return None
        (old_least, old_most), (new_least, new_most) = bills
        return new_least.hourly - old_least.hourly, new_most.hourly - old_most.hourly

    @property
    def left_out(self) -> tuple[str, ...]:
        """Return the reasons why workloads are left out on both sides. Empty if the sides leave out different
        ones.
        """
        if self.before is None or self.after is None or self.before.left_out != self.after.left_out:
            return ()
        return self.after.left_out


def cost_of_plan(
    pools: Sequence[PoolSides], before: FleetCost | None, after: FleetCost | None, region: str | None
) -> PlanCost | None:
    """Return the effect of a change on the cost.

    None if no pool changes the types that it can launch, and no workload changes its cost.
    """
    moved = [pool for pool in pools if pool.before is not pool.after]
    priced = (PoolCost(pool.name, _bounds(pool.before), _bounds(pool.after)) for pool in moved)
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
    """Return the bounds of the prices of the types that a pool can launch. None if it can launch none, or if no price
    is known.
    """
    if side is None:
        return None
    fee: float = table("auto_mode")["fee"]["part"] if side.pool.provider == "auto-mode" else 0.0
    prices = [price for price, _ in side.prices.list_prices(launched(side))]
    known = [price * (1 + fee) for price in prices if price is not None]
    return PriceBounds(min(known), max(known), len(prices) - len(known), fee) if known else None


def not_known(cost: PlanCost) -> str:
    """Return one sentence about the costs that the amounts do not include."""
    open_points = list(_open_points(cost))
    return f"not known: {', '.join(open_points)}"


def _open_points(cost: PlanCost) -> Iterator[str]:
    yield "savings plans and discounts"
    yield "spot prices"
    if cost.region is not None and cost.region != cost.price_region:
        yield f"the prices of {cost.region} (`nodelint refresh` asks)"
    yield "how many nodes run" if cost.after is None else "how far workloads scale and what consolidation saves"
