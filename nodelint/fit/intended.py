"""For which nodes a workload is written, as far as its file tells."""

from __future__ import annotations

from collections.abc import Sequence

from nodelint.base.types import TYPE_CHECKING
from nodelint.fit.ignored import OWN_DOMAINS
from nodelint.fit.pods import pod_of
from nodelint.fit.pools import EmptyPool
from nodelint.model.cluster_objects import Workload
from nodelint.model.requirement import normalize, well_known

if TYPE_CHECKING:
    pass


def is_intended_for(workload: Workload, pools: Sequence[EmptyPool]) -> bool:
    """Whether a workload is written for nodes of some pools, as far as its file tells.

    It selects a label of Karpenter's own, or one that a pool brings, or tolerates a pool's taint by its key.
    """
    pod = pod_of(workload)
    if pod is None:
        return False
    brought = {key for pool in pools for key in pool.requirements.keys() - well_known(pool.release)}
    taints = {taint.key for pool in pools for taint in pool.taints}
    expressions = (*pod.selector, *(expression for term in pod.terms for expression in term.expressions))
    selects = any(
        (normalize(expression.key) in brought or expression.key.partition("/")[0] in OWN_DOMAINS)
        and expression.operator not in ("NotIn", "DoesNotExist")
        for expression in expressions
    )
    return selects or any(toleration.key in taints for toleration in pod.tolerations if toleration.key)


def may_be_for_others(workload: Workload, pools: Sequence[EmptyPool]) -> bool:
    """Whether what a workload selects may be of nodes that others than Karpenter launch, and that are not known here.

    A label of Karpenter's own is on no other node; one with a value that a pool gives speaks of that pool.
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
        own = [pool.requirements[key] for pool in pools if key in pool.requirements and key not in pool.known]
        if any(own) if expression.operator == "Exists" else any(o.admits(v) for o in own for v in expression.values):
            return False
    return True
