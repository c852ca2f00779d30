"""Disruption budgets of a NodePool: how many nodes Karpenter may disrupt at a moment, and over a week.

The smallest of the budgets that are active and concern the reason counts; a percentage is rounded up. A budget
without schedule is always active. One with a schedule is active from each of its hits, in UTC, for its duration. A
budget that cannot be read lets nothing be disrupted at all.
Source: karpenter pkg/apis/v1/nodepool.go@v1.14.1:352-447.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from nodelint.drift import golang
from nodelint.karpenter.controller.cron import CronError, Schedule, parse
from nodelint.tuples import NamedTuple

DRIFTED = "Drifted"
"""The disruption reason of nodes that have drifted."""

WEEK = timedelta(days=7)

_DESCRIPTORS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


class Budget(NamedTuple):
    """An entry of `spec.disruption.budgets`: a number of nodes or a percentage, and when it is active.

    `schedule` is None for a budget that always is. `broken` says why the controller cannot read it.
    """

    nodes: str
    written: str | None
    schedule: Schedule | None
    duration: timedelta
    broken: str | None = None

    def limit(self, nodes: int) -> int:
        """How many of so many nodes it allows; a percentage is rounded up."""
        if self.nodes.endswith("%"):
            return -(-int(self.nodes[:-1]) * nodes // 100)
        return int(self.nodes)

    def active(self, at: datetime) -> bool:
        """Whether it counts at a moment."""
        return any(start <= at < end for start, end in self.windows(at, at + timedelta(minutes=1)))

    def windows(self, start: datetime, end: datetime) -> Iterator[tuple[datetime, datetime]]:
        """The times between two moments at which it is active, in order, those that touch joined."""
        if self.schedule is None:
            yield start, end
            return
        opened = closes = None
        for hit in _hits(self.schedule, start - self.duration, end):
            until = hit + self.duration
            if closes is not None and hit <= closes:
                closes = max(closes, until)
                continue
            if opened is not None and closes is not None and closes > start:
                yield max(opened, start), min(closes, end)
            opened, closes = hit, until
        if opened is not None and closes is not None and closes > start:
            yield max(opened, start), min(closes, end)


class Stretch(NamedTuple):
    """A time over which the same budgets are active; none of them means that nothing is limited."""

    start: datetime
    end: datetime
    budgets: tuple[Budget, ...]

    @property
    def closed(self) -> bool:
        """Whether no node may be disrupted, however many there are."""
        return any(budget.broken or budget.nodes in ("0", "0%") for budget in self.budgets)

    def allowed(self, nodes: int) -> int:
        """How many of a pool's nodes may be under disruption at once."""
        return allowed(self.budgets, nodes)


def budgets(stored: dict[str, Any], reason: str = DRIFTED) -> tuple[Budget, ...]:
    """The budgets of a stored NodePool that concern a disruption reason, and those that break all of them."""
    written = stored.get("spec", {}).get("disruption", {})
    entries = written.get("budgets") if isinstance(written, dict) else None
    found = []
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, dict):
            continue
        budget = _read(entry)
        reasons = entry.get("reasons")
        if budget.broken or reasons is None or (isinstance(reasons, list) and reason in reasons):
            found.append(budget)
    return tuple(found)


def allowed(active: Sequence[Budget], nodes: int) -> int:
    """The smallest of the limits of active budgets, at most all nodes."""
    return min((0 if budget.broken else budget.limit(nodes) for budget in active), default=nodes)


def week(found: Sequence[Budget], start: datetime) -> list[Stretch]:
    """The seven days from a moment on, split where another set of budgets is active."""
    end = start + WEEK
    spans = [(budget, list(budget.windows(start, end))) for budget in found]
    borders = sorted({start, end} | {moment for _, windows in spans for window in windows for moment in window})
    stretches: list[Stretch] = []
    for begin, finish in pairwise(borders):
        active = tuple(b for b, windows in spans if any(s <= begin < e for s, e in windows))
        if stretches and stretches[-1].budgets == active:
            stretches[-1] = stretches[-1]._replace(end=finish)
        else:
            stretches.append(Stretch(begin, finish, active))
    return stretches


def _read(entry: dict[str, Any]) -> Budget:
    nodes, schedule, duration = (entry.get(key) for key in ("nodes", "schedule", "duration"))
    shown = nodes if isinstance(nodes, str) else "10%" if nodes is None else str(nodes)
    text = schedule if isinstance(schedule, str) else None
    broken = None if re.fullmatch(r"(100|[0-9]{1,2})%|[0-9]+", shown) else f"`{shown}` is no number of nodes"
    if text is None and duration is None:
        return Budget(shown, None, None, timedelta(), broken)
    try:
        length = (
            timedelta(microseconds=golang.duration(duration) // 1000) if isinstance(duration, str) else timedelta()
        )
        parsed = parse(_DESCRIPTORS.get(text or "", text or ""))
        if isinstance(parsed, str):
            return _every(shown, parsed, length, broken)
        return Budget(shown, text, parsed, length, broken)
    except (CronError, ValueError) as error:
        return Budget(shown, text, None, timedelta(), broken or f"`{text}`: {error}")


def _length(duration: str) -> timedelta:
    return timedelta(microseconds=golang.duration(duration) // 1000)


def _every(nodes: str, text: str, length: timedelta, broken: str | None) -> Budget:
    """`@every 1h` counts from the moment that is asked about: it is active always or never."""
    delay = _length(text.removeprefix("@every").strip())
    never = Schedule(frozenset(), frozenset(), frozenset(), frozenset(), frozenset(), True)
    return Budget(nodes, text, None if delay <= length else never, length, broken)


def _hits(schedule: Schedule, after: datetime, until: datetime) -> Iterator[datetime]:
    """The minutes that a schedule hits, later than one moment and no later than another."""
    day = after.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    hours, minutes = sorted(schedule.hours), sorted(schedule.minutes)
    while day <= until:
        if _on(schedule, day):
            for hour in hours:
                for minute in minutes:
                    hit = day.replace(hour=hour, minute=minute)
                    if after < hit <= until:
                        yield hit
        day += timedelta(days=1)


def _on(schedule: Schedule, day: datetime) -> bool:
    if day.month not in schedule.months:
        return False
    dated, named = day.day in schedule.days, (day.weekday() + 1) % 7 in schedule.weekdays
    return dated and named if schedule.any_day else dated or named
