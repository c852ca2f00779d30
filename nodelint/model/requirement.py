"""Compute with Karpenter's requirements: what a set of requirements allows, and which sets are compatible.

The results must equal those of Karpenter core 1.14.1 (`pkg/scheduling`), and of older cores if they differ: before
1.9.0 bounds were exclusive. Instance types and manifests are not used here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from itertools import groupby

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.data import table
from nodelint.model.releases import NEWEST, Version

if TYPE_CHECKING:
    from typing import Any, Literal

    Operator = Literal["In", "NotIn", "Exists", "DoesNotExist"]
    """The operator of a parsed requirement. Bounds are Exists, or NotIn if values are excluded as well."""


OPERATORS = frozenset({"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte"})
"""The operators of a requirement. Gte and Lte exist since Karpenter 1.9.0."""

INCLUSIVE_BOUNDS = Version(1, 9, 0)
"""The first release that converts Gt and Lt to inclusive bounds, and so detects that `Gt 3, Lt 4` is empty."""

MAX_INT = 2**63 - 1
MIN_INT = -(2**63)

_MANY = 50
"""The number of requirements from which on it is faster to join some before adding them."""
_ABSENT_ALLOWED = ("NotIn", "DoesNotExist")


def is_integer(text: str) -> bool:
    """Return whether a text consists of ASCII digits, possibly with a sign before them."""
    digits = text[1:] if text.startswith(("+", "-")) else text
    return digits.isascii() and digits.isdigit()


def integer(text: str) -> int | None:
    """Return the number of a label value for comparison with a bound. None if Karpenter does not read it as a number.

    Go's `strconv.Atoi`: a sign and ASCII digits that fit 64 bits. `007` and `+7` are numbers, `5.0`, `1e3`, `1_000`
    and ` 5` are not.
    """
    if not is_integer(text):
        return None
    digits = text.lstrip("+-").lstrip("0")
    if len(digits) > 19:
        return None
    sign = -1 if text[0] == "-" else 1
    number = sign * int(digits or "0")
    return number if MIN_INT <= number <= MAX_INT else None


def _bound(text: str) -> int:
    """Return the integer of a Gt or Lt value as the controller reads it: 0 if it is no integer, clamped to int64."""
    number = integer(text)
    if number is not None:
        return number
    if not is_integer(text):
        return 0
    return MIN_INT if text.startswith("-") else MAX_INT


@lru_cache(maxsize=1 << 12)
def normalize(key: str) -> str:
    """Return the key that Karpenter substitutes for one of its six aliases, else the key itself."""
    aliases = table("labels")["normalized"]
    return str(aliases.get(key, key))


class Requirement(NamedTuple):
    """A requirement on one label.

    - `key`: the label key.
    - `complement`: `values` are excluded; otherwise they are the allowed values.
    - `greater_equal`, `less_equal`: inclusive integer bounds. Only a complement has them.
    - `min_values`: the least number of values that must be possible. It is carried along, but not checked here.
    - `exclusive`: the bounds are those of a core before 1.9.0, which kept `Gt 3` and `Lt 4` unchanged and saw no
      contradiction as long as any real number is between them.
    """

    key: str
    complement: bool
    values: frozenset[str] = frozenset()
    greater_equal: int | None = None
    less_equal: int | None = None
    min_values: int | None = None
    exclusive: bool = False

    @classmethod
    def parse(
        cls,
        key: str,
        operator: str,
        values: Iterable[str] = (),
        min_values: int | None = None,
        release: Version | None = None,
    ) -> Requirement:
        """Return a requirement as the core of a Karpenter release reads it (None: the newest release).

        The key is normalized. Values of Exists or DoesNotExist are ignored. A bound uses its first value. Raise
        ValueError for an operator that no release has, and for a bound without a value: admission refuses both.
        """
        key = normalize(key)
        if operator == "In":
            return cls(key, False, frozenset(values), min_values=min_values)
        if operator == "NotIn":
            return cls(key, True, frozenset(values), min_values=min_values)
        if operator == "Exists":
            return cls(key, True, min_values=min_values)
        if operator == "DoesNotExist":
            return cls(key, False, min_values=min_values)
        if operator not in OPERATORS:
            raise ValueError(f"no operator `{operator}`")
        first = next(iter(values), None)
        if first is None:
            raise ValueError(f"`{operator}` needs a value")
        number = _bound(first)
        exclusive = release is not None and release < INCLUSIVE_BOUNDS
        if exclusive and operator in ("Gte", "Lte"):
            # Such a core has no case for them: the result has no bounds.
            return cls(key, True, min_values=min_values)
        if operator == "Gt":
            if number == MAX_INT and not exclusive:
                return cls(key, False)
            return cls(key, True, frozenset(), number + 1, None, min_values, exclusive)
        if operator == "Lt":
            # The newer core subtracts one in 64 bits, which can overflow.
            upper = MAX_INT if number == MIN_INT and not exclusive else number - 1
            return cls(key, True, frozenset(), None, upper, min_values, exclusive)
        if operator == "Gte":
            return cls(key, True, frozenset(), number, None, min_values)
        return cls(key, True, frozenset(), None, number, min_values)

    @property
    def operator(self) -> Operator:
        """Return the operator that Karpenter reports for the requirement. With bounds alone it is Exists."""
        if self.complement:
            return "NotIn" if self.values else "Exists"
        return "In" if self.values else "DoesNotExist"

    @property
    def only_excludes(self) -> bool:
        """Return whether the requirement only excludes values and has no bounds, so that several can be joined."""
        return self.complement and self.greater_equal is None and self.less_equal is None

    @property
    def length(self) -> int:
        """Return the number of allowed values.

        For a complement, it is the largest int64 minus the excluded values.
        """
        return MAX_INT - len(self.values) if self.complement else len(self.values)

    @property
    def absent_allowed(self) -> bool:
        """Return whether a node without the label meets the requirement: true for NotIn and DoesNotExist."""
        return self.operator in _ABSENT_ALLOWED

    def admits(self, value: str) -> bool:
        """Return whether a label with this value meets the requirement."""
        return (value in self.values) != self.complement and _within(value, self.greater_equal, self.less_equal)

    def intersect(self, other: Requirement) -> Requirement:
        """Return the requirement that allows what both allow. It has the key of this one.

        A finite result has no bounds.
        """
        lower, upper, empty = self._bounds(other)
        min_values = _largest(self.min_values, other.min_values)
        if empty:
            return Requirement(self.key, False, min_values=min_values)
        if self.complement and other.complement:
            values = self.values | other.values
        elif self.complement:
            values = other.values - self.values
        elif other.complement:
            values = self.values - other.values
        else:
            values = self.values & other.values
        if lower is not None or upper is not None:
            values = frozenset(v for v in values if _within(v, lower, upper))
        if not (self.complement and other.complement):
            return Requirement(self.key, False, values, min_values=min_values)
        exclusive = self.exclusive or other.exclusive
        return Requirement(self.key, True, values, lower, upper, min_values, exclusive)

    def intersects(self, other: Requirement) -> bool:
        """Return whether both allow a common value.

        A range of numbers counts even if all its numbers are excluded.
        """
        bounds = (self.greater_equal, self.less_equal, other.greater_equal, other.less_equal)
        if bounds != _NO_BOUNDS:
            return self.intersect(other).length > 0
        if self.complement:
            return other.complement or not other.values <= self.values
        return not (self.values <= other.values if other.complement else self.values.isdisjoint(other.values))

    def on_claim(self) -> Requirement:
        """Return the requirement as a NodeClaim has it: only its bounds if it has any (before 1.9.0, Gt without Lt).

        From `NodeSelectorRequirement` of core. It matters for NodePools with `replicas`, whose claims have no list of
        instance types.
        """
        if self.greater_equal is None and self.less_equal is None:
            return self
        upper = None if self.exclusive and self.greater_equal is not None else self.less_equal
        return self._replace(values=frozenset(), less_equal=upper)

    @property
    def numbers_to_draw_from(self) -> int:
        """Return from how many numbers Karpenter draws a label's value since 1.9.0. With 0 the controller crashes.

        As in `Any` of core, in 64 bits with overflow. For a requirement with a list of values it is 1.
        """
        if self.operator not in ("NotIn", "Exists"):
            return 1
        upper = MAX_INT if self.less_equal is None else _wrapped(self.less_equal + 1)
        return max(_wrapped(upper - (self.greater_equal or 0)), 0)

    def _bounds(self, other: Requirement) -> tuple[int | None, int | None, bool]:
        lower = _largest(self.greater_equal, other.greater_equal)
        upper = _smallest(self.less_equal, other.less_equal)
        if lower is None or upper is None:
            return lower, upper, False
        slack = 1 if self.exclusive or other.exclusive else 0
        return lower, upper, lower > upper + slack

    def __str__(self) -> str:
        words = [self.key, self.operator]
        if self.values:
            words.append(f"[{', '.join(sorted(self.values))}]")
        if self.greater_equal is not None:
            words.append(f">={self.greater_equal}")
        if self.less_equal is not None:
            words.append(f"<={self.less_equal}")
        if self.min_values is not None:
            words.append(f"minValues {self.min_values}")
        return " ".join(words)


class Requirements:
    """Requirements by key, one for each key.

    A requirement that is added for an existing key is intersected with it.
    """

    __slots__ = ("_by_key",)

    def __init__(self, requirements: Iterable[Requirement] = ()) -> None:
        self._by_key: dict[str, Requirement] = {}
        self.add(*requirements)

    @classmethod
    def from_labels(cls, labels: Mapping[str, str]) -> Requirements:
        """Return the requirements for a map of labels: each label must have its value."""
        return cls(Requirement.parse(key, "In", (value,)) for key, value in labels.items())

    def add(self, *requirements: Requirement) -> None:
        """Intersect these requirements with further ones."""
        for requirement in requirements if len(requirements) < _MANY else _run_together(requirements):
            before = self._by_key.get(requirement.key)
            self._by_key[requirement.key] = requirement if before is None else requirement.intersect(before)

    def copy(self) -> Requirements:
        """Return an independent copy of the requirements."""
        twin = Requirements()
        twin._by_key.update(self._by_key)
        return twin

    def get(self, key: str) -> Requirement:
        """Return the requirement of a key. Exists if there is none."""
        found = self._by_key.get(key)
        return Requirement(key, True) if found is None else found

    def __getitem__(self, key: str) -> Requirement:
        return self._by_key[key]

    def __contains__(self, key: object) -> bool:
        return key in self._by_key

    def __iter__(self) -> Iterator[Requirement]:
        return iter(self._by_key.values())

    def __len__(self) -> int:
        return len(self._by_key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Requirements) and self._by_key == other._by_key

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Requirements([{', '.join(str(r) for r in self)}])"

    def keys(self) -> frozenset[str]:
        """Return the keys that are defined."""
        return frozenset(self._by_key)

    def intersects(self, incoming: Requirements) -> str | None:
        """Return the first key on which two sets have no common value. None if they are compatible.

        Keys that only one of them has are ignored. Karpenter checks in this way whether an instance type fits a
        NodePool.
        """
        for wanted in incoming:
            existing = self._by_key.get(wanted.key)
            if existing is None or existing.intersects(wanted):
                continue
            if not (wanted.absent_allowed and existing.absent_allowed):
                return wanted.key
        return None

    def compatible(self, incoming: Requirements, allow_undefined: frozenset[str] = frozenset()) -> str | None:
        """Return the first key whose incoming requirement cannot be met here. None if all can be met.

        An undefined key meets only NotIn and DoesNotExist, unless it is in `allow_undefined` (for pods of a NodePool:
        `well_known(version)`).
        """
        for wanted in incoming:
            key = wanted.key
            if key not in allow_undefined and key not in self._by_key and not wanted.absent_allowed:
                return key
        return self.intersects(incoming)


def _run_together(requirements: Iterable[Requirement]) -> Iterator[Requirement]:
    """Yield the requirements with consecutive ones joined if they have the same key and only exclude values.

    Adding a thousand of them one by one creates a longer set each time.
    """
    by_key: dict[str, list[Requirement]] = {}
    for requirement in requirements:
        by_key.setdefault(requirement.key, []).append(requirement)
    for key, of_key in by_key.items():
        if len(of_key) == 1:
            yield of_key[0]
            continue
        for excludes, run in groupby(of_key, lambda requirement: requirement.only_excludes):
            if not excludes:
                yield from run
                continue
            run_list = list(run)
            values = frozenset[str]().union(*(item.values for item in run_list))
            least = [item.min_values for item in run_list if item.min_values is not None]
            yield Requirement(
                key,
                True,
                values,
                min_values=max(least, default=None),
                exclusive=any(item.exclusive for item in run_list),
            )


@cache
def well_known(release: Version | None = None) -> frozenset[str]:
    """Return the label keys that Karpenter for AWS knows in a release (None: the newest known release).

    From `labels.go` of Karpenter core and of the AWS provider at each release tag.
    """
    return frozenset(key for key, fact in table("labels")["well_known"].items() if _serves(fact, release or NEWEST))


@cache
def well_known_since(key: str) -> Version | None:
    """Return the first release with a well-known label. None if it is not a well-known label."""
    fact = table("labels")["well_known"].get(key)
    return None if fact is None else Version.parse(fact["since"])


def _serves(fact: Mapping[str, Any], release: Version) -> bool:
    return Version.parse(fact["since"]) <= release and ("until" not in fact or release < Version.parse(fact["until"]))


def _within(value: str, lower: int | None, upper: int | None) -> bool:
    if lower is None and upper is None:
        return True
    number = integer(value)
    if number is None:
        return False
    return (lower is None or number >= lower) and (upper is None or number <= upper)


def _wrapped(number: int) -> int:
    """Return a number wrapped around to a signed 64-bit integer."""
    return (number - MIN_INT) % 2**64 + MIN_INT


_NO_BOUNDS = (None, None, None, None)


def _largest(a: int | None, b: int | None) -> int | None:
    if a is None or b is None:
        return a if b is None else b
    return max(a, b)


def _smallest(a: int | None, b: int | None) -> int | None:
    if a is None or b is None:
        return a if b is None else b
    return min(a, b)
