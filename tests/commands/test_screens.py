"""What a terminal of 80 columns shows of the help, of rules, and of how a run reads its files."""

from __future__ import annotations

import json
import os
import re
import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from nodelint.cli import cli
from nodelint.commands._help import GroupedCommand
from nodelint.report.rule_text import list_lines
from nodelint.report.style import TextStyle
from nodelint.rule.definition import bundled, load
from tests import in_process

TOP = click.Context(cli, info_name="nodelint", **cli.context_settings)
COMMANDS = cli.list_commands(TOP)
POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]
"""
RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: karpenter}
spec:
  chart: {spec: {chart: karpenter, version: 1.4.0}}
"""


def run(*arguments: str, columns: int = 80) -> str:
    done = CliRunner(env={"COLUMNS": str(columns)}).invoke(cli, arguments, catch_exceptions=False)
    assert done.exit_code in (0, 1), done.output
    return done.output


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_a_help_fits_80_columns_and_cuts_nothing_off(name: str) -> None:
    text = run(*filter(None, [name]), "--help").replace("[ARGS]...", "")
    assert not [line for line in text.splitlines() if len(line) > 80]
    assert not re.search(r"[a-z]\.\.\.$", text, re.MULTILINE)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_help_with_many_options_has_each_in_one_group(name: str) -> None:
    command = cli.get_command(TOP, name)
    if isinstance(command, click.Group):
        return
    assert isinstance(command, GroupedCommand)
    with click.Context(command, info_name=name, parent=TOP) as context:
        formatter = context.make_formatter()
        command.format_options(context, formatter)
        text = formatter.getvalue()
        options = [param for param in command.get_params(context) if isinstance(param, click.Option)]
    for option in options:
        long = next(name for name in option.opts if name.startswith("--"))
        assert len(re.findall(rf"^  (?:-\w, )?{long}\b(?!-)", text, re.MULTILINE)) == 1, option.opts
    assert ("Input:" in text) == (len(options) > 8)


def test_a_page_of_a_rule_follows_the_width() -> None:
    text = run("rule", "no-limits")
    assert "```" not in text and "Bad:\n    apiVersion" in text and "\n    +  limits:\n" in text
    # An example is as it is written, and the second line is one for programs.
    found = [line for line in text.splitlines() if not re.search(r"^    | · |https://", line)]
    assert max(map(len, found)) <= 80
    rules = [*load(bundled()).values()]
    assert max(len(line) for line in list_lines(rules, TextStyle(width=80, terminal=True))) <= 80
    assert max(len(line) for line in list_lines(rules, TextStyle(width=160, terminal=True))) <= 160
    for line in (*list_lines(rules, TextStyle(width=200, terminal=True)), *run("rule").splitlines()):
        if line.startswith("  no-limits  "):
            assert "A NodePool has no `limits`" in line


def test_rules_are_data_too() -> None:
    listed = json.loads(run("rule", "--format", "json"))
    assert {"no-limits", "gpu-image-gap"} <= {entry["name"] for entry in listed}
    assert all(load["subject"] == "GPUs" for load in json.loads(run("rule", "--subject", "gpus", "--format", "json")))
    page = json.loads(run("rule", "gpu-image-gap", "--format", "json"))
    assert page["severity"] == "error" and page["profiles"] == ["minimal", "default", "strict"]
    assert page["page"].startswith(page["summary"]) and page["sources"][0].startswith("https://")


def test_files_are_shown_with_what_says_how_they_are_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pool.yaml").write_text(POOL)
    assert "pool.yaml: YAML\n  for Karpenter" in run("check", "--show-files")
    assert "the newest known: no file states one" in run("check", "--show-files")
    (tmp_path / "release.yaml").write_text(RELEASE)
    text = run("check", "--show-files", columns=200)
    assert "  for Karpenter 1.4.0, by release.yaml:5 (the HelmRelease)\n  line 1: NodePool/default\n" in text
    assert "error" not in text, "nothing is judged"


def test_what_is_not_read_is_shown_with_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pool.yaml").write_text(POOL)
    (tmp_path / "broken.yaml").write_text(POOL.replace("amd64]}]", "amd64]}"))
    (tmp_path / "install.sh").write_text(f"kubectl apply -f - <<EOF\n{POOL}EOF\n")
    heading, *lines = run("check", "--show-files", columns=200).partition("Not read:")[1:]
    assert heading == "Not read:"
    (text,) = lines
    assert re.search(r"^  broken\.yaml:\d+:\d+: from here on: ", text, re.MULTILINE)
    assert "\n  1 script holds 1 Karpenter object (install.sh); --include '**/*.sh' reads them." in text


def test_rules_are_found_by_what_the_list_says_of_them() -> None:
    rules = load(bundled())
    for words, names in {
        "off by default": {name for name, rule in rules.items() if rule.group == "practice"},
        "facts": {name for name, rule in rules.items() if rule.needs or rule.may_need},
        "unsafe fix": {name for name, rule in rules.items() if rule.fix == "unsafe"},
        "hazard": {name for name, rule in rules.items() if rule.group == "hazard"},
    }.items():
        assert names <= {load["name"] for load in json.loads(run("rule", words, "--format", "json"))}


def test_settings_are_shown_with_what_gives_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "Configuration: none" in run("check", "--show-settings")
    (tmp_path / "nodelint.yaml").write_text("karpenter-version: 1.4.0\nignore: [spot-only]\n")
    lines = run("check", "--show-settings", "--profile", "strict").splitlines()
    assert lines[:2] == ["Configuration: nodelint.yaml", "Flags: --profile"]
    assert {"karpenter-version: 1.4.0", "ignore: spot-only", "profile: strict", "baseline: none (default)"} <= set(
        lines
    )


def test_red_is_for_workloads_that_no_pool_takes(tmp_path: Path) -> None:
    """A workload that admission lets in is counted with a pool, and is no red line."""
    folder = Path(__file__).parents[2] / "examples"
    requested = (
        (folder / "workloads" / "api.yaml").read_text(encoding="utf-8").replace("memory: 16Gi}", "memory: 16Gi}\n")
    )
    (tmp_path / "api.yaml").write_text(
        requested.rstrip() + "\n            limits: {nvidia.com/gpu: 1}\n", encoding="utf-8"
    )
    text = run("fit", "--color", "always", str(tmp_path), str(folder / "good"))
    (line,) = [line for line in text.splitlines() if "no pool takes it as it is written" in line]
    assert line.startswith("\x1b[33m") and ", 0 without" in text
    alone = run("fit", "--color", "always", str(tmp_path), str(folder / "good" / "general.yaml"))
    assert "\x1b[31m\x1b[1m=> no pool takes it\x1b" in alone


def _read_to_the_end(leader: int) -> bytes:
    printed = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:  # so Linux says that the other end is closed
            return printed
        if not part:
            return printed
        printed += part


def _print_on_terminal(arguments: list[str], columns: int, cwd: Path) -> list[str]:
    """What a command prints where standard output is a terminal of so many columns, without its colours."""
    pty, fcntl, termios = (pytest.importorskip(name) for name in ("pty", "fcntl", "termios"))
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    with ThreadPoolExecutor(1) as pool:
        printed = pool.submit(_read_to_the_end, leader)
        in_process.call(arguments, cwd, {**environment, "TERM": "xterm-256color"}, [follower] * 3)
        os.close(follower)
        text = printed.result().decode()
    os.close(leader)
    return re.sub(r"\x1b\[[0-9;]*[mK]|\x1b\]8;[^\x1b\x07]*(?:\x1b\\\\|\x07)", "", text).splitlines()


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "examples"],
        ["check", "--statistics", "examples"],
        ["check", "--show-files", "examples"],
        ["explain", "examples"],
        ["fit", "examples"],
        ["hash", "examples"],
        ["plan", "--old", "examples/change/before", "examples/change/after"],
        ["rule"],
        ["snapshot", "show"],
        ["triage", "tests/triage/controller-1.0.9.log"],
        ["upgrade", "--from", "1.0.0", "--to", "1.15.1", "--all", "examples/good"],
    ],
    ids=lambda arguments: " ".join(arguments[:2]) if isinstance(arguments, list) else None,
)
def test_no_line_is_longer_than_the_terminal(arguments: list[str]) -> None:
    for columns in (80, 120) if arguments in (["check", "examples"], ["rule"]) else (80,):
        lines = _print_on_terminal(arguments, columns, Path(__file__).parents[2])
        assert len(lines) > 3
        # A word that is longer than the terminal, such as an address, is not broken.
        assert not [line for line in lines if len(line) > columns and " " in line.strip()]


def test_a_subject_in_the_place_of_a_rule_selects_its_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pool.yaml").write_text(POOL)
    assert CliRunner().invoke(cli, ["check", "--select", "gpus"]).exit_code == 0
    assert "gpu-image-gap" in run("rule", "--subject", "gpus")
