"""What is said of NodePools that go to one cluster, and which pools are taken to do so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from nodelint.lint.autofix import fix
from nodelint.lint.broken_fixes import applicable
from nodelint.lint.engine import LintRequest, Report, Selection, Target, lint
from nodelint.model.releases import NEWEST
from nodelint.rule.definition import Rule
from nodelint.text import Source
from tests.manifests import nodeclass, nodepool

Check = Callable[..., Report]
RULES = ["overlapping-pools", "shadowed-pool", "untainted-weight", "duplicate-name"]
TAINT = "{key: team, effect: NoSchedule}"
SOFT_TAINT = "{key: team, effect: PreferNoSchedule}"


def pool(name: str, **more: Any) -> str:
    """A NodePool of amd64 types; `weight`, `taint`, `label`, `limits`, and `lines` of requirements may be added."""
    weight = f"  weight: {more['weight']}\n" if "weight" in more else ""
    text = nodepool(
        "key: kubernetes.io/arch, operator: In, values: [amd64]",
        name=name,
        node_class=more.get("of", "default"),
        labels=f"{{{more['label']}}}" if "label" in more else None,
        spec=weight + ("  limits: {cpu: 100}\n" if more.get("limits") else ""),
        template=f"      taints: [{more['taint']}]\n" if "taint" in more else "",
    )
    return text + "".join(f"        - {line}\n" for line in more.get("lines", ())) + "---\n"


def asking(key: str, *values: str) -> str:
    return f"{{key: {key}, operator: In, values: [{', '.join(values)}]}}"


ZONE_A, ZONE_B = (asking("topology.kubernetes.io/zone", f"us-east-1{zone}") for zone in "ab")
OF_C, OF_M = (asking("karpenter.k8s.aws/instance-category", category) for category in "cm")
CLASS = nodeclass(
    name="%s", role="Node", ami="alias: al2023@latest", net="tags: {karpenter.sh/discovery: %s}", inline=True
)
SPOT, ON_DEMAND = (asking("karpenter.sh/capacity-type", kind) for kind in ("spot", "on-demand"))


def rules_said(report: Report) -> list[str]:
    assert not report.faults
    return [r.rule.name for r in report.results]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ({}, {}, ["overlapping-pools"]),
        ({"weight": 5}, {"weight": 5}, ["overlapping-pools"]),
        ({"lines": [SPOT]}, {"lines": [ON_DEMAND]}, ["overlapping-pools"]),
        ({"label": "team: a"}, {}, ["overlapping-pools"]),
        ({"taint": TAINT}, {"taint": TAINT}, ["overlapping-pools"]),
        # pods tell these apart
        ({"taint": TAINT}, {}, []),
        ({"label": "team: a"}, {"label": "team: b"}, []),
        ({"lines": [ZONE_A]}, {"lines": [ZONE_B]}, []),
        ({"lines": [OF_C]}, {"lines": [OF_M]}, []),
        # somebody has chosen
        ({"lines": [SPOT], "weight": 10}, {"lines": [ON_DEMAND]}, ["untainted-weight"]),
        # the heavier pool takes all, also where its taint keeps no pod away
        ({"weight": 10}, {}, ["untainted-weight", "shadowed-pool"]),
        ({"weight": 10}, {"taint": TAINT}, ["shadowed-pool"]),
        ({"weight": 10, "taint": SOFT_TAINT}, {}, ["untainted-weight", "shadowed-pool"]),
        ({"weight": 10}, {"lines": [SPOT]}, ["untainted-weight", "shadowed-pool"]),
        ({"weight": 10, "limits": True}, {}, ["untainted-weight"]),
        ({"weight": 10, "lines": [SPOT]}, {}, ["untainted-weight"]),
        ({"weight": 10, "lines": [OF_C]}, {}, ["untainted-weight"]),  # it has fewer types
        ({"weight": 10}, {"label": "team: b"}, ["untainted-weight"]),
        ({"weight": 10, "taint": TAINT}, {}, []),
        # spot behind on-demand
        ({"weight": 10, "lines": [ON_DEMAND]}, {"lines": [SPOT]}, ["untainted-weight", "shadowed-pool"]),
        ({"weight": 10, "lines": [ON_DEMAND], "limits": True}, {"lines": [SPOT]}, ["untainted-weight"]),
        # what is not known is not judged
        ({"weight": "${WEIGHT}"}, {}, []),
        ({"lines": [asking("karpenter.sh/capacity-type", "${KIND}")]}, {"lines": [SPOT]}, []),
        ({"taint": "{key: $KEY, effect: NoSchedule}"}, {"taint": TAINT}, []),
    ],
)  # fmt: skip
def test_two_pools_of_a_file(
    check: Check, first: Mapping[str, Any], second: Mapping[str, Any], expected: list[str]
) -> None:
    report = check(pool("a", **first) + pool("b", **second), select=RULES)
    shown = report._replace(results=tuple(r for r in report.results if not r.finding.strict))
    assert rules_said(shown) == expected


@pytest.mark.parametrize(
    ("spot", "other", "severities"),
    [
        ({"taint": TAINT}, {}, ["info"]),
        ({"taint": TAINT}, {"taint": SOFT_TAINT}, ["info"]),
        ({"taint": TAINT}, {"lines": [SPOT]}, ["warning"]),  # both pools in one line
        ({}, {"taint": TAINT}, ["warning"]),
        ({"taint": TAINT}, {"taint": TAINT}, []),
        ({"label": "team: a"}, {}, ["info"]),
        ({"label": "team: a"}, {"label": "team: a"}, []),
        ({}, {"label": "team: a"}, []),
    ],
)
def test_spot_only_beside_a_pool_that_takes_its_pods(
    check: Check, spot: Mapping[str, Any], other: Mapping[str, Any], severities: list[str]
) -> None:
    report = check(pool("a", **{"lines": [SPOT], **spot}) + pool("b", **other), select=["spot-only"])
    assert [r.severity for r in report.results] == severities


SPOT_TAINT = "{key: spot, effect: NoSchedule}"
EITHER = asking("karpenter.sh/capacity-type", "spot", "on-demand")


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ({"lines": [EITHER]}, {"lines": [SPOT], "taint": SPOT_TAINT}, ["spot-without-toleration"]),
        ({"lines": [ON_DEMAND]}, {"lines": [SPOT], "taint": SPOT_TAINT}, []),
        ({"lines": [EITHER]}, {"lines": [EITHER], "taint": SPOT_TAINT}, []),
        ({"lines": [EITHER]}, {"lines": [SPOT], "taint": SPOT_TAINT.replace("NoSchedule", "PreferNoSchedule")}, []),
        ({"lines": [EITHER]}, {"lines": [SPOT], "taint": TAINT}, []),
        ({"lines": [EITHER], "taint": TAINT}, {"lines": [SPOT], "taint": SPOT_TAINT}, []),
        ({}, {"lines": [SPOT], "taint": SPOT_TAINT}, []),
    ],
)
def test_spot_nodes_for_pods_that_did_not_ask(
    check: Check, first: Mapping[str, Any], second: Mapping[str, Any], expected: list[str]
) -> None:
    assert rules_said(check(pool("a", **first) + pool("b", **second), select=["spot-without-toleration"])) == expected


@pytest.mark.parametrize(
    ("spot", "other", "expected"),
    [
        ("spot.yaml", "other.yaml", 0),
        ("spot.sh", "other.sh", 1),
        ("spot.yaml", "other.sh", 1),
        ("spot.yaml", "same.yaml", 1),
    ],
)
def test_pools_of_other_scripts_and_other_versions_of_a_pool_are_no_fallback(
    rules: dict[str, Rule], spot: str, other: str, expected: int
) -> None:
    def source(path: str, text: str) -> Source:
        return Source.from_text(path, f"kubectl apply -f - <<EOF\n{text}EOF\n" if path.endswith(".sh") else text)

    name = "a" if other.startswith("same") else "b"
    sources = [source(spot, pool("a", lines=[SPOT])), source(other, pool(name))]
    report = lint(sources, LintRequest(Target(NEWEST), rules, Selection(select=frozenset(["spot-only"]))))
    assert len(report.results) == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([asking("karpenter.k8s.aws/instance-family", "t3", "m5"), ON_DEMAND], True),
        ([asking("karpenter.k8s.aws/instance-family", "t3", "m5"), SPOT], False),
        ([asking("karpenter.k8s.aws/instance-family", "t3", "m5")], False),
        ([asking("karpenter.k8s.aws/instance-family", "t3"), ON_DEMAND], False),
        ([asking("karpenter.k8s.aws/instance-family", "m5"), ON_DEMAND], False),
        ([asking("karpenter.k8s.aws/instance-family", "t3", "g5"), ON_DEMAND], False),
    ],
)
def test_burstable_types_that_come_first(check: Check, lines: list[str], expected: bool) -> None:
    assert rules_said(check(pool("a", lines=lines), select=["burstable-first"])) == (
        ["burstable-first"] if expected else []
    )


@pytest.mark.parametrize(("tier", "shadowed"), [("web", True), ("data", False)])
def test_a_pool_with_subnets_of_its_own_is_not_out_of_reach(check: Check, tier: str, shadowed: bool) -> None:
    of_web, other = CLASS % ("x", "one", "one"), CLASS % ("z", "one", "one")
    of_web, other = (
        text.replace("subnetSelectorTerms: [{tags: {", f"subnetSelectorTerms: [{{tags: {{tier: {which}, ")
        for text, which in ((of_web, "web"), (other, tier))
    )
    pools = pool("a", weight=10, of="x") + pool("b", of="z")
    report = check(f"{pools}{of_web}---\n{other}", select=["shadowed-pool"])
    assert [r.finding.message.partition(":")[0] for r in report.results] == (
        ["Karpenter never uses this pool"] if shadowed else []
    )


def test_the_name_that_sorts_last_is_tried_first(check: Check) -> None:
    (result,) = check(pool("spot") + pool("on-demand"), select=["overlapping-pools"]).results
    assert result.finding.message.startswith("`spot` and `on-demand` share ")
    assert result.finding.message.endswith("have no weight: Karpenter tries `spot` first because of its name")
    assert result.object is not None
    assert result.object.name == "on-demand"


def test_a_fallback_is_told_by_its_name(check: Check) -> None:
    report = check(pool("fallback", weight=20, limits=True) + pool("general", weight=10), select=["shadowed-pool"])
    assert [r.finding.message for r in report.results] == [
        "`fallback` (weight 20 against 10) is named a fallback, but Karpenter tries it first, with 967 types in "
        "common"
    ]


def judged(files: Mapping[str, str], rules: Mapping[str, Rule], *select: str) -> list[str]:
    sources = [Source.from_text(path, text) for path, text in files.items()]
    return rules_said(lint(sources, LintRequest(Target(NEWEST), rules, Selection(frozenset(select or RULES)))))


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"p/a.yaml": pool("a"), "p/b.yaml": pool("b")}, ["overlapping-pools"]),
        ({"p/a.yaml": pool("a"), "q/b.yaml": pool("b")}, []),
        ({"p/dev.yaml": pool("a"), "p/prod.yaml": pool("b")}, []),
        # one name twice: alternatives, so that nothing is said of the third
        ({"p/a.yaml": pool("a"), "p/b.yaml": pool("a"), "p/c.yaml": pool("c")}, ["duplicate-name"]),
        ({f"p/{n}.yaml": pool("a") for n in range(3)}, ["duplicate-name"] * 2),
        ({f"p/{n}.yaml": pool("a") for n in range(5)}, []),
        ({f"p/examples/{n}.yaml": pool("a") for n in range(3)}, []),
        ({"p/dev.yaml": pool("a"), "p/prod.yaml": pool("a")}, []),
        ({"p/a.yaml": pool("a") + pool("a")}, ["duplicate-name"]),
        ({"p/a.tpl": pool("a"), "p/b.tpl": pool("a")}, []),
        ({"p/a.tftpl": pool("a"), "p/b.tftpl": pool("a")}, []),
        ({"p/a.tftpl": pool("a") + pool("a")}, ["duplicate-name"]),
        ({"docs/a.md": f"```yaml\n{pool('a')}```\n\n```yaml\n{pool('b')}```\n"}, []),
        (
            {
                "p/a.yaml": pool("a", of="x") + CLASS % ("x", "one", "one"),
                "p/b.yaml": pool("b", of="z") + CLASS % ("z", "two", "two"),
            },
            [],
        ),
        (
            {
                "p/a.yaml": pool("a", of="x") + CLASS % ("x", "one", "one"),
                "p/b.yaml": pool("b", of="z") + CLASS % ("z", "one", "one"),
            },
            ["overlapping-pools"],
        ),
    ],
)
def test_which_pools_go_to_one_cluster(rules: dict[str, Rule], files: Mapping[str, str], expected: list[str]) -> None:
    assert judged(files, rules) == expected


def test_two_of_a_name_in_a_folder_are_only_mentioned(rules: dict[str, Rule]) -> None:
    sources = [Source.from_text(f"p/{name}.yaml", pool("a")) for name in ("a", "b")]
    report = lint(sources, LintRequest(Target(NEWEST), rules, Selection(frozenset({"duplicate-name"}))))
    assert [(r.severity, r.finding.also[0].span.source.path) for r in report.results] == [("info", "p/a.yaml")]


def test_a_name_is_counted(rules: dict[str, Rule]) -> None:
    sources = [Source.from_text(f"p/{name}.yaml", pool("a")) for name in ("a", "b", "c")]
    report = lint(sources, LintRequest(Target(NEWEST), rules, Selection(frozenset({"duplicate-name"}))))
    message = "NodePool `a` is defined 3 times, also in 2 other files of this folder: the one applied last wins"
    assert [r.finding.message for r in report.results] == [message] * 2
    assert [[also.span.source.path for also in r.finding.also] for r in report.results] == [
        ["p/a.yaml", "p/c.yaml"],
        ["p/a.yaml", "p/b.yaml"],
    ]


MISPLACED = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: NAME}
spec:
  requirements:
    - {key: kubernetes.io/arch, operator: In, values: [amd64]}
    - {key: node.kubernetes.io/instance-type, operator: In, values: [TYPES]}
    - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
  template:
    limits: {cpu: 100}
    disruption: {consolidateAfter: 5m}
    spec:
      terminationGracePeriod: 24h
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
---
"""


def test_pools_are_compared_by_the_requirements_that_were_meant_and_lack_nothing_that_stands_elsewhere(
    check: Check, rules: dict[str, Rule]
) -> None:
    pools = [("a", "m5.large, m5.xlarge, m6i.large"), ("b", "c5.large, c5.xlarge, c6i.large")]
    text = "".join(MISPLACED.replace("NAME", name).replace("TYPES", types) for name, types in pools)
    assert set(rules_said(check(text, select=list(rules)))) == {"unknown-field", "overlapping-pools"}
    assert "overlapping-pools" in rules_said(check(text.replace("c5.large", "m5.large"), select=list(rules)))


def test_a_fix_that_breaks_the_file_only_beside_others_is_shown(rules: dict[str, Rule]) -> None:
    text = MISPLACED.replace("NAME", "a").replace("TYPES", "m5.large")
    text = text.replace("    disruption: {consolidateAfter: 5m}\n", "").replace("    limits: {cpu: 100}\n", "")
    source = Source.from_text("a.yaml", text)
    chosen = Selection(frozenset(["unknown-field", "node-churn"]))
    report = lint([source], LintRequest(Target(NEWEST), rules, chosen))
    done = fix([source], LintRequest(report.target, rules, chosen), unsafe=True)
    shown = applicable([source], report)
    assert [r.rule.name for r in shown.results if r.fixable] == [r.rule.name for r in report.results]
    assert not done.report.results


def test_a_reminder_is_one_line_of_a_run_that_names_every_place(check: Check) -> None:
    burstable = asking("karpenter.k8s.aws/instance-family", "t3")
    pools = [pool(name, lines=[burstable]) for name in ("a", "b", "c")]
    (alone,) = check(pools[0], select=["burstable-only"]).results
    (line,) = check("".join(pools), select=["burstable-only"]).results
    assert line.finding.message == f"{alone.finding.message} (and 2 more NodePools)"
    assert [also.message for also in line.finding.also][-2:] == ["also here", "also here"]
    hazards = check("".join(pools), select=["narrow-spot", "invalid-field", "no-instance-type"]).results
    assert not any("alike" in result.finding.message for result in hazards)
