"""The nodes on which the controller and CoreDNS start, before Karpenter launches any."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.manifests import nodeclass
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]

EKS = 'module "eks" {{\n  source = "terraform-aws-modules/eks/aws"\n  version = "~> 20.31"\n{0}}}\n'
RELEASE = (
    'resource "helm_release" "karpenter" {{\n  name = "karpenter"\n  chart = "karpenter"\n  version = "1.14.1"\n'
    '  repository = "oci://public.ecr.aws/karpenter"\n'
    '  values = [yamlencode({{ {0}settings = {{ clusterName = "main" }} }})]\n}}\n'
)
FARGATE = '  fargate_profiles = { karpenter = { selectors = [{ namespace = "karpenter" }] } }\n'
DNS = "  cluster_addons = { coredns = {} }\n"
DNS_ON_FARGATE = (
    '  cluster_addons = { coredns = { configuration_values = jsonencode({ computeType = "Fargate" }) } }\n'
)
GROUP = "  eks_managed_node_groups = {{ system = {{ desired_size = {0} }} }}\n"
LOCAL_GROUP = "  eks_managed_node_groups = local.groups\n}\nlocals {\n  groups = { a = { desired_size = 1 } }\n"
OTHER = 'resource "aws_autoscaling_group" "nodes" {\n  max_size = 2\n}\n'


def findings_of(nodelint: Run, folder: Path, text: str, rule: str) -> list[str]:
    write_files(folder, {"main.tf": text})
    done = nodelint("check", str(folder), "--format", "json", "--select", rule)
    return [finding["severity"] for finding in json.loads(done.stdout)["findings"]]


@pytest.mark.parametrize(
    ("cluster", "values", "more", "count"),
    [
        (FARGATE + DNS, "", "", 1),
        (FARGATE + DNS, 'dnsPolicy = "ClusterFirst", ', "", 1),
        (FARGATE + DNS, 'dnsPolicy = "Default", ', "", 0),
        (FARGATE + DNS, "hostNetwork = true, ", "", 0),
        (FARGATE + DNS_ON_FARGATE, "", "", 0),
        (FARGATE + DNS + GROUP.format(1), "", "", 0),
        (FARGATE + DNS + "  eks_managed_node_groups = var.groups\n", "", "", 0),
        (FARGATE + DNS, "", OTHER, 0),
        (FARGATE, "", "", 0),
        (DNS, "", "", 0),
    ],
)
def test_dns_that_waits_for_the_controller(
    nodelint: Run, tmp_path: Path, cluster: str, values: str, more: str, count: int
) -> None:
    text = EKS.format(cluster) + RELEASE.format(values) + more
    assert len(findings_of(nodelint, tmp_path, text, "dns-on-own-nodes")) == count


@pytest.mark.parametrize(
    ("cluster", "values", "more", "severities"),
    [
        (GROUP.format(1), "", "", ["info"]),
        (LOCAL_GROUP, "", "", ["info"]),
        (GROUP.format(2), "", "", []),
        (GROUP.format(2), "replicas = 3, ", "", ["info"]),
        (GROUP.format(1), "replicas = 1, ", "", []),
        (GROUP.format(1), "affinity = {}, ", "", []),
        (GROUP.format("var.nodes"), "", "", []),
        (GROUP.format(1) + FARGATE, "", "", []),
        (GROUP.format(1), "", OTHER, []),
        ("  eks_managed_node_groups = {}\n", "", "", ["warning"]),
        ("", "", "", []),
    ],
)
def test_replicas_without_a_node(
    nodelint: Run, tmp_path: Path, cluster: str, values: str, more: str, severities: list[str]
) -> None:
    text = EKS.format(cluster) + RELEASE.format(values) + more
    assert findings_of(nodelint, tmp_path, text, "controller-without-node") == severities


CLUSTER = 'resource "aws_eks_cluster" "main" {\n  name = "main"\n}\n'
VPC = 'module "vpc" {\n  source = "terraform-aws-modules/vpc/aws"\n}\n'
GROUP_RESOURCE = 'resource "aws_eks_node_group" "a" {\n  cluster_name = "main"\n}\n'
KARPENTER = 'module "karpenter" {\n  source = "terraform-aws-modules/eks/aws//modules/karpenter"\n}\n'
FLUX = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: karpenter, namespace: {0}}}
spec:
  chart: {{spec: {{chart: karpenter, version: 1.14.1}}}}
  values: {{settings: {{clusterName: main}}}}
"""
ECTL = "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmanagedNodeGroups: [{name: a}]\n"
REMOTE = 'module "nodes" {\n  source = "example/workers/aws"\n}\n'


@pytest.mark.parametrize(
    ("files", "count"),
    [
        ({}, 1),
        ({"vpc.tf": VPC}, 1),
        ({"main.tf": EKS.format(DNS) + RELEASE.format("")}, 1),
        ({"main.tf": EKS.format(DNS) + RELEASE.format("") + KARPENTER}, 1),
        ({"main.tf": EKS.format(DNS) + RELEASE.format("") + VPC + REMOTE}, 0),
        ({"main.tf": EKS.format("  cluster_compute_config = {}\n") + RELEASE.format("")}, 0),
        ({"main.tf": EKS.format(DNS) + EKS.format(DNS).replace('"eks"', '"b"') + RELEASE.format("")}, 0),
        ({"main.tf": EKS.format(DNS), "release.yaml": FLUX.format("kube-system")}, 1),
        ({"main.tf": EKS.format(DNS + GROUP.format(2)), "release.yaml": FLUX.format("kube-system")}, 0),
        ({"main.tf": EKS.format(DNS), "release.yaml": FLUX.format("kube-system"), "cluster.yaml": ECTL}, 0),
        ({"nodes.tf": GROUP_RESOURCE}, 0),
        ({"nodes.tf": OTHER}, 0),
        ({"nodes.tf": REMOTE}, 0),
        ({"more/nodes.tf": GROUP_RESOURCE}, 0),
        ({"main.tf": CLUSTER.replace("}", "  compute_config {}\n}") + RELEASE.format("")}, 0),
        ({"main.tf": RELEASE.format("")}, 0),
    ],
)
def test_a_cluster_without_any_node(nodelint: Run, tmp_path: Path, files: dict[str, str], count: int) -> None:
    files = {"main.tf": CLUSTER + RELEASE.format(""), "class.yaml": nodeclass(), **files}
    write_files(tmp_path, {".git/HEAD": "", **files})
    done = nodelint("check", str(tmp_path), "--format", "json", "--select", "controller-without-node")
    found = [finding["severity"] for finding in json.loads(done.stdout)["findings"]]
    assert found == ["warning"] * count


APPS = '  fargate_profiles = {{ apps = {{ selectors = [{{ namespace = "{0}" }}] }} }}\n'
IN_KUBE_SYSTEM = RELEASE.replace("  name = ", '  namespace = "kube-system"\n  name = ', 1)


@pytest.mark.parametrize(
    ("files", "count"),
    [
        ({"main.tf": EKS.format(APPS.format("apps")) + IN_KUBE_SYSTEM.format("")}, 1),
        ({"main.tf": EKS.format(APPS.format("apps")), "release.yaml": FLUX.format("karpenter")}, 1),
        ({"main.tf": EKS.format(APPS.format("kube-system")) + IN_KUBE_SYSTEM.format("")}, 0),
        ({"main.tf": EKS.format(APPS.format("kube-*")) + IN_KUBE_SYSTEM.format("")}, 0),
        ({"main.tf": EKS.format(APPS.format("${var.name}")) + IN_KUBE_SYSTEM.format("")}, 0),
        ({"main.tf": EKS.format(APPS.format("apps") + GROUP.format(2)) + IN_KUBE_SYSTEM.format("")}, 0),
        ({"main.tf": EKS.format("  fargate_profiles = var.profiles\n") + IN_KUBE_SYSTEM.format("")}, 0),
        ({"main.tf": EKS.format(APPS.format("karpenter")), "release.yaml": FLUX.format("karpenter")}, 0),
    ],
)
def test_fargate_for_another_namespace(nodelint: Run, tmp_path: Path, files: dict[str, str], count: int) -> None:
    write_files(tmp_path, {".git/HEAD": "", **files})
    done = nodelint("check", str(tmp_path), "--format", "json", "--select", "controller-without-node")
    found = [finding["message"] for finding in json.loads(done.stdout)["findings"]]
    assert len(found) == count and all("no Fargate profile selects" in message for message in found)


TAINTED = (
    "  eks_managed_node_groups = {{\n    a = {{ desired_size = 2, taints = {{"
    ' x = {{ key = "{0}", effect = "NO_SCHEDULE" }} }} }}\n  }}\n'
)
RESOURCE = 'resource "aws_eks_node_group" "{0}" {{\n  taint {{\n    key = "{1}"\n    effect = "{2}"\n  }}\n}}\n'


@pytest.mark.parametrize(
    ("text", "values", "count"),
    [
        (EKS.format(TAINTED.format("dedicated")), "", 1),
        (EKS.format(TAINTED.format("CriticalAddonsOnly")), "", 0),
        (EKS.format(TAINTED.format("dedicated")), "tolerations = [], ", 0),
        (EKS.format(TAINTED.format("dedicated")) + OTHER, "", 0),
        (RESOURCE.format("a", "dedicated", "NO_SCHEDULE"), "", 1),
        (RESOURCE.format("a", "dedicated", "PREFER_NO_SCHEDULE"), "", 0),
        (RESOURCE.format("a", "${var.key}", "NO_SCHEDULE"), "", 0),
        (
            RESOURCE.format("a", "gpu", "NO_SCHEDULE") + RESOURCE.format("b", "CriticalAddonsOnly", "NO_SCHEDULE"),
            "",
            0,
        ),
        ("", "", 0),
    ],
)
def test_taints_that_the_controller_does_not_tolerate(
    nodelint: Run, tmp_path: Path, text: str, values: str, count: int
) -> None:
    found = findings_of(nodelint, tmp_path, text + RELEASE.format(values), "controller-without-node")
    assert found == ["warning"] * count


CALL = 'module "{0}" {{\n  source = "{1}"\n}}\n'


@pytest.mark.parametrize(
    ("files", "count"),
    [
        ({"main.tf": CALL.format("vpc", "./modules/vpc")}, 1),
        ({"envs/dev/main.tf": CALL.format("vpc", "../../modules/vpc")}, 1),
        ({"main.tf": CALL.format("vpc", "./modules/vpc") + CALL.format("k", "./modules/karpenter")}, 0),
        ({"main.tf": CALL.format("vpc", "./modules/vpc"), "modules/vpc/k.tf": CALL.format("k", "../karpenter")}, 0),
        ({"main.tf": CALL.format("vpc", "./modules/vpc") + CALL.format("k", "git::x//modules/karpenter")}, 0),
        ({"main.tf": CALL.format("vpc", "./other/vpc")}, 0),
        ({"examples/main.tf": CALL.format("vpc", "../modules/vpc")}, 0),
        ({"main.tf": CALL.format("vpc", "./modules/vpc"), "live/terragrunt.hcl": "# terragrunt of karpenter\n"}, 0),
    ],
)
def test_a_module_that_nothing_calls(nodelint: Run, tmp_path: Path, files: dict[str, str], count: int) -> None:
    module = {"modules/karpenter/main.tf": RELEASE.format(""), "modules/vpc/main.tf": 'resource "aws_vpc" "a" {\n}\n'}
    write_files(tmp_path, {".git/HEAD": "ref: refs/heads/main\n", **module, **files})
    done = nodelint("check", str(tmp_path), "--format", "json", "--select", "uncalled-module")
    assert len(json.loads(done.stdout)["findings"]) == count
