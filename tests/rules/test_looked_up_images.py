"""Images whose ids Terraform looks up, by a parameter or a name that shows their family, in each form of a class."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.manifests import nodeclass
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]

PARAMETER = 'data "aws_ssm_parameter" "image" {{\n  name = {}\n}}\n'
AMI = (
    'data "aws_ami" "image" {{\n  owners = ["{1}"]\n'
    '  filter {{\n    name   = "name"\n    values = ["{0}"]\n  }}\n}}\n'
)
AL2 = '"/aws/service/eks/optimized-ami/1.33/amazon-linux-2/recommended/image_id"'
VERSION = 'variable "k8s_version" {}\n'


def make_class(id: str, family: str) -> str:
    return nodeclass(ami=f"id: {id}").replace("spec:\n", f"spec:\n  amiFamily: {family}\n")


def forms(id: str, family: str) -> dict[str, Mapping[str, str]]:
    """Return files with a class whose image id Terraform fills in, in each form."""
    heredoc = "".join(f"    {line}\n" for line in make_class(f"${{{id}}}", family).splitlines())
    return {
        "heredoc": {
            "class.tf": f'resource "kubectl_manifest" "class" {{\n  yaml_body = <<-YAML\n{heredoc}  YAML\n}}\n'
        },
        "template": {
            "class.yaml.tpl": make_class("${IMAGE}", "${FAMILY}"),
            "class.tf": f'variable "family" {{ default = "{family}" }}\n'
            'resource "kubectl_manifest" "class" {\n'
            '  yaml_body = templatefile("${path.module}/class.yaml.tpl", {\n'
            f"    IMAGE  = {id}\n    FAMILY = var.family\n  }})\n}}\n",
        },
        "chart": {
            "pools/Chart.yaml": "apiVersion: v2\nname: pools\nversion: 0.1.0\n",
            "pools/values.yaml": "# karpenter\nimage: \n",
            "pools/templates/class.yaml": make_class("{{ .Values.image }}", family),
            "class.tf": 'resource "helm_release" "pools" {\n  name  = "pools"\n  chart = "${path.module}/pools"\n'
            f'  set {{\n    name  = "image"\n    value = {id}\n  }}\n}}\n',
        },
    }


@pytest.mark.parametrize(
    ("id", "lookup", "family", "count"),
    [
        ("data.aws_ssm_parameter.image.value", PARAMETER.format(AL2), "Bottlerocket", 1),
        ("data.aws_ssm_parameter.image.value", PARAMETER.format(AL2), "AL2", 0),
        ("data.aws_ssm_parameter.image.value", PARAMETER.format(AL2), "Custom", 0),
        (
            "data.aws_ssm_parameter.image.value",
            VERSION + PARAMETER.format(AL2.replace("1.33", "${var.k8s_version}")),
            "AL2023",
            1,
        ),
        ("data.aws_ssm_parameter.image.value", PARAMETER.format('"/golden/image"'), "AL2023", 0),
        ("data.aws_ami.image.id", AMI.format("amazon-eks-node-1.33-v*", "amazon"), "AL2023", 1),
        ("data.aws_ami.image.id", AMI.format("amazon-eks-node-1.33-v*", "self"), "AL2023", 0),
        ("data.aws_ami.image.id", AMI.format("amazon-eks-node-*", "amazon"), "AL2023", 0),
        ("data.aws_ami.image.id", AMI.format("amazon-eks-node-al2023-*", "amazon"), "AL2023", 0),
    ],
)
def test_an_image_of_another_family(
    nodelint: Run, tmp_path: Path, id: str, lookup: str, family: str, count: int
) -> None:
    for form, files in forms(id, family).items():
        folder = tmp_path / form
        write_files(folder, {"image.tf": f"# karpenter\n{lookup}", **files})
        done = nodelint("check", str(folder), "--format", "json", "--select", "other-family-image")
        assert len(json.loads(done.stdout)["findings"]) == count, form
