"""A place that could not be read is a result of every format, with its file and its line."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

CHART = {
    "c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\n",
    "c/values.yaml": "pools: [a]\n",
    "c/templates/pool.yaml": "{{- range .Values.pools }\n" + nodepool() + "{{- end }}\n",
}
PATH = "c/templates/pool.yaml"
WHY = "the code ends with one `}`"


@pytest.fixture
def broken(nodelint: Run, tmp_path: Path) -> Callable[[str], str]:
    write_files(tmp_path, CHART)

    def run(form: str) -> str:
        done = nodelint("check", "--format", form, cwd=tmp_path)
        assert done.returncode == 2
        return done.stdout

    return run


def test_sarif_has_a_result(broken: Callable[[str], str]) -> None:
    (run,) = json.loads(broken("sarif"))["runs"]
    (result,) = run["results"]
    rule = run["tool"]["driver"]["rules"][result["ruleIndex"]]
    assert rule["id"] == result["ruleId"] == "unreadable" and result["level"] == "error"
    assert WHY in result["message"]["text"].replace("{{", "{").replace("}}", "}")
    at = result["locations"][0]["physicalLocation"]
    assert at["artifactLocation"]["uri"] == PATH and at["region"]["startLine"] == 1


def test_github_has_an_annotation(broken: Callable[[str], str]) -> None:
    assert f"::error file={PATH},line=1::cannot be read: {WHY}" in broken("github")


def test_gitlab_and_junit_name_the_line(broken: Callable[[str], str]) -> None:
    (row,) = [row for row in json.loads(broken("gitlab")) if row["check_name"] == "unreadable"]
    assert row["location"] == {"path": PATH, "lines": {"begin": 1, "end": 1}} and WHY in row["description"]
    text = broken("junit")
    assert f'name="{PATH}"' in text and "read line 1" in text and WHY in text


def test_json_has_the_place(broken: Callable[[str], str]) -> None:
    (unread,) = json.loads(broken("json"))["summary"]["unreadable"]
    assert unread["path"] == f"{PATH}:1" and WHY in unread["reason"]


def test_a_syntax_error_is_one_result(nodelint: Run, tmp_path: Path) -> None:
    write_files(tmp_path, {"pool.yaml": nodepool() + "  x: [\n", "class.yaml": nodeclass()})
    done = nodelint("check", "--format", "sarif", cwd=tmp_path)
    results = json.loads(done.stdout)["runs"][0]["results"]
    assert [result["ruleId"] for result in results] == ["yaml-syntax"]


def test_a_whole_file_is_a_result_at_its_first_line(nodelint: Run, tmp_path: Path) -> None:
    write_files(tmp_path, {"class.yaml": nodeclass()})
    (tmp_path / "pool.yaml").write_bytes(b"\x1f\x8b\x08karpenter")
    done = nodelint("check", "--format", "sarif", "pool.yaml", "class.yaml", cwd=tmp_path)
    (result,) = [r for r in json.loads(done.stdout)["runs"][0]["results"] if r["ruleId"] == "unreadable"]
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 1
    assert result["message"]["text"].startswith("not read: is compressed")
