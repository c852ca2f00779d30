"""What a change of a NodePool does although no node drifts: these fields act as soon as they are stored.

Limits, budgets, consolidation, weight and replicas are no part of the hash of a pool, and a requirement that allows
more than before is met by every node that runs.
Source: karpenter pkg/apis/v1/nodepool.go@v1.14.1 (`Hash`, `hash:"ignore"`), and below pkg/controllers/:
disruption/consolidation.go, provisioning/provisioner.go (`Create`: limits), static/.
"""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.drift import go_values
from nodelint.drift.budgets import inside
from nodelint.drift.struct_diff import ValueDifference
from nodelint.model.messages import counted
from nodelint.model.quantities import billionths
from nodelint.plan.values import ValueChange, change_of, text_of
from nodelint.text import UnknownValue

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from nodelint.drift.hashstructure import Path
    from nodelint.karpenter.resolve import Resolution
    from nodelint.model.finding import Span
    from nodelint.model.manifest import NodePool
    from nodelint.text import Node

_DISRUPTION = ("spec", "disruption")
_NEVER = "Never"
_EMPTY = "WhenEmpty"


class Effect(NamedTuple):
    """A field that acts at once: its place, its value before and after, and what follows.

    `removes` says that nodes that run may be removed or moved by it.
    """

    field: str
    at: Node | Span
    change: ValueChange | None
    what: str
    removes: bool = False


class Stored(NamedTuple):
    """A pool on both sides as the API server stores it, and what both sides can launch."""

    old: NodePool
    new: NodePool
    before: dict[str, Any]
    after: dict[str, Any]
    could: Resolution | None = None
    can: Resolution | None = None
    usage: dict[str, str] | None = None
    """What the nodes of the pool hold today, by resource (`status.resources`); None where no cluster is known."""


def effects_of(pools: Stored, drifted: Sequence[Node | Span] = ()) -> list[Effect]:
    """What acts at once, in the order of danger. `drifted` are the places that drift is blamed on already."""
    found = [
        *_consolidation(pools),
        *_replicas(pools),
        *_requirements(pools, drifted),
        *_limits(pools),
        *_budgets(pools),
        *_weight(pools),
    ]
    return sorted(found, key=lambda effect: not effect.removes)


def _consolidation(pools: Stored) -> Iterator[Effect]:
    old, new = (inside(side, *_DISRUPTION) for side in (pools.before, pools.after))
    policy = _both(old, new, "consolidationPolicy")
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
    after = _both(old, new, "consolidateAfter")
    if after is not None:
        path = (*_DISRUPTION, "consolidateAfter")
        if after[1] == _NEVER:
            yield _effect(pools, path, "consolidation ends")
        elif after[0] == _NEVER:
            yield _effect(pools, path, "consolidation begins", True)
        else:
            sooner = _seconds(after[1]) < _seconds(after[0])
            yield _effect(pools, path, f"nodes are consolidated {'sooner' if sooner else 'later'}", sooner)


def _replicas(pools: Stored) -> Iterator[Effect]:
    both = _both(inside(pools.before, "spec"), inside(pools.after, "spec"), "replicas")
    if both is None or not all(isinstance(value, int) for value in both):
        return
    more = both[1] - both[0]
    what = f"{counted(abs(more), 'node')} {'launched' if more > 0 else 'removed'} at once"
    yield _effect(pools, ("spec", "replicas"), what, more < 0)


def _requirements(pools: Stored, drifted: Sequence[Node | Span]) -> Iterator[Effect]:
    """Lines that changed and that no node drifts by: they allow more than before."""
    before = {line.key: line for line in pools.old.requirements}
    as_before = {line.node.text for line in pools.old.requirements}
    for line in pools.new.requirements:
        if line.node.text in as_before or line.values_node in drifted or not line.known:
            continue
        old = before.get(line.key)
        spot = _comes_to_allow(pools, "spot")
        moves = spot and line.key == "karpenter.sh/capacity-type" and _consolidates(pools.after)
        what = "consolidation moves nodes to spot where that is cheaper" if moves else "new nodes may differ"
        change = ValueChange(text_of(old.node) if old is not None else None, text_of(line.node))
        yield Effect(line.node.path, line.values_node, change, what, moves)
    still = {line.key for line in pools.new.requirements}
    for key, line in before.items():
        if key not in still and isinstance(key, str):
            at = pools.new.requirements_node or pools.new.name_node
            yield Effect(f"requirement {key}", at, ValueChange(text_of(line.node), None), "new nodes may differ")


def _comes_to_allow(pools: Stored, capacity: str) -> bool:
    if pools.could is None or pools.can is None:
        return False
    return capacity in pools.can.capacity_types and capacity not in pools.could.capacity_types


def _consolidates(stored: dict[str, Any]) -> bool:
    """Whether used nodes are consolidated."""
    disruption = inside(stored, *_DISRUPTION)
    return disruption.get("consolidationPolicy") != _EMPTY and disruption.get("consolidateAfter") != _NEVER


def _limits(pools: Stored) -> Iterator[Effect]:
    old, new = (inside(side, "spec", "limits") for side in (pools.before, pools.after))
    for resource in dict.fromkeys((*new, *old)):
        was, now = old.get(resource), new.get(resource)
        if was == now or isinstance(was, UnknownValue) or isinstance(now, UnknownValue):
            continue
        lowered = _amount(now) < _amount(was)
        if _amount(now) == _amount(was):
            continue
        what = "more can be launched"
        if lowered:
            what = "nothing is launched above it, not even to replace a node; running nodes stay"
            used = (pools.usage or {}).get(resource)
            if used is not None and _amount(used) > _amount(now):
                what = f"the nodes hold {used} already: nothing is launched, not even to replace one of them"
        yield _effect(pools, ("spec", "limits", str(resource)), what)


def _budgets(pools: Stored) -> Iterator[Effect]:
    if _both(inside(pools.before, *_DISRUPTION), inside(pools.after, *_DISRUPTION), "budgets") is not None:
        yield _effect(pools, (*_DISRUPTION, "budgets"), "decides how many nodes may go at a time, from now on")


def _weight(pools: Stored) -> Iterator[Effect]:
    both = _both(inside(pools.before, "spec"), inside(pools.after, "spec"), "weight")
    if both is not None:
        earlier = (both[1] or 0) > (both[0] or 0)
        yield _effect(
            pools, ("spec", "weight"), f"the pool is tried {'earlier' if earlier else 'later'} for new pods"
        )


def _both(old: dict[str, Any], new: dict[str, Any], field: str) -> tuple[Any, Any] | None:
    """A field before and after, where it changes and both are known."""
    was, now = old.get(field), new.get(field)
    if was == now or isinstance(was, UnknownValue) or isinstance(now, UnknownValue):
        return None
    return was, now


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


def _amount(value: Any) -> float:
    """A limit in billionths; none is without an end."""
    try:
        return billionths(str(value)) if value is not None else float("inf")
    except ValueError:
        return float("inf")


def _seconds(value: Any) -> float:
    try:
        return float(go_values.duration(value)) if isinstance(value, str) else 0.0
    except ValueError:
        return 0.0
