"""Findings as workflow commands, which GitHub Actions shows as annotations on the lines of a pull request.

The format is that of the runner (actions/runner, src/Runner.Common/ActionCommand.cs). GitHub shows ten annotations of
each level for a step, so the most severe come first.
"""

from __future__ import annotations

from nodelint.base.printable import printable, screened, writable
from nodelint.lint.engine import Report, Result
from nodelint.model.finding import SEVERITIES, Span
from nodelint.report.run_info import (
    Run,
    headline,
    lines_of,
    shown_path,
    skip_text,
    skips,
    unread_message,
    unread_place,
)
from nodelint.report.text import place

_LEVELS = {"error": "error", "warning": "warning", "info": "notice"}
_SHOWN = 10


def render(report: Report, run: Run) -> str:
    """Return one command in a line for each finding, then the gaps, and a summary that is no command."""
    lines = [_unread(path, why, run) for path, why in run.unreadable]
    lines += [_command("error", printable(f)) for f in report.faults]
    ranked = sorted(report.issues, key=lambda result: SEVERITIES.index(result.severity))
    lines += [_finding(result, run) for result in ranked]
    lines += [
        _plain(f"The fix of {r.rule.name} at {_place_text(r.span, run)} was left out: {why}.")
        for r, why in run.refused
    ]
    lines += [_plain(f"Skipped: {skip_text(skip)}.") for skip in skips(report.skipped, run.root)]
    more = ""
    if any(report.number_of(severity) > _SHOWN for severity in SEVERITIES):
        more = f" GitHub shows {_SHOWN} annotations of each level; all are in this log."
    fixed = f" Fixed {len(run.applied):,}." if run.applied else ""
    lines.append(_plain(f"nodelint: {headline(report, run.files, run.unread)}.{fixed}{more}"))
    return screened(writable("\n".join(lines) + "\n"), commands=True)


def _unread(path: str, why: str, run: Run) -> str:
    file, line = unread_place(path)
    where = _file(file, run)
    if where and line is not None:
        where |= {"line": str(line)}
    return _command("error", printable(unread_message(why)), **where)


def _finding(result: Result, run: Run) -> str:
    span, finding = result.span, result.finding
    parts = [result.message, *finding.whole_advice]
    parts += (f"also {_place_text(also.span, run)}: {also.message}" for also in finding.also)
    where = _place(span, run)
    if not where:
        parts[0] = f"{_place_text(span, run)}: {parts[0]}"
    message = "\n".join(map(printable, parts))
    return _command(_LEVELS[result.severity], message, **where, title=f"nodelint {result.rule.name}")


def _place_text(span: Span, run: Run) -> str:
    return place(span, _file(span.source.path, run).get("file", ""))


def _place(span: Span, run: Run) -> dict[str, str]:
    """Return file, lines and columns as properties; empty for standard input, because GitHub has no lines for it."""
    where = _file(span.source.path, run)
    if not where:
        return {}
    first, last = lines_of(span)
    where |= {"line": str(first), "endLine": str(last)}
    if first == last:  # the runner drops columns of what spans lines
        start, end = span.source.position(span.start), span.source.position(span.end)
        where["col"] = str(start.column)
        where["endColumn"] = str(end.column if end.line == first else start.column)
    return where


def _file(path: str, run: Run) -> dict[str, str]:
    return {} if path == "-" else {"file": shown_path(path, run.root)}


def _command(level: str, message: str, **properties: str) -> str:
    written = ",".join(f"{name}={_escaped(value, ':', ',')}" for name, value in properties.items())
    return f"::{level}{' ' if written else ''}{written}::{_escaped(message)}"


def _escaped(text: str, *more: str) -> str:
    for character in ("%", "\r", "\n", *more):
        text = text.replace(character, f"%{ord(character):02X}")
    return text


def _plain(text: str) -> str:
    # The runner still knows an older form of commands, which may begin anywhere in a line.
    return printable(text).replace("##[", "## [")
