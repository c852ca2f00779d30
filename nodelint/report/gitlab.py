"""Findings as GitLab's Code Quality report, which a merge request shows next to the lines.

The fields are described at https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format. The format
has no place for gaps; the text report lists them.
"""

from __future__ import annotations

import json
from typing import Any

from nodelint.base.printable import escaped_json, printable, writable
from nodelint.lint.engine import Report, Result
from nodelint.lint.fingerprints import fingerprints
from nodelint.report.run_info import Run, lines_of, shown_path, unread_message, unread_place

_SEVERITIES = {"error": "critical", "warning": "major", "info": "info"}


def render(report: Report, run: Run) -> str:
    """Return a JSON list with one entry for each finding and each file that could not be read."""
    known_fingerprints = fingerprints(report.issues, run.root)
    rows = [
        _row(result, fingerprint, run) for result, fingerprint in zip(report.issues, known_fingerprints, strict=True)
    ]
    for path, why in run.unreadable:
        file, line = unread_place(path)
        shown, line = shown_path(file, run.root), line or 1
        rows.append(
            {
                "description": printable(unread_message(why)),
                "check_name": "unreadable",
                "fingerprint": f"unreadable {shown}",
                "severity": "critical",
                "location": {"path": shown, "lines": {"begin": line, "end": line}},
            }
        )
    return escaped_json(writable(json.dumps(rows, indent=2, ensure_ascii=False) + "\n"))


def _row(result: Result, fingerprint: str, run: Run) -> dict[str, Any]:
    first, last = lines_of(result.span)
    advice = "".join(f" ({advice})" for advice in result.finding.whole_advice)
    return {
        "description": printable(f"{result.message}{advice}"),
        "check_name": result.rule.name,
        "fingerprint": fingerprint,
        "severity": _SEVERITIES[result.severity],
        "location": {
            "path": shown_path(result.span.source.path, run.root),
            "lines": {"begin": first, "end": last},
        },
    }
