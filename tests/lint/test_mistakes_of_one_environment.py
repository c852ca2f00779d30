"""A finding that only an environment without a requested file has names that environment and the line to change."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]
Write = Callable[[Path, str, str], dict[str, str]]

UNIT = """\
terraform {
  source = "${get_repo_root()}//module"
}
inputs = {
  expire = "VALUE"
}
"""
POOL = """\
resource "kubernetes_manifest" "pool" {
  manifest = {
    apiVersion = "karpenter.sh/v1"
    kind       = "NodePool"
    metadata   = { name = "apps" }
    spec = {
      template = {
        spec = {
          expireAfter  = var.expire
          nodeClassRef = { group = "karpenter.k8s.aws", kind = "EC2NodeClass", name = "apps" }
          requirements = []
        }
      }
    }
  }
}
"""
VARIABLE = 'variable "expire" {\n  type = string\n}\n'


def write_root(folder: Path, dev: str, prod: str) -> dict[str, str]:
    files = {"infra/main.tf": POOL, "infra/variables.tf": VARIABLE}
    for name, value in (("dev", dev), ("prod", prod)):
        files[f"infra/envs/{name}.tfvars"] = f'expire = "{value}"\n'
    write_files(folder, files)
    return {"module": "infra/main.tf", "dev": "infra/envs/dev.tfvars", "prod": "infra/envs/prod.tfvars"}


def write_units(folder: Path, dev: str, prod: str) -> dict[str, str]:
    files = {"module/main.tf": POOL, "module/variables.tf": VARIABLE}
    for name, value in (("dev", dev), ("prod", prod)):
        files[f"live/{name}/terragrunt.hcl"] = UNIT.replace("VALUE", value).replace("${get_repo_root()}", "../..")
    write_files(folder, files)
    return {"module": "module/main.tf", "dev": "live/dev/terragrunt.hcl", "prod": "live/prod/terragrunt.hcl"}


FORMS = [pytest.param(write_root, id="root"), pytest.param(write_units, id="terragrunt")]


@pytest.mark.parametrize("write", FORMS)
@pytest.mark.parametrize("named", ["module", "dev"])
def test_another_environment_and_its_line_are_named(write: Write, named: str, nodelint: Run, tmp_path: Path) -> None:
    paths = write(tmp_path, "720h", "30d")
    notes = find_notes(nodelint, tmp_path, paths[named])
    if named == "dev" and write is write_root:
        assert notes == []  # the variables of dev alone are judged
        return
    (note,) = notes
    environment = os.path.dirname(paths["prod"]) if write is write_units else paths["prod"]
    assert note is not None and note.startswith(
        f"only `{environment}` has this mistake: correct it at {paths['prod']}:"
    )


@pytest.mark.parametrize("write", FORMS)
def test_nobody_is_sent_elsewhere_if_the_own_file_is_requested(write: Write, nodelint: Run, tmp_path: Path) -> None:
    paths = write(tmp_path, "720h", "30d")
    assert find_notes(nodelint, tmp_path, paths["prod"]) == [None]
    assert find_notes(nodelint, tmp_path, ".") == [None]


@pytest.mark.parametrize("write", FORMS)
def test_a_mistake_of_all_environments_is_of_none_alone(write: Write, nodelint: Run, tmp_path: Path) -> None:
    paths = write(tmp_path, "30d", "30d")
    assert set(find_notes(nodelint, tmp_path, paths["module"])) == {None}


def find_notes(nodelint: Run, folder: Path, path: str) -> list[str | None]:
    (folder / ".git").mkdir(exist_ok=True)
    done = nodelint("check", "--format", "json", "--select", "invalid-field", path, cwd=folder)
    return [found["note"] for found in json.loads(done.stdout)["findings"]]
