"""Keys and values of requirements: what the examples on the rules' pages leave out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from nodelint.lint.autofix import Fixed, fix
from nodelint.lint.engine import LintRequest, Report, Result, Selection, Target
from nodelint.model.documents import objects
from nodelint.model.manifest import NodePool
from nodelint.model.releases import NEWEST, target
from nodelint.rule.definition import Rule
from nodelint.text import Source
from tests.manifests import nodeclass, nodepool, pool
from tests.repositories import write_files

Check = Callable[..., Report]
Fix = Callable[..., Fixed]

RULES = [
    "flex-preference",
    "no-instance-type",
    "too-few-values",
    "unknown-label",
    "unknown-value",
    "value-of-another-key",
    "wildcard-value",
]
FAMILY = "karpenter.k8s.aws/instance-family"
CATEGORY = "karpenter.k8s.aws/instance-category"
SIZE = "karpenter.k8s.aws/instance-size"
FLEX = "karpenter.k8s.aws/instance-capability-flex"
TYPE = "node.kubernetes.io/instance-type"
ARCH = "kubernetes.io/arch"
CAPACITY = "karpenter.sh/capacity-type"
ZONE = "topology.kubernetes.io/zone"


@pytest.fixture
def repair(rules: dict[str, Rule]) -> Fix:
    def run(*texts: str, select: str | None = None, karpenter: str | None = None, unsafe: bool = False) -> Fixed:
        sources = [Source.from_text(f"{n}.yaml", text) for n, text in enumerate(texts)]
        chosen = Selection(frozenset([select] if select else RULES))
        return fix(
            sources, LintRequest(Target(target(karpenter) if karpenter else NEWEST), rules, chosen), unsafe=unsafe
        )

    return run


def rule_severities(report: Report) -> list[tuple[str, str]]:
    return [(r.rule.name, r.severity) for r in report.results]


def only(report: Report) -> Result:
    assert len(report.results) == 1, [(r.rule.name, r.finding.message) for r in report.results]
    return report.results[0]


def requirements(text: str) -> list[list[tuple[str, str, list[str]]]]:
    """Key, operator and values of each requirement of each NodePool of a text."""
    return [
        [(str(line.key), str(line.operator), list(line.texts)) for line in obj.requirements]
        for obj in objects(Source.from_text("a.yaml", text))
        if isinstance(obj, NodePool)
    ]


# -- wildcard-value


@pytest.mark.parametrize(
    ("requirement", "meant"),
    [
        (f'{FAMILY} In ["*"]', (FAMILY, "Exists", [])),
        (f'{ZONE} In ["*"]', (ZONE, "Exists", [])),
        (f'{ZONE} In [us-east-1a, "*"]', (ZONE, "Exists", [])),
        ('example.com/team In ["*"]', ("example.com/team", "Exists", [])),
        (f'{FAMILY} Exists ["*"]', (FAMILY, "Exists", [])),
        (f'{CAPACITY} In ["on-*"]', (CAPACITY, "In", ["on-demand"])),
        (f'{CAPACITY} In [spot, "*"]', (CAPACITY, "In", ["spot", "on-demand", "reserved"])),
        (f'{TYPE} In ["c7i.?xlarge"]', (TYPE, "In", ["c7i.2xlarge", "c7i.4xlarge", "c7i.8xlarge"])),
        (f'{TYPE} In ["m5.*", "c7i.*"]', (FAMILY, "In", ["m5", "c7i"])),
        (f'{TYPE} NotIn ["m5.*"]', (FAMILY, "NotIn", ["m5"])),
        (f'{TYPE} In ["*.large"]', (SIZE, "In", ["large"])),
        (f'{FAMILY} NotIn ["t?"]', (FAMILY, "NotIn", ["t1", "t2", "t3"])),
        (f'{FAMILY} In ["t4*", m5]', (FAMILY, "In", ["t4g", "m5"])),
        (f'{CATEGORY} In ["[ac]"]', (CATEGORY, "In", ["c"])),
        ('karpenter.k8s.aws/instance-size In ["metal-*"]', None),
    ],
)
def test_a_pattern_becomes_what_it_stands_for(
    repair: Fix, requirement: str, meant: tuple[str, str, list[str]] | None
) -> None:
    others = () if "t4" in requirement else (f"{ARCH} In [amd64]",)
    done = repair(pool(requirement, *others), select="wildcard-value")
    line = requirements(done.sources[0].text)[0][0]
    assert not done.report.results
    if meant is not None:
        assert line == meant
    else:
        assert "metal-24xl" in line[2]


@pytest.mark.parametrize(
    "requirement",
    [
        f'{FAMILY} NotIn ["*"]',
        f'{FAMILY} In ["zz*"]',
        f'{FAMILY} In [m5, "zz*"]',
        f'{ZONE} In ["us-east-1*"]',
        'example.com/team In ["web-*"]',
        f'{FAMILY} In ["c7*", "${{MORE}}"]',
    ],
)
def test_a_pattern_that_stands_for_nothing_known_has_no_fix(check: Check, requirement: str) -> None:
    result = only(check(pool(requirement), select=["wildcard-value"]))
    assert not result.fixable
    assert result.severity == "error"


def test_a_pattern_keeps_to_the_other_requirements_and_their_patterns(repair: Fix) -> None:
    text = pool(f'{FAMILY} In ["c7*", "m7*"]', f'{TYPE} In ["*.metal-24xl"]', f"{ARCH} In [amd64]")
    done = repair(text, select="wildcard-value")
    family, kind, _ = requirements(done.sources[0].text)[0]
    assert family[2] == ["c7i", "m7i"]
    assert kind == (SIZE, "In", ["metal-24xl"])
    assert not done.report.results


def test_several_patterns_of_a_list_are_one_finding(check: Check) -> None:
    result = only(check(pool(f'{FAMILY} In ["c7*", "m7*", r7i]')))
    assert result.span.start < result.finding.also[0].span.start
    assert "c7*" in result.finding.message


def test_a_bound_is_left_to_the_schema(check: Check) -> None:
    report = check(pool('karpenter.k8s.aws/instance-cpu Gt ["*"]'), select=["wildcard-value"])
    assert not report.results


def test_the_list_keeps_its_style(repair: Fix) -> None:
    block = pool(f"{ARCH} In [amd64]").replace(
        "        - {key",
        f"        - key: {FAMILY}\n          operator: In\n          values:\n"
        "            - 'c7i' # the usual\n            - 'm7*'\n        - {key",
    )
    for text in (block, block.replace("\n", "\r\n"), "\ufeff" + block):
        done = repair(text).sources[0].text
        assert done.replace("\r\n", "\n").removeprefix("\ufeff") == block.replace(
            "            - 'm7*'\n",
            "            - 'm7a'\n            - 'm7i'\n            - 'm7i-flex'\n",
        )
        assert done.count("\r") == (done.count("\n") if "\r" in text else 0)
        assert done.startswith("\ufeff") == text.startswith("\ufeff")


def test_json_is_fixed_in_its_own_form(repair: Fix) -> None:
    obj = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "a"},
        "spec": {"template": {"spec": {"requirements": [{"key": FAMILY, "operator": "In", "values": ["*"]}]}}},
    }
    for indent in (None, 2, 4):
        done = repair(json.dumps(obj, indent=indent)).sources[0].text
        line = json.loads(done)["spec"]["template"]["spec"]["requirements"]
        assert line == [{"key": FAMILY, "operator": "Exists"}]
        assert done == json.dumps(json.loads(done), indent=indent)


# -- flex-preference


STORY = pool(
    f'{FAMILY} In ["c7i-flex", "*"]',
    f"{ARCH} In [amd64]",
    labels="{team: web}",
    spec="""  disruption:
    consolidateAfter: 5m
  limits: {cpu: 100}
""",
)


def test_flex_and_everything_are_told_apart_by_the_label_from_1_7_0_on(repair: Fix) -> None:
    done = repair(STORY, karpenter="1.7.0")
    rest, flex = requirements(done.sources[0].text)
    assert rest == [(FLEX, "In", ["false"]), (ARCH, "In", ["amd64"])]
    assert flex == [(FAMILY, "In", ["c7i-flex"]), (FLEX, "In", ["true"]), (ARCH, "In", ["amd64"])]
    assert not done.report.results


def test_flex_and_everything_are_told_apart_by_name_before_1_7_0(repair: Fix) -> None:
    done = repair(STORY, karpenter="1.6.8")
    rest, flex = requirements(done.sources[0].text)
    assert rest == [(FAMILY, "NotIn", ["c7i-flex"]), (ARCH, "In", ["amd64"])]
    assert flex == [(FAMILY, "In", ["c7i-flex"]), (ARCH, "In", ["amd64"])]
    assert not done.report.results


def test_both_pools_are_alike_but_for_name_weight_and_requirements(repair: Fix) -> None:
    first, second = (d.root.plain() for d in repair(STORY).sources[0].documents if d.root)  # type: ignore[misc]
    assert (first["metadata"]["name"], second["metadata"]["name"]) == ("default", "default-flex")
    assert second["spec"].pop("weight") == 10
    for document in (first, second):
        del document["metadata"]["name"], document["spec"]["template"]["spec"]["requirements"]
    assert first == second


@pytest.mark.parametrize(
    ("weight", "rest", "flex"), [(None, None, 10), (1, 1, 11), (90, 90, 100), (95, 95, 100), (100, 90, 100)]
)
def test_the_flex_pool_is_the_heavier_one(repair: Fix, weight: int | None, rest: int | None, flex: int) -> None:
    spec = f"  weight: {weight}\n" if weight else ""
    done = repair(pool(f'{FAMILY} In ["c7i-flex", "*"]', spec=spec))
    pools = [obj for obj in objects(done.sources[0]) if isinstance(obj, NodePool)]
    assert [pool.weight for pool in pools] == [rest, flex]


def test_a_name_that_is_taken_is_not_taken_again(repair: Fix) -> None:
    text = pool(f'{FAMILY} In ["c7i-flex", "*"]')
    done = repair(text, pool(name="default-flex"))
    names = [obj.name for obj in objects(done.sources[0])]
    assert names == ["default", "default-flex-2"]


def test_lists_without_a_star_are_information_and_the_fix_is_unsafe(check: Check, repair: Fix) -> None:
    text = pool(f"{FAMILY} In [c7i-flex, m7i-flex, c7i, m6i]")
    result = only(check(text))
    assert (result.rule.name, result.severity, result.safety) == ("flex-preference", "info", "unsafe")
    assert repair(text).sources[0].text == text
    done = repair(text, unsafe=True)
    rest, flex = requirements(done.sources[0].text)
    assert rest == [(FAMILY, "In", ["c7i", "m6i"]), (FLEX, "In", ["false"])]
    assert flex == [(FAMILY, "In", ["c7i-flex", "m7i-flex"]), (FLEX, "In", ["true"])]
    assert not done.report.results


@pytest.mark.parametrize("release", ["1.6.8", "1.7.0"])
def test_flex_families_can_be_meant_by_a_pattern_too(repair: Fix, release: str) -> None:
    done = repair(pool(f'{FAMILY} In ["c*-flex", "*"]'), karpenter=release)
    rest, flex = requirements(done.sources[0].text)
    assert flex[0] == (FAMILY, "In", ["c7i-flex", "c8i-flex"])
    if release == "1.7.0":
        assert rest == [(FLEX, "In", ["false"])]
    else:
        assert rest == [(FAMILY, "NotIn", ["c7i-flex", "c8i-flex"])]
    assert not done.report.results


def test_flex_and_everything_is_one_finding_and_one_fix(check: Check, repair: Fix) -> None:
    assert rule_severities(check(STORY, select=RULES)) == [("flex-preference", "error")]
    # Where no two pools can be made, and where the profile has no hazards, the pattern is found.
    static = STORY.replace("  disruption:", "  replicas: 2\n  disruption:")
    assert rule_severities(check(static, select=RULES)) == [("wildcard-value", "error")]
    assert rule_severities(check(STORY, select=["wildcard-value"])) == [("wildcard-value", "error")]
    done = repair(STORY, select="wildcard-value")
    assert requirements(done.sources[0].text)[0][0] == (FAMILY, "Exists", [])
    assert rule_severities(check(done.sources[0].text, select=RULES)) == []


def test_a_pool_of_flex_types_beside_the_list_is_the_preference(check: Check, repair: Fix) -> None:
    flex, rest = (
        pool(f"{FAMILY} In [{values}]", name=name, spec="  weight: 9\n")
        for name, values in (("flex", "c7i-flex"), ("rest", "c7i-flex, c7i, m7i"))
    )
    rules = ["flex-preference", "overlapping-pools", "shadowed-pool"]
    for left, other in ((flex.replace("9", "100"), rest.replace("9", "1")), (rest, flex.replace("9", "10"))):
        assert rule_severities(check(f"{left}---\n{other}", select=rules)) == []
    untold = "\n---\n".join(text.replace("  weight: 9\n", "") for text in (flex, rest))
    assert rule_severities(check(untold, select=rules)) == [("overlapping-pools", "info")]
    for text, weights in ((untold, [10, None]), (f"{flex}---\n{rest}", [19, 9])):
        done = repair(text, select="overlapping-pools", unsafe=True)
        assert [obj.weight for obj in objects(done.sources[0]) if isinstance(obj, NodePool)] == weights
    # Pods that tolerate the taint are the only ones that get there: it is another pool's business.
    tainted = flex.replace("requirements:", "taints: [{key: team, effect: NoSchedule}]\n      requirements:")
    assert rule_severities(check(f"{tainted}---\n{rest}", select=rules)) == [("flex-preference", "info")]


@pytest.mark.parametrize(
    "text",
    [
        pool(f"{FAMILY} In [c7i-flex, m7i-flex]"),
        pool(f"{FAMILY} In [c7i, c7i-flex, m7i]"),
        pool(f"{FAMILY} In [c7i-flex, c7i, m7i-flex]"),
        pool(f"{FAMILY} NotIn [c7i-flex, c7i]"),
        pool(f"{FAMILY} In [c7i, m7i]"),
        pool(f'{FAMILY} In [c7i-flex, "${{MORE}}"]'),
        pool("example.com/family In [c7i-flex, c7i]"),
    ],
)
def test_an_order_that_means_nothing_is_no_preference(check: Check, text: str) -> None:
    assert not check(text, select=["flex-preference"]).results


@pytest.mark.parametrize(
    "text",
    [
        pool(f"{FAMILY} In [c7i-flex, c7i]", spec="  replicas: 2\n"),
        pool(f"{FAMILY} In [c7i-flex, c7i]", spec='  weight: "${WEIGHT}"\n'),
        pool(f"{FAMILY} In [c7i-flex, c7i]", name='"${NAME}"'),
        pool(f"{FAMILY} In [c7i-flex, c7i]", f"{FLEX} Exists"),
        pool(f"{FAMILY} In [c7i-flex, c7i]", labels=f'{{{FLEX}: "true"}}'),
        pool(f"{FAMILY} In [c7i-flex, c7i]").replace("c7i]}", "c7i], minValues: 2}"),
        pool(f'{FAMILY} In [c7i-flex, "m7*"]'),
    ],
)
def test_no_two_pools_where_they_cannot_be_made(check: Check, text: str) -> None:
    result = only(check(text, select=["flex-preference"]))
    assert not result.fixable
    assert "two NodePools" in (result.finding.help or "")


def test_a_pool_in_a_list_gets_its_twin_there(repair: Fix) -> None:
    indented = "".join(f"  {line}" for line in STORY.splitlines(keepends=True))
    text = "apiVersion: v1\nkind: List\nitems:\n- " + indented.removeprefix("  ")
    root = repair(text).sources[0].documents[0].root
    assert root is not None
    assert [item.find("metadata", "name").value for item in root.get("items").items] == [  # type: ignore[union-attr]
        "default",
        "default-flex",
    ]


def test_comments_and_line_breaks_of_both_pools_are_the_originals(repair: Fix) -> None:
    text = STORY.replace("operator: In", "operator: In", 1).replace("kind: NodePool", "kind: NodePool # mine")
    text = text.replace("\n", "\r\n")
    done = repair(text).sources[0].text
    assert done.count("kind: NodePool # mine\r\n") == 2
    assert done.count("\n") == done.count("\r\n")
    assert done.count("---\r\n") == 1
    remaining = [line for line in text.splitlines() if "c7i-flex" not in line]
    assert [line for line in done.splitlines() if line in remaining][: len(remaining)] == remaining


# -- unknown-value and value-of-another-key


def test_a_dead_value_is_a_warning_and_a_dead_line_an_error(check: Check) -> None:
    assert rule_severities(check(pool(f"{FAMILY} In [c7i, c7id]"))) == [("unknown-value", "warning")]
    assert rule_severities(check(pool(f"{FAMILY} In [c7id]"))) == [("unknown-value", "error")]
    assert rule_severities(check(pool(f'{FAMILY} In [c7id, "${{X}}"]'))) == [("unknown-value", "warning")]
    assert rule_severities(check(pool(f"{FAMILY} NotIn [c7id]"))) == [("unknown-value", "info")]
    assert rule_severities(check(pool(f"{CATEGORY} NotIn [gpu]"))) == [("unknown-value", "warning")]


def test_the_day_of_the_catalogue_is_told(check: Check) -> None:
    finding = only(check(pool(f"{TYPE} In [m5.large, m99.large]"))).finding
    assert finding.message == "no instance type has instance-type `m99.large`"
    assert (finding.note or "").startswith("nodelint knows the types of 20")


@pytest.mark.parametrize(
    ("requirement", "meant"),
    [
        (f"{CAPACITY} In [on_demand]", [CAPACITY, "In", ["on-demand"]]),
        (f"{CAPACITY} In [on_demand, on-demand]", [CAPACITY, "In", ["on-demand"]]),
        (f"{CAPACITY} In [Spot, ondemand]", [CAPACITY, "In", ["spot", "on-demand"]]),
        ("kubernetes.io/os In [Linux]", ["kubernetes.io/os", "In", ["linux"]]),
        ("beta.kubernetes.io/arch In [x86_64]", ["beta.kubernetes.io/arch", "In", ["amd64"]]),
        (f"{ZONE} In [us-east-1A]", [ZONE, "In", ["us-east-1a"]]),
        (f"{CATEGORY} In [m5, c5]", [FAMILY, "In", ["m5", "c5"]]),
        (f"{FAMILY} In [m5.large]", [TYPE, "In", ["m5.large"]]),
        (f"{ZONE} In [use1-az1]", ["topology.k8s.aws/zone-id", "In", ["use1-az1"]]),
    ],
)
def test_a_dead_line_is_mended_safely(repair: Fix, requirement: str, meant: list[object]) -> None:
    done = repair(pool(requirement))
    assert [list(line) for line in requirements(done.sources[0].text)[0]] == [meant]
    assert not done.report.results


def test_an_exclusion_that_begins_to_exclude_is_unsafe(check: Check, repair: Fix) -> None:
    for text in (pool(f"{CAPACITY} NotIn [Spot]"), pool(f"{TYPE} NotIn [nano]")):
        result = only(check(text))
        assert (result.severity, result.safety, result.fixable) == ("warning", "unsafe", True)
        assert repair(text).sources[0].text == text
    twice = only(check(pool(f"{CAPACITY} NotIn [Spot, spot]")))
    assert twice.safety == "safe"


def test_values_of_another_key_stay_where_that_key_is_asked_already(check: Check) -> None:
    result = only(check(pool(f"{CATEGORY} In [m5]", f"{FAMILY} In [c5, m5]")))
    assert result.rule.name == "value-of-another-key"
    assert result.severity == "error"
    assert not result.fixable
    assert FAMILY in (result.finding.help or "")


def test_some_values_of_another_key_are_a_warning(check: Check) -> None:
    result = only(check(pool(f"{CATEGORY} In [c, m5]")))
    assert (result.rule.name, result.severity, result.fixable) == ("value-of-another-key", "warning", False)


def test_labels_of_the_template_count(check: Check, repair: Fix) -> None:
    text = pool(labels=f"{{{ARCH}: x86_64}}")
    result = only(check(text, select=RULES))
    assert (result.rule.name, result.severity) == ("unknown-value", "error")
    assert repair(text).sources[0].text == text.replace("x86_64", "amd64")


def test_a_value_of_another_release_names_it(check: Check) -> None:
    text = pool(f"{CAPACITY} In [reserved, spot]")
    assert not check(text, karpenter="1.3.0").results
    result = only(check(text, karpenter="1.2.2"))
    assert "1.3.0" in (result.finding.help or "")


@pytest.mark.parametrize("message", ["In [dedicated]", "In [shared]", "NotIn [x]"])
def test_values_of_a_key_of_another_release_are_moot(check: Check, message: str) -> None:
    text = pool(f"karpenter.k8s.aws/instance-tenancy {message}")
    assert only(check(text, karpenter="1.8.8")).rule.name == "field-of-another-release"
    label = pool(f"{CATEGORY} In [c]", labels="{karpenter.k8s.aws/instance-tenancy: shared}")
    assert only(check(label, karpenter="1.8.8")).rule.name == "field-of-another-release"


def test_memory_in_gibibytes_is_told(check: Check) -> None:
    result = only(check(pool('karpenter.k8s.aws/instance-memory In ["16"]')))
    assert "`16384`" in result.finding.message
    assert "MiB" in (result.finding.help or "")


# -- unknown-label


def test_a_key_that_is_refused_is_mended_safely(check: Check, repair: Fix) -> None:
    text = pool("karpenter.k8s.aws/instance-famly In [m5]")
    result = only(check(text))
    assert (result.rule.name, result.severity, result.safety) == ("unknown-label", "error", "safe")
    assert requirements(repair(text).sources[0].text) == [[(FAMILY, "In", ["m5"])]]


def test_a_key_that_is_taken_for_ones_own_is_mended_on_demand(check: Check, repair: Fix) -> None:
    text = pool("node.kubernetes.io/instance-category In [m]")
    assert only(check(text)).safety == "unsafe"
    assert repair(text).sources[0].text == text
    assert requirements(repair(text, unsafe=True).sources[0].text) == [[(CATEGORY, "In", ["m"])]]
    # refused until 1.8, which held all of kubernetes.io but node.kubernetes.io to its own labels
    refused = pool("kubernetes.io/instance-type In [m5.large]")
    assert only(check(refused, karpenter="1.8.0")).safety == "safe"
    assert only(check(refused, karpenter="1.9.0")).safety == "unsafe"


def test_a_label_beside_the_requirement_it_resembles_is_meant(check: Check) -> None:
    labels = "{node.kubernetes.io/instance-category: m}"
    assert not check(pool(f"{CATEGORY} In [m]", labels=labels)).results
    assert rule_severities(check(pool(labels=labels), select=RULES)) == [("unknown-label", "warning")]


def test_the_key_is_not_written_twice(check: Check) -> None:
    result = only(check(pool("instance-family In [m5]", f"{FAMILY} In [m5, c5]")))
    assert result.rule.name == "unknown-label"
    assert not result.fixable
    assert result.finding.also


# -- no-instance-type


def test_the_two_that_clash_are_named(check: Check) -> None:
    text = pool(f"{CAPACITY} In [spot]", f"{ARCH} In [amd64]", f"{FAMILY} In [m7g]")
    result = only(check(text))
    assert result.rule.name == "no-instance-type"
    assert text[result.span.start : result.span.end] == FAMILY
    (also,) = result.finding.also
    assert text[also.span.start : also.span.end] == ARCH


def test_the_smallest_set_is_named_where_no_two_clash(check: Check) -> None:
    text = pool(
        f"{CATEGORY} In [c, m]",
        "karpenter.k8s.aws/instance-generation In ['7', '8']",
        f"{ARCH} In [amd64]",
        f"{FAMILY} In [m6i, c7g]",
        "kubernetes.io/os In [linux]",
    )
    result = only(check(text))
    assert len(result.finding.also) == 2
    assert "2 other" in result.finding.message


def test_a_bound_that_nothing_meets_is_named(check: Check) -> None:
    result = only(check(pool('karpenter.k8s.aws/instance-cpu Gt ["5000"]')))
    assert "`instance-cpu Gt 5000`" in result.finding.message


def test_labels_clash_with_requirements(check: Check) -> None:
    result = only(check(pool(f"{FAMILY} In [m7g]", labels=f"{{{ARCH}: amd64}}")))
    assert result.rule.name == "no-instance-type"


def test_a_cause_that_another_rule_explains_is_said_once(check: Check) -> None:
    for text, rule in (
        (pool(f"{FAMILY} In [c7id]"), "unknown-value"),
        (pool(f"{CATEGORY} In [m5]"), "value-of-another-key"),
        (pool(f'{FAMILY} In ["c7*"]'), "wildcard-value"),
        (pool(f'{FAMILY} In [c7g, "m7*"]', f"{ARCH} In [amd64]"), "wildcard-value"),
    ):
        assert only(check(text)).rule.name == rule


def test_a_clash_is_told_beside_a_dead_value(check: Check) -> None:
    report = check(pool(f"{ARCH} In [amd64]", f"{FAMILY} In [c7g, c7id]"))
    assert rule_severities(report) == [("no-instance-type", "error"), ("unknown-value", "warning")]


def test_beside_a_line_that_nothing_meets_the_others_are_compared(check: Check) -> None:
    lines = (
        f"{FAMILY} In [m5, m5d, c4]",
        f"{ARCH} In [amd64, arm64]",
        "karpenter.k8s.aws/instance-hypervisor In [nitro]",
    )
    text = pool(f"{CATEGORY} In [m5]", *lines).replace("[m5, m5d, c4]", "[m5, m5d, c4], minValues: 3")
    found = [(r.rule.name, r.finding.message.split(" ")[0]) for r in check(text).results]
    assert found == [
        ("value-of-another-key", "`m5`"),
        ("unmatchable-value", "`c4`"),
        ("too-few-values", "minValues"),
        ("unmatchable-value", "`arm64`"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        pool(),
        pool(f"{FAMILY} Exists", "example.com/team In [web]", f"{ZONE} In [us-east-1a]"),
        pool(f"{ARCH} In [amd64]", f'{FAMILY} In ["${{FAMILY}}"]'),
        pool(f"{ARCH} In [amd64]", f'{ARCH} In ["${{ARCH}}"]'),
        pool(f"{CATEGORY} In [c, m, r]", "karpenter.k8s.aws/instance-generation Gt ['2']"),
        pool(f"{ARCH} In [amd64, arm64]", f"{CAPACITY} In [spot, on-demand]", "kubernetes.io/os In [linux]"),
        pool('"${KEY}" In [x]', "team Exists", "example.com/instance-family In [blue]"),
    ],
)
def test_sound_pools_are_left_in_peace(check: Check, text: str) -> None:
    assert not check(text, select=RULES).results


def test_a_placeholder_for_the_whole_list_is_unknown(check: Check) -> None:
    for key in (ZONE, FAMILY):
        text = pool(f"{ARCH} In [amd64]", f"{key} In ${{VALUES}}")
        assert not check(text, select=RULES).results


def test_a_template_with_two_ways_is_not_judged_as_one(check: Check) -> None:
    lines = pool(f"{ARCH} In [amd64]", f"{ARCH} In [arm64]", f"{FAMILY} In [m7g]").splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if ARCH in line)
    code = ["{{- if .arm }}\n", lines[at], "{{- else }}\n", lines[at + 1], "{{- end }}\n"]
    report = check("".join([*lines[:at], *code, *lines[at + 2 :]]), select=RULES)
    assert not report.results
    assert "no-instance-type" in {skip.rule for skip in report.skipped}


# -- too-few-values


def test_min_values_are_held_against_the_types_left(check: Check) -> None:
    def text(least: int) -> str:
        return pool(f"{FAMILY} In [c7g, c7i, m7i]", f"{ARCH} In [amd64]").replace(
            "m7i]}", f"m7i], minValues: {least}}}"
        )

    assert not check(text(2), select={"too-few-values"}).results
    result = only(check(text(3)))
    assert result.rule.name == "too-few-values"
    assert "`3`" in result.finding.message


def test_min_values_of_zones_are_not_judged(check: Check) -> None:
    text = pool(f"{ZONE} Exists").replace("Exists}", "Exists, minValues: 3}")
    assert not check(text).results


def test_min_values_beyond_the_list_are_said_once(check: Check) -> None:
    text = pool(f"{FAMILY} In [c7i, m7i]").replace("m7i]}", "m7i], minValues: 3}")
    assert [r.rule.name for r in check(text).results] != ["too-few-values"]
    assert len(check(text).results) == 1


# -- the command


def test_the_fix_is_written_and_the_file_is_clean_after(
    nodelint: Callable[..., CompletedProcess[str]], tmp_path: Path
) -> None:
    file = tmp_path / "pool.yaml"
    file.write_text(STORY)
    diff = nodelint("check", "--fix", "--diff", "pool.yaml").stdout
    assert file.read_text() == STORY
    taken = [line for line in diff.splitlines() if line.startswith("-") and not line.startswith("---")]
    assert len(taken) <= 1
    before = nodelint("check", "pool.yaml")
    assert before.returncode == 1
    assert "flex-preference" in before.stdout
    assert nodelint("check", "--unsafe-fixes", "pool.yaml").returncode == 0
    assert "name: default-flex" in file.read_text()
    again = file.read_text()
    assert nodelint("check", "--unsafe-fixes", "pool.yaml").returncode == 0
    assert file.read_text() == again


def test_a_number_that_exists_is_not_taken_for_one_in_another_unit(check: Check) -> None:
    memory = "karpenter.k8s.aws/instance-memory"
    assert rule_severities(check(pool(f'{memory} In ["16384", "32768"]'))) == []


def test_one_cause_in_the_values_is_one_finding(check: Check) -> None:
    assert rule_severities(check(pool(f'{FAMILY} Exists ["*"]'))) == [("wildcard-value", "error")]
    assert rule_severities(check(pool(f"{CAPACITY} In [on_demand, on-demnd]"))) == [("unknown-value", "error")] * 2
    misspelt = pool(f"{ARCH} In [amd64]").replace("values:", "value:")
    assert rule_severities(check(misspelt)) == [("unknown-field", "error")]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([f"{ARCH} NotIn [amd64, arm64, m5]"], {"no-instance-type": "error", "value-of-another-key": "warning"}),
        ([f"{ARCH} NotIn [amd64, arm64, x86]"], {"no-instance-type": "error", "unknown-value": "warning"}),
        ([f"{FAMILY} In [m5, c7i flex]"], {"unknown-value": "error"}),
        ([f"{FAMILY} NotIn [m5, c7i flex]"], {"unknown-value": "error"}),
        ([f"{FAMILY} In [m5, c7z]"], {"unknown-value": "warning"}),
        ([f"{CATEGORY} In [m5, c5.large]"], {"value-of-another-key": "error"}),
        ([f"{CAPACITY} In [m5, on_demand]"], {"unknown-value": "error", "value-of-another-key": "error"}),
    ],
    ids=str,
)
def test_a_warning_does_not_hide_an_error(check: Check, lines: list[str], expected: dict[str, str]) -> None:
    assert {
        r.rule.name: r.severity for r in check(pool(*lines), select=[*RULES, "controller-check"]).results
    } == expected


def test_a_key_in_a_domain_of_karpenters_is_refused_whatever_else_is_wrong(check: Check) -> None:
    text = pool("karpenter.k8s.aws/instance-famly In [m5]", spec='  weight: "10"\n')
    found = [r for r in check(text).results if r.rule.name == "unknown-label"]
    assert [r.safety for r in found] == ["safe"]


def test_globs_of_what_is_not_known_offline_are_not_said_to_match_nothing(check: Check) -> None:
    result = only(check(pool(f'{ZONE} In ["us-east-1*"]'), select=["wildcard-value"]))
    assert "offline" in str(result.finding.help)


def test_two_pools_are_not_offered_where_one_of_them_could_launch_nothing(check: Check) -> None:
    result = only(check(pool(f"{FAMILY} In [c7i-flex, any]"), select=["flex-preference"]))
    assert not result.finding.edits


def test_a_pattern_in_a_list_that_is_an_alias_is_one_finding(check: Check) -> None:
    text = pool(f'{CATEGORY} In &all ["*"]', f"{FAMILY} In *all")
    assert rule_severities(check(text)) == [("wildcard-value", "error")]


def test_a_key_that_the_release_lacks_is_said_of_the_key_alone(check: Callable[..., Report]) -> None:
    """Its values mean nothing there: what they would be in a later release is another question."""
    pool = """\
apiVersion: karpenter.sh/v1beta1
kind: NodePool
metadata: {name: a}
spec:
  template:
    spec:
      nodeClassRef: {name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-tenancy, operator: In, values: [host]}
"""
    assert [r.rule.name for r in check(pool, karpenter="1.0.8").results if r.severity == "error"] == [
        "refused-combination"
    ]


# -- unmatchable-value


@pytest.mark.parametrize("family", ["c7i-flex, '*'", "c7i.flex", "c7i, c7i.large"])
def test_a_list_that_is_wrong_itself_rules_nothing_out(check: Check, family: str) -> None:
    text = pool(f"{CATEGORY} In [c, m]", f"{FAMILY} In [{family}]")
    assert not check(text, select={"unmatchable-value"}).results


def test_a_wrong_value_elsewhere_hides_no_dead_value(check: Check) -> None:
    text = pool(f"{FAMILY} In [m5, m7g]", f"{ARCH} In [amd64]", f"{CAPACITY} In [spot, ondemand]")
    report = check(text, select={"unmatchable-value", "unknown-value"})
    assert [r.rule.name for r in report.results] == ["unmatchable-value", "unknown-value"]


def test_what_a_requirement_rules_out_is_told_once(check: Check) -> None:
    text = pool(f"{CATEGORY} In [c, m, t]", f"{FAMILY} In [c7i]")
    assert "`m`, `t` of instance-category match nothing" in only(check(text)).finding.message


def test_no_value_is_removed_that_alone_has_an_image(check: Check) -> None:
    """The pool allows arm64 types only, and the class has an amd64 image: `amd64` is not the value to remove."""
    lines = (f"{ARCH} In [amd64, arm64]", "node.kubernetes.io/instance-type In [m7g.large, m8g.large]")
    ami = "name: amazon-eks-node-al2023-{}-standard-1.33-v20260618, owner: amazon"
    for arch, found in (("x86_64", ["image-arch-mismatch"]), ("arm64", ["unmatchable-value"])):
        report = check(f"{pool(*lines)}---\n{nodeclass(ami=ami.format(arch))}")
        names = [result.rule.name for result in report.results]
        assert [name for name in names if name in ("image-arch-mismatch", "unmatchable-value")] == found


def test_a_class_that_is_elsewhere_leaves_no_doubt_about_a_pool_for_linux(check: Check) -> None:
    """Whether the class is one of Windows takes all types away, or none."""
    for os, found in (
        ("linux", ["accelerator-by-accident", "old-generations"]),
        ("windows", []),
    ):
        text = pool("kubernetes.io/arch In [amd64]", f"kubernetes.io/os In [{os}]")
        report = check(text, select=["old-generations", "accelerator-by-accident"])
        assert sorted(r.rule.name for r in report.results) == found, os


def test_a_placeholder_among_other_values_does_not_hide_a_missing_capacity_type(check: Check) -> None:
    (result,) = check(pool(f"{FAMILY} In [${{FAMILY}}]"), select=["no-capacity-type"]).results
    assert "spot before on-demand" in result.finding.message
    assert not check(pool("${KEY} In [spot]"), select=["no-capacity-type"]).results


def test_what_a_limit_costs_is_told_of_types_that_it_lets_start(check: Check) -> None:
    def only_message(types: str) -> str:
        text = pool(f"{TYPE} In [{types}]", spec="  limits: {cpu: 50}\n")
        (result,) = check(text, select=["no-limits"]).results
        return result.finding.message

    assert only_message("g5.12xlarge, p4d.24xlarge").startswith(
        "no limit covers GPUs: `50` CPUs of g5.12xlarge cost $"
    )
    assert only_message("p4d.24xlarge") == "no limit covers GPUs"  # one has 96 CPUs
    small = pool(f"{TYPE} In [g4dn.xlarge, g5.xlarge]", spec="  limits: {cpu: 8}\n")
    assert not check(small, select=["no-limits"]).results  # two nodes at most


class TestTypesAboveALimit:
    """Types that a limit keeps out are never launched, and no danger."""

    @pytest.mark.parametrize(
        ("limits", "metal", "accelerated"),
        [
            ("{}", True, True),
            ("{cpu: 1000}", True, True),
            ("{cpu: 40}", False, True),
            ("{cpu: 16, memory: 4Gi}", False, False),
        ],
    )
    def test_are_not_told(self, check: Check, limits: str, metal: bool, accelerated: bool) -> None:
        general = nodepool("key: karpenter.k8s.aws/instance-family, operator: In, values: [m5, c5]")
        anything = nodepool("key: karpenter.k8s.aws/instance-cpu, operator: Gt, values: ['3']")
        for text, rule, message in (
            (general, "bare-metal-left", metal),
            (anything, "accelerator-by-accident", accelerated),
        ):
            results = check(f"{text}  limits: {limits}\n", select=[rule]).results
            assert [r.rule.name for r in results] == ([rule] if message else [])


class TestNamesThatAreNewerThanTheCatalogue:
    """EC2 knows types by name, of which the catalogue has no sizes yet; of a later generation anything may come."""

    @pytest.fixture(autouse=True)
    def known_by_name(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("nodelint.ec2.api_names.api_types", lambda: frozenset({"r99g.large", "mac2.metal"}))

    def test_a_generation_that_only_a_newer_type_has_is_not_known(self, check: Check) -> None:
        lines = [f"key: {CATEGORY}, operator: In, values: [r]", f"key: {GENERATION}, operator: Gt, values: ['98']"]
        report = check(nodepool(*lines), select=["no-instance-type"])
        assert not report.results and ["`r99g` is known" in skip.reason for skip in report.skipped] == [True]
        amd = check(nodepool(*lines, f"key: {CATEGORY}, operator: In, values: [t]"), select=["no-instance-type"])
        assert len(amd.results) == 1

    def test_a_value_that_only_a_newer_type_has_is_no_finding(self, check: Check) -> None:
        lines = [
            f"key: {CATEGORY}, operator: In, values: [r, m, t]",
            f"key: {GENERATION}, operator: Gt, values: ['8']",
        ]
        found = check(nodepool(*lines), select=["unmatchable-value"]).results
        assert [result.message[:30] for result in found] == ["`t` of instance-category match"]

    @pytest.mark.parametrize(("family", "severity"), [("r98g", "warning"), ("zz9", "error"), ("mac2", "error")])
    def test_a_family_of_a_later_generation_may_exist(self, check: Check, family: str, severity: str) -> None:
        line = f"key: karpenter.k8s.aws/instance-family, operator: In, values: [{family}]"
        found = check(nodepool(line), select=["unknown-value", "no-instance-type"]).results
        assert [result.severity for result in found] == [severity]


CATEGORY, GENERATION = "karpenter.k8s.aws/instance-category", "karpenter.k8s.aws/instance-generation"


@pytest.mark.parametrize("form", ["yaml", "chart", "terraform"])
@pytest.mark.parametrize(
    ("name", "severities"),
    [("m8i.112xlarge", ["warning"]), ("m5.112xlarge", ["error"]), ("m8i.huge", ["error"])],
)
def test_a_size_that_may_be_newer_than_the_catalogue_is_no_error(
    nodelint: Callable[..., CompletedProcess[str]], tmp_path: Path, form: str, name: str, severities: list[str]
) -> None:
    text = nodepool(f"key: node.kubernetes.io/instance-type, operator: In, values: [{name}]")
    files = {"pool.yaml": text}
    if form == "chart":
        files = {"Chart.yaml": "apiVersion: v2\nname: pools\nversion: 0.1.0\n", "templates/pool.yaml": text}
    elif form == "terraform":
        inner = "".join(f"    {line}\n" for line in text.splitlines())
        files = {"main.tf": f'resource "kubectl_manifest" "pool" {{\n  yaml_body = <<-YAML\n{inner}  YAML\n}}\n'}
    write_files(tmp_path, files)
    selected = ("--select", "unknown-value", "--select", "no-instance-type")
    found = json.loads(nodelint("check", str(tmp_path), "--format", "json", *selected).stdout)
    assert [finding["severity"] for finding in found["findings"]] == severities


OLD_FACTS, FRESH_FACTS = "2026-11-20T12:00:00Z", "2026-07-20T12:00:00Z"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("karpenter.k8s.aws/instance-size", "144xlarge"),
        ("karpenter.k8s.aws/instance-family", "y10g"),
        ("node.kubernetes.io/instance-type", "y10g.8xlarge"),
    ],
)
def test_what_may_be_new_is_no_error_while_the_facts_are_old(
    nodelint: Callable[..., CompletedProcess[str]], tmp_path: Path, key: str, value: str
) -> None:
    (tmp_path / "pool.yaml").write_text(nodepool(f"key: {key}, operator: In, values: [{value}]"), encoding="utf-8")

    def find(now: str) -> dict[str, str]:
        done = nodelint("check", "--format", "json", "--karpenter-version", "1.14.1", env={"NODELINT_NOW": now})
        findings = json.loads(done.stdout)["findings"]
        return {found["rule"]: found["severity"] for found in findings if found["rule"] in RULES_OF_VALUES}

    assert find(OLD_FACTS) == {"unknown-value": "warning"}
    assert "error" in find(FRESH_FACTS).values()


RULES_OF_VALUES = ("unknown-value", "no-instance-type")
