"""Words for all formats of `why`: headings, counts and lines of an answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nodelint.base.printable import printable
from nodelint.base.types import TYPE_CHECKING
from nodelint.model.messages import counted, list_first
from nodelint.why.answer import TITLES, Answers, NodeAnswer, SuggestedChange
from nodelint.why.events import meanings
from nodelint.why.times import shown_time

if TYPE_CHECKING:
    from nodelint.why.answer import Status

HEADS: dict[Status, tuple[str, str]] = {
    "stays": ("STAYS", "red"),
    "unknown": ("NOT KNOWN", "yellow"),
    "going": ("GOING", "cyan"),
    "goes": ("GOES", "green"),
    "unmanaged": ("NOT KARPENTER'S", "white"),
}
"""The word and the colour of each status."""


def headline(answers: Answers) -> str:
    """Return how many nodes stay, are removed, or have no known answer, in one line."""
    counts: dict[str, int] = {}
    for answer in answers.nodes:
        counts[answer.status] = counts.get(answer.status, 0) + 1
    words = {
        "stays": "stay" if counts.get("stays") != 1 else "stays",
        "unknown": "not known",
        "going": "being removed",
        "goes": "go" if counts.get("goes") != 1 else "goes",
        "unmanaged": "not Karpenter's",
    }
    parts = [f"{counts[status]:,} {word}" for status, word in words.items() if counts.get(status)]
    return f"{counted(len(answers.nodes), 'node')}: {', '.join(parts)}" if parts else "no nodes"


def gap_lines(answers: Answers) -> Iterator[str]:
    """Yield the nodes without an answer, and why."""
    for gap in answers.gaps:
        names = list_first(list(map(printable, gap.nodes)), 20)
        yield f"{counted(len(gap.nodes), 'node')} not judged, as {printable(gap.reason)}: {names}"


def basis(answers: Answers) -> str:
    """Return the time, and the release with the place that states it."""
    return f"at {shown_time(answers.now)}, as Karpenter {answers.release} decides ({answers.release_from})"


def title_of(status: Status, code: str) -> str:
    """Return the heading of a group of nodes by their status and the code of the cause."""
    title = TITLES.get(code, code)
    return title if status != "unknown" else f"{title}?"


def node_line(answer: NodeAnswer) -> str:
    """Return a node with its pool, type, capacity type, zone and price."""
    parts = [answer.pool, answer.instance_type, answer.capacity_type, answer.zone]
    price = [f"${answer.price:.4f}/h"] if answer.price is not None else []
    shown = ", ".join(printable(part) for part in [*parts, *price] if part)
    return f"{printable(answer.name)}{f' ({shown})' if shown else ''}"


def change_line(change: SuggestedChange) -> str:
    """Return an edit in one line: place, old value and new value."""
    where = printable(change.target) + (f" {change.path}" if change.path else "")
    value = ""
    if change.new is not None:
        value = f": {change.old} -> {change.new}" if change.old is not None else f": {change.new}"
    place = f" [{printable(change.place)}]" if change.place else ""
    return f"{where}{printable(value)}{place} ({printable(change.text)})"


def list_causes(members: Sequence[NodeAnswer], most: int) -> Iterator[tuple[NodeAnswer, list[str]]]:
    """Yield the first node of each cause, and the lines of the first `most` nodes of the cause.

    One more line counts the other nodes.
    """
    alike: dict[tuple[str, tuple[object, ...]], list[NodeAnswer]] = {}
    for answer in members:
        alike.setdefault((answer.cause.text, tuple(answer.cause.changes)), []).append(answer)
    for nodes in alike.values():
        more = [f"and {counted(len(nodes) - most, 'more node')}"] if len(nodes) > most else []
        yield nodes[0], [*map(node_line, nodes[:most]), *more]


def further_lines(answer: NodeAnswer) -> Iterator[str]:
    """Yield the lines about a node after its first cause."""
    for line in answer.cause.lines:
        yield printable(line)
    for method, cause in answer.others:
        yield f"{method}: {printable(cause.text)}"
    for doubt in answer.unknown[:3]:
        yield f"not known: {printable(doubt)}"
    if answer.expires is not None and answer.status in ("stays", "unknown"):
        yield f"expires at {shown_time(answer.expires)}, whatever keeps it until then"


def event_lines(answer: NodeAnswer) -> Iterator[str]:
    """Yield the events about a node, and whether each has the same cause as the answer."""
    for reason, message in answer.events[:2]:
        codes = meanings(message)
        agrees = ", the same cause" if answer.cause.code in codes else ""
        yield f"{reason}{agrees}: {printable(message)[:300]}"
