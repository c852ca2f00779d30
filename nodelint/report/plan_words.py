"""What a plan says of a pool, a class and a workload, in sentences that all formats print."""

from __future__ import annotations

from collections import Counter

from nodelint.base.printable import printable
from nodelint.base.types import TYPE_CHECKING
from nodelint.model.finding import label_of, span_of
from nodelint.model.messages import counted
from nodelint.plan import PoolPlan
from nodelint.plan.nodes import counts
from nodelint.plan.reasons import is_of_class

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nodelint.model.finding import Span
    from nodelint.plan import ClassPlan
    from nodelint.plan.coverage import Covered
    from nodelint.plan.launch import Price
    from nodelint.plan.reasons import Reason
    from nodelint.plan.workloads import WorkloadChange
    from nodelint.text import Node


def headline(pool: PoolPlan) -> str:
    """Return the verdict on a pool in one or two sentences."""
    return "; ".join(headline_rows(pool))


def headline_rows(pool: PoolPlan) -> list[str]:
    """Return the verdict on a pool: why launches stop, then what happens to the nodes."""
    if pool.deleted:
        return ["deleted: all its nodes go at once, and budgets do not apply"]
    if pool.change == "added":
        if pool.refused:
            return ["refused: nothing is created"]
        stop = pool.stopped
        if pool.lacking_class is not None:
            name = printable(pool.lacking_class)
            return [f"new: it launches nodes only if the cluster has EC2NodeClass `{name}`, which no file defines"]
        return ["new: it has no nodes yet" if stop is None else f"new, but can launch nothing: {stop.reason}"]
    if pool.change == "removed":
        return ["removed: no node of it runs"]
    parts = []
    if pool.launches_nothing and pool.stopped is not None:
        parts.append(f"can no longer launch nodes: {pool.stopped.reason}; running nodes stay")
    if pool.deleted_nodes:
        are = "is" if pool.deleted_nodes == 1 else "are"
        parts.append(f"{counted(pool.deleted_nodes, 'node')} {are} deleted at once, and budgets do not apply")
    drift = _drift_in_words(pool)
    if drift is not None:
        parts.append(drift)
    if pool.refused:
        parts.append("an update is refused" if parts else "the update is refused: nothing changes")
    elif pool.never_stored is not None:
        parts.append("no node of it runs, so none is replaced")
        parts += [] if pool.stopped is None else [f"it still can launch nothing: {pool.stopped.reason}"]
    elif not parts:
        acts = any(not effect.same for effect in pool.effects)
        at_once = "; the change takes effect at once" if acts else ""
        parts += _without_nodes(pool) or [f"no node drifts{at_once}"]
    return parts


def _without_nodes(pool: PoolPlan) -> list[str]:
    """Return why a change concerns no node; empty if there may be nodes."""
    if not pool.verdict.reasons or pool.stopped_before is None:
        return []
    now = " and can" if pool.stopped is not None else ""
    rows = [f"it has no nodes: it could{now} launch none ({pool.stopped_before.reason})"]
    node_class = pool.before.node_class if pool.before is not None else None
    if node_class is not None and any(map(is_of_class, pool.verdict.reasons)):
        rows.append(f"the change of EC2NodeClass `{printable(str(node_class.name))}` concerns no node")
    return rows


def _drift_in_words(pool: PoolPlan) -> str | None:
    """Return how many nodes drift and whether they are replaced; None if none drifts."""
    reasons = ", ".join(dict.fromkeys(reason.reason for reason in pool.verdict.reasons))
    if pool.replaced == "none":
        return None
    if pool.replaced == "unknown":
        if pool.stopped is not None:
            return f"whether nodes drift is not known{f' ({reasons})' if reasons else ''}"
        return f"nodes may be replaced; the files do not show it{f': {reasons}' if reasons else ''}"
    if pool.stopped is not None:
        end = "only empty nodes, and nodes whose pods fit elsewhere, go"
        why = "" if pool.launches_nothing else f" ({pool.stopped.reason})"
        return f"{pool.replaced} nodes drift ({reasons}), and {pool.hold_reason}{why}: {end}"
    if pool.hold_reason is not None:
        return f"{pool.replaced} nodes drift ({reasons}), but none is replaced: {pool.hold_reason}"
    if pool.needs_class is not None:
        only = f"only if the cluster has EC2NodeClass `{printable(pool.needs_class)}`, which no file defines"
        return f"{pool.replaced} nodes drift ({reasons}), and are replaced {only}"
    return f"{pool.replaced} nodes are replaced: {reasons}"


def class_headline(plan: ClassPlan) -> str:
    """Return what a change of a class does to the nodes of NodePools elsewhere."""
    if plan.pair.change == "removed" and plan.never_stored is not None:
        return "removed: no pool could launch nodes with it"
    if plan.pair.change == "removed":
        return "deleted: pools that use it can no longer launch nodes, and it stays until their nodes are gone"
    if plan.refused:
        return "the update is refused: nothing changes"
    if plan.replaces_none:
        return "its change replaces no node"
    reasons = ", ".join(dict.fromkeys(reason.reason for reason in plan.verdict.reasons))
    what = {"all": "all their nodes are replaced", "some": "some of their nodes are replaced"}
    words = what.get(plan.verdict.replaced, "their nodes may be replaced; the files do not show it")
    return f"no pool of these files uses it; for pools that do: {words}{f': {reasons}' if reasons else ''}"


def notes_of(plan: PoolPlan | ClassPlan, alone: bool = False) -> list[str]:
    """Return the notes below the causes: why the verdict is not known, and what the cluster cannot store.

    `alone` is true if no other pool shares the notes: they then have the line of an unknown value as well.
    """
    gap = None
    if isinstance(plan, PoolPlan) and plan.uncompared is not None:
        at, value = place_of(plan.uncompared.at), plan.uncompared.value
        is_elsewhere = alone and value is not None and place_of(value) != at
        places = f"value {place_of(value)}, change {at}" if is_elsewhere and value is not None else at
        gap = f"{plan.why_uncompared} ({places})"
    return [note for note in (plan.verdict.unknown, gap, plan.never_stored, plan.held_back) if note]


def tone_of(pool: PoolPlan) -> Covered:
    """Return the verdict that decides the colour of a pool.

    A refusal, or a change that may remove nodes, is not green.
    """
    moves = pool.grade == "none" and (bool(pool.refused) or any(effect.removes for effect in pool.effects))
    return "unknown" if moves or (pool.change == "added" and pool.stopped is not None) else pool.grade


def nodes_in_words(pool: PoolPlan) -> str:
    """Return how many of the cluster's nodes are replaced, and how many had drifted before."""
    found = counts(pool.nodes or ())
    text = f"{found['replaced']} of {counted(found['total'], 'node')}"
    if found["unknown"]:
        text += f", and {found['unknown']} of which only your AWS account knows"
    if found["drifted"]:
        text += f"; {found['drifted']} had drifted before"
    return text


def moves_images(pool: PoolPlan) -> bool:
    """Return whether changed images need a line, because no cause of the plan mentions them."""
    return pool.stopped is None and all(reason.reason != "AMIDrift" for reason in pool.verdict.reasons)


def place_of(at: Node | Span) -> str:
    """Return path and line of a place."""
    span = span_of(at)
    return f"{printable(span.source.path)}:{span.source.position(span.start).line}"


def share_of(reason: Reason) -> str:
    """Return how many nodes a reason concerns, unless it is all, and whether Karpenter records it."""
    parts = {"some": ["some nodes"], "none": ["no nodes"]}.get(reason.covered, [])
    if reason.covered == "unknown":
        unknown = "a value is not known here" if reason.of_files else "only your AWS account knows"
        parts.append("may never reach them" if reason.reason == "NodeClassDrift" else unknown)
    parts += [] if reason.recorded else ["also a cause; Karpenter records only the first cause"]
    return ", ".join(parts)


def pool_place(pool: PoolPlan) -> str:
    """Return the place of a pool, and its values files."""
    label = label_of(pool.pool.source)
    return place_of(pool.at) + (f" with {printable(label)}" if label else "")


def price(value: Price | None) -> str:
    """Return an instance type and its price in USD per hour, in words."""
    return "none" if value is None else f"{value.type} ${value.price:.4f}/h"


def by_family(names: Sequence[str]) -> list[str]:
    """Return the number of instance types by family: `m5(9)`."""
    families = Counter(name.partition(".")[0] for name in names)
    return [f"{family}({count})" for family, count in sorted(families.items())]


def workload_headline(change: WorkloadChange) -> str:
    """Return what happens to a workload's pods."""
    if change.stranded:
        return "no NodePool accepts its pods any more: when their nodes are gone, the pods stay Pending"
    return f"fewer NodePools accept its pods; still: {', '.join(change.left_names) or change.otherwise}"
