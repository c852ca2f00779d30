"""Versions that follow the cluster, and releases that a repository states for objects of v1."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]

ROOT = """variable "image_version" {{ default = "1.33" }}
{stated}
resource "aws_eks_cluster" "this" {{
  name    = "main"
  version = {cluster}
}}
resource "kubectl_manifest" "class" {{
  yaml_body = <<-YAML
    apiVersion: karpenter.k8s.aws/v1
    kind: EC2NodeClass
    metadata: {{name: default}}
    spec:
      amiFamily: AL2023
      role: nodes
      amiSelectorTerms: [{{{term}}}]
      subnetSelectorTerms: [{{tags: {{karpenter.sh/discovery: main}}}}]
      securityGroupSelectorTerms: [{{tags: {{karpenter.sh/discovery: main}}}}]
  YAML
}}
"""
VARIABLE = 'variable "eks_version" { default = "1.33" }'
LOCAL = 'locals {\n  cluster_version = "1.33"\n}'
SSM = "ssmParameter: /aws/service/eks/optimized-ami/{}/amazon-linux-2023/x86_64/standard/recommended/image_id"
NAME = 'name: "amazon-eks-node-al2023-x86_64-standard-{}-v20260101", owner: amazon'


def findings_of(nodelint: Run, folder: Path, files: Mapping[str, str], *flags: str) -> list[dict[str, object]]:
    """Return the findings of a check of some files."""
    write_files(folder, files)
    found: list[dict[str, object]] = json.loads(nodelint("check", str(folder), "--format", "json", *flags).stdout)[
        "findings"
    ]
    return found


@pytest.mark.parametrize("term", [SSM, NAME])
@pytest.mark.parametrize(
    ("stated", "cluster", "image", "follows"),
    [
        (VARIABLE, "var.eks_version", "${var.eks_version}", True),
        (LOCAL, "local.cluster_version", "${local.cluster_version}", True),
        (VARIABLE, "var.eks_version", "${var.image_version}", False),
        (LOCAL, "local.cluster_version", "1.33", False),
    ],
)
def test_an_image_that_follows_the_version_of_the_cluster(
    nodelint: Run, tmp_path: Path, term: str, stated: str, cluster: str, image: str, follows: bool
) -> None:
    text = ROOT.format(stated=stated, cluster=cluster, term=term.format(image))
    found = findings_of(nodelint, tmp_path, {"main.tf": text}, "--profile", "strict")
    assert [f["rule"] for f in found if f["rule"] == "image-for-one-kubernetes"] == (
        [] if follows else ["image-for-one-kubernetes"]
    )


OBJECT = """variable "image_version" {{ default = "1.33" }}
variable "eks_version" {{ default = "1.33" }}
resource "aws_eks_cluster" "this" {{
  name    = "main"
  version = var.eks_version
}}
resource "kubectl_manifest" "class" {{
  yaml_body = yamlencode({{
    apiVersion = "karpenter.k8s.aws/v1"
    kind       = "EC2NodeClass"
    metadata   = {{ name = "default" }}
    spec = {{
      amiFamily                  = "AL2023"
      role                       = "nodes"
      amiSelectorTerms           = [{{ name = "amazon-eks-node-al2023-x86_64-standard-${{var.{0}}}-*" }}]
      subnetSelectorTerms        = [{{ tags = {{ "karpenter.sh/discovery" = "main" }} }}]
      securityGroupSelectorTerms = [{{ tags = {{ "karpenter.sh/discovery" = "main" }} }}]
    }}
  }})
}}
"""


@pytest.mark.parametrize(("variable", "count"), [("eks_version", 0), ("image_version", 1)])
def test_an_image_of_an_object_that_follows_the_cluster(
    nodelint: Run, tmp_path: Path, variable: str, count: int
) -> None:
    files = {"main.tf": OBJECT.format(variable)}
    assert len(findings_of(nodelint, tmp_path, files, "--select", "image-for-one-kubernetes")) == count


CHART = """resource "helm_release" "karpenter" {{
  name       = "karpenter"
  repository = "oci://public.ecr.aws/karpenter"
  chart      = "karpenter"
  version    = "{version}"
}}
"""


@pytest.mark.parametrize(
    ("version", "counts"),
    [("0.37.7", True), ("0.37.1", True), ("0.37.0", False), ("0.36.3", True), ("0.36.2", False), ("0.32.10", False)],
)
def test_the_last_patches_before_1_0_serve_v1(nodelint: Run, tmp_path: Path, version: str, counts: bool) -> None:
    files = {
        "addons/karpenter.tf": CHART.format(version=version),
        "pools/pool.yaml": nodepool() + "---\n" + nodeclass(),
    }
    write_files(tmp_path, files)
    summary = json.loads(nodelint("check", str(tmp_path), "--format", "json").stdout)["summary"]
    assert summary["karpenter"] == ("1.0.0" if counts else "1.15.1")


def test_no_old_image_is_proposed(nodelint: Run, tmp_path: Path) -> None:
    text = nodeclass(ami="alias: al2023@latest")
    flags = ("--select", "unpinned-image", "--kubernetes-version")
    (old,) = findings_of(nodelint, tmp_path, {"class.yaml": text}, *flags, "1.29")
    assert "v2024" not in str(old["help"])
    assert "status.amis" in str(old["help"])
    (new,) = findings_of(nodelint, tmp_path, {"class.yaml": text}, *flags, "1.33")
    assert "al2023@v2026" in str(new["help"])
