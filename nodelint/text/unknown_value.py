"""Define the value of a scalar with a placeholder."""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Final


class UnknownValue:
    """The type of `UNKNOWN`, the value of each scalar that contains a placeholder."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "unknown"


UNKNOWN: Final = UnknownValue()
