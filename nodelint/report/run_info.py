"""Information about a run for all formats, and its summary."""

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
    """The snapshot of a run: file, region, hashed account, and the times of its oldest and newest answer."""

    path: str | None
    region: str
    account: str | None
    since: str
    until: str


class Basis(NamedTuple):
    """The source and date of the instance types of a run; `types` is their number."""

    origin: str
    date: str
    types: int
    snapshot: SnapshotSummary | None = None


class Run(NamedTuple):
    """The data of a run that are not in its report.

    `files` is the number of examined files, `facts` the basis of the findings. `unreadable` are paths with reasons,
    `applied` and `refused` the results of fixing. `root` is the folder for relative paths (default: the working
    folder); for tools that show findings in a repository, it must be the repository's. `older` are findings for an
    older release. `unread` are files that may contain objects and were not read. `repository` is the path of the
    enclosing repository if workloads outside of the run were not compared. `time` and `commit` are set for a report
    that is kept, else empty. `decisions` are the decisions not to report findings; None if the format lists none.
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
    """Objects or files that were not judged, with the rules that did not judge them (empty: all) and the reason."""

    reason: str
    rules: tuple[str, ...]
    places: tuple[str, ...]


def shown_path(path: str, root: str) -> str:
    """Return a path for a reader: `stdin` for standard input, an absolute path if it is outside of the folder."""
    if path == "-":
        return "stdin"
    # Loads OpenSSL; the text format, which asks for no such path, should not wait for it.
    from nodelint.lint.fingerprints import relative

    seen = relative(path, root)
    return os.path.abspath(path).replace(os.sep, "/") if seen.startswith("../") else seen


def unread_place(path: str) -> tuple[str, int | None]:
    """Return path and line of a place that could not be read. None if no line is known."""
    file, _, line = path.rpartition(":")
    return (file, int(line)) if file and line.isdigit() else (path, None)


def unread_message(why: str) -> str:
    """Return the message for a place that could not be read; `why` says that it was not read, or only why."""
    return why if why.startswith(("cannot ", "not ")) else f"not read: {why}"


def lines_of(span: Span) -> tuple[int, int]:
    """Return the first and the last line of a span, counted from 1."""
    source = span.source
    return source.position(span.start).line, source.position(max(span.start, span.end - 1)).line


def scope(report: Report, files: int) -> str:
    """Return the number of judged objects and the releases: `3 objects in 2 files, for Karpenter 1.14.1`."""
    return f"{objects_text(report)} in {counted(files, 'file')}, for {versions_text(report)}"


def headline(report: Report, files: int, unread: Sequence[UnreadGroup] = ()) -> str:
    """Return the result of a run in one sentence."""
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
    unjudged = unjudged_text(report, cover(report), unread)
    clear = say_all_clear("check", report.unbuilt, unjudged)
    return f"{clear[0].lower()}{clear[1:]}: {scope(report, files)}"


def skips(skipped: Sequence[Gap], root: str) -> list[Skips]:
    """Return the gaps by reason, in the order of the report."""
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
    """Return a reason with its first three places."""
    places = list_first(skip.places, 3)
    what = f" ({', '.join(skip.rules)})" if skip.rules else ""
    return f"{places}: {skip.reason}{what}" if places else f"{skip.reason}{what}"
