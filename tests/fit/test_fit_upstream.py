"""`fit` beside what the suites of Karpenter's own scheduler expect, moved to AWS instance types.

Each row names the file and the words of a test of kubernetes-sigs/karpenter v1.14.1, under
pkg/controllers/provisioning/scheduling/ unless another folder is named. Existing nodes and other pods are left out.
"""

from __future__ import annotations

from typing import Any

import pytest

from nodelint.fit.pools import Policies
from nodelint.fit.tree import Tree, WorkloadFit
from nodelint.model.cluster_objects import PATTERN, ClusterObject
from nodelint.model.documents import objects
from nodelint.model.manifest import NodePool
from nodelint.model.releases import Version
from nodelint.rule.context import Context
from nodelint.rule.target import Target
from nodelint.text import Source
from tests.plain_yaml import dump_all_yaml

RELEASE = Version(1, 14, 1)
NODE_CLASS = {
    "apiVersion": "karpenter.k8s.aws/v1",
    "kind": "EC2NodeClass",
    "metadata": {"name": "default"},
    "spec": {
        "role": "r",
        "amiSelectorTerms": [{"alias": "al2023@v20250403"}],
        "subnetSelectorTerms": [{"tags": {"a": "b"}}],
        "securityGroupSelectorTerms": [{"tags": {"a": "b"}}],
    },
}
TYPES = {
    "key": "node.kubernetes.io/instance-type",
    "operator": "In",
    "values": ["m5.large", "m5.2xlarge", "m6g.large", "c6i.large", "g5.xlarge", "r5.large", "t3.medium"],
}
AWS = "karpenter.k8s.aws"
SOFT_TAINT = {"key": "a", "effect": "PreferNoSchedule"}
HOSTNAME = "kubernetes.io/hostname"


def line(key: str, operator: str, *values: str, least: int | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {"key": key, "operator": operator}
    return found | ({"values": list(values)} if values else {}) | ({"minValues": least} if least else {})


def pool(*lines: dict[str, Any], labels: dict[str, str] | None = None, **fields: Any) -> dict[str, Any]:
    """A pool of TYPES: `limits` and `weight` are of its spec, other fields of its template."""
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    own = {name: fields.pop(name) for name in ("limits", "weight") if name in fields}
    spec = {"nodeClassRef": reference, "requirements": [*lines, TYPES], **fields}
    template = {"metadata": {"labels": labels or {}}, "spec": spec}
    metadata = {"name": "p"}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": metadata,
        "spec": {"template": template, **own},
    }


def asks(**requests: str) -> dict[str, Any]:
    amounts = {name.replace("__", "/").replace("_", "-"): amount for name, amount in requests.items()}
    return {"containers": [{"name": "a", "resources": {"requests": amounts}}]}


def required(*terms: list[dict[str, Any]]) -> dict[str, Any]:
    listed = {"nodeSelectorTerms": [{"matchExpressions": term} for term in terms]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": listed}}}


def preferred(*terms: list[dict[str, Any]]) -> dict[str, Any]:
    """Preferences, the first the lightest."""
    weighted = [{"weight": n + 1, "preference": {"matchExpressions": term}} for n, term in enumerate(terms)]
    return {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": weighted}}}


def both(first: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    affinity = {**first["affinity"]["nodeAffinity"], **other["affinity"]["nodeAffinity"]}
    return {"affinity": {"nodeAffinity": affinity}}


def spread(key: str, when: str = "DoNotSchedule", **more: Any) -> dict[str, Any]:
    return {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": when, **more}]}


def near(key: str, field: str = "podAntiAffinity") -> dict[str, Any]:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"a": "b"}}}
    return {"affinity": {field: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def fits(manifest: dict[str, Any], pod: dict[str, Any], *others: dict[str, Any], **policies: bool) -> WorkloadFit:
    template = {"containers": [{"name": "a"}], **pod}
    workload = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "w"}, "spec": template}
    source = Source.from_text("all.yaml", dump_all_yaml([NODE_CLASS, manifest, workload, *others]), PATTERN)
    context = Context(list(objects(source)), Target(RELEASE))
    cluster = [obj for obj in objects(source, more=True) if isinstance(obj, ClusterObject)]
    resolutions = [context.resolution(obj) for obj in objects(source) if isinstance(obj, NodePool)]
    tree = Tree(resolutions, cluster, policies=lambda _: Policies(**policies))
    return tree.fit(next(workload for workload in tree.workloads if workload.name == "w"))


ZONE, ARCH, OS, CAPACITY = (
    "topology.kubernetes.io/zone",
    "kubernetes.io/arch",
    "kubernetes.io/os",
    "karpenter.sh/capacity-type",
)
FAMILY, CPU, GENERATION = f"{AWS}/instance-family", f"{AWS}/instance-cpu", f"{AWS}/instance-generation"
TYPE = "node.kubernetes.io/instance-type"
GPU_TAINT = {"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], str | None]] = {
    # suite_test.go, Custom Constraints
    "unconstrained pods that don't have matching node selectors": (pool(labels={"k": "v"}), {}, None),
    "conflicting node selectors": (pool(labels={"k": "v"}), {"nodeSelector": {"k": "w"}}, "requirements"),
    "node selectors with undefined key": (pool(), {"nodeSelector": {"k": "v"}}, "requirements"),
    "matching requirements": (pool(labels={"k": "v"}), required([line("k", "In", "v", "w")]), None),
    "conflicting requirements": (pool(labels={"k": "v"}), required([line("k", "In", "w")]), "requirements"),
    "a hostname selector": (pool(), {"nodeSelector": {"kubernetes.io/hostname": "red-node"}}, "requirements"),
    "nodeselector unknown": (pool(line(ZONE, "In", "a")), {"nodeSelector": {ZONE: "unknown"}}, "requirements"),
    "compatible requirements with Operator=Gt": (pool(line(CPU, "Gt", "2")), {}, None),
    "no type has more": (pool(line(CPU, "Gt", "8")), {}, "requirements"),
    "the pod's bound and the pool's values": (
        pool(line(CPU, "In", "2", "8")),
        required([line(CPU, "Lt", "2")]),
        "requirements",
    ),
    "bounds that cross": (pool(line(CPU, "Gt", "4")), required([line(CPU, "Lt", "5")]), "requirements"),
    "bounds that meet in no type": (pool(line(CPU, "Gt", "4")), required([line(CPU, "Lt", "8")]), "requirements"),
    "compatible requirements with Operator=Gte": (pool(line(CPU, "Gte", "8")), {}, None),
    "compatible requirements with Operator=Lte": (pool(line(CPU, "Lte", "1")), {}, "requirements"),
    "Gte in a pod is read as in a pool": (pool(), required([line(CPU, "Gte", "8")]), None),
    "incompatible preferences and requirements with Operator=In": (
        pool(),
        both(preferred([line(ZONE, "In", "unknown")]), required([line(ZONE, "In", "us-east-1c")])),
        None,
    ),
    "compatible requirements with Operator=NotIn": (
        pool(line(ZONE, "In", "us-east-1a", "us-east-1b")),
        required([line(ZONE, "NotIn", "us-east-1a")]),
        None,
    ),
    "every zone of the pool excluded": (
        pool(line(ZONE, "In", "us-east-1a")),
        required([line(ZONE, "NotIn", "us-east-1a")]),
        "requirements",
    ),
    # Constraints Validation
    "node selectors with restricted labels": (
        pool(),
        {"nodeSelector": {"karpenter.sh/provisioner-name": "x"}},
        "requirements",
    ),
    "node selectors with restricted domains": (
        pool(labels={"k": "v"}),
        {"nodeSelector": {"team.karpenter.sh/test": "test"}},
        "requirements",
    ),
    "label in the kubernetes domains": (
        pool(labels={"kubernetes.io/test": "test-value"}),
        {"nodeSelector": {"kubernetes.io/test": "test-value"}},
        None,
    ),
    "label in subdomain from kubernetes domains": (
        pool(labels={"sub.k8s.io/test": "test-value"}),
        {"nodeSelector": {"sub.k8s.io/test": "test-value"}},
        None,
    ),
    "labels of the pool and its class are no label that a pod may select by class": (
        pool(),
        {"nodeSelector": {f"{AWS}/ec2nodeclass": "default"}},
        "requirements",
    ),
    "the pool by its name": (pool(), {"nodeSelector": {"karpenter.sh/nodepool": "p"}}, None),
    "another pool by its name": (pool(), {"nodeSelector": {"karpenter.sh/nodepool": "q"}}, "requirements"),
    # Scheduling Logic
    "NotIn operator and undefined key": (pool(), required([line("k", "NotIn", "v")]), None),
    "Exists operator and undefined key": (pool(), required([line("k", "Exists")]), "requirements"),
    "DoesNotExist operator and undefined key": (pool(), required([line("k", "DoesNotExist")]), None),
    "matching value and NotIn operator": (
        pool(labels={"k": "v"}),
        required([line("k", "NotIn", "v")]),
        "requirements",
    ),
    "Exists operator and defined key": (pool(line("k", "In", "v")), required([line("k", "Exists")]), None),
    "DoesNotExist operator and defined key": (
        pool(line("k", "In", "v")),
        required([line("k", "DoesNotExist")]),
        "requirements",
    ),
    "Exists operator should not overwrite the existing value": (
        pool(line("k", "Exists")),
        {"nodeSelector": {"k": "anything"}},
        None,
    ),
    "a well-known label that no type has": (pool(), required([line(f"{AWS}/placement-group-id", "Exists")]), None),
    # Preferential Fallback
    "should not relax the final term": (
        pool(line(ZONE, "In", "us-east-1a")),
        required([line(ZONE, "In", "invalid")]),
        "requirements",
    ),
    "should relax multiple terms": (
        pool(),
        required(
            *([line("k", "In", value)] for value in ("a", "b", "c")),
            [line(ZONE, "In", "us-east-1a")],
            [line(ZONE, "In", "us-east-1b")],
        ),
        None,
    ),
    "should relax all terms": (pool(), preferred([line("k", "In", "a")], [line("l", "In", "b")]), None),
    "preference requirements are conflicting": (
        pool(),
        preferred([line(ZONE, "In", "us-east-1a"), line(ZONE, "NotIn", "us-east-1a")]),
        None,
    ),
    # Instance Type Compatibility
    "more resources than any instance type has": (pool(), asks(cpu="512"), "resources"),
    "node affinity/instance type": (
        pool(),
        required([line(TYPE, "In", "m6g.large"), line(ARCH, "In", "arm64")]),
        None,
    ),
    "arch that no such type has": (
        pool(),
        required([line(TYPE, "In", "m6g.large"), line(ARCH, "In", "amd64")]),
        "requirements",
    ),
    "operating system that no type has": (pool(), {"nodeSelector": {OS: "windows"}}, "requirements"),
    "resources that aren't on a single instance type": (
        pool(),
        asks(**{"nvidia.com__gpu": "1", "aws.amazon.com__neuron": "1"}),
        "resources",
    ),
    "requirements of one type and resources of another": (
        pool(),
        {**asks(cpu="6"), "nodeSelector": {ARCH: "arm64"}},
        "resources",
    ),
    # Binpacking
    "zero-quantity resource requests": (pool(), asks(cpu="0", foo__com="0"), None),
    "initContainer resource requests greater than available instance types": (
        pool(),
        {"initContainers": [{"name": "i", "resources": {"requests": {"cpu": "9"}}}]},
        "resources",
    ),
    "runtime class into consideration": (pool(), {**asks(cpu="7"), "overhead": {"cpu": "1"}}, "resources"),
    "pod-level resources stand for the containers'": (
        pool(),
        {**asks(cpu="1"), "resources": {"requests": {"cpu": "100"}}},
        "resources",
    ),
    "huge pages that no node has": (pool(), asks(hugepages_2Mi="2Mi", cpu="1"), "resources"),
    "ephemeral storage beyond the disk": (pool(), asks(ephemeral_storage="18Gi"), "resources"),
    # instance_selection_test.go, MinValues
    "respecting the minValues from instance-type requirements": (
        pool(line(FAMILY, "Exists", least=3)),
        {},
        None,
    ),
    "minimum number of InstanceTypes is not met": (
        pool(line(FAMILY, "Exists", least=3)),
        {"nodeSelector": {ARCH: "arm64"}},
        "minValues",
    ),
    "the max of the minValues of several lines of a key": (
        pool(line(FAMILY, "Exists", least=1), line(FAMILY, "NotIn", "x1", least=4)),
        asks(memory="5Gi"),
        None,
    ),
    "minValues of two keys, one is not met": (
        pool(line(FAMILY, "Exists", least=1), line(GENERATION, "Exists", least=2)),
        {"nodeSelector": {FAMILY: "m5"}},
        "minValues",
    ),
    "minValues in Gt operator is not satisfied": (
        pool(line(CPU, "Gt", "1", least=4)),
        {},
        "requirements",
    ),
    "no type at all says what it lacks, not minValues": (
        pool(line(FAMILY, "Exists", least=3)),
        asks(cpu="512"),
        "resources",
    ),
    # limits: provisioning/suite_test.go, Resource Limits
    "limits that no type meets come before taints": (
        pool(limits={"cpu": "1"}, taints=[{"key": "a", "effect": "NoSchedule"}]),
        {},
        "limits",
    ),
    "of several limits each counts": (pool(limits={"cpu": "8", "memory": "1Gi"}), {}, "limits"),
    "a limit of nothing": (pool(limits={"memory": "0"}), {}, "limits"),
    "a limit of a resource that types have none of": (pool(limits={"nvidia.com/gpu": "0"}), asks(cpu="1"), None),
    "a limit of a resource that no type has": (pool(limits={"example.com/x": "0"}), {}, None),
    "no nodes": (pool(limits={"nodes": "0"}), {}, "limits"),
    "what the limits leave is too small": (pool(limits={"cpu": "2"}), asks(cpu="3"), "resources"),
    # pkg/scheduling/taints_test.go and suite_test.go
    "a taint that is not tolerated": (pool(taints=[GPU_TAINT]), {}, "taint"),
    "tolerated with an empty key and Exists": (
        pool(taints=[GPU_TAINT]),
        {"tolerations": [{"operator": "Exists"}]},
        None,
    ),
    "tolerated for another effect": (
        pool(taints=[GPU_TAINT]),
        {"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoExecute"}]},
        "taint",
    ),
    "Equal is the operator that is meant": (
        pool(taints=[GPU_TAINT]),
        {"tolerations": [{"key": "nvidia.com/gpu", "value": "true"}]},
        None,
    ),
    "tolerated for a time": (
        pool(taints=[{"key": "a", "effect": "NoExecute"}]),
        {"tolerations": [{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1}]},
        None,
    ),
    "one of two taints": (
        pool(taints=[GPU_TAINT, {"key": "a", "effect": "NoSchedule"}]),
        {"tolerations": [{"key": "a", "operator": "Exists"}]},
        "taint",
    ),
    "startup taints": (pool(startupTaints=[GPU_TAINT]), {}, None),
    "PreferNoSchedule is tolerated in the end": (
        pool(taints=[{"key": "a", "effect": "PreferNoSchedule"}]),
        {},
        None,
    ),
    "a taint counts before what is selected": (pool(taints=[GPU_TAINT]), {"nodeSelector": {"k": "v"}}, "taint"),
    # offering
    "a reservation that is not there": (pool(), {"nodeSelector": {CAPACITY: "reserved"}}, "requirements"),
    "a capacity type that the pool excludes": (
        pool(line(CAPACITY, "In", "on-demand")),
        {"nodeSelector": {CAPACITY: "spot"}},
        "requirements",
    ),
    "a capacity type in capitals": (pool(), {"nodeSelector": {CAPACITY: "SPOT"}}, "requirements"),
    # label normalization: pkg/scheduling/requirements_test.go
    "beta.kubernetes.io/arch": (pool(), {"nodeSelector": {"beta.kubernetes.io/arch": "arm64"}}, None),
    "beta.kubernetes.io/instance-type": (
        pool(),
        {"nodeSelector": {"beta.kubernetes.io/instance-type": "m5.24xlarge"}},
        "requirements",
    ),
    "topology.ebs.csi.aws.com/zone": (
        pool(line(ZONE, "In", "us-east-1a")),
        {"nodeSelector": {"topology.ebs.csi.aws.com/zone": "us-east-1b"}},
        "requirements",
    ),
    # topology_test.go
    "spread over zones": (pool(), spread(ZONE), None),
    "minDomains that the zones do not reach": (
        pool(line(ZONE, "In", "us-east-1a")),
        spread(ZONE, minDomains=3),
        None,
    ),
    "should ignore unknown topology keys": (pool(), spread("unknown"), "requirements"),
    "spread over a label of the pool": (pool(line("rack", "In", "a", "b")), spread("rack"), None),
    "ScheduleAnyway over an unknown key": (pool(), spread("unknown", "ScheduleAnyway"), None),
    "required terms go before ScheduleAnyway does, so that the first alone is never tried": (
        pool(),
        {
            **spread("unknown", "ScheduleAnyway"),
            **required([line(ZONE, "In", "us-east-1a")], [line("k", "In", "v")]),
        },
        "requirements",
    ),
    "spread over hosts": (pool(), spread("kubernetes.io/hostname", nodeAffinityPolicy="Ignore"), None),
    "anti-affinity on hosts": (pool(), near("kubernetes.io/hostname"), None),
    "anti-affinity on an unknown key": (pool(), near("rack"), "requirements"),
    "pod affinity on an unknown key": (pool(), near("rack", "podAffinity"), "requirements"),
    # topology.go@v1.14.1:123: domains are the values that are listed, by keys that are normalized
    "spread over a label that nodes of the pool lack": (
        pool(line("rack", "DoesNotExist")),
        spread("rack"),
        "requirements",
    ),
    "spread over a label without values": (pool(line("rack", "Exists")), spread("rack"), "requirements"),
    "spread over an old key of the zone": (
        pool(),
        spread("failure-domain.beta.kubernetes.io/zone"),
        "requirements",
    ),
    "spread over pools": (pool(), spread("karpenter.sh/nodepool"), "requirements"),
    "spread over a label of the pool of which the pod selects another value": (
        pool(line("rack", "In", "a", "b")),
        {**spread("rack"), "nodeSelector": {"rack": "b"}},
        None,
    ),
    # topologydomaingroup.go@v1.14.1:56: domains of nodes that are not tolerated are none, for good with affinity
    "anti-affinity in zones whose nodes are to be avoided": (pool(taints=[SOFT_TAINT]), near(ZONE), "requirements"),
    "anti-affinity in zones whose nodes are tolerated": (
        pool(taints=[SOFT_TAINT]),
        {**near(ZONE), "tolerations": [{"operator": "Exists"}]},
        None,
    ),
    "anti-affinity on hosts that are to be avoided": (pool(taints=[SOFT_TAINT]), near(HOSTNAME), None),
    "spread over zones whose nodes are to be avoided": (pool(taints=[SOFT_TAINT]), spread(ZONE), None),
    "spread that honors taints, over zones whose nodes are to be avoided": (
        pool(taints=[SOFT_TAINT]),
        spread(ZONE, nodeTaintsPolicy="Honor"),
        None,
    ),
}


@pytest.mark.parametrize("title", CASES)
def test_verdict_and_reason_are_those_of_upstreams_suites(title: str) -> None:
    manifest, pod, expected = CASES[title]
    (verdict,) = fits(manifest, pod).verdicts
    assert (verdict.refusal and verdict.refusal.reason) == expected, verdict.refusal


@pytest.mark.parametrize(("relaxed", "expected"), [(False, "minValues"), (True, None)])
def test_best_effort_gives_up_min_values(relaxed: bool, expected: str | None) -> None:
    """instance_selection_test.go, `MinValuesPolicy`."""
    manifest, pod, _ = CASES["minimum number of InstanceTypes is not met"]
    (verdict,) = fits(manifest, pod, min_values_relaxed=relaxed).verdicts
    assert (verdict.refusal and verdict.refusal.reason) == expected


@pytest.mark.parametrize(
    ("daemon", "expected"),
    [
        ({}, "resources"),
        ({"nodeSelector": {ARCH: "arm64"}}, None),
        ({"nodeSelector": {"k": "v"}}, None),
        (required([line("karpenter.sh/registered", "In", "true")]), "resources"),
        (required([line("k", "In", "v")], [line(ARCH, "In", "amd64")]), "resources"),
        (preferred([line("k", "In", "v")]), "resources"),
        (required([line(ARCH, "Exists")], [line("k", "In", "v")]), "resources"),
        (required([line("karpenter.k8s.aws/instance-cpu", "In", "8")], [line("k", "In", "v")]), None),
    ],
)
def test_daemons_take_room_where_they_run(daemon: dict[str, Any], expected: str | None) -> None:
    """suite_test.go, `DaemonSets`: 7 of 7.91 CPUs of m5.2xlarge are asked for, and 1 by the daemon.

    scheduler.go@v1.14.1:1020: a required term that is not the last is gone once a type has not met it.
    """
    template = {"spec": {"template": {"spec": {**asks(cpu="1"), **daemon}}}}
    other = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "d"}, **template}
    (verdict,) = fits(pool(), asks(cpu="7"), other).verdicts
    assert (verdict.refusal and verdict.refusal.reason) == expected


@pytest.mark.parametrize(
    ("zones", "expected"),
    [(["us-east-1a"], None), (["us-east-1b"], "requirements"), (["us-east-1b", "us-east-1a"], None)],
)
@pytest.mark.parametrize("ephemeral", [False, True])
def test_volumes_hold_pods_in_their_zones(zones: list[str], expected: str | None, ephemeral: bool) -> None:
    """suite_test.go, `VolumeUsage`: terms of AllowedTopologies are alternatives, also for ephemeral volumes."""
    allowed = [
        {"matchLabelExpressions": [{"key": "topology.ebs.csi.aws.com/zone", "values": [zone]}]} for zone in zones
    ]
    storage = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "s"},
        "volumeBindingMode": "WaitForFirstConsumer",
        "allowedTopologies": allowed,
    }
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"}}
    spec = {"spec": {"storageClassName": "s"}}
    made = (
        {"ephemeral": {"volumeClaimTemplate": spec}} if ephemeral else {"persistentVolumeClaim": {"claimName": "c"}}
    )
    pod = {"volumes": [{"name": "v", **made}]}
    (verdict,) = fits(pool(line(ZONE, "In", "us-east-1a")), pod, storage, claim | spec).verdicts
    assert (verdict.refusal and verdict.refusal.reason) == expected


@pytest.mark.parametrize(
    ("pod", "possible"),
    [
        (asks(**{"nvidia.com__gpu": "1"}), True),
        (asks(cpu="1"), False),
        (asks(**{"nvidia.com__gpu": "2"}), False),
        ({**asks(cpu="1"), "runtimeClassName": "nvidia"}, True),
    ],
)
def test_what_the_api_server_adds_makes_nothing_impossible(pod: dict[str, Any], possible: bool) -> None:
    """ExtendedResourceToleration of EKS: a pod that requests GPUs tolerates their taint. Karpenter's word stays."""
    found = fits(pool(taints=[GPU_TAINT]), pod)
    assert [verdict.refusal and verdict.refusal.reason for verdict in found.verdicts] == ["taint"]
    assert (found.possible, found.admission is not None) == (possible, possible)
