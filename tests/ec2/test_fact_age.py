"""How old the facts are that come with nodelint: `--version` and the summary say it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodelint import __version__
from nodelint.ec2.catalog import Catalog
from nodelint.model.releases import NEWEST
from nodelint.report.age import OLD, days_since, releases_day
from tests.manifests import nodepool

Run = Callable[..., CompletedProcess[str]]

EPOCH = date(1970, 1, 1)
TYPES = Catalog.bundled().date


def noon(day: date) -> dict[str, str]:
    return {"NODELINT_NOW": f"{day.isoformat()}T12:00:00Z"}


def after(day: str, days: int) -> dict[str, str]:
    return noon(date.fromisoformat(day) + timedelta(days))


@given(st.dates(EPOCH, date(2099, 12, 31)), st.dates(EPOCH, date(2099, 12, 31)))
def test_days_between_two_days(left: date, other: date) -> None:
    assert days_since(left.isoformat(), (other - EPOCH).days) == max((other - left).days, 0)


def test_the_version_names_the_days_of_the_facts(nodelint: Run) -> None:
    first, second, *rest = nodelint("--version", env=after(TYPES, OLD)).stdout.splitlines()
    assert first == f"nodelint {__version__}"
    assert second == f"releases of Karpenter to {NEWEST}, of {releases_day()}; instance types of {TYPES}"
    assert rest == []
    old = nodelint("--version", env=after(max(TYPES, releases_day()), OLD + 1)).stdout.splitlines()
    assert len(old) == 3 and "A newer release of nodelint may have newer ones; `nodelint refresh` gets" in old[2]


@pytest.mark.parametrize(("days", "expected"), [(OLD - 1, False), (OLD, False), (OLD + 1, True)])
def test_the_summary_says_that_facts_are_old(nodelint: Run, tmp_path: Path, days: int, expected: bool) -> None:
    (tmp_path / "pool.yaml").write_text(nodepool(), encoding="utf-8")
    output = " ".join(nodelint("check", env=after(releases_day(), days)).stdout.split())
    assert (f"releases of Karpenter are of {releases_day()}" in output) == expected
    assert ("A newer release of nodelint may have newer ones; `nodelint refresh` gets" in output) or not expected
    assert "older than" not in nodelint("check", "--quiet", env=after(releases_day(), days)).stdout


def test_old_instance_types_are_named_where_an_answer_depends_on_them(nodelint: Run, tmp_path: Path) -> None:
    env = after(TYPES, OLD + 1)
    for family, expected in (("m7i", False), ("m99x", True)):
        text = nodepool(f"key: karpenter.k8s.aws/instance-family, operator: In, values: [{family}]")
        (tmp_path / "pool.yaml").write_text(text, encoding="utf-8")
        output = " ".join(nodelint("check", env=env).stdout.split())
        assert (f"instance types are of {TYPES}" in output) == expected
