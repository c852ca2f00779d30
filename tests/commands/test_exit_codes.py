"""Exit codes of a run that wants facts: findings, what is missing for now and for good, and which of them wins."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from nodelint.ec2.snapshot import Answer, snapshot_text
from tests.commands.test_cli import BREAK_A_RULE
from tests.ec2.test_facts import ACCOUNT, CLASS, ONE_RULE, WITHOUT_SUBNETS, put, snapshot_of

Run = Callable[..., CompletedProcess[str]]

TYPO = CLASS.replace("role: K", "rool: K")


def with_failure(folder: Path, transient: bool) -> None:
    """Write a snapshot in which the question about subnets was not answered."""
    snapshot = snapshot_of(ACCOUNT)
    (region,) = snapshot.regions
    answers = {
        q: Answer(a.at, failed="no answer", transient=transient) if q.kind == "subnets" else a
        for q, a in region.answers.items()
    }
    text = snapshot_text(snapshot._replace(regions=(region._replace(answers=answers, subnets={}),)))
    (folder / "class.yaml").write_text(CLASS, encoding="utf-8")
    (folder / "facts.json").write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("account", "flags", "code"),
    [
        (ACCOUNT, [], 0),
        (ACCOUNT, ["--require-facts"], 0),
        (WITHOUT_SUBNETS, [], 1),
        (WITHOUT_SUBNETS, ["--require-facts"], 1),
        (ACCOUNT + "denied: [subnets]\n", [], 0),
        (ACCOUNT + "denied: [subnets]\n", ["--require-facts"], 5),
        (WITHOUT_SUBNETS + "denied: [security-groups]\n", ["--require-facts"], 5),
        (WITHOUT_SUBNETS + "denied: [security-groups]\n", [], 1),
        (ACCOUNT, ["--require-facts", "--max-age", "1m"], 4),
        (ACCOUNT, ["--max-age", "1m"], 0),
        (ACCOUNT + "denied: [subnets]\n", ["--require-facts", "missing.yaml", "class.yaml"], 2),
        (ACCOUNT, ["--require-facts", "--snapshot", "bundled"], 5),
    ],
    ids=str,
)
def test_codes_of_a_check_with_a_snapshot(
    nodelint: Run, tmp_path: Path, account: str, flags: list[str], code: int
) -> None:
    put(tmp_path, account)
    done = nodelint(
        "check", *ONE_RULE, "--snapshot", "facts.json", *flags, env={"NODELINT_NOW": "2026-11-20T13:00:00Z"}
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert ("missing " in done.stderr) == (code in (2, 4, 5))


@pytest.mark.parametrize(
    ("transient", "code", "message"), [(True, 4, "trying again may help"), (False, 5, "will not help")]
)
def test_a_fact_that_is_missing_is_listed_and_tells_whether_to_try_again(
    nodelint: Run, tmp_path: Path, transient: bool, code: int, message: str
) -> None:
    with_failure(tmp_path, transient)
    done = nodelint("check", *ONE_RULE, "--snapshot", "facts.json", "--require-facts")
    assert done.returncode == code
    assert done.stderr.startswith("nodelint: missing subnets: AWS was asked about subnets: no answer (")
    assert message in done.stderr
    assert done.stderr.endswith("needed by empty-selector\n")


def test_what_is_missing_for_good_wins_over_what_will_pass_and_over_findings(nodelint: Run, tmp_path: Path) -> None:
    with_failure(tmp_path, True)
    text = (tmp_path / "facts.json").read_text(encoding="utf-8")
    (tmp_path / "facts.json").write_text(text.replace('"ask":"roles"', '"ask":"instance-profiles"'), encoding="utf-8")
    (tmp_path / "typo.yaml").write_text(TYPO, encoding="utf-8")
    rules = ("--select", "empty-selector,missing-role,unknown-field")
    assert nodelint("check", *rules, "--snapshot", "facts.json").returncode == 1
    assert nodelint("check", *rules, "--snapshot", "facts.json", "--require-facts").returncode == 5
    rules = ("--select", "empty-selector,unknown-field")
    assert nodelint("check", *rules, "--snapshot", "facts.json", "--require-facts").returncode == 4


def test_a_rule_that_does_not_report_misses_nothing(nodelint: Run, tmp_path: Path) -> None:
    put(tmp_path, ACCOUNT + "denied: [subnets]\n")
    flags = ("--snapshot", "facts.json", "--require-facts")
    assert nodelint("check", "--select", "missing-role", *flags).returncode == 0
    assert nodelint("check", "--select", "missing-role", "--snapshot", "bundled", "--require-facts").returncode == 5
    assert nodelint("check", "--select", "unknown-field", "--snapshot", "bundled", "--require-facts").returncode == 0


def test_a_fault_of_ours_wins_over_all(nodelint: Run, tmp_path: Path) -> None:
    put(tmp_path, ACCOUNT + "denied: [subnets]\n")
    code = (
        f"{BREAK_A_RULE}"
        "sys.argv = ['nodelint', 'check', '--snapshot', 'facts.json', '--require-facts', 'class.yaml', 'no.yaml']\n"
        "from nodelint.__main__ import main\nmain()\n"
    )
    env = {**os.environ, "NODELINT_FAIL_ON_FAULT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 3, done.stderr
    assert "missing subnets" in done.stderr
