"""What is the same on both sides of a change is judged once, and what is said of the old side stays what it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from nodelint.commands.plan import command
from nodelint.inventory import build
from nodelint.lint import judging
from nodelint.lint.engine import LintRequest, Report, Selection, Target, lint
from nodelint.lint.incremental import ResultCaches
from nodelint.model.documents import objects
from nodelint.model.releases import NEWEST
from nodelint.plan.unchanged_objects import match_unchanged
from nodelint.rule.classification import PROFILES
from nodelint.rule.definition import load_bundled
from nodelint.rule.examples import examples
from nodelint.text import Node, Source
from nodelint.text.copied import copy_source
from tests.manifests import nodeclass, nodepool

REQUEST = LintRequest(Target(NEWEST), load_bundled(), Selection(groups=PROFILES["strict"]))
Texts = tuple[str, ...]


def read_variants() -> list[Texts]:
    """Texts of examples, those together that hold objects of the same kinds and names."""
    found: dict[tuple[object, ...], dict[str, None]] = {}
    for rule in REQUEST.rules.values():
        for example in examples(rule.page):
            objs = [*objects(Source.from_text("a.yaml", example.text), foreign=True, more=True)]
            names = tuple((obj.kind, obj.name) for obj in objs)
            if objs and match_unchanged(side([example.text], "a"), side([example.text], "b")) is not None:
                found.setdefault(names, {})[example.text] = None
    return [tuple(texts) for texts in found.values()]


def side(texts: Sequence[str], root: str) -> tuple[Any, tuple[()], str]:
    return build([Source.from_text(f"{root}/{n}.yaml", text) for n, text in enumerate(texts)]), (), root


def report_content(report: Report) -> object:
    results = [
        (r.rule.name, r.span.source.path, r.span.start, r.span.end, r.message, r.severity, r.finding.advice, r.safety)
        for r in report.results
    ]
    return results, [(s.rule, s.path, s.reason) for s in report.skipped], report.faults


def judge_both(old: Sequence[str], new: Sequence[str]) -> tuple[Report, Report]:
    """What is said of the old side after the new one, and what is said of it alone."""
    was, now = side(old, "old"), side(new, "new")
    twins = match_unchanged(was, now)
    assert twins is not None
    memory = ResultCaches()
    lint(now[0].files, REQUEST, memory=memory)
    return lint(was[0].files, REQUEST, memory=memory.carry_over(twins)), lint(side(old, "old")[0].files, REQUEST)


VARIANTS = [texts for texts in read_variants() if len(texts) > 1]


@st.composite
def changes(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    """The files of both sides, of which half at least are the same."""
    old, new = [], []
    for n in range(draw(st.integers(2, 8))):
        texts = draw(st.sampled_from(VARIANTS))
        old.append(draw(st.sampled_from(texts)))
        new.append(draw(st.sampled_from(texts)) if n % 3 == 2 else old[-1])
    return old, new


@settings(max_examples=10)
@given(changes())
def test_the_old_side_is_judged_as_it_would_be_alone(change: tuple[list[str], list[str]]) -> None:
    if match_unchanged(side(change[0], "old"), side(change[1], "new")) is not None:
        carried, alone = judge_both(*change)
        assert report_content(carried) == report_content(alone)


def test_a_rule_is_told_of_a_change_in_another_object() -> None:
    """The class alone changes: what its pool launches, and what follows from it, is another thing."""
    pool = nodepool("key: kubernetes.io/arch, operator: In, values: [arm64]", inline=True)
    rest = [nodepool("key: kubernetes.io/arch, operator: Exists", name=f"p{n}") for n in range(3)]
    old, new = (
        [pool, nodeclass(ami=f"alias: {alias}"), *rest] for alias in ("windows2022@latest", "al2023@v20250403")
    )
    carried, alone = judge_both(old, new)
    assert report_content(carried) == report_content(alone)
    assert "image-arch-mismatch" in {result.rule.name for result in carried.results}


def test_what_is_the_same_is_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    judged = 0
    run_rule = judging.ReleaseRun._run_rule

    def count(self: Any, *arguments: Any) -> None:
        nonlocal judged
        judged += 1
        run_rule(self, *arguments)

    monkeypatch.setattr(judging.ReleaseRun, "_run_rule", count)
    texts = [
        nodepool("key: kubernetes.io/arch, operator: In, values: [amd64]", name=f"p{n}", inline=True)
        for n in range(20)
    ]
    texts.append(nodeclass())
    was, now = side(texts, "old"), side([texts[0].replace("amd64", "arm64"), *texts[1:]], "new")
    twins, memory = match_unchanged(was, now), ResultCaches()
    assert twins is not None and len(twins) == 20
    lint(now[0].files, REQUEST, memory=memory)
    first = judged
    lint(was[0].files, REQUEST, memory=memory.carry_over(twins))
    assert judged - first < first / 3


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ([nodepool()], [nodepool(name="other")]),
        ([nodepool()], [nodepool(), nodeclass()]),
        ([nodepool()], [nodepool().replace("karpenter.sh/v1", "karpenter.sh/v1beta1")]),
        ([nodepool()], [nodepool() + "---\n" + nodepool().replace("apiVersion", "{{ x }}: 1\napiVersion")]),
        ([nodepool(), nodeclass()], [nodepool(), nodeclass(ami="alias: {{ .Values.alias }}")]),
        ([nodepool()] * 3, [nodepool() + "  weight: 1\n"] * 2 + [nodepool()]),
    ],
)
def test_sides_that_differ_otherwise_are_judged_apart(old: list[str], new: list[str]) -> None:
    assert match_unchanged(side(old, "old"), side(new, "new")) is None
    assert match_unchanged(side(new, "old"), side(old, "new")) is None


def dump(node: Node | None) -> object:
    """All that is known of a node and of what it holds."""
    if node is None:
        return None
    own = node.start, node.end, node.raw, node.kind, node.style, type(node.value), node.value, node.tag
    entries = [(entry.name, entry.merged, dump(entry.key), dump(entry.value)) for entry in node.entries]
    children = [*node.items, *(part for entry in node.entries for part in (entry.key, entry.value))]
    assert all(child.parent is node and child.source is node.source for child in children)
    return own, node.alias, node.aliased, node.shared, len(node.merges), entries, [*map(dump, node.items)]


def dump_source(source: Source) -> object:
    documents = [
        (dump(d.root), d.start, d.end, d.index, d.templated, d.host, d.prefix, d.part) for d in source.documents
    ]
    return source.path, source.text, source.tabbed, source.masked, source.part, source.encoding, documents


def test_a_text_that_was_read_is_copied_as_it_would_be_read() -> None:
    copied = 0
    for rule in REQUEST.rules.values():
        for example in examples(rule.page):
            source = Source.from_text("old/a.yaml", example.text)
            twin = copy_source(source, "new/a.yaml")
            if twin is not None:
                copied += 1
                assert dump_source(twin) == dump_source(Source.from_text("new/a.yaml", example.text))
    assert copied > 300


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("b.yaml", nodepool()),
        ("a.tf", nodepool()),
        ("a.yaml", nodepool(labels="&a {b: c}")),
        ("a.yaml", "{{- if .Values.pool }}\n" + nodepool() + "{{- end }}\n"),
        ("a.yaml", nodepool() + "   x\n"),
    ],
)
def test_what_may_read_as_something_else_is_not_copied(path: str, text: str) -> None:
    assert copy_source(Source.from_text("a.yaml", text), path) is None


def test_a_file_that_both_sides_hold_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder, texts in (("old", ["a", "b"]), ("new", ["a", "c"])):
        (tmp_path / folder).mkdir()
        for n, name in enumerate(texts):
            (tmp_path / folder / f"{n}.yaml").write_text(nodepool(name=name))
    monkeypatch.chdir(tmp_path)
    read = []
    from_bytes = Source.from_bytes
    monkeypatch.setattr(Source, "from_bytes", lambda path, *more: read.append(path) or from_bytes(path, *more))
    CliRunner().invoke(command, ["--old", "old", "new"])
    assert sorted(read) == ["new/1.yaml", "old/0.yaml", "old/1.yaml"]
