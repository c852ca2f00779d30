"""What several lines of one key come to, as `explain` shows it.

From `Intersection`, `Operator` and `Intersects` of core's pkg/scheduling at 1.8.0 and 1.14.1: a type that lacks a
label is kept where the folded requirement is `NotIn` or `DoesNotExist`, and by nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.manifests import nodepool

Run = Callable[..., CompletedProcess[str]]
GPUS = "karpenter.k8s.aws/instance-gpu-count"
FAMILIES = "key: karpenter.k8s.aws/instance-family, operator: In, values: [m5, g5, p4d]"
"""One family without GPUs, one with types of 1, 4 and 8, and one of 8."""
BARE = {
    f"m5.{size}" for size in ("large", "xlarge", "2xlarge", "4xlarge", "8xlarge", "12xlarge", "16xlarge", "24xlarge")
}
BARE |= {"m5.metal"}


def line(operator: str, value: str | None = None) -> str:
    values = "" if value is None else f', values: ["{value}"]'
    return f"key: {GPUS}, operator: {operator}{values}"


@pytest.fixture
def left(nodelint: Run, tmp_path: Path) -> Callable[..., set[str]]:
    """The instance types that `explain` leaves of the families by some lines about GPUs."""

    def explained(*lines: str, karpenter: str = "1.14.1") -> set[str]:
        (tmp_path / "pool.yaml").write_text(nodepool(FAMILIES, *lines), encoding="utf-8")
        done = nodelint("explain", "--karpenter-version", karpenter, "--format", "json", "pool.yaml")
        assert done.returncode == 0, done.stderr
        (pool,) = json.loads(done.stdout)["nodePools"]
        return {instance_type["name"] for instance_type in pool["instanceTypes"]}

    return explained


def test_an_exclusion_within_the_bounds_keeps_types_without_the_label(left: Callable[..., set[str]]) -> None:
    assert left(line("Gt", "2"), line("NotIn", "8")) == BARE | {"g5.12xlarge", "g5.24xlarge"}
    assert left(line("NotIn", "8"), line("Gt", "2")) == BARE | {"g5.12xlarge", "g5.24xlarge"}
    four, eight = {"g5.12xlarge", "g5.24xlarge"}, {"g5.48xlarge", "p4d.24xlarge"}
    # What is excluded outside of the bounds is forgotten, and what is left counts as `Exists`.
    assert left(line("NotIn", "1"), line("Gt", "2")) == four | eight


def test_an_exclusion_after_exists_brings_types_without_the_label_back(left: Callable[..., set[str]]) -> None:
    with_gpus = left(line("Exists"))
    assert with_gpus and not with_gpus & BARE
    assert left(line("Exists"), line("NotIn", "1")) >= BARE
    assert left(line("Exists"), line("NotIn", "1")) == left(line("NotIn", "1"), line("Exists"))


def test_bounds_with_nothing_between_are_seen_as_empty_from_1_9_0(left: Callable[..., set[str]]) -> None:
    nothing_between = line("Gt", "3"), line("Lt", "4")
    assert left(*nothing_between, karpenter="1.8.0") == set()
    assert left(*nothing_between, karpenter="1.9.0") == BARE
    for release in ("1.8.0", "1.9.0"):
        assert left(line("Gt", "3"), line("Lt", "3"), karpenter=release) == BARE
        assert left(line("Gt", "3"), line("Lt", "5"), karpenter=release) == {"g5.12xlarge", "g5.24xlarge"}
