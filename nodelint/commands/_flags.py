"""Flags that several commands read."""

from __future__ import annotations

from nodelint.commands import stop
from nodelint.tuples import NamedTuple

TYPE_CHECKING = False

if TYPE_CHECKING:
    from datetime import timedelta
    from typing import Any


class FactFlags(NamedTuple):
    """The flags about facts from AWS: ask it, with which profile, and how old an answer may be."""

    live: bool
    profile: str | None
    max_age: timedelta | None

    @classmethod
    def taken(cls, flags: dict[str, Any]) -> FactFlags:
        """Take them out of a command's flags; the rest are settings. Ends the run where they contradict."""
        fact_flags = cls(flags.pop("live"), flags.pop("aws_profile"), flags.pop("max_age"))
        if fact_flags.live and flags.get("snapshot"):
            stop("--live asks AWS and --snapshot does not: one of them")
        return fact_flags
