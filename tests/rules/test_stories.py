"""The situations that nodelint exists for, as users write them: found, explained, fixed, clean after."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from nodelint.lint.autofix import fix
from nodelint.lint.engine import LintRequest, Report, Result, lint
from nodelint.report.page import target_of
from nodelint.report.text import finding_text
from nodelint.rule.definition import Rule
from nodelint.rule.examples import Example
from nodelint.text import Source

STORIES = Path(__file__).parents[1] / "stories"

# file, release, the rules that speak, the rules that speak of another release
CASES = [
    ("1-image-by-name-block.yaml", "1.14.1", {"image-arch-mismatch"}, None),
    ("1-image-by-name-flow.yaml", "1.0.0", {"image-arch-mismatch"}, None),
    ("1-image-by-name.json", "1.6.0", {"image-arch-mismatch"}, None),
    ("2-gpu-pool-on-al2.yaml", "1.14.1", {"gpu-image-gap", "unsupported-alias"}, None),
    ("2-general-pool-on-al2023.yaml", "1.3.0", {"gpu-image-gap", "undiscovered-memory"}, None),
    ("3-image-by-prefix.yaml", "1.2.1", {"pending-image"}, "1.2.2"),
    ("3-image-by-prefix.yaml", "1.1.10", {"pending-image"}, "1.3.0"),
    ("3-image-by-tag.yaml", "1.0.0", {"pending-image"}, "1.14.1"),
    ("4-one-alias-several-images.yaml", "1.3.0", {"undiscovered-memory"}, "1.4.0"),
    ("5-flex-first-block.yaml", "1.14.1", {"flex-preference"}, None),
    ("5-flex-first-block.yaml", "1.6.0", {"flex-preference"}, None),
    ("5-flex-first-flow.yaml", "1.7.0", {"flex-preference"}, None),
    ("5-flex-first-flow.yaml", "1.6.8", {"flex-preference"}, None),
]
ids = [f"{name}-{release}" for name, release, _, _ in CASES]


def of_stories(report: Report) -> list[Result]:
    """What the rules of the stories find, and every error: another rule may warn of what is beside the point."""
    ours = set[str]().union(*(expected for _, _, expected, _ in CASES))
    return [r for r in report.results if r.rule.name in ours or r.severity == "error"]


def source_of(name: str) -> Source:
    return Source.from_bytes(name, (STORIES / name).read_bytes())


@pytest.mark.parametrize(("name", "release", "expected", "free"), CASES, ids=ids)
def test_found_explained_fixed_and_clean_after(
    name: str,
    release: str,
    expected: set[str],
    free: str | None,
    rules: dict[str, Rule],
    snapshot: SnapshotAssertion,
) -> None:
    target = target_of(Example(False, "", release))
    found = of_stories(lint([source_of(name)], LintRequest(target, rules)))
    assert {r.rule.name for r in found} == expected
    assert "\n\n".join(map(finding_text, found)) == snapshot(name="said")

    done = fix([source_of(name)], LintRequest(target, rules), unsafe=True)
    assert done.refused == ()
    left = [(r.rule.name, r.finding.message) for r in of_stories(done.report) if r.severity != "info"]
    assert left == []
    assert done.sources[0].text == snapshot(name="fixed")
    assert fix(done.sources, LintRequest(target, rules), unsafe=True).sources[0].text == done.sources[0].text
    if free:
        clean = lint([source_of(name)], LintRequest(target_of(Example(False, "", free)), rules))
        assert not {r.rule.name for r in clean.results} & expected


def test_a_standard_image_for_gpus_starts_without_a_driver_and_that_is_said(
    rules: dict[str, Rule], snapshot: SnapshotAssertion
) -> None:
    report = lint([source_of("2-standard-image-for-gpus.yaml")], LintRequest(target_of(Example(False, "")), rules))
    found = [r for r in report.results if r.rule.name != "untainted-accelerators"]
    assert [(r.rule.name, r.severity) for r in found] == [("gpu-image-gap", "warning")]
    assert "\n\n".join(map(finding_text, found)) == snapshot


def test_an_id_that_no_fact_knows_is_skipped_aloud(rules: dict[str, Rule], snapshot: SnapshotAssertion) -> None:
    report = lint([source_of("1-image-by-id.yaml")], LintRequest(target_of(Example(False, "")), rules))
    assert report.results == ()
    # What needs facts is not judged at all where there are none; this is about the one object.
    assert [(s.rule, s.reason, s.transient) for s in report.skipped if s.path] == snapshot


def test_what_keeps_running_nodes_is_done_by_fix_alone(
    nodelint: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    """Story 1 from the command line: the safe fix adds the requirement, and the check is clean after."""
    text = (STORIES / "1-image-by-name-block.yaml").read_text(encoding="utf-8")
    (tmp_path / "pool.yaml").write_text(text, encoding="utf-8")
    assert nodelint("check").returncode == 1
    assert nodelint("check", "--fix").returncode == 0
    fixed = (tmp_path / "pool.yaml").read_text(encoding="utf-8")
    added = [line for line in fixed.splitlines() if line not in text.splitlines()]
    assert added == ["      - key: kubernetes.io/arch", "        - amd64"]
    assert nodelint("check").returncode == 0
