"""Read the scheduling constraints of cluster pods as `fit` reads manifests. Equal pods are read once."""

from __future__ import annotations

import json
from collections.abc import Iterable

from nodelint.base.budget import RUN
from nodelint.drift.plain_values import Plain, mapping, mappings, text
from nodelint.fit.pods import pod_of
from nodelint.fit.volumes import Volumes
from nodelint.model.cluster_objects import PATTERN, ClusterObject, Workload
from nodelint.model.documents import objects
from nodelint.model.releases import Version
from nodelint.text import Source
from nodelint.why.constraints import read_constraints
from nodelint.why.pods import ClusterPod
from nodelint.why.requests import read_requests
from nodelint.why.shapes import NodeDemand, Shape

_ASKED = ("nodeSelector", "tolerations", "resourceClaims", "hostNetwork", "runtimeClassName")


def _read_demands(pod: ClusterPod) -> Plain:
    """Return the fields of a pod's spec that restrict its node, except resources and constraints about other pods."""
    spec = pod.spec
    demands = {key: spec[key] for key in _ASKED if spec.get(key) is not None}
    affinity = mapping(spec.get("affinity"))
    if affinity.get("nodeAffinity") is not None:
        demands["affinity"] = {"nodeAffinity": affinity["nodeAffinity"]}
    ports = [
        {"ports": found}
        for container in mappings(spec.get("containers"))
        if (found := [p for p in mappings(container.get("ports")) if p.get("hostPort") or demands.get("hostNetwork")])
    ]
    if ports:
        demands["containers"] = ports
    if pod.is_of_daemon:
        demands = _without_node(demands)
    return demands


def _without_node(demands: Plain) -> Plain:
    """Return a DaemonSet pod's constraints without the name of its node, which the DaemonSet controller adds."""
    affinity = mapping(demands.get("affinity"))
    required = mapping(affinity, "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    terms = [
        {k: v for k, v in term.items() if k != "matchFields"} for term in mappings(required.get("nodeSelectorTerms"))
    ]
    remaining = [term for term in terms if term]
    nodes = dict(mapping(affinity.get("nodeAffinity")))
    nodes.pop("requiredDuringSchedulingIgnoredDuringExecution", None)
    if remaining:
        nodes["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": remaining}
    return {**demands, "affinity": {**affinity, "nodeAffinity": nodes}} if affinity else demands


def read_shapes(pods: Iterable[ClusterPod], volumes: VolumeFacts, release: Version) -> list[Shape]:
    """Set the shape of each pod, and return all shapes."""
    by_demand: dict[str, list[tuple[ClusterPod, str]]] = {}
    demands_by: dict[str, Plain] = {}
    for pod in pods:
        demands = _read_demands(pod)
        key_of_demand = repr(demands)
        by_demand.setdefault(key_of_demand, []).append((pod, _own_key(pod)))
        demands_by.setdefault(key_of_demand, demands)
    shapes: list[Shape] = []
    workloads = _workloads(demands_by.values())
    for number, (members, workload) in enumerate(zip(by_demand.values(), workloads, strict=True)):
        read = pod_of(workload)
        assert read is not None
        demand = NodeDemand(number, workload, read)
        of_demand: dict[str, Shape] = {}
        for pod, key in members:
            shape = of_demand.get(key)
            if shape is None:
                shape = of_demand[key] = _read_shape(len(shapes), demand, pod)
                volumes.add_to(shape, pod, release)
                shapes.append(shape)
            pod.shape = shape
    return shapes


def _own_key(pod: ClusterPod) -> str:
    """Return a key of the fields in which pods of one demand differ: resources, constraints, labels and claims."""
    spec = pod.spec
    containers = [
        [container.get("resources"), container.get("restartPolicy")]
        for field in ("containers", "initContainers")
        for container in mappings(spec.get(field))
    ]
    affinity, spreads = mapping(spec.get("affinity")), spec.get("topologySpreadConstraints")
    count = len(mappings(spec.get("containers")))
    own: list[object] = [containers, count, spec.get("overhead"), spec.get("resources")]
    if spreads or affinity.get("podAffinity") or affinity.get("podAntiAffinity"):
        node_affinity = affinity.get("nodeAffinity")
        own += [pod.namespace, pod.labels, spreads, affinity, spec.get("nodeSelector"), node_affinity]
    claims = pod.claims
    if claims:
        own += [pod.namespace, claims]
    return repr(own)  # json would take five times as long, and other orders of keys are but other shapes


def _read_shape(number: int, demand: NodeDemand, pod: ClusterPod) -> Shape:
    requests, unknown = read_requests(pod.spec)
    shape = Shape(number, demand, requests, read_constraints(pod.spec, pod.namespace, pod.labels))
    shape.unknown += unknown
    return shape


def _workloads(specs: Iterable[Plain]) -> list[Workload]:
    """Return one Workload for each spec, read as manifests of a generated file."""
    head = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}}
    written = [json.dumps({**head, "spec": {"containers": [], **spec}}, default=str) for spec in specs]
    source = Source.from_text("pods.yaml", "\n---\n".join(written), PATTERN)
    found = [o for o in objects(source, more=True) if isinstance(o, Workload)]
    if len(found) == len(written):
        return found
    RUN.check_time()  # a pod left out at the deadline must not look like one without constraints
    # One spec cannot be read as YAML: read each alone, and that one as a pod without constraints.
    return [_workload_alone(text_) for text_ in written]


def _workload_alone(written: str) -> Workload:
    empty = '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, "spec": {"containers": []}}'
    for attempt in (written, empty):
        source = Source.from_text("pods.yaml", attempt, PATTERN)
        found = [o for o in objects(source, more=True) if isinstance(o, Workload) and o.pod_spec is not None]
        if len(found) == 1:
            return found[0]
    raise AssertionError("an empty pod is a pod")


class VolumeFacts:
    """The persistent volume claims, volumes and storage classes of a cluster."""

    def __init__(self, claims: dict[tuple[str, str], Plain], found: Iterable[ClusterObject], known: bool) -> None:
        self._claims = claims
        self._volumes = Volumes(found)
        self._volumes_known = known

    def add_to(self, shape: Shape, pod: ClusterPod, release: Version) -> None:
        """Add the places of the pod's volumes to the shape, and the unknown facts about them."""
        if not pod.claims:
            return
        written = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "pod", "namespace": pod.namespace},
            "spec": {
                "containers": [],
                "volumes": [{"name": c, "persistentVolumeClaim": {"claimName": c}} for c in pod.claims],
            },
        }
        shape.volumes = self._volumes.alternatives(_workload_alone(json.dumps(written)), release)
        for name in pod.claims:
            claim = self._claims.get((pod.namespace, name))
            if claim is None:
                shape.unknown.append(
                    f"where the volume of PersistentVolumeClaim/{name} is, which the dump does not hold"
                )
            elif text(mapping(claim, "spec").get("volumeName")) and not self._volumes_known:
                shape.unknown.append("where the volumes are: the dump holds no PersistentVolume")
