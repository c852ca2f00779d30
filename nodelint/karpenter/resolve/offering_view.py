"""The instance types of a class, where they are offered, and which of them meet requirements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nodelint.base.tuples import NamedTuple
from nodelint.data import table
from nodelint.ec2.catalog import Catalog
from nodelint.ec2.type_set import NONE, TypeSet
from nodelint.karpenter.images import ImageSet
from nodelint.karpenter.resolve.offers import PLACE_KEYS, RESERVATION_KEYS, capacity_types, may_reserve
from nodelint.karpenter.resolve.zones import LaunchPlaces
from nodelint.karpenter.selectors import allows_place, region_of
from nodelint.model.keys import CAPACITY_TYPE, OS, REGION, WINDOWS_BUILD, ZONE
from nodelint.model.manifest import EC2NodeClass
from nodelint.model.requirement import Requirement, well_known


class Supply(NamedTuple):
    """The instance types as a release and a class see them, and the zones and capacity types in which they are
    offered.

    Without a class, or without `places`, every type stays that some class or zone could offer. `static` is true if
    the requirements are those of a NodeClaim without a list of instance types.
    """

    view: Catalog
    node_class: EC2NodeClass | None
    images: ImageSet
    places: LaunchPlaces | None
    static: bool = False

    @property
    def class_traits(self) -> tuple[object, ...]:
        """Return everything about the class that decides which types meet requirements, and the notes about them, if
        no zones are known.
        """
        return self.static, self.images.os is None, may_reserve(self.node_class, self.view.version)

    def keeping(self, requirements: Iterable[Requirement]) -> TypeSet:
        """Return the types that meet all requirements, which have one entry for each key. Requirements on offerings
        are evaluated together.
        """
        types = self.view.all_types
        wanted = []
        of_places = {}
        for written in requirements:
            requirement = written.on_claim() if self.static else written
            if self.places is not None and requirement.key in self.places.keys:
                wanted.append(requirement)
            else:
                types &= self.select(requirement)
                if requirement.key in PLACE_KEYS:
                    of_places[requirement.key] = requirement
        if len(of_places) > 1 and not _share_region(of_places):
            return NONE
        return types & self.places.types_meeting(wanted) if wanted and self.places is not None else types

    def told_apart(self, key: str) -> frozenset[str]:
        """Return the values of a key that `select` distinguishes from others, for keys that do not depend on
        zones.
        """
        region = (self.places.region,) if self.places is not None else ()
        named = table("vocabulary")["values"].get(key, ())
        return frozenset(
            (*self.view.values(key), *named, *capacity_types(self.node_class, self.view.version), *region)
        )

    def select(self, requirement: Requirement) -> TypeSet:
        """Return the types that meet one requirement, including what the class decides about their offerings."""
        key, every = requirement.key, self.view.all_types
        if key in (OS, WINDOWS_BUILD) and self.images.os is None:
            return every
        if key == REGION and self.places is not None:
            return every if requirement.admits(self.places.region) else NONE
        if key in PLACE_KEYS:
            # Every type is offered somewhere, and no place is a number.
            numbers = requirement.greater_equal is not None or requirement.less_equal is not None
            return NONE if numbers or requirement.length == 0 or not allows_place(requirement) else every
        if key == CAPACITY_TYPE:
            return every if any(map(requirement.admits, capacity_types(self.node_class, self.view.version))) else NONE
        reservations = RESERVATION_KEYS & well_known(self.view.version)
        if key in reservations and not may_reserve(self.node_class, self.view.version):
            return every if requirement.absent_allowed else NONE
        return self.view.select(requirement)


def _share_region(requirements: Mapping[str, Requirement]) -> bool:
    """Return whether an allowed region may have one of the allowed zones, by the region in their names."""
    region, zones = requirements.get(REGION), requirements.get(ZONE)
    if region is None or zones is None or zones.complement:
        return True
    regions = map(region_of, zones.values)
    return any(name is not None and region.admits(name) for name in regions)
