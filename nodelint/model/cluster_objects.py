"""Read workloads, volumes and what is added to pods: objects of a cluster that are not Karpenter's.

They are read only if a run asks for them (`Source.also`).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from nodelint.forms.registry import TABLE
from nodelint.model.gvk import BUFFER_API, BUFFER_KIND
from nodelint.model.manifest import Object
from nodelint.text import Document, Node

WORKLOAD_KINDS = {
    "Pod": ("spec",),
    "Deployment": ("spec", "template", "spec"),
    "StatefulSet": ("spec", "template", "spec"),
    "DaemonSet": ("spec", "template", "spec"),
    "ReplicaSet": ("spec", "template", "spec"),
    "ReplicationController": ("spec", "template", "spec"),
    "Job": ("spec", "template", "spec"),
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
    "Rollout": ("spec", "template", "spec"),
    "PodTemplate": ("template", "spec"),
}
"""The kinds that create pods, with the path of the pod's spec."""

SCALER_KINDS = ("HorizontalPodAutoscaler", "ScaledObject")
"""The kinds that set how many pods a workload has."""

_GROUPS = {
    **dict.fromkeys(("Pod", "ReplicationController", "PodTemplate"), ("",)),
    **dict.fromkeys(("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"), ("apps", "extensions")),
    **dict.fromkeys(("Job", "CronJob"), ("batch",)),
    "Rollout": ("argoproj.io",),
    **dict.fromkeys(("PersistentVolumeClaim", "PersistentVolume"), ("",)),
    "StorageClass": ("storage.k8s.io",),
    "RuntimeClass": ("node.k8s.io",),
    "LimitRange": ("",),
    BUFFER_KIND: (BUFFER_API.partition("/")[0],),
    "HorizontalPodAutoscaler": ("autoscaling",),
    "ScaledObject": ("keda.sh",),
}

_WRITTEN_KIND = r"\bkind[\"']?[ \t]*[:=][ \t]*[\"']?(?:\{\{[^\n]{0,200}\b)?"
"""A kind may be one of several in a template: `kind: {{ if .Values.x }}StatefulSet{{ else }}Deployment{{ end }}`."""
PATTERN = "|".join(
    (rf"{_WRITTEN_KIND}(?:{'|'.join(kind for kind in _GROUPS if kind not in SCALER_KINDS)})\b", *TABLE.pods)
)
"""Pattern of a text with one of these kinds, without the kinds that only set the number of pods."""

PATTERN_WITH_SCALERS = rf"{PATTERN}|{_WRITTEN_KIND}(?:{'|'.join(SCALER_KINDS)})\b"
"""Pattern of a text with one of these kinds, with the kinds that only set the number of pods."""

CLUSTER_SCOPED = ("PersistentVolume", "StorageClass", "RuntimeClass")


class ClusterObject(Object):
    """An object of a cluster that is not Karpenter's, and that affects where pods are scheduled."""

    of_cluster = True
    counted = False

    @cached_property
    def namespace(self) -> str | None:
        """Return the namespace as it is written. None if there is none, or if it is a placeholder."""
        node = self.node.find("metadata", "namespace")
        return node.value if node is not None and isinstance(node.value, str) else None


class Workload(ClusterObject):
    """An object that creates pods."""

    @cached_property
    def pod_spec(self) -> Node | None:
        """Return the spec of the workload's pods. None if it is written elsewhere, or if it is a placeholder."""
        found = self.node.find(*WORKLOAD_KINDS[self.kind])
        return found if found is not None and found.kind == "mapping" else None

    @cached_property
    def pod_metadata(self) -> Node | None:
        """Return the metadata of the workload's pods. None if there is none."""
        return self.node.find(*WORKLOAD_KINDS[self.kind][:-1], "metadata")

    @property
    def is_daemon(self) -> bool:
        """Return whether the workload runs one pod on each node."""
        return self.kind == "DaemonSet"


class CapacityBuffer(ClusterObject):
    """A request for spare nodes, `CapacityBuffer` of autoscaling.x-k8s.io: room for more pods of a template."""

    counted = True


def cluster_object(node: Node, document: Document, api_version: str, kind: str) -> ClusterObject | None:
    """Return the object if its kind affects where pods are scheduled. None for any other kind."""
    if kind not in _GROUPS or api_version.rpartition("/")[0] not in _GROUPS[kind]:
        return None
    cls = Workload if kind in WORKLOAD_KINDS else CapacityBuffer if kind == BUFFER_KIND else ClusterObject
    return cls(node, document, api_version, kind, partial=_is_part(node, document))


def _is_part(node: Node, document: Document) -> bool:
    """Return whether an object may have more fields than are written here."""
    if document.part or document.templated or any(entry.name is None for entry in node.entries):
        return True
    named = node.find("metadata", "name") or node.find("metadata", "generateName")
    return node.get("$patch") is not None or named is None


def objects_by_name(objects: Iterable[ClusterObject], kind: str) -> dict[tuple[str | None, str], ClusterObject]:
    """Return the objects of a kind by namespace (None if cluster-scoped) and name.

    Of several objects with the same name, the first is returned.
    """
    found: dict[tuple[str | None, str], ClusterObject] = {}
    for obj in objects:
        if obj.kind == kind and isinstance(obj.name, str):
            namespace = None if kind in CLUSTER_SCOPED else obj.namespace
            found.setdefault((namespace, obj.name), obj)
    return found
