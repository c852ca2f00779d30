"""Placeholders in the values of Karpenter's chart, in every form that installs it, and those in examples."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.manifests import nodeclass
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]

TERRAFORM = """resource "helm_release" "karpenter" {{
  name       = "karpenter"
  repository = "oci://public.ecr.aws/karpenter"
  chart      = "karpenter"
  version    = "1.8.1"
  {more}
}}
"""
SET = 'set {{\n    name  = "settings.clusterName"\n    value = "{value}"\n  }}'
FILE = 'values = [file("${path.module}/values.yaml")]'
YAML = 'values = [<<-EOT\n    settings:\n      clusterName: "{value}"\n  EOT\n  ]'
CODE = 'values = [yamlencode({{ settings = {{ clusterName = "{value}" }} }})]'
ARGO = """apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {{name: karpenter}}
spec:
  source:
    repoURL: public.ecr.aws/karpenter
    chart: karpenter
    targetRevision: 1.8.1
    helm:
      {more}
"""
FLUX = """apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: karpenter, namespace: kube-system}}
spec:
  chart:
    spec: {{chart: karpenter, version: 1.8.1, sourceRef: {{kind: HelmRepository, name: karpenter}}}}
  values:
    settings: {{clusterName: "{value}"}}
"""
HELMFILE = """releases:
  - name: karpenter
    chart: oci://public.ecr.aws/karpenter/karpenter
    version: 1.8.1
    values:
      - settings: {{clusterName: "{value}"}}
"""
VALUES = '# karpenter\nsettings:\n  clusterName: "{value}"\n  interruptionQueue: main\n'
FORMS: dict[str, Callable[[str], dict[str, str]]] = {
    "set": lambda value: {"main.tf": TERRAFORM.format(more=SET.format(value=value))},
    "heredoc": lambda value: {"main.tf": TERRAFORM.format(more=YAML.format(value=value))},
    "yamlencode": lambda value: {"main.tf": TERRAFORM.format(more=CODE.format(value=value))},
    "file": lambda value: {"main.tf": TERRAFORM.format(more=FILE), "values.yaml": VALUES.format(value=value)},
    "argo-parameters": lambda value: {
        "app.yaml": ARGO.format(more=f'parameters: [{{name: settings.clusterName, value: "{value}"}}]')
    },
    "argo-values": lambda value: {
        "app.yaml": ARGO.format(more=f'values: |\n        settings:\n          clusterName: "{value}"')
    },
    "flux": lambda value: {"karpenter.yaml": FLUX.format(value=value)},
    "helmfile": lambda value: {"helmfile.yaml": HELMFILE.format(value=value)},
    "alone": lambda value: {"karpenter/values.yaml": VALUES.format(value=value)},
}


def messages_of(nodelint: Run, folder: Path, files: Mapping[str, str], *flags: str) -> list[tuple[str, str]]:
    """Return the rule and the message of each finding about a placeholder."""
    write_files(folder, files)
    found = json.loads(nodelint("check", str(folder), "--format", "json", *flags).stdout)["findings"]
    return [(f["rule"], f["message"]) for f in found if f["rule"].startswith("placeholder")]


@pytest.mark.parametrize("form", FORMS)
def test_a_placeholder_reaches_the_release(nodelint: Run, tmp_path: Path, form: str) -> None:
    found = messages_of(nodelint, tmp_path / "bad", FORMS[form]("<CLUSTER_NAME>"))
    named = "nobody replaced the placeholder `<CLUSTER_NAME>` of `settings.clusterName`"
    assert found == [("placeholder-in-values", named)]
    assert not messages_of(nodelint, tmp_path / "good", FORMS[form]("main"))


@pytest.mark.parametrize(
    ("setting", "found"),
    [
        ("clusterName: REPLACE_ME", True),
        ("clusterEndpoint: https://<CLUSTER_ENDPOINT>", True),
        ("clusterEndpoint: https://0A1B2C3D.gr7.eu-west-1.eks.amazonaws.com", False),
        ("interruptionQueue: your-queue-name", True),
        ("interruptionQueue: karpenter-main", False),
        ("clusterName: ${CLUSTER_NAME}", False),
        ('clusterName: "{{ cluster }}"', False),
    ],
)
def test_what_counts_as_a_placeholder(nodelint: Run, tmp_path: Path, setting: str, found: bool) -> None:
    text = FLUX.format(value="main").replace('clusterName: "main"', f"batchMaxDuration: 10s, {setting}")
    assert bool(messages_of(nodelint, tmp_path, {"karpenter.yaml": text})) is found


@pytest.mark.parametrize(
    ("account", "found"), [("111122223333", True), ("ACCOUNT_ID", True), ("204519873366", False)]
)
def test_the_account_of_the_role(nodelint: Run, tmp_path: Path, account: str, found: bool) -> None:
    role = f"arn:aws:iam::{account}:role/karpenter"
    text = VALUES.format(value="main") + f"serviceAccount:\n  annotations:\n    eks.amazonaws.com/role-arn: {role}\n"
    assert bool(messages_of(nodelint, tmp_path, {"values.yaml": text})) is found


@pytest.mark.parametrize("name", ["values.example.yaml", "values-template.yaml"])
def test_a_template_of_values_is_meant_to_be_filled_in(nodelint: Run, tmp_path: Path, name: str) -> None:
    assert not messages_of(nodelint, tmp_path, {name: VALUES.format(value="<CLUSTER_NAME>")})


def test_the_defaults_of_a_chart_are_meant_to_be_replaced(nodelint: Run, tmp_path: Path) -> None:
    chart = {
        "chart/Chart.yaml": "apiVersion: v2\nname: platform\nversion: 1.0.0\ndependencies:\n"
        "  - {name: karpenter, version: 1.8.1, repository: oci://public.ecr.aws/karpenter}\n",
        "chart/values.yaml": "karpenter:\n  settings:\n    clusterName: <CLUSTER_NAME>\n",
    }
    assert not messages_of(nodelint, tmp_path, chart)


def test_a_placeholder_in_a_folder_of_examples_is_for_readers(nodelint: Run, tmp_path: Path) -> None:
    text = nodeclass(role="your-node-role")
    for folder, default, strict in (("clusters", 1, 1), ("examples/basic", 0, 1)):
        files = {f"{folder}/class.yaml": text}
        assert len(messages_of(nodelint, tmp_path / folder[:3], files)) == default
        assert len(messages_of(nodelint, tmp_path / folder[:3], files, "--profile", "strict")) == strict


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("value", "count"),
    [("var.cluster_name", 1), ("module.eks.cluster_name", 1), ("local.prod", 1), ("prod.local", 0), ("var-prod", 0)],
)
def test_a_terraform_reference_that_is_text(nodelint: Run, tmp_path: Path, form: str, value: str, count: int) -> None:
    assert len(messages_of(nodelint, tmp_path, FORMS[form](value))) == count


@pytest.mark.parametrize("value", ["${var.name}", "${module.eks.cluster_name}"])
def test_a_terraform_reference_that_is_replaced(nodelint: Run, tmp_path: Path, value: str) -> None:
    for form in ("set", "heredoc", "yamlencode"):
        assert messages_of(nodelint, tmp_path / form, FORMS[form](value)) == []
