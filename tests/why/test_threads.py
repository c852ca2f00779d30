"""Clusters of people who asked in Karpenter's trackers why a node stays, made anew and small."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.forked import Command
from tests.why.clusters import NOW, POOL_REQUIREMENTS, cluster, daemon, event, kubectl_list, node, nodepool, pdb, pod
from tests.why.test_why import DELETED, RATHER_APART, SPOT, SPREAD, WAITS

_LARGE = {**POOL_REQUIREMENTS[1], "values": ["r5a.4xlarge", "r5a.8xlarge"]}
_ANY_HOST = {
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"app": "web"}},
        }
    ]
}
_DNS = {"k8s-app": "kube-dns"}


def _dns_pods(count: int) -> list[Any]:
    term = json.loads(json.dumps(RATHER_APART).replace('"app": "web"', '"k8s-app": "kube-dns"'))
    return [pod(f"coredns-{n}", cpu="100m", memory="70Mi", labels=_DNS, spec=term) for n in range(count)]


def _dns_on(name: str) -> list[Any]:
    (made,) = _dns_pods(1)
    made["metadata"]["name"] = "coredns-other"
    made["spec"]["nodeName"] = name
    return [made]


_SPOT_TOO = [{**POOL_REQUIREMENTS[0], "values": ["spot", "on-demand"]}, POOL_REQUIREMENTS[1]]

# Each with the status, the reason, and words that the answer has to have.
THREADS: dict[str, tuple[list[Any], str, str, tuple[str, ...]]] = {
    "core 2238: an empty 16xlarge, and a pod with a bad PDB": (
        cluster(node(type_="m7i.16xlarge"), pod("xyz-1"), pdb("bad", minAvailable="100%"), release="1.4.0"),
        *("stays", "pdb"),
        ("default/bad", "default/xyz-1", "minAvailable: 100%", "maxUnavailable: 1"),
    ),
    "core 2802: a PDB that never allows an eviction": (
        cluster(
            *(node(), pod("nginx-1"), pdb("nginx-test-pdb", minAvailable=2)),
            event("Can't replace with a cheaper node"),
            event("Pdb prevents pod evictions (PodDisruptionBudget=[default/nginx-test-pdb])", "DisruptionBlocked"),
        ),
        *("stays", "pdb"),
        ("default/nginx-test-pdb", "it never allows one", "DisruptionBlocked, the same cause"),
    ),
    "provider 3745: which pod, by which constraint": (
        cluster(node(), node("node-b", zone="us-east-1b"), pod(spec=SPREAD), pod("web-2", "node-b", spec=SPREAD)),
        *("stays", "no-cheaper-type"),
        ("default/web-1: node node-b has room, but its topologySpreadConstraints over zone (maxSkew 1)",),
    ),
    "provider 4533: pods that cannot be scheduled stop consolidation": (
        cluster(node(), node("node-b"), pod(), pod("big-1", "", "7", phase="Pending", status=WAITS)),
        *("stays", "pending-pods"),
        ("default/big-1 waits for a node",),
    ),
    "provider 7411: WhenEmpty, and no event says so": (
        cluster(
            node(),
            pod(),
            nodepool("devops", disruption={"consolidationPolicy": "WhenEmpty"}),
            node("node-a", "devops"),
        ),
        *("stays", "policy"),
        ("consolidationPolicy: WhenEmpty", "WhenEmpty -> WhenEmptyOrUnderutilized"),
    ),
    "provider 3406: nine pods of coredns that would rather be apart": (
        cluster(node(type_="m7i.2xlarge"), *_dns_pods(9)),
        *("stays", "several-nodes"),
        ("9 new nodes", "only preferred", "PREFERENCE_POLICY=Ignore"),
    ),
    "core 667: ScheduleAnyway over hosts keeps nodes apart": (
        cluster(node(), node("node-b"), pod(spec=_ANY_HOST), pod("web-2", "node-b", spec=_ANY_HOST)),
        *("stays", "no-cheaper-type"),
        ("node-b has room, but its topologySpreadConstraints over hostname (maxSkew 1)",),
    ),
    "core 669: spot is not replaced by spot": (
        cluster(
            *(node(capacity="spot", type_="m7i.xlarge"), pod(), nodepool(requirements=SPOT)),
            event("Can't replace a spot node with a spot node"),
        ),
        *("stays", "spot-to-spot"),
        ("SpotToSpotConsolidation is off", "spotToSpotConsolidation: false -> true", "the same cause"),
    ),
    "core 1442: can't remove without creating 2 candidates": (
        cluster(
            node(type_="r5a.12xlarge", status={"allocatable": {"cpu": "47", "memory": "370Gi", "pods": "234"}}),
            *(pod("db-1", cpu="30", memory="100Gi"), pod("db-2", cpu="10", memory="150Gi")),
            nodepool(requirements=[POOL_REQUIREMENTS[0], _LARGE]),
            release="1.0.6",
        ),
        *("stays", "several-nodes"),
        ("2 new nodes", "default/db-1 and default/db-2 not together"),
    ),
    "provider 7586: an expired node whose drain a PDB holds": (
        cluster(node(claim={"expireAfter": "24h", **DELETED}), pod(), pdb(maxUnavailable="25%")),
        *("going", "draining"),
        (
            "PodDisruptionBudget default/web allows no eviction",
            "without terminationGracePeriod nothing ends the wait",
        ),
    ),
    "provider 3455: nodes with daemons alone stay where consolidation is off": (
        cluster(node(), nodepool(disruption={"consolidateAfter": "Never"})),
        *("stays", "consolidation-disabled"),
        ("consolidateAfter: Never", "Never -> 1m"),
    ),
    "core 2254: an empty node waits for consolidateAfter anew with each pod": (
        cluster(
            node(conditions={"Consolidatable": ""}, status={"lastPodEventTime": "2026-11-20T11:55:00Z"}),
            nodepool(disruption={"consolidateAfter": "10m"}),
        ),
        *("stays", "consolidate-after"),
        ("goes on until 2026-11-20 12:05 UTC (5m)", "the last pod came or went 5m ago", "10m -> 5m"),
    ),
    "provider 9207: fifty nodes that each pod makes wait again": (
        cluster(
            *(node(conditions={"Consolidatable": ""}, status={"lastPodEventTime": "2026-11-20T11:59:40Z"}), pod()),
            nodepool(disruption={"consolidateAfter": "60s", "budgets": [{"nodes": "10%"}]}),
        ),
        *("stays", "consolidate-after"),
        ("`consolidateAfter: 60s` goes on", "60s -> 20s"),
    ),
    "core 678: a label that only another NodePool could give": (
        cluster(
            node(labels={"node.kubernetes.io/instancegroup": "knodes"}),
            pod(spec={"nodeSelector": {"node.kubernetes.io/instancegroup": "knodes"}}),
            event("Not all pods would schedule, default/web-1 => incompatible requirements"),
        ),
        *("stays", "pods-do-not-fit"),
        ("pod default/web-1 (cpu 500m", "fits nowhere else", "node.kubernetes.io/instancegroup", "the same cause"),
    ),
    "core 1962: two nodes that memory fills and CPU does not": (
        cluster(
            *(node(type_="c5a.xlarge"), node("node-b", type_="c5a.xlarge"), daemon("node-b")),
            *(pod(cpu="900m", memory="5Gi"), pod("web-2", "node-b", "900m", "5Gi")),
            nodepool(requirements=[POOL_REQUIREMENTS[0], {**_LARGE, "values": ["c5a.xlarge", "m6a.xlarge"]}]),
        ),
        *("goes", "multi-node-replace"),
        ("together with node-b by one m6a.xlarge", "instead of 2 nodes", "c5a.xlarge itself"),
    ),
    "provider 5903: one node of twice the size for the same price": (
        cluster(
            *(node(), node("node-b"), pod(cpu="1100m"), pod("web-2", "node-b", "1100m")),
            nodepool(requirements=[POOL_REQUIREMENTS[0], {**_LARGE, "values": ["m7i.large", "m7i.xlarge"]}]),
        ),
        *("stays", "no-cheaper-type"),
        ("m7i.large costs $0.1008 an hour", "m7i.large itself"),
    ),
    "provider 5529: on-demand is allowed too, and spot does not become spot": (
        cluster(
            *(node(capacity="spot"), node("node-b", capacity="spot"), nodepool(requirements=_SPOT_TOO)),
            *(pod(cpu="1100m"), pod("web-2", "node-b", "1100m")),
        ),
        *("stays", "spot-to-spot"),
        ("SpotToSpotConsolidation is off",),
    ),
    "provider 3753: a pod of coredns that would rather not be where another one is": (
        cluster(node(), node("node-b"), *_dns_pods(1), *_dns_on("node-b")),
        *("stays", "no-cheaper-type"),
        ("node node-b has room, but its podAntiAffinity by hostname keeps it away",),
    ),
    "provider 4826: a node is not replaced by one of its type": (
        cluster(node(), pod(), nodepool(requirements=[POOL_REQUIREMENTS[0], {**_LARGE, "values": ["m7i.large"]}])),
        *("stays", "no-cheaper-type"),
        ("is m7i.large itself",),
    ),
    "provider 3785: one pod that must not be disrupted": (
        cluster(node(), node("node-b"), pod(), pod("job-1", annotations={"karpenter.sh/do-not-disrupt": "true"})),
        *("stays", "do-not-disrupt-pod"),
        ("pod default/job-1 has karpenter.sh/do-not-disrupt",),
    ),
}


@pytest.mark.parametrize("thread", THREADS)
def test_thread(thread: str, nodelint: Command, tmp_path: Path) -> None:
    objects, status, reason, words = THREADS[thread]
    last = {(o["kind"], o["metadata"]["name"], o.get("message")): o for o in objects}
    (tmp_path / "dump.json").write_text(kubectl_list(list(last.values())), encoding="utf-8")
    env = {"NODELINT_NOW": NOW, "COLUMNS": "1000"}
    done = nodelint("why", "dump.json", "--format", "json", "--node", "node-a", env=env)
    (answer,) = json.loads(done.stdout)["nodes"]
    assert (answer["status"], answer["cause"]["reason"]) == (status, reason), answer["cause"]["message"]
    output = " ".join(nodelint("why", "dump.json", "--node", "node-a", env=env).stdout.split())
    assert [word for word in words if word not in output] == [], output
