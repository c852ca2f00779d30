"""PodDisruptionBudgets of a cluster: which pods they protect from eviction now, and why.

Source: pkg/utils/pdb/pdb.go of Karpenter core, 1.0.0 to 1.14.1.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from nodelint.base.tuples import NamedTuple
from nodelint.drift.plain_values import Plain, mapping, meets, text, whole
from nodelint.model.releases import Version
from nodelint.why.dump import Dump
from nodelint.why.pods import ClusterPod

_COUNTS_SEVERAL = Version(1, 7, 0)
"""The first release in which a pod with two PodDisruptionBudgets blocks its node: the API server refuses its
eviction.
"""

_LEAVES_BLOCKED = Version(1, 4, 0)
"""The first release that plans no capacity for pods whose PodDisruptionBudget never allows an eviction."""


class DisruptionBudget(NamedTuple):
    """A PodDisruptionBudget. `allowed` is None if its status lacks `disruptionsAllowed`."""

    namespace: str
    name: str
    selector: object
    allowed: int | None
    always_evicts_unready: bool
    obj: Plain

    @property
    def label(self) -> str:
        """Return the budget's namespace and name."""
        return f"{self.namespace}/{self.name}"

    def selects(self, pod: ClusterPod) -> bool:
        """Return whether the budget covers the pod. A budget without a selector covers none."""
        return pod.namespace == self.namespace and meets(pod.labels, self.selector) is True

    @property
    def shortage(self) -> str:
        """Return why the budget allows no eviction, from its spec and status."""
        spec, status = mapping(self.obj, "spec"), mapping(self.obj, "status")
        healthy, desired = whole(status.get("currentHealthy")), whole(status.get("desiredHealthy"))
        expected = whole(status.get("expectedPods"))
        stated = next(
            (f"`{k}: {spec[k]}`" for k in ("maxUnavailable", "minAvailable") if spec.get(k) is not None), ""
        )
        if healthy is None or desired is None:
            return f"{stated} allows no eviction now" if stated else "it allows no eviction now"
        if expected == 0:
            return "its status counts no pod yet"
        if self.never_allows:
            return (
                f"{stated or 'it'} wants {desired} healthy pods and there are {expected} in all: it never allows one"
            )
        if healthy < desired:
            return f"{healthy} of its pods are healthy and {stated or 'it'} wants {desired}"
        return f"{stated or 'it'} wants {desired} healthy pods and {healthy} are"

    @property
    def never_allows(self) -> bool:
        """Return whether the budget allows no eviction even if all its pods are healthy."""
        status = mapping(self.obj, "status")
        desired, expected = whole(status.get("desiredHealthy")), whole(status.get("expectedPods"))
        return desired is not None and expected is not None and 0 < expected <= desired

    @property
    def is_fully_blocking(self) -> bool:
        """Return whether the spec allows no eviction at all."""
        spec = mapping(self.obj, "spec")
        most = spec.get("maxUnavailable")
        return (most in (0, "0%") and most is not False) or spec.get("minAvailable") == "100%"


class BlockedPod(NamedTuple):
    """A pod that cannot be evicted, and the budgets that block it.

    Several budgets block a pod because Kubernetes evicts no pod with more than one. `known` is False if a budget's
    status is missing.
    """

    pod: ClusterPod
    budgets: tuple[DisruptionBudget, ...]
    known: bool = True


class DisruptionBudgets:
    """All PodDisruptionBudgets, by namespace and by pod labels."""

    def __init__(self, dump: Dump) -> None:
        self.known = dump.has_kind("PodDisruptionBudget")
        self._by_namespace: dict[str, list[DisruptionBudget]] = {}
        for (namespace, name), obj in dump.objects_of("PodDisruptionBudget").items():
            spec = mapping(obj, "spec")
            found = DisruptionBudget(
                namespace,
                name,
                spec.get("selector"),
                whole(mapping(obj, "status").get("disruptionsAllowed")),
                text(spec.get("unhealthyPodEvictionPolicy")) == "AlwaysAllow",
                obj,
            )
            self._by_namespace.setdefault(namespace, []).append(found)
        self._covering: dict[tuple[str, frozenset[tuple[str, str]]], tuple[DisruptionBudget, ...]] = {}

    def covering(self, pod: ClusterPod) -> tuple[DisruptionBudget, ...]:
        """Return the budgets that cover the pod."""
        key = pod.namespace, frozenset(pod.labels.items())
        found = self._covering.get(key)
        if found is None:
            found = tuple(b for b in self._by_namespace.get(pod.namespace, ()) if b.selects(pod))
            self._covering[key] = found
        return found

    def holding(self, pod: ClusterPod, release: Version) -> BlockedPod | None:
        """Return the budgets that block the eviction of an evictable pod. None if none does."""
        matching = self.covering(pod)
        if len(matching) > 1 and release >= _COUNTS_SEVERAL:
            return BlockedPod(pod, matching)
        for budget in matching:
            if budget.always_evicts_unready and pod.is_unready:
                return None
            if budget.allowed == 0:
                return BlockedPod(pod, (budget,))
        unsaid = [budget for budget in matching if budget.allowed is None]
        return BlockedPod(pod, (unsaid[0],), known=False) if unsaid else None

    def blocks_fully(self, pod: ClusterPod, now: datetime, release: Version) -> bool:
        """Return whether the simulation does not schedule the pod elsewhere, because a budget never allows its
        eviction.
        """
        if release < _LEAVES_BLOCKED or not any(budget.is_fully_blocking for budget in self.covering(pod)):
            return False
        if not pod.is_evictable(now, release):
            return False
        return not any(b.always_evicts_unready and pod.is_unready for b in self.covering(pod))

    def first_holding(self, pods: Iterable[ClusterPod], release: Version) -> BlockedPod | None:
        """Return the first pod that cannot be evicted.

        A pod with an unknown budget status is returned only if there is no other.
        """
        unsure = None
        for pod in pods:
            found = self.holding(pod, release)
            if found is not None and found.known:
                return found
            unsure = unsure or found
        return unsure
