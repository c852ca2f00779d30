"""Format times and durations in the causes of nodes."""

from __future__ import annotations

from datetime import datetime, timedelta


def later(start: datetime | None, after: timedelta | None) -> datetime | None:
    """Return `start` plus `after`. None if one of the two is not known."""
    if start is None or after is None:
        return None
    try:
        return start + after
    except OverflowError:
        return None


def shown_time(at: datetime) -> str:
    """Return a time as reports print it: `2026-11-20 12:00 UTC`."""
    return f"{at:%Y-%m-%d %H:%M} UTC"


def shown_length(length_: timedelta) -> str:
    """Return a duration in at most two units: `2d 3h`, `5m`, `12s`."""
    total = max(int(length_.total_seconds()), 0)
    parts = [(total // 86400, "d"), (total // 3600 % 24, "h"), (total // 60 % 60, "m"), (total % 60, "s")]
    used = [f"{number}{unit}" for number, unit in parts if number]
    return " ".join(used[:2]) or "0s"
