"""Pods whose place is decided outside of their own manifest: `check` finds what `fit` finds, in each form.

The pool accepts every small pod, so `check` passes over manifests whose pods ask for little. What values, patches,
variables and scripts add to these manifests must count.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess
from textwrap import indent

import pytest

from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]
RULE = "no-pool-for-workload"
POOL = nodepool("key: kubernetes.io/arch, operator: In, values: [amd64]")
REPOSITORY = "https://git.example.com/shop.git"
SOURCE = f"""apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {{name: shop, namespace: flux-system}}
spec: {{url: "{REPOSITORY}"}}
---
"""


def deployment(pod: str = "", kind: str = "kind: Deployment") -> str:
    return f"""apiVersion: apps/v1
{kind}
metadata: {{name: web}}
spec:
  template:
    spec:
{indent(pod, " " * 6)}
      containers: [{{name: a, image: a}}]
"""


BY_VALUES = "{{- with .Values.nodeSelector }}\nnodeSelector: {{- toYaml . | nindent 8 }}\n{{- end }}"
CHART = {
    "chart/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
    "chart/values.yaml": "nodeSelector: {}\n",
    "chart/templates/web.yaml": deployment(BY_VALUES),
}
VALUES = "nodeSelector:\n  kubernetes.io/arch: ARCH\n"
PATCH = "- op: add\n  path: /spec/template/spec/nodeSelector\n  value: {kubernetes.io/arch: ARCH}\n"
SIZED = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n    - name: a\n      resources: {requests: {cpu: SIZE}}\n"  # noqa: E501


def release(values: str) -> str:
    return (
        f"{SOURCE}apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n"
        "metadata: {name: web, namespace: shop}\n"
        "spec:\n  chart:\n    spec:\n      chart: ./chart\n      sourceRef: {kind: GitRepository, name: shop}\n"
        + indent(values, "  ")
    )


def application(helm: str) -> str:
    return (
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web, namespace: argocd}\nspec:\n"
        f"  source:\n    repoURL: {REPOSITORY}\n    path: chart\n    helm:\n{indent(helm, ' ' * 6)}"
    )


def kustomize(resources: str, more: str = "", kind: str = "Kustomization") -> str:
    group = "v1alpha1" if kind == "Component" else "v1beta1"
    return f"apiVersion: kustomize.config.k8s.io/{group}\nkind: {kind}\nresources: [{resources}]\n{more}"


def terraform(body: str) -> str:
    return f'resource "helm_release" "web" {{\n  name  = "web"\n  chart = "./chart"\n{indent(body, "  ")}}}\n'


BASE = {"base/web.yaml": deployment(), "base/kustomization.yaml": kustomize("web.yaml")}
INLINE = f"patches:\n  - target: {{kind: Deployment}}\n    patch: |\n{indent(PATCH, ' ' * 6)}"
OUTER = {"outer/Chart.yaml": "apiVersion: v2\nname: outer\nversion: 1.0.0\n"}
DEPENDS = 'dependencies:\n  - {name: web, version: 1.0.0, repository: "file://../chart"}\n'
KIND = "kind: {{ .Values.kind }}"
SIZED_BLOCK = f'resource "kubectl_manifest" "web" {{\n  yaml_body = <<-YAML\n{indent(SIZED, " " * 4)}  YAML\n}}\n'

FORMS = {
    "values.yaml": {**CHART, "chart/values.yaml": VALUES},
    "a chart at the top": {path.removeprefix("chart/"): text for path, text in CHART.items()}
    | {"values.yaml": VALUES},
    "a further values file": {**CHART, "chart/values-prod.yaml": VALUES},
    "a HelmRelease": {**CHART, "web.yaml": release(f"values:\n{indent(VALUES, '  ')}")},
    "a ConfigMap of a HelmRelease": {
        **CHART,
        "web.yaml": release("valuesFrom: [{kind: ConfigMap, name: web, valuesKey: values.yaml}]\n"),
        "values.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: shop}\ndata:\n"
        f"  values.yaml: |\n{indent(VALUES, ' ' * 4)}",
    },
    "valuesObject": {**CHART, "app.yaml": application(f"valuesObject:\n{indent(VALUES, '  ')}")},
    "valueFiles": {**CHART, "app.yaml": application("valueFiles: [../env/prod.yaml]\n"), "env/prod.yaml": VALUES},
    "parameters": {
        **CHART,
        "app.yaml": application('parameters:\n  - {name: "nodeSelector.kubernetes\\\\.io/arch", value: ARCH}\n'),
    },
    "helmfile": {
        **CHART,
        "helmfile.yaml": "releases:\n  - {name: web, chart: ./chart, values: [env/prod.yaml]}\n",
        "env/prod.yaml": VALUES,
    },
    "a script": {
        **CHART,
        "deploy.sh": "#!/bin/sh\nhelm upgrade --install web ./chart -f env/prod.yaml\n",
        "env/prod.yaml": VALUES,
    },
    "a file of Terraform": {
        **CHART,
        "main.tf": terraform('values = [file("${path.module}/env/prod.yaml")]\n'),
        "env/prod.yaml": VALUES,
    },
    "yamlencode": {
        **CHART,
        "main.tf": terraform(
            'values = [yamlencode({\n  nodeSelector = {\n    "kubernetes.io/arch" = "ARCH"\n  }\n})]\n'
        ),
    },
    "set": {
        **CHART,
        "main.tf": terraform(
            'set {\n  name  = "nodeSelector.kubernetes\\\\.io/arch"\n  value = "ARCH"\n}\n',
        ),
    },
    "an outer chart": {
        **CHART,
        "outer/Chart.yaml": OUTER["outer/Chart.yaml"] + DEPENDS,
        "outer/values.yaml": f"web:\n{indent(VALUES, '  ')}",
    },
    "a vendored chart": {
        **{path.replace("chart/", "outer/charts/web/"): text for path, text in CHART.items()},
        **OUTER,
        "outer/values.yaml": "web: {}\n",
        "outer/values-prod.yaml": f"web:\n{indent(VALUES, '  ')}",
    },
    "a value of another name": {
        **CHART,
        "chart/values.yaml": "place:\n  kubernetes.io/arch: ARCH\n",
        "chart/templates/web.yaml": deployment("nodeSelector: {{- toYaml .Values.place | nindent 8 }}"),
    },
    "a kind by value": {
        **CHART,
        "chart/values.yaml": f"{VALUES}kind: Deployment\n",
        "chart/templates/web.yaml": deployment(BY_VALUES, KIND),
    },
    "a kind by condition": {
        **CHART,
        "chart/values.yaml": VALUES,
        "chart/templates/web.yaml": deployment(
            BY_VALUES, "kind: {{ if .Values.stateful }}StatefulSet{{ else }}Deployment{{ end }}"
        ),
    },
    "a whole object as value": {
        **CHART,
        "chart/templates/web.yaml": "{{- range .Values.extraObjects }}\n---\n{{ tpl (toYaml .) $ }}\n{{- end }}\n",
        "chart/values.yaml": "extraObjects:\n  - "
        + indent(deployment("nodeSelector: {kubernetes.io/arch: ARCH}"), " " * 4).lstrip(),
    },
    "a named template": {
        **CHART,
        "chart/values.yaml": VALUES,
        "chart/templates/_web.tpl": f'{{{{- define "web" }}}}\n{deployment(BY_VALUES)}{{{{- end }}}}\n',
        "chart/templates/web.yaml": '{{ include "web" . }}\n',
    },
    "a patch by path": {**BASE, "prod/kustomization.yaml": kustomize("../base", INLINE)},
    "a file with a patch": {
        **BASE,
        "prod/kustomization.yaml": kustomize(
            "../base", "patches: [{path: place.yaml, target: {kind: Deployment}}]\n"
        ),
        "prod/place.yaml": PATCH,
    },
    "a component": {
        **BASE,
        "prod/kustomization.yaml": kustomize("../base", "components: [../place]\n"),
        "place/kustomization.yaml": kustomize("", INLINE, "Component"),
    },
    "a Flux Kustomization": {
        **BASE,
        "flux.yaml": f"{SOURCE}apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n"
        "metadata: {name: web, namespace: flux-system}\nspec:\n  path: ./base\n"
        f"  sourceRef: {{kind: GitRepository, name: shop}}\n{indent(INLINE, '  ')}",
    },
    "a variable": {
        "main.tf": 'variable "cpu" { default = SIZE }\n' + SIZED_BLOCK.replace("SIZE", "${var.cpu}"),
    },
    "tfvars": {
        "main.tf": 'variable "cpu" {}\n' + SIZED_BLOCK.replace("SIZE", "${var.cpu}"),
        "terraform.tfvars": "cpu = SIZE\n",
    },
}


def _fill_in(files: dict[str, str], arch: str, size: str) -> Iterator[tuple[str, str]]:
    for path, text in files.items():
        yield path, text.replace("ARCH", arch).replace("SIZE", size)


@pytest.mark.parametrize("form", FORMS)
def test_check_and_fit_agree_on_what_inputs_add(tmp_path: Path, nodelint: Run, form: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text(f'[remote "origin"]\n\turl = {REPOSITORY}\n')
    (tmp_path / "pools.yaml").write_text(f"{POOL}---\n{nodeclass()}")
    for arch, size, is_taken in (("arm64", "5000", False), ("amd64", "1", True)):
        write_files(tmp_path, dict(_fill_in(FORMS[form], arch, size)))
        checked = json.loads(nodelint("check", ".", "--select", RULE, "--format", "json").stdout)["findings"]
        fitted = nodelint("fit", ".").stdout
        assert [finding["rule"] for finding in checked] == ([] if is_taken else [RULE])
        assert ("=> no pool takes it" in fitted) is not is_taken


def test_a_script_in_quotes_is_the_script_of_a_block(tmp_path: Path, nodelint: Run) -> None:
    script = "#!/bin/bash\nMAX_PODS=$(/etc/eks/max-pods-calculator.sh)\necho $MAX_PODS\n"
    block = f"|\n{indent(script, '    ')}"
    found = []
    for written in (json.dumps(script), block):
        path = tmp_path / "class.yaml"
        path.write_text(nodeclass(f"userData: {written}"))
        findings = json.loads(nodelint("check", str(path), "--format", "json").stdout)["findings"]
        found.append([(finding["rule"], finding["message"]) for finding in findings])
    assert found[0] == found[1]
    assert "user-data-family" in dict(found[0])
