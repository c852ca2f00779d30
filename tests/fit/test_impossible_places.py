"""A pool that can launch nothing, whatever types EC2 may get: `check`, `explain`, `fit` and `plan` say the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.manifests import nodeclass, nodepool

Run = Callable[..., CompletedProcess[str]]
# The catalogue lacks some types of these categories: a newer one could meet the requirement.
CATEGORY = "key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m]"
ZONE, REGION, ZONE_ID = "topology.kubernetes.io/zone", "topology.kubernetes.io/region", "topology.k8s.aws/zone-id"
POD = """---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  nodeSelector: {karpenter.sh/nodepool: default}
  containers: [{name: a, image: a, resources: {requests: {cpu: "1"}}}]
"""


def line(key: str, *values: str) -> str:
    return f"key: {key}, operator: In, values: [{', '.join(values)}]"


def write(tmp_path: Path, *lines: str, spec: str = "") -> Path:
    path = tmp_path / "pools.yaml"
    path.write_text(f"{nodepool(CATEGORY, *lines)}---\n{nodeclass(spec)}{POD}")
    return path


@pytest.mark.parametrize(
    ("lines", "spec", "can_launch"),
    [
        ([line(ZONE, "us-east-1a")], "", True),
        ([line(ZONE, "us-east-1")], "", False),
        ([line(ZONE, "us-east-1-a", "US-EAST-1A")], "", False),
        ([line(ZONE, "us-east-1", "us-east-1a")], "", True),
        ([line(ZONE, "us-west-2-lax-1a")], "", True),
        ([line(REGION, "us-east-1")], "", True),
        ([line(REGION, "us-east-1a")], "", False),
        ([line(ZONE_ID, "use1-az1")], "", True),
        ([line(ZONE_ID, "us-east-1a")], "", False),
        ([line(ZONE_ID, "use1-az6")], "", True),
        ([line(ZONE_ID, "use1-az99")], "", False),
        ([line(ZONE_ID, "use1-az0")], "", False),
        ([line(ZONE_ID, "use1-bos1-az1")], "", True),
        ([line(ZONE_ID, "euse1-az9")], "", True),  # a region that is not known here
        ([line(ZONE, "us-esat-1a")], "", False),
        ([line(ZONE, "su-east-1a")], "", False),
        ([line(ZONE, "us-east-1z")], "", False),
        ([line(ZONE, "us-esat-1a", "us-east-1b")], "", True),
        ([line(ZONE, "us-isob-east-1a")], "", True),
        ([line(ZONE, "us-east-3z")], "", True),
        ([line(REGION, "us-esat-1")], "", False),
        ([line(REGION, "eu-east-1")], "", True),
        ([line(ZONE, "us-east-1a"), line(REGION, "us-east-1")], "", True),
        ([line(ZONE, "us-east-1a"), line(REGION, "eu-west-1")], "", False),
        ([line("karpenter.sh/capacity-type", "on-demand")], "", True),
        ([line("karpenter.sh/capacity-type", "reserved")], "", False),
        ([], "kubelet: {maxPods: 8}", True),
        ([], "kubelet: {maxPods: 0}", False),
    ],
)
def test_all_commands_agree_that_nothing_can_be_launched(
    tmp_path: Path, nodelint: Run, lines: list[str], spec: str, can_launch: bool
) -> None:
    path = write(tmp_path, *lines, spec=spec)
    findings = json.loads(nodelint("check", str(path), "--format", "json").stdout)["findings"]
    fitted = nodelint("fit", str(path)).stdout
    explained = nodelint("explain", str(path)).stdout
    assert any(finding["severity"] == "error" for finding in findings) is not can_launch
    assert ("=> no pool takes it" in fitted) is not can_launch
    assert ("can be launched" in explained) is can_launch
    assert "not known" not in fitted
    assert "Not known" not in explained


@pytest.mark.parametrize(
    ("zones", "expected"),
    [
        (["us-esat-1a"], [("error", "did you mean `us-east-1a`?")]),
        (["us-east-1a", "us-east-1g"], [("warning", "no known zone is `us-east-1g`")]),
        (["eu-west-1e"], [("warning", "no known zone is `eu-west-1e`")]),
        (["eu-west-1f"], [("error", "no instance type has zone `eu-west-1f`")]),
        (["us-east-1f"], []),
        (["us-east-3a"], []),
        (["ca-east-1a"], []),  # one letter from sa-east-1, but a region that AWS may have added
    ],
)
def test_check_names_zones_that_do_not_exist_and_zones_that_may_be_new(
    tmp_path: Path, nodelint: Run, zones: list[str], expected: list[tuple[str, str]]
) -> None:
    path = write(tmp_path, line(ZONE, *zones))
    checked = nodelint("check", str(path), "--select", "unknown-value", "--format", "json").stdout
    found = json.loads(checked)["findings"]
    assert [finding["severity"] for finding in found] == [severity for severity, _ in expected]
    for finding, (_, message) in zip(found, expected, strict=True):
        assert message in finding["message"]


def test_plan_says_that_nothing_is_launched_in_a_place_that_is_none(tmp_path: Path, nodelint: Run) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    new.mkdir()
    write(old, line(ZONE, "us-east-1a"))
    write(new, line(ZONE, "us-east-1"))
    output = nodelint("plan", "--old", str(old), str(new)).stdout
    assert "can no longer launch nodes: no instance type meets its requirements; running nodes stay" in output
    assert "all nodes are replaced" not in output


def test_a_zone_is_made_a_region_only_if_the_user_asks(tmp_path: Path, nodelint: Run) -> None:
    path = write(tmp_path, line(ZONE, "us-east-1"), spec="instanceProfile: nodes")  # and the role is there
    before = path.read_text()
    nodelint("check", str(path), "--fix")
    assert path.read_text() == before
    nodelint("check", str(path), "--unsafe-fixes")
    assert line(REGION, "us-east-1") in path.read_text() or path.read_text() == before
