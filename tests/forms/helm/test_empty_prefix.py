"""An empty text in the values of a release is empty; in the defaults of a chart, whoever installs it may set it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.inventory.test_missing_sources import APP, HELMFILE, RELEASE
from tests.manifests import nodepool
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

POOL = nodepool("key: kubernetes.io/arch, operator: In, values: {{ toJson .Values.archs }}", name="{{ NAME }}")
VALUES = 'prefix: ""\nrole: ""\narchs: [amd64]\n'
NAMES = {
    "text": "{{ .Values.prefix }}batch",
    "quoted": '"{{ .Values.prefix }}batch"',
    "printf": '{{ printf "%s%s" .Values.prefix "batch" }}',
    "after": "batch{{ .Values.prefix }}",
}
RELEASES = {
    "HelmRelease": ("r.yaml", RELEASE.replace('cpu: "10"', "archs: [arm64]%s")),
    "Application": ("r.yaml", APP.replace('cpu: "10"', "archs: [arm64]%s")),
    "helmfile": ("helmfile.yaml", HELMFILE.replace("envs/prod.yaml, {cpu: abc}", "{archs: [arm64]%s}")),
    "command": ("deploy.sh", "helm upgrade --install c ./chart --set archs={arm64}%s\n"),
}


def write_chart(folder: Path, name: str) -> None:
    chart = {"Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\n", "values.yaml": VALUES}
    chart["templates/p.yaml"] = POOL.replace("{{ NAME }}", name)
    write_files(folder, {".git/HEAD": "", **{f"chart/{path}": text for path, text in chart.items()}})


def names_of(nodelint: Run, folder: str = ".") -> set[str]:
    return {pool["name"] for pool in json.loads(nodelint("explain", "--format", "json", folder).stdout)["nodePools"]}


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("name", NAMES)
def test_a_release_with_an_empty_prefix(nodelint: Run, tmp_path: Path, release: str, name: str) -> None:
    path, text = RELEASES[release]
    write_chart(tmp_path, NAMES[name])
    write_files(tmp_path, {path: text % ""})
    assert names_of(nodelint) == {"batch"}
    prefix = ",prefix=x-" if release == "command" else ", prefix: x-"
    write_files(tmp_path, {path: text % prefix})
    assert names_of(nodelint) == {"batchx-" if name == "after" else "x-batch"}


def test_a_chart_that_nobody_installs_or_whose_release_is_not_known(nodelint: Run, tmp_path: Path) -> None:
    write_chart(tmp_path, NAMES["text"])
    assert names_of(nodelint) == {None}
    further = "  valuesFrom: [{kind: Secret, name: prefix}]\n"
    write_files(tmp_path, {"r.yaml": RELEASE.replace('cpu: "10"', "archs: [arm64]") + further})
    assert names_of(nodelint) == {None}


def test_a_new_prefix_deletes_the_pools_of_the_old_one(nodelint: Run, tmp_path: Path) -> None:
    for side, prefix in (("old", ""), ("new", ", prefix: x-")):
        write_chart(tmp_path / side, NAMES["text"])
        write_files(tmp_path / side, {"r.yaml": RELEASES["HelmRelease"][1] % prefix})
    done = nodelint("plan", "--old", "old", "new", "--fail-on", "drift")
    assert done.returncode == 1
    assert "2 NodePools: 1 deleted with all nodes, 1 new." in done.stdout and "Not compared" not in done.stdout
