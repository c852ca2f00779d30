"""Compare both sides of a change, pool by pool and class by class."""

from __future__ import annotations

from functools import cached_property

from nodelint.base.budget import RUN
from nodelint.base.types import TYPE_CHECKING
from nodelint.model.documents import objects
from nodelint.model.finding import span_of
from nodelint.model.manifest import AutoModeClass, EC2NodeClass, NodePool, served
from nodelint.plan.equal_fields import list_equal_fields
from nodelint.plan.launch import launch
from nodelint.plan.left_out_types import LeftOutTypes
from nodelint.plan.matching import is_applied, is_same_spec, match_objects, written_name
from nodelint.plan.nodes import find_outcomes
from nodelint.plan.outcome import ClassPlan, Plan, PoolPlan
from nodelint.plan.place_names import name_places
from nodelint.plan.pool_comparison import PoolComparer, PoolComparison, find_lacking_class
from nodelint.plan.pool_details import add_roll, find_never_stored, find_nodes, find_pace
from nodelint.plan.reasons import NOTHING as UNTOUCHED
from nodelint.plan.reasons import Verdict, is_of_class
from nodelint.plan.refusals import refusals
from nodelint.plan.selector_drift import list_image_ids
from nodelint.plan.sides import as_stored, keeps_hop_limit
from nodelint.plan.stops import find_lacking_room, find_node_guard
from nodelint.plan.uncompared import (
    built_on_one_side,
    foreign_objects,
    is_unserved,
    name_of,
    nameless,
    of_templates,
    unclear_class,
    unread_class,
    unread_object,
    unserved,
)
from nodelint.plan.unread import UnreadFiles, unread_file
from nodelint.plan.verdict import Classes, Sides, class_verdict
from nodelint.plan.written_places import WrittenPlaces
from nodelint.rule.context import Context
from nodelint.rule.target import Target

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from typing import Any

    from nodelint.ec2.facts import AwsFacts
    from nodelint.karpenter.resolve import Resolution
    from nodelint.model.gap import Gap
    from nodelint.model.manifest import Object
    from nodelint.model.releases import KubernetesVersion, Version
    from nodelint.plan.effects import Effect
    from nodelint.plan.matching import Pair
    from nodelint.plan.outcome import PlanOptions
    from nodelint.plan.sides import Side
    from nodelint.text import Node

ALL_READ = UnreadFiles()


def make(old: Side, new: Side, options: PlanOptions, unread: UnreadFiles = ALL_READ) -> Plan:
    """Return the plan of two sides. `unread` are their files that could not be read."""
    return Planner(old, new, options, unread).run()


class Planner:
    """The comparison of two sides for one Karpenter release and one Kubernetes version."""

    def __init__(self, old: Side, new: Side, options: PlanOptions, unread: UnreadFiles) -> None:
        self.options = options
        self.unread = unread
        self.sides = old, new
        both = [as_stored(side, options) for side in self.sides]
        self.asked = both[0].objects, both[1].objects
        self.written = WrittenPlaces(both)
        self.of_v1beta1 = {**both[0].written, **both[1].written}
        self.unserved = tuple(
            [(n, obj) for n, obj in enumerate(objs) if is_unserved(obj, options.release)] for objs in self.asked
        )
        self.old = self._context(0, options.old_facts, options.old_kubernetes)
        self.new = self._context(1, options.facts, options.kubernetes)
        self.classes = self._pairs(EC2NodeClass, self.old.objects, self.new.objects)
        self.used: set[int] = set()
        self.left_out = LeftOutTypes(self.options, self.old.objects)
        # The same object may be at different places on both sides.
        self.places = [
            {id(obj): index for index, obj in enumerate(context.objects)} for context in (self.old, self.new)
        ]
        self.gaps: dict[int, Gap] = {}
        self._note_gaps(self.classes)
        self.comparer = PoolComparer(self.options, (self.old, self.new), self.classes, self.gaps, self.of_v1beta1)

    @cached_property
    def replacing(self) -> list[EC2NodeClass]:
        """Return the classes that come or go, or whose change may replace nodes or is refused."""
        pairs = (p for p in self.classes if p.change in ("added", "removed") or self._class(p) is not None)
        return [obj for pair in pairs for obj in _classes(pair)]

    def find_place(self, pair: Pair) -> tuple[int | None, int | None]:
        """Return the index of a pair's object on each side. None if a side does not have it."""
        both = zip((pair.old, pair.new), self.places, strict=True)
        old, new = (places[id(obj)] if obj is not None else None for obj, places in both)
        return old, new

    def list_unserved(self, but: Collection[tuple[int, int]] = ()) -> list[Gap]:
        """Return gaps for the objects that the release does not serve. `but` are objects to leave out, by side and
        index.
        """
        old, new = ([obj for n, obj in objs if (side, n) not in but] for side, objs in enumerate(self.unserved))
        return list(map(self.written.lead_gap, unserved(old, new, self.options.release)))

    def _note_gaps(self, pairs: Sequence[Pair]) -> None:
        """Record the objects that cannot be compared because a side cannot read a file that has, or may have, the
        object.
        """
        if RUN.has_left_out:  # an object that only one side has may be in an unread file of the other
            for pair in pairs:
                obj = pair.old or pair.new
                if obj is not None and None in (pair.old, pair.new):
                    side = int(pair.new is None)
                    self.gaps[id(obj)] = unread_file(side, obj.source.path, span_of(obj.name_node), RUN.late_reason)
        if not self.unread.files and not self.unread.of_builds:
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
                if gap is not None and (gap.decides or pair.change != "unchanged"):
                    self.gaps.update((id(obj), gap) for obj in (pair.old, pair.new) if obj is not None)
                    break

    def _context(self, side: int, facts: AwsFacts, kubernetes: KubernetesVersion | None) -> Context:
        context_objects = [obj for source in self.sides[side].beside for obj in objects(source)]
        objs = [*self.asked[side], *context_objects]
        return Context(objs, Target(self.options.release, kubernetes, self.options.schemas, facts))

    def _terminates_first(self, pool: NodePool) -> bool | None:
        """Return whether files enable the feature gate TerminateFirstDrift for a static pool. None if no file states
        it.
        """
        stated = self.options.stated
        if stated is None or pool.node.find("spec", "replicas") is None or pool.source.path == "-":
            return None
        facts = stated().for_path(pool.source.path, self.options.release)
        return facts.gate("TerminateFirstDrift")

    def _pairs(self, kind: type[Any], old: Sequence[Object], new: Sequence[Object]) -> list[Pair]:
        places = name_places(self.sides, (old, new))
        before, after = (_of_kind(objs, kind, self.options.release) for objs in (old, new))
        values = {
            id(obj): side.values_of(obj) for side, objs in zip(self.sides, (old, new), strict=True) for obj in objs
        }
        pairs = match_objects(before, after, lambda obj: places[id(obj.source)], lambda obj: values[id(obj)])
        taken = {(written_name(o), values[id(o)]) for o in (*old, *new) if is_applied(o)}
        # A rendering with a values file alone is not compared if a Helm release uses the file on the other side.
        return [
            pair
            for pair in pairs
            if pair.change not in ("added", "removed")
            or (obj := pair.new or pair.old) is None
            or is_applied(obj)
            or values[id(obj)] == ""
            or (written_name(obj), values[id(obj)]) not in taken
        ]

    def run(self) -> Plan:
        both, of_auto_mode = self._pairs(NodePool, *self.asked), self._pairs(AutoModeClass, *self.asked)
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
        # An object of the same name in an API that is not served is the same object: it is neither added nor removed.
        there = {(obj.kind, written_name(obj)) for objs in self.unserved for _, obj in objs}
        alike = [p for p in (*ours, *classes) if p.change in ("added", "removed") and name_of(p) in there]
        skipped |= {id(_name_node(pair)) for pair in alike}
        began = [gap for pair in (*ours, *classes) if (gap := self._find_new_values(pair)) is not None]
        skipped |= {id(gap.at) for gap in began}
        changed = {id(place.at): self.written.lead_gap(place) for place in of_templates([*ours, *classes])}
        pools = [self._pool_or_gap(pair, changed) for pair in ours if id(_name_node(pair)) not in skipped]
        uncompared = [
            *dict.fromkeys(unread_object(pair, self.gaps[id(pair.new or pair.old)]) for pair in unread),
            *lost,
            *began,
            *foreign_objects(pair for pair in (*both, *of_auto_mode) if id(pair) not in compared),
        ]
        gaps = [*changed.values(), *(pool.uncompared for pool in pools if pool.uncompared is not None)]
        elsewhere = [self._class(pair) for pair in classes if id(pair.new or pair.old) not in self.used]
        plans = [plan for plan in elsewhere if plan is not None and id(plan.at) not in skipped]
        left_out = skipped | changed.keys()
        plans += self._list_without_nodes([pair for pair in classes if id(_name_node(pair)) not in left_out], pools)
        pools.sort(key=lambda pool: pool.rank)
        return Plan(
            self.options,
            tuple(pools),
            tuple(classes),
            (),
            tuple(plans),
            (*map(self.written.lead_gap, uncompared), *_each_once(gaps), *self.list_unserved()),
            written=self.of_v1beta1,
        )

    def _find_new_values(self, pair: Pair) -> Gap | None:
        """Return a gap for an object of one side if the other side also has its values file but does not render with
        the file. None otherwise.
        """
        obj, number = (pair.new, 1) if pair.new is not None else (pair.old, 0)
        if pair.change not in ("added", "removed") or obj is None:
            return None
        mine, other, built = self.sides[number], self.sides[1 - number], obj.source.built
        values = mine.values_file(obj)
        if not values or built is None or other.builds_with(values):
            return None
        is_there = other.gives_values(built.given[0], values, mine.below(obj.source.path))
        return built_on_one_side(obj, values, number) if is_there else None

    # -- pools

    def _pool_or_gap(self, pair: Pair, changed: dict[int, Gap]) -> PoolPlan:
        """Return the plan of a pool. `changed` are gaps of objects with changed template code, by the ids of their
        names.
        """
        plan = self.written.lead_pool(self._pool(pair))
        if plan.uncompared is not None or not changed or not isinstance(pair.new, NodePool) or pair.old is None:
            return plan
        node_class = self.new.node_class(pair.new)
        names = [pair.new.name_node, *([node_class.name_node] if node_class is not None else ())]
        return plan._replace(uncompared=next((changed[id(at)] for at in names if id(at) in changed), None))

    def _note_used(self, pair: Pair) -> None:
        for context, obj in ((self.old, pair.old), (self.new, pair.new)):
            if isinstance(obj, NodePool):
                self.used.update(id(node_class) for node_class in context.possible_classes(obj))

    def _pool(self, pair: Pair) -> PoolPlan:
        self._note_used(pair)
        if pair.old is None or pair.new is None:
            return self._come_or_gone(pair)
        assert isinstance(pair.old, NodePool) and isinstance(pair.new, NodePool)
        refused = self.comparer.list_refusals(pair) if pair.change == "changed" else []
        new_pool = pair.old if refused or is_same_spec(pair.old, pair.new) else pair.new
        old_class, written_class = self.old.node_class(pair.old), self.new.node_class(pair.new)
        gap = self._class_gap(pair.new, old_class, written_class)
        old_class, written_class = (old_class, written_class) if gap is None else (None, None)
        new_class, class_refused = self.comparer.find_class_now(pair.old, pair.new, old_class, new_pool, gap)
        sides = Sides(
            pair.old,
            new_pool,
            old_class,
            new_class,
            self.options.facts,
            self.options.versions,
            written_class,
            self.options.upgraded,
            keeps_hop_limit(old_class, new_class, self.of_v1beta1),
        )
        moved = self.options.moved is not None or self.options.facts is not self.options.old_facts
        is_same = not moved and self.comparer.is_unchanged(pair, old_class, written_class)
        before = self._resolve_before(pair.old, pair.new if is_same else None, gap)
        done = self.comparer.compare(sides, before, pair.new, bool(refused), moved)
        done = self.left_out.add(done.of_gap if gap is not None else done, sides, before)
        no_room = self._find_hold(pair.old, new_pool, pair.new)
        plan = PoolPlan(
            pair,
            _name_node(pair),
            done.found,
            (*refused, *class_refused),
            launch(None if done.could_launch_nothing else before, done.after, self.options.region),
            before,
            done.after,
            pace=find_pace(self.options, new_pool, done.found) if done.replaces and no_room is None else None,
            nodes=find_nodes(self.options, sides, done.found),
            release=self.options.release,
            effects=(*done.effects, *self._list_equal_fields(pair, done, bool(refused))),
            uncompared=unread_class(pair.new, gap)
            if gap
            else self._unclear(pair.old, pair.new, old_class, new_class),
            never_stored=done.never_stored,
            stopped_before=done.stopped_before,
            stopped=done.stopped,
            no_room=no_room,
            lacking_class=done.lacking_class,
        )
        return add_roll(self.options, plan, (pair.old, new_pool))

    def _list_equal_fields(self, pair: Pair, done: PoolComparison, is_refused: bool) -> Sequence[Effect]:
        """Return the changed fields of a pool that replace no node. Empty if that is not known."""
        old, new, found = pair.old, pair.new, done.found
        is_open = found.unknown is not None or any(not is_of_class(reason) for reason in found.reasons)
        is_open = is_open or done.never_stored is not None
        if is_refused or is_open or pair.change != "changed" or old is None or new is None:
            return ()
        if id(old) in self.of_v1beta1 or id(new) in self.of_v1beta1:
            return ()
        return list_equal_fields(old, new, [effect.field for effect in done.effects])

    def _resolve_before(self, old: NodePool, same: NodePool | None, gap: Gap | None) -> Resolution:
        """Return what a pool can launch before the change. `same` is the pool of the new side if nothing changes."""
        if same is not None:
            return self.new.resolution(same)  # which the rules ask for, too
        return self.old.resolution(old) if gap is None else self.comparer.resolve(old, None)

    def _find_hold(self, old: NodePool, new: NodePool, written: NodePool) -> str | None:
        """Return why no drifted node is replaced although the pool can launch nodes. None if nodes are replaced."""
        guard = find_node_guard(old, self.options.cluster)
        return guard or find_lacking_room(new, self.options.release, self._terminates_first(written))

    def _class_gap(self, pool: NodePool, *classes: EC2NodeClass | None) -> Gap | None:
        """Return the gap that prevents the comparison of a pool's class. None if the class can be compared."""
        found = next((self.gaps[id(node_class)] for node_class in classes if id(node_class) in self.gaps), None)
        return found if found is not None or any(classes) else self.unread.find_class(pool)

    def _unclear(
        self, old: NodePool, new: NodePool, old_class: EC2NodeClass | None, new_class: EC2NodeClass | None
    ) -> Gap | None:
        """Return a gap with the reason why the class of a pool was not compared. None if it was, or if the class is
        not in the files.
        """
        if old_class is not None and new_class is not None:
            return None
        for context, pool in ((self.new, new), (self.old, old)):
            if context.node_class(pool) is None:
                found = unclear_class(pool, context.possible_classes(pool), self.replacing)
                if found is not None:
                    return found
        return None

    def _come_or_gone(self, pair: Pair) -> PoolPlan:
        before = self.old.resolution(pair.old) if isinstance(pair.old, NodePool) else None
        after = self.new.resolution(pair.new) if isinstance(pair.new, NodePool) else None
        refused = refusals(None, pair.new, self.options.release, self.options.schemas) if pair.new is not None else []
        never_stored = find_never_stored(self.options, self.of_v1beta1, pair.old) if pair.old is not None else None
        found = Verdict("all") if pair.old is not None and never_stored is None else UNTOUCHED
        stopped = None
        if isinstance(pair.new, NodePool) and after is not None:
            stopped = self.comparer.find_stop(
                self.comparer.find_stored_class(self.new.node_class(pair.new)), after, pair.new
            )
        if stopped is not None:
            after = None
        lacking_class = find_lacking_class(self.new, pair.new) if stopped is None else None
        launched = launch(before, after, self.options.region)
        release = self.options.release
        plan = PoolPlan(pair, _name_node(pair), found, tuple(refused), launched, before, after, release=release)
        plan = plan._replace(stopped=stopped, never_stored=never_stored, lacking_class=lacking_class)
        if self.options.cluster is None or pair.old is None:
            return plan
        plan = plan._replace(nodes=find_outcomes(self.options.cluster.of_pool(str(pair.old.name)), None))
        return add_roll(self.options, plan, (pair.old if isinstance(pair.old, NodePool) else None, None))

    # -- classes that only pools elsewhere use

    def _class(self, pair: Pair) -> ClassPlan | None:
        """Return the outcome of a class for nodes of pools that are not in the files. None if it does not affect
        nodes.
        """
        moved = self.options.moved is not None
        is_same = pair.old is not None and pair.new is not None and is_same_spec(pair.old, pair.new)
        if pair.change == "added" or (is_same and not moved):
            return None
        if not isinstance(pair.old, EC2NodeClass) or not isinstance(pair.new, EC2NodeClass):
            at = self.written.find(_name_node(pair), 1 if pair.new is not None else 0)
            never_stored = find_never_stored(self.options, self.of_v1beta1, pair.old)
            return ClassPlan(pair, at, Verdict("unknown"), never_stored=never_stored)
        refused = self.comparer.list_refusals(pair) if pair.change == "changed" else []
        found = UNTOUCHED
        if not refused:
            options = self.options
            found = class_verdict(
                Classes(pair.old, pair.new, keeps_hop_limit(pair.old, pair.new, self.of_v1beta1)),
                options.release,
                options.schemas,
                options.versions,
                options.upgraded,
                self._selects_the_same(pair.old, pair.new),
            )
        if found.replaced == "none" and not refused:
            return None
        at = self.written.find(_name_node(pair))
        led = self.written.lead_refusals(refused)
        return ClassPlan(
            pair,
            at,
            self.written.lead_verdict(found),
            led,
            find_never_stored(self.options, self.of_v1beta1, pair.old),
        )

    def _list_without_nodes(self, pairs: Iterable[Pair], pools: Sequence[PoolPlan]) -> Iterator[ClassPlan]:
        """Yield the changed classes that certainly replace no node, with their changed fields."""
        concerned = {part for pool in pools if any(map(is_of_class, pool.verdict.reasons)) for part in pool.parts}
        for pair in pairs:
            old, new = pair.old, pair.new
            if pair.change != "changed" or id(new) in concerned or self._class(pair) is not None:
                continue
            assert old is not None and new is not None
            if id(old) in self.of_v1beta1 or id(new) in self.of_v1beta1:
                continue  # a conversion changes fields that no file changes
            fields = self.written.lead_effects(list_equal_fields(old, new))
            if fields:
                yield ClassPlan(pair, self.written.find(new.name_node), UNTOUCHED, effects=fields)

    def _selects_the_same(self, old: EC2NodeClass, new: EC2NodeClass) -> bool:
        """Return whether two classes select the same images according to the AWS facts. False if that is not
        known.
        """
        if not self.options.facts or self.options.facts is not self.options.old_facts:
            return False
        ids = list_image_ids(self.old.images(old))
        return ids is not None and sorted(ids) == sorted(list_image_ids(self.new.images(new)) or [])


def _each_once(places: Iterable[Gap]) -> Iterator[Gap]:
    """Yield the places in their order without duplicates: several pools may have the same place."""
    yield from {id(place): place for place in places}.values()


def _classes(pair: Pair) -> list[EC2NodeClass]:
    return [obj for obj in (pair.old, pair.new) if isinstance(obj, EC2NodeClass)]


def _name_node(pair: Pair) -> Node:
    found = pair.new or pair.old
    assert found is not None
    return found.name_node


def _of_kind(objs: Sequence[Object], kind: type[Any], release: Version) -> list[Any]:
    return [obj for obj in objs if isinstance(obj, kind) and served(obj, release)]


def _is_ours(obj: Object | None) -> bool:
    return isinstance(obj, NodePool) and not obj.foreign
