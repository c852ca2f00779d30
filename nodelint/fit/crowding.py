"""Whether all pods of a workload get a node: enough domains for `minDomains`, and room within the pools' limits.

If there are fewer domains than `minDomains`, Kubernetes counts the domain with the fewest pods as empty: each
existing domain then gets at most `maxSkew` pods.
"""

from __future__ import annotations

from collections.abc import Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.fit.ignored import HOSTNAME, requirements_of
from nodelint.fit.pod_terms import ANTI_AFFINITY, TopologyKey
from nodelint.fit.pods import Pod
from nodelint.fit.pools import LIMITS_NODES, NODES, EmptyPool
from nodelint.karpenter.images import unknown_fact
from nodelint.model.cluster_objects import Workload
from nodelint.model.gap import Gap
from nodelint.model.keys import ZONE
from nodelint.model.messages import counted
from nodelint.model.quantities import ONE
from nodelint.model.requirement import Requirements, normalize
from nodelint.text import Node

_FEWER = "let the pools have more of them, or lower `minDomains`"


class Crowding(NamedTuple):
    """A workload of which only `most` of its `pods` get a node, with the field that causes this."""

    node: Node
    most: int
    pods: int
    brief: str
    text: str
    help: str


def find_beyond_limits(workload: Workload, pod: Pod, taking: Sequence[PoolVerdict]) -> Crowding | None:
    """Return a Crowding if the limits of all accepting pools leave no room for all replicas; None if they may.

    Limits of CPUs and devices are compared. Memory limits are not, because the memory of a type is not known to the
    byte. Node limits are not (see `find_beyond_node_limits`).
    """
    replicas = workload.node.find("spec", "replicas")
    count = replicas.value if replicas is not None else None
    if replicas is None or not isinstance(count, int) or count < 2 or not taking:
        return None
    most = 0
    for verdict in taking:
        most += _room_within_limits(pod, verdict, count)
        if most >= count:
            return None
    pools = "the NodePool that takes them" if len(taking) == 1 else "the NodePools that take them"
    brief = f"the limits of {pools} leave room for {most} of its {count} pods"
    return Crowding(replicas, most, count, brief, brief, "raise the limits, or ask for less")


def find_beyond_node_limits(workload: Workload, pod: Pod, taking: Sequence[PoolVerdict]) -> Gap | None:
    """Return a gap if `limits.nodes` of all accepting pools leaves no room for all replicas; None if it does.

    It is no certain refusal: the scheduler counts only nodes that exist (`addToNewNodeClaim` and `subtractMax` of
    Karpenter core's scheduler.go, 1.11.0 to 1.14.1), so one run for many pods can exceed the limit. Before 1.11.0
    only `Create` of provisioner.go looks at the limit, once the pool has exceeded it.
    """
    replicas = workload.node.find("spec", "replicas")
    count = replicas.value if replicas is not None else None
    if replicas is None or not isinstance(count, int) or not taking:
        return None
    if any(NODES not in verdict.pool.limits for verdict in taking):
        return None
    room = 0
    for verdict in taking:
        most = _most_on_a_node(workload, pod, verdict)
        if most is None:
            return None
        over = 0 if verdict.pool.release >= LIMITS_NODES else 1
        room += (verdict.pool.limits[NODES] // ONE + over) * most
    if room >= count:
        return None
    pools = "the NodePool that takes them" if len(taking) == 1 else "the NodePools that take them"
    text = f"`limits.nodes` of {pools} leaves room for {room} of its {count} pods"
    return unknown_fact(replicas, f"{text}, unless Karpenter schedules them all at once and exceeds it")


def _most_on_a_node(workload: Workload, pod: Pod, verdict: PoolVerdict) -> int | None:
    """Return the most pods of a workload on one node of a pool. None if it is not known.

    A spread over hostnames sets no bound: if each node has a pod, each may get another one.
    """
    if pod.ports or any(_is_apart_by_node(workload, topology) for topology in pod.topologies):
        return 1
    most = 0
    for name in verdict.pool.resolution.catalog.iterate_names(verdict.types):
        pods = _pods_on(verdict.pool.sizes.of_type(name), pod)
        if pods is None:
            return None
        most = max(most, pods)
    return most


def _is_apart_by_node(workload: Workload, topology: TopologyKey) -> bool:
    if topology.preferred or topology.what != ANTI_AFFINITY or normalize(topology.key) != HOSTNAME:
        return False
    return not _is_about_elsewhere(topology) and counts_itself(workload, topology)


def _is_about_elsewhere(topology: TopologyKey) -> bool:
    """Return whether the constraint names the namespaces of the pods that it counts."""
    constraint = topology.constraint
    return constraint is not None and any(constraint.get(f) for f in ("namespaces", "namespaceSelector"))


def _room_within_limits(pod: Pod, verdict: PoolVerdict, enough: int) -> int:
    """Return the most pods that fit on nodes within the pool's limits.

    Return `enough` if at least that many fit, or if the capacity is not known.
    """
    pool, most = verdict.pool, enough
    limits = {} if pool.pool.static else pool.limits
    for resource, limit in limits.items():
        if resource != "cpu" and (resource == "memory" or resource not in pod.requests):
            continue
        best = 0
        for name in pool.resolution.catalog.iterate_names(verdict.types):
            size = pool.sizes.of_type(name)
            capacity, pods = size.capacity.get(resource), _pods_on(size, pod)
            best = max(best, limit * pods // capacity) if capacity and pods is not None else enough
            if best >= enough:
                break
        most = min(most, best)
    return most


def _pods_on(size: NodeSize, pod: Pod) -> int | None:
    """Return the most of these pods that fit on one node without DaemonSets. None if the node's size is not known."""
    counts = []
    for resource, amount in pod.requests.items():
        allocatable = size.allocatable.get(resource, 0)
        if allocatable is None:
            return None
        if amount > 0:
            counts.append(allocatable // amount)
    return min(counts, default=None)


def find_crowding(workload: Workload, pod: Pod, pools: Sequence[EmptyPool]) -> Crowding | None:
    """Return the first spread or anti-affinity for which the pools' nodes have too few domains; None if there is
    none.

    Unknown domains count as enough.
    """
    replicas = workload.node.find("spec", "replicas")
    count = replicas.value if replicas is not None else None
    if not isinstance(count, int) or not pools:
        return None
    for topology in pod.topologies:
        skew = topology.max_skew
        if topology.preferred or not counts_itself(workload, topology):
            continue
        if topology.what == ANTI_AFFINITY:
            found = _find_apart(topology, pod, pools, count)
            if found is not None:
                return found
            continue
        if not topology.min_domains or skew is None:
            continue
        domains = domains_of_pools(pod, pools, normalize(topology.key))
        if domains is None or len(domains) >= topology.min_domains or count <= len(domains) * skew:
            continue
        most = len(domains) * skew
        name = topology.key.rpartition("/")[2]
        brief = f"`minDomains: {topology.min_domains}` of {name}: the NodePools have {len(domains)}"
        text = (
            f"the NodePools that take its pods have {counted(len(domains), 'domain')} of `{topology.key}` "
            f"({', '.join(sorted(domains)[:3])}), fewer than `minDomains: {topology.min_domains}`, so each takes "
            f"{counted(skew, 'pod')}: {most} of {count} get a node"
        )
        return Crowding(
            topology.node, most, count, f"{brief}, and {most} of its {count} pods get a node", text, _FEWER
        )
    return None


def _find_apart(topology: TopologyKey, pod: Pod, pools: Sequence[EmptyPool], count: int) -> Crowding | None:
    """Return a Crowding if an anti-affinity has fewer domains than the workload has pods; None if there may be
    enough.
    """
    key = normalize(topology.key)
    is_known = key != HOSTNAME and not _is_about_elsewhere(topology)
    domains = domains_of_pools(pod, pools, key) if is_known else None
    if domains is None or len(domains) >= count:
        return None
    name, shown = topology.key.rpartition("/")[2], ", ".join(sorted(domains)[:3])
    brief = f"its pods keep apart by {name}: the NodePools have {len(domains)}"
    text = (
        f"the NodePools that take its pods have {counted(len(domains), 'domain')} of `{topology.key}` ({shown}), and "
        f"its anti-affinity allows 1 pod in each: {len(domains)} of {count} get a node"
    )
    advice = "let the pools have more of them, or prefer the anti-affinity instead of requiring it"
    return Crowding(
        topology.node,
        len(domains),
        count,
        f"{brief}, and {len(domains)} of its {count} pods get a node",
        text,
        advice,
    )


def domains_of_pools(pod: Pod, pools: Sequence[EmptyPool], key: str) -> set[str] | None:
    """Return the domains (label values) that the pools' nodes can have for a pod; None if they are not known."""
    found: set[str] = set()
    for pool in pools:
        for term in pod.terms or (None,):
            expressions = requirements_of(
                (*pod.selector, *(term.expressions if term is not None else ())), pool.release
            )
            domains = _domains_of(pool, key, expressions)
            if domains is None:
                return None
            found |= domains
    return found


def _domains_of(pool: EmptyPool, key: str, expressions: Requirements) -> set[str] | None:
    own = {r.key: r for r in pool.requirements}.get(key)
    values: set[str] | None = set(own.values) if own is not None and own.operator == "In" else None
    if values is None and key in expressions and expressions[key].operator == "In":
        values = set(expressions[key].values)
    zones = pool.resolution.zones if key == ZONE else None
    if values is None and zones is not None:
        values = set(zones)
    if values is None or pool.labels.any_key:
        return None
    checks = [r for r in (own, {r.key: r for r in expressions}.get(key)) if r is not None]
    return {value for value in values if all(check.admits(value) for check in checks)}


def counts_itself(workload: Workload, topology: TopologyKey) -> bool:
    """Return whether the label selector of a spread or an anti-affinity certainly matches the workload's own pods."""
    selector = topology.constraint.get("labelSelector") if topology.constraint is not None else None
    wanted = selector.get("matchLabels") if selector is not None else None
    metadata = workload.pod_metadata
    labels = metadata.get("labels") if metadata is not None else None
    if selector is None or wanted is None or labels is None or selector.get("matchExpressions") is not None:
        return False
    if not wanted.entries or any(not isinstance(entry.value.value, str) for entry in wanted.entries):
        return False
    own = {entry.name: entry.value.value for entry in labels.entries}
    return all(own.get(entry.name) == entry.value.value for entry in wanted.entries)


if TYPE_CHECKING:
    from nodelint.fit.attempt import PoolVerdict
    from nodelint.karpenter.resolve.node_size import NodeSize
