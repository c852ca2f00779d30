"""The cost of a tree's pods, packed as Karpenter packs one batch of pods onto NodePools without nodes.

Prices are on-demand prices. Unknown amounts are left out and listed, so that the total is a lower bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from nodelint.base.budget import RUN
from nodelint.base.tuples import NamedTuple
from nodelint.data import table
from nodelint.ec2.type_set import TypeSet
from nodelint.fit.crowding import counts_itself
from nodelint.fit.ignored import HOSTNAME
from nodelint.fit.packing import LaunchedNode, Packer, Packing, PodGroup, zone_spread
from nodelint.fit.pod_terms import ANTI_AFFINITY
from nodelint.fit.pods import Pod, pod_of
from nodelint.fit.pools import EmptyPool
from nodelint.fit.replicas import Replicas, Scalers
from nodelint.fit.tree import Tree, WorkloadFit
from nodelint.karpenter.resolve.node_size import Resources
from nodelint.model.keys import CAPACITY_TYPE, CPU, MEMORY
from nodelint.model.messages import counted
from nodelint.model.money import dollars

MOST_PODS = 50_000
"""The most pods that are packed onto nodes."""


class NodeCost(NamedTuple):
    """Nodes of one pool and one type: the cheapest on-demand type that can run the pods.

    `type` is None if no price is known. `price` is USD per hour for one node, with the fee of EKS Auto Mode. `spot`
    is the lowest possible spot price in USD per hour; None if it is not known. `cpu` is in vCPUs, `memory` in MiB.
    """

    pool: EmptyPool
    type: str | None
    price: float | None
    number: int
    cpu: int
    memory: int
    static: bool = False
    spot: float | None = None

    @property
    def least_price(self) -> float | None:
        """Return USD per hour for one node: the spot price if the pool allows spot and spot is cheaper.

        None if a price is not known.
        """
        if "spot" not in self.pool.resolution.capacity_types:
            return self.price
        return None if self.price is None or self.spot is None else min(self.price, self.spot)


class Bill(NamedTuple):
    """The nodes for a number of pods, and their cost.

    `requested_cpu` and the like are in billionths (1e-9) of a core or byte and include the DaemonSets. `shares` has
    USD per hour by workload id: the price of a node is divided by the requests of its pods. `left` has the number of
    pods without a node.
    """

    nodes: tuple[NodeCost, ...]
    pods: int
    requested_cpu: int
    requested_memory: int
    allocatable_cpu: int
    allocatable_memory: int
    shares: dict[int, float]
    left: dict[int, int]

    @property
    def node_count(self) -> int:
        """Return the number of nodes."""
        return sum(node.number for node in self.nodes)

    @property
    def unpriced(self) -> int:
        """Return the number of nodes whose price is not known."""
        return sum(node.number for node in self.nodes if node.price is None)

    @property
    def hourly(self) -> float:
        """Return USD per hour for all nodes whose price is known."""
        return sum(node.price * node.number for node in self.nodes if node.price is not None)

    @property
    def least_hourly(self) -> float | None:
        """Return USD per hour if pools that allow spot run on spot; None if the price of a node is not known."""
        prices = [(node.least_price, node.number) for node in self.nodes]
        known = [price * number for price, number in prices if price is not None]
        return sum(known) if len(known) == len(prices) else None

    @property
    def cpus(self) -> int:
        """Return the vCPUs of all nodes whose type is known."""
        return sum(node.cpu * node.number for node in self.nodes)

    @property
    def memory_mib(self) -> int:
        """Return the memory in MiB of all nodes whose type is known."""
        return sum(node.memory * node.number for node in self.nodes)

    @property
    def idle(self) -> tuple[float, float] | None:
        """Return the unrequested fractions of the allocatable CPU and memory; None if no allocatable amount
        is known.
        """
        if not self.allocatable_cpu or not self.allocatable_memory:
            return None
        return (
            1 - self.requested_cpu / self.allocatable_cpu,
            1 - self.requested_memory / self.allocatable_memory,
        )


class WorkloadCost(NamedTuple):
    """A workload whose pods are packed, and the bounds on its number of pods."""

    fit: WorkloadFit
    replicas: Replicas


class FleetCost(NamedTuple):
    """The cost of a tree with the fewest and with the most pods.

    `least` and `most` are None if nothing could be packed. `not_counted` are reasons why the amounts are lower
    bounds; `left_out` are the reasons among these that concern whole workloads. `notes` name costs that are excluded
    by design.
    """

    workloads: tuple[WorkloadCost, ...]
    least: Bill | None
    most: Bill | None
    not_counted: tuple[str, ...]
    notes: tuple[str, ...]
    price_region: str
    price_date: str | None
    left_out: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Return whether every fact that decides the cost is known."""
        return not self.not_counted


def cost_of(tree: Tree, fits: Sequence[WorkloadFit]) -> FleetCost:
    """Return the cost of all workloads of a tree together."""
    counted_workloads, not_counted = _choose(tree, fits)
    left_out = tuple(not_counted)
    wanted = [sum(workload.replicas.most or 0 for workload in counted_workloads)]
    not_counted += _say_static(tree.pools)
    least = most = None
    if wanted[0] > MOST_PODS:
        not_counted.append(f"{wanted[0]:,} pods are more than {MOST_PODS:,}: they are not packed")
    elif not RUN.is_over():
        least = _bill(tree, counted_workloads, [workload.replicas.least or 0 for workload in counted_workloads])
        same = all(workload.replicas.least == workload.replicas.most for workload in counted_workloads)
        most = least if same else _bill(tree, counted_workloads, [w.replicas.most or 0 for w in counted_workloads])
    else:
        not_counted.append("the time of the run is over")
    region, date = _prices_of(tree.pools)
    if most is not None and most.unpriced:
        not_counted.append(f"the prices of {counted(most.unpriced, 'node')}")
    if most is not None and most.left:
        pods = sum(most.left.values())
        not_counted.append(f"{counted(pods, 'pod')} that no node is launched for, as limits or other pods forbid it")
    notes = _notes(tree, counted_workloads, most)
    not_counted += _say_types(most) if most is not None else ()
    not_counted += _say_not_packed(counted_workloads)
    return FleetCost(tuple(counted_workloads), least, most, tuple(not_counted), tuple(notes), region, date, left_out)


def _choose(tree: Tree, fits: Sequence[WorkloadFit]) -> tuple[list[WorkloadCost], list[str]]:
    """Return the workloads that can be packed, and a reason for each group of the others."""
    scalers = Scalers(tree.objects)
    found: list[WorkloadCost] = []
    reasons: dict[str, list[str]] = {}
    for fit in fits:
        if fit.workload.is_daemon or (fit.ignored is not None and fit.ignored.on_purpose):
            continue
        replicas = scalers.replicas_of(fit.workload)
        why = _why_left_out(fit, replicas)
        if why is None:
            bounds = replicas._replace(least=0) if fit.elsewhere or fit.static_pools else replicas
            found.append(WorkloadCost(fit, bounds))
        else:
            reasons.setdefault(why, []).append(fit.workload.label)
    return found, [
        f"{counted(len(names), 'workload')} ({', '.join(names[:3])}{', …' if len(names) > 3 else ''}): {why}"
        for why, names in reasons.items()
    ]


def _why_left_out(fit: WorkloadFit, replicas: Replicas) -> str | None:
    """Return why the pods of a workload are not packed; None if they are."""
    if not fit.verdicts:
        return fit.unknown[0].reason if fit.unknown else "no NodePool is near to it"
    if fit.admission is not None and not any(verdict.fits for verdict in fit.verdicts):
        return "a NodePool accepts the pods only with what the API server adds to them"
    if not any(verdict.fits for verdict in fit.verdicts):
        return "left to the nodes of a static pool" if fit.static_pools else "no NodePool certainly accepts the pods"
    if fit.unknown:
        return fit.unknown[0].reason
    return replicas.why if replicas.least is None else None


def _bill(tree: Tree, workloads: Sequence[WorkloadCost], counts: Sequence[int]) -> Bill:
    groups = []
    for workload, count in zip(workloads, counts, strict=True):
        pod = pod_of(workload.fit.workload)
        pools = [verdict.pool for verdict in workload.fit.verdicts if verdict.fits]
        if pod is not None and count:
            volumes = tree.volumes.alternatives(workload.fit.workload, pools[0].release)
            groups.append(PodGroup(workload.fit.workload, pod, count, pools, volumes))
    daemons = {id(pool): tree.daemon_groups(pool, None) for pool in tree.pools}
    return _Reckoning(tree, Packer(daemons).pack(groups)).bill()


class _Reckoning:
    """Computes the instance types and prices of packed nodes."""

    def __init__(self, tree: Tree, packing: Packing) -> None:
        self._tree = tree
        self._packing = packing
        self._requested = [0, 0]
        self._allocatable = [0, 0]
        self._shares: dict[int, float] = {}

    def bill(self) -> Bill:
        """Return the bill for the packed nodes."""
        lines: dict[tuple[int, str | None, float | None], NodeCost] = {}
        for node in self._packing.nodes:
            price, name = cheapest_node(node.pool, node)
            spot = _spot_price(node.pool, node.types)
            key = id(node.pool), name, spot
            if key in lines:
                lines[key] = lines[key]._replace(number=lines[key].number + 1)
            else:
                lines[key] = NodeCost(node.pool, name, price, 1, *_size_of(node.pool, name), spot=spot)
            if name is not None and price is not None:
                self._divide(node, name, price)
        pods = sum(node.pods for node in self._packing.nodes)
        left = {id(self._packing.groups[place].workload): count for place, count in self._packing.left.items()}
        ordered = sorted(lines.values(), key=lambda line: (str(line.pool.name), str(line.type)))
        nodes = (*ordered, *_static_nodes(self._tree.pools))
        (cpu, memory), (whole_cpu, whole_memory) = self._requested, self._allocatable
        return Bill(nodes, pods, cpu, memory, whole_cpu, whole_memory, self._shares, left)

    def _divide(self, node: LaunchedNode, name: str, price: float) -> None:
        """Divide the price of a node among its pods, each by the resource of which it requests the largest
        fraction.
        """
        allocatable = node.pool.sizes.of_type(name).allocatable
        whole = [allocatable.get(resource) or 0 for resource in ("cpu", "memory")]
        parts = {}
        for place, count in node.groups.items():
            requests = self._packing.groups[place].pod.requests
            amounts = [requests.get(resource, 0) for resource in ("cpu", "memory")]
            parts[place] = count * max((a / w for a, w in zip(amounts, whole, strict=True) if w), default=0.0)
        total = sum(parts.values())
        for place, part in parts.items():
            share = part / total if total else node.groups[place] / node.pods
            workload = id(self._packing.groups[place].workload)
            self._shares[workload] = self._shares.get(workload, 0.0) + price * share
        only = node.pool.resolution.catalog.only(name)
        groups = self._tree.daemon_groups(node.pool, None)
        daemons: Resources = next((group.requests for group in groups if group.types & only), {})
        for number, resource in enumerate(("cpu", "memory")):
            self._requested[number] += node.requests.get(resource, 0) + daemons.get(resource, 0)
            self._allocatable[number] += whole[number]


def cheapest_node(pool: EmptyPool, node: LaunchedNode | None = None) -> tuple[float | None, str | None]:
    """Return USD per hour and the name of the cheapest type for a node, or for the whole pool without a node.

    (None, None) if no price is known.
    """
    resolution = pool.resolution
    types = (node.types if node is not None else pool.candidates) & resolution.launchable
    found = resolution.prices.cheapest_type(types)
    return (None, None) if found is None else (found[0] * (1 + surcharge_of(pool)), found[1])


def _spot_price(pool: EmptyPool, types: TypeSet) -> float | None:
    """Return the lowest spot price of the types in USD per hour; None if the pool has no spot, or no price
    is known.
    """
    resolution = pool.resolution
    if "spot" not in resolution.capacity_types:
        return None
    price = resolution.prices.least_spot(types & resolution.launchable)
    fee = surcharge_of(pool) * (cheapest_node(pool)[0] or 0.0) / (1 + surcharge_of(pool))
    return None if price is None else price + fee


def surcharge_of(pool: EmptyPool) -> float:
    """Return the fee of EKS Auto Mode as a fraction of the on-demand price; 0 for other pools."""
    part: float = table("auto_mode")["fee"]["part"] if pool.is_of_auto_mode else 0.0
    return part


def _size_of(pool: EmptyPool, name: str | None) -> tuple[int, int]:
    """Return the vCPUs and the memory in MiB of a type. An unknown amount is 0."""
    labels = [pool.resolution.catalog.label(name, key) if name is not None else None for key in (CPU, MEMORY)]
    cpu, memory = (int(label) if label is not None and label.isdigit() else 0 for label in labels)
    return cpu, memory


def _static_nodes(pools: Iterable[EmptyPool]) -> Iterator[NodeCost]:
    """Yield the nodes of static pools, each of the cheapest type of its pool."""
    for pool in pools:
        count = _static_count(pool)
        if count:
            price, name = cheapest_node(pool)
            spot = _spot_price(pool, pool.candidates)
            yield NodeCost(pool, name, price, count, *_size_of(pool, name), static=True, spot=spot)


def _static_count(pool: EmptyPool) -> int | None:
    """Return the number of nodes of a static pool. None if it is not known, or if the pool is not static."""
    replicas = pool.pool.node.find("spec", "replicas") if pool.pool.static else None
    value = replicas.value if replicas is not None else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _say_static(pools: Iterable[EmptyPool]) -> list[str]:
    unknown = [str(pool.name) for pool in pools if pool.pool.static and _static_count(pool) is None]
    return [f"the number of nodes of static pool {name}" for name in unknown]


def _prices_of(pools: Sequence[EmptyPool]) -> tuple[str, str | None]:
    """Return the region whose prices are used, and the date of these prices."""
    resolution = pools[0].resolution if pools else None
    if resolution is None:
        return "us-east-1", None
    region = resolution.prices.region
    return resolution.catalog.prices.region_for(region), resolution.catalog.prices.date(region)


def _notes(tree: Tree, workloads: Sequence[WorkloadCost], bill: Bill | None) -> Iterator[str]:
    """Yield the notes about the prices and about costs that are not included."""
    used = {id(node.pool): node.pool for node in bill.nodes} if bill is not None else {}
    region = tree.pools[0].resolution.prices.region if tree.pools else None
    if region is not None and tree.pools[0].resolution.catalog.prices.region_for(region) != region:
        yield f"no prices are known of {region}: those of us-east-1 stand in for them; `nodelint refresh` asks"
    spot = sorted({str(pool.name) for pool in used.values() if "spot" in pool.resolution.capacity_types})
    if spot:
        names = ", ".join(spot[:3]) + (", …" if len(spot) > 3 else "")
        least = bill.least_hourly if bill is not None else None
        if least is None:
            yield f"spot prices are not known: nodes of {names} may be spot and then cost less"
        else:
            yield (
                f"nodes of {names} may be spot: at the least spot price of each, all nodes cost {dollars(least)} an"
                " hour, but Karpenter prefers types with capacity to those with the least price"
            )
    reserved = [p for p in used.values() if "reserved" in p.resolution.folded.get(CAPACITY_TYPE).values]
    if reserved:
        yield "capacity reservations are paid whether they are used or not: their nodes count as on demand"
    if any(pool.is_of_auto_mode for pool in used.values()):
        fee = table("auto_mode")["fee"]
        yield f"the fee of EKS Auto Mode counts as {fee['part']:.0%} of the price on demand ({fee['date']})"
    idle = [w for w in workloads if not _asks(w.fit)]
    if idle:
        yield (
            f"{counted(len(idle), 'workload')} without requests for CPU and memory: such pods weigh nothing here, as "
            "for Karpenter"
        )
    scaled = [w for w in workloads if w.replicas.least != w.replicas.most]
    if scaled:
        reasons = dict.fromkeys(w.replicas.why or _where_else(w.fit) for w in scaled)
        shown = ", ".join([*reasons][:3]) + (", …" if len(reasons) > 3 else "")
        yield f"{counted(len(scaled), 'workload')} with bounds for the number of pods ({shown})"
    yield (
        "not included: savings plans and other discounts, volumes, traffic, the control plane, nodes that are there, "
        "and what consolidation saves"
    )


def _where_else(fit: WorkloadFit) -> str:
    return f"nodes of {'a node group' if fit.elsewhere else 'a static pool'} may take its pods"


def _asks(fit: WorkloadFit) -> bool:
    pod = pod_of(fit.workload)
    return pod is not None and any(pod.requests.get(resource) for resource in ("cpu", "memory"))


def _say_types(bill: Bill) -> list[str]:
    """Return a reason that names the pools whose set of instance types is not fully known.

    The unknown requirements can only remove types.
    """
    names = sorted({str(node.pool.name) for node in bill.nodes if not node.pool.resolution.complete})
    shown = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
    return [f"which of the types of {shown} are left by what is not known of it"] if names else []


def _say_not_packed(workloads: Sequence[WorkloadCost]) -> list[str]:
    """Return reasons about topology spreads and affinities that packing ignores: they can only need more nodes.

    The last reason names pools whose allocatable resources are not exact.
    """
    found: dict[str, int] = {}
    exact = True
    for workload in workloads:
        pod = pod_of(workload.fit.workload)
        pools = [verdict.pool for verdict in workload.fit.verdicts if verdict.fits]
        exact = exact and all(pool.sizes.exact for pool in pools)
        if pod is None:
            continue
        group = PodGroup(workload.fit.workload, pod, 1, pools)
        for key in dict.fromkeys(_unpacked_keys(group, pod)):
            found[key] = found.get(key, 0) + 1
    reasons = [
        f"{counted(number, 'workload')} with a spread or affinity over `{key}`, which can take more nodes"
        for key, number in found.items()
    ]
    return reasons if exact else [*reasons, "how much of a node pods can use is not known of all pools"]


def _unpacked_keys(group: PodGroup, pod: Pod) -> Iterator[str]:
    for topology in pod.topologies:
        by_node = topology.key == HOSTNAME and (topology.is_spread or topology.what == ANTI_AFFINITY)
        if by_node and counts_itself(group.workload, topology):
            continue
        if topology.preferred and not topology.is_spread:
            continue
        if zone_spread(group, topology) is None:
            yield topology.key
