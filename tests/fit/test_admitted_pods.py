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


RUNTIME = "apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: kata}\nhandler: kata\n%s\n---\n"
OVERHEAD = RUNTIME % "overhead: {podFixed: {cpu: '%s'}}"
RANGE = (
    "apiVersion: v1\nkind: LimitRange\nmetadata: {name: range, namespace: %s}\n"
    "spec: {limits: [{type: %s, %s: {cpu: '4'}}]}\n---\n"
)


def pod(spec: str = "", resources: str = "{}") -> str:
    return (
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: web, namespace: team}}\n"
        f"spec: {{{spec}containers: [{{name: a, image: a, resources: {resources}}}]}}\n"
    )


KATA, ONE_CPU = "runtimeClassName: kata, ", "{requests: {cpu: '1'}}"
ADDED = {
    "overhead": (OVERHEAD % 2 + pod(KATA, ONE_CPU), "RuntimeClass/kata adds its overhead to the pods"),
    "node selector": (RUNTIME % "scheduling: {nodeSelector: {a: b}}" + pod(KATA), "adds its node selector"),
    "default request": (RANGE % ("team", "Container", "defaultRequest") + pod(), "LimitRange/range adds default"),
    "default limit": (RANGE % ("team", "Container", "default") + pod(), "LimitRange/range adds default requests"),
    "least request": (RANGE % ("team", "Container", "min") + pod(), "LimitRange/range adds default requests"),
    "of a DaemonSet": (
        RANGE % ("default", "Container", "default")
        + "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: a}\n"
        + "spec: {template: {spec: {containers: [{name: a, image: a}]}}}\n",
        "LimitRange/range adds default requests",
    ),
}
NOT_ADDED = {
    "a small overhead": OVERHEAD % "500m" + pod(KATA, ONE_CPU),
    "an overhead of its own": OVERHEAD % 2 + pod(KATA + "overhead: {cpu: 100m}, ", ONE_CPU),
    "another runtime class": OVERHEAD % 2 + pod("runtimeClassName: other, ", ONE_CPU),
    "no runtime class": OVERHEAD % 2 + pod("", ONE_CPU),
    "a runtime class without additions": RUNTIME % "" + pod(KATA, ONE_CPU),
    "a request of its own": RANGE % ("team", "Container", "default") + pod("", ONE_CPU),
    "a limit of its own": RANGE % ("team", "Container", "defaultRequest") + pod("", "{limits: {cpu: '1'}}"),
    "another namespace": RANGE % ("other", "Container", "default") + pod(),
    "a limit of whole pods": RANGE % ("team", "Pod", "max") + pod(),
}


@pytest.mark.parametrize("case", ADDED)
def test_what_the_api_server_adds_may_leave_no_pool(tmp_path: Path, nodelint: Run, case: str) -> None:
    workload, reason = ADDED[case]
    text = answer(nodelint, tmp_path, workload)
    assert "=> may be taken by `default`" in text and reason in text
    assert "and with that no pool takes them" in text


@pytest.mark.parametrize("case", NOT_ADDED)
def test_additions_that_change_nothing_are_not_named(tmp_path: Path, nodelint: Run, case: str) -> None:
    text = answer(nodelint, tmp_path, NOT_ADDED[case])
    assert "=> `default`" in text and "not known" not in text
