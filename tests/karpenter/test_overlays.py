"""NodeOverlays are held to their schema, from the release on that has them; other commands leave them alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from nodelint.karpenter.resolve.pool_prices import adjust_price
from nodelint.lint.engine import Report
from nodelint.model.documents import left_out, objects
from nodelint.text import Source
from tests.manifests import nodeclass, nodepool

Check = Callable[..., Report]

OVERLAY = """\
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata:
  name: dearer
spec:
  weight: 10
  requirements:
    - key: karpenter.sh/nodepool
      operator: In
      values: [team-alpha]
    - {key: karpenter.k8s.aws/instance-generation, operator: Lt, values: ["6"]}
  priceAdjustment: "+45%"
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("", "", None),
        ('"+45%"', '"45%"', "`45%` is not a change with its sign"),
        ('"+45%"', "-0.05", "`priceAdjustment` must be a string"),
        ("weight: 10", "weight: 10001", "the maximum is 10000"),
        ("weight: 10", 'price: "0.25"', "only one of `price` and `priceAdjustment` may be set"),
        ("weight: 10", "capacity: {cpu: 1}", "capacity adds extended resources only"),
        ("weight: 10", "wait: 10", "`wait` is not a known field"),
        ("values: [team-alpha]", "values: []", "operator `In` of `karpenter.sh/nodepool` needs at least one value"),
        ("sh/nodepool", "sh/registered", "of karpenter.sh only capacity-type and nodepool may be used"),
        ("aws/instance-generation", "aws/instance-age", "`karpenter.k8s.aws/instance-age` is not one that"),
        ("  name: dearer\n", "  name: dearer\n  namespace: karpenter\n", "NodeOverlay is cluster-scoped"),
    ],
)
def test_what_the_api_server_says(check: Check, old: str, new: str, message: str | None) -> None:
    messages = [r.finding.message for r in check(OVERLAY.replace(old, new)).results]
    assert len(messages) == (message is not None)
    assert message is None or message in messages[0]


def test_releases_without_overlays(check: Check) -> None:
    (result,) = check(OVERLAY, karpenter="1.6.8").results
    assert (result.rule.name, result.finding.message) == (
        "field-of-another-release",
        "NodeOverlay needs Karpenter 1.7.0 or newer, the target is 1.6.8",
    )


def test_only_checks_look_at_overlays() -> None:
    source = Source.from_text("o.yaml", OVERLAY)
    assert [obj.label for obj in objects(source, more=True)] == ["NodeOverlay/dearer"]
    assert list(objects(source)) == [] == list(left_out(source))


@pytest.mark.parametrize(
    ("old", "new", "conflict"),
    [
        ("", "", True),
        ("weight: 10", "weight: 11", False),
        ("[team-alpha]", "[team-beta]", False),
        ("[team-alpha]", "[team-beta, team-alpha]", True),
        ("operator: Lt", "operator: Gt", False),
        ("operator: Lt", "operator: Lower", False),
        ('values: ["6"]', "values: [${GENERATION}]", False),
        ('priceAdjustment: "+45%"', "capacity: {example.com/slice: 4}", False),
        ('priceAdjustment: "+45%"', 'price: "1.5"', True),
    ],
)
def test_overlays_of_one_weight(check: Check, old: str, new: str, conflict: bool) -> None:
    other = OVERLAY.replace("dearer", "more-so").replace(old, new)
    found = check(f"{OVERLAY}---\n{other}", select=["overlay-conflict"]).results
    assert [(r.finding.at.text, r.severity) for r in found] == [("dearer", "warning")] * conflict
    if conflict:
        assert [r.severity for r in check(other, OVERLAY, select=["overlay-conflict"]).results] == ["info"]


def overlay(name: str, requirements: str, effect: str) -> str:
    return (
        f"apiVersion: karpenter.sh/v1alpha1\nkind: NodeOverlay\nmetadata:\n  name: {name}\n"
        f"spec:\n  requirements: [{requirements}]\n  {effect}\n"
    )


FAMILY = "{key: karpenter.k8s.aws/instance-family, operator: In, values: [%s]}"
NO_GPU = "{key: karpenter.k8s.aws/instance-gpu-name, operator: DoesNotExist}"
PRICE, SLICES, FUSE = 'price: "1"', "capacity: {example.com/slice: 4}", "capacity: {smarter-devices/fuse: 4}"
TEAM = "{key: team, operator: In, values: [%s]}"


@pytest.mark.parametrize(
    ("overlays", "rejected"),
    [
        # `b` is in conflict with `c` alone; `a` meets `b` alone, which is rejected.
        ([("a", FAMILY % "m5", PRICE), ("b", FAMILY % "m5, c5", PRICE), ("c", FAMILY % "c5", PRICE)], ["b"]),
        ([("a", FAMILY % "m5", PRICE), ("b", FAMILY % "m5", PRICE), ("c", FAMILY % "m5", PRICE)], ["a", "b"]),
        ([("a", FAMILY % "m5", SLICES), ("b", FAMILY % "m5", SLICES)], ["a"]),
        ([("a", FAMILY % "m5", SLICES), ("b", FAMILY % "m5", FUSE)], []),
        # What `b` brings hides from the controller what `c` brings.
        ([("a", FAMILY % "m5", SLICES), ("b", FAMILY % "m5", FUSE), ("c", FAMILY % "m5", SLICES)], []),
        ([("a", NO_GPU, PRICE), ("b", NO_GPU, PRICE)], ["a"]),
        ([("a", NO_GPU, PRICE), ("b", FAMILY % "g5", PRICE)], []),
        ([("a", TEAM % "red", PRICE), ("b", TEAM % "blue", PRICE)], []),
        ([("a", TEAM % "red", PRICE), ("b", TEAM % "red", PRICE)], ["a"]),
        ([("a", TEAM % "green", PRICE), ("b", TEAM % "green", PRICE)], []),
        # The controller refuses `b`, so it is in nobody's way.
        ([("a", FAMILY % "m5", PRICE), ("b", FAMILY % '"m5", "*"', PRICE)], []),
    ],
)
def test_exactly_the_rejected_ones_are_named(
    check: Check, overlays: list[tuple[str, str, str]], rejected: list[str]
) -> None:
    pools = [
        nodepool(name=team).replace("    spec:", f"    metadata: {{labels: {{team: {team}}}}}\n    spec:", 1)
        for team in ("red", "blue")
    ]
    text = "---\n".join([*(overlay(*value) for value in overlays), *pools, nodeclass()])
    found = check(text, select=["overlay-conflict"]).results
    assert [(r.finding.at.text, r.severity) for r in found] == [(name, "warning") for name in rejected]


def test_a_wildcard_is_refused_by_the_controller(check: Check) -> None:
    (found,) = check(overlay("a", FAMILY % '"m5*"', PRICE), select=["controller-check"]).results
    assert (found.finding.at.text, found.severity) == ('"m5*"', "error")
    assert "ignores the whole overlay" in str(found.finding.note)


POOL = "{key: karpenter.sh/nodepool, operator: In, values: [%s]}"
ARM = "{key: kubernetes.io/arch, operator: In, values: [arm64]}"


@pytest.mark.parametrize(
    ("requirements", "marked", "message"),
    [
        ("", None, None),
        (FAMILY % "m5", None, None),
        (FAMILY % "m5, m99", "m99", "no instance type has instance-family `m99`"),
        (FAMILY % "m99", "m99", "no instance type has instance-family `m99`"),
        (f"{FAMILY % 'm5'}, {ARM}", "a", "no instance type of 2 NodePools meets all"),
        (POOL % "red", None, None),
        (POOL % "green", POOL % "green", "no NodePool has this name"),
        (TEAM % "red", None, None),
        (TEAM % "green", TEAM % "green", "no NodePool has this value of the label `team`"),
        ("{key: owner, operator: NotIn, values: [x]}", None, None),
        ("{key: owner, operator: In, values: ['${OWNER}']}", None, None),
    ],
)
def test_overlays_that_mean_nothing(check: Check, requirements: str, marked: str | None, message: str | None) -> None:
    pools = [
        nodepool(name=team).replace("    spec:", f"    metadata: {{labels: {{team: {team}}}}}\n    spec:", 1)
        for team in ("red", "blue")
    ]
    text = "---\n".join([overlay("a", requirements, PRICE), *pools, nodeclass()])
    found = check(text, select=["unmatched-overlay"]).results
    assert [(r.finding.at.text, r.severity) for r in found] == ([(marked, "warning")] if marked else [])
    assert all(str(message) in r.finding.message for r in found)


@pytest.mark.parametrize("requirements", [POOL % "green", TEAM % "green"])
def test_pools_that_are_not_here_may_be_meant(check: Check, requirements: str) -> None:
    assert not check(overlay("a", requirements, PRICE), select=["unmatched-overlay"]).results
    partly = nodepool(name='"{{ .Values.name }}"')
    assert not check(f"{overlay('a', requirements, PRICE)}---\n{partly}", select=["unmatched-overlay"]).results


Run = Callable[..., CompletedProcess[str]]


def explained(here: Path, nodelint: Run, *overlays: str) -> dict[str, Any]:
    family = (FAMILY % "m5").strip("{}")
    (here / "all.yaml").write_text("---\n".join([nodepool(family), nodeclass(), *overlays]))
    (pool,) = json.loads(nodelint("explain", "all.yaml", "--format", "json", cwd=here).stdout)["nodePools"]
    found: dict[str, Any] = pool
    return found


def prices(pool: dict[str, Any]) -> dict[str, float]:
    return {instance_type["name"]: instance_type["pricePerHour"] for instance_type in pool["instanceTypes"]}


def test_explain_applies_accepted_overlays(tmp_path: Path, nodelint: Run) -> None:
    plain = prices(explained(tmp_path, nodelint))
    large = "{key: node.kubernetes.io/instance-type, operator: In, values: [m5.large]}"
    heavy = overlay("heavy", large, 'price: "0.01"\n  weight: 5')
    rejected = overlay("alone", large, 'price: "0.02"\n  weight: 5')
    light = overlay("light", FAMILY % "m5", 'priceAdjustment: "+50%"\n  capacity: {smarter-devices/fuse: 20}')
    pool = explained(tmp_path, nodelint, heavy, rejected, light)
    assert pool["nodeOverlays"] == ["heavy", "light"]
    assert prices(pool) == pytest.approx({name: price * 1.5 for name, price in plain.items()} | {"m5.large": 0.01})
    assert {instance_type["allocatable"]["smarter-devices/fuse"] for instance_type in pool["instanceTypes"]} == {"20"}
    text = nodelint("explain", "all.yaml", cwd=tmp_path).stdout
    assert "heavy, light: applied to prices and capacity" in text
    assert "smarter-devices/fuse: 20 on 9 of the types" in text


def test_explain_leaves_overlays_out_where_their_gate_is_off(tmp_path: Path, nodelint: Run) -> None:
    (tmp_path / "values.yaml").write_text(
        "settings:\n  clusterName: karpenter\n  featureGates: {nodeOverlay: false}\n"
    )
    (tmp_path / "all.yaml").write_text(
        "---\n".join([nodepool((FAMILY % "m5").strip("{}")), nodeclass(), overlay("a", "", PRICE)])
    )
    assert "NodeOverlays" not in nodelint("explain", ".", cwd=tmp_path).stdout
    (tmp_path / "values.yaml").unlink()
    assert "NodeOverlays" in nodelint("explain", ".", cwd=tmp_path).stdout


@pytest.mark.parametrize(
    ("change", "price"),
    [(None, 2.0), ("1.5", 1.5), ("+0.5", 2.5), ("-0.5", 1.5), ("-3", 0), ("+10%", 2.2), ("-25%", 1.5), ("-100%", 0)],
)
def test_prices_after_an_overlay(change: str | None, price: float) -> None:
    assert adjust_price(2.0, change) == pytest.approx(price)
