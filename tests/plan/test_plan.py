"""`nodelint plan`: which nodes a change replaces, by which line, and why."""

from __future__ import annotations

import pytest

from nodelint.apiserver import Schemas
from nodelint.ec2.fake_account import FakeAccount
from nodelint.inventory import Inventory
from nodelint.model.documents import objects
from nodelint.model.manifest import EC2NodeClass
from nodelint.model.releases import Version
from nodelint.plan import PlanOptions, PoolPlan, Side, make
from nodelint.text import Source

POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: web
spec:
  template:
    metadata:
      labels: {team: web}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      taints:
        - {key: web, effect: NoSchedule}
        - {key: fast, effect: PreferNoSchedule}
      requirements:
        - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m]}
        - {key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}
        - {key: topology.kubernetes.io/zone, operator: In, values: [eu-west-1a, eu-west-1b]}
        - {key: example.com/tier, operator: In, values: [gold, silver]}
  limits: {cpu: 100}
  weight: 10
  disruption:
    consolidateAfter: 1m
    budgets: [{nodes: 10%}]
"""
CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@v20250403}]
  subnetSelectorTerms: [{id: subnet-1a}, {id: subnet-1b}]
  securityGroupSelectorTerms: [{id: sg-1}, {id: sg-2}]
  tags: {team: web, cost: web}
"""
BOTH = POOL + "---\n" + CLASS
RELEASES = ("1.0.8", "1.1.0", "1.6.0", "1.14.1")


def planned(old: str, new: str, release: str = "1.14.1") -> list[PoolPlan]:
    aim = PlanOptions(Version.parse(release), None, Schemas.bundled())
    sides = (Side(Inventory([Source.from_text("a.yaml", text)])) for text in (old, new))
    return list(make(*sides, aim).pools)


def verdict_and_reasons(value: PoolPlan) -> tuple[str, ...]:
    """The verdict in short: `all`, then its reasons."""
    return (value.verdict.replaced, *dict.fromkeys(reason.reason for reason in value.verdict.reasons))


def edited(text: str, *edits: tuple[str, str]) -> str:
    for before, after in edits:
        assert before in text
        text = text.replace(before, after)
    return text


NOT = ("none",)
POOL_ALL = ("all", "NodePoolDrifted")
CLASS_ALL = ("all", "NodeClassDrift")
SOME = ("some", "RequirementsDrifted")
ALL = ("all", "RequirementsDrifted")
REQ = "        - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m]}\n"
FLEX = '        - {key: karpenter.k8s.aws/instance-capability-flex, operator: In, values: ["false"]}\n'
ZONES = "values: [eu-west-1a, eu-west-1b]"

SAME_IN_ALL = {
    "nothing": ((), NOT),
    "a comment": ((("spec:\n  template", "spec: # why\n  template"),), NOT),
    "order of keys and lists": (
        (("[c, m]", "[m, c]"), ("[{id: sg-1}, {id: sg-2}]", "[{id: sg-2}, {id: sg-1}]")),
        NOT,
    ),
    "order of taints": (
        (
            (
                "        - {key: web, effect: NoSchedule}\n        - {key: fast, effect: PreferNoSchedule}\n",
                "        - {effect: PreferNoSchedule, key: fast}\n        - {key: web, effect: NoSchedule}\n",
            ),
        ),
        NOT,
    ),
    "a tag": ((("cost: web", "cost: app"),), CLASS_ALL),
    "a label": ((("{team: web}\n    spec", "{team: app}\n    spec"),), POOL_ALL),
    "a label that goes": ((("      labels: {team: web}\n", "      labels: {}\n"),), POOL_ALL),
    "a taint": ((("key: fast", "key: slow"),), POOL_ALL),
    "startupTaints: []": ((("      taints:\n", "      startupTaints: []\n      taints:\n"),), POOL_ALL),
    "expireAfter as it is by default": ((("      taints:\n", "      expireAfter: 720h\n      taints:\n"),), NOT),
    "expireAfter: Never": ((("      taints:\n", "      expireAfter: Never\n      taints:\n"),), POOL_ALL),
    "terminationGracePeriod": ((("      taints:\n", "      terminationGracePeriod: 1h\n      taints:\n"),), POOL_ALL),
    "limits and weight": ((("{cpu: 100}", "{cpu: 1}"), ("weight: 10", "weight: 20")), NOT),
    "budgets": ((("nodes: 10%", "nodes: '0'"), ("consolidateAfter: 1m", "consolidateAfter: 5m")), NOT),
    "metadata": ((("  name: web\n", "  name: web\n  labels: {a: b}\n"),), NOT),
    "an unknown field": ((("  role: nodes\n", "  role: nodes\n  typo: x\n"),), NOT),
    "minValues": ((("values: [c, m]", "values: [c, m], minValues: 2"),), NOT),
    "a requirement narrowed": ((("[c, m]", "[c]"),), SOME),
    "a requirement widened": ((("[c, m]", "[c, m, r]"),), NOT),
    "a requirement dropped": (((REQ, ""),), NOT),
    "a requirement that no node meets": ((("[c, m]", "[r]"),), ALL),
    "a requirement on the type added": (
        ((REQ, REQ + "        - {key: kubernetes.io/arch, operator: In, values: [arm64]}\n"),),
        SOME,
    ),
    "a requirement that all nodes meet": (
        ((REQ, REQ + "        - {key: kubernetes.io/os, operator: In, values: [linux]}\n"),),
        NOT,
    ),
    "a zone dropped": (((ZONES, "values: [eu-west-1a]"),), SOME),
    "another zone": (((ZONES, "values: [eu-west-1c]"),), ALL),
    "a zone excluded that was not there": (((f"In, {ZONES}", "NotIn, values: [eu-west-1c]"),), NOT),
    "a zone excluded": (((f"In, {ZONES}", "NotIn, values: [eu-west-1a]"),), SOME),
    "spot alone": ((("[spot, on-demand]", "[spot]"),), SOME),
    "a value of a key of one's own": ((("[gold, silver]", "[gold]"),), SOME),
    "a key of one's own dropped": (
        (("        - {key: example.com/tier, operator: In, values: [gold, silver]}\n", ""),),
        NOT,
    ),
    "a key of one's own refused": (
        (("operator: In, values: [gold, silver]", "operator: DoesNotExist"),),
        ALL,
    ),
    "a new key": ((("example.com/tier", "example.com/level"),), ALL),
    "a new key that must be missing": (
        ((REQ, REQ + "        - {key: example.com/old, operator: NotIn, values: [x]}\n"),),
        NOT,
    ),
    "a new key that a label of the template meets": (
        ((REQ, REQ + "        - {key: team, operator: In, values: [web]}\n"),),
        NOT,
    ),
    "a template label that a requirement forbids": (
        ((REQ, REQ + "        - {key: team, operator: NotIn, values: [web]}\n"),),
        ALL,
    ),
    "an alias at another version": ((("v20250403", "v20250501"),), ("all", "AMIDrift")),
    "an alias at latest": ((("v20250403", "latest"),), ("unknown", "AMIDrift")),
    "images by tag": (
        (("[{alias: al2023@v20250403}]", "[{tags: {a: b}}]\n  amiFamily: AL2023"),),
        ("unknown", "AMIDrift"),
    ),
    "another family": ((("al2023@v20250403", "bottlerocket@1.30.0"),), (*CLASS_ALL, "AMIDrift")),
    "the family that the alias implies": ((("  role: nodes\n", "  role: nodes\n  amiFamily: AL2023\n"),), NOT),
    "a subnet more": ((("{id: subnet-1b}", "{id: subnet-1b}, {id: subnet-1c}"),), NOT),
    "a subnet less": ((("[{id: subnet-1a}, ", "["),), ("some", "SubnetDrift")),
    "other subnets": (
        (("[{id: subnet-1a}, {id: subnet-1b}]", "[{id: subnet-1c}]"),),
        ("all", "SubnetDrift"),
    ),
    "subnets by tag": (
        (("[{id: subnet-1a}, {id: subnet-1b}]", "[{tags: {a: b}}]"),),
        ("unknown", "SubnetDrift"),
    ),
    "a security group more": ((("{id: sg-2}", "{id: sg-2}, {id: sg-3}"),), ("all", "SecurityGroupDrift")),
    "a security group less": ((("{id: sg-1}, ", ""),), ("all", "SecurityGroupDrift")),
    "tags: {}": ((("  tags: {team: web, cost: web}\n", "  tags: {}\n"),), CLASS_ALL),
    "detailedMonitoring: false": ((("  role:", "  detailedMonitoring: false\n  role:"),), CLASS_ALL),
    "metadataOptions as they are by default": ((("  role:", "  metadataOptions: {}\n  role:"),), NOT),
    "a change of both": ((("key: fast", "key: slow"), ("cost: web", "cost: app")), (*POOL_ALL, "NodeClassDrift")),
    "narrowed, and a tag": (
        (("[c, m]", "[c]"), ("cost: web", "cost: app")),
        ("all", "RequirementsDrifted", "NodeClassDrift"),
    ),
}


@pytest.mark.parametrize("name", SAME_IN_ALL)
def test_what_a_change_replaces(name: str) -> None:
    edits, expected = SAME_IN_ALL[name]
    found = {}
    for release in RELEASES:
        (change,) = planned(BOTH, edited(BOTH, *edits), release)
        found[release] = verdict_and_reasons(change)
    assert found == dict.fromkeys(RELEASES, expected)


RESERVED = (("  role: nodes\n", "  role: nodes\n  capacityReservationSelectorTerms: [{id: cr-0123456789abcdef0}]\n"),)
ON_RESERVATION = "        - {key: karpenter.k8s.aws/capacity-reservation-id, operator: OPERATOR, values: [cr-1]}\n"


@pytest.mark.parametrize(
    ("types", "operator", "expected"),
    [
        ("[spot, on-demand]", "In", "unknown"),  # they lack the label
        ("[spot, on-demand]", "NotIn", "none"),
        ("[reserved, on-demand]", "NotIn", "unknown"),
    ],
)
def test_a_requirement_on_a_reservation_is_met_by_nodes_outside_if_they_may_lack_it(
    types: str, operator: str, expected: str
) -> None:
    old = edited(BOTH, *RESERVED, ("[spot, on-demand]", types))
    (change,) = planned(old, edited(old, (REQ, REQ + ON_RESERVATION.replace("OPERATOR", operator))))
    assert change.verdict.replaced == expected


@pytest.mark.parametrize(("bound", "expected"), [("5", NOT), ("6", SOME)])
def test_an_open_range_is_met_up_to_its_own_bound(bound: str, expected: tuple[str, ...]) -> None:
    """A label of one's own with any number above 5: also above 5, but not 3, is the same."""
    line = "        - {key: example.com/level, operator: Gt, values: ['5']}\n"
    old = edited(BOTH, (REQ, REQ + line))
    excluded = "        - {key: example.com/level, operator: NotIn, values: ['3']}\n"
    (change,) = planned(old, edited(old, (line, line.replace("5", bound) + excluded)))
    assert verdict_and_reasons(change) == expected


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ("[{id: ami-2}, {id: ami-1}]", NOT),
        ("[{id: ami-1}]", ("unknown", "AMIDrift")),
        ("[{id: ami-2}, {id: ami-3}]", ("unknown", "AMIDrift")),
        ("[{id: ami-3}, {id: ami-4}]", ("all", "AMIDrift")),
        ("[{id: ami-3}, {name: golden}]", ("unknown", "AMIDrift")),
    ],
)
def test_other_image_ids_replace_all_nodes_and_fewer_or_more_may(terms: str, expected: tuple[str, ...]) -> None:
    old = edited(BOTH, ("[{alias: al2023@v20250403}]", "[{id: ami-1}, {id: ami-2}]\n  amiFamily: AL2023"))
    (change,) = planned(old, edited(old, ("[{id: ami-1}, {id: ami-2}]", terms)))
    assert verdict_and_reasons(change) == expected


@pytest.mark.parametrize(
    ("edits", "by_release"),
    [
        pytest.param(
            [("  role:", "  kubelet: {}\n  role:")],
            {"1.0.8": NOT, "1.1.0": CLASS_ALL, "1.14.1": CLASS_ALL},
            id="kubelet: {}",
        ),
        pytest.param(
            [("  role:", "  kubelet: {maxPods: 20}\n  role:")],
            {"1.0.8": CLASS_ALL, "1.1.0": CLASS_ALL, "1.14.1": CLASS_ALL},
            id="kubelet",
        ),
        pytest.param(
            [("  role:", "  kubelet: {maxPods: 20}\n  role:"), ("v20250403", "v20250501")],
            {"1.0.8": ("all", "AMIDrift", "NodeClassDrift"), "1.1.0": (*CLASS_ALL, "AMIDrift")},
            id="kubelet and alias",
        ),
        pytest.param(
            [("role: nodes", "role: other")],
            {"1.0.8": NOT, "1.6.8": NOT, "1.7.0": CLASS_ALL, "1.14.1": CLASS_ALL},
            id="role",
        ),
        pytest.param(
            [("role: nodes", "instanceProfile: nodes")],
            {"1.6.8": NOT, "1.7.0": CLASS_ALL},
            id="role to profile",
        ),
        pytest.param(
            [("group: karpenter.k8s.aws, kind: EC2NodeClass", "group: eks.amazonaws.com, kind: NodeClass")],
            {"1.0.8": POOL_ALL, "1.1.0": NOT, "1.14.1": NOT},
            id="group and kind",
        ),
        pytest.param(
            [("  limits: {cpu: 100}\n  weight: 10\n", "  replicas: 3\n")],
            {"1.7.0": NOT, "1.8.0": NOT},
            id="replicas",
        ),
        pytest.param(
            [("  role:", "  ipPrefixCount: 1\n  role:")],
            {"1.6.0": NOT, "1.14.1": NOT},
            id="ipPrefixCount",
        ),
        pytest.param(
            [("  role:", "  networkInterfaces: []\n  role:")],
            {"1.10.0": NOT, "1.11.0": CLASS_ALL},
            id="networkInterfaces",
        ),
        pytest.param(
            [(REQ, REQ + FLEX)],
            {"1.7.0": SOME, "1.14.1": SOME},
            id="a label of 1.7.0",
        ),
    ],
)  # fmt: skip
def test_what_a_change_replaces_depends_on_the_release(
    edits: list[tuple[str, str]], by_release: dict[str, tuple[str, ...]]
) -> None:
    found = {release: verdict_and_reasons(planned(BOTH, edited(BOTH, *edits), release)[0]) for release in by_release}
    assert found == by_release


@pytest.mark.parametrize(
    ("edit", "release", "field"),
    [
        (("role: nodes", "role: other"), "1.6.0", "spec.role"),
        (("role: nodes", "instanceProfile: nodes"), "1.6.0", "spec.role"),
        (("kind: EC2NodeClass, name", "kind: NodeClass, name"), "1.1.0", "spec.template.spec.nodeClassRef.kind"),
        (("  limits: {cpu: 100}\n  weight: 10\n", "  replicas: 3\n"), "1.8.0", "spec.replicas"),
        (("operator: In, values: [c, m]", "operator: in, values: [c, m]"), "1.14.1", "operator"),
        (("{team: web}", "{team: web, kubernetes.io/team: web}"), "1.6.3", 'labels["kubernetes.io/team"]'),
        (("group: karpenter.k8s.aws", "apiVersion: karpenter.k8s.aws/v1"), "1.1.0", "nodeClassRef.group"),
        (("group: karpenter.k8s.aws", "grup: karpenter.k8s.aws"), "1.14.1", "nodeClassRef.group"),
    ],
)
def test_what_the_api_server_refuses_changes_nothing(edit: tuple[str, str], release: str, field: str) -> None:
    (change,) = planned(BOTH, edited(BOTH, edit), release)
    assert verdict_and_reasons(change) == NOT
    assert [refusal.field.endswith(field) for refusal in change.refused] == [True]


def test_a_refused_pool_keeps_its_requirements_and_gets_the_class_that_is_not_refused() -> None:
    new = edited(
        BOTH, ("kind: EC2NodeClass, name", "kind: NodeClass, name"), ("[c, m]", "[r]"), ("cost: web", "cost: b")
    )
    (change,) = planned(BOTH, new)
    assert verdict_and_reasons(change) == CLASS_ALL
    assert change.launch.lost == ()


def test_a_renamed_pool_takes_its_nodes_with_it() -> None:
    gone, new = planned(BOTH, edited(BOTH, ("  name: web\n", "  name: site\n")))
    assert (gone.change, gone.pool.name, verdict_and_reasons(gone)) == ("removed", "web", ("all",))
    assert (new.change, new.pool.name, verdict_and_reasons(new)) == ("added", "site", NOT)


def test_pools_come_and_go() -> None:
    other = POOL.replace("name: web\n", "name: other\n").replace("[c, m]", "[r]") + "---\n"
    gone, new = planned(BOTH, other + CLASS)
    assert (new.change, new.pool.name, verdict_and_reasons(new)) == ("added", "other", NOT)
    assert (gone.change, gone.pool.name, verdict_and_reasons(gone)) == ("removed", "web", ("all",))
    assert (new.launch.before, gone.launch.after) == (0, 0)


def test_a_class_that_is_gone_replaces_nothing() -> None:
    (change,) = planned(BOTH, POOL)
    assert (change.change, verdict_and_reasons(change)) == ("unchanged", NOT)


def test_a_class_under_another_name_is_another_class() -> None:
    new = edited(
        BOTH,
        ("kind: EC2NodeClass, name: default", "kind: EC2NodeClass, name: next"),
        ("  name: default\n", "  name: next\n"),
    )
    (change,) = planned(BOTH, new)
    assert verdict_and_reasons(change) == POOL_ALL


def test_a_pool_without_possible_nodes_has_none_to_replace() -> None:
    none = edited(BOTH, ("[c, m]", "[nothing]"))
    (change,) = planned(none, edited(BOTH, ("key: fast", "key: slow")))
    assert verdict_and_reasons(change) == ("none", "NodePoolDrifted")
    assert {reason.covered for reason in change.verdict.reasons} == {"none"}


def test_a_placeholder_is_not_judged() -> None:
    (change,) = planned(BOTH, edited(BOTH, ("key: fast", "key: ${KEY}")))
    assert change.verdict.replaced == "unknown"
    assert "spec.template.spec.taints[1].key" in str(change.verdict.unknown)


def test_a_spec_that_is_a_placeholder_is_not_judged() -> None:
    hidden = POOL[: POOL.index("spec:\n")] + "spec: ${SPEC}\n---\n" + CLASS
    (change,) = planned(BOTH, hidden)
    assert change.verdict.replaced == "unknown"


def test_a_placeholder_that_stays_is_no_difference() -> None:
    before = edited(
        BOTH, ("key: fast", "key: ${KEY}"), ("cost: web", "cost: '{{ cost }}'"), ("[c, m]", "[c, '${X}']")
    )
    (change,) = planned(before, edited(before, ("weight: 10", "weight: 20"), ("role: nodes", "role: nodes # same")))
    assert verdict_and_reasons(change) == NOT
    (change,) = planned(before, edited(before, ("{team: web}\n    spec", "{team: app}\n    spec")))
    assert verdict_and_reasons(change) == POOL_ALL


@pytest.mark.parametrize(
    ("edit", "line", "field"),
    [
        (("key: fast", "key: slow"), 13, "spec.template.spec.taints[1].key"),
        (("{team: web}\n    spec", "{team: web, b: c}\n    spec"), 8, "spec.template.metadata.labels.b"),
        (("[c, m]", "[c]"), 15, "spec.template.spec.requirements[0].values"),
        (("        - {key: fast, effect: PreferNoSchedule}\n", ""), 11, "spec.template.spec.taints[1]"),
        (("  tags: {team: web, cost: web}\n", ""), 29, "spec.tags"),
        (("v20250403", "v20250501"), 31, "spec.amiSelectorTerms[0]"),
    ],
)
def test_the_line_to_blame_is_named(edit: tuple[str, str], line: int, field: str) -> None:
    (change,) = planned(BOTH, edited(BOTH, edit))
    (reason,) = change.verdict.reasons
    assert (reason.at.source.position(reason.at.start).line, reason.field) == (line, field)


ACCOUNT = """\
region: eu-west-1
images:
  - {id: ami-1, name: golden-1, arch: amd64, created: 2026-10-01, tags: {pipeline: golden, step: one}}
  - {id: ami-2, name: golden-2, arch: amd64, created: 2026-11-01, tags: {pipeline: golden, step: two}}
  - {id: ami-3, name: golden-3, arch: arm64, created: 2026-10-01, tags: {pipeline: golden, step: one}}
subnets:
  - {id: subnet-1a, zone: eu-west-1a, tags: {net: main, a: "1"}}
  - {id: subnet-1b, zone: eu-west-1b, tags: {net: main}}
securityGroups:
  - {id: sg-1, name: nodes, tags: {net: main, a: "1"}}
  - {id: sg-2, name: more, tags: {net: main}}
zones: {eu-west-1a: euw1-az1, eu-west-1b: euw1-az2}
"""
FOUND = edited(
    BOTH,
    ("[{alias: al2023@v20250403}]", "[{tags: {step: one}}]\n  amiFamily: AL2023"),
    ("[{id: subnet-1a}, {id: subnet-1b}]", "[{tags: {net: main}}]"),
    ("[{id: sg-1}, {id: sg-2}]", "[{tags: {net: main}}]"),
)


@pytest.mark.parametrize(
    ("edit", "expected", "without"),
    [
        (("{step: one}", "{pipeline: golden}"), ("some", "AMIDrift"), ("unknown", "AMIDrift")),
        (("[{tags: {step: one}}]", "[{name: golden-1}, {name: golden-3}]"), NOT, ("unknown", "AMIDrift")),
        (
            ("subnetSelectorTerms: [{tags: {net: main}}]", 'subnetSelectorTerms: [{tags: {a: "1"}}]'),
            ("some", "SubnetDrift"),
            ("unknown", "SubnetDrift"),
        ),
        (
            ("subnetSelectorTerms: [{tags: {net: main}}]", "subnetSelectorTerms: [{id: subnet-1b}, {id: subnet-1a}]"),
            NOT,
            ("unknown", "SubnetDrift"),
        ),
        (
            ("securityGroupSelectorTerms: [{tags: {net: main}}]", 'securityGroupSelectorTerms: [{tags: {a: "1"}}]'),
            ("all", "SecurityGroupDrift"),
            ("unknown", "SecurityGroupDrift"),
        ),
        (
            ("GroupSelectorTerms: [{tags: {net: main}}]", "GroupSelectorTerms: [{name: more}, {id: sg-1}]"),
            NOT,
            ("unknown", "SecurityGroupDrift"),
        ),
    ],
)  # fmt: skip
def test_facts_decide_what_the_files_leave_open(
    edit: tuple[str, str], expected: tuple[str, ...], without: tuple[str, ...]
) -> None:
    new = edited(FOUND, edit)
    assert verdict_and_reasons(planned(FOUND, new)[0]) == without
    sources = [Source.from_text("a.yaml", text) for text in (FOUND, new)]
    classes = [o for source in sources for o in objects(source) if isinstance(o, EC2NodeClass)]
    release = Version(1, 14, 1)
    facts = FakeAccount(ACCOUNT).facts(classes, release)
    aim = PlanOptions(release, None, Schemas.bundled(), facts, facts)
    (pool,) = make(Side(Inventory(sources[:1])), Side(Inventory(sources[1:])), aim).pools
    assert verdict_and_reasons(pool) == expected
