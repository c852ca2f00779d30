"""Files that an object names and that are not there, or are not YAML: the tool refuses the object."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.manifests import nodepool
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

POOL = nodepool("key: karpenter.sh/capacity-type, operator: In, values: [on-demand]", name="a")
CHART = {
    "chart/Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\n",
    "chart/values.yaml": 'cpu: "10"\n',
    "chart/templates/p.yaml": POOL.replace("spec:\n", "spec:\n  limits: {cpu: {{ .Values.cpu | quote }}}\n", 1),
}
HELM_RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: c, namespace: kube-system}
spec:
  chart:
    spec:
      chart: ./chart
      sourceRef: {kind: GitRepository, name: fleet}
      valuesFiles: [./envs/prod.yaml]
  values: {cpu: abc}
"""
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: c, namespace: argocd}
spec:
  source:
    repoURL: https://git.example.com/x.git
    path: chart
    helm:
      valueFiles: [../envs/prod.yaml]
      valuesObject: {cpu: abc}
  destination: {server: https://kubernetes.default.svc}
"""
APPLICATION_SET = """\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: c, namespace: argocd}
spec:
  goTemplate: true
  generators: [{list: {elements: [{env: prod}]}}]
  template:
    spec:
      source:
        path: chart
        repoURL: https://git.example.com/x.git
        helm: {valueFiles: ['../envs/{{.env}}.yaml'], valuesObject: {cpu: abc}}
"""
INFLATED = """\
helmGlobals: {chartHome: .}
helmCharts:
  - name: chart
    releaseName: c
    valuesFile: envs/prod.yaml
    valuesInline: {cpu: abc}
    valuesMerge: merge
"""
TERRAFORM = """\
resource "helm_release" "c" {
  name   = "c"
  chart  = "${path.module}/chart"
  values = [file("${path.module}/envs/prod.yaml"), yamlencode({ cpu = "abc" })]
}
"""
DECODED = """\
locals {
  all = yamldecode(file("${path.module}/envs/prod.yaml"))
}
resource "kubectl_manifest" "p" {
  yaml_body = yamlencode({
    apiVersion = "karpenter.sh/v1", kind = "NodePool", metadata = { name = "a" }
    spec = { limits = { cpu = "abc" }, weight = local.all.x, template = { spec = {
      nodeClassRef = { group = "karpenter.k8s.aws", kind = "EC2NodeClass", name = "a" }
      requirements = [] } } }
  })
}
"""
HELMFILE = "releases:\n- {name: c, chart: ./chart, values: [envs/prod.yaml, {cpu: abc}]}\n"
FORMS = {
    "flux": ("hr.yaml", HELM_RELEASE, "hr.yaml:9"),
    "flux in an overlay": ("hr.yaml", HELM_RELEASE, "hr.yaml:9"),
    "argo cd": ("app.yaml", APPLICATION, "app.yaml:9"),
    "application set": ("app.yaml", APPLICATION_SET, "app.yaml:12"),
    "helmfile": ("helmfile.yaml", HELMFILE, "helmfile.yaml:2"),
    "kustomize": ("kustomization.yaml", INFLATED, "kustomization.yaml:5"),
    "terraform": ("main.tf", TERRAFORM, "main.tf:4"),
    "yamldecode": ("main.tf", DECODED, "main.tf:2"),
    "script": ("deploy.sh", "helm upgrade --install c ./chart -f envs/prod.yaml --set cpu=abc\n", "deploy.sh:1"),
}
MAY_BE_ELSEWHERE = ("terraform", "yamldecode", "script")
"""Forms whose files something may write before the tool runs: a missing file is not known, and no error."""


def write_form(tmp_path: Path, form: str, values: str | None) -> str:
    """Write a repository whose release, in one of the forms, sets `cpu: abc` and names a values file."""
    name, text, place = FORMS[form]
    write_files(tmp_path, {".git/HEAD": "", name: text, **(CHART if form != "yamldecode" else {})})
    if "overlay" in form:
        write_files(tmp_path, {"kustomization.yaml": "resources: [hr.yaml]\n"})
    if values is not None:
        write_files(tmp_path, {"envs/prod.yaml": values})
    return place


def lines_of(nodelint: Run, *args: str) -> list[str]:
    """Return the lines of `check`, without those that a class is not among the files."""
    done = nodelint("check", "--format", "concise", "--select", "correctness", *args)
    lines = [*done.stdout.splitlines(), *done.stderr.splitlines()]
    return [line for line in lines if "image-arch-mismatch" not in line]


@pytest.mark.parametrize("form", FORMS)
def test_a_values_file_that_is_not_there(nodelint: Run, tmp_path: Path, form: str) -> None:
    place = write_form(tmp_path, form, None)
    lines = lines_of(nodelint)
    assert any("error[invalid-field]: `abc`" in line for line in lines), "the inline values are judged"
    found = [line for line in lines if "[missing-source]" in line]
    if form in MAY_BE_ELSEWHERE:
        assert not found
        assert any(f"Skipped: {place}: " in line and "envs/prod.yaml`" in line for line in lines)
    else:
        assert [line.startswith(f"{place}:") and "has no values file" in line for line in found] == [True]
    write_form(tmp_path, form, "x: 1\n")
    lines = lines_of(nodelint)
    assert [line.partition("error[")[2].partition("]")[0] for line in lines if "error[" in line] == ["invalid-field"]
    assert not any("envs/prod.yaml" in line for line in lines if line.startswith("Skipped"))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("path", [".", "envs/prod.yaml"])
def test_a_values_file_that_is_not_yaml(nodelint: Run, tmp_path: Path, form: str, path: str) -> None:
    write_form(tmp_path, form, "cpu: [1\n")
    done = nodelint("check", "--format", "concise", path)
    found = [line.partition(": error")[::2] for line in done.stdout.splitlines() if ": error" in line]
    assert done.returncode == 1
    assert [(at, text[:13]) for at, text in found if "yaml-syntax" in text] == [
        ("envs/prod.yaml:2:1", "[yaml-syntax]")
    ]
    assert any(text.startswith("[invalid-field]: `abc`") for _, text in found), "the inline values are judged"


@pytest.mark.parametrize(
    ("form", "old", "new"),
    [
        ("flux", "      valuesFiles", "      ignoreMissingValuesFiles: true\n      valuesFiles"),
        ("argo cd", "      valueFiles", "      ignoreMissingValueFiles: true\n      valueFiles"),
        ("helmfile", "- {name: c,", "- {missingFileHandler: Warn, name: c,"),
        ("flux", "kind: GitRepository", "kind: HelmRepository"),
        ("argo cd", "../envs/prod.yaml", "$other/envs/prod.yaml"),
        ("argo cd", "../envs/prod.yaml", "../envs/*.yaml"),
    ],
)
def test_a_values_file_that_need_not_be_there(nodelint: Run, tmp_path: Path, form: str, old: str, new: str) -> None:
    name, text, _ = FORMS[form]
    write_form(tmp_path, form, None)
    write_files(tmp_path, {name: text.replace(old, new)})
    lines = lines_of(nodelint)
    assert any("`abc`" in line for line in lines) and not any("missing-source" in line for line in lines)


def test_an_empty_values_file_sets_nothing(nodelint: Run, tmp_path: Path) -> None:
    write_form(tmp_path, "flux", "# nothing yet\n")
    lines = lines_of(nodelint)
    assert len([line for line in lines if "error[" in line]) == 1
    assert not any(line.startswith("Skipped") and "envs" in line for line in lines)


@pytest.mark.parametrize(
    ("text", "code"),
    [("karpenter: [\n", 1), ("# karpenter\na: 1\na: 2\n", 0), ("karpenter: {{ .x }}\n{% if y %}", 0)],
)
def test_a_named_file_that_is_not_yaml(nodelint: Run, tmp_path: Path, text: str, code: int) -> None:
    """A key twice is valid for many tools, and a template is not YAML yet."""
    write_files(tmp_path, {"a.yaml": text})
    done = nodelint("check", "--format", "json", "a.yaml")
    assert done.returncode == code
    assert [found["rule"] for found in json.loads(done.stdout)["findings"]] == ["yaml-syntax"] * code


SET = APPLICATION_SET.replace("'../envs/{{.env}}.yaml'", "").replace("cpu: abc", "cpu: '{{.env}}'")
KUSTOMIZATION = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: nodes, namespace: flux-system}
spec:
  path: ./overlays/prod
  sourceRef: {kind: GitRepository, name: fleet}
  targetNamespace: karpenter
"""
NAMED_SPOT = '{{- define "pools.spot" -}}\n[{{ . }}]\n{{- end }}\n'
OVERLAY = {"overlays/prod/kustomization.yaml": "resources: [../../base]\nnamePrefix: x-\n"}
OVERLAY |= {"base/kustomization.yaml": "resources: [p.yaml]\n", "base/p.yaml": POOL}
RELEASE = HELM_RELEASE.replace("      valuesFiles: [./envs/prod.yaml]\n", "").replace("abc", '"10"')
APP = APPLICATION.replace("      valueFiles: [../envs/prod.yaml]\n", "").replace("abc", '"10"')
NAMED = {"chart/templates/p.yaml": POOL.replace("[on-demand]", '{{ include "pools.spot" $x }}')}
NAMED["chart/templates/p.yaml"] = (
    "{{- range $x := .Values.all }}\n---\n" + NAMED["chart/templates/p.yaml"] + "{{- end }}\n"
)
NAMED |= {"chart/values.yaml": "all: [spot]\n", "chart/templates/_helpers.tpl": NAMED_SPOT}
REFERENCES = {
    "chart of a HelmRelease": ({**CHART, "r.yaml": RELEASE}, "r.yaml:7", "chart: ./chart", "chart: ./chrt"),
    "path of a Kustomization": ({**OVERLAY, "r.yaml": KUSTOMIZATION}, "r.yaml:5", "overlays/prod", "overlays/prd"),
    "path of an Application": ({**CHART, "r.yaml": APP}, "r.yaml:7", "path: chart", "path: charts"),
    "path of a set": ({**CHART, "r.yaml": SET}, "r.yaml:10", "path: chart", "path: charts"),
    "parameter of a set": ({**CHART, "r.yaml": SET}, "r.yaml:12", "{{.env}}", "{{.envs}}"),
    "chart of a helmfile": ({**CHART, "helmfile.yaml": HELMFILE.replace("envs/prod.yaml, {cpu: abc}", "")},
                            "helmfile.yaml:2", "./chart", "./charts"),
    "named template": ({**CHART, **NAMED}, "chart/templates/_helpers.tpl:1", '"pools.spot"', '"pools.spt"'),
    "resource": ({**OVERLAY, "r.yaml": KUSTOMIZATION}, "base/kustomization.yaml:1", "p.yaml", "p.yml"),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFERENCES)
def test_a_reference_that_leads_nowhere(nodelint: Run, tmp_path: Path, kind: str) -> None:
    """`check` names it, and for `plan` nothing of what the object applied is deleted or changed."""
    files, place, old, new = REFERENCES[kind]
    path = place.partition(":")[0]
    for side in ("old", "new"):
        write_files(tmp_path / side, {".git/HEAD": "", **files})
    lines = lines_of(nodelint, "old")
    assert not any("missing-source" in line or line.startswith("Skipped") for line in lines)
    same = nodelint("plan", "--old", "old", "new").stdout
    assert "Not compared" not in same and "No node is replaced" in same, same
    write_files(tmp_path / "new", {path: files[path].replace(old, new)})
    lines = [re.sub(r"^(?:Skipped|nodelint): ", "", line) for line in lines_of(nodelint, "new")]
    # helm names the place that includes a template, and not the one that defines another.
    named = "chart/templates/p.yaml:12" if kind == "named template" else place
    assert any(line.startswith(f"new/{named}:") for line in lines), lines
    done = nodelint("plan", "--old", "old", "new")
    assert done.returncode == 1 and "Not compared" in done.stdout
    assert named in done.stdout or kind == "resource"
    printed = " ".join(done.stdout.split())
    for false in ("deleted", "new: it has no nodes", "instance types", "is gone", "changed without"):
        assert false not in printed, printed


def test_a_path_of_another_repository_is_not_known(nodelint: Run, tmp_path: Path) -> None:
    """Nothing shows that the GitRepository is this one: the path may exist there."""
    write_files(tmp_path, {".git/HEAD": "", **CHART, "r.yaml": RELEASE.replace("./chart", "./deploy/karpenter")})
    lines = lines_of(nodelint)
    assert not any("missing-source" in line for line in lines)
    assert any(line.startswith("Skipped: r.yaml:7: the repository has no folder") for line in lines)
    write_files(tmp_path, {"s.yaml": RELEASE.replace("name: c,", "name: d,")})
    assert any(line.startswith("r.yaml:7:14: error[missing-source]") for line in lines_of(nodelint))


def test_a_submodule_that_is_not_checked_out_is_not_missing(nodelint: Run, tmp_path: Path) -> None:
    """git keeps no empty folder: its files are in another repository."""
    text = RELEASE.replace("./chart", "./deploy/karpenter")
    write_files(tmp_path, {".git/HEAD": "", **CHART, "r.yaml": text, "s.yaml": RELEASE})
    assert any("missing-source" in line for line in lines_of(nodelint))
    (tmp_path / "deploy").mkdir()
    lines = lines_of(nodelint)
    assert not any("missing-source" in line for line in lines)
    assert any(line.startswith("Skipped: r.yaml:7: the folder `./deploy/karpenter` is not checked") for line in lines)


@pytest.mark.parametrize(
    ("code", "count"),
    [("{{.env}}", 0), ("{{.other}}", 1), ("{{ if .other }}1{{ end }}", 0), ("{{ default 1 .other }}", 0)],
)
def test_a_parameter_that_only_some_elements_have(nodelint: Run, tmp_path: Path, code: str, count: int) -> None:
    text = SET.replace("{env: prod}", "{env: prod, other: 1}, {env: dev}").replace("'{{.env}}'", f"'{code}'")
    write_files(tmp_path, {".git/HEAD": "", **CHART, "r.yaml": text})
    assert len([line for line in lines_of(nodelint) if "not every element of the generators gives" in line]) == count
    write_files(tmp_path, {"r.yaml": text.replace("{list:", "{clusters: {}}, {list:")})
    assert not any("of the generators gives" in line for line in lines_of(nodelint)), "a cluster may give it"


@pytest.mark.parametrize(("path", "is_error"), [("charts", False), ("deploy/charts", True)])
def test_a_name_at_the_top_may_be_one_of_another_repository(
    nodelint: Run, tmp_path: Path, path: str, is_error: bool
) -> None:
    chart = path.removesuffix("s")
    application = (
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: nodes, namespace: argocd}\nspec:\n"
        f"  source: {{repoURL: 'https://git.example.com/others.git', path: {path}}}\n"
    )
    write_files(
        tmp_path,
        {
            "app.yaml": application,
            f"{chart}/Chart.yaml": "apiVersion: v2\nname: nodes\nversion: 1.0.0\n",
            f"{chart}/values.yaml": "family: m7i\n",
            f"{chart}/templates/pool.yaml": nodepool(
                "key: karpenter.k8s.aws/instance-family, operator: In, values: ['{{ .Values.family }}']"
            ),
        },
    )
    done = nodelint("check", ".", "--format", "concise")
    assert ("error[missing-source]" in done.stdout) is is_error
    assert f"the repository has no folder `{path}`" in done.stdout + done.stderr
