"""What a plan says: of each pool, of classes that no pool here uses, and of the whole."""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.ec2.facts import NOTHING
from nodelint.model.manifest import EC2NodeClass, NodePool
from nodelint.model.releases import KubernetesVersion

TYPE_CHECKING = False

if TYPE_CHECKING:
    from datetime import datetime

    from nodelint.apiserver import Schemas
    from nodelint.drift.cluster import Cluster
    from nodelint.ec2.facts import AwsFacts
    from nodelint.karpenter.resolve import Resolution
    from nodelint.model.finding import Span
    from nodelint.model.releases import Version
    from nodelint.plan.coverage import Covered
    from nodelint.plan.disruption_rate import Pace
    from nodelint.plan.effects import Effect
    from nodelint.plan.launch import Launch
    from nodelint.plan.matching import Change, Pair
    from nodelint.plan.nodes import NodeFate
    from nodelint.plan.refusals import Refusal
    from nodelint.plan.roll import Roll
    from nodelint.plan.uncompared import Uncompared
    from nodelint.plan.verdict import Verdict
    from nodelint.plan.workloads import WorkloadChange
    from nodelint.text import Node


class PlanOptions(NamedTuple):
    """What a plan is made for. Facts are those of each side; `region` is the one whose prices are shown.

    `now` is when the week of budgets begins; without it the plan has no pace. `cluster` is what is running.
    `moved` is another version of Kubernetes that the old side states.
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

    @property
    def old_kubernetes(self) -> KubernetesVersion | None:
        """The version of Kubernetes before the change."""
        return KubernetesVersion.parse(self.moved.old) if self.moved is not None else self.kubernetes

    @property
    def versions(self) -> tuple[str, str] | None:
        """The versions of Kubernetes before and after, where they differ."""
        return (self.moved.old, self.moved.new) if self.moved is not None else None


class ReleaseMove(NamedTuple):
    """A release of `Karpenter` or `Kubernetes` that the files of both sides state differently.

    `path` and `line` are where the new side states it; `note` says what it means for nodes.
    """

    about: str
    old: str
    new: str
    path: str
    line: int
    note: str = ""


class PoolPlan(NamedTuple):
    """What becomes of one pool: the pool itself, its nodes, and what it can launch. `at` is where it is written.

    `pace` is there where budgets decide how fast nodes go, `nodes` where the cluster is available. `effects` act at
    once, without drift. `never_stored` is why the API server refuses the pool, or its class, as it was: then the
    cluster holds something else.
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
    effects: tuple[Effect, ...] = ()
    uncompared: Uncompared | None = None
    roll: Roll | None = None
    never_stored: str | None = None

    @property
    def pool(self) -> NodePool:
        """The pool as it is now; as it was where it is gone."""
        found = self.pair.new or self.pair.old
        assert isinstance(found, NodePool)
        return found

    @property
    def name(self) -> str:
        """Its name; a placeholder as it is written."""
        return self.pool.name if isinstance(self.pool.name, str) else self.pool.name_node.unquoted

    @property
    def change(self) -> Change:
        return self.pair.change

    @property
    def renamed_from(self) -> str | None:
        """The pool's old name, where it has another one now."""
        return str(self.pair.old.name) if self.change == "renamed" and self.pair.old is not None else None

    @property
    def deleted(self) -> bool:
        """Whether it is deleted, under its old name too, and all its nodes with it."""
        return self.change in ("removed", "renamed")

    @property
    def is_blocked(self) -> bool:
        """Whether its nodes drift and no budget ever lets one of them go."""
        return self.pace is not None and all(stretch.closed for stretch in self.pace.stretches)

    @property
    def launches_nothing(self) -> bool:
        """Whether it could launch something before, and cannot any more."""
        return bool(self.launch.before) and not self.launch.after and self.change not in ("added", "removed")

    @property
    def replaced(self) -> Covered:
        """How many of its nodes go, what could not be compared included."""
        if self.verdict.replaced == "none" and self.uncompared is not None and self.uncompared.changed:
            return "unknown"
        return self.verdict.replaced

    @property
    def why_unknown(self) -> str | None:
        """Why it is not known whether its nodes go; None where it is."""
        if self.verdict.replaced == "none" and self.replaced == "unknown" and self.uncompared is not None:
            return self.uncompared.reason
        return self.verdict.unknown

    @property
    def grade(self) -> Covered:
        """How grave it is for nodes, by the scale of drift: a pool that is lost, or launches nothing, is gravest."""
        if self.deleted or self.launches_nothing:
            return "all"
        if self.replaced == "none" and any(effect.removes for effect in self.effects):
            return "some"
        return self.replaced

    @property
    def rank(self) -> int:
        """Its place by danger: what is lost first, what stays as it is last."""
        if self.deleted:
            return 0
        if self.refused:
            return 1
        order = {"all": 2, "some": 3, "unknown": 4}
        if self.replaced in order:
            return order[self.replaced]
        if self.launches_nothing or (self.change == "added" and not self.launch.after):
            return 5
        if any(effect.removes for effect in self.effects):
            return 6
        return 7 if self.effects else 8


class ClassPlan(NamedTuple):
    """A class that no pool of these files uses: what happens to the nodes of the pools that do, elsewhere."""

    pair: Pair
    at: Node | Span
    verdict: Verdict
    refused: tuple[Refusal, ...] = ()
    never_stored: str | None = None

    @property
    def node_class(self) -> EC2NodeClass:
        """The class as it is now; as it was where it is gone."""
        found = self.pair.new or self.pair.old
        assert isinstance(found, EC2NodeClass)
        return found


class Absorbed(NamedTuple):
    """A class that changes together with a release of Karpenter that hashes classes in another way.

    The new controller writes the hash of the changed class on NodeClaims that have not drifted yet, so that nodes may
    never be replaced (AWS provider v1.14.1, `pkg/controllers/nodeclass/hash/controller.go`).
    """

    name: str
    old: Version
    new: Version


class Plan(NamedTuple):
    """The pools, the most endangered first; classes that only pools elsewhere use; what could not be compared.

    `workloads` are those that lose a pool.
    """

    options: PlanOptions
    pools: tuple[PoolPlan, ...]
    classes: tuple[Pair, ...]
    absorbed: tuple[Absorbed, ...] = ()
    class_plans: tuple[ClassPlan, ...] = ()
    uncompared: tuple[Uncompared, ...] = ()
    moves: tuple[ReleaseMove, ...] = ()
    workloads: tuple[WorkloadChange, ...] = ()

    @property
    def endangers_nodes(self) -> bool:
        """Whether a node is replaced, or may be: what was not compared and changes counts."""
        return (
            any(pool.replaced != "none" for pool in self.pools)
            or any(plan.verdict.replaced != "none" for plan in self.class_plans)
            or any(place.changed for place in self.uncompared)
        )
