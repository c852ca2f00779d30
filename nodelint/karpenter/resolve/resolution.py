"""What a NodePool can launch: the result of `resolve`, with the methods that rules and reports need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from types import MappingProxyType

from nodelint.base.types import TYPE_CHECKING
from nodelint.data import table
from nodelint.ec2.type_set import NONE, TypeSet, union
from nodelint.karpenter.resolve.allocatable import lacking
from nodelint.karpenter.resolve.capacity import NodeCapacity
from nodelint.karpenter.resolve.effects import ClassExclusion, LineEffect, MinValues, Unlaunchable
from nodelint.karpenter.resolve.image_mixups import ImageMixups
from nodelint.karpenter.resolve.offering_view import Supply
from nodelint.karpenter.resolve.offers import PLACE_KEYS, RESERVATION_KEYS, capacity_types, may_reserve
from nodelint.karpenter.resolve.pool_prices import PoolPrices
from nodelint.model.gap import Gap
from nodelint.model.keys import ARCH, CAPACITY_TYPE, FAMILY, REGION, TENANCY, ZONE
from nodelint.model.manifest import NodePool
from nodelint.model.releases import KubernetesVersion
from nodelint.model.requirement import Requirement, Requirements, normalize, well_known
from nodelint.text import Node

PERHAPS_NEWER = "is not known to EC2 or Karpenter, and may be newer than the catalogue"
ELSEWHERE = "is known to EC2 or Karpenter, and in no region of the catalogue: newer, sold elsewhere, or no more"
OLD_FACTS = "is not known, and may be newer than the catalogue"

_FORMER = {
    "price_in": ("prices", "in_region"),
    "price_region": ("prices", "region"),
    "spot_price": ("prices", "least_spot"),
    "list_prices": ("prices", "list_prices"),
    "cheapest_of": ("prices", "cheapest"),
    "cheapest_type": ("prices", "cheapest_type"),
    "loose": ("image_mixups", "possible"),
    "ambiguous": ("image_mixups", "types"),
    "requirements_for": ("image_mixups", "requirements_for"),
}
"""Deprecated attributes of a resolution, each with the attribute that has replaced it and the name there."""


class Resolution:
    """The instance types that one NodePool with its EC2NodeClass can launch. `nodelint.karpenter.resolve` describes
    how they are determined.

    `class_removed` are the types that the class excludes, with the reason. `lines` are the effects of the
    requirements in the order of the file, then those of the labels. `candidates` meet everything: of them,
    `launchable` have an image, and `unlaunchable` have none. `types_by_image` has the candidates that use each image
    of `images.images`. If anything is `unknown`, all of these are upper bounds and `complete` is False. `places` are
    the known zones and their offerings.
    """

    def __init__(
        self,
        pool: NodePool,
        kubernetes: KubernetesVersion | None,
        supply: Supply,
        folded: Requirements,
        lines: tuple[LineEffect, ...],
        class_removed: tuple[tuple[TypeSet, str], ...],
        candidates: TypeSet,
        types_by_image: tuple[TypeSet, ...],
        unlaunchable: tuple[Unlaunchable, ...],
        unknown: tuple[Gap, ...],
        notes: tuple[tuple[Node, str], ...] = (),
    ) -> None:
        self.pool = pool
        self.supply = supply
        self.node_class = supply.node_class
        self.catalog = supply.view
        self.version = supply.view.version
        self.kubernetes = kubernetes
        self.images = supply.images
        self.places = supply.places
        self.folded = folded
        self.lines = lines
        self.class_removed = class_removed
        self.candidates = candidates
        self.types_by_image = types_by_image
        self.unlaunchable = unlaunchable
        self.unknown = unknown
        self.notes = notes

    is_comparable: bool | None = None
    """Whether the pool is known well enough to be compared with others. None before it is asked."""
    overlay_names: tuple[str, ...] = ()
    """The names of the NodeOverlays that are applied to this pool."""
    settled_overlays: tuple[str, ...] = ()
    """The names of the applied NodeOverlays, and of others that certainly change none of the pool's types or are not
    in effect.
    """
    price_changes: Mapping[str, tuple[str | None, ...]] = MappingProxyType({})
    """For each type to which overlays apply, the `price` or `priceAdjustment` for each on-demand offering; None for
    no change.
    """
    overlay_capacity: Mapping[str, Mapping[str, str]] = MappingProxyType({})
    """For each type to which overlays apply, the resources that they set."""

    min_values_relaxed: bool = False
    """True if the controller launches types although minValues is not met (`minValuesPolicy: BestEffort`)."""

    def with_min_values_relaxed(self) -> Resolution:
        """Return the resolution for a controller that relaxes a minValues that is not met."""
        from copy import copy

        twin = copy(self)
        twin.min_values_relaxed = True
        return twin

    def with_overlays_of(self, other: Resolution) -> Resolution:
        """Return this resolution with the NodeOverlays and the minValues policy of another resolution of the same
        pool.
        """
        from copy import copy

        twin = copy(self)
        for name in ("overlay_names", "settled_overlays", "price_changes", "overlay_capacity", "min_values_relaxed"):
            setattr(twin, name, getattr(other, name))
        return twin

    @property
    def perhaps_newer(self) -> Gap | None:
        """Return the gap that allows a type which is not in the catalogue to meet the requirements.

        None if a known type meets them, or if there is no such gap.
        """
        if self.candidates:
            return None
        reasons = (ELSEWHERE, PERHAPS_NEWER, OLD_FACTS)
        return next((gap for gap in self.unknown if gap.reason.endswith(reasons)), None)

    def with_unknown(self, gaps: Iterable[Gap]) -> Resolution:
        """Return the resolution with further gaps."""
        from copy import copy

        twin = copy(self)
        twin.unknown = (*self.unknown, *gaps)
        return twin

    def with_overlays(
        self,
        names: tuple[str, ...],
        price_changes: Mapping[str, tuple[str | None, ...]],
        capacity: Mapping[str, Mapping[str, str]],
        settled: tuple[str, ...],
    ) -> Resolution:
        """Return the resolution with the prices and capacities of overlays. The candidates stay the same."""
        from copy import copy  # imported here: few runs have overlays, and the module loads slowly

        twin = copy(self)
        twin.__dict__.pop("prices", None)
        twin.overlay_names, twin.settled_overlays = names, settled
        twin.price_changes, twin.overlay_capacity = price_changes, capacity
        return twin

    if not TYPE_CHECKING:  # a type checker must report names that do not exist

        def __getattr__(self, name: str) -> object:
            """Return the value of a deprecated attribute. Raise AttributeError for an unknown name."""
            if name not in _FORMER:
                raise AttributeError(f"a resolution has no `{name}`")
            part, own_name = _FORMER[name]
            return getattr(getattr(self, part), own_name)

    @cached_property
    def prices(self) -> PoolPrices:
        """Return the prices of the instance types, with the overlays of the pool."""
        return PoolPrices(self.catalog, self.region, self.zones, self.price_changes)

    @cached_property
    def image_mixups(self) -> ImageMixups:
        """Return the images that Karpenter before 1.4.0 can take for the image of the pool's nodes."""
        return ImageMixups(self.catalog, self.images.images, self.requirements, self.types_by_image)

    @cached_property
    def capacity(self) -> NodeCapacity:
        """Return the capacity of nodes of each type under the class."""
        return NodeCapacity(self.node_class, self.images, self.catalog)

    @property
    def region(self) -> str | None:
        """Return the region of the AWS facts. None if no facts about the class's zones are known."""
        return None if self.places is None else self.places.region

    @property
    def zones(self) -> Mapping[str, str] | None:
        """Return the zones in which the class has subnets, each with its zone id. None if they are not known."""
        return None if self.places is None else self.places.zones

    def launchable_in(self, zone: str) -> TypeSet:
        """Return the launchable types with an offering in a zone that meets the pool's requirements. Empty if zones
        are not known.
        """
        if self.places is None:
            return NONE
        wanted = Requirements(requirement for requirement in self.folded if requirement.key in self.places.keys)
        wanted.add(Requirement.parse(ZONE, "In", (zone,)))
        return self.places.types_meeting(wanted) & self.launchable

    @property
    def wanted(self) -> TypeSet:
        """Return the candidates that meet all requirements as written, including those that the NodeClaims of a
        static pool lose.
        """
        return self.candidates & self.supply._replace(static=False).keeping(self.folded)

    @property
    def complete(self) -> bool:
        """Return whether no gap is known."""
        return not self.unknown

    @cached_property
    def launchable(self) -> TypeSet:
        """Return the types that meet everything and have an image, or may have one if an image is unknown."""
        return union(self.types_by_image)

    @cached_property
    def image_of(self) -> dict[str, int]:
        """Return for each launchable type the index of the image that it uses."""
        return {
            name: index for index, types in enumerate(self.types_by_image) for name in self.catalog.names_in(types)
        }

    @cached_property
    def requirements(self) -> Requirements:
        """Return the pool's requirements and labels as the scheduler has them, with the label of the NodePool
        itself.
        """
        found = self.folded.copy()
        if isinstance(self.pool.name, str):
            found.add(Requirement.parse("karpenter.sh/nodepool", "In", (self.pool.name,)))
        return found

    @cached_property
    def arches(self) -> dict[str, TypeSet]:
        """Return the architectures of the candidates, each with its types."""
        found = {arch: types & self.candidates for arch, types in self.catalog.values(ARCH).items()}
        return {arch: types for arch, types in found.items() if types}

    @cached_property
    def capacity_types(self) -> tuple[str, ...]:
        """Return the capacity types that the requirements allow and the class can have."""
        wanted = self.folded.get(CAPACITY_TYPE)
        return tuple(kind for kind in capacity_types(self.node_class, self.version) if wanted.admits(kind))

    def families(self, types: TypeSet) -> tuple[str, ...]:
        """Return the instance families of a set of types, sorted."""
        return tuple(sorted(self.catalog.distinct(FAMILY, types)))

    @cached_property
    def min_values(self) -> tuple[MinValues, ...]:
        """Return every key with a minValues. The values that count are those of all candidates, not only those that
        the pool lists.
        """
        found = []
        for requirement in self.folded:
            key, wanted = requirement.key, requirement.min_values
            if wanted is None:
                continue
            line = next(
                effect for effect in self.lines if normalize(effect.key) == key and effect.min_values == wanted
            )
            found.append(MinValues(line, key, wanted, self._distinct(key, self.candidates)))
        return tuple(found)

    def varied_enough(self, types: TypeSet) -> bool:
        """Return whether `types` still meet every minValues that the candidates meet."""
        return all(self.meets(least, types) for least in self.min_values if least.met)

    def meets(self, least: MinValues, types: TypeSet) -> bool:
        """Return whether some candidates meet a minValues. True if that is not known."""
        have = self._distinct(least.key, types)
        return have is None or have >= least.wanted

    @property
    def most_launched(self) -> int:
        """Return the largest number of instance types that one launch considers."""
        most: int = table("allocatable")["typesOfALaunch"]
        return most

    def cheapest(self, most: int) -> TypeSet:
        """Return at least the `most` cheapest candidates on demand: all candidates with the price of the last one are
        included.

        If there are not more than `most`, all candidates are returned. Otherwise candidates whose price is not known
        are left out.
        """
        return self.prices.cheapest(self.candidates, most)

    def distinct(self, key: str, types: TypeSet) -> frozenset[str] | None:
        """Return the values of a label among some types. None for labels that depend on the offering, and for keys
        that no instance type has.
        """
        of_offers = {CAPACITY_TYPE, REGION, TENANCY, *PLACE_KEYS, *RESERVATION_KEYS}
        key = normalize(key)
        return None if key in of_offers or key not in self.catalog.keys else self.catalog.distinct(key, types)

    def _distinct(self, key: str, types: TypeSet) -> int | None:
        if key == REGION:
            return int(bool(types))
        if self.places is not None and key in self.places.keys and (self.zones or key not in PLACE_KEYS):
            values = self.places.values(key, types)
            return None if values is None else len(values)
        if key in PLACE_KEYS or (key in RESERVATION_KEYS and may_reserve(self.node_class, self.version)):
            return None
        if not types:
            return 0
        if key == CAPACITY_TYPE:
            return len(capacity_types(self.node_class, self.version))
        if key == TENANCY and key in well_known(self.version):
            return 2
        return len(self.catalog.distinct(key, types))

    def left_without(self, *lines: LineEffect) -> TypeSet:
        """Return the types that meet all requirements except `lines`."""
        rest = Requirements(line.requirement for line in self.lines if line.requirement and line not in lines)
        return self.alive & self.supply.keeping(rest)

    @property
    def alive(self) -> TypeSet:
        """Return the types that the class does not exclude: the requirements select among them."""
        return self.catalog.all_types - union(removed for removed, _ in self.class_removed)

    @cached_property
    def class_exclusion(self) -> ClassExclusion | None:
        """Return how the class excludes the types that meet all requirements. None if there are candidates, or if no
        type meets the requirements.
        """
        if self.candidates or self.node_class is None:
            return None
        types = self.supply.keeping(Requirements(line.requirement for line in self.lines if line.requirement))
        reasons = [reason for removed, reason in self.class_removed if removed & types]
        if not types or not reasons or types & self.alive:
            return None
        lacks = lacking(self.node_class, self.images.ami_family, self.catalog, self.pool.static)
        at = next((lack.at for lack in lacks if lack.types & types), None)
        return ClassExclusion(types, "; ".join(reasons), at)

    @cached_property
    def clash(self) -> tuple[LineEffect, LineEffect] | None:
        """Return the first two requirements that each allow types but have no type in common. None if there are
        candidates, or no such pair.
        """
        if self.candidates:
            return None
        alive = self.alive
        for j, second in enumerate(self.lines):
            for first in self.lines[:j]:
                if first.kept & alive and second.kept & alive and not self._both(first, second) & alive:
                    return first, second
        return None

    def _both(self, first: LineEffect, second: LineEffect) -> TypeSet:
        types = first.kept & second.kept
        if self.places is None or first.requirement is None or second.requirement is None:
            return types
        keys = (first.requirement.key, second.requirement.key)
        apart = keys[0] == keys[1] or not self.places.keys.issuperset(keys)
        return types if apart else self.places.types_meeting((first.requirement, second.requirement))

    @cached_property
    def dead_lines(self) -> tuple[LineEffect, ...]:
        """Return the requirements that no instance type meets, even alone."""
        return tuple(line for line in self.lines if not line.kept)
