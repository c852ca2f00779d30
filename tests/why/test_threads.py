"""Clusters of people who asked in Karpenter's trackers why a node stays, made anew and small."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.forked import Command
from tests.why.clusters import NOW, POOL_REQUIREMENTS, cluster, event, kubectl_list, node, nodepool, pdb, pod
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
