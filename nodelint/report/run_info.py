"""Information about a run that all formats share, and its summary."""

from __future__ import annotations

import os
from collections.abc import Sequence

from nodelint.base.printable import printable
from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.lint.engine import Report, Result
from nodelint.model.finding import Span
from nodelint.model.gap import Gap
from nodelint.model.messages import counted, list_first
from nodelint.report.all_clear import PAIR, say_all_clear, say_nothing
from nodelint.report.coverage import cover
from nodelint.report.releases import broken_text, count_by_severity, judged, objects_text, versions_text
from nodelint.report.skipped import unjudged_text

if TYPE_CHECKING:
    from nodelint.inventory.unread_forms import UnreadGroup
    from nodelint.lint.older_release import Older
    from nodelint.report.decisions import Decisions


class SnapshotSummary(NamedTuple):
    """A snapshot behind a run: file, region, hashed account, and the times of its oldest and newest answer."""

    path: str | None
    region: str
    account: str | None
    since: str
    until: str


class Basis(NamedTuple):
    """Where the instance types came from and when, for the summary; `types` is their number."""

    origin: str
    date: str
    types: int
    snapshot: SnapshotSummary | None = None


class Run(NamedTuple):
    """What a report does not say of the run that made it.

    `files` were looked at, `facts` stand behind what was said, `unreadable` are paths with the reason, `applied` and
    `refused` what became of fixes. `root` is the folder that paths are seen from (default: the working folder); where
    a tool shows findings next to the lines of a repository, it must be the repository's. `older` is what an older
    release would find, `unread` what holds objects and was not read. `repository` is the path of the repository that
    the run is a part of, if workloads in the rest of it were not compared with the pools. `time` and `commit` are
    those of a run whose report is kept, else empty. `decisions` say what a report must not show; None if its format
    lists none.
    """

    files: int
    facts: Basis | None = None
    unreadable: Sequence[tuple[str, str]] = ()
    applied: Sequence[Result] = ()
    refused: Sequence[tuple[Result, str]] = ()
    root: str = ""
    older: Older | None = None
    unread: Sequence[UnreadGroup] = ()
    repository: str = ""
    time: str = ""
    commit: str = ""
    decisions: Decisions | None = None


class Skips(NamedTuple):
    """What was not judged for one reason: the rules (none: all of them) and the objects or files."""

    reason: str
    rules: tuple[str, ...]
    places: tuple[str, ...]


def shown_path(path: str, root: str) -> str:
    """Return a path for a reader: `stdin` for standard input, absolute where it lies outside of the folder."""
    if path == "-":
        return "stdin"
    # Loads OpenSSL; the text format, which asks for no such path, should not wait for it.
    from nodelint.lint.fingerprints import relative

    seen = relative(path, root)
    return os.path.abspath(path).replace(os.sep, "/") if seen.startswith("../") else seen


def lines_of(span: Span) -> tuple[int, int]:
    """Return the first and the last line of a span, counted from 1."""
    source = span.source
    return source.position(span.start).line, source.position(max(span.start, span.end - 1)).line


def scope(report: Report, files: int) -> str:
    """Return what was judged, and for which versions: `3 objects in 2 files, for Karpenter 1.14.1`."""
    return f"{objects_text(report)} in {counted(files, 'file')}, for {versions_text(report)}"


def headline(report: Report, files: int, unread: Sequence[UnreadGroup] = ()) -> str:
    """Return the outcome in one sentence."""
    counts = count_by_severity(report)
    if counts and (broken := broken_text(report)):
        return f"found {counts}: {broken}"
    if counts:
        return f"found {counts} in {scope(report, files)}"
    if not report.objects and not report.unjudged:
        nothing = say_nothing("check", PAIR, f"in {counted(files, 'file')}", unread)
        return f"{nothing[0].lower()}{nothing[1:]}"
    if not judged(report):
        return f"nothing judged: {objects_text(report)} in {counted(files, 'file')}"
    unjudged = unjudged_text(report, unread, cover(report).in_part)
    clear = say_all_clear("check", report.unbuilt, unjudged)
    return f"{clear[0].lower()}{clear[1:]}: {scope(report, files)}"


def skips(skipped: Sequence[Gap], root: str) -> list[Skips]:
    """Return what was not judged, by reason, in the order of the report."""
    groups: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for skip in skipped:
        rules, places = groups.setdefault(skip.reason, ({}, {}))
        if skip.rule:
            rules[skip.rule] = None
        label = printable(skip.object.label) if skip.object else ""
        where = printable(shown_path(skip.path, root)) if skip.path else ""
        if place := f"{label} ({where})" if label and where else label or where:
            places[place] = None
    return [Skips(printable(reason), tuple(rules), tuple(places)) for reason, (rules, places) in groups.items()]


def skip_text(skip: Skips) -> str:
    """One reason with the first three places that it kept from being judged."""
    places = list_first(skip.places, 3)
    what = f" ({', '.join(skip.rules)})" if skip.rules else ""
    return f"{places}: {skip.reason}{what}" if places else f"{skip.reason}{what}"
