"""How many of a pool's nodes a statement covers."""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Literal

    Covered = Literal["all", "some", "none", "unknown"]
    """The nodes that a statement covers. `unknown`: only facts of the AWS account could show it."""


def joined(parts: Iterable[Covered]) -> Covered:
    """Return the nodes that several independent statements cover together: all if one covers all, else unknown if one
    is unknown, else some if one covers some, else none.
    """
    found = set(parts)
    order: tuple[Covered, ...] = ("all", "unknown", "some")
    return next((effect for effect in order if effect in found), "none")
