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

STAYING = "all nodes of the NodePool drift (NodePoolDrifted), but none is replaced: a budget lets none of them go"
GUESS = "nodelint guessed what you meant; no running node is replaced"


@pytest.mark.parametrize(
    ("rule", "effect"),
    [
        ("never-patched", STAYING),
        ("imds-disabled", "all nodes of the class's NodePools are replaced (NodeClassDrift)"),
        ("unmatchable-value", GUESS),
    ],
)
def test_an_unsafe_fix_says_which_nodes_it_replaces(nodelint: Run, tmp_path: Path, rule: str, effect: str) -> None:
    (tmp_path / "pair.yaml").write_text(PAIR, encoding="utf-8")
    done = nodelint("check", "--select", rule, "pair.yaml", cwd=tmp_path)
    assert f"fix (unsafe: {effect}):" in done.stdout


def test_an_unsafe_fix_that_replaces_nodes_by_their_requirements_says_so(nodelint: Run, tmp_path: Path) -> None:
    taint = "      taints: [{key: nvidia.com/gpu, effect: NoSchedule}]\n      expireAfter"
    text = PAIR.replace("[m5, c6i]", "[g4ad, g4dn]").replace("      expireAfter", taint)
    (tmp_path / "pair.yaml").write_text(text, encoding="utf-8")
    done = nodelint("check", "--select", "device-of-another-vendor,unmatchable-value", "pair.yaml", cwd=tmp_path)
    replaced = "nodes that do not meet the new requirements are replaced (RequirementsDrifted)"
    assert re.findall(r"fix \(unsafe: (.*)\):", done.stdout) == [replaced, GUESS]


CHART = {
    "Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\n",
    "values.yaml": "expire: Never\narchs: [amd64, arm64]\nendpoint: disabled\n",
    "templates/pair.yaml": PAIR.replace(" Never", " {{ .Values.expire }}")
    .replace("values: [amd64, arm64]", "values: {{ toJson .Values.archs }}")
    .replace("disabled", "{{ .Values.endpoint }}"),
}
TERRAFORM = {
    "main.tf": 'locals {\n  archs = ["amd64", "arm64"]\n}\nresource "kubectl_manifest" "pair" {\n'
    f"  yaml_body = <<-EOT\n{PAIR.partition('---')[0]}\n  EOT\n}}\n".replace(
        "[amd64, arm64]", "${jsonencode(local.archs)}"
    )
}
BETA = {
    "pool.yaml": PAIR.partition("---")[0]
    .replace("karpenter.sh/v1", "karpenter.sh/v1beta1")
    .replace("group: karpenter.k8s.aws,", "apiVersion: karpenter.k8s.aws/v1beta1,")
    .replace("      expireAfter: Never\n", "")
}


@pytest.mark.parametrize(
    ("files", "rule", "effect"),
    [
        (CHART, "never-patched", STAYING),
        (CHART, "imds-disabled", "all nodes of the class's NodePools are replaced (NodeClassDrift)"),
        (CHART, "unmatchable-value", GUESS),
        (TERRAFORM, "unmatchable-value", GUESS),
        (BETA, "removed-api", "Karpenter before 1.0 refuses the result"),
    ],
)
def test_an_unsafe_fix_of_what_files_are_built_from_says_what_it_does(
    nodelint: Run, tmp_path: Path, files: dict[str, str], rule: str, effect: str
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = nodelint("check", "--select", rule, cwd=tmp_path)
    assert f"fix (unsafe: {effect}" in done.stdout, done.stdout + done.stderr


UNPLAIN = re.compile(r"\b(told|beside|for want of|gives? way|but for|set aside|lets? in|mended|anew)\b")


def test_causes_of_errors_are_in_plain_words() -> None:
    causes = json.loads((ROOT / "nodelint" / "data" / "triage.json").read_text(encoding="utf-8"))["causes"]
    texts = [
        text for cause in causes for case in cause["cases"] for text in (cause["title"], case["means"], case["do"])
    ]
    assert [text for text in texts if UNPLAIN.search(text)] == []
