"""Where the pods of removed nodes would be scheduled: `SimulateScheduling` of Karpenter core.

Pods are tried one at a time, the largest first: on existing nodes, on a node that the simulation already launches,
then on a new node of each pool; then again with fewer preferences. Source: core
pkg/controllers/disruption/helpers.go@v1.14.1:51, pkg/controllers/provisioning/scheduling/scheduler.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.model.keys import ZONE
from nodelint.why.constraints import Constraint, is_hostname
from nodelint.why.fleet import Fleet
from nodelint.why.launching import Launcher, Newcomer, PoolStop
from nodelint.why.moves import Admission, MovedCounts, Moves, NewNode
from nodelint.why.pods import ClusterPod
from nodelint.why.shapes import RelaxedPod, Shape
from nodelint.why.state import NodeState, node_label

MOST_WAITING = 50
"""The most waiting pods, and pods of deleted nodes, that a simulation places."""


class Unplaced(NamedTuple):
    """A pod that cannot be scheduled. `refusals` has the reason of each NodePool, `near` that of the
    existing nodes.
    """

    pod: ClusterPod
    refusals: tuple[PoolStop, ...]
    near: str


class Placement:
    """The result of a simulation: `moved` are pods with their existing nodes, `new` the nodes that it launches."""

    def __init__(self, moves: Moves, waiting: frozenset[int]) -> None:
        self.moved = moves.moved
        self.new: list[NewNode] = moves.new
        self.unplaced: list[Unplaced] = []
        self.on_uninitialized: list[tuple[ClusterPod, NodeState]] = []
        self.unknown: dict[str, None] = {}
        self.near: dict[str, str] = {}
        """What keeps pods that go to a new node from the nodes that are there, by pod."""
        self._waiting = waiting

    @property
    def blocking(self) -> list[Unplaced]:
        """Return the pods that cannot be scheduled, without those that were pending before."""
        return [item for item in self.unplaced if id(item.pod) not in self._waiting]


class Simulation:
    """The removal of nodes. `waiting` are pending pods, `leaving` the pods of nodes that are being deleted.

    `is_brief`: the simulation stops when the nodes certainly stay, and explains nothing. `skips_recent`: pods do not
    move to nodes within consolidateAfter, as in consolidation.
    """

    def __init__(
        self,
        fleet: Fleet,
        removed: Sequence[NodeState],
        waiting: Iterable[ClusterPod],
        leaving: Iterable[ClusterPod],
        is_brief: bool = False,
        skips_recent: bool = True,
    ) -> None:
        self.fleet = fleet
        self._recent = fleet.recent if skips_recent else frozenset()
        self.moves = Moves(fleet, removed)
        self._waiting = list(waiting)
        self._leaving = list(leaving)
        self._is_brief = is_brief
        self._leaving_ids = frozenset(id(pod) for pod in self._leaving)
        waiting_ids = frozenset(id(pod) for pod in self._waiting)
        self._exempt = waiting_ids | self._leaving_ids
        self.found = Placement(self.moves, waiting_ids)
        self._launcher = Launcher(self.moves, self.found.unknown, self._admission)

    def run(self, pods: Iterable[ClusterPod]) -> Placement:
        """Return where the pods of the nodes, and the pending pods, would be scheduled."""
        everyone = [*self._waiting, *pods, *self._leaving]
        for pod in sorted(everyone, key=_order):
            self.fleet.count_work()
            self._place(pod)
            if self._is_brief and self._is_futile():
                break
        self.fleet.count_work(self.moves.work)
        return self.found

    def _is_futile(self) -> bool:
        """Return whether the nodes certainly stay, whatever happens to the remaining pods."""
        return len(self.found.new) > 1 or bool(self.found.on_uninitialized) or bool(self.found.blocking)

    def _place(self, pod: ClusterPod) -> None:
        shape = pod.shape
        if shape is None:
            return
        refusals: list[PoolStop] = []
        near = ""
        for state in self.fleet.states(shape):
            who = Newcomer(pod, shape, state)
            node = self._find_node(who)
            if node is not None:
                self._move(who, node)
                return
            near = "" if self._is_brief else self._explain_near(who)
            refusals = []
            if self._launch(who, refusals):
                self.found.unknown.update(dict.fromkeys(shape.unknown))
                self.found.near[pod.label] = near
                return
        self.found.unplaced.append(Unplaced(pod, tuple(refusals), near))

    def _find_node(self, who: Newcomer) -> NodeState | None:
        """Return the first existing node that accepts the pod. None if there is none."""
        pod, shape, state = who
        admissions = [self._admission(constraint, who) for constraint in state.constraints]
        repelling = list(self.moves.repelling(pod))
        zones = self._zones(shape, admissions, repelling)
        if zones is not None and not zones:
            return None
        others = [a for a in admissions if a.constraint.key != ZONE]
        away = [c for c in repelling if c.key != ZONE]
        for node in self.fleet.rooms(state.profile, zones).search(shape.needed, self.moves.filled):
            self.fleet.count_work()
            if id(node) in self.moves.removed_ids or self._is_recent(node, pod):
                continue
            if not self.fleet.admits(node, shape) or (shape.pod.ports and self.moves.clashes(node, shape)):
                continue
            if self._topology_stop(node, others, away) is None:
                return node
        return None

    def _is_recent(self, node: NodeState, pod: ClusterPod) -> bool:
        """Return whether the node accepts no pod because it is within consolidateAfter."""
        return id(node) in self._recent and id(pod) not in self._exempt

    def _zones(
        self, shape: Shape, admissions: Sequence[Admission], repelling: Sequence[Constraint]
    ) -> frozenset[str] | None:
        """Return the zones in which the pod may be. None if no constraint or volume restricts zones."""
        of_zones = [a for a in admissions if a.constraint.key == ZONE]
        away = [c for c in repelling if c.key == ZONE]
        stated = [r for volume in shape.volumes[:1] for r in volume.requirements if r.key == ZONE]
        if not (of_zones or away or stated) or len(shape.volumes) > 1:
            return None if not (of_zones or away) else self._admitted(of_zones, away)
        zones = self._admitted(of_zones, away)
        return frozenset(zone for zone in zones if all(r.admits(zone) for r in stated))

    def _admitted(self, admissions: Sequence[Admission], away: Sequence[Constraint]) -> frozenset[str]:
        return frozenset(
            zone
            for zone in self.fleet.zones
            if all(a.admits(zone) for a in admissions) and not any(self.moves.repels(c, zone) for c in away)
        )

    def _topology_stop(
        self, node: NodeState, admissions: Sequence[Admission], repelling: Sequence[Constraint]
    ) -> str | None:
        """Return which spread or pod affinity excludes the node. None if none does."""
        for admission in admissions:
            constraint = admission.constraint
            domain = node_label(node, constraint.key)
            if domain is None:
                return f"it lacks the label {constraint.key} of its {constraint.description}"
            if not admission.admits(domain):
                return f"its {constraint.description} keeps it away"
        for constraint in repelling:
            domain = node_label(node, constraint.key)
            if domain is not None and self.moves.repels(constraint, domain):
                return f"a pod there keeps it away by its {constraint.description}"
        return None

    def _explain_near(self, who: Newcomer) -> str:
        """Return what excludes a node that has room for the pod. Empty if no node has room."""
        pod, shape, state = who
        admissions = [self._admission(constraint, who) for constraint in state.constraints]
        repelling = list(self.moves.repelling(pod))
        for node in self.fleet.rooms(state.profile, None).search(shape.needed, self.moves.filled):
            if id(node) in self.moves.removed_ids or not self.fleet.admits(node, shape):
                continue
            if self._is_recent(node, pod):
                return f"node {node.name} has room, and is under consolidateAfter itself"
            stop = self._topology_stop(node, admissions, repelling)
            if stop is not None:
                return f"node {node.name} has room, but {stop}"
        return ""

    def _move(self, who: Newcomer, node: NodeState) -> None:
        self.moves.move(who.pod, who.shape, node)
        self.found.unknown.update(dict.fromkeys(who.shape.unknown))
        if not node.is_initialized and id(who.pod) not in self._leaving_ids:
            self.found.on_uninitialized.append((who.pod, node))

    def _admission(self, constraint: Constraint, who: Newcomer) -> Admission:
        """Return the domains that a constraint allows for the pod."""
        counts = self.moves.count(constraint, who.shape)
        selects_itself = constraint.selects(who.pod.namespace, who.pod.labels)
        least = self._least(constraint, counts, who.state) if constraint.what == "topology spread" else 0
        return Admission(constraint, counts, selects_itself, least)

    def _least(self, constraint: Constraint, counts: MovedCounts, state: RelaxedPod) -> int:
        """Return the fewest pods in any domain that the pod can use."""
        if is_hostname(constraint):
            return 0
        every = counts.list_domains()
        if constraint.key == ZONE:
            every |= self.fleet.cluster.zones
        wanted = state.profile.requirements
        for pool in self.fleet.pools:
            domains = pool.domains(constraint.key)
            every |= domains or frozenset()
            if domains is None and (constraint.key == ZONE or constraint.key in pool.pool.requirements):
                self.found.unknown[f"in which values of {constraint.key} NodePool/{pool.name} launches"] = None
        every = {d for d in every if constraint.key not in wanted or wanted[constraint.key].admits(d)}
        if constraint.min_domains and len(every) < constraint.min_domains:
            return 0
        return min((counts.of_domain(domain) for domain in every), default=0)

    def _launch(self, who: Newcomer, refusals: list[PoolStop]) -> bool:
        """Put a pod on a new node of the simulation, or on one more; return whether this was possible.

        Otherwise the reason of each pool is added to `refusals`.
        """
        for new in sorted(self.found.new, key=lambda new: len(new.pods)):
            if self._launcher.join(new, who) is None:
                return True
        for pool in self.fleet.pools:
            new = NewNode(pool)
            stop = self._launcher.join(new, who)
            if stop is None:
                self.found.new.append(new)
                return True
            refusals.append(stop)
        return False


def _order(pod: ClusterPod) -> tuple[int, int, float, str]:
    """Return a sort key in the order of the scheduler's queue: by CPU, then memory, the largest first,
    then by age.
    """
    requests = pod.shape.requests if pod.shape is not None else {}
    created = pod.created.timestamp() if pod.created is not None else 0.0
    return -requests.get("cpu", 0), -requests.get("memory", 0), created, str(pod.meta.get("uid") or pod.label)
