"""Whether the policy Balanced finds a saving worth the pods that move: `ScoreMove` of balanced.go of core 1.14."""

from __future__ import annotations

from collections.abc import Iterable

from nodelint.base.tuples import NamedTuple
from nodelint.why.pods import ClusterPod
from nodelint.why.state import NodeState

K = 2
"""A move is made if its share of the savings is at least 1/K of its share of the disruption."""


class Score(NamedTuple):
    """The share of a pool's cost that a move saves, and the share of its disruption that it takes."""

    savings: float
    disruption: float

    @property
    def is_enough(self) -> bool:
        """Whether Karpenter makes the move."""
        return self.savings > 0 and self.savings * K >= self.disruption


def disruption_cost(pods: Iterable[ClusterPod]) -> float:
    """Return what the removal of a node costs by its pods: 1 for the node, and what evictions cost."""
    return 1.0 + sum(max(pod.eviction_cost, 0.0) for pod in pods if pod.is_reschedulable)


def score(
    states: Iterable[NodeState], saved: float, members: Iterable[NodeState], prices: dict[int, float | None]
) -> Score | None:
    """Return the score of the removal of nodes of one pool. None if a price of the pool's nodes is not known."""
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
