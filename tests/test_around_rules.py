"""What stands around NodePools and classes: roles, access entries, service accounts and policies, in several forms."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from .files import write_files

Run = Callable[..., CompletedProcess[str]]

CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: {role}
  amiSelectorTerms: [{{alias: al2023@v20260714}}]
  subnetSelectorTerms: [{{tags: {{karpenter.sh/discovery: main}}}}]
  securityGroupSelectorTerms: [{{tags: {{karpenter.sh/discovery: main}}}}]
"""
MODULE = """\
module "karpenter" {
  source       = "terraform-aws-modules/eks/aws//modules/karpenter"
  version      = "~> 21.0"
  cluster_name = "main"
}
"""
NODES, CONTROLLER = "module.karpenter.node_iam_role_name", "module.karpenter.iam_role_name"
HEREDOC = 'resource "kubectl_manifest" "class" {{\n  yaml_body = <<-YAML\n{text}  YAML\n}}\n'


def check(nodelint: Run, folder: Path, files: Mapping[str, str], rule: str) -> list[str]:
    """Return the messages of a rule over some files."""
    write_files(folder, files)
    found = json.loads(nodelint("check", str(folder), "--format", "json", "--select", rule).stdout)
    return [finding["message"] for finding in found["findings"]]


def heredoc(role: str) -> str:
    text = "".join(f"    {line}\n" for line in CLASS.format(role=role).splitlines())
    return HEREDOC.format(text=text)


ROLES = {
    "local": lambda role: {"main.tf": f"{MODULE}locals {{\n  role = {role}\n}}\n" + heredoc("${local.role}")},
    "module": lambda role: {
        "main.tf": f'{MODULE}module "pools" {{\n  source = "./pools"\n  role   = {role}\n}}\n',
        "pools/main.tf": 'variable "role" {}\n' + heredoc("${var.role}"),
    },
    "templatefile": lambda role: {
        "main.tf": f'{MODULE}resource "kubectl_manifest" "class" {{\n'
        f'  yaml_body = templatefile("${{path.module}}/class.yaml.tpl", {{ role = {role} }})\n}}\n',
        "class.yaml.tpl": CLASS.format(role="${role}"),
    },
    "chart": lambda role: {
        "main.tf": f'{MODULE}resource "helm_release" "pools" {{\n  name  = "pools"\n'
        f'  chart = "${{path.module}}/pools"\n  set {{\n    name  = "role"\n    value = {role}\n  }}\n}}\n',
        "pools/Chart.yaml": "apiVersion: v2\nname: pools\nversion: 0.1.0\n",
        "pools/values.yaml": "role: ''\n",
        "pools/templates/class.yaml": CLASS.format(role="{{ .Values.role }}"),
    },
}


@pytest.mark.parametrize("form", ROLES)
def test_an_output_that_is_no_role_of_nodes_is_followed_to_the_class(nodelint: Run, tmp_path: Path, form: str) -> None:
    for role in (CONTROLLER, "module.karpenter.service_account"):
        found = check(nodelint, tmp_path / role, ROLES[form](role), "controller-role-on-nodes")
        assert len(found) == 1 and role.rpartition(".")[2] in found[0]
    assert check(nodelint, tmp_path / "good", ROLES[form](NODES), "controller-role-on-nodes") == []


TRUST = '{{ Statement = [{{ Principal = {{ Service = "{service}" }}, Action = "sts:AssumeRole" }}] }}'


@pytest.mark.parametrize(("service", "count"), [("pods.eks.amazonaws.com", 1), ("ec2.amazonaws.com", 0)])
def test_a_role_that_trusts_pods_alone_is_none_of_nodes(
    nodelint: Run, tmp_path: Path, service: str, count: int
) -> None:
    role = f'resource "aws_iam_role" "own" {{\n  assume_role_policy = jsonencode({TRUST.format(service=service)})\n}}\n'
    files = {"main.tf": role + heredoc("${aws_iam_role.own.name}")}
    assert len(check(nodelint, tmp_path, files, "controller-role-on-nodes")) == count
