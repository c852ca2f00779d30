"""Sentences of the pages about the tool that no block of a page shows: each is held to the tool."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from nodelint.cli import cli
from nodelint.commands._output import FORMATS
from tests.conftest import ROOT
from tests.manifests import nodepool

DOCS = ROOT / "docs"
POOL = nodepool(
    "key: kubernetes.io/arch, operator: In, values: [amd64]",
    name="batch",
    node_class="batch",
    spec="  replicas: 3\n  limits: {nodes: 4}\n",
)


def _page(name: str) -> str:
    return " ".join((DOCS / name).read_text(encoding="utf-8").split())


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments, catch_exceptions=False)


def _formats(command: click.Command) -> tuple[str, ...]:
    if isinstance(command, click.Group):
        return tuple(form for part in command.commands.values() for form in _formats(part))
    option = next((param for param in command.params if param.name in ("form", "outputs")), None)
    if option is None:
        return ()
    return tuple(getattr(option.type, "choices", ())) or tuple(re.findall(r"\w+", getattr(option, "help", "") or ""))


def test_the_commands_that_print_json_are_named() -> None:
    sentence = re.search(r"((?:`\w+`(?:, | and )?)+) have `--format json` as well", _page("outputs.md"))
    assert sentence is not None
    context = click.Context(cli, **cli.context_settings)
    commands = {name: cli.get_command(context, name) for name in cli.list_commands(context)}
    printing = {name for name, command in commands.items() if command is not None and "json" in _formats(command)}
    assert set(re.findall(r"`(\w+)`", sentence[1])) == printing - {"check"}


def test_each_format_of_check_has_a_row() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", (DOCS / "outputs.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(rows) == set(FORMATS)


@pytest.mark.parametrize("code", range(6))
def test_each_exit_code_has_a_row(code: int) -> None:
    row = re.search(rf"^\| {code} \| (.*) \|$", (DOCS / "outputs.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert row is not None
    assert re.search(rf"^    {code}  \w", _run("check", "--help").output, re.MULTILINE)


def test_the_verdict_is_the_last_line_and_what_an_older_release_finds_stands_above_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pool.yaml").write_text(POOL, encoding="utf-8")
    older, verdict = _run("check").output.splitlines()[-2:]
    assert verdict.startswith("All good: 1 object")
    assert f"```text {older} ```" in _page("configuration.md")
    assert "a line above it counts further findings on an older release" in _page("getting-started.md")


def test_the_last_line_counts_what_is_not_judged_in_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pool.yaml").write_text(POOL.replace("[amd64]", "[$ARCH]"), encoding="utf-8")
    assert "1 pool not judged in full" in _run("check").output.splitlines()[-1]
    assert "*not judged in full*. The last line counts such objects" in _page("outputs.md")
    assert _run("check", "--fail-on-unjudged").exit_code == 1


def test_nodelint_version_names_the_date_of_the_types() -> None:
    assert re.search(r"instance types of \d{4}-\d\d-\d\d", _run("--version").output)
    assert "`nodelint --version` prints the date" in _page("faq.md")


def test_an_optional_folder_of_rules_in_the_configuration_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pool.yaml").write_text(POOL, encoding="utf-8")
    command = [sys.executable, str(ROOT / "tools" / "new_rule.py"), "--folder", str(tmp_path / "rules"), "own"]
    (tmp_path / "rules").mkdir()
    subprocess.run(command, check=True, capture_output=True)
    (tmp_path / "nodelint.yaml").write_text("rules: [rules]\n", encoding="utf-8")
    refused = _run("check")
    assert refused.exit_code == 2
    assert _run("check", "--rules", "rules").exit_code == 0
    assert "refuses a `rules:` folder unless the command line allows it" in _page("configuration.md")


def test_each_promise_of_security_names_tests_that_are_there() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    code, named = "", 0
    for name in re.findall(r"`(tests/[\w/]+\.py|test_\w+)`", text):
        if name.startswith("tests/"):
            code = (ROOT / name).read_text(encoding="utf-8")
        else:
            named += 1
            assert f"def {name}(" in code, f"{name} is not in the module that is named before it"
    assert named > 15
    promises = text.partition("## What a repository under test cannot do")[2].partition("## Which programs")[0]
    parts = re.findall(r"(?ms)^- \*\*(.+?)(?=^- |^\n|\Z)", promises)
    assert [part.splitlines()[0] for part in parts if "`test_" not in part] == []


def test_security_says_of_each_command_what_it_starts() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    table = text.partition("## Which programs each command starts")[2].partition("\n## ")[0]
    commands = {path.stem.replace("_", "-") for path in (ROOT / "nodelint" / "commands").glob("[a-z]*.py")}
    assert {word.split()[0] for word in re.findall(r"`([a-z][a-z -]*)", table)} >= commands
