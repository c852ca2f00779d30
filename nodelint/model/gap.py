"""Describe what could not be judged, with its place and the reason."""

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


NOT_AS_VALUES = "not used as a values file"
"""The beginning of the reason of a gap about one file that may hold values of a chart."""
CHART_ELSEWHERE = "comes from a chart that is not in the repository, and what the chart adds is not known"


class FilePlace(NamedTuple):
    """A file or folder. Line and column count from 1, and are 0 if all of it is meant."""

    path: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return ":".join([self.path, *(str(number) for number in (self.line, self.column) if number)])


def line_of(at: Node | Span) -> FilePlace:
    """Return the path and the line of a place in a text."""
    return FilePlace(at.source.path, at.source.position(at.start).line)


class Gap(NamedTuple):
    """Something that could not be judged.

    - `place`: where it is.
    - `what`: its kind.
    - `reason`: a sentence without its full stop.
    - `decides`: it may change a verdict. If False, it is a remark.
    - `rule`: the rule that could not judge, None for all rules.
    - `fact`: the kind of fact from AWS that is missing.
    - `object`: the object that is not judged, or only in part.
    - `subject`: the name of the object, of an overlay's folder, or of a field.
    - `transient`: a retry may help.
    - `fails`: the tool that reads the place fails there as well.
    - `fault`: the internal error of nodelint that caused it.
    - `value`: the value that is not known, if the place is that of its cause.
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
    value: Node | Span | None = None

    @property
    def at(self) -> Node | Span:
        """Return the place of the gap in a text. Raise TypeError if only path and line are known."""
        if isinstance(self.place, FilePlace):
            raise TypeError(f"{self.place} has no text")
        return self.place

    @property
    def file_place(self) -> FilePlace:
        """Return the place of the gap as a path with a line."""
        return self.place if isinstance(self.place, FilePlace) else line_of(self.place)

    @property
    def path(self) -> str:
        """Return the path of the file or folder of the gap. Empty if it concerns no file."""
        return self.file_place.path

    @property
    def line(self) -> int:
        """Return the line of the gap, counted from 1; 0 if it concerns a whole file."""
        return self.file_place.line

    def skip(self, prefix: str = "", suffix: str = "") -> Skip:
        """Return the gap as a `Skip` for a rule to yield, with text around its reason."""
        return Skip(self.at, f"{prefix}{self.reason}{suffix}", self.transient, self.fact)

    @property
    def sentence(self) -> str:
        """Return the reason as a complete sentence, without its full stop."""
        if self.what == "overlay" and self.subject:
            shown = os.path.relpath(self.subject)
            folder = self.subject if shown.startswith("..") else shown
            return f"the overlay {folder.replace(os.sep, '/')} is not built: {self.reason}"
        return self.reason


class Skip(Gap):
    """A gap that a rule yields: it could not judge the object of the place, and why."""

    __slots__ = ()

    def __new__(cls, at: Node | Span, reason: str, transient: bool = False, fact: FactKind | None = None) -> Skip:
        """Create the gap. `fact` is the kind of fact from AWS that is missing, if that is the reason."""
        what: GapKind = "fact" if fact is not None else "object"
        return super().__new__(cls, *Gap(at, what, reason, fact=fact, transient=transient))


Findings = Iterator[Finding | Skip]
"""The type of the results that a rule yields."""


def gap_of(
    rule: str | None,
    path: str,
    obj: Object | None,
    reason: str,
    transient: bool = False,
    fact: FactKind | None = None,
) -> Gap:
    """Return the gap for an object or a file that a rule could not judge. If `rule` is None, no rule could.

    `path` is empty if the rule judged nothing in the whole run, because facts are missing.
    """
    what: GapKind = "fact" if fact is not None else "object" if obj is not None else "file"
    return Gap(FilePlace(path), what, reason, rule=rule, fact=fact, object=obj, transient=transient)
