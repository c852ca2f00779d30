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
@pytest.mark.parametrize("folder", [".", "modules", "live/prod"])
def test_a_unit_with_a_broken_file_is_an_error_and_is_not_judged(
    nodelint: Run, tmp_path: Path, path: str, folder: str
) -> None:
    text, place = BROKEN[path]
    write_files(tmp_path, {**TREE, path: text})
    done = nodelint("check", folder)
    assert done.returncode == 2
    assert re.search(rf"error\[terraform-syntax\]: .*\n +--> {path}:{place}\n", done.stdout), done.stdout
    assert "c7-a" not in re.sub(r"(?m)^ *\d+ \|.*", "", done.stdout)
    assert "Terragrunt stops there, and applies nothing of the unit" in done.stdout
    report = json.loads(nodelint("check", "--format", "json", folder).stdout)
    assert [finding["rule"] for finding in report["findings"]] == ["terraform-syntax"]
    explained = nodelint("explain", folder)
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


STACK = """\
unit "nodes" {
  source = "../units/nodes"
  path   = "nodes"
  values = { families = ["m5", FAMILY] }
}
"""


@pytest.mark.parametrize(("family", "place"), [('"c7-a"', "live/terragrunt.stack.hcl:4:32"), ('"c7a"', "")])
def test_a_stack_passes_values_to_its_units(nodelint: Run, tmp_path: Path, family: str, place: str) -> None:
    unit = 'terraform {\n  source = "../../modules/kp"\n}\ninputs = { families = values.families }\n'
    files = {"live/terragrunt.stack.hcl": STACK.replace("FAMILY", family), "units/nodes/terragrunt.hcl": unit}
    write_files(tmp_path, {".git/HEAD": "ref: refs/heads/main\n", "modules/kp/main.tf": MODULE, **files})
    done = nodelint("check", ".")
    assert ("unknown-value" in done.stdout, f"--> {place}\n" in done.stdout) == (bool(place), bool(place)), (
        done.stdout
    )
    assert "Not known" not in done.stdout


def test_the_classes_of_two_instances_of_a_module_are_told_apart(nodelint: Run, tmp_path: Path) -> None:
    main = 'module "kp" {\n  source = "./kp"\n  for_each = toset(["dev", "prod"])\n  env = each.key\n}\n'
    pool = MODULE.replace("variable", 'variable "env" {}\nvariable').replace("name: web", "name: web-${var.env}")
    pool = pool.replace("type = list(string)", 'default = ["m5"]')
    node_class = """\
resource "kubectl_manifest" "class" {
  yaml_body = <<-YAML
    apiVersion: karpenter.k8s.aws/v1
    kind: EC2NodeClass
    metadata: {name: default}
    spec:
      role: nodes-${var.env}
      amiSelectorTerms: [{alias: al2023@v20260618}]
      subnetSelectorTerms: [{tags: {a: b}}]
      securityGroupSelectorTerms: [{tags: {a: b}}]
  YAML
}
"""
    write_files(tmp_path, {"main.tf": main, "kp/main.tf": pool + node_class})
    explained = nodelint("explain", ".").stdout
    assert "several classes" not in explained
    assert [line for line in explained.splitlines() if line.startswith("EC2NodeClass default")] != [], explained
    assert 'module.kp["dev"] of ..' in explained and 'module.kp["prod"] of ..' in explained


@pytest.mark.parametrize("strip", ["~", ""])
def test_a_text_whose_directives_leave_their_indent_is_said_with_its_line(
    nodelint: Run, tmp_path: Path, strip: str
) -> None:
    """`~` removes the line break after a directive, and the indent before the directive stays. Source: hclsyntax."""
    directive = f"%{{ if length(var.families) > 5 {strip}}}\n      weight: 5\n      %{{ endif {strip}}}\n      limits"
    text = MODULE.replace("limits", directive).replace("type = list(string)", 'default = ["m5"]')
    write_files(tmp_path, {"main.tf": text})
    done = nodelint("check", ".")
    is_said = "main.tf: a text of this block is no YAML once its values are filled in (line " in done.stdout
    assert (is_said, "All good" in done.stdout) == (strip == "~", strip == ""), done.stdout


@pytest.mark.parametrize(("expose", "is_found"), [("include.root.locals.families", True), ('["m5"]', False)])
def test_an_included_file_exposes_its_locals(nodelint: Run, tmp_path: Path, expose: str, is_found: bool) -> None:
    root = 'locals {\n  families = ["m5", "c7-a"]\n}\n'
    exposing = UNIT.replace('"root.hcl")', '"root.hcl")\n  expose = true')
    unit = f"{exposing}inputs = {{ families = {expose} }}\n"
    write_files(tmp_path, {**TREE, "live/root.hcl": root, "live/prod/kp/terragrunt.hcl": unit})
    assert ("--> live/root.hcl:2:21\n" in nodelint("check", ".").stdout) == is_found
