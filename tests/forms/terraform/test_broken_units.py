"""A Terragrunt unit that reads a file that Terragrunt cannot parse is an error, and none of its inputs is used."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]

MODULE = """\
variable "families" { type = list(string) }
resource "kubectl_manifest" "pool" {
  yaml_body = <<-YAML
    apiVersion: karpenter.sh/v1
    kind: NodePool
    metadata: {name: web}
    spec:
      limits: {cpu: 100}
      template:
        spec:
          nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
          requirements:
          - {key: karpenter.k8s.aws/instance-family, operator: In, values: ${jsonencode(var.families)}}
  YAML
}
"""
UNIT = """\
include "root" {
  path = find_in_parent_folders("root.hcl")
}
terraform {
  source = "${get_repo_root()}/modules/kp"
}
"""
ROOT = """\
locals {
  env = read_terragrunt_config(find_in_parent_folders("env.hcl"))
}
inputs = local.env.locals
"""
TREE = {
    ".git/HEAD": "ref: refs/heads/main\n",
    "modules/kp/main.tf": MODULE,
    "live/root.hcl": ROOT,
    "live/prod/env.hcl": 'locals {\n  families = ["m5", "c6i"]\n}\n',
    "live/prod/kp/terragrunt.hcl": UNIT,
}
BROKEN = {
    "live/prod/env.hcl": ('locals {\n  families = ["m5" "c7-a"]\n}\n', "2:20"),
    "live/root.hcl": (ROOT.replace('("env.hcl"))', '("env.hcl")'), "3:1"),
    "live/prod/kp/terragrunt.hcl": (UNIT.replace('("root.hcl")', '("root.hcl"'), "3:1"),
}


@pytest.mark.parametrize("path", BROKEN)
@pytest.mark.parametrize("asked", [".", "modules", "live/prod"])
def test_a_unit_with_a_broken_file_is_an_error_and_is_not_judged(
    nodelint: Run, tmp_path: Path, path: str, asked: str
) -> None:
    text, place = BROKEN[path]
    write_files(tmp_path, {**TREE, path: text})
    done = nodelint("check", asked)
    assert done.returncode == 2
    assert re.search(rf"error\[terraform-syntax\]: .*\n +--> {path}:{place}\n", done.stdout), done.stdout
    assert "c7-a" not in re.sub(r"(?m)^ *\d+ \|.*", "", done.stdout)
    assert "Terragrunt stops there, and applies nothing of the unit" in done.stdout
    report = json.loads(nodelint("check", "--format", "json", asked).stdout)
    assert [finding["rule"] for finding in report["findings"]] == ["terraform-syntax"]
    explained = nodelint("explain", asked)
    assert (explained.returncode, f"{path}:{place}" in explained.stderr) == (2, True)


@pytest.mark.parametrize("path", BROKEN)
def test_a_plan_deletes_nothing_of_a_unit_that_cannot_be_read(nodelint: Run, tmp_path: Path, path: str) -> None:
    write_files(tmp_path / "old", TREE)
    write_files(tmp_path / "new", {**TREE, path: BROKEN[path][0]})
    done = nodelint("plan", "--old", "old", "new")
    assert "Not compared\n  ~ NodePool web" in done.stdout, done.stdout
    assert "deleted" not in done.stdout and "it is gone" not in done.stdout


def test_a_unit_that_can_be_read_is_judged_with_its_values(nodelint: Run, tmp_path: Path) -> None:
    values = 'locals {\n  families = ["m5", "c7-a"]\n}\n'
    write_files(tmp_path, {**TREE, "live/prod/env.hcl": values, "live/dev/env.hcl": "locals {\n  a = [1 2]\n}\n"})
    done = nodelint("check", ".")
    assert "--> live/prod/env.hcl:2:21\n" in done.stdout
    assert (done.returncode, "terraform-syntax" in done.stdout) == (0, False), done.stdout  # no unit reads it
