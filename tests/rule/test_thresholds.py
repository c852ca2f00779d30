"""The law of thresholds: where each number that a configuration may set turns what its rule says of its examples."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from syrupy.assertion import SnapshotAssertion

from nodelint.laws.rule_laws import cases
from nodelint.lint.engine import LintRequest
from nodelint.report.page import alone, judge_example, read_example, target_of
from nodelint.rule.definition import Option, Rule, with_options
from tests.laws.test_rules import RULES, TRIAL

OPTIONS = [
    (rule, option) for rule in RULES.values() for option in rule.options if isinstance(option.default, int | float)
]


def outcomes(rule: Rule, option: Option) -> Iterator[str]:
    """For each example, how much is found just below, at and above the default, and where what is found changes."""
    default = option.default
    assert isinstance(default, int | float)
    parts = 100 if default < 1 else 1
    """Shares are tried in hundredths."""
    for case in cases(rule):
        for example in (case.bad, TRIAL.good(case)):
            files, target = read_example(example.text).files, target_of(example)

            def messages_of(number: int, files=files, target=target) -> tuple[str, ...]:  # type: ignore[no-untyped-def]
                value = number / parts if isinstance(default, float) else number
                rules = {**RULES, rule.name: with_options(rule, {option.name: value})}
                results = judge_example(files, LintRequest(target, rules, alone(rule))).results
                return tuple(re.sub(r"[0-9.,]+", "", r.message) for r in results if r.rule.name == rule.name)

            start = round(default * parts)
            near = ", ".join(str(len(messages_of(start + step))) for step in (-1, 0, 1))
            turns = ""
            for low, high in ((0, start), (start, start * 8 + 8)):
                first = messages_of(low)
                if first == messages_of(high):
                    continue
                while high - low > 1:
                    middle = (low + high) // 2
                    low, high = (middle, high) if messages_of(middle) == first else (low, middle)
                turns += f", {len(first)} at {low} and {len(messages_of(high))} at {high}"
            yield f"{'good' if example.good else 'bad'} {case.number}: {near}{turns}"


@pytest.mark.parametrize(("rule", "option"), OPTIONS, ids=lambda value: value.name)
def test_a_threshold_turns_where_it_did(rule: Rule, option: Option, snapshot: SnapshotAssertion) -> None:
    found = list(outcomes(rule, option))
    assert any(" at " in line for line in found), "an example that the threshold decides"
    assert "\n".join([f"{option.name}: {option.default}", *found]) == snapshot
