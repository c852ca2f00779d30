"""Find the tolerations that admission plugins of the API server may add to a pod before Karpenter sees the pod.

EKS runs two plugins that add tolerations (platform versions of EKS 1.19 and newer): ExtendedResourceToleration adds a
toleration for each extended resource that a pod requests, and RuntimeClass adds the tolerations of the pod's runtime
class. `fit` reports these nodes in addition to Karpenter's result for the written pod.
"""

from __future__ import annotations

from nodelint.fit.pod_terms import TOLERATES_ALL, Toleration
from nodelint.fit.pods import Pod, pod_of
from nodelint.karpenter.images import unknown_fact
from nodelint.model.cluster_objects import Workload
from nodelint.model.gap import Gap
from nodelint.model.manifest_terms import Taint
from nodelint.model.messages import short


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
