"""Provide `TYPE_CHECKING` and `Any` without importing `typing`, which takes as long as a check of an empty file.

A type checker considers the name `TYPE_CHECKING` true wherever it comes from.
"""

from __future__ import annotations

__all__ = ["TYPE_CHECKING", "Any"]

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any
else:
    Any = object
