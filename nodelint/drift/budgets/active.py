"""Disruption budgets of a NodePool: how many nodes Karpenter may disrupt at a time, and over a week.

Of the budgets that are active and concern the reason, the smallest counts; a percentage is rounded up. A budget
without schedule is always active. A budget with a schedule is active from each date of the schedule, in UTC, for its
duration. A budget that cannot be read forbids every disruption. Source: karpenter
pkg/apis/v1/nodepool.go@v1.14.1:352-447.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain, pairwise, product

from nodelint.base.budget import RUN, BudgetSpent
from nodelint.base.tuples import NamedTuple
from nodelint.base.types import Any
from nodelint.drift import go_values
from nodelint.karpenter.controller.cron import DESCRIPTORS, CronError, Schedule, parse
from nodelint.model.gap import line_of
from nodelint.model.manifest import NodePool
from nodelint.text import Node, UnknownValue
from nodelint.text.limits import note_left_out

DRIFTED = "Drifted"
"""The disruption reason of nodes that have drifted."""

REASONS = frozenset({DRIFTED, "Empty", "Underutilized"})
"""The disruption reasons that budgets can name in every release."""

UNHEALTHY = "Unhealthy"
"""The disruption reason of node repair, in releases in which budgets limit node repair."""

WEEK = timedelta(days=7)

MONDAY = datetime(2024, 1, 1, tzinfo=UTC)
"""The begin of a week that stands for all weeks."""

_LONGEST_PAUSE = timedelta(days=9 * 366)
"""A longer pause between two dates of a schedule is impossible: two 29 February are at most eight years apart."""


class Budget(NamedTuple):
    """An entry of `spec.disruption.budgets`: a number of nodes or a percentage, and when it is active.

    `schedule` is None for a budget that is always active. `broken` is the reason why the controller cannot read the
    budget; None if it can.
    """

    nodes: str
    written: str | None
    schedule: Schedule | None
    duration: timedelta
    broken: str | None = None

    def limit(self, nodes: int) -> int:
        """Return how many of `nodes` nodes the budget allows to be disrupted. A percentage is rounded up."""
        if self.nodes.endswith("%"):
            return -(-count_nodes(self.nodes[:-1]) * nodes // 100)
        return count_nodes(self.nodes)

    def windows(self, start: datetime, end: datetime) -> Iterator[tuple[datetime, datetime]]:
        """Yield the times between two moments in which the budget is active, in order. Adjacent times are joined."""
        if self.schedule is None:
            yield start, end
            return
        opened = closes = None
        # Of what began before `start` only the last matters: it ends last.
        before = _last_hit(self.schedule, start, start - self.duration)
        for hit in chain([before] if before is not None else (), _hits(self.schedule, start, end)):
            until = hit + self.duration
            if closes is not None and hit <= closes:
                closes = max(closes, until)
                continue
            if opened is not None and closes is not None and closes > start:
                yield max(opened, start), min(closes, end)
            opened, closes = hit, until
        if opened is not None and closes is not None and closes > start:
            yield max(opened, start), min(closes, end)


class Interval(NamedTuple):
    """A time in which the same budgets are active. Without any budget, nothing limits disruption."""

    start: datetime
    end: datetime
    budgets: tuple[Budget, ...]

    @property
    def closed(self) -> bool:
        """Return whether no node may be disrupted, whatever the number of nodes."""
        return any(budget.broken or budget.nodes in ("0", "0%") for budget in self.budgets)

    def allowed(self, nodes: int) -> int:
        """Return how many of a pool's `nodes` nodes may be disrupted at once."""
        return allowed(self.budgets, nodes)


def budgets(stored: dict[str, Any], reason: str = DRIFTED) -> tuple[Budget, ...]:
    """Return the budgets of a stored NodePool that concern a disruption reason, and those that the controller cannot
    read.
    """
    entries = inside(stored, "spec", "disruption").get("budgets")
    found = []
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, dict):
            continue
        budget = read_budget(entry)
        reasons = entry.get("reasons")
        if budget.broken or reasons is None or (isinstance(reasons, list) and reason in reasons):
            found.append(budget)
    return tuple(found)


def are_same_budgets(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Return whether two stored NodePools have certainly the same budgets, in any order, however they are written."""
    both = [inside(stored, "spec", "disruption").get("budgets") for stored in (old, new)]
    known = [_meanings(entries) for entries in both if isinstance(entries, list)]
    return len(known) == 2 and known[0] is not None and known[0] == known[1]


def _meanings(entries: list[Any]) -> set[tuple[object, ...]] | None:
    """Return budgets as the controller reads them. None if it cannot read one of them, or if one is not known."""
    found: set[tuple[object, ...]] = set()
    for entry in entries:
        if not isinstance(entry, dict) or any(isinstance(value, UnknownValue) for value in entry.values()):
            return None
        budget, reasons = read_budget(entry), entry.get("reasons")
        if budget.broken is not None or not (reasons is None or isinstance(reasons, list)):
            return None
        if reasons is not None and any(not isinstance(reason, str) for reason in reasons):
            return None
        found.add((budget._replace(written=None), None if reasons is None else frozenset(reasons)))
    return found


def of_entry(entry: Node) -> Budget | None:
    """Return one budget of a manifest that has a schedule and a duration.

    None if it has none, contains a placeholder or cannot be read.
    """
    if any(isinstance(node.value, UnknownValue) for node in entry.walk() if node.kind == "scalar"):
        return None
    plain = entry.plain()
    budget = (
        read_budget(plain) if isinstance(plain, dict) and plain.get("schedule") and plain.get("duration") else None
    )
    return budget if budget is not None and budget.schedule is not None and budget.broken is None else None


def starts_again(budget: Budget) -> bool:
    """Return whether a schedule begins again before the duration of its previous window is over, so that the windows
    overlap.
    """
    hits = _hits(budget.schedule, MONDAY, MONDAY + WEEK) if budget.schedule is not None else ()
    return any(later - before < budget.duration for before, later in pairwise(hits))


def typical_of(budget: Budget) -> tuple[Interval, ...]:
    """Return a week from Monday 00:00 UTC on under one budget."""
    return tuple(week([budget], MONDAY))


def inside(stored: dict[str, Any], *steps: str) -> dict[str, Any]:
    """Return the mapping at the end of a path. Empty if there is none."""
    value: Any = stored
    for step in steps:
        value = value.get(step) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def allowed(active: Sequence[Budget], nodes: int) -> int:
    """Return the smallest limit of active budgets for a number of nodes. Without budgets, all nodes."""
    return min((0 if budget.broken else budget.limit(nodes) for budget in active), default=nodes)


def week(found: Sequence[Budget], start: datetime) -> list[Interval]:
    """Return seven days from a moment on, as intervals: a new one begins when the active budgets change."""
    end = start + WEEK
    spans = [(budget, list(budget.windows(start, end))) for budget in found]
    begins = [[begin for begin, _ in windows] for _, windows in spans]
    borders = sorted({start, end} | {moment for _, windows in spans for window in windows for moment in window})

    def open_at(number: int, moment: datetime) -> bool:
        last = bisect_right(begins[number], moment) - 1
        return last >= 0 and moment < spans[number][1][last][1]

    stretches: list[Interval] = []
    for begin, finish in pairwise(borders):
        active = tuple(budget for number, (budget, _) in enumerate(spans) if open_at(number, begin))
        if stretches and stretches[-1].budgets == active:
            stretches[-1] = stretches[-1]._replace(end=finish)
        else:
            stretches.append(Interval(begin, finish, active))
    return stretches


def typical_week(pool: NodePool, reason: str = DRIFTED) -> tuple[Interval, ...] | None:
    """Return the intervals of a week from Monday 00:00 UTC on, each with the active budgets of a NodePool. None if
    the budgets are not known.

    If a schedule depends on the date or month, other weeks differ.
    """
    node = pool.node.find("spec", "disruption", "budgets")
    entries: object = [{"nodes": "10%"}]  # what the API server fills in
    if node is not None and not (node.kind == "scalar" and node.value is None):
        if any(isinstance(entry.value, UnknownValue) for entry in node.walk() if entry.kind == "scalar"):
            return None
        entries = node.plain()
    elif pool.partial:
        return None
    try:
        return tuple(week(budgets({"spec": {"disruption": {"budgets": entries}}}, reason), MONDAY))
    except BudgetSpent as limit:
        note_left_out(pool.source.path, str(limit), line_of(pool.name_node).line)
        return None


def always_closed(pool: NodePool, reason: str) -> bool:
    """Return whether the budgets in a NodePool forbid every disruption for a reason, at all times of a week. False if
    the pool has no `budgets`.
    """
    if pool.node.find("spec", "disruption", "budgets") is None:
        return False
    stretches = typical_week(pool, reason)
    return bool(stretches) and all(stretch.closed for stretch in stretches or ())


def read_budget(entry: dict[str, Any]) -> Budget:
    """Return an entry of `spec.disruption.budgets` as the controller reads it."""
    nodes, schedule, duration = (entry.get(key) for key in ("nodes", "schedule", "duration"))
    shown = nodes if isinstance(nodes, str) else "10%" if nodes is None else str(nodes)
    text = schedule if isinstance(schedule, str) else None
    broken = None if re.fullmatch(r"(100|[0-9]{1,2})%|[0-9]+", shown) else f"`{shown}` is not a number of nodes"
    if text is None and duration is None:
        return Budget(shown, None, None, timedelta(), broken)
    try:
        length = _length(duration) if isinstance(duration, str) else timedelta()
        parsed = parse(DESCRIPTORS.get(text or "", text or ""))
        if isinstance(parsed, str):
            return _every(shown, parsed, length, broken)
        return Budget(shown, text, parsed, length, broken)
    except (CronError, ValueError) as error:
        return Budget(shown, text, None, timedelta(), broken or f"`{text}`: {error}")


def _length(duration: str) -> timedelta:
    return timedelta(microseconds=go_values.duration(duration) // 1000)


def _every(nodes: str, text: str, length: timedelta, broken: str | None) -> Budget:
    """Return the budget of a schedule such as `@every 1h`. It counts from the time of the check, so the budget is
    always or never active.
    """
    delay = _length(text.removeprefix("@every").strip())
    never = Schedule(frozenset(), frozenset(), frozenset(), frozenset(), frozenset(), True)
    return Budget(nodes, text, None if delay <= length else never, length, broken)


def _hits(schedule: Schedule, after: datetime, until: datetime) -> Iterator[datetime]:
    """Yield the minutes at which a schedule begins, after `after` and not later than `until`."""
    day = after.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    hours, minutes = sorted(schedule.hours), sorted(schedule.minutes)
    while day <= until:
        RUN.draw(1 + len(hours) * len(minutes), 0)
        if _includes_day(schedule, day):
            for hour in hours:
                for minute in minutes:
                    hit = day.replace(hour=hour, minute=minute)
                    if after < hit <= until:
                        yield hit
        day += timedelta(days=1)


def _last_hit(schedule: Schedule, at: datetime, after: datetime) -> datetime | None:
    """Return the last minute at which a schedule begins, not later than `at` and after `after`. None if there is
    none.
    """
    day = at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    hours, minutes = sorted(schedule.hours, reverse=True), sorted(schedule.minutes, reverse=True)
    after = max(after, day - _LONGEST_PAUSE)
    while day + timedelta(days=1) > after:
        RUN.draw(1, 0)
        if _includes_day(schedule, day):
            for hour, minute in product(hours, minutes):
                hit = day.replace(hour=hour, minute=minute)
                if hit <= at:
                    return hit if hit > after else None
        day -= timedelta(days=1)
    return None


def _includes_day(schedule: Schedule, day: datetime) -> bool:
    if day.month not in schedule.months:
        return False
    dated, named = day.day in schedule.days, (day.weekday() + 1) % 7 in schedule.weekdays
    return dated and named if schedule.any_day else dated or named


def count_nodes(digits: str) -> int:
    """Return a number of nodes. A number with very many digits becomes one that no cluster reaches."""
    return int(digits) if len(digits) < _DIGITS else 10**_DIGITS


_DIGITS = 18
