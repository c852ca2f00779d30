"""Effects of a changed NodePool without drift: these fields act as soon as they are stored.

Limits, budgets, consolidation, weight and replicas are not part of the hash of a pool. A requirement that allows more
than before is met by every running node. Source: karpenter pkg/apis/v1/nodepool.go@v1.14.1 (`Hash`, `hash:"ignore"`),
and below pkg/controllers/: disruption/consolidation.go, provisioning/provisioner.go (`Create`: limits), static/.
"""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.drift import go_values
from nodelint.drift.budgets import are_same_budgets, describe_budget, inside, typical_week
from nodelint.drift.stored_form import Placeholder, placeholder_text
from nodelint.drift.struct_diff import ValueDifference
from nodelint.model.messages import counted
from nodelint.model.quantities import billionths
from nodelint.plan.values import ValueChange, change_between, change_of, text_of
from nodelint.text import UnknownValue

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from nodelint.drift.hashstructure import Path
    from nodelint.karpenter.resolve import Resolution
    from nodelint.model.finding import Span
    from nodelint.model.manifest import NodePool
    from nodelint.model.manifest_terms import RequirementLine
    from nodelint.text import Node

_DISRUPTION = ("spec", "disruption")
_NEVER = "Never"
_EMPTY = "WhenEmpty"
_STORED_DELAY = "0s"
"""The value that the API server stores for a `consolidateAfter` that is not set."""


class Effect(NamedTuple):
    """A field that acts at once: its node, its value before and after, and the consequence.

    `removes` is true if running nodes may be removed or moved, `deleted` is the number of nodes that are certainly
    deleted. `same` is true if both values are equal and only written differently: then there is no consequence.
    """

    field: str
    at: Node | Span
    change: ValueChange | None
    what: str
    removes: bool = False
    deleted: int = 0
    same: bool = False


class Stored(NamedTuple):
    """A pool on both sides as the API server stores it, and what each side can launch.

    `whole` is true if both sides are known in full. Otherwise a field that only one side has may be on the other as
    well.
    """

    old: NodePool
    new: NodePool
    before: dict[str, Any]
    after: dict[str, Any]
    could: Resolution | None = None
    can: Resolution | None = None
    whole: bool = True
    usage: dict[str, str] | None = None
    """The resources of the nodes of the pool today (`status.resources`). None if no cluster is known."""


def read_settings(pool: NodePool) -> dict[str, Any]:
    """Return the fields that act at once of a pool whose stored form is not known, as they are written."""
    spec = pool.node.get("spec")
    if spec is None or spec.kind != "mapping":
        return {}
    return {"spec": {field: _plain(node) for field in _ACTING if (node := spec.get(field)) is not None}}


_ACTING = ("disruption", "limits", "replicas", "weight")


def _plain(node: Node) -> Any:
    if node.kind == "mapping":
        return {entry.name: _plain(entry.value) for entry in node.entries if entry.name is not None}
    if node.kind == "sequence":
        return [_plain(item) for item in node.items]
    return Placeholder(placeholder_text(node)) if isinstance(node.value, UnknownValue) else node.plain()


def effects_of(pools: Stored, drifted: Sequence[Node | Span] = ()) -> list[Effect]:
    """Return the effects, the most dangerous first. `drifted` are the nodes that are reasons of drift already."""
    found = [
        *_consolidation(pools),
        *_replicas(pools),
        *_requirements(pools, drifted),
        *_limits(pools),
        *_budgets(pools),
        *_weight(pools),
        *_lifetimes(pools),
    ]
    return sorted(found, key=lambda effect: (not effect.deleted, not effect.removes, effect.same))


def _consolidation(pools: Stored) -> Iterator[Effect]:
    policy = _both(pools, *_DISRUPTION, "consolidationPolicy")
    if policy is not None:
        was, now = policy
        if was == _EMPTY:
            yield _effect(
                pools, (*_DISRUPTION, "consolidationPolicy"), "used nodes are removed and replaced too", True
            )
        elif now == _EMPTY:
            yield _effect(pools, (*_DISRUPTION, "consolidationPolicy"), "only empty nodes are removed from now on")
        else:
            yield _effect(pools, (*_DISRUPTION, "consolidationPolicy"), "decides which nodes are consolidated", True)
    after = _both(pools, *_DISRUPTION, "consolidateAfter")
    if after is not None:
        path = (*_DISRUPTION, "consolidateAfter")
        was, now = (_STORED_DELAY if value is None else value for value in after)
        if was == now:
            return
        if _are_same_duration(was, now):
            yield _same(pools, path, _SAME_DURATION)
        elif after[1] == _NEVER:
            yield _effect(pools, path, "consolidation ends")
        elif after[0] == _NEVER:
            yield _effect(pools, path, "consolidation begins", True)
        else:
            sooner = _seconds(now) < _seconds(was)
            yield _effect(pools, path, f"nodes are consolidated {'sooner' if sooner else 'later'}", sooner)


_TEMPLATE = ("spec", "template", "spec")
_SAME_DURATION = "the same duration"


def _lifetimes(pools: Stored) -> Iterator[Effect]:
    """Yield the lifetimes of nodes that are only written differently: the hash contains the duration,
    not the text.
    """
    for field in ("expireAfter", "terminationGracePeriod"):
        both = _both(pools, *_TEMPLATE, field)
        if both is not None and _are_same_duration(*both):
            yield _same(pools, (*_TEMPLATE, field), _SAME_DURATION)


def _are_same_duration(was: Any, now: Any) -> bool:
    try:
        return isinstance(was, str) and isinstance(now, str) and go_values.duration(was) == go_values.duration(now)
    except ValueError:
        return False


def _replicas(pools: Stored) -> Iterator[Effect]:
    both = _both(pools, "spec", "replicas")
    if both is None or not all(map(_is_number, both)):
        return
    more = both[1] - both[0]
    are = "is" if abs(more) == 1 else "are"
    what = f"{counted(abs(more), 'node')} {are} {'launched' if more > 0 else 'deleted'} at once"
    yield _effect(pools, ("spec", "replicas"), what, more < 0)._replace(deleted=max(-more, 0))


def _requirements(pools: Stored, drifted: Sequence[Node | Span]) -> Iterator[Effect]:
    """Yield the effects of changed requirements by which no node drifts, because they allow more than before."""
    before = {line.key: line for line in pools.old.requirements}
    as_before = {line.node.text for line in pools.old.requirements}
    equal = {_meaning(line): line for line in pools.old.requirements if line.known}
    for line in pools.new.requirements:
        if line.node.text in as_before or line.values_node in drifted or not line.known:
            continue
        same = equal.get(_meaning(line))
        if same is not None:
            change = change_between(same.node, line.node)
            if change is not None:
                yield Effect(line.node.path, line.values_node, change, "the same values", same=True)
            continue
        old = before.get(line.key)
        spot = _comes_to_allow_spot(pools)
        moves = spot and line.key == "karpenter.sh/capacity-type" and _consolidates(pools.after)
        what = "consolidation moves nodes to spot where that is cheaper" if moves else "new nodes may differ"
        change = change_between(old.node if old is not None else None, line.node)
        yield Effect(line.node.path, line.values_node, change, what, moves)
    still = {line.key for line in pools.new.requirements}
    for key, line in before.items():
        if key not in still and isinstance(key, str):
            at = pools.new.requirements_node or pools.new.name_node
            yield Effect(f"requirement {key}", at, ValueChange(text_of(line.node), None), "new nodes may differ")


def _meaning(line: RequirementLine) -> tuple[object, ...]:
    """Return a requirement as Karpenter reads it: its values are a set."""
    return line.key, line.operator, frozenset(line.texts), line.min_values


def _comes_to_allow_spot(pools: Stored) -> bool:
    if pools.could is None or pools.can is None:
        return False
    return "spot" in pools.can.capacity_types and "spot" not in pools.could.capacity_types


def _consolidates(stored: dict[str, Any]) -> bool:
    """Return whether nodes with pods are consolidated."""
    disruption = inside(stored, *_DISRUPTION)
    return disruption.get("consolidationPolicy") != _EMPTY and disruption.get("consolidateAfter") != _NEVER


def _limits(pools: Stored) -> Iterator[Effect]:
    old, new = (inside(side, "spec", "limits") for side in (pools.before, pools.after))
    for resource in dict.fromkeys((*new, *old)):
        both = _both(pools, "spec", "limits", resource)
        if both is None:
            continue
        was, now = both
        lowered = _amount(now) < _amount(was)
        if _amount(now) == _amount(was):
            continue
        what = "more can be launched"
        if lowered:
            above = "" if _amount(now) == 0 else " above it"
            what = f"nothing is launched{above}, not even to replace a node; running nodes stay"
            used = (pools.usage or {}).get(resource)
            if used is not None and _amount(used) > _amount(now):
                what = f"the nodes hold {used} already: nothing is launched, not even to replace one of them"
        yield _effect(pools, ("spec", "limits", str(resource)), what)


def _budgets(pools: Stored) -> Iterator[Effect]:
    if _both(pools, *_DISRUPTION, "budgets") is None:
        return
    path = (*_DISRUPTION, "budgets")
    if are_same_budgets(pools.before, pools.after):
        yield _same(pools, path, "the same budgets")
        return
    was, now = typical_week(pools.old), typical_week(pools.new)
    closed = [bool(week) and all(stretch.closed for stretch in week or ()) for week in (was, now)]
    what = "decides how many nodes may go at a time, from now on"
    if closed[0] and now and not closed[1]:
        what = f"nodes that have drifted before begin to go, at most {describe_budget(now)} at a time"
    elif closed[1]:
        what = "no drifted node goes any more"
    yield _effect(pools, path, what)


def _weight(pools: Stored) -> Iterator[Effect]:
    both = _both(pools, "spec", "weight")
    if both is not None and all(weight is None or _is_number(weight) for weight in both):
        earlier = (both[1] or 0) > (both[0] or 0)
        yield _effect(
            pools, ("spec", "weight"), f"the pool is tried {'earlier' if earlier else 'later'} for new pods"
        )


def _both(pools: Stored, *path: str) -> tuple[Any, Any] | None:
    """Return the value of a field before and after. None if it does not change, or if one side is not known."""
    both = [_find(side, path) for side in (pools.before, pools.after)]
    if any(isinstance(value, UnknownValue) for value in both) or both[0] == both[1]:
        return None
    if not pools.whole and _ABSENT in both:
        return None
    was, now = (None if value is _ABSENT else value for value in both)
    return was, now


_ABSENT = object()


def _find(stored: dict[str, Any], path: Sequence[str]) -> Any:
    """Return the value at the end of a path. If a placeholder is on the path, return the placeholder."""
    value: Any = stored
    for step in path:
        if isinstance(value, UnknownValue):
            return value
        value = value.get(step, _ABSENT) if isinstance(value, dict) else _ABSENT
    return value


def _is_number(value: object) -> bool:
    """Return whether a value is an integer. A boolean is none for the API server."""
    return isinstance(value, int) and not isinstance(value, bool)


def _effect(pools: Stored, path: Path, what: str, removes: bool = False) -> Effect:
    at = pools.new.name_node
    for length in range(len(path), 0, -1):
        node = pools.new.node.find(*path[:length])
        if node is not None:
            holder = pools.new.node.find(*path[: length - 1]) if length > 1 else pools.new.node
            key = holder.key(str(path[length - 1])) if holder is not None else None
            at = node if node.kind == "scalar" or key is None else key
            break
    change = change_of(pools.old, pools.new, ValueDifference(path, path))
    return Effect(".".join(map(str, path)), at, change, what, removes)


def _same(pools: Stored, path: Path, what: str) -> Effect:
    return _effect(pools, path, what)._replace(same=True)


def _amount(value: Any) -> float:
    """Return a limit in billionths. Infinity if there is no limit, or no valid one."""
    try:
        return billionths(str(value)) if value is not None else float("inf")
    except ValueError:
        return float("inf")


def _seconds(value: Any) -> float:
    try:
        return float(go_values.duration(value)) if isinstance(value, str) else 0.0
    except ValueError:
        return 0.0
