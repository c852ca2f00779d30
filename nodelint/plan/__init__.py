"""What a change of manifests does to a fleet, worked out from both sides of it.

The old side is what the cluster holds, and none of its nodes has drifted; the new side is applied as a whole, and
what it lacks is deleted.
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
