"""What to do next where no fix can be offered, or another one has to come first."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.manifests import nodepool

Run = Callable[..., subprocess.CompletedProcess[str]]

POOL = nodepool('key: karpenter.k8s.aws/instance-type, operator: In, values: ["m5.*"]', name="web")
CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: KarpenterNodeRole-main
  amiSelectorTerms: [{alias: al2023@v20250807}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {volumeSize: 10Gi, encrypted: true}}]
"""


def test_a_pattern_under_a_wrong_key_is_fixed_after_the_key(nodelint: Run, tmp_path: Path) -> None:
    (tmp_path / "pool.yaml").write_text(POOL, encoding="utf-8")
    select = ("--select", "unknown-label,wildcard-value")
    report = " ".join(nodelint("check", *select).stdout.split())
    assert "correct the key first: nodelint knows the values of `node.kubernetes.io/instance-type`" in report
    assert "1 fixable with --fix" in report
    done = nodelint("check", "--diff", *select)
    assert "Would fix 2 findings, 1 of them once the others are fixed." in done.stderr
    assert 'karpenter.k8s.aws/instance-family, operator: In, values: ["m5"]' in done.stdout


def test_a_volume_that_is_too_small_for_the_image_is_offered_the_least_size(nodelint: Run, tmp_path: Path) -> None:
    (tmp_path / "class.yaml").write_text(CLASS, encoding="utf-8")
    report = " ".join(nodelint("check", "--select", "controller-check").stdout.split())
    assert "suggestion: the size of the snapshot: `20Gi`" in report
    assert "volumeSize: 20Gi" in report
