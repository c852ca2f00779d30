"""The number of a workload's pods: its replicas, or the bounds of its autoscaler."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.model.cluster_objects import SCALER_KINDS, ClusterObject, Workload
from nodelint.model.folders import nearness
from nodelint.text import Node


class Replicas(NamedTuple):
    """The fewest and the most pods of a workload, None if they are not known, and the reason for these numbers."""

    least: int | None
    most: int | None
    why: str = ""


class Scalers:
    """The HorizontalPodAutoscalers and ScaledObjects of a tree."""

    def __init__(self, objects: Iterable[ClusterObject]) -> None:
        self._by_target: dict[tuple[str | None, str, object], list[ClusterObject]] = {}
        self._unread: ClusterObject | None = None
        for obj in objects:
            if obj.kind in SCALER_KINDS:
                name = obj.node.find("spec", "scaleTargetRef", "name")
                kind = obj.node.find("spec", "scaleTargetRef", "kind")
                if name is None or not isinstance(name.value, str):
                    continue
                target = kind.value if kind is not None and isinstance(kind.value, str) else "Deployment"
                self._by_target.setdefault((obj.namespace, target, name.value), []).append(obj)

    def replicas_of(self, workload: Workload) -> Replicas:
        """Return the bounds on a workload's pods: those of its autoscaler if it has one, else its own replicas."""
        scalers = self._by_target.get((workload.namespace, workload.kind, workload.name), ())
        if scalers and isinstance(workload.name, str):
            return _scaled_replicas(_nearest(workload, scalers))
        return _own_replicas(workload)


def _nearest(workload: Workload, scalers: Sequence[ClusterObject]) -> list[ClusterObject]:
    """Return the autoscalers with the most folders in common with the workload: overlays of several clusters may
    each have an autoscaler for a workload of this name.
    """
    near = [nearness(workload.source.path, scaler.source.path) for scaler in scalers]
    return [scaler for scaler, common in zip(scalers, near, strict=True) if common == max(near)]


_FIELDS = {
    "HorizontalPodAutoscaler": (("minReplicas", 1), ("maxReplicas", None)),
    "ScaledObject": (("minReplicaCount", 0), ("maxReplicaCount", 100)),
}
"""The fields of the lower and the upper bound, with their defaults. The default None means no bound."""


def _scaled_replicas(scalers: Sequence[ClusterObject]) -> Replicas:
    least: int | None = None
    most: int | None = None
    for scaler in scalers:
        bounds = [_number(scaler.node.find("spec", field), default) for field, default in _FIELDS[scaler.kind]]
        if None in bounds:
            return Replicas(None, None, f"the bounds of {scaler.label} are not known")
        low, high = (bound or 0 for bound in bounds)
        least = low if least is None else min(least, low)
        most = high if most is None else max(most, high)
    return Replicas(least, most, f"scaled by {scalers[0].label}")


def _own_replicas(workload: Workload) -> Replicas:
    spec = workload.node.get("spec")
    if workload.kind == "Pod":
        return Replicas(1, 1)
    if workload.kind == "PodTemplate":
        return Replicas(0, 0)
    if workload.kind == "CronJob":
        count = _number(workload.node.find("spec", "jobTemplate", "spec", "parallelism"), 1)
        return _occasional_replicas(count, "a CronJob runs at times")
    if workload.kind == "Job":
        return _occasional_replicas(_number(spec.get("parallelism") if spec is not None else None, 1), "a Job ends")
    count = _number(spec.get("replicas") if spec is not None else None, 1)
    return Replicas(count, count, "" if count is not None else "`replicas` is not known")


def _occasional_replicas(count: int | None, why: str) -> Replicas:
    return Replicas(None, None, "`parallelism` is not known") if count is None else Replicas(0, count, why)


def _number(node: Node | None, default: int | None) -> int | None:
    """Return the non-negative integer of a field, or the default if it is not set; None if it is not known."""
    if node is None or (node.kind == "scalar" and node.value is None):
        return default
    return (
        node.value if isinstance(node.value, int) and not isinstance(node.value, bool) and node.value >= 0 else None
    )
