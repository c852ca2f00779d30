"""Instance types that the catalogue does not have yet, and that may run a pod for which no known type is large
enough.
"""

from __future__ import annotations

from nodelint.ec2.type_names import NAME_KEYS, newer_type
from nodelint.fit.attempt import PoolVerdict
from nodelint.fit.ignored import requirements_of
from nodelint.fit.pods import Pod
from nodelint.fit.unjudged import may_take
from nodelint.karpenter.images import unknown_fact
from nodelint.karpenter.resolve import ELSEWHERE, sizes_left_out
from nodelint.model.gap import Gap


def find_newer(pod: Pod, verdict: PoolVerdict) -> Gap | None:
    """Return why a type that the catalogue lacks may make a pool accept a pod that it refuses. None if none may.

    The refusal stays if the pod names only types or families that the catalogue knows.
    """
    pool, refusal = verdict.pool, verdict.refusal
    if refusal is None or refusal.reason in ("taint", "limits", "static", "not-ready") or not pool.pool.has_ec2_types:
        return None
    newer = pool.resolution.perhaps_newer
    if newer is not None:
        return newer if may_take(pool.pool, pod, pool.release) else None
    volumes = verdict.surroundings.volumes if verdict.surroundings is not None else ()
    for term in pod.terms or (None,):
        expressions = (*pod.selector, *(term.expressions if term is not None else ()))
        wanted = requirements_of(expressions, pool.release)
        if not wanted or pool.labels.clash(pool.requirements, wanted) is not None:
            continue
        total = pool.requirements.copy()
        total.add(*wanted)
        for volume in volumes[:1]:
            total.add(*volume.requirements)
        by_name = [requirement for requirement in total if requirement.key in NAME_KEYS]
        if pool.meeting(by_name, pool.resolution.catalog.all_types):
            continue  # known types have such names, and what else the pod asks for keeps it from them
        name = newer_type(total, pool.resolution.catalog, sizes_left_out(pool.pool))
        if name is not None:
            return unknown_fact(pod.node, f"`{name.partition('.')[0]}` {ELSEWHERE}")
    return None
