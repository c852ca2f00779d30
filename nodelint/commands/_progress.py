"""How far a run is, on a terminal: one line on standard error, from the second second on."""

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
    """A line that is written over while a run goes on, and gone when it ends."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._process = os.getpid()
        self._next = monotonic() + _QUIET_SECONDS
        self._shown = False
        self._judged = 0

    def tell(self, text: str) -> None:
        """Show a text where it is time for one; a process that judges a part of the objects shows none."""
        moment = monotonic()
        if moment >= self._next and os.getpid() == self._process:
            self._next = moment + _BETWEEN_SECONDS
            self._shown = True
            self._write(text)

    def count_object(self) -> None:
        """Show how many objects have been judged, this one among them."""
        self._judged += 1
        self.tell(f"judged {self._judged:,} object{'' if self._judged == 1 else 's'} …")

    def clear(self) -> None:
        """Take the line away; what follows may stand in its place."""
        if self._shown:
            self._shown = False
            self._write("")


@cache
def start_line(write: Callable[[str], None]) -> ProgressLine:
    """Return the line of this run, the same wherever it is asked for; `write` shows a text in its place."""
    return ProgressLine(write)
