"""What admission plugins of the API server may add to a pod before Karpenter sees it.

EKS runs two that let a pod onto nodes that it does not tolerate as it is written (platform versions of EKS 1.19 and
newer): ExtendedResourceToleration adds a toleration for each extended resource that a pod requests, and RuntimeClass
adds the tolerations of the pod's runtime class. Karpenter's own answer for the written pod stands next to them.
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
    """Return the tolerations that may be added: any where a pod has a runtime class, because that is written
    elsewhere.
    """
    if pod.runtime_class is not None:
        return (TOLERATES_ALL,)
    return tuple(
        Toleration(resource, "Exists", "", "NoSchedule")
        for resource in sorted(pod.requests)
        if _is_extended(resource)
    )


def may_tolerate(workload: Workload, taint: Taint) -> bool:
    """Whether pods of a workload may tolerate a taint, as far as is known, once the API server has admitted them."""
    pod = pod_of(workload)
    if pod is None or workload.partial:
        return True
    tolerations = (*pod.tolerations, *tolerations_for(pod))
    value = taint.value if isinstance(taint.value, str) else ""
    return any(toleration.tolerates(str(taint.key), value, str(taint.effect)) for toleration in tolerations)


def names_taint(workload: Workload, key: str) -> bool:
    """Whether a toleration of a workload's pods names the key of a taint."""
    pod = pod_of(workload)
    return pod is not None and any(toleration.key == key for toleration in pod.tolerations)


def _is_extended(resource: str) -> bool:
    """`IsExtendedResourceName` of Kubernetes: a name with a domain that is not Kubernetes' own."""
    domain, slash, _ = resource.partition("/")
    return (
        bool(slash)
        and domain != "kubernetes.io"
        and not domain.endswith(".kubernetes.io")
        and not resource.startswith("requests.")
    )


def say_what_is_added(pod: Pod, pool: str) -> Gap:
    """Return why a pool may take the pod after all: the API server may add a toleration."""
    if pod.runtime_class is not None:
        text = f"its runtime class may add tolerations: with those of its taints, `{short(pool)}` takes it"
        return unknown_fact(pod.runtime_class, text)
    text = f"EKS adds a toleration for each extended resource that is requested: with it, `{short(pool)}` takes it"
    return unknown_fact(pod.node.get("containers") or pod.node, text)
