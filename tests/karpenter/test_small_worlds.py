"""The algebra and the resolver against models that enumerate small worlds, and fold nothing.

A `Wish` is all lines of one key as they are written. What it admits is asked value by value and line by line. How
Karpenter classes it (finite, `NotIn`, `Exists`) follows from the lines, as `pkg/scheduling` of core 1.14.1 has it,
and that of 1.8.0 for bounds that exclude themselves. `pytest --hypothesis-profile=long` tries more worlds.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import product
from typing import Any, NamedTuple

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nodelint.ec2.facts import AwsFacts
from nodelint.model.releases import Version
from nodelint.model.requirement import Requirement, Requirements
from tests.karpenter.test_places import ACCOUNT as PLACES
from tests.karpenter.test_places import SPEC
from tests.karpenter.test_resolve import CATALOG, line, run

MORE = settings(max_examples=max(120, settings().max_examples))

LARGEST = 2**63 - 1
OLD, NEW = Version(1, 8, 0), Version(1, 14, 1)
NUMBERS = ("-1", "0", "1", "2", "3", "4", "9")
WORDS = ("a", "b", "", "1.0", "03", "+2")
VALUES = NUMBERS + WORDS
BOUNDS = ("1", "2", "3", str(LARGEST))


def number(value: str) -> int | None:
    """What Go's Atoi makes of the values of this world."""
    return int(value) if value.lstrip("+-").isdigit() else None


class Line(NamedTuple):
    operator: str
    values: tuple[str, ...]
    least: int | None = None

    def admits(self, value: str) -> bool:
        if self.operator in ("In", "NotIn"):
            return (value in self.values) == (self.operator == "In")
        if self.operator in ("Exists", "DoesNotExist"):
            return self.operator == "Exists"
        given, bound = number(value), int(self.values[0])
        if given is None:
            return False
        return {"Gt": given > bound, "Gte": given >= bound, "Lt": given < bound, "Lte": given <= bound}[self.operator]


class Wish:
    """All lines of one key, for a release whose bounds exclude themselves or not."""

    def __init__(self, lines: Iterable[Line], inclusive: bool = True) -> None:
        self.lines = tuple(lines)
        self.inclusive = inclusive

    def beside(self, other: Wish) -> Wish:
        return Wish((*self.lines, *other.lines), self.inclusive)

    def admits(self, value: str) -> bool:
        return all(line.admits(value) for line in self.lines)

    @property
    def contradicts_itself(self) -> bool:
        """Whether bounds leave no number. Before 1.9.0 one that is not whole is enough."""
        ends = [(line.operator, int(line.values[0])) for line in self.lines if line.operator[:2] in ("Gt", "Lt")]
        if not self.inclusive:
            above, below = ([n for o, n in ends if o == operator] for operator in ("Gt", "Lt"))
            return bool(above and below) and max(above) >= min(below)
        if ("Gt", LARGEST) in ends:
            return True
        above = [n + (o == "Gt") for o, n in ends if o.startswith("G")]
        below = [n - (o == "Lt") for o, n in ends if o.startswith("L")]
        return bool(above and below) and max(above) > min(below)

    @property
    def finite(self) -> bool:
        return self.contradicts_itself or any(line.operator in ("In", "DoesNotExist") for line in self.lines)

    @property
    def allowed(self) -> set[str]:
        """Of a finite wish, every value: none but those that are listed can be meant."""
        assert self.finite
        listed = {value for line in self.lines if line.operator == "In" for value in line.values}
        return set() if self.contradicts_itself else {value for value in listed if self.admits(value)}

    @property
    def excluded(self) -> set[str]:
        """Of a wish without end, what is excluded; bounds exclude more, and what they do is forgotten."""
        bounds = Wish([line for line in self.lines if line.operator[:2] in ("Gt", "Lt")])
        return {v for line in self.lines if line.operator == "NotIn" for v in line.values if bounds.admits(v)}

    @property
    def operator(self) -> str:
        if self.finite:
            return "In" if self.allowed else "DoesNotExist"
        return "NotIn" if self.excluded else "Exists"

    @property
    def met_by_none(self) -> bool:
        """Whether an object without the label meets it."""
        return self.operator in ("NotIn", "DoesNotExist")

    def overlaps(self, other: Wish) -> bool:
        """Whether the two share a value; without end, ranges are enough, whatever is excluded in them."""
        both = self.beside(other)
        return bool(both.allowed) if both.finite else True

    def goes_with(self, other: Wish) -> bool:
        return self.overlaps(other) or (self.met_by_none and other.met_by_none)

    @property
    def least(self) -> int | None:
        return max((line.least for line in self.lines if line.least is not None), default=None)


@cache  # hypothesis looks into a strategy once
def some_lines(release: Version) -> st.SearchStrategy[list[Line]]:
    bounds = ("Gt", "Lt", "Gte", "Lte") if release == NEW else ("Gt", "Lt")
    least = st.none() | st.integers(1, 4)
    listed = st.lists(st.sampled_from(VALUES), max_size=4).map(tuple)
    return st.lists(
        st.builds(Line, st.sampled_from(("In", "NotIn", "NotIn")), listed, least)
        | st.builds(Line, st.sampled_from(("Exists", "DoesNotExist")), st.just(()), least)
        | st.builds(Line, st.sampled_from(bounds), st.sampled_from(BOUNDS).map(lambda n: (n,)), least)
        | st.builds(Line, st.sampled_from(bounds), st.sampled_from(BOUNDS).map(lambda n: (n,)), least),
        min_size=1,
        max_size=4,
    )


RELEASES = st.sampled_from([OLD, NEW])


@cache
def alone(release: Version) -> st.SearchStrategy[tuple[Version, list[Line]]]:
    return st.tuples(st.just(release), some_lines(release))


@cache
def pair(release: Version) -> st.SearchStrategy[tuple[Version, list[Line], list[Line]]]:
    return st.tuples(st.just(release), some_lines(release), some_lines(release))


def folded(lines: Iterable[Line], release: Version, key: str = "team") -> Requirement:
    (found,) = Requirements(Requirement.parse(key, line.operator, line.values, line.least, release) for line in lines)
    return found


def wish(lines: Iterable[Line], release: Version) -> Wish:
    return Wish(lines, release == NEW)


@MORE
@given(RELEASES.flatmap(alone))
def test_a_folded_requirement_is_what_its_lines_are(world: tuple[Version, list[Line]]) -> None:
    release, lines = world
    found, expected = folded(lines, release), wish(lines, release)
    assert found.operator == expected.operator
    assert found.absent_allowed == expected.met_by_none
    assert [value for value in VALUES if found.admits(value)] == [
        v for v in VALUES if (v in expected.allowed if expected.finite else expected.admits(v))
    ]
    if expected.finite:
        assert (found.values, found.length) == (expected.allowed, len(expected.allowed))
    else:
        assert (found.values, found.length) == (expected.excluded, LARGEST - len(expected.excluded))


@MORE
@given(RELEASES.flatmap(alone))
def test_the_most_that_is_asked_for_is_kept(world: tuple[Version, list[Line]]) -> None:
    release, lines = world
    # Karpenter forgets the number of a bound that no number meets, which it writes down as DoesNotExist.
    assume(all((line.operator, line.values) != ("Gt", (str(LARGEST),)) for line in lines))
    assert folded(lines, release).min_values == wish(lines, release).least


@MORE
@given(RELEASES.flatmap(pair))
def test_two_requirements_meet_where_their_worlds_do(world: tuple[Version, list[Line], list[Line]]) -> None:
    release, left, right = world
    ours, theirs = wish(left, release), wish(right, release)
    assert folded(left, release).intersects(folded(right, release)) == ours.overlaps(theirs)
    both = folded(left, release).intersect(folded(right, release))
    assert both.operator == ours.beside(theirs).operator
    there, wanted = Requirements([folded(left, release)]), Requirements([folded(right, release)])
    assert (there.intersects(wanted) is None) == ours.goes_with(theirs)
    assert (there.compatible(wanted) is None) == ours.goes_with(theirs)
    assert (Requirements().compatible(wanted) is None) == theirs.met_by_none
    assert Requirements().compatible(wanted, frozenset({"team"})) is None


@MORE
@given(some_lines(NEW))
def test_a_claim_of_a_static_pool_forgets_exclusions_beside_bounds(lines: list[Line]) -> None:
    whole = wish(lines, NEW)
    bounds = Wish([line for line in lines if line.operator[:2] in ("Gt", "Lt")])
    sent = folded(lines, NEW).on_claim()
    for value in VALUES:
        if whole.finite:
            assert sent.admits(value) == (value in whole.allowed)
        elif bounds.lines:
            assert sent.admits(value) == bounds.admits(value)
        else:
            assert sent.admits(value) == whole.admits(value)


# Small worlds of instance types: the labels are written down here, not read from the catalogue.

K = "karpenter.k8s.aws/"
ARCH, ZONE, CAPACITY = "kubernetes.io/arch", "topology.kubernetes.io/zone", "karpenter.sh/capacity-type"
TYPE, CATEGORY, GENERATION = "node.kubernetes.io/instance-type", K + "instance-category", K + "instance-generation"
CPU, GPUS, GPU, NVME = (
    K + "instance-cpu",
    K + "instance-gpu-count",
    K + "instance-gpu-name",
    K + "instance-local-nvme",
)
_KEYS = (ARCH, CATEGORY, GENERATION, CPU, GPUS, GPU, NVME)
TYPES: dict[str, dict[str, str]] = {
    name: {TYPE: name} | {key: value for key, value in zip(_KEYS, values, strict=True) if value is not None}
    for name, *values in (
        ("c7i.4xlarge", "amd64", "c", "7", "16", None, None, None),
        ("g5.xlarge", "amd64", "g", "5", "4", "1", "a10g", "250"),
        ("g5g.xlarge", "arm64", "g", "5", "4", "1", "t4g", None),
        ("m5.large", "amd64", "m", "5", "2", None, None, None),
        ("m6gd.large", "arm64", "m", "6", "2", None, None, "118"),
        ("t3.nano", "amd64", "t", "3", "2", None, None, None),
    )
}
ALIASES = {"beta.kubernetes.io/arch": ARCH, "failure-domain.beta.kubernetes.io/zone": ZONE}
OFFERED = {
    ARCH: ("amd64", "arm64"),
    CATEGORY: ("c", "g", "m", "t"),
    GENERATION: ("3", "5", "6", "7"),
    CPU: ("2", "4", "16"),
    GPUS: ("1", "2"),
    GPU: ("a10g", "t4g"),
    NVME: ("118", "250"),
    TYPE: tuple(TYPES),
    ZONE: ("us-east-1a", "us-east-1b", "us-east-1c"),
    CAPACITY: ("spot", "on-demand", "reserved"),
    "example.com/team": ("red", "blue"),
}
ABSENT: tuple[dict[str, tuple[str, ...]], ...] = (
    {},
    {"us-east-1a": ("m5.large", "g5.xlarge"), "us-east-1b": ("t3.nano", "m5.large")},
    {"us-east-1b": ("m6gd.large", "c7i.4xlarge", "g5.xlarge")},
)
"""Worlds by what a zone does not offer; the class has subnets in us-east-1a and us-east-1b."""
SERVED = ("us-east-1a", "us-east-1b")

Asked = tuple[str, Line]


@cache
def facts(world: int) -> AwsFacts:
    from nodelint.ec2.fake_account import FakeAccount
    from nodelint.model.documents import objects
    from nodelint.model.manifest import EC2NodeClass
    from nodelint.text import Source

    absent = ", ".join(f"{zone}: [{', '.join(names)}]" for zone, names in ABSENT[world].items())
    before = next(line for line in PLACES.splitlines() if line.startswith("absent:"))
    text = "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: web}\n"
    spec = f"spec: {SPEC}\n"
    (node_class,) = objects(Source.from_text("class.yaml", text + spec))
    assert isinstance(node_class, EC2NodeClass)
    return FakeAccount(PLACES.replace(before, f"absent: {{{absent}}}")).facts([node_class], NEW)


@cache
def a_line(key: str) -> st.SearchStrategy[Asked]:
    named = st.lists(st.sampled_from((*OFFERED[ALIASES.get(key, key)], "nothing")), min_size=1, max_size=3).map(tuple)
    bounds = st.sampled_from([v for v in OFFERED[ALIASES.get(key, key)] if v.isdigit()] or ["5"]).map(lambda n: (n,))
    least = st.none() | st.integers(1, 4)
    return st.tuples(
        st.just(key),
        st.builds(Line, st.sampled_from(("In", "In", "NotIn")), named, least)
        | st.builds(Line, st.sampled_from(("Exists", "DoesNotExist")), st.just(()), least)
        | st.builds(Line, st.sampled_from(("Gt", "Lt", "Gte", "Lte")), bounds, least),
    )


# Of few keys, so that lines of one key meet.
keys = st.lists(st.sampled_from([*OFFERED, *ALIASES]), min_size=1, max_size=3, unique=True)
asked_lines = keys.flatmap(lambda names: st.lists(st.sampled_from(names).flatmap(a_line), max_size=5))
one_label = st.dictionaries(
    st.sampled_from(["example.com/team", GENERATION]), st.sampled_from(["red", "5"]), max_size=1
)


class World:
    """Six types in three zones, asked one by one, place by place and line by line."""

    def __init__(self, number: int, requested: Iterable[Asked]) -> None:
        self.absent = ABSENT[number]
        self.wishes: dict[str, Wish] = {}
        for key, entry in requested:
            key = ALIASES.get(key, key)
            self.wishes[key] = self.wishes.get(key, Wish([])).beside(Wish([entry]))

    def zones(self, name: str) -> tuple[str, ...]:
        return tuple(zone for zone in SERVED if name not in self.absent.get(zone, ()))

    def values(self, name: str, key: str) -> tuple[str, ...]:
        """The values of a label of a type; none where it lacks the label."""
        if key == ZONE:
            return self.zones(name)
        if key == CAPACITY:
            return ("spot", "on-demand")
        return (TYPES[name][key],) if key in TYPES[name] else ()

    def fits(self, name: str) -> bool:
        for key, entry in self.wishes.items():
            if key.startswith("example.com/"):
                continue  # no type speaks of it
            own = Line("In", self.values(name, key)) if self.values(name, key) else Line("DoesNotExist", ())
            if not entry.goes_with(Wish([own])):
                return False
        anything = Wish([])
        return any(
            self.wishes.get(ZONE, anything).overlaps(Wish([Line("In", (zone,))]))
            and self.wishes.get(CAPACITY, anything).overlaps(Wish([Line("In", (kind,))]))
            for zone, kind in product(self.zones(name), ("spot", "on-demand"))
        )

    @property
    def candidates(self) -> list[str]:
        return [name for name in TYPES if self.fits(name)]


@MORE
@given(st.integers(0, len(ABSENT) - 1), asked_lines, one_label)
def test_what_a_pool_can_launch_is_what_enumerating_its_world_gives(
    number: int, requested: list[Asked], labels: dict[str, str]
) -> None:
    written: list[dict[str, Any]] = [
        line(k, value.operator, *value.values, least=value.least) for k, value in requested
    ]
    found = run(*written, spec=SPEC, labels=labels, facts=facts(number))
    world = World(number, [*requested, *((key, Line("In", (value,))) for key, value in labels.items())])
    ours = CATALOG.types_of(TYPES)
    assert found.catalog.names_in(found.candidates & ours) == world.candidates
    assert found.complete

    small = found.candidates & ours
    for requirement in found.min_values:
        if found.distinct(requirement.key, small) is not None:
            values = {value for name in world.candidates for value in world.values(name, requirement.key)}
            assert found.distinct(requirement.key, small) == values
        assert requirement.wanted == world.wishes[requirement.key].least
    for index, effect in enumerate(found.lines[: len(requested)]):
        rest = [*requested[:index], *requested[index + 1 :], *((k, Line("In", (v,))) for k, v in labels.items())]
        assert found.catalog.names_in(effect.without & ours) == World(number, rest).candidates
