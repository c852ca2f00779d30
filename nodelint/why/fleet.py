"""The nodes and NodePools that may accept pods of a removed node; results are cached for all simulations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from nodelint.drift.plain_values import condition, mapping, text
from nodelint.ec2.type_set import NONE, TypeSet, union
from nodelint.fit.attempt import PoolVerdict
from nodelint.fit.daemon_groups import DaemonGroup
from nodelint.fit.ignored import requirements_of
from nodelint.fit.pod_terms import TOLERATES_ALL, HostPort, Toleration
from nodelint.fit.pods import Pod, add_requests
from nodelint.fit.pools import EmptyPool
from nodelint.fit.verdict import judge_pod
from nodelint.model.keys import CAPACITY_TYPE, ZONE
from nodelint.model.releases import Version
from nodelint.model.requirement import Requirements
from nodelint.why.constraints import Constraint
from nodelint.why.pod_counts import PodCounts
from nodelint.why.rooms import Rooms
from nodelint.why.shapes import Profile, RelaxedPod, Shape
from nodelint.why.state import ClusterState, NodeState, node_label, zones_of

_SKIPS_RECENT = Version(1, 14, 0)
"""The first release that moves no pods onto nodes whose own `consolidateAfter` has not passed."""


class LaunchPool:
    """A NodePool that may launch a replacement node."""

    def __init__(
        self, pool: EmptyPool, groups: Sequence[DaemonGroup], stored: dict[str, object], cluster: ClusterState
    ) -> None:
        self.pool = pool
        self.groups = groups
        self.name = pool.name
        self.stored = stored
        self._cluster = cluster
        ready = condition(stored, "Ready")
        self.is_ready = ready is None or ready.get("status") == "True"
        self.why_not_ready = text((ready or {}).get("message")) or text((ready or {}).get("reason"))
        self._judged: dict[object, PoolVerdict] = {}

    @cached_property
    def zones(self) -> frozenset[str] | None:
        """Return the zones in which the pool launches nodes. None if they are not known."""
        ref = mapping(self.stored, "spec", "template", "spec", "nodeClassRef")
        found = zones_of(self._cluster.classes.get(text(ref.get("name")), {})) or set(
            self.pool.resolution.zones or ()
        )
        own = self.pool.requirements
        if ZONE in own and own[ZONE].operator == "In":
            found = found or set(own[ZONE].values)
        remaining = {zone for zone in found if ZONE not in own or own[ZONE].admits(zone)}
        return frozenset(remaining) if found else None

    def domains(self, key: str) -> frozenset[str] | None:
        """Return the values of a label that the pool's nodes can have. None if they are not known or not
        restricted.
        """
        if key == ZONE:
            return self.zones
        if key == CAPACITY_TYPE:
            return frozenset(self.pool.resolution.capacity_types)
        own = self.pool.requirements
        if key in own and own[key].operator == "In":
            return frozenset(own[key].values)
        return None

    @cached_property
    def used(self) -> dict[str, int]:
        """Return the total capacity of the pool's nodes that are not being deleted, by resource, in billionths
        (1e-9).
        """
        total: dict[str, int] = {}
        for state in self._cluster.by_pool.get(self.name, ()):
            if not state.is_deleting:
                for resource, amount in state.capacity.items():
                    total[resource] = total.get(resource, 0) + amount
        return total

    def within_limits(self, types: TypeSet, without: Sequence[NodeState]) -> TypeSet:
        """Return the types that fit within the pool's limits after the nodes `without` are removed."""
        limits = self.pool.limits
        if not limits:
            return types
        left = {resource: most - self.used.get(resource, 0) for resource, most in limits.items()}
        for node in without:
            if node.pool == self.name:
                left = {resource: amount + node.capacity.get(resource, 0) for resource, amount in left.items()}
        if left.pop("nodes", 1) <= 0:
            return NONE
        return self.pool.sizes.within(left, types) if left else types

    def requirements_verdict(self, pod: Pod, key: object) -> PoolVerdict:
        """Return the pool's verdict on a pod without its resource requests, cached by `key`."""
        found = self._judged.get(key)
        if found is None:
            found = self._judged[key] = judge_pod(_bare(pod)._replace(requests={}, ports=()), self.pool, self.groups)
        return found

    def judge(self, pod: Pod) -> PoolVerdict:
        """Return the pool's verdict on a pod, with Karpenter's message if the pool refuses it."""
        return judge_pod(_bare(pod), self.pool, self.groups)

    def holding(self, pod: Pod, types: TypeSet) -> TypeSet:
        """Return those of the types that have room for the pod and the DaemonSets."""
        return union(
            self.pool.sizes.holding(add_requests((pod.requests, group.requests)), types & group.types)
            for group in self.groups
            if not types.isdisjoint(group.types) and group.port_taken_from(pod) is None
        )


def _bare(pod: Pod) -> Pod:
    """Return the pod without the constraints that the simulation checks itself."""
    return pod._replace(terms=(), preferred=(), topologies=(), tolerations=(TOLERATES_ALL,), claims=(), own_claims=())


class Fleet:
    """All nodes in the order in which the scheduler tries them, and the pools."""

    def __init__(
        self,
        cluster: ClusterState,
        pools: Sequence[LaunchPool],
        release: Version,
        under_consolidate_after: frozenset[int] = frozenset(),
        preferences_ignored: bool = False,
    ) -> None:
        self.cluster = cluster
        self.pools = pools
        self.release = release
        self.recent = under_consolidate_after if release >= _SKIPS_RECENT else frozenset()
        self.preferences_ignored = preferences_ignored
        self.soft_taints = any(t.effect == "PreferNoSchedule" for p in pools for t in p.pool.taints.known)
        active = [state for state in cluster.nodes if not state.is_deleting]
        self.nodes = sorted(active, key=lambda state: (not state.is_initialized, state.name))
        self.zones = frozenset(zone for node in self.nodes if (zone := node_label(node, ZONE)) is not None)
        self.counts = PodCounts(active)
        self._rooms: dict[tuple[tuple[object, ...], frozenset[str] | None], Rooms] = {}
        self._compatible: dict[tuple[object, ...], bool] = {}
        self._ports: dict[int, list[HostPort]] = {}
        self._counted: dict[tuple[int, bool, bool], dict[int, bool]] = {}
        self._work = 0

    @property
    def work(self) -> int:
        """Return the number of nodes, pods and constraints that were examined (a measure for growth tests)."""
        return self._work + self.counts.work + sum(rooms.work for rooms in self._rooms.values())

    def count_work(self, steps: int = 1) -> None:
        """Add to the number of examined items."""
        self._work += steps

    def states(self, shape: Shape) -> list[RelaxedPod]:
        """Return the states in which the scheduler tries a pod, each with fewer preferences."""
        return shape.states(self.release, self.preferences_ignored, self.soft_taints)

    def rooms(self, profile: Profile, zones: frozenset[str] | None) -> Rooms:
        """Return the nodes whose taints and labels accept pods of a profile, in these zones; None means all zones."""
        key = profile.key, zones
        found = self._rooms.get(key)
        if found is None:
            if zones is None:
                nodes = [node for node in self.nodes if self._is_compatible(node, profile)]
            else:
                nodes = [n for n in self.rooms(profile, None).nodes if node_label(n, ZONE) in zones]
            self._work += len(self.nodes)
            found = self._rooms[key] = Rooms(nodes)
        return found

    def _is_compatible(self, node: NodeState, profile: Profile) -> bool:
        keys = sorted(profile.requirements.keys())
        labels = tuple(node_label(node, key) for key in keys)
        key = (profile.key, node.taints, labels)
        found = self._compatible.get(key)
        if found is None:
            own = Requirements.from_labels({k: v for k, v in zip(keys, labels, strict=True) if v is not None})
            found = tolerates(profile.tolerations, node) and own.compatible(profile.requirements) is None
            self._compatible[key] = found
        return found

    def admits(self, node: NodeState, shape: Shape) -> bool:
        """Return whether the node has the pod's host ports free, and is in a place of its volumes."""
        if shape.pod.ports and self._clashes(node, shape):
            return False
        return not shape.volumes or any(_in_place(node, volume.requirements) for volume in shape.volumes)

    def _clashes(self, node: NodeState, shape: Shape) -> bool:
        taken = self._ports.get(id(node))
        if taken is None:
            taken = [p for pod in node.pods if pod.shape is not None and not pod.is_over for p in pod.shape.pod.ports]
            self._ports[id(node)] = taken
        return any(port.clashes(other) for port in shape.pod.ports for other in taken)

    def count(self, constraint: Constraint, shape: Shape) -> dict[str, int]:
        """Return the number of pods that a constraint counts, by domain."""
        return self.counts.count_pods(constraint, self.counted_nodes(constraint, shape))

    def counted_nodes(self, constraint: Constraint, shape: Shape) -> dict[int, bool] | None:
        """Return by id whether a node counts for a spread. None if all nodes count."""
        if not constraint.is_filtered or not (shape.pod.selector or shape.pod.terms or constraint.honors_taints):
            return None
        key = shape.demand.number, constraint.honors_taints, constraint.honors_affinity
        found = self._counted.get(key)
        if found is None:
            state = self.states(shape)[-1]
            found = {id(node): self._counts_node(node, shape, constraint, state) for node in self.nodes}
            self._counted[key] = found
        return found

    def _counts_node(self, node: NodeState, shape: Shape, constraint: Constraint, state: RelaxedPod) -> bool:
        self._work += 1
        if constraint.honors_taints and not tolerates(state.profile.tolerations, node):
            return False
        return not constraint.honors_affinity or _selects_node(shape.pod, node, self.release)


def _selects_node(pod: Pod, node: NodeState, release: Version) -> bool:
    for term in pod.terms or (None,):
        wanted = requirements_of((*pod.selector, *(term.expressions if term is not None else ())), release)
        if _in_place(node, wanted):
            return True
    return False


def _in_place(node: NodeState, wanted: Requirements) -> bool:
    labels = {key: value for key in sorted(wanted.keys()) if (value := node_label(node, key)) is not None}
    return Requirements.from_labels(labels).compatible(wanted) is None


def tolerates(tolerations: Sequence[Toleration], node: NodeState) -> bool:
    """Return whether the tolerations cover all taints of the node, including PreferNoSchedule."""
    return all(any(toleration.tolerates(*taint) for toleration in tolerations) for taint in node.taints)
