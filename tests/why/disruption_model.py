"""A second disruption controller, of plain values and loops, that shares nothing with nodelint but prices and sizes.

Written from pkg/controllers/disruption (types.go, consolidation.go, singlenodeconsolidation.go,
multinodeconsolidation.go, emptiness.go, helpers.go) and pkg/controllers/provisioning/scheduling of Karpenter core at
v1.0.0, v1.6.0, v1.13.0 and v1.14.1. Of nodes that are equal in the order of candidates, it tries each order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby, permutations, product

SIZES = {"m7i.large": (1930, 0.1008), "m7i.xlarge": (3920, 0.2016), "m7i.2xlarge": (7910, 0.4032)}
"""The CPU that pods can use, in thousandths, and the price an hour."""
DAEMON = 50
ZONES = ("us-east-1a", "us-east-1b")


@dataclass
class ModelPod:
    """A pod: its CPU in thousandths, its app, and what keeps pods of the app apart."""

    name: str
    cpu: int
    app: str
    rule: str = ""  # "", "zones" (a spread), "hosts" (anti-affinity)
    protected: bool = False
    cost: float = 1.0


@dataclass
class ModelNode:
    """A node with its pods. `hours` is its age."""

    name: str
    type: str
    zone: str
    hours: int
    pods: list[ModelPod] = field(default_factory=list)
    marked: bool = False
    consolidatable: bool = True

    @property
    def free(self) -> int:
        return SIZES[self.type][0] - DAEMON - sum(pod.cpu for pod in self.pods)


@dataclass
class ModelCluster:
    """A cluster of one NodePool that allows all types of `SIZES`, on demand."""

    release: tuple[int, int, int]
    nodes: list[ModelNode]
    policy: str
    budget: int
    blocked_app: str | None
    expire_hours: int = 720


@dataclass
class Solution:
    """Where pods went: whether all found a place, and the CPU of each new node."""

    placed: bool
    new: list[int]


def simulate(cluster: ModelCluster, removed: list[ModelNode]) -> Solution:
    """Return where the pods of removed nodes go."""
    gone = {node.name for node in removed}
    there = [node for node in sorted(cluster.nodes, key=lambda n: n.name) if node.name not in gone]
    # Since 1.14.0, pods of consolidation are not moved onto nodes that are under consolidateAfter themselves.
    closed = {node.name for node in there if cluster.release >= (1, 14, 0) and not node.consolidatable}
    pods = sorted((p for node in removed for p in node.pods), key=lambda p: (-p.cpu, p.name))
    free = {node.name: node.free for node in there}
    on = {node.name: list(node.pods) for node in there}
    zone_of = {node.name: node.zone for node in there}
    new: list[str] = []
    for pod in pods:
        counts = {zone: sum(p.app == pod.app for n in on for p in on[n] if zone_of[n] == zone) for zone in ZONES}
        spread = {zone for zone in ZONES if counts[zone] + 1 - min(counts.values()) <= 1}
        for name in [*(n.name for n in there), *sorted(new, key=lambda n: len(on[n]))]:
            if (
                name in closed
                or free[name] < pod.cpu
                or (pod.rule == "hosts" and any(p.app == pod.app for p in on[name]))
            ):
                continue
            if pod.rule == "zones":
                if zone_of[name] and zone_of[name] not in spread:
                    continue
                zone_of[name] = zone_of[name] or min(spread, key=lambda z: (counts[z], z))
            break
        else:
            name = f"new-{len(new)}"
            zone_of[name] = min(spread, key=lambda z: (counts[z], z)) if pod.rule == "zones" else ""
            free[name] = max(size for size, _ in SIZES.values()) - DAEMON
            on[name] = []
            if free[name] < pod.cpu:
                return Solution(False, [])
            new.append(name)
        on[name].append(pod)
        free[name] -= pod.cpu
    return Solution(True, [sum(p.cpu for p in on[name]) for name in new])


def decide(cluster: ModelCluster, removed: list[ModelNode]) -> str:
    """Return `delete`, `replace`, or why the nodes stay."""
    found = simulate(cluster, removed)
    if not found.placed:
        return "pods-do-not-fit"
    if not found.new:
        return "delete"
    if len(found.new) > 1:
        return "several-nodes"
    holding = {name: price for name, (size, price) in SIZES.items() if size - DAEMON >= found.new[0]}
    most = sum(SIZES[node.type][1] for node in removed)
    options = {name: price for name, price in holding.items() if price < most - 1e-9}
    if len(removed) > 1:
        same = [SIZES[node.type][1] for node in removed if node.type in options]
        options = {name: price for name, price in options.items() if not same or price < min(same)}
    return "replace" if options else "no-cheaper-type"


def blocker(cluster: ModelCluster, node: ModelNode, empty: bool) -> str:
    """Return what keeps a node from being a candidate; empty where nothing does."""
    if node.marked:
        return "do-not-disrupt-node"
    if any(pod.protected for pod in node.pods):
        return "do-not-disrupt-pod"
    if any(pod.app == cluster.blocked_app for pod in node.pods):
        return "pdb"
    if cluster.policy == "WhenEmpty" and not empty:
        return "policy"
    if not node.consolidatable:
        return "consolidate-after"
    return "budget" if cluster.budget == 0 else ""


def removed_together(cluster: ModelCluster) -> list[dict[str, str]]:
    """Return for each order of candidates which nodes go together, and how."""
    candidates = [n for n in cluster.nodes if n.pods and not blocker(cluster, n, empty=False)]

    def key(node: ModelNode) -> float:
        costs = [pod.cost for pod in node.pods]
        if cluster.release >= (1, 14, 0):
            return -SIZES[node.type][1] / (1.0 + sum(max(cost, 0.0) for cost in costs))
        remaining = min(max(1.0 - node.hours / cluster.expire_hours, 0.0), 1.0)
        return (sum(costs) + 1.0) * remaining  # the daemon's pod counts, too

    groups = [list(group) for _, group in groupby(sorted(candidates, key=key), key=key)]
    outcomes = []
    for parts in product(*(list(permutations(group)) for group in groups)):
        order = [node for part in parts for node in part][: cluster.budget]
        low, high, found = 1, min(len(order) - 1, 100), dict[str, str]()
        while low <= high:
            middle = (low + high) // 2
            decision = decide(cluster, order[: middle + 1])
            if decision in ("delete", "replace"):
                found = {node.name: f"multi-node-{decision}" for node in order[: middle + 1]}
                low = middle + 1
            else:
                high = middle - 1
        outcomes.append(found)
    return outcomes


def answers(cluster: ModelCluster) -> dict[str, tuple[str, str]]:
    """Return the status and the reason of each node."""
    together = removed_together(cluster)
    found = {}
    for node in cluster.nodes:
        empty = not node.pods
        blocked = blocker(cluster, node, empty)
        if blocked:
            found[node.name] = "stays", blocked
            continue
        alone = "empty" if empty else decide(cluster, [node])
        if alone in ("empty", "delete", "replace"):
            found[node.name] = "goes", alone
            continue
        ways = [outcome[node.name] for outcome in together if node.name in outcome]
        if not ways:
            found[node.name] = "stays", alone
        else:
            found[node.name] = "goes" if len(ways) == len(together) and len(set(ways)) == 1 else "unknown", ways[0]
    return found
