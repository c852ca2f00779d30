"""The laws that every rule keeps, over the examples of its own page."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from nodelint.base.printable import printable
from nodelint.data import DATA, table
from nodelint.laws.rule_laws import ExamplePair, Trial, cases
from nodelint.report.page import markdown
from nodelint.report.style import TextStyle
from nodelint.report.text import finding_text
from nodelint.rule import definition as rule_module
from nodelint.rule.classification import SUBJECTS
from nodelint.rule.definition import Rule, bundled, index, load, load_bundled, source_link
from nodelint.rule.examples import examples
from nodelint.rule.suppressions import Suppression
from tests.conftest import ROOT
from tests.tables import try_each

RULES = load(bundled())
# They are about text that is not YAML, template code, or several files: their examples say nothing as objects.
TEXT_RULES = {
    "yaml-syntax",
    "default-never-printed",
    "fixed-class-kind",
    "nil-pointer",
    "repeated-by-loop",
    "replaced-list",
    "required-field-not-printed",
    "terraform-syntax",
    "unmatched-patch",
    "unquoted-value",
    "value-never-printed",
}
TRIAL = Trial(RULES)
CASES = [case for rule in RULES.values() for case in cases(rule)]


def has_fix(case: ExamplePair) -> bool:
    """Some examples show a finding of a fixing rule for which there is no fix."""
    return TRIAL.has_fix(case)


def representatives() -> list[str]:
    """Return a rule of each subject and kind of object, with a fix and without: others fare the same."""
    found: dict[tuple[object, ...], str] = {}
    for name, rule in RULES.items():
        found.setdefault((rule.on, rule.subject, rule.fix), name)
    return sorted(found.values())


class Laws:
    """What holds for every example that a law is about. One test for each rule tries all of them."""

    def __init__(self) -> None:
        self._laws: list[tuple[Callable[[ExamplePair], None], Callable[[ExamplePair], bool]]] = []

    def about(
        self, fits: Callable[[ExamplePair], bool]
    ) -> Callable[[Callable[[ExamplePair], None]], Callable[[ExamplePair], None]]:
        def add(law: Callable[[ExamplePair], None]) -> Callable[[ExamplePair], None]:
            self._laws.append((law, fits))
            return law

        return add

    def hold(self, rule: str) -> None:
        """Raise an ExceptionGroup of everything that fails, each with its law and its example."""
        broken = []
        for case in (case for case in CASES if case.rule.name == rule):
            for law, fits in self._laws:
                try:
                    if fits(case):
                        law(case)
                except Exception as error:
                    error.add_note(f"{law.__name__}: {case}")
                    broken.append(error)
        if broken:
            raise ExceptionGroup(f"{rule} breaks laws", broken)


LAWS = Laws()
NO_EDIT = "There is no fix"
"""How a page begins the sentence that says why an error of its rule has none."""


@LAWS.about(lambda case: True)
def an_error_has_an_edit_or_its_page_says_why_not(case: ExamplePair) -> None:
    bare = [
        result.finding.message
        for result in TRIAL.bad_results(case)
        if result.severity == "error" and not result.finding.edits and not result.finding.suggestions
    ]
    assert not bare or NO_EDIT in case.rule.page


@LAWS.about(lambda case: True)
def a_terminal_of_80_columns_breaks_no_word(case: ExamplePair) -> None:
    for result in TRIAL.bad_results(case):
        lines = finding_text(result, TextStyle(width=80, terminal=True)).split("\n")
        place = next(number for number, line in enumerate(lines) if line.lstrip().startswith("--> "))
        head = " ".join(line.strip() for line in lines[:place])
        assert head == f"{result.severity}[{case.rule.name}]: {' '.join(printable(result.message).split())}"
        finding = result.finding
        text = "\n".join(lines[place:])
        for label, words in (("note", finding.note), ("help", finding.help)):
            found = re.sub(r"\n +", " ", text[text.index(f"  {label}: ") :]) if words else ""
            assert not words or found.startswith(f"  {label}: {' '.join(printable(words).split())}")
        for line in (*lines[:place], *(row for row in lines[place:] if row.startswith(("  note: ", "  help: ")))):
            assert len(line) <= 80 or " " not in line.strip().partition(": ")[2], line


@cache
def page_of(rule: str) -> str:
    return markdown(RULES[rule], RULES)


@pytest.mark.slow
def test_the_committed_pages_are_the_generated_ones() -> None:
    def check(rule: str) -> None:
        page = ROOT / "docs" / "rules" / f"{rule}.md"
        written = page.read_text(encoding="utf-8") if page.exists() else None
        assert written == page_of(rule), "run tools/make_rule_pages.py"

    try_each(RULES, check)


def test_the_committed_index_says_what_the_files_declare() -> None:
    assert table("rules")["rules"] == index(RULES, bundled()), "run tools/make_rule_pages.py"
    declared = [rule._replace(check=index, text=str, sources=(), cel="") for rule in load_bundled().values()]
    assert declared == [rule._replace(check=index, text=str, sources=(), cel="") for rule in RULES.values()]
    assert [rule.page for rule in load_bundled().values()] == [rule.page for rule in RULES.values()]


def test_a_rule_file_that_the_index_does_not_know_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nodelint.rule.definition.bundled", lambda: str(tmp_path))
    written = (ROOT / "rules" / "no-limits.py").read_text(encoding="utf-8")
    (tmp_path / "no-limits.py").write_text(written.replace('group="practice"', 'group="hazard"'), encoding="utf-8")
    (tmp_path / "of-today.py").write_text(written, encoding="utf-8")
    loaded = load_bundled.__wrapped__()
    assert {name: rule.group for name, rule in loaded.items()} == {"no-limits": "hazard", "of-today": "practice"}


@pytest.mark.parametrize("seconds", [-1, 0, 1], ids="{:+}s".format)
def test_a_rule_that_is_edited_acts_at_once(seconds: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where its size stays; a file that is no newer than the index, as unpacked from a wheel, is not read."""
    monkeypatch.setattr("nodelint.rule.definition.bundled", lambda: str(tmp_path))
    read: list[str] = []
    hashed = rule_module.content_hash

    def counted_hash(path: str) -> int:
        read.append(path)
        return hashed(path)

    monkeypatch.setattr(rule_module, "content_hash", counted_hash)
    written = (ROOT / "rules" / "no-limits.py").read_bytes()
    written_at = Path(DATA, "rules.json").stat().st_mtime_ns + seconds * 10**9
    (tmp_path / "untouched.py").write_bytes(written)
    file = tmp_path / "no-limits.py"
    for group in (b'"practice"', b'"hazard"  '):
        file.write_bytes(written.replace(b'group="practice"', b"group=" + group))
        os.utime(file, ns=(written_at, written_at))
        shown = load_bundled.__wrapped__()["no-limits"].group
        assert shown == ("practice" if seconds < 1 else group.decode().strip('" '))
    assert file.stat().st_size == len(written)
    assert read == [str(file)] * (2 if seconds == 1 else 0)


def test_the_checkout_judges_by_the_rule_as_it_is_written_now(tmp_path: Path) -> None:
    """From the command line: the range of releases of a rule is edited, its size is not."""
    checkout = tmp_path / "checkout"
    for part in ("nodelint", "rules", "schemas"):
        shutil.copytree(ROOT / part, checkout / part, ignore=shutil.ignore_patterns("__pycache__"))
    manifest = tmp_path / "pool.yaml"
    manifest.write_text(next(examples(RULES["replicas-beyond-limit"].page)).text, encoding="utf-8")
    file = checkout / "rules" / "replicas-beyond-limit.py"
    code = file.read_text(encoding="utf-8")
    flags = ("--select", "replicas-beyond-limit", "--karpenter-version", "1.7.6")
    command = [sys.executable, "-m", "nodelint", "check", *flags]
    shown = []
    for text in (code, code.replace('">=1.8.0"', '">=1.7.0"'), code):
        file.write_text(text, encoding="utf-8")
        done = subprocess.run([*command, str(manifest)], cwd=checkout, capture_output=True, text=True, check=True)
        shown.append("[replicas-beyond-limit]" in done.stdout)
    assert shown == [False, True, False]


@pytest.mark.slow
def test_a_rule_says_its_subject_and_where_its_claim_can_be_read() -> None:
    def check(rule: Rule) -> None:
        assert rule.subject in SUBJECTS, f"`{rule.subject}` is none of {', '.join(SUBJECTS)}"
        assert rule.sources or rule.on is Suppression, (
            "name a line of Karpenter's code, or a page of AWS or Kubernetes"
        )
        for words, address in map(source_link, rule.sources):
            assert f"[{words}]({address})" in page_of(rule.name)

    try_each(RULES.values(), check, lambda rule: rule.name)


def test_no_page_without_a_rule() -> None:
    pages = {path.stem for path in (ROOT / "docs" / "rules").glob("*.md")} - {"index"}
    assert pages == set(RULES)


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_a_rule_keeps_the_laws(rule: str) -> None:
    assert TRIAL.broken_laws(RULES[rule]) == []
    LAWS.hold(rule)
