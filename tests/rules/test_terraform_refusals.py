"""What Terraform and Flux refuse, so that no object of Karpenter's ever exists."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.manifests import nodepool
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]

CHART = """\
resource "helm_release" "karpenter" {
  name       = "karpenter"
  repository = "oci://public.ecr.aws/karpenter"
  chart      = "karpenter"
  version    = "1.14.3"
"""


def check(nodelint: Run, folder: Path, files: Mapping[str, str], rule: str) -> list[str]:
    """Return the messages of a rule over some files of a repository."""
    write_files(folder, {".git/HEAD": "ref: refs/heads/main\n", **files})
    found = json.loads(nodelint("check", str(folder), "--format", "json", "--select", rule).stdout)
    return [finding["message"] for finding in found["findings"]]


EKS = (
    'provider "helm" {\n}\n'
    'module "eks" {\n  source  = "terraform-aws-modules/eks/aws"\n  version = "21.19.0"\n  name    = "main"\n}\n'
    'output "endpoint" {\n  value = module.eks.cluster_endpoint\n}\n'
)
VALUES = {
    "values": "  values = [yamlencode({{ settings = {{ clusterName = {0} }} }})]\n}}\n",
    "set": '  set = [{{\n    name  = "settings.clusterName"\n    value = {0}\n  }}]\n}}\n',
    "heredoc": "  values = [<<-YAML\n    settings:\n      clusterName: ${{{0}}}\n  YAML\n  ]\n}}\n",
    "local": '  values = [local.values]\n}}\nlocals {{\n  values = templatefile("v.yaml", {{ name = {0} }})\n}}\n',
}


@pytest.mark.parametrize("form", VALUES)
@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("module.cluster.cluster_name", "declares `module.cluster`"),
        ("local.cluster", "declares `local.cluster`"),
        ("var.cluster", "declares `var.cluster`"),
        ("data.aws_eks_cluster.main.name", "declares `data.aws_eks_cluster.main`"),
        ("aws_eks_cluster.main.name", "declares `aws_eks_cluster.main`"),
        ("module.eks.cluster_role", "has no output `cluster_role`"),
        ("module.eks.cluster_name", ""),
        ("module.eks[0].cluster_name", ""),
        ("[for module in [1] : module.name][0]", ""),
    ],
)
def test_a_value_of_the_chart_that_nothing_declares(
    nodelint: Run, tmp_path: Path, form: str, reference: str, message: str
) -> None:
    files = {"main.tf": EKS + CHART + VALUES[form].format(reference)}
    found = check(nodelint, tmp_path, files, "undeclared-reference")
    assert [message in text for text in found] == [True] * bool(message)


@pytest.mark.parametrize(
    "more",
    [
        {"terragrunt.hcl": 'generate "more" {\n  path = "more.tf"\n}\n'},
        {".gitignore": "secrets.tf\n"},
        {"more.tf": "locals { cluster = 1 }\n"},
        {"more.tf": "output a {\n  value = [local.a, local.b, local.c]\n}\n"},
    ],
)
def test_a_folder_that_may_have_more_files_declares_anything(
    nodelint: Run, tmp_path: Path, more: Mapping[str, str]
) -> None:
    files = {"main.tf": CHART + VALUES["values"].format("local.cluster"), **more}
    assert check(nodelint, tmp_path, files, "undeclared-reference") == []


def test_a_block_that_is_declared_twice(nodelint: Run, tmp_path: Path) -> None:
    files = {"main.tf": CHART + "}\n", "more.tf": CHART + "}\n"}
    assert len(check(nodelint, tmp_path, files, "undeclared-reference")) == 1
    (tmp_path / "more.tf").rename(tmp_path / "more_override.tf")
    assert check(nodelint, tmp_path, {}, "undeclared-reference") == []


REGISTRY = 'source = "terraform-aws-modules/eks/aws//modules/karpenter"\n  version = "{0}"'
GITHUB = 'source = "git::https://github.com/terraform-aws-modules/terraform-aws-eks.git//modules/karpenter?ref=v{0}"'


@pytest.mark.parametrize("source", [REGISTRY, GITHUB])
@pytest.mark.parametrize(
    ("version", "argument", "count"),
    [
        ("20.37.2", "oidc_provider_arn", 1),
        ("20.37.2", "irsa_oidc_provider_arn", 0),
        ("21.0.0", "irsa_oidc_provider_arn", 1),
        ("21.19.0", "enable_v1_permissions", 1),
        ("20.0.0", "enable_v1_permissions", 1),
        ("20.24.0", "enable_v1_permissions", 0),
        ("99.0.0", "argument_of_a_later_version", 0),
    ],
)
def test_an_argument_that_a_version_does_not_have(
    nodelint: Run, tmp_path: Path, source: str, version: str, argument: str, count: int
) -> None:
    call = f'module "karpenter" {{\n  {source.format(version)}\n  {argument} = "x"\n}}\n'
    assert len(check(nodelint, tmp_path, {"main.tf": call}, "unknown-module-argument")) == count


@pytest.mark.parametrize(
    ("version", "argument", "count"),
    [
        ("~> 20.0", "enable_pod_identity", 0),
        (">= 20.0", "enable_pod_identity", 1),
        (">= 20.0, < 21.0", "enable_pod_identity", 0),
        ("~> 20.8.0", "namespace", 1),
        ("~> 20.8", "namespace", 0),
    ],
)
def test_the_newest_version_that_a_constraint_allows_counts(
    nodelint: Run, tmp_path: Path, version: str, argument: str, count: int
) -> None:
    call = f'module "karpenter" {{\n  {REGISTRY.format(version)}\n  {argument} = "x"\n}}\n'
    assert len(check(nodelint, tmp_path, {"main.tf": call}, "unknown-module-argument")) == count


def test_a_module_of_the_repository(nodelint: Run, tmp_path: Path) -> None:
    files = {
        "main.tf": 'module "karpenter" {\n  source = "./karpenter"\n  cluster = "a"\n  role = "b"\n}\n',
        "karpenter/main.tf": 'variable "cluster" {}\nvariable "queue" {}\nvariable "role_name" {\n  default = 1\n}\n',
    }
    found = check(nodelint, tmp_path, files, "unknown-module-argument")
    assert ["no argument `role`" in m or "needs `queue`" in m for m in found] == [True, True]


def test_a_module_that_a_major_version_dropped(nodelint: Run, tmp_path: Path) -> None:
    call = 'module "karpenter_auth" {{\n  source  = "terraform-aws-modules/eks/aws//modules/aws-auth"\n{0}}}\n'
    found = [
        check(nodelint, tmp_path, {"main.tf": call.format(version)}, "unknown-module-argument")
        for version in ("", '  version = "~> 20.0"\n', '  version = "~> 21.0"\n')
    ]
    assert [len(messages) for messages in found] == [1, 0, 1]


BLOCK, LIST = (
    '  set {\n    name = "replicas"\n    value = 1\n  }\n}\n',
    '  set = [{ name = "replicas", value = 1 }]\n}\n',
)
REQUIRED = (
    'terraform {{\n  required_providers {{\n    helm = {{\n      source = "hashicorp/helm"\n'
    '      version = "{0}"\n    }}\n  }}\n}}\n'
)
COMMENTED = REQUIRED.replace("version =", "# set {{ }} is refused by 3\n      version =")
LOCK = 'provider "registry.terraform.io/hashicorp/helm" {\n  version = "2.17.0"\n}\n'


@pytest.mark.parametrize(
    ("written", "files", "count"),
    [
        (BLOCK, {}, 1),
        (BLOCK, {"versions.tf": REQUIRED.format(">= 2.6")}, 1),
        (BLOCK, {"versions.tf": REQUIRED.format("~> 2.6")}, 0),
        (BLOCK, {"versions.tf": COMMENTED.format("~> 2.6")}, 0),
        (BLOCK, {"versions.tf": REQUIRED.format("~> 2.6").replace("      version", "      # version")}, 1),
        (BLOCK, {".terraform.lock.hcl": LOCK}, 0),
        (BLOCK, {"more.tf": 'module "addons" {\n  source = "aws-ia/eks-blueprints-addons/aws"\n}\n'}, 0),
        (LIST, {}, 0),
        (LIST, {"versions.tf": REQUIRED.format("~> 2.6")}, 1),
        (LIST, {".terraform.lock.hcl": LOCK}, 1),
    ],
)
def test_values_for_another_version_of_the_helm_provider(
    nodelint: Run, tmp_path: Path, written: str, files: Mapping[str, str], count: int
) -> None:
    made = {"main.tf": f'provider "helm" {{\n}}\n{CHART}{written}', **files}
    assert len(check(nodelint, tmp_path, made, "helm-provider-blocks")) == count


def test_a_module_without_its_root_has_no_known_provider(nodelint: Run, tmp_path: Path) -> None:
    assert check(nodelint, tmp_path, {"main.tf": CHART + BLOCK}, "helm-provider-blocks") == []
    root = f'{REQUIRED.format("~> 2.0")}provider "helm" {{\n}}\nmodule "k" {{\n  source = "./k"\n}}\n'
    files = {"main.tf": root, "k/main.tf": CHART + BLOCK}
    assert check(nodelint, tmp_path, files, "helm-provider-blocks") == []
    files = {"main.tf": root.replace("~> 2.0", ">= 2.0")}
    assert len(check(nodelint, tmp_path, files, "helm-provider-blocks")) == 1


FLUX = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: infra, namespace: flux-system}
spec:
  path: ./infra
  prune: true
"""
RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: karpenter, namespace: kube-system}
spec:
  chart: {spec: {chart: karpenter, version: 1.14.3, sourceRef: {kind: HelmRepository, name: karpenter}}}
"""
TOGETHER = {"flux/infra.yaml": FLUX, "infra/release.yaml": RELEASE, "infra/pool.yaml": nodepool()}
BUILT = {"infra/kustomization.yaml": "resources: [release.yaml, pool.yaml]\n"}
CRDS = RELEASE.replace("karpenter", "karpenter-crd")


@pytest.mark.parametrize(
    ("files", "count"),
    [
        (TOGETHER, 1),
        (TOGETHER | BUILT, 1),
        (TOGETHER | {"infra/crds.yaml": CRDS}, 0),
        (TOGETHER | {"flux/infra.yaml": FLUX.replace("./infra", "./apps")}, 0),
        ({"flux/infra.yaml": FLUX, "infra/release.yaml": RELEASE, "pools/pool.yaml": nodepool()}, 0),
        (TOGETHER | {"main.tf": CHART + "}\n"}, 0),
    ],
)
def test_pools_that_flux_applies_with_their_crds(
    nodelint: Run, tmp_path: Path, files: Mapping[str, str], count: int
) -> None:
    assert len(check(nodelint, tmp_path, files, "flux-before-crds")) == count


PATH = '"${path.module}/pool.yaml.tftpl"'
TEMPLATE = nodepool('key: kubernetes.io/arch, operator: In, values: ["${arch}"]') + (
    "      taints:\n%{ for name, taint in taints ~}\n"
    "        - {key: ${name}, effect: ${taint.effect}}\n%{ endfor ~}\n"
)
PASSED = "{{arch = var.arch, {0} = {{}}, unused = 1}}"


@pytest.mark.parametrize(
    ("call", "missing"),
    [
        (f"templatefile({PATH}, {PASSED.format('taints')})", []),
        (f"templatefile({PATH}, {PASSED.format('taint')})", ["taints"]),
        (f"yamldecode(templatefile({PATH}, {{}}))", ["arch", "taints"]),
        (f"var.on ? templatefile({PATH}, {{arch = 1}}) : null", ["taints"]),
        (f"templatefile({PATH}, merge(var.names, {{}}))", []),
        (f"templatefile({PATH}, {{(var.name) = 1}})", []),
        (f'try(templatefile({PATH}, {{}}), "")', []),
        ('templatefile("${path.module}/${var.file}", {})', []),
    ],
)
def test_a_name_of_a_template_that_its_call_does_not_pass(
    nodelint: Run, tmp_path: Path, call: str, missing: list[str]
) -> None:
    main = f'resource "kubectl_manifest" "pool" {{\n  yaml_body = {call}\n}}\n'
    variables = "".join(f'variable "{name}" {{}}\n' for name in ("arch", "on", "names", "name", "file"))
    files = {"main.tf": main + variables, "pool.yaml.tftpl": TEMPLATE}
    messages = check(nodelint, tmp_path, files, "undeclared-reference")
    assert [message.split("`")[1] for message in messages] == missing
    assert all("pool.yaml.tftpl uses: Terraform refuses the plan" in message for message in messages)
