"""The smallest change to a NodePool, or to its class, with which it would take a pod."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.ec2 import overhead
from nodelint.ec2.type_set import TypeSet, union
from nodelint.fit.ignored import requirements_of
from nodelint.fit.lacking import Explanation
from nodelint.fit.pods import LabelExpression, Pod, add_requests
from nodelint.fit.pools import EmptyPool
from nodelint.fit.verdict import VOLUME_CLASH, PoolVerdict, judge_pod
from nodelint.karpenter.resolve.effects import LineEffect
from nodelint.model.keys import ARCH, FAMILY, INSTANCE_TYPE, LOCAL_NVME, SIZE, ZONE
from nodelint.model.manifest import Taint
from nodelint.model.messages import short
from nodelint.model.quantities import ONE
from nodelint.model.requirement import Requirements, normalize
from nodelint.text import Node

_STORAGE = "ephemeral-storage"
_RESERVED = (".kubernetes.io", ".k8s.io", ".karpenter.sh", ".karpenter.k8s.aws", ".eks.amazonaws.com")
"""Domains of labels that are not one's own."""

_GIB = 1024**3 * ONE


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


def widening(pod: Pod, verdict: PoolVerdict) -> Iterator[WayOut]:
    """What a pool that refuses a pod would have to allow, where one change is enough."""
    pool, refusal = verdict.pool, verdict.refusal
    explanation = refusal.explanation if refusal is not None else None
    if refusal is None or pool.pool.static or refusal.message.startswith(VOLUME_CLASH):
        return  # where a volume is, no requirement of a pool changes
    if refusal.reason == "limits":
        at = pool.pool.find_field("spec", "limits")
        if at is not None:
            yield WayOut(f"raise the limits of pool `{short(pool.name)}` above one of its types", at, pool)
        return
    if explanation is None:
        yield from _add_label(pod, pool)
        return
    if explanation.lacking and {lack.resource for lack in explanation.lacking} == {_STORAGE}:
        yield from _more_storage(pod, explanation, pool)
    elif refusal.reason in ("resources", "requirements"):
        yield from _allow_more(pod, pool)


def _add_label(pod: Pod, pool: EmptyPool) -> Iterator[WayOut]:
    """The one label that nodes of the pool lack: where the pool would take the pod with it."""
    lacking = [e for e in pod.selector if pool.lacks(e.key, pool.requirements)]
    domains = [e.key.partition("/")[0] for e in lacking if "/" in e.key]
    if any(f".{domain}".endswith((*_RESERVED,)) for domain in domains):
        return
    if len(lacking) != 1 or pod.terms or len(lacking[0].values) != 1:
        return
    expression = lacking[0]
    rest = pod._replace(selector=tuple(e for e in pod.selector if e is not expression))
    if judge_pod(rest, pool, pool.groups(())).fits:
        label = f"`{short(expression.key)}: {short(expression.values[0])}`"
        text = f"add {label} to the labels of the template of pool `{short(pool.name)}`, if it is meant to take them"
        yield WayOut(text, pool.pool.name_node, pool)


def _more_storage(pod: Pod, explanation: Explanation, pool: EmptyPool) -> Iterator[WayOut]:
    """A larger volume, or the disks of the types themselves."""
    node_class = pool.resolution.node_class
    if node_class is None:
        return
    lack = explanation.lacking[0]
    needed = lack.requested + lack.by_daemons + overhead.STORAGE_RESERVED * ONE
    share = 1 - overhead.EVICTION_STORAGE_PERCENT / 100
    policy = node_class.node.find("spec", "instanceStorePolicy")
    others = {resource: amount for resource, amount in pod.requests.items() if resource != _STORAGE}
    with_disks = [
        name
        for name in pool.resolution.catalog.names_in(pool.sizes.holding(others, pool.allowed))
        if int(pool.resolution.catalog.label(name, LOCAL_NVME) or 0) * 10**9 * ONE * share > needed
    ]
    if with_disks and policy is None:
        name = _cheapest(pool, pool.resolution.catalog.types_of(with_disks))
        text = (
            f"set `instanceStorePolicy: RAID0` in class `{_name_of(pool)}`: "
            f"pods then use the disks of the types, such as {name}"
        )
        yield WayOut(text, node_class.name_node, pool)
    size = int(needed / share // _GIB) + 1
    text = f"map a volume of {size}Gi or more in `blockDeviceMappings` of class `{_name_of(pool)}`"
    yield WayOut(text, node_class.node.find("spec", "blockDeviceMappings") or node_class.name_node, pool)


def _name_of(pool: EmptyPool) -> str:
    node_class = pool.resolution.node_class
    return short(str(node_class.name)) if node_class is not None else ""


def _allow_more(pod: Pod, pool: EmptyPool) -> Iterator[WayOut]:
    """The line of the pool without which a type would hold the pod, with the cheapest such type or the value."""
    expressions = [*pod.selector, *(pod.terms[0].expressions if pod.terms else ())]
    families = pool.resolution.families(pool.candidates)
    found: list[tuple[float, str, LineEffect]] = []
    for line in pool.resolution.lines:
        types = _types_without(line, pod, pool, expressions)
        if types:
            own = union(pool.resolution.catalog.having_value(FAMILY, family) for family in families)
            types = types & own if normalize(line.key) == INSTANCE_TYPE and types & own else types
            cheapest = pool.resolution.cheapest_type(types)
            name = cheapest[1] if cheapest is not None else pool.resolution.catalog.names_in(types)[0]
            found.append((cheapest[0] if cheapest is not None else float("inf"), name, line))
    if not found:
        return
    _, name, line = min(found, key=lambda way: way[0])
    key = normalize(line.key)
    values = next((e.values for e in expressions if normalize(e.key) == key and e.operator == "In"), ())
    if key == INSTANCE_TYPE and line.operator == "In":
        what = f"add a type that holds it, such as `{name}`,"
    elif values and line.operator == "In":
        what = f"add `{short(values[0])}`"
    elif key == SIZE:
        what = f"allow the size of {name}"
    else:
        what = f"allow more than `{short(line.key.rpartition('/')[2])} {line.operator}` does, for example {name},"
    image = ", if its container images are built for that" if key == ARCH else ""
    yield WayOut(f"{what} in `{short(line.key)}` of pool `{short(pool.name)}`{image}", line.node, pool)


def _types_without(line: LineEffect, pod: Pod, pool: EmptyPool, expressions: Sequence[LabelExpression]) -> TypeSet:
    """The types that would hold a pod if a pool lacked one of its lines; none where others are in the way, too."""
    nothing = pool.candidates - pool.candidates
    key = normalize(line.key)
    same = [other for other in pool.resolution.lines if normalize(other.key) == key]
    if line.requirement is None or len(same) != 1 or (key not in pool.resolution.catalog.keys and key != ZONE):
        return nothing
    rest = Requirements(requirement for requirement in pool.requirements if requirement.key != key)
    wanted = requirements_of(expressions, pool.release)
    if pool.clash(rest, wanted) is not None:
        return nothing
    rest.add(*wanted)
    types = pool.meeting(rest, pool.resolution.catalog.all_types)
    most = {name: amount for name, amount in pool.limits.items() if name != "nodes"}
    types = pool.sizes.within(most, types) if most else types
    daemons = max((group.requests for group in pool.groups(())), key=len, default={})
    return pool.sizes.holding(add_requests((pod.requests, daemons)), types)


def _cheapest(pool: EmptyPool, types: TypeSet) -> str:
    cheapest = pool.resolution.cheapest_type(types)
    return cheapest[1] if cheapest is not None else pool.resolution.catalog.names_in(types)[0]
