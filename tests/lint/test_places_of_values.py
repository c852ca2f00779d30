"""A finding about what is rendered stands at the value that is wrong, and a comment there silences it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.manifests import nodepool
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

ARCH, FAMILY = (
    "key: kubernetes.io/arch, operator: In, values:",
    "key: karpenter.k8s.aws/instance-family, operator: In",
)
POOL = nodepool(f"{ARCH} [amd64]", f"{FAMILY}, values: [m7i]", name="web")
CHART = {
    "c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\n",
    "c/templates/pool.yaml": POOL.replace("[amd64]", "{{ toJson .Values.arch }}").replace(
        "[m7i]", "{{ toJson .Values.families }}"
    ),
    "c/values.yaml": "arch: [amd64]\nfamilies: [m7i]\n",
    "c/values-prod.yaml": "arch: [arm64]\nfamilies: [m7i]\n",
    "c/values-dev.yaml": "arch: [amd64]\nfamilies: [m6i]\n",
}
PATCH = "patches:\n  - target: {kind: NodePool}\n    patch: |\n      - op: replace\n"
PATCH += "        path: /spec/template/spec/requirements/0/values\n        value: [%s]\n"
OVERLAYS = {
    "base/kustomization.yaml": "resources: [pool.yaml]\n",
    "base/pool.yaml": POOL,
    "prod/kustomization.yaml": "resources: [../base]\n" + PATCH % "arm64",
    "dev/kustomization.yaml": "resources: [../base]\n" + PATCH % "amd64",
}
HEREDOC = POOL.replace("[m7i]", "${jsonencode(var.families)}").replace("\n", "\n    ")
TERRAFORM = {
    "main.tf": 'variable "families" { type = list(string) }\nresource "kubectl_manifest" "pool" {\n'
    f"  yaml_body = <<-YAML\n    {HEREDOC.rstrip()}\n  YAML\n}}\n",
    "prod.tfvars": 'families = ["m7g"]\n',
    "dev.tfvars": 'families = ["m7i"]\n',
}


def find_places(nodelint: Run) -> list[tuple[str, str, int]]:
    found = json.loads(nodelint("check", "--format", "json", "--ignore", "unknown-node-class").stdout)["findings"]
    return [(f["rule"], f["path"], f["start"]["line"]) for f in found]


@pytest.mark.parametrize(
    ("files", "path", "line"),
    [
        (CHART, "c/values-prod.yaml", 2),
        (OVERLAYS, "prod/kustomization.yaml", 6),
        (TERRAFORM, "prod.tfvars", 1),
    ],
    ids=["chart", "overlay", "terraform"],
)
def test_a_value_that_is_wrong_in_one_environment_alone_is_the_place(
    nodelint: Run, tmp_path: Path, files: dict[str, str], path: str, line: int
) -> None:
    write_files(tmp_path, files)
    assert find_places(nodelint) == [("no-instance-type", path, line)]


def test_a_patch_that_is_wrong_itself_is_the_place(nodelint: Run, tmp_path: Path) -> None:
    """Next to it are values of the base, which other overlays take as well."""
    wrong = {"prod/kustomization.yaml": "resources: [../base]\n" + PATCH % "arm46"}
    more = "      - {op: add, path: /spec/wieght, value: 1}\n"
    write_files(tmp_path, {**OVERLAYS, "prod/kustomization.yaml": wrong["prod/kustomization.yaml"] + more})
    assert {path for _, path, _ in find_places(nodelint)} == {"prod/kustomization.yaml"}
    assert "base/pool.yaml" not in nodelint("check", "--select", "unknown-field", "--format", "json").stdout


def test_what_is_wrong_in_each_environment_stands_in_the_template(nodelint: Run, tmp_path: Path) -> None:
    write_files(tmp_path, {**CHART, "c/values.yaml": "arch: [arm64]\nfamilies: [m7i]\n"})
    assert "c/templates/pool.yaml" in {path for _, path, _ in find_places(nodelint)}


@pytest.mark.parametrize(
    ("path", "beginning"),
    [("c/values-prod.yaml", "families:"), ("c/values-prod.yaml", "arch:"), ("c/templates/pool.yaml", "- {key: karp")],
)
def test_a_comment_at_each_place_of_the_finding_silences_it(
    nodelint: Run, tmp_path: Path, path: str, beginning: str
) -> None:
    comment = "# nodelint: ignore[no-instance-type] soon\n"
    indent = " " * 8 if beginning.startswith("-") else ""
    text = CHART[path].replace(beginning, f"{comment}{indent}{beginning}")
    assert text != CHART[path]
    write_files(tmp_path, {**CHART, path: text})
    assert find_places(nodelint) == []


def test_a_comment_in_one_values_file_does_not_silence_another(nodelint: Run, tmp_path: Path) -> None:
    comment = "# nodelint: ignore[no-instance-type] soon\n"
    prod = CHART["c/values-prod.yaml"]
    write_files(tmp_path, {**CHART, "c/values-prod.yaml": prod.replace("arch:", f"{comment}arch:")})
    write_files(tmp_path, {"c/values-dev.yaml": "arch: [arm64]\nfamilies: [m6i]\n"})
    assert "no-instance-type" in {rule for rule, *_ in find_places(nodelint)}


APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: NAME, namespace: argocd}
spec:
  source:
    repoURL: https://git.example.com/pools.git
    path: c
    helm: {valueFiles: [../envs/shared.yaml], valuesObject: {families: [m7i]}}
  destination: {server: https://kubernetes.default.svc}
"""
SHARED = {
    **{name: CHART[name] for name in ("c/Chart.yaml", "c/templates/pool.yaml", "c/values.yaml")},
    **{f"apps/{name}.yaml": APPLICATION.replace("NAME", name) for name in ("one", "two")},
    "envs/shared.yaml": "arch: [x86_64]\n",
}
MODULES = {
    "modules/pool/main.tf": TERRAFORM["main.tf"],
    "live/main.tf": 'module "pool" {\n  source = "../modules/pool"\n  families = var.names\n}\nvariable "names" {}\n',
    "live/prod.tfvars": 'names = ["m7i.large"]\n',
}


@pytest.mark.parametrize(
    ("files", "rule", "value", "paths"),
    [
        (SHARED, "unknown-value", "envs/shared.yaml", [".", "c", "c/templates/pool.yaml", "apps/one.yaml", "apps"]),
        (
            MODULES,
            "value-of-another-key",
            "live/prod.tfvars",
            [".", "live/main.tf", "modules", "modules/pool/main.tf"],
        ),
    ],
    ids=["two Applications", "module"],
)
def test_a_comment_at_a_shared_value_silences_the_rule_in_each_part_of_the_repository(
    nodelint: Run, tmp_path: Path, files: dict[str, str], rule: str, value: str, paths: list[str]
) -> None:
    repository = {".git/HEAD": "ref: refs/heads/main\n", **files}
    write_files(tmp_path, repository)
    for path in paths:
        assert f"[{rule}]" in nodelint("check", path, "--format", "concise").stdout, path
    assert f"{value}:1:" in nodelint("check", "--format", "concise").stdout
    comment = f" # nodelint: ignore[{rule}] our webhook rewrites it\n"
    write_files(tmp_path, {value: files[value].replace("\n", comment)})
    for path in paths:
        report = nodelint("check", path, "--format", "concise").stdout
        assert f"[{rule}]" not in report and "unused-suppression" not in report, path


HELM = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: one, namespace: argocd}
spec:
  source:
    repoURL: https://git.example.com/pools.git
    path: c
    helm:
      VALUES
  destination: {server: https://kubernetes.default.svc}
"""
ELEMENTS = """\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: set, namespace: argocd}
spec:
  goTemplate: true
  generators: [{list: {elements: [{cluster: a, arch: x86_64}, {cluster: b, arch: amd64}]}}]
  template:
    metadata: {name: '{{.cluster}}'}
    spec:
      source:
        repoURL: https://git.example.com/pools.git
        path: c
        helm: {valuesObject: {families: [m7i], arch: ['{{.arch}}']}}
      destination: {server: https://kubernetes.default.svc}
"""


@pytest.mark.parametrize(
    "application",
    [
        HELM.replace("VALUES", "valuesObject: {families: [m7i], arch: [x86_64]}"),
        HELM.replace(
            "VALUES", 'valuesObject: {arch: [x86_64]}\n      parameters: [{name: "families[0]", value: m7i}]'
        ),
        HELM.replace("VALUES", 'parameters: [{name: "arch[0]", value: x86_64}, {name: "families[0]", value: m7i}]'),
        HELM.replace("VALUES", "values: |\n        # of the team\n        arch: [x86_64]\n        families: [m7i]"),
        ELEMENTS,
    ],
    ids=["object", "object and parameters", "parameters", "text", "elements of a set"],
)
def test_a_value_of_an_application_is_fixed_where_it_is_written(
    nodelint: Run, tmp_path: Path, application: str
) -> None:
    chart = {name: CHART[name] for name in ("c/Chart.yaml", "c/templates/pool.yaml", "c/values.yaml")}
    write_files(tmp_path, {".git/HEAD": "ref: refs/heads/main\n", **chart, "app.yaml": application})
    nodelint("check", "--fix")
    assert (tmp_path / "app.yaml").read_text(encoding="utf-8") == application.replace("x86_64", "amd64")


HCL_POOL = """\
resource "kubectl_manifest" "pool" {
  yaml_body = yamlencode({
    apiVersion = "karpenter.sh/v1"
    kind       = "NodePool"
    metadata   = { name = "a" }
    spec = { template = { spec = {
      nodeClassRef = { group = "karpenter.k8s.aws", kind = "EC2NodeClass", name = "default" }
      requirements = [
        ABOVE
        { key = "kubernetes.io/arch", operator = "In", values = ["x86_64"] }, BEHIND
      ]
    } } }
  })
}
"""
TEMPLATE = nodepool("key: karpenter.sh/capacity-type, operator: In, values: [spot]") + (
    "        ABOVE\n        - {key: kubernetes.io/arch, operator: In, values: [x86_64]} BEHIND\n"
)
CHART_FILES = {"c/Chart.yaml": CHART["c/Chart.yaml"], "c/values.yaml": "name: a\n"}
PATCHED = OVERLAYS | {
    "prod/kustomization.yaml": "resources: [../base]\npatches:\n  - target: {kind: NodePool}\n    patch: |\n"
    "      - op: replace\n        path: /spec/template/spec/requirements/0/values\n        value:\n"
    "          ABOVE\n          - x86_64 BEHIND\n"
}


@pytest.mark.parametrize("place", ["ABOVE", "BEHIND"])
@pytest.mark.parametrize(
    ("files", "changed", "comment"),
    [
        ({"main.tf": HCL_POOL}, "main.tf", "// {0}"),
        ({"main.tf": HCL_POOL}, "main.tf", "/* {0} */"),
        ({"main.tf": HCL_POOL}, "main.tf", "# {0}"),
        (
            CHART_FILES | {"c/templates/pool.yaml": TEMPLATE.replace("name: default", "name: {{ .Values.name }}", 1)},
            "c/templates/pool.yaml",
            "{{{{/* {0} */}}}}",
        ),
        (PATCHED, "prod/kustomization.yaml", "# {0}"),
    ],
    ids=["slashes", "enclosed", "hash", "template", "patch"],
)
def test_a_comment_in_the_language_of_the_file_silences_the_rule(
    nodelint: Run, tmp_path: Path, files: dict[str, str], changed: str, comment: str, place: str
) -> None:
    def check(text: str) -> str:
        written = {changed: text.replace("ABOVE\n", "\n").replace("BEHIND", "")}
        write_files(tmp_path, {".git/HEAD": "ref: refs/heads/main\n", **files, **written})
        return nodelint("check", "--select", "unknown-value,unused-suppression", "--format", "concise").stdout

    assert "unknown-value" in check(files[changed])
    silenced = check(files[changed].replace(place, comment.format("nodelint: ignore[unknown-value] why")))
    assert "unknown-value" not in silenced and "unused-suppression" not in silenced
    other = check(files[changed].replace(place, comment.format("nodelint: ignore[unknown-label] why")))
    assert "unknown-value" in other


@pytest.mark.parametrize("found", [["c/values.yaml"], ["c/values.yaml", "values/other.yaml"]], ids=len)
def test_values_of_a_chart_that_is_elsewhere_are_judged_beside_those_of_a_chart(
    nodelint: Run, tmp_path: Path, found: list[str]
) -> None:
    misspelt = "pool:\n  requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [spott]}]\n"
    template = POOL.partition("      requirements:")[0] + "{{ toYaml .Values.pool | indent 6 }}\n"
    chart = {"c/Chart.yaml": CHART["c/Chart.yaml"], "c/templates/pool.yaml": template}
    write_files(tmp_path, {**chart, **dict.fromkeys(found, misspelt)})
    assert find_places(nodelint) == [("unknown-value", path, 2) for path in found]
