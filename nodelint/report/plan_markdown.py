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
from nodelint.plan.disruption_rate import words
from nodelint.plan.outcome import Findings
from nodelint.plan.roll import describe_roll
from nodelint.report.markdown import MOST, inline
from nodelint.report.plan_blocks import (
    SIGNS,
    blocks,
    class_headline,
    headline_of_plan,
    headline_rows,
    moves_images,
    moves_in_words,
    nodes_in_words,
    notes_of,
    nothing_changed,
    other_places,
    place_of,
    releases_of,
    share_of,
    tone_of,
    workload_headline,
)
from nodelint.report.plan_text import by_family, price

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nodelint.model.finding import Span
    from nodelint.plan import ClassPlan, Plan, PoolPlan
    from nodelint.plan.reasons import Reason
    from nodelint.plan.values import ValueChange
    from nodelint.report.plan_blocks import (
        PoolBlock,
    )
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
        pool_blocks = blocks(plan)
        quiet = f"{NOTHING}\n" if nothing_changed(plan, findings) else ""
        yield f"{MARK}\n{quiet}### nodelint plan: {inline(printable(headline_of_plan(plan)))}\n"
        for line in moves_in_words(plan):
            yield f"{inline(line)}\n"
        table, shown = _fitting(pool_blocks, self._row, _FOR_TABLE)
        details, _ = _fitting(pool_blocks[:shown], self._details, _FOR_DETAILS)
        rows = "".join(map(self._class_row, plan.class_plans[:20]))
        if pool_blocks or rows:
            more = f"\n… and {counted(len(pool_blocks) - shown, 'more cause')}.\n" if shown < len(pool_blocks) else ""
            if (left := len(plan.class_plans) - 20) > 0:
                more += f"\n… and {left:,} more of EC2NodeClass.\n"
            yield f"| | object | what happens | where |\n| --- | --- | --- | --- |\n{table}{rows}{more}"
            yield details
        yield self._workloads(plan)
        yield self._cost(plan)
        yield self._uncompared(plan)
        yield self._findings(findings) if findings.new or findings.gone else ""
        yield f"_{inline(releases_of(plan))}_\n"

    def _place(self, at: Node | Span) -> str:
        text = _code(place_of(at))
        if self.links is None:
            return text
        span = span_of(at)
        path = quote(span.source.path.removeprefix("./"))
        return f"[{text}]({self.links}{path}#L{span.source.position(span.start).line})"

    def _row(self, block: PoolBlock) -> str:
        first = block.first
        name = list_first([_code(pool.name) for pool in block.pools], _NAMES)
        what = f"{_MARKS[tone_of(first)]} {'<br>'.join(map(inline, headline_rows(first)))}"
        nodes = [pool for pool in block.pools if pool.nodes is not None]
        if nodes:
            what += f" ({'; '.join(inline(nodes_in_words(pool)) for pool in nodes[:3])})"
        rows = [(self._cause(reason), self._place(reason.at)) for reason in first.verdict.reasons]
        rows += [
            (f"{_code(e.field)}{_changed(e.change)}: {inline(e.what)}", self._place(e.at)) for e in first.effects
        ]
        label = label_of(first.pool.source)
        place = self._place(first.at) + (f" with {_code(label)}" if label else "")
        sign = SIGNS[first.change].strip()
        more = len(rows) - _CAUSES
        shown = [*rows[:_CAUSES], *([(f"and {counted(more, 'more cause')}", "")] if more > 0 else [])]
        return f"| {_code(sign) if sign else ''} | {name} | {what} | {place} |\n" + "".join(
            f"| | | {cause} | {at} |\n" for cause, at in shown
        )

    def _class_row(self, plan: ClassPlan) -> str:
        name = plan.node_class.name
        text = name if isinstance(name, str) else plan.node_class.name_node.unquoted
        what = f"{_MARKS[plan.verdict.replaced]} {inline(class_headline(plan))}"
        sign = SIGNS[plan.pair.change].strip()
        return f"| {_code(sign) if sign else ''} | {_code(text)} | {what} | {self._place(plan.at)} |\n" + "".join(
            f"| | | {self._cause(reason)} | {self._place(reason.at)} |\n" for reason in plan.verdict.reasons[:_CAUSES]
        )

    def _cause(self, reason: Reason) -> str:
        return f"{reason.reason}: {_code(reason.field)}{_changed(reason.change)}"

    def _details(self, block: PoolBlock) -> str:
        lines = [line for pool in block.pools[:1] for line in self._cause_lines(pool)]
        for pool in block.pools:
            own = list(_own_lines(pool))
            lines += own if len(block.pools) == 1 else [f"{_code(pool.name)}: {line}" for line in own]
        if not lines:
            return ""
        body = "\n".join(f"- {line}" for line in lines)
        name = list_first([pool.name for pool in block.pools], 1)
        return f"<details>\n<summary><code>{escape(printable(name))}</code></summary>\n\n{body}\n\n</details>\n"

    def _cause_lines(self, pool: PoolPlan) -> Iterator[str]:
        for refusal in pool.refused:
            at = self._place(refusal.at)
            yield f"refused by the API server: {_code(refusal.field)}: {inline(printable(refusal.message))} at {at}"
        for reason in pool.verdict.reasons:
            share = share_of(reason)
            yield f"{self._cause(reason)} at {self._place(reason.at)}{f' ({share})' if share else ''}"
        yield from (inline(printable(note)) for note in notes_of(pool))
        for effect in pool.effects:
            yield f"{_code(effect.field)}{_changed(effect.change)} at {self._place(effect.at)}: {inline(effect.what)}"
        if pool.pace is not None:
            yield from (inline(word) for word in words(pool.pace, len(pool.nodes) if pool.nodes else None))

    def _workloads(self, plan: Plan) -> str:
        if not plan.workloads:
            return ""
        rows = ""
        for change in plan.workloads[:20]:
            what = f"{'🔴' if change.stranded else '🟠'} {inline(printable(workload_headline(change)))}"
            what += "".join(f"<br>{_code(pool)}: {inline(printable(why))}" for pool, why in change.reasons[:3])
            place = self._place(change.place)
            rows += f"| {_code(change.workload.label)} | {what.replace('|', chr(92) + '|')} | {place} |\n"
        left = len(plan.workloads) - 20
        more = f"\n… and {counted(left, 'more workload')}.\n" if left > 0 else ""
        return f"| workload | what happens to its pods | where |\n| --- | --- | --- |\n{rows}{more}"

    def _cost(self, plan: Plan) -> str:
        if plan.cost is None:
            return ""
        from nodelint.report.plan_cost import cost_row

        return f"| cost |\n| --- |\n| {inline(printable(cost_row(plan.cost))).replace('|', chr(92) + '|')} |\n"

    def _uncompared(self, plan: Plan) -> str:
        places = other_places(plan)
        if not places:
            return ""
        ordered = sorted(places, key=lambda place: not place.decides)
        rows = "".join(
            f"| {'changed' if place.decides else ''} | {_code(place.subject)} | {inline(printable(place.reason))} "
            f"| {self._place(place.at)} |\n"
            for place in ordered[:20]
        )
        left = len(ordered) - 20
        more = f"\n… and {left} more.\n" if left > 0 else ""
        title = f"Not compared: {counted(len(ordered), 'place')}"
        head = "| | what | why | where |\n| --- | --- | --- | --- |\n"
        return f"<details>\n<summary>{title}</summary>\n\n{head}{rows}{more}\n</details>\n"

    def _findings(self, findings: Findings) -> str:
        rows = []
        for what, results in (("new", findings.new), ("gone", findings.gone)):
            for result in results[:50]:
                message = inline(printable(result.finding.message)).replace("|", "\\|")
                where = self._place(result.finding.at)
                rows.append(f"| {what} | {result.severity} | {where} | {_code(result.rule.name)} | {message} |\n")
        left = len(findings.new) + len(findings.gone) - len(rows)
        more = f"\n… and {counted(left, 'more finding')}.\n" if left else ""
        title = f"Findings: {len(findings.new):,} new, {len(findings.gone):,} gone"
        head = "| | severity | place | rule | message |\n| --- | --- | --- | --- | --- |\n"
        return f"<details>\n<summary>{title}</summary>\n\n{head}{''.join(rows)}{more}\n</details>\n"


def _fitting(pool_blocks: list[PoolBlock], render: Callable[[PoolBlock], str], room: int) -> tuple[str, int]:
    """Return the text of the first blocks that fit into `room` characters, and their number."""
    text = ""
    for number, block in enumerate(pool_blocks):
        part = render(block)
        if len(text) + len(part) > room:
            return text, number
        text += part
    return text, len(pool_blocks)


def _code(text: str) -> str:
    return inline(f"`{printable(text).replace('`', '')}`").replace("|", "\\|")


def _changed(change: ValueChange | None) -> str:
    return f" {_code(str(change))}" if change is not None else ""


def _own_lines(pool: PoolPlan) -> Iterator[str]:
    """Yield the lines that differ from pool to pool: its nodes and what it can launch."""
    if pool.roll is not None:
        yield from (inline(printable(line)) for line in describe_roll(pool.roll))
    launched = pool.launch
    if pool.deleted:
        return
    if launched.gained or launched.lost:
        before, after = launched.show_counts()
        yield f"instance types: {before} before, {after} after"
    for what, names in (("gained", launched.gained), ("lost", launched.lost)):
        if names and launched.after:
            families = by_family(names)
            more = f" and {len(families) - 12:,} more families" if len(families) > 12 else ""
            yield f"{what} {len(names):,}: {_code(' '.join(families[:12]))}{more}"
    for what, images in (
        () if not moves_images(pool) else (("new image", launched.images_gained), ("no longer", launched.images_lost))
    ):
        yield from (f"{what}: {_code(image)}" for image in images)
    was, now = launched.cheapest_before, launched.cheapest_after
    if was != now and was is not None and now is not None and launched.cheapest_known:
        yield f"cheapest on demand: {_code(price(was))} before, {_code(price(now))} after"
