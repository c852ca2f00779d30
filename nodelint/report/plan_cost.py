"""The cost of a change, as lines, as a table row, and as plain data."""

from __future__ import annotations

from collections.abc import Iterator

from nodelint.base.types import TYPE_CHECKING
from nodelint.model.messages import counted
from nodelint.model.money import HOURS_A_MONTH, dollars, dollars_range
from nodelint.plan.cost import PlanCost, PoolCost, PriceBounds, not_known

if TYPE_CHECKING:
    from typing import Any

    from nodelint.fit.cost import FleetCost


_MOST_POOLS = 10
"""The most NodePools that are listed."""


def cost_lines(cost: PlanCost) -> Iterator[str]:
    """Yield the cost of a change in sentences: of all workloads, then of one node of each pool."""
    if cost.before is not None and cost.after is not None:
        from nodelint.report.cost import headline  # here: without workloads no scheduler is loaded

        yield f"Cost of all workloads before: {headline(cost.before)}"
        yield f"Cost of all workloads after: {headline(cost.after)}"
        yield f"Difference: {difference_words(cost)}"
    for pool in cost.pools[:_MOST_POOLS]:
        yield f"A node of NodePool {pool.name}: {_pool_words(pool)}"
    if len(cost.pools) > _MOST_POOLS:
        yield f"and {counted(len(cost.pools) - _MOST_POOLS, 'more NodePool')} whose prices change"
    day = f", of {cost.price_date}" if cost.price_date is not None else ""
    yield f"Prices an hour on demand in {cost.price_region}{day}; {not_known(cost)}"


def difference_words(cost: PlanCost) -> str:
    """Return the difference in cost of all workloads per month, as bounds."""
    found = cost.difference
    if found is None:
        sides = [side for side in (cost.after, cost.before) if side is not None]
        # A part that both sides leave out does not keep the difference from being known.
        reasons = [reason for side in sides for reason in side.not_counted if reason not in cost.left_out]
        why = reasons[0] if reasons else "no workload is known on both sides"
        return f"not known ({why})"
    fewest, most = (amount * HOURS_A_MONTH for amount in found)
    left_out = "".join(f"; not counted on both sides: {reason}" for reason in cost.left_out)
    if round(fewest, 2) == round(most, 2):
        return (f"{_signed(fewest)} a month" if round(fewest, 2) else "nothing") + left_out
    return f"{_signed(fewest)} a month with the fewest pods, {_signed(most)} with the most{left_out}"


def _signed(amount: float) -> str:
    return f"{'-' if amount < 0 else '+'}{dollars(abs(amount))}"


def _pool_words(pool: PoolCost) -> str:
    return f"{_bounds_words(pool.before)} before, {_bounds_words(pool.after)} after"


def _bounds_words(bounds: PriceBounds | None) -> str:
    if bounds is None:
        return "none"
    words = dollars_range(bounds.least, bounds.most)
    words += f" (with about {bounds.fee:.0%} for EKS Auto Mode)" if bounds.fee else ""
    return words + (f" ({bounds.unpriced:,} types without a price)" if bounds.unpriced else "")


def cost_row(cost: PlanCost) -> str:
    """Return the cost as one row of a Markdown table."""
    if cost.before is not None and cost.after is not None:
        words = f"All workloads, on demand: {difference_words(cost)}"
    else:
        named = cost.pools[:3]
        words = "; ".join(f"a node of `{pool.name}`: {_pool_words(pool)}" for pool in named)
        words += f" and {len(cost.pools) - 3:,} more pools" if len(cost.pools) > 3 else ""
        words = f"An hour on demand: {words}"
    return f"{words}; {not_known(cost)}"


def plan_cost_json(cost: PlanCost | None) -> dict[str, Any] | None:
    """Return the cost as plain data; None if the change does not affect costs."""
    if cost is None:
        return None
    found = cost.difference
    amounts = None if found is None else {"fewestPods": round(found[0], 6), "mostPods": round(found[1], 6)}
    return {
        "prices": {"region": cost.price_region, "date": cost.price_date},
        "nodePools": [
            {"name": pool.name, "before": _bounds_json(pool.before), "after": _bounds_json(pool.after)}
            for pool in cost.pools
        ],
        "before": _side_json(cost.before),
        "after": _side_json(cost.after),
        "differencePerHour": amounts,
        "notKnown": not_known(cost),
    }


def _side_json(side: FleetCost | None) -> dict[str, Any] | None:
    if side is None:
        return None
    from nodelint.report.cost import cost_json

    return cost_json(side)


def _bounds_json(bounds: PriceBounds | None) -> dict[str, Any] | None:
    if bounds is None:
        return None
    return {
        "least": bounds.least,
        "most": bounds.most,
        "typesWithoutPrice": bounds.unpriced,
        "autoModeFee": bounds.fee,
    }
