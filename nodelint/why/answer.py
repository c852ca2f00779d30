"""The answer for a node: why Karpenter keeps or removes the node, and which edit would change that."""

from __future__ import annotations

from collections.abc import Callable

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from typing import Any, Literal

    Status = Literal["stays", "goes", "going", "unknown", "unmanaged"]

STATUSES: tuple[Status, ...] = ("stays", "unknown", "going", "goes", "unmanaged")
"""The statuses in the order of a report."""

TITLES = {
    "not-managed": "no NodeClaim: Karpenter does not manage the node",
    "no-node": "the NodeClaim has no node",
    "not-initialized": "the node is not initialized",
    "draining": "the node is being removed, and its drain waits",
    "deleting": "the node is being removed",
    "do-not-disrupt-node": "the node has karpenter.sh/do-not-disrupt",
    "no-nodepool-label": "the node names no NodePool",
    "nodepool-not-found": "Karpenter does not find the NodePool, or its instance types",
    "do-not-disrupt-pod": "a pod has karpenter.sh/do-not-disrupt",
    "pdb": "a PodDisruptionBudget allows no eviction",
    "several-pdbs": "several PodDisruptionBudgets cover one pod",
    "static-pool": "the NodePool is static",
    "unknown-type": "the instance type is not known",
    "missing-label": "the node lacks a label",
    "consolidation-disabled": "consolidation is off: consolidateAfter is Never",
    "policy": "consolidationPolicy is WhenEmpty, and the node has pods",
    "consolidate-after": "consolidateAfter is not over",
    "budget": "a disruption budget allows no node now",
    "limits": "limits leave no room for a replacement",
    "pods-do-not-fit": "pods fit nowhere else",
    "pending-pods": "pods that wait for a node are in the way",
    "uninitialized-node": "pods would go onto a node that is not initialized",
    "several-nodes": "the pods would need several new nodes",
    "min-values": "minValues are not met by cheaper instance types",
    "no-cheaper-type": "no cheaper instance type takes the pods",
    "spot-to-spot": "spot is not replaced by spot: the feature gate is off",
    "spot-flexibility": "fewer than 15 cheaper spot instance types",
    "balanced": "the Balanced policy finds the saving too small",
    "expired": "the node has expired: Karpenter removes it",
    "empty": "the node is empty: Karpenter removes it",
    "delete": "the pods fit on other nodes: Karpenter removes it",
    "replace": "a cheaper node takes the pods: Karpenter replaces it",
    "multi-node-delete": "the pods of several nodes fit on the others: Karpenter removes them together",
    "multi-node-replace": "one cheaper node takes the pods of several nodes: Karpenter replaces them together",
    "drift": "the node has drifted: Karpenter replaces it",
    "static-drift": "the node has drifted, and its static NodePool cannot replace it now",
    "not-known": "not known",
}
"""The title of each reason in a report."""


class SuggestedChange(NamedTuple):
    """An edit that would change the answer.

    `path` is a field of `target`; None if the change is not in a manifest. `place` is `file:line` of the field; None
    if no manifest writes it.
    """

    target: str
    path: str | None
    old: str | None
    new: str | None
    text: str
    place: str | None = None


ChangeOf = Callable[[str, "str | None", "str | None", str], SuggestedChange]
"""A function that returns an edit of the node's NodePool, from a field path, the old and new value, and a
description.
"""


class NodeCause(NamedTuple):
    """The first cause, in Karpenter's order, that keeps or removes a node.

    `known` is False if the cause depends on an unknown fact. `until` is the time when the cause ends by itself; None
    if it does not end or the time is not known. `facts` are details for JSON.
    """

    code: str
    text: str
    known: bool = True
    until: datetime | None = None
    changes: Sequence[SuggestedChange] = ()
    facts: Mapping[str, Any] = {}
    lines: Sequence[str] = ()


class NodeAnswer(NamedTuple):
    """A node and its status. `others` are causes of other disruption methods, after the first cause.

    `method` is the disruption method of the cause: `candidate` if the cause applies to all methods.
    """

    name: str
    claim: str | None
    pool: str
    instance_type: str
    capacity_type: str
    zone: str
    status: Status
    method: str
    cause: NodeCause
    others: tuple[tuple[str, NodeCause], ...]
    events: tuple[tuple[str, str], ...]
    price: float | None
    pods: int
    expires: datetime | None
    unknown: tuple[str, ...]
    notes: tuple[str, ...] = ()


class AnswerGap(NamedTuple):
    """Nodes without an answer, and the reason."""

    reason: str
    nodes: tuple[str, ...]


class Answers(NamedTuple):
    """All answers of a run.

    `unsaid` are facts that no dump contains. `gaps` are nodes without an answer.
    """

    nodes: tuple[NodeAnswer, ...]
    now: datetime
    release: str
    release_from: str
    notes: tuple[str, ...]
    unsaid: tuple[str, ...]
    gaps: tuple[AnswerGap, ...] = ()
    work: int = 0

    def by_reason(self) -> list[tuple[Status, str, list[NodeAnswer]]]:
        """Return the answers grouped by status and cause; within a status, the largest group comes first."""
        groups: dict[tuple[Status, str], list[NodeAnswer]] = {}
        for answer in self.nodes:
            groups.setdefault((answer.status, answer.cause.code), []).append(answer)
        ordered = sorted(groups.items(), key=lambda item: (STATUSES.index(item[0][0]), -len(item[1]), item[0][1]))
        return [(status, code, answers) for (status, code), answers in ordered]
