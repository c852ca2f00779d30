"""The catalogue of instance types, immutable and indexed by label.

A requirement selects the union of the type sets of its values (`type_set`), a NodePool the intersection of its
requirements. Columns and sets are built on first use.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from types import MappingProxyType

from nodelint.base.types import Any, T
from nodelint.data import DATA, table
from nodelint.ec2.catalog_prices import CatalogPrices, RegionPrices
from nodelint.ec2.catalog_resources import CatalogResources
from nodelint.ec2.label_columns import LabelColumns
from nodelint.ec2.release_labels import ReleaseLabels
from nodelint.ec2.snapshot import Snapshot, read_bundled, read_columns
from nodelint.ec2.type_set import NONE, TypeSet, union
from nodelint.model.releases import NEWEST, Version
from nodelint.model.requirement import Requirement

_CACHED = 5_000


class Catalog:
    """All instance types with the labels that one Karpenter release gives them.

    `for_release` and `on_windows` return the same types as another release, or a class of a Windows family, sees
    them. `prices` are their prices, `resources` the resources of their nodes, `snapshot` the facts as they were read.
    """

    __slots__ = (
        "_labels",
        "_names",
        "_notes",
        "_selected",
        "_version",
        "_views",
        "_windows_build",
        "_written",
        "prices",
        "resources",
        "snapshot",
    )

    def __init__(
        self,
        snapshot: Snapshot,
        release: Version = NEWEST,
        windows_build: str | None = None,
        written: LabelColumns | None = None,
        regional: RegionPrices | None = None,
    ) -> None:
        self.snapshot = snapshot
        self._version = release
        self._windows_build = windows_build
        self._written = LabelColumns(snapshot) if written is None else written
        self.prices = CatalogPrices(snapshot, self._written, regional)
        self.resources = CatalogResources(snapshot, self._written, release)
        self._names = self._written.names
        self._labels = ReleaseLabels(snapshot, self._written, release, windows_build)
        self._selected: dict[Requirement, TypeSet] = {}
        self._notes: dict[object, Any] = {}
        self._views: dict[Version, Catalog] = {}

    @classmethod
    def bundled(cls) -> Catalog:
        """Return the catalogue that is part of nodelint. It is read once."""
        return _bundled()

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Catalog:
        """Return the catalogue of a file that is part of nodelint, whose values the tests have checked.

        Raise OSError if the file cannot be read, SnapshotError if it is not a snapshot.
        """
        with open(path, "rb") as file:
            return cls(read_bundled(file.read()))

    def for_release(self, release: Version) -> Catalog:
        """Return the catalogue as the controller of a release sees it.

        If the release does not have a label yet, no type has the label, and requirements on it are ignored like those
        on any custom label. Values that differ between releases (the bandwidth table is compiled in, Neuron names
        changed with 1.1.0) are those of the release.
        """
        if release == self._version:
            return self
        view = self._views.get(release)
        if view is None:
            view = self._views[release] = Catalog(
                self.snapshot, release, self._windows_build, self._written, self.prices.answered
            )
        return view

    def on_windows(self, build: str) -> Catalog:
        """Return the catalogue for a class of a Windows family (`build` such as `10.0.20348`).

        amd64 types then run Windows, arm64 types have no operating system, and every type has that Windows build.
        """
        return Catalog(self.snapshot, self._version, build, self._written, self.prices.answered)

    def extended(self, newer: Snapshot) -> Catalog:
        """Return the catalogue with the types of a newer snapshot added. If both have a type, the newer row counts.

        Some facts are not in EC2's answers and stay as they are: bandwidth (a table of the controller), label values
        before a release, and prices and network limits that the newer row lacks.
        """
        from nodelint.ec2.merge import joined

        return Catalog(joined(self.snapshot, newer), self._version, self._windows_build) if newer.rows else self

    def with_prices(self, prices: RegionPrices) -> Catalog:
        """Return a catalogue of the same types with prices that AWS answered for a region."""
        return Catalog(self.snapshot, self._version, self._windows_build, self._written, prices)

    @property
    def version(self) -> Version:
        """Return the Karpenter release whose labels the types have."""
        return self._version

    @property
    def origin(self) -> str:
        """Return a short description of the source of the facts."""
        return self.snapshot.origin

    @property
    def date(self) -> str:
        """Return the date of the instance type facts, ISO 8601."""
        return self.snapshot.date

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of all types, sorted."""
        return self._names

    @property
    def all_types(self) -> TypeSet:
        """Return the set of all types."""
        return self._labels.all_types

    @property
    def keys(self) -> frozenset[str]:
        """Return the labels that types have, or could have, in this release."""
        return self._labels.keys

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._written.positions

    def place(self, name: str) -> int | None:
        """Return the position of a type in the order of names. None if there is no such type."""
        return self._written.positions.get(name)

    def only(self, name: str) -> TypeSet:
        """Return the set with only this type. Empty if there is no such type."""
        position = self._written.positions.get(name)
        return NONE if position is None else TypeSet.from_positions((position,))

    def names_in(self, types: TypeSet) -> list[str]:
        """Return the names of a set's types, sorted."""
        return types.select(self._names)

    def iterate_names(self, types: TypeSet) -> Iterator[str]:
        """Yield the names of a set's types one by one, for a caller that may stop early."""
        return types.iterate_names(self._names)

    def starting_with(self, prefix: str) -> TypeSet:
        """Return the types whose names begin with a text. The names are sorted, so these types are adjacent."""
        return TypeSet.span(bisect_left(self._names, prefix), bisect_left(self._names, f"{prefix}\U0010ffff"))

    def types_of(self, names: Iterable[str]) -> TypeSet:
        """Return the set of the types with these names. Unknown names are ignored."""
        positions = self._written.positions
        return TypeSet.from_positions(sorted(positions[name] for name in names if name in positions))

    def values(self, key: str) -> Mapping[str, TypeSet]:
        """Return the values of a label, each with the set of its types, in the order of the types' names."""
        return MappingProxyType(self._labels.values(key))

    def has_value(self, key: str, value: str) -> bool:
        """Return whether some type has this value of a label."""
        return value in self._labels.values(key)

    def having(self, key: str) -> TypeSet:
        """Return the types that have a label, even with an empty value."""
        return self.remembered(("having", key), lambda: self._labels.having(key))

    def having_value(self, key: str, *values: str) -> TypeSet:
        """Return the types whose label has one of these values. Unknown values add no types."""
        by_value = self._labels.values(key)
        return union(by_value.get(value, NONE) for value in values)

    def distinct(self, key: str, types: TypeSet) -> frozenset[str]:
        """Return the values of a label among some types, as minValues counts them."""
        return self.remembered(
            ("distinct", key, types),
            lambda: frozenset([value for value, part in self._labels.values(key).items() if part & types]),
        )

    def label(self, name: str, key: str) -> str | None:
        """Return the value of a type's label. None if the type lacks the label, or if there is no such type."""
        position = self._written.positions.get(name)
        column = self._labels.column(key)
        return None if position is None or column is None else column[position]

    def column(self, key: str) -> tuple[str | None, ...]:
        """Return the value of a label for each type, in the order of names, as `TypeSet.select` needs it. None for
        types without the label.
        """
        return self._labels.column(key) or (None,) * len(self._names)

    def labels(self, name: str) -> dict[str, str]:
        """Return all labels of a type. Empty if there is no such type."""
        found = ((key, self.label(name, key)) for key in sorted(self.keys))
        return {key: value for key, value in found if value is not None}

    def select(self, requirement: Requirement) -> TypeSet:
        """Return the types that meet one requirement, as Karpenter evaluates it (`Intersects`).

        A key that no type has in this release is ignored, so that all types meet the requirement. Keys of offerings
        are ignored as well, unless no offering at all could meet the requirement. If other types have the label, a
        type without it meets only NotIn and DoesNotExist.
        """
        known = self._selected.get(requirement)
        if known is None:
            if len(self._selected) >= _CACHED:
                self._selected.clear()
            known = self._selected[requirement] = self._labels.select(requirement)
        return known

    def fitting(self, requirements: Iterable[Requirement]) -> TypeSet:
        """Return the types that meet all of these requirements, which have one entry for each key (a
        `Requirements`).
        """
        types = self.all_types
        for requirement in requirements:
            types &= self.select(requirement)
        return types

    def remembered(self, name: object, make: Callable[[], T]) -> T:
        """Return the result of `make`, which is called on first use and cached under `name`. Each name must stand for
        one value.

        The cache is cleared when it is full, so the value must be reproducible.
        """
        if name in self._notes:
            known: T = self._notes[name]
            return known
        made = make()
        if len(self._notes) >= _CACHED:
            self._notes.clear()
        self._notes[name] = made
        return made

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)


@cache
def _bundled() -> Catalog:
    path = os.path.join(DATA, "catalog.json")
    written = table("catalog_columns")
    if written["size"] != os.stat(path).st_size:  # the folder of the data is being edited
        return Catalog.load(path)
    return Catalog(read_columns(written))
