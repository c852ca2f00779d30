"""The pre-commit hooks run as they are written."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from .conftest import ROOT

HOOKS = YAML(typ="safe").load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))

BAD = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: KarpenterNodeRole-main
  detailedMonitorin: true
  amiSelectorTerms: [{alias: al2023@v20250403}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
"""


def run(entry: str, folder: Path, *files: str) -> subprocess.CompletedProcess[str]:
    program, *args = shlex.split(entry)
    assert program == "nodelint"
    command = [sys.executable, "-m", "nodelint", *args, *files]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("hook", HOOKS, ids=lambda h: h["id"])
def test_each_hook_runs_on_the_files_it_is_handed(hook: dict[str, object], tmp_path: Path) -> None:
    (tmp_path / "class.yaml").write_text(BAD, encoding="utf-8")
    (tmp_path / "values.yaml").write_text("a: 1\n", encoding="utf-8")
    done = run(str(hook["entry"]), tmp_path, "class.yaml", "values.yaml")
    fixed = "detailedMonitoring" in (tmp_path / "class.yaml").read_text(encoding="utf-8")
    assert fixed == (hook["id"] == "nodelint-fix")
    assert done.returncode == (0 if fixed else 1), done.stdout
    assert hook["language"] == "python"


def test_the_hooks_are_the_two_that_the_papers_name() -> None:
    assert [hook["id"] for hook in HOOKS] == ["nodelint", "nodelint-fix"]


@pytest.mark.parametrize("hook", HOOKS, ids=lambda h: h["id"])
def test_a_hook_sees_all_files_at_once(hook: dict[str, object]) -> None:
    """A pool and its class in two runs beside each other would not know of each other, and write the same files."""
    assert hook["require_serial"] is True
