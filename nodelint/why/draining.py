"""What a node waits for that is being removed: which pod holds its drain, and until when.

pkg/controllers/node/termination of Karpenter core, 1.0.0 to 1.14.1.
"""

from __future__ import annotations

from datetime import datetime

from nodelint.model.messages import counted
from nodelint.model.releases import Version
from nodelint.why.answer import Cause, Change
from nodelint.why.pdbs import DisruptionBudgets
from nodelint.why.pods import ClusterPod
from nodelint.why.state import NodeState
from nodelint.why.values import is_true, length, mapping, moment, shown_time, text

_DEADLINE = "karpenter.sh/nodeclaim-termination-timestamp"


def explain_removal(state: NodeState, pdbs: DisruptionBudgets, now: datetime, release: Version) -> Cause:
    """Return what a node waits for that is being removed."""
    reason = text((state.claim_condition("DisruptionReason") or {}).get("reason"))
    because = f" ({reason})" if reason else ""
    deadline = _deadline(state)
    begun = any(mapping(o, "metadata").get("deletionTimestamp") is not None for o in (state.node, state.claim))
    if not begun:
        return Cause("deleting", f"Karpenter disrupts it{because}: it waits until the replacement is ready")
    if is_true(state.claim or {}, "InstanceTerminating"):
        return Cause("deleting", f"it is drained{because}, and EC2 terminates the instance")
    waiting = sorted((p for p in state.pods if p.is_waiting_eviction(now)), key=lambda p: (p.drain_group, p.label))
    if not waiting:
        return _after_drain(state, because)
    group = [pod for pod in waiting if pod.drain_group == waiting[0].drain_group]
    held = _find_held(group, pdbs, now, release)
    more = f"; {counted(len(waiting), 'pod')} still to go" if len(waiting) > 1 else ""
    end = f"; from {shown_time(deadline)} on it goes all the same (terminationGracePeriod)" if deadline else ""
    never = "" if deadline else "; without terminationGracePeriod nothing ends the wait"
    if held is None:
        first = group[0]
        text_ = f"its drain waits for {first.label} to end{more}{end}"
        return Cause("draining", text_, until=deadline, facts={"pod": first.label, "waiting": len(waiting)})
    pod, why, changes, facts = held
    grace = [] if deadline else [_grace_change(state)]
    return Cause(
        "draining",
        f"its drain waits for {pod.label}: {why}{more}{end or never}",
        until=deadline,
        changes=(*changes, *grace),
        facts={"pod": pod.label, "waiting": len(waiting), **facts},
    )


def _deadline(state: NodeState) -> datetime | None:
    found = moment(mapping(state.claim, "metadata", "annotations").get(_DEADLINE))
    if found is not None:
        return found
    begun = moment(mapping(state.claim, "metadata").get("deletionTimestamp"))
    grace = length(mapping(state.claim, "spec").get("terminationGracePeriod"))
    return begun + grace if begun is not None and grace is not None else None


def _find_held(
    group: list[ClusterPod], pdbs: DisruptionBudgets, now: datetime, release: Version
) -> tuple[ClusterPod, str, tuple[Change, ...], dict[str, object]] | None:
    """Return the first pod that may not be evicted, why, and what would change that."""
    for pod in group:
        if pod.is_protected(now, release):
            change = Change(f"Pod/{pod.label}", None, None, None, "delete the pod, or take its annotation away")
            return pod, "it has karpenter.sh/do-not-disrupt, and Karpenter does not evict it", (change,), {}
        held = pdbs.holding(pod, release) if pod.is_evictable(now, release) else None
        if held is not None and held.known:
            budget = held.budgets[0]
            names = ", ".join(b.label for b in held.budgets)
            why = f"PodDisruptionBudget {names} allows no eviction ({budget.why})"
            return pod, why, (pdb_change(held.budgets),), {"pdb": [b.label for b in held.budgets]}
        if pod.deletion is not None and pod.deletion > now:
            return pod, f"it is being deleted, and has until {shown_time(pod.deletion)}", (), {}
    return None


def pdb_change(budgets: tuple[object, ...]) -> Change:
    """Return the smallest edit by which a PodDisruptionBudget allows an eviction."""
    from nodelint.why.pdbs import DisruptionBudget

    budget = budgets[0]
    assert isinstance(budget, DisruptionBudget)
    target = f"PodDisruptionBudget/{budget.label}"
    if len(budgets) > 1:
        return Change(target, "spec.selector", None, None, "let one PodDisruptionBudget alone cover the pod")
    spec = mapping(budget.obj, "spec")
    stated = next((key for key in ("maxUnavailable", "minAvailable") if spec.get(key) is not None), "maxUnavailable")
    old = str(spec.get(stated)) if spec.get(stated) is not None else None
    if budget.never_allows:
        return Change(target, f"spec.{stated}", old, "maxUnavailable: 1", "allow one eviction, or run one more replica")
    text_ = "it allows an eviction once enough of its pods are healthy; `unhealthyPodEvictionPolicy: AlwaysAllow` lets unready pods go"
    return Change(target, "spec.unhealthyPodEvictionPolicy", None, "AlwaysAllow", text_)


def _grace_change(state: NodeState) -> Change:
    text_ = "nodes that are made from now on go after it, whatever their pods"
    return Change(f"NodePool/{state.pool}", "spec.template.spec.terminationGracePeriod", None, "24h", text_)


def _after_drain(state: NodeState, because: str) -> Cause:
    volumes = state.claim_condition("VolumesDetached") or {}
    if volumes.get("status") in ("False", "Unknown"):
        return Cause("draining", f"it is drained{because}, and waits for its volumes to be detached")
    return Cause("deleting", f"it is being removed{because}, and no pod holds it")
