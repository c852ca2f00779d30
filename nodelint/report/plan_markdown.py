"""A plan as the comment under a pull request: the verdict of each pool first, details folded.

What a manifest says appears as code or escaped: it can neither break the table nor bring in markup.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape

from nodelint.model.messages import counted
from nodelint.plan import Plan, PoolPlan
from nodelint.plan.pace import words
from nodelint.printable import printable, screened, writable
from nodelint.report.markdown import MOST, inline
from nodelint.report.plan_json import Findings
from nodelint.report.plan_text import (
    SIGNS,
    by_family,
    concerns,
    headline,
    nodes_in_words,
    place,
    pool_place,
    price,
    summary,
)

MARK = "<!-- nodelint plan -->"
"""The first line, by which a job finds the comment that it wrote before."""

_MARKS = {"all": "🔴", "some": "🟠", "unknown": "🟡", "none": "🟢"}
_FOR_TABLE = MOST * 4 // 10
_FOR_DETAILS = MOST * 5 // 10


def plan_markdown(plan: Plan, findings: Findings) -> str:
    """The comment; what does not fit into one is counted."""
    concerned = [each for each in plan.pools if concerns(each)]
    lines = list(summary(plan, findings))
    head = f"{MARK}\n### nodelint plan: {inline(printable(' '.join(lines[:-1])))}\n"
    table, shown = _fitting(concerned, _row, _FOR_TABLE)
    details, _ = _fitting(concerned[:shown], _details, _FOR_DETAILS)
    parts = [head]
    if concerned:
        more = f"\n… and {counted(len(concerned) - shown, 'more pool')}.\n" if shown < len(concerned) else ""
        parts.append(f"| | NodePool | what happens | where |\n| --- | --- | --- | --- |\n{table}{more}")
        parts.append(details)
    parts += [_findings(findings)] if findings.new or findings.gone else []
    parts.append(f"_{inline(lines[-1])}_\n")
    return screened(writable("\n".join(part for part in parts if part)))


def _fitting(concerned: list[PoolPlan], render: Callable[[PoolPlan], str], room: int) -> tuple[str, int]:
    """As many pools as there is room for, and how many those are."""
    text = ""
    for number, each in enumerate(concerned):
        part = render(each)
        if len(text) + len(part) > room:
            return text, number
        text += part
    return text, len(concerned)


def _code(text: str) -> str:
    return inline(f"`{printable(text).replace('`', '')}`").replace("|", "\\|")


def _row(each: PoolPlan) -> str:
    name = _code(str(each.pool.name))
    if each.renamed_from is not None:
        name += f" (was {_code(each.renamed_from)})"
    what = f"{_MARKS[each.verdict.replaced]} {inline(headline(each))}"
    if each.nodes is not None:
        what += f" ({inline(nodes_in_words(each))})"
    if each.refused and each.change != "added":
        what += "; an update is refused"
    sign = SIGNS[each.change].strip()
    return f"| {_code(sign) if sign else ''} | {name} | {what} | {_code(pool_place(each))} |\n"


def _details(each: PoolPlan) -> str:
    lines = list(_detail_lines(each))
    if not lines:
        return ""
    body = "\n".join(f"- {line}" for line in lines)
    name = escape(printable(str(each.pool.name)))
    return f"<details>\n<summary><code>{name}</code></summary>\n\n{body}\n\n</details>\n"


def _detail_lines(each: PoolPlan) -> Iterator[str]:
    for refusal in each.refused:
        yield f"refused by the API server: {_code(refusal.field)}: {inline(printable(refusal.message))}"
    for reason in each.verdict.reasons:
        share = " (some nodes)" if reason.covered == "some" else ""
        yield f"{reason.reason}: {_code(reason.field)} at {_code(place(reason.at))}{share}"
    if each.verdict.unknown:
        yield inline(printable(each.verdict.unknown))
    if each.pace is not None:
        yield from (inline(word) for word in words(each.pace, len(each.nodes) if each.nodes else None))
    launched = each.launch
    if launched.gained or launched.lost:
        yield f"instance types: {launched.before:,} before, {launched.after:,} after"
    for what, names in (("gained", launched.gained), ("lost", launched.lost)):
        if names:
            families = by_family(names)
            more = f" and {len(families) - 12} more families" if len(families) > 12 else ""
            yield f"{what} {len(names):,}: {_code(' '.join(families[:12]))}{more}"
    for what, images in (("new image", launched.images_gained), ("no longer", launched.images_lost)):
        yield from (f"{what}: {_code(image)}" for image in images)
    was, now = launched.cheapest_before, launched.cheapest_after
    if was != now and was is not None and now is not None:
        yield f"cheapest on demand: {_code(price(was))} before, {_code(price(now))} after"


def _findings(findings: Findings) -> str:
    rows = []
    for what, results in (("new", findings.new), ("gone", findings.gone)):
        for result in results[:50]:
            message = inline(printable(result.finding.message)).replace("|", "\\|")
            where = _code(place(result.finding.at))
            rows.append(f"| {what} | {result.severity} | {where} | {_code(result.rule.name)} | {message} |\n")
    left = len(findings.new) + len(findings.gone) - len(rows)
    more = f"\n… and {counted(left, 'more finding')}.\n" if left else ""
    title = f"Findings: {len(findings.new)} new, {len(findings.gone)} gone"
    head = "| | severity | place | rule | message |\n| --- | --- | --- | --- | --- |\n"
    return f"<details>\n<summary>{title}</summary>\n\n{head}{''.join(rows)}{more}\n</details>\n"
