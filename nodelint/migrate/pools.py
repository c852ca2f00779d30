"""Convert a NodePool: its lifetime, the names of classes, and labels that the other side does not have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nodelint.data import table
from nodelint.karpenter.controller.auto_mode import Lifetime, lifetime
from nodelint.migrate.labels import COMPUTE_TYPE, MoveTarget, has_no_counterpart
from nodelint.migrate.steps import MoveNote, Step, note, remove_field, set_field
from nodelint.model.keys import OS, WINDOWS_BUILD
from nodelint.model.manifest import NodePool
from nodelint.model.manifest_terms import RequirementLine
from nodelint.text import Node

_TEMPLATE = ("spec", "template", "spec")
_KARPENTER_HOURS = 720
"""The hours after which Karpenter replaces a node by default: 30 days (core: NodePool, `expireAfter`)."""


def plan_pool(pool: NodePool, target: MoveTarget) -> Iterator[Step]:
    """Yield the steps that change fields of a NodePool.

    They do not change `nodeClassRef` and label keys.
    """
    if target == "auto-mode":
        found = lifetime(pool)
        if found is not None and found.too_long and found.offer is not None:
            by_hand = note(
                "by-hand",
                pool,
                found.node,
                _say_too_long(found, "shorten expireAfter, terminationGracePeriod or both"),
            )
            default = ", EKS Auto Mode's default" if found.offer == table("auto_mode")["default_expire_hours"] else ""
            message = _say_too_long(found, f"expireAfter becomes {found.offer}h{default}")
            differs = note("differs", pool, found.node, message)
            yield Step(set_field((*_TEMPLATE, "expireAfter"), f"{found.offer}h"), (differs,), by_hand)
        return
    gone = [line for line in pool.requirements if _selects_auto_mode(line)]
    items = pool.requirements_node.items if pool.requirements_node is not None else []
    for index in reversed(range(len(items))):  # from the back: the indices in front stay what they are
        line = next((line for line in gone if line.node is items[index]), None)
        if line is not None:
            message = f"Karpenter's nodes have no label {COMPUTE_TYPE}: nothing to do"
            by_hand = note("by-hand", pool, line.node, f"remove the requirement: {message}")
            dropped = note("dropped", pool, line.node, message)
            yield Step(remove_field((*_TEMPLATE, "requirements", index)), (dropped,), by_hand)


def _say_too_long(found: Lifetime, what: str) -> str:
    days = found.longest // 24
    together = "expireAfter and terminationGracePeriod together"
    return f"EKS Auto Mode allows {days} days ({found.longest:g}h) for {together}: {what}"


def _selects_auto_mode(line: RequirementLine) -> bool:
    """Return whether a requirement selects all nodes of EKS Auto Mode."""
    values = [value.text for value in line.values]
    return line.key == COMPUTE_TYPE and (line.operator == "Exists" or (line.operator == "In" and values == ["auto"]))


def pool_notes(pool: NodePool, target: MoveTarget, classes: Sequence[object]) -> Iterator[MoveNote]:
    """Yield notes on changes that a NodePool needs besides its fields. `classes` are the names of the files'
    classes.
    """
    for line in pool.requirements:
        if isinstance(line.key, str) and has_no_counterpart(line.key, target) and not _selects_auto_mode(line):
            yield note("by-hand", pool, line.node, _say_no_label(line.key, target))
    if target == "auto-mode":
        yield from _notes_of_auto_mode(pool)
        return
    ref = pool.class_ref
    if ref is not None and ref.name == "default" and "default" not in classes:
        message = (
            "`default` was EKS Auto Mode's own class: write an EC2NodeClass with role, subnets and security groups"
        )
        yield note("by-hand", pool, ref.node, message)
    yield from unset_notes(pool, target)


def _say_no_label(key: str, target: MoveTarget) -> str:
    if target == "karpenter":
        return f"Karpenter's nodes have no label {key}: select them by another label"
    return f"EKS Auto Mode has no label {key}: name instance families or types in its place"


def _notes_of_auto_mode(pool: NodePool) -> Iterator[MoveNote]:
    found = lifetime(pool)
    for node, message in refused_parts(pool):
        if found is None or node is not found.node or found.offer is None:  # an offered change becomes a step
            yield note("by-hand", pool, node, message)
    yield from unset_notes(pool, "auto-mode")


def refused_parts(pool: NodePool) -> Iterator[tuple[Node, str]]:
    """Yield each part of a NodePool that EKS Auto Mode refuses or does not have, and what to do."""
    if pool.name in table("auto_mode")["built_in"]:
        message = f"EKS Auto Mode has a NodePool `{pool.name}` of its own: rename this one"
        yield pool.name_node, message
    for line in pool.requirements:
        texts = [value.text for value in line.values]
        if line.key == WINDOWS_BUILD or (line.key == OS and line.operator == "In" and "windows" in texts):
            yield line.node, "EKS Auto Mode has no Windows nodes: keep this pool with Karpenter"
    found = lifetime(pool)
    if found is not None and found.too_long:
        what = "shorten both" if found.offer is None else f"set expireAfter to {found.offer}h or less"
        yield found.node, _say_too_long(found, what)
    known = table("migrate")["startup_taints"]
    for taint in pool.startup_taints:
        if taint.key in known:
            message = (
                "remove the taint, unless something on nodes of EKS Auto Mode removes it: pods would never start"
            )
            yield taint.node, message


def unset_notes(pool: NodePool, target: MoveTarget) -> Iterator[MoveNote]:
    """Yield notes on unset fields of a complete NodePool whose default is different on the other side."""
    if pool.partial:
        return
    facts = table("auto_mode")
    expire = (f"{_KARPENTER_HOURS}h", f"{facts['default_expire_hours']}h")
    grace = ("none", f"{facts['default_grace_hours']}h")
    for name, (karpenter, auto_mode) in (("expireAfter", expire), ("terminationGracePeriod", grace)):
        both = (karpenter, auto_mode) if target == "auto-mode" else (auto_mode, karpenter)
        yield from _unset(pool, name, *both)


def _unset(pool: NodePool, name: str, before: str, after: str) -> Iterator[MoveNote]:
    """Yield a note if the field is not set, with its defaults before and after the migration."""
    spec = pool.node.find(*_TEMPLATE)
    if spec is not None and spec.get(name) is None:
        message = f"not set: the default is {after}, and was {before}"
        yield note("differs", pool, None, message, f"spec.template.spec.{name}")
