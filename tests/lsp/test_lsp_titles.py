"""A code action is titled by what it does: over the fixes of every rule, and of some word for word."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from nodelint.lint.engine import LintRequest, Target, lint
from nodelint.lsp.titles import describe_edits
from nodelint.model.finding import Edit, by_source
from nodelint.model.releases import NEWEST
from nodelint.rule.definition import Rule
from nodelint.rule.examples import examples
from nodelint.text import Source, reread

HEAD = "apiVersion: karpenter.sh/v1\nkind: NodePool\nspec:\n"


def _title(text: str, *replacements: tuple[str, str]) -> str:
    """The title of edits that replace texts, each of which stands there once."""
    source = Source.from_text("a.yaml", HEAD + text)
    places = [(source.text.index(old), old, new) for old, new in replacements]
    edits = [Edit(source, at, at + len(old), new) for at, old, new in sorted(places)]
    changed = source.text
    for edit in reversed(edits):
        changed = changed[: edit.start] + edit.text + changed[edit.end :]
    return describe_edits(edits, [source], [reread(source, changed)])


@pytest.mark.parametrize(
    ("text", "replacements", "title"),
    [
        ("  weight: 10\n", [("10", "20")], "Set `weight` to `20`"),
        ("  weight: 10\n", [("weight", "wieght")], "Rename `weight` to `wieght`"),
        ("  weight: 10\n  a: b\n", [("  weight: 10\n", "")], "Remove `weight`"),
        ("  a: [t3.micro, t3.nano]\n", [("icro, t3.n", "")], "Remove `t3.micro`, `t3.nano` and add `t3.mano`"),
        ("  a: [c, m]\n", [("c, m", 'c, "m"')], 'Replace `m` with `"m"`'),
        ("  a: [c, m]\n", [(", m", "")], "Remove `m`"),
        ("  a: 7\n  b: 8\n", [("7", "4"), ("8", "5")], "Set `a` to `4` and set `b` to `5`"),
        (
            "  a: 7\n  b: 8\n  c: 9\n",
            [("7", "4"), ("8", "5"), ("9", "6")],
            "Set `a` to `4`, set `b` to `5` and 1 more change",
        ),
        ("  a: 720h\n  b: {}\n", [("  a: 720h\n", ""), ("{}", "{a: 720h}")], "Move `a`"),
        ("  a:\n    - key: x\n      operator: In\n", [("In", "Exists")], "Set `operator` to `Exists`"),
        (
            "  a:\n    - key: x\n      operator: Exists\n",
            [("Exists\n", "Exists\n    - {key: y, operator: In, values: [a, b]}\n")],
            "Add `y In [a, b]`",
        ),
        ("  a: |\n    x\n", [("x", "y")], "Change `a`"),
        ("  a: {{ .Values.a }}\n", [(".a ", ".b ")], "Replace `.a` with `.b`"),
        ("  a: 7\n", [("7\n", f"7\n---\n{HEAD}  a: b\nmetadata: {{name: web}}\n")], "Add the NodePool `web`"),
    ],
)
def test_edits_are_described_by_the_values_that_they_change(
    text: str, replacements: list[tuple[str, str]], title: str
) -> None:
    assert _title(text, *replacements) == title


def test_each_fix_names_what_it_changes(rules: Mapping[str, Rule]) -> None:
    seen = 0
    for rule in rules.values():
        for example in examples(rule.page):
            if example.good:
                continue  # a rule finds nothing there
            source = Source.from_text("a.yaml", example.text)
            for result in lint([source], LintRequest(Target(NEWEST), {rule.name: rule})).results:
                ways = [result.finding.edits, *(s.edits for s in result.finding.suggestions)]
                for edits in filter(None, ways):
                    groups = by_source(edits)
                    after = []
                    for group in groups:
                        text = group[0].source.text
                        for edit in sorted(group, key=lambda edit: edit.start, reverse=True):
                            text = text[: edit.start] + edit.text + text[edit.end :]
                        after.append(reread(group[0].source, text))
                    title = describe_edits(edits, [group[0].source for group in groups], after)
                    assert "`" in title and rule.name not in title and len(title) <= 240, (rule.name, title)
                    seen += 1
    assert seen > 100
