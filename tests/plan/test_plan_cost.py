"""What a change costs, of bills that are given."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from nodelint.plan.cost import PlanCost, PoolCost, PriceBounds, cost_of_plan
from nodelint.report.plan_cost import cost_row, difference_words


def bills(least: float, most: float) -> Any:
    """What workloads cost an hour with the fewest pods and with the most."""
    side = (SimpleNamespace(hourly=amount) for amount in (least, most))
    return SimpleNamespace(least=next(side), most=next(side), complete=True, not_counted=(), left_out=())


@pytest.mark.parametrize(
    ("before", "after", "difference", "words"),
    [
        ((1, 2), (3, 5), (2, 3), "+$1,460 a month with the fewest pods, +$2,190 with the most"),
        ((3, 5), (1, 4), (-2, -1), "-$1,460 a month with the fewest pods, -$730.00 with the most"),
        ((1, 1), (0.5, 0.5), (-0.5, -0.5), "-$365.00 a month"),
        ((1, 2), (1, 2), (0, 0), "nothing"),
    ],
)
def test_fewest_pods_are_held_against_fewest_and_most_against_most(
    before: tuple[float, float], after: tuple[float, float], difference: tuple[float, float], words: str
) -> None:
    cost = PlanCost((), bills(*before), bills(*after), "us-east-1", None)
    assert (cost.difference, difference_words(cost)) == (difference, words)


@pytest.mark.parametrize(("count", "more"), [(3, ""), (5, " and 2 more pools")])
def test_a_row_names_three_pools_and_counts_the_others(count: int, more: str) -> None:
    bounds = PriceBounds(1, 2, 0, 0.0)
    pools = tuple(PoolCost(f"p{n}", bounds, None) for n in range(count))
    row = cost_row(PlanCost(pools, None, None, "us-east-1", None))
    assert re.findall(r"`(p\d)`", row) == ["p0", "p1", "p2"]
    assert re.findall(r" and \d+ more pools", row) == ([more] if more else [])


@pytest.mark.parametrize(("more", "changes"), [(0.0, False), (1e-9, False), (0.1, True)])
def test_a_change_of_some_cents_is_one(more: float, changes: bool) -> None:
    assert (cost_of_plan((), bills(1, 2), bills(1, 2 + more), None) is not None) == changes


def test_what_both_sides_leave_out_is_not_why_the_difference_is_not_known() -> None:
    sides = [bills(1, 2), bills(1, 2)]
    for side in sides:
        side.left_out = ("1 workload: no NodePool takes its pods",)
        side.not_counted = (*side.left_out, "the prices of 1 node")
    cost = PlanCost((), sides[0], sides[1], "us-east-1", None)
    assert difference_words(cost) == "not known (the prices of 1 node)"
