"""How pods are packed onto nodes, beside what Karpenter's own suite expects, and beside a second scheduler."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodelint.ec2.catalog import Catalog
from nodelint.fit.packing import Packer, PodGroup
from nodelint.fit.pods import pod_of
from nodelint.fit.tree import Tree
from nodelint.model.cluster_objects import PATTERN, ClusterObject
from nodelint.model.documents import objects
from nodelint.model.manifest import NodePool
from nodelint.rule.context import Context
from nodelint.rule.target import Target
from nodelint.text import Source
from tests.fit.test_fit_scheduler import WORLD, Maker
from tests.fit.test_fit_upstream import NODE_CLASS, RELEASE, asks, line, near, pool, spread
from tests.plain_yaml import dump_all_yaml
from tests.scheduler_model import ModelPool, NodeType, pack

TYPE, ARCH = "node.kubernetes.io/instance-type", "kubernetes.io/arch"
FAMILY = "karpenter.k8s.aws/instance-family"
LABELS = {"a": "b"}
AMD64 = {"nodeSelector": {ARCH: "amd64"}}


def tree_of(*documents: dict[str, Any]) -> Tree:
    source = Source.from_text("all.yaml", dump_all_yaml(documents), PATTERN)
    context = Context(list(objects(source)), Target(RELEASE))
    cluster = [obj for obj in objects(source, more=True) if isinstance(obj, ClusterObject)]
    return Tree([context.resolution(obj) for obj in objects(source) if isinstance(obj, NodePool)], cluster)


def deployment(name: str, spec: dict[str, Any], replicas: int = 1) -> dict[str, Any]:
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "a"}], **spec}}
    metadata = {"name": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {"replicas": replicas, "template": template},
    }


def packed(tree: Tree, counts: dict[str, int]) -> list[tuple[str, str | None, int]]:
    """Each node as its pool, the cheapest of its types, and its pods."""
    groups = [
        PodGroup(workload, pod, counts[str(workload.name)], tree.pools)
        for workload in tree.workloads
        if not workload.is_daemon and (pod := pod_of(workload)) is not None
    ]
    found = Packer({id(pool): tree.daemon_groups(pool, None) for pool in tree.pools}).pack(groups)
    cheapest = [node.pool.resolution.prices.cheapest_type(node.types) for node in found.nodes]
    return sorted(
        (str(node.pool.name), price[1] if price else None, node.pods)
        for node, price in zip(found.nodes, cheapest, strict=True)
    )


ONE_SIZE = pool(line(TYPE, "In", "m5.large"))
"""Nodes with 6903 MiB and 1930m for pods, 29 at most."""
SIZES = pool(line(TYPE, "In", "m5.large", "m5.2xlarge"))
CASES: dict[str, tuple[dict[str, Any], list[tuple[dict[str, Any], int]], list[tuple[str | None, int]]]] = {
    # suite_test.go, Binpacking
    "a small pod on the smallest instance": (SIZES, [(asks(memory="100M"), 1)], [("m5.large", 1)]),
    "multiple small pods on the smallest possible instance type": (
        SIZES,
        [(asks(memory="10M"), 5)],
        [("m5.large", 5)],
    ),
    "new nodes when a node is at capacity": (
        ONE_SIZE,
        [({**asks(memory="3.3Gi"), **AMD64}, 40)],
        [("m5.large", 2)] * 20,
    ),
    "small and large pods together": (
        ONE_SIZE,
        [({**asks(memory="100Mi"), **AMD64}, 20), ({**asks(memory="3.3Gi"), **AMD64}, 40)],
        [("m5.large", 3)] * 20,
    ),
    "nodes tightly": (SIZES, [(asks(cpu="7.9"), 1), (asks(cpu="1"), 1)], [("m5.2xlarge", 1), ("m5.large", 1)]),
    "pods that exceed every instance type's capacity": (SIZES, [(asks(memory="2Ti"), 1)], []),
    "a node is at capacity due to pod limits per node": (
        ONE_SIZE,
        [({**asks(cpu="1m", memory="1m"), **AMD64}, 145)],
        [("m5.large", 29)] * 5,
    ),
    # suite_test.go, In-Flight Nodes
    "an in-flight node that can support the pod": (
        ONE_SIZE,
        [(asks(cpu="10m"), 1), (asks(cpu="10m"), 1)],
        [("m5.large", 2)],
    ),
    "a pod won't fit on the node": (ONE_SIZE, [(asks(cpu="1001m"), 1), (asks(cpu="1"), 1)], [("m5.large", 1)] * 2),
    "a pod isn't compatible with the node (node selector)": (
        pool(line(TYPE, "In", "m5.large", "m6g.large")),
        [({**asks(cpu="10m"), **AMD64}, 1), ({"nodeSelector": {ARCH: "arm64"}}, 1)],
        [("m5.large", 1), ("m6g.large", 1)],
    ),
    "pods with the same host port to different nodes": (
        ONE_SIZE,
        [({"containers": [{"name": "a", "ports": [{"containerPort": 80, "hostPort": 80}]}]}, 2)],
        [("m5.large", 1)] * 2,
    ),
    # topology_test.go
    "balance pods across hostnames": (
        ONE_SIZE,
        [(spread("kubernetes.io/hostname", labelSelector={"matchLabels": LABELS}), 4)],
        [("m5.large", 1)] * 4,
    ),
    "a spread over other pods": (
        ONE_SIZE,
        [(spread("kubernetes.io/hostname", labelSelector={"matchLabels": {"c": "d"}}), 4)],
        [("m5.large", 4)],
    ),
    "separate nodes using simple pod anti-affinity on hostname": (
        ONE_SIZE,
        [(near("kubernetes.io/hostname"), 3)],
        [("m5.large", 1)] * 3,
    ),
    "balance pods across zones": (
        pool(line(TYPE, "In", "m5.large"), line("topology.kubernetes.io/zone", "In", "us-east-1a", "us-east-1b")),
        [(spread("topology.kubernetes.io/zone", labelSelector={"matchLabels": LABELS}), 5)],
        [("m5.large", 2), ("m5.large", 3)],
    ),
    "as many domains as there have to be": (
        pool(line(TYPE, "In", "m5.large"), line("topology.kubernetes.io/zone", "In", "us-east-1a", "us-east-1b")),
        [(spread("topology.kubernetes.io/zone", minDomains=2, labelSelector={"matchLabels": LABELS}), 5)],
        [("m5.large", 2), ("m5.large", 3)],
    ),
    "fewer domains than there have to be": (
        pool(line(TYPE, "In", "m5.large"), line("topology.kubernetes.io/zone", "In", "us-east-1a", "us-east-1b")),
        [(spread("topology.kubernetes.io/zone", minDomains=3, labelSelector={"matchLabels": LABELS}), 5)],
        [("m5.large", 1)] * 2,
    ),
    # instance_selection_test.go and suite_test.go of provisioning
    "limits count the largest type of a node": (
        pool(line(TYPE, "In", "m5.large", "m5.2xlarge"), limits={"cpu": "10"}),
        [(asks(cpu="1.5"), 6)],
        [("m5.2xlarge", 5), ("m5.large", 1)],
    ),
    "a pod that would leave fewer families than minValues joins no node that has pods": (
        pool(line(FAMILY, "In", "m5", "c6i", least=2)),
        [(asks(cpu="10m"), 1), ({**asks(cpu="10m"), "nodeSelector": {FAMILY: "m5"}}, 1)],
        [("c6i.large", 1)],
    ),
    "a limit of nodes": (
        pool(line(TYPE, "In", "m5.large"), limits={"nodes": "1"}),
        [(asks(cpu="1.5"), 3)],
        [("m5.large", 1)],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_nodes_are_those_that_karpenters_suite_expects(name: str) -> None:
    manifest, pods, expected = CASES[name]
    documents = [deployment(f"w{n}", spec, count) for n, (spec, count) in enumerate(pods)]
    tree = tree_of(NODE_CLASS, manifest, *documents)
    found = packed(tree, {f"w{n}": count for n, (_, count) in enumerate(pods)})
    assert sorted(node[1:] for node in found) == sorted(expected)


@pytest.mark.slow
@settings(max_examples=60)
@given(st.integers(0, 2**32))
def test_each_node_is_that_of_a_second_scheduler(seed: int) -> None:
    """The pool, the pods and the types of every node, for a batch of random pods, pools, limits and daemons."""
    maker = Maker(seed)
    family, spec = maker.node_class()
    pools = [maker.pool(f"p{n}") for n in range(2)]
    daemons = [maker.pod() for _ in range(maker.one([0, 1]))]
    requested = [(maker.pod(), Random(seed + n).randint(1, 4)) for n in range(6)]
    node_class = {"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": {"name": "default"}}
    documents: list[dict[str, Any]] = [{**node_class, "spec": spec}, *pools]
    for n, daemon in enumerate(daemons):
        template = {"spec": {"template": {"spec": daemon}}}
        documents.append({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": f"d{n}"}, **template})
    documents += [deployment(f"w{n}", pod) for n, (pod, _) in enumerate(requested)]
    tree = tree_of(*documents)
    types = [NodeType(name, spec, family, Catalog.bundled().for_release(RELEASE)) for name in WORLD]
    models = {manifest["metadata"]["name"]: ModelPool(manifest, types, daemons) for manifest in pools}
    ordered = [models[str(pool_of_run.name)] for pool_of_run in tree.pools]
    specs = [(n, pod) for n, (pod, count) in enumerate(requested) for _ in range(count)]
    expected = sorted(
        (node.pool, sorted(specs[number][0] for number in node.pods), sorted(node.types))
        for node in pack(ordered, [pod for _, pod in specs])
    )
    workloads = {str(workload.name): workload for workload in tree.workloads}
    groups = [
        PodGroup(workload, pod, count, tree.pools if tree.fit(workload).ignored is None else ())
        for n, (_, count) in enumerate(requested)
        if (pod := pod_of(workload := workloads[f"w{n}"])) is not None
    ]
    found = Packer({id(pool_of_run): tree.daemon_groups(pool_of_run, None) for pool_of_run in tree.pools}).pack(
        groups
    )
    shown = sorted(
        (
            tree.pools.index(node.pool),
            sorted(n for n, count in node.groups.items() for _ in range(count)),
            sorted(node.pool.resolution.catalog.names_in(node.types)),
        )
        for node in found.nodes
    )
    assert shown == expected
