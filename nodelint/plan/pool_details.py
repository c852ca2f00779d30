"""Details of a pool in a plan besides the verdict: effects without drift, the disruption rate, the outcome for each
node.
"""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING
from nodelint.drift import Unhashable, hash_object, stored_object
from nodelint.drift.claim_status import ca_of
from nodelint.model.releases import RELEASES, behaves
from nodelint.plan.disruption_rate import pace
from nodelint.plan.effects import Stored, effects_of, read_settings
from nodelint.plan.nodes import Wanted, find_outcomes, requirements_of
from nodelint.plan.refusals import why_never_stored
from nodelint.plan.uncompared import may_be_refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nodelint.drift import Hash
    from nodelint.karpenter.resolve import Resolution
    from nodelint.model.manifest import NodePool, Object
    from nodelint.plan.disruption_rate import Pace
    from nodelint.plan.effects import Effect
    from nodelint.plan.nodes import NodeOutcome
    from nodelint.plan.outcome import PlanOptions, PoolPlan
    from nodelint.plan.reasons import Verdict
    from nodelint.plan.verdict import Sides

_STATIC = ("NodePoolDrifted", "RequirementsDrifted", "NodeClassDrift")
"""Reasons that a NodeClaim itself shows, by its hashes and labels."""


def add_roll(options: PlanOptions, plan: PoolPlan, pools: tuple[NodePool | None, NodePool | None]) -> PoolPlan:
    """Return the plan of a pool with the rollout of the cluster's nodes."""
    if options.cluster is None or not plan.nodes:
        return plan
    from nodelint.plan.roll import roll

    found = roll(
        options.cluster, pools, plan.nodes, plan.pace, plan.after, options.region, options.release, options.now
    )
    return plan._replace(roll=found)


def find_effects(
    options: PlanOptions, old: NodePool, new: NodePool, found: Verdict, before: Resolution, after: Resolution | None
) -> list[Effect]:
    """Return the effects without drift of a changed pool, as far as both sides are known."""
    if old is new:
        return []
    whole = True
    try:
        was, now = (stored_object(pool, options.release, options.schemas) for pool in (old, new))
    except Unhashable:
        whole = False
        was, now = read_settings(old), read_settings(new)
    cluster = options.cluster
    usage = cluster.usage_of(str(new.name)) if cluster is not None else None
    nodes = [node for reason in found.reasons for node in (reason.at, getattr(reason.at, "parent", None)) if node]
    return effects_of(Stored(old, new, was, now, before, after, whole, usage), nodes)


def find_pace(options: PlanOptions, pool: NodePool, found: Verdict) -> Pace | None:
    """Return how fast the nodes of a pool are replaced. None if none drifts, or if its budgets are not known."""
    if options.now is None or found.replaced == "none":
        return None
    try:
        return pace(stored_object(pool, options.release, options.schemas), options.now)
    except Unhashable:
        return None


def find_nodes(options: PlanOptions, sides: Sides, found: Verdict) -> tuple[NodeOutcome, ...] | None:
    """Return the outcome for each node of the cluster in a pool. None without a cluster."""
    if options.cluster is None:
        return None
    node_class = _hash(options, sides.new_class)
    static = _STATIC if node_class is not None else _STATIC[:2]
    dynamic = [reason for reason in found.reasons if reason.reason not in static]
    wanted = Wanted(
        pool=_hash(options, sides.new_pool),
        node_class=node_class,
        requirements=requirements_of(sides.new_pool, options.release),
        dynamic=next((reason.reason for reason in dynamic if reason.covered == "all"), None),
        maybe=next((reason.reason for reason in dynamic if reason.covered != "all"), None),
    )
    return find_outcomes(options.cluster.of_pool(str(sides.pool.name)), wanted)


def _hash(options: PlanOptions, obj: Object | None) -> Hash | None:
    """Return the hash that an object will have in the cluster. None if it is not known."""
    if obj is None or options.cluster is None:
        return None
    ca = ca_of(options.cluster, options.release)
    try:
        found = hash_object(obj, options.release, options.schemas, ca)
    except Unhashable:
        return None
    return None if found.without_ca else found


def find_never_stored(options: PlanOptions, written: Mapping[int, Object], *old: Object | None) -> str | None:
    """Return why the API server refused one of the objects of the old side. None if it accepted them. `written` has
    the v1beta1 objects.
    """
    for stored in old:
        obj = written.get(id(stored), stored) if stored is not None else None
        if obj is None or not may_be_refused(obj):
            continue
        release = options.old_release if obj.version == "v1" else _LAST_OF_V1BETA1
        reason = why_never_stored(obj, release, options.schemas)
        if reason is not None:
            return reason
    return None


_LAST_OF_V1BETA1 = [release for release in RELEASES if behaves("serves-v1beta1", release)][-1]
