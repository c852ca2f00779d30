"""Comments go along with what a fix puts elsewhere."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]

POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: a}
spec:
  template:
    metadata:
      labels:
        team: x
        # one zone is enough
        topology.kubernetes.io/zone: us-east-1a # the cheap one
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - key: karpenter.sh/capacity-type
          operator: In
          values: [on-demand]
"""
CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: node
  amiSelectorTerms: [{alias: al2023@v20250403}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  userData: |
    apiVersion: node.eks.aws/v1alpha1
    kind: NodeConfig
    spec:
      kubelet:
        config:
          # pulls are slow
          registryPullQPS: 5
          # few pods
          maxPods: 30 # thirty
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("only", [False, True])
def test_a_label_that_becomes_a_requirement(only: bool, newline: str, tmp_path: Path, nodelint: Run) -> None:
    text = POOL.replace("        team: x\n", "") if only else POOL
    (tmp_path / "a.yaml").write_bytes(text.replace("\n", newline).encode())
    nodelint("check", "--unsafe-fixes", "--select", "label-as-requirement", "a.yaml")
    moved = """\
        # one zone is enough
        - key: topology.kubernetes.io/zone # the cheap one
          operator: In
          values: [us-east-1a]
"""
    fixed = (tmp_path / "a.yaml").read_bytes().decode()
    assert fixed.endswith(moved.replace("\n", newline))
    assert fixed.count("#") == 2


def test_a_kubelet_setting_that_leaves_the_user_data(tmp_path: Path, nodelint: Run) -> None:
    (tmp_path / "a.yaml").write_text(CLASS, encoding="utf-8")
    nodelint("check", "--unsafe-fixes", "a.yaml")
    fixed = (tmp_path / "a.yaml").read_text(encoding="utf-8")
    assert "  kubelet:\n    # few pods\n    maxPods: 30 # thirty\n  userData: |\n" in fixed
    assert fixed.endswith("          # pulls are slow\n          registryPullQPS: 5\n")
