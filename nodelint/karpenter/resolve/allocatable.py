"""The types on which nothing is left for pods, because of a class's family, kubelet settings and volumes.

Karpenter launches no type of which a resource, less what is kept of it, is below zero: `Fits` in
pkg/utils/resources of core, over the capacity and overhead of pkg/providers/instancetype/types.go of the AWS
provider; both 1.0.0 to 1.14.1. Not counted are evictionSoft (which older releases count) and interfaces of
`networkInterfaces`, both of which change little; so a type that this leaves may be one that Karpenter does not.
A setting that is a placeholder or an expression keeps nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from nodelint.data import table
from nodelint.ec2 import overhead
from nodelint.ec2.catalog import Catalog
from nodelint.ec2.type_set import TypeSet, union
from nodelint.model import quantities
from nodelint.model.keys import ARCH, CPU, LOCAL_NVME, MEMORY
from nodelint.model.manifest import EC2NodeClass, text
from nodelint.model.quantities import ONE
from nodelint.source import UNKNOWN, Node
from nodelint.tuples import NamedTuple

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any


class Lack(NamedTuple):
    """Types of which nothing is left for pods, why, and the setting that does it (None for the family alone)."""

    types: TypeSet
    reason: str
    at: Node | None


def lacking(node_class: EC2NodeClass, ami_family: str | None, view: Catalog, static: bool = False) -> Iterator[Lack]:
    """The types of which nothing is left, by reason; none where class or family are not known.

    For a static pool, whose nodes are launched without pods, maxPods 0 is not a reason.
    """
    spec = node_class.node.get("spec")
    if spec is None or ami_family is None or node_class.partial:
        return
    facts = table("allocatable")
    family = facts["families"].get(ami_family, facts["otherwise"])
    kubelet = spec.get("kubelet")
    if kubelet is not None and kubelet.kind == "mapping":
        if _number(kubelet, "maxPods") == 0 and not static:
            yield Lack(view.all, "maxPods 0 leaves no room for a pod", kubelet.get("maxPods"))
        yield from _without_cpu(kubelet, view)
    yield from _without_memory(kubelet, family, view)
    if _sizes_known(spec):
        yield from _without_storage(spec, kubelet, ami_family, family, view)


class Scant(NamedTuple):
    """What kubelet and system keep of memory by their settings, and would keep by default of one type, in MiB."""

    name: str
    kept: int
    default: int


def least_scant(node_class: EC2NodeClass, ami_family: str | None, view: Catalog, types: TypeSet) -> Scant | None:
    """The type that needs least, where even of it less memory is kept than by default; None where enough is.

    Only memory that `kubeReserved` names is counted: what it does not name stays at its default.
    """
    kubelet = node_class.node.at("spec", "kubelet")
    kube = _kept(kubelet, "kubeReserved", "memory")
    if ami_family is None or kube is None or not types:
        return None
    facts = table("allocatable")
    pods = _planned_pods(kubelet, facts["families"].get(ami_family, facts["otherwise"]), view)
    name = min(view.names_in(types), key=lambda each: (pods(each), each))
    kept = kube + (_kept(kubelet, "systemReserved", "memory") or 0)
    default = overhead.memory_reserved(pods(name))
    found = Scant(name, kept // ONE // overhead.MIB, default // overhead.MIB)
    return found if found.kept < found.default else None


def _without_cpu(kubelet: Node, view: Catalog) -> Iterator[Lack]:
    kube, system = _kept(kubelet, "kubeReserved", "cpu"), _kept(kubelet, "systemReserved", "cpu")
    if not kube and not system:
        return

    def spent(cpus: int) -> bool:
        own = overhead.cpu_reserved(1000 * cpus) * ONE // 1000 if kube is None else kube
        return bool(own + (system or 0) > cpus * ONE)

    types = union(types for value, types in view.values(CPU).items() if spent(int(value)))
    if types:
        yield Lack(types, "kubeReserved and systemReserved take all CPUs", kubelet)


def _without_memory(kubelet: Node | None, family: Mapping[str, Any], view: Catalog) -> Iterator[Lack]:
    """Types whose memory is less than what kubelet, system and eviction keep of it."""
    kube, system = _kept(kubelet, "kubeReserved", "memory"), _kept(kubelet, "systemReserved", "memory")
    evict = _eviction(kubelet, "memory.available")
    stated = family["pods"] is not None or _number(kubelet, "maxPods") is not None
    by_pods = family["memoryByPods"] and stated
    if kube is None and not system and evict is None and not by_pods:
        return
    arm = view.having_value(ARCH, "arm64")
    pods = _planned_pods(kubelet, family, view)

    def spent(name: str) -> bool:
        bytes_ = overhead.memory(int(view.label(name, MEMORY) or "0"), bool(view.only(name) & arm))
        own = overhead.memory_reserved(pods(name)) * ONE if kube is None else kube
        below = overhead.EVICTION_MEMORY * ONE if evict is None else _part(evict, bytes_)
        return bool(own + (system or 0) + below > bytes_ * ONE)

    types = view.types_of(name for name in view.names if spent(name))
    if types:
        yield Lack(types, "kubelet, system and eviction take all memory", kubelet)


def _planned_pods(kubelet: Node | None, family: Mapping[str, Any], view: Catalog) -> Callable[[str], int]:
    """How many pods of a type the kubelet keeps memory for."""
    most_pods = _number(kubelet, "maxPods")
    per_core = _number(kubelet, "podsPerCore") if family["podsPerCore"] else None

    def pods(name: str) -> int:
        addresses = int(view.resources(name).get("pods", "0"))
        if not family["memoryByPods"]:
            return addresses
        count: int = most_pods if most_pods is not None else (family["pods"] or addresses)
        return min(count, per_core * int(view.label(name, CPU) or "0")) if per_core else count

    return pods


def _without_storage(
    spec: Node, kubelet: Node | None, ami_family: str, family: Mapping[str, Any], view: Catalog
) -> Iterator[Lack]:
    """Types whose volume for pods is smaller than what kubelet, system and eviction keep of it."""
    kube = _kept(kubelet, "kubeReserved", "ephemeral-storage")
    system = _kept(kubelet, "systemReserved", "ephemeral-storage") or 0
    evict = _eviction(kubelet, "nodefs.available")
    own = overhead.STORAGE_RESERVED * ONE if kube is None else kube
    at = _volume(spec, ami_family)
    shown = f"{family['volumeGiB']}Gi" if at is None else str(at.value)
    volume = quantities.billionths(shown)

    def spent(size: int) -> bool:
        bytes_ = -(-size // ONE)
        standard = overhead.ceiling(bytes_ / 100 * overhead.EVICTION_STORAGE_PERCENT) * ONE
        return own + system + (standard if evict is None else _part(evict, bytes_)) > size

    policy = spec.get("instanceStorePolicy")
    disks = view.values(LOCAL_NVME) if policy is not None and policy.value == "RAID0" else {}
    if spent(volume):
        types = view.all - union(disks.values())
        yield Lack(types, f"kubelet, system and eviction take all storage of a volume of {shown}", at or kubelet)
    if disks and (kube or system or evict is not None):
        types = union(types for size, types in disks.items() if spent(int(size) * 10**9 * ONE))
        if types:
            yield Lack(types, "kubelet, system and eviction take all storage of the instance store", kubelet)


def _sizes_known(spec: Node) -> bool:
    mappings = spec.get("blockDeviceMappings")
    if mappings is None or mappings.value is UNKNOWN:
        return mappings is None
    sizes = (item.at("ebs", "volumeSize") for item in mappings.items)
    return all(item.kind == "mapping" for item in mappings.items) and not any(
        size is not None and size.value is UNKNOWN for size in sizes
    )


def _volume(spec: Node, ami_family: str) -> Node | None:
    """The size of the volume that holds pods; None where the family's default counts.

    It is the volume marked as `rootVolume`, else the one of the device that the family keeps pods on; for Custom
    the last one.
    """
    mappings = spec.get("blockDeviceMappings")
    items = mappings.items if mappings is not None and mappings.kind == "sequence" else ()
    marked = [item for item in items if (flag := item.get("rootVolume")) is not None and flag.value is True]
    found = _size(marked[0]) if marked else None
    if found is not None or not items:
        return found
    devices = table("volumes")["devices"].get(ami_family)
    if devices is None:
        return _size(items[-1])
    wanted = devices.get("data", devices["root"])
    named = [item for item in items if text(item.get("deviceName")) == wanted]
    return _size(named[0]) if named else None


def _size(mapping: Node) -> Node | None:
    node = mapping.at("ebs", "volumeSize")
    return node if node is not None and quantities.of(node) is not None else None


def _number(kubelet: Node | None, field: str) -> int | None:
    node = kubelet.get(field) if kubelet is not None else None
    value = node.value if node is not None and node.kind == "scalar" else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _kept(kubelet: Node | None, field: str, resource: str) -> int | None:
    """What a setting keeps of a resource, in billionths; None where it says nothing of it."""
    node = kubelet.at(field, resource) if kubelet is not None else None
    return None if node is None else max(quantities.of(node) or 0, 0)


def _eviction(kubelet: Node | None, signal: str) -> float | None:
    """The hard threshold of a signal: billionths, or a float for percent; None where it is the default."""
    node = kubelet.at("evictionHard", signal) if kubelet is not None else None
    if node is None:
        return None
    value = text(node)
    if isinstance(value, str) and value.endswith("%"):
        try:
            percent = float(value.rstrip("%"))
        except ValueError:
            return 0
        return 0.0 if percent == 100 else percent
    return max(quantities.of(node) or 0, 0)


def _part(threshold: float, capacity: int) -> int:
    if isinstance(threshold, float):
        return overhead.ceiling(capacity / 100 * threshold) * ONE
    return int(threshold)
