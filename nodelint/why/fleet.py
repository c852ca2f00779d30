"""The nodes and pools onto which pods of a removed node may go; what is worked out of them serves all nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from nodelint.base.tuples import NamedTuple
from nodelint.ec2.type_set import NONE, TypeSet
from nodelint.fit.ignored import HOSTNAME, requirements_of
from nodelint.fit.pods import TOLERATES_ALL, HostPort, Pod, Toleration
from nodelint.fit.pools import DaemonGroup, EmptyPool
from nodelint.fit.verdict import PoolVerdict, judge_pod
from nodelint.model.keys import CAPACITY_TYPE, ZONE
from nodelint.model.releases import Version
from nodelint.model.requirement import Requirements, normalize
from nodelint.why.constraints import Constraint
from nodelint.why.pod_counts import PodCounts
from nodelint.why.shapes import RelaxedPod, Shape
from nodelint.why.state import ClusterState, NodeState, zones_of
from nodelint.why.values import condition, mapping, text

_SKIPS_RECENT = Version(1, 14, 0)
"""The first release that moves no pod of a node onto nodes that are under consolidateAfter themselves."""

_BLOCK = 32
"""Nodes whose free resources are looked at together: most of a full fleet is passed over block by block."""


class LaunchPool:
    """A NodePool that may launch a replacement. `left` is what other nodes leave of its limits."""

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
        """Return the zones in which it launches. None where they are not known."""
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
        """Return the values of a label that its nodes can have. None where they are not known, or there are any."""
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
        """Return what all of its nodes have together, of each resource."""
        total: dict[str, int] = {}
        for state in self._cluster.by_pool.get(self.name, ()):
            if not state.is_deleting:
                for resource, amount in state.capacity.items():
                    total[resource] = total.get(resource, 0) + amount
        return total

    def within_limits(self, types: TypeSet, without: NodeState | None) -> TypeSet:
        """Return the types that the limits leave room for, once a node is gone."""
        limits = self.pool.limits
        if not limits:
            return types
        own = without.capacity if without is not None and without.pool == self.name else {}
        left = {r: most - self.used.get(r, 0) + own.get(r, 0) for r, most in limits.items()}
        if left.pop("nodes", 1) <= 0:
            return NONE
        return self.pool.sizes.within(left, types) if left else types

    def judge(self, pod: Pod, key: object) -> PoolVerdict:
        """Return what the pool makes of a pod, or of several as one, worked out once for each `key`."""
        found = self._judged.get(key)
        if found is None:
            alone = pod._replace(
                terms=(), preferred=(), topologies=(), tolerations=(TOLERATES_ALL,), claims=(), own_claims=()
            )
            found = self._judged[key] = judge_pod(alone, self.pool, self.groups)
        return found


class Free(NamedTuple):
    """The most that one of some nodes has free, by resource."""

    most: dict[str, int]

    def may_hold(self, requests: dict[str, int]) -> bool:
        """Whether one of the nodes may have room."""
        return all(amount <= self.most.get(resource, 0) for resource, amount in requests.items() if amount)


class Fleet:
    """All nodes in the order in which the scheduler tries them, and the pools.

    `work` counts the nodes and pods that were looked at, for tests of how the work grows.
    """

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
        self.soft_taints = any(t.effect == "PreferNoSchedule" for p in pools for t in p.pool.taints)
        active = [state for state in cluster.nodes if not state.is_deleting]
        self.nodes = sorted(active, key=lambda state: (not state.is_initialized, state.name))
        self._blocks = [self.nodes[at : at + _BLOCK] for at in range(0, len(self.nodes), _BLOCK)]
        self._free = [_most_free(block) for block in self._blocks]
        self.counts = PodCounts(active, cluster.zones)
        self._found: dict[tuple[int, int], tuple[list[NodeState], Iterator[NodeState]]] = {}
        self._compatible: dict[tuple[object, ...], bool] = {}
        self._ports: dict[int, list[HostPort]] = {}
        self._counted: dict[str, dict[int, bool]] = {}
        self.work = 0

    def states(self, shape: Shape) -> list[RelaxedPod]:
        """Return the states in which the scheduler tries a pod."""
        return shape.states(self.release, self.preferences_ignored, self.soft_taints)

    def holding(self, shape: Shape, number: int) -> Iterator[NodeState]:
        """Yield the nodes that have room for a pod in a state, in order, before any pod is moved."""
        key = shape.number, number
        if key not in self._found:
            self._found[key] = ([], self._search(shape, self.states(shape)[number]))
        known, rest = self._found[key]
        at = 0
        while True:
            if at < len(known):
                yield known[at]
                at += 1
                continue
            more = next(rest, None)
            if more is None:
                return
            known.append(more)

    def _search(self, shape: Shape, state: RelaxedPod) -> Iterator[NodeState]:
        requests = dict(shape.requests)
        keys = tuple(sorted(state.requirements.keys()))
        for block, free in zip(self._blocks, self._free, strict=True):
            self.work += 1
            if not free.may_hold(requests):
                continue
            for node in block:
                self.work += 1
                if has_room(node.free, requests) and self.is_compatible(node, shape, state, keys):
                    yield node

    def is_compatible(self, node: NodeState, shape: Shape, state: RelaxedPod, keys: tuple[str, ...]) -> bool:
        """Whether taints, labels, ports and volumes let a pod onto a node."""
        labels = tuple(node_label(node, key) for key in keys)
        key = (shape.number, state.given_up, id(state), node.taints, labels)
        found = self._compatible.get(key)
        if found is None:
            found = tolerates(state.tolerations, node) and _has_labels(dict(zip(keys, labels, strict=True)), state)
            self._compatible[key] = found
        if not found or (shape.pod.ports and self._clashes(node, shape)):
            return False
        return not shape.volumes or any(_in_place(node, volume.requirements) for volume in shape.volumes)

    def _clashes(self, node: NodeState, shape: Shape) -> bool:
        taken = self._ports.get(id(node))
        if taken is None:
            taken = [p for pod in node.pods if pod.shape is not None and not pod.is_over for p in pod.shape.pod.ports]
            self._ports[id(node)] = taken
        return any(port.clashes(other) for port in shape.pod.ports for other in taken)

    def count(self, constraint: Constraint, shape: Shape) -> dict[str, int]:
        """Return how many pods a constraint counts in each domain."""
        return self.counts.count_pods(constraint, self.counted_nodes(constraint, shape))

    def counted_nodes(self, constraint: Constraint, shape: Shape) -> dict[int, bool] | None:
        """Return which nodes count for a spread, by id. None where all do."""
        if not constraint.is_filtered or not (shape.pod.selector or shape.pod.terms or constraint.honors_taints):
            return None
        found = self._counted.get(constraint.group)
        if found is None:
            state = self.states(shape)[-1]
            found = {id(node): self._counts_node(node, shape, constraint, state) for node in self.nodes}
            self._counted[constraint.group] = found
        return found

    def _counts_node(self, node: NodeState, shape: Shape, constraint: Constraint, state: RelaxedPod) -> bool:
        self.work += 1
        if constraint.honors_taints and not tolerates(state.tolerations, node):
            return False
        return not constraint.honors_affinity or _selects_node(shape.pod, node, self.release)


def _selects_node(pod: Pod, node: NodeState, release: Version) -> bool:
    for term in pod.terms or (None,):
        wanted = requirements_of((*pod.selector, *(term.expressions if term is not None else ())), release)
        if _labels_of(node, wanted).compatible(wanted) is None:
            return True
    return False


def _labels_of(node: NodeState, wanted: Requirements) -> Requirements:
    labels = {key: value for key in sorted(wanted.keys()) if (value := node_label(node, key)) is not None}
    return Requirements.from_labels(labels)


def _has_labels(labels: dict[str, str | None], state: RelaxedPod) -> bool:
    own = Requirements.from_labels({key: value for key, value in labels.items() if value is not None})
    return own.compatible(state.requirements) is None


def _in_place(node: NodeState, wanted: Requirements) -> bool:
    return _labels_of(node, wanted).compatible(wanted) is None


def node_label(node: NodeState, key: str) -> str | None:
    """Return the value of a node's label, also by an older name of the label. None where it has none."""
    value = node.labels.get(key)
    if value is None:
        value = (
            next((v for k, v in node.labels.items() if normalize(k) == key), None) if key != HOSTNAME else node.name
        )
    return value


def tolerates(tolerations: Sequence[Toleration], node: NodeState) -> bool:
    """Whether a pod with these tolerations goes onto a node. A soft taint counts until it is given up."""
    return all(any(toleration.tolerates(*taint) for toleration in tolerations) for taint in node.taints)


def has_room(free: dict[str, int], requests: dict[str, int]) -> bool:
    """Whether what is free holds requests."""
    return all(amount <= free.get(resource, 0) for resource, amount in requests.items() if amount)


def _most_free(nodes: Sequence[NodeState]) -> Free:
    most: dict[str, int] = {}
    for node in nodes:
        for resource, amount in node.free.items():
            most[resource] = max(most.get(resource, 0), amount)
    return Free(most)
