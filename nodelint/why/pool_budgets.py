"""Whether the disruption budgets of a node's NodePool allow a disruption now."""

from __future__ import annotations

from datetime import datetime

from nodelint.model.messages import counted, short
from nodelint.why.answer import NodeCause
from nodelint.why.budget_now import BudgetNow, budget_now
from nodelint.why.places import Places
from nodelint.why.state import ClusterState, NodeState
from nodelint.why.times import shown_time


class PoolBudgets:
    """The budgets of all NodePools of a cluster at one time."""

    def __init__(self, cluster: ClusterState, now: datetime, places: Places) -> None:
        self.cluster = cluster
        self.now = now
        self.places = places
        self._budgets: dict[tuple[str, str], BudgetNow] = {}

    def find(self, pool: str, reason: str) -> BudgetNow:
        """Return the state of a pool's budgets now for a reason: the budget that counts, and how many nodes it
        allows.
        """
        found = self._budgets.get((pool, reason))
        if found is None:
            states = self.cluster.by_pool.get(pool, [])
            found = budget_now(self.cluster.pools.get(pool, {}), reason, states, self.now)
            self._budgets[pool, reason] = found
        return found

    def check(self, state: NodeState, reason: str) -> NodeCause | None:
        """Return a cause if the pool's budgets allow no node now. None if they allow one."""
        now = self.find(state.pool, reason)
        if now.left > 0:
            return None
        found = now.budget
        shown = f'`nodes: "{found.nodes}"`' if found is not None else "the budgets"
        if found is not None and found.written:
            shown += f" (schedule {short(found.written, 40)})"
        if found is not None and found.broken:
            message = (
                f"a budget of NodePool/{short(state.pool)} cannot be read ({found.broken}): Karpenter"
                " disrupts nothing"
            )
        elif now.allowed <= 0:
            since = f" since {shown_time(now.since)}" if now.since is not None else ""
            message = f"budget {shown} of NodePool/{short(state.pool)} allows no node for {reason}{since}"
        else:
            message = (
                f"budget {shown} of NodePool/{short(state.pool)} allows {now.allowed} of {counted(now.nodes, 'node')}"
                f" for {reason}, and {now.busy} {'is' if now.busy == 1 else 'are'} being removed or not Ready"
            )
        if now.opens is not None:
            message += f"; it opens at {shown_time(now.opens)}"
        elif now.allowed <= 0:
            message += "; it does not open within a week"
        path = f"spec.disruption.budgets[{now.entry}].nodes" if now.entry is not None else "spec.disruption.budgets"
        old = found.nodes if found is not None else None
        change = self.places.suggest(state.pool, path, old, str(now.busy + 1), f"allow a node for {reason}")
        facts = {
            "reason": reason,
            "budget": old,
            "schedule": found.written if found is not None else None,
            "allowed": now.allowed,
            "nodes": now.nodes,
            "busy": now.busy,
            "since": shown_time(now.since) if now.since is not None else None,
        }
        return NodeCause("budget", message, until=now.opens, changes=(change,), facts=facts)
