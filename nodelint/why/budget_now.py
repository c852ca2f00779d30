"""How many nodes the disruption budgets of a NodePool allow now, which budget decides, and when they allow more."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from nodelint.base.tuples import NamedTuple
from nodelint.drift.budgets import Budget, allowed, budgets, week
from nodelint.drift.plain_values import Plain, is_true, listed, mapping
from nodelint.why.state import NodeState, binding_budget

_BEFORE = timedelta(days=32)
_DEFAULT = [{"nodes": "10%"}]
"""The budgets that the API server sets if a NodePool has none."""


class BudgetNow(NamedTuple):
    """The budget that decides now for a disruption reason.

    `nodes` is the number of the pool's initialized nodes, `busy` the number of them that are being removed or not
    Ready. `since` is the start of the budget's window. `opens` is when the budgets next allow a node: None if they
    allow one now, or not within a week. `entry` is the budget's index in the list.
    """

    budget: Budget | None
    entry: int | None
    allowed: int
    nodes: int
    busy: int
    since: datetime | None
    opens: datetime | None

    @property
    def left(self) -> int:
        """Return how many nodes may be disrupted now."""
        return max(self.allowed - self.busy, 0)


def count_nodes(states: Sequence[NodeState]) -> tuple[int, int]:
    """Return the number of nodes that count for a pool's budgets, and how many of them are being removed or not
    Ready.
    """
    counted = [s for s in states if s.is_initialized and not is_true(s.claim or {}, "InstanceTerminating")]
    return len(counted), sum(state.is_deleting or not state.is_ready for state in counted)


def budget_now(pool: Plain, reason: str, states: Sequence[NodeState], now: datetime) -> BudgetNow:
    """Return the state of a NodePool's budgets at `now` for a reason: the budget that counts, and how many nodes it
    allows.
    """
    nodes, busy = count_nodes(states)
    entries = mapping(pool, "spec", "disruption").get("budgets")
    stored = pool if entries is not None else {"spec": {"disruption": {"budgets": _DEFAULT}}}
    concerned = budgets(stored, reason)
    start = now.replace(second=0, microsecond=0)
    stretches = week(concerned, start)
    active = stretches[0].budgets
    counts = binding_budget(active, nodes)
    may = allowed(active, nodes)
    opens = None
    if may - busy <= 0:
        opens = next((s.start for s in stretches[1:] if s.allowed(nodes) - busy > 0), None)
    since = None
    if counts is not None and counts.schedule is not None:
        windows = list(counts.windows(start - _BEFORE, start + timedelta(minutes=1)))
        began = windows[-1][0] if windows else None
        # A window that is as old as the search began earlier: its start is not known.
        since = began if began is not None and began > start - _BEFORE else None
    index = None
    if counts is not None and entries is not None:
        index = next(
            (n for n, entry in enumerate(listed(entries)) if _is_entry(entry, reason, counts)),
            None,
        )
    return BudgetNow(counts, index, may, nodes, busy, since, opens)


def _is_entry(entry: object, reason: str, budget: Budget) -> bool:
    return budget in budgets({"spec": {"disruption": {"budgets": [entry]}}}, reason)
