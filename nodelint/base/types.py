"""Provide `TYPE_CHECKING` without importing `typing`, which takes as long as a check of an empty file.

A type checker considers the name true wherever it comes from.
"""

from __future__ import annotations

TYPE_CHECKING = False
