"""Pods and PodDisruptionBudgets of a cluster, as far as they hold back the disruption of a node."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.karpenter.controller.syntax import seconds
from nodelint.model.releases import Version, behaves

if TYPE_CHECKING:
    from typing import Any


KINDS = ("nodes", "pods", "poddisruptionbudgets.policy")
"""What to ask kubectl for beside NodeClaims, in all namespaces."""

DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"

_OVER = ("Succeeded", "Failed")


class RunningPod(NamedTuple):
    """A pod that runs on a node, since when. `static` is one of the kubelet's own, which nothing evicts."""

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
        """Whether its annotation keeps its node from disruption: `true`, or a duration from its start that goes on.

        `IsDoNotDisruptActive` of pkg/utils/pod/scheduling.go of core: a pod whose start is not known is protected.
        """
        value = self.annotations.get(DO_NOT_DISRUPT, "")
        if value == "true" or not behaves("reads-durations-of-do-not-disrupt", release):
            return value == "true"
        length = seconds(value)
        if length is None or length <= 0:
            return False
        return self.started is None or now is None or (now - self.started).total_seconds() < length


class PodBudget(NamedTuple):
    """A PodDisruptionBudget. `allowed` is how many evictions it allows now; None where its status is not there."""

    namespace: str
    name: str
    selector: dict[str, Any] | None
    allowed: int | None

    @property
    def label(self) -> str:
        return f"{self.namespace}/{self.name}"

    def selects(self, pod: RunningPod) -> bool:
        """Whether it covers a pod: of its namespace, by labels and expressions; policy/v1 has `{}` select all."""
        if pod.namespace != self.namespace or self.selector is None:
            return False
        wanted = _map(self.selector.get("matchLabels"))
        expressions = self.selector.get("matchExpressions")
        return all(pod.labels.get(str(key)) == str(value) for key, value in wanted.items()) and all(
            _meets(pod.labels, expression) for expression in (expressions if isinstance(expressions, list) else ())
        )


def _meets(labels: dict[str, str], expression: Any) -> bool:
    fields = _map(expression)
    value, values = labels.get(str(fields.get("key"))), fields.get("values")
    listed = [str(value) for value in values] if isinstance(values, list) else []
    return {
        "In": value is not None and value in listed,
        "NotIn": value is None or value not in listed,
        "Exists": value is not None,
        "DoesNotExist": value is None,
    }.get(str(fields.get("operator")), False)


def read_pod(obj: dict[str, Any]) -> RunningPod | None:
    """Return a pod that runs; None for one without a node, and for one that has ended."""
    meta, spec = _map(obj.get("metadata")), _map(obj.get("spec"))
    node = spec.get("nodeName")
    if not isinstance(node, str) or not node or _map(obj.get("status")).get("phase") in _OVER:
        return None
    owners = meta.get("ownerReferences")
    tolerations = spec.get("tolerations")
    return RunningPod(
        str(meta.get("namespace", "default")),
        str(meta.get("name", "")),
        node,
        _texts(meta.get("labels")),
        _texts(meta.get("annotations")),
        tuple(
            toleration
            for toleration in (tolerations if isinstance(tolerations, list) else ())
            if isinstance(toleration, dict)
        ),
        any(_map(owner).get("kind") == "Node" for owner in (owners if isinstance(owners, list) else ())),
        _moment(_map(obj.get("status")).get("startTime")),
    )


def read_budget(obj: dict[str, Any]) -> PodBudget:
    """Return a PodDisruptionBudget."""
    meta, selector = _map(obj.get("metadata")), _map(obj.get("spec")).get("selector")
    allowed = _map(obj.get("status")).get("disruptionsAllowed")
    return PodBudget(
        str(meta.get("namespace", "default")),
        str(meta.get("name", "")),
        selector if isinstance(selector, dict) else None,
        allowed if isinstance(allowed, int) and not isinstance(allowed, bool) else None,
    )


def covering(budgets: list[PodBudget], pods: list[RunningPod]) -> Iterator[PodBudget]:
    """Yield the budgets that allow no eviction now of one of the pods."""
    for budget in budgets:
        if budget.allowed == 0 and any(budget.selects(pod) for pod in pods):
            yield budget


def _moment(text: object) -> datetime | None:
    try:
        found = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return found if found is None or found.tzinfo is not None else found.replace(tzinfo=UTC)


def _texts(value: Any) -> dict[str, str]:
    return {str(key): str(text) for key, text in _map(value).items()}


def _map(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
