"""A plan as plain data, described in `schemas/plan.schema.json`."""

from __future__ import annotations

from typing import Any

from nodelint.drift.budgets import Interval
from nodelint.lint.engine import Result
from nodelint.model.finding import Span, label_of, span_of
from nodelint.plan import ClassPlan, Plan, PoolPlan
from nodelint.plan.disruption_rate import words
from nodelint.plan.launch import Price
from nodelint.plan.nodes import counts
from nodelint.plan.roll import MINUTES, Roll, describe_roll
from nodelint.plan.values import ValueChange
from nodelint.plan.verdict import Reason
from nodelint.plan.workloads import WorkloadChange
from nodelint.source import Node
from nodelint.tuples import NamedTuple

VERSION = 1
"""The version of the JSON."""


class Findings(NamedTuple):
    """What `check` finds on the new side alone, and on the old side alone."""

    new: tuple[Result, ...] = ()
    gone: tuple[Result, ...] = ()


def plan_json(plan: Plan, findings: Findings) -> dict[str, Any]:
    """The plan, to be written as JSON."""
    return {
        "version": VERSION,
        "karpenter": str(plan.aim.release),
        "nodePools": [_pool(each) for each in plan.pools],
        "nodeClasses": [_class(each) for each in plan.class_plans],
        "notCompared": [
            {**_place(each.at), "what": each.what, "reason": each.reason, "changed": each.changed}
            for each in plan.uncompared
        ],
        "releases": [
            {
                "about": each.about,
                "from": each.old,
                "to": each.new,
                "path": each.path,
                "line": each.line,
                "note": each.note,
            }
            for each in plan.moves
        ],
        "workloads": [_workload(each) for each in plan.workloads],
        "absorbed": [{"name": each.name, "from": str(each.old), "to": str(each.new)} for each in plan.absorbed],
        "findings": {
            "new": [_finding(result) for result in findings.new],
            "gone": [_finding(result) for result in findings.gone],
        },
    }


def _workload(change: WorkloadChange) -> dict[str, Any]:
    return {
        "kind": change.workload.kind,
        "name": change.workload.name if isinstance(change.workload.name, str) else None,
        "namespace": change.workload.namespace,
        **_place(change.workload.name_node),
        "stranded": change.stranded,
        "lost": [{"name": name, "message": why} for name, why in change.reasons],
        "left": list(change.left),
    }


def _pool(each: PoolPlan) -> dict[str, Any]:
    record: dict[str, Any] = {
        "name": each.name,
        "path": span_of(each.at).source.path,
        **({"with": label} if (label := label_of(each.pool.source)) else {}),
        "karpenter": str(each.release) if each.release is not None else None,
        "change": each.change,
        "from": each.renamed_from,
        "replaced": each.replaced,
        "held": each.is_blocked,
        "reasons": [_reason(reason) for reason in each.verdict.reasons],
        "effects": [
            {**_place(effect.at), "field": effect.field, **_change(effect.change), "what": effect.what}
            | {"removes": effect.removes}
            for effect in each.effects
        ],
        "refused": [{"field": refusal.field, "message": refusal.message} for refusal in each.refused],
        "instanceTypes": {
            "before": each.launch.before,
            "after": each.launch.after,
            "gained": list(each.launch.gained),
            "lost": list(each.launch.lost),
        },
        "images": {"gained": list(each.launch.images_gained), "lost": list(each.launch.images_lost)},
        "cheapest": {"before": _price(each.launch.cheapest_before), "after": _price(each.launch.cheapest_after)},
        "pace": [_stretch(each_stretch, each) for each_stretch in each.pace.stretches] if each.pace else [],
    }
    if each.pace is not None:
        record["paceInWords"] = words(each.pace, len(each.nodes) if each.nodes else None)
    if each.nodes is not None:
        record["nodes"] = {
            **counts(each.nodes),
            "claims": [
                {"name": node.name, "fate": node.fate, "reason": node.reason, "drifted": node.drifted}
                for node in each.nodes
            ],
        }
    if each.roll is not None:
        record["roll"] = _roll(each.roll)
    if each.why_unknown is not None:
        record["unknown"] = each.why_unknown
    record["neverStored"] = each.never_stored
    return record


def _roll(found: Roll) -> dict[str, Any]:
    """How the nodes go. What --live does not tell is null."""
    listed = [None if names is None else list(names) for names in (found.budgets, found.untolerating)]
    return {
        "nodes": found.goes,
        "atOnce": found.first,
        "steps": found.steps,
        "hours": None if found.hours is None else [round(each, 1) for each in found.hours],
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


def _stretch(stretch: Interval, each: PoolPlan) -> dict[str, Any]:
    """A time over which the same budgets are active; `allowed` only where the nodes are known."""
    record: dict[str, Any] = {
        "from": stretch.start.strftime(_TIME),
        "until": stretch.end.strftime(_TIME),
        "budgets": [budget.nodes for budget in stretch.budgets],
    }
    if each.nodes is not None:
        record["allowed"] = stretch.allowed(len(each.nodes))
    return record


_TIME = "%Y-%m-%dT%H:%M:%SZ"


def _class(each: ClassPlan) -> dict[str, Any]:
    name = each.node_class.name
    return {
        "name": name if isinstance(name, str) else each.node_class.name_node.unquoted,
        **_place(each.at),
        "change": each.pair.change,
        "replaced": each.verdict.replaced,
        "reasons": [_reason(reason) for reason in each.verdict.reasons],
        "refused": [{"field": refusal.field, "message": refusal.message} for refusal in each.refused],
        "unknown": each.verdict.unknown,
        "neverStored": each.never_stored,
    }


def _place(at: Node | Span) -> dict[str, Any]:
    span = span_of(at)
    return {"path": span.source.path, "line": span.source.position(span.start).line}


def _change(change: ValueChange | None) -> dict[str, Any]:
    return {"old": None, "new": None} if change is None else {"old": change.old, "new": change.new}


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
