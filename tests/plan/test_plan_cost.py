"""What a change costs, of bills that are given."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nodelint.plan.cost import PlanCost, cost_of_plan
from nodelint.report.plan_cost import difference_words
from tests.commands.test_cli import Run
from tests.manifests import nodeclass, pool
from tests.repositories import write_files


def bills(least: float, most: float) -> Any:
    """What workloads cost an hour with the fewest pods and with the most."""
    side = (SimpleNamespace(hourly=amount) for amount in (least, most))
    return SimpleNamespace(least=next(side), most=next(side), left_out=(), other_reasons=(), not_counted=())


@pytest.mark.parametrize(
    ("before", "after", "difference", "words"),
    [
        ((1, 2), (3, 5), (2, 3), "+$1,460 a month with the fewest pods, +$2,190 with the most"),
        ((3, 5), (1, 4), (-2, -1), "-$1,460 a month with the fewest pods, -$730.00 with the most"),
        ((1, 1), (0.5, 0.5), (-0.5, -0.5), "-$365.00 a month"),
    ],
)
def test_fewest_pods_are_held_against_fewest_and_most_against_most(
    before: tuple[float, float], after: tuple[float, float], difference: tuple[float, float], words: str
) -> None:
    cost = PlanCost((), bills(*before), bills(*after), "us-east-1", None)
    assert (cost.difference, difference_words(cost)) == (difference, words)


@pytest.mark.parametrize(("more", "changes"), [(0.0, False), (1e-9, False), (0.1, True)])
def test_a_change_of_some_cents_is_one(more: float, changes: bool) -> None:
    assert (cost_of_plan((), bills(1, 2), bills(1, 2 + more), None) is not None) == changes


WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  template:
    spec:
      containers: [{name: web, image: web:1, resources: {requests: {cpu: "1", memory: 2Gi}}}]
"""
TRAINING = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  template:
    spec:
      nodeSelector: {karpenter.k8s.aws/instance-family: FAMILY}
      containers: [{name: train, image: train:1, resources: {requests: {cpu: "1"}}}]
"""


@pytest.mark.parametrize(
    ("family", "other", "is_known"),
    [
        ("p4d", "p4d", True),
        ("p4d", "p5", True),
        ("${FAMILY}", "${FAMILY}", False),
    ],
)
def test_a_workload_that_no_pool_takes_costs_nothing_on_both_sides(
    nodelint: Run, tmp_path: Path, family: str, other: str, is_known: bool
) -> None:
    for folder, wanted, families in (("old", family, "m6i"), ("new", other, "r6i")):
        pools = pool(f"karpenter.k8s.aws/instance-family In [{families}]", name="general")
        jobs = TRAINING.replace("FAMILY", f'"{wanted}"')
        write_files(
            tmp_path / folder, {"pool.yaml": pools, "class.yaml": nodeclass(), "web.yaml": WEB, "train.yaml": jobs}
        )
    text = nodelint("plan", "--old", "old", "new").stdout
    assert ("Difference: +$" in text) == is_known, text
    assert ("Difference: not known (1 workload (Job/train)" in text) != is_known
