"""spec.kubelet as the next minor version has it: an open map to the API server, judged by the controller."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nodelint.apiserver import Schemas
from nodelint.apiserver import check as admitted
from nodelint.ec2.catalog import Catalog
from nodelint.karpenter.controller import expressions
from nodelint.lint.engine import Report
from nodelint.model.documents import objects
from nodelint.model.manifest import EC2NodeClass
from nodelint.model.releases import NEWEST, Version
from nodelint.text import Source

CLASS = """apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: nodes
  amiSelectorTerms: [{{alias: {alias}}}]
  subnetSelectorTerms: [{{tags: {{a: b}}}}]
  securityGroupSelectorTerms: [{{tags: {{a: b}}}}]
  networkInterfaces: {interfaces}
  kubelet: {kubelet}
"""
POOL = """---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}
      requirements:
        - {{key: node.kubernetes.io/instance-type, operator: In, values: [{types}]}}
"""
ALL_OFF = "[]"
CATALOG = Catalog.bundled().for_release(NEWEST)


def text(kubelet: str, alias: str = "al2023@v20250403", interfaces: str = ALL_OFF) -> str:
    return CLASS.format(alias=alias, kubelet=kubelet, interfaces=interfaces)


def node_class(*args: str) -> EC2NodeClass:
    found = next(iter(objects(Source.from_text("a.yaml", text(*args)))))
    assert isinstance(found, EC2NodeClass)
    return found


CLOSED = Version(1, 14, 3)
"""The last release whose API server checks the kubelet's settings."""


def judged(check: Callable[..., Report], written: str, select: str = "controller-check") -> list[str]:
    report = check(written, select=[select])
    return [f"{result.severity}: {result.finding.message}" for result in report.results]


WHATEVER = "{maxPods: [1], nonsense: {a: 1}, evictionHard: {x: y}, kubeReserved: {cpu: -1}}"


def test_the_api_server_takes_any_map() -> None:
    found = node_class(WHATEVER)
    assert admitted(found, NEWEST, Schemas.bundled()) == []
    assert len(admitted(found, CLOSED, Schemas.bundled())) >= 4


@pytest.mark.parametrize(
    "kubelet",
    [
        "{maxPods: 110, podsPerCore: 10, clusterDNS: [10.0.0.10, 10.0.0.11]}",
        "{featureGates: {A: true}, memorySwap: {swapBehavior: NoSwap}, topologyManagerPolicy: restricted}",
        "{authentication: {webhook: {cacheTTL: 2m0s}}, logging: {options: {json: {splitStream: true}}}}",
        "{reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}], shutdownGracePeriodByPodPriority: [{priority: 1}]}",
        "{evictionHard: {memory.available: 5%, nodefs.available: 1.5Gi}, evictionMinimumReclaim: {}}",
        "{evictionSoft: {memory.available: 500Mi}, evictionSoftGracePeriod: {memory.available: 1m30s}}",
        "{}",
        "{maxPods: 0, podsPerCore: 0, evictionMaxPodGracePeriod: 0, serializeImagePulls: false}",
        "{logging: {format: json, flushFrequency: 5s, options: {json: {infoBufferSize: 100Mi}}}}",
        "{systemReserved: {ephemeral-storage: 1Gi, pid: '1000', cpu: vcpus * 10m}, maxPods: vcpus * 10}",
        "{imageGCHighThresholdPercent: 80, imageGCLowThresholdPercent: 60}",
        "{maxPods: null, memoryThrottlingFactor: 0.9, kubeReserved: {cpu: vcpus * 10, memory: 100Mi}}",
    ],
)
def test_what_a_kubelet_takes_is_taken(check: Callable[..., Report], kubelet: str) -> None:
    assert judged(check, text(kubelet)) == []


@pytest.mark.parametrize(
    ("kubelet", "message"),
    [
        ("{maxPodz: 1}", "warning: `maxPodz` is not a known field (did you mean `maxPods`?)"),
        ("{authentication: {x590: {}}}", "warning: `x590` is not a known field (did you mean `x509`?)"),
        ("{maxPods: true}", "error: `maxPods` must be an integer or a string, but is the boolean `true`"),
        ("{maxPods: -1}", "error: `maxPods` is -1, the minimum is 0"),
        ("{syncFrequency: 10}", "error: `syncFrequency` must be a string, but is the number `10`"),
        ("{syncFrequency: soon}", "error: `soon` is not a duration such as 30s, 5m or 1h30m"),
        ("{registerWithTaints: []}", "error: `registerWithTaints` may not be set: Karpenter sets it from the taints"),
        ("{evictionHard: {pid.available: 101%}}", "error: `101%` is not a percentage up to 100% or a quantity"),
        ("{evictionHard: {memory: 5%}}", "error: `evictionHard` has no key `memory`"),
        ("{kubeReserved: {cpu: 100}}", "error: `cpu` must be a string, but is the number `100`"),
        ("{systemReserved: {memory: -1Gi}}", "error: `-1Gi` is not a quantity of zero or more, or an expression"),
        ("{evictionSoft: {pid.available: 5%}}", "error: each signal of `evictionSoft` needs its time in"),
        (
            "{imageGCHighThresholdPercent: 50, imageGCLowThresholdPercent: 50}",
            "error: `imageGCHighThresholdPercent` must be above `imageGCLowThresholdPercent`",
        ),
    ],
)
def test_what_the_controller_refuses_is_told(check: Callable[..., Report], kubelet: str, message: str) -> None:
    found = judged(check, text(kubelet))
    assert any(text.startswith(message) for text in found), found


SOFT = "evictionSoft: {memory.available: 10%}"
REFUSED = [
    "{logging: {bogus: true}}",
    "{logging: {options: {json: {nope: x}}}}",
    "{podsPerCore: ten}",
    "{podsPerCore: '10'}",
    "{podsPerCore: -1}",
    "{evictionMaxPodGracePeriod: -1}",
    "{evictionMaxPodGracePeriod: '30'}",
    "{logging: {format: 12345}}",
    "{a: {b: [1, two, true]}}",
    "{imageGCHighThresholdPercent: 101}",
    "{imageGCLowThresholdPercent: -1}",
    "{imageGCLowThresholdPercent: '70'}",
    "{imageGCHighThresholdPercent: 60, imageGCLowThresholdPercent: 80}",
    "{kubeReserved: {gpu: '1'}}",
    "{kubeReserved: {cpu: '-1'}}",
    "{systemReserved: {cpu: 1}}",
    "{evictionMinimumReclaim: {notASignal: 500Mi}}",
    "{evictionMinimumReclaim: {memory.available: lots}}",
    "{evictionHard: {memory.available: 5}}",
    "{evictionSoft: {memory.available: 10%}}",
    f"{{{SOFT}, evictionSoftGracePeriod: {{memory.available: soon}}}}",
    f"{{{SOFT}, evictionSoftGracePeriod: {{memory.available: -1m}}}}",
    f"{{{SOFT}, evictionSoftGracePeriod: {{memory.available: 5x}}}}",
    f"{{{SOFT}, evictionSoftGracePeriod: {{nodefs.available: 1m}}}}",
    "{evictionSoftGracePeriod: {memory.available: 1m}}",
    "{clusterDNS: 10.0.0.10}",
    "{cpuCFSQuota: 'true'}",
]
"""Of each of these Karpenter's own tests say that its check of the kubelet refuses it."""


@pytest.mark.parametrize("kubelet", REFUSED)
def test_what_karpenters_own_tests_refuse_is_told(check: Callable[..., Report], kubelet: str) -> None:
    assert judged(check, text(kubelet))


@pytest.mark.parametrize("alias", ["al2@latest", "bottlerocket@latest", "windows2022@latest"])
def test_a_family_that_drops_a_field_is_told(check: Callable[..., Report], alias: str) -> None:
    found = judged(check, text("{seccompDefault: true, maxPods: 10, clusterDNS: [10.0.0.1, 10.0.0.2]}", alias))
    family = {"al2@latest": "AL2", "bottlerocket@latest": "Bottlerocket", "windows2022@latest": "Windows2022"}[alias]
    assert found == [
        f"error: `seccompDefault` does not reach nodes of family {family}: it needs AL2023",
        f"error: nodes of family {family} take one address in `clusterDNS`, not 2",
    ]


def test_bottlerocket_has_no_pods_per_core(check: Callable[..., Report]) -> None:
    message = "error: `podsPerCore` does not reach nodes of family Bottlerocket"
    assert judged(check, text("{podsPerCore: 4}", "bottlerocket@latest")) == [message]
    assert judged(check, text("{podsPerCore: 4}", "al2@latest")) == []


def test_an_older_release_is_judged_by_its_own_rules(check: Callable[..., Report]) -> None:
    report = check(text("{seccompDefault: true}"), karpenter=str(CLOSED))
    assert [result.rule.name for result in report.results] == ["unknown-field"]


def pods(found: EC2NodeClass, name: str, field: str = "maxPods") -> int | None:
    """The `max_pods` that an expression sees, read off the number that it fails with."""
    messages = [
        failure for failure in expressions.failures(found, [name], CATALOG) if failure.expression.field == field
    ]
    return int(messages[0].what.removeprefix("is ")) + 1_000_000 if messages else None


def test_max_pods_is_what_the_published_page_says() -> None:
    """The page is made for AL2023 and default settings; types without published network limits are not judged."""
    found = node_class("{maxPods: max_pods - 1000000}")
    for name in CATALOG:
        expected = int(CATALOG.resources.amounts(name)["pods"]) if CATALOG.resources.network(name) else None
        assert pods(found, name) == expected, name


def test_max_pods_follows_family_interfaces_and_cores() -> None:
    kubelet = "{maxPods: max_pods - 1000000, podsPerCore: 3}"
    assert pods(node_class(kubelet), "m5.xlarge") == 12
    assert pods(node_class(kubelet, "bottlerocket@latest"), "m5.xlarge") == 58
    assert pods(node_class("{maxPods: max_pods - 1000000}", "windows2022@latest"), "m5.xlarge") == 110
    first = "{networkCardIndex: 0, deviceIndex: 0, interfaceType: interface}"
    alone = f"[{first}, {{networkCardIndex: 0, deviceIndex: 1, interfaceType: efa-only}}]"
    assert pods(node_class("{maxPods: max_pods - 1000000}", "al2023@latest", alone), "m5.xlarge") == 44


def test_reservations_see_the_max_pods_that_comes_of_it() -> None:
    found = node_class("{maxPods: 'min(max_pods, 20)', kubeReserved: {memory: max_pods - 1000000}}")
    assert pods(found, "m5.xlarge", "kubeReserved.memory") == 20
    found = node_class("{maxPods: 7, kubeReserved: {memory: max_pods - 1000000}}")
    assert pods(found, "m5.xlarge", "kubeReserved.memory") == 7


@pytest.mark.parametrize(
    ("expression", "variables", "value"),
    [
        ("max(60, vcpus * 30)", {"vcpus": 1}, 60),
        ("max(2.5, vcpus)", {"vcpus": 1}, 2),
        ("instance_type.startsWith('m5.') ? 10 : 20", {"instance_type": "m5.large"}, 10),
        ("-0.5", {}, 0),
        ("max(vcpus, 60.5)", {"vcpus": 16}, 60),
        ("min(110.5, max_pods)", {"max_pods": 20}, 20),
        ("((default_enis - 1) * (ips_per_eni - 1)) + 2", {"default_enis": 3, "ips_per_eni": 10}, 20),
        ("double(memory_mib) * 0.01", {"memory_mib": 1024}, 10),
        ("'110' == '110' ? 110 : 0", {}, 110),
    ],
)
def test_expressions_yield_whole_numbers(expression: str, variables: dict[str, object], value: int) -> None:
    whole = dict.fromkeys(expressions.VARIABLES, 0) | {"instance_type": ""} | variables
    assert expressions.compiled(expression)(whole) == value


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("memory_mib * 0.01", "`*` does not take (int, double): convert with double()"),
        ("min(1, 2, 3)", "`min` takes two arguments"),
        ("cpus", "there is no `cpus`"),
        ("instance_type", "it yields a string, not an int or a double"),
        ("vcpus >", "it is not a CEL expression"),
        ("", "it is not a CEL expression"),
        ("   ", "it is not a CEL expression"),
        ("vcpus > 4", "it yields a bool, not an int or a double"),
        ("self.vcpus", "there is no `self.vcpus`"),
    ],
)
def test_what_does_not_compile_is_explained(expression: str, why: str) -> None:
    with pytest.raises(expressions.NotCompiled) as caught:
        expressions.compiled(expression)
    assert str(caught.value) == why


@pytest.mark.parametrize(
    ("expression", "types", "messages"),
    [
        ("vcpus - 4", "m5.large, m5.xlarge", ["error: `maxPods` is -2 for `m5.large`"]),
        ("vcpus - 8", "m5.large, m5.xlarge", ["error: `maxPods` is -6 for `m5.large` and 1 other type"]),
        ("100 / (vcpus - 4)", "m5.xlarge", ["error: `maxPods` ends in an error (divide by zero) for `m5.xlarge`"]),
        ("1.0 / (double(vcpus) - 4.0)", "m5.xlarge", ["error: `maxPods` is not a finite number for `m5.xlarge`"]),
        ("0.0 / 0.0", "m5.xlarge", ["error: `maxPods` is not a finite number for `m5.xlarge`"]),
        ("100 % (vcpus - 4)", "m5.xlarge", ["error: `maxPods` ends in an error (modulus by zero) for `m5.xlarge`"]),
        ("3000000000", "m5.xlarge", ["error: `maxPods` is 3000000000 for `m5.xlarge`"]),
        ("1e30", "m5.xlarge", ["error: `maxPods` is beyond 64 bits for `m5.xlarge`"]),
        ("memory_mib - 9000", "m5.large, m5.xlarge", ["error: `maxPods` is -808 for `m5.large`"]),
        ("default_enis - 4", "m5.large, m5.xlarge", ["error: `maxPods` is -1 for `m5.large`"]),
        ("ips_per_eni - 11", "m5.large, m5.xlarge", ["error: `maxPods` is -1 for `m5.large`"]),
        ("max_pods - 30", "m5.large, m5.xlarge", ["error: `maxPods` is -1 for `m5.large`"]),
        ("instance_type == 'm5.large' ? -7 : 1", "m5.large, m5.xlarge", ["error: `maxPods` is -7 for `m5.large`"]),
        ("vcpus * 10", "m5.large, m5.xlarge", []),
    ],
)
def test_the_types_of_the_pools_are_tried(
    check: Callable[..., Report], expression: str, types: str, messages: list[str]
) -> None:
    written = text(f'{{maxPods: "{expression}"}}') + POOL.format(types=types)
    assert judged(check, written, "kubelet-expression") == messages


def test_a_type_that_no_pool_uses_may_not_be_offered(check: Callable[..., Report]) -> None:
    written = text('{maxPods: "vcpus - 4"}') + POOL.format(types="m5.xlarge")
    report = check(written, karpenter="next", select=["kubelet-expression"])
    assert report.results == ()
    reasons = [skip.reason for skip in report.skipped]
    assert any("feature gate NodeClassCEL" in reason for reason in reasons)
    assert any("does not know whether the region offers the type" in reason for reason in reasons)


def test_placeholders_are_not_judged(check: Callable[..., Report]) -> None:
    written = text("{maxPods: '${PODS}', kubeReserved: {cpu: '{{ cpu }}'}, evictionHard: {memory.available: '${X}'}}")
    assert judged(check, written) == judged(check, written, "kubelet-expression") == []
