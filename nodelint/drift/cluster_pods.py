"""Pods and PodDisruptionBudgets of a cluster, as far as they prevent the disruption of a node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import Any
from nodelint.drift.plain_values import Plain, mapping, mappings, meets, moment, text, texts, whole
from nodelint.karpenter.controller.syntax import seconds
from nodelint.model.releases import Version, behaves

KINDS = ("nodes", "pods", "poddisruptionbudgets.policy")
"""The resources to request from kubectl in addition to NodeClaims, in all namespaces."""

DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"

_OVER = ("Succeeded", "Failed")


class RunningPod(NamedTuple):
    """A pod on a node, with its start time. `static` is true for a static pod of the kubelet, which is never
    evicted.
    """

    namespace: str
    name: str
    node: str
    labels: dict[str, str]
    annotations: dict[str, str]
    tolerations: tuple[dict[str, Any], ...]
    static: bool
    started: datetime | None

    @property
    def label(self) -> str:
        return f"{self.namespace}/{self.name}"

    def is_protected(self, now: datetime | None, release: Version) -> bool:
        """Return whether an annotation of the pod prevents the disruption of its node."""
        return is_protected(self.annotations, self.started, now, release)


class PodBudget(NamedTuple):
    """A PodDisruptionBudget. `allowed` is the number of evictions that it allows now; None without a status."""

    namespace: str
    name: str
    selector: dict[str, Any] | None
    allowed: int | None

    @property
    def label(self) -> str:
        return f"{self.namespace}/{self.name}"

    def selects(self, pod: RunningPod) -> bool:
        """Return whether the budget covers a pod: the namespace, labels and expressions match. In policy/v1, `{}`
        selects all pods.
        """
        return pod.namespace == self.namespace and meets(pod.labels, self.selector) is True


def is_protected(
    annotations: Mapping[str, str], started: datetime | None, now: datetime | None, release: Version
) -> bool:
    """Return whether an annotation of a pod prevents the disruption of its node: `true`, or a duration that has not
    ended.

    `IsDoNotDisruptActive` of pkg/utils/pod/scheduling.go of core. A pod whose start is not known is protected.
    """
    value = annotations.get(DO_NOT_DISRUPT, "")
    if value == "true" or not behaves("reads-durations-of-do-not-disrupt", release):
        return value == "true"
    duration = seconds(value)
    if duration is None or duration <= 0:
        return False
    return started is None or now is None or (now - started).total_seconds() < duration


def read_pod(obj: Plain) -> RunningPod | None:
    """Return a running pod. None for a pod without a node, and for one that has ended."""
    meta, spec, status = mapping(obj.get("metadata")), mapping(obj.get("spec")), mapping(obj.get("status"))
    node = text(spec.get("nodeName"))
    if not node or status.get("phase") in _OVER:
        return None
    return RunningPod(
        text(meta.get("namespace")) or "default",
        text(meta.get("name")),
        node,
        texts(meta.get("labels")),
        texts(meta.get("annotations")),
        tuple(mappings(spec.get("tolerations"))),
        any(owner.get("kind") == "Node" for owner in mappings(meta.get("ownerReferences"))),
        moment(status.get("startTime")),
    )


def read_budget(obj: Plain) -> PodBudget:
    """Return the PodDisruptionBudget in an object."""
    meta, selector = mapping(obj.get("metadata")), mapping(obj.get("spec")).get("selector")
    return PodBudget(
        text(meta.get("namespace")) or "default",
        text(meta.get("name")),
        selector if isinstance(selector, dict) else None,
        whole(mapping(obj.get("status")).get("disruptionsAllowed")),
    )


def covering(budgets: list[PodBudget], pods: list[RunningPod]) -> Iterator[PodBudget]:
    """Yield the budgets that cover one of the pods and allow no eviction now."""
    for budget in budgets:
        if budget.allowed == 0 and any(budget.selects(pod) for pod in pods):
            yield budget
