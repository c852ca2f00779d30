"""A plan as one HTML page, without network access or other files.

For each pool it shows what happens to its nodes and which line causes this, the week of its budgets, the remaining
instance types after each requirement before and after, and a table of types lost and gained that can be searched. The
page follows the reader's light or dark theme.
"""

from __future__ import annotations

from datetime import timedelta
from html import escape

from nodelint.base.types import TYPE_CHECKING
from nodelint.model.finding import label_of
from nodelint.plan.disruption_rate import words
from nodelint.plan.outcome import Findings
from nodelint.plan.roll import describe_roll
from nodelint.report.plan_blocks import (
    SIGNS,
    blocks,
    class_headline,
    headline,
    headline_of_plan,
    headline_rows,
    moves_images,
    moves_in_words,
    nodes_in_words,
    notes_of,
    other_places,
    place_of,
    pool_place,
    releases_of,
    share_of,
    tone_of,
    workload_headline,
)
from nodelint.report.plan_page import code, escaped, html_page
from nodelint.report.plan_text import price

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nodelint.karpenter.resolve import Resolution
    from nodelint.plan import ClassPlan, Plan, PoolPlan
    from nodelint.plan.disruption_rate import Pace
    from nodelint.plan.matching import Change
    from nodelint.plan.roll import Roll
    from nodelint.plan.values import ValueChange
    from nodelint.report.plan_blocks import (
        PoolBlock,
    )


def plan_html(plan: Plan, findings: Findings) -> str:
    """Return the page of a plan."""
    pool_blocks = blocks(plan)
    pools = "".join(_block(number, block) for number, block in enumerate(pool_blocks))
    classes = "".join(map(_class, plan.class_plans))
    notes = "".join(f"<p class=quiet>{escaped(line)}</p>" for line in moves_in_words(plan))
    body = (
        f"<p class=quiet>{escaped(releases_of(plan))}</p>{notes}"
        f"{_index(pool_blocks)}{pools}{classes}{_workloads(plan)}{_cost(plan)}{_uncompared(plan)}{_findings(findings)}"
    )
    return html_page("nodelint plan", escaped(headline_of_plan(plan)), body)


def _index(pool_blocks: Sequence[PoolBlock]) -> str:
    if len(pool_blocks) < 2:
        return ""
    rows = "".join(
        f'<li class={tone_of(block.first)}><a href="#pool-{number}">{escaped(block.names)}{_label(block)}</a> '
        f"<span>{escaped(headline(block.first))}</span></li>"
        for number, block in enumerate(pool_blocks)
    )
    return f"<ul class=index>{rows}</ul>"


def _label(block: PoolBlock) -> str:
    """Return the values files of a block's only pool, because several pools may have its name."""
    label = label_of(block.first.pool.source) if len(block.pools) == 1 else ""
    return f" <small>with {escaped(label)}</small>" if label else ""


def _sign(change: Change) -> str:
    sign = SIGNS[change].strip()
    return f"<span class=sign>{escaped(sign)}</span> " if sign else ""


def _block(number: int, block: PoolBlock) -> str:
    first = block.first
    places = ", ".join(pool_place(pool) for pool in block.pools)
    parts = [
        f"<h2>{_sign(first.change)}{escaped(block.names)}</h2>",
        *(f"<p class=verdict>{escaped(words)}</p>" for words in headline_rows(first)),
        f"<p class=quiet>{code(places)}</p>",
        *_refused(first),
        _reasons(first),
        _effects(first),
        _week(first.pace, len(first.nodes) if first.nodes else None) if first.pace is not None else "",
    ]
    for pool in block.pools:
        own = "".join(
            (
                f"<p>{escaped(nodes_in_words(pool))}</p>" if pool.nodes is not None else "",
                _roll(pool.roll) if pool.roll is not None else "",
                *(() if pool.deleted else (_funnels(pool), _images(pool), _types(pool))),
            )
        )
        parts.append(f"<h3>{escaped(pool.name)}</h3>{own}" if own and len(block.pools) > 1 else own)
    return f'<section class="pool {tone_of(first)}" id="pool-{number}">{"".join(parts)}</section>'


def _class(plan: ClassPlan) -> str:
    name = plan.node_class.name
    text = name if isinstance(name, str) else plan.node_class.name_node.unquoted
    return (
        f'<section class="pool {plan.verdict.replaced}">'
        f"<h2>{_sign(plan.pair.change)}EC2NodeClass {escaped(text)}</h2>"
        f"<p class=verdict>{escaped(class_headline(plan))}</p><p class=quiet>{code(place_of(plan.at))}</p>"
        f"{_reasons(plan)}</section>"
    )


def _effects(pool: PoolPlan) -> str:
    if not pool.effects:
        return ""
    rows = "".join(
        f"<tr><td>{code(effect.field)}</td><td>{_changed(effect.change)}</td><td>{escaped(effect.what)}</td>"
        f"<td>{code(place_of(effect.at))}</td></tr>"
        for effect in pool.effects
    )
    head = "<tr><th>field</th><th>value</th><th>at once</th><th>line</th></tr>"
    return f"<div class=scroll><table class=reasons>{head}{rows}</table></div>"


def _changed(change: ValueChange | None) -> str:
    return "" if change is None else code(str(change))


def _workloads(plan: Plan) -> str:
    if not plan.workloads:
        return ""
    rows = ""
    for change in plan.workloads:
        why = "".join(f"<br>{code(pool)}: {escaped(reason)}" for pool, reason in change.reasons)
        place = code(place_of(change.place))
        rows += f"<tr><td>{code(change.workload.label)}</td><td>{escaped(workload_headline(change))}{why}</td>"
        rows += f"<td>{place}</td></tr>"
    head = "<tr><th>workload</th><th>what happens to its pods</th><th>line</th></tr>"
    return f"<section><h2>Workloads</h2><div class=scroll><table>{head}{rows}</table></div></section>"


def _cost(plan: Plan) -> str:
    if plan.cost is None:
        return ""
    from nodelint.report.plan_cost import cost_lines

    items = "".join(f"<li>{escaped(line)}</li>" for line in cost_lines(plan.cost))
    return f"<section><h2>Cost</h2><ul>{items}</ul></section>"


def _uncompared(plan: Plan) -> str:
    places = other_places(plan)
    if not places:
        return ""
    rows = "".join(
        f"<tr><td>{'changed' if place.decides else ''}</td><td>{escaped(place.subject)}</td>"
        f"<td>{escaped(place.reason)}</td><td>{code(place_of(place.at))}</td></tr>"
        for place in sorted(places, key=lambda place: not place.decides)
    )
    head = "<tr><th></th><th>what</th><th>why</th><th>line</th></tr>"
    table = f"<table class='reasons gaps'>{head}{rows}</table>"
    return f"<section><h2>Not compared</h2><div class=scroll>{table}</div></section>"


def _refused(plan: PoolPlan) -> Iterator[str]:
    for refusal in plan.refused:
        yield f"<p class=refused>Refused by the API server: {code(refusal.field)}: {escaped(refusal.message)}</p>"


def _reasons(plan: PoolPlan | ClassPlan) -> str:
    rows = "".join(
        f"<tr><td>{escaped(reason.reason)}{f' ({share_of(reason)})' if share_of(reason) else ''}</td>"
        f"<td>{code(reason.field)}</td><td>{_changed(reason.change)}</td><td>{code(place_of(reason.at))}</td></tr>"
        for reason in plan.verdict.reasons
    )
    notes = "".join(f"<p>{escaped(note)}</p>" for note in notes_of(plan))
    if not rows:
        return notes
    head = "<tr><th>reason</th><th>field</th><th>value</th><th>line</th></tr>"
    return f"<div class=scroll><table class=reasons>{head}{rows}</table></div>{notes}"


def _week(found: Pace, nodes: int | None) -> str:
    """Return the coming seven days as a strip of closed, limited and open times."""
    start, end = found.stretches[0].start, found.stretches[-1].end
    whole = (end - start).total_seconds()
    bars = []
    for interval in found.stretches:
        share = (interval.end - interval.start).total_seconds() / whole * 100
        kind = "closed" if interval.closed else "limited" if interval.budgets else "open"
        limits = ", ".join(budget.nodes for budget in interval.budgets) or "no limit"
        title = f"{interval.start:%a %H:%M} to {interval.end:%a %H:%M} UTC: {'none' if interval.closed else limits}"
        bars.append(f'<i class={kind} style="width:{share:.3f}%" title="{escape(title)}"></i>')
    days = "".join(f"<span>{start + timedelta(days=day):%a}</span>" for day in range(7))
    items = "".join(f"<li>{escaped(word)}</li>" for word in words(found, nodes))
    return (
        '<h3>How fast</h3><div class=week role=img aria-label="The coming week of disruption budgets">'
        f"{''.join(bars)}</div><div class=days>{days}</div><p class=quiet>From {start:%a %d %b %H:%M} UTC: "
        "<span><b class=closed></b> no node</span> <span><b class=limited></b> some</span> "
        "<span><b class=open></b> no limit</span></p>"
        f"<ul>{items}</ul>"
    )


def _roll(found: Roll) -> str:
    """Return how the cluster's nodes are replaced, and what blocks this."""
    items = "".join(f"<li>{escaped(line)}</li>" for line in describe_roll(found))
    return f"<h3>The nodes that run now</h3><ul>{items}</ul>"


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
    total = len(side.catalog.names)
    rows = [("all instance types", total), ("the class", len(side.alive))]
    rows += [(f"{line.key} {line.operator} {', '.join(line.values)}", len(line.after)) for line in side.lines]
    rows.append(("with an image", len(side.launchable)))
    return "".join(
        f'<div class=step><i style="width:{left / max(total, 1) * 100:.2f}%"></i><b>{left:,}</b>'
        f"<span>{escaped(what)}</span></div>"
        for what, left in rows
    )


def _images(plan: PoolPlan) -> str:
    if not moves_images(plan):
        return ""
    rows = [f"<li>+ {code(image)}</li>" for image in plan.launch.images_gained]
    rows += [f"<li>- {code(image)}</li>" for image in plan.launch.images_lost]
    return f"<h3>Images</h3><ul class=plain>{''.join(rows)}</ul>" if rows else ""


def _types(plan: PoolPlan) -> str:
    """Return the types that only one side has, in a table that can be searched."""
    launched = plan.launch
    if not (launched.gained or launched.lost):
        return ""
    rows = "".join(_type("gained", name, plan.after) for name in launched.gained)
    rows += "".join(_type("lost", name, plan.before) for name in launched.lost)
    return (
        f"<details><summary>{len(launched.gained):,} types gained, {len(launched.lost):,} lost</summary>"
        '<input type=search class=filter placeholder="Search: c7g, arm64, lost …" aria-label="Search instance types">'
        "<div class=scroll><table class=types><tr><th></th><th>type</th><th>architecture</th><th>vCPU</th>"
        f"<th>memory, MiB</th><th>USD per hour</th></tr>{rows}</table></div></details>"
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
    return f"<tr class={what}>{''.join(f'<td>{escaped(cell)}</td>' for cell in cells)}</tr>"


def _findings(findings: Findings) -> str:
    rows = "".join(
        f"<tr><td>{what}</td><td>{result.severity}</td><td>{code(place_of(result.finding.at))}</td>"
        f"<td>{code(result.rule.name)}</td><td>{escaped(result.finding.message)}</td></tr>"
        for what, results in (("new", findings.new), ("gone", findings.gone))
        for result in results
    )
    if not rows:
        return ""
    head = "<tr><th></th><th>severity</th><th>place</th><th>rule</th><th>message</th></tr>"
    return f"<section><h2>Findings</h2><div class=scroll><table>{head}{rows}</table></div></section>"
