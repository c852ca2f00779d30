"""Comments that silence a rule: where they reach, and what is said of those that reach nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nodelint import edits
from nodelint.lint.broken_fixes import _edits_comment
from nodelint.lint.engine import Report
from nodelint.model.finding import Finding, Span
from nodelint.rule.suppressions import Suppression
from nodelint.text import Source
from tests.manifests import nodeclass, nodepool

CLASS = nodeclass()
TYPO = CLASS + "  detailedMonitorin: true\n  volumes: 3\n"
Check = Callable[..., Report]


def rules_of(report: Report) -> list[str]:
    return [r.rule.name for r in report.results]


def test_without_a_comment_both_are_found(check: Check) -> None:
    assert rules_of(check(TYPO)) == ["unknown-field", "unknown-field"]


def test_at_the_end_of_its_line(check: Check) -> None:
    text = TYPO.replace("Monitorin: true", "Monitorin: true # nodelint: ignore[unknown-field] a webhook reads it")
    report = check(text)
    assert [r.finding.message for r in report.results if "volumes" in r.finding.message]
    assert rules_of(report) == ["unknown-field"]


def test_on_the_line_above(check: Check) -> None:
    text = TYPO.replace("  detailed", "  # nodelint: ignore[unknown-field] a webhook reads it\n  detailed")
    assert rules_of(check(text)) == ["unknown-field"]


def test_above_an_object_it_is_about_all_of_it(check: Check) -> None:
    text = "# nodelint: ignore[unknown-field] kept as it was\n" + TYPO
    assert rules_of(check(text)) == []


def test_above_an_object_it_is_not_about_the_next_one(check: Check) -> None:
    text = "# nodelint: ignore[unknown-field] this one only\n" + TYPO + "---\n" + TYPO
    assert [rule for rule in rules_of(check(text)) if rule == "unknown-field"] == ["unknown-field"] * 2


def test_another_rule_is_not_silenced(check: Check) -> None:
    text = "# nodelint: ignore[wildcard-value] wrong one\n" + TYPO
    assert rules_of(check(text)) == ["unused-suppression", "unknown-field", "unknown-field"]


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        (
            "# nodelint: ignore[unknown-feild]",
            "there is no rule `unknown-feild` (did you mean `unknown-field`?)",
        ),
        (
            "# nodelint: ignore",
            "this comment names no rule, so it suppresses nothing: write `# nodelint: ignore[rule] reason`",
        ),
        (
            "# nodelint: ignore[unknown-field]",
            "this comment suppresses nothing: `unknown-field` reports nothing at this place",
        ),
    ],
)
def test_a_comment_that_silences_nothing_is_reported(check: Check, comment: str, message: str) -> None:
    report = check(f"{comment}\n{CLASS}")
    assert [r.finding.message for r in report.results] == [message]


def test_a_comment_for_a_rule_that_did_not_run_is_left_in_peace(check: Check) -> None:
    text = "# nodelint: ignore[unknown-field]\n" + CLASS
    assert rules_of(check(text, select=["unused-suppression", "invalid-field"])) == []


@pytest.mark.parametrize("indent", ["", "  "])
def test_a_comment_of_another_linter_at_a_finding_names_what_it_would_silence(check: Check, indent: str) -> None:
    report = check(f"{CLASS}{indent}# noqa\n{indent}volumes: 3\n")
    (message,) = [result.message for result in report.results if "silences" in result.message]
    assert message == "this comment silences nothing here: write `# nodelint: ignore[unknown-field] reason`"
    assert rules_of(check(CLASS.replace("spec:\n", "spec: # noqa\n", 1))) == []


def test_a_hash_inside_a_text_is_no_comment(check: Check) -> None:
    text = CLASS + '  userData: "echo # nodelint: ignore[unknown-field]"\n'
    assert "unknown-field" not in rules_of(check(text))


def test_a_comment_in_a_list_reaches_its_item_only(check: Check) -> None:
    text = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: a}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: a}
      requirements:
        # nodelint: ignore[wildcard-value] kept to see it refused
        - key: karpenter.k8s.aws/instance-family
          operator: In
          values: ["c7*"]
        - key: karpenter.k8s.aws/instance-size
          operator: In
          values: ["*"]
"""
    report = check(text, select=["wildcard-value"])
    assert [r.span.source.position(r.span.start).line for r in report.results] == [15]


@pytest.mark.parametrize("field", ["spec:", "  template:", "    spec:", "      requirements:"])
def test_above_a_field_it_is_about_the_block_below_it_too(check: Check, field: str) -> None:
    text = nodepool(
        "key: karpenter.k8s.aws/instance-family, operator: In, values: [c7*]",
        name="a",
        node_class="a",
        spec="  limits: {cpu: 1}\n",
    )
    pad = field[: len(field) - len(field.lstrip())]
    comment = f"{pad}# nodelint: ignore[wildcard-value] to be seen\n"
    before, after = text.split(f"\n{field}\n")
    silent = check(f"{before}\n{comment}{field}\n{after}", select=["wildcard-value", "unused-suppression"])
    assert rules_of(silent) == []


SHAPES = """\
--- # a comment
apiVersion: karpenter.k8s.aws/v1
kind: &kind EC2NodeClass
metadata: {name: c,
  labels: {a: b, 'c d':
    e, f: "g
    h"}}
spec:
  role: some plain
    text
  ? amiFamily
  : AL2023
  userData: "#!/bin/sh

    # a line of a script"
  tags:
  - - a
    -
      b

  # another comment
  amiSelectorTerms: [alias: al2023@v20250403,
    {id: ami-1}]
...
---
kind: *kind
"""


@pytest.mark.parametrize("way", ["{} # nodelint: ignore[wildcard-value]", "# nodelint: ignore[wildcard-value]\n{}"])
def test_a_comment_that_goes_leaves_every_value_as_it_was(check: Check, way: str) -> None:
    """Which is why the file is not read again to try such a fix."""
    lines, gone = SHAPES.split("\n"), 0
    for number, line in enumerate(lines):
        text = "\n".join([*lines[:number], way.format(line), *lines[number + 1 :]])
        for result in check(text, select=["unused-suppression", "wildcard-value"]).results:
            assert _edits_comment(result)
            source = result.span.source
            new = Source.from_text("a.yaml", edits.apply(text, result.finding.edits))
            assert [document.root.plain() for document in new.documents if document.root is not None] == [
                document.root.plain() for document in source.documents if document.root is not None
            ]
            assert [problem.message for problem in new.problems] == [problem.message for problem in source.problems]
            gone += 1
    assert gone > 12


BLOCKS = """\
kind: EC2NodeClass
apiVersion: karpenter.k8s.aws/v1
metadata: {name: c}
spec:
  userData: |+
    #!/bin/sh
    echo

    # a note

  context: >
    one
    two
    # three
  role: nodes
  tags:
    a: |-
      b

"""


@pytest.mark.parametrize("indent", [0, 2, 4, 6])
@pytest.mark.parametrize("chomping", ["+", "-", ""])
def test_a_comment_that_ends_a_text_of_several_lines_leaves_it_as_it_was(
    check: Check, indent: int, chomping: str
) -> None:
    lines, gone = BLOCKS.replace("|+", f"|{chomping}").split("\n"), 0
    for number in range(len(lines) + 1):
        text = "\n".join([*lines[:number], f"{' ' * indent}# nodelint: ignore[wildcard-value]", *lines[number:]])
        source = Source.from_text("a.yaml", text)
        for result in check(text, select=["unused-suppression", "wildcard-value"]).results:
            new = Source.from_text("a.yaml", edits.apply(text, result.finding.edits))
            assert [document.root.plain() for document in new.documents if document.root is not None] == [
                document.root.plain() for document in source.documents if document.root is not None
            ], text
            gone += 1
    assert gone > 6


def test_an_edit_of_more_than_a_comment_is_tried(check: Check) -> None:
    text = CLASS + "  detailedMonitoring: true # nodelint: ignore[wildcard-value]\n"
    (result,) = check(text, select=["unused-suppression", "wildcard-value"]).results
    (edit,) = result.finding.edits
    assert _edits_comment(result)
    for other in (
        edit._replace(start=edit.start - 1),
        edit._replace(end=edit.end + 1),
        edit._replace(text="x"),
        edit._replace(start=edit.start + 1, text="\n"),
    ):
        assert not _edits_comment(result._replace(finding=result.finding._replace(edits=[other])))


def test_a_scope_ends_before_its_end() -> None:
    source = Source.from_text("a.yaml", "ab")
    for scope, silenced in ((Span(source, 0, 1), [True, False]), (Span(source, 0, 0), [True, False])):
        comment = Suppression(Span(source, 0, 0), ("unknown-field",), scope, True)
        assert [comment.matches(["unknown-field"], Finding(Span(source, n, n + 1), "m")) for n in (0, 1)] == silenced
