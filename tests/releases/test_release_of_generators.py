"""The release of Karpenter that an ApplicationSet takes from its generators is that of each cluster."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.manifests import nodepool
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

CHART = {
    ".git/HEAD": "",
    "charts/pools/Chart.yaml": "apiVersion: v2\nname: pools\nversion: 0.1.0\n",
    "charts/pools/values.yaml": "name: general\n",
    "charts/pools/templates/pool.yaml": nodepool().replace("name: default", "name: {{ .Values.name }}", 1),
    **{
        f"clusters/{name}/cluster.yaml": f"cluster: {{name: {name}}}\nkarpenter: {{version: {version}}}\n"
        for name, version in (("east", "1.9.0"), ("west", "1.6.2"))
    },
    **{f"releases/{version}/{name}/.keep": "" for name, version in (("east", "1.9.0"), ("west", "1.6.2"))},
}
SET = """\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: NAME, namespace: argocd}
spec:
  goTemplate: GO
  generators:
    - GENERATOR
  template:
    metadata: {name: 'x-CLUSTER'}
    spec:
      source: {SOURCE}
      destination: {name: 'CLUSTER', namespace: kube-system}
"""
POOLS = "repoURL: 'https://git.example.com/f.git', path: charts/pools, helm: {valuesObject: {name: 'of-CLUSTER'}}"
KARPENTER = "repoURL: public.ecr.aws/karpenter, chart: karpenter, targetRevision: 'VERSION'"
FILES = "{git: {repoURL: 'https://git.example.com/f.git', revision: HEAD, files: [{path: clusters/*/cluster.yaml}]}}"
FOLDERS = "{git: {repoURL: 'https://git.example.com/f.git', revision: HEAD, directories: [{path: releases/*/*}]}}"
NAMES = "{list: {elements: [{cluster: {name: east}}, {cluster: {name: west}}]}}"
VERSIONS = "{list: {elements: [{cluster: east, version: 1.9.0}, {cluster: west, version: 1.6.2}]}}"
ONE = "{list: {elements: [{version: 1.9.0}]}}"
MERGED = "{list: {elements: [{cluster: west, version: 1.6.2}]}}"
BASE = "{list: {elements: [{cluster: east, version: 1.9.0}, {cluster: west, version: 1.9.0}]}}"
GENERATORS = {
    "a list": (VERSIONS, "{{ .cluster }}", "{{ .version }}"),
    "a list, without Go templates": (VERSIONS, "{{cluster}}", "{{version}}"),
    "files": (FILES, "{{ .cluster.name }}", "{{ .karpenter.version }}"),
    "files, without Go templates": (FILES, "{{cluster.name}}", "{{karpenter.version}}"),
    "folders": (FOLDERS, "{{ .path.basename }}", "{{ index .path.segments 1 }}"),
    "a matrix of files": (
        f"{{matrix: {{generators: [{FILES}, {{list: {{elements: [{{a: b}}]}}}}]}}}}",
        "{{ .cluster.name }}",
        "{{ .karpenter.version }}",
    ),
    "a merge": (
        f"{{merge: {{mergeKeys: [cluster], generators: [{BASE}, {MERGED}]}}}}",
        "{{ .cluster }}",
        "{{ .version }}",
    ),
    "a prefix": (VERSIONS.replace("1.9.0", "9").replace("1.6.2", "6"), "{{ .cluster }}", "1.{{ .version }}.0"),
    "a default": (FILES, "{{ .cluster.name }}", "{{ .karpenter.version | default `1.2.0` }}"),
}


def _set(name: str, source: str, generator: str, cluster: str, version: str) -> str:
    text = SET.replace("SOURCE", source).replace("NAME", name).replace("GENERATOR", generator)
    go = "true" if "." in cluster.partition("{{")[2][:2] or "index" in version else "false"
    return text.replace("GO", go).replace("CLUSTER", cluster).replace("VERSION", version)


def _releases(nodelint: Run) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for row in json.loads(nodelint("hash", "--format", "json").stdout)["objects"]:
        if row["name"]:
            found.setdefault(row["name"], set()).add(row["karpenter"])
    return found


@pytest.mark.parametrize("title", GENERATORS)
def test_each_cluster_has_the_release_of_its_parameters(nodelint: Run, tmp_path: Path, title: str) -> None:
    generator, cluster, version = GENERATORS[title]
    sets = {
        f"argocd/{name}.yaml": _set(name, source, generator, cluster, version)
        for name, source in (("karpenter", KARPENTER), ("pools", POOLS))
    }
    write_files(tmp_path, {**CHART, **sets})
    west = "1.6.0" if title == "a prefix" else "1.6.2"
    found = _releases(nodelint)
    assert (found["of-east"], found["of-west"]) == ({"1.9.0"}, {west})
    shown = nodelint("check", "--show-files").stdout
    assert str(tmp_path) not in shown and "cannot resolve" not in shown


@pytest.mark.parametrize(
    ("generator", "version"),
    [
        ("{clusters: {}}", "{{ .metadata.labels.karpenter }}"),
        (FILES, "{{ .karpenter.release }}"),
        (FILES.replace("clusters/*", "fleet/*"), "{{ .karpenter.version }}"),
    ],
    ids=["of the cluster", "a parameter that no file has", "no file"],
)
def test_a_release_that_no_file_gives_is_not_known(
    nodelint: Run, tmp_path: Path, generator: str, version: str
) -> None:
    text = _set("karpenter", KARPENTER, generator, "{{ .cluster.name }}", version)
    write_files(tmp_path, {**CHART, "argocd/karpenter.yaml": text})
    shown = " ".join(nodelint("check").stdout.split())
    assert f"`{version}`) states a release that nodelint cannot resolve" in shown, shown


def test_a_set_for_several_clusters_with_one_release_is_for_each_of_them(nodelint: Run, tmp_path: Path) -> None:
    matrix = f"{{matrix: {{generators: [{NAMES}, {ONE}]}}}}"
    sets = {
        f"argocd/{name}.yaml": _set(name, source, matrix, "{{ .cluster.name }}", "{{ .version }}")
        for name, source in (("karpenter", KARPENTER), ("pools", POOLS))
    }
    write_files(tmp_path, {**CHART, **sets})
    found = _releases(nodelint)
    assert found["of-east"] == found["of-west"] == {"1.9.0"}
