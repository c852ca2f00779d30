"""`check --apply` writes the one fix or suggestion that the user names, with the proofs of every other fix."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.manifests import nodeclass, nodepool

Run = Callable[..., subprocess.CompletedProcess[str]]

POOL = nodepool("key: kubernetes.io/arch, operator: In, values: [amd64]", name="web").replace("default", "blue")
BAD = ROOT / "examples" / "bad"
CLASSES = "---\n".join(nodeclass().replace("default", name) for name in ("green", "brown"))


def put(folder: Path, pool: str = POOL) -> str:
    (folder / "classes.yaml").write_text(CLASSES, encoding="utf-8")
    (folder / "pool.yaml").write_text(pool, encoding="utf-8")
    line = next(n for n, text in enumerate(pool.splitlines(), 1) if "blue" in text)
    return f"pool.yaml:{line}"


def test_one_of_several_suggestions_is_shown_and_then_written(nodelint: Run, tmp_path: Path) -> None:
    place = put(tmp_path)
    assert "1 fixable with --apply FILE:LINE" in nodelint("check").stdout
    question = nodelint("check", "--apply", place)
    assert question.returncode == 2
    assert f"choose one of its suggestions: {place}=1 (use `brown`), {place}=2 (use `green`)" in question.stderr
    assert (tmp_path / "pool.yaml").read_text(encoding="utf-8") == POOL
    shown = nodelint("check", "--diff", "--apply", f"{place}=1")
    assert "+      nodeClassRef" in shown.stdout and "name: brown" in shown.stdout
    assert shown.stdout.startswith("# chosen: unknown-node-class, line ")
    assert "Would fix 1 finding." in shown.stderr
    assert (tmp_path / "pool.yaml").read_text(encoding="utf-8") == POOL
    done = nodelint("check", "--apply", f"{place}=1")
    assert "Fixed 1 finding:" in done.stdout
    assert (tmp_path / "pool.yaml").read_text(encoding="utf-8") == POOL.replace("blue", "brown")


def test_a_rule_names_its_findings_and_no_other_fix_is_written(nodelint: Run, tmp_path: Path) -> None:
    pool = tmp_path / "typos.yaml"
    before = (BAD / "typos.yaml").read_text(encoding="utf-8")
    pool.write_text(before, encoding="utf-8")
    done = nodelint("check", "--apply", "unknown-field")
    assert "Fixed 1 finding:" in done.stdout
    assert pool.read_text(encoding="utf-8") == before.replace("expiresAfter", "expireAfter")


def test_a_suggestion_for_a_value_of_a_chart_is_written_into_the_values(nodelint: Run, tmp_path: Path) -> None:
    templates = tmp_path / "chart" / "templates"
    templates.mkdir(parents=True)
    (tmp_path / "chart" / "Chart.yaml").write_text("{apiVersion: v2, name: pools, version: 1.0.0}\n", "utf-8")
    (tmp_path / "chart" / "values.yaml").write_text("image: al2023@v20250403\n", "utf-8")
    template = nodeclass().replace("al2023@v20250403", "{{ .Values.image }}")
    (templates / "class.yaml").write_text(template, "utf-8")
    done = nodelint("check", "--profile", "strict", "--apply", "chart/values.yaml:1")
    assert "Fixed 1 finding:" in done.stdout, done.stderr
    assert (templates / "class.yaml").read_text("utf-8") == template
    values = (tmp_path / "chart" / "values.yaml").read_text("utf-8")
    assert values.startswith("image: al2023@v2026") and len(values) == len("image: al2023@v20250403\n")


@pytest.mark.parametrize(
    ("choice", "answer"),
    [
        ("unknown-node-clas", "there is no rule `unknown-node-clas` (did you mean `unknown-node-class`?)"),
        ("pool.yaml", "`pool.yaml` names no line: write a place such as pools.yaml:12"),
        ("pool.yaml:1", "nothing is reported at this line; findings with a fix or suggestion are at "),
        ("classes.yaml:1", "the file has no finding with a fix or suggestion"),
        ("pool.yaml:{line}=3", "there is no suggestion 3: pool.yaml:{line}=1 (use `brown`)"),
        ("unknown-field", "`unknown-field`: the rule reports nothing here"),
    ],
)
def test_a_choice_without_an_edit_is_an_error(nodelint: Run, tmp_path: Path, choice: str, answer: str) -> None:
    line = put(tmp_path).partition(":")[2]
    done = nodelint("check", "--apply", choice.format(line=line))
    assert (done.returncode, done.stdout) == (2, "")
    assert answer.format(line=line) in done.stderr
    assert (tmp_path / "pool.yaml").read_text(encoding="utf-8") == POOL


def test_a_suggestion_that_causes_another_finding_is_not_written(nodelint: Run, tmp_path: Path) -> None:
    for path in BAD.glob("*.yaml"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    done = nodelint("check", "--apply", "typos.yaml:12")
    reason = "it would cause overlapping-pools: `workers` and `old` share 11 instance types"
    assert f"Not fixed: unknown-node-class at typos.yaml:12:15: {reason}" in done.stdout
    assert (tmp_path / "typos.yaml").read_bytes() == (BAD / "typos.yaml").read_bytes()


def test_a_choice_is_not_mixed_with_all_fixes(nodelint: Run, tmp_path: Path) -> None:
    place = put(tmp_path)
    done = nodelint("check", "--apply", place, "--fix")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--apply writes only what it names: leave out --fix" in done.stderr
