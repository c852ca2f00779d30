"""What keeps the project going beside its code: CI, workflows, the task list, slips put in on purpose."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from nodelint.lint.engine import LintRequest, Target, lint
from nodelint.model.releases import NEWEST
from nodelint.report.page import alone
from nodelint.rule.definition import Rule, load
from nodelint.rule.examples import examples
from nodelint.text import Source
from tests import builtin_schemas
from tests.conftest import ROOT
from tests.plain_yaml import load_yaml

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TEXTS = [*WORKFLOWS, ROOT / "justfile", ROOT / "RELEASE.md", ROOT / ".github" / "CODEOWNERS"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_is_valid(path: Path) -> None:
    builtin_schemas.hold_to("vendor.github-workflows", path)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_names_actions_by_commit_and_has_only_the_rights_that_it_needs(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for used in re.findall(r"uses: (\S+)(.*)", text):
        assert re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}", used[0]), used
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", used[1]), used
    workflow = load_yaml(text)
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 45


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_what_a_text_names_exists(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for name in re.findall(
        r"(?<![\w/.])/?((?:\.ci|\.github|tools|benchmarks|nodelint|rules|schemas)/[\w./-]*\w)", text
    ):
        assert (ROOT / name).exists(), name
    for step in re.findall(r"\.ci/run (\w+)$", text, re.MULTILINE):
        assert f"\n{step}() {{" in (ROOT / ".ci" / "run").read_text(encoding="utf-8"), step


def test_ci_refuses_a_step_that_it_does_not_have() -> None:
    done = subprocess.run([ROOT / ".ci" / "run", "lnt"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no step lnt; the steps are: tests lint_and_types" in done.stderr


def test_the_follower_names_releases_that_are_not_known(tmp_path: Path) -> None:
    provider = tmp_path / "provider"
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "FOLLOW_PRINT_ONLY": "1"}
    names = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    git = ["git", *names, "-C", str(provider)]
    subprocess.run(["git", "init", "-q", str(provider)], check=True, env=env)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True, env=env)

    def follow() -> str:
        command = [str(ROOT / ".ci" / "follow"), str(provider / ".git"), str(provider / ".git")]
        return subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout

    for tag in ("v1.0.0", "v0.37.9", "v1.0.14", "v1.4.0-rc.1"):
        subprocess.run([*git, "tag", tag], check=True, env=env)
    assert follow() == "nodelint knows every release\n"
    for tag in ("v1.0.15", "v1.98.7", "v1.99.0", "v1.99.1"):
        subprocess.run([*git, "tag", tag], check=True, env=env)
    steps = follow().splitlines()[1:]
    assert steps[0] == "v1.0.14 v1.0.15"
    assert [step.split()[1] for step in steps] == ["v1.0.15", "v1.98.7", "v1.99.1"]


@pytest.fixture
def mutate(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return __import__("mutate")


SAMPLE = """\
def price(pods, limit, names=("é",)):
    if pods < limit and not names:
        return min(pods, 3) + 1
    for name in names:
        if name.startswith("x"):
            continue
    return None
"""


def test_slips_are_what_a_tired_developer_writes(mutate: ModuleType) -> None:
    slips = [(m.line, m.was, m.text) for m in mutate.mutants_of("price.py", SAMPLE)]
    assert sorted(slips) == [
        (2, "not names", "names"),
        (2, "pods < limit", "pods <= limit"),
        (2, "pods < limit and not names", "((pods < limit) or (not names))"),
        (2, "pods < limit and not names", "(not (pods < limit and not names))"),
        (3, "1", "2"),
        (3, "3", "4"),
        (3, "min", "max"),
        (3, "min(pods, 3) + 1", "min(pods, 3) - 1"),
        (5, 'name.startswith("x")', '(not (name.startswith("x")))'),
        (5, "startswith", "endswith"),
        (6, "continue", "break"),
    ]


def test_each_slip_is_python_and_changes_only_its_place(mutate: ModuleType) -> None:
    raw = SAMPLE.encode()
    for mutant in mutate.mutants_of("price.py", SAMPLE):
        text = (raw[: mutant.start] + mutant.text.encode() + raw[mutant.end :]).decode()
        compile(text, "price.py", "exec")
        assert text != SAMPLE
        assert raw[mutant.start : mutant.end].decode() == mutant.was


@pytest.mark.slow
def test_a_slip_that_a_test_notices_dies_and_another_lives(mutate: ModuleType, tmp_path: Path) -> None:
    for folder in ("nodelint", "tests"):
        (tmp_path / folder).mkdir()
    text = "def doubled(n):\n    if n > 9000:\n        return 0\n    return n + n\n"
    (tmp_path / "nodelint" / "__init__.py").touch()
    (tmp_path / "nodelint" / "double.py").write_text(text, encoding="utf-8")
    (tmp_path / "tests" / "test_double.py").write_text(
        "from nodelint.double import doubled\n\n\ndef test():\n    assert doubled(3) == 6\n", encoding="utf-8"
    )
    mutants = {m.was: m for m in mutate.mutants_of("nodelint/double.py", text)}
    assert not mutate.lives(mutants["n + n"], tmp_path, whole=False)
    assert mutate.lives(mutants["9000"], tmp_path, whole=False)
    assert (tmp_path / "nodelint" / "double.py").read_text(encoding="utf-8") == text


def test_rooms_that_are_reached_from_afar_have_the_tests_that_reach_them(mutate: ModuleType) -> None:
    there = {file.name for file in (ROOT / "tests").rglob("test_*.py")}
    for room, titles in mutate.AFAR.items():
        assert {f"test_{title}.py" for title in titles} <= there
        assert [path for path in (ROOT / room.replace(".", "/")).glob("*.py") if path.stem != "__init__"]
    chosen = mutate.tests_of("nodelint/report/explain.py")
    assert "tests/report/test_folding.py" in chosen, "it runs `explain`"
    assert "tests/project/test_readme.py" in chosen, "what it shows is printed there"


def check_with(rule: Rule, text: str) -> list[str]:
    report = lint([Source.from_text("pool.yaml", text)], LintRequest(Target(NEWEST), {rule.name: rule}, alone(rule)))
    assert not report.faults
    return [result.message for result in report.results]


def test_a_new_rule_works_and_a_name_is_checked(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "tools" / "new_rule.py"), "--folder", str(tmp_path)]
    done = subprocess.run([*command, "my-rule"], capture_output=True, text=True, check=True)
    assert f"nodelint test-rules {tmp_path}" in done.stdout
    rule = load(tmp_path)["my-rule"]
    bad, good = examples(rule.page)
    assert (bad.good, good.good) == (False, True)
    assert check_with(rule, bad.text) == ["`change-me` says nothing about the nodes of the pool"]
    assert check_with(rule, good.text) == []
    for name, words in (("my-rule", "is there already"), ("My_Rule", "is no name of a rule")):
        done = subprocess.run([*command, name], capture_output=True, text=True, check=False)
        assert (done.returncode, words in done.stderr) == (1, True)


def test_the_sample_of_the_guide_is_a_rule_that_judges_no_placeholder(tmp_path: Path) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (sample,) = re.findall(r"^    ```python\n(.*?)^    ```", text, re.MULTILINE | re.DOTALL)
    width = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ruff"]["line-length"]
    assert max(map(len, textwrap.dedent(sample).splitlines())) <= width
    (tmp_path / "sample.py").write_text(f'"""A page."""\n{textwrap.dedent(sample)}', encoding="utf-8")
    rule = load(tmp_path)["sample"]

    def pool(values: str) -> str:
        requirement = f"{{key: karpenter.sh/capacity-type, operator: In, values: {values}}}"
        spec = f"{{template: {{spec: {{requirements: [{requirement}]}}}}}}"
        return f"apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {{name: a}}\nspec: {spec}\n"

    assert len(check_with(rule, pool("[spot]"))) == 1
    assert check_with(rule, pool('[spot, "${OTHER}"]')) == []
    assert check_with(rule, pool("[spot, on-demand]")) == []
