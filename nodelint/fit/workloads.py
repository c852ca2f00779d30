"""The workloads, volumes and storage classes in the documents of a source."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from nodelint.caching import cached_property
from nodelint.fit.pods import Pod, read_pod
from nodelint.karpenter.images import UnknownFact
from nodelint.model.identity import Identity, identities
from nodelint.model.manifest import Object
from nodelint.source import UNKNOWN, Document, Node, SourceText

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
"""The kinds that make pods, each with the path of the pod's spec."""

STORAGE_KINDS = ("PersistentVolumeClaim", "PersistentVolume", "StorageClass")
BUFFER_KIND = "CapacityBuffer"

_GROUPS = {
    **dict.fromkeys(("Pod", "ReplicationController", "PodTemplate"), ("",)),
    **dict.fromkeys(("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"), ("apps", "extensions")),
    **dict.fromkeys(("Job", "CronJob"), ("batch",)),
    "Rollout": ("argoproj.io",),
    **dict.fromkeys(("PersistentVolumeClaim", "PersistentVolume"), ("",)),
    "StorageClass": ("storage.k8s.io",),
    BUFFER_KIND: ("autoscaling.x-k8s.io",),
}

PATTERN = rf"\bkind[\"']?[ \t]*[:=][ \t]*[\"']?(?:{'|'.join(_GROUPS)})\b"
"""How a text says that it holds one of these kinds."""

CLUSTER_SCOPED = ("PersistentVolume", "StorageClass")


class ClusterObject(Object):
    """An object of a cluster that is none of Karpenter's, and matters to where pods go."""

    @cached_property
    def namespace(self) -> str | None:
        """The namespace that is written; None where there is none or a placeholder."""
        node = self.node.at("metadata", "namespace")
        return node.value if node is not None and isinstance(node.value, str) else None


class Workload(ClusterObject):
    """An object that makes pods."""

    @cached_property
    def pod_spec(self) -> Node | None:
        """The spec of its pods; None where it is written elsewhere, or is a placeholder."""
        found = self.node.at(*WORKLOAD_KINDS[self.kind])
        return found if found is not None and found.kind == "mapping" else None

    @cached_property
    def pod_metadata(self) -> Node | None:
        """The metadata of its pods."""
        return self.node.at(*WORKLOAD_KINDS[self.kind][:-1], "metadata")

    @cached_property
    def pod(self) -> Pod | None:
        """What its pods ask of a node; None without a spec."""
        return None if self.pod_spec is None else read_pod(self.pod_spec)

    @cached_property
    def unknown(self) -> tuple[UnknownFact, ...]:
        """What of its pods is not known from the file."""
        if self.pod_spec is None:
            return (UnknownFact(self.name_node, "the template of its pods is not in this object"),)
        found = list(self.pod.unknown) if self.pod is not None else []
        if self.partial:
            found.append(UnknownFact(self.name_node, "the object is a part, or template code may add to it"))
        return tuple(found)

    @property
    def is_daemon(self) -> bool:
        """Whether a pod of it runs on each node."""
        return self.kind == "DaemonSet"


def cluster_objects(sources: Iterable[SourceText]) -> Iterator[ClusterObject]:
    """The workloads and storage objects of sources, those inside a `List` too."""
    for source in sources:
        for document in source.documents:
            if document.root is not None and document.target is None:
                yield from _objects(document.root, document)


def _objects(node: Node, document: Document) -> Iterator[ClusterObject]:
    if node.kind == "sequence":
        for item in node.items:
            yield from _objects(item, document)
    elif node.kind == "mapping":
        for each in identities(node):
            yield from _object(each, document)


def _object(identity: Identity, document: Document) -> Iterator[ClusterObject]:
    node, api_version, kind, instead = identity
    if kind is None or instead is not None:
        return
    items = node.get("items")
    if kind.endswith("List") and items is not None and items.kind == "sequence":
        for item in items.items:
            yield from _objects(item, document)
    elif kind in _GROUPS:
        group = (api_version or "").rpartition("/")[0]
        if group in _GROUPS[kind]:
            cls = Workload if kind in WORKLOAD_KINDS else ClusterObject
            yield cls(node, document, api_version or "", kind, partial=_is_part(node, document))


def _is_part(node: Node, document: Document) -> bool:
    """Whether an object may have more fields than are written here."""
    if document.part or document.templated or any(entry.name is None for entry in node.entries):
        return True
    named = node.at("metadata", "name") or node.at("metadata", "generateName")
    return node.get("$patch") is not None or named is None


def holds_any(text: str) -> bool:
    """Whether a text may hold one of the kinds that matter to where pods go."""
    return re.search(PATTERN, text) is not None


def named(objects: Iterable[ClusterObject], kind: str) -> dict[tuple[str | None, str], ClusterObject]:
    """The objects of a kind by namespace (None for those of the cluster) and name; the first of each."""
    found: dict[tuple[str | None, str], ClusterObject] = {}
    for each in objects:
        if each.kind == kind and isinstance(each.name, str):
            namespace = None if kind in CLUSTER_SCOPED else each.namespace
            found.setdefault((namespace, each.name), each)
    return found


def is_placeholder(node: Node | None) -> bool:
    """Whether a placeholder stands in a node's place."""
    return node is not None and node.value is UNKNOWN
