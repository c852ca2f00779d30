"""A file of an ApplicationSet's git generator that cannot be parsed is an error: Argo CD creates nothing from it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.manifests import nodepool
from tests.plan.test_plan_command import git
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

SET = """\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: nodes, namespace: argocd}
spec:
  goTemplate: true
  generators:
    - GENERATOR
  template:
    metadata: {name: 'x-{{ .cluster }}'}
    spec:
      source:
        repoURL: https://git.example.com/f.git
        path: CHART
        helm: {valuesObject: {name: 'of-{{ .cluster }}'}}
      destination: {name: '{{ .cluster }}', namespace: kube-system}
"""
FILES = "git: {repoURL: 'https://git.example.com/f.git', revision: HEAD, files: [{path: 'clusters/*/cluster.*'}]}"
GENERATORS = {
    "git": FILES,
    "matrix": f"matrix: {{generators: [{{{FILES}}}, {{list: {{elements: [{{color: blue}}]}}}}]}}",
    "merge": f"merge: {{mergeKeys: [cluster], generators: [{{{FILES}}}, {{list: {{elements: [{{cluster: a}}]}}}}]}}",
}
BROKEN = {
    "json": ('{"cluster": "prod", "a": "b"}\n', '{"cluster": "prod" "a": "b"}\n'),
    "yaml": ("cluster: prod\na: b\n", " cluster: prod\na: b\n"),
}


def tree(generator: str, ending: str, text: str, chart: str = "charts/pools") -> dict[str, str]:
    return {
        ".git/HEAD": "",
        "charts/pools/Chart.yaml": "apiVersion: v2\nname: pools\nversion: 0.1.0\n",
        "charts/pools/values.yaml": "name: general\n",
        "charts/pools/templates/pool.yaml": nodepool().replace("name: default", "name: {{ .Values.name }}", 1),
        "charts/web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 0.1.0\n",
        "charts/web/templates/map.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n",
        "argocd/set.yaml": SET.replace("GENERATOR", GENERATORS[generator]).replace("CHART", chart),
        "clusters/dev/cluster.json": '{"cluster": "dev"}\n',
        f"clusters/prod/cluster.{ending}": text,
    }


@pytest.mark.parametrize("ending", BROKEN)
@pytest.mark.parametrize("generator", GENERATORS)
def test_a_broken_file_is_an_error(nodelint: Run, tmp_path: Path, generator: str, ending: str) -> None:
    right, broken = BROKEN[ending]
    write_files(tmp_path, tree(generator, ending, right))
    before = nodelint("check", "--select", "yaml-syntax")
    assert before.returncode == 0, before.stdout
    write_files(tmp_path, tree(generator, ending, broken))
    for place in (".", f"clusters/prod/cluster.{ending}"):
        after = nodelint("check", "--select", "yaml-syntax", place)
        assert after.returncode == 1, after.stdout
        assert f"--> clusters/prod/cluster.{ending}:" in after.stdout


@pytest.mark.parametrize("chart", ["charts/web", "charts/pools", "charts/pools/{{ .cluster }}"])
def test_a_file_for_other_charts_is_no_error(nodelint: Run, tmp_path: Path, chart: str) -> None:
    write_files(tmp_path, tree("git", "json", BROKEN["json"][1], chart))
    assert nodelint("check", "--select", "yaml-syntax").returncode == (0 if chart == "charts/web" else 1)


def test_plan_does_not_compare_the_cluster_of_a_broken_file(nodelint: Run, tmp_path: Path) -> None:
    right, broken = BROKEN["json"]
    write_files(tmp_path, tree("git", "json", right))
    (tmp_path / ".git/HEAD").unlink()
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "first")
    write_files(tmp_path, {"clusters/prod/cluster.json": broken})
    shown = nodelint("plan", "--against", "HEAD").stdout
    assert "NodePool of-prod" in shown.partition("Not compared")[2]
    assert "deleted" not in shown
    assert "clusters/prod/cluster.json:1" in shown
