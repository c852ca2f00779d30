"""A plan as text: the most severe changes first, one block for each cause, and the headline last."""

from __future__ import annotations

from nodelint.base.printable import printable
from nodelint.base.types import TYPE_CHECKING
from nodelint.model.messages import counted
from nodelint.plan.uncompared import is_of_change
from nodelint.report import plan_blocks, plan_words
from nodelint.report.layout import aside, columns
from nodelint.report.plan_words import place_of, price
from nodelint.report.style import fitted, wrap

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nodelint.model.gap import Gap
    from nodelint.plan import Plan, PoolPlan
    from nodelint.plan.effects import Effect
    from nodelint.plan.outcome import Findings
    from nodelint.plan.reasons import Reason
    from nodelint.plan.workloads import WorkloadChange
    from nodelint.report.plan_blocks import PlanBlock
    from nodelint.report.style import TextStyle

_COLOURS = {"all": "red", "some": "yellow", "unknown": "yellow", "none": "green"}
_PLACES = 10
"""The most places without a comparison that are listed. The others are counted."""


def plan_text(plan: Plan, findings: Findings, look: TextStyle) -> str:
    """Return the plan as text. Unchanged pools are only counted."""
    moves = [row for line in plan_blocks.moves_in_words(plan) for row in wrap(line, look.width, "", "  ")]
    parts = ["\n".join(moves)] if moves else []
    shown = (*plan_blocks.pool_blocks(plan), *plan_blocks.class_blocks(plan))
    parts += ["\n".join(_block(block, look)) for block in shown]
    if plan.workloads:
        parts.append("\n".join(_workloads(plan.workloads, look)))
    if plan.cost is not None:
        from nodelint.report.plan_cost import cost_lines

        parts.append("\n".join(row for line in cost_lines(plan.cost) for row in wrap(line, look.width, "", "  ")))
    if places := plan_blocks.other_places(plan):
        parts.append("\n".join(_uncompared(places, look)))
    if findings.new or findings.gone:
        parts.append("\n".join(row for line in _findings(findings) for row in fitted(line, look)))
    end = [*plan_blocks.closing(findings), plan_blocks.headline_of_plan(plan), plan_blocks.releases_of(plan)]
    parts.append("\n".join(row for line in end for row in fitted(line, look)))
    return "\n\n".join(parts)


def _block(block: PlanBlock, look: TextStyle) -> Iterator[str]:
    if len(block.names) == 1:
        title = f"{block.sign} {block.kind} {printable(block.names[0])}{block.remark}"
        yield from aside(title, block.places[0], look.width)
    else:
        yield f"{block.sign} {counted(len(block.names), block.kind)}{block.remark}"
        named = zip(block.names, block.places, strict=True)
        yield from wrap(", ".join(f"{printable(name)} ({place})" for name, place in named), look.width, "    ")
    for row in (row for part in block.rows for row in wrap(part, look.width, "    ")):
        yield look.style(row, fg=_COLOURS[block.tone], bold=block.tone != "none")
    for refusal in block.plan.refused:
        at = place_of(refusal.at)
        yield from wrap(f"refused by the API server: {refusal.field}: {refusal.message} ({at})", look.width, "      ")
    for number, reason in enumerate(block.plan.verdict.reasons):
        yield from _reason(reason, plan_blocks.places_of(block, number), look)
    for note in block.notes:
        yield from wrap(printable(note), look.width, "      ")
    for effect in block.effects:
        yield from _effect(effect, look)
    yield from _of_pools(block.pools, look)
    if block.pace:
        yield from wrap("pace: " + "; ".join(block.pace), look.width, "    ", "          ")


def _reason(reason: Reason, place: str, look: TextStyle) -> Iterator[str]:
    share = plan_words.share_of(reason)
    yield from fitted(f"      {reason.reason}  {place}{f'  ({share})' if share else ''}", look)
    change = f": {printable(str(reason.change))}" if reason.change is not None else ""
    yield from wrap(f"{printable(reason.field)}{change}", look.width, "        ", "          ")


def _effect(effect: Effect, look: TextStyle) -> Iterator[str]:
    yield from fitted(f"      {printable(effect.field)}  {place_of(effect.at)}", look)
    change = f"{printable(str(effect.change))}: " if effect.change is not None else ""
    yield from wrap(f"{change}{effect.what}", look.width, "        ", "          ")


def _of_pools(pools: Sequence[PoolPlan], look: TextStyle) -> Iterator[str]:
    """Yield the lines that differ from pool to pool (nodes and instance types), once for pools with equal lines."""
    found: dict[tuple[str, ...], list[PoolPlan]] = {}
    for pool in pools:
        lines = [*([] if pool.nodes is None else wrap(plan_words.nodes_in_words(pool), look.width, "    "))]
        lines += [] if pool.deleted else _launch(pool, look)
        if pool.roll is not None:
            from nodelint.plan.roll import describe_roll

            lines += wrap("roll: " + printable("; ".join(describe_roll(pool.roll))), look.width, "    ", "          ")
        found.setdefault(tuple(lines), []).append(pool)
    for own, same in found.items():
        if len(found) > 1 and own:
            yield from wrap(", ".join(printable(pool.name) for pool in same), look.width, "  ")
        yield from own


def _launch(pool: PoolPlan, look: TextStyle) -> Iterator[str]:
    launched = pool.launch
    if pool.change == "added":
        if pool.stopped is not None:
            return
        if launched.after:
            at_most = "" if launched.after_known else "at most "
            named = launched.cheapest_after is not None and launched.after_known
            cheapest = f", from {price(launched.cheapest_after)}" if named else ""
            yield f"    can launch {at_most}{counted(launched.after, 'instance type')}{cheapest}"
    elif launched.gained or launched.lost:
        yield f"    instance types {' -> '.join(launched.show_counts())}"
        for sign, names in (("+", launched.gained), ("-", launched.lost)):
            if names and launched.after:  # a pool without any type has lost all of them
                families = plan_words.by_family(names)
                yield from columns(f"      {sign} {len(names):,}  ", families, look.width, 3, "families")
    if plan_words.moves_images(pool):
        for sign, images in (("+", launched.images_gained), ("-", launched.images_lost)):
            yield from (f"    {sign} image {printable(image)}" for image in images)
    was, now = launched.cheapest_before, launched.cheapest_after
    if was != now and was is not None and now is not None and launched.cheapest_known:
        yield f"    cheapest on demand {price(was)} -> {price(now)}"


def _uncompared(places: Sequence[Gap], look: TextStyle) -> Iterator[str]:
    """Yield the changed parts that were not compared, with place and reason; of unchanged ones, names by reason."""
    yield look.style("Not compared", bold=True)
    groups: dict[tuple[bool, str], list[Gap]] = {}
    for place in sorted(places, key=lambda place: not is_of_change(place)):
        groups.setdefault((is_of_change(place), place.reason), []).append(place)
    for (changed, reason), group in groups.items():
        if changed:
            for place in group[:_PLACES]:
                yield from fitted(f"  ~ {printable(place.subject)}  {place_of(place.at)}", look)
            if len(group) > _PLACES:
                yield f"    and {len(group) - _PLACES:,} more; --format json lists all"
            yield from wrap(printable(reason), look.width, "      ")
        else:
            names = ", ".join(dict.fromkeys(printable(place.subject) for place in group[:_PLACES]))
            more = f" and {len(group) - _PLACES:,} more" if len(group) > _PLACES else ""
            yield from wrap(f"not changed: {names}{more}: {printable(reason)}", look.width, "    ", "      ")


def _workloads(changes: Sequence[WorkloadChange], look: TextStyle) -> Iterator[str]:
    yield look.style("Workloads", bold=True)
    for change in changes[:_PLACES]:
        label, at = printable(change.workload.label), place_of(change.place)
        words = plan_words.workload_headline(change)
        yield look.style(f"  {label}  {at}", fg="red" if change.stranded else "yellow")
        yield from wrap(words, look.width, "      ")
        for pool, why in change.reasons:
            yield from wrap(f"{printable(pool)}: {printable(why)}", look.width, "        ", "          ")
    if len(changes) > _PLACES:
        yield f"    and {len(changes) - _PLACES:,} more; --format json lists all"


def _findings(findings: Findings) -> Iterator[str]:
    for title, results in (("New findings", findings.new), ("Findings that are gone", findings.gone)):
        if results:
            yield title
            for result in results:
                at = result.span.source.position(result.span.start)
                where = f"{printable(result.span.source.path)}:{at.line}:{at.column}"
                yield f"  {where}  {result.severity}  {printable(result.finding.message)} [{result.rule.name}]"
