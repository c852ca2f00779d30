"""Where a class can launch instance types: the zones of its subnets, what EC2 offers there, its reservations.

Follows the offerings of the controller (pkg/providers/instancetype of the AWS provider at 1.0.0, 1.2.0, 1.3.0, 1.6.0
and 1.14.1). There is one offering for each zone in which the region offers a type and the class has a subnet, and for
each of its capacity types, and one for each capacity reservation of the class. A type stays if a single offering
meets all requirements on zone, zone id, capacity type and reservation (`Offerings.Available().HasCompatible` of
core). A type without any offering is never launched. Facts that the controller learns at run time are not known here:
insufficient capacity, zones that are shifted away, spot prices.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.ec2.catalog import Catalog
from nodelint.ec2.facts import AwsFacts, Missing, moment
from nodelint.ec2.snapshot import CapacityReservation, Region, Subnet
from nodelint.ec2.type_set import NONE, TypeSet, union
from nodelint.karpenter.images import unknown_fact
from nodelint.karpenter.resolve.offers import PLACE_KEYS, RESERVATION_KEYS, may_reserve
from nodelint.karpenter.selectors import allows_place, reservations_of, subnets_of
from nodelint.model.gap import Gap
from nodelint.model.keys import CAPACITY_TYPE, REGION, ZONE, ZONE_ID
from nodelint.model.manifest import EC2NodeClass
from nodelint.model.releases import behaves
from nodelint.model.requirement import Requirement, well_known
from nodelint.text import Node

if TYPE_CHECKING:
    from typing import Final, Literal

    Label = str | Literal[True] | None
    """The value of a label of an offering: a text, OPEN, or None if the offering does not have the label."""

RESERVATION_ID = "karpenter.k8s.aws/capacity-reservation-id"
RESERVATION_TYPE = "karpenter.k8s.aws/capacity-reservation-type"
INTERRUPTIBLE = "karpenter.k8s.aws/capacity-reservation-interruptible"

OPEN: Final = True
"""Represents a label's value that exists but is not known."""


class Offer(NamedTuple):
    """Instance types with equal offerings: in one zone, as one capacity type, and possibly from one reservation.

    `labels` are the values of the offering's labels.
    """

    labels: Mapping[str, Label]
    types: TypeSet


class LaunchPlaces(NamedTuple):
    """The zones and offerings in which a class can launch, as far as they are known.

    `zones` are those of the class's subnets with their ids: None if the subnets are not known, empty if the class
    finds no subnet. `offered` are the zones that count, each with the types that it offers: the zones of the subnets,
    else all of the region; None if the offerings of the region are not known. `offers` decide about the labels in
    `keys`. `reserved` are the class's reservations in any zone: they are labels of the type itself as well. `full`
    are the ids of the reservations without a free instance. `removed` are the types without an offering, with the
    reason.
    """

    region: str
    zones: Mapping[str, str] | None
    subnets: tuple[Subnet, ...]
    offered: Mapping[str, TypeSet] | None
    keys: frozenset[str]
    offers: tuple[Offer, ...]
    reserved: tuple[Offer, ...] = ()
    full: frozenset[str] = frozenset()
    removed: tuple[tuple[TypeSet, str], ...] = ()
    unknown: tuple[Gap, ...] = ()
    notes: tuple[tuple[Node, str], ...] = ()

    @property
    def reservations_known(self) -> bool:
        """Return whether the capacity reservations of the class are known."""
        return not any(offer.labels.get(RESERVATION_ID) is OPEN for offer in self.offers)

    def types_meeting(self, requirements: Iterable[Requirement], only_free: bool = False) -> TypeSet:
        """Return the types with an offering that meets all requirements on `keys` together.

        `only_free` excludes reservations that have no free instance. A type with reservations must have one that
        meets the requirements on reservation labels, even if another offering is used.
        """
        wanted = list(requirements)
        types = union(
            offer.types
            for offer in self.offers
            if not (only_free and offer.labels.get(RESERVATION_ID) in self.full)
            if all(meets_label(requirement, offer.labels) for requirement in wanted)
        )
        for requirement in wanted:
            if requirement.key in RESERVATION_KEYS and self.reserved:
                fitting = union(offer.types for offer in self.reserved if meets_label(requirement, offer.labels))
                types -= union(offer.types for offer in self.reserved) - fitting
        return types

    def values(self, key: str, types: TypeSet) -> frozenset[str] | None:
        """Return the values of a label that some types have, whatever the pool's requirements. None if one of them is
        not known.
        """
        offers = (*self.offers, *self.reserved) if key == CAPACITY_TYPE or key in RESERVATION_KEYS else self.offers
        found = {offer.labels[key] for offer in offers if offer.types & types}
        return None if OPEN in found else frozenset(value for value in found if isinstance(value, str))


def meets_label(requirement: Requirement, labels: Mapping[str, Label]) -> bool:
    """Return whether an offering with these labels meets a requirement on one of them."""
    value = labels[requirement.key]
    if value is None:
        return requirement.absent_allowed
    if isinstance(value, str):
        return requirement.admits(value)
    if requirement.key in PLACE_KEYS and not allows_place(requirement):
        return False
    # No zone id and no reservation is a number.
    return requirement.length > 0 and requirement.greater_equal is None and requirement.less_equal is None


def place_note(requirement: Requirement | None, places: LaunchPlaces | None) -> str | None:
    """Return a note about a requirement on zones, region or reservations. None for other requirements, and if nothing
    is known.
    """
    if requirement is None or places is None:
        return None
    if requirement.key == REGION:
        return f"the region is {places.region}"
    if requirement.key in (ZONE, ZONE_ID):
        if places.zones:
            named = places.zones if requirement.key == ZONE else places.zones.values()
            return f"the class has subnets in {', '.join(sorted(named))}"
        return "the class finds no subnet" if places.zones is not None else "the class's subnets are not known"
    if requirement.key in places.keys & RESERVATION_KEYS and places.reservations_known:
        found = sorted({str(offer.labels[RESERVATION_ID]) for offer in places.offers if offer.labels[RESERVATION_ID]})
        return f"the class finds {', '.join(found)}" if found else None
    return None


def places_of(node_class: EC2NodeClass | None, view: Catalog, facts: AwsFacts) -> LaunchPlaces | None:
    """Return the zones and offerings in which a class can launch. None if neither its zones nor the offerings of the
    region are known.
    """
    if facts.region is None:
        return None
    subnets, unknown = _subnets(node_class, facts)
    zones = None if subnets is None else {subnet.zone: subnet.zoneId for subnet in subnets}
    try:
        sold: _OfferedTypes | None = _sold(facts, view)
    except Missing as missing:
        sold = None
        if not zones:
            return None
        at = _subnet_terms(node_class)
        if at is not None:
            unknown.append(unknown_fact(at, f"which types the zones offer is not known: {missing.reason}", missing))
    common = _zone_labels(zones or (sold.offered if sold is not None else ()), facts.region)
    offered = {zone: view.all_types if sold is None else sold.offered.get(zone, NONE) for zone in common}
    keys = frozenset({ZONE, ZONE_ID, CAPACITY_TYPE} | (RESERVATION_KEYS & well_known(view.version)))
    reserved = _reserved(node_class, view, facts)
    offers = [
        *_on_the_market(common, offered, sold, keys),
        *_by_reservation(common, offered, reserved, keys),
    ]
    return LaunchPlaces(
        region=facts.region.name,
        zones=zones,
        subnets=subnets or (),
        offered=None if sold is None else offered,
        keys=keys,
        offers=tuple(offers),
        reserved=tuple(reserve.offer for reserve in reserved or ()),
        full=frozenset(reserve.reservation.id for reserve in reserved or () if not reserve.reservation.free),
        removed=() if sold is None else tuple(_removed(facts.region.name, view, sold, offered, offers)),
        unknown=tuple(unknown),
        notes=tuple(_notes(node_class, view, facts.region, zones, reserved)),
    )


_ZoneLabels = Mapping[str, Mapping[str, "Label"]]


def _zone_labels(zones: Iterable[str], region: Region) -> _ZoneLabels:
    ids = {subnet.zone: subnet.zoneId for subnet in region.subnets.values()}
    return {zone: {ZONE: zone, ZONE_ID: ids.get(zone, OPEN)} for zone in sorted(zones)}


def _on_the_market(
    common: _ZoneLabels, offered: Mapping[str, TypeSet], sold: _OfferedTypes | None, keys: frozenset[str]
) -> Iterator[Offer]:
    """Yield the on-demand and spot offerings. If these are not known, every zone offers every type of `offered`."""
    for zone, types in offered.items():
        for kind in ("on-demand", "spot"):
            of_kind = types if sold is None else sold.types.get((zone, kind), NONE)
            if of_kind:
                yield Offer({**dict.fromkeys(keys), **common[zone], CAPACITY_TYPE: kind}, of_kind)


def _by_reservation(
    common: _ZoneLabels,
    offered: Mapping[str, TypeSet],
    reserved: Sequence[_Reserved] | None,
    keys: frozenset[str],
) -> Iterator[Offer]:
    """Yield the offerings of the class's reservations. If these are not known, every type may be reserved in every
    zone.
    """
    if reserved is None:
        unseen: dict[str, Label] = {CAPACITY_TYPE: "reserved", **dict.fromkeys(keys & RESERVATION_KEYS, OPEN)}
        yield from (Offer({**common[zone], **unseen}, types) for zone, types in offered.items() if types)
    for reserve in reserved or ():
        zone = reserve.reservation.zone
        if reserve.offer.types & offered.get(zone, NONE) and not reserve.ending:
            yield Offer({**common[zone], **reserve.offer.labels}, reserve.offer.types)


def _notes(
    node_class: EC2NodeClass | None,
    view: Catalog,
    region: Region,
    zones: Mapping[str, str] | None,
    reserved: Sequence[_Reserved] | None,
) -> Iterator[tuple[Node, str]]:
    """Yield notes about zones and reservations that the numbers do not show."""
    terms = node_class.node.find("spec", "capacityReservationSelectorTerms") if node_class is not None else None
    if terms is not None and reserved:
        yield from _about_reservations(terms, reserved, view)
    at = _subnet_terms(node_class)
    if zones is not None and not zones and at is not None:
        yield at, f"the class finds no subnet; judged as if it had one in every zone of {region.name}"


def _about_reservations(terms: Node, reserved: Sequence[_Reserved], view: Catalog) -> Iterator[tuple[Node, str]]:
    if not behaves("reserves-by-default", view.version):
        off = f"in Karpenter {view.version} it is off by default"
        yield terms, f"the feature gate ReservedCapacity is taken to be on; {off}"
    for reserve in reserved:
        what = f"`{reserve.reservation.id}` ({reserve.reservation.type}, {reserve.reservation.zone})"
        if reserve.ending:
            yield (
                terms,
                f"the reservation {what} ends at {reserve.reservation.ends}: Karpenter launches nothing more in it",
            )
        elif not reserve.reservation.free:
            yield (
                terms,
                f"the reservation {what} had no free instance: Karpenter launches nothing in it until one is free",
            )


class _OfferedTypes(NamedTuple):
    """The types that a region offers by zone, and by zone and capacity type."""

    offered: Mapping[str, TypeSet]
    types: Mapping[tuple[str, str], TypeSet]


@lru_cache(maxsize=16)
def _sold(facts: AwsFacts, view: Catalog) -> _OfferedTypes:
    """Return the types that the region offers, as sets of a catalogue, computed once for all pools. Raise Missing if
    the facts have no offerings.
    """
    if not facts.offerings:
        raise Missing("offerings", "AWS names no instance type that the region offers")
    alike: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for offering in facts.offerings.values():
        alike.setdefault((offering.zones, offering.capacity), []).append(offering.type)
    offered: dict[str, TypeSet] = {}
    by_kind: dict[tuple[str, str], TypeSet] = {}
    for (zones, capacity), names in alike.items():
        types = view.types_of(names)
        for zone in zones:
            offered[zone] = offered.get(zone, NONE) | types
            for kind in capacity:
                by_kind[zone, kind] = by_kind.get((zone, kind), NONE) | types
    return _OfferedTypes(offered, by_kind)


def _removed(
    region: str, view: Catalog, sold: _OfferedTypes, offered: Mapping[str, TypeSet], offers: Iterable[Offer]
) -> Iterable[tuple[TypeSet, str]]:
    """Yield the types that no pool of the class can launch, each set with its first reason."""
    alive = view.all_types
    for types, reason in (
        (union(sold.offered.values()), f"not offered in {region}"),
        (union(offered.values()), "not offered in the zones of the class's subnets"),
        (union(offer.types for offer in offers), f"neither on demand nor spot in {region}"),
    ):
        if alive - types:
            yield alive - types, reason
        alive &= types


def _subnet_terms(node_class: EC2NodeClass | None) -> Node | None:
    if node_class is None:
        return None
    return node_class.node.find("spec", "subnetSelectorTerms") or node_class.name_node


_UNREAD = "the class's zones are not known: what its subnet terms find cannot be determined from the file"


def _subnets(node_class: EC2NodeClass | None, facts: AwsFacts) -> tuple[tuple[Subnet, ...] | None, list[Gap]]:
    """Return the subnets that a class finds. None if they are not known, together with the gaps that explain this."""
    at = _subnet_terms(node_class)
    if node_class is None or at is None:
        return None, []
    finds = subnets_of(node_class, facts)
    unknown = []
    if not finds.terms or len(finds.terms) < len(at.items) or not finds.whole:
        unknown.append(unknown_fact(at, _UNREAD))
    for term in finds.terms:
        if term.missing is not None:
            why = f"the class's zones are not known: {term.missing.reason}"
            unknown.append(unknown_fact(term.node, why, term.missing))
        elif term.found is None:
            unknown.append(unknown_fact(term.node, _UNREAD))
    return (None if unknown else finds.known), unknown


class _Reserved(NamedTuple):
    """A capacity reservation with its offering. `ending` is true if its end is too near for a launch."""

    reservation: CapacityReservation
    offer: Offer
    ending: bool


_LAST_LAUNCH = 40
"""The minutes before the end of a capacity block in which the controller launches nothing in it."""


def _reserved(node_class: EC2NodeClass | None, view: Catalog, facts: AwsFacts) -> list[_Reserved] | None:
    """Return the capacity reservations of a class that the controller uses. None if they are not known."""
    if not may_reserve(node_class, view.version):
        return []
    terms = node_class.node.find("spec", "capacityReservationSelectorTerms") if node_class is not None else None
    if node_class is None or terms is None or terms.kind != "sequence":
        return None
    if any(item.kind != "mapping" for item in terms.items):
        return None
    try:
        found = reservations_of(node_class, facts, view.version).everything()
    except Missing:
        return None
    if found is None:
        return None
    ours = RESERVATION_KEYS & well_known(view.version)
    reserved = []
    for reservation in found:
        labels: dict[str, Label] = {
            RESERVATION_ID: reservation.id,
            RESERVATION_TYPE: reservation.kind,
            INTERRUPTIBLE: OPEN,
        }
        labels = {CAPACITY_TYPE: "reserved", **{key: labels[key] for key in sorted(ours)}}
        if reservation.match in (None, "open", "targeted"):
            reserved.append(
                _Reserved(reservation, Offer(labels, view.only(reservation.type)), _ending(reservation, view, facts))
            )
    return reserved


def _ending(reservation: CapacityReservation, view: Catalog, facts: AwsFacts) -> bool:
    if not behaves("no-launch-in-ending-blocks", view.version) or reservation.kind != "capacity-block":
        return False
    if reservation.ends is None or facts.now is None:
        return False
    return (moment(reservation.ends) - facts.now).total_seconds() <= 60 * _LAST_LAUNCH
