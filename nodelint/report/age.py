"""The age of the facts that come with nodelint, and how to get newer facts."""

from __future__ import annotations

from nodelint.data import table
from nodelint.model.messages import counted
from nodelint.model.releases import NEWEST
from nodelint.model.support import day_number

OLD = 90
"""The age, in days, from which facts are reported as old if the user asks for details."""

NEWER_TYPES = ("no region of the catalogue: newer, sold elsewhere, or no more", "may be newer than the catalogue")
"""The ends of the reasons that newer facts about instance types may settle."""


def days_since(day: str, today: int) -> int:
    """Return the days from a date such as `2026-10-23` to `today` (days since 1970-01-01); 0 for a date in the
    future.
    """
    return max(today - day_number(day), 0)


def releases_day() -> str:
    """Return the date of the facts about releases."""
    day: str = table("versions")["date"]
    return day


def known_releases_text(today: int) -> str:
    """Return the newest known release, and the age of the facts about releases: `to 1.15.1, of 2026-10-23, …`."""
    day = releases_day()
    return f"to {NEWEST}, of {day}, {counted(days_since(day, today), 'day')} old"


def old_facts_text(types_day: str | None, today: int, least: int = OLD) -> str | None:
    """Return a sentence about facts that are older than `least` days. None if no fact is so old.

    `types_day` is the date of the instance types; None if it is not to be reported.
    """
    releases = f"releases of Karpenter are of {releases_day()}"
    old = [releases] if days_since(releases_day(), today) > least else []
    if types_day is not None and days_since(types_day, today) > least:
        old.append(f"instance types are of {types_day}")
    if not old:
        return None
    ways = "A newer release of nodelint may have newer ones; `nodelint refresh` gets those of your AWS account."
    return f"Facts older than {least} days: {', '.join(old)}. {ways}"


def version_text(types_day: str) -> str:
    """Return the dates of the facts, for `nodelint --version`."""
    return f"releases of Karpenter to {NEWEST}, of {releases_day()}; instance types of {types_day}"
