"""Rules about EC2NodeClass where they stay silent, and what they say beyond the examples of their pages."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nodelint.lint.engine import Report, Selection, Target, lint
from nodelint.lint.rule import bundled, load
from nodelint.model.releases import NEWEST, KubernetesVersion
from nodelint.source import Source

from .manifests import nodepool

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


def said(rule: str, ami: str, spec: str = "", more: str = "", kubernetes: str | None = None) -> list[tuple[str, str]]:
    text = CLASS.replace("AMI", ami) + spec + more
    version = KubernetesVersion.parse(kubernetes) if kubernetes else None
    report = lint(
        [Source.from_text("a.yaml", text)], Target(NEWEST, version), RULES, Selection(select=frozenset([rule]))
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
    assert [place for _, place in said("root-volume-device", ami, spec)] == ([at] if at else [])


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
    assert result.finding.message.startswith("only `/dev/xvda` is mapped")


@pytest.mark.parametrize(
    "kubernetes, severity", [("1.33", "warning"), ("1.30", None), ("1.34", "error"), ("1.29", "error"), (None, None)]
)
def test_an_image_may_be_older_than_the_cluster_by_three_versions(
    kubernetes: str | None, severity: str | None
) -> None:
    name = "{name: amazon-eks-node-al2023-x86_64-standard-1.30-v20250403}"
    found = said("image-of-another-kubernetes", name, "  amiFamily: AL2023\n", kubernetes=kubernetes)
    assert [each for each, _ in found] == ([severity] if severity else [])


@pytest.mark.parametrize(
    "ami, family, told",
    [
        ("{name: ubuntu-eks/k8s_1.30/images/*}", "AL2", False),
        ("{name: amazon-eks-node-al2023-x86_64-standard-1.30-*}", "AL2023", False),
        ("{name: amazon-eks-node-al2023-x86_64-standard-1.30-*}", "Custom", False),
        ("{name: amazon-eks-*}", "AL2", False),
        ("{name: mine-*}", "AL2", False),
        ("{name: bottlerocket-aws-k8s-1.33-x86_64-v1.46.0-*}", "AL2023", True),
    ],
)
def test_other_family_image(ami: str, family: str, told: bool) -> None:
    assert bool(said("other-family-image", ami, f"  amiFamily: {family}\n")) == told


@pytest.mark.parametrize(
    "families, told", [("m6i", True), ("m6i, m6id", False), ("i4i", False), ("m6i, '${X}'", False), ("nope", False)]
)
def test_instance_store_without_disks(families: str, told: bool) -> None:
    policy = "  instanceStorePolicy: RAID0\n"
    pool = POOL.replace("FAMILIES", families)
    assert bool(said("instance-store-without-disks", AL2023, policy, pool)) == told
    assert said("instance-store-without-disks", AL2023, policy) == []


def test_what_a_snapshot_or_a_patch_leaves_open_is_not_called_unencrypted() -> None:
    snapshot = "  blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {snapshotID: snap-1}}]\n"
    assert said("unencrypted-volume", AL2023, snapshot) == []
    unknown = "  blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {volumeSize: 9Gi, encrypted: '${X}'}}]\n"
    assert said("unencrypted-volume", AL2023, unknown) == []


def test_a_tag_of_its_own_beside_the_discovery_tag_finds_images() -> None:
    family = "  amiFamily: AL2023\n"
    assert said("image-discovery-tag", "{tags: {net: main}}", family) == [("warning", "net")]
    assert said("image-discovery-tag", "{tags: {net: main, image: golden}}", family) == []
    assert said("image-discovery-tag", "{tags: {net: other}}", family) == []


@pytest.mark.parametrize(
    "family, alias",
    [("AL2", "al2023@v20250403"), ("AL2023", "al2023@v20250403"), ("Bottlerocket", "bottlerocket@v1.46.0")],
)
def test_an_image_by_id_is_not_told_to_follow_a_family_that_ended(
    check: Callable[..., Report], family: str, alias: str
) -> None:
    text = CLASS.replace("AMI", "{id: ami-0123456789abcdef0}") + f"  amiFamily: {family}\n"
    (result,) = check(text, select=["image-by-id"]).results
    assert result.finding.help == f"an alias holds in every region: `alias: {alias}`"


@pytest.mark.parametrize(
    "types, words", [("m4.xlarge", "`m4.xlarge` runs on Xen"), ("m4.xlarge, c4.large", "run on Xen")]
)
def test_one_type_runs_and_two_run(check: Callable[..., Report], types: str, words: str) -> None:
    pool = POOL.replace("karpenter.k8s.aws/instance-family", "node.kubernetes.io/instance-type").replace(
        "FAMILIES", types
    )
    (result,) = check(CLASS.replace("AMI", AL2023) + pool, select=["old-type"]).results
    assert words in result.finding.message
