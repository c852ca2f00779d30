"""Limits against the instance types that a pool can launch."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nodelint.data import table
from nodelint.karpenter.resolve import beyond, limits
from nodelint.lint.engine import Report
from nodelint.model.documents import objects
from nodelint.model.manifest import NodePool
from nodelint.model.releases import NEWEST
from nodelint.rule.context import Context
from nodelint.rule.target import Target
from nodelint.text import Source
from tests.manifests import nodepool

Check = Callable[..., Report]


def pool(limits: str, *types: str) -> str:
    line = f"key: node.kubernetes.io/instance-type, operator: In, values: [{', '.join(types)}]"
    return nodepool(line, spec=f"  limits: {{{limits}}}\n")


@pytest.mark.parametrize(
    ("limits", "types", "expected"),
    [
        # m5 has 4 GiB per CPU, c5 has 2, r5 has 8.
        (
            "cpu: 100, memory: 100Gi",
            ["m5.large", "r5.large"],
            "the cpu limit `100` is never reached: the memory limit `100Gi` stops the pool at about 25 CPUs or less",
        ),
        ("cpu: 100, memory: 100Gi", ["c5.large", "m5.large"], "allows about 25 CPUs with most allowed types"),
        ("cpu: 100, memory: 60Gi", ["c5.large", "m5.large"], "stops the pool at about 30 CPUs or less"),
        ("cpu: 100, memory: 250Gi", ["c5.large", "m5.large"], None),
        ("cpu: 20, memory: 40Gi", ["t3.medium", "t3.large", "t3.xlarge"], None),
        (
            "cpu: 100, memory: 2000Gi",
            ["c5.large", "m5.large"],
            "the memory limit `2000Gi` is never reached: the cpu limit `100` stops the pool at about 400Gi or less",
        ),
        ("cpu: 100, memory: 1000Gi", ["m5.large", "r5.large"], None),
        ("cpu: 0, memory: 1000Gi", ["m5.large"], None),
        ("cpu: 100, memory: 2000Gi, nodes: 10", ["m5.large"], "stops the pool at about 400Gi or less"),
        ("cpu: 2", ["m5.large"], "the cpu limit `2` leaves room for 1 node at most: `m5.large` has 2"),
        ("memory: 16Gi", ["m5.large"], None),
        ("memory: 24Gi", ["m5.large"], None),
        (
            "cpu: 6, memory: 16Gi",
            ["c5.large", "c6i.large", "c7i.large", "r5.large"],
            "one `r5.large` uses up the memory limit `16Gi`: the cpu limit `6` allows 3 nodes",
        ),
        (
            "cpu: 10, memory: 31Gi",
            ["m5.large", "m6i.large", "m7i.large", "r5.large"],
            None,
        ),
        ("cpu: 6, memory: 24Gi", ["c5.large", "c6i.large", "c7i.large", "r5.large"], None),
        ("cpu: 8, memory: 32Gi", ["m5.large", "m6i.large", "m7i.large", "r5.xlarge"], None),
        ("cpu: 2000", ["m5.large", "m5.xlarge"], "the cpu limit `2000` allows 500 nodes or more: `m5.xlarge`"),
        ("cpu: 2000, nodes: 20", ["m5.large", "m5.xlarge"], None),
        ("cpu: 500", ["m5.large", "m5.xlarge"], None),
    ],
)
def test_limits_that_do_not_fit_the_types(check: Check, limits: str, types: list[str], expected: str | None) -> None:
    messages = [
        result.finding.message for result in check(pool(limits, *types), select=["limit-out-of-proportion"]).results
    ]
    assert len(messages) >= (expected is not None)
    assert any(expected in message for message in messages) if expected is not None else messages == []


def with_class(limits: str, spec: str, *types: str) -> str:
    return f"""\
{pool(limits, *types)}---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {{name: default}}
spec:
  role: KarpenterNodeRole-main
  subnetSelectorTerms: [{{tags: {{karpenter.sh/discovery: main}}}}]
  securityGroupSelectorTerms: [{{tags: {{karpenter.sh/discovery: main}}}}]
  {spec}
"""


AL2023 = "amiSelectorTerms: [{alias: al2023@v20250403}]"
BOTTLEROCKET = "amiSelectorTerms: [{alias: bottlerocket@v1.38.0}]"
VOLUME = AL2023 + "\n  blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {volumeSize: %s}}]"
EFA = AL2023 + "\n  networkInterfaces: [{networkCardIndex: 0, deviceIndex: 1, interfaceType: efa-only}]"


@pytest.mark.parametrize(
    ("limits", "spec", "types", "expected"),
    [
        ("pods: 57", AL2023, "m5.xlarge", "`m5.xlarge` has 58"),
        ("pods: 58", AL2023, "m5.xlarge", None),
        ("pods: 20", AL2023 + "\n  kubelet: {maxPods: 20}", "m5.xlarge", None),
        ("pods: 20", AL2023 + "\n  kubelet: {maxPods: 21}", "m5.xlarge", "`m5.xlarge` has 21"),
        ("pods: 58", AL2023 + "\n  kubelet: {maxPods: 110}", "m5.xlarge", "`m5.xlarge` has 110"),
        ("pods: 20", AL2023 + "\n  kubelet: {podsPerCore: 5}", "m5.xlarge", None),
        ("pods: 19", AL2023 + "\n  kubelet: {podsPerCore: 5}", "m5.xlarge", "`m5.xlarge` has 20"),
        ("pods: 20", BOTTLEROCKET + "\n  kubelet: {podsPerCore: 5}", "m5.xlarge", "`m5.xlarge` has 58"),
        ("pods: 20", AL2023 + "\n  kubelet: {maxPods: '${MAX_PODS}'}", "m5.xlarge", None),
        ("ephemeral-storage: 19Gi", AL2023, "m5.xlarge", "`m5.xlarge` has 20Gi"),
        ("ephemeral-storage: 20Gi", AL2023, "m5.xlarge", None),
        ("ephemeral-storage: 10Gi", VOLUME % "4Gi", "m5.xlarge", None),
        ("ephemeral-storage: 100Gi", VOLUME % "101Gi", "m5.xlarge", "`m5.xlarge` has 101Gi"),
        ("ephemeral-storage: 100Gi", VOLUME % '"${SIZE}"', "m5.xlarge", None),
        ("ephemeral-storage: 74G", AL2023 + "\n  instanceStorePolicy: RAID0", "m5d.large", "`m5d.large` has 75G"),
        ("ephemeral-storage: 75G", AL2023 + "\n  instanceStorePolicy: RAID0", "m5d.large", None),
        ("vpc.amazonaws.com/efa: 1", AL2023, "m6idn.32xlarge", "`m6idn.32xlarge` has 2"),
        ("vpc.amazonaws.com/efa: 1", EFA, "m6idn.32xlarge", None),
        ("pods: 10, cpu: 0", AL2023, "m5.xlarge", "the cpu limit `0` switches the NodePool off"),
        ("pods: 10, nvidia.com/gpu: 0", AL2023, "m5.xlarge", "the pods limit `10`"),
        ("nvidia.com/gpu: 0", AL2023, "g5.xlarge", "limit `0` switches the NodePool off"),
        ("cpu: 3, nvidia.com/gpu: 0", AL2023, "m5.xlarge", "the cpu limit `3`"),
        ("memory: 15154Mi", AL2023, "m5.xlarge", "the memory limit"),
        ("memory: 15155Mi", AL2023, "m5.xlarge", None),
        ("memory: 15Gi", AL2023, "m5.xlarge", None),
        ("pods: 40", EFA.replace("al2023@v20250403", "bottlerocket@v1.38.0"), "c5n.9xlarge", "has 205"),
    ],
)
def test_limits_are_compared_with_what_a_node_of_the_class_has(
    check: Check, limits: str, spec: str, types: str, expected: str | None
) -> None:
    found = check(with_class(limits, spec, types), select=["limit-too-small"]).results
    assert [expected in result.finding.message for result in found if expected] == ([True] if expected else [])
    assert bool(found) == bool(expected)


def test_what_a_class_decides_is_not_judged_without_the_class(check: Check) -> None:
    assert check(pool("pods: 1, ephemeral-storage: 1Gi", "m5.xlarge"), select=["limit-too-small"]).results == ()
    assert len(check(pool("pods: 1, cpu: 1", "m5.xlarge"), select=["limit-too-small"]).results) == 1


def test_a_type_that_is_listed_is_not_kept_out(check: Check) -> None:
    types = [f"{family}.large" for family in ("m5", "m5a", "m6i", "r5", "r6i", "c5")]
    rules = ["types-beyond-limit", "types-beyond-limit"]
    [result] = check(pool("memory: 200Gi", *types, "r5.8xlarge"), select=rules).results
    assert "r5.8xlarge" in result.finding.message
    assert check(pool("memory: 300Gi", *types, "r5.8xlarge"), select=rules).results == ()


@pytest.mark.parametrize("resource", [*table("resources")["known"], "vpc.amazonaws.com/efa", "example.com/none"])
@pytest.mark.parametrize("amount", ["-1", "0", "1", "7"])
def test_a_limit_is_compared_with_what_each_type_has(resource: str, amount: str) -> None:
    """The types that have none of a resource are passed over, which changes nothing."""
    source = Source.from_text(
        "pool.yaml", pool(f'"{resource}": "{amount}"', "m5.large", "p4d.24xlarge", "inf2.xlarge")
    )
    [found] = [obj for obj in objects(source) if isinstance(obj, NodePool)]
    resolution = Context([found], Target(NEWEST)).resolution(found)
    [limit] = limits(found)
    has = {
        name: resolution.capacity.amount(resource, name)
        for name in resolution.catalog.names_in(resolution.candidates)
    }
    more = [name for name, own in has.items() if own is not None and own > (limit.amount or 0)]
    if resource not in ("cpu", "memory"):
        assert resolution.catalog.names_in(beyond(limit, resolution)) == more
