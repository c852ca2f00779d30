"""Regions, subnets and volumes: where the rules about them speak and where they are silent."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nodelint.lint.engine import Report
from tests.manifests import nodepool

Check = Callable[..., Report]

ZONE = "topology.kubernetes.io/zone"


def pool(name: str, *requirements: str, node_class: str = "default") -> str:
    lines = (requirement.split("=") for requirement in requirements)
    requested = [f"key: {key}, operator: In, values: [{values}]" for key, values in lines]
    return nodepool(*requested, name=name, node_class=node_class) + "---\n"


def node_class(name: str = "default", cluster: str = "main", spec: str = "") -> str:
    return f"""\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {{name: {name}}}
spec:
  role: nodes
{spec}  amiSelectorTerms: [{{alias: al2023@v20250403}}]
  subnetSelectorTerms: [{{tags: {{karpenter.sh/discovery: {cluster}}}}}]
  securityGroupSelectorTerms: [{{tags: {{karpenter.sh/discovery: {cluster}}}}}]
---
"""


TOKYO, SEOUL = f"{ZONE}=ap-northeast-1a, ap-northeast-1c", f"{ZONE}=ap-northeast-2a"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            pool("a", TOKYO) + pool("b", SEOUL) + node_class(),
            ["this NodePool has zones in ap-northeast-1, but NodePool `b`"],
        ),
        (pool("a", TOKYO) + pool("b", TOKYO, node_class="b") + node_class() + node_class("b"), []),
        (pool("a", TOKYO) + pool("b", SEOUL, node_class="b") + node_class() + node_class("b", "other"), []),
        (pool("a", TOKYO) + pool("b", f'{ZONE}="${{ZONE}}"') + node_class(), []),
        (pool("a", f"{ZONE}=us-east-1a, eu-west-1a") + pool("b", SEOUL) + node_class(), []),  # for several clusters
        (pool("a", TOKYO) + pool("b", SEOUL), []),
    ],
)
def test_pools_of_two_regions(check: Check, text: str, expected: list[str]) -> None:
    found = [r.finding.message for r in check(text, select=["no-instance-type"]).results]
    assert [message[: len(text)] for message, text in zip(found, expected, strict=True)] == expected


GPUS = pool("gpu", "karpenter.k8s.aws/instance-family=g6")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (GPUS + node_class(), True),
        (GPUS + node_class(spec="  instanceStorePolicy: RAID0\n"), False),
        (GPUS + node_class(spec="  userData: echo mounts a disk\n"), False),
        (GPUS + pool("web", "karpenter.k8s.aws/instance-family=m7i") + node_class(), False),
        (pool("gpu", 'karpenter.k8s.aws/instance-family="${FAMILY}"') + node_class(), False),
        (node_class(), False),
    ],
)
def test_gpus_on_the_default_volume(check: Check, text: str, expected: bool) -> None:
    results = check(text, select=["small-volume"]).results
    assert [r.finding.note for r in results if "GPU" in r.finding.message] == (
        ["8 of 8 instance types have local disks, which stay unused"] if expected else []
    )


def by_tags(tags: str) -> str:
    return node_class().replace(
        "subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]",
        f"subnetSelectorTerms: [{{tags: {{{tags}}}}}]",
    )


@pytest.mark.parametrize(
    ("tags", "rule"),
    [
        ("Name: demo-public-subnet", "public-nodes"),
        ("Name: Public*", "public-nodes"),
        ("Name: publicity", None),
        ("Name: demo-private", None),
        ('karpenter.sh/discovery: "true"', "broad-selector"),
        ("karpenter.sh/discovery: main", None),
        ('karpenter.sh/discovery: "true", kubernetes.io/cluster/main: owned', None),
    ],
)
def test_subnets_by_what_others_have_or_the_internet_reaches(check: Check, tags: str, rule: str | None) -> None:
    results = check(by_tags(tags), select=["public-nodes", "broad-selector"]).results
    assert [r.rule.name for r in results if r.rule.name == rule or not r.finding.strict] == ([rule] if rule else [])


@pytest.mark.parametrize(
    ("ebs", "expected"),
    [
        ("volumeType: gp3, iops: 16000", "16,000 IOPS of `gp3` cost about $65 a month on each node"),
        ("volumeType: gp3, throughput: 1000", "1,000 MiB/s of `gp3` cost about $35 a month on each node"),
        ("volumeType: io2, iops: 5000", "5,000 IOPS of `io2` cost about $325 a month on each node"),
        ("volumeType: gp3, iops: 3000, throughput: 125", None),
        ("volumeType: gp3, iops: 6000, throughput: 250", None),
        ("volumeType: gp2, iops: 16000", None),
        ('volumeType: gp3, iops: "${IOPS}"', None),
    ],
)
def test_what_performance_costs(check: Check, ebs: str, expected: str | None) -> None:
    spec = f"  blockDeviceMappings: [{{deviceName: /dev/xvda, ebs: {{volumeSize: 100Gi, encrypted: true, {ebs}}}}}]\n"
    results = check(node_class(spec=spec), select=["costly-volume"]).results
    assert [r.finding.message for r in results] == ([expected] if expected else [])
