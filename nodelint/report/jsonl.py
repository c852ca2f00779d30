"""Findings and objects as lines of JSON, for a database over many repositories.

A record is a `finding`, an `object` with the release for which it is judged, or a `run`. Each names the repository
and the commit, from the variables NODELINT_REPOSITORY and NODELINT_COMMIT, else from those of GitHub Actions, GitLab,
Bitbucket or Buildkite.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from nodelint.base.printable import escaped_json, writable
from nodelint.lint.engine import Report, Result
from nodelint.lint.fingerprints import fingerprints
from nodelint.model.finding import find_object_place
from nodelint.model.manifest import Object
from nodelint.report.run_info import Run, lines_of, shown_path

VERSION = 1
_REPOSITORY = (
    *("NODELINT_REPOSITORY", "GITHUB_REPOSITORY", "CI_PROJECT_PATH", "BITBUCKET_REPO_FULL_NAME"),
    "BUILDKITE_PIPELINE_SLUG",
)
_COMMIT = ("NODELINT_COMMIT", "GITHUB_SHA", "CI_COMMIT_SHA", "BITBUCKET_COMMIT", "BUILDKITE_COMMIT")


def render(report: Report, run: Run) -> str:
    """Return the JSON lines of a run, its objects and its findings; paths are relative to the repository."""
    lines = (json.dumps(record, ensure_ascii=False) for record in _records(report, run))
    return escaped_json(writable("".join(f"{line}\n" for line in lines)))


def _records(report: Report, run: Run) -> Iterator[dict[str, Any]]:
    where = {"version": VERSION, "repository": _read_variable(_REPOSITORY), "commit": _read_variable(_COMMIT)}
    counts = {f"{severity}s": report.number_of(severity) for severity in ("error", "warning", "info")}
    unreadable = [shown_path(path, run.root) for path, _ in run.unreadable]
    files = {"files": run.files, "objects": len(report.objects), "unreadable": unreadable}
    yield {"record": "run", **where, **files, **counts}
    for obj in report.objects:
        yield {"record": "object", **where, **_describe_object(obj, run), **_find_target(obj, report)}
    known_fingerprints = fingerprints(report.places, run.root)
    for result, fingerprint in zip(report.places, known_fingerprints, strict=True):
        yield {"record": "finding", **where, **_describe_finding(result, report, run), "fingerprint": fingerprint}


def _read_variable(variables: tuple[str, ...]) -> str | None:
    return next((value for name in variables if (value := os.environ.get(name))), None)


def _describe_object(obj: Object, run: Run) -> dict[str, Any]:
    plain = obj.source.built is None
    path, line = (obj.source.path, obj.source.position(obj.node.start).line) if plain else find_object_place(obj)
    name = obj.name if isinstance(obj.name, str) else None
    return {
        "kind": obj.kind,
        "name": name,
        "apiVersion": obj.api_version,
        "path": shown_path(path, run.root),
        "line": line,
    }


def _find_target(obj: Object | None, report: Report) -> dict[str, Any]:
    """Return the newest release for which an object is judged, and the line that states the release."""
    target = report.target
    chosen = target.choose(obj) if obj is not None and target.choose is not None else None
    if chosen is None or isinstance(chosen, str) or not chosen:
        kubernetes = str(target.kubernetes) if target.kubernetes is not None else None
        return {"karpenter": str(target.karpenter), "kubernetes": kubernetes, "stated": None}
    newest = max(chosen, key=lambda choice: choice.karpenter.last)
    evidence = newest.karpenter_from
    return {
        "karpenter": str(newest.karpenter.last),
        "kubernetes": str(newest.kubernetes) if newest.kubernetes is not None else None,
        "stated": evidence.place if evidence is not None else None,
    }


def _describe_finding(result: Result, report: Report, run: Run) -> dict[str, Any]:
    finding, obj, named = result.finding, result.object, result.named_object
    first, last = lines_of(result.span)
    return {
        "rule": result.rule.name,
        "group": result.rule.group,
        "subject": result.rule.subject or None,
        "severity": result.severity,
        "message": finding.message,
        "note": finding.note,
        "help": finding.help,
        "path": shown_path(result.span.source.path, run.root),
        "line": first,
        "endLine": last,
        "kind": obj.kind if obj is not None else None,
        "name": named.name if named is not None and isinstance(named.name, str) else None,
        "fix": result.safety if result.fixable else None,
        "suggestions": [suggestion.name for suggestion in finding.suggestions],
        **_find_target(obj, report),
    }
