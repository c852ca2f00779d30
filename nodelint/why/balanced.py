"""Whether the policy Balanced accepts a move: `ScoreMove` of balanced.go of core 1.14."""

from __future__ import annotations

from collections.abc import Iterable

from nodelint.base.tuples import NamedTuple
from nodelint.why.pods import ClusterPod
from nodelint.why.state import NodeState

K = 2
"""Karpenter makes a move if its share of the savings is at least 1/K of its share of the disruption."""


class Score(NamedTuple):
    """The fraction of a pool's cost that a move saves, and its fraction of the pool's disruption cost."""

    savings: float
    disruption: float

    @property
    def is_enough(self) -> bool:
        """Return whether Karpenter makes the move."""
        return self.savings > 0 and self.savings * K >= self.disruption


def disruption_cost(pods: Iterable[ClusterPod]) -> float:
    """Return the disruption cost of a node: 1, and the eviction costs of its reschedulable pods."""
    return 1.0 + sum(max(pod.eviction_cost, 0.0) for pod in pods if pod.is_reschedulable)


def score(
    states: Iterable[NodeState], saved: float, members: Iterable[NodeState], prices: dict[int, float | None]
) -> Score | None:
    """Return the score of removing nodes of one pool. None if a price of the pool's nodes is not known."""
    total_cost = total_disruption = 0.0
    for member in members:
        price = prices.get(id(member))
        if price is None:
            return None
        total_cost += price
        total_disruption += disruption_cost(member.pods)
    if total_cost <= 0 or total_disruption <= 0:
        return None
    return Score(saved / total_cost, sum(disruption_cost(state.pods) for state in states) / total_disruption)
