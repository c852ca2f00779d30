"""Findings as diagnostics."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cache

from lsprotocol import types
from pygls.uris import from_fs_path

from nodelint.base import project
from nodelint.base.printable import printable
from nodelint.data import shipped
from nodelint.lint.engine import Result
from nodelint.lint.fingerprints import fingerprints
from nodelint.lsp.buffers import Buffer
from nodelint.lsp.view import View
from nodelint.model.finding import SEVERITIES, Severity, Span
from nodelint.model.gap import Gap

SOURCE = "nodelint"

MOST = 1_000
"""The most diagnostics that are published for a text. VS Code shows no more, and each is sent again after
every edit.
"""

_SEVERITIES: dict[Severity, types.DiagnosticSeverity] = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "info": types.DiagnosticSeverity.Information,
}


def uri_of(path: str) -> str:
    """Return the URI of a file; an untitled text's path is its URI."""
    if path.startswith("untitled:"):
        return path
    return from_fs_path(os.path.abspath(path)) or path


def diagnostics(view: View, buffer: Buffer) -> list[types.Diagnostic]:
    """Return the diagnostics of one text.

    If there are too many, return the most severe, and one with the number of the others.
    """
    found = list(_with_fingerprints(view, buffer))
    more = found[MOST:]
    if more:
        found.sort(key=lambda pair: SEVERITIES.index(pair[0].severity))
        found, more = found[:MOST], found[MOST:]
    diagnostics = [_diagnostic(view, buffer, result, fingerprint) for result, fingerprint in found]
    diagnostics += [_gap_diagnostic(buffer, gap) for gap in view.gaps(buffer)]
    return [*diagnostics, _more_findings_diagnostic(buffer, [result for result, _ in more])] if more else diagnostics


def _with_fingerprints(view: View, buffer: Buffer) -> Iterator[tuple[Result, str]]:
    """Yield the findings of a text in the order of their places, each with its fingerprint."""
    results = view.results(buffer)
    known_fingerprints = fingerprints(results, view.home, view.known_fingerprints.setdefault(buffer.uri, {}))
    return zip(results, known_fingerprints, strict=True)


def _more_findings_diagnostic(buffer: Buffer, left: Sequence[Result]) -> types.Diagnostic:
    """Return a diagnostic that counts the findings that are not shown, at the first of their places."""
    start = min(result.span.start for result in left)
    place = buffer.lines.range(start, buffer.lines.end_of_line_at(start))
    message = f"{len(left):,} more findings are not shown; `nodelint check` lists them all"
    return types.Diagnostic(place, message, types.DiagnosticSeverity.Information, source=SOURCE)


def _gap_diagnostic(buffer: Buffer, gap: Gap) -> types.Diagnostic:
    """Return a diagnostic for a part of a text that is not judged, on the line that causes this."""
    at = gap.object.name_node if gap.object is not None and gap.object.source is buffer.source else None
    start = at.start if at is not None else buffer.source.start_of_line(gap.line)
    place = buffer.lines.range(start, buffer.lines.end_of_line_at(start))
    message = f"not judged: {printable(gap.sentence)}"
    severity = types.DiagnosticSeverity.Error if gap.fails else types.DiagnosticSeverity.Information
    return types.Diagnostic(place, message, severity, code="not-judged", source=SOURCE)


def placed(
    view: View, buffer: Buffer, start: int = 0, end: int | None = None
) -> Iterator[tuple[Result, types.Diagnostic]]:
    """Yield each finding of a text, or of a range of the text, with its diagnostic."""
    for result, fingerprint in _with_fingerprints(view, buffer):
        at = result.finding.at
        if start <= at.end and (end is None or at.start <= end):
            yield result, _diagnostic(view, buffer, result, fingerprint)


@cache
def _find_page(rule: str) -> str | None:
    """Return the address of a rule's page: on the project's site, else in the installed files.

    None for a user's own rule, which has no page.
    """
    file = os.path.join(shipped("docs/rules"), f"{rule}.md")
    if not os.path.isfile(file):
        return None
    return project.page(f"docs/rules/{rule}.md") or uri_of(file)


def _diagnostic(view: View, buffer: Buffer, result: Result, fingerprint: str) -> types.Diagnostic:
    finding, span, address = result.finding, result.span, _find_page(result.rule.name)
    # Of what goes over many lines the first says where to look; the rest would be a wall of red.
    end = min(span.end, buffer.lines.end_of_line_at(span.start))
    text = "\n".join(map(printable, (result.message, *finding.advice)))
    data = {"fingerprint": fingerprint, "fix": result.safety if result.fixable else None}
    return types.Diagnostic(
        range=buffer.lines.range(span.start, max(span.start, end)),
        message=text,
        severity=_SEVERITIES[result.severity],
        code=result.rule.name,
        code_description=types.CodeDescription(address) if address else None,
        source=SOURCE,
        related_information=[
            types.DiagnosticRelatedInformation(location(view, buffer.encoding, also.span), printable(also.message))
            for also in finding.also
        ]
        or None,
        data=data,
    )


def location(view: View, encoding: str, span: Span) -> types.Location:
    """Return the location of a span, in an open text or in a file."""
    opened = view.buffer_of(span.source)
    lines = view.lines_of(span.source, encoding)
    uri = opened.uri if opened is not None else uri_of(span.source.path)
    return types.Location(uri, lines.range(span.start, span.end))


def of_trouble(trouble: Gap) -> types.Diagnostic:
    """Return a diagnostic for a configuration file that is not valid."""
    _, line, column = trouble.file_place
    start, end = types.Position(line - 1, column - 1), types.Position(line - 1, column)
    severity = types.DiagnosticSeverity.Error
    return types.Diagnostic(types.Range(start, end), trouble.reason, severity, code="configuration", source=SOURCE)
