"""A plan as one HTML page, without network access or other files.

For each pool it shows what happens to its nodes and which line causes this, the week of its budgets, the remaining
instance types after each requirement before and after, and a table of types lost and gained that can be searched. The
page follows the reader's light or dark theme.
"""

from __future__ import annotations

from datetime import timedelta
from html import escape

from nodelint.base.types import TYPE_CHECKING
from nodelint.plan.roll import describe_roll
from nodelint.report import plan_blocks, plan_words
from nodelint.report.html_parts import bars, bullets, code, escaped, html_page, section, table, table_row
from nodelint.report.plan_blocks import CodeText
from nodelint.report.plan_words import place_of, price

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nodelint.karpenter.resolve import Resolution
    from nodelint.plan import Plan, PoolPlan
    from nodelint.plan.disruption_rate import Pace
    from nodelint.plan.outcome import Findings
    from nodelint.plan.values import ValueChange
    from nodelint.report.plan_blocks import Cell, PlanBlock


def plan_html(plan: Plan, findings: Findings) -> str:
    """Return the page of a plan."""
    pool_blocks = plan_blocks.pool_blocks(plan)
    notes = "".join(f"<p class=quiet>{escaped(line)}</p>" for line in plan_blocks.moves_in_words(plan))
    costs: Iterable[str] = ()
    if plan.cost is not None:
        from nodelint.report.plan_cost import cost_lines

        costs = cost_lines(plan.cost)
    parts = [
        f"<p class=quiet>{escaped(plan_blocks.releases_of(plan))}</p>{notes}",
        _index(pool_blocks),
        *(_block(block, f' id="pool-{number}"') for number, block in enumerate(pool_blocks)),
        *map(_block, plan_blocks.class_blocks(plan)),
        section("Workloads", _workloads(plan)),
        section("Cost", bullets(map(escaped, costs))),
        section("Not compared", _table(("", "what", "why", "line"), plan_blocks.gap_rows(plan), "reasons gaps")),
        section("Findings", _table(("", "severity", "place", "rule", "message"), plan_blocks.finding_rows(findings))),
    ]
    return html_page("nodelint plan", escaped(plan_blocks.headline_of_plan(plan)), "".join(parts))


def _table(heads: Sequence[str], rows: Iterable[Iterable[Cell]], kind: str = "") -> str:
    return table(heads, (table_row(*map(_cell, cells)) for cells in rows), kind)


def _cell(cell: Cell) -> str:
    if isinstance(cell, str):
        return code(cell) if isinstance(cell, CodeText) else escaped(cell)
    return code(place_of(cell))


def _index(blocks: Sequence[PlanBlock]) -> str:
    if len(blocks) < 2:
        return ""
    rows = "".join(
        f'<li class={block.tone}><a href="#pool-{number}">{escaped(", ".join(block.names))}{_label(block)}</a> '
        f"<span>{escaped('; '.join(block.rows))}</span></li>"
        for number, block in enumerate(blocks)
    )
    return f"<ul class=index>{rows}</ul>"


def _label(block: PlanBlock) -> str:
    """Return the values files of a block's only pool, because several pools may have its name."""
    return f" <small>with {escaped(block.label)}</small>" if block.label else ""


def _block(block: PlanBlock, anchor: str = "") -> str:
    sign = block.sign.strip()
    named = ", ".join(block.names) if block.pools else f"{block.kind} {block.names[0]}"
    remark = f"<small>{block.remark}</small>" if block.remark else ""
    pace = block.pools[0].pace if block.pools else None
    parts = [
        f"<h2>{f'<span class=sign>{escaped(sign)}</span> ' if sign else ''}{escaped(named)}{remark}</h2>",
        *(f"<p class=verdict>{escaped(words)}</p>" for words in block.rows),
        f"<p class=quiet>{code(', '.join(block.places))}</p>",
        *_refused(block),
        _reasons(block),
        _effects(block),
        _week(pace, block.pace) if pace is not None else "",
    ]
    for pool in block.pools:
        own = "".join(
            (
                f"<p>{escaped(plan_words.nodes_in_words(pool))}</p>" if pool.nodes is not None else "",
                _roll(pool),
                *(() if pool.deleted else (_funnels(pool), _images(pool), _types(pool))),
            )
        )
        parts.append(f"<h3>{escaped(pool.name)}</h3>{own}" if own and len(block.pools) > 1 else own)
    return f'<section class="pool {block.tone}"{anchor}>{"".join(parts)}</section>'


def _effects(block: PlanBlock) -> str:
    rows = [(CodeText(effect.field), _changed(effect.change), effect.what, effect.at) for effect in block.effects]
    return _table(("field", "value", "what it does", "line"), rows, "reasons")


def _changed(change: ValueChange | None) -> str:
    return "" if change is None else CodeText(change)


def _workloads(plan: Plan) -> str:
    rows = []
    for change in plan.workloads:
        why = "".join(f"<br>{code(pool)}: {escaped(reason)}" for pool, reason in change.reasons)
        what = escaped(plan_words.workload_headline(change)) + why
        rows.append(table_row(code(change.workload.label), what, code(place_of(change.place))))
    return table(("workload", "what happens to its pods", "line"), rows)


def _refused(block: PlanBlock) -> Iterator[str]:
    for refusal in block.plan.refused:
        yield f"<p class=refused>Refused by the API server: {code(refusal.field)}: {escaped(refusal.message)}</p>"


def _reasons(block: PlanBlock) -> str:
    rows: list[tuple[Cell, ...]] = []
    for reason in block.plan.verdict.reasons:
        share = f" ({words})" if (words := plan_words.share_of(reason)) else ""
        rows.append((f"{reason.reason}{share}", CodeText(reason.field), _changed(reason.change), reason.at))
    notes = "".join(f"<p>{escaped(note)}</p>" for note in block.notes)
    return _table(("reason", "field", "value", "line"), rows, "reasons") + notes


def _week(found: Pace, words: Iterable[str]) -> str:
    """Return the coming seven days as a strip of closed, limited and open times."""
    start, end = found.stretches[0].start, found.stretches[-1].end
    whole = (end - start).total_seconds()
    strip = []
    for interval in found.stretches:
        share = (interval.end - interval.start).total_seconds() / whole * 100
        kind = "closed" if interval.closed else "limited" if interval.budgets else "open"
        limits = ", ".join(budget.nodes for budget in interval.budgets) or "no limit"
        title = f"{interval.start:%a %H:%M} to {interval.end:%a %H:%M} UTC: {'none' if interval.closed else limits}"
        strip.append(f'<i class={kind} style="width:{share:.3f}%" title="{escape(title)}"></i>')
    days = "".join(f"<span>{start + timedelta(days=day):%a}</span>" for day in range(7))
    return (
        '<h3>How fast</h3><div class=week role=img aria-label="The coming week of disruption budgets">'
        f"{''.join(strip)}</div><div class=days>{days}</div><p class=quiet>From {start:%a %d %b %H:%M} UTC: "
        "<span><b class=closed></b> no node</span> <span><b class=limited></b> some</span> "
        "<span><b class=open></b> no limit</span></p>"
        f"{bullets(map(escaped, words))}"
    )


def _roll(pool: PoolPlan) -> str:
    """Return how the cluster's nodes are replaced, and what blocks this."""
    if pool.roll is None:
        return ""
    return f"<h3>The nodes that run now</h3>{bullets(map(escaped, describe_roll(pool.roll)))}"


def _funnels(plan: PoolPlan) -> str:
    launched = plan.launch
    if plan.before is plan.after or not (launched.gained or launched.lost or plan.change in ("added", "removed")):
        return ""
    sides = [("Before", plan.before), ("After", plan.after)]
    boxes = "".join(f"<div><h4>{title}</h4>{_funnel(side)}</div>" for title, side in sides if side is not None)
    prices = "not known"
    if launched.cheapest_known:
        prices = f"{price(launched.cheapest_before)} before, {price(launched.cheapest_after)} after"
    return f"<h3>What it can launch</h3><div class=funnels>{boxes}</div><p>Cheapest on demand: {escaped(prices)}</p>"


def _funnel(side: Resolution) -> str:
    """Return the number of remaining instance types after the class and after each requirement."""
    rows = [("all instance types", len(side.catalog.names)), ("the class", len(side.alive))]
    rows += [(f"{line.key} {line.operator} {', '.join(line.values)}", len(line.after)) for line in side.lines]
    return bars([*rows, ("with an image", len(side.launchable))])


def _images(plan: PoolPlan) -> str:
    if not plan_words.moves_images(plan):
        return ""
    rows = [f"+ {code(image)}" for image in plan.launch.images_gained]
    rows += [f"- {code(image)}" for image in plan.launch.images_lost]
    return f"<h3>Images</h3>{bullets(rows, 'plain')}" if rows else ""


def _types(plan: PoolPlan) -> str:
    """Return the types that only one side has, in a table that can be searched."""
    launched = plan.launch
    if not (launched.gained or launched.lost):
        return ""
    rows = [_type("gained", name, plan.after) for name in launched.gained]
    rows += [_type("lost", name, plan.before) for name in launched.lost]
    return (
        f"<details><summary>{len(launched.gained):,} types gained, {len(launched.lost):,} lost</summary>"
        '<input type=search class=filter placeholder="Search: c7g, arm64, lost …" aria-label="Search instance types">'
        f"{table(('', 'type', 'architecture', 'vCPU', 'memory, MiB', 'USD per hour'), rows, 'types')}</details>"
    )


def _type(what: str, name: str, side: Resolution | None) -> str:
    assert side is not None  # the side that has the type
    labels = side.catalog.labels(name)
    cost = side.catalog.prices.on_demand(name)
    cells = (
        what,
        name,
        labels.get("kubernetes.io/arch", ""),
        labels.get("karpenter.k8s.aws/instance-cpu", ""),
        labels.get("karpenter.k8s.aws/instance-memory", ""),
        "" if cost is None else f"{cost:.4f}",
    )
    return table_row(*map(escaped, cells), kind=what)
