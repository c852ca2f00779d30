"""Pools that a named template makes, of the chart itself or of a library, are built and judged as others are."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Nodelint = Callable[..., subprocess.CompletedProcess[str]]

LIBRARY = """\
{{- define "lib.requirements" -}}
{{- range $key, $line := . }}
- key: {{ $key }}
  operator: In
  values: {{ $line.values | toJson }}
{{- end }}
{{- end -}}
{{- define "lib.pool" -}}
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: {{ printf "%s-%s" .root.Release.Name .name | trunc 63 | trimSuffix "-" }}
spec:
  {{- with .pool.weight }}
  weight: {{ . }}
  {{- end }}
  template:
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: {{ .pool.class | default "default" }}
      {{- if .pool.taints }}
      taints: {{- toYaml .pool.taints | nindent 8 }}
      {{- end }}
      requirements: {{- include "lib.requirements" (merge (deepCopy .pool.lines) .root.Values.common) | nindent 8 }}
  disruption:
    consolidateAfter: <consolidateAfter>
{{- end -}}
"""
POOLS = """\
{{- range $name, $pool := .Values.pools }}
---
{{ include "lib.pool" (dict "root" $ "name" $name "pool" $pool) }}
{{- end }}
"""
VALUES = """\
common:
  kubernetes.io/arch: {values: [<arch>]}
pools:
  web:
    weight: <weight>
    lines:
      karpenter.k8s.aws/instance-family: {values: [c7g, <family>]}
"""
RIGHT = {"arch": "arm64", "weight": "10", "family": "m7g", "consolidateAfter": "30s"}
PLACES = ("its own", "vendored", "beside it")
"""Where the named template stands."""


def write_chart(folder: Path, place: str, **values: str) -> str:
    """Write a chart whose pools a named template makes; gives the path of that template from the folder on."""
    helper = {
        "its own": "templates/_pool.tpl",
        "vendored": "charts/lib/templates/_pool.tpl",
        "beside it": "../lib/templates/_pool.tpl",
    }[place]
    chart = "apiVersion: v2\nname: pools\nversion: 1.0.0\n"
    if place != "its own":
        address = "file://../lib" if place == "beside it" else "https://charts.example.com"
        chart += f"dependencies:\n  - {{name: lib, version: 1.0.0, repository: {address!r}}}\n"
    files = {"Chart.yaml": chart, "templates/pools.yaml": POOLS, "values.yaml": VALUES, helper: LIBRARY}
    if place != "its own":
        files[str(Path(helper).parent.parent / "Chart.yaml")] = (
            "apiVersion: v2\nname: lib\nversion: 1.0.0\ntype: library\n"
        )
    for name, text in files.items():
        path = folder / "pools" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        for key, value in {**RIGHT, **values}.items():
            text = text.replace(f"<{key}>", value)
        path.write_text(text)
    return (Path("pools") / helper).as_posix().replace("pools/../", "")


def judged(nodelint: Nodelint, cwd: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(nodelint("check", ".", "--format", "json", cwd=cwd).stdout)
    return found


MISTAKES = {
    "arch": ("amd64", "no-instance-type", "pools/values.yaml", 2),
    "weight": ("101", "invalid-field", "pools/values.yaml", 5),
    "family": ('"*"', "wildcard-value", "pools/values.yaml", 7),
    "consolidateAfter": ("30d", "invalid-field", None, 28),
}
"""For a value that is wrong: the rule that says so, and the file and line; None for that of the named template."""


@pytest.mark.parametrize("place", PLACES)
def test_a_correct_pool_of_a_named_template_has_no_errors_and_is_counted(
    nodelint: Nodelint, tmp_path: Path, place: str
) -> None:
    write_chart(tmp_path, place)
    report = judged(nodelint, tmp_path)
    assert [finding for finding in report["findings"] if finding["severity"] == "error"] == []
    assert report["coverage"]["objects"] == 1
    assert report["coverage"]["notJudged"] == []


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found_where_it_is_written(nodelint: Nodelint, tmp_path: Path, place: str, name: str) -> None:
    value, rule, path, line = MISTAKES[name]
    helper = write_chart(tmp_path, place, **{name: value})
    errors = [finding for finding in judged(nodelint, tmp_path)["findings"] if finding["severity"] == "error"]
    assert [(error["rule"], error["path"], error["start"]["line"]) for error in errors] == [
        (rule, path or helper, line)
    ]


def test_a_value_of_a_named_template_is_edited_in_its_file(nodelint: Nodelint, tmp_path: Path) -> None:
    helper = tmp_path / write_chart(tmp_path, "vendored", consolidateAfter="never")
    before = helper.read_text()
    assert nodelint("check", ".", "--fix", cwd=tmp_path).returncode == 0
    assert helper.read_text() == before.replace("consolidateAfter: never", "consolidateAfter: Never")


@pytest.mark.parametrize("place", PLACES)
def test_every_command_has_the_pool(nodelint: Nodelint, tmp_path: Path, place: str) -> None:
    write_chart(tmp_path, place)
    explained = json.loads(nodelint("explain", ".", "--format", "json", cwd=tmp_path).stdout)
    assert [pool["nodeClass"] for pool in explained["nodePools"]] == ["default"]
    assert "NodePool" in nodelint("hash", ".", cwd=tmp_path).stdout


def test_a_plan_compares_the_pools_of_a_named_template(nodelint: Nodelint, tmp_path: Path) -> None:
    write_chart(tmp_path, "beside it")
    for command in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "a"],
    ):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    write_chart(tmp_path, "beside it", family="r7g")
    plan = json.loads(nodelint("plan", "--format", "json", cwd=tmp_path).stdout)
    assert [(pool["replaced"], [reason["path"] for reason in pool["reasons"]]) for pool in plan["nodePools"]] == [
        ("some", ["pools/values.yaml"])
    ]


def test_what_the_named_template_cannot_know_leaves_the_rest_known(nodelint: Nodelint, tmp_path: Path) -> None:
    write_chart(tmp_path, "its own", consolidateAfter='{{ lookup "v1" "Node" "" "a" | toString }}', weight="101")
    found = judged(nodelint, tmp_path)["findings"]
    assert [(f["rule"], f["path"]) for f in found if f["severity"] == "error"] == [
        ("invalid-field", "pools/values.yaml")
    ]


def test_the_answer_is_the_same_wherever_the_run_starts(nodelint: Nodelint, tmp_path: Path) -> None:
    write_chart(tmp_path, "its own", weight="101")
    (tmp_path / "pools/envs").mkdir()
    (tmp_path / "pools/envs/prod.yaml").write_text("cluster: prod\npools: {}\n")
    (tmp_path / "pools/values.yaml").open("a").write('cluster: ""\n')
    (tmp_path / "pools/templates/class.yaml").write_text(
        "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata:\n  name: default\nspec:\n"
        "  role: nodes\n  amiSelectorTerms: [{alias: al2023@v20260714}]\n"
        "  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: {{ .Values.cluster }}}}]\n"
        "  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: {{ .Values.cluster }}}}]\n"
    )

    def rules(path: str, cwd: Path) -> list[tuple[str, int]]:
        report = json.loads(nodelint("check", path, "--profile", "strict", "--format", "json", cwd=cwd).stdout)
        return sorted((finding["rule"], finding["start"]["line"]) for finding in report["findings"])

    inside = rules(".", tmp_path / "pools")
    assert ("invalid-field", 5) in inside
    assert rules("pools", tmp_path) == inside == rules(str(tmp_path / "pools"), tmp_path / "pools/envs")


def test_a_spec_that_is_read_from_what_a_named_template_prints(nodelint: Nodelint, tmp_path: Path) -> None:
    helper = write_chart(tmp_path, "its own")
    pools = (
        "{{- range $name, $pool := .Values.pools }}\n"
        '{{- $made := fromYaml (include "lib.pool" (dict "root" $ "name" $name "pool" $pool)) }}\n'
        "---\napiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata:\n  name: {{ $name }}\n"
        "spec: {{- toYaml $made.spec | nindent 2 }}\n{{- end }}\n"
    )
    (tmp_path / "pools/templates/pools.yaml").write_text(pools)
    library = LIBRARY.replace('{{ printf "%s-%s" .root.Release.Name .name | trunc 63 | trimSuffix "-" }}', "x")
    library = library.replace("<consolidateAfter>", "30d")
    (tmp_path / helper).write_text(library)
    values = tmp_path / "pools/values.yaml"
    values.write_text(values.read_text().replace("weight: 10", "weight: 101"))
    errors = [finding for finding in judged(nodelint, tmp_path)["findings"] if finding["severity"] == "error"]
    assert [(error["path"], error["start"]["line"]) for error in errors] == [(helper, 28), ("pools/values.yaml", 5)]


def test_values_that_hold_whole_objects_fill_templates_too(nodelint: Nodelint, tmp_path: Path) -> None:
    write_chart(tmp_path, "its own", weight="101")
    values = tmp_path / "pools/values.yaml"
    objects = (
        "raw: |\n  apiVersion: karpenter.sh/v1\n  kind: NodePool\n  metadata: {name: raw}\n  spec: {weight: 300}\n"
        "extra:\n  - {apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: extra}, spec: {weight: 400}}\n"
    )
    values.write_text(values.read_text() + objects)
    report = judged(nodelint, tmp_path)["findings"]
    wrong = {finding["message"] for finding in report if "maximum" in finding["message"]}
    assert wrong == {f"`weight` is {weight}, the maximum is 100" for weight in (101, 300, 400)}
