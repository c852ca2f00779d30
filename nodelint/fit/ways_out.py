"""Suggestions for a workload that no NodePool accepts."""

from __future__ import annotations

from collections.abc import Iterator

from nodelint.fit.attempt import PoolVerdict
from nodelint.fit.ignored import NODE_POOL
from nodelint.fit.intended import find_nearest, is_for_devices_alone
from nodelint.fit.pod_terms import LabelExpression
from nodelint.fit.pods import Pod, pod_of
from nodelint.fit.pools import EmptyPool
from nodelint.fit.refusal import differs_little, label_hint
from nodelint.fit.several_changes import find_changes
from nodelint.fit.tree import WorkloadFit
from nodelint.fit.trial import list_untolerated, say_blocker, tolerate
from nodelint.fit.verdict import judge_daemon, judge_mended
from nodelint.fit.widening import WayOut, surroundings_of, widening
from nodelint.karpenter.labels import nearest_value
from nodelint.karpenter.spelling import Words
from nodelint.model.messages import short
from nodelint.model.requirement import Requirement, normalize

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def suggestions(fit: WorkloadFit) -> list[WayOut]:
    """Return suggestions without duplicates, those for the most probable pool first.

    Empty if a pool accepts the pods, or if the pods must not run on Karpenter's nodes. A pool for devices that the
    pods do not ask for has no suggestion.
    """
    pod = pod_of(fit.workload)
    if fit.possible or pod is None or (fit.ignored is not None and fit.ignored.on_purpose):
        return []
    nearest = find_nearest(fit) if fit.verdicts else None
    verdicts = sorted(fit.verdicts, key=lambda verdict: verdict is not nearest)
    verdicts = [v for v in verdicts if fit.workload.is_daemon or not is_for_devices_alone(pod, v.pool)]
    can_widen = fit.ignored is None and not fit.workload.is_daemon
    found: list[WayOut] = []
    for verdict in verdicts:
        own = list(_for_pool(pod, verdict, fit))
        if can_widen and verdict is nearest and not any(map(_changes_workload, own)):
            own += widening(pod, verdict)
        found += own
    if can_widen and not any(map(_changes_workload, found)):
        for verdict in verdicts:
            found += widening(pod, verdict) if verdict is not nearest else ()
        if not found:
            changes = find_changes(pod, verdicts)
            found += [changes] if changes is not None else []
    return list({way_out.message: way_out for way_out in reversed(found)}.values())[::-1]


def _changes_workload(way_out: WayOut) -> bool:
    return way_out.taint is not None or way_out.key is not None or way_out.value is not None


def _for_pool(pod: Pod, verdict: PoolVerdict, fit: WorkloadFit) -> Iterator[WayOut]:
    pool = verdict.pool
    if verdict.refusal is not None and verdict.refusal.reason == "taint":
        yield from _tolerate(pod, verdict, fit)
    terms = [expression for term in pod.terms for expression in term.expressions]
    for expression in (*pod.selector, *terms):
        yield from _respelt(expression, pool)


def _tolerate(pod: Pod, verdict: PoolVerdict, fit: WorkloadFit) -> Iterator[WayOut]:
    """Yield a suggestion to tolerate the pool's taints, if the pool would then accept the pod."""
    pool, surroundings = verdict.pool, surroundings_of(verdict)
    taints = list_untolerated(pod, pool)
    wrong = next((taint for taint in taints if taint.effect not in _EFFECTS), None)
    if wrong is not None:
        text = f"`{short(str(wrong.effect))}` is no effect of a taint: correct it in pool `{short(pool.name)}`"
        yield WayOut(text, wrong.node, pool)
        return
    tolerant = tolerate(pod, taints)
    if fit.workload.is_daemon:
        would_take = judge_daemon(tolerant, pool, surroundings.daemons).fits
    else:
        would_take = judge_mended(tolerant, pool, surroundings.daemons, volumes=surroundings.volumes).fits
    if not taints or not would_take:
        return
    values = (f"={taint.value}" if isinstance(taint.value, str) and taint.value else "" for taint in taints)
    names = " and ".join(f"`{t.key}{value}:{t.effect}`" for t, value in zip(taints, values, strict=True))
    text = f"tolerate {names}, and pool `{short(pool.name)}` takes it{say_blocker(pool)}"
    is_enough = len(taints) == 1 and pool.blocker is None
    yield WayOut(text, pod.node, pool, taint=taints[0] if is_enough else None)


def _has_values(key: str, expression: LabelExpression, pool: EmptyPool) -> bool:
    """Return whether the pool's nodes can have this label key with a value that the expression asks for."""
    if expression.operator != "In" or not expression.values:
        return False
    if key in pool.requirements:
        return any(pool.requirements[key].admits(value) for value in expression.values)
    return any(pool.resolution.catalog.has_value(key, value) for value in expression.values)


_ONCE_OF_POOLS = "karpenter.sh/provisioner-name"
"""The label with the name of the Provisioner, which nodes had before there were NodePools."""


def _respelt(expression: LabelExpression, pool: EmptyPool) -> Iterator[WayOut]:
    """Yield a suggestion if a label key or value that the pod selects is probably a misspelling of the pool's."""
    key = normalize(expression.key)
    if expression.key == _ONCE_OF_POOLS and expression.values == (pool.name,):
        text = f"did you mean `{NODE_POOL}`? Nodes of NodePools have no `{_ONCE_OF_POOLS}`"
        yield WayOut(text, expression.node, pool, key=NODE_POOL)
        return
    if key not in pool.requirements and key not in pool.labels.known:
        keys = Words([*(requirement.key for requirement in pool.requirements), *pool.labels.known])
        near = next(iter(keys.same(expression.key)), None) or keys.nearest(expression.key, abbreviated=False)
        if near is not None and near != expression.key:
            text = f"did you mean `{near}`? No pool has the label `{short(expression.key)}`"
            yield WayOut(text, expression.node, pool, key=near)
        elif (hint := label_hint(key, pool)) is not None:
            text = f"did you mean `{hint}`? No pool has the label `{short(expression.key)}`"
            if _has_values(hint, expression, pool):
                yield WayOut(text, expression.node, pool, key=hint)
            elif expression.values and differs_little(key, hint):
                more = f"; nor has `{short(pool.name)}` a value `{short(expression.values[0])}` of the other"
                yield WayOut(text + more, expression.node, pool)
        return
    if expression.operator != "In" or len(expression.values) != 1:
        return
    if key not in pool.requirements:
        near = nearest_value(key, expression.values[0], pool.resolution.catalog)
        if near not in (None, expression.values[0]):
            text = f"did you mean `{near}`? `{short(key)}` has no value `{short(expression.values[0])}`"
            yield WayOut(text, expression.node, pool, value=near)
        return
    allowed: Requirement = pool.requirements[key]
    if allowed.operator != "In" or allowed.admits(expression.values[0]):
        return
    values = Words(sorted(allowed.values))
    near = next(iter(values.same(expression.values[0])), None) or values.nearest(
        expression.values[0], abbreviated=False
    )
    if near is not None:
        text = f"did you mean `{near}`? Pool `{short(pool.name)}` has that value of `{short(key)}`"
        yield WayOut(text, expression.node, pool, value=near)
