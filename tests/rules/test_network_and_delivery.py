"""Tags, security groups, clusters and charts around NodePools: what does not exist, or does not fit, in each form."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.manifests import nodepool
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]

CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: node
  amiSelectorTerms: [{{alias: al2023@v20260714}}]
  subnetSelectorTerms: [{{tags: {{karpenter.sh/discovery: {0}}}}}]
  securityGroupSelectorTerms: [{{tags: {{karpenter.sh/discovery: {0}}}}}]
"""
CHART = """\
resource "helm_release" "karpenter" {
  name       = "karpenter"
  namespace  = "kube-system"
  repository = "oci://public.ecr.aws/karpenter"
  chart      = "karpenter"
  version    = "1.14.3"
}
"""


def check(nodelint: Run, folder: Path, files: Mapping[str, str], rule: str) -> list[str]:
    """Return the messages of a rule over some files of a repository, each after its severity."""
    write_files(folder, {".git/HEAD": "ref: refs/heads/main\n", **files})
    found = json.loads(nodelint("check", str(folder), "--format", "json", "--select", rule).stdout)
    return [f"{finding['severity']}: {finding['message']}" for finding in found["findings"]]


def templated(name: str) -> str:
    text = "".join(f"    {line}\n" for line in CLASS.format(name).splitlines())
    return f'resource "kubectl_manifest" "class" {{\n  yaml_body = <<-YAML\n{text}  YAML\n}}\n'


CLASSES: dict[str, Callable[[str], Mapping[str, str]]] = {
    "yaml": lambda name: {"class.yaml": CLASS.format(name)},
    "chart": lambda name: {
        "chart/Chart.yaml": "apiVersion: v2\nname: pools\nversion: 1.0.0\n",
        "chart/values.yaml": f"cluster: {name}\n",
        "chart/templates/class.yaml": CLASS.format("{{ .Values.cluster }}"),
    },
    "terraform": lambda name: {"class.tf": f'locals {{\n  cluster = "{name}"\n}}\n' + templated("${local.cluster}")},
    "module": lambda name: {
        "call.tf": f'module "pools" {{\n  source = "./pools"\n  name   = "{name}"\n}}\n',
        "pools/main.tf": 'variable "name" {}\n' + templated("${var.name}"),
    },
}
VPC = 'module "vpc" {{\n  source = "terraform-aws-modules/vpc/aws"\n  private_subnet_tags = {0}\n}}\n'
TAG = '{ "karpenter.sh/discovery" = local.name }'
NAME = 'locals {{\n  name = "{0}"\n}}\n'
TAGS = {
    "vpc": lambda name: NAME.format(name) + VPC.format(TAG),
    "merge": lambda name: NAME.format(name) + VPC.format(f"merge({{ a = 1 }}, {TAG})"),
    "subnet": lambda name: f'{NAME.format(name)}resource "aws_subnet" "a" {{\n  tags = {TAG}\n}}\n',
    "ec2_tag": lambda name: (
        f'resource "aws_ec2_tag" "a" {{\n  resource_id = "subnet-1"\n'
        f'  key = "karpenter.sh/discovery"\n  value = "{name}"\n}}\n'
    ),
    "for_each": lambda name: f'locals {{\n  groups = {{ a = {{ "karpenter.sh/discovery" = "{name}" }} }}\n}}\n',
}


@pytest.mark.parametrize("tags", TAGS)
@pytest.mark.parametrize("form", CLASSES)
@pytest.mark.parametrize("name", ["main", "main-1-36"])
def test_a_selector_for_another_value_of_the_tag(
    nodelint: Run, tmp_path: Path, form: str, tags: str, name: str
) -> None:
    files = {**CLASSES[form]("main"), "vpc/main.tf": TAGS[tags](name)}
    found = check(nodelint, tmp_path, files, "tag-of-another-value")
    assert bool(found) is (name != "main")


@pytest.mark.parametrize(
    "more",
    [
        {"more.tf": VPC.format('{ "karpenter.sh/discovery" = module.eks.cluster_name }')},
        {"more.tf": 'data "aws_subnets" "a" {\n  filter {\n    name = "tag:karpenter.sh/discovery"\n  }\n}\n'},
        {
            "tag.sh": "aws ec2 create-tags --tags Key=karpenter.sh/discovery,Value=main\n"
            "helm upgrade --install karpenter oci://public.ecr.aws/karpenter/karpenter --version 1.14.3\n"
        },
        {"other.yaml": CLASS.format("other").replace("default", "other")},
    ],
)
def test_a_tag_whose_value_may_be_another(nodelint: Run, tmp_path: Path, more: Mapping[str, str]) -> None:
    files = {"class.yaml": CLASS.format("main"), "vpc.tf": TAGS["vpc"]("other"), **more}
    assert check(nodelint, tmp_path, files, "tag-of-another-value") == []


EKS = 'module "eks" {{\n  source = "terraform-aws-modules/eks/aws"\n  name = "main"\n{0}}}\n'
SUBNET = 'resource "aws_subnet" "a" {{\n  tags = {0}\n}}\n'


@pytest.mark.parametrize("form", CLASSES)
@pytest.mark.parametrize(
    ("terraform", "count"),
    [
        (VPC.format('{ Name = "a" }'), 1),
        (SUBNET.format("{ Name = var.name }"), 1),
        (SUBNET.format("local.tags") + 'locals {\n  tags = { Name = "a" }\n}\n', 1),
        (VPC.format('{ "karpenter.sh/discovery" = "main" }'), 0),
        (SUBNET.format("local.tags") + 'locals {\n  tags = { "karpenter.sh/discovery" = "main" }\n}\n', 0),
        (SUBNET.format("var.tags"), 0),
        (SUBNET.format('{ "karpenter.sh/${var.kind}" = "main" }'), 0),
        (VPC.format("{}") + 'module "tags" {\n  source = "git::https://example.com/tags"\n}\n', 0),
        (VPC.format("{}") + 'data "aws_subnets" "shared" {\n  tags = { tier = "private" }\n}\n', 0),
        (EKS.format(""), 1),
        (EKS.format('  tags = { "karpenter.sh/discovery" = "main" }\n'), 0),
        ('resource "aws_eks_cluster" "main" {\n  tags = { "karpenter.sh/discovery" = "main" }\n}\n', 1),
        (EKS.format("") + 'data "aws_security_groups" "shared" {\n  tags = { tier = "nodes" }\n}\n', 0),
    ],
)
def test_a_tag_that_terraform_does_not_set(
    nodelint: Run, tmp_path: Path, form: str, terraform: str, count: int
) -> None:
    files = {**CLASSES[form]("main"), "main.tf": f"# karpenter\n{terraform}"}
    found = check(nodelint, tmp_path, files, "missing-discovery-tag")
    assert len(found) == count


def test_a_tag_that_a_script_may_set(nodelint: Run, tmp_path: Path) -> None:
    files = {"class.yaml": CLASS.format("main"), "vpc.tf": "# karpenter\n" + VPC.format("{}")}
    assert len(check(nodelint, tmp_path, files, "missing-discovery-tag")) == 1
    script = (
        "aws ec2 create-tags --tags Key=karpenter.sh/discovery,Value=main\n"
        "helm upgrade --install karpenter oci://public.ecr.aws/karpenter/karpenter --version 1.14.3\n"
    )
    assert check(nodelint, tmp_path, {"tag.sh": script}, "missing-discovery-tag") == []


def test_variable_files_decide_which_value_the_tag_has(nodelint: Run, tmp_path: Path) -> None:
    vpc = VPC.format('{ "karpenter.sh/discovery" = var.name }')
    files = {"class.yaml": CLASS.format("main"), "vpc.tf": f'variable "name" {{\n  default = "demo"\n}}\n{vpc}'}
    assert [text[:7] for text in check(nodelint, tmp_path, files, "tag-of-another-value")] == ["warning"]
    more = {"terraform.tfvars": 'name = "shop"\n'}
    assert [text[:5] for text in check(nodelint, tmp_path, more, "tag-of-another-value")] == ["error"]
    assert check(nodelint, tmp_path, {"terraform.tfvars": 'name = "main"\n'}, "tag-of-another-value") == []


GROUP = """\
resource "aws_security_group" "cluster" {{
  tags = {{ "karpenter.sh/discovery" = "main" }}
{0}}}
"""
ADMITS = "  ingress {\n    self = true\n  }\n"
RULE = 'resource "aws_security_group_rule" "a" {\n  type = "ingress"\n}\n'


@pytest.mark.parametrize("form", CLASSES)
@pytest.mark.parametrize(
    ("group", "count"), [(GROUP.format(""), 1), (GROUP.format(ADMITS), 0), (GROUP.format("") + RULE, 0)]
)
def test_a_security_group_that_admits_nothing(
    nodelint: Run, tmp_path: Path, form: str, group: str, count: int
) -> None:
    files = {**CLASSES[form]("main"), "eks/main.tf": group}
    assert len(check(nodelint, tmp_path, files, "closed-security-group")) == count


EKS = 'module "eks" {{\n  source = "terraform-aws-modules/eks/aws"\n  {0} = {1}\n}}\n# karpenter\n'
CLUSTERS: dict[str, Callable[[str], Mapping[str, str]]] = {
    "module": lambda version: {"main.tf": EKS.format("kubernetes_version", f'"{version}"')},
    "resource": lambda version: {
        "main.tf": f'resource "aws_eks_cluster" "a" {{\n  version = "{version}"\n}}\n# karpenter\n'
    },
    "variable": lambda version: {
        "main.tf": 'variable "v" {\n  type = string\n}\n' + EKS.format("cluster_version", "var.v"),
        "prod.tfvars": f'v = "{version}"\n',
    },
    "eksctl": lambda version: {
        "cluster.yaml": f"apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmetadata: {{name: a, version: "
        f"'{version}'}}\nkarpenter: {{version: 1.14.3}}\n"
    },
}


@pytest.mark.parametrize("form", CLUSTERS)
@pytest.mark.parametrize(("version", "count"), [("1.36.1", 1), ("1.36", 0)])
def test_a_cluster_with_a_patch_version(nodelint: Run, tmp_path: Path, form: str, version: str, count: int) -> None:
    assert len(check(nodelint, tmp_path, CLUSTERS[form](version), "kubernetes-patch-version")) == count


APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {{name: karpenter, namespace: argocd}}
spec:
  sources:
    - {0}
    - {{repoURL: https://github.com/acme/platform, targetRevision: main, ref: values}}
    - {{repoURL: https://github.com/acme/platform, targetRevision: main, path: apps}}
"""
PATHS = "{{repoURL: https://github.com/acme/platform, targetRevision: main, path: {0}}}"
RELEASE = (
    "{{repoURL: public.ecr.aws/karpenter, chart: karpenter, targetRevision: 1.14.3, helm: {{valueFiles: [{0}]}}}}"
)


@pytest.mark.parametrize(
    ("source", "count"),
    [
        (PATHS.format("pools/prod"), 1),
        (PATHS.format("pools"), 0),
        (PATHS.format("pools/prod").replace("main", "HEAD"), 1),
        (PATHS.format("pools/prod").replace("main", "release-1"), 0),
        (PATHS.format("'{{path}}'"), 0),
        (PATHS.format("pools").replace("}", ", helm: {values: a}}"), 1),
        (PATHS.format("pools").replace("acme", "elsewhere").replace("pools", "none"), 0),
        (RELEASE.format("$values/prod.yaml"), 1),
        (RELEASE.format("$values/pools/pool.yaml"), 0),
    ],
)
def test_an_application_that_names_what_is_not_there(nodelint: Run, tmp_path: Path, source: str, count: int) -> None:
    files = {"apps/karpenter.yaml": APPLICATION.format(source), "pools/pool.yaml": nodepool()}
    assert len(check(nodelint, tmp_path, files, "missing-source")) == count


@pytest.mark.parametrize(
    ("text", "rule", "count"),
    [
        (CHART, "chart-not-found", 0),
        (CHART.replace("1.14.3", "v1.14.3"), "chart-not-found", 1),
        (CHART.replace("1.14.3", "v0.34.1"), "chart-not-found", 0),
        (CHART.replace('/karpenter"', '/karpenter/karpenter"'), "chart-not-found", 1),
        (
            CHART.replace('/karpenter"', '/karpenter/karpenter"').replace('  version    = "1.14.3"\n', ""),
            "chart-not-found",
            1,
        ),
        (CHART, "missing-namespace", 0),
        (CHART.replace("kube-system", "karpenter"), "missing-namespace", 1),
        (
            CHART.replace("kube-system", "karpenter") + "# kubectl create namespace karpenter\n",
            "missing-namespace",
            0,
        ),
    ],
)
def test_a_chart_that_cannot_be_installed(nodelint: Run, tmp_path: Path, text: str, rule: str, count: int) -> None:
    assert len(check(nodelint, tmp_path, {"main.tf": f'provider "helm" {{\n}}\n{text}'}, rule)) == count


NAT = VPC.format('{ "karpenter.sh/discovery" = "main" }')


@pytest.mark.parametrize(
    ("more", "severities"),
    [
        ("", ["error"]),
        ("  enable_nat_gateway = false\n", ["error"]),
        ("  enable_nat_gateway = var.nat\n", ["warning"]),
        ("  enable_nat_gateway = true\n", []),
        ("  enable_nat_gateway = module.settings.nat\n", []),
    ],
)
def test_private_subnets_without_a_nat_gateway(
    nodelint: Run, tmp_path: Path, more: str, severities: list[str]
) -> None:
    variable = 'variable "nat" {\n  default = false\n}\n'
    files = {"main.tf": variable + NAT.replace("  private", f"{more}  private")}
    found = check(nodelint, tmp_path, files, "subnets-without-route")
    assert [text.partition(":")[0] for text in found] == severities
    endpoint = {"net/endpoints.tf": 'resource "aws_vpc_endpoint" "a" {\n}\n'}
    assert check(nodelint, tmp_path, endpoint, "subnets-without-route") == []


@pytest.mark.parametrize("way", ['module "nat" {\n  source = "./egress"', 'resource "aws_route_table" "private" {'])
def test_private_subnets_with_another_way_out(nodelint: Run, tmp_path: Path, way: str) -> None:
    assert check(nodelint, tmp_path, {"main.tf": f"{NAT}{way}\n}}\n"}, "subnets-without-route") == []


OFF = """\
variable "enabled" {
  default = false
}
module "karpenter" {
  source       = "terraform-aws-modules/eks/aws//modules/karpenter"
  version      = "20.36.0"
  cluster_name = "main"
}
resource "helm_release" "karpenter" {
  count      = var.enabled ? 1 : 0
  repository = "oci://public.ecr.aws/karpenter"
  chart      = "karpenter"
  version    = "1.14.3"
  set = [{ name = "settings.clusterName", value = "main" }]
}
"""


def test_a_queue_that_a_chart_does_not_get_where_both_are_off(nodelint: Run, tmp_path: Path) -> None:
    assert len(check(nodelint, tmp_path, {"main.tf": OFF}, "no-interruption-queue")) == 1
    queue = '{ name = "settings.interruptionQueue", value = module.karpenter.queue_name }, {'
    assert check(nodelint, tmp_path, {"main.tf": OFF.replace("[{", f"[{queue}")}, "no-interruption-queue") == []


@pytest.mark.parametrize(
    ("settings", "cluster", "severities"),
    [
        ('clusterName = "main"', "main", []),
        ('clusterName = "main"', "other", ["warning"]),
        ('interruptionQueue = "main"', "main", ["error"]),
        ("clusterName = aws_eks_cluster.a.name", "main", []),
        ('clusterName = "YOUR_CLUSTER"', "main", []),
    ],
)
def test_a_chart_that_names_another_cluster_or_none(
    nodelint: Run, tmp_path: Path, settings: str, cluster: str, severities: list[str]
) -> None:
    values = f"  values = [yamlencode({{ settings = {{ {settings} }} }})]\n}}\n"
    files = {
        "main.tf": CHART.removesuffix("}\n") + values,
        "eks.tf": f'resource "aws_eks_cluster" "a" {{\n  name = "{cluster}"\n}}\n',
    }
    found = check(nodelint, tmp_path, files, "cluster-of-another-name")
    assert [text.partition(":")[0] for text in found] == severities
    release = {
        "main.tf": "",
        "release.yaml": "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n"
        "metadata: {name: karpenter, namespace: kube-system}\nspec:\n"
        "  chart: {spec: {chart: karpenter, version: 1.14.3}}\n"
        f"  values: {{settings: {{{settings.replace(' =', ':')}}}}}\n",
    }
    if "aws_" not in settings:
        found = check(nodelint, tmp_path, release, "cluster-of-another-name")
        assert [text.partition(":")[0] for text in found] == severities
