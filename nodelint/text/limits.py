"""Record what a run leaves out because of a limit.

A limit holds back a repository that names without end. What is behind it is not judged, and that must be said. The
same goes for a file over which nodelint itself breaks down.
"""

from __future__ import annotations

import os

from nodelint.base.budget import BudgetSpent
from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeVar

    from nodelint.model.gap import Gap

    _T = TypeVar("_T")


class LeftOutNotes:
    """What is left out while it is open, each once, in the order in which it is noted.

    `make` makes a gap of the path of the file that names the inputs, the line, the reason, and the error of nodelint
    itself that is to blame, empty if none is.
    """

    def __init__(self, make: Callable[[str, int, str, str], Gap]) -> None:
        self._make = make
        self.found: dict[Gap, None] = {}

    def add(self, path: str, line: int, reason: str, fault: str) -> None:
        """Note inputs that are left out."""
        self.found.setdefault(self._make(path, line, reason, fault))

    def __enter__(self) -> LeftOutNotes:
        _open.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _open.remove(self)


_open: list[LeftOutNotes] = []
"""The notes that are open, the innermost last."""


def note_left_out(path: str, reason: str, line: int = 1, fault: str = "") -> None:
    """Say that inputs are left out, to whoever builds the objects."""
    if _open:
        shown = os.path.relpath(path).replace(os.sep, "/") if os.path.isabs(path) else path
        _open[-1].add(shown, line, reason, fault)


def note_more(path: str, number: int, most: int, what: str, line: int = 1) -> None:
    """Say how many of some inputs a limit leaves out; nothing if it leaves out none."""
    if number > most:
        note_left_out(path, f"{number - most:,} of {number:,} {what} are not judged: {most:,} are the most", line)


def note_limit(path: str, most: int, what: str, line: int = 1) -> None:
    """Say that a limit leaves out inputs whose number is not known."""
    note_left_out(path, f"more than {most:,} {what}: what is behind the limit is not judged", line)


BROKE_DOWN = "nodelint failed on this file, please report it"


def guarded(path: str, make: Callable[[], Iterable[_T]]) -> list[_T]:
    """Return what `make` makes of a file; nothing if nodelint itself breaks down over it, which is noted as a gap."""
    try:
        return list(make())
    except BudgetSpent as limit:
        note_left_out(path, str(limit))
        return []
    except Exception as error:
        note_fault(path, error)
        return []


def note_fault(path: str, error: Exception) -> None:
    """Say that an error of nodelint itself leaves out a file. Raise it with NODELINT_DEBUG."""
    if os.environ.get("NODELINT_DEBUG") or not _open:
        raise error
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    note_left_out(path, f"{BROKE_DOWN}: {what[:200]}", fault=f"internal error, please report it: {path}: {what}")
