"""Which NodeOverlays the controller accepts, and to which offerings they apply.

From pkg/controllers/nodeoverlay (controller.go, store.go) of Karpenter core 1.7.0 to 1.14.1. The controller reads the
overlays by weight, the largest first, and of equal weight by name, in reverse order of the alphabet. It accepts or
rejects an overlay as a whole. An overlay conflicts if an accepted one of the same weight sets the price of the same
offering in any pool, or if the last one accepted for an instance type has the same weight and sets the same resource.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.ec2.catalog import Catalog
from nodelint.ec2.type_set import NONE, TypeSet, union
from nodelint.karpenter.resolve.offers import RESERVATION_KEYS, may_reserve
from nodelint.karpenter.resolve.resolution import Resolution
from nodelint.karpenter.resolve.zones import OPEN, RESERVATION_ID, Offer, meets_label
from nodelint.model.keys import CAPACITY_TYPE, ZONE, ZONE_ID
from nodelint.model.manifest import NodeOverlay
from nodelint.model.manifest_terms import RequirementLine
from nodelint.model.releases import Version
from nodelint.model.requirement import Requirement, Requirements, normalize, well_known

if TYPE_CHECKING:
    from typing import Literal

    Standing = Literal["accepted", "conflict", "refused", "unknown"]

POOL_KEY = "karpenter.sh/nodepool"
_OF_CLASS = frozenset({"karpenter.k8s.aws/placement-group-id", "karpenter.k8s.aws/placement-group-partition"})
"""Keys of offerings that depend on placement groups, which nodelint does not know."""

_OTHER = "\0"
"""Represents all zones and pools that no overlay names."""


class OverlaidPool:
    """A NodePool as overlays see it: its name, the labels of its template, and what its class can offer.

    The pool's own requirements do not count: the controller considers all types of the class. `offers` are the zones
    and capacity types in which types are offered. If they are not known, the zones are those that overlays name.
    """

    def __init__(
        self,
        name: str | None,
        labels: Mapping[str, str | None] | None,
        types: TypeSet,
        select: Callable[[Requirement], TypeSet],
        offers: Sequence[Offer],
        reserved: Sequence[Offer] = (),
        open_keys: frozenset[str] = frozenset(),
        may_reserve_unseen: bool = False,
    ) -> None:
        self.name = name
        self.types = types
        self.offers = offers
        self._select = select
        self._reserved = reserved
        self._may_reserve_unseen = may_reserve_unseen
        self._any_label = labels is None
        stated = {key: value for key, value in (labels or {}).items() if value is not None}
        self._labels = Requirements.from_labels(stated | ({POOL_KEY: name} if name is not None else {}))
        unknown = {key for key, value in (labels or {}).items() if value is None}
        self._open = open_keys | unknown | (frozenset() if name is not None else {POOL_KEY})

    def find_offers(self, requirements: Requirements, release: Version) -> tuple[TypeSet, ...] | None:
        """Return the instance types that match the requirements, for each of `offers`. None if they depend on labels
        of the pool that are not known.
        """
        types, of_offers = self.types, []
        defined = well_known(release) - {POOL_KEY}
        for wanted in requirements:
            if wanted.key in self._open or (self._may_reserve_unseen and _is_for_reserved(wanted)):
                return None
            if wanted.key in self._labels:
                types &= self._with_label(self._labels[wanted.key], wanted, defined)
            elif wanted.key not in defined:
                if self._any_label:
                    return None
                types &= self.types if wanted.absent_allowed else NONE
            elif wanted.key not in _OFFER_KEYS:
                types &= self._select(wanted)
            if wanted.key in _OFFER_KEYS and wanted.key in defined:
                of_offers.append(wanted)
        for wanted in of_offers:
            if wanted.key in RESERVATION_KEYS and self._reserved:
                with_one = union(offer.types for offer in self._reserved)
                fitting = union(offer.types for offer in self._reserved if meets_label(wanted, offer.labels))
                types -= with_one - fitting
        return tuple(
            offer.types & types if all(meets_label(requirement, offer.labels) for requirement in of_offers) else NONE
            for offer in self.offers
        )

    def _with_label(self, label: Requirement, wanted: Requirement, defined: frozenset[str]) -> TypeSet:
        """Return the types that match a requirement on a key that the template has as a label.

        If instance types have the key as well, the label narrows them.
        """
        if label.key not in defined or label.key in _OFFER_KEYS:
            return self.types if label.intersects(wanted) else NONE
        both = label.intersect(wanted)
        types = self._select(both) if both.length else NONE
        return types | (self.types - self._select(label) if wanted.absent_allowed else NONE)


def _is_for_reserved(wanted: Requirement) -> bool:
    """Return whether a requirement allows the capacity type `reserved` and no other."""
    return wanted.key == CAPACITY_TYPE and [kind for kind in CAPACITY_TYPES if wanted.admits(kind)] == ["reserved"]


CAPACITY_TYPES = ("on-demand", "spot", "reserved")
_OFFER_KEYS = frozenset({CAPACITY_TYPE, ZONE, ZONE_ID}) | RESERVATION_KEYS


def view_pool(resolution: Resolution, zones: Iterable[str]) -> OverlaidPool:
    """Return a NodePool as overlays see it. `zones` are the zones that overlays name: they are used if the zones of
    the class are not known.
    """
    pool, places = resolution.pool, resolution.places
    labels: dict[str, str | None] | None = {}
    for label in pool.template_labels:
        if labels is not None and isinstance(label.key, str):
            labels[label.key] = label.value if isinstance(label.value, str) else None
        else:
            labels = None
    if pool.partial:
        labels = None
    reserves = may_reserve(resolution.node_class, resolution.version)
    if places is None:
        offers = _unplaced(resolution.catalog.all_types, zones)
        reserved: Sequence[Offer] = ()
        open_keys = _OF_CLASS | {ZONE_ID} | (RESERVATION_KEYS if reserves else frozenset())
    else:
        offers = [offer for offer in places.offers if offer.labels.get(RESERVATION_ID) is not OPEN]
        reserved, reserves = places.reserved, not places.reservations_known
        open_keys = _OF_CLASS | {
            key for offer in places.offers for key, value in offer.labels.items() if value is OPEN
        }
    name = pool.name if isinstance(pool.name, str) else None
    select = resolution.supply.select
    return OverlaidPool(name, labels, resolution.alive, select, offers, reserved, open_keys, reserves)


def view_unseen_pools(catalog: Catalog, names: Iterable[str], zones: Iterable[str]) -> list[OverlaidPool]:
    """Return a pool with any class for each of `names`, and one for all other names. They represent the pools that
    are not in the files.
    """
    offers = _unplaced(catalog.all_types, zones)
    open_keys = _OF_CLASS | RESERVATION_KEYS | {ZONE_ID}
    return [
        OverlaidPool(name, None, catalog.all_types, catalog.select, offers, (), open_keys, True)
        for name in (*names, _OTHER)
    ]


def _unplaced(types: TypeSet, zones: Iterable[str]) -> list[Offer]:
    """Return the offerings of `types` if no zone is known: in each of `zones` and in another one, on-demand and
    spot.
    """
    return [
        Offer({**dict.fromkeys(_OFFER_KEYS), ZONE: zone, ZONE_ID: True, CAPACITY_TYPE: kind}, types)
        for zone in (*sorted(zones), _OTHER)
        for kind in ("on-demand", "spot")
    ]


def requirements_of(overlay: NodeOverlay, release: Version) -> Requirements | None:
    """Return the requirements of an overlay on types and offerings.

    None if the overlay may have further fields, if it holds a placeholder, or if the API server refuses it.
    """
    spec = overlay.node.get("spec")
    if overlay.partial or spec is None or any(entry.name is None for entry in spec.entries):
        return None
    at = spec.get("requirements")
    if at is None or at.kind != "sequence" or len(at.items) != len(overlay.requirements):
        return None
    return read_requirements(overlay.requirements, release)


def read_requirements(lines: Iterable[RequirementLine], release: Version) -> Requirements | None:
    """Return the requirements as a release reads them. None if one holds a placeholder or cannot be read."""
    found = Requirements()
    for line in lines:
        if not line.known or not isinstance(line.key, str) or not isinstance(line.operator, str):
            return None
        try:
            found.add(Requirement.parse(line.key, line.operator, line.texts, release=release))
        except ValueError:
            return None
    return found


def named_values(overlays: Iterable[NodeOverlay], key: str) -> set[str]:
    """Return the values of a label that the requirements of overlays name."""
    lines = (
        line
        for overlay in overlays
        for line in overlay.requirements
        if isinstance(line.key, str) and normalize(line.key) == key
    )
    return {text for line in lines for text in line.texts}


class NodeOverlayVerdict(NamedTuple):
    """The decision of the controller about an overlay, and the types to which the overlay applies.

    `reach` has, for each pool, the types of each offering; None if these are not known. If the overlay is in
    conflict, `other` is the accepted overlay with which it conflicts, `shared` the types that both concern, and
    `over` is `price` or a resource.
    """

    overlay: NodeOverlay
    standing: Standing
    reach: tuple[tuple[TypeSet, ...], ...] | None = None
    other: NodeOverlay | None = None
    shared: TypeSet = NONE
    over: str = "price"

    @property
    def types(self) -> TypeSet:
        """Return the instance types to which the overlay applies in some pool."""
        return union(types for pool in self.reach or () for types in pool)


def decide(
    overlays: Iterable[NodeOverlay],
    pools: Sequence[OverlaidPool],
    release: Version,
    is_refused: Callable[[NodeOverlay], bool],
) -> list[NodeOverlayVerdict]:
    """Return a verdict for each overlay of one cluster, in the controller's order.

    After an overlay whose verdict is unknown, the verdicts of overlays of its weight are unknown too, unless they
    conflict with an accepted one.
    """
    found: list[NodeOverlayVerdict] = []
    hidden: set[int | None] = set()
    for overlay in sorted(overlays, key=_order):
        if is_refused(overlay):
            found.append(NodeOverlayVerdict(overlay, "refused"))
            continue
        requirements = requirements_of(overlay, release)
        reach = _reach(requirements, pools, release) if requirements is not None else None
        if reach is None or overlay.weight is None or not overlay.effects_known:
            hidden.add(overlay.weight)
            found.append(NodeOverlayVerdict(overlay, "unknown", reach))
            continue
        verdict = _judge(overlay, reach, [verdict for verdict in found if verdict.standing == "accepted"])
        if verdict.standing == "accepted" and (overlay.weight in hidden or None in hidden):
            verdict = verdict._replace(standing="unknown")
        found.append(verdict)
    return found


def _order(overlay: NodeOverlay) -> tuple[int, list[int]]:
    name = overlay.name if isinstance(overlay.name, str) else ""
    # Go compares names byte by byte.
    return -(overlay.weight if overlay.weight is not None else 10_001), [*(-byte for byte in name.encode()), 1]


def _reach(
    requirements: Requirements, pools: Sequence[OverlaidPool], release: Version
) -> tuple[tuple[TypeSet, ...], ...] | None:
    found = [pool.find_offers(requirements, release) for pool in pools]
    known = tuple(type_sets for type_sets in found if type_sets is not None)
    return known if len(known) == len(found) else None


def _judge(
    overlay: NodeOverlay, reach: tuple[tuple[TypeSet, ...], ...], accepted: Sequence[NodeOverlayVerdict]
) -> NodeOverlayVerdict:
    verdict = NodeOverlayVerdict(overlay, "accepted", reach)
    for other, over, shared in (
        *_find_price_conflicts(verdict, accepted),
        *_find_capacity_conflicts(verdict, accepted),
    ):
        return verdict._replace(standing="conflict", other=other, shared=shared, over=over)
    return verdict


_Conflict = tuple[NodeOverlay, str, TypeSet]


def _find_price_conflicts(verdict: NodeOverlayVerdict, accepted: Sequence[NodeOverlayVerdict]) -> Iterator[_Conflict]:
    own = verdict.overlay
    if own.price is None:
        return
    for other in accepted:
        if other.overlay.price is None or other.overlay.weight != own.weight:
            continue
        shared = union(
            a & b
            for ours, theirs in zip(verdict.reach or (), other.reach or (), strict=True)
            for a, b in zip(ours, theirs, strict=True)
        )
        if shared:
            yield other.overlay, "price", shared


def _find_capacity_conflicts(
    verdict: NodeOverlayVerdict, accepted: Sequence[NodeOverlayVerdict]
) -> Iterator[_Conflict]:
    """Yield the accepted overlays that set the same resource for the same types. Only the last overlay accepted for a
    type is compared, as in the controller.
    """
    own = verdict.overlay
    for index, offers in enumerate(verdict.reach or () if own.capacity is not None else ()):
        left = union(offers)
        for other in reversed(accepted):
            if other.overlay.capacity is None or other.reach is None:
                continue
            met = left & union(other.reach[index])
            both = sorted(set(own.capacity or ()) & set(other.overlay.capacity))
            if met and both and other.overlay.weight == own.weight:
                yield other.overlay, both[0], met
            left -= met


def apply_node_overlays(
    resolution: Resolution, view: OverlaidPool, index: int, verdicts: Sequence[NodeOverlayVerdict]
) -> Resolution:
    """Return a resolution with the prices and capacities that accepted overlays give its types.

    `view` is its pool as overlays see it, `index` the index of the pool in `reach`.
    """
    settled = tuple(
        str(verdict.overlay.name)
        for verdict in verdicts
        if verdict.standing != "unknown" or (verdict.reach is not None and not any(verdict.reach[index]))
    )
    accepted = [
        verdict
        for verdict in verdicts
        if verdict.standing == "accepted" and verdict.reach and any(verdict.reach[index])
    ]
    if not accepted:
        return resolution.with_overlays((), {}, {}, settled)
    changes: dict[str, tuple[str | None, ...]] = {}
    capacity: dict[str, dict[str, str]] = {}
    zones = resolution.folded.get(ZONE)
    ours = [
        number
        for number, offer in enumerate(view.offers)
        if offer.labels.get(CAPACITY_TYPE) == "on-demand" and meets_label(zones, offer.labels)
    ]
    for name in resolution.catalog.names_in(union(t for verdict in accepted for t in (verdict.reach or ())[index])):
        types = resolution.catalog.only(name)
        met = [(verdict.overlay, verdict.reach[index]) for verdict in accepted if verdict.reach is not None]
        changes[name] = tuple(
            next((o.price for o, reach in met if o.price is not None and reach[number] & types), None)
            for number in ours
            if view.offers[number].types & types
        )
        for overlay, reach in met:
            if union(reach) & types:
                brought = {resource: str(node.value) for resource, node in (overlay.capacity or {}).items()}
                before = capacity.get(name, {})
                capacity[name] = (
                    {**before, **brought} if resolution.version < _HEAVIER_WINS else {**brought, **before}
                )
    names = tuple(str(verdict.overlay.name) for verdict in accepted)
    return resolution.with_overlays(
        names, changes, {name: new_capacity for name, new_capacity in capacity.items() if new_capacity}, settled
    )


_HEAVIER_WINS = Version(1, 9, 0)
"""The first release in which the overlay with the larger weight wins if two set one resource."""
