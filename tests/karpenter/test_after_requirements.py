"""What Karpenter does after it has compared requirements: what it launches of, and what it passes on."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodelint.model.requirement import MAX_INT, Requirement
from tests.karpenter.test_resolve import CAPACITY, CATALOG, FAMILY, K, line, run

CPU, GENERATION = K + "instance-cpu", K + "instance-generation"
STATIC = {"replicas": 2}


@pytest.mark.parametrize(
    ("lines", "count"),
    [
        ([("Lt", "0")], 0),
        ([("Lt", "1")], 1),
        ([("Lte", "0")], 1),
        ([("Gte", str(MAX_INT))], 0),
        ([("Gt", str(MAX_INT - 1))], 0),
        ([("Gte", str(MAX_INT - 1))], 1),
        # One more than the greatest number wraps round.
        ([("Lte", str(MAX_INT))], 0),
        ([("Lt", str(MAX_INT))], MAX_INT),
        ([("Gte", "1"), ("Lte", str(MAX_INT))], MAX_INT),
        ([("Gt", "3"), ("Lt", "6")], 2),
        # Values, or none at all, are no draw.
        ([("Lt", "0"), ("In", "a")], 1),
        ([("Gt", "3"), ("Lt", "2")], 1),
        ([("NotIn", "5"), ("Lt", "0")], 0),
    ],
)
def test_numbers_to_draw_a_label_from(lines: list[tuple[str, str]], count: int) -> None:
    first, *rest = (Requirement.parse("example.com/a", operator, [value]) for operator, value in lines)
    for text in rest:
        first = first.intersect(text)
    assert first.numbers_to_draw_from == count


VALUES = st.integers(0, 12).map(str)
LINES = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["Gt", "Lt", "Gte", "Lte"]), st.tuples(VALUES)),
        st.tuples(st.sampled_from(["In", "NotIn"]), st.lists(VALUES, min_size=1, max_size=3)),
    ),
    min_size=1,
    max_size=4,
)


@given(LINES)
def test_a_static_pool_launches_by_what_its_claims_carry(written: list[tuple[str, list[str]]]) -> None:
    """Against the claim read back as the provider reads it: bounds alone where there are some."""
    lines = [line(GENERATION, operator, *values) for operator, values in written]
    folded = run(*lines).folded[GENERATION]
    claim = [
        Requirement.parse(GENERATION, operator, [str(bound)])
        for operator, bound in (("Gte", folded.greater_equal), ("Lte", folded.less_equal))
        if bound is not None
    ] or [folded]
    expected = CATALOG.all_types - CATALOG.values(FAMILY)["a1"]
    both = claim[0]
    for text in claim[1:]:
        both = both.intersect(text)
    assert run(*lines, pool=STATIC).candidates == expected & CATALOG.select(both)
    assert run(*lines).candidates == run(*lines, pool=STATIC).wanted


def test_what_is_lost_on_the_way_is_told_in_the_funnel() -> None:
    lines = (line(GENERATION, "Gt", "5"), line(GENERATION, "NotIn", "7"))
    found = run(*lines, pool=STATIC)
    assert [line.note for line in found.lines] == [
        None,
        "lost: a static NodePool passes on only bounds of a key that has any",
    ]
    assert found.lines[1].removed == 0
    assert [line.note for line in run(*lines).lines] == [None, None]
    assert run(*lines).lines[1].removed > 0
    older = (line(CPU, "Gt", "3"), line(CPU, "Lt", "17"))
    assert CATALOG.distinct(CPU, run(*older, pool=STATIC, version="1.8.0").candidates) > {"4", "8", "16", "192"}
    assert CATALOG.distinct(CPU, run(*older, pool=STATIC, version="1.9.0").candidates) == {"4", "8", "12", "16"}


def test_the_cheapest_are_ordered_by_price_and_ties_count_as_one() -> None:
    found = run(line(FAMILY, "In", "m5", "m5a", "c5"))
    four = CATALOG.names_in(found.cheapest(4))
    prices: list[Any] = sorted(CATALOG.prices.on_demand(name) for name in CATALOG.names_in(found.candidates))
    assert max(CATALOG.prices.on_demand(name) or 0 for name in four) == prices[3]
    assert len(four) == sum(price <= prices[3] for price in prices)
    assert found.cheapest(1000) == found.candidates


def test_values_of_offers_are_not_counted_among_types() -> None:
    found = run()
    assert found.distinct(CAPACITY, found.candidates) is None
    assert found.distinct("example.com/own", found.candidates) is None
    assert found.distinct(GENERATION, CATALOG.only("m5.large")) == frozenset({"5"})
