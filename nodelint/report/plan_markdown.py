"""A plan as a comment on a pull request: the verdict on each pool first, details folded.

Text of a manifest is written as code or escaped, so that it cannot add markup or break the table.
"""

from __future__ import annotations

from html import escape
from urllib.parse import quote

from nodelint.base.printable import printable, screened, writable
from nodelint.base.types import TYPE_CHECKING
from nodelint.model.finding import label_of, span_of
from nodelint.model.messages import counted, list_first
from nodelint.plan.roll import describe_roll
from nodelint.report import plan_blocks, plan_words
from nodelint.report.markdown import MOST, inline, table_head, table_row
from nodelint.report.plan_blocks import CodeText
from nodelint.report.plan_words import place_of, price

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from nodelint.model.finding import Span
    from nodelint.plan import Plan, PoolPlan
    from nodelint.plan.outcome import Findings
    from nodelint.plan.reasons import Reason
    from nodelint.plan.values import ValueChange
    from nodelint.report.plan_blocks import Cell, PlanBlock
    from nodelint.text import Node

MARK = "<!-- nodelint plan -->"
"""The first line, by which a CI job finds its earlier comment."""

NOTHING = "<!-- nodelint plan: nothing changed -->"
"""The second line if the plan has no changes, so that a CI job writes no comment."""

_MARKS = {"all": "🔴", "some": "🟠", "unknown": "🟡", "none": "🟢"}
_FOR_TABLE = MOST * 4 // 10
_FOR_DETAILS = MOST * 5 // 10
_NAMES = 12
"""The most NodePools of one cause that a row of the table names."""


_CAUSES = 8
"""The most causes of one NodePool with a row. The others are in the details."""


def plan_markdown(plan: Plan, findings: Findings, links: str | None = None) -> str:
    """Return the comment. Parts that do not fit are counted.

    `links` is the URL prefix that, with a path and `#L1`, links to a line; None for no links.
    """
    return screened(writable("\n".join(part for part in _Comment(links).parts(plan, findings) if part)))


class _Comment:
    def __init__(self, links: str | None) -> None:
        self.links = links

    def parts(self, plan: Plan, findings: Findings) -> Iterator[str]:
        pool_blocks = plan_blocks.pool_blocks(plan)
        quiet = f"{NOTHING}\n" if plan_blocks.nothing_changed(plan, findings) else ""
        yield f"{MARK}\n{quiet}### nodelint plan: {_text(plan_blocks.headline_of_plan(plan))}\n"
        for line in plan_blocks.moves_in_words(plan):
            yield f"{_text(line)}\n"
        table, shown = _fitting(pool_blocks, self._row, _FOR_TABLE)
        details, _ = _fitting(pool_blocks[:shown], self._details, _FOR_DETAILS)
        classes = plan_blocks.class_blocks(plan)
        rows = "".join(map(self._row, classes[:20]))
        if pool_blocks or rows:
            more = f"\n… and {counted(len(pool_blocks) - shown, 'more cause')}.\n" if shown < len(pool_blocks) else ""
            if (left := len(classes) - 20) > 0:
                more += f"\n… and {left:,} more of EC2NodeClass.\n"
            yield table_head("", "object", "what happens", "where") + table + rows + more
            yield details
        yield self._workloads(plan)
        yield self._cost(plan)
        gaps = plan_blocks.gap_rows(plan)
        title = f"Not compared: {counted(len(gaps), 'place')}"
        yield self._folded(title, ("", "what", "why", "where"), gaps[:20], len(gaps), "")
        title = f"Findings: {len(findings.new):,} new, {len(findings.gone):,} gone"
        heads = ("", "severity", "place", "rule", "message")
        found = list(plan_blocks.finding_rows(findings, 50))
        yield self._folded(title, heads, found, len(findings.new) + len(findings.gone), "finding")
        yield f"_{_text(plan_blocks.releases_of(plan))}_\n"

    def _place(self, at: Node | Span) -> str:
        text = _code(place_of(at))
        if self.links is None:
            return text
        span = span_of(at)
        path = quote(span.source.path.removeprefix("./"))
        return f"[{text}]({self.links}{path}#L{span.source.position(span.start).line})"

    def _cell(self, cell: Cell) -> str:
        if isinstance(cell, CodeText):
            return _code(cell)
        return _text(cell) if isinstance(cell, str) else self._place(cell)

    def _folded(self, title: str, heads: Sequence[str], rows: Sequence[Iterable[Cell]], count: int, noun: str) -> str:
        """Return a folded table of some of `count` rows, and how many more of the `noun` there are."""
        if not count:
            return ""
        body = "".join(table_row(*map(self._cell, row)) for row in rows)
        left = count - len(rows)
        more = f"\n… and {counted(left, f'more {noun}') if noun else f'{left} more'}.\n" if left else ""
        return f"<details>\n<summary>{title}</summary>\n\n{table_head(*heads)}{body}{more}\n</details>\n"

    def _row(self, block: PlanBlock) -> str:
        name = list_first(list(map(_code, block.names)), _NAMES)
        what = f"{_MARKS[block.tone]} {'<br>'.join(map(_text, block.rows))}"
        nodes = [pool for pool in block.pools if pool.nodes is not None]
        if nodes:
            what += f" ({'; '.join(_text(plan_words.nodes_in_words(pool)) for pool in nodes[:3])})"
        rows = [(self._cause(reason), self._place(reason.at)) for reason in block.plan.verdict.reasons]
        rows += [(f"{_code(e.field)}{_changed(e.change)}: {_text(e.what)}", self._place(e.at)) for e in block.effects]
        label = label_of(block.pools[0].pool.source) if block.pools else ""
        place = self._place(block.plan.at) + (f" with {_code(label)}" if label else "")
        sign = block.sign.strip()
        more = len(rows) - _CAUSES
        shown = [*rows[:_CAUSES], *([(f"and {counted(more, 'more cause')}", "")] if more > 0 else [])]
        causes = "".join(f"| | {table_row(cause, at)}" for cause, at in shown)
        return table_row(_code(sign) if sign else "", name + block.remark, what, place) + causes

    def _cause(self, reason: Reason) -> str:
        return f"{reason.reason}: {_code(reason.field)}{_changed(reason.change)}"

    def _details(self, block: PlanBlock) -> str:
        lines = list(self._cause_lines(block))
        for pool in block.pools:
            own = list(_own_lines(pool))
            lines += own if len(block.pools) == 1 else [f"{_code(pool.name)}: {line}" for line in own]
        if not lines:
            return ""
        body = "\n".join(f"- {line}" for line in lines)
        name = list_first(block.names, 1)
        return f"<details>\n<summary><code>{escape(printable(name))}</code></summary>\n\n{body}\n\n</details>\n"

    def _cause_lines(self, block: PlanBlock) -> Iterator[str]:
        for refusal in block.plan.refused:
            at = self._place(refusal.at)
            yield f"refused by the API server: {_code(refusal.field)}: {_text(refusal.message)} at {at}"
        for reason in block.plan.verdict.reasons:
            share = plan_words.share_of(reason)
            yield f"{self._cause(reason)} at {self._place(reason.at)}{f' ({share})' if share else ''}"
        yield from (_text(note) for note in block.notes)
        for effect in block.effects:
            yield f"{_code(effect.field)}{_changed(effect.change)} at {self._place(effect.at)}: {_text(effect.what)}"
        yield from map(_text, block.pace)

    def _workloads(self, plan: Plan) -> str:
        if not plan.workloads:
            return ""
        rows = ""
        for change in plan.workloads[:20]:
            what = f"{'🔴' if change.stranded else '🟠'} {_text(plan_words.workload_headline(change))}"
            what += "".join(f"<br>{_code(pool)}: {_text(why)}" for pool, why in change.reasons[:3])
            rows += table_row(_code(change.workload.label), what, self._place(change.place))
        left = len(plan.workloads) - 20
        more = f"\n… and {counted(left, 'more workload')}.\n" if left > 0 else ""
        return table_head("workload", "what happens to its pods", "where") + rows + more

    def _cost(self, plan: Plan) -> str:
        if plan.cost is None:
            return ""
        from nodelint.report.plan_cost import cost_row

        return table_head("cost") + table_row(_text(cost_row(plan.cost)))


def _fitting(pool_blocks: list[PlanBlock], render: Callable[[PlanBlock], str], room: int) -> tuple[str, int]:
    """Return the text of the first blocks that fit into `room` characters, and their number."""
    text = ""
    for number, block in enumerate(pool_blocks):
        part = render(block)
        if len(text) + len(part) > room:
            return text, number
        text += part
    return text, len(pool_blocks)


def _code(text: str) -> str:
    return inline(f"`{printable(text).replace('`', '')}`")


def _text(text: str) -> str:
    """Return a sentence on one line. Names of the files in it add no markup."""
    return inline(printable(text))


def _changed(change: ValueChange | None) -> str:
    return f" {_code(str(change))}" if change is not None else ""


def _own_lines(pool: PoolPlan) -> Iterator[str]:
    """Yield the lines that differ from pool to pool: its nodes and what it can launch."""
    if pool.roll is not None:
        yield from (_text(line) for line in describe_roll(pool.roll))
    launched = pool.launch
    if pool.deleted:
        return
    if launched.gained or launched.lost:
        before, after = launched.show_counts()
        yield f"instance types: {before} before, {after} after"
    for what, names in (("gained", launched.gained), ("lost", launched.lost)):
        if names and launched.after:
            families = plan_words.by_family(names)
            more = f" and {len(families) - 12:,} more families" if len(families) > 12 else ""
            yield f"{what} {len(names):,}: {_code(' '.join(families[:12]))}{more}"
    if plan_words.moves_images(pool):
        for what, images in (("new image", launched.images_gained), ("no longer", launched.images_lost)):
            yield from (f"{what}: {_code(image)}" for image in images)
    was, now = launched.cheapest_before, launched.cheapest_after
    if was != now and was is not None and now is not None and launched.cheapest_known:
        yield f"cheapest on demand: {_code(price(was))} before, {_code(price(now))} after"
