"""Why nodes stay, as one HTML page without network access or other files, in the reader's light or dark theme."""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING
from nodelint.report import why_words
from nodelint.report.html_parts import escaped, html_page, table, table_row
from nodelint.report.why_words import HEADS, title_of
from nodelint.why.answer import Answers, NodeAnswer

if TYPE_CHECKING:
    from nodelint.why.answer import Status

_TONES: dict[Status, str] = {"stays": "all", "unknown": "unknown", "going": "some", "goes": "", "unmanaged": ""}
_MOST_NODES = 200
_COLUMNS = ("node", "why, and what would change it")


def why_html(answers: Answers) -> str:
    """Return the answers as an HTML page."""
    groups = answers.by_reason()
    index = "".join(
        f'<li class="{_TONES[status]}"><a href="#g{n}">{escaped(title_of(status, code))}</a> '
        f"<span>{HEADS[status][0]}: {len(members):,}</span></li>"
        for n, (status, code, members) in enumerate(groups)
    )
    sections = "".join(_section(n, *group) for n, group in enumerate(groups))
    notes = "".join(f"<p class=quiet>{escaped(note)}</p>" for note in (*answers.notes, *answers.unsaid))
    gaps = "".join(f"<p><b>Left out:</b> {escaped(gap)}</p>" for gap in why_words.gap_lines(answers))
    top = f"<p class=quiet>{escaped(why_words.basis(answers))}</p>{gaps}<ul class=index>{index}</ul>"
    return html_page("nodelint why", escaped(why_words.headline(answers)), f"{top}{sections}{notes}")


def _section(number: int, status: Status, code: str, members: list[NodeAnswer]) -> str:
    rows = map(_row, members[:_MOST_NODES])
    more = len(members) - _MOST_NODES
    rest = f"<p class=quiet>and {more:,} more nodes</p>" if more > 0 else ""
    box = '<input class=filter placeholder="Filter nodes" aria-label="Filter nodes">' if len(members) > 10 else ""
    return (
        f'<section id=g{number} class="pool {_TONES[status]}"><h2>{escaped(title_of(status, code))}</h2>'
        f"<p class=verdict>{HEADS[status][0]} <code>{escaped(code)}</code></p>"
        f"<div class=scroll>{box}{table(_COLUMNS, rows, 'reasons', scrolls=False)}</div>{rest}</section>"
    )


def _row(answer: NodeAnswer) -> str:
    message = [f"<p>{escaped(answer.cause.text)}</p>"]
    message += [f"<p class=quiet>{escaped(line)}</p>" for line in why_words.further_lines(answer)]
    message += [f"<p class=quiet>event {escaped(line)}</p>" for line in why_words.event_lines(answer)]
    message += [f"<p><b>change:</b> {escaped(why_words.change_line(change))}</p>" for change in answer.cause.changes]
    return table_row(escaped(why_words.node_line(answer)), "".join(message))
