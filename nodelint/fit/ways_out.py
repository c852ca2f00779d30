"""What would let a pool take a workload that none takes."""

from __future__ import annotations

from collections.abc import Iterator

from nodelint.base.tuples import NamedTuple
from nodelint.fit.ignored import NODE_POOL
from nodelint.fit.pods import TOLERATES_ALL, LabelExpression, Pod, pod_of
from nodelint.fit.pools import EmptyPool
from nodelint.fit.tree import WorkloadFit
from nodelint.fit.verdict import PoolVerdict, judge_daemon, judge_pod
from nodelint.karpenter.labels import nearest_value
from nodelint.karpenter.spelling import Words
from nodelint.model.manifest import Taint
from nodelint.model.messages import short
from nodelint.model.requirement import Requirement, normalize
from nodelint.text import Node


class WayOut(NamedTuple):
    """A way out, and where it would be written. `key` and `value` are what to write in the place of what is there.

    `taint` is the taint that a toleration is to be added for.
    """

    message: str
    at: Node
    pool: EmptyPool
    key: str | None = None
    value: str | None = None
    taint: Taint | None = None


def suggestions(fit: WorkloadFit) -> list[WayOut]:
    """What would help, each way once; nothing where a pool takes the pods, or where they are to stay off nodes."""
    pod = pod_of(fit.workload)
    if fit.possible or pod is None or (fit.ignored is not None and fit.ignored.on_purpose):
        return []
    found: dict[str, WayOut] = {}
    for verdict in fit.verdicts:
        for way_out in _for_pool(pod, verdict, fit):
            found.setdefault(way_out.message, way_out)
    return list(found.values())


def _for_pool(pod: Pod, verdict: PoolVerdict, fit: WorkloadFit) -> Iterator[WayOut]:
    pool = verdict.pool
    if verdict.refusal is not None and verdict.refusal.reason == "taint":
        taint = pool.untolerated(pod.tolerations, soft=False)
        if taint is not None and _takes(pod, pool, fit):
            value = f"={taint.value}" if isinstance(taint.value, str) and taint.value else ""
            text = f"tolerate `{taint.key}{value}:{taint.effect}`, and pool `{short(pool.name)}` takes it"
            yield WayOut(text, pod.node, pool, taint=taint)
    terms = [expression for term in pod.terms for expression in term.expressions]
    for expression in (*pod.selector, *terms):
        yield from _respelt(expression, pool)


def _takes(pod: Pod, pool: EmptyPool, fit: WorkloadFit) -> bool:
    """Whether the pool would take the pod if this tolerated all of its taints."""
    tolerant = pod._replace(tolerations=(TOLERATES_ALL,))
    groups = pool.groups(())
    judged = judge_daemon(tolerant, pool, groups) if fit.workload.is_daemon else judge_pod(tolerant, pool, groups)
    return judged.fits


_ONCE_OF_POOLS = "karpenter.sh/provisioner-name"
"""The label by which nodes named their Provisioner, before there were NodePools."""


def _respelt(expression: LabelExpression, pool: EmptyPool) -> Iterator[WayOut]:
    """A key or value that a pool has, where the pod asks for one that is near to it and that it has not."""
    key = normalize(expression.key)
    if expression.key == _ONCE_OF_POOLS and expression.values == (pool.name,):
        text = f"did you mean `{NODE_POOL}`? Nodes of NodePools have no `{_ONCE_OF_POOLS}`"
        yield WayOut(text, expression.node, pool, key=NODE_POOL)
        return
    if key not in pool.requirements and key not in pool.known:
        keys = Words([*(requirement.key for requirement in pool.requirements), *pool.known])
        near = next(iter(keys.same(expression.key)), None) or keys.nearest(expression.key, abbreviated=False)
        if near is not None and near != expression.key:
            text = f"did you mean `{near}`? No pool has the label `{short(expression.key)}`"
            yield WayOut(text, expression.node, pool, key=near)
        return
    if expression.operator != "In" or len(expression.values) != 1:
        return
    if key not in pool.requirements:
        near = nearest_value(key, expression.values[0], pool.resolution.catalog)
        if near not in (None, expression.values[0]):
            text = f"did you mean `{near}`? `{short(key)}` has no value `{short(expression.values[0])}`"
            yield WayOut(text, expression.node, pool, value=near)
        return
    has: Requirement = pool.requirements[key]
    if has.operator != "In" or has.admits(expression.values[0]):
        return
    values = Words(sorted(has.values))
    near = next(iter(values.same(expression.values[0])), None) or values.nearest(
        expression.values[0], abbreviated=False
    )
    if near is not None:
        text = f"did you mean `{near}`? Pool `{short(pool.name)}` has that value of `{short(key)}`"
        yield WayOut(text, expression.node, pool, value=near)
