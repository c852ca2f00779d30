"""Without a wheel of the CEL runtime: what does not need it still runs, and one line says what was not judged."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.manifests import nodepool

PROGRAM = "import sys; sys.modules['cel_expr_python'] = None; from nodelint.__main__ import main; sys.exit(main())"
POOL = nodepool(
    "key: node.kubernetes.io/instance-type, operator: In, values: [m5.*]",
    name="NAME",
    template="      expireAfter: 7d\n",
)
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


def run(folder: Path, *args: str, program: str = PROGRAM) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *args], cwd=folder, capture_output=True, text=True, check=False
    )


def test_karpenters_own_rules_need_no_runtime(tmp_path: Path) -> None:
    """What is said of objects that break many of them is the same with the runtime and without it."""
    broken = f"{POOL}  weight: 10\n  replicas: 1\n  limits: {{cpu: 1}}\n".replace("NAME", "a")
    broken = broken.replace("key: node.kubernetes.io/instance-type", "key: karpenter.sh/own").replace("7d", "720h")
    (tmp_path / "pool.yaml").write_text(broken, encoding="utf-8")
    node_class = NODE_CLASS.replace("[{id: subnet-0123456789abcdef0}]", "[{}]")
    more = "  instanceProfile: b\n  tags: {karpenter.sh/nodepool: a}\n"
    (tmp_path / "class.yaml").write_text(node_class.replace("@v20250807", "") + more, encoding="utf-8")
    without = run(tmp_path, "check")
    with_it = run(tmp_path, "check", program=PROGRAM.replace("sys.modules['cel_expr_python'] = None; ", ""))
    assert without.stdout == with_it.stdout and "cel-expr-python" not in without.stdout
    assert without.stdout.count("error[refused-combination]") >= 5


def test_expressions_of_the_kubelet_are_not_judged(tmp_path: Path) -> None:
    (tmp_path / "class.yaml").write_text(f'{NODE_CLASS}  kubelet: {{maxPods: "min(1, 5)"}}\n', encoding="utf-8")
    done = run(tmp_path, "check", "--karpenter-version", "next")
    assert "kubelet-expression" in done.stdout and done.stdout.count("needs the package cel-expr-python") == 1
    assert done.returncode == 0 and "internal error" not in done.stderr


def test_a_policy_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "class.yaml").write_text(NODE_CLASS, encoding="utf-8")
    (tmp_path / "nodelint.yaml").write_text(
        'policies: [{name: x-y, on: NodePool, expr: "true", message: "no"}]\n', encoding="utf-8"
    )
    done = run(tmp_path, "check")
    assert "in the environment of nodelint, or `pipx inject nodelint cel-expr-python`" in done.stderr
    assert done.returncode == 2
    for command in ("explain", "hash"):
        without = run(tmp_path, command)
        assert (without.returncode, without.stderr) == (0, ""), command
