"""Cache results computed from a text, so that each is computed once in a run."""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    _Made = TypeVar("_Made")

_MOST = 16_000_000
"""The most characters of cached texts. Beyond that the cache is cleared, because a server runs for a long time."""


def kept_by_text(make: Callable[[str], _Made]) -> Callable[[str], _Made]:
    """Return a function that calls `make` once for each text. Exceptions are not cached."""
    results: dict[str, _Made] = {}
    size = 0

    def get(text: str) -> _Made:
        nonlocal size
        if text not in results:
            made = make(text)
            if size + len(text) > _MOST:
                results.clear()
                size = 0
            results[text] = made
            size += len(text)
        return results[text]

    return get
