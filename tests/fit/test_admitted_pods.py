"""What pods become after they are judged as written: limits of nodes fill up, and the API server adds to pods."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]
SMALL = "key: karpenter.k8s.aws/instance-cpu, operator: In, values: ['2']"
BY_NODE = "topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: %s}}%s"


def answer(nodelint: Run, tmp_path: Path, workload: str, limits: str = "{cpu: 100}", *more: str) -> str:
    pool = nodepool(SMALL, spec=f"  limits: {limits}\n")
    write_files(tmp_path, {".git/HEAD": "", "p.yaml": f"{pool}---\n{nodeclass()}", "w.yaml": workload})
    return " ".join(nodelint("fit", ".", *more).stdout.split())


def deployment(spec: str, cpu: str = "100m", replicas: int = 5) -> str:
    return (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"
        f"spec:\n  replicas: {replicas}\n  template:\n    metadata: {{labels: {{app: web}}}}\n    spec:\n"
        f"      {spec}\n      containers: [{{name: a, image: a, resources: {{requests: {{cpu: {cpu}}}}}}}]\n"
    )


def apart(app: str = "web", more: str = "") -> str:
    term = BY_NODE % (app, more)
    return f"affinity: {{podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{{{term}}}]}}}}"


BEYOND = {
    "apart by node": (deployment(apart()), "{nodes: 3}", 3),
    "a pod fills a node": (deployment("restartPolicy: Always", cpu="1500m"), "{nodes: 3}", 3),
    "apart, and a limit of cpu that is enough": (deployment(apart()), "{nodes: '4', cpu: 100}", 4),
}
WITHIN = {
    "as many nodes": (deployment(apart()), "{nodes: 5}"),
    "no limit of nodes": (deployment(apart()), "{cpu: 100}"),
    "apart from others": (deployment(apart("other")), "{nodes: 3}"),
    "apart from those of another namespace": (deployment(apart(more=", namespaces: [x]")), "{nodes: 3}"),
    "several on a node": (deployment("restartPolicy: Always"), "{nodes: 3}"),
    "fewer pods": (deployment(apart(), replicas=2), "{nodes: 3}"),
}


@pytest.mark.parametrize("case", BEYOND)
def test_more_pods_than_the_limit_of_nodes_has_room_for(tmp_path: Path, nodelint: Run, case: str) -> None:
    workload, limits, room = BEYOND[case]
    text = answer(nodelint, tmp_path, workload, limits)
    assert "=> may be taken by `default`" in text
    assert f"`limits.nodes` of the NodePool that takes them leaves room for {room} of its 5 pods" in text
    assert "no-pool-for-workload" not in nodelint("check", ".").stdout


@pytest.mark.parametrize("case", WITHIN)
def test_a_limit_of_nodes_that_is_enough(tmp_path: Path, nodelint: Run, case: str) -> None:
    text = answer(nodelint, tmp_path, *WITHIN[case])
    assert "=> `default`" in text and "not known" not in text


def test_before_1_11_a_pool_exceeds_its_limit_by_a_node(tmp_path: Path, nodelint: Run) -> None:
    old = "--karpenter-version", "1.10.0"
    assert "leaves room for 4 of its 5" in answer(nodelint, tmp_path, deployment(apart()), "{nodes: 3}", *old)
    assert "not known" not in answer(nodelint, tmp_path, deployment(apart()), "{nodes: 4}", *old)
