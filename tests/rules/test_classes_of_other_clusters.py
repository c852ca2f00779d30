"""Terraform creates one cluster of a repository: rules about its tags judge no class of another cluster."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.manifests import nodeclass
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]
EKS = """module "eks" {
  source       = "terraform-aws-modules/eks/aws"
  version      = "20.0.0"
  cluster_name = "fleet-dev"
  cluster_version = "1.33"
TAGS}
"""
TAGS = '  node_security_group_tags = { "karpenter.sh/discovery" = "fleet-dev" }\n'


@pytest.mark.parametrize(
    ("tags", "selected", "expected"),
    [
        ("", "fleet-dev", ["missing-discovery-tag"]),
        ("", "fleet-prod", []),
        ("", "fleet", []),
        (TAGS, "fleet-dev", []),
        (TAGS, "fleet-prod", []),
        (TAGS, "fleet-def", ["tag-of-another-value"]),
    ],
)
def test_a_class_is_judged_with_its_own_cluster(
    tmp_path: Path, nodelint: Run, tags: str, selected: str, expected: list[str]
) -> None:
    text = nodeclass().replace("{karpenter.sh/discovery: main}", f"{{karpenter.sh/discovery: {selected}}}")
    write_files(tmp_path, {"terraform/main.tf": EKS.replace("TAGS", tags), "clusters/one/class.yaml": text})
    rules = "missing-discovery-tag,tag-of-another-value"
    report = json.loads(nodelint("check", ".", "--select", rules, "--format", "json").stdout)
    assert [finding["rule"] for finding in report["findings"]] == expected
