"""The smallest change to a NodePool or its class with which the pool accepts a pod."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.ec2 import overhead
from nodelint.ec2.type_set import TypeSet, union
from nodelint.fit.attempt import PoolVerdict, Surroundings
from nodelint.fit.corrections import find_correction
from nodelint.fit.daemon_groups import group_by_daemons
from nodelint.fit.ignored import requirements_of
from nodelint.fit.lacking import Explanation
from nodelint.fit.pod_terms import LabelExpression
from nodelint.fit.pods import Pod, add_requests
from nodelint.fit.pools import EmptyPool
from nodelint.fit.refusal import VOLUME_CLASH
from nodelint.fit.trial import (
    LineChange,
    change_pool,
    most_of_daemons,
    say_blocker,
    takes,
    with_bound,
    with_value,
    without_limits,
    without_value,
)
from nodelint.fit.verdict import judge_pod
from nodelint.karpenter.labels import find_sibling_families
from nodelint.karpenter.resolve import find_with_image
from nodelint.karpenter.resolve.effects import ClassExclusion, LineEffect
from nodelint.karpenter.resolve.node_size import Resources
from nodelint.model.keys import ARCH, FAMILY, INSTANCE_TYPE, LOCAL_NVME, ZONE
from nodelint.model.manifest_terms import Taint
from nodelint.model.messages import short
from nodelint.model.quantities import ONE
from nodelint.model.requirement import Requirements, normalize
from nodelint.text import MappingEntry, Node

_STORAGE = "ephemeral-storage"
_PODS = "pods"
_RESERVED = (".kubernetes.io", ".k8s.io", ".karpenter.sh", ".karpenter.k8s.aws", ".eks.amazonaws.com")
"""Domains of labels that users must not define."""

_GIB = 1024**3 * ONE


class WayOut(NamedTuple):
    """A suggestion, and the node of the file to change. `key` and `value` replace the existing key or value.

    `taint` is the taint for which the workload needs a toleration.
    """

    message: str
    at: Node
    pool: EmptyPool
    key: str | None = None
    value: str | None = None
    taint: Taint | None = None


def surroundings_of(verdict: PoolVerdict) -> Surroundings:
    """Return the DaemonSets and volumes of a verdict; without DaemonSets and volumes if the verdict has none."""
    return verdict.surroundings or Surroundings(tuple(group_by_daemons(verdict.pool, ())))


def widening(pod: Pod, verdict: PoolVerdict) -> Iterator[WayOut]:
    """Yield a suggestion if one change lets the pool accept the pod."""
    pool, refusal = verdict.pool, verdict.refusal
    explanation = refusal.explanation if refusal is not None else None
    if refusal is None or pool.pool.static or refusal.message.startswith(VOLUME_CLASH):
        return  # where a volume is, no requirement of a pool changes
    excluded = pool.resolution.class_exclusion
    at_class = excluded.at.own_entry if excluded is not None and excluded.at is not None else None
    if excluded is not None and at_class is not None:
        yield _free_resources(excluded, at_class, pool)
        return
    surroundings = surroundings_of(verdict)
    if surroundings.volumes and all(volume.apart is not None for volume in surroundings.volumes):
        return
    correction = find_correction(pod, pool, surroundings)
    if correction is not None:
        yield WayOut(*correction, pool)
        return
    if refusal.reason == "limits":
        at = pool.pool.find_field("spec", "limits")
        if at is not None and takes(pod, without_limits(pool), surroundings):
            text = f"raise the limits of pool `{short(pool.name)}` above one of its types"
            yield WayOut(f"{text}{say_blocker(pool)}", at, pool)
        return
    if explanation is None:
        yield from _add_label(pod, pool, surroundings)
        return
    lacking = {lack.resource for lack in explanation.lacking}
    node_class = pool.resolution.node_class
    most_pods = node_class.node.find("spec", "kubelet", "maxPods") if node_class is not None else None
    if lacking == {_STORAGE} and takes(pod, pool, surroundings, _STORAGE):
        yield from _more_storage(pod, explanation, pool)
    elif lacking == {_PODS} and most_pods is not None and takes(pod, pool, surroundings, _PODS):
        lack = explanation.lacking[0]
        needed = (lack.requested + lack.by_daemons) // ONE
        yield WayOut(f"raise `maxPods` in `kubelet` of class `{_name_of(pool)}` to {needed} or more", most_pods, pool)
    elif refusal.reason in ("resources", "requirements"):
        yield from _allow_more(pod, pool, surroundings)


def _free_resources(excluded: ClassExclusion, entry: MappingEntry, pool: EmptyPool) -> WayOut:
    """Return a suggestion to change the field with which the class leaves no resources for pods."""
    advice = {"maxPods": "raise `maxPods` in `kubelet`", "volumeSize": "raise `volumeSize`"}
    text = advice.get(str(entry.name), f"reserve less in `{entry.name}`")
    return WayOut(f"{text} of class `{_name_of(pool)}`: {excluded.reason}", entry.value, pool)


def _add_label(pod: Pod, pool: EmptyPool, surroundings: Surroundings) -> Iterator[WayOut]:
    """Yield a suggestion to add the only label that the pool's nodes lack, if the pool would then accept the pod."""
    lacking = [e for e in pod.selector if pool.labels.lacks(e.key, pool.requirements)]
    domains = [e.key.partition("/")[0] for e in lacking if "/" in e.key]
    if any(f".{domain}".endswith((*_RESERVED,)) for domain in domains):
        return
    if len(lacking) != 1 or pod.terms or len(lacking[0].values) != 1:
        return
    expression = lacking[0]
    rest = pod._replace(selector=tuple(e for e in pod.selector if e is not expression))
    if judge_pod(rest, pool, surroundings.daemons, volumes=surroundings.volumes).fits:
        label = f"`{short(expression.key)}: {short(expression.values[0])}`"
        text = (
            f"add {label} to the labels of the template of pool `{short(pool.name)}`, if the pool may take the pods"
        )
        yield WayOut(text, pool.pool.name_node, pool)


def _more_storage(pod: Pod, explanation: Explanation, pool: EmptyPool) -> Iterator[WayOut]:
    """Yield a suggestion of a larger volume, or of the types' local disks."""
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


def _allow_more(pod: Pod, pool: EmptyPool, surroundings: Surroundings) -> Iterator[WayOut]:
    """Yield a suggestion to change one requirement, with the cheapest type that could then run the pod."""
    expressions = [*pod.selector, *(pod.terms[0].expressions if pod.terms else ())]
    asks = requirements_of(expressions, pool.release)
    if surroundings.volumes:
        asks.add(*surroundings.volumes[0].requirements)
    requests = add_requests((pod.requests, most_of_daemons(surroundings)))
    families = pool.resolution.families(pool.candidates)
    found: list[tuple[float, str, LineEffect, TypeSet]] = []
    for line in pool.resolution.lines:
        types = _types_without(line, requests, pool, asks)
        types = find_with_image(pool.resolution, types) if types else types
        if types:
            own = union(pool.resolution.catalog.having_value(FAMILY, family) for family in families)
            types = types & own if normalize(line.key) == INSTANCE_TYPE and types & own else types
            cheapest = pool.resolution.prices.cheapest_type(types)
            name = cheapest[1] if cheapest is not None else pool.resolution.catalog.names_in(types)[0]
            found.append((cheapest[0] if cheapest is not None else float("inf"), name, line, types))
    if not found:
        return
    for _, name, line, types in sorted(found, key=lambda way: way[0]):
        change = change_line(line, name, pool, expressions, types)
        if takes(pod, change_pool(pool, {id(line.node): change.line}), surroundings):
            text = f"{change.text} of pool `{short(pool.name)}`{_if_built_for(line)}{_if_imaged(name, pool)}"
            yield WayOut(f"{text}{say_blocker(pool)}", line.node, pool)
            return


def _if_imaged(name: str, pool: EmptyPool) -> str:
    """Return a condition, if the type has another architecture and the images of the class are not known; else ""."""
    catalog, images = pool.resolution.catalog, pool.resolution.images
    arches = {catalog.label(other, ARCH) for other in catalog.names_in(pool.candidates)}
    arch = catalog.label(name, ARCH)
    return f", if its class has an image for {arch}" if images.unknown and arches and arch not in arches else ""


def _if_built_for(line: LineEffect) -> str:
    return ", if its container images are built for that" if normalize(line.key) == ARCH else ""


def change_line(
    line: LineEffect,
    name: str,
    pool: EmptyPool,
    expressions: Sequence[LabelExpression],
    types: TypeSet | None = None,
) -> LineChange:
    """Return the change with which a type meets a requirement: `add arm64 to kubernetes.io/arch`.

    A value that the pod selects comes first, then a sibling, among `types`, of the families in the requirement.
    """
    key, catalog = normalize(line.key), pool.resolution.catalog
    requested = next((e.values for e in expressions if normalize(e.key) == key and e.operator == "In"), ())
    own = catalog.label(name, key)
    shown = f"`{short(line.key)}`"
    if line.operator == "In":
        siblings = find_sibling_families(line.values, types, catalog) if types and key == FAMILY else []
        if key == INSTANCE_TYPE and not requested:
            return LineChange(f"add a type that holds it, such as `{name}`, to {shown}", with_value(line, name))
        value = (own if own in requested else requested[0]) if requested else siblings[0] if siblings else own
        if value is None:
            return LineChange(f"remove {shown}", None)
        return LineChange(f"add `{short(value)}` to {shown}", with_value(line, value))
    if line.operator == "NotIn" and (own or requested):
        value = own if own in line.values else requested[0] if requested else str(own)
        return LineChange(f"remove `{short(value)}` from {shown}", without_value(line, value))
    bound = _find_bound(line, own)
    if bound is not None:
        text = f"change `{line.operator} {short(line.values[0])}` to `{line.operator} {bound}` in {shown}"
        return LineChange(text, with_bound(line, bound))
    return LineChange(f"remove the requirement on {shown}", None)


def _find_bound(line: LineEffect, own: str | None) -> int | None:
    """Return the nearest bound that admits a type's own value; None if the line has no bound, or the value
    no number.
    """
    if own is None or not own.isdigit() or not line.values:
        return None
    return {"Gt": int(own) - 1, "Lt": int(own) + 1, "Gte": int(own), "Lte": int(own)}.get(line.operator)


def _types_without(line: LineEffect, requests: Resources, pool: EmptyPool, wanted: Requirements) -> TypeSet:
    """Return the types that could run a pod if the pool lacked this requirement.

    Empty if the label, or another line, keeps them excluded in any case.
    """
    nothing = pool.candidates - pool.candidates
    key = normalize(line.key)
    same = [other for other in pool.resolution.lines if normalize(other.key) == key]
    if line.requirement is None or len(same) != 1 or (key not in pool.resolution.catalog.keys and key != ZONE):
        return nothing
    rest = Requirements(requirement for requirement in pool.requirements if requirement.key != key)
    if pool.labels.clash(rest, wanted) is not None:
        return nothing
    rest.add(*wanted)
    types = pool.meeting(rest, pool.resolution.catalog.all_types)
    most = {name: amount for name, amount in pool.limits.items() if name != "nodes"}
    types = pool.sizes.within(most, types) if most else types
    return pool.sizes.holding(requests, types)


def _cheapest(pool: EmptyPool, types: TypeSet) -> str:
    cheapest = pool.resolution.prices.cheapest_type(types)
    return cheapest[1] if cheapest is not None else pool.resolution.catalog.names_in(types)[0]
