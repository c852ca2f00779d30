"""Installations at which helm stops, because the chart calls `fail` or `required` without a value."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]
Installer = Callable[[str, str], dict[str, str]]

CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: KarpenterNodeRole-{{ .Values.clusterName }}
  amiSelectorTerms: [{alias: {{ .Values.alias }}}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
"""
CHECK = '{{- if not .Values.clusterName }}{{ fail (printf "%s has no clusterName" .Chart.Name) }}{{ end -}}\n'
CHART = {
    "charts/kp/Chart.yaml": "apiVersion: v2\nname: kp\nversion: 0.1.0\n",
    "charts/kp/values.yaml": 'clusterName: ""\nalias: al2023@v20260618\n',
    "charts/kp/templates/class.yaml": CLASS,
}
IN_A_HELPER = {
    "charts/kp/templates/validate.yaml": '{{- include "kp.check" . }}\n',
    "charts/kp/templates/_helpers.tpl": f'{{{{- define "kp.check" -}}}}\n{CHECK}{{{{- end -}}}}\n',
}
ALIAS, NAME = ("alias", "al2023@v20260618"), ("clusterName", "main")


def application(name: str, value: str) -> dict[str, str]:
    return {
        "app.yaml": f"""\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {{name: kp, namespace: argocd}}
spec:
  project: default
  source:
    repoURL: https://git.acme.io/g.git
    targetRevision: HEAD
    path: charts/kp
    helm: {{parameters: [{{name: {name}, value: {value}}}]}}
  destination: {{server: https://kubernetes.default.svc, namespace: kube-system}}
"""
    }


def application_set(name: str, value: str) -> dict[str, str]:
    return {
        "envs/prod/config.json": json.dumps({"env": "prod", "value": value}),
        "set.yaml": f"""\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {{name: kp, namespace: argocd}}
spec:
  goTemplate: true
  generators: [{{git: {{repoURL: https://git.acme.io/g.git, revision: HEAD, files: [{{path: envs/*/config.json}}]}}}}]
  template:
    metadata: {{name: 'kp-{{{{ .env }}}}'}}
    spec:
      project: default
      source:
        repoURL: https://git.acme.io/g.git
        targetRevision: HEAD
        path: charts/kp
        helm: {{valuesObject: {{{name}: '{{{{ .value }}}}'}}}}
      destination: {{server: https://kubernetes.default.svc, namespace: kube-system}}
""",
    }


def helm_release(name: str, value: str) -> dict[str, str]:
    return {
        "release.yaml": f"""\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: pools, namespace: kube-system}}
spec:
  interval: 10m
  chart: {{spec: {{chart: ./charts/kp, sourceRef: {{kind: GitRepository, name: fleet}}}}}}
  values: {{{name}: {value}}}
"""
    }


def helmfile(name: str, value: str) -> dict[str, str]:
    return {
        "helmfile.yaml": f"""\
releases:
  - name: pools
    namespace: kube-system
    chart: ./charts/kp
    set: [{{name: {name}, value: {value}}}]
"""
    }


def terraform(name: str, value: str) -> dict[str, str]:
    return {
        "main.tf": f"""\
resource "helm_release" "pools" {{
  name  = "pools"
  chart = "${{path.module}}/charts/kp"
  set {{
    name  = "{name}"
    value = "{value}"
  }}
}}
"""
    }


def kustomize(name: str, value: str) -> dict[str, str]:
    return {
        "kustomization.yaml": f"""\
helmGlobals: {{chartHome: charts}}
helmCharts:
  - name: kp
    releaseName: pools
    valuesInline: {{{name}: {value}}}
"""
    }


def script(name: str, value: str) -> dict[str, str]:
    return {"up.sh": f"#!/bin/sh\nhelm upgrade --install pools ./charts/kp --set {name}={value}\n"}


INSTALLERS = [application, application_set, helm_release, helmfile, terraform, kustomize, script]


def check(nodelint: Run) -> tuple[int, str]:
    result = nodelint("check", "--include", "*.sh")
    return result.returncode, " ".join(result.stdout.split())


@pytest.mark.parametrize("install", INSTALLERS)
def test_an_installation_without_the_value_is_an_error(nodelint: Run, tmp_path: Path, install: Installer) -> None:
    write_files(tmp_path, {**CHART, **IN_A_HELPER, **install(*ALIAS)})
    code, output = check(nodelint)
    assert code == 1
    assert "error[refused-by-chart]: helm stops here: the chart calls `fail` (`kp has no clusterName`)" in output
    assert "charts/kp/templates/_helpers.tpl:2:" in output


@pytest.mark.parametrize("install", INSTALLERS)
def test_an_installation_with_the_value_is_silent(nodelint: Run, tmp_path: Path, install: Installer) -> None:
    write_files(tmp_path, {**CHART, **IN_A_HELPER, **install(*NAME)})
    code, output = check(nodelint)
    assert (code, "helm stops" in output) == (0, False)


def test_required_refuses_null_and_an_empty_text_and_no_other_value(nodelint: Run, tmp_path: Path) -> None:
    role = '  role: {{ required "set nodeRole" .Values.nodeRole }}'
    template = CLASS.replace("  role: KarpenterNodeRole-{{ .Values.clusterName }}", role)
    files = {**CHART, "charts/kp/templates/class.yaml": template}
    for value, refused in (('""', True), ("null", True), ("KarpenterNodeRole-main", False)):
        write_files(tmp_path, {**files, **helm_release("nodeRole", value)})
        _, output = check(nodelint)
        assert ("helm stops here: a `required` value is missing (`set nodeRole`)" in output) is refused, value
    needed = '{{- $_ := required "set on" .Values.enabled }}\n'
    write_files(tmp_path, {**CHART, "charts/kp/templates/a.yaml": needed, **helm_release("enabled", "false")})
    assert "helm stops" not in check(nodelint)[1]


def test_a_chart_whose_only_value_is_required_is_refused_by_a_release_without_values(
    nodelint: Run, tmp_path: Path
) -> None:
    text = CLASS.replace("{{ .Values.alias }}", "al2023@v20260618").replace(
        "KarpenterNodeRole-{{ .Values.clusterName }}", '{{ required "set nodeRole" .Values.nodeRole }}'
    )
    release = helm_release("a", "b")["release.yaml"].replace("  values: {a: b}\n", "")
    write_files(tmp_path, {**CHART, "charts/kp/templates/class.yaml": text, "release.yaml": release})
    code, output = check(nodelint)
    assert (code, "error[refused-by-chart]" in output) == (1, True)


def test_a_subchart_refuses_the_release_of_its_outer_chart(nodelint: Run, tmp_path: Path) -> None:
    inner = {
        path.replace("charts/kp", "charts/outer/charts/kp"): text for path, text in {**CHART, **IN_A_HELPER}.items()
    }
    outer = {"charts/outer/Chart.yaml": "apiVersion: v2\nname: outer\nversion: 0.1.0\n"}
    release = helm_release("other", "x")["release.yaml"].replace("./charts/kp", "./charts/outer")
    for values, refused in (("kp: {alias: al2023@v20260618}\n", True), ("kp: {clusterName: main}\n", False)):
        write_files(tmp_path, {**inner, **outer, "charts/outer/values.yaml": values, "release.yaml": release})
        assert ("error[refused-by-chart]" in check(nodelint)[1]) is refused


@pytest.mark.parametrize(
    ("condition", "refused"),
    [
        ("{{ if .Values.clusterName }}{{ fail `x` }}{{ end }}", False),
        ("{{ if .Capabilities.APIVersions.Has `karpenter.sh/v1` }}{{ fail `x` }}{{ end }}", False),
        ("{{ range .Values.pools }}{{ fail `x` }}{{ end }}", False),
        ("{{ if lookup `v1` `Secret` `a` `b` }}{{ fail `x` }}{{ end }}", False),
        ("{{ with .Values.alias }}{{ fail `x` }}{{ end }}", True),
        ("{{ if and .Values.alias (not .Values.clusterName) }}{{ fail `x` }}{{ end }}", True),
        ("{{ define `kp.never` }}{{ fail `x` }}{{ end }}", False),
        (
            "{{ if .Release.IsUpgrade }}{{ include `kp.x` . }}{{ end }}{{ define `kp.x` }}{{ fail `x` }}{{ end }}",
            False,
        ),
        ('{{ tpl `{{ fail "x" }}` . }}', True),
        ("{{/* fail `x` */}}", False),
    ],
)
def test_only_code_that_helm_reaches_stops_it(nodelint: Run, tmp_path: Path, condition: str, refused: bool) -> None:
    write_files(tmp_path, {**CHART, "charts/kp/templates/a.yaml": condition + "\n", **helm_release(*ALIAS)})
    assert ("error[refused-by-chart]" in check(nodelint)[1]) is refused


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"charts/kp/values-prod.yaml": "alias: al2023@v20260618\n"},
        {"up.sh": "#!/bin/sh\nhelm upgrade --install pools ./charts/kp $EXTRA\n"},
        {
            "release.yaml": helm_release(*ALIAS)["release.yaml"].replace(
                "  values: {alias: al2023@v20260618}", "  valuesFrom: [{kind: Secret, name: values}]"
            )
        },
    ],
)
def test_values_that_may_be_added_are_said_and_no_finding(
    nodelint: Run, tmp_path: Path, files: dict[str, str]
) -> None:
    write_files(tmp_path, {**CHART, **IN_A_HELPER, **files})
    code, output = check(nodelint)
    assert code == 0
    assert "refused-by-chart" not in output
    assert "All good" not in output
    assert "helm stops here: the chart calls `fail` (`kp has no clusterName`) with " in output
    assert "which values its installation adds is not known" in output


def test_a_value_that_is_not_known_stops_nothing(nodelint: Run, tmp_path: Path) -> None:
    write_files(tmp_path, {**CHART, **IN_A_HELPER, **script("clusterName", "$CLUSTER")})
    assert "helm stops" not in check(nodelint)[1]


def test_one_installation_of_two_is_named(nodelint: Run, tmp_path: Path) -> None:
    other = helm_release(*NAME)["release.yaml"].replace("name: pools, namespace", "name: other, namespace")
    write_files(tmp_path, {**CHART, **IN_A_HELPER, **helm_release(*ALIAS), "other.yaml": other})
    code, output = check(nodelint)
    assert (code, "with the values of HelmRelease kube-system pools help" in output) == (1, True)


@pytest.mark.parametrize("is_tracked", [True, False])
def test_a_values_file_that_git_ignores_is_not_read(nodelint: Run, tmp_path: Path, is_tracked: bool) -> None:
    app = application(*ALIAS)["app.yaml"].replace(
        "parameters: [{name: alias, value: al2023@v20260618}]", "valueFiles: [own.yaml]"
    )
    files = {
        ".gitignore": "own.yaml\n",
        "charts/kp/own.yaml": "clusterName: main\nalias: al2023@latest\n",
        "app.yaml": app,
    }
    write_files(tmp_path, {**CHART, **IN_A_HELPER, **files})
    git(tmp_path, "init", "-q")
    if is_tracked:
        git(tmp_path, "add", "-f", ".")
    _, output = check(nodelint)
    reason = "git ignores the values file `own.yaml`: the release is judged without it"
    assert (reason in output, "helm stops" in output) == (not is_tracked, not is_tracked)


def git(folder: Path, *command: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C", str(folder), *command],
        check=True,
        capture_output=True,
    )


@pytest.mark.parametrize("is_old", [True, False])
def test_plan_does_not_compare_a_release_that_helm_refuses(nodelint: Run, tmp_path: Path, is_old: bool) -> None:
    git(tmp_path, "init", "-q")
    write_files(tmp_path, {**CHART, **IN_A_HELPER, **helm_release(*(ALIAS if is_old else NAME))})
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "a")
    write_files(tmp_path, helm_release(*(NAME if is_old else ALIAS)))
    result = nodelint("plan", "--against", "HEAD")
    side = "old" if is_old else "new"
    assert f"nothing of the chart is installed on the {side} side: helm stops here" in " ".join(result.stdout.split())
    assert "EC2NodeClass default" in result.stdout
    assert result.returncode == 1
    assert nodelint("plan", "--against", "HEAD", "--fail-on", "never").returncode == 0


def test_plan_of_a_release_that_helm_refuses_on_both_sides(nodelint: Run, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    write_files(tmp_path, {**CHART, **IN_A_HELPER, **helm_release(*ALIAS)})
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "a")
    write_files(tmp_path, {"README.md": "nothing of the chart\n"})
    assert "Not compared" not in nodelint("plan", "--against", "HEAD").stdout
    write_files(tmp_path, helm_release("alias", "al2023@v20260501"))
    output = " ".join(nodelint("plan", "--against", "HEAD").stdout.split())
    assert "nothing of the chart is installed on either side" in output
    assert "nodes are replaced" not in output


@pytest.mark.parametrize("command", ["explain", "fit"])
def test_other_commands_say_that_helm_refuses_the_chart(nodelint: Run, tmp_path: Path, command: str) -> None:
    write_files(tmp_path, {**CHART, **IN_A_HELPER, **helm_release(*ALIAS)})
    result = nodelint(command)
    assert "charts/kp/templates/_helpers.tpl:2: helm stops here: the chart calls `fail`" in result.stderr
