"""Rules on networks, zones and offers: what the examples on their pages leave out."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from nodelint.ec2.catalog import Catalog
from nodelint.ec2.facts import AwsFacts
from nodelint.ec2.fake_account import FakeAccount
from nodelint.lint.autofix import Fixed, fix
from nodelint.lint.engine import LintRequest, Report, Selection, Target, lint
from nodelint.model.documents import objects
from nodelint.model.fact_kinds import FACT_KINDS
from nodelint.model.manifest import EC2NodeClass
from nodelint.model.releases import NEWEST, target
from nodelint.rule.definition import Rule
from nodelint.text import Source
from tests.manifests import nodepool, pool

Judge = Callable[..., Report]
Fix = Callable[..., Fixed]

RULES = [
    "broad-selector",
    "empty-selector",
    "exhausted-subnets",
    "missing-role",
    "no-instance-type",
    "not-offered",
    "unknown-value",
    "value-of-another-key",
    "wildcard-value",
    "zone-without-subnet",
]
ACCOUNT = """
subnets:
  - {id: subnet-0a, zone: us-east-1a, zoneId: use1-az4, tags: {karpenter.sh/discovery: main, Name: main-a}}
  - {id: subnet-0b, zone: us-east-1b, zoneId: use1-az6, tags: {karpenter.sh/discovery: main, Name: main-b}}
  - {id: subnet-0x, zone: us-east-1a, zoneId: use1-az4, vpc: vpc-2, tags: {Name: other-a}}
securityGroups:
  - {id: sg-0a, name: nodes, tags: {karpenter.sh/discovery: main}}
  - {id: sg-0b, name: extra, tags: {karpenter.sh/discovery: main}}
  - {id: sg-0x, name: nodes, vpc: vpc-2, tags: {karpenter.sh/discovery: other}}
capacityReservations:
  - {id: cr-1, type: p5.48xlarge, zone: us-east-1a, tags: {team: ml}}
  - {id: cr-2, type: p5.48xlarge, zone: us-east-1a, ends: 2026-11-19, tags: {team: old}}
placementGroups:
  - {id: pg-1, name: near}
  - {id: pg-2, name: going, state: deleting}
roles: [nodes]
instanceProfiles: [nodes-profile]
zones: {us-east-1a: use1-az4, us-east-1b: use1-az6, us-east-1c: use1-az1}
absent: {us-east-1a: ["p5.*"], us-east-1b: ["p5.*", "g6.*"], "*": ["a1.*"]}
"""
ZONE = "topology.kubernetes.io/zone"
ZONE_ID = "topology.k8s.aws/zone-id"
TYPE = "node.kubernetes.io/instance-type"
FAMILY = "karpenter.k8s.aws/instance-family"
MAIN = "{tags: {karpenter.sh/discovery: main}}"


def ec2_class(
    subnets: str = MAIN,
    groups: str = MAIN,
    rest: str = "role: nodes",
    version: str = "v1",
    kind: str = "EC2NodeClass",
) -> str:
    """A class with selector terms in flow style; `rest` is a further line of its spec."""
    return f"""apiVersion: karpenter.k8s.aws/{version}
kind: {kind}
metadata: {{name: default}}
spec:
  amiFamily: AL2023
  amiSelectorTerms: [{{id: ami-0123456789abcdef0}}]
  subnetSelectorTerms: [{subnets}]
  securityGroupSelectorTerms: [{groups}]
  {rest}
"""


def with_class(*requirements: str, labels: str = "{}", node_class: str | None = None) -> str:
    return pool(*requirements, labels=labels) + "---\n" + (node_class or ec2_class())


def aim(sources: list[Source], account: str, karpenter: str | None) -> Target:
    release = target(karpenter) if karpenter else NEWEST
    classes = [o for source in sources for o in objects(source) if isinstance(o, EC2NodeClass)]
    return Target(release, facts=FakeAccount(account).facts(classes, release))


@pytest.fixture
def judge(rules: dict[str, Rule]) -> Judge:
    """Judge one text in an imagined account; `select` names the rules that report."""

    def run(text: str, *select: str, account: str = ACCOUNT, karpenter: str | None = None) -> Report:
        sources = [Source.from_text("a.yaml", text)]
        report = lint(
            sources, LintRequest(aim(sources, account, karpenter), rules, Selection(frozenset(select or RULES)))
        )
        assert not report.faults
        return report

    return run


@pytest.fixture
def repair(rules: dict[str, Rule]) -> Fix:
    def run(text: str, account: str = ACCOUNT) -> Fixed:
        sources = [Source.from_text("a.yaml", text)]
        done = fix(sources, LintRequest(aim(sources, account, None), rules, Selection(frozenset(RULES))))
        assert not done.refused
        return done

    return run


def rule_messages(report: Report) -> list[tuple[str, str, str]]:
    """Rule, severity and message of each finding."""
    return [(r.rule.name, r.severity, r.finding.message) for r in report.results]


def marked_texts(report: Report) -> list[str]:
    """The text at which each finding points."""
    return [r.span.source.text[r.span.start : r.span.end] for r in report.results]


def skips(report: Report) -> list[tuple[str | None, str | None, bool]]:
    """Rule, kind of the missing fact, and whether it may pass, of each skip."""
    return [(s.rule, s.fact, s.transient) for s in report.skipped]


# -- empty-selector


@pytest.mark.parametrize(("others", "hint"), [(["main-a"], "`Name: main-a` finds one"), (["main-a", "MainA"], None)])
def test_what_finds_something_is_named_where_it_is_the_only_one(
    judge: Judge, others: list[str], hint: str | None
) -> None:
    written = ["MAIN_A", *others]
    classes = [
        ec2_class(f"{{tags: {{Name: {name}}}}}").replace("name: default", f"name: c{n}")
        for n, name in enumerate(written)
    ]
    more = "  - {id: subnet-0c, zone: us-east-1b, zoneId: use1-az6, tags: {Name: MainA}}\n"
    account = ACCOUNT.replace("securityGroups:", f"{more}securityGroups:", 1)
    (result,) = judge("---\n".join(classes), "empty-selector", account=account).results
    assert (result.finding.help == hint) is (hint is not None)
    assert bool(result.finding.edits) is (hint is not None)


def test_what_is_there_is_no_finding(judge: Judge) -> None:
    rest = "capacityReservationSelectorTerms: [{tags: {team: ml}}]\n  placementGroupSelector: {name: near}"
    text = ec2_class(
        "{id: subnet-0a}, {tags: {Name: 'main-?'}}", "{name: extra}, {id: sg-0a}", f"role: nodes\n  {rest}"
    )
    report = judge(text)
    assert not report.results
    assert not report.skipped


@pytest.mark.parametrize("karpenter", ["1.0.0", "1.4.0", "1.14.1"])
@pytest.mark.parametrize(
    ("subnets", "message"),
    [
        ("{id: subnet-0c}", "there is no subnet `subnet-0c`"),
        ("{tags: {Karpenter.sh/Discovery: main}}", "no subnet has the tag `Karpenter.sh/Discovery: main`"),
        ("{tags: {karpenter.sh/discovery: mai}}", "no subnet has the tag `karpenter.sh/discovery: mai`"),
        ("{tags: {Tier: '*'}}", "no subnet has the tag `Tier`"),
        (
            "{tags: {Name: main-a, karpenter.sh/discovery: other}}",
            "no subnet has all of `Name: main-a, karpenter.sh/discovery: other`",
        ),
    ],
)
def test_a_class_that_finds_no_subnet(judge: Judge, subnets: str, message: str, karpenter: str) -> None:
    report = judge(ec2_class(subnets), "empty-selector", karpenter=karpenter)
    assert rule_messages(report) == [("empty-selector", "error", message)]


def test_a_class_that_finds_no_group_by_name(judge: Judge) -> None:
    report = judge(ec2_class(groups="{name: Nodes}"), "empty-selector")
    assert rule_messages(report) == [("empty-selector", "error", "there is no security group named `Nodes`")]
    assert marked_texts(report) == ["Nodes"]


def test_wildcards_in_tags_and_names(judge: Judge) -> None:
    text = ec2_class(
        "{tags: {Name: 'main-*'}}, {tags: {karpenter.sh/discovery: '*'}}", "{name: 'nod*', tags: {a: b}}"
    )
    assert not judge(text, "empty-selector").results


def test_all_terms_dead_is_one_error_and_one_of_several_a_warning(judge: Judge) -> None:
    report = judge(ec2_class("{id: subnet-9}, {tags: {Name: nothing}}"), "empty-selector")
    message = "none of the 2 terms finds a subnet; the first is `subnet-9`"
    assert rule_messages(report) == [("empty-selector", "error", message)]
    assert marked_texts(report) == ["subnetSelectorTerms"]
    assert [also.message for also in report.results[0].finding.also] == [
        "there is no subnet `subnet-9`",
        "no subnet has the tag `Name: nothing`",
    ]
    report = judge(ec2_class("{id: subnet-0a}, {tags: {Name: nothing}}"), "empty-selector")
    assert rule_messages(report) == [("empty-selector", "warning", "no subnet has the tag `Name: nothing`")]


@pytest.mark.parametrize(
    "subnets", ["{id: '${SUBNET}'}", "{tags: {karpenter.sh/discovery: '{{ .Values.cluster }}'}}"]
)
def test_a_placeholder_in_a_term_is_skipped_and_lets_no_error_be_said(judge: Judge, subnets: str) -> None:
    report = judge(ec2_class(subnets), "empty-selector")
    assert not report.results
    assert [s.reason for s in report.skipped] == ["a term for subnets contains a placeholder"]
    report = judge(ec2_class(f"{subnets}, {{id: subnet-9}}"), "empty-selector")
    assert rule_messages(report) == [("empty-selector", "warning", "there is no subnet `subnet-9`")]


def test_a_placeholder_in_the_place_of_the_list(judge: Judge) -> None:
    text = ec2_class().replace(f"[{MAIN}]", "${SUBNETS}", 1)
    report = judge(text, "empty-selector", "broad-selector", "exhausted-subnets")
    assert not report.results
    assert skips(report) == [("exhausted-subnets", None, False)]


def test_a_kind_that_was_refused_or_never_asked_costs_its_own_terms_only(judge: Judge) -> None:
    text = ec2_class("{id: subnet-9}")
    report = judge(text, "empty-selector", account=ACCOUNT + "denied: [security-groups]\n")
    assert rule_messages(report) == [("empty-selector", "error", "there is no subnet `subnet-9`")]
    assert skips(report) == [("empty-selector", "security-groups", False)]
    report = judge(text, "empty-selector", account="securityGroups: [{id: sg-1, name: a, tags: {b: c}}]\n")
    assert [s.fact for s in report.skipped] == ["subnets"]
    assert rule_messages(report)[0][1:] == ("error", "no security group has the tag `karpenter.sh/discovery: main`")


def test_without_facts_nothing_is_said_but_why(rules: dict[str, Rule]) -> None:
    names = ["empty-selector", "broad-selector", "exhausted-subnets", "missing-role", "not-offered"]
    source = Source.from_text("a.yaml", with_class(f"{ZONE} In [us-east-1f]"))
    report = lint([source], LintRequest(Target(NEWEST), rules, Selection(frozenset([*names, "zone-without-subnet"]))))
    assert not report.results
    assert sorted(str(s.rule) for s in report.skipped) == sorted([*names, "zone-without-subnet"])


def test_reservations_are_no_fault_of_readiness(judge: Judge) -> None:
    rest = "role: nodes\n  capacityReservationSelectorTerms: [{tags: {team: old}}, {id: cr-9}]"
    text = ec2_class(rest=rest)
    assert [s for _, s, _ in rule_messages(judge(text, "empty-selector"))] == ["warning", "warning"]
    assert not judge(text, "empty-selector", karpenter="1.2.0").results  # which has no such field


@pytest.mark.parametrize(
    ("requirements", "free", "reported"),
    [
        ("CAPACITY In [reserved]", 0, True),
        ("CAPACITY In [reserved]", 1, False),
        ("CAPACITY In [reserved, on-demand]", 0, False),
    ],
)
def test_a_pool_of_reserved_capacity_needs_a_free_instance(
    judge: Judge, requirements: str, free: int, reported: bool
) -> None:
    account = ACCOUNT.replace(
        "{id: cr-1, type: p5.48xlarge, zone: us-east-1a,",
        f"{{id: cr-1, type: m5.large, zone: us-east-1a, free: {free},",
    )
    node_class = ec2_class(rest="role: nodes\n  capacityReservationSelectorTerms: [{tags: {team: ml}}]")
    text = with_class(requirements.replace("CAPACITY", "karpenter.sh/capacity-type"), node_class=node_class)
    results = rule_messages(judge(text, "full-reservation", "no-instance-type", account=account))
    assert [name for name, *_ in results] == ["full-reservation"] * reported


@pytest.mark.parametrize(("selector", "shown"), [("{name: going}", "named `going`"), ("{id: pg-9}", "`pg-9`")])
def test_a_placement_group_has_to_be_there(judge: Judge, selector: str, shown: str) -> None:
    text = ec2_class(rest=f"role: nodes\n  placementGroupSelector: {selector}")
    message = f"there is no available placement group {shown}"
    assert rule_messages(judge(text, "empty-selector")) == [("empty-selector", "error", message)]
    assert not judge(text, "empty-selector", karpenter="1.10.0").results


@pytest.mark.parametrize("karpenter", ["1.0.8", "1.4.0"])
def test_a_v1beta1_class_is_judged_whether_it_is_served_or_not(judge: Judge, karpenter: str) -> None:
    text = ec2_class("{id: subnet-9}", version="v1beta1")
    assert [s for _, s, _ in rule_messages(judge(text, "empty-selector", karpenter=karpenter))] == ["error"]


def test_a_patch_of_kustomize_is_judged_by_what_it_has(rules: dict[str, Rule]) -> None:
    text = """apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  subnetSelectorTerms: [{id: subnet-9}]
"""
    source = Source.from_text("patch.yaml", text)
    source.part = True
    report = lint([source], LintRequest(aim([source], ACCOUNT, None), rules, Selection(frozenset(RULES))))
    assert rule_messages(report) == [("empty-selector", "error", "there is no subnet `subnet-9`")]
    assert not report.skipped


def test_template_code_may_add_terms(judge: Judge) -> None:
    text = ec2_class("{id: subnet-9}").replace(
        "  subnetSelectorTerms: [{id: subnet-9}]\n",
        "  subnetSelectorTerms:\n    - id: subnet-9\n    {{- if .Values.b }}\n    - id: subnet-8\n    {{- end }}\n",
    )
    report = judge(text, "empty-selector", "zone-without-subnet", "exhausted-subnets")
    assert [severity for _, severity, _ in rule_messages(report)] == ["warning", "warning"]
    assert skips(report) == [("exhausted-subnets", None, False)]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("{tags: {karpenter.sh/discovery: Main}}", "{tags: {karpenter.sh/discovery: main}}"),
        ("{tags: {karpenter.sh_discovery: main}}", "{tags: {karpenter.sh/discovery: main}}"),
        ("{tags: {karpenter.sh/discovery: main2}}", None),
        ("{tags: {Karpenter.sh/discovery: Main}}", None),
    ],
)
def test_a_tag_that_another_class_writes_otherwise(
    judge: Judge, rules: dict[str, Rule], wrong: str, right: str
) -> None:
    text = ec2_class() + "---\n" + ec2_class(wrong).replace("default", "second")
    source = Source.from_text("a.yaml", text)
    chosen = Selection(frozenset(["empty-selector"]))
    fixed = fix([source], LintRequest(aim([source], ACCOUNT, None), rules, chosen), unsafe=True)
    assert fixed.sources[0].text == (text.replace(wrong, right) if right else text)
    assert bool(fixed.report.results) == (right is None)
    assert not fix([source], LintRequest(aim([source], ACCOUNT, None), rules, chosen)).applied


def test_a_name_of_a_group_that_another_class_writes_otherwise(rules: dict[str, Rule]) -> None:
    text = ec2_class(groups="{name: extra}") + "---\n" + ec2_class(groups="{name: 'Extra'}").replace("default", "b")
    source = Source.from_text("a.yaml", text)
    fixed = fix(
        [source],
        LintRequest(aim([source], ACCOUNT, None), rules, Selection(frozenset(["empty-selector"]))),
        unsafe=True,
    )
    assert fixed.sources[0].text == text.replace("'Extra'", "'extra'")


def test_a_comment_silences_it(judge: Judge) -> None:
    text = ec2_class("{id: subnet-9}").replace(
        "  subnetSelectorTerms", "  # nodelint: ignore[empty-selector] made by the next apply\n  subnetSelectorTerms"
    )
    assert not judge(text, "empty-selector").results


# -- broad-selector


def test_several_groups_of_one_vpc_are_no_fault(judge: Judge) -> None:
    assert not judge(ec2_class(), "broad-selector").results


def test_terms_that_reach_into_another_vpc(judge: Judge) -> None:
    report = judge(ec2_class("{tags: {Name: '*-a'}}", "{name: nodes}, {name: extra}"), "broad-selector")
    assert rule_messages(report) == [
        ("broad-selector", "warning", "the terms find subnets of 2 VPCs, `vpc-1` and `vpc-2`"),
        ("broad-selector", "warning", "the terms find security groups of 2 VPCs, `vpc-1` and `vpc-2`"),
    ]
    assert marked_texts(report) == ["'*-a'", "nodes"]


def test_several_terms_that_each_are_of_another_vpc(judge: Judge) -> None:
    report = judge(ec2_class("{id: subnet-0a}, {id: subnet-0x}"), "broad-selector")
    assert marked_texts(report) == ["subnetSelectorTerms"]


def test_groups_of_another_vpc_than_the_subnets(judge: Judge) -> None:
    report = judge(ec2_class(groups="{id: sg-0x}"), "broad-selector")
    assert rule_messages(report) == [
        ("broad-selector", "warning", "the security groups belong to `vpc-2`, the subnets to `vpc-1`")
    ]


OWNED = """
subnets: [{id: subnet-0a, zone: us-east-1a, tags: {karpenter.sh/discovery: main}}]
securityGroups:
  - {id: sg-1, name: eks, clusters: [main], tags: {a: one, karpenter.sh/discovery: main}}
  - {id: sg-2, name: node, clusters: [main, next], tags: {a: one}}
  - {id: sg-3, name: next-node, clusters: [next], tags: {a: two, karpenter.sh/discovery: main}}
  - {id: sg-4, name: plain, tags: {a: one, b: one}}
"""


@pytest.mark.parametrize(
    ("groups", "messages"),
    [
        ("{id: sg-1}, {id: sg-4}", []),
        ("{id: sg-1}, {id: sg-3}", []),
        (
            "{id: sg-1}, {id: sg-2}",
            ["`sg-1` and `sg-2` both have the tag `kubernetes.io/cluster/main`"],
        ),
        ("{tags: {a: one}}", ["`sg-1` and `sg-2` both have the tag `kubernetes.io/cluster/main`"]),
        (MAIN, ["the term finds security groups of 2 clusters: `main`, `next`"]),
    ],
)
def test_groups_that_a_cluster_owns(judge: Judge, groups: str, messages: list[str]) -> None:
    report = judge(ec2_class(groups=groups), "broad-selector", account=OWNED)
    assert [message for _, _, message in rule_messages(report)] == messages


# -- exhausted-subnets

FULL = """
subnets:
  - {id: subnet-1, zone: us-east-1a, zoneId: use1-az4, free: 0, tags: {t: one}}
  - {id: subnet-2, zone: us-east-1b, zoneId: use1-az6, free: 0, tags: {t: one, u: two}}
  - {id: subnet-3, zone: us-east-1b, zoneId: use1-az6, free: 1, tags: {u: two}}
"""


@pytest.mark.parametrize(
    ("subnets", "severity", "zones"),
    [
        ("{tags: {t: one}}", "error", "us-east-1a, us-east-1b"),
        ("{id: subnet-1}, {id: subnet-3}", "warning", "us-east-1a"),
        ("{id: subnet-2}", "error", "us-east-1b"),
        ("{tags: {u: two}}", None, ""),
    ],
)
def test_zones_without_a_free_address(judge: Judge, subnets: str, severity: str | None, zones: str) -> None:
    report = judge(ec2_class(subnets), "exhausted-subnets", account=FULL)
    message = f"no subnet in `{zones}` has a free IP address"
    assert rule_messages(report) == ([("exhausted-subnets", severity, message)] if severity else [])


def test_zones_that_the_pools_leave_out_do_not_count(judge: Judge) -> None:
    used = ec2_class("{id: subnet-1}, {id: subnet-3}")
    assert not judge(
        with_class(f"{ZONE} In [us-east-1b]", node_class=used), "exhausted-subnets", account=FULL
    ).results
    report = judge(with_class(f"{ZONE} NotIn [us-east-1b]", node_class=used), "exhausted-subnets", account=FULL)
    assert [severity for _, severity, _ in rule_messages(report)] == ["error"]


# -- missing-role


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ("role: nodes", None),
        ("role: /teams/nodes", None),
        ("role: Nodes", "the account has no role `Nodes`"),
        ("instanceProfile: nodes-profile", None),
        ("instanceProfile: nodes", "the account has no instance profile `nodes`"),
        ("role: 'Karpenter-${CLUSTER}'", None),
    ],
)
@pytest.mark.parametrize("karpenter", ["1.0.0", "1.4.0", "1.14.1"])
def test_roles_and_profiles(judge: Judge, rest: str, message: str | None, karpenter: str) -> None:
    report = judge(ec2_class(rest=rest), "missing-role", karpenter=karpenter)
    assert rule_messages(report) == ([("missing-role", "error", message)] if message else [])


def test_a_refused_question_about_a_role_is_a_skip(judge: Judge) -> None:
    report = judge(ec2_class(), "missing-role", account=ACCOUNT + "denied: [roles]\n")
    assert not report.results
    assert skips(report) == [("missing-role", "roles", False)]


# -- zone-without-subnet


@pytest.mark.parametrize("karpenter", ["1.0.0", "1.4.0", "1.14.1"])
def test_zones_of_the_subnets_are_fine(judge: Judge, karpenter: str) -> None:
    text = with_class(f"{ZONE} In [us-east-1a]", f"{ZONE_ID} In [use1-az4, use1-az6]", f"{ZONE} Exists")
    report = judge(text, karpenter=karpenter)
    assert not report.results
    assert not report.skipped


def test_a_zone_of_no_subnet(judge: Judge, repair: Fix) -> None:
    text = with_class(f"{ZONE} In [us-east-1a, us-east-1c, us-east-1d]")
    assert rule_messages(judge(text)) == [
        ("zone-without-subnet", "warning", "the class has no subnet in `us-east-1c`"),
        ("zone-without-subnet", "warning", "the class has no subnet in `us-east-1d`"),
    ]
    fixed = repair(text)
    assert fixed.sources[0].text == with_class(f"{ZONE} In [us-east-1a]")
    assert not fixed.report.results
    assert not repair(fixed.sources[0].text).applied


def test_an_alias_and_min_values_keep_their_list(judge: Judge, repair: Fix) -> None:
    text = with_class(f"{ZONE} In [us-east-1a, us-east-1c]").replace("1c]", "1c], minValues: 2")
    assert [r.fixable for r in judge(text, "zone-without-subnet").results] == [False]
    text = with_class("example.com/zone In &zones [us-east-1a, us-east-1c]", f"{ZONE} In *zones")
    fixed = with_class("example.com/zone In &zones [us-east-1a, us-east-1c]", f"{ZONE} In [us-east-1a]")
    assert repair(text).sources[0].text == fixed


def test_no_zone_of_the_line_is_served(judge: Judge) -> None:
    report = judge(with_class(f"{ZONE} In [us-east-1c, us-east-1d]"))
    message = "the class has no subnet in any of `us-east-1c, us-east-1d`"
    assert rule_messages(report) == [("zone-without-subnet", "error", message)]
    assert marked_texts(report) == ["[us-east-1c, us-east-1d]"]
    report = judge(with_class(labels=f"{{{ZONE}: us-east-1c}}"))
    assert rule_messages(report) == [("zone-without-subnet", "error", "the class has no subnet in `us-east-1c`")]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"{ZONE} In [use1-az4]", f"{ZONE} In [us-east-1a]"),
        (f"{ZONE} In [us-east-1a, use1-az6]", f"{ZONE} In [us-east-1a, us-east-1b]"),
        (f"{ZONE} In [us-east-1a, use1-az4]", f"{ZONE} In [us-east-1a]"),
        (f"{ZONE_ID} In [us-east-1a, us-east-1b]", f"{ZONE_ID} In [use1-az4, use1-az6]"),
    ],
)
def test_ids_for_names_and_names_for_ids(judge: Judge, repair: Fix, before: str, after: str) -> None:
    assert {rule for rule, _, _ in rule_messages(judge(with_class(before)))} == {"zone-without-subnet"}
    fixed = repair(with_class(before))
    assert fixed.sources[0].text == with_class(after)
    assert not fixed.report.results


def test_an_id_of_no_subnet_is_left_to_the_rule_about_keys(judge: Judge, repair: Fix) -> None:
    text = with_class(f"{ZONE} In [use1-az4, use1-az2]")
    assert {rule for rule, _, _ in rule_messages(judge(text))} == {"value-of-another-key"}
    assert repair(text).sources[0].text == with_class(f"{ZONE_ID} In [use1-az4]")


@pytest.mark.slow
def test_slips_and_patterns_are_told_once(judge: Judge) -> None:
    report = judge(with_class(f"{ZONE} In [us-east-1a, US-EAST-1B, us-east-1*, us-east1b]"))
    assert sorted({rule for rule, _, _ in rule_messages(report)}) == ["unknown-value", "wildcard-value"]
    assert [m for r, _, m in rule_messages(report) if "us-east1b" in m] == [
        "no instance type has zone `us-east1b` (did you mean `us-east-1b`?)"
    ]


@pytest.mark.parametrize(
    "requirement",
    [
        f"{ZONE} In [us-west-2a, us-west-2b]",
        "topology.kubernetes.io/region In [us-west-2]",
        f"{ZONE} In [us-west-2-lax-1a]",
    ],
)
def test_a_pool_and_its_class_of_another_region_are_not_judged(judge: Judge, requirement: str) -> None:
    text = with_class(requirement, f"{FAMILY} In [a1]", node_class=ec2_class("{id: subnet-9}", rest="role: other"))
    names = ["broad-selector", "empty-selector", "exhausted-subnets", "missing-role", "not-offered"]
    report = judge(text, *names)
    assert not report.results
    assert sorted(str(s.rule) for s in report.skipped) == names
    assert {s.reason for s in report.skipped} == {"the zones are in another region than the facts (`us-east-1`)"}
    assert not judge(text, "zone-without-subnet").results


def test_a_class_that_one_of_two_pools_uses_in_the_region_is_judged(judge: Judge) -> None:
    west, east = (pool(f"{ZONE} In [{zone}]") for zone in ("us-west-2a", "us-east-1a"))
    west = west.replace("name: default}\nspec", "name: west}\nspec")
    report = judge(f"{west}---\n{east}---\n{ec2_class('{id: subnet-9}')}", "empty-selector")
    assert [rule for rule, _, _ in rule_messages(report)] == ["empty-selector"]


def test_zone_ids_of_another_region_are_not_judged(judge: Judge) -> None:
    report = judge(with_class(f"{ZONE_ID} In [usw2-az1]"), "zone-without-subnet")
    assert not report.results
    assert [s.reason for s in report.skipped] == ["the zones are in another region than the facts"]


def test_a_zone_of_another_region_beside_others_is_skipped(judge: Judge) -> None:
    report = judge(with_class(f"{ZONE} In [us-east-1a, us-west-2a]"), "zone-without-subnet")
    assert not report.results
    assert [s.reason for s in report.skipped] == ["`us-west-2a` is a zone in another region than the facts"]


@pytest.mark.parametrize(
    ("text", "fact", "reason"),
    [
        (
            pool(f"{ZONE} In [us-east-1f]"),
            None,
            "no file contains the class of the NodePool, so its subnets are not known",
        ),
        (with_class(f"{ZONE} In [us-east-1f]", node_class=ec2_class("{id: '${A}'}")), None, "contains a placeholder"),
    ],
)
def test_zones_are_not_judged_without_the_subnets(judge: Judge, text: str, fact: str | None, reason: str) -> None:
    report = judge(text, "zone-without-subnet")
    assert not report.results
    assert [(s.fact, reason in s.reason) for s in report.skipped] == [(fact, True)]


def test_refused_subnets_leave_zones_open_and_the_region_known(judge: Judge) -> None:
    text = with_class(f"{ZONE} In [us-east-1f]", f"{TYPE} In [p5.48xlarge, a1.large]")
    report = judge(text, "zone-without-subnet", "not-offered", account=ACCOUNT + "denied: [subnets]\n")
    assert rule_messages(report) == [("not-offered", "warning", "`a1.large` is not offered in us-east-1")]
    assert skips(report) == [("not-offered", "subnets", False), ("zone-without-subnet", "subnets", False)]


def test_a_class_without_any_subnet_is_told_once(judge: Judge) -> None:
    report = judge(with_class(f"{ZONE} In [us-east-1a]", node_class=ec2_class("{id: subnet-9}")))
    assert {rule for rule, _, _ in rule_messages(report)} == {"empty-selector"}


# -- not-offered


def test_what_is_offered_is_no_finding(judge: Judge) -> None:
    text = with_class(
        f"{TYPE} In [m5.large, g6.xlarge]",
        f"{FAMILY} NotIn [a1]",
        "karpenter.k8s.aws/instance-category In [m, g, p]",
    )
    report = judge(text, account=ACCOUNT.replace('"p5.*"', '"p5.4*"'))
    assert not report.results


@pytest.mark.parametrize(
    ("requirements", "severity", "message", "hint"),
    [
        ([f"{TYPE} In [a1.large, m5.large]"], "warning", "`a1.large` is not offered in us-east-1", None),
        (
            [f"{TYPE} In [p5.48xlarge, m5.large]"],
            "warning",
            "`p5.48xlarge` is not offered in the zones of the subnets (us-east-1a, us-east-1b)",
            "EC2 offers it in us-east-1c",
        ),
        (
            [f"{FAMILY} In [g6]", f"{ZONE} In [us-east-1b]"],
            "error",
            "family `g6` is not offered in the zones left (us-east-1b)",
            "EC2 offers it in us-east-1a, us-east-1c",
        ),
        (
            [f"{FAMILY} In [g6]", f"{ZONE_ID} NotIn [use1-az4]"],
            "error",
            "family `g6` is not offered in the zones left (us-east-1b)",
            "EC2 offers it in us-east-1a, us-east-1c",
        ),
        (
            [f"{FAMILY} In [p5, a1]"],
            "error",
            "none of `p5, a1` is offered in the zones of the subnets (us-east-1a, us-east-1b)",
            "EC2 offers it in us-east-1c",
        ),
        (["karpenter.k8s.aws/instance-category In [a]"], "error", "category `a` is not offered in us-east-1", None),
    ],
)
def test_what_is_not_offered(
    judge: Judge, requirements: list[str], severity: str, message: str, hint: str | None
) -> None:
    report = judge(with_class(*requirements))
    assert rule_messages(report) == [("not-offered", severity, message)]
    assert report.results[0].finding.help == hint


def test_the_dead_go_from_a_long_list_and_stay_gone(repair: Fix) -> None:
    text = with_class(f"{FAMILY} In [a1, p5, m5, 'p5', c5]")
    fixed = repair(text)
    assert fixed.sources[0].text == with_class(f"{FAMILY} In [m5, c5]")
    assert not fixed.report.results
    assert not repair(fixed.sources[0].text).applied


def test_a_long_list_of_the_dead_takes_few_rounds(repair: Fix) -> None:
    dead = [name for name in Catalog.bundled().names if name.startswith(("p5.", "a1.", "c5", "m5", "r5"))]
    assert len(dead) > 100
    account = ACCOUNT.replace('"a1.*"', '"a1.*", "c5*", "m5*", "r5*"')
    fixed = repair(with_class(f"{TYPE} In [{', '.join([*dead, 'm7g.large'])}]"), account)
    assert fixed.sources[0].text == with_class(f"{TYPE} In [m7g.large]")


def test_a_type_that_is_nowhere_is_told_once_and_kills_the_line_too(judge: Judge) -> None:
    report = judge(with_class(f"{TYPE} In [m5.huge, a1.large]"))
    assert [(rule, severity) for rule, severity, _ in rule_messages(report)] == [
        ("unknown-value", "warning"),
        ("not-offered", "error"),
    ]


def test_a_placeholder_among_the_values_may_be_alive(judge: Judge) -> None:
    report = judge(with_class(f"{TYPE} In ['${{SIZE}}', a1.large]"), "not-offered")
    assert [severity for _, severity, _ in rule_messages(report)] == ["warning"]


def test_a_label_of_the_template_counts(judge: Judge) -> None:
    report = judge(with_class(labels=f"{{{TYPE}: a1.large}}"), "not-offered")
    assert rule_messages(report) == [("not-offered", "error", "`a1.large` is not offered in us-east-1")]
    assert not report.results[0].fixable


def test_without_the_class_the_whole_region_counts(judge: Judge) -> None:
    report = judge(pool(f"{TYPE} In [p5.48xlarge, a1.large]"), "not-offered")
    assert rule_messages(report) == [("not-offered", "warning", "`a1.large` is not offered in us-east-1")]


def test_offers_that_were_refused(judge: Judge) -> None:
    report = judge(with_class(f"{TYPE} In [a1.large]"), "not-offered", account=ACCOUNT + "denied: [offerings]\n")
    assert not report.results
    assert skips(report) == [("not-offered", "offerings", False)]


def test_facts_that_are_too_old_may_pass(rules: dict[str, Rule]) -> None:
    source = Source.from_text("a.yaml", with_class(f"{TYPE} In [a1.large]", f"{ZONE} In [us-east-1c]"))
    aimed = aim([source], ACCOUNT, None)
    facts = aimed.facts
    assert facts.now is not None
    old = AwsFacts(
        facts.snapshot, facts.region, facts.now + timedelta(days=1), dict.fromkeys(FACT_KINDS, timedelta(hours=1))
    )
    chosen = Selection(frozenset(["not-offered", "zone-without-subnet", "missing-role"]))
    report = lint([source], LintRequest(aimed._replace(facts=old), rules, chosen))
    assert not report.results
    assert {s.transient for s in report.skipped} == {True}
    assert len(report.skipped) == 3


@pytest.mark.parametrize(
    ("account", "field", "severity"),
    [
        ("encryptsVolumes: true", "", None),
        ("encryptsVolumes: false", "", "warning"),
        ("encryptsVolumes: true", "encrypted: false", "warning"),
        ("encryptsVolumes: true", "kmsKeyID: alias/nodes", "error"),
        ("encryptsVolumes: false", "encrypted: true", None),
        ("", "", "info"),
        ("region: eu-west-1\nencryptsVolumes: true", "", "info"),
    ],
)
def test_what_an_account_does_with_volumes(judge: Judge, account: str, field: str, severity: str | None) -> None:
    """What another region's account does says nothing."""
    zone = nodepool(f"key: {ZONE}, operator: In, values: [us-east-1a]")
    text = zone + "---\n" + ec2_class(rest=f"blockDeviceMappings: [{{ebs: {{volumeSize: 50Gi, {field}}}}}]")
    found = judge(text, "unencrypted-volume", account=account or "roles: []")
    assert [result.severity for result in found.results] == ([severity] if severity else [])
