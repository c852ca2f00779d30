"""How much of something a statement covers."""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Literal

    Covered = Literal["all", "some", "none", "unknown"]
    """`unknown`: only facts of the account could tell."""


def joined(parts: Iterable[Covered]) -> Covered:
    """Return what several independent statements cover together: all where one does, then unknown, then some."""
    found = set(parts)
    order: tuple[Covered, ...] = ("all", "unknown", "some")
    return next((effect for effect in order if effect in found), "none")
