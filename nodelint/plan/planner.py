"""Both sides of a change compared, pool by pool and class by class."""

from __future__ import annotations

from nodelint.drift import Unhashable, hash_object, stored_object
from nodelint.drift.claim_status import ca_of
from nodelint.karpenter.resolve import resolve
from nodelint.model.documents import objects
from nodelint.model.manifest import EC2NodeClass, NodePool, served
from nodelint.model.placeholder_names import canonical_code
from nodelint.plan.disruption_rate import pace
from nodelint.plan.effects import Stored, effects_of
from nodelint.plan.launch import launch
from nodelint.plan.matching import match_objects, written_name
from nodelint.plan.nodes import Wanted, fates, requirements_of
from nodelint.plan.outcome import ClassPlan, Plan, PoolPlan
from nodelint.plan.refusals import refusals, why_never_stored
from nodelint.plan.sides import as_stored
from nodelint.plan.uncompared import (
    foreign_pools,
    is_unserved,
    name_of,
    nameless,
    of_templates,
    unclear_class,
    unread_class,
    unread_object,
    unserved,
)
from nodelint.plan.unread import UnreadFiles
from nodelint.plan.verdict import NOTHING as UNTOUCHED
from nodelint.plan.verdict import Sides, Verdict, class_verdict, verdict
from nodelint.plan.written_places import WrittenPlaces
from nodelint.rule.context import Context
from nodelint.rule.target import Target

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any

    from nodelint.drift import Hash
    from nodelint.ec2.facts import AwsFacts
    from nodelint.karpenter.resolve import Resolution
    from nodelint.model.manifest import Object
    from nodelint.model.releases import KubernetesVersion, Version
    from nodelint.plan.disruption_rate import Pace
    from nodelint.plan.effects import Effect
    from nodelint.plan.matching import Pair
    from nodelint.plan.nodes import NodeFate
    from nodelint.plan.outcome import PlanOptions
    from nodelint.plan.refusals import Refusal
    from nodelint.plan.sides import Side
    from nodelint.plan.uncompared import (
        Uncompared,
    )
    from nodelint.plan.unread import UnreadFile
    from nodelint.text import Node

ALL_READ = UnreadFiles()


def make(old: Side, new: Side, options: PlanOptions, unread: UnreadFiles = ALL_READ) -> Plan:
    """Compare two sides; `unread` is what of their files could not be read."""
    return Planner(old, new, options, unread).run()


_STATIC = ("NodePoolDrifted", "RequirementsDrifted", "NodeClassDrift")
"""Reasons that a NodeClaim itself shows, by its hashes and labels."""


class Planner:
    """Compares two sides for one release of each program."""

    def __init__(self, old: Side, new: Side, options: PlanOptions, unread: UnreadFiles) -> None:
        self.options = options
        self.unread = unread
        self.sides = old, new
        both = [as_stored(side, options) for side in self.sides]
        self.asked = both[0].objects, both[1].objects
        self.written = WrittenPlaces(both)
        self.unserved = tuple(
            [(n, obj) for n, obj in enumerate(objs) if is_unserved(obj, options.release)] for objs in self.asked
        )
        self.old = self._context(0, options.old_facts, options.old_kubernetes)
        self.new = self._context(1, options.facts, options.kubernetes)
        self.classes = self._pairs(EC2NodeClass, self.old.objects, self.new.objects)
        same = [pair for pair in self.classes if pair.change in ("changed", "unchanged")]
        self.now = {id(pair.old): pair for pair in same}
        self.changed = [obj for pair in self.classes if pair.change != "unchanged" for obj in _classes(pair)]
        self.refused: dict[int, list[Refusal]] = {}
        self.used: set[int] = set()
        self.places = {
            id(obj): index for context in (self.old, self.new) for index, obj in enumerate(context.objects)
        }
        self.gaps: dict[int, UnreadFile] = {}
        self._note_gaps(self.classes)

    def find_place(self, pair: Pair) -> tuple[int | None, int | None]:
        """Which object of each side, counted from 0, a pair is about; None where a side has none."""
        old, new = (self.places[id(obj)] if obj is not None else None for obj in (pair.old, pair.new))
        return old, new

    def list_unserved(self, but: Collection[tuple[int, int]] = ()) -> list[Uncompared]:
        """The objects that the release does not serve; `but` are the sides and numbers of some that do not count."""
        old, new = ([obj for n, obj in objs if (side, n) not in but] for side, objs in enumerate(self.unserved))
        return list(map(self.written.lead_gap, unserved(old, new, self.options.release)))

    def _note_gaps(self, pairs: Sequence[Pair]) -> None:
        """Note the objects that cannot be compared because a side cannot read what is, or may be, theirs."""
        if not self.unread.files:
            return
        written = [side.all_objects for side in self.sides]
        for pair in pairs:
            at = self.find_place(pair)
            for number, index in enumerate(at):
                if index is None:
                    continue
                obj = written[number][index]
                path = self.sides[number].below(obj.source.path)
                gap = self.unread.find(obj, number, path, None not in at)
                if gap is not None:
                    self.gaps.update((id(obj), gap) for obj in (pair.old, pair.new) if obj is not None)
                    break

    def _context(self, side: int, facts: AwsFacts, kubernetes: KubernetesVersion | None) -> Context:
        context_objects = [obj for source in self.sides[side].beside for obj in objects(source)]
        objs = [*self.asked[side], *context_objects]
        return Context(objs, Target(self.options.release, kubernetes, self.options.schemas, facts))

    def _pairs(self, kind: type[Any], old: Sequence[Object], new: Sequence[Object]) -> list[Pair]:
        places: dict[int, str] = {}  # of texts: finding a path from the root on is slow
        for side, objs in zip(self.sides, (old, new), strict=True):
            for obj in objs:
                if id(obj.source) not in places:
                    places[id(obj.source)] = side.place(obj)
        before, after = (_of_kind(objs, kind, self.options.release) for objs in (old, new))
        return match_objects(before, after, lambda obj: places[id(obj.source)])

    def run(self) -> Plan:
        both = self._pairs(NodePool, *self.asked)
        ours = [pair for pair in both if any(_is_ours(obj) for obj in (pair.old, pair.new))]
        self._note_gaps(ours)
        unread = [pair for pair in (*ours, *self.classes) if id(pair.new or pair.old) in self.gaps]
        for pair in unread:
            self._note_used(pair)
        compared = {id(pair) for pair in ours}
        left_out = {id(pair) for pair in unread}
        ours, classes = ([pair for pair in pairs if id(pair) not in left_out] for pairs in (ours, self.classes))
        lost = list(nameless([*ours, *classes]))
        skipped = {id(place.at) for place in lost}
        # An object of the same name in an API that is not served is the same object: nothing comes or goes.
        there = {(obj.kind, written_name(obj)) for objs in self.unserved for _, obj in objs}
        alike = [p for p in (*ours, *classes) if p.change in ("added", "removed") and name_of(p) in there]
        skipped |= {id(_name_node(pair)) for pair in alike}
        pools = [self.written.lead_pool(self._pool(pair)) for pair in ours if id(_name_node(pair)) not in skipped]
        uncompared = [
            *(unread_object(pair, self.gaps[id(pair.new or pair.old)]) for pair in unread),
            *lost,
            *foreign_pools(pair for pair in both if id(pair) not in compared),
            *of_templates([*ours, *classes]),
            *(pool.uncompared for pool in pools if pool.uncompared is not None),
        ]
        elsewhere = [self._class(pair) for pair in classes if id(pair.new or pair.old) not in self.used]
        plans = [plan for plan in elsewhere if plan is not None and id(plan.at) not in skipped]
        pools.sort(key=lambda pool: pool.rank)
        return Plan(
            self.options,
            tuple(pools),
            tuple(classes),
            (),
            tuple(plans),
            (*map(self.written.lead_gap, uncompared), *self.list_unserved()),
        )

    # -- pools

    def _note_used(self, pair: Pair) -> None:
        for context, obj in ((self.old, pair.old), (self.new, pair.new)):
            if isinstance(obj, NodePool):
                self.used.update(id(node_class) for node_class in context.possible_classes(obj))

    def _pool(self, pair: Pair) -> PoolPlan:
        self._note_used(pair)
        if pair.old is None or pair.new is None or pair.change == "renamed":
            return self._come_or_gone(pair)
        assert isinstance(pair.old, NodePool) and isinstance(pair.new, NodePool)
        refused = self._refusals(pair) if pair.change == "changed" else []
        new_pool = pair.old if refused or pair.change == "unchanged" else pair.new
        old_class, written_class = self.old.node_class(pair.old), self.new.node_class(pair.new)
        gap = self._class_gap(pair.new, old_class, written_class)
        if gap is not None:
            old_class = written_class = None
        new_class, class_refused = self._class_now(pair.old, pair.new, old_class, new_pool, gap)
        sides = Sides(
            pair.old, new_pool, old_class, new_class, self.options.facts, self.options.versions, written_class
        )
        same_class = new_class is old_class or new_class is None
        moved = self.options.moved is not None or self.options.facts is not self.options.old_facts
        if not moved and self._is_unchanged(pair, old_class, written_class):
            before = self.new.resolution(pair.new)  # which the rules ask for, too
        else:
            before = self.old.resolution(pair.old) if gap is None else self._resolve(pair.old, None)
        after: Resolution | None = before
        found = UNTOUCHED
        if new_pool is not pair.old or not same_class or moved:
            after = self._after(pair.new, pair.old if refused else pair.new, new_class)
            running = self.options.cluster is not None and bool(self.options.cluster.of_pool(str(pair.old.name)))
            found = verdict(sides, before, after if not same_class else None, self.options.schemas, running)
        if old_class is not None and new_class is None and _class_name(new_pool) == _class_name(pair.old):
            after = None  # a pool whose class is gone launches nothing
        plan = PoolPlan(
            pair,
            _name_node(pair),
            found,
            (*refused, *class_refused),
            launch(before, after, self.options.region),
            before,
            after,
            pace=self._pace(new_pool, found),
            nodes=self._nodes(sides, found),
            release=self.options.release,
            effects=tuple(self._effects(pair.old, new_pool, found, before, after)),
            uncompared=unread_class(pair.new, gap)
            if gap is not None
            else self._unclear(pair.old, pair.new, old_class, new_class),
            never_stored=self._never_stored(pair.old, old_class) if found.replaced != "none" else None,
        )
        return self._rolled(plan, (pair.old, new_pool))

    def _is_unchanged(self, pool: Pair, old_class: EC2NodeClass | None, written_class: EC2NodeClass | None) -> bool:
        """Whether a pool and its class are the same on both sides."""
        node_class = self.now.get(id(old_class))
        changes = pool.change, node_class.change if node_class is not None else None
        return changes == ("unchanged", "unchanged") and node_class is not None and node_class.new is written_class

    def _class_gap(self, pool: NodePool, *classes: EC2NodeClass | None) -> UnreadFile | None:
        """What keeps the class of a pool from being compared; None where nothing does."""
        found = next((self.gaps[id(node_class)] for node_class in classes if id(node_class) in self.gaps), None)
        return found if found is not None or any(classes) else self.unread.find_class(pool)

    def _never_stored(self, *old: Object | None) -> str | None:
        """Why the API server cannot have taken one of the objects of the old side."""
        both = (
            why_never_stored(obj, self.options.release, self.options.schemas)
            for obj in old
            if obj is not None and obj.version == "v1"
        )
        return next((reason for reason in both if reason is not None), None)

    def _rolled(self, plan: PoolPlan, pools: tuple[NodePool | None, NodePool | None]) -> PoolPlan:
        """The same with how the cluster's nodes go."""
        options = self.options
        if options.cluster is None or not plan.nodes:
            return plan
        from nodelint.plan.roll import roll

        found = roll(
            options.cluster, pools, plan.nodes, plan.pace, plan.after, options.region, options.release, options.now
        )
        return plan._replace(roll=found)

    def _unclear(
        self, old: NodePool, new: NodePool, old_class: EC2NodeClass | None, new_class: EC2NodeClass | None
    ) -> Uncompared | None:
        """Why the class of a pool was not compared; None where it was, or is not a part of these files."""
        if old_class is not None and new_class is not None:
            return None
        for context, pool in ((self.new, new), (self.old, old)):
            if context.node_class(pool) is None:
                found = unclear_class(pool, context.possible_classes(pool), self.changed)
                if found is not None:
                    return found
        return None

    def _effects(
        self, old: NodePool, new: NodePool, found: Verdict, before: Resolution, after: Resolution | None
    ) -> list[Effect]:
        if old is new:
            return []
        try:
            was, now = (stored_object(pool, self.options.release, self.options.schemas) for pool in (old, new))
        except Unhashable:
            return []
        cluster = self.options.cluster
        usage = cluster.usage_of(str(new.name)) if cluster is not None else None
        nodes = [node for reason in found.reasons for node in (reason.at, getattr(reason.at, "parent", None)) if node]
        return effects_of(Stored(old, new, was, now, before, after, usage), nodes)

    def _pace(self, pool: NodePool, found: Verdict) -> Pace | None:
        if self.options.now is None or found.replaced == "none":
            return None
        try:
            return pace(stored_object(pool, self.options.release, self.options.schemas), self.options.now)
        except Unhashable:
            return None

    def _nodes(self, sides: Sides, found: Verdict) -> tuple[NodeFate, ...] | None:
        """What becomes of the nodes that the cluster has."""
        if self.options.cluster is None:
            return None
        node_class = self._hash(sides.new_class)
        static = _STATIC if node_class is not None else _STATIC[:2]
        dynamic = [reason for reason in found.reasons if reason.reason not in static]
        wanted = Wanted(
            pool=self._hash(sides.new_pool),
            node_class=node_class,
            requirements=requirements_of(sides.new_pool, self.options.release),
            dynamic=next((reason.reason for reason in dynamic if reason.covered == "all"), None),
            maybe=next((reason.reason for reason in dynamic if reason.covered != "all"), None),
        )
        return fates(self.options.cluster.of_pool(str(sides.pool.name)), wanted)

    def _hash(self, obj: Object | None) -> Hash | None:
        """The hash that an object will have in the cluster; None where it cannot be known."""
        if obj is None or self.options.cluster is None:
            return None
        ca = ca_of(self.options.cluster, self.options.release)
        try:
            found = hash_object(obj, self.options.release, self.options.schemas, ca)
        except Unhashable:
            return None
        return None if found.without_ca else found

    def _class_now(
        self,
        old_pool: NodePool,
        new_pool: NodePool,
        old_class: EC2NodeClass | None,
        pool: NodePool,
        gap: UnreadFile | None,
    ) -> tuple[EC2NodeClass | None, list[Refusal]]:
        """The class that the pool has in the end, and why an update of it is refused."""
        if gap is not None:
            return None, []
        if old_class is None or _class_name(pool) != _class_name(old_pool):
            return (None if pool is old_pool else self.new.node_class(new_pool)), []
        pair = self.now.get(id(old_class))
        if pair is None:
            return None, []
        if pair.change == "unchanged":
            return old_class, []
        refused = self._refusals(pair)
        assert isinstance(pair.new, EC2NodeClass)
        return (old_class if refused else pair.new), refused

    def _after(self, written: NodePool, pool: NodePool, node_class: EC2NodeClass | None) -> Resolution:
        """What the pool launches in the end: as the new side has it, but for what is refused."""
        if pool is written and node_class is self.new.node_class(written):
            return self.new.resolution(written)
        return self._resolve(pool, node_class)

    def _resolve(self, pool: NodePool, node_class: EC2NodeClass | None) -> Resolution:
        options, facts = self.options, self.new.facts
        images = self.new.images(node_class) if node_class is not None else None
        return resolve(pool, node_class, self.new.catalog, options.release, options.kubernetes, None, facts, images)

    def _come_or_gone(self, pair: Pair) -> PoolPlan:
        before = self.old.resolution(pair.old) if isinstance(pair.old, NodePool) else None
        after = self.new.resolution(pair.new) if isinstance(pair.new, NodePool) else None
        refused = refusals(None, pair.new, self.options.release, self.options.schemas) if pair.new is not None else []
        found = Verdict("all") if pair.old is not None else UNTOUCHED
        launched = launch(before, after, self.options.region)
        release = self.options.release
        plan = PoolPlan(pair, _name_node(pair), found, tuple(refused), launched, before, after, release=release)
        if self.options.cluster is None or pair.old is None:
            return plan
        plan = plan._replace(nodes=fates(self.options.cluster.of_pool(str(pair.old.name)), None))
        return self._rolled(plan, (pair.old if isinstance(pair.old, NodePool) else None, None))

    def _refusals(self, pair: Pair) -> list[Refusal]:
        known = self.refused.get(id(pair.new))
        if known is None:
            assert pair.new is not None
            known = refusals(pair.old, pair.new, self.options.release, self.options.schemas)
            self.refused[id(pair.new)] = known
        return known

    # -- classes that only pools elsewhere use

    def _class(self, pair: Pair) -> ClassPlan | None:
        """What a class does to the nodes of pools that are not in these files; None where it does nothing."""
        moved = self.options.moved is not None
        if pair.change == "added" or (pair.change == "unchanged" and not moved):
            return None
        if (
            not isinstance(pair.old, EC2NodeClass)
            or not isinstance(pair.new, EC2NodeClass)
            or pair.change == "renamed"
        ):
            return ClassPlan(
                pair, self.written.find(_name_node(pair), 1 if pair.new is not None else 0), Verdict("unknown")
            )
        refused = self._refusals(pair) if pair.change == "changed" else []
        found = UNTOUCHED
        if not refused:
            found = class_verdict(
                pair.old, pair.new, self.options.release, self.options.schemas, self.options.versions
            )
        if found.replaced == "none" and not refused:
            return None
        at = self.written.find(_name_node(pair))
        led = self.written.lead_refusals(refused)
        return ClassPlan(pair, at, self.written.lead_verdict(found), led, self._never_stored(pair.old))


def _classes(pair: Pair) -> list[EC2NodeClass]:
    return [obj for obj in (pair.old, pair.new) if isinstance(obj, EC2NodeClass)]


def _name_node(pair: Pair) -> Node:
    found = pair.new or pair.old
    assert found is not None
    return found.name_node


def _of_kind(objs: Sequence[Object], kind: type[Any], release: Version) -> list[Any]:
    return [obj for obj in objs if isinstance(obj, kind) and served(obj, release)]


def _class_name(pool: NodePool) -> object:
    """What a pool calls its class; a placeholder as it is written."""
    ref = pool.class_ref
    if ref is None or isinstance(ref.name, str) or ref.name is None:
        return ref.name if ref is not None else None
    name = ref.node.get("name")
    return canonical_code(name.unquoted) if name is not None else None


def _is_ours(obj: Object | None) -> bool:
    return isinstance(obj, NodePool) and not obj.foreign
