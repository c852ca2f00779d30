"""The value of a placeholder."""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Final


class UnknownValue:
    """The value of a scalar that holds a placeholder. There is one: `UNKNOWN`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "unknown"


UNKNOWN: Final = UnknownValue()
