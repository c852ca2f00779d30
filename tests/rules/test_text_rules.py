"""Values that were meant for a person, and labels that mean more than their author thinks."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nodelint.lint.engine import LintRequest, Report, Selection, Target, lint
from nodelint.model.releases import NEWEST
from nodelint.rule.definition import Rule
from nodelint.text import Source
from tests.manifests import nodeclass

CLASS = nodeclass(role="%s")


def left(text: str, rules: dict[str, Rule], path: str = "class.yaml") -> list[str]:
    chosen = Selection(frozenset({"placeholder-left"}))
    return [
        r.finding.message
        for r in lint([Source.from_text(path, text)], LintRequest(Target(NEWEST), rules, chosen)).results
    ]


@pytest.mark.parametrize(
    "role",
    [
        "<role>",
        "KarpenterNodeRole-<<CLUSTER>>",
        "your-node-role",
        "YOUR_ROLE",
        "XXX",
        "role-xxxxxxxx",
        "replace-me",
        "CLUSTER_NAME",
        "changeme",
        "cluster-name",
    ],
)
def test_what_a_person_was_to_replace(rules: dict[str, Rule], role: str) -> None:
    assert left(CLASS % role, rules) == [f"nobody replaced the placeholder `{role}`"]


def test_what_nothing_hangs_on_or_is_stored_is_no_placeholder(rules: dict[str, Rule]) -> None:
    text = CLASS % "nodes"
    noted = text.replace("metadata:", "metadata:\n  annotations: {note: '<spot>', about: 'for <spot> only'}", 1)
    script = text + "  userData: <powershell>hostname</powershell>\n"
    assert (left(noted, rules), left(script, rules)) == ([], [])
    assert len(left(text + "  tags: {note: '<spot>'}\n", rules)) == 1
    stored = (CLASS % "your-node-role").replace("metadata:", "metadata:\n  resourceVersion: '12'", 1)
    assert left(stored, rules) == []


@pytest.mark.parametrize(
    "role",
    [
        "KarpenterNodeRole-main",
        "${CLUSTER_NAME}",
        "$CLUSTER_NAME",
        "role-$(CLUSTER_NAME)",
        "yourdomain",
        "exxxtra",
        "PROD",
        "prod-cluster-names",
    ],
)
def test_names_and_what_tools_fill_in_are_none(rules: dict[str, Rule], role: str) -> None:
    assert left(CLASS % role, rules) == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("class.yaml.tpl", CLASS % "<role>"),
        ("class-template.yaml", CLASS % "<role>"),
        ("class.example.yaml", CLASS % "<role>"),
        ("README.md", f"```yaml\n{CLASS % '<role>'}```\n"),
        ("class.yaml", CLASS % "<role>" + "  tags: {team: '{{ .Values.team }}'}\n"),
    ],
)
def test_what_is_rendered_or_read_by_people_is_left_alone(rules: dict[str, Rule], path: str, text: str) -> None:
    assert left(text, rules, path) == []


def test_several_are_one_finding(rules: dict[str, Rule]) -> None:
    text = (CLASS % "<role>").replace("main", "<cluster>")
    assert left(text, rules) == ["nobody replaced the placeholder `<role>` and 1 other placeholder"]


@pytest.mark.parametrize(
    ("terms", "found"),
    [
        ("id: sg-zzzz", ["sg-zzzz"]),
        ("id: sg-xxxxxxxx", ["sg-xxxxxxxx"]),
        ("id: sg-0123456789abcdef0", ["sg-0123456789abcdef0"]),
        ("id: sg-12345678", ["sg-12345678"]),
        ("id: sg-111222", ["sg-111222"]),
        ("id: sg-abc123", ["sg-abc123"]),
        ("id: sg-063d7acfb4b06c82c", ["sg-063d7acfb4b06c82c"]),
        ("id: sg-0a1b2c3d4e5f60718", []),
        ("id: sg-0d37ec82297b311b6", []),
        ("id: sg-1", []),
        ("tags: {kubernetes.io/cluster/cluster-name: owned}", ["kubernetes.io/cluster/cluster-name"]),
        ("tags: {cluster-name: main}", []),
    ],
)
def test_ids_and_keys_of_tags(rules: dict[str, Rule], terms: str, found: list[str]) -> None:
    text = (CLASS % "main") + f"    - {{{terms}}}\n"
    text = text.replace("GroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]", "GroupSelectorTerms:")
    assert left(text, rules) == [f"nobody replaced the placeholder `{value}`" for value in found]


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("kms-key-arn", True),
        ("arn:aws:kms:eu-west-1:111122223333:key/mrk-xxx", True),
        ("arn:aws:kms:eu-west-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab", False),
        ("arn:aws-us-gov:kms:us-gov-west-1:111122223333:alias/ebs/nodes", False),
        ("1234abcd-12ab-34cd-56ef-1234567890ab", False),
        ("mrk-1234abcd12ab34cd56ef1234567890ab", False),
        ("alias/aws/ebs", False),
        ('"${KMS_KEY}"', False),
        ('""', False),
    ],
)
def test_keys_that_are_none(rules: dict[str, Rule], key: str, expected: bool) -> None:
    disk = f"{{deviceName: /dev/xvda, ebs: {{volumeSize: 50Gi, encrypted: true, kmsKeyID: {key}}}}}"
    assert len(left((CLASS % "main") + f"  blockDeviceMappings: [{disk}]\n", rules)) == expected


@pytest.mark.parametrize(
    ("snapshot", "expected"),
    [("SNAPSHOT", True), ("snap-xxxx", True), ("snap-0a1b2c3d4e5f60718", False), ('"${SNAPSHOT}"', False)],
)
def test_snapshots_that_are_none(rules: dict[str, Rule], snapshot: str, expected: bool) -> None:
    disk = f"{{deviceName: /dev/xvda, ebs: {{volumeSize: 50Gi, snapshotID: {snapshot}}}}}"
    assert len(left((CLASS % "main") + f"  blockDeviceMappings: [{disk}]\n", rules)) == expected


POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    metadata:
      labels:
        %s
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64, arm64]}
"""


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("karpenter.sh/capacity-type: spot", ["info"]),
        ("kubernetes.io/arch: amd64", ["warning"]),
        ("beta.kubernetes.io/arch: amd64", ["warning"]),
        ("example.com/arch: amd64", []),
        ("kubernetes.io/arch: ${ARCH}", []),
    ],
)
def test_a_label_under_a_well_known_key_is_a_requirement(
    check: Callable[..., Report], label: str, expected: list[str]
) -> None:
    assert [r.severity for r in check(POOL % label, select=["label-as-requirement"]).results] == expected
