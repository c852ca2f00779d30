"""Nodes of a cluster with their NodeClaims and pods, as in Karpenter's cluster state.

Source: pkg/controllers/state/statenode.go of Karpenter core, 1.0.0 to 1.14.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import cached_property

from nodelint.base.tuples import NamedTuple
from nodelint.drift.budgets import Budget
from nodelint.drift.plain_values import Plain, amounts, condition, is_true, mapping, mappings, moment, text, texts
from nodelint.fit.ignored import HOSTNAME, requirements_of
from nodelint.fit.pods import Daemon
from nodelint.model.keys import CAPACITY_TYPE, REGION, ZONE
from nodelint.model.quantities import ONE
from nodelint.model.releases import NEWEST
from nodelint.model.requirement import Requirements, normalize
from nodelint.why.dump import Dump
from nodelint.why.pods import ClusterPod

NODEPOOL = "karpenter.sh/nodepool"
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
_EPHEMERAL = (
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
    "node.cloudprovider.kubernetes.io/uninitialized",
    "karpenter.sh/unregistered",
)
_DISRUPTED = "karpenter.sh/disrupted"

Taint = tuple[str, str, str]
"""The key, the value and the effect of a taint."""


class ClusterDaemon(NamedTuple):
    """A DaemonSet: its namespace and name, and the constraints of its pods."""

    owner: tuple[str, str]
    daemon: Daemon


class NodeState:
    """A node and its NodeClaim; one of them may be missing.

    `free` is the allocatable amount minus the pods' requests.
    """

    def __init__(self, name: str, node: Plain | None, claim: Plain | None) -> None:
        self.name = name
        self.node = node
        self.claim = claim
        self.pods: list[ClusterPod] = []
        self.free: dict[str, int] = {}

    @cached_property
    def claim_name(self) -> str | None:
        """Return the name of the node's NodeClaim. None if it has none."""
        return text(mapping(self.claim, "metadata").get("name")) if self.claim is not None else None

    @cached_property
    def is_registered(self) -> bool:
        """Return whether the node has joined the cluster."""
        return self.claim is None or (
            self.node is not None and self._own_labels.get("karpenter.sh/registered") == "true"
        )

    @cached_property
    def is_initialized(self) -> bool:
        """Return whether the node is initialized. True for a node without a NodeClaim."""
        return self.claim is None or (
            self.node is not None and self._own_labels.get("karpenter.sh/initialized") == "true"
        )

    @cached_property
    def _own_labels(self) -> dict[str, str]:
        return texts(mapping(self.node, "metadata").get("labels"))

    @cached_property
    def labels(self) -> dict[str, str]:
        """Return the labels of the node; those of the NodeClaim until the node is registered."""
        of_claim = texts(mapping(self.claim, "metadata").get("labels"))
        if self.node is None or (self.claim is not None and not self.is_registered):
            return of_claim
        found = dict(self._own_labels)
        found.setdefault(HOSTNAME, self.name)
        return found

    @cached_property
    def annotations(self) -> dict[str, str]:
        """Return the annotations of the node, or of the NodeClaim if there is no node."""
        return texts(mapping(self.node if self.node is not None else self.claim, "metadata").get("annotations"))

    @cached_property
    def taints(self) -> tuple[Taint, ...]:
        """Return the taints of the node. Until it is initialized, startup taints and temporary taints do
        not count.
        """
        from_claim = self.node is None or (self.claim is not None and not self.is_registered)
        stated = mapping(self.claim if from_claim else self.node, "spec").get("taints")
        found = [(text(t.get("key")), text(t.get("value")), text(t.get("effect"))) for t in mappings(stated)]
        if self.claim is not None and not self.is_initialized:
            startup = {
                (text(t.get("key")), text(t.get("effect")))
                for t in mappings(mapping(self.claim, "spec").get("startupTaints"))
            }
            found = [t for t in found if t[0] not in _EPHEMERAL and (t[0], t[2]) not in startup]
        return tuple(sorted(found))

    @cached_property
    def pool(self) -> str:
        """Return the name of the node's NodePool. It is empty if no label names one."""
        return self.labels.get(NODEPOOL, "")

    @cached_property
    def instance_type(self) -> str:
        """Return the instance type of the node; empty if no label names it."""
        return self.labels.get(INSTANCE_TYPE, "")

    @cached_property
    def zone(self) -> str:
        """Return the zone of the node; empty if no label names it."""
        return self.labels.get(ZONE, "")

    @cached_property
    def region(self) -> str:
        """Return the region of the node: by its label, else by its zone."""
        return self.labels.get(REGION, "") or self.zone.rstrip("abcdefghij")

    @cached_property
    def capacity_type(self) -> str:
        """Return the capacity type of the node; empty if no label names it."""
        return self.labels.get(CAPACITY_TYPE, "")

    @cached_property
    def is_deleting(self) -> bool:
        """Return whether the node or its NodeClaim is being deleted, or Karpenter has begun to replace the node."""
        if any(mapping(o, "metadata").get("deletionTimestamp") is not None for o in (self.node, self.claim)):
            return True
        return self.is_queued or is_true(self.claim or {}, "InstanceTerminating")

    @cached_property
    def is_queued(self) -> bool:
        """Return whether Karpenter has decided to disrupt the node: it has the taint and the NodeClaim the
        condition.
        """
        tainted = any(text(t.get("key")) == _DISRUPTED for t in mappings(mapping(self.node, "spec").get("taints")))
        return tainted and is_true(self.claim or {}, "DisruptionReason")

    @cached_property
    def is_ready(self) -> bool:
        """Return whether the node's condition Ready is True."""
        return is_true(self.node or {}, "Ready")

    @cached_property
    def created(self) -> datetime | None:
        """Return when the node's NodeClaim was created. None if this is not known."""
        return moment(mapping(self.claim, "metadata").get("creationTimestamp"))

    @cached_property
    def allocatable(self) -> dict[str, int]:
        """Return the resources for pods in billionths (1e-9) of the unit.

        Until the node is initialized, the NodeClaim's amounts fill the gaps.
        """
        own = amounts(mapping(self.node, "status").get("allocatable"))
        of_claim = amounts(mapping(self.claim, "status").get("allocatable"))
        return own if self.is_initialized and own else {**of_claim, **{k: v for k, v in own.items() if v}}

    @cached_property
    def capacity(self) -> dict[str, int]:
        """Return the total resources in billionths (1e-9) of the unit, with 1 of `nodes`."""
        own = amounts(mapping(self.node, "status").get("capacity"))
        return {**amounts(mapping(self.claim, "status").get("capacity")), **own, "nodes": ONE}

    def claim_condition(self, kind: str) -> Plain | None:
        """Return a condition of the node's NodeClaim. None if there is none."""
        return condition(self.claim or {}, kind)


class ClusterState:
    """The nodes of a dump, sorted by name, and its pods by node."""

    def __init__(self, dump: Dump) -> None:
        self.dump = dump
        self.nodes = _join(dump)
        by_name = {state.name: state for state in self.nodes if state.node is not None}
        self.pods = [ClusterPod(*key, obj) for key, obj in dump.objects_of("Pod").items()]
        self.lost: list[ClusterPod] = []
        """Pods on nodes that are not in the dump."""
        for pod in self.pods:
            state = by_name.get(pod.node)
            if state is not None:
                state.pods.append(pod)
            elif pod.node:
                self.lost.append(pod)
        self.pending = [pod for pod in self.pods if pod.is_pending and pod.is_active]
        self.pools = {name: obj for (_, name), obj in dump.objects_of("NodePool").items()}
        self.classes = {name: obj for (_, name), obj in dump.objects_of("EC2NodeClass").items()}

    def count_free(self, daemons: Sequence[ClusterDaemon]) -> None:
        """Compute the free resources of each node after the pods' shapes are read.

        Missing DaemonSet pods count as well.
        """
        for state in self.nodes:
            free = dict(state.allocatable)
            for pod in state.pods:
                if pod.is_over or pod.shape is None:
                    continue
                for resource, amount in pod.shape.requests.items():
                    free[resource] = free.get(resource, 0) - amount
            for daemon in _lacking_daemons(state, daemons):
                for resource, amount in daemon.daemon.pod.requests.items():
                    free[resource] = free.get(resource, 0) - amount
            state.free = free

    @cached_property
    def by_pool(self) -> dict[str, list[NodeState]]:
        """Return the nodes of each NodePool."""
        found: dict[str, list[NodeState]] = {}
        for state in self.nodes:
            if state.pool and state.claim is not None:
                found.setdefault(state.pool, []).append(state)
        return found

    @cached_property
    def zones(self) -> frozenset[str]:
        """Return the zones of the nodes and of the subnets in the classes' status."""
        found = {state.zone for state in self.nodes if state.zone}
        for node_class in self.classes.values():
            found.update(zones_of(node_class))
        return frozenset(found)


def _lacking_daemons(state: NodeState, daemons: Sequence[ClusterDaemon]) -> Iterator[ClusterDaemon]:
    """Yield the DaemonSets that run on the node and have no pod there yet."""
    there = {(pod.namespace, name) for pod in state.pods for api, kind, name in pod.owners if kind == "DaemonSet"}
    for daemon in daemons:
        if daemon.owner in there:
            continue
        tolerations = daemon.daemon.pod.tolerations
        hard = [taint for taint in state.taints if taint[2] != "PreferNoSchedule"]
        if all(any(t.tolerates(*taint) for t in tolerations) for taint in hard) and _selects(daemon.daemon, state):
            yield daemon


def _selects(daemon: Daemon, state: NodeState) -> bool:
    """Return whether the node's labels meet the selectors of a DaemonSet's pod."""
    pod = daemon.pod
    for term in pod.terms or (None,):
        expressions = (*pod.selector, *(term.expressions if term is not None else ()))
        wanted = requirements_of(expressions, NEWEST)
        labels = {key: state.labels[key] for key in sorted(wanted.keys()) if key in state.labels}
        if Requirements.from_labels(labels).compatible(wanted) is None:
            return True
    return False


def node_label(node: NodeState, key: str) -> str | None:
    """Return the value of a node's label, also under a former key of the label. None if it has none."""
    value = node.labels.get(key)
    if value is not None:
        return value
    if key == HOSTNAME:
        return node.name
    return next((v for k, v in node.labels.items() if normalize(k) == key), None)


def zones_of(node_class: Plain) -> set[str]:
    """Return the zones of the subnets in the status of a class."""
    subnets = mappings(mapping(node_class, "status").get("subnets"))
    return {zone for subnet in subnets if (zone := text(subnet.get("zone")))}


def _join(dump: Dump) -> list[NodeState]:
    """Return the nodes with their NodeClaims, matched by provider id, else by the node name in the NodeClaim."""
    claims = list(dump.objects_of("NodeClaim").values())
    by_id = {text(mapping(c, "status").get("providerID")): c for c in claims}
    by_node = {text(mapping(c, "status").get("nodeName")): c for c in claims}
    taken: set[int] = set()
    found = []
    for (_, name), node in dump.objects_of("Node").items():
        provider = text(mapping(node, "spec").get("providerID"))
        claim = (by_id.get(provider) if provider else None) or by_node.get(name)
        if claim is not None:
            taken.add(id(claim))
        found.append(NodeState(name, node, claim))
    alone = [claim for claim in claims if id(claim) not in taken]
    found += [NodeState(text(mapping(claim, "metadata").get("name")), None, claim) for claim in alone]
    return sorted(found, key=lambda state: state.name)


def binding_budget(active: Iterable[Budget], nodes: int) -> Budget | None:
    """Return the budget that allows the fewest of `nodes` nodes. None if no budget is active."""
    return min(active, key=lambda budget: 0 if budget.broken else budget.limit(nodes), default=None)
