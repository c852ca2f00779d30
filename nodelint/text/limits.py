"""Record the inputs that a run skips because of a limit or an internal error.

A limit protects against a repository that names inputs without end. Inputs behind the limit are not judged, and the
report must say so. The same applies to a file on which nodelint itself fails.
"""

from __future__ import annotations

import os

from nodelint.base.budget import BudgetSpent
from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeVar

    from nodelint.model.gap import Gap
    from nodelint.text import SourceText

    _T = TypeVar("_T")


class LeftOutNotes:
    """Collect the gaps that are noted while this is entered as a context manager, each once, in order.

    `make` returns a gap for: the path of the file that names the inputs, the line, the reason, and the internal error
    (empty if there is none).
    """

    def __init__(self, make: Callable[[str, int, str, str], Gap]) -> None:
        self._make = make
        self.found: dict[Gap, None] = {}
        self.broken: dict[str, SourceText] = {}
        """The values files that are needed and have a syntax error, by path."""

    def add(self, path: str, line: int, reason: str, fault: str) -> None:
        """Record inputs that are skipped. `path` and `line` are the place that names them."""
        self.found.setdefault(self._make(path, line, reason, fault))

    def __enter__(self) -> LeftOutNotes:
        _open.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _open.remove(self)


_open: list[LeftOutNotes] = []
"""The active collectors, the innermost last."""


def note_left_out(path: str, reason: str, line: int = 1, fault: str = "") -> None:
    """Record that inputs named at a line of a file are skipped. Do nothing if no collector is active."""
    if _open:
        shown = os.path.relpath(path).replace(os.sep, "/") if os.path.isabs(path) else path
        _open[-1].add(shown, line, reason, fault)


def note_broken(sources: Iterable[SourceText]) -> None:
    """Record values files with a syntax error (see `forms.lib.values.read_broken`), which releases need."""
    for source in sources if _open else ():
        _open[-1].broken.setdefault(os.path.abspath(source.path), source)


def note_more(path: str, number: int, most: int, what: str, line: int = 1) -> None:
    """Record how many inputs a limit skips: all of `number` beyond `most`. Do nothing if the limit is not reached."""
    if number > most:
        note_left_out(path, f"{number - most:,} of {number:,} {what} are not judged: {most:,} are the most", line)


def note_limit(path: str, most: int, what: str, line: int = 1) -> None:
    """Record that a limit skips inputs whose number is not known."""
    note_left_out(path, f"more than {most:,} {what}: what is behind the limit is not judged", line)


BROKE_DOWN = "nodelint failed on this file, please report it"


def guarded(path: str, make: Callable[[], Iterable[_T]]) -> list[_T]:
    """Return the results of `make` for a file.

    If nodelint itself fails on it, record a gap and return an empty list.
    """
    try:
        return list(make())
    except BudgetSpent as limit:
        note_left_out(path, str(limit))
        return []
    except Exception as error:
        note_fault(path, error)
        return []


def note_fault(path: str, error: Exception) -> None:
    """Record that a file is skipped because of an internal error. Raise it if NODELINT_DEBUG is set."""
    if os.environ.get("NODELINT_DEBUG") or not _open:
        raise error
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    note_left_out(path, f"{BROKE_DOWN}: {what[:200]}", fault=f"internal error, please report it: {path}: {what}")
