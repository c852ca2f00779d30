"""A plan as plain data (schemas/plan.schema.json)."""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING
from nodelint.model.finding import label_of, span_of, written_place
from nodelint.model.manifest import EC2NodeClass
from nodelint.plan.coverage import joined
from nodelint.plan.disruption_rate import words
from nodelint.plan.nodes import counts
from nodelint.plan.outcome import ClassPlan, Findings
from nodelint.plan.reasons import Verdict
from nodelint.plan.uncompared import is_of_change
from nodelint.report.plan_blocks import headline_of_plan
from nodelint.report.plan_words import headline

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from nodelint.drift.budgets import Interval
    from nodelint.lint.engine import Result
    from nodelint.model.finding import Span
    from nodelint.plan import Plan, PoolPlan
    from nodelint.plan.effects import Effect
    from nodelint.plan.launch import Price
    from nodelint.plan.matching import Pair
    from nodelint.plan.reasons import Reason
    from nodelint.plan.roll import Roll
    from nodelint.plan.values import ValueChange
    from nodelint.plan.workloads import WorkloadChange
    from nodelint.text import Node

VERSION = 1
"""The version of the JSON."""


def plan_json(plan: Plan, findings: Findings) -> dict[str, Any]:
    """Return the plan as plain data for JSON."""
    return {
        "version": VERSION,
        "karpenter": str(plan.options.release),
        "headline": headline_of_plan(plan),
        "nodePools": [_pool(pool) for pool in plan.pools],
        "nodeClasses": [*map(_class, _list_elsewhere(plan)), *_other_classes(plan)],
        "notCompared": [
            {
                **_place(uncompared.at),
                "what": uncompared.subject,
                "reason": uncompared.reason,
                "changed": is_of_change(uncompared),
            }
            for uncompared in plan.uncompared
        ],
        "releases": [
            {
                "about": move.about,
                "from": move.old,
                "to": move.new,
                "path": move.path,
                "line": move.line,
                "note": move.note,
            }
            for move in plan.moves
        ],
        "workloads": [_workload(change) for change in plan.workloads],
        **_cost(plan),
        "absorbed": [
            {"name": absorbed.name, "from": str(absorbed.old), "to": str(absorbed.new)} for absorbed in plan.absorbed
        ],
        "findings": {
            "new": [_finding(result) for result in findings.new],
            "gone": [_finding(result) for result in findings.gone],
        },
    }


def _cost(plan: Plan) -> dict[str, Any]:
    """Return the cost of the change; empty if the change does not affect costs."""
    if plan.cost is None:
        return {}
    from nodelint.report.plan_cost import plan_cost_json

    return {"cost": plan_cost_json(plan.cost)}


def _workload(change: WorkloadChange) -> dict[str, Any]:
    return {
        "kind": change.workload.kind,
        "name": change.workload.name if isinstance(change.workload.name, str) else None,
        "namespace": change.workload.namespace,
        **_place(change.place),
        "stranded": change.stranded,
        "lost": [{"name": name, "message": why} for name, why in change.reasons],
        "left": change.left_names,
    }


def _pool(plan: PoolPlan) -> dict[str, Any]:
    record: dict[str, Any] = {
        "name": plan.name,
        "path": span_of(plan.at).source.path,
        **({"with": label} if (label := label_of(plan.pool.source)) else {}),
        "karpenter": str(plan.release) if plan.release is not None else None,
        "change": plan.change,
        "headline": headline(plan),
        "replaced": plan.replaced,
        "held": plan.hold_reason is not None,
        "heldBy": plan.hold_reason,
        "launchesNothing": plan.stopped.reason if plan.stopped is not None else None,
        "deletedNodes": plan.deleted_nodes,
        "reasons": [_reason(reason) for reason in plan.verdict.reasons],
        "effects": _effects(plan.effects),
        "refused": [{"field": refusal.field, "message": refusal.message} for refusal in plan.refused],
        "instanceTypes": {
            "before": plan.launch.before,
            "after": plan.launch.after,
            "known": {"before": plan.launch.before_known, "after": plan.launch.after_known},
            "gained": list(plan.launch.gained),
            "lost": list(plan.launch.lost),
        },
        "images": {"gained": list(plan.launch.images_gained), "lost": list(plan.launch.images_lost)},
        "cheapest": {"before": _price(plan.launch.cheapest_before), "after": _price(plan.launch.cheapest_after)},
        "pace": [_stretch(each_stretch, plan) for each_stretch in plan.pace.stretches] if plan.pace else [],
    }
    if plan.pace is not None:
        record["paceInWords"] = words(plan.pace, len(plan.nodes) if plan.nodes else None)
    if plan.nodes is not None:
        record["nodes"] = {
            **counts(plan.nodes),
            "claims": [
                {"name": node.name, "fate": node.outcome, "reason": node.reason, "drifted": node.drifted}
                for node in plan.nodes
            ],
        }
    if plan.roll is not None:
        record["roll"] = _roll(plan.roll)
    if plan.why_unknown is not None:
        record["unknown"] = plan.why_unknown
    record["neverStored"] = plan.never_stored
    record["heldBack"] = plan.held_back
    return record


def _effects(effects: Iterable[Effect]) -> list[dict[str, Any]]:
    return [
        {**_place(effect.at), "field": effect.field, **_change(effect.change), "what": effect.what}
        | {"removes": effect.removes}
        for effect in effects
    ]


def _roll(found: Roll) -> dict[str, Any]:
    from nodelint.plan.roll import MINUTES, describe_roll

    """How the nodes go. What --live does not tell is null."""
    listed = [None if names is None else list(names) for names in (found.budgets, found.untolerating)]
    return {
        "nodes": found.goes,
        "atOnce": found.first,
        "steps": found.steps,
        "hours": None if found.hours is None else [round(hour, 1) for hour in found.hours],
        "minutesPerStep": list(MINUTES),
        "blockedBy": {
            "podDisruptionBudgets": listed[0],
            "doNotDisrupt": list(found.do_not_disrupt or ()),
            "withoutToleration": listed[1],
        },
        "dollarsPerMonth": {
            "before": None if found.cost_before is None else round(found.cost_before, 2),
            "after": None if found.cost_after is None else round(found.cost_after, 2),
        },
        "inWords": describe_roll(found),
    }


def _stretch(stretch: Interval, plan: PoolPlan) -> dict[str, Any]:
    """Return a time span with its active budgets; `allowed` only if the nodes are known."""
    record: dict[str, Any] = {
        "from": stretch.start.strftime(_TIME),
        "until": stretch.end.strftime(_TIME),
        "budgets": [budget.nodes for budget in stretch.budgets],
    }
    if plan.nodes is not None:
        record["allowed"] = stretch.allowed(len(plan.nodes))
    return record


_TIME = "%Y-%m-%dT%H:%M:%SZ"


def _class(plan: ClassPlan) -> dict[str, Any]:
    return {
        "name": plan.name,
        **_place(plan.at),
        "change": plan.pair.change,
        "replaced": plan.verdict.replaced,
        "reasons": [_reason(reason) for reason in plan.verdict.reasons],
        "refused": [{"field": refusal.field, "message": refusal.message} for refusal in plan.refused],
        "unknown": plan.verdict.unknown,
        "neverStored": plan.never_stored,
        "heldBack": plan.held_back,
        "effects": _effects(plan.effects),
    }


def _other_classes(plan: Plan) -> Iterator[dict[str, Any]]:
    """Yield the changed classes without a plan of their own: new ones, and those whose nodes are reported with
    pools.
    """
    reported = {id(obj) for own in _list_elsewhere(plan) for obj in (own.pair.old, own.pair.new) if obj is not None}
    for pair in plan.classes:
        obj = pair.new or pair.old
        if pair.change == "unchanged" or not isinstance(obj, EC2NodeClass) or id(obj) in reported:
            continue
        at = written_place(plan.written.get(id(obj), obj).name_node)
        pools = [pool for pool in plan.pools if _uses(pool, pair)]
        own = next((own for own in plan.class_plans if own.pair.new is pair.new), None)
        verdict = Verdict(joined(pool.replaced for pool in pools)) if own is None else own.verdict
        effects, held_back = (own.effects, own.held_back) if own is not None else ((), None)
        found = _class(ClassPlan(pair, at, verdict, held_back=held_back, effects=effects))
        yield {**found, "nodePools": [pool.name for pool in pools]}


def _list_elsewhere(plan: Plan) -> list[ClassPlan]:
    """Return the classes that only pools elsewhere use, without those whose change replaces no node."""
    return [own for own in plan.class_plans if not own.replaces_none]


def _uses(pool: PoolPlan, pair: Pair) -> bool:
    sides = ((pool.before, pair.old), (pool.after, pair.new))
    return any(obj is not None and side is not None and side.node_class is obj for side, obj in sides)


def _place(at: Node | Span) -> dict[str, Any]:
    span = span_of(at)
    return {"path": span.source.path, "line": span.source.position(span.start).line}


def _change(change: ValueChange | None) -> dict[str, Any]:
    if change is None:
        return {"old": None, "new": None}
    entries = {"removed": list(change.removed), "added": list(change.added)}
    return {"old": change.old, "new": change.new, **(entries if change.removed or change.added else {})}


def _reason(reason: Reason) -> dict[str, Any]:
    return {
        "reason": reason.reason,
        **_place(reason.at),
        "field": reason.field,
        **_change(reason.change),
        "covered": reason.covered,
        "recorded": reason.recorded,
    }


def _price(price: Price | None) -> dict[str, Any] | None:
    return None if price is None else {"type": price.type, "price": price.price}


def _finding(result: Result) -> dict[str, Any]:
    span = result.span
    at = span.source.position(span.start)
    return {
        "rule": result.rule.name,
        "severity": result.severity,
        "path": span.source.path,
        "line": at.line,
        "column": at.column,
        "message": result.finding.message,
    }
