"""Values that a helmfile gives to a chart of the repository are those with which the chart is judged."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.forms.argocd.test_application_sets import CHART
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]

RELEASE = """\
releases:
  - name: karpenter
    chart: oci://public.ecr.aws/karpenter/karpenter
  - name: pools
    chart: CHART
"""
GIVEN = {
    "inline": ("    values:\n      - {weight: 101}\n", {}, ("helmfile.yaml", 7)),
    "a file": ("    values: [env/prod.yaml]\n", {"env/prod.yaml": "weight: 101\n"}, ("env/prod.yaml", 1)),
    "the last of two": (
        "    values: [env/prod.yaml, {weight: 101}]\n",
        {"env/prod.yaml": "weight: 7\n"},
        ("helmfile.yaml", 6),
    ),
    "set": ('    values: [{weight: 7}]\n    set:\n      - {name: weight, value: "101"}\n', {}, ("helmfile.yaml", 8)),
}


def write(
    folder: Path, release: str, files: dict[str, str], chart: str = "./pools", at: str = "helmfile.yaml"
) -> None:
    write_files(folder, {**CHART, **files, at: RELEASE.replace("CHART", chart) + release, ".git/HEAD": ""})


def places(nodelint: Run) -> list[tuple[str, int]]:
    found = json.loads(nodelint("check", ".", "--select", "invalid-field", "--format", "json").stdout)["findings"]
    return [(finding["path"], finding["start"]["line"]) for finding in found]


@pytest.mark.parametrize("title", GIVEN)
def test_a_mistake_is_found_in_the_values_of_a_release(tmp_path: Path, nodelint: Run, title: str) -> None:
    release, files, place = GIVEN[title]
    write(tmp_path, release, files)
    assert places(nodelint) == [place]
    write(tmp_path, release.replace("101", "100"), {name: text.replace("101", "100") for name, text in files.items()})
    assert places(nodelint) == []


@pytest.mark.parametrize(
    ("chart", "at", "release", "count"),
    [
        ("../pools", "helmfile.d/10-pools.yaml", "    values: [{weight: 101}]\n", 1),
        ("pools", "helmfile-prod.yaml", "    values: [{weight: 101}]\n", 1),
        ("./pools", "helmfile.yaml", "    installed: false\n    values: [{weight: 101}]\n", 0),
        ("./other", "helmfile.yaml", "    values: [{weight: 101}]\n", 0),
        ("./pools", "releases.yaml", "    values: [{weight: 101}]\n", 0),
    ],
)
def test_which_releases_count(tmp_path: Path, nodelint: Run, chart: str, at: str, release: str, count: int) -> None:
    write(tmp_path, release, {}, chart, at)
    assert len(places(nodelint)) == count


def test_a_change_of_values_is_a_change_of_the_pool(tmp_path: Path, nodelint: Run) -> None:
    for side, family in (("old", "m7i"), ("new", "r7i")):
        write(tmp_path / side, f"    values:\n      - families: [{family}]\n", {})
    plan = json.loads(nodelint("plan", "--old", "old", "new", "--format", "json").stdout)
    assert [(pool["change"], pool["replaced"]) for pool in plan["nodePools"]] == [("changed", "all")]
