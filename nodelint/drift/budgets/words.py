"""The limits of disruption budgets and the times at which they are active, as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from nodelint.base.types import Any
from nodelint.data import table
from nodelint.drift.budgets.active import MONDAY, Budget, Interval, count_nodes
from nodelint.model.messages import counted

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_DAY = timedelta(days=1)


def describe_budget(stretches: Sequence[Interval]) -> str:
    """Return the limits over a week as text: `Mon-Fri 09:00-17:00 UTC: nothing; otherwise 10 %`."""
    used = list(dict.fromkeys(budget for interval in stretches for budget in interval.budgets))
    always = [budget for budget in used if all(budget in interval.budgets for interval in stretches)]
    times = [f"{describe_times(b, stretches)}: {_least([*always, b])}" for b in used if b not in always]
    base = _least(always) if always else "no limit"
    return "; ".join([*times, f"otherwise {base}"] if times else [base])


def _least(active: Sequence[Budget]) -> str:
    """Return the smallest limits of budgets that are active together, as text."""
    if any(budget.broken or budget.nodes in ("0", "0%") for budget in active):
        return "nothing"
    shares = [count_nodes(budget.nodes[:-1]) for budget in active if budget.nodes.endswith("%")]
    numbers = [count_nodes(budget.nodes) for budget in active if not budget.nodes.endswith("%")]
    shown = [f"{min(shares)} %"] if shares else []
    return " or ".join([*shown, counted(min(numbers), "node")] if numbers else shown)


def describe_times(budget: Budget, stretches: Sequence[Interval]) -> str:
    """Return the times at which a budget is active: by weekday if all windows are equal, else one by one."""
    start, end = stretches[0].start, stretches[-1].end
    windows = list(budget.windows(start, end))
    whole = [window for window in windows if window[0] > start and window[1] < end]
    shapes = {(begin.time(), finish - begin) for begin, finish in whole}
    if len(shapes) == 1:
        ((time, length),) = shapes
        days = sorted({begin.weekday() for begin, _ in _restore_cut_windows(windows, time, length)})
        ends = (datetime.combine(start, time) + length).time()
        until = f"{ends:%H:%M}" if length <= _DAY else f"for {_hours(length)}"
        joined = f"{time:%H:%M}-{until}" if length <= _DAY else f"from {time:%H:%M} {until}"
        return f"{_days(days)} {joined} UTC"
    shown = [f"{begin:%a %d %b %H:%M} to {finish:%a %d %b %H:%M}" for begin, finish in windows[:4]]
    more = [f"and {len(windows) - 4:,} times more"] if len(windows) > 4 else []
    return f"{', '.join([*shown, *more])} UTC"


def local_hours(budget: Budget, region: str) -> tuple[str, bool] | None:
    """Return begin and end of a budget's window in a region's standard time, such as `18:00-02:00`, and whether
    summer time moves them by an hour.

    None if the budget has no window, if the window begins at several times of the day, or if the region is not known.
    """
    offset, schedule = table("regions")["offsets"].get(region), budget.schedule
    if offset is None or schedule is None or len(schedule.hours) * len(schedule.minutes) != 1:
        return None
    begin = MONDAY.replace(hour=min(schedule.hours), minute=min(schedule.minutes)) + timedelta(minutes=offset[0])
    return f"{begin:%H:%M}-{begin + budget.duration:%H:%M}", bool(offset[1])


def _restore_cut_windows(
    windows: Sequence[tuple[datetime, datetime]], time: Any, length: timedelta
) -> Iterator[tuple[datetime, datetime]]:
    """Yield the windows in full length, including those that the begin or end of the week cuts."""
    for begin, finish in windows:
        whole = begin if begin.time() == time else finish - length
        yield whole, whole + length


def _days(days: Sequence[int]) -> str:
    """Return days of the week as text: `Mon-Fri`, `Sat, Sun`, `every day`."""
    if len(days) == len(_DAYS):
        return "every day"
    runs: list[list[int]] = []
    for day in days:
        if runs and runs[-1][-1] == day - 1:
            runs[-1].append(day)
        else:
            runs.append([day])
    return ", ".join(
        f"{_DAYS[run[0]]}-{_DAYS[run[-1]]}" if len(run) > 2 else ", ".join(_DAYS[day] for day in run) for run in runs
    )


def _hours(length: timedelta) -> str:
    hours, rest = divmod(int(length.total_seconds()) // 60, 60)
    return f"{hours}h{rest}m" if rest else f"{hours}h"
