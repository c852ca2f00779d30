"""What could not be judged, its place and the reason."""

from __future__ import annotations

import os
from collections.abc import Iterator

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.model.finding import Finding, Span

if TYPE_CHECKING:
    from typing import Literal

    from nodelint.model.fact_kinds import FactKind
    from nodelint.model.manifest import Object
    from nodelint.text import Node

    GapKind = Literal["file", "folder", "object", "field", "overlay", "chart", "values", "module", "fact", "release"]


CHART_ELSEWHERE = "comes from a chart that is not in the repository, and what the chart adds is not known"


class FilePlace(NamedTuple):
    """A file or folder. The line and the column count from 1, and are 0 where it is about all of it."""

    path: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return ":".join([self.path, *(str(number) for number in (self.line, self.column) if number)])


def line_of(at: Node | Span) -> FilePlace:
    """Return the path and the line of a place in a text."""
    return FilePlace(at.source.path, at.source.position(at.start).line)


class Gap(NamedTuple):
    """Something that could not be judged: its place, what it is, and the reason, a sentence without its full stop.

    `decides`: it may change a verdict, of a plan: the sides differ there; else it is a remark. `rule` is the rule
    that waits, None stands for all of them. `fact` is the kind of fact from AWS that is missing, `transient` says
    that trying again may help. `object` is the object that is not judged, or not in full; `subject` names it, or
    anything else: the folder of an overlay, a field. `fails`: what reads the place in the end stops there, too.
    `fault` is the error of nodelint itself that is to blame.
    """

    place: FilePlace | Node | Span
    what: GapKind
    reason: str
    decides: bool = True
    rule: str | None = None
    fact: FactKind | None = None
    object: Object | None = None
    subject: str = ""
    transient: bool = False
    fails: bool = False
    fault: str = ""

    @property
    def at(self) -> Node | Span:
        """Return the place of the gap in a text. Raise TypeError where only path and line are known."""
        if isinstance(self.place, FilePlace):
            raise TypeError(f"{self.place} has no text")
        return self.place

    @property
    def file_place(self) -> FilePlace:
        """Return the place of the gap as a path with a line."""
        return self.place if isinstance(self.place, FilePlace) else line_of(self.place)

    @property
    def path(self) -> str:
        """Return the path of its file or folder; empty if it is about no file."""
        return self.file_place.path

    @property
    def line(self) -> int:
        """Return the line of the gap, counted from 1; 0 where the gap is about a whole file."""
        return self.file_place.line

    def skip(self, prefix: str = "", suffix: str = "") -> Skip:
        """Return what a rule says that waits for this."""
        return Skip(self.at, f"{prefix}{self.reason}{suffix}", self.transient, self.fact)

    @property
    def sentence(self) -> str:
        """Return the reason as a sentence of its own, without its full stop."""
        if self.what == "overlay" and self.subject:
            shown = os.path.relpath(self.subject)
            folder = self.subject if shown.startswith("..") else shown
            return f"the overlay {folder.replace(os.sep, '/')} is not built: {self.reason}"
        return self.reason


class Skip(Gap):
    """A gap that a rule yields: it could not judge the object of the place, and why."""

    __slots__ = ()

    def __new__(cls, at: Node | Span, reason: str, transient: bool = False, fact: FactKind | None = None) -> Skip:
        """Make the gap; `fact` is the kind of fact from AWS that is missing, where that is the reason."""
        what: GapKind = "fact" if fact is not None else "object"
        return super().__new__(cls, *Gap(at, what, reason, fact=fact, transient=transient))


Findings = Iterator[Finding | Skip]
"""What a rule yields."""


def gap_of(
    rule: str | None,
    path: str,
    obj: Object | None,
    reason: str,
    transient: bool = False,
    fact: FactKind | None = None,
) -> Gap:
    """Return what is said of an object or a file that a rule, or none of them (None), has judged.

    `path` is empty if the rule judged nothing in the whole run, because facts are missing.
    """
    what: GapKind = "fact" if fact is not None else "object" if obj is not None else "file"
    return Gap(FilePlace(path), what, reason, rule=rule, fact=fact, object=obj, transient=transient)
