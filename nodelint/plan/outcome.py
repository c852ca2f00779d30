"""The result of a plan: for each pool, for classes that no pool in the files uses, and for the whole."""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.ec2.facts import NOTHING
from nodelint.model.finding import span_of, written_place
from nodelint.model.manifest import EC2NodeClass, NodePool
from nodelint.model.releases import KubernetesVersion

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from nodelint.apiserver import Schemas
    from nodelint.drift.cluster import Cluster
    from nodelint.ec2.facts import AwsFacts
    from nodelint.karpenter.resolve import Resolution
    from nodelint.lint.results import Result
    from nodelint.model.finding import Span
    from nodelint.model.gap import Gap
    from nodelint.model.manifest import Object
    from nodelint.model.releases import Version
    from nodelint.plan.cost import PlanCost
    from nodelint.plan.coverage import Covered
    from nodelint.plan.disruption_rate import Pace
    from nodelint.plan.effects import Effect
    from nodelint.plan.launch import Launch
    from nodelint.plan.matching import Change, Pair
    from nodelint.plan.nodes import NodeOutcome
    from nodelint.plan.reasons import Verdict
    from nodelint.plan.refusals import Refusal
    from nodelint.plan.roll import Roll
    from nodelint.plan.stops import LaunchStop
    from nodelint.plan.workloads import WorkloadChange
    from nodelint.releases.settings import StatedSettings
    from nodelint.text import Node


class PlanOptions(NamedTuple):
    """The options of a plan. `facts` and `old_facts` are the AWS facts of each side; `region` is the one whose prices
    are shown.

    `now` is the beginning of the week of budgets; without it the plan has no disruption rate. `cluster` is the
    running cluster. `moved` is a different Kubernetes version that the old side states. `upgraded` are the Karpenter
    releases that both sides state, if they differ. `stated` returns the controller settings that files state.
    """

    release: Version
    kubernetes: KubernetesVersion | None
    schemas: Schemas
    facts: AwsFacts = NOTHING
    old_facts: AwsFacts = NOTHING
    region: str = "us-east-1"
    now: datetime | None = None
    cluster: Cluster | None = None
    moved: ReleaseMove | None = None
    upgraded: tuple[Version, Version] | None = None
    stated: Callable[[], StatedSettings] | None = None

    @property
    def old_release(self) -> Version:
        """Return the Karpenter release before the change."""
        return self.upgraded[0] if self.upgraded is not None else self.release

    @property
    def old_kubernetes(self) -> KubernetesVersion | None:
        """Return the Kubernetes version before the change."""
        return KubernetesVersion.parse(self.moved.old) if self.moved is not None else self.kubernetes

    @property
    def versions(self) -> tuple[str, str] | None:
        """Return the Kubernetes versions before and after. None if they do not differ."""
        return (self.moved.old, self.moved.new) if self.moved is not None else None


class ReleaseMove(NamedTuple):
    """A release of `Karpenter` or `Kubernetes` that the files of both sides state differently.

    `path` and `line` are the place of the statement on the new side. `note` is the consequence for nodes.
    """

    about: str
    old: str
    new: str
    path: str
    line: int
    note: str = ""


class PoolPlan(NamedTuple):
    """The outcome for one pool: the pool itself, its nodes, and what it can launch. `at` is its place in the files.

    `pace` is set if budgets decide how fast nodes are replaced, `nodes` if the cluster is known. `effects` act at
    once, without drift. `never_stored` is the reason why the API server refuses the pool, or its class, on the old
    side: then no node of it runs. `stopped_before` and `stopped` are the reasons why it can launch nothing before and
    after; None if it can. `no_room` is the reason why no drifted node is replaced although the pool can launch nodes.
    `held_back` is the reason why the change is not applied for now. `lacking_class` is the name of its class if no
    file defines it, although files define others: whether the pool can launch nodes is then not known.
    """

    pair: Pair
    at: Node | Span
    verdict: Verdict
    refused: tuple[Refusal, ...]
    launch: Launch
    before: Resolution | None
    after: Resolution | None
    pace: Pace | None = None
    nodes: tuple[NodeOutcome, ...] | None = None
    release: Version | None = None
    effects: tuple[Effect, ...] = ()
    uncompared: Gap | None = None
    roll: Roll | None = None
    never_stored: str | None = None
    stopped_before: LaunchStop | None = None
    stopped: LaunchStop | None = None
    no_room: str | None = None
    held_back: str | None = None
    lacking_class: str | None = None

    @property
    def pool(self) -> NodePool:
        """Return the pool of the new side, or of the old side if it is deleted."""
        found = self.pair.new or self.pair.old
        assert isinstance(found, NodePool)
        return found

    @property
    def name(self) -> str:
        """Return the name of the pool. A name with a placeholder is returned as it is written."""
        return self.pool.name if isinstance(self.pool.name, str) else self.pool.name_node.unquoted

    @property
    def labels(self) -> list[tuple[str, str]]:
        """Return the pool and its class as reports name them, each with its file."""
        found = [(f"NodePool {self.name}", span_of(self.at).source.path)]
        for side in (self.after, self.before):
            if side is not None and side.node_class is not None:
                at = span_of(written_place(side.node_class.name_node))
                found.append((f"EC2NodeClass {side.node_class.name}", at.source.path))
        return found

    @property
    def parts(self) -> list[int]:
        """Return the ids of the pool and of its class on the new side."""
        node_class = self.after.node_class if self.after is not None else None
        return [id(self.pair.new), *((id(node_class),) if node_class is not None else ())]

    @property
    def change(self) -> Change:
        return self.pair.change

    @property
    def deleted(self) -> bool:
        """Return whether the pool is deleted with all its nodes."""
        return self.change == "removed"

    @property
    def hold_reason(self) -> str | None:
        """Return why no drifted node is replaced. None if they are replaced, or if no node drifts."""
        if self.replaced not in ("all", "some") or self.deleted:
            return None
        if self.stopped is not None:
            return "none can be launched in their place"
        if self.no_room is not None:
            return self.no_room
        closed = self.pace is not None and all(stretch.closed for stretch in self.pace.stretches)
        return "a budget lets none of them go" if closed else None

    @property
    def had_no_class(self) -> bool:
        """Return whether the class of the pool was deleted or refused before the change, so that it launched none."""
        return self.stopped_before is not None and self.stopped_before.of_class

    @property
    def needs_class(self) -> str | None:
        """Return the name of a class that no file defines, and without which drifted nodes are not replaced. None
        otherwise.
        """
        drift = self.replaced in ("all", "some") and not self.deleted and self.hold_reason is None
        return self.lacking_class if drift else None

    @property
    def launches_nothing(self) -> bool:
        """Return whether the pool could launch nodes before, and cannot now."""
        return self.stopped is not None and self.stopped_before is None and self.change not in ("added", "removed")

    @property
    def deleted_nodes(self) -> int:
        """Return the number of nodes that are deleted at once although the pool stays."""
        return sum(effect.deleted for effect in self.effects)

    @property
    def replaced(self) -> Covered:
        """Return how many of the pool's nodes are replaced. Unknown if a part that was not compared may decide it."""
        is_open = self.uncompared is not None and self.uncompared.decides
        if self.verdict.replaced == "none" and is_open and (self.never_stored is None or self.nodes):
            return "unknown"
        return self.verdict.replaced

    @property
    def why_unknown(self) -> str | None:
        """Return why it is not known whether nodes are replaced. None if it is known."""
        if self.needs_class is not None:
            return f"no file defines EC2NodeClass `{self.needs_class}`, without which nothing is launched"
        is_open = self.verdict.replaced == "none" and self.replaced == "unknown"
        return self.why_uncompared if is_open else self.verdict.unknown

    @property
    def why_uncompared(self) -> str | None:
        """Return why a part of the pool, or its class, was not compared. None if all was."""
        place = self.uncompared
        if place is None:
            return None
        return place.reason if place.subject == f"NodePool {self.name}" else f"{place.subject}: {place.reason}"

    @property
    def grade(self) -> Covered:
        """Return how severe the change is for nodes, on the scale of drift. A pool that is deleted, or that cannot
        launch nodes any more, is most severe.
        """
        if self.deleted or self.launches_nothing:
            return "all"
        return "some" if self.replaced == "none" and self.deleted_nodes else self.replaced

    @property
    def rank(self) -> int:
        """Return the position of the pool in the report: pools that are deleted, cannot launch or are refused first,
        then replaced nodes, then fields that act at once, then unknown outcomes.
        """
        if self.deleted:
            return 0
        if self.launches_nothing or (self.change == "added" and self.stopped is not None):
            return 1
        if self.refused and self.replaced not in ("all", "some"):
            return 2
        if self.deleted_nodes:
            return 3
        if self.replaced in ("all", "some"):
            return (4 if self.replaced == "all" else 5) if self.hold_reason is None else 6
        if self.replaced == "unknown":
            return 9
        if any(effect.removes for effect in self.effects):
            return 7
        return 8 if any(not effect.same for effect in self.effects) else 10


class ClassPlan(NamedTuple):
    """The outcome of a change to a class that no pool in the files uses: what happens to nodes of pools elsewhere.

    A class whose change replaces no node has one as well, also if pools in the files use it; `effects` are then its
    changed fields.
    """

    pair: Pair
    at: Node | Span
    verdict: Verdict
    refused: tuple[Refusal, ...] = ()
    never_stored: str | None = None
    held_back: str | None = None
    effects: tuple[Effect, ...] = ()

    @property
    def replaces_none(self) -> bool:
        """Return whether the change is stored and replaces no node."""
        return self.verdict.replaced == "none" and not self.refused

    @property
    def node_class(self) -> EC2NodeClass:
        """Return the class of the new side, or of the old side if it is deleted."""
        found = self.pair.new or self.pair.old
        assert isinstance(found, EC2NodeClass)
        return found

    @property
    def name(self) -> str:
        """Return the name of the class. A name with a placeholder is returned as it is written."""
        return self.node_class.name if isinstance(self.node_class.name, str) else self.node_class.name_node.unquoted


class Absorbed(NamedTuple):
    """A class that changes together with an upgrade to a Karpenter release that hashes classes differently.

    The new controller writes the hash of the changed class on NodeClaims that have not drifted yet, so that their
    nodes may never be replaced (AWS provider v1.14.1, `pkg/controllers/nodeclass/hash/controller.go`).
    """

    name: str
    old: Version
    new: Version


class Plan(NamedTuple):
    """The pools, the most endangered first; classes that only pools elsewhere use; places that could not be compared.

    `workloads` are those that lose a pool. `cost` is None if the change does not affect it, or if nothing is known.
    `written` has the v1beta1 object of the files, by the id of the v1 object that is compared.
    """

    options: PlanOptions
    pools: tuple[PoolPlan, ...]
    classes: tuple[Pair, ...]
    absorbed: tuple[Absorbed, ...] = ()
    class_plans: tuple[ClassPlan, ...] = ()
    uncompared: tuple[Gap, ...] = ()
    moves: tuple[ReleaseMove, ...] = ()
    workloads: tuple[WorkloadChange, ...] = ()
    cost: PlanCost | None = None
    written: Mapping[int, Object] = {}

    def with_places(self, places: Sequence[Gap]) -> Plan:
        """Return the plan with more places that were not compared. The outcome of a pool with such a change is not
        known.
        """
        changed = {(place.subject, span_of(place.at).source.path): place for place in places if place.decides}
        of_objects = {id(place.object): place for place in places if place.decides and place.object is not None}
        of_objects |= {id(pair.old): of_objects[id(pair.new)] for pair in self.classes if id(pair.new) in of_objects}

        def attach(pool: PoolPlan) -> PoolPlan:
            if pool.uncompared is not None or pool.replaced != "none":
                return pool
            of_labels = (changed[label] for label in pool.labels if label in changed)
            of_parts = (of_objects[part] for part in pool.parts if part in of_objects)
            place = next(iter((*of_labels, *of_parts)), None)
            return pool._replace(uncompared=place) if place is not None else pool

        def is_open(part: ClassPlan) -> bool:
            label = f"EC2NodeClass {part.name}", span_of(part.at).source.path
            return part.replaces_none and (label in changed or id(part.pair.new) in of_objects)

        pools = sorted(map(attach, self.pools), key=lambda pool: pool.rank)
        classes = tuple(part for part in self.class_plans if not is_open(part))
        return self._replace(pools=tuple(pools), class_plans=classes, uncompared=(*self.uncompared, *places))

    @property
    def endangers_nodes(self) -> bool:
        """Return whether a node is or may be replaced or removed, or cannot be launched. A change that was not
        compared counts.
        """
        return (
            any(pool.grade != "none" for pool in self.pools)
            or any(plan.verdict.replaced != "none" for plan in self.class_plans)
            or any(place.decides for place in self.uncompared)
        )


class Findings(NamedTuple):
    """The findings of `check` that only the new side has, and those that only the old side has."""

    new: tuple[Result, ...] = ()
    gone: tuple[Result, ...] = ()
