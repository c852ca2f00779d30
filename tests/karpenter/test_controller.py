"""What only the controller says: kind, place and release of each problem."""

from __future__ import annotations

import re
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodelint.apiserver import Schemas
from nodelint.apiserver import check as schema_check
from nodelint.karpenter.controller import ControllerProblem, check, cron
from nodelint.karpenter.controller.syntax import label_value_fault, qualified_name_fault, seconds
from nodelint.model.documents import objects
from nodelint.model.messages import LONGEST_MESSAGE
from nodelint.model.releases import NEWEST, Version
from nodelint.text import Source

POOL = """
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: general
spec:
  template:
    metadata:
      labels: {{ {labels} }}
    spec:
      nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}
      taints: [{taints}]
      startupTaints: [{startup}]
      requirements:
      - {{{requirement}}}
      {template}
  {spec}
"""

CLASS = """
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: node
  amiFamily: {family}
  amiSelectorTerms:
  - {{{ami}}}
  subnetSelectorTerms:
  - {{{subnet}}}
  - {{id: subnet-1}}
  securityGroupSelectorTerms:
  - {{{group}}}
  - {{id: sg-1}}
  {spec}
"""


def pool(version: str = str(NEWEST), **parts: str) -> list[ControllerProblem]:
    defaults = {
        "labels": "team: a",
        "taints": "",
        "startup": "",
        "requirement": "key: kubernetes.io/arch, operator: Exists",
        "template": "terminationGracePeriod: 1h",
        "spec": "weight: 1",
    }
    return judge(POOL.format(**{**defaults, **parts}), version)


def scheduled(schedule: str) -> list[ControllerProblem]:
    budget = f'{{nodes: "0", schedule: "{schedule}", duration: 1h}}'
    return pool(spec=f"disruption: {{consolidateAfter: 0s, budgets: [{budget}]}}")


def node_class(version: str = str(NEWEST), **parts: str) -> list[ControllerProblem]:
    defaults = {
        "family": "Custom",
        "ami": "alias: al2023@latest",
        "subnet": "tags: {a: b}",
        "group": "tags: {a: b}",
        "spec": "detailedMonitoring: true",
    }
    return judge(CLASS.format(**{**defaults, **parts}), version)


def judge(text: str, version: str = str(NEWEST)) -> list[ControllerProblem]:
    source = Source.from_text("a.yaml", textwrap.dedent(text))
    assert not source.problems
    release = Version.parse(version)
    found = [p for obj in objects(source) for p in check(obj, release)]
    if found:  # what the API server would refuse is not the controller's to say
        assert [p.message for o in objects(source) for p in schema_check(o, release, Schemas.bundled())] == []
    for problem in found:
        assert len(problem.message) <= LONGEST_MESSAGE, problem.message
        assert problem.message[0].islower() or problem.message[0] == "`"
        assert not problem.message.endswith(".")
        assert problem.consequence
    return found


def brief(found: list[ControllerProblem]) -> list[tuple[str, str]]:
    return [(p.kind, p.node.text) for p in found]


def test_a_pool_and_a_class_that_work_have_no_problem() -> None:
    assert pool() == []
    assert node_class() == []


@pytest.mark.parametrize(
    ("part", "written", "expected"),
    [
        ("labels", "a/b/c: x", [("label-key", "a/b/c")]),
        ("labels", "Team/a: x", [("label-key", "Team/a")]),
        ("labels", "-a: x", [("label-key", "-a")]),
        ("labels", "a" * 64 + ": x", [("label-key", "a" * 64)]),
        ("labels", "a" * 63 + ": x", []),
        (
            "labels",
            "karpenter.k8s.aws/ec2nodeclass: x",
            [("restricted-label", "karpenter.k8s.aws/ec2nodeclass")],
        ),
        ("requirement", "key: a, operator: In, values: [ok, '*']", [("label-value", "'*'")]),
        ("requirement", "key: a, operator: NotIn, values: [a b]", [("label-value", "a b")]),
        ("requirement", "key: a, operator: In, values: ['']", []),
        ("requirement", f"key: a, operator: In, values: [{'a' * 64}]", [("label-value", "a" * 64)]),
        ("requirement", "key: a, operator: In, values: ['${X}']", []),
        ("requirement", f"key: {'a' * 64}, operator: Exists", [("label-key", "a" * 64)]),
        ("requirement", "key: a, operator: Exists, values: [b]", [("ignored-values", "[b]")]),
        ("requirement", "key: a, operator: DoesNotExist, values: [b]", [("ignored-values", "[b]")]),
        ("requirement", "key: a, operator: NotIn, values: []", [("ignored-values", "[]")]),
        (
            "requirement",
            "key: karpenter.k8s.aws/ec2nodeclass, operator: Exists",
            [("restricted-label", "karpenter.k8s.aws/ec2nodeclass")],
        ),
        ("taints", f"{{key: {'a' * 64}, effect: NoSchedule}}", [("taint-key", "a" * 64)]),
        ("taints", f"{{key: a, value: {'a' * 64}, effect: NoSchedule}}", [("taint-value", "a" * 64)]),
        ("taints", "{key: a, effect: NoSchedule}, {key: a, effect: NoExecute}", []),
        (
            "taints",
            "{key: a, value: b, effect: NoSchedule}, {key: a, value: c, effect: NoSchedule}",
            [("taint-twice", "{key: a, value: c, effect: NoSchedule}")],
        ),
        ("spec", "limits: {cpu: -1}", [("negative-limit", "-1")]),
        ("spec", "limits: {memory: '-5Gi'}", [("negative-limit", "'-5Gi'")]),
        ("spec", "limits: {cpu: 0, memory: '-0'}", []),
        ("template", "terminationGracePeriod: 9999999h", [("unreadable", "9999999h")]),
        ("template", "expireAfter: 9999999h", [("unreadable", "9999999h")]),
        ("template", "expireAfter: Never", []),
        ("template", "expireAfter: 1h30m", []),
        (
            "spec",
            "disruption: {consolidateAfter: 0s, budgets: [{nodes: '0', schedule: '@daily', duration: 0m}]}",
            [("budget-unused", "0m")],
        ),
        (
            "spec",
            "disruption: {consolidateAfter: 0s, budgets: [{nodes: '0', reasons: []}]}",
            [("budget-unused", "[]")],
        ),
    ],
)
def test_node_pool(part: str, written: str, expected: list[tuple[str, str]]) -> None:
    assert brief(pool(**{part: written})) == expected


@pytest.mark.parametrize("key", ["a/b/c", "a b", "example.com/", "a" * 64])
def test_annotations_end_up_on_node_claims(key: str) -> None:
    text = POOL.format(labels="", taints="", startup="", requirement="key: a, operator: Exists", template="", spec="")
    text = text.replace("labels: {  }", f"annotations: {{'{key}': x, Example.com/B: z}}")
    assert [(p.kind, p.node.text) for p in judge(text)] == [("annotation-key", f"'{key}'")]


def test_a_taint_counts_as_twice_across_taints_and_startup_taints() -> None:
    taint = "{key: a, effect: NoSchedule}"
    assert brief(pool(taints=taint, startup=taint)) == [("taint-twice", taint)]


@pytest.mark.parametrize(
    ("version", "expected"),
    [("1.0.0", []), ("1.0.14", []), ("1.1.0", ["restricted-label"]), ("1.14.1", ["restricted-label"])],
)
def test_the_class_label_is_left_to_the_api_server_before_1_1(version: str, expected: list[str]) -> None:
    found = pool(version, requirement="key: karpenter.k8s.aws/ec2nodeclass, operator: Exists")
    assert [p.kind for p in found] == expected


def test_old_label_names_are_restricted_in_template_labels_until_1_8() -> None:
    (problem,) = pool("1.8.8", labels="beta.kubernetes.io/arch: amd64")
    assert (problem.kind, problem.suggestion) == ("restricted-label", "kubernetes.io/arch")
    assert pool("1.9.0", labels="beta.kubernetes.io/arch: amd64") == []
    assert pool("1.8.8", requirement="key: beta.kubernetes.io/arch, operator: In, values: [amd64]") == []


@pytest.mark.parametrize(
    ("version", "key", "values", "kinds"),
    [
        ("1.4.4", "karpenter.sh/capacity-type", "[on_demand]", []),
        ("1.5.0", "karpenter.sh/capacity-type", "[on_demand]", ["known-values"]),
        ("1.5.0", "karpenter.sh/capacity-type", "[on_demand, spot]", []),
        ("1.5.0", "karpenter.sh/capacity-type", "[on_demand, '${TYPE}']", []),
        ("1.14.1", "karpenter.sh/capacity-type", "[reserved]", []),
        ("1.8.8", "karpenter.k8s.aws/instance-tenancy", "[shared]", []),
        ("1.9.0", "karpenter.k8s.aws/instance-tenancy", "[shared]", ["known-values"]),
        ("1.9.0", "karpenter.k8s.aws/instance-family", "[shared]", []),
    ],
)
def test_known_values_by_release(version: str, key: str, values: str, kinds: list[str]) -> None:
    found = pool(version, requirement=f"key: {key}, operator: In, values: {values}")
    assert [p.kind for p in found] == kinds


def test_known_values_name_the_slip_and_count_for_min_values() -> None:
    (problem,) = pool(requirement="key: karpenter.sh/capacity-type, operator: In, values: [on_demand]")
    assert (problem.node.text, problem.suggestion) == ("on_demand", "on-demand")
    (problem,) = pool(requirement="key: karpenter.sh/capacity-type, operator: In, values: [spot, sopt], minValues: 2")
    assert (problem.kind, problem.node.text) == ("known-values", "2")
    found = pool(requirement="key: karpenter.sh/capacity-type, operator: NotIn, values: [on_demand]")
    assert found == []


def test_durations_with_a_good_beginning_passed_admission_until_1_3() -> None:
    assert brief(pool("1.3.8", template="expireAfter: 1hr")) == [("unreadable", "1hr")]
    assert brief(pool("1.3.8", spec="disruption: {consolidateAfter: FooNever}")) == [("unreadable", "FooNever")]
    assert pool("1.4.0", template="expireAfter: 1hr") == []  # the API server's word
    assert pool("1.3.8", template="expireAfter: soon") == []  # the API server's word


@pytest.mark.parametrize(
    ("schedule", "suggestion"),
    [
        ("@dailyfoo", "@daily"),
        ("every day at nine o'clock", None),
        ("0 9 * * 7", "0 9 * * 0"),
        ("0 9 * * 1-7", "0 9 * * *"),
        ("0 9 * * MON-SUN", "0 9 * * *"),
        ("0 9 * * fri-sun", "0 9 * * fri-sat,sun"),
        ("0 9 * * 5-7", "0 9 * * 5-6,0"),
        ("0 24 * * *", None),
        ("60 0 * * *", None),
        ("0 0 0 * *", None),
        ("0 0 1 13 *", None),
        ("0 0 * * * *", None),
        ("TZ=America/New_York 0 9 * * mon", None),
        ("5-1 9 * * *", None),
        ("*/0 9 * * *", None),
        ("1/2/3 9 * * *", None),
        ("1-2-3 9 * * *", None),
        ("-1 9 * * *", None),
    ],
)
def test_schedules_that_pass_admission_and_do_not_parse(schedule: str, suggestion: str | None) -> None:
    (problem,) = scheduled(schedule)
    assert (problem.kind, problem.node.text) == ("schedule", f'"{schedule}"')
    assert problem.suggestion == suggestion
    if suggestion is not None:
        cron.parse(suggestion)


@pytest.mark.parametrize(
    "schedule",
    [
        "@daily",
        " @hourly ",
        "0 9 * * mon-fri",
        "*/15 9-17/2 1,15 JAN,feb ?",
        "0 0 29 2 *",
        "0 0 31 2 1",
        "0 0 31 2 */2",
        "+5 9 * * *",
    ],
)
def test_schedules_that_parse(schedule: str) -> None:
    found = scheduled(schedule)
    assert found == []


@pytest.mark.parametrize(
    "schedule", ["0 0 31 2 *", "0 0 31 2 */1", "0 0 30 feb ?", "0 0 31 4,6,9,11 *", ", 0 1 1 *", "0 0 , * *"]
)
def test_schedules_that_never_come_round_are_always_active(schedule: str) -> None:
    (problem,) = scheduled(schedule)
    assert problem.kind == "schedule"
    assert "never occurs" in problem.message


def test_a_schedule_that_admission_refuses_or_that_is_unknown_is_not_judged() -> None:
    for schedule in ("soon", "${SCHEDULE}"):
        assert scheduled(schedule) == []


@pytest.mark.parametrize(
    ("part", "written", "expected"),
    [
        ("subnet", "tags: {}", [("empty-term", "{}")]),
        ("group", "tags: {}", [("empty-term", "{}")]),
        ("group", "name: ''", [("empty-term", "''")]),
        ("ami", "tags: {}", [("empty-term", "{}")]),
        ("ami", "name: ''", [("empty-term", "''")]),
        ("ami", "name: '', tags: {a: b}", []),
        ("ami", "name: '${NAME}', tags: {}", []),
        ("subnet", "id: subnet-2, tags: {a: b}", [("ignored-field", "tags")]),
        ("group", "id: sg-2, tags: {a: b}", [("ignored-field", "tags")]),
        ("group", "name: a, tags: {a: b}", [("ignored-field", "tags")]),
        ("group", "id: sg-2, tags: null", []),
        ("ami", "id: ami-1, ssmParameter: /a", [("ignored-field", "ssmParameter")]),
        ("ami", "alias: al2023@latest, ssmParameter: /a", [("ignored-field", "ssmParameter")]),
        ("ami", "ssmParameter: /a, owner: self", [("ignored-field", "owner")]),
        ("ami", "ssmParameter: ''", [("empty-term", "''")]),
        ("ami", "id: 'image ami-1'", [("selector-id", "'image ami-1'")]),
        ("ami", "alias: al2023@v1@v2", [("alias", "al2023@v1@v2")]),
        ("subnet", "id: 'subnet-2,subnet-3'", [("selector-id", "'subnet-2,subnet-3'")]),
        ("group", "id: 'sg-2 '", [("selector-id", "'sg-2 '")]),
        (
            "spec",
            "capacityReservationSelectorTerms: [{id: cr-1, tags: {a: b}}, {id: cr-2}]",
            [("ignored-field", "tags")],
        ),
        ("spec", "capacityReservationSelectorTerms: [{tags: {}}]", [("empty-term", "{}")]),
        ("spec", "capacityReservationSelectorTerms: [{tags: {}, instanceMatchCriteria: open}]", []),
        ("spec", "blockDeviceMappings: [{deviceName: a, ebs: {volumeSize: Ti}}]", [("volume-size", "Ti")]),
        ("spec", "blockDeviceMappings: [{deviceName: a, ebs: {volumeSize: 1Ti}}]", []),
        (
            "spec",
            "blockDeviceMappings: [{deviceName: a}, {deviceName: b}, {deviceName: a}]",
            [("mapping", "a"), ("mapping", "b"), ("device-twice", "a"), ("mapping", "a")],
        ),
        ("spec", "blockDeviceMappings: [{deviceName: a, ebs: null}]", [("mapping", "null")]),
        (
            "spec",
            "blockDeviceMappings: [{deviceName: a, ebs: {volumeSize: 9Gi, volumeType: gp2, iops: 100}}]",
            [("volume-type", "iops")],
        ),
        (
            "spec",
            "blockDeviceMappings: [{deviceName: a, ebs: {volumeSize: 9Gi, volumeType: io2, iops: 9, throughput: 9}}]",
            [("volume-type", "throughput"), ("volume-range", "9")],
        ),
        (
            "spec",
            "blockDeviceMappings: [{deviceName: a, ebs: {volumeSize: 9Gi, volumeType: io1}}]",
            [("volume-type", "io1")],
        ),
        (
            "spec",
            "blockDeviceMappings: [{deviceName: a, ebs: {volumeType: gp3, iops: 3000, throughput: 125}}]",
            [],
        ),
        (
            "spec",
            "blockDeviceMappings: [{deviceName: a, ebs: {volumeSize: 100Gi, volumeType: gp3, iops: 100}}]",
            [("volume-range", "100")],
        ),
        (
            "spec",
            "blockDeviceMappings: [{deviceName: a, ebs: {volumeSize: 100Gi, volumeType: gp3, throughput: 124}}]",
            [("volume-range", "124")],
        ),
        (
            "spec",
            "blockDeviceMappings: [{deviceName: a, ebs: {volumeSize: 100Gi, volumeType: gp3, throughput: 750}}]",
            [],
        ),
        (
            "spec",
            "blockDeviceMappings: [{deviceName: a, ebs: {volumeSize: 100Gi, volumeType: gp3, throughput: 751}}]",
            [("volume-range", "751")],
        ),
        (
            "spec",
            "blockDeviceMappings: [{deviceName: a, ebs: {volumeType: gp3, iops: 4000, throughput: 1000}}]",
            [],
        ),
        ("spec", "blockDeviceMappings: [{deviceName: a, ebs: {volumeSize: 8Gi, volumeType: gp3, iops: 4000}}]", []),
        (
            "spec",
            "blockDeviceMappings: [{deviceName: a, ebs: {volumeSize: 8Gi, volumeType: gp3, iops: 4001}}]",
            [("volume-range", "4001")],
        ),
        # Of every gp3 volume 3,000 IOPS may be asked, however small it is.
        ("spec", "blockDeviceMappings: [{deviceName: a, ebs: {volumeSize: 4Gi, volumeType: gp3, iops: 3000}}]", []),
        (
            "spec",
            "blockDeviceMappings: [{deviceName: a, ebs: {volumeSize: 9Gi, volumeType: gp3, iops: 100,"
            " throughput: 1000}}]",
            [("volume-range", "100")],
        ),
        (
            "spec",
            "blockDeviceMappings: [{deviceName: a, ebs: {volumeType: gp3, iops: '${IOPS}', throughput: 1000}}]",
            [],
        ),
        ("spec", "blockDeviceMappings: [{deviceName: a, ebs: {volumeSize: 8Gi, volumeType: io1, iops: 400}}]", []),
        (
            "spec",
            "blockDeviceMappings: [{deviceName: a, ebs: {volumeSize: 8Gi, volumeType: io1, iops: 401}}]",
            [("volume-range", "401")],
        ),
        ("spec", "kubelet: {evictionHard: {memory.available: ''}}", [("kubelet", "''")]),
        (
            "spec",
            "kubelet: {evictionSoft: {memory.available: 5%}, evictionSoftGracePeriod: {memory.available: '90'}}",
            [("kubelet", "'90'")],
        ),
        ("spec", "tags: {'aws:x': z}", [("tag", "'aws:x'")]),
        ("spec", "tags: {x: z}", []),
    ],
)
def test_node_class(part: str, written: str, expected: list[tuple[str, str]]) -> None:
    assert brief(node_class(**{part: written})) == expected


@pytest.mark.parametrize(
    "role, release, expected",
    [
        ("r" * 64, "1.14.1", None),
        ("r" * 65, "1.14.1", None),
        ("arn:aws:iam::111122223333:role/nodes/main", "1.1.10", "main"),
        ("nodes/main", "1.1.10", "main"),
        ("arn:aws:iam::111122223333:role/nodes/main", "1.2.0", None),
    ],
)
def test_a_role_is_named_within_the_limits_of_iam(role: str, release: str, expected: str | None) -> None:
    defaults = {"family": "Custom", "ami": "alias: al2023@latest", "subnet": "tags: {a: b}", "group": "tags: {a: b}"}
    text = CLASS.format(**defaults, spec="detailedMonitoring: true")
    found = judge(text.replace("role: node", f"role: {role}"), release)
    assert [(p.kind, p.suggestion) for p in found] == (
        [("role", expected)] if len(role) == 65 or expected is not None else []
    )


def test_an_instance_profile_is_named_and_no_arn() -> None:
    text = CLASS.format(family="Custom", ami="alias: al2@latest", subnet="id: subnet-2", group="id: sg-2", spec="")
    (problem,) = judge(text.replace("role: node", "instanceProfile: 'arn:aws:iam::1:instance-profile/x'"))
    assert (problem.kind, problem.suggestion) == ("instance-profile", "x")


def test_terms_that_all_break_the_rule_are_the_api_servers() -> None:
    text = CLASS.format(
        family="Custom", ami="alias: al2023@latest", subnet="id: subnet-2, tags: {a: b}", group="id: sg-2", spec=""
    )
    assert [p.kind for p in judge(text)] == ["ignored-field"]
    assert judge(text.replace("{id: subnet-1}", "{id: subnet-1, tags: {a: b}}")) == []


def test_an_ssm_parameter_is_not_judged_before_it_was_there() -> None:
    assert node_class("1.3.8", ami="id: ami-1, ssmParameter: /a") == []


def test_user_data() -> None:
    (problem,) = node_class(spec="userData: |\n" + "    abc\n" * 4097)
    assert (problem.kind, problem.node.kind) == ("user-data", "scalar")
    assert "16388 bytes" in problem.message
    assert node_class(spec="userData: |\n" + "    abc\n" * 4096) == []
    (near,) = node_class(family="AL2023", ami="alias: al2023@latest", spec="userData: |\n" + "    abc\n" * 4000)
    assert (near.severity, near.kind) == ("warning", "user-data")
    script = "userData: |\n" + "    abc\n" * 4097
    assert node_class(family="Bottlerocket", ami="alias: bottlerocket@latest", spec=script) == []
    without_family = {"family": "null", "spec": script}
    assert [p.kind for p in node_class(ami="alias: al2023@latest", **without_family)] == ["user-data"]
    assert node_class(ami="alias: bottlerocket@latest", **without_family) == []


def test_group_terms_are_the_api_servers_where_each_holds_more_than_its_id() -> None:
    both = "id: sg-2, tags: {a: b}"
    text = CLASS.format(
        family="Custom", ami="alias: al2023@latest", subnet="id: subnet-2", group=both, spec="tags: {a: b}"
    )
    assert [p.kind for p in judge(text)] == ["ignored-field"]
    assert judge(text.replace("{id: sg-1}", "{id: sg-1, name: a}")) == []


def test_names_longer_than_a_label() -> None:
    long = "a" * 64
    text = POOL.format(labels="", taints="", startup="", requirement="key: a, operator: Exists", template="", spec="")
    assert brief(judge(text.replace("name: general", f"name: {long}"))) == [("name-length", long)]
    text = CLASS.format(family="Custom", ami="alias: al2023@latest", subnet="id: subnet-2", group="id: sg-2", spec="")
    text = text.replace("name: default", f"name: {long}")
    assert brief(judge(text)) == [("name-length", long)]
    assert judge(text, "1.0.14") == []


def test_an_api_version_that_is_not_served_is_not_judged() -> None:
    text = POOL.format(
        labels="a/b/c: x", taints="", startup="", requirement="key: a, operator: Exists", template="", spec=""
    )
    old = text.replace("karpenter.sh/v1", "karpenter.sh/v1beta1").replace("group: karpenter.k8s.aws, ", "")
    assert [p.kind for p in judge(old, "1.0.0")] == ["label-key"]
    assert judge(old, "1.1.0") == []


@pytest.mark.parametrize("value", ["{a: b}", "[a, b]", "5", "true", "null", "'${X}'", "[[{}]]", "[{a: null}]"])
def test_wrong_types_anywhere_raise_nothing(value: str) -> None:
    for part in ("taints", "startup", "requirement", "template", "spec", "ami", "subnet", "group"):
        if part in ("template", "spec"):
            names = [
                "limits",
                "disruption",
                "budgets",
                "kubelet",
                "tags",
                "blockDeviceMappings",
                "userData",
                "weight",
            ]
            for name in names:
                pool(**{part: f"{name}: {value}"})
                if part == "spec":
                    node_class(spec=f"{name}: {value}")
        elif part in ("ami", "subnet", "group"):
            for name in ("id", "name", "tags", "alias", "ssmParameter", "owner"):
                node_class(**{part: f"{name}: {value}"})
        elif part == "requirement":
            for name in ("key", "operator", "values", "minValues"):
                pool(requirement=f"{name}: {value}")
        else:
            pool(**{part: value})
    for name in ("budgets", "consolidateAfter"):
        pool(spec=f"disruption: {{{name}: {value}}}")
    for name in ("nodes", "schedule", "duration", "reasons"):
        pool(spec=f"disruption: {{consolidateAfter: 0s, budgets: [{{{name}: {value}}}]}}")


NAME = r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)"
PREFIX = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"


@given(st.text(alphabet="aZ0-_./é \n", max_size=12) | st.text(alphabet="a-", min_size=60, max_size=66))
def test_names_are_those_of_kubernetes_own_patterns(text: str) -> None:
    value = len(text) <= 63 and re.fullmatch(NAME + "?", text) is not None
    assert (label_value_fault(text) is None) == value
    prefix, slash, name = text.rpartition("/")
    right = re.fullmatch(NAME, name) is not None and len(name) <= 63
    if slash:
        right = right and re.fullmatch(PREFIX, prefix) is not None and len(prefix) <= 253
    assert (qualified_name_fault(text) is None) == right


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1h30m", 5400),
        ("1.5h", 5400),
        (".5s", 0.5),
        ("0", 0),
        ("-1s", -1),
        ("100ms", 0.1),
        ("2562047h", 2562047 * 3600),
    ],
)
def test_durations_as_go_reads_them(text: str, expected: float) -> None:
    assert seconds(text) == pytest.approx(expected)


@pytest.mark.parametrize("text", ["", "1", "1d", "1 h", "h", "1hr", "1h30", "2562048h", "1H", "٣h"])
def test_texts_that_are_no_duration_to_go(text: str) -> None:
    assert seconds(text) is None


def test_a_part_of_a_class_may_have_its_iops_elsewhere() -> None:
    volumes = "blockDeviceMappings: [{deviceName: a, ebs: {volumeType: io1}}]"
    whole = CLASS.format(
        family="Custom", ami="alias: al2023@latest", subnet="tags: {a: b}", group="tags: {a: b}", spec=volumes
    )
    (obj,) = objects(Source.from_text("class.yaml", whole))
    assert brief(check(obj, NEWEST)) == [("volume-type", "io1")]
    obj.partial = True
    assert check(obj, NEWEST) == []
