"""For which nodes a workload is written, judged by its own file."""

from __future__ import annotations

from collections.abc import Sequence

from nodelint.base.types import TYPE_CHECKING
from nodelint.fit.ignored import NODE_POOL, OWN_DOMAINS, requirements_of
from nodelint.fit.pods import pod_of
from nodelint.fit.pools import EmptyPool
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
    named = any(e.key == NODE_POOL and e.operator == "In" and pool.name in e.values for e in expressions)
    unmet = sum(_is_unmet(expression, pool) for expression in expressions)
    keys = {toleration.key for toleration in pod.tolerations if toleration.key}
    is_barred = pool.taints.untolerated(pod.tolerations, soft=False) is not None
    tolerates = not is_barred and any(taint.key in keys for taint in pool.taints.known)
    return not named, unmet, not tolerates, is_barred


def _is_unmet(expression: LabelExpression, pool: EmptyPool) -> bool:
    return pool.labels.clash(pool.requirements, requirements_of((expression,), pool.release)) is not None


def _distance(verdict: PoolVerdict) -> tuple[int, int]:
    """Return a sort key that puts a refusal about the pod's own conditions first."""
    refusal = verdict.refusal
    if refusal is None or refusal.reason not in _REASONS:
        return 0, 0
    own = refusal.reason == "requirements" and refusal.at_workload is not None
    return 0 if own and refusal.at_pool is not None else 1 if own else 2, _REASONS.index(refusal.reason)
