"""A misspelt key in the values of an installation: helm accepts it, and the chart keeps its default."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.forms.helm.test_refused_installs import application
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]
CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: {{ .Values.nodeRole }}
  amiSelectorTerms: [{alias: {{ .Values.alias }}}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
"""
CHART = {
    ".git/config": '[remote "origin"]\n  url = https://git.acme.io/g.git\n',
    "charts/kp/Chart.yaml": "apiVersion: v2\nname: kp\nversion: 0.1.0\n",
    "charts/kp/values.yaml": "nodeRole: main\nalias: al2023@v20260618\n",
    "charts/kp/templates/class.yaml": CLASS,
}
WRONG, RIGHT = "nodeRol", "nodeRole"


def release(name: str, more: str = "") -> dict[str, str]:
    return {
        "release.yaml": "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n"
        "metadata: {name: kp, namespace: a}\nspec:\n  interval: 10m\n"
        "  chart: {spec: {chart: ./charts/kp, sourceRef: {kind: GitRepository, name: fleet}}}\n"
        f"  values: {{{name}: other{more}}}\n"
    }


def helmfile(name: str) -> dict[str, str]:
    values = f"[{{{name}: other}}]"
    return {"helmfile.yaml": f"releases:\n  - name: kp\n    chart: ./charts/kp\n    values: {values}\n"}


def terraform(name: str) -> dict[str, str]:
    text = 'resource "helm_release" "kp" {\n  name  = "kp"\n  chart = "${path.module}/charts/kp"\n'
    return {"main.tf": f'{text}  set {{\n    name  = "{name}"\n    value = "other"\n  }}\n}}\n'}


def values_object(name: str) -> dict[str, str]:
    text = application("a", "b")["app.yaml"]
    parameters = "{parameters: [{name: a, value: b}]}"
    return {"app.yaml": text.replace(parameters, f"{{valuesObject: {{{name}: other}}}}")}


def parameters(name: str) -> dict[str, str]:
    return application(name, "other")


INSTALLERS = [values_object, parameters, release, helmfile, terraform]


def check(nodelint: Run, tmp_path: Path, files: dict[str, str]) -> str:
    write_files(tmp_path, CHART | files)
    return nodelint("check", ".", "--format", "concise", "--select", "unread-chart-value").stdout


@pytest.mark.parametrize("installer", INSTALLERS)
def test_a_misspelt_key_is_reported_where_it_is_written(
    tmp_path: Path, nodelint: Run, installer: Callable[[str], dict[str, str]]
) -> None:
    (file,) = installer(WRONG)
    output = check(nodelint, tmp_path, installer(WRONG))
    assert "the chart reads no value `nodeRol`: `nodeRole` keeps its default" in output, output
    assert output.startswith(f"{file}:")
    assert "unread-chart-value" not in check(nodelint, tmp_path, installer(RIGHT))


SILENT = {
    "a template reads it": {"charts/kp/templates/more.yaml": "{{ .Values.nodeRol }}\n"},
    "all values are read": {"charts/kp/templates/more.yaml": "{{ toYaml .Values }}\n"},
    "a value may be a template": {"charts/kp/templates/more.yaml": "{{ tpl .Values.nodeRole . }}\n"},
    "the schema names it": {"charts/kp/values.schema.json": '{"properties": {"nodeRol": {}}}'},
    "the chart has dependencies": {
        "charts/kp/Chart.yaml": CHART["charts/kp/Chart.yaml"]
        + "dependencies: [{name: library, version: 1.0.0, repository: 'https://example.com'}]\n"
    },
    "the other key is set as well": release(WRONG, ", nodeRole: c"),
    "no value of the chart is near": release("team"),
}


@pytest.mark.parametrize("case", SILENT)
def test_a_key_that_may_be_meant_is_not_reported(tmp_path: Path, nodelint: Run, case: str) -> None:
    assert "unread-chart-value" not in check(nodelint, tmp_path, release(WRONG) | SILENT[case])


def test_a_values_file_of_several_charts_is_not_judged(tmp_path: Path, nodelint: Run) -> None:
    app = application("a", "b")["app.yaml"].replace(
        "{parameters: [{name: a, value: b}]}", "{valueFiles: [../../v.yaml]}"
    )
    files = {"app.yaml": app, "v.yaml": f"{WRONG}: other\n"}
    assert "unread-chart-value" not in check(nodelint, tmp_path, files)


def test_a_configmap_of_several_charts_is_not_judged(tmp_path: Path, nodelint: Run) -> None:
    text = release(RIGHT)["release.yaml"].partition("  values:")[0]
    text += "  valuesFrom: [{kind: ConfigMap, name: shared}]\n---\napiVersion: v1\nkind: ConfigMap\n"
    text += f"metadata: {{name: shared, namespace: a}}\ndata:\n  values.yaml: |\n    {WRONG}: other\n"
    assert "unread-chart-value" not in check(nodelint, tmp_path, {"release.yaml": text})


@pytest.mark.parametrize(("read", "reported"), [("{{ .Values.nodeRol }}", False), ("{{ .Values.nodeRole }}", True)])
def test_a_key_that_another_chart_of_the_set_reads_is_not_reported(
    tmp_path: Path, nodelint: Run, read: str, reported: bool
) -> None:
    other = {path.replace("/kp/", "/other/"): text for path, text in CHART.items() if "charts/" in path}
    other["charts/other/Chart.yaml"] = "apiVersion: v2\nname: other\nversion: 0.1.0\n"
    other["charts/other/templates/class.yaml"] = CLASS.replace("{{ .Values.nodeRole }}", read)
    app = values_object(WRONG)["app.yaml"].partition("spec:")[2].replace("\n", "\n    ")
    app = app.replace("charts/kp", "charts/{{ .name }}")
    text = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: kp, namespace: argocd}\nspec:\n"
    text += "  goTemplate: true\n  generators: [{list: {elements: [{name: kp}, {name: other}]}}]\n"
    text += f"  template:\n    metadata: {{name: 'x-{{{{ .name }}}}'}}\n    spec:{app}\n"
    output = check(nodelint, tmp_path, other | {"set.yaml": text})
    assert ("unread-chart-value" in output) is reported, (output, text)
