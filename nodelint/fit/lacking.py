"""Why no instance type of a NodePool can run a pod: the resource that is short, or two conditions that clash."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.ec2.type_set import TypeSet, union
from nodelint.fit.daemon_groups import DaemonGroup
from nodelint.fit.ignored import requirements_of
from nodelint.fit.pod_terms import LabelExpression
from nodelint.fit.pods import Pod, add_requests
from nodelint.fit.pools import EmptyPool
from nodelint.model.keys import OS, WINDOWS_BUILD
from nodelint.model.messages import list_first, short
from nodelint.model.quantities import format_quantity
from nodelint.model.requirement import Requirement, Requirements, normalize
from nodelint.text import Node

_LONGEST_BRIEF = 76
"""The most characters of an explanation that fit into a message after the name of the pool."""


class Lack(NamedTuple):
    """A resource of which no remaining type has enough, in billionths (1e-9).

    `requested` is the pod's amount, `by_daemons` that of the DaemonSets, `offered` that of the largest type.
    """

    resource: str
    requested: int
    by_daemons: int
    offered: int
    instance_type: str | None


class Explanation(NamedTuple):
    """A sentence about a refusal, a short form, the nodes of the files that it names, and the lacking resources."""

    text: str
    brief: str
    places: tuple[Node, ...] = ()
    lacking: tuple[Lack, ...] = ()


def explain_lack(pod: Pod, pool: EmptyPool, groups: Sequence[DaemonGroup], types: TypeSet) -> Explanation | None:
    """Return which resource no type has enough of for the pod and the DaemonSets; None if no single fact
    explains it.
    """
    parts = [(group, types & group.types) for group in groups if group.port_taken_from(pod) is None]
    parts = [(group, left) for group, left in parts if left]
    if not parts:
        return None
    lacking = tuple(
        lack for resource, amount in pod.requests.items() if (lack := _lack_of(resource, amount, pool, parts))
    )
    if lacking:
        return Explanation("; ".join(map(_say_lack, lacking)), _brief_lack(lacking[0]), lacking=lacking)
    return _explain_together(pod, pool, parts)


def _lack_of(
    resource: str, requested: int, pool: EmptyPool, parts: Sequence[tuple[DaemonGroup, TypeSet]]
) -> Lack | None:
    """Return the lack of one resource on all types. None if a type has enough, or if an amount is not known."""
    best: tuple[int, Lack] | None = None
    for group, types in parts:
        largest = pool.sizes.largest(resource, types)
        if largest is None:
            return None
        taken = group.requests.get(resource, 0)
        if best is None or largest[0] - taken > best[0]:
            name = largest[1] if largest[0] > 0 else None
            best = largest[0] - taken, Lack(resource, requested, taken, max(largest[0], 0), name)
    return best[1] if best is not None and best[0] < requested else None


def _brief_lack(lack: Lack) -> str:
    """Return a lack in a few words: `cpu 2, m7i.large offers 1930m`."""
    amount = f"{short(lack.resource, 30)} {format_quantity(lack.resource, lack.requested + lack.by_daemons)}"
    amount += " with DaemonSets" if lack.by_daemons else ""
    if lack.instance_type is None:
        return f"{amount}, no type has any"
    return f"{amount}, {lack.instance_type} offers {format_quantity(lack.resource, lack.offered)}"


def _say_lack(lack: Lack) -> str:
    """Return a lack as a sentence: `cpu: the pod asks for 2, and the largest allowed type, m7i.large,
    offers 1930m`.
    """
    amount = format_quantity(lack.resource, lack.requested + lack.by_daemons)
    who = "the pod and the DaemonSets ask" if lack.by_daemons else "the pod asks"
    if lack.instance_type is None:
        return f"{short(lack.resource)}: {who} for {amount}, and no allowed type has any"
    offered = format_quantity(lack.resource, lack.offered)
    largest = f"the largest allowed type, {lack.instance_type}, offers {offered}"
    return f"{short(lack.resource)}: {who} for {amount}, and {largest}"


def _explain_together(pod: Pod, pool: EmptyPool, parts: Sequence[tuple[DaemonGroup, TypeSet]]) -> Explanation | None:
    """Return an explanation if each resource fits on some type, but no type fits all of them.

    It names the type that comes nearest. None if a type fits all of them.
    """
    nearest: tuple[int, float, str, list[str]] | None = None
    for group, types in parts:
        total = add_requests((pod.requests, group.requests))
        for name in pool.resolution.catalog.names_in(types):
            left = pool.sizes.of_type(name).allocatable
            short_of = [r for r, amount in total.items() if (has := left.get(r, 0)) is not None and has < amount]
            if not short_of:
                continue
            share = min((left.get(r) or 0) / total[r] for r in short_of)
            if nearest is None or (len(short_of), -share) < nearest[:2]:
                amounts = [
                    f"{format_quantity(r, left.get(r) or 0)} of {format_quantity(r, total[r])} {r}" for r in short_of
                ]
                nearest = len(short_of), -share, name, amounts
    if nearest is None:
        return None
    shares = ", ".join(nearest[3])
    text = f"no allowed type has all of it at once: {nearest[2]} comes nearest, with {shares}"
    return Explanation(text, f"{nearest[2]} has {nearest[3][0]}")


def explain_limits(pod: Pod, pool: EmptyPool, groups: Sequence[DaemonGroup], types: TypeSet) -> str | None:
    """Return a sentence about instance types that could run the pod but exceed the pool's limits.

    None if there are no such types.
    """
    beyond = pool.candidates & types - pool.allowed
    holding = union(pool.sizes.holding(add_requests((pod.requests, g.requests)), g.types & beyond) for g in groups)
    if not holding:
        return None
    cheapest = pool.resolution.prices.cheapest_type(holding)
    name = cheapest[1] if cheapest is not None else pool.resolution.catalog.names_in(holding)[0]
    return f"{name} would hold it, and is beyond the limits of the pool"


def explain_empty_pool(pool: EmptyPool) -> Explanation | None:
    """Return what excludes all instance types for any pod: the class, or one or two requirements; None if there is
    no such cause.
    """
    excluded = pool.resolution.class_exclusion
    if excluded is not None:
        text = f"the pool launches nothing for any pod: its class excludes all its types ({excluded.reason})"
        brief = f"its class excludes all its types: {excluded.reason}"
        return Explanation(text, brief, (excluded.at,) if excluded.at is not None else ())
    dead, clash = pool.resolution.dead_lines, pool.resolution.clash
    if dead:
        text = f"the pool launches nothing for any pod: no type meets {_say_line(dead[0])}"
        return Explanation(text, text, (dead[0].node,))
    if clash is None:
        return None
    both = " and ".join(map(_say_line, clash))
    text = f"the pool launches nothing for any pod: no type meets both {both}"
    return Explanation(text, text, (clash[0].node, clash[1].node))


def explain_clash(pool: EmptyPool, expressions: Sequence[LabelExpression]) -> Explanation | None:
    """Return which expression of the pod excludes all types of a pool, and which requirement of the pool it clashes
    with.

    None if no one or two expressions explain it.
    """
    for expression in expressions:
        requirement = _requirement(expression, pool)
        if requirement is None or not _selecting(pool, requirement):
            continue
        if pool.candidates & _types(pool, requirement):
            continue
        if is_of_images(requirement.key, pool):
            return _explain_images(expression, pool)
        line = next(_clashing_lines(pool, requirement), None)
        brief = f"none of its types has {_brief(expression)}"
        if line is None:
            return Explanation(f"no type of the pool has {say_expression(expression)}", brief, (expression.node,))
        text = f"no type has both {say_expression(expression)} of the pod and {_say_line(line)} of the pool"
        return Explanation(text, brief, (expression.node, line.node))
    pairs = ((a, b) for number, a in enumerate(expressions) for b in expressions[number + 1 :])
    for first, second in pairs:
        both = [_requirement(first, pool), _requirement(second, pool)]
        both_kept = [_types(pool, r) for r in both if r is not None and _selecting(pool, r)]
        if len(both_kept) == 2 and not pool.candidates & both_kept[0] & both_kept[1]:
            text = f"no type of the pool has both {say_expression(first)} and {say_expression(second)}"
            brief = f"none of its types has {_brief(first)} and {_brief(second)}"
            return Explanation(text, brief, (first.node, second.node))
    return None


def is_of_images(key: str, pool: EmptyPool) -> bool:
    """Return whether the images of the pool's class decide the value of a label, the same for all instance types."""
    return key in (OS, WINDOWS_BUILD) and pool.resolution.images.os is not None


def say_system(pool: EmptyPool) -> str:
    """Return the operating system of the class's images, as the end of a sentence: `run linux`."""
    images = pool.resolution.images
    return f"run {images.os}{f' {images.build}' if images.build is not None else ''}"


def _explain_images(expression: LabelExpression, pool: EmptyPool) -> Explanation:
    text = f"the pod asks for {say_expression(expression)}, and the images of the class {say_system(pool)}"
    node_class = pool.resolution.node_class
    places = (node_class.name_node,) if node_class is not None else ()
    return Explanation(text, f"its images {say_system(pool)}", (expression.node, *places))


def explain_label_clash(expressions: Sequence[LabelExpression], key: str, pool: EmptyPool) -> Explanation | None:
    """Return two expressions on one label that clash: two of the pod, or one of the pod and one of the pool.

    None if no two clash.
    """
    same = [expression for expression in expressions if normalize(expression.key) == key]
    for number, first in enumerate(same):
        for second in same[number + 1 :]:
            pair = Requirements()
            try:
                pair.add(Requirement.parse(first.key, first.operator, first.values))
                pair.add(Requirement.parse(second.key, second.operator, second.values))
            except ValueError:
                continue
            if "DoesNotExist" not in (first.operator, second.operator) and pair[key].operator == "DoesNotExist":
                both = f"it asks for {say_expression(first)} and for {say_expression(second)}"
                text = f"the pod contradicts itself: {both}"
                brief = f"it asks for {_brief(first)} and {_brief(second)} at once"
                return Explanation(text, brief, (first.node, second.node))
    lines = [line for line in pool.resolution.lines if normalize(line.key) == key]
    for expression in same:
        asks = _requirement(expression, pool)
        line = next((o for o in lines if asks and o.requirement and not o.requirement.intersects(asks)), None)
        if line is not None:
            text = f"the pod asks for {say_expression(expression)}, and the pool has {_say_line(line)}"
            values = ", ".join(short(value, 16) for value in line.values[:3])
            more = ", ..." if len(line.values) > 3 else ""
            has = f"the pool has [{values}{more}]" if line.operator == "In" else "the pool excludes that"
            brief = f"{_brief(expression)}, {has}"
            whole = f"the pods ask for {brief}"
            return Explanation(text, whole if len(whole) <= _LONGEST_BRIEF else brief, (expression.node, line.node))
    return None


def explain_volume_conflict(first: VolumePlace, then: VolumePlace) -> Explanation | None:
    """Return an explanation if two volumes of a pod need different values of one label, so that no node can have
    both.

    None if one node can have both volumes.
    """
    key = first.requirements.intersects(then.requirements)
    if key is None:
        return None
    places = [", ".join(short(value, 24) for value in sorted(v.requirements[key].values)[:3]) for v in (first, then)]
    name = short(key.rpartition("/")[2], 24)
    text = f"its volumes are in {name} {places[0]} and in {name} {places[1]}: no node reaches both"
    nodes = tuple(volume.node for volume in (first, then) if volume.node is not None)
    return Explanation(text, f"its volumes are in {places[0]} and in {places[1]}", nodes)


def explain_volume_clash(
    expressions: Sequence[LabelExpression], key: str, volume: Requirements, at: Node | None
) -> Explanation:
    """Return an explanation: the pod's volume is in one place, but the pod or the pool requires another."""
    values = ", ".join(sorted(volume[key].values)[:3]) if key in volume else "another place"
    places = (at,) if at is not None else ()
    for expression in expressions:
        if normalize(expression.key) == key and not _requirement_of(expression).intersects(volume[key]):
            text = f"the pod asks for {say_expression(expression)}, and its volume is in {values}"
            brief = f"it asks for {_brief(expression)}, its volume is in {values}"
            return Explanation(text, brief, (expression.node, *places))
    text = f"its volume is in {values}, where the pool launches nothing"
    return Explanation(text, text, places)


def _requirement_of(expression: LabelExpression) -> Requirement:
    try:
        return Requirement.parse(expression.key, expression.operator, expression.values)
    except ValueError:
        return Requirement.parse(expression.key, "Exists", ())


def _requirement(expression: LabelExpression, pool: EmptyPool) -> Requirement | None:
    return next(iter(requirements_of((expression,), pool.release)), None)


def _selecting(pool: EmptyPool, requirement: Requirement) -> bool:
    """Return whether a requirement is about instance types or their offerings."""
    keys = pool.resolution.catalog.keys
    places = pool.resolution.places
    return requirement.key in keys or (places is not None and requirement.key in places.keys)


def _types(pool: EmptyPool, requirement: Requirement) -> TypeSet:
    return pool.meeting((requirement,), pool.resolution.catalog.all_types)


def _clashing_lines(pool: EmptyPool, requirement: Requirement) -> Iterator[LineEffect]:
    for line in pool.resolution.lines:
        if line.requirement is not None and not line.kept & _types(pool, requirement):
            yield line


def say_expression(expression: LabelExpression) -> str:
    values = f" [{', '.join(map(short, expression.values[:5]))}]" if expression.values else ""
    return f"`{short(expression.key)} {expression.operator}{values}`"


def _brief(expression: LabelExpression) -> str:
    name = short(expression.key.rpartition("/")[2], 24)
    if len(expression.values) == 1 and expression.operator == "In":
        return f"{name} {short(expression.values[0], 24)}"
    values = ", ".join(short(value, 16) for value in expression.values[:2])
    more = ", ..." if len(expression.values) > 2 else ""
    return f"{name} {expression.operator} [{values}{more}]" if values else f"{name} {expression.operator}"


def _say_line(line: LineEffect) -> str:
    values = f" [{list_first(list(map(short, line.values)), 5)}]" if line.values else ""
    return f"`{short(line.key)} {line.operator}{values}`"


if TYPE_CHECKING:
    from nodelint.fit.volumes import VolumePlace
    from nodelint.karpenter.resolve.effects import LineEffect
