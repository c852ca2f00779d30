"""An unsafe fix says what it does to running nodes, and the texts that people read use plain words."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]

ROOT = Path(__file__).parents[2]

PAIR = """apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: a}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: c}
      expireAfter: Never
      requirements:
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m5, c6i]}
        - {key: kubernetes.io/arch, operator: In, values: [amd64, arm64]}
  disruption: {budgets: [{nodes: "0"}]}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: c}
spec:
  role: a
  amiSelectorTerms: [{alias: al2023@v20260714}]
  subnetSelectorTerms: [{tags: {a: b}}]
  securityGroupSelectorTerms: [{tags: {a: b}}]
  metadataOptions: {httpEndpoint: disabled}
"""


@pytest.mark.parametrize(
    ("rule", "effect"),
    [
        ("never-patched", "all nodes of the NodePool are replaced (NodePoolDrifted)"),
        ("imds-disabled", "all nodes of the class's NodePools are replaced (NodeClassDrift)"),
        ("unmatchable-value", "changes requirements: nodes that do not match are replaced (RequirementsDrifted)"),
    ],
)
def test_an_unsafe_fix_says_which_nodes_it_replaces(nodelint: Run, tmp_path: Path, rule: str, effect: str) -> None:
    (tmp_path / "pair.yaml").write_text(PAIR, encoding="utf-8")
    done = nodelint("check", "--select", rule, "pair.yaml", cwd=tmp_path)
    assert f"fix (unsafe: {effect}):" in done.stdout


UNPLAIN = re.compile(r"\b(told|beside|for want of|gives? way|but for|set aside|lets? in|mended|anew)\b")


def test_causes_of_errors_are_in_plain_words() -> None:
    causes = json.loads((ROOT / "nodelint" / "data" / "triage.json").read_text(encoding="utf-8"))["causes"]
    texts = [
        text for cause in causes for case in cause["cases"] for text in (cause["title"], case["means"], case["do"])
    ]
    assert [text for text in texts if UNPLAIN.search(text)] == []
