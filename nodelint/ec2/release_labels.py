"""The labels of instance types as the controller of a Karpenter release sees them."""

from __future__ import annotations

from nodelint.data import table
from nodelint.ec2.label_columns import LabelColumns, types_by_value
from nodelint.ec2.snapshot import Snapshot
from nodelint.ec2.type_set import NONE, TypeSet, union
from nodelint.model.keys import ARCH, CAPACITY_TYPE, NITRO_SANDBOX, OS, REGION, TENANCY, WINDOWS_BUILD, ZONE
from nodelint.model.releases import Version
from nodelint.model.requirement import Requirement, well_known_since

_ALWAYS_THERE = frozenset({REGION, ZONE})


class ReleaseLabels:
    """The labels of all types of a snapshot in a release, and the types that a requirement selects by them.

    With a `windows_build` such as `10.0.20348`, amd64 types run Windows and have that build.
    """

    __slots__ = ("_columns", "_keys", "_release", "_snapshot", "_values", "_windows_build", "_written", "all_types")

    def __init__(
        self, snapshot: Snapshot, written: LabelColumns, release: Version, windows_build: str | None
    ) -> None:
        self._snapshot = snapshot
        self._written = written
        self._release = release
        self._windows_build = windows_build
        self._columns: dict[str, tuple[str | None, ...] | None] = {}
        self._values: dict[str, dict[str, TypeSet]] = {}
        self._keys: frozenset[str] | None = None
        self.all_types = TypeSet.span(0, len(written.names))

    @property
    def keys(self) -> frozenset[str]:
        """Return the labels that types have, or could have, in the release."""
        if self._keys is None:
            known = {key for key in self._snapshot.labels if self._has_label(key)}
            self._keys = frozenset(known | {WINDOWS_BUILD})
        return self._keys

    def column(self, key: str) -> tuple[str | None, ...] | None:
        """Return a label's value for each type. None if no type can have the key in this release."""
        if key not in self._columns:
            self._columns[key] = self._build(key)
        return self._columns[key]

    def values(self, key: str) -> dict[str, TypeSet]:
        """Return the values of a label, each with the set of its types, in the order of the types' names."""
        found = self._values.get(key)
        if found is None:
            column = self.column(key) or ()
            as_written = key in self._written.labels and column is self._written.column(key)
            found = self._values[key] = self._written.sets(key) if as_written else types_by_value(column)
        return found

    def having(self, key: str) -> TypeSet:
        """Return the types that have a label, even with an empty value."""
        return union(self.values(key).values())

    def select(self, requirement: Requirement) -> TypeSet:
        """Return the types that meet one requirement, as Karpenter evaluates it (`Intersects`).

        A key that no type has in this release is ignored, so that all types meet the requirement. Keys of offerings
        are ignored as well, unless no offering at all could meet the requirement. If other types have the label, a
        type without it meets only NotIn and DoesNotExist.
        """
        key = requirement.key
        if key in (CAPACITY_TYPE, NITRO_SANDBOX, TENANCY):
            brought = table("vocabulary")["values"][key].items()
            possible = [value for value, since in brought if Version.parse(since) <= self._release]
            return self.all_types if not possible or any(map(requirement.admits, possible)) else NONE
        if key in _ALWAYS_THERE:
            return NONE if requirement.operator == "DoesNotExist" else self.all_types
        if self.column(key) is None:
            return self.all_types
        by_value = self.values(key)
        if not requirement.complement:
            types = union(by_value.get(value, NONE) for value in requirement.values)
            return types if requirement.values else self.all_types - self.having(key)
        if requirement.greater_equal is None and requirement.less_equal is None:
            refused = union(by_value.get(value, NONE) for value in requirement.values)
            return self.all_types - refused if requirement.values else self.having(key)
        types = union(types for value, types in by_value.items() if requirement.admits(value))
        return types | (self.all_types - self.having(key)) if requirement.absent_allowed else types

    def _has_label(self, key: str) -> bool:
        since = well_known_since(key)
        return since is None or since <= self._release

    def _build(self, key: str) -> tuple[str | None, ...] | None:
        if key == WINDOWS_BUILD:
            return (self._windows_build,) * len(self._written.names)
        if key == OS and self._windows_build is not None:
            return tuple(["windows" if arch == "amd64" else None for arch in self.column(ARCH) or ()])
        if key not in self._snapshot.labels or not self._has_label(key):
            return None
        changes = [
            change for change in self._snapshot.changes if change.label == key and self._release < change.before
        ]
        if not changes:
            return self._written.column(key)
        column = list(self._written.column(key))
        # Newest first, so that of two changes the older one, which is nearer to the release, is applied last.
        for change in sorted(changes, key=lambda c: c.before, reverse=True):
            for name, value in change.values.items():
                column[self._written.positions[name]] = value
        return tuple(column)
