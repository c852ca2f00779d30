"""A folder that holds only inputs, such as variables, is judged with what uses it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.manifests import nodepool
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

ROOT = """\
variable "cats" {
  default = ["c"]
}
resource "kubectl_manifest" "p" {
  yaml_body = yamlencode({
    apiVersion = "karpenter.sh/v1", kind = "NodePool", metadata = { name = "a" }
    spec = { template = { spec = {
      nodeClassRef = { group = "karpenter.k8s.aws", kind = "EC2NodeClass", name = "a" }
      requirements = [{ key = "karpenter.k8s.aws/instance-category", operator = "In", values = var.cats }] } } }
  })
}
"""
PROVIDER = 'terraform {\n  required_providers {\n    kubectl = { source = "gavinbunney/kubectl" }\n  }\n}\n'
OF_FILE = ROOT.replace("var.cats", 'yamldecode(file("${path.module}/envs/a.yaml")).cats')
OF_MODULE = 'variable "cats" {}\nmodule "pools" {\n  source = "./modules/pools"\n  cats   = var.cats\n}\n'
POOL = nodepool("key: karpenter.k8s.aws/instance-category, operator: In, values: {{ toJson .Values.cats }}", name="a")
UNIT = """\
locals {
  env = read_terragrunt_config("../envs/env.hcl")
}
terraform {
  source = "../modules/pools"
}
inputs = { cats = local.env.locals.cats }
"""
TERRAGRUNT = {"live/terragrunt.hcl": UNIT, "modules/pools/main.tf": ROOT}
CHART = {
    "charts/pools/Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\n",
    "charts/pools/values.yaml": "cats: [c]\nother: 1\n",
    "charts/pools/templates/p.yaml": POOL,
    "deploy.sh": "helm upgrade --install c charts/pools -f envs/a.yaml\n",
}
FORMS = {
    "tfvars": ({"main.tf": ROOT}, "envs/a.tfvars", 'cats = ["%s"]\n'),
    "tfvars of each account": ({"main.tf": ROOT}, "envs/prod/a.tfvars", 'cats = ["%s"]\n'),
    "tfvars in JSON": ({"main.tf": ROOT}, "envs/a.tfvars.json", '{"cats": ["%s"]}\n'),
    "a root in a folder": ({"infra/main.tf": ROOT}, "infra/envs/a.tfvars", 'cats = ["%s"]\n'),
    "a module": (
        {"main.tf": OF_MODULE, "modules/pools/main.tf": PROVIDER + ROOT},
        "envs/a.tfvars",
        'cats = ["%s"]\n',
    ),
    "terragrunt": (TERRAGRUNT, "envs/env.hcl", 'locals { cats = ["%s"] }\n'),
    "yamldecode": ({"main.tf": OF_FILE}, "envs/a.yaml", "cats: [%s]\n"),
    "values of a chart": (CHART, "envs/a.yaml", "cats: [%s]\n"),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_folder_of_inputs(nodelint: Run, tmp_path: Path, form: str) -> None:
    files, path, text = FORMS[form]
    folder = path.partition("/envs/")[0] + "/envs" if "/envs/" in path else "envs"
    write_files(tmp_path, {".git/HEAD": "", **files, path: text % "p5"})

    def findings(*args: str) -> list[tuple[str, str]]:
        found = json.loads(nodelint("check", "--format", "json", "--select", "correctness", *args).stdout)["findings"]
        return [(place["path"], place["rule"]) for place in found]

    assert findings(folder) == findings() == [(path, "value-of-another-key")]
    for paths in ((), (folder,)):
        assert "1 finding (" in nodelint("baseline", "--select", "correctness", *paths).stdout
    assert "NodePool a" in nodelint("explain", folder).stdout
    write_files(tmp_path, {f"../old/{name}": text for name, text in files.items()})
    write_files(tmp_path, {"../old/.git/HEAD": "", f"../old/{path}": text % "c"})
    done = nodelint("plan", "--old", f"../old/{folder}", folder)
    assert done.returncode == 1 and "NodePool a" in done.stdout and "can no longer launch nodes" in done.stdout
    write_files(tmp_path, {path: text % "c"})
    assert findings(folder) == findings() == []
    assert "No node is replaced." in nodelint("plan", "--old", f"../old/{folder}", folder).stdout
