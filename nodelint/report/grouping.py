"""Group findings with one cause, so that a report shows them once with all their places."""

from __future__ import annotations

from collections.abc import Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.lint.results import OccupiedSpans, Result
from nodelint.model.finding import Edit, Span
from nodelint.model.messages import counted

Line = tuple[Result, ...]
"""The findings of one rule for values of one line: mostly a single finding."""


class FindingGroup(NamedTuple):
    """Findings with one cause. `lines` are in the order of the report; the first one is shown."""

    lines: tuple[Line, ...]

    @property
    def first_line(self) -> Line:
        return self.lines[0]

    @property
    def results(self) -> list[Result]:
        return [result for line in self.lines for result in line]

    @property
    def extent(self) -> str:
        """Return `in 24 objects of 13 files`; empty if there is only one place."""
        if len(self.lines) == 1:
            return ""
        paths = {result.span.source.path for result in self.results}
        objects = {id(result.object) for result in self.results if result.object is not None}
        what = counted(len(objects), "object") if len(objects) > 1 else counted(len(self.lines), "place")
        return f"in {what}" + (f" of {counted(len(paths), 'file')}" if len(paths) > 1 else "")

    def places(self) -> dict[str, list[Result]]:
        """Return the findings of the places after the first one, by file."""
        found: dict[str, list[Result]] = {}
        for line in self.lines[1:]:
            for result in line:
                found.setdefault(result.span.source.path, []).append(result)
        return found


def entries(results: Sequence[Result]) -> list[FindingGroup]:
    """Return the findings grouped by cause, in the order in which the causes occur.

    A cause is one rule, severity, message and note; without a fix, also one help and one reason why the fix is
    withheld.
    """
    found: dict[tuple[object, ...], list[Line]] = {}
    for line in _lines(results):
        first = line[0]
        finding = first.finding
        what = None if finding.edits else (finding.help, finding.withheld and finding.withheld.text)
        key = (first.rule.name, first.severity, finding.note, what, *(result.message for result in line))
        found.setdefault(key, []).append(line)
    return [FindingGroup(tuple(lines)) for lines in found.values()]


def _lines(results: Sequence[Result]) -> list[Line]:
    """Return groups of consecutive findings of one rule on one line that have no other places."""
    lines: list[list[Result]] = []
    fixes: _LineFixes | None = None
    for result in results:
        if lines and _alike(lines[-1][-1], result):
            fixes = fixes or _LineFixes(lines[-1])
            if fixes.take(result):
                lines[-1].append(result)
                continue
        lines.append([result])
        fixes = None
    return [tuple(line) for line in lines]


class _LineFixes:
    """The edits of findings that are reported together and can be applied together. Equal edits count once."""

    def __init__(self, line: Sequence[Result]) -> None:
        self._edits: set[Edit] = set()
        self._taken = OccupiedSpans()
        for result in line:
            self.take(result)

    def take(self, result: Result) -> bool:
        """Add the edits of a finding and return True.

        If an edit touches one that was added before, add nothing and return False.
        """
        new = [edit for edit in result.finding.edits if edit not in self._edits]
        if any(self._taken.touches(edit.span) for edit in new):
            return False
        self._taken.add(edit.span for edit in new)
        self._edits.update(new)
        return True


def _alike(result: Result, other: Result) -> bool:
    if result.rule.name != other.rule.name:
        return False
    span, next_span = result.span, other.span
    return (
        span.source is next_span.source
        and _on_one_line(span, next_span)
        and result.finding.advice == other.finding.advice
        and not result.finding.suggestions
        and not other.finding.suggestions
        and (result.severity, result.fixable, result.safety) == (other.severity, other.fixable, other.safety)
        and not result.finding.also
        and not other.finding.also
    )


def _on_one_line(span: Span, other: Span) -> bool:
    """Return whether the span `other` is after `span` in the same text and begins on the same line."""
    source = span.source
    if other.start < span.end or source.text.find("\n", span.start, other.start) >= 0:
        return False
    return source.position(span.start).line == source.position(other.start).line
