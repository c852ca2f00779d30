"""What a plan says of a pool that could launch nothing, of environments with one pool between them, and of cost."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

ARM = nodepool("key: kubernetes.io/arch, operator: In, values: [arm64]", name="arm")
IMAGE = "amazon-eks-node-al2023-%s-standard-1.33-v20250807"
CLASS = nodeclass().replace(
    "  amiSelectorTerms: [{alias: al2023@v20250403}]\n",
    f"  amiFamily: AL2023\n  amiSelectorTerms: [{{name: {IMAGE}, owner: amazon}}]\n",
)


def plan(nodelint: Run, folder: Path, old: dict[str, str], new: dict[str, str], *flags: str) -> tuple[str, int]:
    write_files(folder / "old", old)
    write_files(folder / "new", new)
    done = nodelint("plan", "--old", "old", "new", *flags)
    return done.stdout, done.returncode


@pytest.mark.parametrize(("before", "code"), [("x86_64", 0), ("arm64", 1)])
def test_a_pool_whose_named_image_boots_no_type_has_no_nodes(
    nodelint: Run, tmp_path: Path, before: str, code: int
) -> None:
    """Where the image did boot, the same change may replace nodes."""
    old, new = CLASS % before, (CLASS % "arm64").replace("v20250807", "v20250904")
    assert old != new
    text, found = plan(nodelint, tmp_path, {"a.yaml": f"{ARM}---\n{old}"}, {"a.yaml": f"{ARM}---\n{new}"})
    assert ("it has no nodes: it could launch none" in text, found) == (code == 0, code), text


POOL = nodepool("key: kubernetes.io/arch, operator: In, values: [amd64]").replace("[amd64]", '["${arch}"]')
MAIN = """\
variable "cluster" { type = string }
variable "arch" { default = "amd64" }
resource "kubectl_manifest" "pool" {
  yaml_body = templatefile("${path.module}/pool.yaml.tftpl", { arch = var.arch })
}
resource "kubectl_manifest" "class" {
  yaml_body = <<-YAML
    %s
  YAML
}
"""
MAIN = MAIN.replace("%s", nodeclass().replace("role: ", "role: ${var.cluster}-").replace("\n", "\n    ").rstrip())


def test_a_pool_of_environments_that_set_nothing_of_it_has_their_class(nodelint: Run, tmp_path: Path) -> None:
    """The change of another environment is no gap of it."""
    files = {"main.tf": MAIN, "pool.yaml.tftpl": POOL, "dev.tfvars": 'cluster = "dev"\n'}
    old, new = ({**files, "prod.tfvars": f'cluster = "{name}"\narch = "arm64"\n'} for name in ("prod", "prod2"))
    text, _ = plan(nodelint, tmp_path, old, new)
    assert "several classes" not in text
    assert "2 NodePools: all nodes of 1 are replaced, 1 unchanged" in text, text


DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: %s}
spec:
  replicas: 2
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec:
      nodeSelector: {%s}
      containers: [{name: a, image: a, resources: {requests: {cpu: "3", memory: 4Gi}}}]
"""


def test_what_is_left_out_on_both_sides_does_not_hide_the_difference(nodelint: Run, tmp_path: Path) -> None:
    pool = nodepool("key: karpenter.k8s.aws/instance-family, operator: In, values: [m7i]", name="web")
    rest = "---\n".join(
        [nodeclass(), DEPLOYMENT % ("api", "kubernetes.io/os: linux"), DEPLOYMENT % ("gpu", "a.b/none: x")]
    )
    sides = [{"a.yaml": f"{text}---\n{rest}"} for text in (pool, pool.replace("m7i", "m7a"))]
    text, _ = plan(nodelint, tmp_path, *sides)
    words = " ".join(text.split())
    assert "Difference: +$" in words and "not counted on both sides: 1 workload (Deployment/gpu)" in words, text
