"""A finding keeps its mark while everything around it changes, and loses it when it changes itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from textwrap import indent as indented

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodelint.lint.engine import LintRequest, Report, Result, Target, lint
from nodelint.lint.fingerprints import field, fingerprints, relative
from nodelint.model.documents import objects
from nodelint.model.finding import Finding
from nodelint.model.releases import NEWEST
from nodelint.report.page import target_of
from nodelint.rule.definition import Rule
from nodelint.rule.examples import examples
from nodelint.text import Source
from tests.manifests import nodeclass

REQUIREMENTS = [
    ("karpenter.k8s.aws/instance-family", ["c7*"]),
    ("karpenter.k8s.aws/instance-category", ["*"]),
    ("kubernetes.io/arch", ["x86_64", "arm64"]),
    ("karpenter.sh/capacity-tpye", ["spot"]),
    ("node.kubernetes.io/instance-type", ["m5.large", "m5.larg"]),
]
OTHER = nodeclass("detailedMonitorin: true", name="other", ami="alias: al2023@v20250807")


def pool(requirements: list[tuple[str, list[str]]] = REQUIREMENTS, indent: int = 2, name: str = "a") -> str:
    step = " " * indent
    lines = [
        "apiVersion: karpenter.sh/v1",
        "kind: NodePool",
        "metadata:",
        f"{step}name: {name}",
        "spec:",
        f"{step}template:",
        f"{step * 2}spec:",
        f"{step * 3}expireAftr: 720h",
        f"{step * 3}nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: other}}",
        f"{step * 3}requirements:",
    ]
    for key, values in requirements:
        lines += [f"{step * 4}- key: {key}", f"{step * 4}  operator: In", f"{step * 4}  values:"]
        lines += [f'{step * 5}  - "{value}"' for value in values]
    return "\n".join(lines) + "\n"


def judged(text: str, rules: dict[str, Rule], path: str = "a.yaml") -> Report:
    return lint([Source.from_text(path, text)], LintRequest(Target(NEWEST), rules))


def marks(text: str, rules: dict[str, Rule], path: str = "a.yaml") -> dict[str, str]:
    results = judged(text, rules, path).results
    return {mark: result.finding.message for mark, result in zip(fingerprints(results), results, strict=True)}


TEXT = f"{pool()}---\n{OTHER}"


def test_there_is_enough_to_tell_apart(rules: dict[str, Rule]) -> None:
    report = judged(TEXT, rules)
    assert len({r.rule.name for r in report.results}) >= 4
    found = fingerprints(report.results)
    assert len(set(found)) == len(found) >= 6
    assert all(len(mark) == 32 and int(mark, 16) >= 0 for mark in found)


@given(
    st.lists(st.integers(0, TEXT.count("\n") - 1), max_size=8),
    st.sampled_from(["", "# a comment", "   # another: [one"]),
    st.permutations(REQUIREMENTS),
    st.integers(1, 4),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_a_mark_survives_what_moves_it(
    rules: dict[str, Rule],
    where: list[int],
    line: str,
    requirements: list[tuple[str, list[str]]],
    indent: int,
    class_first: bool,
    windows: bool,
    others: bool,
) -> None:
    """Lines above, the order of requirements and documents, indent, line breaks, a document beside it."""
    parts = [pool(requirements, indent), OTHER]
    if others:
        parts.append(OTHER.replace("name: other", "name: third").replace("  detailedMonitorin: true\n", ""))
    lines = "---\n".join(reversed(parts) if class_first else parts).splitlines()
    for number in where:
        lines.insert(number, line)
    text = "\n".join(lines) + "\n"
    assert marks(text.replace("\n", "\r\n") if windows else text, rules) == marks(TEXT, rules)


def test_the_same_finding_many_times_has_a_mark_each_time(rules: dict[str, Rule]) -> None:
    results = [result for result in judged(TEXT, rules).results for _ in range(4)]
    found = fingerprints(results)
    assert len(set(found)) == len(found)
    assert fingerprints(results, known={}) == found


@pytest.mark.slow
def test_every_rule_keeps_its_marks(rules: dict[str, Rule]) -> None:
    """Over all bad examples of all pages, with lines above and other line breaks."""
    count = 0
    for rule in rules.values():
        for example in (example for example in examples(rule.page) if not example.good):
            moved = "# above\n\n" + example.text.replace("\n", "\r\n")
            texts = [example.text, moved]
            reports = [
                lint([Source.from_text("a.yaml", text)], LintRequest(target_of(example), rules)) for text in texts
            ]
            before, after = (fingerprints(report.results) for report in reports)
            assert before == after and len(set(before)) == len(before), rule.name
            count += len(before)
    assert count > len(rules)


def test_another_style_is_the_same_finding(rules: dict[str, Rule]) -> None:
    """Quotes and JSON's style say the same."""
    (source,) = [Source.from_text("a.yaml", TEXT)]
    plain = [document.root.plain() for document in source.documents if document.root]
    assert marks("---\n".join(json.dumps(value) + "\n" for value in plain), rules) == marks(TEXT, rules)
    assert marks(TEXT.replace('"', "'"), rules) == marks(TEXT, rules)


@pytest.mark.parametrize("number", range(len(REQUIREMENTS)))
def test_what_is_fixed_takes_only_its_own_marks(rules: dict[str, Rule], number: int) -> None:
    left = [value for n, value in enumerate(REQUIREMENTS) if n != number]
    before, after = marks(TEXT, rules), marks(f"{pool(left)}---\n{OTHER}", rules)
    gone = set(before) - set(after)
    assert set(after) < set(before)
    assert 1 <= len(gone) <= 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("c7*", "c8*"),
        ("x86_64", "x86-64"),
        ('m5.larg"', 'm5.lrge"'),
        ("capacity-tpye", "capacity-tipe"),
        ("ftr", "fter2"),
    ],
)
def test_another_mistake_has_another_mark(rules: dict[str, Rule], old: str, new: str) -> None:
    before, after = marks(TEXT, rules), marks(TEXT.replace(old, new), rules)
    assert len(set(after) - set(before)) == len(set(before) - set(after)) == 1


def test_other_places_have_other_marks(rules: dict[str, Rule]) -> None:
    here = marks(TEXT, rules)
    assert not set(here) & set(marks(TEXT, rules, path="b.yaml"))
    renamed = marks(TEXT.replace("name: a\n", "name: b\n"), rules)
    remaining = {message for mark, message in here.items() if mark in renamed}
    assert len(remaining) == 1  # that of the class


def test_the_same_mistake_twice_is_numbered(rules: dict[str, Rule]) -> None:
    once = marks(TEXT, rules)
    twice = marks(f"{TEXT}---\n{pool()}", rules)
    assert set(once) < set(twice)
    # One mistake is told once for both, and that the name is defined twice is one more.
    assert len(twice) == 2 * len(once)
    assert set(marks(f"{pool()}---\n{TEXT}", rules)) == set(twice)


def test_a_list_of_objects_is_no_other_place(rules: dict[str, Rule]) -> None:
    (source,) = [Source.from_text("a.yaml", TEXT)]
    items = [document.root.plain() for document in source.documents if document.root]
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    assert set(marks(listed, rules)) == set(marks(TEXT, rules))


def test_what_cannot_be_parsed_is_known_by_its_line(rules: dict[str, Rule]) -> None:
    broken = "apiVersion: karpenter.sh/v1\nkind: NodePool\nspec: {a: b]\n"
    (before,) = marks(broken, rules)
    assert [before] == list(marks(f"# above\n\n{broken}".replace("\n", "\r\n"), rules))
    assert [before] != list(marks(broken.replace("b]", "c]"), rules))


def _about(report: Report, message: str) -> Result:
    return report.results[0]._replace(finding=Finding(report.objects[0].node, message))


def test_wording_is_no_part_of_a_mark(rules: dict[str, Rule]) -> None:
    """Counts and suggestions change with the facts, words with a release; what is quoted is what is wrong."""
    report = judged(TEXT, rules)
    messages = [
        "no image for `arm64`: 313 of 835 instance types",
        "`arm64` has no image, which 1 instance type wants",
        "`arm64` has no image (did you mean `amd64`?)",
    ]
    assert len({fingerprints([_about(report, message)])[0] for message in messages}) == 1
    assert fingerprints([_about(report, "`amd64` has no image")]) != fingerprints([_about(report, messages[0])])


def test_a_field_goes_by_the_names_of_entries(check: Callable[..., Report]) -> None:
    report = check(TEXT)
    assert {field(r) for r in report.results} >= {
        "spec.template.spec.requirements[kubernetes.io/arch].values[*]",
        "spec.template.spec.requirements[karpenter.sh/capacity-tpye].key",
        "spec.template.spec.expireAftr",
    }


def test_what_comes_through_a_merge_is_where_it_is_used(check: Callable[..., Report]) -> None:
    merged = """\
- &base {key: kubernetes.io/arch, operator: In, values: [x86_64]}
- <<: *base
  key: kubernetes.io/os
"""
    report = check(pool([]).replace("requirements:\n", f"requirements:\n{indented(merged, '      ')}"))
    assert {field(r) for r in report.results if "x86_64" in r.finding.message} == {
        "spec.template.spec.requirements[kubernetes.io/os].values[*]"
    }


def test_a_placeholder_goes_as_it_is_written(rules: dict[str, Rule]) -> None:
    text = pool(name="${NAME}")
    assert not set(marks(text, rules)) & set(marks(pool(name="${OTHER}"), rules))
    (source,) = [Source.from_text("a.yaml", text)]
    assert next(objects(source)).name != "${NAME}"


@pytest.mark.parametrize(
    ("path", "root", "seen"),
    [
        ("./clusters//a.yaml", "", "clusters/a.yaml"),
        ("/repo/clusters/a.yaml", "/repo", "clusters/a.yaml"),
        ("/repo/a.yaml", "/repo/ci", "../a.yaml"),
        ("-", "/repo", "-"),
    ],
)
def test_a_path_is_seen_from_a_folder(path: str, root: str, seen: str) -> None:
    assert relative(path, root) == seen
