"""Edits that are written when somebody reads them are those that are written at once, and few are read."""

from __future__ import annotations

import pickle
from collections.abc import Sequence

import pytest

from nodelint import edits
from nodelint.edits import formatting
from nodelint.lint.engine import LintRequest, Report, Selection, Target, lint
from nodelint.model.finding import Edit, PendingEdits, join_edits, pending_by_source
from nodelint.model.releases import NEWEST
from nodelint.report.text import findings_text
from nodelint.rule.context import Context
from nodelint.rule.definition import Rule
from nodelint.rule.examples import examples
from nodelint.text import Node, Source
from tests.manifests import nodepool

VALUE = [{"nodes": "10%"}, {"nodes": "0", "duration": "8h"}]
FORMS = {
    "a.yaml": "a: &x {b: 1}\nc: *x\nd:\n  <<: *x\n  e: 1\nf: {}\ng:\n",
    "b.yaml": "? a\n: b\n",
    "c.yaml": "a:\r  b: 1\r",
    "d.json": '{"a": {"b": 1}, "c": {}}',
    "templates/e.yaml": "spec:\n  a: 1\n  {{- if .Values.x }}\n  b: 2\n  {{- end }}\n  c:\n    d: karpenter.sh\n",
    "f.yaml": "a:\n\t- karpenter.sh\n",
}


def add(how: object, mapping: Node) -> tuple[list[Edit], str]:
    try:
        made: Sequence[Edit] = how(mapping, "budgets", VALUE)  # type: ignore[operator]
    except edits.NotEditable as error:
        return [], error.reason
    assert not isinstance(made, PendingEdits) or made
    return [*made], ""


def test_what_is_written_later_is_what_is_written_at_once(rules: dict[str, Rule]) -> None:
    texts = {example.text: "a.yaml" for rule in rules.values() for example in examples(rule.page)}
    sources = [Source.from_text(path, text) for text, path in texts.items()]
    sources += [Source.from_text(path, text, "") for path, text in FORMS.items()]
    pending = 0
    reasons = set()
    for source in sources:
        for document in source.documents:
            for node in document.root.walk() if document.root is not None else ():
                expected = add(edits.add_key, node)
                assert add(edits.add_key_later, node) == expected
                pending += isinstance(edits.if_editable(edits.add_key_later, node, "budgets", VALUE), PendingEdits)
                reasons.add(expected[1])
    assert pending > 1000
    assert len(reasons) > 4, reasons


def judged(count: int, rules: dict[str, Rule]) -> Report:
    block = "disruption: {consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 10s}"
    lines = block.replace("{", "\n    ").replace(", ", "\n    ").replace("}", "")
    sources = [Source.from_text(f"p{n}.yaml", nodepool(name=f"p{n}", spec=f"  {lines}\n")) for n in range(count)]
    return lint(sources, LintRequest(Target(NEWEST), rules, Selection(select=frozenset(rules))))


def test_suggestions_for_many_pools_are_written_where_they_are_shown(
    rules: dict[str, Rule], monkeypatch: pytest.MonkeyPatch
) -> None:
    only = {"default-disruption": rules["default-disruption"]}
    looked: list[Node] = []
    look = formatting.UsualStyles.__init__

    def note(styles: formatting.UsualStyles, root: Node, json: bool) -> None:
        looked.append(root)
        look(styles, root, json)

    monkeypatch.setattr(formatting.UsualStyles, "__init__", note)
    report = judged(40, only)
    assert not looked
    text = findings_text(report.results)
    assert "and in 37 more files" in text[0]
    assert len(looked) <= 6
    monkeypatch.setattr(Context, "recording", True)
    at_once = judged(40, only)
    assert findings_text(at_once.results) == text
    (ours,), (theirs,) = report.results, at_once.results
    assert [(s.name, [*s.edits]) for s in ours.finding.suggestions] != []
    for suggestion, other in zip(ours.finding.suggestions, theirs.finding.suggestions, strict=True):
        assert suggestion.name == other.name
        assert [(e.source.path, *e[1:]) for e in suggestion.edits] == [(e.source.path, *e[1:]) for e in other.edits]


def test_joined_edits() -> None:
    first, second = (Source.from_text(f"{n}.yaml", "a: 1\n") for n in "ab")
    renamed, other = Edit(first, 0, 1, "b"), Edit(second, 0, 1, "c")
    assert join_edits([[renamed], [other], [renamed]]) == [renamed, other]
    later = PendingEdits([(second, lambda: [other])])
    joined = join_edits([[renamed], later, [renamed], later])
    assert isinstance(joined, PendingEdits)
    groups = pending_by_source(joined)
    assert [source for source, _ in groups] == [first, second]
    assert [[*edits] for _, edits in groups] == [[renamed], [other]]
    assert [*joined] == [renamed, other]
    assert (len(joined), joined[1], joined == [renamed, other], joined == [other]) == (2, other, True, False)
    plain = PendingEdits([(first, lambda: [Edit("x", 0, 0, "y")])])  # type: ignore[arg-type]
    assert pickle.loads(pickle.dumps(plain)) == [Edit("x", 0, 0, "y")]  # type: ignore[arg-type]
