"""Any value of a wrong type, in any field and on either side, is compared: the plan of it is printed, and ends."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from nodelint.apiserver import Schemas
from nodelint.inventory import Inventory
from nodelint.model.releases import NEWEST
from nodelint.plan import PlanOptions, Side, make
from nodelint.plan.outcome import Findings
from nodelint.report.plan_html import plan_html
from nodelint.report.plan_json import plan_json
from nodelint.report.plan_markdown import plan_markdown
from nodelint.report.plan_text import plan_text
from nodelint.report.style import PAGE
from nodelint.text import Source

POOL: dict[str, Any] = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodePool",
    "metadata": {"name": "web", "labels": {"a": "b"}},
    "spec": {
        "template": {
            "metadata": {"labels": {"team": "web"}, "annotations": {"a": "b"}},
            "spec": {
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "web"},
                "requirements": [
                    {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"], "minValues": 1},
                    {"key": "karpenter.k8s.aws/instance-cpu", "operator": "Gt", "values": ["3"]},
                ],
                "taints": [{"key": "web", "value": "a", "effect": "NoSchedule"}],
                "startupTaints": [{"key": "boot", "effect": "NoSchedule"}],
                "expireAfter": "720h",
                "terminationGracePeriod": "1h",
            },
        },
        "disruption": {
            "consolidationPolicy": "WhenEmpty",
            "consolidateAfter": "1m",
            "budgets": [{"nodes": "10%", "schedule": "0 9 * * 1", "duration": "8h", "reasons": ["Drifted"]}],
        },
        "limits": {"cpu": "100", "memory": "10Gi", "nodes": 5},
        "weight": 10,
    },
}
STATIC = {**POOL, "spec": {"replicas": 3, "limits": {"nodes": 5}, "template": POOL["spec"]["template"]}}
CLASS: dict[str, Any] = {
    "apiVersion": "karpenter.k8s.aws/v1",
    "kind": "EC2NodeClass",
    "metadata": {"name": "web"},
    "spec": {
        "role": "nodes",
        "amiFamily": "AL2023",
        "amiSelectorTerms": [{"alias": "al2023@v20260714"}],
        "subnetSelectorTerms": [{"tags": {"a": "b"}}, {"id": "subnet-12345678"}],
        "securityGroupSelectorTerms": [{"name": "a"}],
        "capacityReservationSelectorTerms": [{"id": "cr-12345678"}],
        "userData": "echo a",
        "tags": {"team": "web"},
        "associatePublicIPAddress": False,
        "detailedMonitoring": True,
        "instanceStorePolicy": "RAID0",
        "context": "a",
        "kubelet": {
            "maxPods": 50,
            "podsPerCore": 2,
            "clusterDNS": ["10.0.0.10"],
            "systemReserved": {"cpu": "100m"},
            "kubeReserved": {"memory": "1Gi"},
            "evictionHard": {"memory.available": "5%"},
            "evictionSoft": {"memory.available": "10%"},
            "evictionSoftGracePeriod": {"memory.available": "1m"},
            "evictionMaxPodGracePeriod": 60,
            "imageGCHighThresholdPercent": 85,
            "imageGCLowThresholdPercent": 80,
            "cpuCFSQuota": True,
        },
        "metadataOptions": {"httpEndpoint": "enabled", "httpPutResponseHopLimit": 1, "httpTokens": "required"},
        "blockDeviceMappings": [
            {
                "deviceName": "/dev/xvda",
                "rootVolume": True,
                "ebs": {"volumeSize": "20Gi", "volumeType": "gp3", "iops": 3000, "encrypted": True},
            }
        ],
    },
}
WRONG = ("text", "10", 7, -1, 2.5, True, None, [], ["a", 3, None, {}], {}, {"a": ["b"]}, "{{ .Values.a }}")


def _paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in entries:
        yield (*path, step)
        yield from _paths(inner, (*path, step))


def replace_value(value: Any, path: tuple[str | int, ...], other: Any) -> Any:
    made = copy.deepcopy(value)
    holder = made
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = other
    return made


def _write(*objects: Any) -> str:
    return "---\n".join(json.dumps(obj) + "\n" for obj in objects)


def _print_plan(old: str, new: str) -> str:
    options = PlanOptions(NEWEST, None, Schemas.bundled(), now=datetime(2026, 1, 5, tzinfo=UTC))
    plan = make(*(Side(Inventory([Source.from_text("a.yaml", text)])) for text in (old, new)), options)
    nothing = Findings()
    json.dumps(plan_json(plan, nothing))
    plan_markdown(plan, nothing)
    plan_html(plan, nothing)
    return plan_text(plan, nothing, PAGE)


FIELDS = [
    (which, path)
    for which, obj in (("pool", POOL), ("static", STATIC), ("class", CLASS))
    for path in _paths(obj["spec"], ("spec",))
    if which != "static" or path[1] in ("replicas", "limits")
]


@pytest.mark.parametrize("part", ["pool", "static", "class"])
@pytest.mark.parametrize("side", ["old", "new"])
def test_any_value_in_any_field_is_compared(side: str, part: str) -> None:
    """Each field takes another of the wrong values on each side, so that each comes up in many kinds of fields."""
    shift = 0 if side == "old" else len(WRONG) // 2
    tried = [(which, path, WRONG[(number + shift) % len(WRONG)]) for number, (which, path) in enumerate(FIELDS)]
    tried += [("pool", ("spec", "weight"), "10"), ("static", ("spec", "replicas"), "3")]
    for which, path, wrong in (case for case in tried if case[0] == part):
        pool = STATIC if which == "static" else POOL
        right = _write(pool, CLASS)
        changed = replace_value(CLASS if which == "class" else pool, path, wrong)
        broken = _write(pool, changed) if which == "class" else _write(changed, CLASS)
        assert _print_plan(*((broken, right) if side == "old" else (right, broken))), (path, wrong)
