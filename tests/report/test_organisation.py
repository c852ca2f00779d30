"""Lines of JSON for many repositories, and the five queries over them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.plain_yaml import load_all_yaml, load_yaml

Run = Callable[..., subprocess.CompletedProcess[str]]

CI = ROOT / "docs" / "ci"


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def put(folder: Path, name: str, example: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text((ROOT / "examples" / example).read_text("utf-8"), "utf-8")


def test_a_line_is_whole_by_itself(nodelint: Run, tmp_path: Path) -> None:
    named = {"GITHUB_REPOSITORY": "acme/web", "GITHUB_SHA": "fedc", "NODELINT_COMMIT": "0123abc"}
    put(tmp_path, "pool.yaml", "bad/custom-image.yaml")
    records = lines(nodelint("check", "--format", "jsonl", "pool.yaml", env=named).stdout)
    assert [record["record"] for record in records] == ["run", "object", "object", "finding"]
    assert {(record["repository"], record["commit"]) for record in records} == {("acme/web", "0123abc")}
    report = json.loads(nodelint("check", "--format", "json", "pool.yaml").stdout)
    (finding,) = report["findings"]
    assert (records[3]["rule"], records[3]["message"]) == (finding["rule"], finding["message"])
    assert (records[3]["path"], records[3]["line"]) == ("pool.yaml", finding["start"]["line"])
    assert records[0]["errors"] == report["summary"]["errors"] == 1
    assert records[1]["karpenter"] == report["summary"]["karpenter"]


def test_the_five_queries_answer(nodelint: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    duckdb = pytest.importorskip("duckdb", reason="the queries are DuckDB's")
    (tmp_path / "findings").mkdir()
    repositories = {"acme/a": "bad/custom-image.yaml", "acme/b": "bad/before-v1.yaml", "acme/c": "good/general.yaml"}
    for number, (repository, example) in enumerate(repositories.items()):
        put(tmp_path, f"{number}/pool.yaml", example)
        nodelint(
            "check",
            f"{number}",
            "--format",
            f"jsonl=findings/{number}.jsonl",
            env={"NODELINT_REPOSITORY": repository},
        )
    monkeypatch.chdir(tmp_path)
    texts = [part for part in (CI / "queries.sql").read_text("utf-8").split(";") if "select" in part]
    connection = duckdb.connect()
    answers = [connection.execute(text).fetchall() for text in texts]
    causes, releases, refused, most, images = answers[-5:]
    assert ("image-arch-mismatch", "error", 1, 1, 1) in causes and causes[0][2] == 1
    assert releases == [("not stated", 3, 6)]
    assert {row[1] for row in refused} == {"removed-api"}
    assert {row[0] for row in most} == {"acme/a", "acme/b"}
    assert [row[0] for row in images] == ["acme/a"]


def test_what_is_to_be_copied_is_yaml_and_names_real_options() -> None:
    page = (CI / "organisation.md").read_text("utf-8")
    texts = re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    called, caller, component = texts
    workflow = load_yaml(called)
    assert set(workflow[True]["workflow_call"]["inputs"]) == {"paths", "fail-on"}
    action = load_yaml((ROOT / "action.yml").read_text("utf-8"))
    (step,) = [step for step in workflow["jobs"]["nodelint"]["steps"] if "nodelint@" in step["uses"]]
    assert set(step["with"]) <= set(action["inputs"])
    assert load_yaml(caller)["jobs"]["nodelint"]["uses"].endswith("/.github/workflows/nodelint.yml@main")
    inputs, jobs = load_all_yaml(component)
    used = set(re.findall(r"\$\[\[ inputs\.([\w-]+) \]\]", component))
    assert used == set(inputs["spec"]["inputs"])
    assert any("--format jsonl=nodelint.jsonl" in line for line in jobs["nodelint"]["script"])


def test_the_argo_template_checks_a_repository(tmp_path: Path) -> None:
    """Its script, in a checkout as Argo leaves it: a branch, and a commit alone."""
    template = load_yaml((CI / "argo-workflow.yaml").read_text("utf-8"))
    fan_out, check = template["spec"]["templates"]
    (task,) = fan_out["dag"]["tasks"]
    assert (template["spec"]["entrypoint"], task["template"]) == (fan_out["name"], check["name"])
    assert [p["name"] for p in task["arguments"]["parameters"]] == [p["name"] for p in check["inputs"]["parameters"]]
    named = {p["name"] for p in template["spec"]["arguments"]["parameters"]}
    assert set(re.findall(r"workflow\.parameters\.(\w+)", str(template))) == named
    (output,) = check["outputs"]["artifacts"]
    command, (script,) = check["container"]["command"], check["container"]["args"]
    assert command == ["sh", "-c"] and output["path"] in script
    shutil.copy(ROOT / "examples" / "bad" / "custom-image.yaml", tmp_path / "pool.yaml")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(tmp_path)]
    for step in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "a"]):
        subprocess.run([*git, *step], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "nodelint"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m nodelint "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "NODELINT_REPOSITORY": "acme/a"}
    for checkout in ("main", commit):
        subprocess.run([*git, "checkout", "-q", checkout], check=True)
        there = script.replace(output["path"], str(tmp_path / "lines.jsonl"))
        subprocess.run([*command, there], cwd=tmp_path, env=env, check=True, capture_output=True)
        written = lines((tmp_path / "lines.jsonl").read_text("utf-8"))
        assert {(line["repository"], line["commit"]) for line in written} == {("acme/a", commit)}
        assert any(line.get("rule") for line in written)
