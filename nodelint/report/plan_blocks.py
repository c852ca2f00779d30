"""What every form of a plan says alike: the headline, one block for pools with one cause, sentences and places."""

from __future__ import annotations

from collections import Counter

from nodelint.base.printable import printable
from nodelint.base.tuples import NamedTuple
from nodelint.model.finding import label_of, span_of
from nodelint.model.messages import counted
from nodelint.plan import PoolPlan
from nodelint.plan.disruption_rate import words
from nodelint.plan.nodes import counts

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nodelint.model.finding import Span
    from nodelint.plan import ClassPlan, Plan
    from nodelint.plan.verdict import Reason
    from nodelint.plan.workloads import WorkloadChange
    from nodelint.report.plan_json import Findings
    from nodelint.text import Node

SIGNS = {"added": "+", "removed": "-", "changed": "~", "unchanged": " ", "renamed": "~"}


class PoolBlock(NamedTuple):
    """Pools of which the same is to be said, for the same places."""

    pools: tuple[PoolPlan, ...]

    @property
    def first(self) -> PoolPlan:
        return self.pools[0]

    @property
    def names(self) -> str:
        """The names of its pools."""
        return ", ".join(printable(pool.name) for pool in self.pools)


def concerns(pool: PoolPlan) -> bool:
    """Whether there is anything to report of a pool."""
    launched = pool.launch
    moved = launched.gained or launched.lost or launched.images_gained or launched.images_lost
    return pool.change != "unchanged" or pool.replaced != "none" or bool(pool.refused or moved)


def nothing_changed(plan: Plan, findings: Findings) -> bool:
    """Whether there is nothing to report at all."""
    if any(map(concerns, plan.pools)) or plan.class_plans or plan.moves or plan.absorbed:
        return False
    if any(pair.change != "unchanged" for pair in plan.classes):
        return False
    return not (findings.new or findings.gone or any(place.changed for place in plan.uncompared))


def blocks(plan: Plan) -> list[PoolBlock]:
    """The pools that there is something to report of, the most endangered first."""
    found: dict[tuple[object, ...], list[PoolPlan]] = {}
    for pool in plan.pools:
        if concerns(pool):
            found.setdefault(_cause(pool), []).append(pool)
    return [PoolBlock(tuple(pools)) for pools in found.values()]


def _cause(pool: PoolPlan) -> tuple[object, ...]:
    """What pools have in common that one block can tell of. What stands in a pool itself is its own alone."""
    if pool.change in ("renamed", "added", "removed") and not pool.refused:
        own: object = None if pool.change == "removed" else id(pool)
    else:
        own = (
            tuple(
                (reason.reason, place_of(reason.at), reason.field, reason.covered) for reason in pool.verdict.reasons
            ),
            tuple((refusal.field, place_of(refusal.at)) for refusal in pool.refused),
            tuple((effect.field, place_of(effect.at)) for effect in pool.effects),
            tuple(notes_of(pool)),
        )
    pace = tuple(words(pool.pace, _nodes(pool))) if pool.pace is not None else ()
    return pool.change, headline(pool), pool.rank, own, pace


def _nodes(pool: PoolPlan) -> int | None:
    return len(pool.nodes) if pool.nodes else None


def headline(pool: PoolPlan) -> str:
    """The verdict of a pool in a sentence."""
    reasons = ", ".join(dict.fromkeys(reason.reason for reason in pool.verdict.reasons))
    if pool.deleted:
        under = " under its old name" if pool.change == "renamed" else ""
        return f"deleted{under}: all its nodes go at once, and budgets do not apply"
    if pool.change == "added":
        return "refused: nothing is created" if pool.refused else "new: it has no nodes yet"
    if pool.after is None and pool.verdict.replaced == "none":
        return "no node is replaced, and none can be launched: its EC2NodeClass is gone"
    if pool.replaced in ("all", "some"):
        if pool.is_blocked:
            return f"{pool.replaced} nodes drift, and a budget lets none of them go: {reasons}"
        return f"{pool.replaced} nodes are replaced: {reasons}"
    if pool.replaced == "unknown":
        return f"nodes may be replaced; the files do not tell{f': {reasons}' if reasons else ''}"
    if pool.refused:
        return "the update is refused: nothing changes"
    if pool.effects:
        return "no node drifts; what changes acts at once"
    return "no node drifts"


def class_headline(plan: ClassPlan) -> str:
    """What a class does to nodes of pools that are elsewhere."""
    if plan.pair.change in ("removed", "renamed"):
        return "gone: pools that use it launch nothing any more, and it stays until their nodes are gone"
    if plan.refused:
        return "the update is refused: nothing changes"
    reasons = ", ".join(dict.fromkeys(reason.reason for reason in plan.verdict.reasons))
    what = {"all": "all their nodes are replaced", "some": "some of their nodes are replaced"}
    words = what.get(plan.verdict.replaced, "their nodes may be replaced; the files do not tell")
    return f"no pool of these files uses it; of those that do, {words}{f': {reasons}' if reasons else ''}"


def notes_of(plan: PoolPlan | ClassPlan) -> list[str]:
    """What stands below the causes: why the verdict is not known, and what the cluster cannot hold."""
    unknown = plan.why_unknown if isinstance(plan, PoolPlan) else plan.verdict.unknown
    return [note for note in (unknown, plan.never_stored) if note]


def nodes_in_words(pool: PoolPlan) -> str:
    """How many of the nodes that the cluster has are replaced, and how many had drifted before."""
    found = counts(pool.nodes or ())
    text = f"{found['replaced']} of {counted(found['total'], 'node')}"
    if found["unknown"]:
        text += f", and {found['unknown']} of which only your AWS account knows"
    if found["drifted"]:
        text += f"; {found['drifted']} had drifted before"
    return text


def moves_images(pool: PoolPlan) -> bool:
    """Whether the images that come and go are not told by a cause already."""
    return all(reason.reason != "AMIDrift" for reason in pool.verdict.reasons)


def place_of(at: Node | Span) -> str:
    """Path and line of a place."""
    span = span_of(at)
    return f"{printable(span.source.path)}:{span.source.position(span.start).line}"


def share_of(reason: Reason) -> str:
    """How many nodes a reason is about, where that is not all of them, and whether Karpenter records it."""
    parts = ["some nodes"] if reason.covered == "some" else []
    parts += ["only the account knows"] if reason.covered == "unknown" else []
    parts += [] if reason.recorded else ["a cause too; the one above is recorded"]
    return ", ".join(parts)


def pool_place(pool: PoolPlan) -> str:
    """Where a pool is written, and what it is built with."""
    label = label_of(pool.pool.source)
    return place_of(pool.at) + (f" with {printable(label)}" if label else "")


_COUNTED: tuple[tuple[str, Callable[[PoolPlan], bool]], ...] = (
    ("deleted", lambda pool: pool.deleted),
    ("refused", lambda pool: bool(pool.refused)),
    ("held by budgets", lambda pool: pool.replaced in ("all", "some") and pool.is_blocked),
    ("replaced", lambda pool: pool.replaced == "all"),
    ("replaced in part", lambda pool: pool.replaced == "some"),
    ("perhaps replaced", lambda pool: pool.replaced == "unknown"),
    ("without anything to launch", lambda pool: pool.launches_nothing),
    ("added", lambda pool: pool.change == "added"),
    ("changed without drift", lambda pool: pool.change == "changed"),
    ("with other types or images", concerns),
    ("unchanged", lambda pool: True),
)


def totals(plan: Plan) -> dict[str, list[PoolPlan]]:
    """The pools by what becomes of them; each is counted once, by the gravest."""
    found: dict[str, list[PoolPlan]] = {}
    for pool in plan.pools:
        name = next(name for name, is_so in _COUNTED if is_so(pool))
        found.setdefault(name, []).append(pool)
    return {name: found[name] for name, _ in _COUNTED if name in found}


def headline_of_plan(plan: Plan) -> str:
    """The whole plan in a sentence or two."""
    found = totals(plan)
    parts = []
    for name, pools in found.items():
        nodes = [pool.nodes for pool in pools if pool.nodes is not None]
        number = sum(counts(fates)["replaced"] for fates in nodes)
        moved = name not in ("unchanged", "added", "changed without drift", "with other types or images")
        parts.append(f"{len(pools)} {name}" + (f" ({counted(number, 'node')})" if nodes and moved else ""))
    sentences = []
    if list(found) == ["unchanged"]:
        sentences.append(
            f"{counted(len(plan.pools), 'NodePool')}, {'none' if len(plan.pools) > 1 else 'not'} changed"
        )
    elif parts:
        sentences.append(f"{counted(len(plan.pools), 'NodePool')}: {', '.join(parts)}")
    changed = [pair for pair in plan.classes if pair.change != "unchanged"]
    if changed:
        verbs = Counter(str(pair.change) for pair in changed)
        sentences.append(f"EC2NodeClasses: {', '.join(f'{n} {verb}' for verb, n in sorted(verbs.items()))}")
    moved_places = sum(place.changed for place in plan.uncompared)
    if not plan.endangers_nodes and (plan.pools or plan.classes):
        sentences.append("No node is replaced" + (" in what was compared" if plan.uncompared else ""))
    if plan.uncompared:
        differ = f", {moved_places} of which changed" if moved_places else ", none of which changed"
        sentences.append(f"Not compared: {counted(len(plan.uncompared), 'place')}{differ}")
    return ". ".join(sentences or ["No NodePool and no EC2NodeClass on either side"]) + "."


def closing(plan: Plan, findings: Findings) -> Iterator[str]:
    """What stands below the pools: releases that move, findings, and the release of the plan."""
    for move in plan.moves:
        yield f"{move.about} {move.old} -> {move.new} ({printable(move.path)}:{move.line}): {move.note}"
    for change in plan.absorbed:
        yield (
            f"EC2NodeClass {printable(change.name)} changes together with Karpenter {change.old} -> {change.new},"
            " which hashes classes in another way: the change may never reach the nodes that run."
            " Make it before or after the upgrade."
        )
    if findings.new or findings.gone:
        yield f"Findings: {len(findings.new)} new, {len(findings.gone)} gone."


def releases_of(plan: Plan) -> str:
    """The releases of Karpenter that the pools were compared for."""
    releases = sorted({pool.release for pool in plan.pools if pool.release is not None}) or [plan.options.release]
    own = ", each pool for its own" if len(releases) > 1 else ""
    return f"Karpenter {' and '.join(map(str, releases))}{own}"


def workload_headline(change: WorkloadChange) -> str:
    """What becomes of a workload's pods, in words."""
    if change.stranded:
        return "no NodePool takes its pods any more: once their nodes go, they stay pending"
    return f"fewer NodePools take its pods; {', '.join(change.left) or 'a node group may take them'} still"
