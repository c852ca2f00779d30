"""Why the fix of a finding is not offered."""

from __future__ import annotations

from nodelint.tuples import NamedTuple

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Literal

    from nodelint.model.finding import Span
    from nodelint.source import Node

    Reason = Literal[
        "shared",
        "not-written-as-such",
        "computed",
        "two-edits-overlap",
        "other-result",
        "not-editable",
        "new-finding",
        "finding-stays",
        "undone",
    ]

_TEXTS = {
    "shared": "another object has the value too",
    "not-written-as-such": "no file holds the value as it is",
    "computed": "the value is made by an expression",
    "two-edits-overlap": "two of its edits change the same text",
    "other-result": "the files would not come to what is wanted",
    "not-editable": "the place cannot be edited",
    "new-finding": "it would make another finding",
    "finding-stays": "the finding would stay",
    "undone": "the fix of another rule takes it back",
}


class Withheld(NamedTuple):
    """Why a fix is not offered, in place of it.

    `at` is the place that keeps it from being made: the other reader, the expression. `detail` says more than the
    reason does by itself; it starts in lower case and has no full stop.
    """

    reason: Reason
    at: Node | Span | None = None
    detail: str = ""

    @property
    def text(self) -> str:
        """The reason as a part of a sentence."""
        return self.detail or _TEXTS[self.reason]
