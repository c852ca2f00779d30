"""Which NodePool takes a workload's pods, decided as Karpenter's scheduler decides it for one pod and empty pools."""

from __future__ import annotations

from nodelint.fit.admission import may_tolerate, names_taint
from nodelint.fit.pods import requests_of
from nodelint.fit.suggestions import WayOut, suggestions
from nodelint.fit.tree import Tree, WorkloadFit, is_intended_for, may_be_for_others
from nodelint.fit.verdict import PoolRefusal, PoolVerdict

__all__ = [
    "PoolRefusal",
    "PoolVerdict",
    "Tree",
    "WayOut",
    "WorkloadFit",
    "is_intended_for",
    "may_be_for_others",
    "may_tolerate",
    "names_taint",
    "requests_of",
    "suggestions",
]
