"""Why nodes stay, as JSON (schemas/why.schema.json)."""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING
from nodelint.why.answer import TITLES, Answers, NodeAnswer, NodeCause
from nodelint.why.events import meanings

if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any


def why_json(answers: Answers) -> dict[str, Any]:
    """Return the report as plain values."""
    groups = answers.by_reason()
    return {
        "version": 1,
        "time": _time(answers.now),
        "release": {"version": answers.release, "from": answers.release_from},
        "summary": [{"status": s, "reason": code, "nodes": len(members)} for s, code, members in groups],
        "nodes": [_node(answer) for _, _, members in groups for answer in members],
        "notes": list(answers.notes),
        "notKnown": list(answers.unsaid),
        "gaps": [{"reason": gap.reason, "nodes": list(gap.nodes)} for gap in answers.gaps],
    }


def _node(answer: NodeAnswer) -> dict[str, Any]:
    return {
        "node": answer.name,
        "nodeClaim": answer.claim,
        "nodePool": answer.pool or None,
        "instanceType": answer.instance_type or None,
        "capacityType": answer.capacity_type or None,
        "zone": answer.zone or None,
        "pricePerHour": answer.price,
        "podsToMove": answer.pods,
        "expires": _time(answer.expires),
        "status": answer.status,
        "method": answer.method,
        "cause": _cause(answer.cause),
        "others": [{"method": method, "cause": _cause(cause)} for method, cause in answer.others],
        "events": [_event(answer, *event) for event in answer.events],
        "unknown": list(answer.unknown),
    }


def _cause(cause: NodeCause) -> dict[str, Any]:
    return {
        "reason": cause.code,
        "title": TITLES.get(cause.code, cause.code),
        "message": cause.text,
        "known": cause.known,
        "until": _time(cause.until),
        "facts": dict(cause.facts),
        "details": list(cause.lines),
        "changes": [change._asdict() for change in cause.changes],
    }


def _event(answer: NodeAnswer, reason: str, message: str) -> dict[str, Any]:
    codes = meanings(message)
    agrees = answer.cause.code in codes if codes else None
    return {"reason": reason, "message": message, "reasons": list(codes), "agrees": agrees}


def _time(at: datetime | None) -> str | None:
    return None if at is None else at.strftime("%Y-%m-%dT%H:%M:%SZ")
