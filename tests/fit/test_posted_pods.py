"""Situations of users' posts, made anew in files: the fact that decides each is in the answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.fit.test_fit import pod
from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]
AMD = "key: kubernetes.io/arch, operator: In, values: [amd64]"
CMR = "key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]"
MINE = "nodeSelector: {team: x}\n"


def of_types(*names: str) -> str:
    return f"key: node.kubernetes.io/instance-type, operator: In, values: [{', '.join(names)}]"


def asks(requests: str, limits: str = "") -> str:
    more = f", limits: {{{limits}}}" if limits else ""
    return f"containers: [{{name: a, resources: {{requests: {{{requests}}}{more}}}}}]"


def daemon(name: str, resources: str = "requests: {cpu: 50m, memory: 50Mi}", more: str = "") -> str:
    spec = f"{more}containers: [{{name: a, resources: {{{resources}}}}}]"
    return pod(spec, "DaemonSet", name)


def pool(*lines: str, **more: str) -> str:
    return nodepool(*lines, labels=more.pop("labels", "{team: x}"), **more)


def volumes(zones: str, key: str, driver: str = "ebs.csi.aws.com") -> str:
    texts = []
    for number, zone in enumerate(zones.split()):
        claim = (
            f"{{accessModes: [ReadWriteOnce], volumeName: pv-{number}, resources: {{requests: {{storage: 1Gi}}}}}}"
        )
        term = f"{{matchExpressions: [{{key: {key}, operator: In, values: [{zone}]}}]}}"
        texts += [
            f"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: c-{number}}}\nspec: {claim}\n",
            f"apiVersion: v1\nkind: PersistentVolume\nmetadata: {{name: pv-{number}}}\nspec:\n"
            f"  capacity: {{storage: 1Gi}}\n  accessModes: [ReadWriteOnce]\n"
            f"  csi: {{driver: {driver}, volumeHandle: v}}\n"
            f"  nodeAffinity: {{required: {{nodeSelectorTerms: [{term}]}}}}\n",
        ]
    mounted = ", ".join(
        f"{{name: v{n}, persistentVolumeClaim: {{claimName: c-{n}}}}}" for n in range(len(zones.split()))
    )
    return "---\n".join([pod(f"volumes: [{mounted}]\n{asks('cpu: 2, memory: 6Gi')}") + "\n", *texts])


FIT = {
    "provider #6884": (
        pool(AMD, of_types("g5.2xlarge", "g6.2xlarge")),
        nodeclass("kubelet: {maxPods: 1}"),
        [pod(MINE + asks("cpu: 1", "nvidia.com/gpu: 1")), daemon("aws-node"), daemon("kube-proxy")],
        ["no pool takes it", "pods: the pod and the DaemonSets ask for 3", "offers 1", "raise `maxPods`.* to 3"],
    ),
    "provider #8064": (
        pool(of_types("g4dn.2xlarge", "g4dn.4xlarge")),
        nodeclass(),
        [pod(MINE + asks("cpu: 17, memory: 32Gi, ephemeral-storage: 32Gi", "nvidia.com/gpu: 2"))],
        ["nvidia.com/gpu: the pod asks for 2.* offers 1", "cpu: the pod asks for 17", "ephemeral-storage: .*32Gi"],
    ),
    "core #1088": (
        pool(AMD, of_types("c4.4xlarge")),
        nodeclass(),
        [pod(MINE + asks("memory: 25600Mi")), daemon("one"), daemon("two")],
        ["memory: the pod and the DaemonSets ask for 25700Mi", "c4.4xlarge, offers"],
    ),
    "provider #5169": (
        pool(AMD, CMR, "key: karpenter.k8s.aws/instance-local-nvme, operator: Gt, values: ['45']"),
        nodeclass(),
        [pod(MINE + asks("cpu: 100m, ephemeral-storage: 40Gi"))],
        ["ephemeral-storage: the pod asks for 40Gi.*17Gi", "instanceStorePolicy: RAID0"],
    ),
    "provider #2298": (
        pool(AMD, CMR),
        nodeclass(),
        [pod(MINE + asks("cpu: 1, ephemeral-storage: 100G"))],
        ["ephemeral-storage: .*17Gi", "blockDeviceMappings"],
    ),
    "comfyui-on-eks #16": (
        pool(AMD, of_types("t3.large", "t3a.large")),
        nodeclass(),
        [pod(MINE + asks("cpu: 1", "nvidia.com/gpu: 1"))],
        ["no pool takes it", "nvidia.com/gpu: the pod asks for 1, and no allowed type has any"],
    ),
    "provider #1200": (
        pool(AMD, CMR),
        nodeclass(),
        [pod("nodeSelector: {kubernetes.io/hostname: ip-10-0-1-2.ec2.internal}\n" + asks("cpu: 1"))],
        ["no pool: Karpenter ignores the pod", "kubernetes.io/hostname is not allowed"],
    ),
    "provider #4192": (
        nodepool(AMD, CMR),
        nodeclass(),
        [volumes("us-east-1a us-east-1b us-east-1c", "topology.ebs.csi.aws.com/zone")],
        ["no pool takes it", "its volumes are in zone us-east-1a and in zone us-east-1b: no node reaches both"],
    ),
    "core #2458": (
        "---\n".join(
            nodepool(
                AMD, CMR, f"key: topology.ebs.csi.aws.com/zone, operator: In, values: [us-east-1{z}]", name=f"z{z}"
            )
            for z in "ab"
        ),
        nodeclass(),
        [volumes("us-east-1a", "topology.ebs.csi.aws.com/zone")],
        ["=> `za`", "no zb: incompatible volume requirements, key topology.kubernetes.io/zone"],
    ),
    "ceph-csi #5927": (
        nodepool(AMD, CMR),
        nodeclass(),
        [volumes("us-east-1a", "topology.rook-ceph.rbd.csi.ceph.com/zone", "rbd.csi.ceph.com")],
        ["no pool takes it", "topology.rook-ceph.rbd.csi.ceph.com/zone"],
    ),
    "core #1162": (
        pool(AMD, CMR),
        nodeclass(),
        [pod("nodeSelector: {nodegroup: apps}\n" + asks("cpu: 1"))],
        ['label "nodegroup" does not have known values', "help: add `nodegroup: apps` to the labels"],
    ),
    "provider #1573": (
        pool(AMD, of_types("t3.small")),
        nodeclass(),
        [pod(MINE + asks("cpu: 100m, memory: 600Mi")), daemon("agent", "limits: {memory: 1200Mi}")],
        ["memory: the pod and the DaemonSets ask for 1800Mi", "together with DaemonSet/agent"],
    ),
    "core #1749": (
        pool(AMD, of_types("t3.micro"), template="      taints: [{key: team, value: x, effect: NoSchedule}]\n"),
        nodeclass(),
        [
            pod(MINE + "tolerations: [{key: team, operator: Exists}]\n" + asks("cpu: 100m, memory: 100Mi")),
            *(daemon(f"d{n}", more="tolerations: [{operator: Exists}]\n") for n in range(4)),
        ],
        ["no pool takes it", "pods: the pod and the DaemonSets ask for 5.* offers 4"],
    ),
    "provider #2289": (
        pool(AMD, CMR),
        nodeclass(),
        [
            pod(
                "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
                "[{matchExpressions: [{key: beta.kubernetes.io/os, operator: In, values: [linux]}, "
                "{key: beta.kubernetes.io/arch, operator: In, values: [amd64, arm64]}]}]}}}\n" + asks("cpu: 100m")
            )
        ],
        ["=> `default`", "yes default"],
    ),
    "static node pools": (
        nodepool(AMD, CMR, name="fixed", spec="  replicas: 1\n  limits: {nodes: 5}\n"),
        nodeclass(),
        [pod("nodeSelector: {karpenter.sh/nodepool: fixed}\n" + asks("cpu: 2"))],
        ["no node is launched for it", "keeps `replicas: 1`"],
    ),
}


def answer(nodelint: Run, *args: str) -> str:
    found = nodelint(*args)
    return re.sub(r"\s+", " ", found.stdout + found.stderr)


@pytest.mark.parametrize("post", FIT)
def test_fit_names_the_fact_that_decides_a_post(tmp_path: Path, nodelint: Run, post: str) -> None:
    pools, node_class, workloads, expected = FIT[post]
    write_files(
        tmp_path, {".git/HEAD": "", "p.yaml": f"{pools}---\n{node_class}", "w.yaml": "\n---\n".join(workloads)}
    )
    text = answer(nodelint, "fit", ".")
    assert [words for words in expected if not re.search(words, text)] == []


CUSTOM = nodeclass(
    "amiFamily: Custom",
    "userData: |",
    "  #!/bin/bash",
    "  /etc/eks/bootstrap.sh demo --kubelet-extra-args '--node-labels=team=a'",
    ami="id: ami-0b7d3e19f45a8c264",
)
CHECK = {
    "provider #5293": (
        pool(AMD, CMR, template="      taints: [{key: fsx.csi.aws.com/agent-not-ready, effect: NoExecute}]\n"),
        nodeclass(),
        ["fsx.csi.aws.com/agent-not-ready", "startupTaints"],
    ),
    "core #1479": (
        pool(AMD, CMR, template="      startupTaints: [{key: app, value: kong, effect: NoSchedule}]\n"),
        nodeclass(),
        ["own-startup-taint", "no known controller removes `app`"],
    ),
    "provider #7535": (
        pool(AMD, CMR, template="      labels: {workload: inflate}\n"),
        nodeclass(),
        ["error", "`?labels`?", "metadata.labels|template.metadata"],
    ),
    "provider #8231": (
        pool(AMD, "key: node.kubernetes.io/instance-category, operator: In, values: [t]"),
        nodeclass(),
        ["node.kubernetes.io/instance-category", "karpenter.k8s.aws/instance-category"],
    ),
    "provider #6495": (
        pool(AMD, CMR, labels="{app.kubernetes.io/managed-by: spinnaker}"),
        nodeclass(),
        ["error", "app.kubernetes.io/managed-by"],
    ),
    "provider #7399": (pool(AMD, CMR), CUSTOM, ["karpenter.sh/unregistered"]),
    "provider #6650": (
        pool(AMD, CMR),
        nodeclass(role="arn:aws:iam::111122223333:role/demo-karpenter"),
        ["ARN"],
    ),
    "provider #5055": (
        pool(AMD, CMR, "key: karpenter.k8s.aws/instance-pods, operator: Gt, values: ['50']"),
        nodeclass(),
        ["error", "instance-pods"],
    ),
}


@pytest.mark.parametrize("post", CHECK)
def test_check_names_the_fact_that_decides_a_post(tmp_path: Path, nodelint: Run, post: str) -> None:
    pools, node_class, expected = CHECK[post]
    write_files(tmp_path, {".git/HEAD": "", "p.yaml": f"{pools}---\n{node_class}"})
    text = answer(nodelint, "check", ".", "--profile", "strict", "--karpenter-version", "1.8.3")
    assert [words for words in expected if not re.search(words, text)] == []


def test_a_way_out_counts_the_daemonsets_and_volumes_that_are_in_the_way(tmp_path: Path, nodelint: Run) -> None:
    tainted = pool(AMD, of_types("t3.micro"), template="      taints: [{key: a, effect: NoSchedule}]\n")
    crowd = [daemon(f"d{n}", more="tolerations: [{operator: Exists}]\n") for n in range(4)]
    files = {".git/HEAD": "", "p.yaml": f"{tainted}---\n{nodeclass()}"}
    write_files(tmp_path, files | {"w.yaml": "\n---\n".join([pod(MINE + asks("cpu: 100m")), *crowd])})
    assert "and pool `default` takes it" not in answer(nodelint, "fit", ".")
    write_files(tmp_path, files | {"w.yaml": pod(MINE + asks("cpu: 100m"))})
    assert "and pool `default` takes it" in answer(nodelint, "fit", ".")
