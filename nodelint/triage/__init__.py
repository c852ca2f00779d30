"""A controller's log, sorted by cause: what will pass by itself, and what has to be put right.

`triage` reads lines one by one and keeps only groups, so that a log of any size fits. It knows the
release from the log itself where it can: every line holds the commit that the controller was built from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal

from nodelint.lint.engine import Report, Result
from nodelint.model.manifest import EC2NodeClass, NodePool, Object
from nodelint.model.releases import NEWEST, Version
from nodelint.triage.causes import (
    RELEASE_MESSAGE,
    START_TAKES,
    VERDICTS,
    Case,
    Cause,
    Start,
    Verdict,
    call_of,
    recognise,
    release_of,
    shape,
    starts,
    words_below_warning,
)
from nodelint.triage.logs import FAILURES, LogLine, Reader
from nodelint.triage.streams import NoLog, bounded
from nodelint.triage.times import written
from nodelint.tuples import NamedTuple

__all__ = ["LogGroup", "NoLog", "Release", "Triage", "bounded", "triage", "written"]

KINDS = ("NodePool", "EC2NodeClass", "NodeClaim", "Node", "Pod")
"""Kinds whose objects a line can be about, in the order in which they are shown."""

# Karpenter tries a failing object again after at most 1,000 seconds; two tries missed are no accident.
_SILENCE = 1800.0
_MOST_NAMES = 5000
_MOST_SHAPES = 300
_MOST_STREAMS = 1000
_MOST_EXAMPLE = 2000
_REMEMBERED = 4096


class Release(NamedTuple):
    """A release and how it is known: from the log, by the user's word (`given`), or not at all (`assumed`)."""

    version: Version
    source: Literal["log", "given", "assumed"]


class FirstLine(NamedTuple):
    """The first line of a group: its number in the log, from 1, and what it says."""

    line: int
    message: str
    error: str


class LogGroup(NamedTuple):
    """Lines that have one cause, and where that is a refused permission, one call.

    `cause` and `case` are None where the message is unknown; `title` is then its shape. `times` is the
    number of lines, at least: the controller itself drops repeats beyond 100 a second. `first` and `last`
    are in seconds since 1970. `names` are those of the objects concerned, by kind, and `more` says how
    many names were too many to keep. `over` says that the log goes on for long without it. `findings`
    are those of the cause's rules about the objects concerned. `lasting` says for how many seconds, up to
    its last line, something goes on that should have passed by then; 0 where that is not so.
    """

    cause: Cause | None
    case: Case | None
    title: str
    times: int
    first: float | None
    last: float | None
    over: bool
    names: Mapping[str, tuple[str, ...]]
    more: int
    releases: tuple[Version, ...]
    example: FirstLine
    findings: tuple[Result, ...] = ()
    not_judged: tuple[tuple[str, str], ...] = ()
    lasting: float = 0.0

    @property
    def verdict(self) -> Verdict:
        """Whether it stays until something is done, passes by itself, or neither can be told."""
        return self.case.verdict if self.case and not self.lasting else "unclear"

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules that look for it in the manifests; none where it passes, for they are not to blame."""
        return self.cause.rules if self.cause and self.verdict != "passes" else ()


class Triage(NamedTuple):
    """What a log has to say. `groups` are in the order of what matters: what stays first, what is over last.

    `lines` are all lines but blank ones, `read` those of the controller, `unread` those that nothing could
    be made of; `cut_first` and `cut_last` say that the first or last line is a piece of one. `shapes_dropped`
    counts the lines of unknown messages that were too many to keep apart.
    """

    groups: tuple[LogGroup, ...]
    releases: tuple[Release, ...]
    lines: int
    read: int
    unread: int
    cut_first: bool
    cut_last: bool
    first: float | None
    last: float | None
    shapes_dropped: int = 0

    @property
    def stays(self) -> bool:
        """Whether there is anything that does not pass by itself."""
        return any(group.verdict == "stays" for group in self.groups)

    @property
    def newest_release(self) -> Version:
        """The newest of the releases that wrote the log."""
        return max(release.version for release in self.releases)


def triage(lines: Iterable[bytes], release: Version | None = None) -> Triage:
    """Sort the failures of a log by cause.

    `release` stands for lines that do not tell theirs; None means the newest known. NoLog where no line
    is a Karpenter controller's.
    """
    reader, found = Reader(words_below_warning()), _Sorter(release)
    for entry in reader.entries(lines):
        found.take(entry)
    if not reader.lines:
        raise NoLog("is empty")
    if not reader.read:
        raise NoLog("holds no line of a Karpenter controller's log")
    groups = [group.done(reader.last) for group in found.groups.values()]
    groups.sort(key=lambda g: (VERDICTS.index(g.verdict), g.over, -g.times, g.example.line))
    return Triage(
        groups=tuple(groups),
        releases=found.releases(),
        lines=reader.lines,
        read=reader.read,
        unread=reader.unread,
        cut_first=reader.unread_first,
        cut_last=reader.unread_last,
        first=reader.first,
        last=reader.last,
        shapes_dropped=found.dropped,
    )


def with_findings(read: Triage, report: Report) -> Triage:
    """The same with what each cause's rules say of the objects that its lines concern.

    A line about a NodeClaim concerns the pool it is named after, one about a pool its class, and one
    about a class the pools that point to it. The report is best one for the log's own release.
    """
    classes: dict[str, set[str]] = {}
    for obj in report.objects:
        if isinstance(obj, NodePool) and isinstance(obj.name, str):
            ref = obj.class_ref
            classes.setdefault(obj.name, set()).update([ref.name] if ref and isinstance(ref.name, str) else [])
    groups = []
    for group in read.groups:
        pools, its_classes = _concerned(group, classes)

        def concerns(obj: Object, pools: set[str] = pools, its_classes: set[str] = its_classes) -> bool:
            names = pools if isinstance(obj, NodePool) else its_classes if isinstance(obj, EC2NodeClass) else ()
            return obj.name in names

        rules = group.rules if any(map(concerns, report.objects)) else ()
        found = [r for r in report.results if r.rule.name in rules and r.object and concerns(r.object)]
        skips = [s for s in report.skipped if s.rule in rules and (s.object is None or concerns(s.object))]
        not_judged = dict.fromkeys((s.rule, s.reason) for s in skips if s.rule)
        groups.append(group._replace(findings=tuple(found), not_judged=tuple(not_judged)))
    return read._replace(groups=tuple(groups))


# Karpenter names a NodeClaim after its pool, with five letters or digits that Kubernetes makes up.
_CLAIM = re.compile(r"(.+)-[a-z0-9]{5}")


def _concerned(group: LogGroup, classes: Mapping[str, set[str]]) -> tuple[set[str], set[str]]:
    """Names of the pools and of the classes that a group is about."""
    pools, named = set(group.names.get("NodePool", ())), set(group.names.get("EC2NodeClass", ()))
    claims = (_CLAIM.fullmatch(name) for name in group.names.get("NodeClaim", ()))
    pools |= {claim[1] for claim in claims if claim and claim[1] in classes}
    pools |= {pool for pool, its in classes.items() if its & named}
    return pools, named.union(*(classes.get(pool, set()) for pool in pools))


class _Gathering:
    """A group while lines still come."""

    def __init__(self, cause: Cause | None, case: Case | None, title: str, entry: LogLine) -> None:
        self.cause, self.case, self.title = cause, case, title
        self.example = FirstLine(entry.number, entry.message[:_MOST_EXAMPLE], entry.error[:_MOST_EXAMPLE])
        self.times, self.more = 0, 0
        self.first: float | None = None
        self.last: float | None = None
        self.gap = 0.0
        self.run: float | None = None
        self.names: dict[str, dict[str, None]] = {}
        self.releases: set[Version] = set()

    def add(self, entry: LogLine, release: Version) -> None:
        self.times += 1
        self.releases.add(release)
        time = entry.time
        if time is not None:
            if self.first is None or self.last is None:
                self.first = self.last = self.run = time
            if time - self.last > _SILENCE:
                self.run = time
            self.gap = max(self.gap, time - self.last)
            self.first, self.last = min(self.first, time), max(self.last, time)
        for kind, name in _names(entry):
            known = self.names.setdefault(kind, {})
            if name in known:
                continue
            if len(known) < _MOST_NAMES:
                known[name] = None
            else:
                self.more += 1

    def done(self, end: float | None) -> LogGroup:
        over = False
        if end is not None and self.last is not None:
            silence = max(_SILENCE, 2 * self.gap, self.cause.quiet if self.cause else 0)
            over = end - self.last > silence
        lasting = 0.0
        if self.run is not None and self.last is not None and self.cause and self.cause.lasts and not over:
            passes = self.case is not None and self.case.verdict == "passes"
            lasting = self.last - self.run if passes and self.last - self.run >= self.cause.lasts else 0.0
        names = {kind: tuple(self.names[kind]) for kind in KINDS if kind in self.names}
        releases = tuple(sorted(self.releases))
        return LogGroup(
            self.cause,
            self.case,
            self.title,
            self.times,
            self.first,
            self.last,
            over,
            names,
            self.more,
            releases,
            self.example,
            lasting=lasting,
        )


class _Sorter:
    """Puts entries into groups; what it keeps is bounded."""

    def __init__(self, release: Version | None) -> None:
        self.groups: dict[tuple[object, ...], _Gathering] = {}
        self.dropped = 0
        self._otherwise = Release(release, "given") if release else Release(NEWEST, "assumed")
        self._seen: dict[Version, Release] = {}
        self._of_stream: dict[str, Release] = {}
        self._any: Release | None = None
        self._started: dict[str, float] = {}
        self._begun: dict[str, float] = {}
        self._recognised: dict[tuple[str, bool], Cause | None] = {}
        self._shapes = 0

    def releases(self) -> tuple[Release, ...]:
        return tuple(sorted(self._seen.values())) or (self._any or self._otherwise,)

    def take(self, entry: LogLine) -> None:
        release = self._release(entry)
        if entry.time is not None and len(self._begun) < _MOST_STREAMS:
            self._begun.setdefault(entry.stream, entry.time)
        if entry.level not in FAILURES:
            if starts(entry.message):
                if entry.time is not None and len(self._started) < _MOST_STREAMS:
                    self._started[entry.stream] = entry.time
                return
            cause = self._recognise(entry.text, True)
            if cause is None:
                return
        else:
            cause = self._recognise(entry.text, False)
        self._seen.setdefault(release.version, release)
        if cause is None:
            self._unknown(entry, release.version)
            return
        case = cause.case(release.version, self._start(entry))
        call = call_of(entry.text[:_MOST_EXAMPLE]) if cause.apart and len(self.groups) < 2 * _MOST_SHAPES else ""
        key = (cause.id, cause.cases.index(case), call)
        group = self.groups.get(key)
        if group is None:
            title = f"{cause.title}: {call}" if call else cause.title
            group = self.groups[key] = _Gathering(cause, case, title, entry)
        group.add(entry, release.version)

    def _release(self, entry: LogLine) -> Release:
        commit, version = entry.fields.get("commit"), entry.fields.get("version")
        known = release_of(commit) if isinstance(commit, str) and len(commit) < 50 else None
        if known is None and entry.message == RELEASE_MESSAGE and isinstance(version, str):
            try:
                known = Version.parse(version)
            except ValueError:
                known = None
        if known is not None:
            self._any = Release(known, "log")
            if len(self._of_stream) < _MOST_STREAMS or entry.stream in self._of_stream:
                self._of_stream[entry.stream] = self._any
        return self._of_stream.get(entry.stream) or self._otherwise

    def _start(self, entry: LogLine) -> Start:
        if entry.time is None:
            return "unknown"
        started, begun = self._started.get(entry.stream), self._begun.get(entry.stream, entry.time)
        if started is not None and entry.time >= started:
            return "within" if entry.time - started <= START_TAKES else "after"
        # The log may begin long after the start, but it shows that this much has gone by since.
        return "after" if entry.time - begun > START_TAKES else "unknown"

    def _recognise(self, text: str, below_warning: bool) -> Cause | None:
        if len(text) > _MOST_EXAMPLE:
            return recognise(text, below_warning)
        key = text, below_warning
        if key not in self._recognised:
            if len(self._recognised) >= _REMEMBERED:
                self._recognised.clear()
            self._recognised[key] = recognise(text, below_warning)
        return self._recognised[key]

    def _unknown(self, entry: LogLine, release: Version) -> None:
        names = tuple(name for _, name in _names(entry))
        title = shape(": ".join(part for part in (entry.message, entry.error) if part), names)
        group = self.groups.get(("", title))
        if group is None:
            if self._shapes >= _MOST_SHAPES:
                self.dropped += 1
                return
            self._shapes += 1
            group = self.groups["", title] = _Gathering(None, None, title or "(no message)", entry)
        group.add(entry, release)


# What an error says of pools: `nodepool "default"` before 1.5, `NodePool=default` or the requirement since.
_POOL_IN_TEXT = re.compile(
    r'(?:NodePool=|[Nn]ode[Pp]ool:? "|karpenter\.sh/nodepool In \[)([a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?)'
)


def _names(entry: LogLine) -> list[tuple[str, str]]:
    """The objects that a line is about, by kind and name."""
    found: dict[tuple[str, str], None] = {}
    fields = entry.fields
    for kind in KINDS:
        value = fields.get(kind, fields.get(kind.lower()))
        values = value if isinstance(value, list) else [value]
        for each in values[:20]:
            name = each.get("name") if isinstance(each, dict) else each
            if isinstance(name, str) and name:
                space = each.get("namespace") if isinstance(each, dict) else None
                found[kind, f"{space}/{name}" if isinstance(space, str) and space else name] = None
    own_kind, own = fields.get("controllerKind"), fields.get("name")
    if isinstance(own_kind, str) and own_kind in KINDS and isinstance(own, str) and own:
        space = fields.get("namespace")
        found[own_kind, f"{space}/{own}" if isinstance(space, str) and space else own] = None
    for pool in _POOL_IN_TEXT.findall(entry.error[:20_000]):
        found["NodePool", pool] = None
    return list(found)
