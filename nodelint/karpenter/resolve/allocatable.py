"""The instance types that have no room for any pod, because of a class's AMI family, kubelet settings and volumes.

Karpenter launches no type for which the capacity of a resource minus its overhead is below zero: `Fits` in
pkg/utils/resources of core, with the capacity and overhead of pkg/providers/instancetype/types.go of the AWS
provider; both 1.0.0 to 1.14.1. Before 1.9.0 the larger of evictionSoft and evictionHard counts. A setting that is a
placeholder or an expression reserves nothing here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import Any
from nodelint.ec2 import overhead
from nodelint.ec2.catalog import Catalog
from nodelint.ec2.type_set import TypeSet, union
from nodelint.karpenter.resolve.capacity import PodCount, family_facts, volume, volumes_known
from nodelint.model import quantities
from nodelint.model.keys import ARCH, CPU, LOCAL_NVME, MEMORY
from nodelint.model.manifest import EC2NodeClass
from nodelint.model.manifest_terms import text
from nodelint.model.quantities import ONE
from nodelint.model.releases import behaves
from nodelint.text import Node


class NoCapacity(NamedTuple):
    """Instance types that have no room for pods, the reason, and the setting that causes it (None if it is the AMI
    family alone).
    """

    types: TypeSet
    reason: str
    at: Node | None


def lacking(
    node_class: EC2NodeClass, ami_family: str | None, view: Catalog, static: bool = False
) -> Iterator[NoCapacity]:
    """Yield the instance types that have no room for pods, by reason. Nothing if the class or its AMI family is not
    known.

    For a static pool, whose nodes are launched without pods, maxPods 0 is not a reason.
    """
    spec = node_class.node.get("spec")
    if spec is None or ami_family is None or node_class.partial:
        return
    family = family_facts(ami_family)
    kubelet = spec.get("kubelet")
    if kubelet is not None and kubelet.kind == "mapping":
        if _number(kubelet, "maxPods") == 0 and not static:
            yield NoCapacity(view.all_types, "maxPods 0 allows no pod", kubelet.get("maxPods"))
        yield from _without_cpu(kubelet, view)
    soft = family["evictionSoft"] and behaves("counts-soft-eviction", view.version)
    yield from _without_memory(spec, kubelet, family, view, soft)
    if volumes_known(spec):
        yield from _without_storage(spec, kubelet, ami_family, view, soft)


class UnderReserved(NamedTuple):
    """The memory that the settings of kubelet and system reserve on an instance type, and the memory reserved by
    default, in MiB.
    """

    name: str
    reserved: int
    default: int


def least_scant(
    node_class: EC2NodeClass, ami_family: str | None, view: Catalog, types: TypeSet
) -> UnderReserved | None:
    """Return the instance type with the smallest default for reserved memory, if the settings reserve less than even
    this default. None otherwise.

    None if `kubeReserved` does not name memory: the default then applies.
    """
    spec = node_class.node.get("spec")
    kubelet = spec.get("kubelet") if spec is not None else None
    kube = kept_amount(kubelet, "kubeReserved", "memory")
    if spec is None or ami_family is None or kube is None or not types:
        return None
    pods = _planned_pods(spec, family_facts(ami_family), view)
    name = min(view.names_in(types), key=lambda resource: (pods(resource), resource))
    reserved = kube + (kept_amount(kubelet, "systemReserved", "memory") or 0)
    default = overhead.memory_reserved(pods(name))
    found = UnderReserved(name, reserved // ONE // overhead.MIB, default // overhead.MIB)
    return found if found.reserved < found.default else None


def _without_cpu(kubelet: Node, view: Catalog) -> Iterator[NoCapacity]:
    kube, system = kept_amount(kubelet, "kubeReserved", "cpu"), kept_amount(kubelet, "systemReserved", "cpu")
    if not kube and not system:
        return

    def spent(cpus: int) -> bool:
        own = overhead.cpu_reserved(1000 * cpus) * ONE // 1000 if kube is None else kube
        return bool(own + (system or 0) > cpus * ONE)

    types = union(types for value, types in view.values(CPU).items() if spent(int(value)))
    if types:
        yield NoCapacity(types, "kubeReserved and systemReserved take all CPUs", kubelet)


def _without_memory(
    spec: Node, kubelet: Node | None, family: Mapping[str, Any], view: Catalog, soft: bool
) -> Iterator[NoCapacity]:
    """Yield the types whose memory is smaller than the memory reserved for kubelet, system and eviction."""
    kube, system = kept_amount(kubelet, "kubeReserved", "memory"), kept_amount(kubelet, "systemReserved", "memory")
    evict = thresholds(kubelet, "memory.available", soft)
    stated = family["pods"] is not None or _number(kubelet, "maxPods") is not None
    by_pods = family["memoryByPods"] and stated
    if kube is None and not system and not evict and not by_pods:
        return
    arm = view.having_value(ARCH, "arm64")
    pods = _planned_pods(spec, family, view)

    def spent(name: str) -> bool:
        bytes_ = overhead.memory(int(view.label(name, MEMORY) or "0"), bool(view.only(name) & arm))
        own = overhead.memory_reserved(pods(name)) * ONE if kube is None else kube
        below = max(
            (threshold_amount(threshold, bytes_) for threshold in evict), default=overhead.EVICTION_MEMORY * ONE
        )
        return bool(own + (system or 0) + below > bytes_ * ONE)

    fields = [spec.get(name) for name in _SIZING]
    key = repr((family, soft, [field.plain() if field is not None else None for field in fields]))
    known: dict[str, TypeSet] = view.remembered(("all memory kept",), dict)
    if key not in known:  # most classes of a repository reserve the same amounts
        if len(known) >= _MOST_SHARED:
            known.clear()
        known[key] = view.types_of(name for name in view.names if spent(name))
    if known[key]:
        yield NoCapacity(known[key], "kubelet, system and eviction take all memory", kubelet)


_SIZING = ("kubelet", "networkInterfaces")
"""The fields of a class's spec that decide the number of pods of a node, and thereby its reserved memory."""
_MOST_SHARED = 32


def _planned_pods(spec: Node, family: Mapping[str, Any], view: Catalog) -> Callable[[str], int]:
    """Return a function that returns the number of pods for which the kubelet of a type reserves memory; 0 if it is
    not known.
    """
    count = PodCount(spec, family, view)
    counted = count.counted if family["memoryByPods"] else count.addresses
    return lambda name: counted(name) or 0


def _without_storage(
    spec: Node, kubelet: Node | None, ami_family: str, view: Catalog, soft: bool
) -> Iterator[NoCapacity]:
    """Yield the types whose volume for pods is smaller than the storage reserved for kubelet, system and eviction."""
    kube = kept_amount(kubelet, "kubeReserved", "ephemeral-storage")
    system = kept_amount(kubelet, "systemReserved", "ephemeral-storage") or 0
    evict = thresholds(kubelet, "nodefs.available", soft)
    own = overhead.STORAGE_RESERVED * ONE if kube is None else kube
    at = volume(spec, ami_family)
    shown = f"{family_facts(ami_family)['volumeGiB']}Gi" if at is None else str(at.value)
    size = quantities.billionths(shown)

    def spent(size: int) -> bool:
        bytes_ = -(-size // ONE)
        standard = overhead.ceiling(bytes_ / 100 * overhead.EVICTION_STORAGE_PERCENT) * ONE
        return (
            own + system + max((threshold_amount(threshold, bytes_) for threshold in evict), default=standard) > size
        )

    policy = spec.get("instanceStorePolicy")
    disks = view.values(LOCAL_NVME) if policy is not None and policy.value == "RAID0" else {}
    if spent(size):
        types = view.all_types - union(disks.values())
        yield NoCapacity(
            types, f"kubelet, system and eviction take all storage of a volume of {shown}", at or kubelet
        )
    if disks and (kube or system or evict):
        types = union(types for size, types in disks.items() if spent(int(size) * 10**9 * ONE))
        if types:
            yield NoCapacity(types, "kubelet, system and eviction take all storage of the instance store", kubelet)


def _number(kubelet: Node | None, field: str) -> int | None:
    node = kubelet.get(field) if kubelet is not None else None
    value = node.value if node is not None and node.kind == "scalar" else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def kept_amount(kubelet: Node | None, field: str, resource: str) -> int | None:
    """Return the amount of a resource that a kubelet field reserves, in billionths. None if the field does not name
    the resource.
    """
    node = kubelet.find(field, resource) if kubelet is not None else None
    return None if node is None else max(quantities.quantity_of(node) or 0, 0)


def thresholds(kubelet: Node | None, signal: str, soft: bool) -> list[float]:
    """Return the eviction thresholds that are set for a signal: an int in billionths, or a float in percent. Empty if
    the default applies.
    """
    fields = ("evictionHard", "evictionSoft") if soft else ("evictionHard",)
    nodes = [kubelet.find(field, signal) for field in fields] if kubelet is not None else []
    return [_threshold(node) for node in nodes if node is not None]


def _threshold(node: Node) -> float:
    value = text(node)
    if isinstance(value, str) and value.endswith("%"):
        try:
            percent = float(value.rstrip("%"))
        except ValueError:
            return 0
        # A percentage such as `nan%` or `inf%` is no number for the controller and the kubelet.
        return percent if 0 <= percent < 100 else 0.0
    return max(quantities.quantity_of(node) or 0, 0)


def threshold_amount(threshold: float, capacity: int) -> int:
    """Return the amount that an eviction threshold keeps free, in billionths. `capacity` is in whole units."""
    if isinstance(threshold, float):
        return overhead.ceiling(capacity / 100 * threshold) * ONE
    return int(threshold)
