"""The values that an ApplicationSet gives to a chart of the repository are judged, one element at a time."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from nodelint.forms.argocd.application_sets import list_applications
from nodelint.text import Source
from tests.manifests import nodeclass
from tests.repositories import write_files

Nodelint = Callable[..., subprocess.CompletedProcess[str]]

CHART = {
    "pools/Chart.yaml": "apiVersion: v2\nname: pools\nversion: 1.0.0\n",
    "pools/values.yaml": "weight: 5\nfamilies: [c7i]\n",
    "pools/templates/pool.yaml": """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: web
spec:
  weight: {{ .Values.weight }}
  limits:
    cpu: 10
  template:
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: default
      requirements:
        - key: karpenter.k8s.aws/instance-family
          operator: In
          values: {{ toJson .Values.families }}
""",
}
LIST = """\
    - list:
        elements:
          - {cluster: dev, weight: "10"}
          - {cluster: prod, weight: "<weight>"}
"""
MATRIX = """\
    - matrix:
        generators:
          - clusters: {}
          - list:
              elements:
                - {cluster: dev, weight: "10"}
                - {cluster: prod, weight: "<weight>"}
"""
HELM = {
    "valuesObject": "          valuesObject:\n            weight: '{{<dot>weight}}'\n",
    "values": "          values: |\n            weight: {{<dot>weight}}\n",
    "parameters": "          parameters:\n            - {name: weight, value: '{{<dot>weight}}'}\n",
    "a file": "          valueFiles: ['values-{{<dot>cluster}}.yaml']\n",
}


def application_set(generators: str, helm: str, go: bool, weight: str) -> str:
    dot = " ." if go else ""
    return f"""\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata:
  name: nodes
spec:
  goTemplate: {str(go).lower()}
  generators:
{generators}  template:
    metadata:
      name: nodes
    spec:
      source:
        repoURL: https://example.com/acme/gitops
        path: pools
        helm:
{helm}""".replace("<dot>", dot).replace("<weight>", weight)


def weights(nodelint: Nodelint, folder: Path, files: dict[str, str]) -> list[tuple[str, set[str]]]:
    (folder / ".git").mkdir()
    for path, text in {**CHART, **files}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    report = json.loads(nodelint("check", ".", "--format", "json", cwd=folder).stdout)
    errors = [finding for finding in report["findings"] if finding["severity"] == "error"]
    return [(error["message"], {error["path"], *(place["path"] for place in error["related"])}) for error in errors]


@pytest.mark.parametrize("go", [True, False])
@pytest.mark.parametrize("form", HELM)
@pytest.mark.parametrize("generators", [LIST, MATRIX], ids=["list", "matrix"])
def test_each_element_is_judged(nodelint: Nodelint, tmp_path: Path, generators: str, form: str, go: bool) -> None:
    files = {"apps/set.yaml": application_set(generators, HELM[form], go, "101")}
    if form == "a file":
        files["pools/values-dev.yaml"], files["pools/values-prod.yaml"] = "weight: 10\n", "weight: 101\n"
    expected = "pools/values-prod.yaml" if form == "a file" else "apps/set.yaml"
    (message, places), *others = weights(nodelint, tmp_path, files)
    assert message == "`weight` is 101, the maximum is 100"
    assert expected in places
    assert others == []


@pytest.mark.parametrize("form", ["valuesObject", "values", "parameters"])
def test_right_elements_and_unknown_ones_have_no_findings(nodelint: Nodelint, tmp_path: Path, form: str) -> None:
    clusters = "    - clusters: {}\n"
    files = {
        "apps/right.yaml": application_set(LIST, HELM[form], True, "100"),
        "apps/unknown.yaml": application_set(clusters, HELM[form], True, "100"),
    }
    assert weights(nodelint, tmp_path, files) == []


GIT = """\
    - git:
        repoURL: https://example.com/platform.git
        files: [{path: 'clusters/*/config.yaml'}]
"""
FOLDERS = """\
    - git:
        repoURL: https://example.com/platform.git
        directories: [{path: 'clusters/*'}, {path: clusters/dev, exclude: true}]
"""


@pytest.mark.parametrize("go", [True, False])
@pytest.mark.parametrize("form", HELM)
def test_files_of_the_repository_give_parameters(nodelint: Nodelint, tmp_path: Path, form: str, go: bool) -> None:
    files = {
        "apps/set.yaml": application_set(GIT, HELM[form], go, "0"),
        "clusters/dev/config.yaml": "cluster: dev\nweight: 10\n",
        "clusters/prod/config.yaml": "cluster: prod\nweight: 101\n",
    }
    if form == "a file":
        files |= {"pools/values-prod.yaml": "weight: 101\n", "pools/values-dev.yaml": "weight: 10\n"}
    (message, places), *others = weights(nodelint, tmp_path, files)
    assert message == "`weight` is 101, the maximum is 100"
    assert ("clusters/prod/config.yaml" if form != "a file" else "pools/values-prod.yaml") in places
    assert others == []


@pytest.mark.parametrize("go", [True, False])
def test_folders_of_the_repository_give_their_paths(nodelint: Nodelint, tmp_path: Path, go: bool) -> None:
    helm = HELM["a file"].replace("cluster", "path.basename")
    files = {"apps/set.yaml": application_set(FOLDERS, helm, go, "0")}
    for name, weight in (("dev", 102), ("prod", 101)):
        files |= {f"clusters/{name}/.keep": "", f"pools/values-{name}.yaml": f"weight: {weight}\n"}
    messages = [message for message, _ in weights(nodelint, tmp_path, files)]
    assert "`weight` is 101, the maximum is 100" in messages


@pytest.mark.parametrize(("exclude", "found"), [("true", [101]), ("false", [101, 102])])
def test_a_folder_is_left_out_where_its_entry_excludes_it(
    nodelint: Nodelint, tmp_path: Path, exclude: str, found: list[int]
) -> None:
    generators = FOLDERS.replace("clusters/dev, exclude: true", f"clusters/102, exclude: {exclude}")
    helm = HELM["parameters"].replace("weight}}", "path.basename}}")
    files = {"apps/set.yaml": application_set(generators, helm, True, "0")}
    files |= {f"clusters/{name}/.keep": "" for name in (101, 102)}
    messages = sorted(message for message, _ in weights(nodelint, tmp_path, files))
    assert messages == [f"`weight` is {weight}, the maximum is 100" for weight in found]


def test_pools_of_a_set_have_the_classes_of_their_own_application(nodelint: Nodelint, tmp_path: Path) -> None:
    template = (
        CHART["pools/templates/pool.yaml"] + "---\n" + nodeclass().replace("role: ", "role: {{ .Values.team }}-")
    )
    helm = "          valuesObject: {team: '{{.cluster}}'}\n"
    files = {"apps/set.yaml": application_set(LIST, helm, True, "10")} | CHART
    files |= {"pools/templates/pool.yaml": template, "pools/values.yaml": CHART["pools/values.yaml"] + "team: a\n"}
    write_files(tmp_path, files | {".git/HEAD": ""})
    assert "several classes" not in nodelint("explain", ".", cwd=tmp_path).stdout


def test_a_truth_value_of_an_element_is_written_as_yaml_writes_it() -> None:
    text = """\
kind: ApplicationSet
metadata: {name: karpenter}
spec:
  generators: [{list: {elements: [{spot: true, arm: false, count: 3}]}}]
  template: {spec: {source: {path: "{{spot}}-{{arm}}-{{count}}"}}}
"""
    root = Source.from_text("set.yaml", text, "karpenter").documents[0].root
    assert root is not None
    (spec,) = list_applications(root, lambda *_: None)
    path = spec.find("source", "path")
    assert path is not None and path.value == "true-false-3"
