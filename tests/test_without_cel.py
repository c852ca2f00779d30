"""Without a wheel of the CEL runtime: what does not need it still runs, and one line says what was not judged."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = "import sys; sys.modules['cel_expr_python'] = None; from nodelint.__main__ import main; sys.exit(main())"
POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: NAME
spec:
  template:
    spec:
      requirements:
        - {key: node.kubernetes.io/instance-type, operator: In, values: ["m5.*"]}
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      expireAfter: 7d
"""
NODE_CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: a
  amiSelectorTerms: [{alias: al2023@v20250807}]
  subnetSelectorTerms: [{id: subnet-0123456789abcdef0}]
  securityGroupSelectorTerms: [{id: sg-0123456789abcdef0}]
"""


def run(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *args], cwd=folder, capture_output=True, text=True, check=False
    )


def test_other_rules_run_and_one_line_says_what_does_not(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.yaml").write_text(POOL.replace("NAME", name), encoding="utf-8")
    done = run(tmp_path, "check", "--format", "concise")
    rules = [line.partition("[")[2].partition("]")[0] for line in done.stdout.splitlines() if " error[" in line]
    assert sorted(rules) == ["invalid-field"] * 3 + ["wildcard-value"] * 3
    assert done.stdout.count("cel-expr-python") == 1
    assert (done.returncode, done.stderr) == (1, "")


def test_expressions_of_the_kubelet_are_not_judged(tmp_path: Path) -> None:
    (tmp_path / "class.yaml").write_text(f'{NODE_CLASS}  kubelet: {{maxPods: "min(1, 5)"}}\n', encoding="utf-8")
    done = run(tmp_path, "check", "--karpenter-version", "next")
    assert "kubelet-expression" in done.stdout and done.stdout.count("cel-expr-python") == 1
    assert done.returncode == 0 and "internal error" not in done.stderr


def test_a_policy_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "class.yaml").write_text(NODE_CLASS, encoding="utf-8")
    (tmp_path / "nodelint.yaml").write_text(
        'policies: [{name: x-y, on: NodePool, expr: "true", message: "no"}]\n', encoding="utf-8"
    )
    done = run(tmp_path, "check")
    assert "cel-expr-python" in done.stderr and done.returncode == 2
