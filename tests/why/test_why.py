"""Why a node stays: the first thing that keeps it, in Karpenter's order, by the source of each release.

No program of Karpenter's answers here: the expected reasons are read from pkg/controllers/disruption of core at the
tags that a case names.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from nodelint.base.budget import RUN
from nodelint.cli import cli
from nodelint.model.releases import NEWEST
from nodelint.report.why_html import why_html
from nodelint.report.why_json import why_json
from nodelint.report.why_markdown import why_markdown
from nodelint.report.why_text import why_text
from nodelint.report.why_words import further_lines
from nodelint.why import Known, explain
from nodelint.why.dump import read_dump
from nodelint.why.events import meanings
from nodelint.why.objects import read_objects
from tests.conftest import ROOT
from tests.forked import Command
from tests.plain_yaml import dump_all_yaml, dump_yaml
from tests.why.clusters import (
    NOW,
    POOL_REQUIREMENTS,
    cluster,
    controller,
    daemon,
    event,
    kubectl_list,
    node,
    nodeclass,
    nodepool,
    other_pdb,
    pdb,
    pod,
)

SCHEMA = jsonschema.Draft202012Validator(
    json.loads((ROOT / "schemas" / "why.schema.json").read_text(encoding="utf-8"))
)
SPOT = [{**POOL_REQUIREMENTS[0], "values": ["spot"]}, POOL_REQUIREMENTS[1]]
EITHER = [{**POOL_REQUIREMENTS[0], "values": ["spot", "on-demand"]}, POOL_REQUIREMENTS[1]]
WIDE = [{**POOL_REQUIREMENTS[0], "values": ["spot"]}]


def _spot_of(count: int) -> list[dict[str, Any]]:
    """Return the requirements of a pool of spot nodes of so many types, each with room for a pod."""
    families = ("m5", "m5a", "m6a", "m6i", "m7a", "m7i")
    types = [f"{family}.{size}" for family in families for size in ("large", "xlarge", "2xlarge")][:count]
    return [*WIDE, {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": types}]


WAITS = {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]}
DELETED = {"metadata": {"deletionTimestamp": "2026-11-20T10:00:00Z"}}
PROTECTED = {"karpenter.sh/do-not-disrupt": "true"}
APART = {
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "kubernetes.io/hostname"}
            ]
        }
    }
}
RATHER_APART = {
    "affinity": {
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": 100,
                    "podAffinityTerm": {
                        "labelSelector": {"matchLabels": {"app": "web"}},
                        "topologyKey": "kubernetes.io/hostname",
                    },
                }
            ]
        }
    }
}
SPREAD = {
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "web"}},
        }
    ]
}

TAKES_PORT = {"containers": [{"name": "main", "ports": [{"containerPort": 80, "hostPort": 80}]}]}
EITHER_TERM = {
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "team", "operator": "In", "values": ["x"]}]},
                    {"matchExpressions": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}]},
                ]
            }
        }
    }
}


def _daemon_set(cpu: str) -> Any:
    spec = {"containers": [{"name": "agent", "resources": {"requests": {"cpu": cpu}}}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "agent", "namespace": "default"},
        "spec": {"template": {"spec": spec}},
    }


@pytest.fixture
def explain_nodes(nodelint: Command, tmp_path: Path) -> Any:
    """Run the command on a cluster; the answers by node."""

    def run(objects: list[Any], *more: str) -> dict[str, Any]:
        (tmp_path / "dump.json").write_text(kubectl_list(objects), encoding="utf-8")
        done = nodelint("why", "dump.json", "--format", "json", *more, env={"NODELINT_NOW": NOW})
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        SCHEMA.validate(report)
        return {answer["node"]: answer for answer in report["nodes"]}

    return run


def _reason(answer: dict[str, Any]) -> tuple[str, str]:
    return answer["status"], answer["cause"]["reason"]


def _cluster(*objects: Any, **options: Any) -> list[Any]:
    return cluster(*objects, **options)


FIRST = {
    "no NodeClaim": (_cluster(node()[:1], node("node-b")), "unmanaged", "not-managed"),
    "not initialized": (
        _cluster(node(conditions={"Initialized": "Unknown"}, labels={"karpenter.sh/initialized": None}), pod()),
        *("stays", "not-initialized"),
    ),
    "annotation of the node before the pod's": (
        _cluster(node(annotations=PROTECTED), pod(annotations=PROTECTED)),
        *("stays", "do-not-disrupt-node"),
    ),
    "pod's annotation before a PDB": (
        _cluster(node(), pod(annotations=PROTECTED), pdb()),
        "stays",
        "do-not-disrupt-pod",
    ),
    "a daemon's annotation counts": (
        _cluster(node(), pod("agent-x", owner="DaemonSet", annotations=PROTECTED)),
        *("stays", "do-not-disrupt-pod"),
    ),
    "an ended pod's annotation does not": (
        _cluster(node(), pod(annotations=PROTECTED, phase="Succeeded")),
        *("goes", "empty"),
    ),
    "a duration that is over": (
        _cluster(node(), pod(annotations={"karpenter.sh/do-not-disrupt": "1h"}), node("node-b")),
        *("goes", "delete"),
    ),
    "a duration that goes on": (
        _cluster(node(), pod(annotations={"karpenter.sh/do-not-disrupt": "48h"})),
        *("stays", "do-not-disrupt-pod"),
    ),
    "a duration before 1.12": (
        _cluster(node(), pod(annotations={"karpenter.sh/do-not-disrupt": "48h"}), node("node-b"), release="1.11.0"),
        *("goes", "delete"),
    ),
    "PDB": (_cluster(node(), pod(), pdb()), "stays", "pdb"),
    "PDB without status": (_cluster(node(), pod(), pdb(allowed=None)), "unknown", "pdb"),
    "a PDB of unready pods": (
        _cluster(
            *(node(), node("node-b")),
            pod(status={"conditions": [{"type": "Ready", "status": "False"}]}),
            pdb(minAvailable=2, unhealthyPodEvictionPolicy="AlwaysAllow"),
        ),
        *("goes", "delete"),
    ),
    "two PDBs": (_cluster(node(), node("node-b"), pod(), pdb("a", 1), pdb("b", 1)), "stays", "several-pdbs"),
    "two PDBs before 1.7": (
        _cluster(node(), node("node-b"), pod(), pdb("a", 1), pdb("b", 1), release="1.6.0"),
        *("goes", "delete"),
    ),
    "no pool of the name": (_cluster(node(pool="gone"), pod()), "stays", "nodepool-not-found"),
    "no class of the name": (
        _cluster(node(), pod(), nodepool(template={"nodeClassRef": {"kind": "EC2NodeClass", "name": "gone"}})),
        *("stays", "nodepool-not-found"),
    ),
    "static": (_cluster(node(), pod(), nodepool(replicas=1)), "stays", "static-pool"),
    "empty": (_cluster(node()), "goes", "empty"),
    "a static pod alone": (_cluster(node(), pod("proxy-x", owner="Node")), "goes", "empty"),
    "pods of no cost": (
        _cluster(node(), pod(annotations={"controller.kubernetes.io/pod-deletion-cost": "-2147483647"})),
        *("goes", "empty"),
    ),
    "pods of no cost before 1.14": (
        _cluster(
            node(), pod(annotations={"controller.kubernetes.io/pod-deletion-cost": "-2147483647"}), release="1.13.0"
        ),
        *("stays", "no-cheaper-type"),
    ),
    "type before policy": (
        _cluster(node(type_="m99.large"), pod(), nodepool(disruption={"consolidationPolicy": "WhenEmpty"})),
        *("unknown", "unknown-type"),
    ),
    "no zone": (_cluster(node(labels={"topology.kubernetes.io/zone": None}), pod()), "stays", "missing-label"),
    "no zone in 1.0, of an empty node too": (
        _cluster(node(labels={"topology.kubernetes.io/zone": None}), release="1.0.0"),
        *("stays", "missing-label"),
    ),
    "no zone in 1.1, of an empty node": (
        _cluster(node(labels={"topology.kubernetes.io/zone": None}), release="1.1.0"),
        *("goes", "empty"),
    ),
    "consolidation off before policy": (
        _cluster(
            node(), pod(), nodepool(disruption={"consolidateAfter": "Never", "consolidationPolicy": "WhenEmpty"})
        ),
        *("stays", "consolidation-disabled"),
    ),
    "policy before consolidateAfter": (
        _cluster(
            node(conditions={"Consolidatable": ""}),
            *(pod(), nodepool(disruption={"consolidateAfter": "48h", "consolidationPolicy": "WhenEmpty"})),
        ),
        *("stays", "policy"),
    ),
    "consolidateAfter before budget": (
        _cluster(
            node(conditions={"Consolidatable": ""}),
            *(pod(), nodepool(disruption={"consolidateAfter": "48h", "budgets": [{"nodes": "0"}]})),
        ),
        *("stays", "consolidate-after"),
    ),
    "budget before the pods": (
        _cluster(
            node(), pod(spec={"nodeSelector": {"team": "x"}}), nodepool(disruption={"budgets": [{"nodes": "0"}]})
        ),
        *("stays", "budget"),
    ),
    "a budget of another reason": (
        _cluster(
            node(), node("node-b"), pod(), nodepool(disruption={"budgets": [{"nodes": "0", "reasons": ["Drifted"]}]})
        ),
        *("goes", "delete"),
    ),
    "a node that is not Ready uses up the budget": (
        _cluster(
            *(node(), pod(), nodepool(disruption={"budgets": [{"nodes": "1"}]})),
            [
                dict(node("node-b")[0], status={"conditions": [{"type": "Ready", "status": "False"}]}),
                node("node-b")[1],
            ],
        ),
        *("stays", "budget"),
    ),
    "a pod that fits nowhere": (
        _cluster(node(), pod(spec={"nodeSelector": {"team": "x"}})),
        "stays",
        "pods-do-not-fit",
    ),
    "a pool that is not Ready": (
        _cluster(node(), pod(), dict(nodepool(), status={"conditions": [{"type": "Ready", "status": "False"}]})),
        *("stays", "pods-do-not-fit"),
    ),
    "limits without this node's own share": (
        _cluster(node(type_="m7i.xlarge"), pod(cpu="1500m"), nodepool(limits={"cpu": "2"})),
        *("goes", "replace"),
    ),
    "limits": (
        _cluster(
            *(node(type_="m7i.xlarge"), node("node-b"), pod(cpu="1500m"), pod("api-1", "node-b", "1800m")),
            nodepool(limits={"cpu": "3"}),
        ),
        *("stays", "limits"),
    ),
    "another node has room": (_cluster(node(), node("node-b"), pod()), "goes", "delete"),
    "another node has a taint": (
        _cluster(node(), node("node-b", taints=[{"key": "x", "effect": "NoSchedule"}]), pod()),
        *("stays", "no-cheaper-type"),
    ),
    "another node is not initialized": (
        _cluster(
            *(node(), pod(cpu="1500m")),
            node("node-b", labels={"karpenter.sh/initialized": None}, conditions={"Initialized": "Unknown"}),
        ),
        *("stays", "uninitialized-node"),
    ),
    "another node is under consolidateAfter itself": (
        _cluster(node(), node("node-b", status={"lastPodEventTime": "2026-11-20T11:59:50Z"}), pod()),
        *("stays", "no-cheaper-type"),
    ),
    "that does not count for drift": (
        _cluster(
            *(node(conditions={"Drifted": "True"}), pod(spec={"nodeSelector": {"team": "x"}})),
            node("node-b", status={"lastPodEventTime": "2026-11-20T11:59:50Z"}, labels={"team": "x"}),
        ),
        *("goes", "drift"),
    ),
    "that does not count before 1.14": (
        _cluster(
            *(node(), node("node-b", status={"lastPodEventTime": "2026-11-20T11:59:50Z"}), pod()),
            release="1.13.0",
        ),
        *("goes", "delete"),
    ),
    "anti-affinity": (
        _cluster(node(), node("node-b"), pod(spec=APART), pod("web-2", "node-b", spec=APART)),
        *("stays", "no-cheaper-type"),
    ),
    "anti-affinity of the pod there alone": (
        _cluster(node(), node("node-b"), pod(), pod("api-2", "node-b", labels={"app": "api"}, spec=APART)),
        *("stays", "no-cheaper-type"),
    ),
    "preferred anti-affinity counts": (
        _cluster(node(), node("node-b"), pod(spec=RATHER_APART), pod("web-2", "node-b", spec=RATHER_APART)),
        *("stays", "no-cheaper-type"),
    ),
    "a zone that only this pod is in": (
        _cluster(node(), node("node-b", zone="us-east-1b"), pod(spec=SPREAD), pod("web-2", "node-b", spec=SPREAD)),
        *("stays", "no-cheaper-type"),
    ),
    "a second node of the zone": (
        _cluster(
            *(node(), node("node-b", zone="us-east-1b"), node("node-c")),
            *(pod(spec=SPREAD), pod("web-2", "node-b", spec=SPREAD)),
        ),
        *("goes", "delete"),
    ),
    "several new nodes": (
        _cluster(node(type_="m7i.2xlarge"), *(pod(f"web-{n}", spec=APART) for n in range(3))),
        *("stays", "several-nodes"),
    ),
    "cheaper": (_cluster(node(type_="m7i.2xlarge"), pod()), "goes", "replace"),
    "not cheaper": (_cluster(node(), pod()), "stays", "no-cheaper-type"),
    "on demand, and spot may be cheaper": (
        _cluster(node(), pod(), nodepool(requirements=EITHER)),
        "unknown",
        "no-cheaper-type",
    ),
    "spot": (_cluster(node(capacity="spot"), pod(), nodepool(requirements=SPOT)), "stays", "spot-to-spot"),
    "spot with the gate": (
        _cluster(node(capacity="spot"), pod(), nodepool(requirements=SPOT), gates="SpotToSpotConsolidation=true"),
        *("stays", "spot-flexibility"),
    ),
    "spot with the gate, and many types": (
        _cluster(node(capacity="spot"), pod(), nodepool(requirements=WIDE), gates="SpotToSpotConsolidation=true"),
        *("unknown", "spot-flexibility"),
    ),
    "spot with the gate, and 14 types": (
        _cluster(
            *(node(capacity="spot"), pod(), nodepool(requirements=_spot_of(14))), gates="SpotToSpotConsolidation=true"
        ),
        *("stays", "spot-flexibility"),
    ),
    "spot with the gate, and 15 types": (
        _cluster(
            *(node(capacity="spot"), pod(), nodepool(requirements=_spot_of(15))), gates="SpotToSpotConsolidation=true"
        ),
        *("unknown", "spot-flexibility"),
    ),
    "spot that other nodes hold": (
        _cluster(node(capacity="spot"), node("node-b"), pod(), nodepool(requirements=SPOT)),
        *("goes", "delete"),
    ),
    "minValues of cheaper types": (
        _cluster(
            *(node(type_="m7i.xlarge"), pod()),
            nodepool(requirements=[POOL_REQUIREMENTS[0], {**POOL_REQUIREMENTS[1], "minValues": 2}]),
        ),
        *("stays", "min-values"),
    ),
    "a pod that waits is placed too": (
        _cluster(node(), node("node-b"), pod(), pod("big-1", "", "7", phase="Pending", status=WAITS)),
        *("stays", "pending-pods"),
    ),
    "a port that two pods take": (
        _cluster(node(type_="m7i.2xlarge"), pod(spec=TAKES_PORT), pod("web-2", spec=TAKES_PORT)),
        *("stays", "several-nodes"),
    ),
    "a spread that a new node can meet for one pod": (
        _cluster(node(type_="m7i.2xlarge"), pod(spec=SPREAD), pod("web-2", spec=SPREAD)),
        *("stays", "several-nodes"),
    ),
    "drift that a budget stops, and consolidation": (
        _cluster(
            *(node(conditions={"Drifted": "True"}), node("node-b"), pod()),
            nodepool(disruption={"budgets": [{"nodes": "0", "reasons": ["Drifted"]}]}),
        ),
        *("goes", "delete"),
    ),
    "a daemon that is still to come": (
        _cluster(node(), node("node-b"), pod(), _daemon_set("1500m")),
        *("stays", "no-cheaper-type"),
    ),
    "Balanced": (
        _cluster(
            *(node(), node("node-b"), node("node-c"), nodepool(disruption={"consolidationPolicy": "Balanced"})),
            *(pod(f"web-{n}", cpu="100m") for n in range(9)),
        ),
        *("stays", "balanced"),
    ),
    "Balanced before 1.14": (
        _cluster(node(), pod(), nodepool(disruption={"consolidationPolicy": "Balanced"}), release="1.13.0"),
        *("stays", "policy"),
    ),
    "terms any of which is enough": (_cluster(node(), node("node-b"), pod(spec=EITHER_TERM)), "goes", "delete"),
    "no room for a pod that is never evicted": (
        _cluster(
            node(conditions={"Drifted": "True"}, claim={"terminationGracePeriod": "1h"}),
            *(pod(spec={"nodeSelector": {"team": "x"}}), pdb()),
        ),
        *("goes", "drift"),
    ),
    "room for it before 1.4": (
        _cluster(
            node(conditions={"Drifted": "True"}, claim={"terminationGracePeriod": "1h"}),
            *(pod(spec={"nodeSelector": {"team": "x"}}), pdb()),
            release="1.3.0",
        ),
        *("stays", "pods-do-not-fit"),
    ),
    "drift by pods": (_cluster(node(conditions={"Drifted": "True"}), node("node-b"), pod()), "goes", "drift"),
    "drift and a PDB": (_cluster(node(conditions={"Drifted": "True"}), node("node-b"), pod(), pdb()), "stays", "pdb"),
    "drift, a PDB and terminationGracePeriod": (
        _cluster(
            node(conditions={"Drifted": "True"}, claim={"terminationGracePeriod": "1h"}),
            *(node("node-b"), pod(), pdb(allowed=0, minAvailable=2)),
        ),
        *("goes", "drift"),
    ),
    "expired": (_cluster(node(claim={"expireAfter": "24h"}), pod(annotations=PROTECTED)), "goes", "expired"),
    "drain and a PDB": (_cluster(node(claim={**DELETED}), pod(), pdb()), "going", "draining"),
    "drain without pods": (
        _cluster(node(claim={**DELETED}, conditions={"InstanceTerminating": "True"})),
        "going",
        "deleting",
    ),
}


@pytest.mark.parametrize("case", FIRST)
def test_first_thing_that_keeps_a_node(case: str, explain_nodes: Any) -> None:
    objects, status, reason = FIRST[case]
    name = "node-a"
    answers = explain_nodes(json.loads(json.dumps(objects)))
    assert _reason(answers[name]) == (status, reason), answers[name]["cause"]["message"]


@pytest.mark.parametrize(("release", "method"), [("1.4.0", "drift"), ("1.5.0", "emptiness"), ("1.14.1", "emptiness")])
def test_empty_nodes_go_first_since_1_5(release: str, method: str, explain_nodes: Any) -> None:
    answer = explain_nodes(_cluster(node(conditions={"Drifted": "True"}), release=release))["node-a"]
    assert (answer["status"], answer["method"]) == ("goes", method)


@pytest.mark.parametrize(
    ("expected", "desired", "shortage", "new"),
    [
        (2, 2, "wants 2 healthy pods and there are 2 in all: it never allows one", "maxUnavailable: 1"),
        (3, 2, "wants 2 healthy pods and 2 are", "AlwaysAllow"),
        (0, 0, "its status counts no pod yet", "AlwaysAllow"),
    ],
)
def test_a_budget_never_allows_an_eviction_where_it_wants_all_pods(
    expected: int, desired: int, shortage: str, new: str, explain_nodes: Any
) -> None:
    budget = pdb(minAvailable=2)
    budget["status"] |= {"expectedPods": expected, "desiredHealthy": desired}
    cause = explain_nodes(_cluster(node(), pod(), budget))["node-a"]["cause"]
    assert shortage in cause["message"]
    assert cause["changes"][0]["new"] == new
    assert ("never allows" in cause["message"]) is (new != "AlwaysAllow")


def test_what_is_said_of_the_first_thing(explain_nodes: Any) -> None:
    weekdays = {"nodes": "0", "schedule": "0 9 * * 1-5", "duration": "8h", "reasons": ["Underutilized"]}
    pool = nodepool(disruption={"budgets": [{"nodes": "100%"}, weekdays]})
    cause = explain_nodes(_cluster(node(), node("node-b"), pod(), pool))["node-a"]["cause"]
    assert cause["until"] == "2026-11-20T17:00:00Z"
    assert "allows no node for Underutilized since 2026-11-20 09:00 UTC" in cause["message"]
    assert cause["changes"][0]["path"] == "spec.disruption.budgets[1].nodes"

    recent = node(conditions={"Consolidatable": ""}, status={"lastPodEventTime": "2026-11-20T11:58:00Z"})
    cause = explain_nodes(_cluster(recent, pod(), nodepool(disruption={"consolidateAfter": "10m"})))["node-a"][
        "cause"
    ]
    assert (cause["until"], cause["changes"][0]["new"]) == ("2026-11-20T12:08:00Z", "2m")

    cause = explain_nodes(_cluster(node(), pod()))["node-a"]["cause"]
    assert cause["facts"]["cheapest"] == {"name": "m7i.large", "price": cause["facts"]["price"]}

    cause = explain_nodes(_cluster(node(), pod(), pdb()))["node-a"]["cause"]
    assert (cause["facts"]["pod"], cause["facts"]["pdb"]) == ("default/web-1", ["default/web"])
    assert "it never allows one" in cause["message"]

    cause = explain_nodes(
        _cluster(node(claim={"terminationGracePeriod": "4h", **DELETED}), pod(annotations=PROTECTED))
    )["node-a"]["cause"]
    assert (cause["until"], cause["facts"]["pod"]) == ("2026-11-20T14:00:00Z", "default/web-1")


@pytest.mark.parametrize(("count", "more"), [(1, False), (2, True), (3, True)])
def test_a_drain_counts_the_pods_that_are_still_to_go(explain_nodes: Any, count: int, more: bool) -> None:
    pods = [pod(f"web-{n}", annotations=PROTECTED) for n in range(count)]
    message = explain_nodes(_cluster(node(claim={**DELETED}), *pods))["node-a"]["cause"]["message"]
    assert (f"; {count} pods still to go" in message, "still to go" in message) == (more, more)


def test_a_drain_waits_for_pods_of_daemons_last(explain_nodes: Any) -> None:
    leaving = node(claim={**DELETED})
    cause = explain_nodes(_cluster(leaving, pod("agent-1", owner="DaemonSet"), pod()))["node-a"]["cause"]
    assert (cause["facts"]["pod"], cause["facts"]["waiting"]) == ("default/web-1", 2)


UNSURE = {
    "no pods": lambda o: o["kind"] != "Pod",
    "one namespace": lambda o: not (o["kind"] == "Pod" and o["metadata"]["namespace"] == "kube-system"),
    "no PodDisruptionBudgets": lambda o: o["kind"] != "PodDisruptionBudget",
}


@pytest.mark.parametrize("lack", UNSURE)
def test_no_node_goes_for_certain_where_the_dump_lacks_objects(lack: str, explain_nodes: Any) -> None:
    objects = [o for o in _cluster(node(), node("node-b"), pod()) if UNSURE[lack](o)]
    answers = explain_nodes(objects)
    assert {answer["status"] for answer in answers.values()} == {"unknown"}
    assert answers["node-a"]["unknown"]


def test_no_pod_moves_for_certain_whose_owner_or_volume_is_not_known(explain_nodes: Any) -> None:
    ours = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "other", "namespace": "default"}}
    answer = explain_nodes([*_cluster(node(), node("node-b"), pod()), ours])["node-a"]
    assert answer["status"] == "unknown"
    assert "replicaset-of-web" in answer["unknown"][0]
    volume = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data-web-1"}}]}
    answer = explain_nodes(_cluster(node(), node("node-b"), pod(spec=volume)))["node-a"]
    assert answer["status"] == "unknown"
    assert "data-web-1" in answer["cause"]["message"]
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data-web-1", "namespace": "default"},
        "spec": {"volumeName": "pv-1"},
    }
    term = {"matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["us-east-1a"]}]}
    bound = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "pv-1"},
        "spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}},
    }
    away = _cluster(node(), node("node-b", zone="us-east-1b"), pod(spec=volume))
    assert _reason(explain_nodes([*away, claim, bound])["node-a"]) == ("stays", "no-cheaper-type")
    near = _cluster(node(), node("node-b"), pod(spec=volume))
    assert _reason(explain_nodes([*near, claim, bound])["node-a"]) == ("goes", "delete")


EVENTS = {
    "pod-block": (
        _cluster(
            node(),
            pod(annotations=PROTECTED),
            event('Pod has "karpenter.sh/do-not-disrupt" annotation (Pod=default/web-1)', "DisruptionBlocked"),
        ),
        True,
    ),
    "pdb": (
        _cluster(
            node(),
            pod(),
            pdb(),
            event("Pdb prevents pod evictions (PodDisruptionBudget=[default/web])", "DisruptionBlocked"),
        ),
        True,
    ),
    "pdb of 1.0": (
        _cluster(
            node(),
            pod(),
            pdb(),
            event('pdb "default/web" prevents pod evictions', "DisruptionBlocked", "NodeClaim", "default-node-a"),
        ),
        True,
    ),
    "price": (_cluster(node(), pod(), event("Can't replace with a cheaper node")), True),
    "spot": (
        _cluster(
            node(capacity="spot"),
            pod(),
            nodepool(requirements=SPOT),
            event("SpotToSpotConsolidation is disabled, can't replace a spot node with a spot node"),
        ),
        True,
    ),
    "policy": (
        _cluster(
            node(),
            pod(),
            nodepool(disruption={"consolidationPolicy": "WhenEmpty"}),
            event('NodePool "default" has non-empty consolidation disabled'),
        ),
        True,
    ),
    "another cause": (_cluster(node(), pod(), pdb(), event("Can't replace with a cheaper node")), False),
    "words that are not known": (_cluster(node(), pod(), pdb(), event("The moon is full")), None),
}


@pytest.mark.parametrize("case", EVENTS)
def test_events_stand_beside_the_answer(case: str, explain_nodes: Any) -> None:
    objects, agrees = EVENTS[case]
    found = explain_nodes(objects)["node-a"]["events"]
    assert [item["agrees"] for item in found] == [agrees]


WORDS = {
    'Instance Type "m7i.large" not found': "unknown-type",
    'Node does not have label "topology.kubernetes.io/zone"': "missing-label",
    "Node doesn't have required label (label=karpenter.sh/nodepool)": "no-nodepool-label",
    'NodePool "a" has consolidation disabled': "consolidation-disabled",
    'NodePool "a" has non-empty consolidation disabled': "policy",  # to 1.13
    'NodePool "a" has consolidation policy WhenEmpty, but node is not empty': "policy",  # since 1.14
    'Node "a" has buffer pods': "not-known",
    "Not all pods would schedule, a/b => incompatible requirements": "pods-do-not-fit",
    "Would schedule against uninitialized nodeclaim/a, node/b": "uninitialized-node",
    "Can't remove without creating 2 candidates": "several-nodes",
    "Can't replace with a cheaper node": "no-cheaper-type",
    "Can't replace a spot node with a spot node": "spot-to-spot",
    "SpotToSpotConsolidation is disabled, can't replace a spot node with a spot node": "spot-to-spot",
    "SpotToSpotConsolidation requires 15 cheaper instance type options than the current": "spot-flexibility",
    "Filtering by price: minValues requirement is not met": "min-values",
    "Nodeclaim does not have an associated node": "no-node",
    "Node isn't initialized": "not-initialized",
    "Node is deleting or marked for deletion": "deleting",
    "Node is nominated for a pending pod": "pending-pods",
    'Disruption is blocked through the "karpenter.sh/do-not-disrupt" annotation': "do-not-disrupt-node",
    'Pod has "karpenter.sh/do-not-disrupt" annotation (Pod=a/b)': "do-not-disrupt-pod",
    'Pod "a/b" has "karpenter.sh/do-not-disrupt" annotation': "do-not-disrupt-pod",  # to 1.2
    "Pdb prevents pod evictions (PodDisruptionBudget=[a/b])": "pdb",
    'Pdb "a/b" prevents pod evictions': "pdb",  # to 1.2
    "Eviction does not support multiple PDBs (PodDisruptionBudget(s)=[a/b c/d])": "several-pdbs",
    "NodePool not found (NodePool=a)": "nodepool-not-found",
    'NodePool "a" not found': "nodepool-not-found",  # to 1.2
    "No allowed disruptions for disruption reason Underutilized due to blocking budget": "budget",
    "No allowed disruptions due to blocking budget": "budget",
}


@pytest.mark.parametrize("message", WORDS)
def test_each_message_of_the_controller_has_a_reason(message: str) -> None:
    """By core from 1.0.0 to 1.14.1, in its events `Unconsolidatable` and `DisruptionBlocked`."""
    assert WORDS[message] in meanings(message)


def _texts(nodelint: Command, tmp_path: Path, objects: list[Any], form: str) -> str:
    (tmp_path / "dump.json").write_text(kubectl_list(objects), encoding="utf-8")
    done = nodelint("why", "dump.json", "--format", form, env={"NODELINT_NOW": NOW})
    assert (done.returncode, done.stderr) == (0, "")
    return str(done.stdout)


def test_every_format_says_why_and_what_would_change_it(nodelint: Command, tmp_path: Path) -> None:
    objects = _cluster(node(), pod(), pdb(), node("node-b", pool="<b>&|x"), event("Pdb prevents pod evictions"))
    for form in ("text", "markdown", "html"):
        output = _texts(nodelint, tmp_path, objects, form)
        for words in ("maxUnavailable: 1", "Pdb prevents pod evictions", "A dump does not show", "node-a"):
            assert words in " ".join(output.replace("\\", "").split()), (form, words)
    assert "<b>&" not in output
    assert "http" not in output.replace("http-equiv", "")


def test_dumps_are_read_as_kubectl_writes_them(nodelint: Command, tmp_path: Path) -> None:
    objects = json.loads(json.dumps(_cluster(node(), node("node-b"), pod(), pdb())))
    folder = tmp_path / "dumps"
    folder.mkdir()
    as_list = {"apiVersion": "v1", "kind": "List", "items": objects}
    (folder / "a.yaml").write_text(dump_yaml(as_list, sort_keys=False), encoding="utf-8")
    nodes = {
        "kind": "NodeList",
        "apiVersion": "v1",
        "items": [
            {k: v for k, v in o.items() if k not in ("kind", "apiVersion")} for o in objects if o["kind"] == "Node"
        ],
    }
    (folder / "b.json").write_text(json.dumps([nodes]), encoding="utf-8")
    text = dump_all_yaml([o for o in objects if o["kind"] != "Node"])
    for arguments, stdin in (
        (["dumps/a.yaml"], None),
        (["-"], text + "---\n" + dump_yaml(nodes)),
        (["dumps"], None),
    ):
        done = nodelint(
            "why", *arguments, "--format", "json", "--reason", "pdb", stdin=stdin, env={"NODELINT_NOW": NOW}
        )
        assert done.returncode == 0, done.stderr
        assert [answer["node"] for answer in json.loads(done.stdout)["nodes"]] == ["node-a"], arguments


def test_edits_name_the_line_of_the_manifest(nodelint: Command, tmp_path: Path) -> None:
    pool = nodepool(disruption={"consolidationPolicy": "WhenEmpty"})
    (tmp_path / "dump.json").write_text(kubectl_list(_cluster(node(), pod(), pool)), encoding="utf-8")
    manifest = dump_yaml({k: v for k, v in pool.items() if k != "status"}, sort_keys=False)
    (tmp_path / "pools.yaml").write_text(manifest, encoding="utf-8")
    line = next(n for n, text in enumerate(manifest.splitlines(), 1) if "consolidationPolicy" in text)
    done = nodelint("why", "dump.json", "--manifests", "pools.yaml", "--format", "json", env={"NODELINT_NOW": NOW})
    change = json.loads(done.stdout)["nodes"][0]["cause"]["changes"][0]
    assert change["place"] == f"pools.yaml:{line}"


KUBECTL = """#!/usr/bin/env python3
import json, sys
objects = json.load(open(__file__ + ".json"))
assert sys.argv[1] == "get" and "-o" not in sys.argv, sys.argv
kind = sys.argv[2].partition(".")[0].rstrip("s").replace("classe", "class")
if kind in ("event", "nodeoverlay"):
    sys.exit("error: the server doesn't have a resource type")
found = [o for o in objects if o["kind"].lower() == kind]
print(json.dumps({"kind": "List", "apiVersion": "v1", "items": found}))
"""


def test_a_cluster_is_asked_by_kubectl_alone(nodelint: Command, tmp_path: Path) -> None:
    program = tmp_path / "bin" / "kubectl"
    program.parent.mkdir()
    program.write_text(KUBECTL, encoding="utf-8")
    program.chmod(0o755)
    objects = [o for o in _cluster(node(), node("node-b"), pod()) if o["kind"] != "PodDisruptionBudget"]
    (tmp_path / "bin" / "kubectl.json").write_text(json.dumps(objects), encoding="utf-8")
    path = f"{program.parent}:/usr/bin:/bin"
    done = nodelint("why", "--from-cluster", "--format", "json", env={"NODELINT_NOW": NOW, "PATH": path})
    assert done.returncode == 0, done.stderr
    assert "kubectl get events: error: the server doesn't have a resource type" in done.stderr
    answers = {answer["node"]: answer for answer in json.loads(done.stdout)["nodes"]}
    assert _reason(answers["node-a"]) == ("goes", "delete")  # kubectl has output that there is no PodDisruptionBudget


def _multiplied(form: str, first: str) -> str:
    """Ten lines, each of which names the one above it ten times."""
    lines = [f"a0: &a0 {first}"]
    lines += [f"a{n}: &a{n} {form.format(', '.join([f'*a{n - 1}'] * 10))}" for n in range(1, 10)]
    return "\n".join(["kind: List", *lines, "items: [*a9]", ""])


WRONG = {
    "nothing": ("", "standard input is empty"),
    "no YAML": ("a: [b", "neither JSON nor YAML"),
    "no cluster": ("kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\n", "no nodes and no NodeClaims"),
    "deep lists": ("[" * 200_000, "nested more deeply"),
    "deep entries": ("- " * 200_000, "levels deep"),
    "deep mappings": ("{a: " * 200_000, "levels deep"),
    "lists of lists of one list": (_multiplied("[{}]", "[x, x]"), "stand for more than"),
    "lists within lists of objects": (_multiplied("{{kind: List, items: [{}]}}", "{kind: Node}"), "stand for more"),
    "merges of merges": (_multiplied("{{<<: [{}]}}", "{a: 1, b: 2}"), "stand for more than"),
    "a list in itself": ("kind: List\nitems: &a [*a]\n", "stands in what it stands for"),
    "an object in itself": ("&a\nkind: Node\napiVersion: v1\nmetadata: {name: a}\nspec: *a\n", "stands in"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_no_dump_is_refused_in_a_sentence(case: str, nodelint: Command) -> None:
    text, words = WRONG[case]
    done = nodelint("why", "-", stdin=text)
    assert done.returncode == 2
    assert words in done.stderr


def test_the_last_of_two_objects_counts_and_is_told(explain_nodes: Any, nodelint: Command, tmp_path: Path) -> None:
    objects = [*_cluster(node(), pod(annotations=PROTECTED)), pod()]
    (tmp_path / "dump.json").write_text(kubectl_list(objects), encoding="utf-8")
    done = nodelint("why", "dump.json", env={"NODELINT_NOW": NOW})
    assert "1 object more than once in the dump" in done.stdout
    assert "do-not-disrupt" not in done.stdout


def test_pipes_of_a_folder_are_not_waited_for(nodelint: Command, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "dump.json").write_text(kubectl_list(_cluster(node(), pod())), encoding="utf-8")
    done = nodelint("why", ".", env={"NODELINT_NOW": NOW})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("1 node: ")


def test_a_link_out_of_a_folder_is_named_and_not_read(
    nodelint: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    here = tmp_path / "here"
    (here / "dumps").mkdir(parents=True)
    (here / "dumps" / "dump.json").write_text(kubectl_list(_cluster(node(), pod())), encoding="utf-8")
    (tmp_path / "other.yaml").write_text("CANARY: [", encoding="utf-8")
    (here / "dumps" / "link.yaml").symlink_to("../../other.yaml")
    done = nodelint("why", "dumps", cwd=here, env={"NODELINT_NOW": NOW})
    assert done.returncode == 0 and done.stdout.startswith("1 node: ")
    assert done.stderr == "nodelint: dumps/link.yaml: not read: it is outside of the repository\n"
    (here / "dumps" / "dump.json").unlink()
    done = nodelint("why", "dumps", cwd=here)
    assert done.returncode == 2 and "no YAML or JSON file in this folder" in done.stderr


def test_unused_names_are_refused(nodelint: Command, tmp_path: Path) -> None:
    (tmp_path / "dump.json").write_text(
        kubectl_list([*node(), nodepool(), nodeclass(), daemon(), other_pdb(), controller()])
    )
    for arguments, words in ((["--node", "x"], "no node of the dump"), (["--reason", "pdbb"], "did you mean `pdb`")):
        done = nodelint("why", "dump.json", *arguments)
        assert done.returncode == 2
        assert words in done.stderr


def _auto_pool(**disruption: Any) -> Any:
    found = nodepool("auto", disruption=disruption)
    ref = {"group": "eks.amazonaws.com", "kind": "NodeClass", "name": "default"}
    found["spec"]["template"]["spec"]["nodeClassRef"] = ref
    return found


OF_AUTO_MODE = {
    "what every release keeps": (
        [_auto_pool(consolidationPolicy="WhenEmpty"), *node(pool="auto"), pod()],
        *("stays", "policy"),
    ),
    "what a release decides": ([_auto_pool(), *node(pool="auto"), node("node-b"), pod()], "unknown", "delete"),
    "a duration, which a release has to read": (
        [_auto_pool(), *node(pool="auto"), pod(annotations={"karpenter.sh/do-not-disrupt": "48h"})],
        *("unknown", "do-not-disrupt-pod"),
    ),
}


@pytest.mark.parametrize("case", OF_AUTO_MODE)
def test_a_node_of_auto_mode_is_judged_by_what_holds_in_each_release(case: str, explain_nodes: Any) -> None:
    objects, status, reason = OF_AUTO_MODE[case]
    answer = explain_nodes(_cluster(*objects))["node-a"]
    assert _reason(answer) == (status, reason)
    assert any("EKS Auto Mode" in item for item in answer["unknown"]) == (status == "unknown")


def test_a_controller_launches_from_pools_of_its_own_provider_alone(explain_nodes: Any) -> None:
    cheap = [POOL_REQUIREMENTS[0], {**POOL_REQUIREMENTS[1], "values": ["t3.small", "t3.medium"]}]
    of_auto = _auto_pool()
    of_auto["spec"]["template"]["spec"]["requirements"] = cheap
    own = nodepool(requirements=[POOL_REQUIREMENTS[0], {**POOL_REQUIREMENTS[1], "values": ["m7i.large"]}])
    answer = explain_nodes(_cluster(node(), pod(cpu="500m", memory="100Mi"), own, of_auto))["node-a"]
    assert _reason(answer) == ("stays", "no-cheaper-type")


def test_daemons_that_only_their_pods_name_are_counted_once(explain_nodes: Any) -> None:
    agents = [pod(f"agent-{n}", f"node-{n}", "800m", owner="DaemonSet") for n in "ab"]
    answer = explain_nodes(_cluster(node(), node("node-b"), *agents, pod(cpu="900m")))["node-a"]
    assert _reason(answer) == ("goes", "delete")


WINDOW = {"nodes": "0", "schedule": "0 9 * * *", "duration": "3h"}


@pytest.mark.parametrize(
    ("time", "reason"),
    [("08:59:59", "delete"), ("09:00:00", "budget"), ("11:59:59", "budget"), ("12:00:00", "delete")],
)
def test_a_window_begins_with_its_first_second_and_is_over_with_its_last(
    time: str, reason: str, nodelint: Command, tmp_path: Path
) -> None:
    pool = nodepool(disruption={"budgets": [{"nodes": "100%"}, WINDOW]})
    (tmp_path / "dump.json").write_text(kubectl_list(_cluster(node(), node("node-b"), pod(), pool)), encoding="utf-8")
    env = {"NODELINT_NOW": f"2026-11-20T{time}Z"}
    done = nodelint("why", "dump.json", "--node", "node-a", "--format", "json", env=env)
    assert json.loads(done.stdout)["nodes"][0]["cause"]["reason"] == reason


@pytest.mark.parametrize(("second", "reason"), [("29", "no-cheaper-type"), ("30", "delete")])
def test_a_node_takes_pods_from_the_moment_on_at_which_its_own_consolidate_after_is_over(
    second: str, reason: str, nodelint: Command, tmp_path: Path
) -> None:
    recent = node("node-b", status={"lastPodEventTime": "2026-11-20T12:00:00Z"})
    (tmp_path / "dump.json").write_text(kubectl_list(_cluster(node(), recent, pod())), encoding="utf-8")
    env = {"NODELINT_NOW": f"2026-11-20T12:00:{second}Z"}
    done = nodelint("why", "dump.json", "--node", "node-a", "--format", "json", env=env)
    assert json.loads(done.stdout)["nodes"][0]["cause"]["reason"] == reason


def test_a_static_pool_whose_limit_is_below_its_replicas(explain_nodes: Any) -> None:
    drifted = {"conditions": {"Drifted": "True"}}
    pool = nodepool(replicas=5, limits={"nodes": "2"})
    cause = explain_nodes(_cluster(node(**drifted), node("node-b"), pool))["node-a"]["cause"]
    assert cause["reason"] == "static-drift"
    assert [(c["path"], c["old"], c["new"]) for c in cause["changes"]] == [("spec.limits.nodes", "2", "6")]
    # A node that Karpenter has begun to replace counts until it is deleted.
    queued = node("node-b", conditions={"DisruptionReason": "True"})
    queued[0]["spec"]["taints"] = [{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]
    pool = nodepool(replicas=1, disruption={"budgets": [{"nodes": "100%"}]})
    cause = explain_nodes(_cluster(node(**drifted), queued, pool))["node-a"]["cause"]
    assert "first removes nodes: 2 run for `replicas: 1`" in cause["message"]


def test_each_format_says_which_nodes_a_timeout_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    dump = read_dump([("dump.json", kubectl_list(_cluster(node(), node("node-b"), pod())))])
    known = Known(datetime(2026, 11, 20, 12, tzinfo=UTC), NEWEST, "a test")
    objects = read_objects(dump, "cluster.yaml")
    late = iter([True])  # before the pods are read
    monkeypatch.setattr(RUN, "is_over", lambda: next(late, True))
    (gap,) = explain(dump, objects, [], known).gaps
    assert gap.nodes == ("node-a", "node-b")
    late = iter([False, False])  # not before these, and not before the first node
    answers = explain(dump, objects, [], known)
    assert [answer.name for answer in answers.nodes] == ["node-a"]
    report = why_json(answers)
    SCHEMA.validate(report)
    assert [gap["nodes"] for gap in report["gaps"]] == [["node-b"]]
    for text in (why_text(answers), why_markdown(answers), why_html(answers)):
        assert "1 node not judged" in " ".join(text.split()) and "node-b" in text


def test_a_timeout_ends_the_command_with_code_1_and_the_nodes_it_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"node-{number}" for number in range(300)]
    (tmp_path / "dump.json").write_text(kubectl_list(_cluster(*map(node, names), pod())), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NODELINT_NOW", NOW)
    clock = count(0.0, 0.01)  # each look at it takes a hundredth of a second
    monkeypatch.setattr("nodelint.base.budget.monotonic", lambda: next(clock))
    command = ["why", "dump.json", "--format", "json", "--timeout"]
    done = CliRunner().invoke(cli, [*command, "1s"], catch_exceptions=False)
    late = "nodelint: not everything was judged: the time that `--timeout 1s` gives was used up\n"
    assert (done.exit_code, done.stderr) == (1, late)
    report = json.loads(done.stdout)
    SCHEMA.validate(report)
    judged = [answer["node"] for answer in report["nodes"]]
    (gap,) = report["gaps"]
    assert judged and gap["nodes"] and sorted([*judged, *gap["nodes"]]) == sorted(names)
    RUN.begin()
    assert CliRunner().invoke(cli, [*command, "1h"]).exit_code == 0


@pytest.mark.parametrize(
    ("values", "status"),
    [(["m7i.large", "m7i.xlarge"], "goes"), (["m7i.large", "c7i.large"], "unknown")],
)
def test_families_are_not_compared_by_prices_of_another_region(
    values: list[str], status: str, explain_nodes: Any
) -> None:
    there = {"zone": "eu-west-1a", "labels": {"topology.kubernetes.io/region": "eu-west-1"}}
    pool = nodepool(requirements=[POOL_REQUIREMENTS[0], {**POOL_REQUIREMENTS[1], "values": values}])
    objects = _cluster(node(type_="m7i.2xlarge", **there), pod(), pool, nodeclass(zones=("eu-west-1a",)))
    answer = explain_nodes(objects)["node-a"]
    assert (answer["status"], answer["cause"]["reason"]) == (status, "replace")


@pytest.mark.parametrize(("status", "is_said"), [("stays", True), ("unknown", True), ("goes", False)])
def test_the_end_of_a_node_is_said_unless_it_goes_before(status: Any, is_said: bool) -> None:
    dump = read_dump([("dump.json", kubectl_list(_cluster(node(), pod(annotations=PROTECTED))))])
    known = Known(datetime(2026, 11, 20, 12, tzinfo=UTC), NEWEST, "a test")
    (answer,) = explain(dump, read_objects(dump, "cluster.yaml"), [], known).nodes
    lines = further_lines(answer._replace(status=status))
    assert any(line.startswith("expires at ") for line in lines) is is_said


def test_notes_name_region_and_day_of_the_prices(nodelint: Command, tmp_path: Path) -> None:
    for region, words in (
        ("us-east-1", "prices: on demand in us-east-1 of 20"),
        ("eu-west-1", "nodelint has no prices of eu-west-1 (`nodelint refresh` asks): those of us-east-1"),
    ):
        labels = {"topology.kubernetes.io/region": region}
        objects = _cluster(node(zone=f"{region}a", labels=labels), pod())
        (tmp_path / "dump.json").write_text(kubectl_list(objects), encoding="utf-8")
        done = nodelint("why", "dump.json", env={"NODELINT_NOW": NOW, "COLUMNS": "1000"})
        assert words in done.stdout
