"""Rules about EC2NodeClass where they stay silent, and what they say beyond the examples of their pages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from nodelint.edits import apply
from nodelint.lint.engine import LintRequest, Report, Selection, Target, lint
from nodelint.model.releases import NEWEST, KubernetesVersion
from nodelint.rule.definition import bundled, load
from nodelint.text import Source
from tests.manifests import nodeclass, nodepool

RULES = load(bundled())
CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: main
  amiSelectorTerms: [AMI]
  subnetSelectorTerms: [{tags: {net: main}}]
  securityGroupSelectorTerms: [{tags: {net: main}}]
"""
AL2023, BOTTLEROCKET = "{alias: al2023@v20250403}", "{alias: bottlerocket@v1.46.0}"
POOL = "---\n" + nodepool("key: karpenter.k8s.aws/instance-family, operator: In, values: [FAMILIES]", inline=True)


def marked_texts(
    rule: str, ami: str, spec: str = "", more: str = "", kubernetes: str | None = None
) -> list[tuple[str, str]]:
    text = CLASS.replace("AMI", ami) + spec + more
    version = KubernetesVersion.parse(kubernetes) if kubernetes else None
    report = lint(
        [Source.from_text("a.yaml", text)],
        LintRequest(Target(NEWEST, version), RULES, Selection(select=frozenset([rule]))),
    )
    assert not report.faults
    return [(r.severity, text[r.finding.span.start : r.finding.span.end]) for r in report.results]


def volumes(*names: str, more: str = "") -> str:
    items = ", ".join(f"{{deviceName: {name}, ebs: {{volumeSize: 9Gi}}{more}}}" for name in names)
    return f"  blockDeviceMappings: [{items}]\n"


@pytest.mark.parametrize(
    "ami, spec, at",
    [
        (AL2023, volumes("/dev/xvda"), None),
        (AL2023, volumes("/dev/xvdb", "/dev/xvda"), "/dev/xvdb"),
        (AL2023, volumes("/dev/xvdb"), "/dev/xvdb"),
        (AL2023, volumes("/dev/xvdb", more=", rootVolume: true"), None),
        (AL2023, volumes("/dev/xvdb") + "  userData: '#!/bin/sh'\n", None),
        (AL2023, volumes("/dev/sda1") + "  userData: '#!/bin/sh'\n", "/dev/sda1"),
        (BOTTLEROCKET, volumes("/dev/sda1"), "/dev/sda1"),
        (BOTTLEROCKET, volumes("/dev/xvdb"), None),
        (BOTTLEROCKET, volumes("/dev/xvda", "/dev/xvdb"), None),
        (BOTTLEROCKET, volumes("/dev/xvda"), "/dev/xvda"),
        # the alias says which images there are
        (BOTTLEROCKET, "  amiFamily: ${FAMILY}\n" + volumes("/dev/xvda"), "/dev/xvda"),
        (BOTTLEROCKET, "  amiFamily: Custom\n" + volumes("/dev/xvda"), None),
        (BOTTLEROCKET, "  instanceStorePolicy:\n" + volumes("/dev/xvda"), "/dev/xvda"),
        # images and pods are on the local disks
        (BOTTLEROCKET, volumes("/dev/xvda") + "  instanceStorePolicy: RAID0\n", None),
        ("{alias: windows2022@latest}", volumes("/dev/sda1"), None),
        ("{alias: windows2022@latest}", volumes("/dev/xvda"), "/dev/xvda"),
        # of images of one's own the root may be named otherwise
        ("{name: mine-*}", "  amiFamily: AL2\n" + volumes("/dev/sda1"), None),
        ("{name: ubuntu-eks/k8s_1.30/images/*}", "  amiFamily: AL2\n" + volumes("/dev/sda1"), None),
        ("{id: ami-0123456789abcdef0}", "  amiFamily: Bottlerocket\n" + volumes("/dev/sda1"), "/dev/sda1"),
    ],
)
def test_root_volume_device(ami: str, spec: str, at: str | None) -> None:
    assert [place for _, place in marked_texts("root-volume-device", ami, spec)] == ([at] if at else [])


@pytest.mark.parametrize("size, fixable", [("4Gi", False), ("20Gi", True), ("100G", True), ("${SIZE}", False)])
def test_a_data_volume_smaller_than_its_image_is_not_offered(
    check: Callable[..., Report], size: str, fixable: bool
) -> None:
    volume = f"  blockDeviceMappings: [{{deviceName: /dev/xvda, ebs: {{volumeSize: '{size}'}}}}]\n"
    report = check(CLASS.replace("AMI", BOTTLEROCKET) + volume, select=["root-volume-device"])
    (result,) = report.results
    assert bool(result.finding.edits) is fixable


def test_a_release_that_leaves_local_disks_of_bottlerocket_alone(check: Callable[..., Report]) -> None:
    text = CLASS.replace("AMI", BOTTLEROCKET) + volumes("/dev/xvda") + "  instanceStorePolicy: RAID0\n"
    (result,) = check(text, karpenter="1.0.8", select=["root-volume-device"]).results
    assert result.finding.message.startswith("the class maps only `/dev/xvda`")


@pytest.mark.parametrize(
    "kubernetes, severity",
    [("1.33", "warning"), ("1.30", "info"), ("1.34", "error"), ("1.29", "error"), (None, "info")],
)
def test_an_image_may_be_older_than_the_cluster_by_three_versions(
    kubernetes: str | None, severity: str | None
) -> None:
    name = "{name: amazon-eks-node-al2023-x86_64-standard-1.30-v20250403}"
    found = marked_texts("image-for-one-kubernetes", name, "  amiFamily: AL2023\n", kubernetes=kubernetes)
    assert [value for value, _ in found] == ([severity] if severity else [])


@pytest.mark.parametrize(
    "ami, family, has_match",
    [
        ("{name: ubuntu-eks/k8s_1.30/images/*}", "AL2", False),
        ("{name: amazon-eks-node-al2023-x86_64-standard-1.30-*}", "AL2023", False),
        ("{name: amazon-eks-node-al2023-x86_64-standard-1.30-*}", "Custom", False),
        ("{name: amazon-eks-*}", "AL2", False),
        ("{name: mine-*}", "AL2", False),
        ("{name: bottlerocket-aws-k8s-1.33-x86_64-v1.46.0-*}", "AL2023", True),
    ],
)
def test_other_family_image(ami: str, family: str, has_match: bool) -> None:
    assert bool(marked_texts("other-family-image", ami, f"  amiFamily: {family}\n")) == has_match


@pytest.mark.parametrize(
    "families, has_match",
    [("m6i", True), ("m6i, m6id", False), ("i4i", False), ("m6i, '${X}'", False), ("nope", False)],
)
def test_instance_store_without_disks(families: str, has_match: bool) -> None:
    policy = "  instanceStorePolicy: RAID0\n"
    pool = POOL.replace("FAMILIES", families)
    assert bool(marked_texts("instance-store-without-disks", AL2023, policy, pool)) == has_match
    assert marked_texts("instance-store-without-disks", AL2023, policy) == []


def test_what_a_snapshot_or_a_patch_leaves_open_is_not_called_unencrypted() -> None:
    snapshot = "  blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {snapshotID: snap-1}}]\n"
    assert marked_texts("unencrypted-volume", AL2023, snapshot) == []
    unknown = "  blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {volumeSize: 9Gi, encrypted: '${X}'}}]\n"
    assert marked_texts("unencrypted-volume", AL2023, unknown) == []


@pytest.mark.parametrize(
    "inside, has_match",
    [("volumeSize: {{ .Values.size }}", True), ("{{- toYaml .Values.volume | nindent 8 }}", False)],
)
def test_a_volume_of_a_template_is_judged_where_no_code_prints_into_it(inside: str, has_match: bool) -> None:
    guarded = "  {{- if .Values.tags }}\n  tags:\n    {{- toYaml .Values.tags | nindent 4 }}\n  {{- end }}\n"
    mapping = f"  blockDeviceMappings:\n    - ebs:\n        volumeType: gp3\n        {inside}\n"
    assert bool(marked_texts("unencrypted-volume", AL2023, guarded + mapping)) == has_match


def test_a_tag_of_its_own_beside_the_discovery_tag_finds_images() -> None:
    family = "  amiFamily: AL2023\n"
    assert marked_texts("image-discovery-tag", "{tags: {net: main}}", family) == [("warning", "net")]
    assert marked_texts("image-discovery-tag", "{tags: {net: main, image: golden}}", family) == []
    assert marked_texts("image-discovery-tag", "{tags: {net: other}}", family) == []


@pytest.mark.parametrize(
    "family, alias",
    [("AL2", "al2023@v20260714"), ("AL2023", "al2023@v20260714"), ("Bottlerocket", "bottlerocket@v1.46.0")],
)
def test_an_image_by_id_is_not_told_to_follow_a_family_that_ended(
    check: Callable[..., Report], family: str, alias: str
) -> None:
    text = CLASS.replace("AMI", "{id: ami-0123456789abcdef0}") + f"  amiFamily: {family}\n"
    (result,) = check(text, select=["image-by-id"]).results
    assert result.finding.help == f"an alias works in every region: `alias: {alias}`"


@pytest.mark.parametrize(
    "types, words", [("m4.xlarge", "`m4.xlarge` runs on Xen"), ("m4.xlarge, c4.large", "run on Xen")]
)
def test_one_type_runs_and_two_run(check: Callable[..., Report], types: str, words: str) -> None:
    pool = POOL.replace("karpenter.k8s.aws/instance-family", "node.kubernetes.io/instance-type").replace(
        "FAMILIES", types
    )
    (result,) = check(CLASS.replace("AMI", AL2023) + pool, select=["old-generations"]).results
    assert words in result.finding.message


ADMIN = "  userData: |\n    [settings.host-containers]\n    admin = {enabled = true, superpowered = true}\n"


def test_an_admin_container_in_an_inline_table_is_found() -> None:
    assert marked_texts("admin-container", BOTTLEROCKET, ADMIN) == [("warning", "admin")]
    assert marked_texts("admin-container", BOTTLEROCKET, ADMIN.replace("true", "false")) == []
    assert marked_texts("admin-container", "{id: ami-0123456789abcdef0}", "  amiFamily: Custom\n" + ADMIN) != []


@pytest.mark.parametrize(
    ("ami", "family", "found"),
    [
        ("{alias: al2023@v20250403}", None, "al2023@v20250403"),
        ("{alias: al2023@v20250901}", None, None),
        ("{alias: al2023@latest}", None, None),
        ("{alias: bottlerocket@v1.20.0}", None, "bottlerocket@v1.20.0"),
        ("{alias: bottlerocket@1.26.2}", None, "bottlerocket@1.26.2"),
        ("{alias: bottlerocket@1.43.0}", None, "bottlerocket@1.43.0"),
        ("{alias: bottlerocket@1.43.1}", None, None),
        ("{alias: bottlerocket@1.60.0}", None, None),
        ("{name: amazon-eks-node-al2023-x86_64-standard-1.31-v20240807}", "AL2023", "amazon-eks-node-al2023-x86_64"),
        ("{name: amazon-eks-node-al2023-x86_64-standard-1.31-v2024*}", "AL2023", None),
        ("{name: golden-20240807}", "AL2023", None),
        (
            "{ssmParameter: /aws/service/bottlerocket/aws-k8s-1.31/x86_64/1.20.0/image_id}",
            "Bottlerocket",
            "/aws/service/bottlerocket",
        ),
    ],
)
def test_the_age_of_a_pin_is_counted_where_its_day_is_known(ami: str, family: str | None, found: str | None) -> None:
    messages = marked_texts("old-image", ami, f"  amiFamily: {family}\n" if family else "")
    assert [severity for severity, _ in messages] == ["info"] * (found is not None)
    assert found is None or messages[0][1].startswith(found)


def test_an_alias_of_a_family_that_ended_is_told_once() -> None:
    for rule, expected in (("ended-family", [("warning", "al2@latest")]), ("unpinned-image", [])):
        text = CLASS.replace("AMI", "{alias: al2@latest}")
        selected = Selection(select=frozenset(["ended-family", "unpinned-image", "unsupported-alias"]))
        target = Target(NEWEST, KubernetesVersion(1, 30))
        report = lint([Source.from_text("a.yaml", text)], LintRequest(target, RULES, selected))
        found = [(r.severity, text[r.finding.span.start : r.finding.span.end]) for r in report.results]
        assert [value for value, r in zip(found, report.results, strict=True) if r.rule.name == rule] == expected


@pytest.mark.parametrize(
    ("terms", "flagged"),
    [
        ("{name: golden-al2-*, owner: self}", True),
        ("{id: ami-0123456789abcdef0}", True),
        (
            "{name: 'ubuntu-eks/k8s_1.33/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-*', owner: '099720109477'}",
            False,
        ),
        ("{name: '*-1.33-*', owner: '099720109477'}", False),
        (
            "{ssmParameter: /aws/service/canonical/ubuntu/eks/24.04/1.33/stable/current/amd64/hvm/ebs-gp3/ami-id}",
            False,
        ),
        ("{tags: {Name: golden-Ubuntu-24.04}}", False),
        ("{name: ubuntu-golden-*, owner: self}, {name: golden-al2-*, owner: self}", True),
        ("{name: '${NAME}', owner: self}", True),
    ],
)
def test_ubuntu_runs_under_al2_and_has_not_ended(terms: str, flagged: bool) -> None:
    assert len(marked_texts("ended-family", terms, "  amiFamily: AL2\n")) == flagged


@pytest.mark.parametrize("key", ["'{{ $k }}'", '"${KEY}"'])
def test_a_key_that_is_a_placeholder_may_be_the_one_that_is_missed(key: str) -> None:
    mapping = "  blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {volumeSize: 100Gi%s}}]\n"
    assert len(marked_texts("unencrypted-volume", "{alias: al2023@v20250403}", mapping % "")) == 1
    assert marked_texts("unencrypted-volume", "{alias: al2023@v20250403}", mapping % f", {key}: 1") == []


@pytest.mark.parametrize(
    ("alias", "kubernetes", "pin"),
    [
        ("al2023@latest", None, "alias: al2023@v20260714"),
        ("al2023@latest", "1.36", "alias: al2023@v20260714"),
        ("al2023@latest", "1.29", None),
        ("bottlerocket@latest", None, None),
    ],
)
def test_without_facts_the_newest_known_version_is_a_suggestion(
    check: Callable[..., Report], alias: str, kubernetes: str | None, pin: str | None
) -> None:
    text = CLASS.replace("AMI", f"{{alias: {alias}}}")
    (result,) = check(text, select=["unpinned-image"], kubernetes=kubernetes).results
    fixed = [apply(text, suggestion.edits) for suggestion in result.finding.suggestions]
    assert not result.finding.edits
    assert [pin in value for value in fixed] == [True] * (pin is not None) if pin else not fixed


@pytest.mark.parametrize(
    ("types", "severity"),
    [
        ("m7i.large", "warning"),
        ("t3.medium, t3.large", "info"),
        ("m7i.large, m7a.large, m6i.large", None),
        ("inf2.xlarge, trn1.2xlarge", None),
    ],
)
def test_two_types_are_nearly_as_few_as_one(check: Callable[..., Report], types: str, severity: str | None) -> None:
    pool = POOL.replace("karpenter.k8s.aws/instance-family", "node.kubernetes.io/instance-type").replace(
        "FAMILIES", types
    )
    report = check(CLASS.replace("AMI", AL2023) + pool, select=["one-instance-type"])
    assert [r.severity for r in report.results] == ([severity] if severity else [])


OF_RESERVED = nodepool("key: karpenter.sh/capacity-type, operator: In, values: [reserved]")


@pytest.mark.parametrize(("patched", "code"), [(True, 0), (False, 1)])
def test_a_part_of_a_class_may_select_reservations_elsewhere(
    nodelint: Callable[..., CompletedProcess[str]], tmp_path: Path, patched: bool, code: int
) -> None:
    (tmp_path / "pool.yaml").write_text(OF_RESERVED, encoding="utf-8")
    # A component patches what the overlay that uses it has.
    head = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
    component = f"{head}resources: [pool.yaml]\npatches: [{{path: class.yaml}}]\n"
    text = component if patched else "resources: [pool.yaml, class.yaml]\n"
    (tmp_path / "kustomization.yaml").write_text(text, encoding="utf-8")
    part = "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: default}\nspec: {tags: {a: b}}\n"
    (tmp_path / "class.yaml").write_text(part if patched else nodeclass(), encoding="utf-8")
    done = nodelint("check")
    assert done.returncode == code, done.stdout
    assert ("reserved" in done.stdout) is not patched


@pytest.mark.parametrize(
    ("field", "name", "word"),
    [
        ("role", "karpenter-2023082121003044240000001d", "Terraform"),
        ("role", "eksctl-main-nodegroup-ng-NodeInstanceRole-1F8ZPLMYKW3Q1", "CloudFormation"),
        ("role", "eksctl-main-nodegroup-ng-NodeInstanceRole-a1B2c3D4e5F6", "CloudFormation"),
        ("instanceProfile", "eks-1cc76a1f-1b2c-44d5-9e8f-001122334455", "managed node group"),
        ("role", "eks-1cc76a1f-1b2c-44d5-9e8f-001122334455", None),
        ("role", "KarpenterNodeRole-main-20250517", None),
        ("role", "KarpenterNodeRole-PRODUCTIONEU", None),
        ("role", "node-${SUFFIX}-1F8ZPLMYKW3Q1", None),
    ],
)
def test_names_that_a_tool_made_up(field: str, name: str, word: str | None) -> None:
    text = CLASS.replace("AMI", AL2023).replace("role: main", f"{field}: {name}")
    report = lint(
        [Source.from_text("a.yaml", text)],
        LintRequest(Target(NEWEST), RULES, Selection(select=frozenset(["generated-name"]))),
    )
    assert [word in result.finding.message for result in report.results if word] == ([True] if word else [])
    assert bool(report.results) == bool(word)


@pytest.mark.parametrize(
    ("terms", "count"),
    [
        ("{name: 'golden-*'}, {owner: self}", 1),
        ("{tags: {a: b}}, {owner: '123456789012'}", 1),
        ("{name: 'golden-*', owner: amazon}, {owner: self}", 0),
        ("{id: ami-0a1b2c3d4e5f60718}, {owner: self}", 0),
        ("{owner: self}, {name: 'golden-*'}", 0),
    ],
)
def test_an_owner_in_a_term_of_its_own_goes_to_the_one_before(terms: str, count: int) -> None:
    text = CLASS.replace("AMI", terms) + "  amiFamily: AL2023\n"
    selection = Selection(select=frozenset(["refused-combination"]))
    [result] = lint([Source.from_text("a.yaml", text)], LintRequest(Target(NEWEST), RULES, selection)).results
    moved = [way for way in result.finding.suggestions if not way.name.startswith("remove ")]
    assert len(moved) == count
    for suggestion in result.finding.suggestions:
        mended = Source.from_text("a.yaml", apply(text, suggestion.edits))
        assert not lint([mended], LintRequest(Target(NEWEST), RULES, selection)).results


def test_the_version_of_an_alias_is_judged_where_its_family_is_filled_in() -> None:
    aliases = ("{{ lower .Values.family }}@latest", "${family}@latest", "{{ .family }}@v20250403", "{{ .alias }}")
    assert [bool(marked_texts("unpinned-image", f"{{alias: '{alias}'}}")) for alias in aliases] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(("family", "does"), [("AL2023", "Karpenter sets and removes it"), ("Custom", "too late")])
def test_the_taint_of_registration_is_the_user_datas_to_set_for_custom_images(family: str, does: str) -> None:
    taint = "      startupTaints: [{key: karpenter.sh/unregistered, effect: NoExecute}]\n"
    spec = f"  amiFamily: {family}\n  userData: '#!/bin/sh'\n"
    text = CLASS.replace("AMI", "{id: ami-0a1b2c3d4e5f60718}") + spec + POOL.replace("FAMILIES", "m6i") + taint
    [result] = lint(
        [Source.from_text("a.yaml", text)],
        LintRequest(Target(NEWEST), RULES, Selection(select=frozenset(["misused-taint"]))),
    ).results
    assert does in result.finding.message


@pytest.mark.parametrize(("families", "has_match"), [("m6i, m6id", True), ("m6id", False)])
def test_types_without_disks_keep_their_pods_on_the_data_volume(families: str, has_match: bool) -> None:
    spec = volumes("/dev/xvda") + "  instanceStorePolicy: RAID0\n"
    found = marked_texts("root-volume-device", BOTTLEROCKET, spec, POOL.replace("FAMILIES", families))
    assert bool(found) == has_match


@pytest.mark.parametrize(
    ("tags", "found"),
    [
        ("{Name: '*'}", True),
        ("{Environment: '*', Name: '*'}", True),
        ("{Name: '*', karpenter.sh/discovery: main}", False),
        ("{karpenter.sh/discovery: '*'}", False),
        ("{Name: 'main-*'}", False),
    ],
)
def test_a_tag_that_everything_has(tags: str, found: bool) -> None:
    text = CLASS.replace("AMI", AL2023).replace("{net: main}", tags, 1)
    selection = Selection(select=frozenset(["broad-selector"]))
    results = lint([Source.from_text("a.yaml", text)], LintRequest(Target(NEWEST), RULES, selection)).results
    assert any(not result.finding.strict for result in results) is found
