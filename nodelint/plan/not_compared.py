"""Places that `check` cannot judge on either side of a change, as places that a plan did not compare."""

from __future__ import annotations

import os

from nodelint.base.types import TYPE_CHECKING
from nodelint.files import safe_read
from nodelint.files.file_kinds import may_hold_objects
from nodelint.files.gate import gate
from nodelint.forms.lib.chart_places import CHART
from nodelint.forms.lib.variable_inputs import may_be_script
from nodelint.forms.registry import TABLE
from nodelint.inventory.gaps import list_gaps
from nodelint.inventory.remote_values import NOT_TAKEN
from nodelint.lint.unjudged import list_unjudged
from nodelint.model.finding import Span, span_of
from nodelint.model.folders import path_below
from nodelint.model.gap import CHART_ELSEWHERE, NOT_AS_VALUES, Gap
from nodelint.plan.changed_gaps import read_text
from nodelint.plan.uncompared import uncompared
from nodelint.plan.values_elsewhere import list_unread_releases
from nodelint.text import Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nodelint.lint.engine import Report, Result
    from nodelint.model.gap import Gap
    from nodelint.plan import UnreadFiles
    from nodelint.plan.read_side import Read


def unread_places(
    reports: tuple[Report, Report], sides: tuple[Read, Read], known: Sequence[Gap], unread: UnreadFiles
) -> Iterator[Gap]:
    """Yield the objects and documents that at least one side could not judge. They count as changed if their files
    differ.

    `known` are the places that the plan reports already, `unread` the files that differ and could not be read.
    """
    named_files = {span_of(place.at).source.path for place in known}
    for gap in unread.files:
        if gap.at.source.path not in named_files:
            named_files.add(gap.at.source.path)
            yield uncompared(gap.at, gap.subject, gap.reason, True)
    yield from _list_gaps(sides)
    gap_places = {(gap.path, gap.reason) for side in sides for gap in _list_limits(side)}
    whole = {gap.subject for gap in unread.files}
    files = [_by_place(side) for side in sides]
    unjudged = [list(list_unjudged(report)) for report in reports]
    stated = [_group_reasons(rows, side) for rows, side in zip(unjudged, sides, strict=True)]
    named = {place.subject.replace(" ", "/") for place in known}
    lines = {(gap.at.source.text, gap.line) for gap in unread.files}
    seen: set[tuple[str, str, str]] = set()
    for number in (1, 0):
        mine, others = files[number], files[1 - number]
        by_path = {source.path: place for place, source in mine.items()}
        root = os.path.join(sides[number].root, "")
        compared = (
            _list_compared_lines(sides[number], sides[1 - number])
            if any(row[0].endswith(TABLE.endings) for row in unjudged[number])
            else ()
        )
        for path, line, label, message in unjudged[number]:
            if (path, message) in gap_places or (path, line) in compared:
                continue
            reason = message.replace(root, "")  # the user does not know the temporary folder of a revision
            place = by_path.get(path)
            if place is None or place in whole or (place, label, reason) in seen or label in named:
                continue
            seen.add((place, label, reason))
            source, other = mine[place], others.get(place)
            if (source.text, line) in lines:
                continue
            at = _span_of_line(source, line)
            # The commands of a script are compared with the lines on which they depend.
            differs = other is None or (other.text != source.text and not may_be_script(place))
            differs = differs or _has_other_chart(sides, place, reason)
            # With the same text, another file may make the gap matter more on one side.
            matters = any(_extends(reason, was) for was in stated[1 - number].get((place, label), ()))
            yield uncompared(at, label or source.path, reason, differs or matters)


def _has_other_chart(sides: tuple[Read, Read], place: str, reason: str) -> bool:
    """Return whether values that no template is filled with lie in a chart whose other files differ: its objects of
    other kinds may become pools and classes.
    """
    if not reason.endswith(NOT_TAKEN):
        return False
    chart = os.path.dirname(place)
    while chart and not gate.is_file(os.path.join(sides[1].root, chart, CHART)):
        chart = os.path.dirname(chart)
    return bool(chart) and _read_chart(sides[0], chart) != _read_chart(sides[1], chart)


def _read_chart(side: Read, chart: str) -> dict[str, str | None]:
    """Return the texts of the templates of a chart, and of its own values, by their path below the side's root."""
    found = {name: read_text(side, name) for name in (os.path.join(chart, "values.yaml"),)}
    for folder, _, names in gate.walk(os.path.join(side.root, chart, "templates")):
        for place in (path_below(os.path.join(folder, name), side.root) for name in names):
            if place.endswith((".yaml", ".yml", ".tpl", ".json")):
                found[place] = read_text(side, place)
    return found


def _extends(reason: str, other: str) -> bool:
    """Return whether one of two reasons says more than the other."""
    return reason != other and (reason.startswith(other) or other.startswith(reason))


def _group_reasons(rows: Sequence[tuple[str, int, str, str]], side: Read) -> dict[tuple[str, str], set[str]]:
    """Return the reasons of what is not judged, by the path below the side's root and the name of the object."""
    found: dict[tuple[str, str], set[str]] = {}
    for path, _, label, message in rows:
        reason = message.replace(os.path.join(side.root, ""), "")
        found.setdefault((path_below(path, side.root), label), set()).add(reason)
    return found


def _list_compared_lines(side: Read, other: Read) -> set[tuple[str, int]]:
    """Return the lines of Helm releases whose values are not read, but that are compared by all their inputs.

    Releases of a chart that only one side has are not compared.
    """
    found = set()
    charts = list_unread_releases(other)
    for chart, releases in list_unread_releases(side).items():
        for at in (release.at for release in releases if chart in charts):
            first, last = (at.source.position(offset).line for offset in (at.start, at.end))
            found |= {(at.source.path, line) for line in range(first, last + 1)}
    return found


def _list_gaps(sides: tuple[Read, Read]) -> Iterator[Gap]:
    """Yield the files that limits exclude on either side. They count as changed if any file differs, because the
    excluded content may differ.
    """
    gaps = {
        (path_below(gap.path, side.root), gap.reason): (side, gap) for side in sides for gap in _list_limits(side)
    }
    differ = any(not reason.startswith(NOT_AS_VALUES) for _, reason in gaps) and _differ(sides)
    for (below, reason), (side, gap) in gaps.items():
        shown = os.path.relpath(os.path.join(side.above or side.root, below)).replace(os.sep, "/")
        source = _by_place(side).get(below) or Source(shown, "")
        is_of_file = reason.startswith(NOT_AS_VALUES)
        changed = read_text(sides[0], below) != read_text(sides[1], below) if is_of_file else differ
        yield uncompared(_span_of_line(source, gap.line), below, reason, changed)


def list_one_sided(sides: tuple[Read, Read], known: Sequence[Gap]) -> Iterator[Gap]:
    """Yield the gaps that only one side has, in files that `known` does not report."""
    named = {span_of(gap.at).source.path for gap in known}
    keyed = [
        {(path_below(gap.path, side.root), gap.reason.replace(os.path.join(side.root, ""), "")): gap for gap in gaps}
        for side in sides
        for gaps in [[g for g in list_gaps(side.found, side.inventory) if g.object is None and g.decides]]
    ]
    for number in (1, 0):
        side, mine, others = sides[number], keyed[number], keyed[1 - number]
        sources = _by_place(side)
        compared = (
            _list_compared_lines(side, sides[1 - number])
            if any(place.endswith(TABLE.endings) for place, _ in mine)
            else ()
        )
        for (place, reason), gap in mine.items():
            if (gap.path, gap.line) in compared:
                continue
            shown = os.path.relpath(os.path.join(side.above or side.root, place)).replace(os.sep, "/")
            if (place, reason) in others or gap.fails or gap.reason == CHART_ELSEWHERE or named & {gap.path, shown}:
                continue
            source = sources.get(place) or Source(shown, "")
            yield uncompared(_span_of_line(source, max(gap.line, 1)), shown, reason, True)


def _list_limits(side: Read) -> list[Gap]:
    """Return the files of a side that limits exclude, or on which nodelint fails."""
    return [gap for gap in side.inventory.gaps if gap.what == "file" and gap.decides]


def _differ(sides: tuple[Read, Read]) -> bool:
    """Return whether any file that a rendering may use differs between the sides, or is on one side only."""
    contents: list[dict[str, bytes | str]] = []
    for side in sides:
        found: dict[str, bytes | str] = {}
        for folder, _, names in gate.walk(side.root):
            for path in (os.path.join(folder, name) for name in names):
                if not may_hold_objects(path):
                    continue
                try:
                    found[os.path.relpath(path, side.root)] = gate.read_listed(path)
                except OSError as error:
                    found[os.path.relpath(path, side.root)] = safe_read.error_reason(error)
        contents.append(found)
    return contents[0] != contents[1]


def comparable_results(report: Report, side: Read, unread: UnreadFiles) -> list[Result]:
    """Return the findings of a side, without those about files that the other side cannot read.

    A finding that a file cannot be read is kept.
    """
    paths = {gap.subject for gap in unread.files}.union(*unread.of_paths)

    def is_comparable(result: Result) -> bool:
        built = result.object.source.built if result.object is not None else None
        place = os.path.relpath(os.path.abspath(result.span.source.path), os.path.abspath(side.root))
        return "syntax" in result.rule.tags or (place not in paths and id(built) not in unread.of_builds)

    return [result for result in report.places if is_comparable(result)] if paths else report.places


def _by_place(side: Read) -> dict[str, Source]:
    """Return the files of a side by their path below its root."""
    return {path_below(source.path, side.root): source for source in side.found.sources}


def _span_of_line(source: Source, line: int) -> Span:
    start = source.start_of_line(line)
    return Span(source, start, start)
