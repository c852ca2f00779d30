"""Describe a finding of a rule: a place, a message, and the edits that fix it."""

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
        """Return whether the other span is within this one."""
        return self.source is other.source and self.start <= other.start and other.end <= self.end

    def touches(self, other: Span) -> bool:
        """Return whether both share a character. An empty span touches a span that contains it or borders on it."""
        if self.source is not other.source:
            return False
        if self.start == self.end or other.start == other.end:
            return self.start <= other.end and other.start <= self.end
        return self.start < other.end and other.start < self.end


class Edit(NamedTuple):
    """A change of a source: the characters `start` to `end` are replaced by `text`."""

    source: SourceText
    start: int
    end: int
    text: str

    @property
    def span(self) -> Span:
        """Return the characters that the edit replaces."""
        return Span(self.source, self.start, self.end)


class NoEdits(list[Edit]):
    """An empty list of edits. `reason` says why no edit can make the change and nothing else."""

    def __init__(self, reason: str) -> None:
        super().__init__()
        self.reason = reason


class Also(NamedTuple):
    """Another place that is involved in a finding, with a message about it."""

    at: Node | Span
    message: str

    @property
    def span(self) -> Span:
        """Return the characters of the place."""
        return span_of(self.at)


class Suggestion(NamedTuple):
    """One of several suggestions. Only the author can choose. `name` says in a few words what its edits do."""

    name: str
    edits: Sequence[Edit]


_LONGEST_CODE = 60
_WITHHELD_TEXTS = {
    "shared": "another object uses the value, and the edit would change that object",
    "not-written-as-such": "the value is put together from several places, and no file holds it as it is",
    "computed": "an expression makes the value: change the expression by hand",
    "two-edits-overlap": "two of its edits change the same text",
    "other-result": "nodelint tried the edit, and it does not make the object that the fix wants: edit it by hand",
    "not-editable": "nodelint cannot edit this place",
    "new-finding": "the fix would cause another finding",
    "finding-stays": "nodelint tried the edit, and the finding would still be there",
    "not-tried": "there are too many fixes here to try each of them by itself: apply some and check again",
}


class Withheld(NamedTuple):
    """The reason why a fix is not offered.

    - `at`: the place that prevents it, such as the other user of the value, or the expression.
    - `detail`: a longer explanation. It starts in lower case and has no full stop.
    """

    reason: WithheldReason
    at: Node | Span | None = None
    detail: str = ""

    @property
    def text(self) -> str:
        """Return the reason as a clause. If an expression computes the value, it is quoted."""
        if self.detail:
            return self.detail
        if self.reason == "computed" and self.at is not None:
            at = span_of(self.at)
            code = " ".join(at.source.text[at.start : at.end].split())
            if 0 < len(code) <= _LONGEST_CODE:
                return f"`{code}` makes the value: change it by hand"
        return _WITHHELD_TEXTS[self.reason]


class Finding(NamedTuple):
    """A finding of a rule: one thing that is wrong.

    - `at`: where a user must look.
    - `message`: what is wrong.
    - `severity`, `safety`: set only if they differ from the rule's own.
    - `edits`: the fix. All are applied or none. Empty if there is no fix.
    - `also`: other places that are involved.
    - `covers`: further nodes of this finding. Rules that it supersedes report nothing about them, and it reports
      nothing about theirs.
    - `note`: the consequence if nothing changes.
    - `help`: what to do, in addition to the fix or if no edit can do it (an upgrade, a choice).
    - `suggestions`: edits that are offered by name and never applied automatically.
    - `strict`: only the strict profile shows it.
    - `on_request`: it is true of most NodePools, and shown only if `--select` or `--extend-select` names the rule.
    - `once`: True if one line is enough for all findings of the rule whose messages differ only in values. A text
      groups the findings with this text. The first finding counts the others and names their places.
    - `withheld`: why there is no fix, if the rule has one.
    - `worse`: the rule also has a milder statement about the same value, for example that some instance types cannot
      launch where this finding says that none can. It is another finding: a baseline with the milder one does not
      hide it.

    `note` and `help` start in lower case and have no full stop.
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
    worse: bool = False

    @property
    def advice(self) -> tuple[str, ...]:
        """Return the lines that follow the message: `note: …`, `help: …`, `fix withheld: …`."""
        withheld = self.withheld.text if self.withheld is not None else None
        notes = (("note", self.note), ("help", self.help), ("fix withheld", withheld))
        return tuple(f"{word}: {text}" for word, text in notes if text)

    @property
    def whole_advice(self) -> tuple[str, ...]:
        """Return the lines of `advice`, and a line with the name of each suggestion."""
        return (*self.advice, *(f"suggestion: {suggestion.name}" for suggestion in self.suggestions))

    @property
    def span(self) -> Span:
        """Return the characters of the place."""
        return span_of(self.at)


def by_source(edits: Iterable[Edit]) -> list[list[Edit]]:
    """Return the edits grouped by the text that they change, in the order of the first edit of each text."""
    groups: dict[int, list[Edit]] = {}
    for edit in edits:
        groups.setdefault(id(edit.source), []).append(edit)
    return list(groups.values())


def overlap(edits: Sequence[Edit]) -> bool:
    """Return whether two edits of the same text overlap."""
    if len(edits) < 2:
        return False
    for group in by_source(edits):
        ordered = sorted(group, key=lambda edit: (edit.start, edit.end))
        if any(after.start < before.end for before, after in pairwise(ordered)):
            return True
    return False


def span_of(at: Node | Span) -> Span:
    """Return the characters of a node, or the span itself."""
    return at if isinstance(at, Span) else Span(at.source, at.start, at.end)


def written_place(at: Node | Span) -> Node | Span:
    """Return the place in a file where a node or span is written.

    For rendered text it differs (see `forms.rendered`).
    """
    built = at.source.built
    origin = None if built is None else built.find_origin(at)
    return at if origin is None else origin.at


def find_object_place(obj: Object) -> tuple[str, int]:
    """Return path and line where the kind of an object is written. An object may be rendered from several files."""
    at = span_of(written_place(obj.node.get("kind") or obj.node))
    return at.source.path, at.source.position(at.start).line


def label_of(source: SourceText) -> str:
    """Return the name of a rendering, such as its values file or workspace, which is shown beside a path.

    It is empty if the text is not rendered, or if its folder alone says which rendering it is.
    """
    return "" if source.built is None else str(source.built.label)


def shown_label(source: SourceText) -> str:
    """Return the name of a rendering for a report. Paths in it are relative to the working folder, as others are.

    It is empty if `label_of` is.
    """
    label, built = label_of(source), source.built
    if "../" not in label or built is None:
        return label
    import os

    folder = os.path.relpath(built.cluster).replace(os.sep, "/")
    return f"{folder} ({label.partition(' ')[0]})" if label.startswith("module.") else folder
