"""The changes of a simulation: removed nodes, and pods on other nodes and on new nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from nodelint.ec2.type_set import NONE, TypeSet
from nodelint.fit.pod_terms import AFFINITY, ANTI_AFFINITY, HostPort
from nodelint.fit.pods import Pod
from nodelint.why.constraints import Constraint
from nodelint.why.fleet import Fleet, LaunchPool
from nodelint.why.label_index import ConstraintIndex, PodIndex
from nodelint.why.pod_counts import required_anti_affinity
from nodelint.why.pods import ClusterPod
from nodelint.why.rooms import FilledRooms
from nodelint.why.shapes import Shape
from nodelint.why.state import NodeState, node_label


class NewNode:
    """A node that a simulation launches: its pool, its pods, and its possible types and domains.

    `profiles` are the profiles of its pods: pods with a known profile do not change the possible types.
    """

    def __init__(self, pool: LaunchPool) -> None:
        self.pool = pool
        self.pods: list[ClusterPod] = []
        self.merged: Pod | None = None
        self.profiles: frozenset[object] = frozenset()
        self.types: TypeSet = NONE
        self.domains: dict[str, frozenset[str]] = {}


class MovedCounts:
    """The number of pods that a constraint counts, by domain: running pods plus the changes of a simulation."""

    __slots__ = ("_base", "_changes")

    def __init__(self, base: Mapping[str, int], changes: Mapping[str, int]) -> None:
        self._base = base
        self._changes = changes

    def of_domain(self, domain: str) -> int:
        """Return the number of pods in a domain."""
        return self._base.get(domain, 0) + self._changes.get(domain, 0)

    def list_domains(self) -> set[str]:
        """Return the domains, such as zones, that have pods, or had some before the move."""
        return {*self._base, *self._changes}

    def are_all_zero(self) -> bool:
        """Return whether no domain has a pod."""
        return not any(self.of_domain(domain) > 0 for domain in (*self._changes, *self._base))


class Admission:
    """The domains that a constraint allows for a pod. `least`: the fewest pods in a domain, for a spread."""

    __slots__ = ("_alone", "_least", "constraint", "counts", "selects_itself")

    def __init__(self, constraint: Constraint, counts: MovedCounts, selects_itself: bool, least: int) -> None:
        self.constraint = constraint
        self.counts = counts
        self.selects_itself = selects_itself
        self._least = least
        self._alone = constraint.what == AFFINITY and selects_itself and counts.are_all_zero()

    def admits(self, domain: str) -> bool:
        """Return whether the pod may be in the domain."""
        count = self.counts.of_domain(domain)
        if self.constraint.what == ANTI_AFFINITY:
            return count <= 0
        if self.constraint.what == AFFINITY:
            return count > 0 or self._alone
        return count + self.selects_itself - self._least <= self.constraint.skew

    def emptiest(self, domains: frozenset[str]) -> str:
        """Return the domain with the fewest pods."""
        return min(domains, key=lambda domain: (self.counts.of_domain(domain), domain))


class Moves:
    """The changes of one simulation, in which nodes are removed."""

    def __init__(self, fleet: Fleet, removed: Sequence[NodeState]) -> None:
        self.fleet = fleet
        self.removed = removed
        self.removed_ids = frozenset(id(node) for node in removed)
        self.filled = FilledRooms()
        self.moved: list[tuple[ClusterPod, NodeState]] = []
        self.new: list[NewNode] = []
        self._gone: PodIndex[NodeState] = PodIndex()
        self._gone_repelling: dict[str, list[NodeState]] = {}
        self._placed: PodIndex[NodeState | NewNode] = PodIndex()
        self._repelling: ConstraintIndex[NodeState | NewNode] = ConstraintIndex()
        self._holders_of_repelling: dict[str, list[NodeState | NewNode]] = {}
        self._ports: dict[int, list[HostPort]] = {}
        for node in removed:
            for pod in node.pods:
                if pod.is_active and pod.is_reschedulable:
                    self._gone.add(pod.namespace, pod.labels, node)
                    for constraint in required_anti_affinity(pod):
                        self._gone_repelling.setdefault(constraint.group, []).append(node)

    @property
    def work(self) -> int:
        """Return the number of pods and constraints that were examined."""
        return self._gone.work + self._placed.work + self._repelling.work

    def move(self, pod: ClusterPod, shape: Shape, node: NodeState) -> None:
        """Put a pod on an existing node."""
        self.filled.take(node, shape.needed)
        self.moved.append((pod, node))
        if shape.pod.ports:
            self._ports.setdefault(id(node), []).extend(shape.pod.ports)
        self.add(pod, node)

    def add(self, pod: ClusterPod, holder: NodeState | NewNode) -> None:
        """Count a pod on an existing or new node for the constraints."""
        self._placed.add(pod.namespace, pod.labels, holder)
        for constraint in required_anti_affinity(pod):
            self._repelling.add(constraint, holder)
            self._holders_of_repelling.setdefault(constraint.group, []).append(holder)

    def clashes(self, node: NodeState, shape: Shape) -> bool:
        """Return whether a pod that was moved to the node uses a host port of the other pod."""
        taken = self._ports.get(id(node), ())
        return any(port.clashes(other) for port in shape.pod.ports for other in taken)

    def count(self, constraint: Constraint, shape: Shape) -> MovedCounts:
        """Return the number of pods that a constraint counts, by domain, after the moves of the simulation."""
        counts_node = self.fleet.counted_nodes(constraint, shape)
        changes: dict[str, int] = {}
        for node in self._gone.selected(constraint):
            domain = node_label(node, constraint.key)
            if domain is not None and (counts_node is None or counts_node.get(id(node), True)):
                changes[domain] = changes.get(domain, 0) - 1
        for holder in self._placed.selected(constraint):
            domain = _domain_of(holder, constraint.key)
            if domain is not None:
                changes[domain] = changes.get(domain, 0) + 1
        return MovedCounts(self.fleet.count(constraint, shape), changes)

    def repelling(self, pod: ClusterPod) -> Iterator[Constraint]:
        """Yield each required anti-affinity of other pods that excludes the pod, without duplicates."""
        known: set[str] = set()
        moved = (constraint for constraint, _ in self._repelling.selecting(pod.namespace, pod.labels))
        for constraint in (*self.fleet.counts.repelling_for(pod), *moved):
            if constraint.group not in known:
                known.add(constraint.group)
                yield constraint

    def repels(self, constraint: Constraint, domain: str) -> bool:
        """Return whether a pod with this anti-affinity is in the domain, after the moves of the simulation."""
        there = self.fleet.counts.repelled_domains(constraint).get(domain, 0)
        if there:
            gone = self._gone_repelling.get(constraint.group, ())
            there -= sum(node_label(node, constraint.key) == domain for node in gone)
        if there > 0:
            return True
        holders = self._holders_of_repelling.get(constraint.group, ())
        return any(_domain_of(holder, constraint.key) == domain for holder in holders)

    def repels_on(self, constraint: Constraint, new: NewNode) -> bool:
        """Return whether a pod with this anti-affinity is on the new node."""
        return any(holder is new for holder in self._holders_of_repelling.get(constraint.group, ()))


def _domain_of(holder: NodeState | NewNode, key: str) -> str | None:
    """Return the domain of a node. None for a new node that has several possible domains."""
    if isinstance(holder, NodeState):
        return node_label(holder, key)
    only = holder.domains.get(key, frozenset())
    return next(iter(only)) if len(only) == 1 else None
