"""For which nodes a workload is written, judged by its own file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nodelint.base.types import TYPE_CHECKING
from nodelint.fit.ignored import NODE_POOL, OWN_DOMAINS, requirements_of
from nodelint.fit.pods import pod_of
from nodelint.fit.pools import EmptyPool
from nodelint.karpenter.resolve import accelerated, device_of, having_device
from nodelint.model.cluster_objects import Workload
from nodelint.model.requirement import normalize, well_known

if TYPE_CHECKING:
    from nodelint.fit.attempt import PoolVerdict
    from nodelint.fit.pod_terms import LabelExpression
    from nodelint.fit.pods import Pod
    from nodelint.fit.tree import WorkloadFit


def is_intended_for(workload: Workload, pools: Sequence[EmptyPool]) -> bool:
    """Return whether a workload is written for nodes of the pools.

    It is if it selects a label of Karpenter or a custom label of a pool, or tolerates the key of a pool's taint.
    """
    pod = pod_of(workload)
    if pod is None:
        return False
    brought = {key for pool in pools for key in pool.requirements.keys() - well_known(pool.release)}
    taints = {taint.key for pool in pools for taint in pool.taints.known}
    expressions = (*pod.selector, *(expression for term in pod.terms for expression in term.expressions))
    selects = any(
        (normalize(expression.key) in brought or expression.key.partition("/")[0] in OWN_DOMAINS)
        and expression.operator not in ("NotIn", "DoesNotExist")
        for expression in expressions
    )
    return selects or any(toleration.key in taints for toleration in pod.tolerations if toleration.key)


def may_select_other_nodes(workload: Workload, pools: Sequence[EmptyPool]) -> bool:
    """Return whether the labels that a workload selects may be those of nodes that Karpenter does not launch.

    False for a label of Karpenter's domains, and for a label that one of the pools sets to a selected value.
    """
    pod = pod_of(workload)
    terms = pod.terms if pod is not None else ()
    expressions = (*(pod.selector if pod else ()), *(expression for term in terms for expression in term.expressions))
    for expression in expressions:
        if expression.operator in ("NotIn", "DoesNotExist"):
            continue
        if expression.key.partition("/")[0] in OWN_DOMAINS:
            return False
        key = normalize(expression.key)
        own = [pool.requirements[key] for pool in pools if key in pool.requirements and key not in pool.labels.known]
        if any(own) if expression.operator == "Exists" else any(o.admits(v) for o in own for v in expression.values):
            return False
    return True


_REASONS = ("resources", "minValues", "limits", "offering", "requirements", "taint")
"""Reasons of refusals. The first ones say most about the demands of the workload."""


def find_nearest(found: WorkloadFit) -> PoolVerdict:
    """Return the verdict of the pool for which the workload is most probably written.

    It is the pool that the pod names, then the one with the fewest unmet labels, then the one whose taint it
    tolerates.
    """
    pod = pod_of(found.workload)
    return min(found.verdicts, key=lambda verdict: (*_distance_of_labels(pod, verdict.pool), *_distance(verdict)))


def _distance_of_labels(pod: Pod | None, pool: EmptyPool) -> tuple[bool, int, bool, int]:
    """Return a sort key: whether the pod does not name the pool, its unmet expressions, and its
    untolerated taints.
    """
    if pod is None:
        return True, 0, True, 0
    expressions = (*pod.selector, *(pod.terms[0].expressions if pod.terms else ()))
    unmet = sum(_is_unmet(expression, pool) for expression in expressions)
    catalog = pool.resolution.catalog
    devices = [device for resource in pod.requests if (device := device_of(resource)) is not None]
    unmet += sum(not pool.candidates & having_device(device, catalog) for device in devices)
    is_barred = pool.taints.untolerated(pod.tolerations, soft=False) is not None
    return not _names_pool(expressions, pool), unmet, not _is_tolerated_by_key(pod, pool), is_barred


def _names_pool(expressions: Iterable[LabelExpression], pool: EmptyPool) -> bool:
    return any(e.key == NODE_POOL and e.operator == "In" and pool.name in e.values for e in expressions)


def _is_tolerated_by_key(pod: Pod, pool: EmptyPool) -> bool:
    """Return whether a toleration of the pod has the key of one of the pool's taints, with any value or effect."""
    keys = {toleration.key for toleration in pod.tolerations if toleration.key}
    return any(taint.key in keys for taint in pool.taints.known)


def _is_unmet(expression: LabelExpression, pool: EmptyPool) -> bool:
    asks = requirements_of((expression,), pool.release)
    if pool.labels.clash(pool.requirements, asks) is not None:
        return True
    return bool(pool.candidates) and not pool.meeting(asks, pool.candidates)


def _distance(verdict: PoolVerdict) -> tuple[int, int]:
    """Return a sort key that puts a refusal about the pod's own conditions first."""
    refusal = verdict.refusal
    if refusal is None or refusal.reason not in _REASONS:
        return 0, 0
    own = refusal.reason == "requirements" and refusal.at_workload is not None
    return 0 if own and refusal.at_pool is not None else 1 if own else 2, _REASONS.index(refusal.reason)


def is_for_devices_alone(pod: Pod, pool: EmptyPool) -> bool:
    """Return whether all nodes of a pool have GPUs or other devices, or a taint of such a device, and a pod is not
    for them.

    A pod is for them if it requests a device, names the pool or one of its labels, tolerates one of its taints by the
    key, or selects types that all have devices.
    """
    catalog = pool.resolution.catalog
    of_devices = accelerated(catalog)
    has_devices = bool(pool.candidates) and not pool.candidates - of_devices
    if not has_devices and not any(device_of(str(taint.key)) for taint in pool.taints.known):
        return False
    if any("/" in resource for resource in pod.requests) or pod.dynamic_resources:
        return False
    expressions = (*pod.selector, *(expression for term in pod.terms for expression in term.expressions))
    own = pool.requirements.keys() - well_known(pool.release)
    selected = (normalize(e.key) for e in expressions if e.operator not in ("NotIn", "DoesNotExist"))
    if _names_pool(expressions, pool) or not own.isdisjoint(selected) or _is_tolerated_by_key(pod, pool):
        return False
    met = pool.meeting(requirements_of(expressions, pool.release), catalog.all_types)
    return not met or bool(met - of_devices)
