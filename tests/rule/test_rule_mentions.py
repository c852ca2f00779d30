"""A rule that names texts of which an object holds one says nothing of an object that holds none of them."""

from __future__ import annotations

import pytest

from nodelint.lint.engine import LintRequest, Selection, lint
from nodelint.lint.judging import find_words
from nodelint.lint.results import Result
from nodelint.model.documents import objects
from nodelint.model.gap import Findings
from nodelint.report.page import judge_example, read_example, target_of
from nodelint.rule.context import Context
from nodelint.rule.definition import Rule, load_bundled
from nodelint.rule.examples import examples
from nodelint.text import Source
from tests.tables import try_each

RULES = load_bundled()
NAMING = frozenset(name for name, rule in RULES.items() if rule.mentions)
ALL = Selection(NAMING)


def result_content(result: Result) -> tuple[object, ...]:
    finding = result.finding
    return result.rule.name, result.span.start, result.span.end, result.severity, finding.message, finding.note


def asked_always() -> dict[str, Rule]:
    """The rules as if they named no text."""
    return {name: rule._replace(mentions=()) for name, rule in RULES.items()}


@pytest.mark.slow
def test_what_is_not_asked_would_have_said_nothing() -> None:
    always = asked_always()

    def check(name: str) -> None:
        for example in examples(RULES[name].page):
            target, files = target_of(example), read_example(example.text).files
            sample, every = (judge_example(files, LintRequest(target, rules, ALL)) for rules in (RULES, always))
            assert list(map(result_content, sample.results)) == list(map(result_content, every.results))
            assert [gap[:2] + gap[3:] for gap in sample.skipped] == [gap[:2] + gap[3:] for gap in every.skipped]

    try_each(sorted(RULES), check)


HIDDEN = (
    '{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "a", "ann\\u006ftations": '
    '{"karpenter.sh/do-not-disrupt": "true"}}, "spec": {}}',
    "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata:\n  name: a\n  !!binary YW5ub3RhdGlvbnM=:\n"
    '    karpenter.sh/do-not-disrupt: "true"\nspec: {}\n',
    "x: &x\n  annotations: &y {karpenter.sh/do-not-disrupt: 'true'}\n"
    "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata:\n  <<: *x\n  name: a\nspec: {}\n",
)


@pytest.mark.parametrize("text", HIDDEN, ids=["escape", "binary", "alias"])
def test_a_text_that_is_not_written_as_it_reads_is_held(text: str) -> None:
    source = Source.from_text("pool.json" if text.startswith("{") else "pool.yaml", text)
    found = lint([source], LintRequest(target_of(next(examples(RULES["misplaced-annotation"].page))), RULES))
    assert "misplaced-annotation" in {result.rule.name for result in found.results}


def test_only_texts_of_the_document_are_held() -> None:
    pool = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\n---\n# userData\n"
    [obj] = objects(Source.from_text("pool.yaml", pool))
    assert find_words(obj, {"userData", "apiVersion"}) == {"apiVersion"}


def test_a_document_of_several_objects_is_not_searched_for_each() -> None:
    pools = "".join(
        f"- {{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {{name: p-{n}}}}}\n" for n in range(3)
    )
    listed = objects(Source.from_text("pools.yaml", f"apiVersion: v1\nkind: List\nitems:\n{pools}"))
    assert [find_words(pool, {"userData"}) for pool in listed] == [{"userData"}] * 3


def test_a_rule_about_files_is_asked_of_those_that_hold_a_text() -> None:
    paths = []

    def check(source: Source, context: Context) -> Findings:
        paths.append(source.path)
        yield from ()

    rule = RULES["no-interruption-queue"]._replace(check=check)
    assert rule.mentions
    texts = {"with.yaml": f"a: {rule.mentions[0]}\n", "without.yaml": "a: 1\n"}
    target = target_of(next(examples(rule.page)))
    lint([Source.from_text(path, text) for path, text in texts.items()], LintRequest(target, {rule.name: rule}))
    assert paths == ["with.yaml"]
