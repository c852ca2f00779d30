"""A plan as one page of HTML: no network, no other file.

For each pool what happens to its nodes and by which line, the week of its budgets as a strip, what is left of all
instance types line by line before and after, and the types lost and gained in a table that can be searched. The page
follows the reader's light or dark theme.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from html import escape

from nodelint.karpenter.resolve import Resolution
from nodelint.plan import Plan, PoolPlan
from nodelint.plan.pace import Pace, words
from nodelint.printable import printable, screened, writable
from nodelint.report.plan_json import Findings
from nodelint.report.plan_page import SCRIPT, STYLE
from nodelint.report.plan_text import SIGNS, concerns, headline, nodes_in_words, place, pool_place, price, summary


def plan_html(plan: Plan, findings: Findings) -> str:
    """The page."""
    concerned = [each for each in plan.pools if concerns(each)]
    *lines, release = summary(plan, findings)
    pools = (
        "".join(_pool(number, each) for number, each in enumerate(concerned))
        or "<p>Nothing changes for any pool.</p>"
    )
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        "script-src 'unsafe-inline'\">"
        f"<title>nodelint plan</title><style>{STYLE}</style></head><body><main>"
        f"<h1>nodelint plan</h1><p class=lead>{_text(' '.join(lines))}</p><p class=quiet>{_text(release)}</p>"
        f"{_index(concerned)}{pools}{_findings(findings)}"
        f"</main><script>{SCRIPT}</script></body></html>\n"
    )
    return screened(writable(page))


def _text(text: str) -> str:
    return escape(printable(text))


def _code(text: str) -> str:
    return f"<code>{_text(text)}</code>"


def _index(concerned: Sequence[PoolPlan]) -> str:
    if len(concerned) < 2:
        return ""
    rows = "".join(
        f'<li class={each.verdict.replaced}><a href="#pool-{number}">{_text(str(each.pool.name))}</a> '
        f"<span>{_text(headline(each))}</span></li>"
        for number, each in enumerate(concerned)
    )
    return f"<ul class=index>{rows}</ul>"


def _pool(number: int, each: PoolPlan) -> str:
    was = f" <small>was {_text(each.renamed_from)}</small>" if each.renamed_from is not None else ""
    parts = [
        f"<h2><span class=sign>{_text(SIGNS[each.change])}</span> {_text(str(each.pool.name))}{was}</h2>",
        f"<p class=verdict>{_text(headline(each))}</p>",
        f"<p class=quiet>{_code(pool_place(each))}</p>",
        *_refused(each),
        _reasons(each),
        f"<p>{_text(nodes_in_words(each))}</p>" if each.nodes is not None else "",
        _week(each.pace, len(each.nodes) if each.nodes else None) if each.pace is not None else "",
        _funnels(each),
        _images(each),
        _types(each),
    ]
    return f'<section class="pool {each.verdict.replaced}" id="pool-{number}">{"".join(parts)}</section>'


def _refused(each: PoolPlan) -> Iterator[str]:
    for refusal in each.refused:
        yield f"<p class=refused>Refused by the API server: {_code(refusal.field)}: {_text(refusal.message)}</p>"


def _reasons(each: PoolPlan) -> str:
    rows = "".join(
        f"<tr><td>{_text(reason.reason)}{' (some nodes)' if reason.covered == 'some' else ''}</td>"
        f"<td>{_code(reason.field)}</td><td>{_code(place(reason.at))}</td></tr>"
        for reason in each.verdict.reasons
    )
    unknown = f"<p>{_text(each.verdict.unknown)}</p>" if each.verdict.unknown else ""
    if not rows:
        return unknown
    head = "<tr><th>reason</th><th>field</th><th>line</th></tr>"
    return f"<div class=scroll><table class=reasons>{head}{rows}</table></div>{unknown}"


def _week(found: Pace, nodes: int | None) -> str:
    """The coming seven days as a strip: closed, limited, open."""
    start, end = found.stretches[0].start, found.stretches[-1].end
    whole = (end - start).total_seconds()
    bars = []
    for each in found.stretches:
        share = (each.end - each.start).total_seconds() / whole * 100
        kind = "closed" if each.closed else "limited" if each.budgets else "open"
        limits = ", ".join(budget.nodes for budget in each.budgets) or "no limit"
        title = f"{each.start:%a %H:%M} to {each.end:%a %H:%M} UTC: {'none' if each.closed else limits}"
        bars.append(f'<i class={kind} style="width:{share:.3f}%" title="{escape(title)}"></i>')
    days = "".join(f"<span>{start + timedelta(days=day):%a}</span>" for day in range(7))
    said = "".join(f"<li>{_text(word)}</li>" for word in words(found, nodes))
    return (
        '<h3>How fast</h3><div class=week role=img aria-label="The coming week of disruption budgets">'
        f"{''.join(bars)}</div><div class=days>{days}</div><p class=quiet>From {start:%a %d %b %H:%M} UTC: "
        "<span><b class=closed></b> no node</span> <span><b class=limited></b> some</span> "
        "<span><b class=open></b> no limit</span></p>"
        f"<ul>{said}</ul>"
    )


def _funnels(each: PoolPlan) -> str:
    launched = each.launch
    if each.before is each.after or not (launched.gained or launched.lost or each.change in ("added", "removed")):
        return ""
    sides = [("Before", each.before), ("After", each.after)]
    boxes = "".join(f"<div><h4>{title}</h4>{_funnel(side)}</div>" for title, side in sides if side is not None)
    prices = f"{price(launched.cheapest_before)} before, {price(launched.cheapest_after)} after"
    return f"<h3>What it can launch</h3><div class=funnels>{boxes}</div><p>Cheapest on demand: {_text(prices)}</p>"


def _funnel(side: Resolution) -> str:
    """What is left of all types after the class, and after each line."""
    total = len(side.catalog.names)
    rows = [("all instance types", total), ("the class", len(side.alive))]
    rows += [(f"{line.key} {line.operator} {', '.join(line.values)}", len(line.after)) for line in side.lines]
    rows.append(("with an image", len(side.launchable)))
    return "".join(
        f'<div class=step><i style="width:{left / max(total, 1) * 100:.2f}%"></i><b>{left:,}</b>'
        f"<span>{_text(what)}</span></div>"
        for what, left in rows
    )


def _images(each: PoolPlan) -> str:
    rows = [f"<li>+ {_code(image)}</li>" for image in each.launch.images_gained]
    rows += [f"<li>- {_code(image)}</li>" for image in each.launch.images_lost]
    return f"<h3>Images</h3><ul class=plain>{''.join(rows)}</ul>" if rows else ""


def _types(each: PoolPlan) -> str:
    """The types that one side alone has, in a table that can be searched."""
    launched = each.launch
    if not (launched.gained or launched.lost):
        return ""
    rows = "".join(_type("gained", name, each.after) for name in launched.gained)
    rows += "".join(_type("lost", name, each.before) for name in launched.lost)
    return (
        f"<details><summary>{len(launched.gained):,} types gained, {len(launched.lost):,} lost</summary>"
        '<input type=search class=filter placeholder="Search: c7g, arm64, lost …" aria-label="Search instance types">'
        "<div class=scroll><table class=types><tr><th></th><th>type</th><th>architecture</th><th>vCPU</th>"
        f"<th>memory, MiB</th><th>USD per hour</th></tr>{rows}</table></div></details>"
    )


def _type(what: str, name: str, side: Resolution | None) -> str:
    assert side is not None  # the side that has the type
    labels = side.catalog.labels(name)
    cost = side.catalog.price(name)
    cells = (
        what,
        name,
        labels.get("kubernetes.io/arch", ""),
        labels.get("karpenter.k8s.aws/instance-cpu", ""),
        labels.get("karpenter.k8s.aws/instance-memory", ""),
        "" if cost is None else f"{cost:.4f}",
    )
    return f"<tr class={what}>{''.join(f'<td>{_text(cell)}</td>' for cell in cells)}</tr>"


def _findings(findings: Findings) -> str:
    rows = "".join(
        f"<tr><td>{what}</td><td>{result.severity}</td><td>{_code(place(result.finding.at))}</td>"
        f"<td>{_code(result.rule.name)}</td><td>{_text(result.finding.message)}</td></tr>"
        for what, results in (("new", findings.new), ("gone", findings.gone))
        for result in results
    )
    if not rows:
        return ""
    head = "<tr><th></th><th>severity</th><th>place</th><th>rule</th><th>message</th></tr>"
    return f"<section><h2>Findings</h2><div class=scroll><table>{head}{rows}</table></div></section>"
