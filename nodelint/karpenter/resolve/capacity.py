"""The capacity of a node of an instance type under a class: its resources before anything is reserved.

From `computeCapacity` in pkg/providers/instancetype/types.go of the AWS provider, 1.0.0 to 1.14.1. Pods, ephemeral
storage and EFA interfaces depend on the class; CPUs, memory and devices only on the type. The controller's settings
have their defaults: 7.5 % of memory for the hypervisor, no reserved network interfaces.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from nodelint.base.types import Any, T
from nodelint.data import table
from nodelint.ec2 import overhead
from nodelint.ec2.catalog import Catalog
from nodelint.karpenter.images import ImageSet
from nodelint.model import quantities
from nodelint.model.keys import ARCH, CPU, FAMILY, LOCAL_NVME, MEMORY
from nodelint.model.manifest import EC2NodeClass
from nodelint.model.manifest_terms import text
from nodelint.model.quantities import ONE
from nodelint.model.releases import behaves
from nodelint.text import UNKNOWN, Node
from nodelint.text.missing import is_null

EFA = "vpc.amazonaws.com/efa"
_DECIDING = {"cpu": (CPU,), "memory": (MEMORY, ARCH), "ephemeral-storage": (LOCAL_NVME, FAMILY)}
"""The labels of a type that, together with the class, decide the amount of a resource."""

OF_CLASS = ("pods", "ephemeral-storage", EFA)
"""Resources whose amount depends on the class, so that it can differ from the catalogue."""


class NodeCapacity:
    """The capacity of nodes under a class, in billionths. None for an amount that is not known.

    Without a class, or if the class is known in part, pods, storage and EFA interfaces are not known.
    """

    def __init__(self, node_class: EC2NodeClass | None, images: ImageSet, view: Catalog) -> None:
        spec = node_class.node.get("spec") if node_class is not None and not node_class.partial else None
        self._spec = spec if images.ami_family is not None else None
        self._family = images.ami_family or ""
        self._view = view
        self._pods = PodCount(self._spec, family_facts(self._family), view) if self._spec is not None else None

    def amount(self, resource: str, name: str) -> int | None:
        """Return a type's amount of a resource in billionths: 0 if the type lacks the resource, None if it is not
        known.
        """
        if resource == "cpu":
            return int(self._view.label(name, CPU) or "0") * ONE
        if resource == "memory":
            arm = self._view.label(name, ARCH) == "arm64"
            return overhead.memory(int(self._view.label(name, MEMORY) or "0"), arm) * ONE
        if resource == "pods":
            count = self._pods.most(name) if self._pods is not None else None
            return None if count is None else count * ONE
        if resource == "ephemeral-storage":
            return self._storage(name)
        if resource == EFA:
            return self._efas(name)
        return quantities.billionths(self._view.resources.amounts(name).get(resource, "0"))

    def amounts(self, resource: str) -> list[int | None]:
        """Return each type's amount of a resource in billionths, in the order of names. None for an amount that is
        not known.
        """
        view = self._view
        deciding: Sequence[Sequence[object]] = (view.resources.column(resource),)
        if resource == "pods":
            deciding = self._pods.deciding if self._pods is not None else deciding
        elif resource in _DECIDING:
            deciding = [view.column(label) for label in _DECIDING[resource]]
        return compute_once_each(view.names, deciding, lambda name: self.amount(resource, name))

    def format_amount(self, resource: str, name: str) -> str:
        """Return a type's amount of a resource as the class or the type states it: `16Gi`, `110`."""
        if resource == "memory":
            return f"{int(self._view.label(name, MEMORY) or '0') / 1024:g}Gi"
        amount = self.amount(resource, name)
        if resource != "ephemeral-storage" or amount is None:
            return "0" if amount is None else f"{amount / ONE:g}"
        disks = self._view.label(name, LOCAL_NVME)
        at = volume(self._spec, self._family) if self._spec is not None else None
        if disks and amount == int(disks) * 10**9 * ONE:
            return f"{disks}G"
        return f"{family_facts(self._family)['volumeGiB']}Gi" if at is None else str(at.value)

    def rounded_up(self, resource: str, name: str) -> str:
        """Return the smallest usual limit that is not below the amount: `8`, `32Gi`."""
        amount = self.amount(resource, name) or 0
        if resource not in ("memory", "ephemeral-storage"):
            return str(-(-amount // ONE))
        return f"{-(-amount // (1024**3 * ONE))}Gi"

    def _storage(self, name: str) -> int | None:
        if self._spec is None:
            return None
        policy = self._spec.get("instanceStorePolicy")
        if policy is not None and policy.value is UNKNOWN:
            return None
        if policy is not None and policy.value == "RAID0":
            disks = self._view.label(name, LOCAL_NVME)
            if disks is not None:
                return int(disks) * 10**9 * ONE
            if self._view.label(name, FAMILY) in table("allocatable")["familiesWithOtherDisks"]:
                return None  # These disks count, and no label contains their size.
        if not volumes_known(self._spec):
            return None
        at = volume(self._spec, self._family)
        return (family_facts(self._family)["volumeGiB"] * 1024**3 * ONE) if at is None else quantities.quantity_of(at)

    def _efas(self, name: str) -> int | None:
        if self._spec is None:
            return None
        interfaces = efa_only(self._spec, self._view)
        if interfaces is None:
            return quantities.billionths(self._view.resources.amounts(name).get(EFA, "0"))
        return None if any(kind is UNKNOWN for _, kind in interfaces) else len(interfaces) * ONE


class PodCount:
    """The number of pods of each type under the kubelet settings and network interfaces of a class."""

    def __init__(self, spec: Node, family: Mapping[str, Any], view: Catalog) -> None:
        kubelet = spec.get("kubelet")
        self._family, self._view = family, view
        self.stated, self._stated_known = _setting(kubelet, "maxPods")
        per_core = _setting(kubelet, "podsPerCore") if family["podsPerCore"] else (None, True)
        self._per_core, self._per_core_known = per_core
        found = efa_only(spec, view) or ()
        self._taken = sum(card == 0 for card, _ in found)
        self._interfaces_known = all(isinstance(card, int) and kind is not UNKNOWN for card, kind in found)

    @property
    def deciding(self) -> Sequence[Sequence[object]]:
        """Return the columns that decide the number of pods of a type, in the order of names."""
        if self._taken or not self._interfaces_known:
            return (self._view.names,)
        return self._view.resources.column("pods"), self._view.column(CPU)

    def most(self, name: str) -> int | None:
        """Return the number of pods that Karpenter counts for a type. None if a setting or an interface is not
        known.
        """
        return self.counted(name) if self._stated_known and self._per_core_known else None

    def counted(self, name: str) -> int | None:
        """Return the number of pods of a node by the known settings only: an unknown setting can make it smaller.

        None if no number is known.
        """
        count = self.stated if self.stated is not None else (self._family["pods"] or self.addresses(name))
        if count is None or not self._per_core:
            return count
        return min(count, self._per_core * int(self._view.label(name, CPU) or "0"))

    def addresses(self, name: str) -> int | None:
        """Return the number of pods for which the network interfaces of a type have addresses. None if it is not
        known.
        """
        published = int(self._view.resources.amounts(name).get("pods", "0"))
        if not self._taken and self._interfaces_known:
            return published
        network = self._view.resources.network(name)
        if network is None or not self._interfaces_known or not network.cards:
            return None
        usable = max(network.cards[0] - self._taken, 0)
        return usable * (network.ipv4_per_interface - 1) + 2 if usable else 0


def compute_once_each(
    names: Sequence[str], deciding: Sequence[Sequence[object]], work: Callable[[str], T]
) -> list[T]:
    """Return the result of `work` for each type. It is computed once for all types with equal values in the
    `deciding` columns.
    """
    keys = list(zip(*deciding, strict=True))
    made = {key: work(name) for key, name in dict(zip(keys, names, strict=True)).items()}
    return [made[key] for key in keys]


def family_facts(ami_family: str) -> Mapping[str, Any]:
    """Return the facts that Karpenter has about an AMI family: its volume, and how it counts pods."""
    facts = table("allocatable")
    found: Mapping[str, Any] = facts["families"].get(ami_family, facts["otherwise"])
    return found


def efa_only(spec: Node, view: Catalog) -> Sequence[tuple[object, object]] | None:
    """Return network card and interface type of each interface that is efa-only, or may be. None if the class
    configures no interfaces.
    """
    interfaces = spec.get("networkInterfaces")
    if interfaces is None or is_null(interfaces) or not behaves("checks-network-interfaces", view.version):
        return None
    if interfaces.kind != "sequence":
        return [(UNKNOWN, UNKNOWN)]
    found = []
    for item in interfaces.items:
        card, kind = item.get("networkCardIndex"), item.get("interfaceType")
        if item.value is UNKNOWN or (kind is not None and kind.value in ("efa-only", UNKNOWN)):
            found.append((card.value if card is not None else UNKNOWN, kind.value if kind is not None else UNKNOWN))
    return found


def volumes_known(spec: Node) -> bool:
    """Return whether no device or size of a class's volumes is a placeholder."""
    mappings = spec.get("blockDeviceMappings")
    if mappings is None or is_null(mappings):
        return True
    if mappings.kind != "sequence" or any(item.kind != "mapping" for item in mappings.items):
        return False
    parts = [item.get(key) for item in mappings.items for key in ("deviceName", "rootVolume", "ebs")]
    parts += [item.find("ebs", "volumeSize") for item in mappings.items]
    return not any(part is not None and part.value is UNKNOWN for part in parts)


def volume(spec: Node, ami_family: str) -> Node | None:
    """Return the node with the size of the volume that holds pods. None if the AMI family's default applies.

    That is the volume marked as `rootVolume`, else the volume of the device on which the AMI family keeps pods; for
    Custom the last one.
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


_SIZE_UNITS = ("G", "Gi", "T", "Ti")


def _size(mapping: Node) -> Node | None:
    """Return the size of a volume. None for a size that the API server refuses: such a class has no nodes."""
    node = mapping.find("ebs", "volumeSize")
    is_size = node is not None and isinstance(node.value, str) and node.value.endswith(_SIZE_UNITS)
    return node if node is not None and is_size and quantities.quantity_of(node) is not None else None


def _setting(kubelet: Node | None, field: str) -> tuple[int | None, bool]:
    """Return a number of the kubelet settings (None if it has none), and whether it is known: an expression or a
    placeholder is not.
    """
    if kubelet is not None and kubelet.kind != "mapping":
        return None, is_null(kubelet)
    node = kubelet.get(field) if kubelet is not None else None
    value = node.value if node is not None and node.kind == "scalar" else None
    if isinstance(value, int) and not isinstance(value, bool):
        return value, True
    return None, is_null(node)
