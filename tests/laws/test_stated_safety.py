"""The safety of fixes that a rule's page states is the one that `check` prints for the examples of the page."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from nodelint.model.releases import NEWEST
from nodelint.report.page import header
from nodelint.rule.definition import Rule, bundled, load
from nodelint.rule.examples import Example, examples

Run = Callable[..., subprocess.CompletedProcess[str]]

RULES = load(bundled())
FIXING = [rule for rule in RULES.values() if rule.fix]


def check_example(nodelint: Run, home: Path, rule: Rule, example: Example) -> set[str]:
    """The safeties of the fixes that `check` prints for an example, judged as the rule's page judges it."""
    for path, text in (example.files or {"example.yaml": example.text}).items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_text(text, encoding="utf-8")
    flags = ["--karpenter-version", example.karpenter or str(NEWEST)]
    flags += ["--kubernetes-version", example.kubernetes] if example.kubernetes else []
    env = {"NODELINT_NOW": f"{example.today}T12:00:00Z"} if example.today else {}
    done = nodelint("check", "--format", "json", "--preview", *flags, "--select", rule.name, cwd=home, env=env)
    findings = json.loads(done.stdout)["findings"]
    return {finding["fix"]["safety"] for finding in findings if finding["fix"] and finding["rule"] == rule.name}


@pytest.mark.parametrize("rule", FIXING, ids=lambda rule: rule.name)
def test_the_page_states_the_safety_that_check_prints(tmp_path: Path, nodelint: Run, rule: Rule) -> None:
    stated = re.search(r"fix: ([^·]+) ·", header(rule, RULES))
    assert stated is not None
    bad = [example for example in examples(rule.page) if not example.good and example.facts is None]
    for number, example in enumerate(bad):
        printed = check_example(nodelint, tmp_path / str(number), rule, example)
        assert printed <= set(stated[1].split(" or "))
