"""Compute the nodes that Karpenter launches for all pods of a tree, as one batch in a cluster without nodes.

Sources: `Solve`, `add`, `addToInflightNode` and `addToNewNodeClaim` of scheduler.go, `byCPUAndMemoryDescending` of
queue.go, `CanAdd` of nodeclaim.go and `nextDomainTopologySpread` of topologygroup.go in
pkg/controllers/provisioning/scheduling of Karpenter core, 1.14.1. The largest pod comes first. It is placed on the
new node with the fewest pods that accepts it, else on a new node of the first pool that accepts it.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.ec2.type_set import TypeSet, union
from nodelint.fit.attempt import PodState
from nodelint.fit.crowding import counts_itself, domains_of_pools
from nodelint.fit.daemon_groups import DaemonGroup
from nodelint.fit.ignored import HOSTNAME, requirements_of
from nodelint.fit.pod_terms import ANTI_AFFINITY, HostPort, TopologyKey
from nodelint.fit.pods import Pod, add_requests
from nodelint.fit.pools import NODES, EmptyPool
from nodelint.fit.refusal import too_few_types
from nodelint.fit.verdict import relaxations
from nodelint.fit.volumes import VolumePlace
from nodelint.karpenter.resolve.node_size import Resources
from nodelint.model.cluster_objects import Workload
from nodelint.model.keys import ZONE
from nodelint.model.quantities import ONE
from nodelint.model.requirement import Requirement, Requirements, normalize


class PodGroup(NamedTuple):
    """`number` equal pods of a workload, the pools that may accept them, and the possible places of their volumes."""

    workload: Workload
    pod: Pod
    number: int
    pools: Sequence[EmptyPool]
    volumes: Sequence[VolumePlace] = ()


class LaunchedNode:
    """A node to be launched: its pool, the types that can run its pods, and the number of pods of each group."""

    __slots__ = ("groups", "order", "pods", "pool", "ports", "requests", "requirements", "types")

    def __init__(self, pool: EmptyPool, types: TypeSet) -> None:
        self.pool = pool
        self.requirements = pool.requirements
        self.types = types
        self.requests: Resources = {}
        self.ports: list[HostPort] = []
        self.groups: dict[int, int] = {}
        self.pods = 0
        self.order = 0


class Packing(NamedTuple):
    """The nodes, and `left`: the number of pods without a node, by the index of their group."""

    groups: Sequence[PodGroup]
    nodes: Sequence[LaunchedNode]
    left: dict[int, int]


class _Place(NamedTuple):
    """The state of a node after it accepts a pod, and the zone that a topology spread chose."""

    requirements: Requirements
    types: TypeSet
    requests: Resources
    zone: str | None


class Packer:
    """Packs pods on nodes. `daemons` are the groups of types with equal DaemonSets, by the id of the pool."""

    def __init__(self, daemons: dict[int, list[DaemonGroup]]) -> None:
        self._daemons = daemons
        self._nodes: list[LaunchedNode] = []
        self._filled = 0
        self._open: list[LaunchedNode] = []
        self._remaining: dict[int, dict[str, int]] = {}
        # The objects are kept with the answers, because an id may be used again after an object is gone.
        self._merged: dict[tuple[int, int], tuple[Requirements, Requirements, Requirements | None]] = {}
        self._meeting: dict[tuple[int, int], tuple[Requirements, TypeSet]] = {}

    def pack(self, groups: Sequence[PodGroup]) -> Packing:
        """Pack the pods of all groups. Among pods of equal size, the earlier group comes first."""
        order = sorted(range(len(groups)), key=lambda place: _size(groups[place].pod))
        smallest = _smallest_after([groups[place].pod.requests for place in order])
        left: dict[int, int] = {}
        for position, place in enumerate(order):
            batch = _Batch(place, groups[place])
            placed = 0
            while placed < batch.group.number and self._add(batch):
                placed += 1
            if placed < batch.group.number:
                left[place] = batch.group.number - placed
            self._close_full_nodes(smallest[position])
        return Packing(groups, self._nodes, left)

    def _add(self, batch: _Batch) -> bool:
        """Put one pod on a node of this batch or on a new one, with as few relaxed preferences as possible; False if
        none accepts it.
        """
        for state in range(len(batch.states)):
            if self._add_to_inflight(batch, state) or self._add_to_new(batch, state):
                return True
        return False

    def _add_to_inflight(self, batch: _Batch, state: int) -> bool:
        """Put a pod on the accepting node with the fewest pods; if several have as few, on the one filled last."""
        heap = batch.candidates.get(state)
        if heap is None:
            heap = batch.candidates[state] = [(node.pods, node.order, id(node), node) for node in self._open]
            heapq.heapify(heap)
        too_uneven = []
        found = None
        while heap:
            pods, order, _, node = heapq.heappop(heap)
            if (pods, order) != (node.pods, node.order):
                heapq.heappush(heap, (node.pods, node.order, id(node), node))
                continue
            found = self._try_node(node, batch, state)
            if found is not None:
                narrowed = found.requirements is not node.requirements
                self._put(node, batch, state, found)
                # `Exists` and then `NotIn` is `NotIn`, which a node without the label meets: what a node refused as
                # it was, it may take with other requirements.
                for other in batch.candidates.values() if narrowed else (heap,):
                    heapq.heappush(other, (node.pods, node.order, id(node), node))
                break
            # What a node refuses to one pod of a group it refuses to the others, as it only fills up. A spread over
            # zones may let them in once other zones have more pods.
            if batch.spreads[state]:
                too_uneven.append((pods, order, id(node), node))
        for entry in too_uneven:
            heapq.heappush(heap, entry)
        return found is not None

    def _add_to_new(self, batch: _Batch, state: int) -> bool:
        for pool in batch.group.pools:
            if (state, id(pool)) in batch.refused:
                continue
            node = self._new_node(pool)
            found = self._try_node(node, batch, state) if node is not None else None
            if node is None or found is None or too_few_types(pool, found.types) is not None:
                if not batch.spreads[state]:
                    batch.refused.add((state, id(pool)))
                continue
            self._nodes.append(node)
            self._open.append(node)
            self._put(node, batch, state, found)
            for heap in batch.candidates.values():
                heapq.heappush(heap, (node.pods, node.order, id(node), node))
            self._take_from_limits(pool, node.types)
            return True
        return False

    def _new_node(self, pool: EmptyPool) -> LaunchedNode | None:
        """Return an empty node with the types that the pool's limits still allow; None if the pool launches none."""
        if not pool.candidates or pool.pool.static or pool.unmet is not None:
            return None
        if not pool.limits:
            return LaunchedNode(pool, pool.candidates)
        remaining = self._remaining.setdefault(id(pool), dict(pool.limits))
        if pool.exhausted or remaining.get(NODES, ONE) <= 0:
            return None
        most = {resource: amount for resource, amount in remaining.items() if resource != NODES}
        types = pool.sizes.within(most, pool.candidates) if most else pool.candidates
        return LaunchedNode(pool, types) if types else None

    def _take_from_limits(self, pool: EmptyPool, types: TypeSet) -> None:
        """Subtract the largest capacity that the node can have from the pool's limits (core's `subtractMax`)."""
        remaining = self._remaining.get(id(pool), {})
        for resource in remaining:
            remaining[resource] -= ONE if resource == NODES else pool.sizes.most_capacity(resource, types)

    def _try_node(self, node: LaunchedNode, batch: _Batch, state: int) -> _Place | None:
        """Return the state of the node with one more pod; None if the node does not accept the pod."""
        most = batch.most_on_a_node[state]
        if id(node.pool) not in batch.pools or (most is not None and node.groups.get(batch.place, 0) >= most):
            return None
        if any(port.clashes(taken) for port in batch.group.pod.ports for taken in node.ports):
            return None
        for wanted in batch.asks(node.pool, state):
            requirements = self._merge(node.pool, node.requirements, wanted)
            zone = None
            for spread in batch.spreads[state]:
                zone = spread.next_zone(requirements) if requirements is not None else None
                chosen = spread.in_zone(zone) if zone is not None else None
                requirements = self._merge(node.pool, requirements, chosen) if requirements and chosen else None
            if requirements is None:
                continue
            requests = add_requests((node.requests, batch.group.pod.requests))
            types = self._holding(node, batch.group.pod, requirements, requests)
            if types and (node.pods == 0 or too_few_types(node.pool, types) is None):
                return _Place(requirements, types, requests, zone)
        return None

    def _merge(self, pool: EmptyPool, existing: Requirements, wanted: Requirements) -> Requirements | None:
        """Return the combined requirements of a node and a pod; None if they clash. The result is cached."""
        if not len(wanted):
            return existing
        key = id(existing), id(wanted)
        found = self._merged.get(key)
        if found is None:
            total = None
            if pool.labels.clash(existing, wanted) is None:
                total = existing.copy()
                total.add(*wanted)
                total = existing if total == existing else total
            found = self._merged[key] = (existing, wanted, total)
        return found[2]

    def _holding(self, node: LaunchedNode, pod: Pod, requirements: Requirements, requests: Resources) -> TypeSet:
        """Return the types of a node that meet the requirements and have room and an offering for its pods."""
        key = id(node.pool), id(requirements)
        meeting = self._meeting.get(key)
        if meeting is None:
            candidates = node.pool.candidates
            types = node.pool.meeting(requirements, candidates) & node.pool.offered(requirements, candidates)
            meeting = self._meeting[key] = (requirements, types)
        types = node.types & meeting[1]
        return union(
            node.pool.sizes.holding(add_requests((requests, group.requests)), group.types & types)
            for group in self._daemons[id(node.pool)]
            if types & group.types and group.port_taken_from(pod) is None
        )

    def _put(self, node: LaunchedNode, batch: _Batch, state: int, found: _Place) -> None:
        # Karpenter sorts nodes by their pods, again and again: a node that was just filled comes before others with
        # as many, a new one after them.
        self._filled += 1
        node.order = self._filled if node.pods == 0 else -self._filled
        node.requirements, node.types, node.requests = found.requirements, found.types, found.requests
        node.ports.extend(batch.group.pod.ports)
        node.groups[batch.place] = node.groups.get(batch.place, 0) + 1
        node.pods += 1
        for spread in batch.spreads[state]:
            if found.zone is not None:
                spread.counts[found.zone] += 1

    def _close_full_nodes(self, smallest: Resources) -> None:
        """Remove the nodes that have no room for any later pod from the open nodes."""
        self._open = [
            node
            for node in self._open
            if any(
                node.pool.sizes.holding(
                    add_requests((node.requests, smallest, group.requests)), node.types & group.types
                )
                for group in self._daemons[id(node.pool)]
            )
        ]


class ZoneSpread:
    """A topology spread of a group's pods over zones, with the number of pods in each zone."""

    def __init__(self, topology: TopologyKey, zones: Sequence[str]) -> None:
        self.counts = dict.fromkeys(sorted(zones), 0)
        self._skew = topology.max_skew or 1
        self._has_enough = len(zones) >= topology.min_domains
        self._chosen: dict[str, Requirements] = {}

    def next_zone(self, requirements: Requirements) -> str | None:
        """Return the admitted zone with the fewest pods. None if one more pod there would exceed `maxSkew`."""
        least = min(self.counts.values()) if self._has_enough else 0
        wanted = requirements.get(ZONE)
        able = [zone for zone in self.counts if wanted.admits(zone)]
        zone = min(able, key=lambda name: self.counts[name], default=None)
        return zone if zone is not None and self.counts[zone] + 1 - least <= self._skew else None

    def in_zone(self, zone: str) -> Requirements:
        """Return the requirements that restrict a node to a zone."""
        found = self._chosen.get(zone)
        if found is None:
            found = self._chosen[zone] = Requirements([Requirement.parse(ZONE, "In", (zone,))])
        return found


class _Batch:
    """The pods of a group while they are packed: the requirements of each state, and the nodes that may accept one
    more.
    """

    def __init__(self, place: int, group: PodGroup) -> None:
        self.place = place
        self.group = group
        self.pools = {id(pool) for pool in group.pools}
        self._of_pool = {
            id(pool): list(
                relaxations(pool.labels.translate(group.pod), pool, pool.policies.preferences_ignored is True)
            )
            for pool in group.pools
        }
        self.states: list[PodState] = max(self._of_pool.values(), key=len, default=[])
        self.most_on_a_node = [_most_on_a_node(group, state) for state in self.states]
        known = {id(t): spread for t in group.pod.topologies if (spread := zone_spread(group, t)) is not None}
        self.spreads = [[known[id(t)] for t in state.topologies if id(t) in known] for state in self.states]
        self.candidates: dict[int, list[tuple[int, int, int, LaunchedNode]]] = {}
        self.refused: set[tuple[int, int]] = set()
        self._wanted: dict[tuple[int, int], list[Requirements]] = {}

    def asks(self, pool: EmptyPool, number: int) -> list[Requirements]:
        """Return what the pod asks of a pool in its state `number`, in which some preferences are relaxed.

        There is one set of requirements for each place of its volumes. The list is empty if the pod does not tolerate
        a taint of the pool.
        """
        found = self._wanted.get((id(pool), number))
        if found is None:
            states = self._of_pool[id(pool)]
            found = self._wanted[id(pool), number] = self._work_out(pool, states[min(number, len(states) - 1)])
        return found

    def _work_out(self, pool: EmptyPool, state: PodState) -> list[Requirements]:
        if pool.taints.untolerated(state.tolerations, soft=True) is not None:
            return []
        terms = [term for term in (state.preferred, state.required) if term is not None]
        selector = pool.labels.translate(self.group.pod).selector
        expressions = [*selector, *(e for term in terms for e in term.expressions)]
        wanted = [requirements_of(expressions, pool.release) for _ in self.group.volumes or (None,)]
        for requirements, volume in zip(wanted, self.group.volumes, strict=False):
            requirements.add(*volume.requirements)
        return wanted


def zone_spread(group: PodGroup, topology: TopologyKey) -> ZoneSpread | None:
    """Return the workload's spread over zones, if its selector matches the workload's own pods.

    None for a constraint that is no such spread. None also if no zone of the pools is known.
    """
    if not topology.is_spread or normalize(topology.key) != ZONE or not counts_itself(group.workload, topology):
        return None
    zones = domains_of_pools(group.pod, group.pools, ZONE)
    return ZoneSpread(topology, sorted(zones)) if zones else None


def _most_on_a_node(group: PodGroup, state: PodState) -> int | None:
    """Return the most pods of a group on one node, by spreads and anti-affinity over hostnames.

    None if there is no such bound. Preferred constraints count until they are relaxed: a new node always meets them.
    """
    limits = [
        topology.max_skew if topology.is_spread else 1
        for topology in state.topologies
        if topology.key == HOSTNAME and (topology.is_spread or topology.what == ANTI_AFFINITY)
        if counts_itself(group.workload, topology)
    ]
    return min((limit for limit in limits if limit is not None), default=None)


def _size(pod: Pod) -> tuple[int, int]:
    return -pod.requests.get("cpu", 0), -pod.requests.get("memory", 0)


def _smallest_after(requests: Sequence[Resources]) -> list[Resources]:
    """Return for each pod the smallest amount of each resource that any later pod requests.

    For the last pod it is an amount that no node has.
    """
    found: list[Resources] = [{"pods": 1 << 80}]
    smallest: dict[str, int] | None = None
    for amounts in reversed(requests[1:]):
        if smallest is None:
            smallest = dict(amounts)
        else:
            smallest = {r: min(amount, amounts[r]) for r, amount in smallest.items() if r in amounts}
        found.append(smallest)
    return found[::-1]
