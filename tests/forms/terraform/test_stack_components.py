"""Terraform Stacks are not read: `check` names their components, and `plan` does not compare what they pass."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

_COMPONENT = """\
component "nodes" {
  source = "./modules/nodes"
  inputs = { ami = var.ami, role = local.role }
}
component "vpc" {
  source = "./modules/vpc"
  inputs = { cidr = var.cidr }
}
locals { role = "nodes" }
variable "ami" { type = string }
variable "cidr" { type = string }
"""
_DEPLOYMENT = 'deployment "prod" {\n  inputs = { ami = "al2023@v20260618", cidr = "10.0.0.0/16" }\n}\n'
_CLASS = nodeclass().replace("al2023@latest", "${var.ami}")
_MODULE = 'variable "ami" { type = string }\nvariable "role" { type = string }\n' + "".join(
    f'resource "kubectl_manifest" "{name}" {{\n  yaml_body = <<YAML\n{text}YAML\n}}\n'
    for name, text in (("pool", nodepool()), ("class", _CLASS))
)


def _write(folder: Path, edits: dict[str, tuple[str, str]], ending: str = "tfcomponent") -> None:
    files = {
        f"nodes.{ending}.hcl": _COMPONENT,
        "prod.tfdeploy.hcl": _DEPLOYMENT,
        "modules/nodes/main.tf": _MODULE,
        "modules/vpc/main.tf": 'variable "cidr" { type = string }\n',
    }
    write_files(folder, {name: text.replace(*edits.get(name, ("", ""))) for name, text in files.items()})


_STACK = "nodes.tfcomponent.hcl"


@pytest.mark.parametrize(
    ("name", "old", "new", "reason"),
    [
        ("prod.tfdeploy.hcl", "v20260618", "v20260714", "`deployment.prod: ami` changes"),
        ("prod.tfdeploy.hcl", "10.0.0.0", "10.1.0.0", None),
        ("prod.tfdeploy.hcl", "  inputs", "  # the account\n  inputs", None),
        ("prod.tfdeploy.hcl", _DEPLOYMENT, _DEPLOYMENT + _DEPLOYMENT.replace("prod", "dev"), None),
        (_STACK, 'role = "nodes"', 'role = "others"', "`local.role` changes"),
        (_STACK, "inputs = { cidr", "for_each = var.vpcs\n  inputs = { cidr", None),
        (
            _STACK,
            'source = "./modules/nodes"',
            'source = "me/karpenter-nodepools/aws"',
            "nodes: source` changes",
        ),
    ],
    ids=["input", "other input", "comment", "new deployment", "local", "other component", "source"],
)
def test_plan_does_not_compare_a_stack(
    name: str, old: str, new: str, reason: str | None, nodelint: Run, tmp_path: Path
) -> None:
    _write(tmp_path / "before", {})
    _write(tmp_path / "after", {name: (old, new)})
    done = nodelint("plan", "--old", "before", "after", cwd=tmp_path)
    assert (done.returncode == 1) == (reason is not None), done.stdout
    assert (reason or "No node is replaced") in " ".join(done.stdout.split())


def test_plan_reports_a_removed_deployment(nodelint: Run, tmp_path: Path) -> None:
    more = _DEPLOYMENT + _DEPLOYMENT.replace("prod", "dev")
    _write(tmp_path / "before", {"prod.tfdeploy.hcl": (_DEPLOYMENT, more)})
    _write(tmp_path / "after", {})
    done = nodelint("plan", "--old", "before", "after", cwd=tmp_path)
    assert done.returncode == 1 and "`deployment.dev` changes" in done.stdout


@pytest.mark.parametrize("ending", ["tfcomponent", "tfstack"])
def test_check_names_the_component(ending: str, nodelint: Run, tmp_path: Path) -> None:
    _write(tmp_path, {}, ending)
    done = nodelint("check", "--fail-on-unjudged", cwd=tmp_path)
    words = " ".join(done.stdout.split())
    assert f"nodes.{ending}.hcl:1: a Terraform stack is not read" in words and "component `nodes`" in words
    assert "component `vpc`" not in words and done.returncode == 1
