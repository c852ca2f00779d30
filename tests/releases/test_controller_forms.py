"""Each form in which a repository installs the controller: what it says of each setting, rules go by."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from nodelint.model.releases import NEWEST
from tests.manifests import nodepool

Run = Callable[..., CompletedProcess[str]]
Files = dict[str, str]

POOL = nodepool(
    "key: node.kubernetes.io/instance-type, operator: In, values: [c7i.large, m7i.large]",
    "key: karpenter.k8s.aws/instance-family, operator: Exists, minValues: 5",
    "key: karpenter.sh/capacity-type, operator: In, values: [spot]",
    spec="  replicas: 2\n  limits: {nodes: 4}\n",
)
WRONG = {
    "settings.clusterEndpoint": "https://kubernetes.default.svc",
    "settings.minValuesPolicy": "Strict",
    "settings.batchMaxDurations": "10s",
    "settings.featureGates.staticCapacity": "false",
}
RIGHT = {
    "settings.clusterEndpoint": "https://0123.gr7.eu-west-1.eks.amazonaws.com",
    "settings.minValuesPolicy": "BestEffort",
    "settings.interruptionQueue": "main",
    "settings.featureGates.staticCapacity": "true",
}
RULES = "no-interruption-queue,feature-gate,too-few-values,endpoint-inside-cluster,unread-chart-value"
FOUND_WRONG = {
    "endpoint-inside-cluster": "warning",
    "feature-gate": "warning",
    "no-interruption-queue": "warning",
    "too-few-values": "error",
    "unread-chart-value": "warning",
}
FOUND_RIGHT = {"too-few-values": "info"}


def as_yaml(values: Files) -> str:
    """The values as a file for the chart."""
    lines = ["settings:"]
    for path, value in values.items():
        *above, name = path.removeprefix("settings.").split(".")
        lines += [f"  {above[0]}:", f"    {name}: {value}"] if above else [f"  {name}: {value}"]
    return "\n".join(lines) + "\n"


def as_hcl(values: Files) -> str:
    """The values as an object of Terraform."""
    gate = values["settings.featureGates.staticCapacity"]
    own = {path.removeprefix("settings."): value for path, value in values.items() if "featureGates" not in path}
    lines = [f'{name} = "{value}"' for name, value in own.items()]
    return "{ settings = { " + ", ".join([*lines, f"featureGates = {{ staticCapacity = {gate} }}"]) + " } }"


def indented(text: str, by: int) -> str:
    return textwrap.indent(text, " " * by)


def flux(rest: str, name: str = "release.yaml") -> Files:
    head = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: karpenter, namespace: a}\n"
    return {name: f"{head}spec:\n  chart: {{spec: {{chart: karpenter, version: {NEWEST}}}}}\n{rest}"}


CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: karpenter-values, namespace: a}\ndata:\n"
FROM = "  valuesFrom:\n    - {kind: ConfigMap, name: karpenter-values}\n"
GENERATOR = (
    "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [release.yaml]\n"
    "configMapGenerator:\n  - name: karpenter-values\n    files: [values.yaml=values/main.yaml]\n"
)


def argo(helm: str, kind: str = "Application") -> Files:
    chart = f"  repoURL: public.ecr.aws/karpenter\n  chart: karpenter\n  targetRevision: {NEWEST}\n"
    source = f"source:\n{chart}  helm:\n{helm}"
    spec = indented(source, 2)
    if kind == "ApplicationSet":
        spec = (
            f"  generators:\n    - list: {{elements: [{{name: a}}]}}\n  template:\n    spec:\n{indented(source, 6)}"
        )
    return {
        "app.yaml": f"apiVersion: argoproj.io/v1alpha1\nkind: {kind}\nmetadata: {{name: karpenter}}\nspec:\n{spec}"
    }


def argo_of_sources() -> Files:
    return {
        "app.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: karpenter}\n"
        "spec:\n  sources:\n"
        f"    - repoURL: public.ecr.aws/karpenter\n      chart: karpenter\n      targetRevision: {NEWEST}\n"
        "      helm: {valueFiles: [$values/values/main.yaml]}\n"
        "    - {repoURL: https://example.com/acme/repo.git, ref: values}\n"
    }


def terraform(given: str, more: str = "") -> Files:
    block = '  name = "karpenter"\n  repository = "oci://public.ecr.aws/karpenter"\n  chart = "karpenter"\n'
    text = f'resource "helm_release" "karpenter" {{\n{block}  version = "{NEWEST}"\n{given}\n}}\n{more}'
    return {"main.tf": text}


def set_blocks(values: Files) -> str:
    return "\n".join(f'  set {{\n    name  = "{name}"\n    value = "{value}"\n  }}' for name, value in values.items())


def set_list(values: Files) -> str:
    return (
        "  set = [" + ", ".join(f'{{ name = "{name}", value = "{value}" }}' for name, value in values.items()) + "]"
    )


def dynamic_set(values: Files) -> Files:
    pairs = ", ".join(f'"{name}" = "{value}"' for name, value in values.items())
    dynamic = (
        '  dynamic "set" {\n    for_each = local.settings\n    content {\n      name  = set.key\n'
        "      value = set.value\n    }\n  }"
    )
    return terraform(dynamic, f"locals {{\n  settings = {{ {pairs} }}\n}}\n")


def flags(values: Files) -> str:
    return " \\\n  ".join(f"--set {name}={value}" for name, value in values.items())


INSTALL = f"helm upgrade --install karpenter oci://public.ecr.aws/karpenter/karpenter \\\n  --version {NEWEST}"


def deployment(values: Files) -> Files:
    names = {
        "settings.clusterEndpoint": "CLUSTER_ENDPOINT",
        "settings.minValuesPolicy": "MIN_VALUES_POLICY",
        "settings.interruptionQueue": "INTERRUPTION_QUEUE",
    }
    env = [f'- {{name: {names[path]}, value: "{value}"}}' for path, value in values.items() if path in names]
    env.append(f'- {{name: FEATURE_GATES, value: "StaticCapacity={values["settings.featureGates.staticCapacity"]}"}}')
    head = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: karpenter}\nspec:\n  template:\n    spec:\n"
    image = f"public.ecr.aws/karpenter/controller:{NEWEST}"
    container = f"      containers:\n        - name: controller\n          image: {image}\n          env:\n"
    return {"deployment.yaml": f"{head}{container}{indented(chr(10).join(env), 12)}\n"}


def parameters(values: Files) -> str:
    lines = (f'- {{name: {name}, value: "{value}"}}\n' for name, value in values.items())
    return indented("parameters:\n" + "".join(lines), 4)


FORMS: dict[str, Callable[[Files], Files]] = {
    "Flux values": lambda v: flux(f"  values:\n{indented(as_yaml(v), 4)}"),
    "Flux valuesFrom": lambda v: {
        **flux(FROM),
        "map.yaml": f"{CONFIG_MAP}  values.yaml: |\n{indented(as_yaml(v), 4)}",
    },
    "Flux valuesFrom a generator": lambda v: {
        **flux(FROM),
        "kustomization.yaml": GENERATOR,
        "values/main.yaml": as_yaml(v),
    },
    "Argo CD values": lambda v: argo(f"    values: |\n{indented(as_yaml(v), 6)}"),
    "Argo CD valuesObject": lambda v: argo(f"    valuesObject:\n{indented(as_yaml(v), 6)}"),
    "Argo CD parameters": lambda v: argo(parameters(v)),
    "Argo CD sources": lambda v: {**argo_of_sources(), "values/main.yaml": as_yaml(v)},
    "Argo CD in a heredoc of Terraform": lambda v: {
        "main.tf": 'resource "kubectl_manifest" "karpenter" {\n  yaml_body = <<-YAML\n'
        + indented(argo(f"    valuesObject:\n{indented(as_yaml(v), 6)}")["app.yaml"], 4)
        + "  YAML\n}\n"
    },
    "ApplicationSet": lambda v: argo(f"    valuesObject:\n{indented(as_yaml(v), 6)}", "ApplicationSet"),
    "helm_release heredoc": lambda v: terraform(f"  values = [<<-EOT\n{indented(as_yaml(v), 4)}    EOT\n  ]"),
    "helm_release yamlencode": lambda v: terraform(f"  values = [yamlencode({as_hcl(v)})]"),
    "helm_release local": lambda v: terraform(
        "  values = [yamlencode(local.values)]", f"locals {{\n  values = {as_hcl(v)}\n}}\n"
    ),
    "helm_release file": lambda v: {
        **terraform('  values = [file("${path.module}/values/main.yaml")]'),
        "values/main.yaml": as_yaml(v),
    },
    "helm_release templatefile": lambda v: {
        **terraform('  values = [templatefile("${path.module}/values/main.yaml", { name = var.name })]'),
        "values/main.yaml": as_yaml({"settings.clusterName": "${name}", **v}),
    },
    "helm_release set": lambda v: terraform(set_blocks(v)),
    "helm_release list of set": lambda v: terraform(set_list(v)),
    "helm_release dynamic set": dynamic_set,
    "helmfile values": lambda v: {
        "helmfile.yaml": f"releases:\n  - name: karpenter\n    chart: karpenter/karpenter\n    version: {NEWEST}\n"
        f"    values:\n      -\n{indented(as_yaml(v), 8)}"
    },
    "helmfile file": lambda v: {
        "helmfile.yaml": f"releases:\n  - name: karpenter\n    chart: karpenter/karpenter\n    version: {NEWEST}\n"
        "    values: [values/main.yaml]\n",
        "values/main.yaml": as_yaml(v),
    },
    "helmfile set": lambda v: {
        "helmfile.yaml": f"releases:\n  - name: karpenter\n    chart: karpenter/karpenter\n    version: {NEWEST}\n"
        "    set:\n" + "".join(f"      - {{name: {name}, value: '{value}'}}\n" for name, value in v.items())
    },
    "helm --set": lambda v: {"install.sh": f"#!/bin/bash\n{INSTALL} \\\n  {flags(v)}\n"},
    "helm --values": lambda v: {"install.sh": f"{INSTALL} -f values/main.yaml\n", "values/main.yaml": as_yaml(v)},
    "helmCharts": lambda v: {
        "kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nhelmCharts:\n"
        f"  - name: karpenter\n    repo: oci://public.ecr.aws/karpenter\n    version: {NEWEST}\n"
        f"    valuesInline:\n{indented(as_yaml(v), 6)}"
    },
    "chart that depends on it": lambda v: {
        "chart/Chart.yaml": "apiVersion: v2\nname: nodes\nversion: 0.1.0\ndependencies:\n"
        f"  - {{name: karpenter, version: {NEWEST}, repository: 'oci://public.ecr.aws/karpenter'}}\n",
        "chart/values.yaml": f"karpenter:\n{indented(as_yaml(v), 2)}",
    },
    "Deployment": deployment,
}


def findings(nodelint: Run, tmp_path: Path, files: Files) -> dict[str, str]:
    for name, text in {"pool.yaml": POOL, **files}.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    done = nodelint("check", "--select", RULES, "--format", "json")
    return {finding["rule"]: finding["severity"] for finding in json.loads(done.stdout)["findings"]}


@pytest.mark.parametrize("form", FORMS)
def test_each_setting_is_read_in_each_form(nodelint: Run, tmp_path: Path, form: str) -> None:
    wrong = dict(FOUND_WRONG)
    if form == "Deployment":  # which has no values of a chart
        del wrong["unread-chart-value"]
    assert findings(nodelint, tmp_path, FORMS[form](WRONG)) == wrong
    assert findings(nodelint, tmp_path, FORMS[form](RIGHT)) == FOUND_RIGHT
