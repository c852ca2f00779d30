"""The pipeline's own promises: one cause, one finding, and fixes that never break a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from nodelint.ec2.facts import NOTHING, AwsFacts
from nodelint.ec2.fake_account import FakeAccount
from nodelint.ec2.snapshot import Answer, Question, Region
from nodelint.edits import set_value
from nodelint.lint.autofix import fix
from nodelint.lint.engine import DEFAULTS, LintRequest, Report, Selection, Target, lint
from nodelint.lint.results import OccupiedSpans
from nodelint.model.documents import objects
from nodelint.model.fact_kinds import FactKind
from nodelint.model.finding import Edit, Finding, Span
from nodelint.model.gap import Findings
from nodelint.model.manifest import EC2NodeClass
from nodelint.model.releases import NEWEST
from nodelint.rule.checks import RuleCheck, run_checks
from nodelint.rule.classification import PROFILES
from nodelint.rule.context import Context
from nodelint.rule.definition import Rule, rule
from nodelint.text import Source
from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

CLASS = nodeclass(ami="alias: al2@latest")


def test_a_mistake_inside_a_mapping_does_not_hide_one_of_the_whole(check: Callable[..., Report]) -> None:
    """Both rules look at spec; one of them gives way to the other where both speak of one place."""
    report = check(CLASS.replace("  role:", "  instanceProfile: nodes\n  role:"), kubernetes="1.33")
    assert {r.rule.name for r in report.results} == {"refused-combination", "unsupported-alias"}


def test_ignoring_the_better_explanation_does_not_bring_the_worse_one(check: Callable[..., Report]) -> None:
    pool = nodepool("key: karpenter.k8s.aws/instance-family, operator: In, values: [c7*]", name="a", node_class="a")
    assert [r.rule.name for r in check(pool).results] == ["wildcard-value"]
    assert check(pool, select=["controller-check"]).results == ()


def _single_rule(check_: Callable[[EC2NodeClass, Context], Findings], name: str) -> dict[str, Rule]:
    made = rule(on=EC2NodeClass, group="correctness", fix="safe")(check_)
    return {name: made._replace(name=name, text=lambda: "A page.")}


def _role(node_class: EC2NodeClass) -> Finding:
    node = node_class.node.find("spec", "role")
    assert node is not None
    return Finding(at=node, message="`role` is to be changed", edits=set_value(node, node.text + "x"))


def test_what_the_strict_profile_alone_shows_is_looked_for_where_it_matters() -> None:
    """It is shown, or a comment may silence it, which is needless else."""
    requested: list[str] = []

    def look(node_class: EC2NodeClass, context: Context) -> Findings:
        requested.append(node_class.label)
        yield Finding(at=node_class.name_node, message="a habit")

    def check_(node_class: EC2NodeClass, context: Context) -> Findings:
        yield from run_checks(node_class, context, RuleCheck(look, severity="info", strict=True))

    def judged(text: str, selection: Selection = DEFAULTS) -> tuple[int, int]:
        requested.clear()
        found = lint(
            [Source.from_text("a.yaml", text)], LintRequest(Target(NEWEST), _single_rule(check_, "habit"), selection)
        )
        return len(requested), len(found.results)

    assert judged(CLASS) == (0, 0)
    assert judged(CLASS, Selection(select=frozenset({"habit"}))) == (1, 1)
    assert judged(CLASS, Selection(groups=PROFILES["strict"])) == (1, 1)
    assert judged(CLASS + "# nodelint: ignore[habit]\n") == (1, 0)


def test_a_fix_that_would_break_the_file_is_left_out_and_named() -> None:
    def breaks(node_class: EC2NodeClass, context: Context) -> Findings:
        found = _role(node_class)
        (edit,) = found.edits
        yield found._replace(edits=[Edit(edit.source, edit.start, edit.end, "[")])

    source = Source.from_text("a.yaml", CLASS)
    done = fix([source], LintRequest(Target(NEWEST), _single_rule(breaks, "breaks")))
    assert done.sources[0].text == CLASS
    assert done.applied == ()
    assert [(r.rule.name, why) for r, why in done.refused] == [("breaks", "the file would no longer parse")]


def test_a_fix_at_the_end_of_a_document_is_tried_with_what_follows() -> None:
    def appends(node_class: EC2NodeClass, context: Context) -> Findings:
        at = node_class.document.end
        yield _role(node_class)._replace(edits=[Edit(node_class.source, at, at, "  tags: {a: b}\n  ")])

    text = f"{CLASS}---\n{CLASS.replace('name: default', 'name: other')}"
    done = fix([Source.from_text("a.yaml", text)], LintRequest(Target(NEWEST), _single_rule(appends, "appends")))
    (result,) = done.applied
    assert result.object.name == "other", "nothing follows it"
    assert [why for _, why in done.refused] == ["the file would no longer parse"]


def test_a_fix_that_the_api_server_would_refuse_is_left_out() -> None:
    def empties(node_class: EC2NodeClass, context: Context) -> Findings:
        node = node_class.node.find("spec", "amiSelectorTerms")
        assert node is not None
        yield Finding(at=node, message="`terms` are to go", edits=[Edit(node.source, node.start, node.end, "[]")])

    source = Source.from_text("a.yaml", CLASS)
    done = fix([source], LintRequest(Target(NEWEST), _single_rule(empties, "empties")))
    assert done.sources[0].text == CLASS
    assert "the API server would refuse the file" in done.refused[0][1]


def test_a_fix_that_never_settles_ends() -> None:
    def grows(node_class: EC2NodeClass, context: Context) -> Findings:
        yield _role(node_class)

    done = fix([Source.from_text("a.yaml", CLASS)], LintRequest(Target(NEWEST), _single_rule(grows, "grows")))
    assert done.sources[0].documents[0].root is not None
    assert len(done.report.results) == 1


def test_unsafe_fixes_wait_until_they_are_asked_for() -> None:
    def careful(node_class: EC2NodeClass, context: Context) -> Findings:
        if node_class.node.find("spec", "role").value == "KarpenterNodeRole-main":  # type: ignore[union-attr]
            yield _role(node_class)._replace(safety="unsafe")

    rules = _single_rule(careful, "careful")
    source = Source.from_text("a.yaml", CLASS)
    assert fix([source], LintRequest(Target(NEWEST), rules)).sources[0].text == CLASS
    assert (
        "role: KarpenterNodeRole-mainx"
        in fix([source], LintRequest(Target(NEWEST), rules), unsafe=True).sources[0].text
    )


def test_objects_read_for_context_are_not_reported_on_nor_changed(rules: dict[str, Rule]) -> None:
    others = Source.from_text("b.yaml", CLASS.replace("role:", "rolle:"))
    source = Source.from_text("a.yaml", "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\n")
    report = lint([source], LintRequest(Target(NEWEST), rules, Selection(), [others]))
    assert {r.span.source.path for r in report.results} == {"a.yaml"}
    assert [o.kind for o in report.objects] == ["NodePool"]


def _about_roles(needs: tuple[FactKind, ...]) -> dict[str, Rule]:
    def about_roles(node_class: EC2NodeClass, context: Context) -> Findings:
        if not context.facts.exists(Question.make("roles", ("name", "KarpenterNodeRole-main"))):
            yield _role(node_class)

    rules = _single_rule(about_roles, "about-roles")
    return {"about-roles": rules["about-roles"]._replace(needs=needs)}


def _facts(text: str) -> AwsFacts:
    source = Source.from_text("a.yaml", CLASS)
    return FakeAccount(text).facts([o for o in objects(source) if isinstance(o, EC2NodeClass)], NEWEST)


def _skips(rules: dict[str, Rule], facts: AwsFacts, *texts: str) -> list[tuple[str | None, str, str | None, bool]]:
    sources = [Source.from_text(f"{n}.yaml", text) for n, text in enumerate(texts)]
    report = lint(sources, LintRequest(Target(NEWEST, facts=facts), rules))
    assert not report.results
    assert not report.faults
    return [(s.rule, s.path, s.fact, s.transient) for s in report.skipped]


def test_a_fact_that_is_missing_skips_the_rule_for_the_object() -> None:
    facts = _facts("roles: []\ndenied: [roles]\n")
    for needs in ((), ("roles",)):
        skips = _skips(_about_roles(needs), facts, CLASS, CLASS.replace("default", "other"))
        assert skips == [("about-roles", "0.yaml", "roles", False), ("about-roles", "1.yaml", "roles", False)]
    assert _skips(_about_roles(()), _facts("roles: [KarpenterNodeRole-main]"), CLASS) == []
    failed = Answer("2026-11-20T12:00:00Z", failed="throttled", transient=True)
    region = Region("us-east-1", None, {Question.make("roles", ("name", "KarpenterNodeRole-main")): failed})
    assert _skips(_about_roles(()), AwsFacts(region=region), CLASS) == [("about-roles", "0.yaml", "roles", True)]


def test_without_any_facts_a_rule_that_needs_them_is_skipped_once_for_the_run() -> None:
    assert _skips(_about_roles(("roles",)), NOTHING, CLASS, CLASS) == [("about-roles", "", "roles", False)]
    assert _skips(_about_roles(("roles",)), NOTHING, "kind: ConfigMap\n") == []
    # There is nothing that it would have looked at.
    pool = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\n"
    assert _skips(_about_roles(("roles",)), NOTHING, pool) == []


def test_found_nothing_is_an_answer_and_not_a_lack_of_one() -> None:
    rules = _about_roles(("roles",))
    report = lint([Source.from_text("a.yaml", CLASS)], LintRequest(Target(NEWEST, facts=_facts("roles: []")), rules))
    assert [r.rule.name for r in report.results] == ["about-roles"]
    assert report.skipped == ()


def test_fixes_go_on_until_nothing_changes() -> None:
    def grows(node_class: EC2NodeClass, context: Context) -> Findings:
        node = node_class.node.find("spec", "role")
        if node is not None and not node.text.endswith("xxxxx"):
            yield _role(node_class)

    done = fix([Source.from_text("a.yaml", CLASS)], LintRequest(Target(NEWEST), _single_rule(grows, "grows")))
    assert "role: KarpenterNodeRole-mainxxxxx\n" in done.sources[0].text
    assert (len(done.applied), done.report.results) == (5, ())


def test_what_cannot_be_read_is_skipped_for_good(rules: dict[str, Rule]) -> None:
    """Another run reads no more of it: unlike a fact that AWS did not give, it does not pass."""
    source = Source.from_text("a.tf", 'm = {\n  apiVersion = "karpenter.sh/v1"\n  = 5\n  spec = {}\n}\n')
    (skipped,) = lint([source], LintRequest(Target(NEWEST), rules)).skipped
    assert (skipped.reason, skipped.transient) == ("an object of a form that is not read", False)


@pytest.mark.parametrize(
    ("start", "end", "touches"),
    [
        (0, 2, False),
        (1, 3, True),
        (2, 2, True),
        (3, 4, True),
        (4, 4, True),
        (4, 6, False),
        (5, 5, False),
        (9, 9, True),
    ],
)
def test_an_edit_touches_what_it_shares_a_character_with_or_a_border_where_it_inserts(
    start: int, end: int, touches: bool
) -> None:
    source = Source.from_text("a.yaml", "a: bcdefghijk\n")
    taken = OccupiedSpans()
    taken.add([Span(source, 9, 9), Span(source, 2, 4)])
    assert taken.touches(Span(source, start, end)) is touches


@pytest.mark.parametrize(
    ("classes", "more"), [(1, ""), (2, " (and 1 more EC2NodeClass)"), (3, " (and 2 more EC2NodeClasses)")]
)
def test_a_reminder_counts_the_others_by_their_kind(check: Callable[..., Report], classes: int, more: str) -> None:
    text = "---\n".join(nodeclass(name=name, ami="alias: al2023@latest") for name in "abc"[:classes])
    (found,) = check(text, select=["unpinned-image"]).results
    assert found.message == f"`al2023@latest` replaces nodes whenever an image is published{more}"


def test_the_else_of_a_template_is_judged(check: Callable[..., Report]) -> None:
    text = nodepool("key: kubernetes.io/arch, operator: In, values: [arm64]").replace(
        "        - {key",
        "        {{- if .Values.arm }}\n        - {key",
    )
    other = "{key: kubernetes.io/arch, operator: In, values: [amd46]}"
    text += f"        {{{{- else }}}}\n        - {other}\n        {{{{- end }}}}\n"
    [result] = check(text, select=["unknown-value"]).results
    assert result.span.source.text[result.span.start : result.span.end] == "amd46"
    assert not result.finding.edits


def test_only_objects_of_karpenter_are_told_of_for_a_field_of_several_branches(
    nodelint: Callable[..., CompletedProcess[str]], tmp_path: Path
) -> None:
    twice = "".join(f"{{{{- if .Values.{name} }}}}\n      PLACE: {name}\n{{{{- end }}}}\n" for name in ("a", "b"))
    deployment = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  template:\n    metadata:\n"
        "      annotations: {karpenter.sh/do-not-disrupt: 'true'}\n    spec:\n"
    )
    files = {
        "pool.yaml": nodepool() + twice.replace("PLACE", "expireAfter"),
        "app.yaml": deployment + twice.replace("PLACE", "schedulerName"),
    }
    write_files(tmp_path, files)
    skipped = json.loads(nodelint("check", "--format", "json").stdout)["skipped"]
    reasons = [skip["reason"] for skip in skipped if "several branches" in skip["reason"]]
    assert [reason.split(",")[0] for reason in reasons] == ["of `expireAfter`"]
