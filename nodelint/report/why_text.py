"""Why nodes stay, as text, grouped by cause; nodes that stay come first."""

from __future__ import annotations

from collections.abc import Iterator

from nodelint.base.printable import printable
from nodelint.base.types import TYPE_CHECKING
from nodelint.model.messages import counted
from nodelint.report import why_words
from nodelint.report.style import PAGE, TextStyle, fitted, wrap, wrap_labelled
from nodelint.report.why_words import HEADS, title_of
from nodelint.why.answer import Answers, NodeAnswer

if TYPE_CHECKING:
    from nodelint.why.answer import Status

_MOST_NODES = 20
"""The most nodes of one cause that are listed by name."""


def why_text(answers: Answers, look: TextStyle = PAGE) -> str:
    """Return the report."""
    lines = [*fitted(f"{why_words.headline(answers)}, {why_words.basis(answers)}", look)]
    lines += [row for gap in why_words.gap_lines(answers) for row in fitted(f"Left out: {gap}.", look)]
    lines += [row for note in answers.notes for row in fitted(f"Note: {printable(note)}.", look)]
    for status, code, members in answers.by_reason():
        lines += ["", *_group(status, code, members, look)]
    lines += ["", *(row for line in answers.unsaid for row in wrap(line, look.width, "", ""))]
    return "\n".join(lines)


def _group(status: Status, code: str, members: list[NodeAnswer], look: TextStyle) -> Iterator[str]:
    head, colour = HEADS[status]
    count = f"  {counted(len(members), 'node')}  [{code}]"
    yield f"{look.style(head, fg=colour, bold=True)}  {look.style(title_of(status, code), bold=True)}{count}"
    for first, nodes in why_words.list_causes(members, _MOST_NODES):
        for line in nodes:
            yield from wrap(line, look.width, "  ", "    ")
        yield from _cause(first, look)


def _cause(answer: NodeAnswer, look: TextStyle) -> Iterator[str]:
    margin = (look.width, "    ", "    ")
    yield from wrap(answer.cause.text, *margin)
    for line in why_words.further_lines(answer):
        yield from wrap(line, *margin)
    for line in why_words.event_lines(answer):
        yield from wrap_labelled("event", line, look, "    ", fg="blue")
    for change in answer.cause.changes:
        yield from wrap_labelled("help", why_words.change_line(change), look, "    ", fg="cyan")
