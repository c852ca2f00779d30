"""The algebra against a naive model: plain sets of the values that are enumerated one by one."""

from hypothesis import given
from hypothesis import strategies as st

from nodelint.model.releases import Version
from nodelint.model.requirement import Requirement, Requirements

NUMBERS = [str(n) for n in range(-3, 9)]
UNIVERSE = [*NUMBERS, "007", "+5", "a", "b", "", "5.0", "1_0"]
"""Every value that a label is tried with: integers, other spellings of them, and texts."""
INTEGERS = {text: int(text) for text in UNIVERSE if text.lstrip("+-").isdigit()}

VERSIONS = st.sampled_from([None, Version(1, 0, 0), Version(1, 8, 8), Version(1, 9, 0)])

Written = tuple[str, list[str]]
writings = st.one_of(
    st.tuples(st.sampled_from(["In", "NotIn"]), st.lists(st.sampled_from(UNIVERSE), max_size=4)),
    st.tuples(st.sampled_from(["Exists", "DoesNotExist"]), st.just([])),
    st.tuples(st.sampled_from(["Gt", "Lt"]), st.sampled_from(NUMBERS).map(lambda n: [n])),
)
inclusive = st.tuples(st.sampled_from(["Gte", "Lte"]), st.sampled_from(NUMBERS).map(lambda n: [n]))
lines = st.lists(st.one_of(writings, inclusive), min_size=1, max_size=4)
old_lines = st.lists(writings, min_size=1, max_size=4)


def admits(written: Written, value: str) -> bool:
    """What one line says of one value, in the words of the manifest."""
    operator, values = written
    if operator == "In":
        return value in values
    if operator == "NotIn":
        return value not in values
    if operator in ("Exists", "DoesNotExist"):
        return operator == "Exists"
    if value not in INTEGERS:
        return False
    number, bound = INTEGERS[value], int(values[0])
    return {"Gt": number > bound, "Lt": number < bound, "Gte": number >= bound, "Lte": number <= bound}[operator]


def model(written: list[Written]) -> set[str]:
    return {value for value in UNIVERSE if all(admits(line, value) for line in written)}


def fold(written: list[Written], version: Version | None = None) -> Requirement:
    (folded,) = Requirements(Requirement.parse("k", o, values, None, version) for o, values in written)
    return folded


@given(lines)
def test_a_folded_requirement_admits_what_every_line_admits(written: list[Written]) -> None:
    folded = fold(written)
    assert {value for value in UNIVERSE if folded.admits(value)} == model(written)


@given(old_lines, VERSIONS)
def test_so_it_does_in_every_release(written: list[Written], version: Version | None) -> None:
    folded = fold(written, version)
    assert {value for value in UNIVERSE if folded.admits(value)} == model(written)


@given(lines, st.randoms())
def test_the_order_of_lines_does_not_matter(written: list[Written], random: object) -> None:
    shuffled = written.copy()
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    once, again = fold(written), fold(shuffled)
    assert {v for v in UNIVERSE if once.admits(v)} == {v for v in UNIVERSE if again.admits(v)}
    assert once.complement == again.complement


@given(lines, lines)
def test_intersection_is_the_intersection_of_the_values(left: list[Written], right: list[Written]) -> None:
    both = fold(left).intersect(fold(right))
    assert {value for value in UNIVERSE if both.admits(value)} == model(left) & model(right)
    assert both == fold(right).intersect(fold(left))


@given(lines, lines)
def test_intersects_is_never_stricter_than_the_values(left: list[Written], right: list[Written]) -> None:
    ours = fold(left).intersects(fold(right))
    assert ours == fold(right).intersects(fold(left))
    if model(left) & model(right):
        assert ours
    if ours and not (fold(left).complement and fold(right).complement):
        assert model(left) & model(right)


@given(lines, st.sampled_from(UNIVERSE))
def test_a_type_with_a_label_fits_exactly_where_its_value_is_admitted(written: list[Written], value: str) -> None:
    instance_type = Requirements.from_labels({"k": value})
    assert (instance_type.intersects(Requirements([fold(written)])) is None) == (value in model(written))


@given(lines)
def test_a_type_without_the_label_fits_as_an_undefined_key_does(written: list[Written]) -> None:
    folded = Requirements([fold(written)])
    lacking = Requirements([Requirement.parse("k", "DoesNotExist")])
    assert lacking.intersects(folded) == Requirements().compatible(folded)


@given(lines, lines)
def test_compatible_of_a_defined_key_is_intersects(left: list[Written], right: list[Written]) -> None:
    existing, incoming = Requirements([fold(left)]), Requirements([fold(right)])
    assert existing.compatible(incoming) == existing.intersects(incoming)
    assert Requirements().compatible(incoming, frozenset({"k"})) is None


@given(lines)
def test_finite_results_have_no_bounds_and_operators_follow_from_the_values(written: list[Written]) -> None:
    folded = fold(written)
    if not folded.complement:
        assert folded.greater_equal is None
        assert folded.less_equal is None
        assert folded.operator == ("In" if folded.values else "DoesNotExist")
        assert folded.length == len(folded.values)
    else:
        assert folded.operator == ("NotIn" if folded.values else "Exists")


@given(old_lines)
def test_releases_differ_only_where_nothing_fits(written: list[Written]) -> None:
    before, after = fold(written, Version(1, 8, 8)), fold(written, Version(1, 9, 0))
    if before.operator != after.operator:
        assert after.operator == "DoesNotExist"
        assert not model(written)
