"""Why nodes stay, as Markdown: a table of reasons, and a section for each."""

from __future__ import annotations

from collections.abc import Iterator

from nodelint.base.printable import screened
from nodelint.report import why_words
from nodelint.report.why_words import HEADS, title_of
from nodelint.why.answer import Answers, NodeAnswer

_MOST_NODES = 20


def why_markdown(answers: Answers) -> str:
    """Return the report."""
    lines = ["## Why nodes stay", "", f"**{why_words.headline(answers)}**, {why_words.basis(answers)}", ""]
    lines += [row for gap in why_words.gap_lines(answers) for row in (f"**Left out:** {_text(gap)}", "")]
    groups = answers.by_reason()
    if groups:
        lines += ["| | reason | nodes |", "| --- | --- | --- |"]
    for status, code, members in groups:
        lines.append(f"| {HEADS[status][0]} | {_text(title_of(status, code))} | {len(members):,} |")
    for status, code, members in groups:
        lines += ["", f"### {HEADS[status][0]}: {_text(title_of(status, code))}", "", *_group(members)]
    lines += ["", *(f"> {_text(note)}" for note in (*answers.notes, *answers.unsaid))]
    return screened("\n".join(lines) + "\n")


def _group(members: list[NodeAnswer]) -> Iterator[str]:
    for first, nodes in why_words.list_causes(members, _MOST_NODES):
        yield from (f"- {_text(line)}" for line in nodes)
        yield ""
        yield f"  {_text(first.cause.text)}"
        for line in (*why_words.further_lines(first), *(f"event: {line}" for line in why_words.event_lines(first))):
            yield f"  - {_text(line)}"
        for change in first.cause.changes:
            yield f"  - **change:** {_text(why_words.change_line(change))}"
        yield ""


def _text(text: str) -> str:
    """Return text of the cluster with Markdown characters escaped."""
    flat = " ".join(text.split())
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>#|!~@" else c for c in flat)
