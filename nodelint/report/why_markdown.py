"""Why nodes stay, as Markdown: a table of reasons, and a section for each."""

from __future__ import annotations

from collections.abc import Iterator

from nodelint.base.printable import screened
from nodelint.model.messages import counted
from nodelint.report.why_words import (
    HEADS,
    basis,
    change_line,
    event_lines,
    further_lines,
    gap_lines,
    headline,
    node_line,
    title_of,
)
from nodelint.why.answer import Answers, NodeAnswer

_MOST_NODES = 20


def why_markdown(answers: Answers) -> str:
    """Return the report."""
    lines = ["## Why nodes stay", "", f"**{headline(answers)}**, {basis(answers)}", ""]
    lines += [row for gap in gap_lines(answers) for row in (f"**Left out:** {_text(gap)}", "")]
    groups = answers.by_reason()
    if groups:
        lines += ["| | reason | nodes |", "| --- | --- | --- |"]
        lines += [f"| {HEADS[s][0]} | {_text(title_of(s, code))} | {len(members):,} |" for s, code, members in groups]
    for status, code, members in groups:
        lines += ["", f"### {HEADS[status][0]}: {_text(title_of(status, code))}", ""]
        lines += _group(members)
    lines += ["", *(f"> {_text(note)}" for note in (*answers.notes, *answers.unsaid))]
    return screened("\n".join(lines) + "\n")


def _group(members: list[NodeAnswer]) -> Iterator[str]:
    by_cause: dict[tuple[str, tuple[object, ...]], list[NodeAnswer]] = {}
    for answer in members:
        by_cause.setdefault((answer.cause.text, tuple(answer.cause.changes)), []).append(answer)
    for alike in by_cause.values():
        for answer in alike[:_MOST_NODES]:
            yield f"- {_text(node_line(answer))}"
        if len(alike) > _MOST_NODES:
            yield f"- and {counted(len(alike) - _MOST_NODES, 'more node')}"
        first = alike[0]
        yield ""
        yield f"  {_text(first.cause.text)}"
        for line in (*further_lines(first), *(f"event: {line}" for line in event_lines(first))):
            yield f"  - {_text(line)}"
        for change in first.cause.changes:
            yield f"  - **change:** {_text(change_line(change))}"
        yield ""


def _text(text: str) -> str:
    """Return text of the cluster with Markdown characters escaped."""
    flat = " ".join(text.split())
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>#|!~@" else c for c in flat)
