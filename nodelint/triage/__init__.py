"""Group the errors of a Karpenter controller by cause: errors that pass by themselves, and errors that stay.

`triage` reads line by line and keeps only groups, so that a log may have any size. It reads the release from the log
if possible: every line contains the commit of the controller.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Literal

from nodelint.base.tuples import NamedTuple
from nodelint.lint.engine import Report
from nodelint.model.kubectl_errors import explain_failure, is_failed_read
from nodelint.model.manifest import EC2NodeClass, NodePool, Object
from nodelint.model.releases import Version
from nodelint.triage.causes import VERDICTS, words_below_warning
from nodelint.triage.disruptions import Disrupted
from nodelint.triage.groups import LogGroup, Release, Sorter
from nodelint.triage.kubectl_objects import count_disruptions, is_objects, list_disrupted, of_objects
from nodelint.triage.kubectl_text import find_table, of_text
from nodelint.triage.logs import LogLine, Reader
from nodelint.triage.streams import NoLog, bounded
from nodelint.triage.times import format_time

__all__ = ["LogGroup", "NoLog", "Release", "Triage", "bounded", "format_time", "triage"]


class Triage(NamedTuple):
    """The causes in a log.

    `groups` are sorted: causes that stay first, and within a verdict causes that are over last.

    `lines` is the number of lines that are not blank, `read` those of the controller, `unread` those that could not
    be parsed. `cut_first` and `cut_last`: the first or last line is incomplete. `shapes_dropped` is the number of
    lines of unknown messages beyond the limit. If `kind` is `objects`, a line stands for an event or a condition;
    `messages` are lines without times. `releases` is empty if no release is known. `disruptions` counts voluntary
    disruptions by reason; `disrupted` are the first disrupted nodes.
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
    kind: Literal["log", "objects", "messages"] = "log"
    disruptions: Mapping[str, int] = {}
    disrupted: Sequence[Disrupted] = ()

    @property
    def stays(self) -> bool:
        """Return whether an error does not pass by itself."""
        return any(group.verdict == "stays" for group in self.groups)

    @property
    def newest_release(self) -> Version | None:
        """Return the newest release that wrote the log; None if none is known."""
        return max((release.version for release in self.releases), default=None)


def triage(lines: Iterable[bytes], release: Version | None = None) -> Triage:
    """Group the errors of a log, of events and conditions, or of bare messages by cause.

    `release` is the release of lines that do not state one; None if it is not known. Raise NoLog if no line is from
    Karpenter.
    """
    tee = _Tee(lines)
    if is_objects(tee.head()):
        return _of_objects(tee, release)
    reader, found = Reader(words_below_warning()), Sorter(release)
    for entry in reader.entries(tee):
        tee.forget()
        found.take(entry)
    if not reader.lines:
        raise NoLog("is empty: `kubectl logs -n kube-system deploy/karpenter | nodelint triage` reads the log")
    if not reader.read:
        return _of_text(tee, release, reader)
    groups = _sorted(found, reader.last)
    return Triage(
        groups=groups,
        releases=found.releases(),
        lines=reader.lines,
        read=reader.read,
        unread=reader.unread,
        cut_first=reader.unread_first,
        cut_last=reader.unread_last,
        first=reader.first,
        last=reader.last,
        shapes_dropped=found.dropped,
        disruptions=reader.disruptions,
        disrupted=reader.disrupted,
    )


def _sorted(found: Sorter, end: float | None) -> tuple[LogGroup, ...]:
    groups = [group.done(end) for group in found.gathered()]
    return tuple(sorted(groups, key=lambda g: (VERDICTS.index(g.verdict), g.over, -g.times, g.example.line)))


# What is not a log is read whole; more than this is not a list of events that somebody looks at.
_MOST_WHOLE = 64 << 20
_MOST_TEXT = 4 << 20
_HEAD_LINES = 5


class _Tee:
    """Passes lines on and keeps them as text until they prove to be a log, or are too many."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._lines = iter(lines)
        self._kept: list[bytes] = []
        self._size = 0
        self._keeps = True

    def head(self) -> str:
        """Return the first lines as text without consuming them."""
        first = list(islice(self._lines, _HEAD_LINES))
        self._lines = chain(first, self._lines)
        return b"".join(first).decode("utf-8", "replace").removeprefix("\ufeff")

    def forget(self) -> None:
        """Keep no lines from now on."""
        self._keeps = False
        self._kept.clear()

    def __iter__(self) -> Iterator[bytes]:
        for line in self._lines:
            if self._keeps:
                self._kept.append(line)
                self._size += len(line)
                if self._size > _MOST_TEXT:
                    self.forget()
            yield line

    def whole(self) -> str:
        """Return all remaining lines as text. Raise NoLog if they are too large."""
        chunks, size = [], 0
        for line in self._lines:
            chunks.append(line)
            size += len(line)
            if size > _MOST_WHOLE:
                raise NoLog(f"is larger than {_MOST_WHOLE >> 20} MiB: give fewer events or objects at a time")
        return b"".join(chunks).decode("utf-8", "replace").removeprefix("\ufeff")

    def text(self) -> list[str]:
        """Return the lines that were kept."""
        return [line.decode("utf-8", "replace").removeprefix("\ufeff") for line in self._kept]


_NOTHING = (
    "holds no line of a Karpenter controller's log, and no event or condition that Karpenter wrote; `kubectl logs` of"
    " the controller, or `kubectl get events -A`, prints what triage reads"
)


def _of_objects(tee: _Tee, release: Version | None) -> Triage:
    try:
        found, has_message = of_objects(tee.whole())
    except ValueError as error:
        raise NoLog(str(error)) from None
    if not has_message:
        raise NoLog(_NOTHING)
    return _of_entries(found, 0, release)


def _of_text(tee: _Tee, release: Version | None, reader: Reader) -> Triage:
    kind = find_table(tee.text())
    if kind is not None:
        raise NoLog(
            f"is a table of `kubectl get {kind}`, which has no reasons: "
            f"`kubectl get {kind} -o yaml | nodelint triage -` reads them"
        )
    text = "".join(tee.text())
    found, unread, has_message = of_text(tee.text())
    if reader.disruptions and not is_failed_read(text):  # lines of a log, shortened by who copied them
        disruptions = sum(reader.disruptions.values())
        read = _of_entries(found, max(reader.lines - len(found) - disruptions, 0), release)
        return read._replace(
            read=read.read + disruptions, disruptions=reader.disruptions, disrupted=reader.disrupted, kind="messages"
        )
    if not has_message or is_failed_read(text):
        failure = explain_failure(text)
        raise NoLog(_NOTHING if failure is None else f"holds no log: {failure}")
    return _of_entries(found, unread, release)


def _of_entries(entries: list[LogLine], unread: int, release: Version | None) -> Triage:
    found = Sorter(release)
    for entry in entries:
        found.take(entry)
    times = [time for entry in entries for time in (entry.since, entry.time) if time is not None]
    last = max(times, default=None)
    return Triage(
        groups=_sorted(found, None),
        releases=found.releases(),
        lines=len(entries) + unread,
        read=len(entries),
        unread=unread,
        cut_first=False,
        cut_last=False,
        first=min(times, default=None),
        last=last,
        shapes_dropped=found.dropped,
        kind="messages" if any(entry.source == "text" for entry in entries) else "objects",
        disruptions=count_disruptions(entries),
        disrupted=list_disrupted(entries),
    )


def with_findings(read: Triage, report: Report) -> Triage:
    """Return the triage with the findings of each cause's rules about the objects that its lines concern.

    A line about a NodeClaim concerns the NodePool in its name, a line about a NodePool its class, a line about a
    class its NodePools, and a line about a pod its workload. The report should be one for the log's release.
    """
    classes: dict[str, set[str]] = {}
    for obj in report.objects:
        if isinstance(obj, NodePool) and isinstance(obj.name, str):
            ref = obj.class_ref
            classes.setdefault(obj.name, set()).update([ref.name] if ref and isinstance(ref.name, str) else [])
    groups = []
    for group in read.groups:
        pools, its_classes = _concerned(group, classes)
        pods = [pod.rpartition("/")[2] for pod in group.names.get("Pod", ())]

        def concerns(
            obj: Object, pools: set[str] = pools, its_classes: set[str] = its_classes, pods: Sequence[str] = pods
        ) -> bool:
            if isinstance(obj, NodePool | EC2NodeClass):
                return obj.name in (pools if isinstance(obj, NodePool) else its_classes)
            return any(pod == obj.name or pod.startswith(f"{obj.name}-") for pod in pods)

        rules = group.rules if pods or any(map(concerns, report.objects)) else ()
        found = [r for r in report.results if r.rule.name in rules and r.object and concerns(r.object)]
        skips = [s for s in report.skipped if s.rule in rules and (s.object is None or concerns(s.object))]
        not_judged = dict.fromkeys((s.rule, s.reason) for s in skips if s.rule)
        groups.append(group._replace(findings=tuple(found), not_judged=tuple(not_judged)))
    return read._replace(groups=tuple(groups))


# Karpenter names a NodeClaim after its pool, with five letters or digits that Kubernetes makes up.
_CLAIM = re.compile(r"(.+)-[a-z0-9]{5}")


def _concerned(group: LogGroup, classes: Mapping[str, set[str]]) -> tuple[set[str], set[str]]:
    """Return the names of the NodePools and classes that a group concerns."""
    pools, named = set(group.names.get("NodePool", ())), set(group.names.get("EC2NodeClass", ()))
    claims = (_CLAIM.fullmatch(name) for name in group.names.get("NodeClaim", ()))
    pools |= {claim[1] for claim in claims if claim and claim[1] in classes}
    pools |= {pool for pool, its in classes.items() if its & named}
    return pools, named.union(*(classes.get(pool, set()) for pool in pools))
