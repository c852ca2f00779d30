"""Findings as SARIF 2.1.0, for code scanning, editors and other viewers.

The standard is https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html. Columns count code points; a byte
order mark is not counted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from nodelint import __version__
from nodelint.base import project
from nodelint.base.printable import escaped_json, printable, printable_lines, writable
from nodelint.lint.engine import Report, Result
from nodelint.lint.fingerprints import NAME, fingerprints, relative
from nodelint.lint.fix_effects import describe_unsafe_fix
from nodelint.model.finding import Edit, Severity, Span, by_source, span_of
from nodelint.model.gap import Gap
from nodelint.model.manifest import Object
from nodelint.report.run_info import Run, unread_message, unread_place
from nodelint.report.style import rule_page
from nodelint.rule.definition import Rule

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "%SRCROOT%"
_LEVELS = {"error": "error", "warning": "warning", "info": "note"}
_SAFE = "Safe: running nodes stay as they are."
_NOTICES = {
    "skipped": "Something could not be judged.",
    "unreadable": "A file could not be read.",
    "refused-fix": "A fix was left out because it would have broken the file.",
    "fault": "A rule failed: what it would have found is not known.",
}
_UNREAD_RULE = {
    "id": "unreadable",
    "shortDescription": {"text": _NOTICES["unreadable"]},
    "fullDescription": {"text": "Nothing in the file, or in what it renders, was judged."},
    "defaultConfiguration": {"level": "error"},
}
_LONGEST = 1000
"""The most characters of a rule's full description. GitHub shows no more."""


def render(report: Report, run: Run) -> str:
    """Return a log with one run. Its notifications are gaps, unreadable files, refused fixes and faults."""
    rules = sorted({result.rule.name: result.rule for result in report.results}.values(), key=lambda r: r.name)
    index = {rule.name: number for number, rule in enumerate(rules)}
    known_fingerprints = fingerprints(report.issues, run.root)
    pairs = zip(report.issues, known_fingerprints, strict=True)
    unread = _list_unread(report, run, len(rules))
    log = {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "nodelint",
                        "version": __version__,
                        "semanticVersion": __version__,
                        **({"informationUri": project.HOME} if project.HOME else {}),
                        "rules": [*map(_rule, rules), *([_UNREAD_RULE] if unread else [])],
                        "notifications": [{"id": i, "shortDescription": {"text": t}} for i, t in _NOTICES.items()],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "newlineSequences": ["\r\n", "\n", "\r"],
                "originalUriBaseIds": {_ROOT: {"description": {"text": "The folder that was checked from."}}},
                "invocations": [
                    {
                        "executionSuccessful": not report.faults and not run.unreadable,
                        "toolExecutionNotifications": _notices(report, run, index),
                    }
                ],
                "results": [
                    *(_result(result, mark, index[result.rule.name], run.root) for result, mark in pairs),
                    *unread,
                ],
            }
        ],
    }
    return escaped_json(writable(json.dumps(log, indent=2, ensure_ascii=False) + "\n"))


def _rule(rule: Rule) -> dict[str, Any]:
    page = rule.page.strip()
    prose = page.partition("\n")[2].partition("```")[0].strip()
    while len(prose) > _LONGEST and "\n\n" in prose:
        prose = prose.rpartition("\n\n")[0]
    address = rule_page(rule)
    return {
        "id": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": (prose or rule.summary)[:_LONGEST]},
        "help": {"text": page, "markdown": page},
        **({"helpUri": address} if address else {}),
        "defaultConfiguration": {"level": _level(rule.severity)},
        "properties": {"tags": ["aws", "karpenter", "kubernetes"], "problem.severity": _problem(rule.severity)},
    }


def _result(result: Result, fingerprint: str, index: int, root: str) -> dict[str, Any]:
    finding = result.finding
    message = "\n".join((result.message, *finding.advice))
    value: dict[str, Any] = {
        "ruleId": result.rule.name,
        "ruleIndex": index,
        "level": _level(result.severity),
        "message": _message(message),
        "locations": [_location(result.span, root, result.named_object)],
    }
    if finding.also:
        value["relatedLocations"] = [
            {"id": number, **_location(also.span, root), "message": _message(also.message)}
            for number, also in enumerate(finding.also, 1)
        ]
    value["partialFingerprints"] = {NAME: fingerprint}
    offered = [(suggestion.name, suggestion.edits) for suggestion in finding.suggestions]
    if finding.edits:
        text = _SAFE if result.safety == "safe" else f"Unsafe: {describe_unsafe_fix(result)}."
        offered.insert(0, (text, finding.edits))
    if offered:
        value["fixes"] = [
            {"description": {"text": text}, "artifactChanges": _changes(edits, root)} for text, edits in offered
        ]
    return value


def _list_unread(report: Report, run: Run, index: int) -> list[dict[str, Any]]:
    """Return a result for each place that could not be read: code scanning shows no notifications.

    A file in which a rule found an error, such as a syntax error, has a result already.
    """
    have = {relative(result.span.source.path, run.root) for result in report.issues if result.severity == "error"}
    found = []
    for path, why in run.unreadable:
        file, line = unread_place(path)
        if relative(file, run.root) in have:
            continue
        at = {"artifactLocation": _artifact(file, run.root), "region": {"startLine": line or 1}}
        value = {
            "ruleId": "unreadable",
            "ruleIndex": index,
            "level": "error",
            "message": _message(unread_message(why)),
        }
        marks = {NAME: f"unreadable {relative(file, run.root)}"}
        found.append({**value, "locations": [{"physicalLocation": at}], "partialFingerprints": marks})
    return found


def _changes(edits: Sequence[Edit], root: str) -> list[dict[str, Any]]:
    return [
        {"artifactLocation": _artifact(group[0].source.path, root), "replacements": [_replacement(e) for e in group]}
        for group in by_source(edits)
    ]


def _replacement(edit: Edit) -> dict[str, Any]:
    unseen = edit.source.text.startswith("\ufeff")  # a byte order mark counts nowhere
    start, end = max(edit.start - unseen, 0), max(edit.end - unseen, 0)
    value: dict[str, Any] = {"deletedRegion": {**_region(edit.span), "charOffset": start, "charLength": end - start}}
    if edit.text:
        value["insertedContent"] = {"text": edit.text}
    return value


def _location(span: Span, root: str, obj: Object | None = None) -> dict[str, Any]:
    value: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": _artifact(span.source.path, root), "region": _region(span)}
    }
    if obj is not None:
        value["logicalLocations"] = [_logical(obj)]
    return value


def _logical(obj: Object) -> dict[str, str]:
    value = {"kind": obj.kind, "fullyQualifiedName": printable(obj.label)}
    if isinstance(obj.name, str):
        value["name"] = printable(obj.name)
    return value


def _region(span: Span) -> dict[str, int]:
    start, end = span.source.position(span.start), span.source.position(span.end)
    return {"startLine": start.line, "startColumn": start.column, "endLine": end.line, "endColumn": end.column}


def _artifact(path: str, root: str) -> dict[str, Any]:
    if path == "-":
        return {"uri": "stdin", "uriBaseId": _ROOT, "description": {"text": "standard input"}}
    seen = relative(path, root)
    if not seen.startswith("../") and not os.path.isabs(seen):
        return {"uri": quote(os.fsencode(seen)), "uriBaseId": _ROOT}
    whole = os.path.abspath(path).replace(os.sep, "/")
    return {"uri": f"file:///{quote(os.fsencode(whole.lstrip('/')), safe='/:')}"}


def _notices(report: Report, run: Run, index: dict[str, int]) -> list[dict[str, Any]]:
    notices = [_skip(skip, run.root, index) for skip in report.skipped]
    for path, why in run.unreadable:
        place = [_whole_file(unread_place(path)[0], run.root)]
        notices.append(_notice("unreadable", "error", f"{path}: {why}", place))
    for result, why in run.refused:
        place = [_location(result.span, run.root, result.named_object)]
        notices.append(_notice("refused-fix", "warning", why, place, result.rule.name, index))
    return notices + [_notice("fault", "error", fault) for fault in report.faults]


def _skip(skip: Gap, root: str, index: dict[str, int]) -> dict[str, Any]:
    if skip.object is not None:
        place = [_location(span_of(skip.object.name_node), root, skip.object)]
    else:
        place = [_whole_file(skip.path, root)] if skip.path else []
    return _notice("skipped", "note", skip.reason, place, skip.rule, index)


def _notice(
    name: str,
    level: str,
    text: str,
    locations: Sequence[dict[str, Any]] = (),
    rule: str | None = None,
    index: dict[str, int] | None = None,
) -> dict[str, Any]:
    number = list(_NOTICES).index(name)
    value: dict[str, Any] = {"descriptor": {"id": name, "index": number}, "level": level, "message": _message(text)}
    if locations:
        value["locations"] = list(locations)
    if rule is not None:
        value["associatedRule"] = {"id": rule}
        if index and rule in index:
            value["associatedRule"]["index"] = index[rule]
    return value


def _whole_file(path: str, root: str) -> dict[str, Any]:
    return {"physicalLocation": {"artifactLocation": _artifact(path, root)}}


def _message(text: str) -> dict[str, str]:
    # Braces stand for arguments in messages, unless they are doubled.
    return {"text": printable_lines(text).replace("{", "{{").replace("}", "}}")}


def _level(severity: Severity) -> str:
    return _LEVELS[severity]


def _problem(severity: Severity) -> str:
    return "recommendation" if severity == "info" else severity
