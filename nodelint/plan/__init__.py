"""What a change of manifests does to a fleet, worked out from both sides of it.

The old side is what the cluster holds, and none of its nodes has drifted; the new side is applied as a whole, and
what it lacks is deleted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from nodelint.apiserver import Schemas
from nodelint.build import Inventory
from nodelint.build.built import label_of, written_place
from nodelint.drift import Hash, Unhashable, hash_object, stored
from nodelint.drift.cluster import Cluster
from nodelint.drift.standing import ca_of
from nodelint.ec2.facts import NOTHING, AwsFacts
from nodelint.karpenter.resolve import Resolution, resolve
from nodelint.lint.context import Context
from nodelint.model.documents import objects
from nodelint.model.finding import Span
from nodelint.model.manifest import EC2NodeClass, NodePool, Object, served
from nodelint.model.releases import KubernetesVersion, Version
from nodelint.plan.launch import Launch, launch
from nodelint.plan.nodes import NodeFate, Wanted, fates, requirements_of
from nodelint.plan.pace import Pace, pace
from nodelint.plan.pairs import Change, Pair, pairs
from nodelint.plan.refusals import Refusal, refusals
from nodelint.plan.verdict import NOTHING as UNTOUCHED
from nodelint.plan.verdict import Sides, Verdict, verdict
from nodelint.source import Node, Source
from nodelint.tuples import NamedTuple

__all__ = ["Aim", "Plan", "PoolPlan", "Refusal", "Side", "Verdict", "make", "make_each"]


class Aim(NamedTuple):
    """What a plan is made for. Facts are those of each side; `region` is the one whose prices are shown.

    `now` is when the week of budgets begins; without it the plan has no pace. `cluster` is what is running.
    """

    release: Version
    kubernetes: KubernetesVersion | None
    schemas: Schemas
    facts: AwsFacts = NOTHING
    old_facts: AwsFacts = NOTHING
    region: str = "us-east-1"
    now: datetime | None = None
    cluster: Cluster | None = None


class PoolPlan(NamedTuple):
    """What becomes of one pool: the pool itself, its nodes, and what it can launch. `at` is where it is written.

    `pace` is there where budgets decide how fast nodes go, `nodes` where the cluster is available.
    """

    pair: Pair
    at: Node | Span
    verdict: Verdict
    refused: tuple[Refusal, ...]
    launch: Launch
    before: Resolution | None
    after: Resolution | None
    pace: Pace | None = None
    nodes: tuple[NodeFate, ...] | None = None
    release: Version | None = None

    @property
    def pool(self) -> NodePool:
        """The pool as it is now; as it was where it is gone."""
        found = self.pair.new or self.pair.old
        assert isinstance(found, NodePool)
        return found

    @property
    def change(self) -> Change:
        return self.pair.change

    @property
    def renamed_from(self) -> str | None:
        """The pool's old name, where it has another one now."""
        return str(self.pair.old.name) if self.change == "renamed" and self.pair.old is not None else None


class Absorbed(NamedTuple):
    """A class that changes together with a release of Karpenter that hashes classes in another way.

    The new controller writes the hash of the changed class on NodeClaims that have not drifted yet, so that nodes may
    never be replaced (AWS provider v1.14.1, `pkg/controllers/nodeclass/hash/controller.go`).
    """

    name: str
    old: Version
    new: Version


class Plan(NamedTuple):
    """The pools in the order of the new side, those that are gone last, and what became of the classes."""

    aim: Aim
    pools: tuple[PoolPlan, ...]
    classes: tuple[Pair, ...]
    absorbed: tuple[Absorbed, ...] = ()


class Side(NamedTuple):
    """What the clusters get on one side; `beside` are sources read for context. Paths are compared from `root` on."""

    inventory: Inventory
    beside: Sequence[Source] = ()
    root: str = ""

    @property
    def objects(self) -> list[Object]:
        """Objects of Karpenter's, pools of another provider too: a pool may go from one to the other."""
        return list(self.inventory.objects(foreign=True))

    def place(self, obj: Object) -> str:
        """Where an object's file stands below the root, and what it is built with."""
        path = os.path.relpath(obj.source.path, self.root) if self.root else obj.source.path
        return f"{path} {label_of(obj.source)}"


def make(old: Side, new: Side, aim: Aim) -> Plan:
    """Compare two sides."""
    return _Maker(old, new, aim).run()


def make_each(old: Side, new: Side, aim: Aim, aim_of: Callable[[Object, bool], Aim]) -> Plan:
    """Compare two sides, each pool and class for the release of its own: `aim_of` an object, of the new side or not.

    The plan's own aim is that of the newest release.
    """
    aims = [aim_of(obj, new is side) for side in (old, new) for obj in side.objects]
    newest = max(aims, key=lambda each: (each.release, each.kubernetes or ()), default=aim)
    plans = {newest[:2]: make(old, new, newest)}

    def own(pair: Pair) -> tuple[Version, KubernetesVersion | None]:
        obj = pair.new or pair.old
        assert obj is not None
        mine = aim_of(obj, pair.new is not None)
        if mine[:2] not in plans:
            plans[mine[:2]] = make(old, new, mine)
        return mine[:2]

    whole = plans[newest[:2]]
    places = [(own(each.pair), each) for each in whole.pools]
    pools = (_same_pool(plans[key].pools, each) for key, each in places)
    return whole._replace(pools=tuple(pools))


def _same_pool(pools: Sequence[PoolPlan], pool: PoolPlan) -> PoolPlan:
    """The plan of the same pool among others."""
    at = pool.pool.source, pool.pool.node.start
    return next((each for each in pools if (each.pool.source, each.pool.node.start) == at), pool)


_STATIC = ("NodePoolDrifted", "RequirementsDrifted", "NodeClassDrift")
"""Reasons that a NodeClaim itself shows, by its hashes and labels."""


class _Maker:
    def __init__(self, old: Side, new: Side, aim: Aim) -> None:
        self.aim = aim
        self.sides = old, new
        self.asked = old.objects, new.objects
        self.old = self._context(0, aim.old_facts)
        self.new = self._context(1, aim.facts)
        self.classes = self._pairs(EC2NodeClass, self.old.objects, self.new.objects)
        same = [pair for pair in self.classes if pair.change in ("changed", "unchanged")]
        self.now = {id(pair.old): pair for pair in same}
        self.refused: dict[int, list[Refusal]] = {}

    def _context(self, side: int, facts: AwsFacts) -> Context:
        beside = [obj for source in self.sides[side].beside for obj in objects(source)]
        objs = [*self.asked[side], *beside]
        return Context(objs, self.aim.release, self.aim.kubernetes, self.aim.schemas, facts=facts)

    def _pairs(self, kind: type[Any], old: Sequence[Object], new: Sequence[Object]) -> list[Pair]:
        places = {id(obj): side.place(obj) for side, objs in zip(self.sides, (old, new), strict=True) for obj in objs}
        before, after = (_of(objs, kind, self.aim.release) for objs in (old, new))
        return pairs(before, after, lambda obj: places[id(obj)])

    def run(self) -> Plan:
        both = self._pairs(NodePool, *self.asked)
        told = (pair for pair in both if any(_ours(obj) for obj in (pair.old, pair.new)))
        pools = (self._placed(self._pool(pair))._replace(release=self.aim.release) for pair in told)
        return Plan(self.aim, tuple(pools), tuple(self.classes))

    def _placed(self, each: PoolPlan) -> PoolPlan:
        """The same with places in files."""
        if each.pair.new is None:
            return each._replace(at=written_place(each.at))
        reasons = tuple(reason._replace(at=written_place(reason.at)) for reason in each.verdict.reasons)
        refused = tuple(refusal._replace(at=written_place(refusal.at)) for refusal in each.refused)
        found = each.verdict._replace(reasons=reasons)
        return each._replace(at=written_place(each.at), verdict=found, refused=refused)

    def _pool(self, pair: Pair) -> PoolPlan:
        if pair.old is None or pair.new is None or pair.change == "renamed":
            return self._come_or_gone(pair)
        assert isinstance(pair.old, NodePool) and isinstance(pair.new, NodePool)
        refused = self._refusals(pair) if pair.change == "changed" else []
        new_pool = pair.old if refused or pair.change == "unchanged" else pair.new
        old_class = self.old.node_class(pair.old)
        new_class, class_refused = self._class_now(pair.old, pair.new, old_class, new_pool)
        sides = Sides(pair.old, new_pool, old_class, new_class, self.aim.facts)
        before = self.old.resolution(pair.old)
        after: Resolution | None = before
        found = UNTOUCHED
        same_class = new_class is old_class or new_class is None
        if new_pool is not pair.old or not same_class or self.aim.facts is not self.aim.old_facts:
            after = self._after(pair.new, pair.old if refused else pair.new, new_class)
            found = verdict(sides, before, after if new_class is not old_class else None, self.aim.schemas)
        if old_class is not None and new_class is None and _class_name(new_pool) == _class_name(pair.old):
            after = None  # a pool whose class is gone launches nothing
        told = PoolPlan(
            pair,
            _name(pair),
            found,
            (*refused, *class_refused),
            launch(before, after, self.aim.region),
            before,
            after,
            pace=self._pace(new_pool, found),
        )
        return told._replace(nodes=self._nodes(sides, found))

    def _pace(self, pool: NodePool, found: Verdict) -> Pace | None:
        if self.aim.now is None or found.replaced == "none":
            return None
        try:
            return pace(stored(pool, self.aim.release, self.aim.schemas), self.aim.now)
        except Unhashable:
            return None

    def _nodes(self, sides: Sides, found: Verdict) -> tuple[NodeFate, ...] | None:
        """What becomes of the nodes that the cluster has."""
        if self.aim.cluster is None:
            return None
        node_class = self._hash(sides.new_class)
        told = _STATIC if node_class is not None else _STATIC[:2]
        dynamic = [each for each in found.reasons if each.reason not in told]
        wanted = Wanted(
            pool=self._hash(sides.new_pool),
            node_class=node_class,
            requirements=requirements_of(sides.new_pool, self.aim.release),
            dynamic=next((each.reason for each in dynamic if each.covered == "all"), None),
            maybe=next((each.reason for each in dynamic if each.covered != "all"), None),
        )
        return fates(self.aim.cluster.of_pool(str(sides.pool.name)), wanted)

    def _hash(self, obj: Object | None) -> Hash | None:
        """The hash that an object will have in the cluster; None where it cannot be known."""
        if obj is None or self.aim.cluster is None:
            return None
        ca = ca_of(self.aim.cluster, self.aim.release)
        try:
            found = hash_object(obj, self.aim.release, self.aim.schemas, ca)
        except Unhashable:
            return None
        return None if found.without_ca else found

    def _class_now(
        self, old_pool: NodePool, new_pool: NodePool, old_class: EC2NodeClass | None, kept: NodePool
    ) -> tuple[EC2NodeClass | None, list[Refusal]]:
        """The class that the pool has in the end, and why an update of it is refused."""
        if old_class is None or _class_name(kept) != _class_name(old_pool):
            return (None if kept is old_pool else self.new.node_class(new_pool)), []
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
        aim, facts = self.aim, self.new.facts
        images = self.new.images(node_class) if node_class is not None else None
        return resolve(pool, node_class, self.new.catalog, aim.release, aim.kubernetes, None, facts, images)

    def _come_or_gone(self, pair: Pair) -> PoolPlan:
        before = self.old.resolution(pair.old) if isinstance(pair.old, NodePool) else None
        after = self.new.resolution(pair.new) if isinstance(pair.new, NodePool) else None
        refused = refusals(None, pair.new, self.aim.release, self.aim.schemas) if pair.new is not None else []
        found = Verdict("all") if pair.old is not None else UNTOUCHED
        launched = launch(before, after, self.aim.region)
        told = PoolPlan(pair, _name(pair), found, tuple(refused), launched, before, after)
        if self.aim.cluster is None or pair.old is None:
            return told
        return told._replace(nodes=fates(self.aim.cluster.of_pool(str(pair.old.name)), None))

    def _refusals(self, pair: Pair) -> list[Refusal]:
        known = self.refused.get(id(pair.new))
        if known is None:
            assert pair.new is not None
            known = refusals(pair.old, pair.new, self.aim.release, self.aim.schemas)
            self.refused[id(pair.new)] = known
        return known


def _name(pair: Pair) -> Node:
    found = pair.new or pair.old
    assert found is not None
    return found.name_node


def _of(objs: Sequence[Object], kind: type[Any], release: Version) -> list[Any]:
    return [obj for obj in objs if isinstance(obj, kind) and served(obj, release)]


def _class_name(pool: NodePool) -> object:
    return pool.class_ref.name if pool.class_ref is not None else None


def _ours(obj: Object | None) -> bool:
    return isinstance(obj, NodePool) and not obj.foreign
