"""How many nodes a pool's budgets let Karpenter disrupt, at a moment and over a week."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodelint.drift.budgets import Budget, allowed, budgets, week
from nodelint.plan.disruption_rate import pace, words

SATURDAY = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def pool(*entries: dict[str, Any], **template: str) -> dict[str, Any]:
    return {"spec": {"disruption": {"budgets": list(entries)}, "template": {"spec": template}}}


def is_active(budget: Budget, moment: datetime) -> bool:
    return any(start <= moment < end for start, end in budget.windows(moment, moment + timedelta(minutes=1)))


def limit(moment: datetime, nodes: int, *entries: dict[str, Any]) -> int:
    return allowed([b for b in budgets(pool(*entries)) if b.broken or is_active(b, moment)], nodes)


@pytest.mark.parametrize(
    ("nodes", "of", "expected"),
    [("10%", 40, 4), ("10%", 41, 5), ("5%", 10, 1), ("10%", 0, 0), ("100%", 7, 7), ("0%", 9, 0), ("3", 40, 3)],
)
def test_a_percentage_is_rounded_up(nodes: str, of: int, expected: int) -> None:
    assert limit(SATURDAY, of, {"nodes": nodes}) == expected


def test_the_smallest_budget_counts_and_reasons_choose() -> None:
    assert limit(SATURDAY, 40, {"nodes": "5"}, {"nodes": "10%"}) == 4
    assert limit(SATURDAY, 40, {"nodes": "5"}, {"nodes": "0", "reasons": ["Empty"]}) == 5
    assert limit(SATURDAY, 40, {"nodes": "5"}, {"nodes": "0", "reasons": ["Empty", "Drifted"]}) == 0
    assert limit(SATURDAY, 40, {"nodes": "0", "reasons": []}) == 40
    assert limit(SATURDAY, 40) == 40


NIGHTS = {"nodes": "0", "schedule": "0 22 * * *", "duration": "8h"}


@pytest.mark.parametrize(
    ("hour", "minute", "expected"), [(21, 59, 40), (22, 0, 0), (23, 30, 0), (5, 59, 0), (6, 0, 40), (12, 0, 40)]
)
def test_a_schedule_is_active_from_its_hit_for_its_duration(hour: int, minute: int, expected: int) -> None:
    assert limit(SATURDAY.replace(hour=hour, minute=minute), 40, NIGHTS) == expected


@pytest.mark.parametrize(
    "entry",
    [
        {"nodes": "5", "schedule": "0 9 * *", "duration": "1h"},
        {"nodes": "5", "schedule": "0 9 * * 7", "duration": "1h"},
        {"nodes": "5", "schedule": "0 9 * * *", "duration": "1d"},
        {"nodes": "5", "schedule": "0 9 * *", "duration": "1h", "reasons": ["Empty"]},
        {"nodes": "half"},
    ],
)
def test_a_budget_that_cannot_be_read_lets_nothing_go(entry: dict[str, Any]) -> None:
    assert limit(SATURDAY, 40, {"nodes": "10"}, entry) == 0


CRON = st.builds(
    "{} {} {} * {}".format,
    st.sampled_from(["0", "30", "*/20", "5,10"]),
    st.sampled_from(["9", "*", "0-6", "*/5", "22"]),
    st.sampled_from(["*", "1", "21-23"]),
    st.sampled_from(["*", "1-5", "sun", "0,6"]),
)
DURATIONS = st.sampled_from(["10m", "30m", "8h", "24h", "60h"])


@given(CRON, DURATIONS, st.integers(0, 7 * 24 * 60 - 1))
def test_the_week_says_what_each_of_its_minutes_says(schedule: str, duration: str, minute: int) -> None:
    """By the definition: active where the next hit after now less the duration is not after now."""
    (budget,) = budgets(pool({"nodes": "1", "schedule": schedule, "duration": duration}))
    moment = SATURDAY + timedelta(minutes=minute)
    (stretch,) = (item for item in week([budget], SATURDAY) if item.start <= moment < item.end)
    assert bool(stretch.budgets) is by_definition(budget, moment)
    assert is_active(budget, moment) is by_definition(budget, moment)


def by_definition(budget: Budget, now: datetime) -> bool:
    schedule = budget.schedule
    assert schedule is not None
    at = now - budget.duration + timedelta(minutes=1)
    while at <= now:
        on_date, on_day = at.day in schedule.days, at.isoweekday() % 7 in schedule.weekdays
        day = on_date and on_day if schedule.any_day else on_date or on_day
        if day and at.hour in schedule.hours and at.minute in schedule.minutes:
            return True
        at += timedelta(minutes=1)
    return False


@pytest.mark.parametrize(("minutes", "windows"), [(59, 24), (60, 1), (61, 1)])
def test_windows_that_touch_are_one(minutes: int, windows: int) -> None:
    (budget,) = budgets(pool({"nodes": "0", "schedule": "@hourly", "duration": f"{minutes}m"}))
    assert len(list(budget.windows(SATURDAY, SATURDAY + timedelta(hours=23, minutes=59)))) == windows


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([{"nodes": "10%"}], ["at most 10% at a time, one after the other, empty nodes first"]),
        ([{"nodes": "0"}], ["never for drift: a budget allows none"]),
        ([{"nodes": "0%"}], ["never for drift: a budget allows none"]),
        (
            [{"nodes": "10%"}, {"nodes": "0", "schedule": "0 9 * * mon-fri", "duration": "8h"}],
            ["at most 10% at a time, one after the other, empty nodes first", "none Mon-Fri 09:00-17:00 UTC"],
        ),
        ([NIGHTS], ["without a limit, one after the other, empty nodes first", "none every day 22:00-06:00 UTC"]),
        (
            [{"nodes": "0", "schedule": "0 22 * * fri", "duration": "60h"}],
            [
                "without a limit, one after the other, empty nodes first",
                "none Sat 21 Nov 12:00 to Mon 23 Nov 10:00, Fri 27 Nov 22:00 to Sat 28 Nov 12:00 UTC",
            ],
        ),
        (
            [{"nodes": "20%"}, {"nodes": "5"}],
            ["at most 20% or 5 nodes, whichever is fewer, at a time, one after the other, empty nodes first"],
        ),
        # The smallest number, which is not the first of the texts.
        ([{"nodes": "10"}, {"nodes": "9"}], ["at most 9 nodes at a time, one after the other, empty nodes first"]),
        ([{"nodes": "10%"}, {"nodes": "9%"}], ["at most 9% at a time, one after the other, empty nodes first"]),
    ],
)
def test_the_pace_in_words(entries: list[dict[str, Any]], expected: list[str]) -> None:
    shown = words(pace(pool(*entries, terminationGracePeriod="1h"), SATURDAY))
    assert [sentence for sentence in shown if "may not be evicted" not in sentence] == expected


def test_what_budgets_do_not_decide_is_said_too() -> None:
    found = words(pace(pool({"nodes": "10%"}, expireAfter="720h"), SATURDAY), 25)
    assert found == [
        "at most 3 of 25 nodes at a time, one after the other, empty nodes first",
        "a node whose pods may not be evicted waits for them: the pool has no terminationGracePeriod",
        "nodes expire after 720h whatever the budgets say",
    ]
    found = words(pace(pool({"nodes": "10%"}, terminationGracePeriod="1h", expireAfter="720h"), SATURDAY))
    assert found[1:] == [
        "a node whose pods may not be evicted goes after 1h anyway",
        "nodes expire after 720h whatever the budgets say",
    ]


@pytest.mark.parametrize(
    ("schedule", "duration", "open_minutes"),
    [
        ("* * * * *", "30s", 5040),
        ("*/5 * * * *", "1m", 2016),
        ("0 0 1 1 *", "876000h", 10080),
        ("0 0 30 2 *", "876000h", 0),
    ],
)
def test_a_week_of_many_or_long_windows_is_worked_out_at_once(
    schedule: str, duration: str, open_minutes: int
) -> None:
    entries = [{"nodes": "0", "schedule": schedule, "duration": duration}]
    (budget,) = budgets({"spec": {"disruption": {"budgets": entries}}})
    stretches = week([budget], datetime(2026, 8, 3, tzinfo=UTC))
    closed = sum((stretch.end - stretch.start for stretch in stretches if stretch.closed), timedelta())
    assert closed == timedelta(minutes=open_minutes)
