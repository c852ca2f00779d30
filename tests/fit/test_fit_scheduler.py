"""`fit` beside the scheduler of `scheduler_model`, over random pods, daemons, pools and classes."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from nodelint.ec2.catalog import Catalog
from nodelint.fit.tree import Tree
from nodelint.karpenter.resolve.readiness import ready as find_ready
from nodelint.karpenter.resolve.readiness import unmet_by_cheapest
from nodelint.model.cluster_objects import PATTERN, ClusterObject, Workload
from nodelint.model.documents import objects
from nodelint.model.manifest import NodePool
from nodelint.model.releases import Version
from nodelint.rule.context import Context
from nodelint.rule.target import Target
from nodelint.text import Source
from tests.plain_yaml import dump_all_yaml
from tests.scheduler_model import ARCH, AWS, CAPACITY_TYPE, NODE_POOL, OS, TYPE, ZONE, ModelPool, NodeType

RELEASE = Version(1, 14, 1)
WORLD = [
    *("m5.large", "m5.xlarge", "m5.metal", "m6g.large", "m6g.metal", "g5.xlarge", "g5.48xlarge", "g4ad.xlarge"),
    *("g5g.xlarge", "g6f.large", "inf2.xlarge", "t3.nano", "t3.micro", "t4g.nano", "t4g.small", "c6i.large"),
    *(
        "c6i.4xlarge",
        "i4i.large",
        "i3.large",
        "a1.large",
        "c5n.18xlarge",
        "p4d.24xlarge",
        "m7i-flex.large",
        "c7a.medium",
    ),
]
"""Types whose disks are known: of old ones no label tells what `instanceStorePolicy` would use."""
NUMBERS = {f"{AWS}instance-{part}" for part in ("cpu", "memory", "gpu-count", "generation", "local-nvme")} | {"tier"}
VALUES = {
    TYPE: WORLD,
    CAPACITY_TYPE: ["spot", "on-demand", "reserved"],
    ZONE: ["us-east-1a", "us-east-1b"],
    "failure-domain.beta.kubernetes.io/zone": ["us-east-1a"],
    ARCH: ["amd64", "arm64"],
    "beta.kubernetes.io/arch": ["amd64", "arm64"],
    OS: ["linux", "windows"],
    f"{AWS}instance-category": ["m", "c", "g", "t"],
    f"{AWS}instance-family": ["m5", "m6g", "g5", "c6i"],
    f"{AWS}instance-generation": ["3", "5", "6"],
    f"{AWS}instance-cpu": ["2", "4", "16"],
    f"{AWS}instance-memory": ["512", "8192"],
    f"{AWS}instance-gpu-count": ["0", "1", "8"],
    f"{AWS}instance-gpu-manufacturer": ["nvidia", "amd"],
    f"{AWS}instance-local-nvme": ["468"],
    f"{AWS}instance-hypervisor": ["nitro", "xen", ""],
    f"{AWS}capacity-reservation-id": ["cr-1"],
    "team": ["a", "b"],
    "tier": ["3", "7", "b"],
}
OF_PODS = {
    NODE_POOL: ["p0", "p1"],
    "kubernetes.io/hostname": ["h"],
    "karpenter.sh/provisioner-name": ["default"],
    f"{AWS}ec2nodeclass": ["default"],
    "kops.k8s.io/x": ["y"],
}
EFFECTS = ["NoSchedule", "NoExecute", "PreferNoSchedule"]
REQUESTS = {
    "cpu": ["50m", "250m", "1", "1930m", "1931m", "3.92", "15", "1e1"],
    "memory": ["128Mi", "1Gi", "512M", "6903Mi", "6904Mi", "30G", "128e6"],
    "ephemeral-storage": ["1Gi", "17Gi", "18Gi", "400G"],
    "nvidia.com/gpu": ["1", "8"],
    "vpc.amazonaws.com/efa": ["1"],
    "example.com/device": ["0", "1"],
}
LIMITS = {
    "cpu": ["1", "2", "16"],
    "memory": ["1Gi", "7577Mi"],
    "pods": ["4", "29"],
    "nodes": ["0", "3"],
    "nvidia.com/gpu": ["0"],
}


class Maker:
    """Makes manifests at random."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.one = self.random.choice

    def happens(self, share: float) -> bool:
        return self.random.random() < share

    def sample(self, values: list[str], most: int) -> list[str]:
        return self.random.sample(values, self.random.randint(1, min(most, len(values))))

    def expression(self, of_pool: bool) -> dict[str, Any]:
        values = OF_PODS if not of_pool and self.happens(0.06) else VALUES
        key = self.one(list(values))
        operators = ["In", "In", "In", "NotIn", "Exists", "DoesNotExist"]
        operators += ["Gt", "Lt", *(["Gte", "Lte"] if of_pool else [])] if key in NUMBERS else []
        found: dict[str, Any] = {"key": key, "operator": self.one(operators)}
        if found["operator"] in ("In", "NotIn"):
            found["values"] = self.sample(values[key], 3)
        elif found["operator"] not in ("Exists", "DoesNotExist"):
            found["values"] = [self.one(["0", "1", "3", "8", "9223372036854775807"])]
        if of_pool and found["operator"] in ("In", "Exists") and self.happens(0.15):
            found["minValues"] = self.random.randint(1, len(found.get("values", "ab")))
        return found

    def term(self) -> dict[str, Any]:
        return {"matchExpressions": [self.expression(False) for _ in range(self.one([1, 1, 2]))]}

    def amounts(self) -> dict[str, str]:
        found = {value: self.one(REQUESTS[value]) for value in ("cpu", "memory") if self.happens(0.5)}
        if self.happens(0.15):
            extra = self.one(list(REQUESTS))
            found[extra] = self.one(REQUESTS[extra])
        return found

    def containers(self, least: int) -> list[dict[str, Any]]:
        found = []
        for n in range(self.random.randint(least, 2)):
            container: dict[str, Any] = {"name": f"c{n}"}
            container["resources"] = {field: self.amounts() for field in self.sample(["requests", "limits"], 2)}
            if self.happens(0.15):
                port: dict[str, Any] = {"containerPort": self.one([80, 9100])}
                port |= self.one([{}, {"hostPort": port["containerPort"]}])
                container["ports"] = [port | self.one([{}, {"protocol": "UDP"}, {"hostIP": "10.0.0.1"}])]
            found.append(container)
        return found

    def pod(self) -> dict[str, Any]:
        found: dict[str, Any] = {"containers": self.containers(1), "initContainers": self.containers(0)}
        for container in found["initContainers"]:
            container |= self.one([{}, {"restartPolicy": "Always"}])
        found["tolerations"] = [self.toleration() for _ in range(self.one([0, 1, 2]))]
        if self.happens(0.1):
            found["overhead"] = {"cpu": "250m", "memory": "120Mi"}
        if self.happens(0.1):
            found["resources"] = {self.one(["requests", "limits"]): {"cpu": self.one(["1", "3"]), "memory": "2Gi"}}
        found |= self.one([{}, {}, {}, {"hostNetwork": True}])
        if self.happens(0.4):
            values = OF_PODS if self.happens(0.05) else VALUES
            key = self.one(list(values))
            found["nodeSelector"] = {key: self.one(values[key])}
        affinity: dict[str, Any] = {}
        if self.happens(0.5):
            listed = [self.term() for _ in range(self.one([1, 2, 3]))]
            affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": listed}
        if self.happens(0.3):
            weighted = [{"weight": self.one([1, 10, 50]), "preference": self.term()} for _ in range(self.one([1, 2]))]
            affinity["preferredDuringSchedulingIgnoredDuringExecution"] = weighted
        return {**found, "affinity": {"nodeAffinity": affinity}}

    def toleration(self) -> dict[str, Any]:
        found: dict[str, Any] = {"operator": "Exists"}
        if self.happens(0.8):
            found = {"key": self.one(["gpu", "team"]), **self.one([{"operator": "Exists"}, {"value": "x"}, {}])}
        return {**found, **self.one([{}, {"effect": self.one(EFFECTS)}])}

    def pool(self, name: str) -> dict[str, Any]:
        lines = [self.expression(True) for _ in range(self.one([0, 1, 2, 3]))]
        lines.insert(
            self.random.randint(0, len(lines)), {"key": TYPE, "operator": "In", "values": self.sample(WORLD, 24)}
        )
        taints = {
            (self.one(["gpu", "team"]), self.one(EFFECTS)): self.one([{}, {"value": "x"}])
            for _ in range(self.one([0, 0, 1, 2]))
        }
        template = {
            "metadata": {"labels": self.one([{}, {"team": "a"}, {"tier": "3"}, {ARCH: "arm64"}])},
            "spec": {
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
                "requirements": lines,
                "taints": [{"key": key, "effect": effect, **value} for (key, effect), value in taints.items()],
                "startupTaints": [{"key": "starting", "effect": "NoSchedule"}],
            },
        }
        limits = (
            {value: self.one(LIMITS[value]) for value in self.sample(list(LIMITS), 2)} if self.happens(0.4) else {}
        )
        spec = {"template": template, "limits": limits, "weight": self.random.randint(1, 3)}
        return {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": name}, "spec": spec}

    def node_class(self) -> tuple[str, dict[str, Any]]:
        family, term = self.one(
            [
                ("AL2023", {"alias": "al2023@v20250403"}),
                ("Bottlerocket", {"alias": "bottlerocket@v1.30.0"}),
                ("Windows2022", {"alias": "windows2022@latest"}),
                ("Custom", {"id": "ami-0123456789abcdef0"}),
            ]
        )
        kubelet: dict[str, Any] = {}
        kubelet |= self.one([{}, {"maxPods": self.one([5, 29, 110])}, {"podsPerCore": self.one([1, 10])}])
        kubelet |= self.one([{}, {}, {"kubeReserved": {"cpu": "1", "memory": "300Mi"}}])
        kubelet |= self.one([{}, {}, {"systemReserved": {"memory": "200Mi", "ephemeral-storage": "2Gi"}}])
        kubelet |= self.one([{}, {}, {"evictionHard": {"memory.available": "5%", "nodefs.available": "3Gi"}}])
        mapping = {
            "deviceName": self.one(["/dev/xvda", "/dev/xvdb"]),
            "ebs": {"volumeSize": self.one(["2Gi", "50G"])},
        }
        sample = {"subnetSelectorTerms": [{"tags": {"a": "b"}}], "securityGroupSelectorTerms": [{"tags": {"a": "b"}}]}
        spec = {"role": "r", "amiFamily": family, "amiSelectorTerms": [term], "kubelet": kubelet, **sample}
        spec |= self.one([{}, {}, {"blockDeviceMappings": [mapping | self.one([{}, {"rootVolume": True}])]}])
        return family, spec | self.one([{}, {}, {"instanceStorePolicy": "RAID0"}])


@given(st.integers(0, 2**32))
@example(52)
def test_each_verdict_is_that_of_a_second_scheduler(seed: int) -> None:
    """The example: a pod whose first term only types without an image meet. Nothing is relaxed for it."""
    maker = Maker(seed)
    family, spec = maker.node_class()
    pools = [maker.pool(f"p{n}") for n in range(2)]
    daemons = [maker.pod() for _ in range(maker.one([0, 1, 2]))]
    requested = [maker.pod() for _ in range(4)]
    documents = [
        {"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": {"name": "default"}, "spec": spec}
    ]
    documents += pools
    for n, pod in enumerate(daemons):
        template = {"spec": {"template": {"spec": pod}}}
        documents.append({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": f"d{n}"}, **template})
    for n, pod in enumerate(requested):
        documents.append({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"w{n}"}, "spec": pod})
    source = Source.from_text("all.yaml", dump_all_yaml(documents), PATTERN)
    context = Context(list(objects(source)), Target(RELEASE))
    others = [obj for obj in objects(source, more=True) if isinstance(obj, ClusterObject)]
    tree = Tree([context.resolution(obj) for obj in objects(source) if isinstance(obj, NodePool)], others)
    catalog = Catalog.bundled().for_release(RELEASE)
    types = [NodeType(name, spec, family, catalog) for name in WORLD]
    models = {pool["metadata"]["name"]: ModelPool(pool, types, daemons) for pool in pools}
    by_rank = sorted(sorted(models, reverse=True), key=lambda name: -pools[int(name[1])]["spec"]["weight"])
    assert [pool.name for pool in tree.pools] == by_rank
    for workload in (workload for workload in tree.workloads if workload.kind == "Pod"):
        for verdict in tree.fit(workload).verdicts:
            expected = models[verdict.pool.name].take(requested[int(str(workload.name)[1:])])
            resolution = verdict.pool.resolution
            image = set(resolution.catalog.names_in(resolution.launchable)) & set(expected.types)
            found = None if verdict.refusal is None else verdict.refusal.reason
            shown = json.dumps(
                [seed, str(workload.name), verdict.pool.name, verdict.refusal and verdict.refusal.message]
            )
            if expected.types and not image:
                assert found == "requirements" and "image" in str(verdict.refusal), shown
            else:
                assert found == expected.reason, shown
            assert set(resolution.catalog.names_in(verdict.types)) == image, shown


@given(st.integers(0, 2**32))
def test_explain_holds_ready_what_fit_gives_to_a_pod_that_asks_nothing(seed: int) -> None:
    """Limits, room for a pod, images and minValues are one arithmetic for `explain`, `check` and `fit`."""
    maker = Maker(seed)
    _, spec = maker.node_class()
    reference = {"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": {"name": "default"}}
    requested = {"containers": [{"name": "a"}], "tolerations": [{"operator": "Exists"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "w"}, "spec": requested}
    source = Source.from_text("all.yaml", dump_all_yaml([reference | {"spec": spec}, maker.pool("p"), pod]), PATTERN)
    context = Context(list(objects(source)), Target(RELEASE))
    others = [obj for obj in objects(source, more=True) if isinstance(obj, ClusterObject)]
    (pool,) = (obj for obj in objects(source) if isinstance(obj, NodePool))
    resolution = context.resolution(pool)
    (verdict,) = (
        Tree([resolution], others).fit(next(other for other in others if isinstance(other, Workload))).verdicts
    )
    ready = resolution.launchable & find_ready(resolution)
    stopped = any(not least.met for least in resolution.min_values) or unmet_by_cheapest(resolution)
    names = resolution.catalog.names_in
    assert names(verdict.types) == ([] if stopped else names(ready)), (seed, verdict.refusal)
