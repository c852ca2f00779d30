"""Instance types as immutable values, indexed by label.

A requirement is the union of its values' sets (`type_set`), a NodePool the intersection of its requirements.
Columns and sets are built when first asked for.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from types import MappingProxyType

from nodelint.base.tuples import NamedTuple
from nodelint.data import DATA, table
from nodelint.ec2.label_columns import LabelColumns, types_by_value
from nodelint.ec2.snapshot import Change, Network, Origin, Snapshot, read_bundled, read_columns
from nodelint.ec2.type_set import NONE, TypeSet, union
from nodelint.model.keys import (
    ARCH,
    CAPACITY_TYPE,
    CATEGORY,
    FAMILY,
    GENERATION,
    INSTANCE_TYPE,
    NITRO_SANDBOX,
    OS,
    POD_ENI,
    REGION,
    SIZE,
    TENANCY,
    WINDOWS_BUILD,
    ZONE,
)
from nodelint.model.releases import NEWEST, Version
from nodelint.model.requirement import Requirement, well_known_since

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any, TypeVar

    _T = TypeVar("_T")

_ALWAYS_THERE = frozenset({REGION, ZONE})
_CACHED = 5_000
MAC = ("mac1", "mac2", "mac-")
"""How the names of mac types begin. Karpenter asks EC2 for x86_64 and arm64 only, so that it never has these."""


_PRICES = "on-demand prices"
"""What the sources of prices call them."""


class RegionPrices(NamedTuple):
    """What a region answered about prices: of what day, USD an hour by type, and those of spot by type and zone."""

    region: str
    date: str
    on_demand: Mapping[str, float]
    spot: Mapping[str, Mapping[str, float]]


class Catalog:
    """Every instance type with the labels that one Karpenter release gives it.

    `at` and `on_windows` give the same types as another release, or a class of a Windows family, sees them.
    """

    __slots__ = (
        "_all",
        "_columns",
        "_keys",
        "_names",
        "_notes",
        "_regional",
        "_selected",
        "_snapshot",
        "_values",
        "_version",
        "_views",
        "_windows_build",
        "_written",
    )

    def __init__(
        self,
        snapshot: Snapshot,
        release: Version = NEWEST,
        windows_build: str | None = None,
        written: LabelColumns | None = None,
        regional: RegionPrices | None = None,
    ) -> None:
        self._snapshot = snapshot
        self._version = release
        self._windows_build = windows_build
        self._written = LabelColumns(snapshot) if written is None else written
        self._regional = regional
        self._names = self._written.names
        self._columns: dict[str, tuple[str | None, ...] | None] = {}
        self._values: dict[str, dict[str, TypeSet]] = {}
        self._selected: dict[Requirement, TypeSet] = {}
        self._all = TypeSet.span(0, len(self._names))
        self._keys: frozenset[str] | None = None
        self._notes: dict[object, Any] = {}
        self._views: dict[Version, Catalog] = {}

    @classmethod
    def bundled(cls) -> Catalog:
        """The catalogue that comes with nodelint; read once."""
        return _bundled()

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Catalog:
        """The catalogue of a file that comes with nodelint, whose values the tests have checked.

        Raises OSError, and SnapshotError for what is not a snapshot.
        """
        with open(path, "rb") as file:
            return cls(read_bundled(file.read()))

    def for_release(self, release: Version) -> Catalog:
        """The catalogue as the controller of a release sees it.

        A label that the release does not have yet is not a label of any type: requirements on it are
        ignored there, as those on any custom label are. Values that differed (the bandwidth table is
        compiled in, Neuron names changed with 1.1.0) are those of the release.
        """
        if release == self._version:
            return self
        view = self._views.get(release)
        if view is None:
            view = self._views[release] = Catalog(
                self._snapshot, release, self._windows_build, self._written, self._regional
            )
        return view

    def on_windows(self, build: str) -> Catalog:
        """The catalogue for a class of a Windows family (`build` such as `10.0.20348`).

        amd64 types then run Windows, arm64 types no system at all, and every type has that Windows build.
        """
        return Catalog(self._snapshot, self._version, build, self._written, self._regional)

    def extended(self, newer: Snapshot) -> Catalog:
        """These types and those of another snapshot, whose row counts where both have one.

        What no answer of EC2 holds stays as it is here: bandwidth (a table of the controller's), what labels
        were before a release, and prices and network limits that the other row lacks.
        """
        from nodelint.ec2.merge import joined

        return Catalog(joined(self._snapshot, newer), self._version, self._windows_build) if newer.rows else self

    def with_prices(self, prices: RegionPrices) -> Catalog:
        """The same types with the prices that a region answered."""
        return Catalog(self._snapshot, self._version, self._windows_build, self._written, prices)

    @property
    def version(self) -> Version:
        """The release whose view this is."""
        return self._version

    @property
    def origin(self) -> str:
        """Where the facts come from, in a few words."""
        return self._snapshot.origin

    @property
    def date(self) -> str:
        """The day of the instance type facts, ISO 8601."""
        return self._snapshot.date

    @property
    def sources(self) -> tuple[Origin, ...]:
        """Where each part of the facts comes from, with its day."""
        return self._snapshot.sources

    @property
    def changes(self) -> tuple[Change, ...]:
        """Label values as they were before a release, of the types that are in the catalogue."""
        return self._snapshot.changes

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all types, sorted."""
        return self._names

    @property
    def all_types(self) -> TypeSet:
        """The set of all types."""
        return self._all

    @property
    def keys(self) -> frozenset[str]:
        """The labels that types have, or could have, in this release."""
        if self._keys is None:
            known = {key for key in self._snapshot.labels if self._has_label(key)}
            self._keys = frozenset(known | {WINDOWS_BUILD})
        return self._keys

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._positions()

    def place(self, name: str) -> int | None:
        """Where a type stands in the order of names; None where there is no such type."""
        return self._positions().get(name)

    def only(self, name: str) -> TypeSet:
        """The set that holds one type; empty where there is none of that name."""
        position = self._positions().get(name)
        return NONE if position is None else TypeSet.from_positions((position,))

    def names_in(self, types: TypeSet) -> list[str]:
        """The names of a set's types, sorted."""
        return types.select(self._names)

    def iterate_names(self, types: TypeSet) -> Iterator[str]:
        """The same one by one, for a caller that may stop early."""
        return types.iterate_names(self._names)

    def starting_with(self, prefix: str) -> TypeSet:
        """The types whose names begin with a text: names are sorted, so these stand side by side."""
        return TypeSet.span(bisect_left(self._names, prefix), bisect_left(self._names, f"{prefix}\U0010ffff"))

    def types_of(self, names: Iterable[str]) -> TypeSet:
        """The set of the types of these names; names that are unknown are passed over."""
        positions = self._positions()
        return TypeSet.from_positions(sorted(positions[name] for name in names if name in positions))

    def values(self, key: str) -> Mapping[str, TypeSet]:
        """The values of a label, each with the set of its types, in the order of the types' names."""
        return MappingProxyType(self._by_value(key))

    def has_value(self, key: str, value: str) -> bool:
        """Whether some type has this value of a label."""
        return value in self._by_value(key)

    def having(self, key: str) -> TypeSet:
        """The types that have the label, an empty value included."""
        return self.remembered(("having", key), lambda: union(self._by_value(key).values()))

    def having_value(self, key: str, *values: str) -> TypeSet:
        """The types whose label has one of these values; unknown values add none."""
        by_value = self._by_value(key)
        return union(by_value.get(value, NONE) for value in values)

    def distinct(self, key: str, types: TypeSet) -> frozenset[str]:
        """The values of a label among the types of a set: what minValues counts."""
        return self.remembered(
            ("distinct", key, types),
            lambda: frozenset([value for value, part in self._by_value(key).items() if part & types]),
        )

    def label(self, name: str, key: str) -> str | None:
        """The value of a type's label; None where it has none, or where there is no such type."""
        position = self._positions().get(name)
        column = self._column(key)
        return None if position is None or column is None else column[position]

    def column(self, key: str) -> tuple[str | None, ...]:
        """The value of a label for each type, in the order of names: what `TypeSet.select` takes."""
        return self._column(key) or (None,) * len(self._names)

    def labels(self, name: str) -> dict[str, str]:
        """All labels of a type; empty where there is no such type."""
        found = ((key, self.label(name, key)) for key in sorted(self.keys))
        return {key: value for key, value in found if value is not None}

    def resources(self, name: str) -> dict[str, str]:
        """Kubernetes quantities that are left on a node with the AL2023 family and default settings."""
        position = self._positions().get(name)
        if position is None:
            return {}
        columns = self._written.columns
        quantities = dict(zip(self._snapshot.resources, columns.quantities_of(position), strict=True))
        if name in self._network_changes:
            quantities[POD_ENI] = self._pod_enis(name)
        return {resource: quantity for resource, quantity in quantities.items() if quantity is not None}

    @property
    def resource_names(self) -> tuple[str, ...]:
        """The resources of which some type has some."""
        return tuple(self._snapshot.resources)

    def quantities(self, resource: str) -> tuple[str | None, ...]:
        """How much of a resource each type has, in the order of names: what `resources` says of one type."""
        if resource not in self._snapshot.resources:
            return (None,) * len(self._names)
        written = self._written.columns.quantities(self._snapshot.resources.index(resource))
        changes = self._network_changes if resource == POD_ENI else {}
        if not changes:
            return written
        pairs = zip(self._names, written, strict=True)
        return tuple([self._pod_enis(name) if name in changes else quantity for name, quantity in pairs])

    def having_resource(self, resource: str) -> TypeSet:
        """The types that `resources` names some of a resource for."""
        if resource not in self._snapshot.resources:
            return NONE

        def make() -> TypeSet:
            quantities = self.quantities(resource)
            return TypeSet.from_positions([n for n, quantity in enumerate(quantities) if quantity not in (None, "0")])

        return self.remembered(("having resource", resource), make)

    @property
    def _network_changes(self) -> Mapping[str, list[int] | None]:
        """The types whose network limits the release's own table lacks (None) or has otherwise.

        Each with the IPv4 addresses of an interface and its branch interfaces.
        """
        return network_changes(self._version) if self._version < NEWEST else {}

    def _pod_enis(self, name: str) -> str | None:
        """The branch interfaces that the release gives a type whose limits differ; None where it gives none."""
        limits = self._network_changes[name]
        return str(limits[1]) if limits is not None and limits[1] else None

    def addresses_per_interface(self, name: str) -> int | None:
        """The IPv4 addresses of an interface by the release's own table; None where the table lacks the type."""
        if name in self._network_changes:
            limits = self._network_changes[name]
            return None if limits is None else limits[0]
        network = self.network(name)
        return None if network is None else network.ipv4_per_interface

    def network(self, name: str) -> Network | None:
        """The VPC limits of a type, whatever the release; None where none are published."""
        position = self._positions().get(name)
        limits = None if position is None else self._written.columns.network(position)
        if limits is None:
            return None
        interfaces, addresses, trunking, branches, cards = limits
        return Network(interfaces, addresses, trunking, branches, tuple(cards))

    def price(self, name: str, region: str = "us-east-1") -> float | None:
        """On-demand price in USD per hour; None where none is known.

        A region without a table of its own has the prices of us-east-1, as Karpenter starts out with; a
        Chinese region has none, for those are not in USD.
        """
        position = self._positions().get(name)
        return None if position is None else self.prices(region)[position]

    def prices(self, region: str = "us-east-1") -> tuple[float | None, ...]:
        """The price of each type, in the order of names: what `TypeSet.select` takes."""
        regional = self._regional
        if regional is not None and regional.region == region and regional.on_demand:
            return self.remembered("prices of the region", lambda: tuple(map(regional.on_demand.get, self._names)))
        regions = self._snapshot.priced
        if region.startswith("cn-") or not regions:
            return (None,) * len(self._names)
        return self._written.columns.prices(regions.index(region if region in regions else "us-east-1"))

    def prices_are_of(self, region: str | None) -> str:
        """The region whose prices stand for those of a region, or of an unknown one."""
        known = region is not None and (region in self._snapshot.priced or self._is_answered(region))
        return region if known and region is not None else "us-east-1"

    def _is_answered(self, region: str | None) -> bool:
        regional = self._regional
        return regional is not None and regional.region == region and bool(regional.on_demand)

    def prices_date(self, region: str | None) -> str | None:
        """The day that the prices of a region are of; None where no source of them states one."""
        if self._regional is not None and self._is_answered(region):
            return self._regional.date
        of_gov = self.prices_are_of(region).startswith("us-gov-")
        days = [s.date for s in self.sources if s.facts == _PRICES and ("us_gov" in s.origin) == of_gov]
        return max(days, default=None)

    @property
    def answered_prices(self) -> RegionPrices | None:
        """What the region of a run answered about prices; None where it was not asked."""
        return self._regional

    def select(self, requirement: Requirement) -> TypeSet:
        """The types that one requirement keeps, as Karpenter asks it: by `Intersects`.

        A key that no type has in this release is ignored and keeps all; so are keys of offerings, unless
        no offering anywhere could meet the requirement. A type that lacks a label that others have is kept
        by NotIn and DoesNotExist alone.
        """
        known = self._selected.get(requirement)
        if known is None:
            if len(self._selected) >= _CACHED:
                self._selected.clear()
            known = self._selected[requirement] = self._select(requirement)
        return known

    def _select(self, requirement: Requirement) -> TypeSet:
        key = requirement.key
        if key in (CAPACITY_TYPE, NITRO_SANDBOX, TENANCY):
            brought = table("vocabulary")["values"][key].items()
            possible = [value for value, since in brought if Version.parse(since) <= self._version]
            return self.all_types if not possible or any(map(requirement.admits, possible)) else NONE
        if key in _ALWAYS_THERE:
            return NONE if requirement.operator == "DoesNotExist" else self.all_types
        if self._column(key) is None:
            return self.all_types
        by_value = self._by_value(key)
        if not requirement.complement:
            types = union(by_value.get(value, NONE) for value in requirement.values)
            return types if requirement.values else self.all_types - self.having(key)
        if requirement.greater_equal is None and requirement.less_equal is None:
            refused = union(by_value.get(value, NONE) for value in requirement.values)
            return self.all_types - refused if requirement.values else self.having(key)
        types = union(types for value, types in by_value.items() if requirement.admits(value))
        return types | (self.all_types - self.having(key)) if requirement.absent_allowed else types

    def fitting(self, requirements: Iterable[Requirement]) -> TypeSet:
        """The types that all of these requirements keep, one for each key (a `Requirements`)."""
        types = self.all_types
        for requirement in requirements:
            types &= self.select(requirement)
        return types

    def remembered(self, name: object, make: Callable[[], _T]) -> _T:
        """What `make` makes of this catalogue, made when first asked for; a name stands for one thing.

        Of what is asked for each set of types, the notes are dropped when they are many: it can be made again.
        """
        if name in self._notes:
            known: _T = self._notes[name]
            return known
        made = make()
        if len(self._notes) >= _CACHED:
            self._notes.clear()
        self._notes[name] = made
        return made

    def _positions(self) -> dict[str, int]:
        return self._written.positions

    def _has_label(self, key: str) -> bool:
        since = well_known_since(key)
        return since is None or since <= self._version

    def _column(self, key: str) -> tuple[str | None, ...] | None:
        """A label's value for each type, None where types have no such key at all."""
        if key not in self._columns:
            self._columns[key] = self._build(key)
        return self._columns[key]

    def _build(self, key: str) -> tuple[str | None, ...] | None:
        if key == WINDOWS_BUILD:
            return (self._windows_build,) * len(self._names)
        if key == OS and self._windows_build is not None:
            return tuple(["windows" if arch == "amd64" else None for arch in self._column(ARCH) or ()])
        if key not in self._snapshot.labels or not self._has_label(key):
            return None
        changes = [
            change for change in self._snapshot.changes if change.label == key and self._version < change.before
        ]
        if not changes:
            return self._written.column(key)
        column = list(self._written.column(key))
        # Newest first, so that of two changes the older one, nearer to the release, has the last word.
        for change in sorted(changes, key=lambda c: c.before, reverse=True):
            for name, value in change.values.items():
                column[self._positions()[name]] = value
        return tuple(column)

    def _by_value(self, key: str) -> dict[str, TypeSet]:
        found = self._values.get(key)
        if found is None:
            column = self._column(key) or ()
            as_written = key in self._written.labels and column is self._written.column(key)
            found = self._values[key] = self._written.sets(key) if as_written else types_by_value(column)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)


@cache
def network_changes(release: Version) -> Mapping[str, list[int] | None]:
    """The network limits that a release's own table has otherwise than the newest one, by instance type."""
    found: dict[str, list[int] | None] = {}
    for change in table("network_limits")["changes"]:  # newest first: the older one has the last word
        if release < Version.parse(change["before"]):
            found |= change["limits"]
    return found


@cache
def tables_alone() -> Catalog:
    """The types that the controller's tables know and the catalogue lacks: no region that was asked offers them.

    They are sold elsewhere, or were. Of labels they have the bandwidth alone.
    """
    return Catalog.load(f"{DATA}/tables.json")


def named_elsewhere(key: str, values: Iterable[str], catalog: Catalog) -> list[str]:
    """The types or families among some values that the catalogue lacks, and Karpenter's tables or EC2 know."""
    unknown = _unknown_names(key, values, catalog)
    return [value for value in unknown if value in names_elsewhere(key)] if unknown else []


def _unknown_names(key: str, values: Iterable[str], catalog: Catalog) -> list[str]:
    """Those of the values of a key for types or families that the catalogue lacks; none for another key."""
    if key not in (INSTANCE_TYPE, FAMILY):
        return []
    known = catalog.values(key)
    return [value for value in values if value not in known]


@cache
def names_elsewhere(key: str) -> frozenset[str]:
    """The types or families that Karpenter's tables or EC2 know; none for other keys."""
    if key not in (INSTANCE_TYPE, FAMILY):
        return frozenset()
    from nodelint.ec2.api_names import api_types

    names: Iterable[str] = (*tables_alone(), *api_types())
    names = [name for name in names if not name.startswith(MAC)]
    return frozenset(names if key == INSTANCE_TYPE else [name.partition(".")[0] for name in names])


_SIZE_OF_NUMBER = re.compile(r"(?:metal-)?[0-9]{1,3}(?:xlarge|xl)")
_NAME = re.compile(r"([a-z]{1,30})(?:-[0-9]{1,9}tb)?([0-9]{1,9}).{0,100}\.(.{1,100})")
"""Karpenter's own expression for the category and the generation in a type's name."""
NAME_KEYS = (CATEGORY, GENERATION, FAMILY, SIZE, INSTANCE_TYPE)
"""The labels that follow from a type's name."""


def newer_type(requirements: Iterable[Requirement], catalog: Catalog, not_sizes: Collection[str] = ()) -> str | None:
    """Return a type that is newer than the catalogue and whose name meets the requirements; None if there is none.

    EC2 knows such a type by name. Types of `not_sizes` do not count: EKS Auto Mode launches no small ones. Only
    labels that follow from the name are compared; what else is asked for must leave some type of the catalogue, or it
    leaves
    nothing of any.
    """
    every = tuple(requirements)
    if not catalog.fitting(requirement for requirement in every if requirement.key not in NAME_KEYS):
        return None
    by_name = [requirement for requirement in every if requirement.key in NAME_KEYS]
    from nodelint.ec2.api_names import api_types

    known = api_types()
    return next(
        (
            name
            for name, labels in catalog.remembered(("newer", known), lambda: _newer_types(catalog, known)).items()
            if by_name
            and labels[SIZE] not in not_sizes
            and all(requirement.admits(labels[requirement.key]) for requirement in by_name)
        ),
        None,
    )


def is_newer_name(name: str, catalog: Catalog) -> bool:
    """Whether a type or family may be newer than the catalogue: of a category that has no later generation.

    A family of the generation before may still get sizes.
    """
    found = _NAME.fullmatch(name if "." in name else f"{name}.large")
    if found is None:
        return False
    known = catalog.values(CATEGORY).get(found[1], NONE)
    newest = max((int(value) for value in catalog.distinct(GENERATION, known)), default=None)
    if newest is None:
        return False
    family = name.partition(".")[0]
    gets_sizes = _SIZE_OF_NUMBER.fullmatch(found[3]) is not None and family in catalog.values(FAMILY)
    return int(found[2]) >= newest - int("." in name and gets_sizes)


_SHAPE_OF_FAMILY = re.compile(r"[a-z]{1,3}[0-9]{1,2}[a-z]{0,5}(?:-[a-z0-9]{1,12})?")
_SHAPE_OF_SIZE = re.compile(r"(?:metal-)?[0-9]{1,3}(?:xlarge|xl)")


def may_be_new(key: str, value: str, catalog: Catalog) -> bool:
    """Return whether a size, family or type has the shape of one that AWS may add: of a new size or category.

    `is_newer_name` knows those of categories that the catalogue has.
    """
    if key == SIZE:
        return _SHAPE_OF_SIZE.fullmatch(value) is not None
    family, dot, size = value.partition(".")
    if _SHAPE_OF_FAMILY.fullmatch(family) is None or (dot and _SHAPE_OF_SIZE.fullmatch(size) is None):
        return False
    category = _NAME.fullmatch(f"{family}.large")
    return category is not None and not catalog.values(CATEGORY).get(category[1], NONE)


def _newer_types(catalog: Catalog, known: Iterable[str]) -> dict[str, dict[str, str]]:
    """The types that EC2 knows and the catalogue does not have yet, with the labels that follow from their names."""
    found = {}
    for name in sorted(known):
        parts = _NAME.fullmatch(name)
        if parts is not None and name not in catalog and is_newer_name(name, catalog):
            family = name.partition(".")[0]
            values = (parts[1], parts[2], family, parts[3], name)
            found[name] = dict(zip(NAME_KEYS, values, strict=True))
    return found


def retired(key: str, values: Iterable[str], catalog: Catalog) -> dict[str, str]:
    """What to look at in the place of those types or families among some values that AWS is ending."""
    unknown = _unknown_names(key, values, catalog)
    if not unknown:
        return {}
    ended, of_types = table("retired"), key == INSTANCE_TYPE
    types, families = (ended["types"] if of_types else {}), ended["families"]
    found: dict[str, str] = {}
    for value in unknown:
        family, _, size = value.partition(".")
        if value in types:
            found[value] = types[value]
        elif family in families and bool(size) == of_types:
            found[value] = families[family]
    return found


def accelerated_once(value: str) -> bool:
    """Whether a type or family that AWS is ending has GPUs or other devices."""
    return value.partition(".")[0] in table("retired")["accelerated"]


@cache
def _bundled() -> Catalog:
    path = os.path.join(DATA, "catalog.json")
    written = table("catalog_columns")
    if written["size"] != os.stat(path).st_size:  # somebody is at work on it
        return Catalog.load(path)
    return Catalog(read_columns(written))
