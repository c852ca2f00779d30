"""Provide `TYPE_CHECKING`, `Any` and `T` without importing `typing`, which takes as long as a check of an empty file.

A type checker considers the name `TYPE_CHECKING` true wherever it comes from.
"""

from __future__ import annotations

__all__ = ["TYPE_CHECKING", "Any", "T"]

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T")
    """Any type, the same one in the whole signature of a function."""
else:
    Any = T = object
