"""The objects of a dump that nodelint reads as manifests: NodePools, classes, volumes and the controller."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from nodelint.base.tuples import NamedTuple
from nodelint.drift.plain_values import Plain, mapping, mappings, text
from nodelint.fit.pods import Daemon, pod_of
from nodelint.model.cluster_objects import PATTERN, ClusterObject, Workload
from nodelint.model.controller_settings import container_settings, controller_containers, gates_of
from nodelint.model.documents import objects
from nodelint.model.manifest import Object
from nodelint.model.releases import KubernetesVersion, Version
from nodelint.releases.settings import ControllerFacts, StatedSetting
from nodelint.text import Source
from nodelint.why.dump import Dump
from nodelint.why.pods import ClusterPod
from nodelint.why.state import ClusterDaemon

_CONTROLLER_IMAGE = re.compile(r"karpenter/controller(?:@sha256:[0-9a-f]+)?:v?([0-9]+\.[0-9]+\.[0-9]+)(?:[@-]|$)")
"""A pattern of the controller image, with its release."""


_KINDS = (
    *("NodePool", "EC2NodeClass", "NodeOverlay", "DaemonSet"),
    *("PersistentVolumeClaim", "PersistentVolume", "StorageClass"),
)
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


class DumpObjects(NamedTuple):
    """The objects of a dump as manifests.

    `found` are all of them, `controller` is the source of the controller's Deployment.
    """

    found: tuple[Object, ...]
    controller: Source | None

    @property
    def of_cluster(self) -> list[ClusterObject]:
        """Return the objects that are not Karpenter's."""
        return [o for o in self.found if isinstance(o, ClusterObject)]


def read_objects(dump: Dump, path: str) -> DumpObjects:
    """Write the objects of a dump as YAML and read them as manifests; findings about them name `path`."""
    written = [_write_object(obj) for kind in _KINDS for obj in dump.objects_of(kind).values()]
    source = Source.from_text(path, "\n---\n".join(written), PATTERN)
    found = tuple(objects(source, foreign=True, more=True))
    controllers = [_write_object(obj) for obj in dump.objects_of("Deployment").values() if _controller_images(obj)]
    controller = Source.from_text(path, "\n---\n".join(controllers)) if controllers else None
    return DumpObjects(found, controller)


def _write_object(obj: Plain) -> str:
    """Return an object as JSON, without fields that the API server adds."""
    meta = {k: v for k, v in mapping(obj.get("metadata")).items() if k != "managedFields"}
    notes = {k: v for k, v in mapping(meta.get("annotations")).items() if k != _LAST_APPLIED}
    if "annotations" in meta:
        meta["annotations"] = notes
    remaining = {k: v for k, v in obj.items() if k not in ("metadata", "status")}
    return json.dumps({**remaining, "metadata": meta}, default=str)


def _controller_images(deployment: Plain) -> list[str]:
    containers = mappings(mapping(deployment, "spec", "template", "spec").get("containers"))
    return [image for c in containers if "karpenter/controller" in (image := text(c.get("image")))]


def stated_release(dump: Dump) -> Version | None:
    """Return the release in the image of the controller's Deployment. None if the dump has none, or several
    releases.
    """
    found = set()
    for deployment in dump.objects_of("Deployment").values():
        for image in _controller_images(deployment):
            match = _CONTROLLER_IMAGE.search(image)
            if match is not None:
                found.add(Version.parse(match[1]))
    return max(found) if len(found) == 1 else None


def stated_kubernetes(dump: Dump) -> KubernetesVersion | None:
    """Return the Kubernetes version of most nodes. None if no node states a version."""
    counts: dict[tuple[int, int], int] = {}
    for node in dump.objects_of("Node").values():
        parts = text(mapping(node, "status", "nodeInfo").get("kubeletVersion")).removeprefix("v").split(".")
        if len(parts) >= 2 and parts[0].isdecimal() and parts[1].isdecimal() and len(parts[1]) < 5:
            version = int(parts[0]), int(parts[1])
            counts[version] = counts.get(version, 0) + 1
    if not counts:
        return None
    most = max(counts, key=lambda version: counts[version])
    try:
        return KubernetesVersion.parse(f"{most[0]}.{most[1]}")
    except ValueError:
        return None


def controller_facts(found: DumpObjects, release: Version) -> ControllerFacts | None:
    """Return the settings in the controller's Deployment. None if the dump does not contain it."""
    if found.controller is None:
        return None
    stated = list(_stated(found.controller))
    return ControllerFacts(stated, release)


def _stated(controller: Source) -> Iterator[StatedSetting]:
    for _, container in controller_containers(controller):
        for setting in container_settings(container, None):
            variable = setting.variable
            if variable is not None and setting.value:
                yield StatedSetting((), False, variable, setting.value)
            for gate in gates_of(setting):
                yield StatedSetting((), True, gate.name, gate.value)


def find_daemons(found: DumpObjects, pods: list[ClusterPod]) -> list[ClusterDaemon]:
    """Return the DaemonSets of a dump. If the dump has none, derive them from pods that a DaemonSet owns."""
    stated = [o for o in found.of_cluster if isinstance(o, Workload) and o.is_daemon]
    if stated:
        return [
            ClusterDaemon((workload.namespace or "default", str(workload.name)), Daemon(workload, own))
            for workload in stated
            if (own := pod_of(workload)) is not None
        ]
    by_owner: dict[tuple[str, str], ClusterDaemon] = {}
    for pod in pods:
        for _, kind, name in pod.owners:
            if kind == "DaemonSet" and pod.shape is not None and not pod.is_over:
                owner = pod.namespace, name
                by_owner.setdefault(owner, ClusterDaemon(owner, Daemon(pod.shape.demand.workload, pod.shape.pod)))
    return list(by_owner.values())
