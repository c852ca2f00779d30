"""Each form in which a repository installs the controller: what it says of each setting, rules go by."""

from __future__ import annotations

import json
import textwrap
from base64 import b64encode
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


def as_manifest(before: str, values: Files, after: str = "") -> str:
    """A resource of Terraform that makes a HelmRelease."""
    chart = f'chart = {{ spec = {{ chart = "karpenter", version = "{NEWEST}" }} }}'
    kind = "kubernetes_manifest" if before.startswith("manifest") else "kubectl_manifest"
    head = 'apiVersion = "helm.toolkit.fluxcd.io/v2", kind = "HelmRelease", metadata = { name = "karpenter" }'
    spec = f"spec = {{ {chart}, values = {as_hcl(values)} }}"
    return f'resource "{kind}" "karpenter" {{\n  {before}{{ {head}, {spec} }}{after}\n}}\n'


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


def one_line(values: Files) -> str:
    """The command with all its settings on one line, as other languages hold it."""
    return " ".join([INSTALL.replace(" \\\n ", ""), *(f"--set {name}={value}" for name, value in values.items())])


def skaffold(rest: str) -> str:
    chart = f"remoteChart: oci://public.ecr.aws/karpenter/karpenter\n        version: {NEWEST}\n"
    head = "apiVersion: skaffold/v4beta11\nkind: Config\ndeploy:\n  helm:\n    releases:\n"
    return f"{head}      - name: karpenter\n        {chart}{rest}"


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


def by_path(values: Files) -> Files:
    """Each value under a key of its own in a ConfigMap that names neither Karpenter nor its settings."""
    references = (
        f"    - {{kind: ConfigMap, name: v, valuesKey: k{number}, targetPath: {path}}}\n"
        for number, path in enumerate(values)
    )
    data = "".join(f'  k{number}: "{value}"\n' for number, value in enumerate(values.values()))
    config = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: v, namespace: a}}\ndata:\n{data}"
    return {**flux("  valuesFrom:\n" + "".join(references)), "map.yaml": config}


def addons(given: str) -> Files:
    head = 'module "addons" {\n  source = "aws-ia/eks-blueprints-addons/aws"\n  version = "1.23.0"\n'
    karpenter = f'  karpenter = {{\n    chart_version = "{NEWEST}"\n    {given}\n  }}\n'
    return {"main.tf": f"{head}  enable_karpenter = true\n{karpenter}}}\n"}


PATCH = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: karpenter, namespace: a}\n"
SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: karpenter-values, namespace: a}\n"
FROM_SECRET = "  valuesFrom:\n    - {kind: Secret, name: karpenter-values}\n"

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
    "Flux valuesFrom a Secret": lambda v: {
        **flux(FROM_SECRET),
        "secret.yaml": f"{SECRET}stringData:\n  values.yaml: |\n{indented(as_yaml(v), 4)}",
    },
    "Flux valuesFrom an encoded Secret": lambda v: {
        **flux(FROM_SECRET),
        "secret.yaml": f"{SECRET}data: {{values.yaml: {b64encode(as_yaml(v).encode()).decode()}}}\n",
    },
    "Flux valuesFrom a generated Secret": lambda v: {
        **flux(FROM_SECRET),
        "kustomization.yaml": GENERATOR.replace("configMap", "secret"),
        "values/main.yaml": as_yaml(v),
    },
    "Flux valuesFrom by path": by_path,
    "Flux patch of an overlay": lambda v: {
        **flux("  values: {settings: {clusterName: a}}\n", "base/release.yaml"),
        "base/kustomization.yaml": "resources: [release.yaml]\n",
        "prod/kustomization.yaml": "resources: [../base]\npatches: [{path: patch.yaml}]\n",
        "prod/patch.yaml": f"{PATCH}spec:\n  values:\n{indented(as_yaml(v), 4)}",
    },
    "Flux inline patch of an overlay": lambda v: {
        **flux("  values: {settings: {clusterName: a}}\n", "base/release.yaml"),
        "base/kustomization.yaml": "resources: [release.yaml]\n",
        "prod/kustomization.yaml": "resources: [../base]\npatches:\n  - patch: |\n"
        + indented(f"{PATCH}spec:\n  values:\n{indented(as_yaml(v), 4)}", 6),
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
    "helm_release with inputs of Terragrunt": lambda v: {
        ".git/HEAD": "ref: refs/heads/main\n",
        "live/terragrunt.hcl": 'terraform {\n  source = "../k"\n}\ninputs = {\n  values = ' + as_hcl(v) + "\n}\n",
        "k/main.tf": terraform("  values = [yamlencode(var.values)]", 'variable "values" {}\n')["main.tf"],
    },
    "values of a module of add-ons": lambda v: addons(f"values = [<<-EOT\n{indented(as_yaml(v), 6)}      EOT\n    ]"),
    "settings of a module of add-ons": lambda v: addons(set_list(v)),
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
    "README": lambda v: {"README.md": f"# Install\n\n```sh\n{INSTALL} \\\n  {flags(v)}\n```\n"},
    "helm --values": lambda v: {"install.sh": f"{INSTALL} -f values/main.yaml\n", "values/main.yaml": as_yaml(v)},
    "helm --set-json": lambda v: {
        "install.sh": f"{INSTALL} " + " ".join(f"--set-json '{name}=\"{value}\"'" for name, value in v.items()) + "\n"
    },
    "helm --values of a heredoc": lambda v: {
        "install.sh": f"cat > values.yaml <<EOF\n{as_yaml(v)}EOF\n{INSTALL} -f values.yaml\n"
    },
    "helm --values of the input": lambda v: {"install.sh": f"{INSTALL} -f - <<'EOF'\n{as_yaml(v)}EOF\n"},
    "helm template": lambda v: {
        "install.sh": f"{INSTALL.replace('upgrade --install', 'template')} {flags(v)} > k.yaml\n"
    },
    "HelmChartInflationGenerator": lambda v: {
        "kustomization.yaml": "generators: [chart.yaml]\n",
        "chart.yaml": "apiVersion: builtin\nkind: HelmChartInflationGenerator\nmetadata: {name: karpenter}\n"
        f"name: karpenter\nrepo: oci://public.ecr.aws/karpenter\nversion: {NEWEST}\n"
        f"valuesInline:\n{indented(as_yaml(v), 2)}",
    },
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
    "HelmChart of k3s": lambda v: {
        "chart.yaml": "apiVersion: helm.cattle.io/v1\nkind: HelmChart\nmetadata: {name: karpenter}\nspec:\n"
        f"  chart: oci://public.ecr.aws/karpenter/karpenter\n  version: {NEWEST}\n"
        f"  valuesContent: |-\n{indented(as_yaml(v), 4)}"
    },
    "HelmChartConfig of k3s": lambda v: {
        "chart.yaml": "apiVersion: helm.cattle.io/v1\nkind: HelmChart\nmetadata: {name: karpenter}\nspec:\n"
        f"  chart: oci://public.ecr.aws/karpenter/karpenter\n  version: {NEWEST}\n",
        "config.yaml": "apiVersion: helm.cattle.io/v1\nkind: HelmChartConfig\nmetadata: {name: karpenter}\nspec:\n"
        f"  valuesContent: |-\n{indented(as_yaml(v), 4)}",
    },
    "Release of Crossplane": lambda v: {
        "release.yaml": "apiVersion: helm.crossplane.io/v1beta1\nkind: Release\nmetadata: {name: karpenter}\nspec:\n"
        "  forProvider:\n    chart: {name: karpenter, repository: 'oci://public.ecr.aws/karpenter', "
        f"version: {NEWEST}}}\n    values:\n{indented(as_yaml(v), 6)}"
    },
    "Fleet": lambda v: {
        "fleet.yaml": "defaultNamespace: karpenter\nhelm:\n  chart: oci://public.ecr.aws/karpenter/karpenter\n"
        f"  version: {NEWEST}\n  values:\n{indented(as_yaml(v), 4)}"
    },
    "kubernetes_manifest": lambda v: {
        "main.tf": as_manifest("manifest = ", v),
    },
    "kubectl_manifest of yamlencode": lambda v: {
        "main.tf": as_manifest("yaml_body = yamlencode(", v, ")"),
    },
    "argocd_application": lambda v: {
        "main.tf": 'resource "argocd_application" "karpenter" {\n'
        '  metadata {\n    name = "karpenter"\n  }\n  spec {\n'
        '    source {\n      repo_url = "public.ecr.aws/karpenter"\n      chart = "karpenter"\n'
        f'      target_revision = "{NEWEST}"\n      helm {{\n        values = yamlencode({as_hcl(v)})\n'
        "      }\n    }\n  }\n}\n"
    },
    "Deployment": deployment,
    "Makefile": lambda v: {"Makefile": f"install:\n\t{one_line(v)}\n"},
    "justfile": lambda v: {"justfile": f"install:\n    {one_line(v)}\n"},
    "Taskfile": lambda v: {"Taskfile.yml": f"version: '3'\ntasks:\n  a:\n    cmds:\n      - {one_line(v)}\n"},
    "package.json": lambda v: {"package.json": json.dumps({"scripts": {"karpenter": one_line(v)}}, indent=2)},
    "mise": lambda v: {"mise.toml": f'[tasks.install]\nrun = "{one_line(v)}"\n'},
    "Tiltfile": lambda v: {"Tiltfile": f"local('{one_line(v)}')\n"},
    "Earthfile": lambda v: {"Earthfile": f"VERSION 0.8\na:\n    FROM alpine/helm\n    RUN {one_line(v)}\n"},
    "Dockerfile": lambda v: {"Dockerfile": f"FROM alpine/helm\nRUN {one_line(v)}\n"},
    "GitLab": lambda v: {".gitlab-ci.yml": f"a:\n  script:\n    - {one_line(v)}\n"},
    "GitHub": lambda v: {
        ".github/workflows/a.yml": f"on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n      - run: {one_line(v)}\n"
    },
    "Jenkinsfile": lambda v: {"Jenkinsfile": f"node {{\n  sh '{one_line(v)}'\n}}\n"},
    "CircleCI": lambda v: {
        ".circleci/config.yml": f"version: 2.1\njobs:\n  a:\n    steps:\n      - run: {{command: '{one_line(v)}'}}\n"
    },
    "Azure script": lambda v: {"azure-pipelines.yml": f"steps:\n  - script: {one_line(v)}\n"},
    "Azure HelmDeploy": lambda v: {
        "azure-pipelines.yml": "steps:\n  - task: HelmDeploy@1\n    inputs:\n      command: upgrade\n"
        f"      chartName: oci://public.ecr.aws/karpenter/karpenter\n      chartVersion: {NEWEST}\n"
        f"      overrideValues: {','.join(f'{name}={value}' for name, value in v.items())}\n"
    },
    "skaffold": lambda v: {
        "skaffold.yaml": skaffold(
            "        setValues:\n" + "".join(f"          {name}: '{value}'\n" for name, value in v.items())
        )
    },
    "skaffold files": lambda v: {
        "skaffold.yaml": skaffold("        valuesFiles: [values/main.yaml]\n"),
        "values/main.yaml": as_yaml(v),
    },
    "skaffold overrides": lambda v: {"skaffold.yaml": skaffold(f"        overrides:\n{indented(as_yaml(v), 10)}")},
    "Pulumi YAML": lambda v: {
        "Pulumi.yaml": "name: a\nruntime: yaml\nresources:\n  karpenter:\n    type: kubernetes:helm.sh/v3:Release\n"
        f"    properties:\n      chart: karpenter\n      version: {NEWEST}\n      values:\n{indented(as_yaml(v), 8)}"
    },
    "Ansible": lambda v: {
        "play.yml": "- hosts: all\n  tasks:\n    - kubernetes.core.helm:\n        name: karpenter\n"
        f"        chart_ref: oci://public.ecr.aws/karpenter/karpenter\n        chart_version: {NEWEST}\n"
        f"        release_values:\n{indented(as_yaml(v), 10)}"
    },
}


def findings(nodelint: Run, tmp_path: Path, files: Files) -> dict[str, str]:
    for name, text in {"pool.yaml": POOL, **files}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    done = nodelint("check", "--select", RULES, "--format", "json")
    return {finding["rule"]: finding["severity"] for finding in json.loads(done.stdout)["findings"]}


KNOWN_GAPS = {
    # Other patches, which the files do not show, may name a queue; the module of add-ons names one by itself.
    "Flux patch of an overlay": {"no-interruption-queue"},
    "Flux inline patch of an overlay": {"no-interruption-queue"},
    "values of a module of add-ons": {"no-interruption-queue"},
    "settings of a module of add-ons": {"no-interruption-queue"},
    "README": {"no-interruption-queue"},  # what people run beside it is not known
    "Deployment": {"unread-chart-value"},  # which has no values of a chart
}
"""What is not found in a form, though the files hold it."""


@pytest.mark.parametrize("form", FORMS)
def test_each_setting_is_read_in_each_form(nodelint: Run, tmp_path: Path, form: str) -> None:
    gaps = KNOWN_GAPS.get(form, set())
    wrong = {rule: severity for rule, severity in FOUND_WRONG.items() if rule not in gaps}
    assert findings(nodelint, tmp_path, FORMS[form](WRONG)) == wrong
    assert findings(nodelint, tmp_path, FORMS[form](RIGHT)) == FOUND_RIGHT


UNREAD = {
    "encrypted Secret": {
        **flux(FROM_SECRET),
        "secret.yaml": f"{SECRET}stringData: {{values.yaml: 'ENC[AES256_GCM,data:x]'}}\nsops: {{version: 3.9.0}}\n",
    },
    "Secret of somewhere else": flux(FROM_SECRET),
    "variable without a default": terraform("  values = [yamlencode({ settings = var.s })]", 'variable "s" {}\n'),
    "extension of Tilt": {
        "Tiltfile": "helm_resource('a', 'oci://public.ecr.aws/karpenter/karpenter', flags=['--version', '1.8.3'])\n"
    },
    "templates of Skaffold": {
        "skaffold.yaml": skaffold("        setValueTemplates: {settings.minValuesPolicy: a}\n")
    },
    "variable of a shell": {"install.sh": f"{INSTALL} $HELM_FLAGS\n"},
    "file of another repository": argo("    valueFiles: [https://example.com/values.yaml]\n"),
    "template of values": {
        "helmfile.yaml": f"releases:\n  - name: karpenter\n    chart: karpenter/karpenter\n    version: {NEWEST}\n"
        "    values: [values.yaml.gotmpl]\n",
        "values.yaml.gotmpl": "settings:\n  minValuesPolicy: {{ .Values.policy }}\n",
    },
    "template of a helmfile": {
        "helmfile.yaml.gotmpl": "releases:\n  - name: karpenter\n    chart: karpenter/karpenter\n"
        f"    version: {NEWEST}\n"
        "    values:\n      - values/{{ .Environment.Name }}.yaml\n"
    },
    "file of Fleet that is elsewhere": {
        "fleet.yaml": "helm:\n  chart: oci://public.ecr.aws/karpenter/karpenter\n"
        f"  version: {NEWEST}\n  valuesFiles: [prod.yaml]\n"
    },
    "Secret of Crossplane": {
        "release.yaml": "apiVersion: helm.crossplane.io/v1beta1\nkind: Release\nmetadata: {name: karpenter}\nspec:\n"
        "  forProvider:\n    chart: {name: karpenter, repository: 'oci://public.ecr.aws/karpenter', "
        f"version: {NEWEST}}}\n    valuesFrom: [{{secretKeyRef: {{name: karpenter, namespace: a, key: values}}}}]\n"
    },
    "file by an environment": {
        "helmfile.yaml": f"releases:\n  - name: karpenter\n    chart: karpenter/karpenter\n    version: {NEWEST}\n"
        "    values: ['values/{{ .Environment.Name }}.yaml']\n"
    },
}


@pytest.mark.parametrize("form", UNREAD)
def test_values_that_are_not_known_are_neither_set_nor_missing(nodelint: Run, tmp_path: Path, form: str) -> None:
    assert findings(nodelint, tmp_path, UNREAD[form]) == {"feature-gate": "info"}
    text = " ".join(nodelint("check", "--select", "too-few-values").stdout.split())
    assert "its policy for minValues is not known" in text


PREFERRED = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: web, resources: {requests: {cpu: 1}}}]
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
              - matchExpressions: [{key: karpenter.k8s.aws/instance-family, operator: In, values: [m7i]}]
              - matchExpressions: [{key: karpenter.k8s.aws/instance-family, operator: In, values: [nothing]}]
          preferredDuringSchedulingIgnoredDuringExecution:
            - weight: 1
              preference: {matchExpressions: [{key: kubernetes.io/arch, operator: In, values: [arm64]}]}
"""
LATER = {"settings.preferencePolicy": "Ignore", "settings.defaultInstanceProfile": "nodes", **RIGHT}
NO_VALUE = {"Deployment"}


@pytest.mark.parametrize("form", FORMS)
def test_preferences_and_a_profile_that_no_chart_reads(nodelint: Run, tmp_path: Path, form: str) -> None:
    files = {**FORMS[form](LATER), "web.yaml": PREFERRED}
    if form not in NO_VALUE:
        assert findings(nodelint, tmp_path, files) == {**FOUND_RIGHT, "unread-chart-value": "warning"}
        (tmp_path / "pool.yaml").write_text(nodepool("key: kubernetes.io/arch, operator: In, values: [amd64]"))
        assert nodelint("fit").returncode == 0


GATE = "settings.featureGates.staticCapacity"
ENV = "    controller:\n      env:\n        - "
STATIC_CAPACITY: dict[str, Callable[[str], Files]] = {
    "truth": lambda on: flux(f"  values: {{settings: {{featureGates: {{staticCapacity: {on}}}}}}}\n"),
    "text": lambda on: flux(f"  values: {{settings: {{featureGates: {{staticCapacity: '{on}'}}}}}}\n"),
    "environment": lambda on: flux(f"  values:\n{ENV}{{name: FEATURE_GATES, value: StaticCapacity={on}}}\n"),
    "several gates": lambda on: flux(
        f'  values:\n{ENV}{{name: FEATURE_GATES, value: "NodeRepair=true,StaticCapacity={on}"}}\n'
    ),
    "set of a truth": lambda on: terraform(f'  set {{\n    name = "{GATE}"\n    value = {on}\n  }}'),
    "set of a text": lambda on: terraform(
        f'  set {{\n    name = "{GATE}"\n    value = "{on}"\n    type = "string"\n  }}'
    ),
    "set by a local": lambda on: terraform(
        f'  set = [{{ name = "{GATE}", value = tostring(local.on) }}]', f"locals {{\n  on = {on}\n}}\n"
    ),
    "variable with a default": lambda on: terraform(
        "  values = [yamlencode({ settings = { featureGates = { staticCapacity = var.on } } })]",
        f'variable "on" {{\n  default = {on}\n}}\n',
    ),
    "forced text": lambda on: argo(f"    parameters: [{{name: {GATE}, value: '{on}', forceString: true}}]\n"),
    "--set-string": lambda on: {"install.sh": f"{INSTALL} --set-string {GATE}={on}\n"},
    "--set after another": lambda on: {"install.sh": f"{INSTALL} --set {GATE}=x --set {GATE}={on}\n"},
    "flag": lambda on: {
        "deployment.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: karpenter}\nspec:\n  template:\n"
        f"    spec:\n      containers:\n        - image: public.ecr.aws/karpenter/controller:{NEWEST}\n"
        f'          args: ["--feature-gates=StaticCapacity={on}"]\n'
    },
}


@pytest.mark.parametrize("way", STATIC_CAPACITY)
@pytest.mark.parametrize("on", ["true", "false"])
def test_a_gate_is_read_in_each_way_to_set_it(nodelint: Run, tmp_path: Path, way: str, on: str) -> None:
    found = findings(nodelint, tmp_path, STATIC_CAPACITY[way](on))
    assert found.get("feature-gate") == (None if on == "true" else "warning")
