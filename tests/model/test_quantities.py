"""Quantities as whole numbers."""

import pytest

from nodelint.model.quantities import ONE, billionths


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("1", 1),
        ("1.5Gi", 1.5 * 2**30),
        ("1e3", 1000),
        ("5k", 5000),
        (".5", 0.5),
        ("100m", 0.1),
        ("-2", -2),
        ("1Ti", 2**40),
    ],
)
def test_a_quantity_counts_in_billionths(text: str, times: float) -> None:
    assert billionths(text) == times * ONE


@pytest.mark.parametrize("text", ["100m", "0.1", "1e-1", "100000u", "100000000n", "100.m"])
def test_the_same_amount_written_otherwise(text: str) -> None:
    assert billionths(text) == ONE // 10


def test_what_is_finer_than_a_billionth_is_rounded_up() -> None:
    assert billionths("0.0000000001") == 1


@pytest.mark.parametrize("text", ["", "Gi", ".", "1 Gi", "1K", "0x10", "1e"])
def test_what_is_no_quantity(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        billionths(text)
