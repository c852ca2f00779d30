"""Where the pods of a node would go if it were removed: `SimulateScheduling` of Karpenter core for one node.

Pods are tried one by one, the largest first: on the nodes that are there, on a node that the same simulation
launches, then on a new one of each pool, each time with fewer of their preferences.
Source: core pkg/controllers/disruption/helpers.go@v1.14.1:51, pkg/controllers/provisioning/scheduling/scheduler.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from nodelint.base.tuples import NamedTuple
from nodelint.ec2.type_set import NONE, TypeSet
from nodelint.fit.pods import AFFINITY, ANTI_AFFINITY, SPREAD, LabelExpression, Pod, add_requests
from nodelint.fit.verdict import PoolRefusal
from nodelint.model.keys import ZONE
from nodelint.why.constraints import Constraint, is_hostname
from nodelint.why.fleet import Fleet, LaunchPool, has_room, node_label
from nodelint.why.pods import ClusterPod
from nodelint.why.shapes import RelaxedPod, Shape
from nodelint.why.state import NodeState

MOST_WAITING = 50
"""Pods that wait, or that leave nodes which are being deleted, beyond which a simulation does not place them."""


class PoolStop(NamedTuple):
    """Why a pool takes a pod not: Karpenter's refusal as `fit` says it, or a sentence."""

    pool: LaunchPool
    text: str
    refusal: PoolRefusal | None = None
    code: str = ""


class Unplaced(NamedTuple):
    """A pod that goes nowhere, with what each pool says. `near` says what keeps it from nodes that are there."""

    pod: ClusterPod
    refusals: tuple[PoolStop, ...]
    near: str


class NewNode:
    """A node that the simulation launches: its pool, the pods on it, the types left, and the domains it can be in."""

    def __init__(self, pool: LaunchPool) -> None:
        self.pool = pool
        self.pods: list[ClusterPod] = []
        self.merged: Pod | None = None
        self.key: tuple[object, ...] = ()
        self.types: TypeSet = NONE
        self.domains: dict[str, frozenset[str]] = {}


class Placement:
    """The result of a simulation: `moved` are pods with the nodes that take them, `new` the nodes it launches."""

    def __init__(self) -> None:
        self.moved: list[tuple[ClusterPod, NodeState]] = []
        self.new: list[NewNode] = []
        self.unplaced: list[Unplaced] = []
        self.on_uninitialized: list[tuple[ClusterPod, NodeState]] = []
        self.unknown: dict[str, None] = {}
        self.waiting: frozenset[int] = frozenset()
        self.near: dict[str, str] = {}
        """What keeps pods that go to a new node from the nodes that are there, by pod."""

    @property
    def blocking(self) -> list[Unplaced]:
        """Return the pods that go nowhere, less those that wait already."""
        return [item for item in self.unplaced if id(item.pod) not in self.waiting]


class MovedCounts:
    """How many pods a constraint counts by domain: those that run, and what a simulation has changed."""

    def __init__(self, base: Mapping[str, int], changes: Mapping[str, int]) -> None:
        self._base = base
        self._changes = changes

    def of_domain(self, domain: str) -> int:
        """Return how many pods are in a domain."""
        return self._base.get(domain, 0) + self._changes.get(domain, 0)

    def list_domains(self) -> set[str]:
        """Return the domains in which pods are or were."""
        return {*self._base, *self._changes}

    def are_all_zero(self) -> bool:
        """Whether no domain has a pod."""
        return not any(self.of_domain(domain) > 0 for domain in (*self._changes, *self._base))


class _Moved:
    """What has changed on a node since the simulation began."""

    __slots__ = ("free", "pods")

    def __init__(self, node: NodeState) -> None:
        self.free = dict(node.free)
        self.pods: list[ClusterPod] = []


class Simulation:
    """The removal of one node. `waiting` are pods that wait for a node, `leaving` those of nodes being deleted."""

    def __init__(
        self, fleet: Fleet, removed: NodeState, waiting: Iterable[ClusterPod], leaving: Iterable[ClusterPod]
    ) -> None:
        self.fleet = fleet
        self.removed = removed
        self.found = Placement()
        self._waiting = list(waiting)
        self._leaving = list(leaving)
        self._moved: dict[int, _Moved] = {}
        self._exempt = frozenset(id(pod) for pod in (*self._waiting, *self._leaving))
        self.found.waiting = frozenset(id(pod) for pod in self._waiting)

    def run(self, pods: Iterable[ClusterPod]) -> Placement:
        """Return where pods of the node, and those that wait, would go."""
        everyone = [*self._waiting, *pods, *self._leaving]
        for pod in sorted(everyone, key=_order):
            self.fleet.work += 1
            self._place(pod)
        return self.found

    def _place(self, pod: ClusterPod) -> None:
        shape = pod.shape
        if shape is None:
            return
        refusals: list[PoolStop] = []
        near = ""
        for number, state in enumerate(self.fleet.states(shape)):
            node, near = self._find_node(pod, shape, number, state)
            if node is not None:
                self._move(pod, shape, node)
                return
            refusals = []
            if self._launch(pod, shape, state, refusals):
                self.found.unknown.update(dict.fromkeys(shape.unknown))
                self.found.near[pod.label] = near
                return
        self.found.unplaced.append(Unplaced(pod, tuple(refusals), near))

    def _find_node(
        self, pod: ClusterPod, shape: Shape, number: int, state: RelaxedPod
    ) -> tuple[NodeState | None, str]:
        """Return the first node that is there and takes a pod, or what keeps it from the last that has room."""
        near = ""
        fleet = self.fleet
        for node in fleet.holding(shape, number):
            fleet.work += 1
            if node is self.removed:
                continue
            if id(node) in fleet.recent and id(pod) not in self._exempt:
                near = near or f"node {node.name} has room, and is under consolidateAfter itself"
                continue
            moved = self._moved.get(id(node))
            if moved is not None and not has_room(moved.free, dict(shape.requests)):
                continue
            if moved is not None and shape.pod.ports and self._ports_clash(moved, shape):
                continue
            stop = self._topology_stop(pod, shape, state, node)
            if stop is None:
                return node, ""
            near = f"node {node.name} has room, but {stop}"
        return None, near

    def _ports_clash(self, moved: _Moved, shape: Shape) -> bool:
        taken = [port for pod in moved.pods if pod.shape is not None for port in pod.shape.pod.ports]
        return any(port.clashes(other) for port in shape.pod.ports for other in taken)

    def _move(self, pod: ClusterPod, shape: Shape, node: NodeState) -> None:
        moved = self._moved.setdefault(id(node), _Moved(node))
        for resource, amount in shape.requests.items():
            moved.free[resource] = moved.free.get(resource, 0) - amount
        moved.pods.append(pod)
        self.found.moved.append((pod, node))
        self.found.unknown.update(dict.fromkeys(shape.unknown))
        if not node.is_initialized and id(pod) not in {id(p) for p in self._leaving}:
            self.found.on_uninitialized.append((pod, node))

    def _topology_stop(self, pod: ClusterPod, shape: Shape, state: RelaxedPod, node: NodeState) -> str | None:
        """Return what of spreads and of affinity to pods keeps a pod from a node. None where nothing does."""
        for constraint in state.constraints:
            domain = node_label(node, constraint.key)
            if domain is None:
                return f"it lacks the label {constraint.key} of its {constraint.description}"
            allowed = self._allowed(constraint, pod, shape, state, frozenset({domain}))
            if not allowed:
                return f"its {constraint.description} keeps it away"
        for constraint in self._repelling(pod):
            domain = node_label(node, constraint.key)
            if domain is not None and self._repelled(constraint, domain):
                return f"a pod there keeps it away by its {constraint.description}"
        return None

    def _count(self, constraint: Constraint, shape: Shape) -> MovedCounts:
        """Return how many pods a constraint counts by domain, as the simulation has moved them."""
        fleet = self.fleet
        base = fleet.count(constraint, shape)
        counts_node = fleet.counted_nodes(constraint, shape)
        changes: dict[str, int] = {}
        here = node_label(self.removed, constraint.key)
        if here is not None and (counts_node is None or counts_node.get(id(self.removed), True)):
            gone = sum(
                p.is_active and p.is_reschedulable and constraint.selects(p.namespace, p.labels)
                for p in self.removed.pods
            )
            changes[here] = -gone
        for pod, node in self.found.moved:
            domain = node_label(node, constraint.key)
            if domain is not None and constraint.selects(pod.namespace, pod.labels):
                changes[domain] = changes.get(domain, 0) + 1
        for new in self.found.new:
            only = new.domains.get(constraint.key, frozenset())
            if len(only) == 1:
                domain = next(iter(only))
                added = sum(constraint.selects(p.namespace, p.labels) for p in new.pods)
                changes[domain] = changes.get(domain, 0) + added
        return MovedCounts(base, changes)

    def _allowed(
        self, constraint: Constraint, pod: ClusterPod, shape: Shape, state: RelaxedPod, domains: frozenset[str]
    ) -> frozenset[str]:
        """Return the domains of some in which a constraint lets a pod be; of a spread, those with fewest pods."""
        counts = self._count(constraint, shape)
        selects_itself = constraint.selects(pod.namespace, pod.labels)
        if constraint.what == ANTI_AFFINITY:
            return frozenset(d for d in domains if counts.of_domain(d) <= 0)
        if constraint.what == AFFINITY:
            near = frozenset(d for d in domains if counts.of_domain(d) > 0)
            return near or (domains if selects_itself and counts.are_all_zero() else frozenset())
        least = self._least(constraint, counts, state)
        found = {domain: counts.of_domain(domain) for domain in domains}
        fitting = {d: count for d, count in found.items() if count + selects_itself - least <= constraint.skew}
        fewest = min(fitting.values(), default=0)
        return frozenset(d for d, count in fitting.items() if count == fewest)

    def _least(self, constraint: Constraint, counts: MovedCounts, state: RelaxedPod) -> int:
        """Return the fewest pods that a domain has, of those that the pod can be in."""
        if is_hostname(constraint):
            return 0
        every = counts.list_domains()
        if constraint.key == ZONE:
            every |= self.fleet.cluster.zones
        for pool in self.fleet.pools:
            domains = pool.domains(constraint.key)
            every |= domains or frozenset()
            if domains is None and (constraint.key == ZONE or constraint.key in pool.pool.requirements):
                self.found.unknown[f"in which values of {constraint.key} NodePool/{pool.name} launches"] = None
        wanted = state.requirements
        every = {d for d in every if constraint.key not in wanted or wanted[constraint.key].admits(d)}
        if constraint.min_domains and len(every) < constraint.min_domains:
            return 0
        return min((counts.of_domain(domain) for domain in every), default=0)

    def _repelling(self, pod: ClusterPod) -> Iterator[Constraint]:
        """Yield the required anti-affinity of other pods that is against this one."""
        yield from self.fleet.counts.repelling_for(pod)
        for other, _ in self.found.moved:
            shape = other.shape
            for constraint in shape.constraints if shape is not None else ():
                against = constraint.what == ANTI_AFFINITY and not constraint.preferred
                if against and constraint.selects(pod.namespace, pod.labels):
                    yield constraint

    def _repelled(self, constraint: Constraint, domain: str) -> bool:
        """Whether a pod with an anti-affinity is in a domain, as the simulation has moved pods."""
        if domain in self.fleet.counts.repelled_domains(constraint, self.removed):
            return True
        for pod, node in self.found.moved:
            shape = pod.shape
            if shape is None or node_label(node, constraint.key) != domain:
                continue
            if any(c.group == constraint.group for c in shape.constraints):
                return True
        return False

    def _launch(self, pod: ClusterPod, shape: Shape, state: RelaxedPod, refusals: list[PoolStop]) -> bool:
        """Put a pod on a node that the simulation launches already, or on a new one; else note why no pool does."""
        for new in sorted(self.found.new, key=lambda new: len(new.pods)):
            if self._join(new, pod, shape, state) is None:
                return True
        for pool in self.fleet.pools:
            new = NewNode(pool)
            stop = self._join(new, pod, shape, state)
            if stop is None:
                self.found.new.append(new)
                return True
            refusals.append(stop)
        return False

    def _join(self, new: NewNode, pod: ClusterPod, shape: Shape, state: RelaxedPod) -> PoolStop | None:
        """Put a pod on a new node. Return why it does not go there; None where it does."""
        pool = new.pool
        if not pool.is_ready:
            return PoolStop(
                pool,
                f"the NodePool is not Ready{f': {pool.why_not_ready}' if pool.why_not_ready else ''}",
                code="not-ready",
            )
        taint = pool.pool.untolerated(state.tolerations, soft=True)
        if taint is not None:
            return PoolStop(pool, f"its taint {taint.key}:{taint.effect} is not tolerated", code="taint")
        taken = [port for other in new.pods if other.shape is not None for port in other.shape.pod.ports]
        if any(port.clashes(other) for port in shape.pod.ports for other in taken):
            return PoolStop(pool, "a port of the node that it needs is taken", code="port")
        domains = self._domains(new, pod, shape, state)
        if isinstance(domains, str):
            return PoolStop(pool, domains, code="topology")
        merged = _merged(new.merged, shape, state, domains)
        key = (*new.key, (shape.number, state.given_up, id(state)), frozenset(domains.items()))
        verdict = pool.judge(merged, key)
        types = pool.within_limits(verdict.types, self.removed)
        if not verdict.fits:
            refusal = verdict.refusal
            return PoolStop(
                pool, refusal.brief if refusal is not None else "", refusal, refusal.reason if refusal else ""
            )
        if not types:
            return PoolStop(pool, "its limits leave no room for another node", code="limits")
        new.pods.append(pod)
        new.merged, new.key, new.types, new.domains = merged, key, types, domains
        return None

    def _domains(
        self, new: NewNode, pod: ClusterPod, shape: Shape, state: RelaxedPod
    ) -> dict[str, frozenset[str]] | str:
        """Return the domains that a new node can be in with a pod, or why there is none."""
        domains = dict(new.domains)
        for volume in shape.volumes[:1]:
            for requirement in volume.requirements:
                if requirement.operator == "In":
                    before = domains.get(requirement.key, new.pool.domains(requirement.key))
                    remaining = frozenset(v for v in requirement.values if before is None or v in before)
                    if not remaining:
                        return (
                            f"its volume is in {', '.join(sorted(requirement.values)[:3])}, where the pool"
                            " launches nothing"
                        )
                    domains[requirement.key] = remaining
        for constraint in state.constraints:
            if is_hostname(constraint):
                if not self._fits_alone(constraint, new, pod, shape, state):
                    return f"its {constraint.description} keeps it from a new node"
                continue
            before = domains.get(constraint.key, new.pool.domains(constraint.key))
            if before is None:
                before = (
                    frozenset(self._count(constraint, shape).list_domains()) | self.fleet.cluster.zones
                    if constraint.key == ZONE
                    else None
                )
            if before is None:
                self.found.unknown[f"which values of {constraint.key} a new node can have"] = None
                continue
            wanted = state.requirements
            before = frozenset(d for d in before if constraint.key not in wanted or wanted[constraint.key].admits(d))
            remaining = self._allowed(constraint, pod, shape, state, before)
            if not remaining:
                return f"its {constraint.description} leaves no domain for a new node"
            # Of several domains with as few pods, the controller takes one: pods that come later have to go there.
            domains[constraint.key] = frozenset({min(remaining)}) if constraint.what == SPREAD else remaining
        return self._without_repelled(domains, new, pod)

    def _without_repelled(
        self, domains: dict[str, frozenset[str]], new: NewNode, pod: ClusterPod
    ) -> dict[str, frozenset[str]] | str:
        for constraint in self._repelling(pod):
            if is_hostname(constraint):
                continue
            before = domains.get(constraint.key, new.pool.domains(constraint.key))
            remaining = frozenset(d for d in before or () if not self._repelled(constraint, d))
            if before and not remaining:
                return f"pods in every domain keep it away by their {constraint.description}"
            if before:
                domains[constraint.key] = remaining
        return domains

    def _fits_alone(
        self, constraint: Constraint, new: NewNode, pod: ClusterPod, shape: Shape, state: RelaxedPod
    ) -> bool:
        """Whether a constraint by the name of nodes lets a pod onto a new node with the pods on it."""
        there = sum(constraint.selects(p.namespace, p.labels) for p in new.pods)
        if constraint.what == ANTI_AFFINITY:
            return there == 0
        if constraint.what == AFFINITY:
            nobody = self._count(constraint, shape).are_all_zero()
            return there > 0 or (nobody and constraint.selects(pod.namespace, pod.labels))
        return there + constraint.selects(pod.namespace, pod.labels) <= constraint.skew


def _order(pod: ClusterPod) -> tuple[int, int, float, str]:
    """Sort pods as the scheduler's queue does: by CPU, then memory, the largest first, then by age."""
    requests = pod.shape.requests if pod.shape is not None else {}
    created = pod.created.timestamp() if pod.created is not None else 0.0
    return -requests.get("cpu", 0), -requests.get("memory", 0), created, str(pod.meta.get("uid") or pod.label)


def _merged(before: Pod | None, shape: Shape, state: RelaxedPod, domains: dict[str, frozenset[str]]) -> Pod:
    """Return several pods as one that asks for all that they ask together."""
    own = shape.pod
    places = tuple(
        LabelExpression(own.node, key, "In", tuple(sorted(values))) for key, values in sorted(domains.items())
    )
    if before is None:
        return own._replace(selector=(*state.expressions, *places))
    return before._replace(
        requests=add_requests((before.requests, own.requests)),
        selector=(*before.selector, *state.expressions, *places),
        ports=(*before.ports, *own.ports),
    )
