"""The resources that pods can use on a node of each instance type under a class.

`kubeReservedResources`, `systemReservedResources` and `evictionThreshold` of pkg/providers/instancetype/types.go of
the AWS provider, and `Fits` of pkg/utils/resources of core, 1.0.0 to 1.14.1, on the capacity of `resolve.capacity`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from nodelint.base.tuples import NamedTuple
from nodelint.ec2 import overhead
from nodelint.ec2.catalog import Catalog
from nodelint.ec2.type_set import NONE, TypeSet
from nodelint.karpenter.images import ImageSet
from nodelint.karpenter.resolve.allocatable import kept_amount, threshold_amount, thresholds
from nodelint.karpenter.resolve.capacity import EFA, NodeCapacity, PodCount, compute_once_each, family_facts
from nodelint.model.keys import OS
from nodelint.model.manifest import EC2NodeClass
from nodelint.model.quantities import ONE, billionths, format_quantity
from nodelint.model.releases import behaves

Resources = Mapping[str, int]
"""Amounts of resources in billionths."""

_ENOUGH = 1 << 70
"""Represents an amount that is not known: no pod requests more."""

_ADDRESSES = "vpc.amazonaws.com/PrivateIPv4Address"

_SIZED = ("cpu", "memory", "pods", "ephemeral-storage", EFA)
"""Resources that every node has, or whose amount the class decides."""


class NodeSize(NamedTuple):
    """The `capacity` of a node, without the hypervisor's memory, and its `allocatable` amounts for pods. None for an
    unknown amount.
    """

    capacity: Mapping[str, int | None]
    allocatable: Mapping[str, int | None]

    def holds(self, requests: Resources) -> bool:
        """Return whether a node has room for requests. An unknown amount has room. A node with a negative amount of
        any resource has none.
        """
        if any(amount is not None and amount < 0 for amount in self.allocatable.values()):
            return False
        for resource, amount in requests.items():
            most = self.allocatable.get(resource, 0)
            most = self.capacity.get(resource) if most is None else most
            if most is not None and amount > most:
                return False
        return True


class SizeColumn(NamedTuple):
    """The capacity and the allocatable amount of one resource for each type, in the order of names.

    At the positions in `unknown`, the amount is the largest possible one.
    """

    capacity: list[int]
    allocatable: list[int]
    unknown: frozenset[int]


class _Steps:
    """The amounts of all types in ascending order, each with the types that have at least this amount."""

    def __init__(self, amounts: Sequence[int]) -> None:
        places: dict[int, list[int]] = {}
        for place, amount in enumerate(amounts):
            places.setdefault(amount, []).append(place)
        self._amounts, self._types, types = sorted(places), [NONE], NONE
        for amount in reversed(self._amounts):
            types |= TypeSet.from_positions(places[amount])
            self._types.append(types)
        self._types.reverse()

    def having(self, amount: int) -> TypeSet:
        """Return the types that have at least an amount."""
        return self._types[bisect_left(self._amounts, amount)]


class NodeSizes:
    """The sizes of nodes of each instance type under a class. An unknown amount counts as enough."""

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
        self._given = node_class, images, view
        self._columns: dict[str, SizeColumn] = {}
        self._written: dict[str, dict[str, str | None]] = {}
        self._room: dict[str, _Steps] = {}
        self._extent: dict[str, _Steps] = {}
        self._brought: Mapping[str, Resources] = {}
        self._in_effect = False

    def with_overlays(self, brought: Mapping[str, Mapping[str, str]], in_effect: bool) -> NodeSizes:
        """Return the sizes with the resources that NodeOverlays set, by type. If the overlays are not in effect for
        certain, the larger amount counts.

        Huge pages reduce the memory for pods (`computeAllocatable` of core).
        """
        if not brought:
            return self
        twin = NodeSizes(*self._given)
        twin._in_effect = in_effect
        twin._brought = {name: dict(_read_amounts(capacity)) for name, capacity in brought.items()}
        return twin

    @cached_property
    def exact(self) -> bool:
        """Return whether the class and its number of pods are known, so that the sizes of common types are exact."""
        name = next(iter(self._view.names), None)
        return self._spec is not None and name is not None and self._capacity.amount("pods", name) is not None

    def of_type(self, name: str) -> NodeSize:
        """Return the size of a node of an instance type."""
        place = self._view.place(name)
        if place is None:
            return NodeSize({}, {})
        own = dict.fromkeys((*_SIZED, *self._view.resources.amounts(name), *self._brought.get(name, ())))
        if self._addresses_of(name) is not None:
            own[_ADDRESSES] = None
        columns = {resource: self._column(resource) for resource in own}
        return NodeSize(
            {r: None if (amount := column.capacity[place]) == _ENOUGH else amount for r, column in columns.items()},
            {r: None if place in column.unknown else column.allocatable[place] for r, column in columns.items()},
        )

    def unknown_of(self, resource: str) -> TypeSet:
        """Return the types whose allocatable amount of a resource is not known."""
        return TypeSet.from_positions(sorted(self._column(resource).unknown))

    def largest(self, resource: str, types: TypeSet) -> tuple[int, str] | None:
        """Return the largest allocatable amount of a resource among some types, and the first type with it.

        None if there are no types, or if the amount of one of them is not known.
        """
        column = self._column(resource)
        if not types or not types.isdisjoint(self.unknown_of(resource)):
            return None
        placed = (
            (column.allocatable[place], name)
            for name in self._view.names_in(types)
            if (place := self._view.place(name)) is not None
        )
        return min(placed, key=lambda pair: (-pair[0], pair[1]))

    def most_capacity(self, resource: str, types: TypeSet) -> int:
        """Return the largest known capacity of a resource among some types. 0 if there is none."""
        known = (amount for amount in types.select(self._column(resource).capacity) if amount != _ENOUGH)
        return max(known, default=0)

    def _column(self, resource: str) -> SizeColumn:
        """Return the amounts of a resource on nodes of each type, in the order of names."""
        found = self._columns.get(resource)
        if found is None:
            found = self._columns[resource] = self._make_column(resource)
        return found

    def _make_column(self, resource: str) -> SizeColumn:
        names = self._view.names
        has = self._capacity.amounts(resource)
        if resource == _ADDRESSES:
            own = map(self._addresses_of, names)
            has = [amount if addresses is None else addresses for amount, addresses in zip(has, own, strict=True)]
        unknown = {place for place, amount in enumerate(has) if amount is None}
        capacity = [_ENOUGH if amount is None else amount for amount in has]
        counts = self._list_counts(resource)
        reserved = self._list_reserved(resource, capacity, counts)
        if counts is not None and kept_amount(self._kubelet, "kubeReserved", resource) is None:
            unknown.update(place for place, count in enumerate(counts) if count is None)
        places = {self._view.place(name): amounts for name, amounts in self._brought.items()}
        brought = {place: amounts for place, amounts in places.items() if place is not None}
        for place, amounts in brought.items():
            if resource in amounts:
                amount = amounts[resource]
                capacity[place] = amount if self._in_effect else max(amount, capacity[place])
                unknown.discard(place)
        left = (
            [*capacity]
            if reserved is None
            else [amount - part for amount, part in zip(capacity, reserved, strict=True)]
        )
        for place in unknown:
            left[place] = capacity[place]
        for place, amounts in brought.items() if self._in_effect and resource == "memory" else ():
            pages = sum(amount for name, amount in amounts.items() if name.startswith("hugepages-"))
            left[place] = max(left[place] - pages, 0) if pages else left[place]
        return SizeColumn(capacity, left, frozenset(unknown))

    def _addresses_of(self, name: str) -> int | None:
        """Return the number of IPv4 addresses for pods that Karpenter counts for a Windows node, in billionths. None
        for any other node.
        """
        if self._family["pods"] is None or self._view.label(name, OS) != "windows":
            return None
        addresses = self._view.resources.addresses_per_interface(name)
        return (addresses - 1 if addresses is not None else 0) * ONE

    def written_allocatable(self, name: str) -> Mapping[str, str | None]:
        """Return the allocatable amounts of an instance type as people write them, without those that are 0: `{"cpu":
        "1930m", ...}`.

        None for an amount that is not known.
        """
        found = self._written.get(name)
        if found is None:
            amounts = self.of_type(name).allocatable
            found = {
                resource: None if amount is None else format_quantity(resource, amount)
                for resource, amount in sorted(amounts.items())
                if amount != 0
            }
            self._written[name] = found
        return found

    @cached_property
    def _usable(self) -> TypeSet:
        """Return the types without a negative amount of any resource. A type with one holds no pod
        (`NodeSize.holds`).
        """
        brought = {resource for amounts in self._brought.values() for resource in amounts}
        below: set[int] = set()
        for resource in {*_SIZED, _ADDRESSES, *self._view.resources.names, *brought}:
            amounts = self._column(resource).allocatable
            if amounts and min(amounts) < 0:
                below.update(place for place, amount in enumerate(amounts) if amount < 0)
        return self._view.all_types - TypeSet.from_positions(sorted(below))

    def holding(self, requests: Resources, types: TypeSet) -> TypeSet:
        """Return the types of a set whose nodes have room for requests."""
        return types & self.room_for(requests)

    def room_for(self, requests: Resources) -> TypeSet:
        """Return all types whose nodes have room for requests.

        Workloads request many different amounts, so amounts are looked up in sorted steps instead of compared with
        each type.
        """
        room = self._usable
        for resource, amount in requests.items():
            steps = self._room.get(resource)
            if steps is None:
                steps = self._room[resource] = _Steps(self._column(resource).allocatable)
            room &= steps.having(amount)
        return room

    def within(self, limits: Resources, types: TypeSet) -> TypeSet:
        """Return the types of a set whose capacity is within all limits. An unknown capacity is within each limit."""
        for resource, most in limits.items():
            steps = self._extent.get(resource)
            if steps is None:
                capacity = self._column(resource).capacity
                # An unknown amount is within each limit.
                known = [-_ENOUGH if amount == _ENOUGH else amount for amount in capacity]
                steps = self._extent[resource] = _Steps(known)
            types -= steps.having(most + 1)
        return types

    def _list_counts(self, resource: str) -> Sequence[int | None] | None:
        """Return the number of pods for which nodes of each type reserve memory; None for a type that is not known.

        None if the number of pods does not decide the reserved amount of this resource.
        """
        if self._pods is None or resource != "memory":
            return None
        count = self._pods.counted if self._family["memoryByPods"] else self._pods.addresses
        return compute_once_each(self._view.names, self._pods.deciding, count)

    def _list_reserved(
        self, resource: str, capacity: Sequence[int], counted: Sequence[int | None] | None
    ) -> list[int] | None:
        """Return the reserved amount of a resource on nodes of each type. None if nothing is reserved."""
        if self._pods is None or resource not in ("cpu", "memory", "ephemeral-storage"):
            return None
        counts = counted if counted is not None else [None] * len(capacity)
        keys = list(zip(capacity, counts, strict=True))
        made = {key: self._reserve(resource, *key) for key in dict.fromkeys(keys)}
        return [made[key] for key in keys]

    def _reserve(self, resource: str, capacity: int, pods: int | None) -> int:
        """Return the amount of a resource that is reserved for kubelet, system and eviction, for a capacity and a
        number of pods.
        """
        if resource == "cpu":
            usual = overhead.cpu_reserved(1000 * (capacity // ONE)) * ONE // 1000
        elif resource == "memory":
            usual = overhead.memory_reserved(pods) * ONE if pods is not None else 0
        else:
            usual = overhead.STORAGE_RESERVED * ONE
        stated = kept_amount(self._kubelet, "kubeReserved", resource)
        reserved = usual if stated is None else stated
        reserved += kept_amount(self._kubelet, "systemReserved", resource) or 0
        if resource == "memory":
            reserved += self._eviction("memory.available", capacity, overhead.EVICTION_MEMORY * ONE)
        elif resource == "ephemeral-storage":
            part = overhead.ceiling(-(-capacity // ONE) / 100 * overhead.EVICTION_STORAGE_PERCENT) * ONE
            reserved += self._eviction("nodefs.available", capacity, part)
        return reserved

    def _eviction(self, signal: str, capacity: int, usual: int) -> int:
        """Return the amount that eviction keeps free: by the highest threshold that is set, else `usual`."""
        stated = thresholds(self._kubelet, signal, self._soft)
        return max((threshold_amount(threshold, -(-capacity // ONE)) for threshold in stated), default=usual)


def _read_amounts(written: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    for resource, amount in written.items():
        try:
            yield resource, billionths(amount)
        except ValueError:
            continue  # the API server refuses such an overlay


def sizes_of(node_class: EC2NodeClass | None, images: ImageSet, view: Catalog) -> NodeSizes:
    """Return the sizes of nodes under a class, computed once for all classes of a catalogue with the same
    settings.
    """
    if node_class is None:
        return _shared_sizes(None, images, view)
    return node_class.once(("sizes",), (images, view), lambda: _shared_sizes(node_class, images, view))


def _shared_sizes(node_class: EC2NodeClass | None, images: ImageSet, view: Catalog) -> NodeSizes:
    spec = node_class.node.get("spec") if node_class is not None and not node_class.partial else None
    fields = [spec.get(name) for name in _SIZING] if spec is not None else None
    stated = None if fields is None else [field.plain() if field is not None else None for field in fields]
    key = repr((images.ami_family, stated))
    shared: dict[str, NodeSizes] = view.remembered(("sizes",), dict)
    if key not in shared:
        if len(shared) >= _MOST_SHARED:  # in an editor, the settings of a class change often
            shared.clear()
        shared[key] = NodeSizes(node_class, images, view)
    return shared[key]


_SIZING = ("kubelet", "instanceStorePolicy", "blockDeviceMappings", "networkInterfaces")
"""The fields of a class's spec that, together with the AMI family, decide the sizes."""

_MOST_SHARED = 32
