"""NodePools, their instance types and their workloads as one HTML page, without network access or other files.

For each pool it shows the remaining instance types after each requirement, their prices by size, and zones. For all
pools it shows shared types, the pools of each workload, and the cost. The page has no script and follows the reader's
light or dark theme.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from nodelint.base.types import TYPE_CHECKING
from nodelint.karpenter.resolve.pool_overlap import turn
from nodelint.karpenter.resolve.readiness import find_launched_types, launch_steps, launched
from nodelint.model.keys import ARCH, CPU, MEMORY
from nodelint.model.messages import counted, list_first, short
from nodelint.model.money import HOURS_A_MONTH, dollars
from nodelint.model.providers import providers_key
from nodelint.report.environments import group_by_environment
from nodelint.report.explain_facts import zones
from nodelint.report.explain_verdict import verdict
from nodelint.report.html_parts import (
    bar,
    bars,
    bullets,
    code,
    escaped,
    html_page,
    inline_code,
    section,
    table,
    table_row,
)
from nodelint.report.locations import object_place, place_line
from nodelint.report.pools_page import POOLS_STYLE
from nodelint.report.price_chart import SHAPES, Point, price_chart

if TYPE_CHECKING:
    from nodelint.fit.attempt import PoolVerdict
    from nodelint.fit.cost import FleetCost
    from nodelint.fit.tree import WorkloadFit
    from nodelint.karpenter.resolve import Resolution

_UNWRAPPED = 1_000_000
"""A width at which no line is wrapped: a browser wraps."""

_MOST_WORKLOADS = 500
"""The most workloads with a row."""

_MOST_IN_MATRIX = 24
"""The most NodePools with a row and a column in the matrix."""

_MOST_MATRICES = 12
"""The most environments with a matrix."""

_MOST_TYPES = 40
"""The most instance types of a pool with a row, the cheapest first."""


def pools_html(
    title: str, resolutions: Sequence[Resolution], fits: Sequence[WorkloadFit] = (), cost: FleetCost | None = None
) -> str:
    """Return the page of a command; `title` is its heading."""
    ordered = sorted(resolutions, key=lambda resolution: turn(resolution.pool), reverse=True)
    sections = [*_workloads(fits), *_cost(cost), *_matrices(ordered)]
    sections += [_pool(number, resolution) for number, resolution in enumerate(ordered)]
    body = f"{_index(ordered)}{''.join(sections)}"
    return html_page(title, escaped(_lead(ordered, fits)), body, POOLS_STYLE, has_script=False)


def _name(resolution: Resolution) -> str:
    name = resolution.pool.name
    return name if isinstance(name, str) else "(name not known)"


def _lead(resolutions: Sequence[Resolution], fits: Sequence[WorkloadFit]) -> str:
    if not fits:
        return f"{counted(len(resolutions), 'NodePool')}, in the order in which Karpenter tries them"
    from nodelint.report.fit import summary

    return f"{counted(len(resolutions), 'NodePool')}; {summary(fits)}"


def _index(resolutions: Sequence[Resolution]) -> str:
    if len(resolutions) < 2:
        return ""
    names = Counter(map(_name, resolutions))
    rows = "".join(
        f'<li><a href="#pool-{number}">{escaped(_name(r))}</a> <span class=count>{_types_left(r)}'
        f"{escaped(f', {object_place(r.pool)}') if names[_name(r)] > 1 else ''}</span></li>"
        for number, r in enumerate(resolutions)
    )
    return f"<ul class=index>{rows}</ul>"


def _types_left(resolution: Resolution) -> str:
    at_most = "" if resolution.complete else "at most "
    return f"{at_most}{counted(len(launched(resolution)), 'instance type')}"


def _workloads(fits: Sequence[WorkloadFit]) -> Iterator[str]:
    if not fits:
        return
    ordered = sorted(fits, key=lambda fit: (fit.possible, fit.decided))
    left = len(ordered) - _MOST_WORKLOADS
    more = f"<p class=quiet>and {counted(left, 'more workload')}</p>" if left > 0 else ""
    heads = ("workload", "taken by", "not by")
    rows = map(_workload, ordered[:_MOST_WORKLOADS])
    yield section("Workloads", table(heads, rows, "reasons stacked", scrolls=False) + more)


def _workload(fit: WorkloadFit) -> str:
    taking = [verdict for verdict in fit.verdicts if verdict.fits]
    tone = "some" if fit.possible != bool(taking) or not fit.decided else "none" if taking else "all"
    if taking:
        taken = list_first([code(verdict.pool.name) for verdict in taking], 6)
    elif fit.ignored is not None:
        taken = escaped(fit.ignored.message)
    else:
        taken = "no pool that is known for certain" if fit.possible else "no pool"
    if not fit.decided:
        taken += f"<br><span class=quiet>not decided: {inline_code(short(fit.unknown[0].reason, 160))}</span>"
    refused = [verdict for verdict in fit.verdicts if verdict.refusal is not None] if fit.ignored is None else []
    why = "".join(map(_refusal, refused[:6]))
    why += f"<div class=quiet>and {len(refused) - 6:,} more</div>" if len(refused) > 6 else ""
    place = object_place(fit.workload)
    return (
        f"<tr class={tone}><td><b>{escaped(fit.workload.label)}</b><br>{code(place)}</td>"
        f"<td class=taken>{taken}</td><td>{why}</td></tr>"
    )


def _refusal(verdict: PoolVerdict) -> str:
    from nodelint.report.fit import refusal_places

    refusal = verdict.refusal
    assert refusal is not None
    explanation = refusal.explanation
    text = explanation.text if explanation is not None else refusal.message
    places = ", ".join(dict.fromkeys(place_line(node) for node in refusal_places(refusal, explanation)))
    where = code(places) if places else ""
    return f"<div><b>{escaped(verdict.pool.name)}</b>: {inline_code(short(text, 240))} {where}</div>"


def _cost(cost: FleetCost | None) -> Iterator[str]:
    if cost is None:
        return
    from nodelint.report.cost import headline, node_words, prices_text, workload_shares

    parts = [f"<p class=lead>{escaped(_sentence(headline(cost)))}</p>"]
    if cost.most is not None and cost.most.nodes:
        parts.append(bullets(escaped(node_words(node)) for node in cost.most.nodes[:30]))
        shares = workload_shares(cost)
        most = max((share[3] for share in shares), default=0.0)
        parts += [
            bar(
                share / most if most else 0,
                escaped(dollars(share * HOURS_A_MONTH)),
                escaped(f"{label}, {pods}{f': {words}' if ' to ' in words else ''}"),
            )
            for label, pods, words, share in shares[:30]
        ]
    lines = [*(f"Not counted: {reason}" for reason in cost.not_counted), prices_text(cost)]
    lines += map(_sentence, cost.notes)
    notes = "".join(f"<p class=quiet>{inline_code(line)}</p>" for line in lines)
    yield f"<section class=pool><h2>Cost</h2>{''.join(parts)}{notes}</section>"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _matrices(resolutions: Sequence[Resolution]) -> Iterator[str]:
    """Yield a table for each environment with the number of instance types that each two of its pools share."""
    tables = [
        _matrix(name, members) for name, members in group_by_environment(resolutions).items() if len(members) > 1
    ]
    if tables:
        lead = (
            "Instance types that two pools can both launch; the diagonal is a pool's own number. "
            "Karpenter asks the pools from the top."
        )
        if len(tables) > _MOST_MATRICES:
            lead += f" The first {_MOST_MATRICES} of {len(tables):,} environments."
        shown = "".join(tables[:_MOST_MATRICES])
        yield f"<section><h2>Overlap</h2><p class=quiet>{lead}</p>{shown}</section>"


def _matrix(environment: str, resolutions: Sequence[Resolution]) -> str:
    """Return the table of one environment."""
    shown = resolutions[:_MOST_IN_MATRIX]
    numbers = range(len(shown))
    head = "".join(f"<th>{number + 1}</th>" for number in numbers)
    rows = ""
    for row in numbers:
        cells = "".join(_cell(shown[row], shown[column], row == column) for column in numbers)
        rows += f"<tr><th scope=row>{row + 1}&nbsp;{escaped(short(_name(shown[row]), 24))}</th>{cells}</tr>"
    left = len(resolutions) - len(shown)
    more = f"<p class=quiet>The first {len(shown)} of {len(resolutions):,} pools.</p>" if left else ""
    title = f"<h3>{escaped(environment)}</h3>" if environment else ""
    return f"{title}{more}<div class=scroll><table class=matrix><tr><td></td>{head}</tr>{rows}</table></div>"


def _cell(first: Resolution, second: Resolution, same: bool) -> str:
    if first.catalog.names != second.catalog.names:
        return "<td title='other instance types are known of them'>?</td>"
    own, other = launched(first), launched(second)
    number, smaller = len(own & other), min(len(own), len(other))
    share = number / smaller * 100 if smaller and not same else 0
    return f'<td class="{"own" if same else ""}" style="--share:{share:.0f}%">{number:,}</td>'


def _pool(number: int, resolution: Resolution) -> str:
    node_class = resolution.node_class
    of_class = f"EC2NodeClass {node_class.name}, " if node_class is not None and node_class.name else ""
    place = object_place(resolution.pool)
    kinds = ", ".join(resolution.capacity_types) or "no capacity type"
    tone = "none" if launched(resolution) else "all"
    parts = [
        f"<h2>{escaped(_name(resolution))}</h2><p class=verdict>{_verdict(resolution)}</p>",
        f"<p class=quiet>{escaped(of_class)}{escaped(kinds)}<br>{code(place)}</p>",
        f"<h3>Allowed types after each line</h3>{_funnel(resolution)}",
        *_charts(resolution),
        _zones(resolution),
        *_cheapest(resolution),
        *(f"<p class=quiet>Not known: {inline_code(fact.reason)}</p>" for fact in resolution.unknown[:6]),
    ]
    return f'<section class="pool {tone}" id="pool-{number}">{"".join(parts)}</section>'


def _verdict(resolution: Resolution) -> str:
    """Return the sentences that the text of `explain` prints as the verdict of a pool."""
    first, *more = (line.strip().removeprefix("=> ") for line in verdict(resolution, _UNWRAPPED))
    return inline_code(first) + "".join(f"<br><span class=quiet>{inline_code(line)}</span>" for line in more)


def _funnel(resolution: Resolution) -> str:
    left = len(resolution.catalog)
    rows = [("all instance types", left)]
    for types, reason in resolution.class_removed:
        left -= len(types)
        rows.append((f"without: {reason}", left))
    for line in resolution.lines:
        values = list_first(line.values, 6)
        key = providers_key(line.key, resolution.pool.provider)
        note = f" ({line.note})" if line.note else ""
        rows.append((f"{key} {line.operator} {values}{note}  {place_line(line.node)}", len(line.after)))
    rows += [(step.words, len(step.left)) for step in launch_steps(resolution)]
    return bars(rows)


def _charts(resolution: Resolution) -> Iterator[str]:
    """Yield charts with the price of each launchable type by its vCPUs and by its memory."""
    catalog = resolution.catalog
    prices = [
        (price, name)
        for price, name in resolution.prices.list_prices(find_launched_types(resolution))
        if price is not None
    ]
    without = len(find_launched_types(resolution)) - len(prices)
    vcpus, memory = list[Point](), list[Point]()
    for price, name in prices:
        arch = catalog.label(name, ARCH) or ""
        vcpus.append(Point(name, arch, _size(catalog.label(name, CPU)), price))
        memory.append(Point(name, arch, _size(catalog.label(name, MEMORY)) / 1024, price))
    charts = [chart for chart in (price_chart(vcpus, "vCPU"), price_chart(memory, "memory in GiB")) if chart]
    if not charts:
        return
    counts = {arch: sum(1 for point in vcpus if point.arch == arch) for arch in SHAPES}
    legend = " ".join(
        f"<span><b class='key {arch}'></b> {arch}: {count:,}</span>" for arch, count in counts.items() if count
    )
    day = catalog.prices.date(resolution.region)
    source = f"USD an hour on demand in {catalog.prices.region_for(resolution.region)}{f', of {day}' if day else ''}"
    if resolution.region is not None and catalog.prices.region_for(resolution.region) != resolution.region:
        source += f", as none are known of {resolution.region}"
    if without:
        source += f"; the price of {counted(without, 'type')} is not known"
    yield (
        f"<h3>Price by size</h3><p class=quiet>{legend} {escaped(source)}</p>"
        f"<div class=funnels>{''.join(f'<div>{chart}</div>' for chart in charts)}</div>"
    )


def _size(label: str | None) -> float:
    return float(label) if label is not None and label.isdigit() else 0.0


def _zones(resolution: Resolution) -> str:
    found = zones(resolution)
    if not found:
        return "<h3>Zones</h3><p class=quiet>Only AWS knows the zones: run <code>nodelint refresh</code>.</p>"
    rows = [
        table_row(escaped(zone.name), f"{zone.left:,}", "not known" if zone.free is None else f"{zone.free:,}")
        for zone in found
    ]
    return f"<h3>Zones</h3>{table(('zone', 'types', 'free addresses'), rows, scrolls=False)}"


def _cheapest(resolution: Resolution) -> Iterator[str]:
    catalog = resolution.catalog
    prices = sorted(
        (p, name) for p, name in resolution.prices.list_prices(find_launched_types(resolution)) if p is not None
    )
    if not prices:
        return
    rows = [
        table_row(
            *(escaped(words) for words in (name, catalog.label(name, ARCH) or "", catalog.label(name, CPU) or "")),
            f"{_size(catalog.label(name, MEMORY)) / 1024:,.3g}",
            f"${price:,.4f}",
        )
        for price, name in prices[:_MOST_TYPES]
    ]
    title = f"The cheapest {min(len(prices), _MOST_TYPES)} of {counted(len(prices), 'type')}"
    shown = table(("type", "arch", "vCPU", "GiB", "an hour"), rows, "types", scrolls=False)
    yield f"<details><summary>{title}</summary>{shown}</details>"
