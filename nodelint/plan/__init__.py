"""The effect of a change of manifests on a fleet, determined from the old and the new side.

The plan assumes that the cluster has the objects of the old side, and that none of its nodes has drifted. The new
side is applied as a whole, and objects that it lacks are deleted.
"""

from __future__ import annotations

from nodelint.plan.each_release import make_each
from nodelint.plan.outcome import Absorbed, ClassPlan, Plan, PlanOptions, PoolPlan, ReleaseMove
from nodelint.plan.planner import make
from nodelint.plan.reasons import Verdict
from nodelint.plan.refusals import Refusal
from nodelint.plan.sides import Side
from nodelint.plan.unread import UnreadFiles

__all__ = [
    "Absorbed",
    "ClassPlan",
    "Plan",
    "PlanOptions",
    "PoolPlan",
    "Refusal",
    "ReleaseMove",
    "Side",
    "UnreadFiles",
    "Verdict",
    "make",
    "make_each",
]
