"""The progress of a run on a terminal: one line on standard error, shown after the first second."""

from __future__ import annotations

import os
from functools import cache
from time import monotonic

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_QUIET_SECONDS = 1.0
_BETWEEN_SECONDS = 0.1


class ProgressLine:
    """A line that is overwritten during a run, and removed at its end."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._process = os.getpid()
        self._next = monotonic() + _QUIET_SECONDS
        self._shown = False
        self._judged = 0

    def tell(self, text: str) -> None:
        """Show a text if the last one is old enough. Worker processes show nothing."""
        moment = monotonic()
        if moment >= self._next and os.getpid() == self._process:
            self._next = moment + _BETWEEN_SECONDS
            self._shown = True
            self._write(text)

    def count_object(self) -> None:
        """Count one judged object and show the number."""
        self._judged += 1
        self.tell(f"judged {self._judged:,} object{'' if self._judged == 1 else 's'} …")

    def clear(self) -> None:
        """Remove the line."""
        if self._shown:
            self._shown = False
            self._write("")


@cache
def start_line(write: Callable[[str], None]) -> ProgressLine:
    """Return the progress line of this run, the same for all calls; `write` shows a text in its place."""
    return ProgressLine(write)
