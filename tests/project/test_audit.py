"""The page of the audit names the default rules as they are."""

from __future__ import annotations

import re

from nodelint.rule.classification import PROFILES
from nodelint.rule.definition import bundled, load
from tests.conftest import ROOT

ROW = re.compile(r"(?m)^\| \[([\w-]+)\]\(rules/\1\.md\) \| (\w+) \| ([^|]+) \| ([^|]+) \| (\d*) ?\|$")


def test_the_audit_names_the_default_rules_as_they_are() -> None:
    rules = {rule.name: rule for rule in load(bundled()).values() if rule.group in PROFILES["default"]}
    rows = {name: (severity, read) for name, severity, _, read, _ in ROW.findall(page())}
    assert set(rows) <= set(rules), "a rule has gone, or has another name"
    assert {name: rules[name].severity for name in rows} == {name: severity for name, (severity, _) in rows.items()}
    for name, (_, read) in rows.items():
        code = sum(source.startswith(("provider:", "core:")) for source in rules[name].sources)
        assert (f"{code} place" in read) == bool(code), f"{name}: its sources have changed: read them again"
    assert len(rows) >= 0.9 * len(rules), "rules that nobody audited: " + ", ".join(sorted(set(rules) - set(rows)))


def page() -> str:
    return (ROOT / "docs" / "audit.md").read_text(encoding="utf-8")
