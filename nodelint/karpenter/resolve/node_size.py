"""What of a node of each instance type pods can use under a class.

`kubeReservedResources`, `systemReservedResources` and `evictionThreshold` of pkg/providers/instancetype/types.go of
the AWS provider, and `Fits` of pkg/utils/resources of core, 1.0.0 to 1.14.1, over the capacity of `resolve.capacity`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping

from nodelint.caching import cached_property
from nodelint.ec2 import overhead
from nodelint.ec2.catalog import Catalog
from nodelint.ec2.type_set import NONE, TypeSet
from nodelint.karpenter.images import ImageSet
from nodelint.karpenter.resolve.allocatable import kept_amount, threshold_amount, thresholds
from nodelint.karpenter.resolve.capacity import EFA, NodeCapacity, PodCount, family_facts
from nodelint.model.manifest import EC2NodeClass
from nodelint.model.quantities import ONE, billionths, format_quantity
from nodelint.model.releases import behaves
from nodelint.tuples import NamedTuple

TYPE_CHECKING = False

if TYPE_CHECKING:
    Resources = Mapping[str, int]
    """Amounts of resources in billionths."""

_ENOUGH = 1 << 70
"""In place of an amount that is not known: no pod asks for more."""

_SIZED = ("cpu", "memory", "pods", "ephemeral-storage", EFA)
"""Resources that every node has, or that a class decides about."""


class NodeSize(NamedTuple):
    """What a node has (`capacity`, after what the hypervisor keeps), and what of it pods can use."""

    capacity: Resources
    allocatable: Resources

    def holds(self, requests: Resources) -> bool:
        """Whether a node has room for requests; never where it has less than nothing of a resource."""
        if any(amount < 0 for amount in self.allocatable.values()):
            return False
        return all(amount <= self.allocatable.get(resource, 0) for resource, amount in requests.items())


class NodeSizes:
    """The sizes of nodes of each instance type under a class. What is not known counts as enough.

    `exact` says that nothing but the sizes of old types is left open.
    """

    def __init__(self, node_class: EC2NodeClass | None, images: ImageSet, view: Catalog) -> None:
        self._view = view
        self._capacity = NodeCapacity(node_class, images, view)
        spec = node_class.node.get("spec") if node_class is not None and not node_class.partial else None
        self._spec = spec if images.ami_family is not None else None
        self._family = family_facts(images.ami_family or "")
        kubelet = self._spec.get("kubelet") if self._spec is not None else None
        self._kubelet = kubelet if kubelet is not None and kubelet.kind == "mapping" else None
        self._pods = PodCount(self._spec, self._family, view) if self._spec is not None else None
        self._soft = self._family["evictionSoft"] and behaves("counts-soft-eviction", view.version)
        self._sizes: dict[str, NodeSize] = {}
        self._written: dict[str, dict[str, str]] = {}
        self._sized, self._usable = NONE, NONE
        self._steps: dict[str, tuple[list[int], list[TypeSet]]] = {}
        self._brought: Mapping[str, Resources] = {}
        self._in_effect = False

    def with_overlays(self, brought: Mapping[str, Mapping[str, str]], in_effect: bool) -> NodeSizes:
        """The same with resources that overlays bring, by type; the greater amount counts unless they are in effect.

        Huge pages are taken off the memory for pods (`computeAllocatable` of core).
        """
        if not brought:
            return self
        from copy import copy  # here: few runs have overlays, and it loads as much as a rule or two

        twin = copy(self)
        twin._sizes, twin._written, twin._steps, twin._in_effect = {}, {}, {}, in_effect
        twin._sized, twin._usable = NONE, NONE
        twin._brought = {name: dict(_read_amounts(capacity)) for name, capacity in brought.items()}
        return twin

    @cached_property
    def exact(self) -> bool:
        """Whether what pods can use of a usual type is known."""
        name = next(iter(self._view.names), None)
        return self._spec is not None and name is not None and self._capacity.amount("pods", name) is not None

    def of_type(self, name: str) -> NodeSize:
        """The size of a node of an instance type."""
        found = self._sizes.get(name)
        if found is None:
            resources = dict.fromkeys((*_SIZED, *self._view.resources(name)))
            has = {resource: self._capacity.amount(resource, name) for resource in resources}
            capacity = {resource: _ENOUGH if amount is None else amount for resource, amount in has.items()}
            if self._family["pods"] is not None and self._view.label(name, "kubernetes.io/os") == "windows":
                network = self._view.network(name)
                capacity["vpc.amazonaws.com/PrivateIPv4Address"] = (
                    network.ipv4_per_interface - 1 if network else 0
                ) * ONE
            overhead = self._overhead(name, capacity)
            brought = self._brought.get(name, {})
            for resource, amount in brought.items():
                capacity[resource] = amount if self._in_effect else max(amount, capacity.get(resource, 0))
            left = {resource: amount - overhead.get(resource, 0) for resource, amount in capacity.items()}
            if self._in_effect:
                pages = sum(amount for resource, amount in brought.items() if resource.startswith("hugepages-"))
                left["memory"] = max(left["memory"] - pages, 0) if pages else left["memory"]
            found = self._sizes[name] = NodeSize(capacity, left)
        return found

    def written_allocatable(self, name: str) -> Mapping[str, str]:
        """What pods can use of an instance type, as people write it: `{"cpu": "1930m", ...}`, less what is 0."""
        found = self._written.get(name)
        if found is None:
            amounts = self.of_type(name).allocatable
            found = {
                resource: format_quantity(resource, amounts[resource])
                for resource in sorted(amounts)
                if amounts[resource]
            }
            self._written[name] = found
        return found

    def holding(self, requests: Resources, types: TypeSet) -> TypeSet:
        """The types of a set whose nodes have room for requests."""
        if new := types - self._sized:
            # A node that has less than nothing of a resource holds no pod (`NodeSize.holds`).
            self._usable |= self._types_meeting(lambda size: size.holds({}), new)
            self._sized |= new
            self._steps.clear()
        holding = types & self._usable
        for resource, amount in requests.items():
            amounts, having = self._steps.get(resource) or self._order_by(resource)
            at = bisect_left(amounts, amount)
            holding &= having[at] if at < len(having) else NONE
        return holding

    def _order_by(self, resource: str) -> tuple[list[int], list[TypeSet]]:
        """The amounts of a resource in ascending order, each with the types that have it or more.

        Many workloads ask for many amounts: none of them is held against each type.
        """
        by_amount: dict[int, list[str]] = {}
        for name in self._view.names_in(self._sized):
            by_amount.setdefault(self.of_type(name).allocatable.get(resource, 0), []).append(name)
        amounts, having, types = sorted(by_amount), [], NONE
        for amount in reversed(amounts):
            types |= self._view.types_of(by_amount[amount])
            having.append(types)
        found = self._steps[resource] = amounts, having[::-1]
        return found

    def within(self, limits: Resources, types: TypeSet) -> TypeSet:
        """The types of a set whose nodes may have no more than limits allow, resource by resource."""

        def allowed(size: NodeSize) -> bool:
            amounts = ((size.capacity.get(resource, 0), most) for resource, most in limits.items())
            return all(amount <= most or amount == _ENOUGH for amount, most in amounts)

        return self._types_meeting(allowed, types)

    def _types_meeting(self, meets: Callable[[NodeSize], bool], types: TypeSet) -> TypeSet:
        if not types:
            return NONE
        return self._view.types_of(name for name in self._view.iterate_names(types) if meets(self.of_type(name)))

    def _overhead(self, name: str, capacity: Resources) -> dict[str, int]:
        if self._pods is None:
            return {}
        counted = self._pods.counted(name) if self._family["memoryByPods"] else self._pods.addresses(name)
        reserved = {
            "cpu": overhead.cpu_reserved(1000 * (capacity["cpu"] // ONE)) * ONE // 1000,
            "memory": overhead.memory_reserved(counted) * ONE if counted is not None else 0,
            "ephemeral-storage": overhead.STORAGE_RESERVED * ONE,
        }
        for resource in reserved:
            stated = kept_amount(self._kubelet, "kubeReserved", resource)
            reserved[resource] = reserved[resource] if stated is None else stated
            reserved[resource] += kept_amount(self._kubelet, "systemReserved", resource) or 0
        reserved["memory"] += self._eviction("memory.available", capacity["memory"], overhead.EVICTION_MEMORY * ONE)
        storage = capacity["ephemeral-storage"]
        usual = overhead.ceiling(-(-storage // ONE) / 100 * overhead.EVICTION_STORAGE_PERCENT) * ONE
        reserved["ephemeral-storage"] += self._eviction("nodefs.available", storage, usual)
        return reserved

    def _eviction(self, signal: str, capacity: int, usual: int) -> int:
        """What is kept free: by the highest threshold of those that count, or by default."""
        stated = thresholds(self._kubelet, signal, self._soft)
        return max((threshold_amount(threshold, -(-capacity // ONE)) for threshold in stated), default=usual)


def _read_amounts(written: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    for resource, amount in written.items():
        try:
            yield resource, billionths(amount)
        except ValueError:
            continue  # the API server refuses such an overlay


def sizes_of(node_class: EC2NodeClass | None, images: ImageSet, view: Catalog) -> NodeSizes:
    """The sizes of nodes under a class, worked out once for all classes of a catalogue that size nodes alike."""
    if node_class is None:
        return NodeSizes(None, images, view)
    return node_class.once(("sizes",), (images, view), lambda: _shared_sizes(node_class, images, view))


def _shared_sizes(node_class: EC2NodeClass, images: ImageSet, view: Catalog) -> NodeSizes:
    spec = node_class.node.get("spec") if not node_class.partial else None
    fields = [spec.get(name) for name in _SIZING] if spec is not None else None
    stated = None if fields is None else [field.plain() if field is not None else None for field in fields]
    key = repr((images.ami_family, stated))
    shared: dict[str, NodeSizes] = view.remembered(("sizes",), dict)
    if key not in shared:
        if len(shared) >= _MOST_SHARED:  # in an editor the settings of a class become others again and again
            shared.clear()
        shared[key] = NodeSizes(node_class, images, view)
    return shared[key]


_SIZING = ("kubelet", "instanceStorePolicy", "blockDeviceMappings", "networkInterfaces")
"""The fields of a class's spec that decide about sizes, beside the image family."""

_MOST_SHARED = 32
