"""The checks that exclude a node from every disruption: `NewCandidate` of Karpenter core, in its order.

Source: core pkg/controllers/disruption/types.go@v1.14.1:136, pkg/controllers/state/statenode.go@v1.14.1:161-214.
"""

from __future__ import annotations

from datetime import datetime

from nodelint.base.tuples import NamedTuple
from nodelint.drift.cluster_pods import DO_NOT_DISRUPT
from nodelint.drift.plain_values import mapping, text
from nodelint.model.keys import CAPACITY_TYPE, ZONE
from nodelint.model.messages import counted, short
from nodelint.model.releases import Version
from nodelint.why.answer import NodeCause, SuggestedChange
from nodelint.why.draining import pdb_change
from nodelint.why.pdbs import DisruptionBudgets
from nodelint.why.pods import ClusterPod
from nodelint.why.releases import LABELS_ASKED_LATER
from nodelint.why.state import INSTANCE_TYPE, NODEPOOL, ClusterState, NodeState
from nodelint.why.times import shown_time


class Rules(NamedTuple):
    """The data that all checks of a run share. `complete_kinds` are kinds of which the dump contains all objects."""

    cluster: ClusterState
    pdbs: DisruptionBudgets
    now: datetime
    release: Version
    complete_kinds: frozenset[str]


def check_node(state: NodeState, rules: Rules) -> NodeCause | None:
    """Return why the node or NodeClaim itself is no disruption candidate. None if it may be one."""
    dump = rules.cluster.dump
    if state.claim is None:
        if NODEPOOL in state.labels and not dump.has_kind("NodeClaim"):
            return NodeCause(
                "not-managed", "the dump holds no NodeClaim, and its labels name a NodePool", known=False
            )
        return NodeCause("not-managed", "no NodeClaim names it: a node group or somebody else runs it")
    if state.node is None:
        if not dump.has_kind("Node"):
            return NodeCause("no-node", "the dump holds no Node", known=False)
        return NodeCause("no-node", f"its NodeClaim has no node yet{_explain_unready_claim(state)}")
    if not state.is_initialized:
        return NodeCause("not-initialized", f"its NodeClaim is not initialized{_explain_unready_claim(state)}")
    return None


def check_marks(state: NodeState, rules: Rules) -> NodeCause | None:
    """Return which annotation, missing label or missing NodePool excludes an existing node. None if nothing does."""
    if state.annotations.get(DO_NOT_DISRUPT) == "true":
        target = f"Node/{state.name}"
        change = SuggestedChange(
            target, "metadata.annotations", "true", None, f"kubectl annotate node {state.name} {DO_NOT_DISRUPT}-"
        )
        return NodeCause("do-not-disrupt-node", f'the node itself has {DO_NOT_DISRUPT}: "true"', changes=(change,))
    if not state.pool:
        return NodeCause("no-nodepool-label", f"it has no label {NODEPOOL}")
    if rules.release < LABELS_ASKED_LATER:
        lacking = next((key for key in (CAPACITY_TYPE, ZONE, INSTANCE_TYPE) if not state.labels.get(key)), None)
        if lacking is not None:
            return NodeCause("missing-label", f"it has no label {lacking}, which Karpenter {rules.release} wants")
    return _check_pool(state, rules)


def _check_pool(state: NodeState, rules: Rules) -> NodeCause | None:
    pools, classes = rules.cluster.pools, rules.cluster.classes
    if state.pool not in pools:
        if not pools:
            return NodeCause("nodepool-not-found", "the dump holds no NodePool", known=False)
        return NodeCause(
            "nodepool-not-found", f"there is no NodePool/{short(state.pool)}: Karpenter leaves its nodes alone"
        )
    ref = mapping(pools[state.pool], "spec", "template", "spec", "nodeClassRef")
    name = text(ref.get("name"))
    if classes and text(ref.get("kind")) in ("", "EC2NodeClass") and name not in classes:
        about = f"NodePool/{short(state.pool)} names EC2NodeClass/{short(name)}, which is not there"
        return NodeCause("nodepool-not-found", f"{about}: Karpenter knows no instance types for it")
    return None


def _explain_unready_claim(state: NodeState) -> str:
    """Return the first condition of a NodeClaim that is not True, as the end of a sentence; else ""."""
    for kind in ("Launched", "Registered", "Initialized"):
        found = state.claim_condition(kind)
        if found is not None and found.get("status") != "True":
            message = text(found.get("message")) or text(found.get("reason"))
            return (
                f": {kind} is {short(str(found.get('status')), 10)}{f' ({short(message, 120)})' if message else ''}"
            )
    return ""


def check_pods(state: NodeState, rules: Rules) -> NodeCause | None:
    """Return the pod that blocks disruption of the node: by its annotation first, then by a PodDisruptionBudget.

    None if no pod does.
    """
    pods = sorted(state.pods, key=lambda pod: pod.label)
    protected = [pod for pod in pods if pod.is_active and pod.is_protected(rules.now, rules.release)]
    if protected:
        return _explain_protected(protected)
    blocked_pod = rules.pdbs.first_holding(
        (p for p in pods if p.is_evictable(rules.now, rules.release)), rules.release
    )
    if blocked_pod is None:
        return None
    names = [budget.label for budget in blocked_pod.budgets]
    facts = {"pod": blocked_pod.pod.label, "pdb": names}
    if len(names) > 1:
        message = (
            f"{blocked_pod.pod.label} is covered by {' and '.join(names[:3])}: the API server refuses its eviction"
        )
        return NodeCause("several-pdbs", message, changes=(pdb_change(blocked_pod.budgets),), facts=facts)
    budget = blocked_pod.budgets[0]
    if not blocked_pod.known:
        message = (
            f"the status of PodDisruptionBudget {budget.label} does not say whether"
            f" {blocked_pod.pod.label} may be evicted"
        )
        return NodeCause("pdb", message, known=False, facts=facts)
    message = f"PodDisruptionBudget {budget.label} allows no eviction of {blocked_pod.pod.label}: {budget.shortage}"
    return NodeCause("pdb", message, changes=(pdb_change(blocked_pod.budgets),), facts=facts)


def _explain_protected(pods: list[ClusterPod]) -> NodeCause:
    pod = pods[0]
    value = pod.annotations.get(DO_NOT_DISRUPT, "")
    until = pod.protected_until() if value != "true" else None
    more = f", and {counted(len(pods) - 1, 'other pod')}" if len(pods) > 1 else ""
    ends = f", until {shown_time(until)}" if until is not None else ""
    owner = next((f"{kind}/{name}" for _, kind, name in pod.owners if kind and name), None)
    message = f'pod {pod.label} has {DO_NOT_DISRUPT}: "{short(value, 20)}"{ends}{more}'
    where = (
        f"remove the annotation from the pod template of {owner}"
        if owner
        else f"kubectl annotate pod -n {pod.namespace} {pod.name} {DO_NOT_DISRUPT}-"
    )
    change = SuggestedChange(f"Pod/{pod.label}", "metadata.annotations", value, None, where)
    facts = {"pod": pod.label, "pods": len(pods), "owner": owner}
    return NodeCause("do-not-disrupt-pod", message, until=until, changes=(change,), facts=facts)
