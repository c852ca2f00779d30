"""A stack file of Terragrunt is named as not read, because it passes values to units that Terragrunt generates."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

STACK = """\
locals {}

unit "karpenter" {
  source = "../../units/kp"
  path   = "karpenter"
  values = { families = ["c7-a"] }
}
"""


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("live/terragrunt.stack.hcl", STACK, 3),
        ("live/terragrunt.stack.hcl", STACK.replace("karpenter", "vpc"), None),
        ("live/stack.hcl", STACK, None),
    ],
    ids=["with Karpenter", "of something else", "another file"],
)
def test_a_stack_is_named_as_not_read(name: str, text: str, line: int | None, nodelint: Run, tmp_path: Path) -> None:
    write_files(tmp_path, {"pool.yaml": nodepool(), "class.yaml": nodeclass(), name: text})
    done = nodelint("check", cwd=tmp_path)
    assert ("a Terragrunt stack is not read" in done.stdout) == (line is not None)
    if line is not None:
        assert f"{name}:{line}: " in done.stdout and "terragrunt stack generate" in done.stdout
        assert nodelint("check", "--fail-on-unjudged", cwd=tmp_path).returncode == 1
