"""A finding of a rule: a place, a sentence, and the edits that fix it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.text import Node, SourceText

if TYPE_CHECKING:
    from typing import Literal

    from nodelint.model.manifest import Object

    Severity = Literal["error", "warning", "info"]
    Safety = Literal["safe", "unsafe"]
    WithheldReason = Literal[
        "shared",
        "not-written-as-such",
        "computed",
        "two-edits-overlap",
        "other-result",
        "not-editable",
        "new-finding",
        "finding-stays",
        "not-tried",
    ]
else:
    Severity = Safety = str


SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


class Span(NamedTuple):
    """A range of characters of one source: `start` inclusive, `end` exclusive, in code points."""

    source: SourceText
    start: int
    end: int

    def holds(self, other: Span) -> bool:
        """Whether the other lies within this one."""
        return self.source is other.source and self.start <= other.start and other.end <= self.end

    def touches(self, other: Span) -> bool:
        """Whether both share a character, or one lies inside the other or at its border while empty."""
        if self.source is not other.source:
            return False
        if self.start == self.end or other.start == other.end:
            return self.start <= other.end and other.start <= self.end
        return self.start < other.end and other.start < self.end


class Edit(NamedTuple):
    """Characters `start` to `end` of a source's text, and what is to stand there instead."""

    source: SourceText
    start: int
    end: int
    text: str

    @property
    def span(self) -> Span:
        """Return the characters that it replaces."""
        return Span(self.source, self.start, self.end)


class NoEdits(list[Edit]):
    """No edits, because none would do this at the place and nothing else: `reason` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__()
        self.reason = reason


class Also(NamedTuple):
    """Another place that plays a part in a finding, and what part."""

    at: Node | Span
    message: str

    @property
    def span(self) -> Span:
        """Return the characters at which it stands."""
        return span_of(self.at)


class Suggestion(NamedTuple):
    """One suggestion of several, between which only the author can choose: what it does, in a few words, and its
    edits.
    """

    name: str
    edits: Sequence[Edit]


_LONGEST_CODE = 60
_WITHHELD_TEXTS = {
    "shared": "another object uses the value, and the edit would change that object",
    "not-written-as-such": "the value is put together from several places, and no file holds it as it is",
    "computed": "an expression makes the value: change the expression by hand",
    "two-edits-overlap": "two of its edits change the same text",
    "other-result": "nodelint tried the edit, and what is rendered with it is not what the rule wants",
    "not-editable": "nodelint cannot edit this place",
    "new-finding": "the fix would cause another finding",
    "finding-stays": "nodelint tried the edit, and the finding would still be there",
    "not-tried": "there are too many fixes here to try each of them by itself: apply some and check again",
}


class Withheld(NamedTuple):
    """Why a fix is not offered, in place of it.

    `at` is the place that keeps it from being made: the other reader, the expression. `detail` says more than the
    reason does by itself; it starts in lower case and has no full stop.
    """

    reason: WithheldReason
    at: Node | Span | None = None
    detail: str = ""

    @property
    def text(self) -> str:
        """Return the reason as a part of a sentence; an expression that makes a value is named."""
        if self.detail:
            return self.detail
        if self.reason == "computed" and self.at is not None:
            at = span_of(self.at)
            code = " ".join(at.source.text[at.start : at.end].split())
            if 0 < len(code) <= _LONGEST_CODE:
                return f"`{code}` makes the value: change it by hand"
        return _WITHHELD_TEXTS[self.reason]


class Finding(NamedTuple):
    """One thing that is wrong.

    `at` is where a user has to look. `severity` and `safety` default to the rule's own; a rule sets them where one
    finding differs. `edits` are applied all or none; a finding without edits has no fix. `also` names the other
    places that play a part. `covers` lists further nodes that this finding is about: rules that it supersedes report
    nothing about them, and it reports nothing about theirs. `note` is a consequence: what happens if it stays so.
    `help` is what to do, in words, besides the fix or where no edit can do it (an upgrade, a choice). Both start in
    lower case and have no full stop. `suggestions` are offered by name; none is applied by itself. `strict` says that
    it is information which the strict profile shows, and no other, although the rule runs in others. `on_request`
    says that it is true of most NodePools, and is shown only if `--select` or `--extend-select` names its rule.
    `once` says that one line of a run is enough for all findings of the rule that say the same of other values, or
    that bear the same name: the first one counts the others and names their places. `withheld` is why there is no
    fix where the rule has one.
    """

    at: Node | Span
    message: str
    severity: Severity | None = None
    edits: Sequence[Edit] = ()
    safety: Safety | None = None
    also: Sequence[Also] = ()
    covers: Sequence[Node] = ()
    note: str | None = None
    help: str | None = None
    suggestions: Sequence[Suggestion] = ()
    strict: bool = False
    on_request: bool = False
    once: bool | str = False
    withheld: Withheld | None = None

    @property
    def advice(self) -> tuple[str, ...]:
        """Return the lines that follow the message wherever it is shown: `note: …`, `help: …`, `fix withheld: …`."""
        withheld = self.withheld.text if self.withheld is not None else None
        notes = (("note", self.note), ("help", self.help), ("fix withheld", withheld))
        return tuple(f"{word}: {text}" for word, text in notes if text)

    @property
    def span(self) -> Span:
        """Return the characters at which it stands."""
        return span_of(self.at)


def by_source(edits: Iterable[Edit]) -> list[list[Edit]]:
    """Return edits grouped by the text that they change, in the order in which those texts first occur."""
    groups: dict[int, list[Edit]] = {}
    for edit in edits:
        groups.setdefault(id(edit.source), []).append(edit)
    return list(groups.values())


def overlap(edits: Sequence[Edit]) -> bool:
    """Whether two edits of one text cannot both be made."""
    if len(edits) < 2:
        return False
    for group in by_source(edits):
        ordered = sorted(group, key=lambda edit: (edit.start, edit.end))
        if any(after.start < before.end for before, after in pairwise(ordered)):
            return True
    return False


def span_of(at: Node | Span) -> Span:
    """Return the characters that a node or a span stands for."""
    return at if isinstance(at, Span) else Span(at.source, at.start, at.end)


def written_place(at: Node | Span) -> Node | Span:
    """Return where a part of an object is written, in a file: itself, except what is rendered (see
    `forms.rendered`).
    """
    built = at.source.built
    origin = None if built is None else built.find_origin(at)
    return at if origin is None else origin.at


def find_object_place(obj: Object) -> tuple[str, int]:
    """Return the file and line in which the kind of an object is written: it may be built of several files."""
    at = span_of(written_place(obj.node.get("kind") or obj.node))
    return at.source.path, at.source.position(at.start).line


def label_of(source: SourceText) -> str:
    """Return what a text is built with besides its folder, where that is not plain; else empty."""
    return "" if source.built is None else str(source.built.label)
