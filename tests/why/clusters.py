"""Clusters as kubectl prints them, small: nodes with NodeClaims, pools, a class, pods and what concerns them."""

from __future__ import annotations

import json
from typing import Any

NOW = "2026-11-20T12:00:00Z"
POOL_REQUIREMENTS = [
    {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
    {
        "key": "node.kubernetes.io/instance-type",
        "operator": "In",
        "values": ["m7i.large", "m7i.xlarge", "m7i.2xlarge"],
    },
]
SIZES = {
    "m7i.large": {"cpu": "1930m", "memory": "6903Mi", "pods": "29", "ephemeral-storage": "17Gi"},
    "m7i.xlarge": {"cpu": "3920m", "memory": "14162Mi", "pods": "58", "ephemeral-storage": "17Gi"},
    "m7i.2xlarge": {"cpu": "7910m", "memory": "29317Mi", "pods": "58", "ephemeral-storage": "17Gi"},
}


def nodepool(
    name: str = "default", *, disruption: dict[str, Any] | None = None, requirements: Any = None, **spec: Any
) -> Any:
    """A NodePool that is Ready, with budgets that let every node go."""
    usual = {
        "consolidationPolicy": "WhenEmptyOrUnderutilized",
        "consolidateAfter": "30s",
        "budgets": [{"nodes": "100%"}],
    }
    template = {
        "spec": {
            "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
            "requirements": POOL_REQUIREMENTS if requirements is None else requirements,
            "expireAfter": "720h",
            **spec.pop("template", {}),
        }
    }
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "spec": {"template": template, "disruption": {**usual, **(disruption or {})}, **spec},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }


def nodeclass(name: str = "default", zones: tuple[str, ...] = ("us-east-1a", "us-east-1b")) -> Any:
    """An EC2NodeClass with its subnets."""
    return {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": name},
        "spec": {
            "role": "KarpenterNodeRole-main",
            "amiSelectorTerms": [{"alias": "al2023@v20250403"}],
            "subnetSelectorTerms": [{"tags": {"karpenter.sh/discovery": "main"}}],
            "securityGroupSelectorTerms": [{"tags": {"karpenter.sh/discovery": "main"}}],
        },
        "status": {
            "subnets": [{"id": f"subnet-{z}", "zone": z} for z in zones],
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def node(
    name: str = "node-a",
    pool: str = "default",
    type_: str = "m7i.large",
    *,
    capacity: str = "on-demand",
    zone: str = "us-east-1a",
    labels: dict[str, Any] | None = None,
    annotations: dict[str, str] | None = None,
    conditions: dict[str, str] | None = None,
    taints: list[Any] | None = None,
    claim: dict[str, Any] | None = None,
    status: dict[str, Any] | None = None,
) -> list[Any]:
    """A node and its NodeClaim, whose pods have not changed for a day."""
    own = {
        "karpenter.sh/nodepool": pool,
        "karpenter.sh/registered": "true",
        "karpenter.sh/initialized": "true",
        "karpenter.sh/capacity-type": capacity,
        "node.kubernetes.io/instance-type": type_,
        "topology.kubernetes.io/zone": zone,
        "topology.kubernetes.io/region": "us-east-1",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "kubernetes.io/hostname": name,
        **(labels or {}),
    }
    own = {key: value for key, value in own.items() if value is not None}
    stated = {
        "Launched": "True",
        "Registered": "True",
        "Initialized": "True",
        "Consolidatable": "True",
        **(conditions or {}),
    }
    size = SIZES.get(type_, SIZES["m7i.large"])
    listed = [
        {"type": t, "status": s, "reason": t, "lastTransitionTime": "2026-11-19T10:00:00Z"}
        for t, s in stated.items()
        if s
    ]
    return [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": own, "annotations": annotations or {}},
            "spec": {"providerID": f"aws:///{zone}/i-{name}", "taints": taints or []},
            "status": {"allocatable": size, "capacity": size, "conditions": [{"type": "Ready", "status": "True"}]},
        },
        {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodeClaim",
            "metadata": {
                "name": f"{pool}-{name}",
                "labels": own,
                "creationTimestamp": "2026-11-19T09:55:00Z",
                **(claim or {}).pop("metadata", {}),
            },
            "spec": {"expireAfter": "720h", **(claim or {})},
            "status": {
                "nodeName": name,
                "providerID": f"aws:///{zone}/i-{name}",
                "lastPodEventTime": "2026-11-19T12:00:00Z",
                "conditions": listed,
                **(status or {}),
            },
        },
    ]


def pod(
    name: str = "web-1",
    node_name: str = "node-a",
    cpu: str = "500m",
    memory: str = "512Mi",
    *,
    namespace: str = "default",
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    owner: str = "ReplicaSet",
    phase: str = "Running",
    spec: dict[str, Any] | None = None,
    metadata: dict[str, Any] | None = None,
    status: dict[str, Any] | None = None,
) -> Any:
    """A pod that runs on a node, and is owned by a ReplicaSet."""
    api = "v1" if owner == "Node" else "apps/v1"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": labels or {"app": "web"},
            "annotations": annotations or {},
            "ownerReferences": [
                {"apiVersion": api, "kind": owner, "name": f"{owner.lower()}-of-{name.rpartition('-')[0]}"}
            ],
            **(metadata or {}),
        },
        "spec": {
            "containers": [{"name": "main", "resources": {"requests": {"cpu": cpu, "memory": memory}}}],
            **({"nodeName": node_name} if node_name else {}),
            **(spec or {}),
        },
        "status": {"phase": phase, "startTime": "2026-11-19T12:00:00Z", **(status or {})},
    }


def daemon(node_name: str = "node-a") -> Any:
    """A pod of a DaemonSet of kube-system."""
    everywhere = {"tolerations": [{"operator": "Exists"}]}
    return pod(
        f"aws-node-{node_name}", node_name, "50m", "64Mi", namespace="kube-system", owner="DaemonSet", spec=everywhere
    )


def pdb(name: str = "web", allowed: int | None = 0, *, labels: dict[str, str] | None = None, **spec: Any) -> Any:
    """A PodDisruptionBudget of pods with `app: web`."""
    stated = {"selector": {"matchLabels": labels or {"app": "web"}}, **(spec or {"maxUnavailable": 0})}
    status = {"currentHealthy": 2, "desiredHealthy": 2, "expectedPods": 2}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": stated,
        "status": {**status, **({} if allowed is None else {"disruptionsAllowed": allowed})},
    }


def other_pdb() -> Any:
    """A PodDisruptionBudget of kube-system that allows evictions: with it, the dump is known to hold them."""
    made = pdb("coredns", 1, labels={"k8s-app": "kube-dns"})
    made["metadata"]["namespace"] = "kube-system"
    return made


def event(message: str, reason: str = "Unconsolidatable", kind: str = "Node", name: str = "node-a") -> Any:
    """An event of Karpenter's."""
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{name}.1", "namespace": "default"},
        "involvedObject": {"kind": kind, "name": name},
        "reason": reason,
        "message": message,
        "lastTimestamp": "2026-11-20T11:55:00Z",
    }


def controller(release: str = "1.14.1", gates: str | None = None) -> Any:
    """The Deployment of Karpenter's controller."""
    env = [] if gates is None else [{"name": "FEATURE_GATES", "value": gates}]
    image = f"public.ecr.aws/karpenter/controller:{release}@sha256:{'0' * 64}"
    containers = [{"name": "controller", "image": image, "env": env}]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "karpenter", "namespace": "kube-system"},
        "spec": {"template": {"spec": {"containers": containers}}},
    }


def cluster(*objects: Any, release: str = "1.14.1", gates: str | None = None) -> list[Any]:
    """The objects of a cluster: those that are named, and what each of them has."""
    flat = [o for item in objects for o in (item if isinstance(item, list) else [item])]
    kinds = {(o["kind"], o["metadata"]["name"]) for o in flat}
    more = [o for o in (nodepool(), nodeclass()) if (o["kind"], o["metadata"]["name"]) not in kinds]
    return [*flat, *more, daemon(), other_pdb(), controller(release, gates)]


def kubectl_list(objects: list[Any]) -> str:
    """The objects as `kubectl get -o json` prints them."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
