"""The changes between releases: the rows of `data/upgrade.json`, and which of them an upgrade includes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Literal

from nodelint.base.tuples import NamedTuple
from nodelint.data import table
from nodelint.model.finding import Severity
from nodelint.model.releases import RELEASES, Version, ahead, releases_match

Tell = Literal["found", "always", "policy", "route", "check", "unseen"]
When = Literal["before", "with", "after"]
Drift = Literal["none", "possible", "certain"]

UNRELEASED = "main"
"""The value of `releases` of a change that is not released yet."""


class ReleaseChange(NamedTuple):
    """A row of the file, which describes its fields and their values.

    `where` are conditions, each of which finds places. `also` is a condition that must find a place as well. If
    `unless` finds a place, the change concerns nobody. `rules` report the same in the same place.
    """

    id: str
    releases: str
    area: str
    subject: str
    level: Severity
    tell: Tell
    text: str
    source: str
    do: str | None = None
    when: When | None = None
    drift: Drift = "none"
    where: tuple[dict[str, Any], ...] = ()
    also: dict[str, Any] | None = None
    unless: dict[str, Any] | None = None
    rules: tuple[str, ...] = ()


@cache
def changes() -> tuple[ReleaseChange, ...]:
    """Return all rows, in the order of the file. Raise TypeError for a row with an unknown field."""
    return tuple(_change(dict(row)) for row in table("upgrade")["changes"])


def _change(row: dict[str, Any]) -> ReleaseChange:
    row["where"] = tuple(row.pop("where", ()))
    row["rules"] = tuple(row.pop("rules", ()))
    return ReleaseChange(**row)


def met(old: Version, new: Version) -> Iterator[tuple[ReleaseChange, Version | None]]:
    """Yield the changes that apply to `new` and not to `old`, each with its release. None if it is not released
    yet.
    """
    following = ahead()
    for change in changes():
        if change.releases == UNRELEASED:
            if following is not None and old < following.version <= new:
                yield change, None
        elif releases_match(change.releases, new) and not releases_match(change.releases, old):
            yield change, first(change.releases, old, new)


def first(releases: str, old: Version, new: Version) -> Version:
    """Return the first release after `old`, up to `new`, that matches a range. `new` matches it."""
    between = (release for release in RELEASES if old < release <= new and releases_match(releases, release))
    return next(between, new)
