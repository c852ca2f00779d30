"""Findings that told people in real repositories something false or misleading, each mended."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from nodelint.files.discover import discover
from nodelint.forms.kustomize import kustomizations
from nodelint.lint import engine
from nodelint.lint.engine import LintRequest, Report, Target, lint
from nodelint.model.releases import NEWEST
from nodelint.rule.definition import Rule
from nodelint.text import UNKNOWN, Source
from tests.manifests import nodeclass, nodepool

POOL = "\n" + nodepool("key: karpenter.sh/capacity-type, operator: In, values: [on-demand]")
CLASS = "\n" + nodeclass()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    return tmp_path


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")


def judged(rules: dict[str, Rule], *paths: str) -> Report:
    kustomizations.forget()
    return lint(discover(paths or ["."]).sources, LintRequest(Target(NEWEST), rules, engine.DEFAULTS))


def finding_texts(report: Report) -> list[str]:
    assert not report.faults
    return [f"{result.span.source.path} {result.rule.name}: {result.finding.message}" for result in report.results]


# -- a base that an overlay completes

BASE = {
    "base/kustomization.yaml": "resources:\n  - pool.yaml\n  - class.yaml\n",
    "base/pool.yaml": POOL.replace(
        "      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}\n", ""
    ),
    "base/class.yaml": CLASS.replace("  role: KarpenterNodeRole-main\n", ""),
}
COMPLETED = {
    "prod/kustomization.yaml": """
        resources: [../common]
        patches:
          - path: pool.yaml
          - target: {group: karpenter.k8s.aws, kind: EC2NodeClass}
            patch: |-
              - op: add
                path: /spec/role
                value: KarpenterNodeRole-prod
        """,
    "prod/pool.yaml": """
        apiVersion: karpenter.sh/v1
        kind: NodePool
        metadata: {name: default}
        spec:
          template:
            spec:
              nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
        """,
    "common/kustomization.yaml": "resources:\n- ../base # the same for all\n",
}


def test_what_an_overlay_patches_into_a_base_is_not_missing_there(here: Path, rules: dict[str, Rule]) -> None:
    missing = [
        "base/class.yaml refused-combination: one of `role` and `instanceProfile` must be given",
        "base/pool.yaml invalid-field: required field `nodeClassRef` is missing in spec.template.spec",
    ]
    write(here, BASE)
    assert finding_texts(judged(rules)) == missing
    write(here, COMPLETED)
    assert finding_texts(judged(rules)) == []
    # An overlay of another base completes nothing here.
    write(here, {"common/kustomization.yaml": "resources: [../other]\n"})
    assert finding_texts(judged(rules)) == missing


def test_a_patch_that_adds_nothing_completes_nothing(here: Path, rules: dict[str, Rule]) -> None:
    limits = """
        apiVersion: karpenter.sh/v1
        kind: NodePool
        metadata: {name: default}
        spec: {template: {spec: {requirements: []}}}
        """
    write(here, {**BASE, **COMPLETED, "prod/pool.yaml": limits})
    assert [text.partition(":")[0] for text in finding_texts(judged(rules))] == ["base/pool.yaml invalid-field"]


def test_what_no_overlay_brings_is_one_finding_at_the_base(here: Path, rules: dict[str, Rule]) -> None:
    overlays = {}
    for name in ("a", "b", "c"):
        overlays[f"{name}/kustomization.yaml"] = "resources: [../base]\npatches: [{path: limits.yaml}]\n"
        overlays[f"{name}/limits.yaml"] = """
            apiVersion: karpenter.sh/v1
            kind: NodePool
            metadata: {name: default}
            spec: {limits: {cpu: 100}, template: {spec: {taints: [{key: a, effect: NoSchedule}]}}}
            """
    write(here, {**BASE, **overlays, "base/class.yaml": CLASS})
    missing = "base/pool.yaml invalid-field: required field `nodeClassRef` is missing in spec.template.spec"
    assert finding_texts(judged(rules)) == [missing]
    # One overlay that brings it says that it is meant to come from there.
    brought = COMPLETED["prod/pool.yaml"]
    write(here, {"c/limits.yaml": brought})
    assert finding_texts(judged(rules)) == []


# -- values that somebody replaces


@pytest.mark.parametrize(
    "value",
    [
        *("__CPU_LIMIT__", "__cluster__", "ARM_AMI_ID_TO_REPLACE", "ami-PLACEHOLDER", "XXX", "subnet-XXXX", "<id>"),
        *("REPLACE_ME", "sg-REPLACE_ME", "CHANGEME", "YOUR_ROLE", "arn:aws:iam::XXXXXXXXXXXX:role/x", "PLACEHOLDER"),
        *("workflow-WORKFLOW_NAME", "KarpenterNodeRole-CLUSTER_NAME", "arn:aws:iam::1:role/node-NODE_ROLE"),
        *("karpenter-my-cluster-name-here", "CLUSTER-NAME-HERE", "role_name_here", "ami-id-here"),
    ],
)
def test_what_is_to_be_replaced_is_a_placeholder(value: str) -> None:
    source = Source.from_text("pool.yaml", f"kind: karpenter\na: {value}\nb: 'in {value}'\n")
    root = source.documents[0].root
    assert root is not None
    assert [entry.value.value for entry in root.entries[1:]] == [UNKNOWN, UNKNOWN]


@pytest.mark.parametrize(
    "value",
    [
        *("XXL", "m5.xlarge", "PLACEMENT", "EXCHANGE_RATE", "a__b", "xxx", "team-A_1", "us-EAST", "DATA_SCIENCE"),
        *("node-CLUSTER-a", "SPOT-ON_DEMAND", "no-one-here", "name-hereford", "prod-EU_WEST-pool", "a-AB_CDe"),
    ],
)
def test_other_texts_are_values(value: str) -> None:
    root = Source.from_text("pool.yaml", f"kind: karpenter\na: {value}\n").documents[0].root
    assert root is not None
    assert root.entries[1].value.value == value


def test_a_name_that_a_script_fills_in_is_no_finding_and_one_that_a_person_does_is(
    here: Path, rules: dict[str, Rule]
) -> None:
    filled = POOL.replace("name: default\nspec", "name: workflow-WORKFLOW_NAME\nspec")
    write(here, {"class.yaml": CLASS, "pool.yaml": filled})
    assert finding_texts(judged(rules)) == []
    by_hand = CLASS.replace("KarpenterNodeRole-main", "KarpenterNodeRole-my-cluster-name-here")
    write(here, {"class.yaml": by_hand})
    (message,) = finding_texts(judged(rules))
    assert message.startswith("class.yaml placeholder-left")


def test_placeholders_are_not_judged(here: Path, rules: dict[str, Rule]) -> None:
    text = CLASS.replace("{alias: al2023@v20250403}", "{id: ARM_AMI_ID_TO_REPLACE}, {id: ami-PLACEHOLDER}")
    text = text.replace("  role:", "  amiFamily: AL2023\n  role:").replace(
        "[{tags: {karpenter.sh/discovery: main}}]", "[{id: subnet-XXXX}]", 1
    )
    write(here, {"class.yaml": text, "pool.yaml": POOL + "  limits: {cpu: __CPU_LIMIT__}\n"})
    assert [text for text in finding_texts(judged(rules)) if "placeholder-left" not in text] == []


# -- instance types that no region of the catalogue offers


@pytest.mark.parametrize("operator", ["In", "NotIn"])
@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("node.kubernetes.io/instance-type", "p3.2xlarge, dl1.24xlarge"),
        ("karpenter.k8s.aws/instance-family", "p3"),
        ("node.kubernetes.io/instance-type", "p3.2xlarge, m5.large"),
    ],
)
def test_a_type_that_is_sold_elsewhere_is_no_mistake(
    here: Path, rules: dict[str, Rule], key: str, values: str, operator: str
) -> None:
    line = f"        - {{key: {key}, operator: {operator}, values: [{values}]}}\n"
    write(here, {"pool.yaml": POOL + line})
    report = judged(rules)
    assert {(r.rule.name, r.severity) for r in report.results} <= {("retired-type", "info")}
    if operator == "In" and "m5" not in values:
        assert any("sold elsewhere, or no more" in skip.reason for skip in report.skipped)


def test_a_type_that_nobody_knows_is_one(here: Path, rules: dict[str, Rule]) -> None:
    line = "        - {key: node.kubernetes.io/instance-type, operator: In, values: [p3.3xlarge]}\n"
    write(here, {"pool.yaml": POOL + line})
    assert len(finding_texts(judged(rules))) == 1


POOL_WITH = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: a}
spec:
  SPEC
  template:
    TEMPLATE
    spec:
      INNER
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]
"""
CLASS_WITH = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  amiSelectorTerms: [{alias: al2023@v20250403}]
  subnetSelectorTerms: [{tags: {a: b}}]
  securityGroupSelectorTerms: [{tags: {a: b}}]
"""


@pytest.mark.parametrize(
    ("text", "safety"),
    [
        (POOL_WITH.replace("SPEC", "wieght: 3"), "safe"),
        (POOL_WITH.replace("SPEC", "disruption: {consolidateAfter: 5m, expireAfter: 1h}"), "unsafe"),
        (POOL_WITH.replace("SPEC", "disruption: {expireAfter: 1h}"), "unsafe"),
        (POOL_WITH.replace("TEMPLATE", "metadata: {label: {a.example/b: c}}"), "unsafe"),
        (POOL_WITH.replace("INNER", "expiresAfter: 1h"), "unsafe"),
        (POOL_WITH.replace("INNER", "taints: [{key: a, effect: NoSchedule, operator: Exists}]"), "safe"),
        (CLASS_WITH + "  role: nodes\n  detailedMonitorin: true\n", "unsafe"),
        (CLASS_WITH + "  role: nodes\n  capacityReservationSelectorTerm: [{id: cr-0123456789abcdef0}]\n", "unsafe"),
        (
            CLASS_WITH
            + "  role: nodes\n  blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {volumeSize: 9Gi, kmsKeyId: x}}]",
            "unsafe",
        ),
        (CLASS_WITH + "  rolle: nodes\n", "safe"),
        (CLASS_WITH + "  detailedMonitorin: true\n", "safe"),
    ],
)
def test_a_field_that_the_api_server_dropped_is_safe_to_put_right_where_no_node_moves(
    check: Callable[..., Report], text: str, safety: str
) -> None:
    """What no cluster holds moves none: an object that lacks what is required was never taken."""
    for name in ("SPEC", "TEMPLATE", "INNER"):
        text = "\n".join(line for line in text.split("\n") if line.strip() != name)
    found = [r for r in check(text).results if r.rule.name == "unknown-field"]
    assert [(r.fixable, r.safety) for r in found] == [(True, safety)]


# -- what is said where a class is not among the files

SETTINGS = """
apiVersion: karpenter.sh/v1beta1
kind: NodePool
metadata:
  name: batch
spec:
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 1m, expireAfter: 720h}
  template:
    spec:
      kubelet: {maxPods: 40}
      nodeClassRef: {apiVersion: karpenter.k8s.aws/v1beta1, kind: EC2NodeClass, name: NAME}
      requirements:
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
"""


@pytest.mark.parametrize(
    ("name", "classes", "why"),
    [
        ("gone", ("a",), "and no file that was read defines `gone`"),
        ("default", ("a", "b"), "and 2 define `default`"),
        ("${CLASS}", ("a",), "whose name is a placeholder"),
    ],
)
def test_where_the_kubelet_settings_of_a_pool_belong(
    here: Path, rules: dict[str, Rule], name: str, classes: tuple[str, ...], why: str
) -> None:
    write(
        here,
        {
            "pools/pool.yaml": SETTINGS.replace("NAME", name),
            **{f"{node_class}/class.yaml": CLASS for node_class in classes},
        },
    )
    helps = [result.finding.help for result in judged(rules).results if result.rule.name == "removed-api"]
    assert helps == [f"no fix converts it: its kubelet settings belong in its EC2NodeClass, {why}"]


def test_a_class_that_no_file_defines(here: Path, rules: dict[str, Rule]) -> None:
    write(
        here,
        {"pool.yaml": POOL.replace("EC2NodeClass, name: default", "EC2NodeClass, name: gpu"), "class.yaml": CLASS},
    )
    (result,) = judged(rules).results
    assert result.finding.message == "the files of this run define no EC2NodeClass `gpu`"
    assert [way.name for way in result.finding.suggestions] == ["use `default`"]
    (way,) = result.finding.suggestions
    assert [edit.text for edit in way.edits] == ["default"]


@pytest.mark.parametrize("number", [3, 4])
def test_of_more_than_three_classes_none_is_offered(here: Path, rules: dict[str, Rule], number: int) -> None:
    classes = {f"{n}.yaml": CLASS.replace("name: default", f"name: class-{n}") for n in range(number)}
    write(here, {"pool.yaml": POOL.replace("EC2NodeClass, name: default", "EC2NodeClass, name: gpu"), **classes})
    (result,) = (found for found in judged(rules).results if found.rule.name == "unknown-node-class")
    assert len(result.finding.suggestions) == (number if number == 3 else 0)
    assert (result.finding.help is None) == (number == 3)


# -- requirements that a template writes under a condition

CONDITIONAL = """
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        IF
        - key: karpenter.k8s.aws/instance-family
          operator: In
          values: [c5, m5, c7g]
        END
        - key: kubernetes.io/arch
          operator: In
          values: [ARCH]
"""


@pytest.mark.parametrize(
    ("opening", "closing", "arch", "dead"),
    [
        ("", "", "arm64, amd64", []),
        ("", "", "amd64, amd64", ["c7g"]),
        # under a condition, the families are not always there; where they are, the architecture is too
        ("{{- if .Values.x }}", "{{- end }}", "amd64, amd64", ["c7g"]),
        ("#{{ if .Values.x }}", "#{{ else }}\n        - {key: a, operator: Exists}\n#{{ end }}", "amd64", ["c7g"]),
    ],
)
def test_a_value_is_dead_beside_what_is_always_written(
    here: Path, rules: dict[str, Rule], opening: str, closing: str, arch: str, dead: list[str]
) -> None:
    pool = CONDITIONAL.replace("IF", opening).replace("END", closing).replace("ARCH", arch)
    write(here, {"pool.yaml": pool, "class.yaml": CLASS})
    found = [result.finding for result in judged(rules).results if result.rule.name == "unmatchable-value"]
    assert [finding.message.split("`")[1] for finding in found] == dead


@pytest.mark.parametrize("condition", ["{{- if .Values.x }}", "{{- range .Values.x }}", "#{{ if .Values.x }}"])
def test_a_value_lives_where_a_conditional_requirement_is_not_written(
    here: Path, rules: dict[str, Rule], condition: str
) -> None:
    text = CONDITIONAL.replace("[c5, m5, c7g]", "[c5, m5]").replace("ARCH", "arm64, amd64")
    write(here, {"pool.yaml": text.replace("IF", "").replace("END", ""), "class.yaml": CLASS})
    assert [r.rule.name for r in judged(rules).results] == ["unmatchable-value"]
    write(here, {"pool.yaml": text.replace("IF", condition).replace("END", "{{- end }}")})
    assert [r.rule.name for r in judged(rules).results] == []


def test_a_key_that_is_there_twice_is_read_by_kubectl_and_refused_by_kustomize(
    here: Path, rules: dict[str, Rule]
) -> None:
    write(here, {"class.yaml": CLASS + "  role: other\n"})
    (result,) = judged(rules).results
    assert (result.rule.name, result.finding.message) == ("yaml-syntax", "the key `role` is set twice")
    assert result.finding.note == "kubectl silently drops the first; kustomize and Flux refuse the file"


# -- objects judged as the v1 objects that they become

CHURNING = """
apiVersion: karpenter.sh/v1beta1
kind: NodePool
metadata:
  name: batch
spec:
  disruption:
    consolidationPolicy: WhenUnderutilized
    expireAfter: 24h0m0s
  limits: {cpu: 100}
  template:
    spec:
      nodeClassRef: {apiVersion: karpenter.k8s.aws/v1beta1, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
"""


def test_what_a_conversion_writes_is_not_found_at_letters_that_it_left(check: Callable[..., Report]) -> None:
    """The `0s` of `consolidateAfter: 0s` are no part of `24h0m0s`."""
    found = check(CHURNING, select=["node-churn"]).results
    lost = "jobs of this pool (`batch`) are evicted while they run"
    assert [(CHURNING[r.span.start : r.span.end], r.finding.message) for r in found] == [
        ("WhenUnderutilized", f"Karpenter consolidates underutilized nodes after `0s`: {lost}"),
        ("24h0m0s", "every node expires within `24h0m0s`, whatever the budgets allow"),
    ]


@pytest.mark.parametrize("api", ["karpenter.k8s.aws/v1alpha5", "karpenter.sh/v1"])
def test_an_object_of_an_api_that_never_was_is_judged_as_v1(check: Callable[..., Report], api: str) -> None:
    text = nodeclass("kubelet: {maxPod: 40}").replace("karpenter.k8s.aws/v1", api)
    found = [(r.rule.name, r.finding.message.partition(":")[0]) for r in check(text, karpenter="1.14.3").results]
    belongs = f"`{api}` has no kind EC2NodeClass"
    assert found == [
        ("removed-api", belongs),
        ("unknown-field", "`maxPod` is not a known field (did you mean `maxPods`?)"),
    ]


TWICE = """\
apiVersion: karpenter.k8s.aws/v1alpha1
kind: AWSNodeTemplate
metadata:
  name: default
spec:
  instanceProfile: main
  subnetSelector:
    kubernetes.io/cluster/main: owned
  securityGroupSelector:
    kubernetes.io/cluster/main: owned
"""


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_that_are_there_twice_are_found_again_in_their_order(check: Callable[..., Report], end: str) -> None:
    report = check(TWICE.replace("\n", end), select=["broad-selector", "cluster-security-group-tag"])
    places = [(r.rule.name, r.span.source.text.count("\n", 0, r.span.start) + 1) for r in report.results]
    assert places == [("broad-selector", 8), ("cluster-security-group-tag", 10)]


@pytest.mark.parametrize("name", ["<cluster-name>", "${CLUSTER_NAME}", "{{ .name }}", "main"])
def test_any_clusters_tag_on_security_groups_is_told(check: Callable[..., Report], name: str) -> None:
    text = TWICE.replace("cluster/main", f"cluster/{name}")
    [result] = check(text, select=["cluster-security-group-tag"]).results
    assert f"`kubernetes.io/cluster/{name}`" in result.finding.message
