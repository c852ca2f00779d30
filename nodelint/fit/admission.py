"""Find what admission plugins of the API server may add to a pod before Karpenter sees the pod.

RuntimeClass adds the overhead, the node selector and the tolerations of the pod's runtime class. LimitRanger adds the
default requests of the LimitRanges in the pod's namespace. ExtendedResourceToleration, which EKS runs (platform
versions of EKS 1.19 and newer), adds a toleration for each extended resource that a pod requests. `fit` reports what
changes with these additions besides Karpenter's result for the written pod.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nodelint.fit.pod_terms import TOLERATES_ALL, Toleration
from nodelint.fit.pods import Pod, add_to, amounts_of, pod_of, read_pod, selector_of
from nodelint.karpenter.images import unknown_fact
from nodelint.karpenter.resolve.node_size import Resources
from nodelint.model.cluster_objects import ClusterObject, Workload
from nodelint.model.folders import nearness
from nodelint.model.gap import Gap
from nodelint.model.manifest_terms import Taint
from nodelint.model.messages import short
from nodelint.text import Node
from nodelint.text.missing import items_of

_NAMESPACE = "default"
"""The namespace of objects that state none."""


class Additions:
    """The RuntimeClasses and LimitRanges of a tree, which add requests and a node selector to pods.

    Sources: `setOverhead` and `setScheduling` of plugin/pkg/admission/runtimeclass, `SetDefaults_LimitRangeItem` of
    pkg/apis/core/v1/defaults.go, and plugin/pkg/admission/limitranger, all of Kubernetes 1.33.
    """

    def __init__(self, objects: Iterable[ClusterObject]) -> None:
        found = [obj for obj in objects if obj.kind in ("RuntimeClass", "LimitRange") and not obj.partial]
        self._classes = [obj for obj in found if obj.kind == "RuntimeClass"]
        self._ranges = [obj for obj in found if obj.kind == "LimitRange"]

    def add_to(self, workload: Workload, pod: Pod) -> tuple[Pod, ClusterObject] | None:
        """Return the pod with all additions, and the object that adds first. None if nothing is added.

        Of several objects for the pod, those with the most common folders count, with the largest amounts.
        """
        classes, ranges = self._classes, self._ranges
        if not classes and not ranges:
            return None
        name = pod.runtime_class.value if pod.runtime_class is not None else None
        classes = _nearest(workload, [obj for obj in classes if name is not None and obj.name == name])
        own = workload.namespace or _NAMESPACE
        ranges = _nearest(workload, [obj for obj in ranges if (obj.namespace or _NAMESPACE) == own])
        defaults = _largest(default_requests(obj.node) for obj in ranges)
        added = read_pod(pod.node, defaults=defaults)._replace(unknown=pod.unknown)
        requests = {**added.requests} if defaults else {**pod.requests}
        if pod.node.get("overhead") is None:
            add_to(requests, _largest(amounts_of(obj.node.find("overhead", "podFixed")) for obj in classes))
        selector = selector_of(classes[0].node.find("scheduling", "nodeSelector")) if len(classes) == 1 else ()
        if requests == pod.requests and not selector:
            return None
        whole = pod._replace(requests=requests, selector=(*pod.selector, *selector))
        return whole, (classes or ranges)[0] if not defaults or added.requests == pod.requests else ranges[0]


def default_requests(limit_range: Node) -> dict[str, int]:
    """Return what a LimitRange requests for a container that states nothing, in billionths (1e-9) of the unit."""
    found: dict[str, int] = {}
    for item in items_of(limit_range.find("spec", "limits")):
        kind = item.get("type")
        if kind is None or kind.value != "Container":
            continue
        for field in ("defaultRequest", "default", "max", "min"):
            for resource, amount in amounts_of(item.get(field)).items():
                found.setdefault(resource, amount)
    return found


def _nearest(workload: Workload, objects: Sequence[ClusterObject]) -> list[ClusterObject]:
    near = [nearness(workload.source.path, obj.source.path) for obj in objects]
    return [obj for obj, common in zip(objects, near, strict=True) if common == max(near)]


def _largest(amounts: Iterable[Resources]) -> dict[str, int]:
    found: dict[str, int] = {}
    for requests in amounts:
        for resource, amount in requests.items():
            found[resource] = max(found.get(resource, 0), amount)
    return found


def say_addition(obj: ClusterObject) -> str:
    """Return what an object adds to pods, as the beginning of a sentence."""
    if obj.kind == "LimitRange":
        return f"{obj.label} adds default requests to its pods"
    fields = {"overhead": ("overhead", "podFixed"), "node selector": ("scheduling", "nodeSelector")}
    stated = [what for what, path in fields.items() if obj.node.find(*path) is not None]
    return f"{obj.label} adds its {' and its '.join(stated)} to the pods"


def tolerations_for(pod: Pod) -> tuple[Toleration, ...]:
    """Return the tolerations that admission plugins may add to the pod.

    For a pod with a runtime class it is a toleration of all taints, because the RuntimeClass object is not read.
    """
    if pod.runtime_class is not None:
        return (TOLERATES_ALL,)
    return tuple(
        Toleration(resource, "Exists", "", "NoSchedule")
        for resource in sorted(pod.requests)
        if _is_extended(resource)
    )


def may_tolerate(workload: Workload, taint: Taint) -> bool:
    """Return whether the workload's pods may tolerate the taint after admission. True if the pod spec is
    not known.
    """
    pod = pod_of(workload)
    if pod is None or workload.partial:
        return True
    tolerations = (*pod.tolerations, *tolerations_for(pod))
    value = taint.value if isinstance(taint.value, str) else ""
    return any(toleration.tolerates(str(taint.key), value, str(taint.effect)) for toleration in tolerations)


def names_taint(workload: Workload, key: str) -> bool:
    """Return whether a toleration of the workload's pods has this taint key."""
    pod = pod_of(workload)
    return pod is not None and any(toleration.key == key for toleration in pod.tolerations)


def _is_extended(resource: str) -> bool:
    """Return whether the resource is an extended resource: its name has a domain other than kubernetes.io.

    This is `IsExtendedResourceName` of Kubernetes.
    """
    domain, slash, _ = resource.partition("/")
    return (
        bool(slash)
        and domain != "kubernetes.io"
        and not domain.endswith(".kubernetes.io")
        and not resource.startswith("requests.")
    )


def say_what_is_added(pod: Pod, pool: str) -> Gap:
    """Return why the pool may accept the pod after all: the API server may add a toleration."""
    if pod.runtime_class is not None:
        text = f"its runtime class may add tolerations: with those of its taints, `{short(pool)}` takes it"
        return unknown_fact(pod.runtime_class, text)
    text = f"EKS adds a toleration for each extended resource that is requested: with it, `{short(pool)}` takes it"
    return unknown_fact(pod.node.get("containers") or pod.node, text)
