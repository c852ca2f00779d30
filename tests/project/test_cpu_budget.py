"""A test that takes more CPU than its budget fails, where the run holds one and no mark allows more."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import cpu_seconds, pytest_runtest_call


def take_cpu(budget: float | None, mark: object) -> None:
    """Go through the call of a test that takes some CPU."""
    config = SimpleNamespace(getoption=lambda _: budget)
    item: Any = SimpleNamespace(config=config, get_closest_marker=lambda name: mark if name == "slow" else None)
    call = pytest_runtest_call(item)
    next(call)
    begun = cpu_seconds()
    while cpu_seconds() < begun + 0.02:
        sum(range(1000))
    with pytest.raises(StopIteration):
        next(call)


def test_a_test_beyond_its_budget_fails() -> None:
    with pytest.raises(pytest.fail.Exception, match=r"the budget is 0\.001 s"):
        take_cpu(0.001, None)


@pytest.mark.parametrize(("budget", "mark"), [(60, None), (0.001, "slow"), (None, None)])
def test_a_test_within_its_budget_or_with_a_mark_passes(budget: float | None, mark: object) -> None:
    take_cpu(budget, mark)
