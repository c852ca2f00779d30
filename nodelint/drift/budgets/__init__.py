"""Disruption budgets of a NodePool: how many nodes Karpenter may disrupt at a time, and over a week."""

from nodelint.drift.budgets.active import (
    DRIFTED,
    REASONS,
    UNHEALTHY,
    WEEK,
    Budget,
    Interval,
    allowed,
    always_closed,
    are_same_budgets,
    budgets,
    inside,
    of_entry,
    starts_again,
    typical_of,
    typical_week,
    week,
)
from nodelint.drift.budgets.redundant import RedundantBudget, without_effect
from nodelint.drift.budgets.words import describe_budget, describe_times, local_hours

__all__ = [
    "DRIFTED",
    "REASONS",
    "UNHEALTHY",
    "WEEK",
    "Budget",
    "Interval",
    "RedundantBudget",
    "allowed",
    "always_closed",
    "are_same_budgets",
    "budgets",
    "describe_budget",
    "describe_times",
    "inside",
    "local_hours",
    "of_entry",
    "starts_again",
    "typical_of",
    "typical_week",
    "week",
    "without_effect",
]
