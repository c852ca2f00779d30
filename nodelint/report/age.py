"""How old the facts are that come with nodelint, and how to get newer ones."""

from __future__ import annotations

from nodelint.data import table
from nodelint.model.messages import counted
from nodelint.model.releases import NEWEST
from nodelint.model.support import day_number

OLD = 90
"""Days after which facts are reported as old if the user asks for details."""

NEWER_TYPES = ("no region of the catalogue: newer, sold elsewhere, or no more", "may be newer than the catalogue")
"""How the reasons end that newer facts about instance types may settle."""


def days_since(day: str, today: int) -> int:
    """Return the days from a day such as `2026-10-23` to `today`, in days since 1970; 0 for one that is to come."""
    return max(today - day_number(day), 0)


def releases_day() -> str:
    """Return the day that the facts about releases are of."""
    day: str = table("versions")["date"]
    return day


def known_releases_text(today: int) -> str:
    """Return the newest release that is known, and how old the facts about releases are: `to 1.15.1, of 2026-10-23,
    …`.
    """
    day = releases_day()
    return f"to {NEWEST}, of {day}, {counted(days_since(day, today), 'day')} old"


def old_facts_text(types_day: str | None, today: int) -> str | None:
    """Return a sentence about facts that are older than `OLD` days. None if none are.

    `types_day` is the day of the instance types.
    """
    releases = f"releases of Karpenter are of {releases_day()}"
    old = [releases] if days_since(releases_day(), today) > OLD else []
    if types_day is not None and days_since(types_day, today) > OLD:
        old.append(f"instance types are of {types_day}")
    if not old:
        return None
    ways = "A newer release of nodelint may have newer ones; `nodelint refresh` gets those of your AWS account."
    return f"Facts older than {OLD} days: {', '.join(old)}. {ways}"


def version_text(types_day: str) -> str:
    """Return the days of the facts, for `nodelint --version`."""
    return f"releases of Karpenter to {NEWEST}, of {releases_day()}; instance types of {types_day}"
