"""The laws that every rule keeps, over the examples of its own page."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from nodelint.data import DATA, table
from nodelint.edits import apply
from nodelint.lint import rule as rule_module
from nodelint.lint.context import Context
from nodelint.lint.engine import DEFAULTS, Report, Selection, Target, lint
from nodelint.lint.fixing import fix
from nodelint.lint.rule import SUBJECTS, Example, Rule, bundled, examples, index, load, load_bundled, source_link
from nodelint.lint.suppress import Suppression
from nodelint.model.cluster_objects import PATTERN
from nodelint.model.documents import objects
from nodelint.model.finding import Suggestion
from nodelint.model.manifest import EC2NodeClass, served
from nodelint.model.messages import LONGEST_MESSAGE
from nodelint.report.page import alone, build_example, markdown, read_example, target_of
from nodelint.source import Source

from .conftest import ROOT

RULES = load(bundled())
_NAMES = "(?:Bottlerocket|Karpenter|Kubernetes|Linux|Windows)"
# They are about text that is not YAML, template code, or several files: their examples say nothing as objects.
TEXT_RULES = {
    "yaml-syntax",
    "dead-default",
    "fixed-class-kind",
    "nil-pointer",
    "repeated-by-loop",
    "replaced-list",
    "required-field-not-printed",
    "unmatched-patch",
    "unquoted-value",
    "value-never-printed",
}


@dataclass(frozen=True)
class Case:
    rule: Rule
    number: int
    bad: Example
    good: Example

    def __str__(self) -> str:
        return f"{self.rule.name}-{self.number}"


def cases() -> Iterator[Case]:
    for rule in RULES.values():
        found = list(examples(rule.page))
        bad, good = [e for e in found if not e.good], [e for e in found if e.good]
        for number, pair in enumerate(zip(bad, good, strict=False), 1):  # a lone one fails the test of pairs
            yield Case(rule, number, *pair)


def judge_sources(
    sources: Sequence[Source],
    target: Target,
    rules: Mapping[str, Rule],
    selection: Selection,
    context_sources: Sequence[Source] = (),
) -> Report:
    """The engine, over what is built of an example that is several files."""
    return lint(sources, target, rules, selection, context_sources, built=build_example(sources).built)


@cache
def judge(text: str, example: Example, rule: Rule | None = None) -> Report:
    selection = alone(rule) if rule else DEFAULTS
    report = judge_sources(read_example(text).files, target_of(example), RULES, selection)
    assert not report.faults
    return report


CASES = list(cases())


@cache
def has_fix(case: Case) -> bool:
    """Some examples show a finding of a fixing rule for which there is no fix."""
    return any(r.fixable for r in judge(case.bad.text, case.bad, case.rule).results)


class Laws:
    """What holds for every example that a law is about. One test for each rule tries all of them."""

    def __init__(self) -> None:
        self._laws: list[tuple[Callable[[Case], None], Callable[[Case], bool]]] = []

    def about(self, fits: Callable[[Case], bool]) -> Callable[[Callable[[Case], None]], Callable[[Case], None]]:
        def add(law: Callable[[Case], None]) -> Callable[[Case], None]:
            self._laws.append((law, fits))
            return law

        return add

    def hold(self, rule: str) -> None:
        """Raise an ExceptionGroup of everything that fails, each with its law and its example."""
        broken = []
        for case in (each for each in CASES if each.rule.name == rule):
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
each_case = LAWS.about(lambda case: True)
each_fix = LAWS.about(has_fix)


@cache
def fixed_text(text: str, case: Case, name: str = "example.yaml") -> str:
    sources = read_example(text, name).files
    done = fix(sources, target_of(case.bad), RULES, alone(case.rule), unsafe=True, judge=judge_sources)
    assert not done.refused, done.refused
    return "".join(source.text for source in done.sources)


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda r: r.name)
def test_a_rule_has_a_bad_and_a_good_example(rule: Rule) -> None:
    found = list(examples(rule.page))
    assert any(e.good for e in found)
    assert any(not e.good for e in found)
    assert sum(e.good for e in found) * 2 == len(found), "each bad example has its good one"
    assert all(name in RULES for name in rule.gives_way_to)
    assert not rule.summary.endswith(":")


def test_a_rule_that_says_it_fixes_shows_a_fix_and_no_other_does() -> None:
    assert {case.rule.name for case in CASES if has_fix(case)} == {name for name, rule in RULES.items() if rule.fix}


@each_case
def bad_yields_the_rule_and_good_does_not(case: Case) -> None:
    bad = judge(case.bad.text, case.bad, case.rule).results
    good = judge(case.good.text, case.good, case.rule).results
    assert bad
    # Beside what is shown by default, a rule may have advice for the strict profile.
    assert not {r.finding.strict for r in good} & {r.finding.strict for r in bad}, good


@each_case
def the_rule_speaks_in_a_full_run_too(case: Case) -> None:
    """No rule is wholly hidden behind those that it gives way to."""
    selection = Selection(frozenset(name for name, r in RULES.items() if r.group != "practice" or r is case.rule))
    report = judge_sources(read_example(case.bad.text).files, target_of(case.bad), RULES, selection)
    assert case.rule.name in {r.rule.name for r in report.results}


@each_case
def a_good_example_has_no_error_at_all(case: Case) -> None:
    report = judge(case.good.text, case.good)
    assert [(r.rule.name, r.finding.message) for r in report.results if r.severity == "error"] == []


@each_case
def a_good_example_trips_no_other_rule_of_the_default_profile(case: Case) -> None:
    report = judge(case.good.text, case.good)
    # What only Amazon Linux 2 does can be shown with nothing else, and that it has ended stays true.
    own = {case.rule.name, *(["ended-family"] if "alias: al2@" in case.good.text else [])}
    assert [(r.rule.name, r.finding.message) for r in report.results if r.rule.name not in own] == []


@each_case
def messages_are_short_sentences(case: Case) -> None:
    for result in judge(case.bad.text, case.bad, case.rule).results:
        message = result.finding.message
        assert len(message) <= LONGEST_MESSAGE, message
        assert not message.endswith("."), message
        assert "\n" not in message
        # Names keep their capitals, words do not begin with one.
        assert re.match(rf"[a-z0-9`\"'(]|{_NAMES}|[A-Z][a-zA-Z0-9]*[A-Z]", message), message
        words, name = re.sub(r"[^a-z]+", " ", message.lower()), case.rule.name.replace("-", " ")
        assert not words.strip().startswith(name), f"{message} says the rule's name again"


@each_case
def a_finding_is_read_at_a_glance(case: Case) -> None:
    """Consequence and advice are short too, begin as messages do, and do not say each other's words."""
    for result in judge(case.bad.text, case.bad, case.rule).results:
        parts = [result.finding.message, *filter(None, (result.finding.note, result.finding.help))]
        assert len(set(parts)) == len(parts)
        assert len(" ".join(parts)) <= 320, parts
        for part in parts[1:]:
            assert len(part) <= 180 and "\n" not in part and not part.endswith("."), part
            assert re.match(rf"[a-z0-9`\"'(]|{_NAMES}|[A-Z][a-zA-Z0-9]*[A-Z]", part), part


def apply_suggestion(text: str, suggestion: Suggestion) -> str:
    sources = read_example(text).files
    changed = {edit.source.path for edit in suggestion.edits}
    return "".join(
        apply(source.text, suggestion.edits) if source.path in changed else source.text for source in sources
    )


@each_case
def what_is_suggested_mends_what_was_found(case: Case) -> None:
    """Each suggestion by itself leaves a text that the API server takes, and in which the finding is gone."""
    for result in judge(case.bad.text, case.bad, case.rule).results:
        names = [each.name for each in result.finding.suggestions]
        assert len(set(names)) == len(names)
        for suggestion in result.finding.suggestions:
            text = apply_suggestion(case.bad.text, suggestion)
            assert text != case.bad.text
            left = judge(text, case.bad)
            assert case.rule.name not in {r.rule.name for r in left.results}, suggestion.name
            assert [r.finding.message for r in left.results if r.severity == "error"] == []


NO_EDIT = "There is no edit"
"""How a page begins the sentence that says why an error of its rule has none."""


@each_case
def an_error_has_an_edit_or_its_page_says_why_not(case: Case) -> None:
    bare = [
        result.finding.message
        for result in judge(case.bad.text, case.bad, case.rule).results
        if result.severity == "error" and not result.finding.edits and not result.finding.suggestions
    ]
    assert not bare or NO_EDIT in case.rule.page


@each_fix
def the_fix_of_the_bad_example_is_the_good_one(case: Case) -> None:
    fixed = fixed_text(case.bad.text, case)
    assert fixed == case.good.text
    assert fixed_text(fixed, case) == fixed


@each_fix
def what_was_fixed_is_accepted_by_the_schema(case: Case) -> None:
    fixed = Source.from_text("example.yaml", fixed_text(case.bad.text, case), PATTERN)
    target = target_of(case.bad)
    context = Context(list(objects(fixed)), target.karpenter, target.kubernetes, facts=target.facts)
    for obj in context.objects:
        if served(obj, target.karpenter):
            assert [p.message for p in context.problems(obj)] == []


def crlf(text: str) -> str:
    return text.replace("\n", "\r\n")


def bom(text: str) -> str:
    return "\ufeff" + text


def document_before(text: str) -> str:
    return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: karpenter-settings\n---\n" + text


def no_newline(text: str) -> str:
    return text.removesuffix("\n")


def comments(text: str) -> str:
    # Not after a line that ends in a comment already, nor inside a block scalar.
    if re.search(r": [|>]", text):
        return text  # a comment inside a block scalar would be text
    return "".join(
        line if "#" in line or not line.strip() or line.startswith("---") else f"{line[:-1]} # noted\n"
        for line in text.splitlines(keepends=True)
    )


@each_fix
def disguises_commute_with_the_fix(case: Case) -> None:
    for disguise in (crlf, bom, document_before, no_newline):
        assert fixed_text(disguise(case.bad.text), case) == disguise(case.good.text), disguise.__name__


@each_fix
def comments_survive_the_fix(case: Case) -> None:
    """Lines that the fix leaves alone keep their comments, and the result means the same as without."""
    fixed = fixed_text(comments(case.bad.text), case)
    meant = Source.from_text("a.yaml", fixed_text(case.bad.text, case), PATTERN)
    got = Source.from_text("a.yaml", fixed, PATTERN)
    assert [d.root.plain() for d in got.documents if d.root] == [d.root.plain() for d in meant.documents if d.root]
    commented = comments(case.bad.text).splitlines()
    kept = [line for line in commented if line in fixed.splitlines()]
    plain = [line for line in case.bad.text.splitlines() if line in case.good.text.splitlines()]
    assert len(kept) >= len(plain)


@each_fix
def json_is_fixed_as_yaml_is(case: Case) -> None:
    """The same objects written as JSON: the fix means the same, where it does not need a new document."""
    if case.bad.files:
        return  # an example of several files is no list of objects
    source = Source.from_text("a.yaml", case.bad.text, PATTERN)
    roots = [d.root.plain() for d in source.documents if d.root]
    good = Source.from_text("a.yaml", case.good.text, PATTERN)
    wanted = [d.root.plain() for d in good.documents if d.root]
    if len(wanted) != len(roots) or case.rule.name in ("unused-suppression", *TEXT_RULES):
        return  # comments and further documents are not written in JSON
    for indent in (2, None):
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": roots}, indent=indent) + "\n"
        fixed = fixed_text(text, case, "example.json")
        assert json.loads(fixed)["items"] == wanted, indent


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda r: r.name)
def test_the_committed_page_is_the_generated_one(rule: Rule) -> None:
    page = ROOT / "docs" / "rules" / f"{rule.name}.md"
    assert page.read_text(encoding="utf-8") == markdown(rule, RULES), "run tools/make_rule_pages.py"


def test_the_committed_index_says_what_the_files_declare() -> None:
    assert table("rules")["rules"] == index(RULES, bundled()), "run tools/make_rule_pages.py"
    declared = [rule._replace(check=index, text=str, sources=()) for rule in load_bundled().values()]
    assert declared == [rule._replace(check=index, text=str, sources=()) for rule in RULES.values()]
    assert [rule.page for rule in load_bundled().values()] == [rule.page for rule in RULES.values()]


def test_a_rule_file_that_the_index_does_not_know_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nodelint.lint.rule.bundled", lambda: str(tmp_path))
    written = (ROOT / "rules" / "no-limits.py").read_text(encoding="utf-8")
    (tmp_path / "no-limits.py").write_text(written.replace('group="practice"', 'group="hazard"'), encoding="utf-8")
    (tmp_path / "of-today.py").write_text(written, encoding="utf-8")
    loaded = load_bundled.__wrapped__()
    assert {name: rule.group for name, rule in loaded.items()} == {"no-limits": "hazard", "of-today": "practice"}


@pytest.mark.parametrize("seconds", [-1, 0, 1], ids="{:+}s".format)
def test_a_rule_that_is_edited_acts_at_once(seconds: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where its size stays; a file that is no newer than the index, as unpacked from a wheel, is not read."""
    monkeypatch.setattr("nodelint.lint.rule.bundled", lambda: str(tmp_path))
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
    manifest.write_text(next(examples(RULES["startup-race"].page)).text, encoding="utf-8")
    file = checkout / "rules" / "startup-race.py"
    code = file.read_text(encoding="utf-8")
    command = [sys.executable, "-m", "nodelint", "check", "--select", "startup-race", "--karpenter-version", "1.8.0"]
    shown = []
    for text in (code, code.replace('"<1.7.0"', '"<1.9.0"'), code):
        file.write_text(text, encoding="utf-8")
        done = subprocess.run([*command, str(manifest)], cwd=checkout, capture_output=True, text=True, check=True)
        shown.append("info[startup-race]" in done.stdout)
    assert shown == [False, True, False]


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda r: r.name)
def test_a_rule_says_its_subject_and_where_its_claim_can_be_read(rule: Rule) -> None:
    assert rule.subject in SUBJECTS
    assert rule.sources or rule.on is Suppression, "name a line of Karpenter's code, or a page of AWS or Kubernetes"
    for words, address in map(source_link, rule.sources):
        assert f"[{words}]({address})" in markdown(rule, RULES)


def test_no_page_without_a_rule() -> None:
    pages = {path.stem for path in (ROOT / "docs" / "rules").glob("*.md")} - {"index"}
    assert pages == set(RULES)


# What Karpenter leaves out of the hash that it compares nodes with; a change elsewhere replaces nodes.
_NO_DRIFT = re.compile(
    r"(NodePool:(?!spec\.template)|NodePool:spec\.template\.spec\.requirements|"
    r"EC2NodeClass:(?!spec))"
)


@each_fix
def safe_agrees_with_the_drift_paths(case: Case) -> None:
    """A safe fix touches only what is outside of the drift hash, or an object that could not work."""
    report = judge(case.bad.text, case.bad, case.rule)
    target = report.target
    context = Context(list(report.objects), target.karpenter, target.kubernetes, facts=target.facts)
    for result in report.results:
        if not result.fixable or result.safety != "safe" or result.severity == "error":
            continue
        for edit in result.finding.edits:
            for obj in context.objects:
                for node in obj.node.walk():
                    if node.kind == "scalar" and node.start >= edit.start and node.end <= edit.end:
                        if node.path.startswith("spec.amiSelectorTerms"):
                            # Not in the hash: nodes are compared with the images that the terms find.
                            assert _taken(case, case.bad.text) == _taken(case, case.good.text) != []
                            continue
                        assert _NO_DRIFT.match(f"{obj.kind}:{node.path}"), node.path


def _taken(case: Case, text: str) -> list[str]:
    report = judge(text, case.bad, case.rule)
    target = report.target
    context = Context(list(report.objects), target.karpenter, target.kubernetes, facts=target.facts)
    found = [i for o in report.objects if isinstance(o, EC2NodeClass) for i in context.images(o).images]
    return [image.found.id for image in found if image.found is not None]


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_keeps_the_laws(rule: str) -> None:
    LAWS.hold(rule)
