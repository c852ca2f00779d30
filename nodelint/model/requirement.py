"""Karpenter's requirement algebra: what a set of requirements allows, and which sets go together.

Meant to give the answers of Karpenter core 1.14.1 (`pkg/scheduling`), and those of older cores where
they differ: before 1.9.0 bounds were exclusive. Nothing here knows instance types or manifests.
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
    """What a requirement comes down to; bounds count as Exists, or as NotIn beside an exclusion."""


OPERATORS = frozenset({"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte"})
"""The operators that a requirement can be written with. Gte and Lte came with Karpenter 1.9.0."""

INCLUSIVE_BOUNDS = Version(1, 9, 0)
"""The first release that turns Gt and Lt into inclusive bounds (and so sees that `Gt 3, Lt 4` is empty)."""

MAX_INT = 2**63 - 1
MIN_INT = -(2**63)

_MANY = 50
"""Requirements from which on it pays to look for those that can be added as one."""
_ABSENT_ALLOWED = ("NotIn", "DoesNotExist")


def is_integer(text: str) -> bool:
    """Whether a text is a sign, or none, and ASCII digits."""
    digits = text[1:] if text.startswith(("+", "-")) else text
    return digits.isascii() and digits.isdigit()


def integer(text: str) -> int | None:
    """Return the number that a label value stands for under a bound; None if it is not a number to Karpenter.

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
    """Return the number of a bound. The controller trusts admission: to it nonsense is 0, and excess is clamped."""
    number = integer(text)
    if number is not None:
        return number
    if not is_integer(text):
        return 0
    return MIN_INT if text.startswith("-") else MAX_INT


@lru_cache(maxsize=1 << 12)
def normalize(key: str) -> str:
    """Return the key that Karpenter puts in place of one of its six aliases, or the key itself."""
    aliases = table("labels")["normalized"]
    return str(aliases.get(key, key))


class Requirement(NamedTuple):
    """What is asked of one label.

    `complement` says how to read `values`: the values allowed, or (complement) the values excluded.
    `greater_equal` and `less_equal` are inclusive bounds in whole numbers; only a complement has them.
    `min_values` is how many values there have to be to choose from; the algebra carries it along and never
    checks it. `exclusive` marks the bounds of a core before 1.9.0: it kept `Gt 3` and `Lt 4` as they were,
    and saw no contradiction as long as any number, whole or not, lies between them.
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
        """Return a requirement as it is written, read by the core of a Karpenter release (None: the newest).

        The key is normalised. Values given to Exists or DoesNotExist are ignored. Of a bound the first value counts.

        Raise ValueError for an operator that Karpenter has in no release and for a bound without a value: admission
        refuses both.
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
            # Such a core has no branch for them: what it makes of them has no bounds.
            return cls(key, True, min_values=min_values)
        if operator == "Gt":
            if number == MAX_INT and not exclusive:
                return cls(key, False)
            return cls(key, True, frozenset(), number + 1, None, min_values, exclusive)
        if operator == "Lt":
            # The newer core takes one off in 64 bits, and wraps round at the very end.
            upper = MAX_INT if number == MIN_INT and not exclusive else number - 1
            return cls(key, True, frozenset(), None, upper, min_values, exclusive)
        if operator == "Gte":
            return cls(key, True, frozenset(), number, None, min_values)
        return cls(key, True, frozenset(), None, number, min_values)

    @property
    def operator(self) -> Operator:
        """Return what Karpenter takes the requirement for. Bounds alone are Exists."""
        if self.complement:
            return "NotIn" if self.values else "Exists"
        return "In" if self.values else "DoesNotExist"

    @property
    def only_excludes(self) -> bool:
        """Whether it does nothing but exclude values: what several such requirements exclude adds up."""
        return self.complement and self.greater_equal is None and self.less_equal is None

    @property
    def length(self) -> int:
        """Return how many values are allowed; for a complement the largest 64-bit integer less the exclusions."""
        return MAX_INT - len(self.values) if self.complement else len(self.values)

    @property
    def absent_allowed(self) -> bool:
        """Whether it is met where the label is missing: by NotIn and DoesNotExist, not by bounds alone."""
        return self.operator in _ABSENT_ALLOWED

    def admits(self, value: str) -> bool:
        """Whether a label of this value meets the requirement."""
        return (value in self.values) != self.complement and _within(value, self.greater_equal, self.less_equal)

    def intersect(self, other: Requirement) -> Requirement:
        """Return what both allow together. The key is this one's; bounds of a finite result are forgotten."""
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
        """Whether both share a value; a range that exclusions use up counts as shared."""
        return self.intersect(other).length > 0

    def on_claim(self) -> Requirement:
        """Return what a NodeClaim carries of it: bounds alone where there are any, and before 1.9.0 Gt without Lt.

        From `NodeSelectorRequirement` of core. It matters where no list of instance types goes with it: for a
        NodePool with `replicas`.
        """
        if self.greater_equal is None and self.less_equal is None:
            return self
        upper = None if self.exclusive and self.greater_equal is not None else self.less_equal
        return self._replace(values=frozenset(), less_equal=upper)

    @property
    def numbers_to_draw_from(self) -> int:
        """Return how many numbers Karpenter draws a label's value from since 1.9.0: 0 where that ends the controller.

        `Any` of core, in 64 bits that wrap round. A requirement with values to choose from draws none: 1.
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
    """Requirements by key, one for each: what is added under a key that is there intersects with it."""

    __slots__ = ("_by_key",)

    def __init__(self, requirements: Iterable[Requirement] = ()) -> None:
        self._by_key: dict[str, Requirement] = {}
        self.add(*requirements)

    @classmethod
    def from_labels(cls, labels: Mapping[str, str]) -> Requirements:
        """Return the requirements that a map of labels stands for: each label In its value."""
        return cls(Requirement.parse(key, "In", (value,)) for key, value in labels.items())

    def add(self, *requirements: Requirement) -> None:
        """Narrow these requirements by more of them."""
        for requirement in requirements if len(requirements) < _MANY else _run_together(requirements):
            before = self._by_key.get(requirement.key)
            self._by_key[requirement.key] = requirement if before is None else requirement.intersect(before)

    def copy(self) -> Requirements:
        """Return a copy of the requirements, to be added to on its own."""
        twin = Requirements()
        twin._by_key.update(self._by_key)
        return twin

    def get(self, key: str) -> Requirement:
        """Return the requirement of a key; Exists where none is defined."""
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
        """Return the first key on which two sets clash, None if they fit.

        Keys that one of them lacks are ignored. So Karpenter asks whether an instance type fits a NodePool.
        """
        for wanted in incoming:
            existing = self._by_key.get(wanted.key)
            if existing is None or existing.intersects(wanted):
                continue
            if not (wanted.absent_allowed and existing.absent_allowed):
                return wanted.key
        return None

    def compatible(self, incoming: Requirements, allow_undefined: frozenset[str] = frozenset()) -> str | None:
        """Return the first key for which the incoming requirements cannot be met here, None if all can.

        A key that is not defined here meets NotIn and DoesNotExist alone, unless it is one of `allow_undefined` (for
        a NodePool's pods: `well_known(version)`).
        """
        for wanted in incoming:
            key = wanted.key
            if key not in allow_undefined and key not in self._by_key and not wanted.absent_allowed:
                return key
        return self.intersects(incoming)


def _run_together(requirements: Iterable[Requirement]) -> Iterator[Requirement]:
    """Requirements in which those of one key that follow each other, and only exclude values, have become one.

    To add a thousand of them one by one takes a set for each, and each is longer than the one before.
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
    """Return the label keys that Karpenter on AWS knows itself in a release (None: the newest known).

    From `labels.go` of Karpenter core and of the AWS provider at each release tag.
    """
    return frozenset(key for key, fact in table("labels")["well_known"].items() if _serves(fact, release or NEWEST))


@cache
def well_known_since(key: str) -> Version | None:
    """Return the release that brought a well-known label; None for a key that is not one."""
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
    """Return a number as 64 bits keep it."""
    return (number - MIN_INT) % 2**64 + MIN_INT


def _largest(a: int | None, b: int | None) -> int | None:
    if a is None or b is None:
        return a if b is None else b
    return max(a, b)


def _smallest(a: int | None, b: int | None) -> int | None:
    if a is None or b is None:
        return a if b is None else b
    return min(a, b)
