"""The resources of nodes of instance types, and their network limits, by release."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from nodelint.data import table
from nodelint.ec2.label_columns import LabelColumns
from nodelint.ec2.snapshot import Network, Snapshot
from nodelint.ec2.type_set import NONE, TypeSet
from nodelint.model.keys import POD_ENI
from nodelint.model.releases import NEWEST, Version


class CatalogResources:
    """The resources of the types of a catalogue, as a Karpenter release sees them."""

    __slots__ = ("_having", "_snapshot", "_version", "_written")

    def __init__(self, snapshot: Snapshot, written: LabelColumns, release: Version) -> None:
        self._snapshot = snapshot
        self._written = written
        self._version = release
        self._having: dict[str, TypeSet] = {}

    def amounts(self, name: str) -> dict[str, str]:
        """Return the allocatable Kubernetes quantities of a type's node, for the AL2023 family and default settings.
        Empty if there is no such type.
        """
        position = self._written.positions.get(name)
        if position is None:
            return {}
        columns = self._written.columns
        quantities = dict(zip(self._snapshot.resources, columns.quantities_of(position), strict=True))
        if name in self._network_changes:
            quantities[POD_ENI] = self._pod_enis(name)
        return {resource: quantity for resource, quantity in quantities.items() if quantity is not None}

    @property
    def names(self) -> tuple[str, ...]:
        """Return the resources that some type has."""
        return tuple(self._snapshot.resources)

    def column(self, resource: str) -> tuple[str | None, ...]:
        """Return the quantity of a resource for each type, in the order of names. None for types that lack the
        resource.
        """
        if resource not in self._snapshot.resources:
            return (None,) * len(self._written.names)
        written = self._written.columns.quantities(self._snapshot.resources.index(resource))
        changes = self._network_changes if resource == POD_ENI else {}
        if not changes:
            return written
        pairs = zip(self._written.names, written, strict=True)
        return tuple([self._pod_enis(name) if name in changes else quantity for name, quantity in pairs])

    def having(self, resource: str) -> TypeSet:
        """Return the types that have at least some of a resource."""
        if resource not in self._snapshot.resources:
            return NONE
        found = self._having.get(resource)
        if found is None:
            positions = [n for n, quantity in enumerate(self.column(resource)) if quantity not in (None, "0")]
            found = self._having[resource] = TypeSet.from_positions(positions)
        return found

    @property
    def _network_changes(self) -> Mapping[str, list[int] | None]:
        """Return the types whose network limits differ in the release's own table: None if the table lacks the type,
        else the IPv4 addresses of an interface and the number of branch interfaces.
        """
        return _network_changes(self._version) if self._version < NEWEST else {}

    def _pod_enis(self, name: str) -> str | None:
        """Return the number of branch interfaces in the release, for a type whose network limits differ. None if it
        has none.
        """
        limits = self._network_changes[name]
        return str(limits[1]) if limits is not None and limits[1] else None

    def addresses_per_interface(self, name: str) -> int | None:
        """Return the IPv4 addresses of an interface in the release's own table. None if the table lacks the type."""
        if name in self._network_changes:
            limits = self._network_changes[name]
            return None if limits is None else limits[0]
        network = self.network(name)
        return None if network is None else network.ipv4_per_interface

    def network(self, name: str) -> Network | None:
        """Return the VPC limits of a type, whatever the release. None if none are published."""
        position = self._written.positions.get(name)
        limits = None if position is None else self._written.columns.network(position)
        if limits is None:
            return None
        interfaces, addresses, trunking, branches, cards = limits
        return Network(interfaces, addresses, trunking, branches, tuple(cards))


@cache
def _network_changes(release: Version) -> Mapping[str, list[int] | None]:
    """Return the network limits that differ between a release's own table and the newest one, by instance type. None
    if the release lacks the type.
    """
    found: dict[str, list[int] | None] = {}
    for change in table("network_limits")["changes"]:  # newest first, so that the older change is applied last
        if release < Version.parse(change["before"]):
            found |= change["limits"]
    return found
