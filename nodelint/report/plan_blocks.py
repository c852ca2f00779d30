"""The blocks of a plan that all formats print: pools with the same cause, classes, tables, and the headline."""

from __future__ import annotations

from collections import Counter

from nodelint.base.printable import printable
from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.model.finding import label_of, span_of
from nodelint.model.messages import counted
from nodelint.plan import PoolPlan
from nodelint.plan.disruption_rate import words
from nodelint.plan.nodes import counts
from nodelint.plan.uncompared import is_of_change
from nodelint.report.all_clear import say_all_clear
from nodelint.report.plan_words import (
    class_headline,
    headline,
    headline_rows,
    notes_of,
    place_of,
    pool_place,
    tone_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nodelint.model.finding import Span
    from nodelint.model.gap import Gap
    from nodelint.plan import ClassPlan, Plan
    from nodelint.plan.coverage import Covered
    from nodelint.plan.effects import Effect
    from nodelint.plan.outcome import Findings
    from nodelint.plan.reasons import Reason
    from nodelint.text import Node

    Cell = str | Node | Span
    """A cell of a table: text, code, or the place that it shows."""

_SIGNS = {"added": "+", "removed": "-", "changed": "~", "unchanged": " "}


class CodeText(str):
    """Text of a file, which Markdown and HTML show as code."""

    __slots__ = ()


class PlanBlock(NamedTuple):
    """A class, or NodePools with the same causes at the same places, which every format shows as one block.

    `plan` is the class or the first pool, and stands for all; `pools` are empty for a class.
    """

    plan: PoolPlan | ClassPlan
    pools: tuple[PoolPlan, ...] = ()

    @property
    def names(self) -> list[str]:
        return [plan.name for plan in self.pools or (self.plan,)]

    @property
    def kind(self) -> str:
        return "NodePool" if self.pools else "EC2NodeClass"

    @property
    def sign(self) -> str:
        return _SIGNS[self.plan.pair.change]

    @property
    def remark(self) -> str:
        """Return a remark in brackets for a block without a sign. Empty for others."""
        if self.plan.pair.change != "unchanged":
            return ""
        gaps = [pool.uncompared for pool in self.pools if pool.uncompared is not None]
        if any(gap.decides and gap.subject.startswith("NodePool ") for gap in gaps):
            return " (may change)"
        return f" (not changed {'itself' if len(self.names) == 1 else 'themselves'})"

    @property
    def tone(self) -> Covered:
        """Return how many nodes are replaced, by which a format colours the block."""
        return tone_of(self.plan) if isinstance(self.plan, PoolPlan) else self.plan.verdict.replaced

    @property
    def rows(self) -> list[str]:
        """Return the verdict in sentences."""
        return headline_rows(self.plan) if isinstance(self.plan, PoolPlan) else [class_headline(self.plan)]

    @property
    def notes(self) -> list[str]:
        """Return the notes below the causes."""
        return notes_of(self.plan, len(self.pools) == 1)

    @property
    def places(self) -> list[str]:
        """Return the place of each object, with its values files."""
        return [*map(pool_place, self.pools)] or [place_of(self.plan.at)]

    @property
    def label(self) -> str:
        """Return the values files of the only pool; empty if there are none, or several pools."""
        return label_of(self.pools[0].pool.source) if len(self.pools) == 1 else ""

    @property
    def effects(self) -> tuple[Effect, ...]:
        return self.plan.effects

    @property
    def pace(self) -> list[str]:
        """Return how fast budgets let nodes go, in sentences."""
        pace = self.plan.pace if isinstance(self.plan, PoolPlan) else None
        return words(pace, self.node_count) if pace is not None else []

    @property
    def node_count(self) -> int | None:
        """Return the number of the cluster's nodes; None if it is not known."""
        return len(self.plan.nodes) if isinstance(self.plan, PoolPlan) and self.plan.nodes else None


def concerns(pool: PoolPlan) -> bool:
    """Return whether a report must mention the pool."""
    launched = pool.launch
    moved = launched.gained or launched.lost or launched.images_gained or launched.images_lost
    return (
        pool.change != "unchanged"
        or pool.grade != "none"
        or bool(pool.refused or moved or pool.never_stored or pool.verdict.reasons)
    )


def nothing_changed(plan: Plan, findings: Findings) -> bool:
    """Return whether the plan has nothing to report."""
    if any(map(concerns, plan.pools)) or plan.class_plans or plan.moves or plan.absorbed:
        return False
    if any(pair.change != "unchanged" for pair in plan.classes):
        return False
    return not (findings.new or findings.gone or any(place.decides for place in plan.uncompared))


def class_blocks(plan: Plan) -> list[PlanBlock]:
    """Return a block for each class that only pools elsewhere use, or whose change replaces no node.

    A class that several installations make in the same way has one block if its change replaces no node.
    """
    blocks: dict[object, PlanBlock] = {}
    for own in plan.class_plans:
        effects = tuple((effect.field, place_of(effect.at), effect.change) for effect in own.effects)
        key = (own.name, place_of(own.at), effects, own.held_back) if own.replaces_none else id(own)
        blocks.setdefault(key, PlanBlock(own))
    return list(blocks.values())


def pool_blocks(plan: Plan) -> list[PlanBlock]:
    """Return the pools to report in blocks, the most severe first."""
    found: dict[tuple[object, ...], list[PoolPlan]] = {}
    for pool in plan.pools:
        if concerns(pool):
            found.setdefault(_cause(pool), []).append(pool)
    return [PlanBlock(pools[0], tuple(pools)) for pools in found.values()]


def _cause(pool: PoolPlan) -> tuple[object, ...]:
    """Return a key that is equal for pools which one block can describe."""
    if pool.change in ("added", "removed") and not pool.refused:
        own: object = None if pool.change == "removed" else id(pool)
    else:
        own = (
            tuple(map(_of_reason, pool.verdict.reasons)),
            tuple((refusal.field, place_of(refusal.at)) for refusal in pool.refused),
            tuple((effect.field, place_of(effect.at)) for effect in pool.effects),
            tuple(notes_of(pool)),
        )
    return pool.change, headline(pool), pool.rank, own, tuple(PlanBlock(pool).pace)


def _of_reason(reason: Reason) -> tuple[object, ...]:
    """Return a key for a reason.

    A change of the cluster's Kubernetes version is one reason for several classes.
    """
    what = (reason.reason, reason.covered)
    return (*what, str(reason.change)) if reason.of_cluster else (*what, place_of(reason.at), reason.field)


def places_of(block: PlanBlock, number: int) -> str:
    """Return the place of a reason, or several places if a change of the cluster is the cause."""
    first = block.plan.verdict.reasons[number]
    if not first.of_cluster or not block.pools:
        return place_of(first.at)
    found = list(dict.fromkeys(place_of(pool.verdict.reasons[number].at) for pool in block.pools))
    return found[0] + (f" and {counted(len(found) - 1, 'more place')}" if len(found) > 1 else "")


class _Total(NamedTuple):
    """A kind of outcome, with its words for one pool and for several (`{n}` is their number)."""

    is_so: Callable[[PoolPlan], bool]
    one: str
    several: str
    of_nodes: bool = True


_TOTALS = (
    _Total(lambda pool: pool.deleted, "deleted with all its nodes", "{n} deleted with all nodes"),
    _Total(
        lambda pool: pool.launches_nothing,
        "it can no longer launch nodes; running nodes stay",
        "{n} can no longer launch nodes",
    ),
    _Total(
        lambda pool: pool.change == "added" and pool.stopped is not None and not pool.refused,
        "new, but it can launch nothing",
        "{n} new that can launch nothing",
        False,
    ),
    _Total(
        lambda pool: bool(pool.refused) and pool.replaced not in ("all", "some"),
        "the update is refused",
        "{n} refused",
    ),
    _Total(
        lambda pool: bool(pool.deleted_nodes),
        "{nodes} deleted at once",
        "{nodes} deleted at once ({n} NodePools)",
    ),
    _Total(lambda pool: _replaces(pool, "all"), "all its nodes are replaced", "all nodes of {n} are replaced"),
    _Total(lambda pool: _replaces(pool, "some"), "some of its nodes are replaced", "some nodes of {n} are replaced"),
    _Total(
        lambda pool: pool.needs_class is not None,
        "its nodes drift; whether they are replaced is not known",
        "nodes of {n} drift, and whether they are replaced is not known",
    ),
    _Total(
        lambda pool: pool.hold_reason is not None,
        "nodes drift, but none is replaced",
        "nodes of {n} drift, but none is replaced",
    ),
    _Total(
        lambda pool: pool.never_stored is not None and pool.change != "added" and pool.replaced == "none",
        "no node of it runs",
        "{n} without nodes",
        False,
    ),
    _Total(
        lambda pool: pool.change in ("changed", "removed") and pool.replaced == "none",
        "changed, but no node drifts",
        "{n} changed without drift",
        False,
    ),
    _Total(lambda pool: pool.replaced == "unknown", "its nodes may be replaced", "nodes of {n} may be replaced"),
    _Total(lambda pool: pool.change == "added", "new", "{n} new", False),
    _Total(lambda pool: bool(pool.verdict.reasons), "it has no nodes", "{n} without nodes", False),
    _Total(concerns, "other types or images for new nodes", "{n} with other types or images", False),
    _Total(lambda pool: True, "not changed", "{n} unchanged", False),
)
"""The totals, the most severe first: what stops, is replaced, acts at once, is not known, is unchanged."""


def _replaces(pool: PoolPlan, covered: Covered) -> bool:
    """Return whether nodes that drift are replaced, as far as the files show it."""
    return pool.replaced == covered and pool.hold_reason is None and pool.needs_class is None


def totals(plan: Plan) -> Iterator[str]:
    """Yield the number of pools for each outcome; each pool counts once, for its most severe outcome."""
    found: dict[int, list[PoolPlan]] = {}
    for pool in plan.pools:
        number = next(number for number, total in enumerate(_TOTALS) if total.is_so(pool))
        found.setdefault(number, []).append(pool)
    for number, pools in sorted(found.items()):
        total = _TOTALS[number]
        nodes = [pool.nodes for pool in pools if pool.nodes is not None]
        going = sum(counts(outcomes)["replaced"] for outcomes in nodes)
        deleted = sum(pool.deleted_nodes for pool in pools)
        words = (total.one if len(plan.pools) == 1 else total.several).format(
            n=len(pools), nodes=f"{counted(deleted, 'node')} {'is' if deleted == 1 else 'are'}"
        )
        yield words + (f" ({counted(going, 'node')})" if nodes and total.of_nodes else "")


def headline_of_plan(plan: Plan) -> str:
    """Return the plan in one or two sentences."""
    sentences = []
    if plan.pools and all(pool.change == "unchanged" and not concerns(pool) for pool in plan.pools):
        several = len(plan.pools) > 1
        sentences.append(f"{counted(len(plan.pools), 'NodePool')}, {'none' if several else 'not'} changed")
    elif plan.pools:
        sentences.append(f"{counted(len(plan.pools), 'NodePool')}: {', '.join(totals(plan))}")
    changed = [pair for pair in plan.classes if pair.change != "unchanged"]
    if changed:
        verbs = Counter(str(pair.change) for pair in changed)
        sentences.append(f"EC2NodeClasses: {', '.join(f'{n} {verb}' for verb, n in sorted(verbs.items()))}")
    stranded = sum(change.stranded for change in plan.workloads)
    if stranded:
        sentences.append(f"No NodePool accepts the pods of {counted(stranded, 'workload')} any more")
    places = other_places(plan)
    moved_places = sum(map(is_of_change, places))
    if not plan.endangers_nodes and (plan.pools or plan.classes):
        sentences.append(say_all_clear("plan", plan.uncompared))
    if places:
        differ = f", {moved_places} of which changed" if moved_places else ", none of which changed"
        sentences.append(f"Not compared: {counted(len(places), 'place')}{differ}")
    return ". ".join(sentences or ["No NodePool and no EC2NodeClass on either side"]) + "."


def moves_in_words(plan: Plan) -> Iterator[str]:
    """Yield the releases that differ between the two sides. They come first, because they affect everything else."""
    for move in plan.moves:
        yield f"{move.about} {move.old} -> {move.new} ({printable(move.path)}:{move.line}): {move.note}"


def closing(findings: Findings) -> Iterator[str]:
    """Yield the lines after the pools."""
    if findings.new or findings.gone:
        yield f"Findings: {len(findings.new):,} new, {len(findings.gone):,} gone."


def other_places(plan: Plan) -> list[Gap]:
    """Return the places that were not compared, without those that the block of a pool mentions, and without further
    reasons why the outcome of such a pool is not known.
    """
    shown = [pool for pool in plan.pools if concerns(pool)]
    reported = {_identity(pool.uncompared) for pool in shown if pool.uncompared is not None}
    open_pools = [pool for pool in shown if pool.replaced != "none"]
    unknown = {(f"NodePool {pool.name}", span_of(pool.at).source.path) for pool in open_pools}
    return [
        place
        for place in plan.uncompared
        if _identity(place) not in reported and (place.subject, span_of(place.at).source.path) not in unknown
    ]


def _identity(place: Gap) -> tuple[str, str, str]:
    return place.subject, place.reason, place_of(place.at)


def releases_of(plan: Plan) -> str:
    """Return the Karpenter releases for which the pools were compared."""
    releases = sorted({pool.release for pool in plan.pools if pool.release is not None}) or [plan.options.release]
    own = ", each pool for its own" if len(releases) > 1 else ""
    return f"Karpenter {' and '.join(map(str, releases))}{own}"


def finding_rows(findings: Findings, most: int | None = None) -> Iterator[tuple[Cell, ...]]:
    """Yield the cells of a table of findings: new or gone, severity, place, rule, message; `most` of each."""
    for what, results in (("new", findings.new), ("gone", findings.gone)):
        for result in results[:most]:
            yield what, result.severity, result.finding.at, CodeText(result.rule.name), result.finding.message


def gap_rows(plan: Plan) -> list[tuple[Cell, ...]]:
    """Return the cells of a table of what was not compared: changed or not, subject, reason, place."""
    ordered = sorted(other_places(plan), key=lambda place: not is_of_change(place))
    return [("changed" if is_of_change(gap) else "", CodeText(gap.subject), gap.reason, gap.at) for gap in ordered]
