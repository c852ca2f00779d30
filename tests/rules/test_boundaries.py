"""Where one thing ends and the next begins: cases that lie next to each other, through what a user sees."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nodelint.apiserver import Schemas
from nodelint.ec2.fake_account import FakeAccount
from nodelint.inventory import Inventory
from nodelint.lint.engine import Report
from nodelint.model.documents import objects
from nodelint.model.manifest import EC2NodeClass
from nodelint.model.releases import Version
from nodelint.plan import PlanOptions, PoolPlan, Side, make
from nodelint.text import Source
from tests.forms.kustomize.test_kustomize import build_folder, read_built, write
from tests.manifests import nodepool
from tests.plan.test_plan import ACCOUNT, BOTH, CLASS, FOUND, POOL, edited, planned, verdict_and_reasons

Run = Callable[..., subprocess.CompletedProcess[str]]
AMD = "key: kubernetes.io/arch, operator: In, values: [amd64]"
ZONES = "        - {key: topology.kubernetes.io/zone, operator: In, values: [eu-west-1a, eu-west-1b]}\n"
ZONE_ID = "topology.k8s.aws/zone-id"


def planned_in_account(old: str, new: str) -> PoolPlan:
    sources = [Source.from_text("a.yaml", text) for text in (old, new)]
    classes = [o for source in sources for o in objects(source) if isinstance(o, EC2NodeClass)]
    release = Version(1, 14, 1)
    account = re.sub(
        r"zone: eu-west-1([ab])", lambda zone: f"{zone[0]}, zoneId: euw1-az{'ab'.index(zone[1]) + 1}", ACCOUNT
    )
    facts = FakeAccount(account).facts(classes, release)
    aim = PlanOptions(release, None, Schemas.bundled(), facts, facts)
    (plan,) = make(Side(Inventory(sources[:1])), Side(Inventory(sources[1:])), aim).pools
    return plan


@pytest.mark.parametrize(
    ("key", "values", "expected"),
    [
        ("topology.kubernetes.io/zone", "eu-west-1a, eu-west-1b", ("none",)),
        ("topology.kubernetes.io/zone", "eu-west-1a", ("some", "RequirementsDrifted")),
        ("topology.kubernetes.io/zone", "euw1-az1", ("all", "RequirementsDrifted")),
        (ZONE_ID, "euw1-az1, euw1-az2", ("none",)),
        (ZONE_ID, "euw1-az2", ("some", "RequirementsDrifted")),
        (ZONE_ID, "eu-west-1a", ("all", "RequirementsDrifted")),
    ],
)
def test_a_new_requirement_on_zones_is_met_by_zones_and_on_ids_by_ids(
    key: str, values: str, expected: tuple[str, ...]
) -> None:
    old = edited(FOUND, (ZONES, ""))
    new = edited(FOUND, (ZONES, f"        - {{key: {key}, operator: In, values: [{values}]}}\n"))
    assert verdict_and_reasons(planned_in_account(old, new)) == expected


@pytest.mark.parametrize(
    ("capacity", "expected"),
    [
        ("[spot, on-demand]", ("none",)),
        ("[reserved, on-demand]", ("some", "CapacityReservationDrift")),
        ("[reserved]", ("all", "CapacityReservationDrift")),
    ],
)
def test_other_reservations_replace_the_nodes_that_can_be_in_one(capacity: str, expected: tuple[str, ...]) -> None:
    terms = "  capacityReservationSelectorTerms: [{id: cr-01234567890abcde%s}]\n  role:"
    sides = [edited(BOTH, ("[spot, on-demand]", capacity), ("  role:", terms % end)) for end in "12"]
    (plan,) = planned(*sides)
    assert verdict_and_reasons(plan) == expected


def test_what_reservations_do_not_decide_is_not_limited_by_them() -> None:
    (plan,) = planned(BOTH, edited(BOTH, ("{id: sg-1}, ", "")))
    assert verdict_and_reasons(plan) == ("all", "SecurityGroupDrift")


@pytest.mark.parametrize("remaining", ["a", "b"])
def test_of_namesakes_the_one_in_the_same_place_stays(remaining: str) -> None:
    files = {"a": POOL, "b": edited(POOL, ("[c, m]", "[r]"))}
    aim = PlanOptions(Version.parse("1.14.1"), None, Schemas.bundled())

    def side(*names: str) -> Side:
        sources = [Source.from_text(f"{name}/pool.yaml", f"{files[name]}---\n{CLASS}") for name in names]
        return Side(Inventory(sources))

    plans = list(make(side("a", "b"), side(remaining), aim).pools)
    assert {(plan.change, verdict_and_reasons(plan)) for plan in plans} == {
        ("unchanged", ("none",)),
        ("removed", ("all",)),
    }
    plans = list(make(side(remaining), side("a", "b"), aim).pools)
    assert {(plan.change, verdict_and_reasons(plan)) for plan in plans} == {
        ("unchanged", ("none",)),
        ("added", ("none",)),
    }


OVERLAY = """\
resources: [class.yaml]
replacements:
  - source: {kind: EC2NodeClass, fieldPath: spec.role}
    targets:
      - select: {kind: EC2NodeClass}
        fieldPaths: ["spec.subnetSelectorTerms.[name=%s].tags.owner"]
"""
TERMS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: nodes
  subnetSelectorTerms:
    - {id: subnet-1, tags: {owner: a}}
    - {name: main, tags: {owner: b}}
    - {name: [main], tags: {owner: c}}
    - {name: other, tags: {owner: d}}
"""


@pytest.mark.parametrize(
    ("name", "reached"),
    [("main", [1]), ("other", [3]), ("o", [3]), ("ain$", [1]), ("(main|other)", [1, 3])],
)
def test_a_replacement_reaches_the_items_whose_field_matches(name: str, reached: list[int], tmp_path: Path) -> None:
    (tmp_path / "class.yaml").write_text(TERMS, encoding="utf-8")
    (tmp_path / "kustomization.yaml").write_text(OVERLAY % name, encoding="utf-8")
    built: Any = read_built(build_folder(tmp_path))
    (node_class,) = built.values()
    owners = [term["tags"]["owner"] for term in node_class["spec"]["subnetSelectorTerms"]]
    assert owners == ["nodes" if number in reached else owner for number, owner in enumerate("abcd")]


RENAMED = """resources: [a, b, pool.yaml]
configurations: [names.yaml]
"""
NAMES = """nameReference:
  - kind: EC2NodeClass
    fieldSpecs: [{kind: NodePool, path: spec/template/spec/nodeClassRef/name}]
"""


@pytest.mark.parametrize(("bases", "referred"), [("a", "a-default"), ("b", "b-default"), ("ab", None)])
def test_a_reference_follows_one_renamed_object_and_no_two(bases: str, referred: str | None, tmp_path: Path) -> None:
    files = {"pool.yaml": POOL, "names.yaml": NAMES, "kustomization.yaml": RENAMED.replace("a, b", ", ".join(bases))}
    for base in bases:
        files[f"{base}/class.yaml"] = TERMS
        files[f"{base}/kustomization.yaml"] = f"namePrefix: {base}-\nresources: [class.yaml]\n"
    built: Any = read_built(build_folder(write(tmp_path, files)))
    if referred is None:
        assert built is None
        return
    (pool,) = (obj for obj in built.values() if obj["kind"] == "NodePool")
    assert pool["spec"]["template"]["spec"]["nodeClassRef"]["name"] == referred


@pytest.mark.parametrize(
    ("role", "what"),
    [
        ("arn:aws:iam::111122223333:role/nodes", "is an ARN"),
        ("team/nodes", "is a role with its path"),
        ("nodes/arn:", "is a role with its path"),
    ],
)
@pytest.mark.parametrize("release", ["1.1.0", "1.14.1"])
def test_an_arn_begins_with_arn(check: Callable[..., Report], role: str, what: str, release: str) -> None:
    node_class = edited(CLASS, ("role: nodes", f'role: "{role}"'))
    messages = [result.message for result in check(node_class, karpenter=release).results]
    assert any(f"` {what}: " in message for message in messages), messages


@pytest.mark.parametrize(("mark", "use", "fixable"), [("", "24h", True), ("&time ", "*time", False)])
def test_a_pool_of_a_list_is_copied_where_nothing_else_uses_its_values(
    check: Callable[..., Report], mark: str, use: str, fixable: bool
) -> None:
    families = "key: karpenter.k8s.aws/instance-family, operator: In, values: [m7i-flex, m7i]"
    items = [
        nodepool(families, template=f"      expireAfter: {mark}24h\n"),
        nodepool(name="other", template=f"      expireAfter: {use}\n"),
    ]
    listed = "".join(f"  - {item[0]}{item[1:-1]}\n".replace("\n", "\n    ").rstrip(" ") for item in items)
    report = check(f"apiVersion: v1\nkind: List\nitems:\n{listed}", select=["flex-preference"])
    assert [result.fixable for result in report.results] == [fixable]


def test_a_pool_of_flex_types_alone_is_the_preference_whatever_else_the_other_requires(
    check: Callable[..., Report],
) -> None:
    pools = {}
    for name, families in (("flex", "m7i-flex, c7i-flex"), ("rest", "m7i-flex, m7i")):
        pools[name] = nodepool(
            f"key: karpenter.k8s.aws/instance-family, operator: In, values: [{families}]",
            "key: karpenter.sh/capacity-type, operator: In, values: [on-demand]",
            name=name,
        )
    assert len(check(pools["rest"], select=["flex-preference"]).results) == 1
    assert check(pools["rest"], pools["flex"], select=["flex-preference"]).results == ()


@pytest.mark.parametrize(
    ("name", "length", "profile", "found"),
    [
        ("web", "10m", "default", True),
        ("web", "11m", "default", False),
        ("web", "11m", "strict", False),
        ("runners", "10m", "default", True),
        ("runners", "30m", "default", False),
        ("runners", "30m", "strict", True),
        ("runners", "31m", "strict", False),
    ],
)
def test_a_grace_period_is_short_up_to_its_minutes(
    nodelint: Run, tmp_path: Path, name: str, length: str, profile: str, found: bool
) -> None:
    text = nodepool(AMD, name=name, template=f"      terminationGracePeriod: {length}\n")
    (tmp_path / "pool.yaml").write_text(text, encoding="utf-8")
    assert ("[short-grace-period]" in nodelint("check", "--profile", profile).stdout) is found


@pytest.mark.parametrize(
    ("family", "length", "found"),
    [("m7i", "59m", False), ("m7i", "60m", True), ("g5", "30m", False), ("g5", "31m", True), ("g5", "60m", True)],
)
def test_a_node_with_devices_may_be_empty_for_half_an_hour(
    check: Callable[..., Report], family: str, length: str, found: bool
) -> None:
    line = f"key: karpenter.k8s.aws/instance-family, operator: In, values: [{family}]"
    disruption = f"  disruption: {{consolidationPolicy: WhenEmpty, consolidateAfter: {length}}}\n"
    text = nodepool(line, AMD, spec=disruption)
    assert bool(check(text, select=["late-consolidation"]).results) is found


USUAL = """apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  limits: {cpu: %s}
  disruption: {consolidationPolicy: %s, consolidateAfter: %s}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      taints: %s
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
        - {key: karpenter.k8s.aws/instance-category, operator: In, values: [%s]}
        - {key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ["2"]}
"""


@pytest.mark.parametrize(
    ("rule", "values", "in_strict"),
    [
        ("old-generations", ("1000", "WhenEmptyOrUnderutilized", "1m", "[]", "c, m, r"), False),
        ("old-generations", ("1000", "WhenEmptyOrUnderutilized", "1m", "[]", "c, m, r, t"), False),
        ("default-disruption", ("1000", "WhenEmptyOrUnderutilized", "0s", "[]", "c, m, r"), False),
        ("default-disruption", ("1000", "WhenEmpty", "30s", "[]", "c, m, r"), False),
        ("late-consolidation", ("1000", "WhenEmpty", "2h", "[]", "c, m, r"), False),
        ("late-consolidation", ("1000", "WhenEmpty", "Never", "[]", "c, m, r"), True),
        ("types-beyond-limit", ("8", "WhenEmptyOrUnderutilized", "1m", "[]", "c, m, r"), False),
        ("burstable-first", ("1000", "WhenEmptyOrUnderutilized", "1m", "[]", "c, m, r, t"), False),
    ],
)
def test_what_holds_for_most_pools_is_shown_on_request(
    nodelint: Run, tmp_path: Path, rule: str, values: tuple[str, ...], in_strict: bool
) -> None:
    (tmp_path / "pool.yaml").write_text(USUAL % values, encoding="utf-8")
    shown = [
        f"[{rule}]" in nodelint("check", "--output-format", "concise", *flags, str(tmp_path)).stdout
        for flags in ([], ["--profile", "strict"], ["--select", rule], ["--extend-select", rule])
    ]
    assert shown == [False, in_strict, True, True]


FAMILIES = ("m5", "c5", "r5", "m6i", "c6i", "r6i")
TYPES = [f"{family}.{size}" for family in FAMILIES for size in ("large", "xlarge")]


@pytest.mark.parametrize(
    ("rule", "capacity", "count", "found"),
    [
        ("narrow-spot", "spot", 5, True),
        ("narrow-spot", "spot", 6, False),
        ("few-spot-types", "spot, on-demand", 2, False),
        ("few-spot-types", "spot, on-demand", 3, True),
        ("few-spot-types", "spot, on-demand", 9, True),
        ("few-spot-types", "spot, on-demand", 10, False),
    ],
)
def test_a_pool_has_few_types_for_spot_up_to_a_number(
    check: Callable[..., Report], rule: str, capacity: str, count: int, found: bool
) -> None:
    text = nodepool(
        f"key: karpenter.sh/capacity-type, operator: In, values: [{capacity}]",
        f"key: node.kubernetes.io/instance-type, operator: In, values: [{', '.join(TYPES[:count])}]",
    )
    assert (rule in [result.rule.name for result in check(text, select=[rule]).results]) is found


@pytest.mark.parametrize(
    ("policy", "count", "found"),
    [
        ("WhenEmptyOrUnderutilized", 11, True),
        ("WhenEmpty", 11, False),
        ("WhenEmptyOrUnderutilized", 0, False),
    ],
)
def test_spot_to_spot_needs_types_where_nodes_are_consolidated(
    nodelint: Run, tmp_path: Path, policy: str, count: int, found: bool
) -> None:
    text = nodepool(
        "key: karpenter.sh/capacity-type, operator: In, values: [spot]",
        *([f"key: node.kubernetes.io/instance-type, operator: In, values: [{', '.join(TYPES)}]"] if count else []),
        spec=f"  disruption: {{consolidationPolicy: {policy}, consolidateAfter: 1m}}\n",
    )
    (tmp_path / "pool.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "values.yaml").write_text(
        "settings: {clusterName: main, featureGates: {spotToSpotConsolidation: true}}\n", encoding="utf-8"
    )
    done = nodelint("check", "--select", "few-spot-types", ".")
    assert ("replaces no spot node by a cheaper one" in done.stdout) is found, done.stdout
