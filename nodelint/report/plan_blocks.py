"""Parts that all formats of a plan share: the headline, blocks of pools with the same cause, sentences and places."""

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
from nodelint.report.all_clear import say_all_clear

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nodelint.model.finding import Span
    from nodelint.model.gap import Gap
    from nodelint.plan import ClassPlan, Plan
    from nodelint.plan.coverage import Covered
    from nodelint.plan.outcome import Findings
    from nodelint.plan.reasons import Reason
    from nodelint.plan.workloads import WorkloadChange
    from nodelint.text import Node

SIGNS = {"added": "+", "removed": "-", "changed": "~", "unchanged": " "}


class PoolBlock(NamedTuple):
    """NodePools with the same causes at the same places, which a report shows as one block."""

    pools: tuple[PoolPlan, ...]

    @property
    def first(self) -> PoolPlan:
        return self.pools[0]

    @property
    def names(self) -> str:
        """Return the names of the block's pools."""
        return ", ".join(printable(pool.name) for pool in self.pools)


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


def blocks(plan: Plan) -> list[PoolBlock]:
    """Return the pools to report in blocks, the most severe first."""
    found: dict[tuple[object, ...], list[PoolPlan]] = {}
    for pool in plan.pools:
        if concerns(pool):
            found.setdefault(_cause(pool), []).append(pool)
    return [PoolBlock(tuple(pools)) for pools in found.values()]


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
    pace = tuple(words(pool.pace, _nodes(pool))) if pool.pace is not None else ()
    return pool.change, headline(pool), pool.rank, own, pace


def _of_reason(reason: Reason) -> tuple[object, ...]:
    """Return a key for a reason.

    A change of the cluster's Kubernetes version is one reason for several classes.
    """
    what = (reason.reason, reason.covered)
    return (*what, str(reason.change)) if reason.of_cluster else (*what, place_of(reason.at), reason.field)


def places_of(block: PoolBlock, number: int) -> str:
    """Return the place of a reason, or several places if a change of the cluster is the cause."""
    first = block.first.verdict.reasons[number]
    if not first.of_cluster:
        return place_of(first.at)
    found = list(dict.fromkeys(place_of(pool.verdict.reasons[number].at) for pool in block.pools))
    return found[0] + (f" and {counted(len(found) - 1, 'more place')}" if len(found) > 1 else "")


def _nodes(pool: PoolPlan) -> int | None:
    return len(pool.nodes) if pool.nodes else None


def headline(pool: PoolPlan) -> str:
    """Return the verdict on a pool in one or two sentences."""
    return "; ".join(headline_rows(pool))


def headline_rows(pool: PoolPlan) -> list[str]:
    """Return the verdict on a pool: why launches stop, then what happens to the nodes."""
    if pool.deleted:
        return ["deleted: all its nodes go at once, and budgets do not apply"]
    if pool.change == "added":
        if pool.refused:
            return ["refused: nothing is created"]
        stop = pool.stopped
        if pool.lacking_class is not None:
            name = printable(pool.lacking_class)
            return [f"new: it launches nodes only if the cluster has EC2NodeClass `{name}`, which no file defines"]
        return ["new: it has no nodes yet" if stop is None else f"new, but can launch nothing: {stop.reason}"]
    if pool.change == "removed":
        return ["removed: no node of it runs"]
    parts = []
    if pool.launches_nothing and pool.stopped is not None:
        parts.append(f"can no longer launch nodes: {pool.stopped.reason}; running nodes stay")
    if pool.deleted_nodes:
        are = "is" if pool.deleted_nodes == 1 else "are"
        parts.append(f"{counted(pool.deleted_nodes, 'node')} {are} deleted at once, and budgets do not apply")
    drift = _drift_in_words(pool)
    if drift is not None:
        parts.append(drift)
    if pool.refused:
        parts.append("an update is refused" if parts else "the update is refused: nothing changes")
    elif pool.never_stored is not None:
        parts.append("no node of it runs, so none is replaced")
        parts += [] if pool.stopped is None else [f"it still can launch nothing: {pool.stopped.reason}"]
    elif not parts:
        acts = any(not effect.same for effect in pool.effects)
        at_once = "; the change takes effect at once" if acts else ""
        parts += _without_nodes(pool) or [f"no node drifts{at_once}"]
    return parts


def _without_nodes(pool: PoolPlan) -> list[str]:
    """Return why a change concerns no node; empty if there may be nodes."""
    if not pool.verdict.reasons or pool.stopped_before is None:
        return []
    now = " and can" if pool.stopped is not None else ""
    rows = [f"it has no nodes: it could{now} launch none ({pool.stopped_before.reason})"]
    node_class = pool.before.node_class if pool.before is not None else None
    if node_class is not None and any(map(_is_of_class, pool.verdict.reasons)):
        rows.append(f"the change of EC2NodeClass `{printable(str(node_class.name))}` concerns no node")
    return rows


def _is_of_class(reason: Reason) -> bool:
    return reason.reason not in ("NodePoolDrifted", "RequirementsDrifted")


def _drift_in_words(pool: PoolPlan) -> str | None:
    """Return how many nodes drift and whether they are replaced; None if none drifts."""
    reasons = ", ".join(dict.fromkeys(reason.reason for reason in pool.verdict.reasons))
    if pool.replaced == "none":
        return None
    if pool.replaced == "unknown":
        if pool.stopped is not None:
            return f"whether nodes drift is not known{f' ({reasons})' if reasons else ''}"
        return f"nodes may be replaced; the files do not show it{f': {reasons}' if reasons else ''}"
    if pool.stopped is not None:
        end = "only empty nodes, and nodes whose pods fit elsewhere, go"
        why = "" if pool.launches_nothing else f" ({pool.stopped.reason})"
        return f"{pool.replaced} nodes drift ({reasons}), and {pool.hold_reason}{why}: {end}"
    if pool.hold_reason is not None:
        return f"{pool.replaced} nodes drift ({reasons}), but none is replaced: {pool.hold_reason}"
    if pool.needs_class is not None:
        only = f"only if the cluster has EC2NodeClass `{printable(pool.needs_class)}`, which no file defines"
        return f"{pool.replaced} nodes drift ({reasons}), and are replaced {only}"
    return f"{pool.replaced} nodes are replaced: {reasons}"


def class_headline(plan: ClassPlan) -> str:
    """Return what a change of a class does to the nodes of NodePools elsewhere."""
    if plan.pair.change == "removed" and plan.never_stored is not None:
        return "removed: no pool could launch nodes with it"
    if plan.pair.change == "removed":
        return "deleted: pools that use it can no longer launch nodes, and it stays until their nodes are gone"
    if plan.refused:
        return "the update is refused: nothing changes"
    reasons = ", ".join(dict.fromkeys(reason.reason for reason in plan.verdict.reasons))
    what = {"all": "all their nodes are replaced", "some": "some of their nodes are replaced"}
    words = what.get(plan.verdict.replaced, "their nodes may be replaced; the files do not show it")
    return f"no pool of these files uses it; for pools that do: {words}{f': {reasons}' if reasons else ''}"


def notes_of(plan: PoolPlan | ClassPlan) -> list[str]:
    """Return the notes below the causes: why the verdict is not known, and what the cluster cannot store."""
    gap = None
    if isinstance(plan, PoolPlan) and plan.uncompared is not None:
        gap = f"{plan.why_uncompared} ({place_of(plan.uncompared.at)})"
    return [note for note in (plan.verdict.unknown, gap, plan.never_stored, plan.held_back) if note]


def tone_of(pool: PoolPlan) -> Covered:
    """Return the verdict that decides the colour of a pool.

    A refusal, or a change that may remove nodes, is not green.
    """
    moves = pool.grade == "none" and (bool(pool.refused) or any(effect.removes for effect in pool.effects))
    return "unknown" if moves or (pool.change == "added" and pool.stopped is not None) else pool.grade


def nodes_in_words(pool: PoolPlan) -> str:
    """Return how many of the cluster's nodes are replaced, and how many had drifted before."""
    found = counts(pool.nodes or ())
    text = f"{found['replaced']} of {counted(found['total'], 'node')}"
    if found["unknown"]:
        text += f", and {found['unknown']} of which only your AWS account knows"
    if found["drifted"]:
        text += f"; {found['drifted']} had drifted before"
    return text


def moves_images(pool: PoolPlan) -> bool:
    """Return whether changed images need a line, because no cause of the plan mentions them."""
    return pool.stopped is None and all(reason.reason != "AMIDrift" for reason in pool.verdict.reasons)


def place_of(at: Node | Span) -> str:
    """Return path and line of a place."""
    span = span_of(at)
    return f"{printable(span.source.path)}:{span.source.position(span.start).line}"


def share_of(reason: Reason) -> str:
    """Return how many nodes a reason concerns, unless it is all, and whether Karpenter records it."""
    parts = {"some": ["some nodes"], "none": ["no nodes"]}.get(reason.covered, [])
    if reason.covered == "unknown":
        unknown = "a value is not known here" if reason.of_files else "only your AWS account knows"
        parts.append("may never reach them" if reason.reason == "NodeClassDrift" else unknown)
    parts += [] if reason.recorded else ["also a cause; Karpenter records only the first cause"]
    return ", ".join(parts)


def pool_place(pool: PoolPlan) -> str:
    """Return the place of a pool, and its values files."""
    label = label_of(pool.pool.source)
    return place_of(pool.at) + (f" with {printable(label)}" if label else "")


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
    moved_places = sum(place.decides for place in places)
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


def workload_headline(change: WorkloadChange) -> str:
    """Return what happens to a workload's pods."""
    if change.stranded:
        return "no NodePool accepts its pods any more: when their nodes are gone, the pods stay Pending"
    return f"fewer NodePools accept its pods; still: {', '.join(change.left_names) or 'a node group may accept them'}"
