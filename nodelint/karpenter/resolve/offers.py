"""Which instance types an EC2NodeClass excludes, and which offerings they have under the class.

The zones, capacity types and reservations of a type are no property of the type. They come from the class's subnets
and selectors, which only AWS can resolve. Without AWS facts, only what no class like this can have is excluded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from nodelint.ec2.catalog import Catalog
from nodelint.ec2.type_set import TypeSet
from nodelint.karpenter.images import ImageSet, excluded_prefix, unknown_fact
from nodelint.karpenter.resolve.allocatable import lacking
from nodelint.model.gap import Gap
from nodelint.model.keys import CAPACITY_TYPE, HYPERVISOR, REGION, ZONE, ZONE_ID
from nodelint.model.manifest import EC2NodeClass
from nodelint.model.releases import Version, behaves
from nodelint.model.requirement import Requirement, Requirements, normalize, well_known, well_known_since
from nodelint.text import UNKNOWN, Node

PLACE_KEYS = frozenset({REGION, ZONE, ZONE_ID})
"""Keys whose values depend on the subnets of the class, which the files do not contain."""

RESERVATION_KEYS = frozenset(
    {
        "karpenter.k8s.aws/capacity-reservation-id",
        "karpenter.k8s.aws/capacity-reservation-interruptible",
        "karpenter.k8s.aws/capacity-reservation-type",
    }
)

OWN_DOMAINS = ("karpenter.k8s.aws/", "karpenter.sh/")
"""Prefixes of keys that belong to Karpenter: it refuses a NodePool with an unknown key of this kind."""

RESERVED = "which types have reservations is known to AWS only"


def may_reserve(node_class: EC2NodeClass | None, release: Version) -> bool:
    """Return whether instance types can have capacity reservations: the class selects some, or may select some that
    are not known.
    """
    if "karpenter.k8s.aws/capacity-reservation-id" not in well_known(release):
        return False
    if node_class is None or node_class.partial:
        return True
    terms = node_class.node.find("spec", "capacityReservationSelectorTerms")
    return terms is not None and (bool(terms.items) or terms.value is UNKNOWN)


def capacity_types(node_class: EC2NodeClass | None, release: Version) -> tuple[str, ...]:
    """Return the capacity types that instance types can have under a class."""
    return ("on-demand", "spot", *(("reserved",) if may_reserve(node_class, release) else ()))


def reserved_only(requirements: Requirements, key: str, node_class: EC2NodeClass | None, view: Catalog) -> bool:
    """Return whether requirements on a key allow only reserved capacity, so that the reservations decide the
    types.
    """
    key = normalize(key)
    wanted = requirements.get(key)
    if not may_reserve(node_class, view.version):
        return False
    if key == CAPACITY_TYPE:
        return [kind for kind in capacity_types(node_class, view.version) if wanted.admits(kind)] == ["reserved"]
    return key in RESERVATION_KEYS and key in well_known(view.version) and not wanted.absent_allowed


def note(
    requirement: Requirement | None, view: Catalog, node_class: EC2NodeClass | None, release: Version
) -> str | None:
    """Return a note about a requirement that its numbers do not show, such as the facts on which it depends. None if
    there is none.
    """
    if requirement is None:
        return "not judged: it holds a placeholder or is malformed"
    key = requirement.key
    if key in PLACE_KEYS:
        decided = "decided by the class's subnets"
        local = requirement.values and not requirement.complement and all(map(_is_local, requirement.values))
        return f"{decided}; a Local Zone offers few types" if local else decided
    if key in RESERVATION_KEYS and key in well_known(release):
        if may_reserve(node_class, release):
            return RESERVED
        return "the class selects no capacity reservation"
    if key == CAPACITY_TYPE and "reserved" in requirement.values and not may_reserve(node_class, release):
        return "`reserved`: the class selects no capacity reservation"
    since = well_known_since(key)
    if since is not None and since > release:
        return f"a label of Karpenter {since}; ignored in {release}"
    if since is None and key not in view.keys:
        if key.startswith(OWN_DOMAINS):
            return "Karpenter has no such label, and refuses it"
        return "a label of your own: no instance type has it"
    return None


def _is_local(zone: str) -> bool:
    """Return whether a zone's name or id is that of a Local Zone: `us-west-2-lax-1a`, `usw2-lax1-az1`."""
    return re.fullmatch(r"[a-z]+(?:-[a-z]+)+-\d+-[a-z0-9]+-\d+[a-z]|[a-z]+\d+-[a-z]+\d+-az\d+", zone) is not None


def class_rules(
    node_class: EC2NodeClass, images: ImageSet, view: Catalog, static: bool
) -> tuple[list[tuple[TypeSet, str]], list[Gap]]:
    """Return the types that a class excludes whatever the requirements of a pool, each set with the reason, and the
    gaps in this knowledge.
    """
    release = view.version
    removed: list[tuple[TypeSet, str]] = []
    unknown: list[Gap] = []
    prefix = excluded_prefix(images.ami_family, release)
    if prefix is not None:
        removed.append((view.starting_with(prefix), f"{prefix.rstrip('.')} does not boot {images.ami_family}"))
    key = ("lacking", images.ami_family, static)
    lacks = node_class.once(key, (view,), lambda: tuple(lacking(node_class, images.ami_family, view, static)))
    removed += [(lack.types, lack.reason) for lack in lacks]
    spec = node_class.node.get("spec")
    if spec is None:
        return removed, unknown
    interfaces = spec.get("networkInterfaces")
    if interfaces is not None and interfaces.items and behaves("checks-network-interfaces", release):
        reason = "fewer network cards or interfaces than the class asks for"
        removed.append((_lacking_interfaces(interfaces.items, view), reason))
        unknown.append(unknown_fact(interfaces, "which old types have no ENA interface is known to AWS only"))
    tracking = spec.get("connectionTracking")
    if tracking is not None and tracking.kind == "mapping" and behaves("checks-connection-tracking", release):
        types = view.all_types - view.having_value(HYPERVISOR, "nitro")
        removed.append((types, "connectionTracking needs the nitro hypervisor"))
    nested = spec.find("cpuOptions", "nestedVirtualization")
    nests = nested is not None and nested.value in ("enabled", UNKNOWN)
    if nested is not None and nests and behaves("checks-nested-virtualization", release):
        unknown.append(unknown_fact(nested, "which types can nest virtual machines is known to AWS only"))
    group = spec.get("placementGroupSelector")
    if group is not None and group.kind == "mapping" and behaves("checks-placement-group", release):
        unknown.append(unknown_fact(group, "which types the placement group takes is known to AWS only"))
    return removed, unknown


def _lacking_interfaces(items: Sequence[Node], view: Catalog) -> TypeSet:
    """Return the types that lack EFA interfaces, a network card, or an interface on a card, of those that the class
    configures.

    Types whose network cards are not known are not returned.
    """
    wanted: list[tuple[int, int]] = []
    efa_only = 0
    for item in items:
        card, device, kind = (item.get(key) for key in ("networkCardIndex", "deviceIndex", "interfaceType"))
        efa_only += kind is not None and kind.value == "efa-only"
        numbers = (card and card.value, device and device.value)
        if isinstance(numbers[0], int) and isinstance(numbers[1], int):
            wanted.append((numbers[0], numbers[1]))

    def lacks(name: str) -> bool:
        if efa_only > int(view.resources.amounts(name).get("vpc.amazonaws.com/efa", "0")):
            return True
        network = view.resources.network(name)
        cards = network.cards if network is not None else ()
        return bool(cards) and any(card >= len(cards) or device >= cards[card] for card, device in wanted)

    return view.types_of(name for name in view.names if lacks(name))
