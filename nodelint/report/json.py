"""Findings as versioned JSON (schemas/check.schema.json)."""

from __future__ import annotations

from typing import Any

from nodelint.base.types import TYPE_CHECKING
from nodelint.lint.engine import Report, Result
from nodelint.model.finding import Edit, Span, Withheld, span_of
from nodelint.model.manifest import Object
from nodelint.report.coverage import cover, coverage_json
from nodelint.report.decisions import list_suppressed, settings_json
from nodelint.report.releases import groups, releases_json, targets_json
from nodelint.report.run_info import Basis
from nodelint.text.source_comments import template_of

if TYPE_CHECKING:
    from nodelint.report.run_info import Run


def check_json(report: Report, run: Run) -> dict[str, Any]:
    """Return the whole report as plain values."""
    older = run.older
    return {
        "version": 1,
        "findings": [_finding(result, report) for result in report.results],
        "suppressed": [
            _suppressed(result, by, comment)
            for result, by, comment in list_suppressed(report, (run.decisions and run.decisions.known) or ())
        ],
        "skipped": [
            {
                "rule": skip.rule,
                "path": skip.path,
                "object": _object(skip.object),
                "reason": skip.reason,
                "transient": skip.transient,
                "fact": skip.fact,
            }
            for skip in report.skipped
        ],
        "coverage": coverage_json(cover(report)),
        "summary": {
            "files": run.files,
            "objects": len(report.objects),
            "unjudged": report.unjudged,
            "errors": report.number_of("error"),
            "warnings": report.number_of("warning"),
            "infos": report.number_of("info"),
            "fixable": {
                safety: sum(r.fixable and r.safety == safety for r in report.results) for safety in ("safe", "unsafe")
            },
            "fixed": len(run.applied),
            "refused": [
                {"rule": result.rule.name, "path": result.span.source.path, "reason": why}
                for result, why in run.refused
            ],
            "unreadable": [{"path": path, "reason": reason} for path, reason in run.unreadable],
            **_versions(report),
            "unread": [
                {"kind": place.kind, "paths": list(place.files), "objects": place.objects, "flag": place.way}
                for place in run.unread
            ],
            "older": older and {**older._asdict(), "release": str(older.release)},
            "facts": _facts(run.facts) if run.facts else None,
            "settings": settings_json(run.decisions) if run.decisions else None,
        },
    }


def _facts(facts: Basis) -> dict[str, Any]:
    return {
        "origin": facts.origin,
        "date": facts.date,
        "instanceTypes": facts.types,
        "snapshot": facts.snapshot._asdict() if facts.snapshot else None,
    }


def _versions(report: Report) -> dict[str, Any]:
    """Return the newest releases for which objects were judged, and all targets."""
    target = report.target
    if target.choose is None:
        kubernetes = str(target.kubernetes) if target.kubernetes else None
        return {"karpenter": str(target.karpenter), "kubernetes": kubernetes, "targets": []}
    chosen = [choice for group in groups(report) for choice in group.chosen]
    newest = max((choice.karpenter.last for choice in chosen), default=target.karpenter)
    known = [choice.kubernetes for choice in chosen if choice.kubernetes is not None]
    kubernetes = str(max(known)) if known else None
    return {"karpenter": str(newest), "kubernetes": kubernetes, "targets": targets_json(report)}


def _releases(result: Result, report: Report) -> list[dict[str, str]] | None:
    """Return the releases that have the finding; None for a finding about a file as a whole."""
    target = report.target
    if result.object is None:
        return None
    if target.choose is None:
        return [{"from": str(target.karpenter), "to": str(target.karpenter)}]
    chosen = result.holds or target.choose(result.object)
    return [] if isinstance(chosen, str) else releases_json(chosen)


def _finding(result: Result, report: Report) -> dict[str, Any]:
    finding = result.finding
    return {
        "rule": result.rule.name,
        "severity": result.severity,
        "message": finding.message,
        "path": result.span.source.path,
        **_range(result.span),
        "origin": template_of(result.span.source, result.span.start),
        "object": _object(result.named_object),
        "releases": _releases(result, report),
        "related": [
            {
                "path": also.span.source.path,
                "start": _position(also.span.source, also.span.start),
                "message": also.message,
            }
            for also in finding.also
        ],
        "note": finding.note,
        "help": finding.help,
        "fix": {"safety": result.safety, "edits": [_edit(edit) for edit in finding.edits]} if finding.edits else None,
        "fixWithheld": _withheld(finding.withheld),
        "suggestions": [
            {"name": suggestion.name, "edits": [_edit(edit) for edit in suggestion.edits]}
            for suggestion in finding.suggestions
        ],
    }


def _suppressed(result: Result, by: str, comment: Span | None) -> dict[str, Any]:
    """Return a finding that is not reported, and what decided so."""
    source = comment.source if comment is not None else None
    return {
        "by": by,
        "comment": None
        if comment is None or source is None
        else {
            "path": source.path,
            "start": _position(source, comment.start),
            "text": source.text[comment.start : comment.end],
        },
        "rule": result.rule.name,
        "severity": result.severity,
        "message": result.finding.message,
        "path": result.span.source.path,
        **_range(result.span),
        "object": _object(result.named_object),
    }


def _withheld(withheld: Withheld | None) -> dict[str, Any] | None:
    """Return why a fix is withheld, and the place that causes this; None if no fix is withheld."""
    if withheld is None:
        return None
    span = span_of(withheld.at) if withheld.at is not None else None
    place = {"path": span.source.path, "start": _position(span.source, span.start)} if span is not None else None
    return {"reason": withheld.reason, "message": withheld.text, "place": place}


def _edit(edit: Edit) -> dict[str, Any]:
    return {"path": edit.source.path, **_range(edit.span), "text": edit.text}


def _range(span: Span) -> dict[str, Any]:
    return {"start": _position(span.source, span.start), "end": _position(span.source, span.end)}


def _position(source: Any, offset: int) -> dict[str, int]:
    at = source.position(offset)
    return {"line": at.line, "column": at.column, "offset": at.offset}


def _object(obj: Object | None) -> dict[str, str | None] | None:
    if obj is None:
        return None
    return {"kind": obj.kind, "name": obj.name if isinstance(obj.name, str) else None}
