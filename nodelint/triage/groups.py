"""Collect failures in groups: one for each cause and case, and one for each shape of an unknown message.

Memory is bounded, so that a log may have any size.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from nodelint.base.tuples import NamedTuple
from nodelint.lint.engine import Result
from nodelint.model.releases import Version
from nodelint.triage.causes import (
    RELEASE_MESSAGE,
    START_TAKES,
    Case,
    Cause,
    Start,
    Verdict,
    call_of,
    cause_named,
    recognise,
    release_of,
    shape,
    starts,
)
from nodelint.triage.launches import LAUNCHED_AGAIN, Launches
from nodelint.triage.logs import FAILURES, LogLine

KINDS = ("NodePool", "EC2NodeClass", "NodeClaim", "Node", "Pod")
"""The kinds of objects that a log line can concern, in the order in which they are shown."""

# Karpenter tries a failing object again after at most 1,000 seconds; two tries missed are no accident.
_SILENCE = 1800.0
_MOST_NAMES = 5000
_MOST_SHAPES = 300
_MOST_STREAMS = 1000
_MOST_EXAMPLE = 2000
_REMEMBERED = 4096


class Release(NamedTuple):
    """A release and its source: the log, or the user (`given`)."""

    version: Version
    source: Literal["log", "given"]


class FirstLine(NamedTuple):
    """The first line of a group: its number in the log (from 1), message and error."""

    line: int
    message: str
    error: str


class LogGroup(NamedTuple):
    """Lines with one cause; for refused permissions, with one AWS call.

    `cause` and `case` are None if the message is unknown; `title` is then its shape. `times` is the least number of
    lines: the controller drops repetitions beyond 100 a second. `first` and `last` are in seconds since 1970. `names`
    are the names of concerned objects by kind, `more` the number of names beyond the limit. `over`: the log goes on
    for a long time without such a line. `findings` are those of the cause's rules about the objects. `lasting` is the
    number of seconds that a passing cause has lasted beyond its limit; else 0. `releases` is empty if no release is
    known.
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
        """Return whether the error stays until the user acts, passes by itself, or is unclear."""
        return self.case.verdict if self.case and not self.lasting else "unclear"

    @property
    def rules(self) -> tuple[str, ...]:
        """Return the rules that find the mistake in manifests; empty if the error passes by itself."""
        return self.cause.rules if self.cause and self.verdict != "passes" else ()


class Gathering:
    """A group to which lines are still added."""

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

    def add(self, entry: LogLine, release: Version | None) -> None:
        self.times += entry.times
        if release is not None:
            self.releases.add(release)
        time = entry.time
        if time is not None:
            if self.first is None or self.last is None:
                self.first = self.last = self.run = time if entry.since is None else min(entry.since, time)
            if time - self.last > _SILENCE:
                self.run = time
            self.gap = max(self.gap, time - self.last)
            self.first, self.last = min(self.first, time), max(self.last, time)
        for kind, name in object_names(entry):
            known = self.names.setdefault(kind, {})
            if name in known:
                continue
            if len(known) < _MOST_NAMES:
                known[name] = None
            else:
                self.more += 1

    def absorb(self, before: Gathering) -> None:
        """Add the lines of another group of the same cause."""
        self.example = min(self.example, before.example)
        self.times, self.more = self.times + before.times, self.more + before.more
        self.releases |= before.releases
        if before.first is not None:
            if self.first is None or self.last is None:
                self.first, self.last, self.run, self.gap = before.first, before.last, before.run, before.gap
            else:
                between = self.first - (before.last or before.first)
                self.run = before.run if between <= _SILENCE and self.run == self.first else self.run
                self.gap = max(self.gap, before.gap, between)
                self.first, self.last = min(self.first, before.first), max(self.last, before.last or before.first)
        for kind, names in before.names.items():
            self.names[kind] = names | self.names.get(kind, {})

    def concerns(self, entry: LogLine) -> bool:
        """Return whether a line is about one of this group's objects, or neither names any object."""
        about = object_names(entry)
        return any(name in self.names.get(kind, ()) for kind, name in about) or not (about or self.names)

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


class Sorter:
    """Puts lines into groups, with bounded memory."""

    def __init__(self, release: Version | None) -> None:
        self.groups: dict[tuple[object, ...], Gathering] = {}
        self.dropped = 0
        self._given = Release(release, "given") if release else None
        self._seen: dict[Version, Release] = {}
        self._of_stream: dict[str, Release] = {}
        self._any: Release | None = None
        self._started: dict[str, float] = {}
        self._begun: dict[str, float] = {}
        self._recognised: dict[tuple[str, bool], Cause | None] = {}
        self._shapes = 0
        self._launches = Launches()

    def releases(self) -> tuple[Release, ...]:
        """Return the releases of the lines that were sorted; empty if none is known."""
        known = self._any or self._given
        return tuple(sorted(self._seen.values())) or ((known,) if known else ())

    def take(self, entry: LogLine) -> None:
        release = self._release(entry)
        if entry.time is not None and len(self._begun) < _MOST_STREAMS:
            self._begun.setdefault(entry.stream, entry.time)
        if entry.level not in FAILURES:
            if starts(entry.message):
                if entry.time is not None and len(self._started) < _MOST_STREAMS:
                    self._started[entry.stream] = entry.time
                return
            again = self._launches.take(entry)
            if again is not None:
                self._known(again, release, cause_named(LAUNCHED_AGAIN))
                return
            cause = self._recognise(entry.text, True)
            if cause is None:
                return
        else:
            cause = self._recognise(entry.text, False)
        if cause is None:
            self._unknown(entry, release)
        else:
            self._known(entry, release, cause)

    def _known(self, entry: LogLine, release: Release | None, cause: Cause) -> None:
        start = self._start(entry) if entry.source == "log" else "unknown"
        case = cause.case(release.version, start) if release else cause.case_of_any_release(start)
        call = call_of(entry.text[:_MOST_EXAMPLE]) if cause.apart and len(self.groups) < 2 * _MOST_SHAPES else ""
        early = cause.id, call, entry.stream
        key = (*early, "start") if case.start == "within" else (cause.id, call, case)
        group = self.groups.get(key)
        if group is None:
            title = f"{cause.title}: {call}" if call else cause.title
            group = self.groups[key] = Gathering(cause, case, title, entry)
        group.add(entry, self._version(release))
        if case.start != "within":
            self._goes_on((*early, "start"), group, entry)

    def _goes_on(self, early: tuple[object, ...], group: Gathering, entry: LogLine) -> None:
        """Merge the group of a pod's start into a later group of the same cause: the error did not pass."""
        before = self.groups.get(early)
        if before is None or before.last is None or entry.time is None or not before.concerns(entry):
            return
        if 0 <= entry.time - before.last <= _SILENCE:
            group.absorb(self.groups.pop(early))

    def gathered(self) -> list[Gathering]:
        """Return the groups; those of several pods' starts are merged for each cause."""
        merged: dict[tuple[object, ...], Gathering] = {}
        for key, group in self.groups.items():
            key = (*key[:2], group.case) if key[-1] == "start" else key
            if key in merged:
                merged[key].absorb(group)
            else:
                merged[key] = group
        return list(merged.values())

    def _version(self, release: Release | None) -> Version | None:
        if release is None:
            return None
        self._seen.setdefault(release.version, release)
        return release.version

    def _release(self, entry: LogLine) -> Release | None:
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
        return self._of_stream.get(entry.stream) or self._given or self._any

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

    def _unknown(self, entry: LogLine, release: Release | None) -> None:
        names = tuple(name for _, name in object_names(entry))
        title = shape(": ".join(part for part in (entry.message, entry.error) if part), names)
        group = self.groups.get(("", title))
        if group is None:
            if self._shapes >= _MOST_SHAPES:
                self.dropped += 1
                return
            self._shapes += 1
            group = self.groups["", title] = Gathering(None, None, title or "(no message)", entry)
        group.add(entry, self._version(release))


# What an error says of pools: `nodepool "default"` before 1.5, `NodePool=default` or the requirement since.
_POOL_IN_TEXT = re.compile(
    r'(?:NodePool=|[Nn]ode[Pp]ool:? "|karpenter\.sh/nodepool In \[)([a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?)'
)

# Of a list of reasons, one for each NodePool, those of the NodePools whose limits are reached.
_AT_LIMIT = re.compile(r"exceed limits for nodepool|limits have been exhausted for nodepool")


def object_names(entry: LogLine) -> list[tuple[str, str]]:
    """Return the objects that a line concerns, by kind and name."""
    found: dict[tuple[str, str], None] = {}
    fields = entry.fields
    for kind in KINDS:
        value = fields.get(kind, fields.get(kind.lower()))
        values = value if isinstance(value, list) else [value]
        for listed in values[:20]:
            name = listed.get("name") if isinstance(listed, dict) else listed
            if isinstance(name, str) and name:
                space = listed.get("namespace") if isinstance(listed, dict) else None
                found[kind, f"{space}/{name}" if isinstance(space, str) and space else name] = None
    own_kind, own = fields.get("controllerKind"), fields.get("name")
    if isinstance(own_kind, str) and own_kind in KINDS and isinstance(own, str) and own:
        space = fields.get("namespace")
        found[own_kind, f"{space}/{own}" if isinstance(space, str) and space else own] = None
    reasons = entry.error[:20_000].split("; ")
    at_limit = [reason for reason in reasons if _AT_LIMIT.search(reason)]
    for pool in _POOL_IN_TEXT.findall("; ".join(at_limit or reasons)):
        found["NodePool", pool] = None
    return list(found)
