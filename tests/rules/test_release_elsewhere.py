"""Findings at the place that states a release, in another file than the object that they are about."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

from tests.manifests import nodepool
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]
AMD = "key: kubernetes.io/arch, operator: In, values: [amd64]"


def test_a_finding_about_an_object_of_another_file(tmp_path: Path, nodelint: Run) -> None:
    """The release stands in one file of a module, the NodePool in a template that another file fills in."""
    addons = """module "addons" {
  source           = "aws-ia/eks-blueprints-addons/aws"
  version          = "~> 1.0"
  enable_karpenter = true
  karpenter = {
    chart_version = "1.8.1"
  }
}
"""
    pools = 'resource "local_file" "pools" {\n  content  = templatefile("${path.module}/pool.yaml.tpl", {})\n}\n'
    files = {".git/HEAD": "", "addons.tf": addons, "pools.tf": pools, "pool.yaml.tpl": nodepool(AMD)}
    write_files(tmp_path, files)
    shown = nodelint("check", "--output-format", "concise", "--profile", "strict", str(tmp_path))
    assert "addons.tf:6:5: info[out-of-support]" in shown.stdout
    assert "internal error" not in shown.stdout + shown.stderr
