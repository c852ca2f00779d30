"""A second scheduler, of plain values and loops, that shares nothing with nodelint but the facts about EC2.

Written from Karpenter core and its AWS provider at v1.14.1: pkg/scheduling, scheduler.go, nodeclaim.go and
preferences.go of pkg/controllers/provisioning/scheduling, pkg/utils/resources, and types.go of
pkg/providers/instancetype. Every type is in every zone of `ZONES`, spot and on demand. Amounts are fractions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

from nodelint.ec2.catalog import Catalog
from nodelint.model.requirement import well_known

AWS = "karpenter.k8s.aws/"
TYPE, ZONE = "node.kubernetes.io/instance-type", "topology.kubernetes.io/zone"
CAPACITY_TYPE, ARCH, OS = "karpenter.sh/capacity-type", "kubernetes.io/arch", "kubernetes.io/os"
BUILD, NODE_POOL = "node.kubernetes.io/windows-build", "karpenter.sh/nodepool"
ZONES = tuple(f"us-east-1{letter}" for letter in "abcdef")
KNOWN = well_known()
RESERVATIONS = [f"{AWS}capacity-reservation-{part}" for part in ("id", "type", "interruptible")]
ALIASES = {
    "failure-domain.beta.kubernetes.io/zone": ZONE,
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "topology.ebs.csi.aws.com/zone": ZONE,
    "beta.kubernetes.io/arch": ARCH,
    "beta.kubernetes.io/os": OS,
    "beta.kubernetes.io/instance-type": TYPE,
}
MAX = 2**63 - 1
MIB = 2**20
NEGATIVE = ("NotIn", "DoesNotExist")

Asked = dict[str, "Wish"]
Amounts = dict[str, Fraction]


class Wish(NamedTuple):
    """What is asked of a label: the values named, whether they are those excluded, inclusive bounds, minValues."""

    excludes: bool
    values: frozenset[str]
    least: int | None = None
    most: int | None = None
    variety: int | None = None

    @property
    def operator(self) -> str:
        if self.excludes:
            return "NotIn" if self.values else "Exists"
        return "In" if self.values else "DoesNotExist"

    def both(self, other: Wish) -> Wish:
        variety = higher(self.variety, other.variety)
        least, most = higher(self.least, other.least), lower(self.most, other.most)
        if least is not None and most is not None and least > most:
            return Wish(False, frozenset(), variety=variety)
        if self.excludes and other.excludes:
            contents = {value for value in self.values | other.values if inside(value, least, most)}
            return Wish(True, frozenset(contents), least, most, variety)
        named = self.values if not self.excludes else other.values
        return Wish(
            False, frozenset(value for value in named if self.has(value) and other.has(value)), variety=variety
        )

    def has(self, value: str) -> bool:
        return (value in self.values) != self.excludes and inside(value, self.least, self.most)

    def shares(self, other: Wish) -> bool:
        found = self.both(other)
        return found.excludes or bool(found.values)


def higher(a: int | None, b: int | None) -> int | None:
    return max((value for value in (a, b) if value is not None), default=None)


def lower(a: int | None, b: int | None) -> int | None:
    return min((value for value in (a, b) if value is not None), default=None)


def number(text: str) -> int | None:
    found = int(text) if re.fullmatch(r"[+-]?[0-9]+", text) else None
    return found if found is not None and -MAX - 1 <= found <= MAX else None


def inside(value: str, least: int | None, most: int | None) -> bool:
    if least is None and most is None:
        return True
    found = number(value)
    return found is not None and (least is None or found >= least) and (most is None or found <= most)


def wish(operator: str, values: Sequence[str] = (), variety: int | None = None) -> Wish:
    if operator in ("In", "NotIn"):
        return Wish(operator == "NotIn", frozenset(values), variety=variety)
    if operator not in ("Gt", "Lt", "Gte", "Lte"):
        return Wish(operator == "Exists", frozenset(), variety=variety)
    bound = number(values[0]) or 0
    if operator == "Gt" and bound == MAX:
        return Wish(False, frozenset())
    if operator in ("Gt", "Gte"):
        return Wish(True, frozenset(), bound + (operator == "Gt"), None, variety)
    return Wish(True, frozenset(), None, bound - (operator == "Lt"), variety)


def gather(*more: Iterable[tuple[str, Wish]]) -> Asked:
    found: Asked = {}
    for key, entry in (pair for pairs in more for pair in pairs):
        found[key] = found[key].both(entry) if key in found else entry
    return found


def of_labels(labels: dict[str, str]) -> list[tuple[str, Wish]]:
    return [(ALIASES.get(key, key), wish("In", [value])) for key, value in labels.items()]


def of_lines(lines: Iterable[dict[str, Any]]) -> list[tuple[str, Wish]]:
    return [
        (ALIASES.get(e["key"], e["key"]), wish(e["operator"], e.get("values", ()), e.get("minValues"))) for e in lines
    ]


def intersects(ours: Asked, theirs: Asked) -> bool:
    pairs = [(ours[key], theirs[key]) for key in ours.keys() & theirs.keys()]
    return all(a.shares(b) or (a.operator in NEGATIVE and b.operator in NEGATIVE) for a, b in pairs)


def compatible(ours: Asked, theirs: Asked) -> bool:
    defined = all(key in KNOWN or key in ours or value.operator in NEGATIVE for key, value in theirs.items())
    return defined and intersects(ours, theirs)


OFFERS = [
    gather(of_labels({ZONE: zone, CAPACITY_TYPE: kind}), ((key, wish("DoesNotExist")) for key in RESERVATIONS))
    for zone, kind in product(ZONES, ("spot", "on-demand"))
]
UNITS = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12}


def amount(written: object) -> Fraction:
    found = re.fullmatch(r"([0-9.]+)([eE][0-9]+)?([A-Za-z]*)", str(written))
    assert found is not None, written
    digits, exponent, unit = found.groups()
    size = Fraction(1024) ** ("KMGT".index(unit[0]) + 1) if unit.endswith("i") else Fraction(10) ** UNITS[unit]
    return Fraction(digits) * Fraction(10) ** int(exponent[1:] if exponent else 0) * size


def amounts(written: dict[str, object] | None) -> Amounts:
    return {resource: amount(value) for resource, value in (written or {}).items()}


def add(total: Amounts, more: Amounts) -> Amounts:
    for resource, entry in more.items():
        total[resource] = total.get(resource, Fraction(0)) + entry
    return total


class NodeType:
    """An instance type under a class: its labels, what it has, what pods can use of it, whether it is offered."""

    def __init__(self, name: str, spec: dict[str, Any], family: str, catalog: Catalog) -> None:
        self.name = name
        windows = family.startswith("Windows")
        written = {key: value for key in catalog.keys if (value := catalog.label(name, key)) is not None}
        absent = catalog.keys | {*RESERVATIONS, BUILD}
        self.labels = {key: wish("In", [written[key]] if key in written else []) for key in absent}
        systems = ["linux"] if not windows else ["windows"] if written[ARCH] == "amd64" else []
        self.labels |= {OS: wish("In", systems), ZONE: wish("In", ZONES), BUILD: wish("In", BUILDS.get(family, []))}
        self.labels[CAPACITY_TYPE] = wish("In", ["spot", "on-demand"])
        self.labels[f"{AWS}instance-tenancy"] = wish("In", ["default", "dedicated"])
        self.offered = not (family == "AL2023" and name.startswith("a1."))
        kubelet, published = spec.get("kubelet", {}), catalog.resources.amounts(name)
        cpus, arm = int(written[f"{AWS}instance-cpu"]), written[ARCH] == "arm64"
        pods = kubelet.get("maxPods", 110 if windows else int(published["pods"]))
        if "podsPerCore" in kubelet and family != "Bottlerocket":
            pods = min(pods, kubelet["podsPerCore"] * cpus)
        mebibytes = int(written[f"{AWS}instance-memory"]) - 64 * arm
        mebibytes -= math.ceil(mebibytes * MIB * 0.075 / 1024 / 1024)
        self.has: Amounts = {device: amount(published.get(device, 0)) for device in DEVICES}
        self.has |= {"cpu": Fraction(cpus), "memory": Fraction(mebibytes * MIB), "pods": Fraction(pods)}
        self.has["ephemeral-storage"] = storage(spec, family, written.get(f"{AWS}instance-local-nvme"))
        counted = pods if windows or family == "Bottlerocket" else int(published["pods"])
        reserved: Amounts = {"cpu": reserved_cpus(cpus), "memory": Fraction((11 * counted + 255) * MIB)}
        reserved["ephemeral-storage"] = Fraction(2**30)
        reserved |= amounts(kubelet.get("kubeReserved"))
        add(reserved, amounts(kubelet.get("systemReserved")))
        add(reserved, evicted(self.has, kubelet.get("evictionHard", {})))
        self.usable = {value: has - reserved.get(value, 0) for value, has in self.has.items()}

    def holds(self, requests: Amounts) -> bool:
        room = all(value <= self.usable.get(resource, 0) for resource, value in requests.items())
        return room and min(self.usable.values()) >= 0


BUILDS = {"Windows2022": ["10.0.20348"]}
DEVICES = ["nvidia.com/gpu", "amd.com/gpu", "aws.amazon.com/neuron", "vpc.amazonaws.com/efa"]
VOLUMES = {"Bottlerocket": ("/dev/xvdb", 20), "Windows2022": ("/dev/sda1", 50), "AL2023": ("/dev/xvda", 20)}


def storage(spec: dict[str, Any], family: str, disks: str | None) -> Fraction:
    if spec.get("instanceStorePolicy") == "RAID0" and disks is not None:
        return amount(f"{disks}G")
    mappings = spec.get("blockDeviceMappings", [])
    sizes = [mapping["ebs"]["volumeSize"] for mapping in mappings if mapping.get("rootVolume")]
    device, usual = VOLUMES.get(family, (None, 20))
    sizes += [mapping["ebs"]["volumeSize"] for mapping in mappings if device == mapping["deviceName"]]
    sizes += [mapping["ebs"]["volumeSize"] for mapping in mappings[-1:] if device is None]
    return amount(sizes[0]) if sizes else amount(f"{usual}Gi")


def reserved_cpus(cpus: int) -> Fraction:
    slices = ((0, 1000, 0.06), (1000, 2000, 0.01), (2000, 4000, 0.005), (4000, 2**31, 0.0025))
    parts = [int(float(min(1000 * cpus, end) - begin) * part) for begin, end, part in slices if 1000 * cpus >= begin]
    return Fraction(sum(parts), 1000)


def evicted(has: Amounts, thresholds: dict[str, str]) -> Amounts:
    found = {"memory": Fraction(100 * MIB), "ephemeral-storage": Fraction(0)}
    found["ephemeral-storage"] = Fraction(math.ceil(float(math.ceil(has["ephemeral-storage"])) / 100 * 10))
    for signal, resource in (("memory.available", "memory"), ("nodefs.available", "ephemeral-storage")):
        stated = thresholds.get(signal)
        if stated is not None and stated.endswith("%"):
            percent = 0.0 if float(stated[:-1]) == 100 else float(stated[:-1])
            found[resource] = Fraction(math.ceil(float(has[resource]) / 100 * percent))
        elif stated is not None:
            found[resource] = amount(stated)
    return found


def of_container(container: dict[str, Any]) -> Amounts:
    stated = container.get("resources", {})
    return amounts({**stated.get("limits", {}), **stated.get("requests", {})})


def of_pods(*specs: dict[str, Any]) -> Amounts:
    total: Amounts = {}
    for spec in specs:
        add(total, _of_pod(spec))
    return {**total, "pods": Fraction(len(specs))}


def _of_pod(spec: dict[str, Any]) -> Amounts:
    total: Amounts = {}
    for container in spec["containers"]:
        add(total, of_container(container))
    others: Amounts = {}
    peaks: Amounts = {}
    for container in spec.get("initContainers", []):
        requested = of_container(container)
        if container.get("restartPolicy") == "Always":
            add(total, requested)
            add(others, requested)
            requested = {}
        for resource, entry in add(dict(requested), others).items():
            peaks[resource] = max(peaks.get(resource, entry), entry)
    for resource, peak in peaks.items():
        total[resource] = max(total.get(resource, peak), peak)
    stated = spec.get("resources", {})
    whole = {**amounts(stated.get("limits")), **({k: v for k, v in total.items() if k in ("cpu", "memory")})}
    if stated:
        total |= {**whole, **amounts(stated.get("requests"))}
    return add(total, amounts(spec.get("overhead")))


def ports(spec: dict[str, Any]) -> list[tuple[str, int, str]]:
    written = [port for container in spec["containers"] for port in container.get("ports", [])]
    on_node = [(e, e.get("hostPort") or (e["containerPort"] if spec.get("hostNetwork") else 0)) for e in written]
    return [(e.get("hostIP", "0.0.0.0"), port, e.get("protocol", "TCP")) for e, port in on_node if port]


def collide(ours: Sequence[tuple[str, int, str]], theirs: Sequence[tuple[str, int, str]]) -> bool:
    return any(a[1:] == b[1:] and (a[0] == b[0] or "0.0.0.0" in (a[0], b[0])) for a, b in product(ours, theirs))


def tolerated(taint: dict[str, Any], tolerations: Iterable[dict[str, Any]]) -> bool:
    return any(
        toleration.get("effect", taint["effect"]) == taint["effect"]
        and toleration.get("key", taint["key"]) == taint["key"]
        and (toleration.get("operator") == "Exists" or toleration.get("value", "") == taint.get("value", ""))
        for toleration in tolerations
    )


def terms(spec: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    affinity = spec.get("affinity", {}).get("nodeAffinity", {})
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {}).get("nodeSelectorTerms", [{}])
    preferred = affinity.get("preferredDuringSchedulingIgnoredDuringExecution", [])
    return required, [entry["preference"] for entry in sorted(preferred, key=lambda value: -value["weight"])]


def gather_pod(spec: dict[str, Any], *chosen: dict[str, Any]) -> Asked:
    return gather(
        of_labels(spec.get("nodeSelector", {})), *(of_lines(item.get("matchExpressions", [])) for item in chosen)
    )


def ignored(spec: dict[str, Any]) -> bool:
    """Whether the provisioner refuses to look at a pod: `Validate` of provisioner.go."""
    required, preferred = terms(spec)
    first = gather_pod(spec, required[0], *preferred[:1])
    if NODE_POOL in first and first[NODE_POOL].operator == "DoesNotExist":
        return True
    lines = [line for term in required for line in term.get("matchExpressions", [])]
    lines += [
        {"key": key, "operator": "In", "values": [value]} for key, value in spec.get("nodeSelector", {}).items()
    ]
    return any(_refused(ALIASES.get(e["key"], e["key"]), e["operator"], e.get("values", ())) for e in lines)


def _refused(key: str, operator: str, values: Sequence[str]) -> bool:
    own = re.match(r"(.*\.)?karpenter\.(sh|k8s\.aws)/", key) is not None or key == "kubernetes.io/hostname"
    unknown = key == CAPACITY_TYPE and operator == "In" and not {"spot", "on-demand", "reserved"} & set(values)
    bound = number(values[0]) if operator in ("Gt", "Lt") else 0
    return (own and key not in KNOWN) or unknown or bound is None or bound < 0


class Answer(NamedTuple):
    """Why a pool does not take a pod, in one word, or the types that hold it."""

    reason: str | None
    types: tuple[str, ...] = ()


class Group(NamedTuple):
    """Types on which the same daemons run."""

    types: list[NodeType]
    requests: Amounts
    ports: list[tuple[str, int, str]]


class ModelPool:
    """A NodePool without nodes, and the daemons of its cluster."""

    def __init__(self, pool: dict[str, Any], types: Sequence[NodeType], daemons: Sequence[dict[str, Any]]) -> None:
        self.limits = amounts(pool["spec"].get("limits"))
        template = pool["spec"]["template"]
        self.taints = template["spec"].get("taints", [])
        labels = {**template.get("metadata", {}).get("labels", {}), NODE_POOL: pool["metadata"]["name"]}
        labels[f"{AWS}ec2nodeclass"] = template["spec"]["nodeClassRef"]["name"]
        labels |= {"karpenter.sh/registered": "true", "karpenter.sh/initialized": "true"}
        self.asked = gather(of_lines(template["spec"]["requirements"]), of_labels(labels))
        found = choose([Group(list(types), {}, [])], types, self.asked, [], {})
        self.types = [instance_type for instance_type in types if instance_type.name in found.types]
        self.groups = list(self._groups(daemons))
        self.asked["kubernetes.io/hostname"] = wish("In", ["placeholder"])

    def _groups(self, daemons: Sequence[dict[str, Any]]) -> Iterator[Group]:
        by_daemons: dict[tuple[int, ...], list[NodeType]] = {}
        runs = [self._running(daemon) for daemon in daemons]
        for instance_type in self.types:
            by_daemons.setdefault(tuple(n for n, names in enumerate(runs) if instance_type.name in names), []).append(
                instance_type
            )
        for running, types in by_daemons.items():
            specs = [daemons[n] for n in running]
            yield Group(types, of_pods(*specs), [port for spec in specs for port in ports(spec)])

    def _running(self, daemon: dict[str, Any]) -> set[str]:
        """The types that a daemon runs on, in whatever order and how often they come.

        Each takes from it the terms, less the last, that it does not meet: `isDaemonPodCompatible`.
        """
        hard = [taint for taint in self.taints if taint["effect"] != "PreferNoSchedule"]
        if not all(tolerated(taint, daemon.get("tolerations", [])) for taint in hard):
            return set()
        requested = [gather_pod(daemon, term) for term in terms(daemon)[0]]
        for requirements_of_term in requested:
            found = {
                e.name
                for e in self.types
                if compatible(self.asked, requirements_of_term) and intersects(e.labels, requirements_of_term)
            }
            if requirements_of_term is requested[-1] or len(found) == len(self.types):
                return found
        return set()

    def take(self, spec: dict[str, Any]) -> Answer:
        """What becomes of a pod: relaxed until some types hold it, or nothing is left to relax."""
        if ignored(spec) or not self.types:
            return Answer("requirements")
        left = [e for e in self.types if all(e.has.get(k, 0) <= most for k, most in self.limits.items())]
        if self.limits.get("nodes") == 0 or not left:
            return Answer("limits")
        required, preferred = terms(spec)
        tolerations = list(spec.get("tolerations", []))
        soft = {"operator": "Exists", "effect": "PreferNoSchedule"}
        while True:
            found = self._attempt(spec, gather_pod(spec, required[0], *preferred[:1]), tolerations, left)
            if found.reason is None:
                return found
            if len(required) > 1:
                required = required[1:]
            elif preferred:
                preferred = preferred[1:]
            elif soft not in tolerations:
                tolerations.append(soft)
            else:
                return found

    def _attempt(
        self, spec: dict[str, Any], requested: Asked, tolerations: list[Any], left: Sequence[NodeType]
    ) -> Answer:
        if not all(tolerated(taint, tolerations) for taint in self.taints):
            return Answer("taint")
        if not compatible(self.asked, requested):
            return Answer("requirements")
        return choose(self.groups, left, gather(self.asked.items(), requested.items()), ports(spec), of_pods(spec))


def choose(
    groups: Iterable[Group], left: Sequence[NodeType], requested: Asked, taken: list[Any], requests: Amounts
) -> Answer:
    """`filterInstanceTypesByRequirements`, and the first word of what `InstanceTypeFilterError` says."""
    offer = any(compatible(requested, node_type) for node_type in OFFERS)
    seen = set()
    chosen = []
    for group in groups:
        if collide(taken, group.ports):
            continue
        total = add(dict(requests), group.requests)
        for node_type in (requirement for requirement in group.types if requirement in left):
            offered = offer and node_type.offered
            met = (intersects(node_type.labels, requested), offered and node_type.holds(total), offered)
            seen.add(met)
            if all(met):
                chosen.append(node_type)
    for key, requirement in requested.items():
        values = {value for node_type in chosen if key in node_type.labels for value in node_type.labels[key].values}
        if chosen and requirement.variety is not None and len(values) < requirement.variety:
            return Answer("minValues")
    if chosen:
        return Answer(None, tuple(node_type.name for node_type in chosen))
    words = ("requirements", "resources", "offering")
    missing = [word for n, word in enumerate(words) if not any(met[n] for met in seen)]
    if missing:
        return Answer(missing[0])
    return Answer("resources" if (False, True, True) in seen else "requirements")


class ModelNode(NamedTuple):
    """A node that is to be launched: its pool, what is asked of it, the types that hold its pods, and these."""

    pool: int
    requested_labels: Asked
    types: tuple[str, ...]
    pods: tuple[int, ...]


def pack(pools: Sequence[ModelPool], specs: Sequence[dict[str, Any]]) -> list[ModelNode]:
    """The nodes for all pods of one batch, by `Solve` of scheduler.go; `pools` in the order of their weights."""
    sizes = [of_pods(spec) for spec in specs]
    order = sorted(range(len(specs)), key=lambda n: [-sizes[n].get(r, Fraction(0)) for r in ("cpu", "memory")])
    nodes: list[ModelNode] = []
    remaining = [dict(pool.limits) for pool in pools]
    for number in order:
        if not ignored(specs[number]):
            _put(number, pools, specs, nodes, remaining)
    return nodes


def _put(
    number: int,
    pools: Sequence[ModelPool],
    specs: Sequence[dict[str, Any]],
    nodes: list[ModelNode],
    remaining: list[Amounts],
) -> None:
    required, preferred = terms(specs[number])
    tolerations = list(specs[number].get("tolerations", []))
    soft = {"operator": "Exists", "effect": "PreferNoSchedule"}
    while True:
        requested = gather_pod(specs[number], required[0], *preferred[:1])
        nodes.sort(key=lambda node: len(node.pods))
        fresh = [ModelNode(n, pool.asked, _within(pool, remaining[n]), ()) for n, pool in enumerate(pools)]
        for place, node in enumerate([*nodes, *fresh]):
            pool = pools[node.pool]
            tolerates = all(tolerated(taint, tolerations) for taint in pool.taints)
            if not tolerates or not node.types or not compatible(node.requested_labels, requested):
                continue
            requested_labels = gather(node.requested_labels.items(), requested.items())
            own = [specs[pod] for pod in (*node.pods, number)]
            taken = [port for spec in own[:-1] for port in ports(spec)]
            if collide(ports(own[-1]), taken):
                continue
            left = [node_type for node_type in pool.types if node_type.name in node.types]
            found = choose(pool.groups, left, requested_labels, ports(own[-1]), of_pods(*own))
            if found.reason is None:
                full = ModelNode(node.pool, requested_labels, found.types, (*node.pods, number))
                if place < len(nodes):
                    nodes[place] = full
                else:
                    nodes.append(full)
                    _subtract(remaining[node.pool], [t for t in pool.types if t.name in found.types])
                return
        if len(required) > 1:
            required = required[1:]
        elif preferred:
            preferred = preferred[1:]
        elif soft not in tolerations:
            tolerations.append(soft)
        else:
            return


def _within(pool: ModelPool, remaining: Amounts) -> tuple[str, ...]:
    if "nodes" in remaining and remaining["nodes"] <= 0:
        return ()
    limits = {resource: most for resource, most in remaining.items() if resource != "nodes"}
    return tuple(e.name for e in pool.types if all(e.has.get(r, 0) <= most for r, most in limits.items()))


def _subtract(remaining: Amounts, types: Sequence[NodeType]) -> None:
    for resource in remaining:
        most = max((node_type.has.get(resource, Fraction(0)) for node_type in types), default=Fraction(0))
        remaining[resource] -= 1 if resource == "nodes" else most
