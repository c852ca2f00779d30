"""`why` beside the controller of `disruption_model`, over random small clusters. As a program, it compares many."""

from __future__ import annotations

import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

from nodelint.model.manifest import EC2NodeClass, NodePool
from nodelint.model.releases import Version
from nodelint.rule.context import Context
from nodelint.rule.target import Target
from nodelint.why import Known, explain
from nodelint.why.dump import read_dump
from nodelint.why.objects import read_objects
from tests.why.clusters import cluster, daemon, kubectl_list, node, nodepool, pdb, pod
from tests.why.disruption_model import SIZES, ZONES, ModelCluster, ModelNode, ModelPod, answers

_NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
_RELEASES = ((1, 0, 0), (1, 6, 0), (1, 13, 0), (1, 14, 1))


def make_cluster(seed: int) -> ModelCluster:
    """Return a random cluster of two to five nodes."""
    chance = Random(seed)
    nodes = [
        ModelNode(
            f"node-{letter}",
            chance.choice(["m7i.large", "m7i.large", "m7i.large", "m7i.xlarge", "m7i.2xlarge"]),
            chance.choice(ZONES),
            chance.choice([10, 20, 20, 30]),
            marked=chance.random() < 0.05,
            consolidatable=chance.random() > 0.08,
        )
        for letter in "abcde"[: chance.randint(2, 5)]
    ]
    rules = {app: chance.choice(["", "", "zones", "hosts"]) for app in "xyz"}
    for number in range(chance.randint(1, 12)):
        app, holder = chance.choice("xyz"), chance.choice(nodes)
        cpu = chance.choice([100, 350, 700, 975, 1100, 1400, 2900])
        if holder.free >= cpu:
            holder.pods.append(ModelPod(f"web-{number:02}", cpu, app, rules[app], chance.random() < 0.03))
    return ModelCluster(
        chance.choice(_RELEASES),
        nodes,
        chance.choice(["WhenEmptyOrUnderutilized"] * 6 + ["WhenEmpty"]),
        chance.choice([0, 2, 3, 9, 9, 9]),
        chance.choice(["x", None, None, None, None]),
    )


def _spec(rule: str, app: str) -> dict[str, Any] | None:
    selector = {"matchLabels": {"app": app}}
    if rule == "zones":
        spread = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule"}
        return {"topologySpreadConstraints": [{**spread, "labelSelector": selector}]}
    if rule == "hosts":
        term = {"labelSelector": selector, "topologyKey": "kubernetes.io/hostname"}
        return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    return None


def _objects(model: ModelCluster) -> list[Any]:
    made: list[Any] = []
    for member in model.nodes:
        born = (_NOW - timedelta(hours=member.hours)).strftime("%Y-%m-%dT%H:%M:%SZ")
        made += node(
            member.name,
            type_=member.type,
            zone=member.zone,
            annotations={"karpenter.sh/do-not-disrupt": "true"} if member.marked else {},
            conditions={} if member.consolidatable else {"Consolidatable": ""},
            claim={"metadata": {"creationTimestamp": born}},
            status={} if member.consolidatable else {"lastPodEventTime": "2026-11-20T11:59:50Z"},
        )
        made += [daemon(member.name)] if member.name != "node-a" else []
        for item in member.pods:
            notes = {"karpenter.sh/do-not-disrupt": "true"} if item.protected else {}
            spec, labels = _spec(item.rule, item.app), {"app": item.app}
            made.append(
                pod(item.name, member.name, f"{item.cpu}m", "64Mi", labels=labels, annotations=notes, spec=spec)
            )
    budgets = [{"nodes": str(model.budget)}]
    pool = nodepool(disruption={"consolidationPolicy": model.policy, "budgets": budgets})
    if model.blocked_app is not None:
        made.append(pdb(labels={"app": model.blocked_app}))
    return cluster(*made, pool, release=".".join(map(str, model.release)))


def _explain_model(model: ModelCluster) -> dict[str, tuple[str, str]]:
    dump = read_dump([("dump.json", kubectl_list(_objects(model)))])
    release = Version(*model.release)
    found = read_objects(dump, "cluster.yaml")
    own = [o for o in found.found if isinstance(o, (NodePool, EC2NodeClass))]
    context = Context(own, Target(release))
    resolutions = [context.resolution(o) for o in own if isinstance(o, NodePool)]
    result = explain(dump, found, resolutions, Known(_NOW, release, "a test", spot_to_spot=False))
    return {answer.name: (answer.status, answer.cause.code) for answer in result.nodes}


def compare(seed: int) -> list[tuple[str, tuple[str, str], tuple[str, str]]]:
    """Return the nodes about which the two differ: what `why` says, and what the model says."""
    model = make_cluster(seed)
    ours, theirs = _explain_model(model), answers(model)
    return [(name, ours[name], theirs[name]) for name in theirs if ours[name] != theirs[name]]


@pytest.mark.parametrize("seed", range(30))
def test_why_says_what_the_model_says(seed: int) -> None:
    assert compare(seed) == []


def test_the_model_knows_the_sizes_and_prices_of_its_types() -> None:
    found = read_objects(read_dump([("dump.json", kubectl_list(cluster()))]), "cluster.yaml")
    own = [o for o in found.found if isinstance(o, (NodePool, EC2NodeClass))]
    resolution = Context(own, Target(Version(1, 14, 1))).resolution(next(o for o in own if isinstance(o, NodePool)))
    assert {name: resolution.prices.in_region(name, "us-east-1") for name in SIZES} == {
        n: p for n, (_, p) in SIZES.items()
    }


if __name__ == "__main__":
    kinds: Counter[object] = Counter()
    count = int(sys.argv[1])
    differing = 0
    for number in range(count):
        differences = compare(number)
        differing += bool(differences)
        kinds.update((ours, theirs) for _, ours, theirs in differences)
        for difference in differences:
            print(number, *difference)
    print(f"{count - differing} of {count} clusters agree")
    print(*kinds.most_common(), sep="\n")
