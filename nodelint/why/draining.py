"""Which pod delays the removal of a node, and until when.

Source: pkg/controllers/node/termination of Karpenter core, 1.0.0 to 1.14.1.
"""

from __future__ import annotations

from datetime import datetime

from nodelint.drift.plain_values import is_true, length, mapping, moment, text
from nodelint.model.messages import counted
from nodelint.model.releases import Version
from nodelint.why.answer import NodeCause, SuggestedChange
from nodelint.why.pdbs import DisruptionBudget, DisruptionBudgets
from nodelint.why.pods import ClusterPod
from nodelint.why.state import NodeState
from nodelint.why.times import shown_time

_DEADLINE = "karpenter.sh/nodeclaim-termination-timestamp"


def explain_removal(state: NodeState, pdbs: DisruptionBudgets, now: datetime, release: Version) -> NodeCause:
    """Return the reason why the removal of a node is not finished."""
    reason = text((state.claim_condition("DisruptionReason") or {}).get("reason"))
    because = f" ({reason})" if reason else ""
    deadline = _deadline(state)
    begun = any(mapping(o, "metadata").get("deletionTimestamp") is not None for o in (state.node, state.claim))
    if not begun:
        return NodeCause("deleting", f"Karpenter disrupts it{because}: it waits until the replacement is ready")
    if is_true(state.claim or {}, "InstanceTerminating"):
        return NodeCause("deleting", f"it is drained{because}, and EC2 terminates the instance")
    waiting = sorted((p for p in state.pods if p.is_waiting_eviction(now)), key=lambda p: (p.drain_group, p.label))
    if not waiting:
        return _after_drain(state, because)
    group = [pod for pod in waiting if pod.drain_group == waiting[0].drain_group]
    blocked_pod = _find_unevictable(group, pdbs, now, release)
    more = f"; {counted(len(waiting), 'pod')} still to go" if len(waiting) > 1 else ""
    end = f"; from {shown_time(deadline)} on it goes anyway (terminationGracePeriod)" if deadline else ""
    never = "" if deadline else "; without terminationGracePeriod nothing ends the wait"
    if blocked_pod is None:
        first = group[0]
        text_ = f"its drain waits for {first.label} to end{more}{end}"
        return NodeCause("draining", text_, until=deadline, facts={"pod": first.label, "waiting": len(waiting)})
    pod, why, changes, facts = blocked_pod
    grace = [] if deadline else [_grace_change(state)]
    return NodeCause(
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


def _find_unevictable(
    group: list[ClusterPod], pdbs: DisruptionBudgets, now: datetime, release: Version
) -> tuple[ClusterPod, str, tuple[SuggestedChange, ...], dict[str, object]] | None:
    """Return the first pod that cannot be evicted, the reason, suggested changes and facts; None if there is none."""
    for pod in group:
        if pod.is_protected(now, release):
            change = SuggestedChange(
                f"Pod/{pod.label}", None, None, None, "delete the pod, or take its annotation away"
            )
            return pod, "it has karpenter.sh/do-not-disrupt, and Karpenter does not evict it", (change,), {}
        blocked_pod = pdbs.holding(pod, release) if pod.is_evictable(now, release) else None
        if blocked_pod is not None and blocked_pod.known:
            budget = blocked_pod.budgets[0]
            names = ", ".join(b.label for b in blocked_pod.budgets)
            why = f"PodDisruptionBudget {names} allows no eviction ({budget.shortage})"
            return pod, why, (pdb_change(blocked_pod.budgets),), {"pdb": [b.label for b in blocked_pod.budgets]}
        if pod.deletion is not None and pod.deletion > now:
            return pod, f"it is being deleted, and has until {shown_time(pod.deletion)}", (), {}
    return None


def pdb_change(budgets: tuple[DisruptionBudget, ...]) -> SuggestedChange:
    """Return the smallest edit with which a PodDisruptionBudget allows an eviction."""
    budget = budgets[0]
    target = f"PodDisruptionBudget/{budget.label}"
    if len(budgets) > 1:
        return SuggestedChange(target, "spec.selector", None, None, "let one PodDisruptionBudget alone cover the pod")
    spec = mapping(budget.obj, "spec")
    stated = next((key for key in ("maxUnavailable", "minAvailable") if spec.get(key) is not None), "maxUnavailable")
    old = str(spec.get(stated)) if spec.get(stated) is not None else None
    if budget.never_allows:
        return SuggestedChange(
            target, f"spec.{stated}", old, "maxUnavailable: 1", "allow one eviction, or run one more replica"
        )
    text_ = (
        "it allows an eviction once enough of its pods are healthy; `unhealthyPodEvictionPolicy:"
        " AlwaysAllow` lets unready pods go"
    )
    return SuggestedChange(target, "spec.unhealthyPodEvictionPolicy", None, "AlwaysAllow", text_)


def _grace_change(state: NodeState) -> SuggestedChange:
    text_ = "nodes that are made from now on go after it, whatever their pods"
    return SuggestedChange(f"NodePool/{state.pool}", "spec.template.spec.terminationGracePeriod", None, "24h", text_)


def _after_drain(state: NodeState, because: str) -> NodeCause:
    volumes = state.claim_condition("VolumesDetached") or {}
    if volumes.get("status") in ("False", "Unknown"):
        return NodeCause("draining", f"it is drained{because}, and waits for its volumes to be detached")
    return NodeCause("deleting", f"it is being removed{because}, and no pod holds it")
