"""What is known is not told again, what is fixed drops out, and nothing else does."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from nodelint.lint import baseline
from nodelint.lint.baseline import BaselineError, KnownFinding, read, split, write
from nodelint.lint.engine import LintRequest, Report, Target, lint
from nodelint.model.gap import gap_of
from nodelint.model.releases import NEWEST
from nodelint.rule.definition import Rule
from nodelint.text import Source
from tests.conftest import ROOT
from tests.manifests import nodepool

SCHEMA = Draft202012Validator(json.loads((ROOT / "schemas" / "baseline.schema.json").read_text(encoding="utf-8")))

POOL = nodepool(
    'key: karpenter.k8s.aws/instance-family, operator: In, values: ["c7*"]',
    "key: kubernetes.io/arch, operator: In, values: [x86_64, amd64]",
    name="gross",
)
FILES = {"b.yaml": POOL, "clusters/größe.yaml": POOL.replace("gross", "klein")}


def judged(rules: dict[str, Rule], **changes: str) -> Report:
    """The files, after replacing texts by others in all of them."""
    texts = dict(FILES)
    for old, new in changes.items():
        texts = {path: text.replace(old, new) for path, text in texts.items()}
    return lint([Source.from_text(path, text) for path, text in texts.items()], LintRequest(Target(NEWEST), rules))


@pytest.fixture
def report(rules: dict[str, Rule]) -> Report:
    return judged(rules)


def test_a_baseline_is_one_line_a_finding_and_sorted(report: Report) -> None:
    text = write(report)
    SCHEMA.validate(json.loads(text))
    entries = read(text, "x.json")
    assert len(report.results) == len(entries) >= 4
    assert [(e.path, e.rule) for e in entries] == [
        ("b.yaml", "wildcard-value"),
        ("b.yaml", "unknown-value"),
        ("clusters/größe.yaml", "wildcard-value"),
        ("clusters/größe.yaml", "unknown-value"),
    ]
    assert list(entries) == sorted(entries)
    assert [json.loads(line.strip(" ,")) for line in text.splitlines()[3:-2]] == [e._asdict() for e in entries]
    assert text == write(report._replace(results=report.results[::-1])) and text.endswith("}\n")
    assert "clusters/größe.yaml" in text


def test_what_is_known_is_not_new(report: Report, rules: dict[str, Rule]) -> None:
    entries = read(write(report), "x.json")
    parts = split(judged(rules, apiVersion="# moved\napiVersion"), entries)
    assert parts.new.results == () and parts.gone == parts.unjudged == ()
    assert len(parts.known) == len(entries)
    assert parts.new.number_of("error") == 0 and not parts.new.at_or_above("info")


def test_what_is_new_is_told_and_what_is_fixed_is_gone(report: Report, rules: dict[str, Rule]) -> None:
    entries = read(write(report), "x.json")
    changed = judged(rules, **{'"c7*"': "c7i", "[x86_64, amd64]": "[x86_64, amd64, amd65]"})
    parts = split(changed, entries)
    assert {r.finding.message.partition(",")[0] for r in parts.new.results} == {"no instance type has arch `amd65`"}
    assert {e.rule for e in parts.gone} == {"wildcard-value"}
    assert {r.rule.name for r in parts.known} == {"unknown-value"}
    again = read(write(changed, keep=parts.unjudged), "x.json")
    assert {e.rule for e in again} == {"unknown-value"}
    assert split(changed, again).new.results == ()


def test_a_list_that_loses_its_last_right_value_is_worse_than_known(report: Report, rules: dict[str, Rule]) -> None:
    entries = read(write(report), "x.json")
    parts = split(judged(rules, **{"[x86_64, amd64]": "[x86_64]"}), entries)
    assert {(r.rule.name, r.severity) for r in parts.new.results} == {("unknown-value", "error")}
    milder = split(report, read(write(judged(rules, **{"[x86_64, amd64]": "[x86_64]"})), "x.json"))
    assert not milder.new.results and not milder.gone


def test_an_empty_baseline_knows_nothing(report: Report) -> None:
    text = write(report._replace(results=()))
    SCHEMA.validate(json.loads(text))
    assert text == '{\n  "nodelint-baseline": 1,\n  "findings": []\n}\n'
    assert split(report, read(text, "x.json")).new == report


def test_what_was_not_looked_for_is_not_fixed(report: Report, rules: dict[str, Rule]) -> None:
    entries = read(write(report), "x.json")
    none = report._replace(results=())
    below = split(none, entries, paths=["clusters"])
    assert {e.path for e in below.gone} == {"clusters/größe.yaml"}
    assert {e.path for e in below.unjudged} == {"b.yaml"}
    assert len(split(none, entries, paths=["."]).gone) == len(entries)
    assert {e.path for e in split(none, entries, paths=["./b.yaml"]).gone} == {"b.yaml"}
    elsewhere = [entry._replace(path=f"../{entry.path}") for entry in entries]
    assert not split(none, elsewhere, paths=["."]).gone, "the run was about no folder beside"
    first = split(none, entries, rules={"unknown-value"})
    assert {e.rule for e in first.gone} == {"unknown-value"}
    assert {e.rule for e in first.unjudged} == {"wildcard-value"}


@pytest.mark.parametrize(
    ("rule", "path", "left"),
    [
        ("unknown-value", "", {("b.yaml", "unknown-value"), ("clusters/größe.yaml", "unknown-value")}),
        ("unknown-value", "b.yaml", {("b.yaml", "unknown-value")}),
        (None, "b.yaml", {("b.yaml", "unknown-value"), ("b.yaml", "wildcard-value")}),
    ],
)
def test_what_was_skipped_is_not_fixed(report: Report, rule: str | None, path: str, left: set[Any]) -> None:
    entries = read(write(report), "x.json")
    none = report._replace(results=(), skipped=(gap_of(rule, path, None, "why"),))
    parts = split(none, entries)
    assert {(e.path, e.rule) for e in parts.unjudged} == left
    assert len(parts.gone) == len(entries) - len(left)
    assert set(read(write(none, keep=parts.unjudged), "x.json")) == set(parts.unjudged)


def test_a_file_that_no_longer_parses_fixes_nothing(report: Report, rules: dict[str, Rule]) -> None:
    entries = read(write(report), "x.json")
    parts = split(judged(rules, gross="[gross"), entries)
    assert {r.rule.name for r in parts.new.results} == {"yaml-syntax"}
    assert parts.gone == () and {e.path for e in parts.unjudged} == {"b.yaml"}


def test_paths_start_at_the_folder_of_the_file(
    report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = read(write(report, root=str(Path.cwd() / "ci")), "ci/baseline.json")
    assert {e.path for e in entries} == {"../b.yaml", "../clusters/größe.yaml"}
    assert split(report, entries, root=str(Path.cwd() / "ci")).new.results == ()
    here = Path.cwd()
    monkeypatch.chdir(tmp_path)
    assert split(report, entries, root=str(here / "ci")).known == ()  # the same names elsewhere
    assert split(report, entries, root=str(tmp_path / "ci")).new.results == ()


def test_a_path_that_is_no_text_survives(report: Report) -> None:
    entry = KnownFinding(os.fsdecode(b"\xff.yaml"), "", "", "r", "m", "0" * 32)
    text = write(report._replace(results=()), keep=[entry])
    assert text.encode() and read(text, "x.json") == (entry,)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not a baseline: line 1 is not JSON (expecting value); `nodelint baseline` writes one"),
        (
            '{\n"findings": [\n<<<<<<< ours\n',
            "not a baseline: line 3 is not JSON (expecting value); `nodelint baseline` writes one",
        ),
        ("[" * 200_000, "not a baseline: it is nested too deeply; `nodelint baseline` writes one"),
        ("[]", "not a baseline: the key `nodelint-baseline` is missing; `nodelint baseline` writes one"),
        (
            '{"nodelint-snapshot": 1}',
            "not a baseline: the key `nodelint-baseline` is missing; `nodelint baseline` writes one",
        ),
        ('{"nodelint-baseline": 2, "findings": []}', "format 2 is not 1, the one that this release reads"),
        ('{"nodelint-baseline": 0, "findings": []}', "format 0 is not 1, the one that this release reads"),
        ('{"nodelint-baseline": 1}', "`findings` must be a list"),
        ('{"nodelint-baseline": 1, "findings": [7]}', "finding 1 must be an object"),
        ('{"nodelint-baseline": 1, "findings": [{"path": 7}]}', "finding 1: `path` must be a text"),
        ('{"nodelint-baseline": 1, "findings": [{"path": "a"}]}', "finding 1: `object` is missing"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_baseline_is_named(text: str, why: str) -> None:
    with pytest.raises(BaselineError) as caught:
        read(text, "ci/known.json")
    assert str(caught.value) == f"ci/known.json: {why}"


def test_a_byte_order_mark_is_no_fault(report: Report) -> None:
    assert read("\ufeff" + write(report), "x.json") == read(write(report), "x.json")
    assert baseline.FORMAT == 1
