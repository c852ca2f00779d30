"""A plan for people: `+`, `-`, `~`, a line of verdict for each pool, and a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from nodelint.build.built import label_of
from nodelint.model.finding import Span, span_of
from nodelint.model.messages import counted
from nodelint.plan import Plan, PoolPlan
from nodelint.plan.launch import Launch, Price
from nodelint.plan.nodes import counts
from nodelint.plan.pace import words
from nodelint.plan.verdict import Reason
from nodelint.printable import printable
from nodelint.report.layout import aside, columns, wrap
from nodelint.report.look import Look, fitted
from nodelint.report.plan_json import Findings
from nodelint.source import Node

SIGNS = {"added": "+", "removed": "-", "changed": "~", "unchanged": " ", "renamed": "~"}
_COLOURS = {"all": "red", "some": "yellow", "unknown": "yellow", "none": "green"}


def plan_text(plan: Plan, findings: Findings, look: Look) -> str:
    """The plan in lines. Pools of which nothing changes are only counted."""
    told = [each for each in plan.pools if concerns(each)]
    blocks = ["\n".join(_pool(each, look)) for each in told]
    blocks += (
        ["\n".join(row for line in _findings(findings) for row in fitted(line, look))]
        if findings.new or findings.gone
        else []
    )
    blocks.append("\n".join(row for line in summary(plan, findings) for row in fitted(line, look)))
    return "\n\n".join(blocks)


def concerns(each: PoolPlan) -> bool:
    """Whether there is anything to report of a pool."""
    launched = each.launch
    moved = launched.gained or launched.lost or launched.images_gained or launched.images_lost
    return each.change != "unchanged" or each.verdict.replaced != "none" or bool(each.refused or moved)


def _pool(each: PoolPlan, look: Look) -> Iterator[str]:
    name = printable(str(each.pool.name))
    title = f"{SIGNS[each.change]} NodePool {name}"
    if each.renamed_from is not None:
        title += f" (was {printable(each.renamed_from)})"
    yield from aside(title, pool_place(each), look.width)
    for row in fitted(f"    {headline(each)}", look):
        yield look.style(row, fg=_COLOURS[each.verdict.replaced], bold=each.verdict.replaced != "none")
    for refusal in each.refused:
        at = place(refusal.at)
        yield from wrap(f"refused by the API server: {refusal.field}: {refusal.message} ({at})", look.width, "      ")
    for reason, at in grouped(each.verdict.reasons):
        yield from fitted(f"      {reason}  {at}", look)
    if each.verdict.unknown:
        yield from wrap(each.verdict.unknown, look.width, "      ")
    yield from _pace(each, look)
    yield from _launch(each.launch, look)


def _pace(each: PoolPlan, look: Look) -> Iterator[str]:
    if each.nodes is not None:
        yield from wrap(nodes_in_words(each), look.width, "    ")
    if each.pace is not None:
        told = words(each.pace, len(each.nodes) if each.nodes else None)
        yield from wrap("pace: " + "; ".join(told), look.width, "    ", "          ")


def nodes_in_words(each: PoolPlan) -> str:
    """How many of the nodes that the cluster has are replaced, and how many had drifted before."""
    found = counts(each.nodes or ())
    text = f"{found['replaced']} of {counted(found['total'], 'node')}"
    if found["unknown"]:
        text += f", and {found['unknown']} of which only your AWS account knows"
    if found["drifted"]:
        text += f"; {found['drifted']} had drifted before"
    return text


def headline(each: PoolPlan) -> str:
    """The verdict of a pool in a sentence."""
    words = ", ".join(dict.fromkeys(reason.reason for reason in each.verdict.reasons))
    if each.change == "renamed":
        return "deleted under its old name: all its nodes go at once, and budgets do not apply"
    if each.change == "removed":
        return "deleted: all its nodes go at once, and budgets do not apply"
    if each.change == "added":
        return "refused: nothing is created" if each.refused else "new: it has no nodes yet"
    if each.after is None and each.verdict.replaced == "none":
        return "no node is replaced, and none can be launched: its EC2NodeClass is gone"
    if each.verdict.replaced == "all":
        return f"all nodes are replaced: {words}"
    if each.verdict.replaced == "some":
        return f"some nodes are replaced: {words}"
    if each.verdict.replaced == "unknown":
        told = f": {words}" if words else ""
        return f"whether nodes are replaced cannot be determined from the files{told}"
    return "no node is replaced"


def grouped(reasons: Sequence[Reason]) -> Iterator[tuple[str, str]]:
    """Each reason with its field, and where that stands."""
    word = max((len(reason.reason) for reason in reasons), default=0)
    width = max((len(reason.field) for reason in reasons), default=0)
    for reason in reasons:
        share = "" if reason.covered in ("all", "unknown") else "  (some)"
        yield f"{reason.reason:<{word}}  {printable(reason.field):<{width}}", place(reason.at) + share


def place(at: Node | Span) -> str:
    """Path and line of a place."""
    span = span_of(at)
    return f"{printable(span.source.path)}:{span.source.position(span.start).line}"


def pool_place(each: PoolPlan) -> str:
    """Where a pool is written, and what it is built with."""
    label = label_of(each.pool.source)
    return place(each.at) + (f" with {printable(label)}" if label else "")


def _launch(launched: Launch, look: Look) -> Iterator[str]:
    if launched.gained or launched.lost:
        yield f"    instance types {launched.before:,} -> {launched.after:,}"
        for sign, names in (("+", launched.gained), ("-", launched.lost)):
            if names:
                yield from columns(f"      {sign} {len(names):,}  ", by_family(names), look.width, 3, "families")
    for sign, images in (("+", launched.images_gained), ("-", launched.images_lost)):
        yield from (f"    {sign} image {printable(image)}" for image in images)
    was, now = launched.cheapest_before, launched.cheapest_after
    if was != now and was is not None and now is not None:
        yield f"    cheapest on demand {price(was)} -> {price(now)}"


def price(value: Price | None) -> str:
    """A type and its price."""
    return "none" if value is None else f"{value.type} ${value.price:.4f}/h"


def by_family(names: Sequence[str]) -> list[str]:
    """Types counted by family: `m5 (9)`."""
    families = Counter(name.partition(".")[0] for name in names)
    return [f"{family}({count})" for family, count in sorted(families.items())]


def _findings(findings: Findings) -> Iterator[str]:
    for title, results in (("New findings", findings.new), ("Findings that are gone", findings.gone)):
        if results:
            yield title
            for result in results:
                at = result.span.source.position(result.span.start)
                where = f"{printable(result.span.source.path)}:{at.line}:{at.column}"
                yield f"  {where}  {result.severity}  {printable(result.finding.message)} [{result.rule.name}]"


_FATES = (
    ("all", "all go"),
    ("some", "some go"),
    ("unknown", "only your AWS account knows"),
)


def summary(plan: Plan, findings: Findings) -> Iterator[str]:
    """The end of a plan: what happens to how many pools."""
    changes = Counter(each.change for each in plan.pools)
    text = ", ".join(f"{number} {change}" for change, number in sorted(changes.items()) if change != "unchanged")
    yield f"{counted(len(plan.pools), 'NodePool')}: {text or 'none changed'}."
    fates: Counter[str] = Counter(each.verdict.replaced for each in plan.pools)
    parts = [f"{words} in {counted(fates[fate], 'pool')}" for fate, words in _FATES if fates[fate]]
    yield f"Nodes: {'; '.join(parts)}." if parts else "Nodes: none goes."
    if findings.new or findings.gone:
        yield f"Findings: {len(findings.new)} new, {len(findings.gone)} gone."
    for each in plan.absorbed:
        yield (
            f"EC2NodeClass {each.name} changes together with Karpenter {each.old} -> {each.new}, which hashes"
            " classes in another way: the change may never reach the nodes that run."
            " Make it before or after the upgrade."
        )
    releases = sorted({each.release for each in plan.pools if each.release is not None}) or [plan.aim.release]
    own = ", each pool for its own" if len(releases) > 1 else ""
    yield f"Karpenter {' and '.join(map(str, releases))}{own}"
