"""What changed between releases: the rows of `data/upgrade.json`, and which of them a move meets."""

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
"""What stands for the releases of a change that no release has yet."""


class ReleaseChange(NamedTuple):
    """A row. `where` are conditions of which any finds the places; `also` one that has to find something as well.

    `unless` is a condition under which the change concerns nobody. `rules` tell the same in the same place. The
    fields and their values are described in the file.
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
    """Return all rows, in the order of the file. TypeError for a row with a field that there is not."""
    return tuple(_change(dict(row)) for row in table("upgrade")["changes"])


def _change(row: dict[str, Any]) -> ReleaseChange:
    row["where"] = tuple(row.pop("where", ()))
    row["rules"] = tuple(row.pop("rules", ()))
    return ReleaseChange(**row)


def met(old: Version, new: Version) -> Iterator[tuple[ReleaseChange, Version | None]]:
    """Yield the changes that hold for `new` and not for `old`, each with its release; None if it is in none yet."""
    following = ahead()
    for change in changes():
        if change.releases == UNRELEASED:
            if following is not None and old < following.version <= new:
                yield change, None
        elif releases_match(change.releases, new) and not releases_match(change.releases, old):
            yield change, first(change.releases, old, new)


def first(releases: str, old: Version, new: Version) -> Version:
    """Return the first release above `old`, up to `new`, that meets a spec which `new` meets."""
    between = (release for release in RELEASES if old < release <= new and releases_match(releases, release))
    return next(between, new)
