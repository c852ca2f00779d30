"""A law: what `fit` calls impossible, `check` reports, and nothing else, for each made NodePool and each workload."""

from __future__ import annotations

import json
import re
import shutil
import textwrap
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.conftest import ROOT
from tests.manifests import nodeclass, nodepool

Run = Callable[..., CompletedProcess[str]]

CLASS = nodeclass(role="nodes", ami="alias: al2023@v20260610", net="tags: {a: b}")
M7I = "key: node.kubernetes.io/instance-type, operator: In, values: [m7i.large]"
ZONE = "key: topology.kubernetes.io/zone, operator: In, values: [us-east-1a]"
TAINT = "      taints: [{key: gpu, value: 'true', effect: %s}]\n"
POOLS = {
    "all types": nodepool("key: kubernetes.io/arch, operator: Exists"),
    "one type": nodepool(M7I),
    "amd64": nodepool("key: kubernetes.io/arch, operator: In, values: [amd64]"),
    "one zone": nodepool(M7I, ZONE),
    "taint": nodepool(M7I).replace("      nodeClassRef", TAINT % "NoSchedule" + "      nodeClassRef"),
    "soft taint": nodepool(M7I).replace("      nodeClassRef", TAINT % "PreferNoSchedule" + "      nodeClassRef"),
    "small limits": nodepool(M7I, spec="  limits: {cpu: '1'}\n"),
    "limits of one node": nodepool(M7I, spec="  limits: {cpu: '2'}\n"),
    "no nodes": nodepool(M7I, spec="  limits: {nodes: '0'}\n"),
    "static": nodepool(M7I, spec="  replicas: 2\n"),
    "spot": nodepool(M7I, "key: karpenter.sh/capacity-type, operator: In, values: [spot]"),
    "GPUs": nodepool("key: karpenter.k8s.aws/instance-gpu-count, operator: Gt, values: ['0']"),
}


def selecting(label: str) -> str:
    return f"nodeSelector: {{{label}}}\n"


def near(field: str, key: str) -> str:
    term = f"{{topologyKey: {key}, labelSelector: {{matchLabels: {{app: NAME}}}}}}"
    return f"affinity: {{{field}: {{requiredDuringSchedulingIgnoredDuringExecution: [{term}]}}}}\n"


def among(*terms: str) -> str:
    listed = ", ".join(f"{{matchExpressions: [{{{term}}}]}}" for term in terms)
    required = f"requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{listed}]}}"
    return f"affinity: {{nodeAffinity: {{{required}}}}}\n"


def spread(key: str, more: str = "") -> str:
    labels = "labelSelector: {matchLabels: {app: NAME}}"
    stated = f"maxSkew: 1, topologyKey: {key}, whenUnsatisfiable: DoNotSchedule, {labels}{more}"
    return f"topologySpreadConstraints: [{{{stated}}}]\n"


VOLUME = "volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]\n"
SPECS = {
    "plain": "",
    "arm64": selecting("kubernetes.io/arch: arm64"),
    "windows": selecting("kubernetes.io/os: windows"),
    "other-zone": selecting("topology.kubernetes.io/zone: us-east-1b"),
    "other-pool": selecting("karpenter.sh/nodepool: other"),
    "other-label": selecting("team: smal"),
    "hostname": selecting("kubernetes.io/hostname: ip-1"),
    "on-demand": selecting("karpenter.sh/capacity-type: on-demand"),
    "volume": VOLUME,
    "volume-elsewhere": selecting("topology.kubernetes.io/zone: us-east-1c") + VOLUME,
    "zones": spread("topology.kubernetes.io/zone", ", minDomains: 3"),
    "racks": spread("rack"),
    "apart": near("podAntiAffinity", "topology.kubernetes.io/zone"),
    "apart-on-hosts": near("podAntiAffinity", "kubernetes.io/hostname"),
    "together": near("podAffinity", "topology.kubernetes.io/zone"),
    "claims": "resourceClaims: [{name: g, resourceClaimTemplateName: t}]\n",
    "tolerant": "tolerations: [{key: gpu, operator: Exists}]\n",
    "large-types": among("key: karpenter.k8s.aws/instance-cpu, operator: Gt, values: ['4']"),
    "terms": among(
        "key: kubernetes.io/arch, operator: In, values: [arm64]", "key: team, operator: In, values: [smal]"
    ),
}
REQUESTS = {
    "cpu": "requests: {cpu: 8}",
    "most-of-a-node": "requests: {cpu: 1900m}",
    "memory": "requests: {memory: 8Gi}",
    "storage": "requests: {ephemeral-storage: 100Gi}",
    "gpu": "limits: {nvidia.com/gpu: 1}",
    "neuron": "limits: {aws.amazon.com/neuron: 1}",
    "pages": "limits: {hugepages-2Mi: 1Gi, memory: 1Gi}",
    "extended": "limits: {example.com/dongle: 1}",
}
VOLUMES = """\
apiVersion: v1
kind: PersistentVolume
metadata: {name: data}
spec:
  csi: {driver: ebs.csi.aws.com, volumeHandle: vol-1}
  nodeAffinity:
    required:
      nodeSelectorTerms:
        - matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [us-east-1b]}]
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: default}
spec: {volumeName: data, storageClassName: ''}
"""


def deployment(name: str, spec: str, resources: str) -> str:
    pod = textwrap.indent(spec.replace("NAME", name), "      ")
    return (
        f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}}}\nspec:\n  replicas: 3\n"
        f"  selector: {{matchLabels: {{app: {name}}}}}\n  template:\n    metadata: {{labels: {{app: {name}}}}}\n"
        f"    spec:\n{pod}      containers: [{{name: c, image: i, resources: {{{resources}}}}}]\n"
    )


@pytest.mark.parametrize("pool", POOLS)
def test_check_reports_what_fit_calls_impossible(tmp_path: Path, nodelint: Run, pool: str) -> None:
    (tmp_path / "pool.yaml").write_text(f"{POOLS[pool]}---\n{CLASS}")
    (tmp_path / "volumes.yaml").write_text(VOLUMES)
    (tmp_path / "nodelint.yaml").write_text("rules:\n  no-pool-for-workload: {pools: complete}\n")
    for name, spec in SPECS.items():
        (tmp_path / f"{name}.yaml").write_text(deployment(name, spec, "requests: {cpu: 100m}"))
    for name, resources in REQUESTS.items():
        (tmp_path / f"{name}.yaml").write_text(deployment(name, "", resources))
    fitted = json.loads(nodelint("fit", "--format", "json", ".").stdout)["workloads"]
    static = pool == "static"  # whose nodes may have room
    impossible = {
        workload["name"]
        for workload in fitted
        if not workload["possible"] and not (static and workload["pools"][0]["reason"] == "static")
    }
    partly = {w["name"] for w in fitted if w["possible"] and re.search(r"of (?:its )?3 ", w["note"] or "")}
    findings = json.loads(nodelint("check", "--format", "json", ".").stdout)["findings"]
    reported = {Path(f["path"]).stem for f in findings if f["rule"] == "no-pool-for-workload"}
    assert reported == impossible | partly
    assert len(fitted) == len(SPECS) + len(REQUESTS)


def test_pods_that_keep_apart_need_a_zone_each(tmp_path: Path, nodelint: Run) -> None:
    (tmp_path / "pool.yaml").write_text(f"{POOLS['one zone']}---\n{CLASS}")
    (tmp_path / "web.yaml").write_text(deployment("web", SPECS["apart"], "requests: {cpu: 100m}"))
    output = " ".join(nodelint("fit", ".").stdout.split())
    assert "its anti-affinity allows 1 pod in each: 1 of 3 get a node" in output
    three = POOLS["one zone"].replace("[us-east-1a]", "[us-east-1a, us-east-1b, us-east-1c]")
    (tmp_path / "pool.yaml").write_text(f"{three}---\n{CLASS}")
    assert "of 3 get a node" not in nodelint("fit", ".").stdout
    (tmp_path / "web.yaml").write_text(deployment("web", SPECS["apart-on-hosts"], "requests: {cpu: 100m}"))
    assert "of 3 get a node" not in nodelint("fit", ".").stdout


def test_no_change_of_a_pool_is_offered_for_a_volume_in_another_zone(tmp_path: Path, nodelint: Run) -> None:
    (tmp_path / "pool.yaml").write_text(f"{POOLS['one type']}---\n{CLASS}")
    (tmp_path / "volumes.yaml").write_text(VOLUMES)
    (tmp_path / "web.yaml").write_text(deployment("web", SPECS["volume-elsewhere"], "requests: {cpu: 100m}"))
    output = " ".join(nodelint("fit", ".").stdout.split())
    assert "topology.kubernetes.io/zone In [us-east-1b] not in topology.kubernetes.io/zone In [us-east-1c]" in output
    assert "its volume is in us-east-1b" in output
    assert "help:" not in output


TREES = {
    path.name: path
    for path in (*sorted((ROOT / "tests" / "trees").iterdir()), *sorted((ROOT / "examples").iterdir()))
    if path.is_dir() and path.name != "workloads"
}


@pytest.mark.slow
@pytest.mark.parametrize("tree", TREES)
def test_each_profile_reports_what_fit_calls_impossible_beside_pools_of_each_form(
    tmp_path: Path, nodelint: Run, tree: str
) -> None:
    shutil.copytree(TREES[tree], tmp_path, dirs_exist_ok=True)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("")
    (tmp_path / "nodelint.yaml").write_text("rules:\n  no-pool-for-workload: {pools: complete}\n")
    (tmp_path / "volumes.yaml").write_text(VOLUMES)
    for name, spec in SPECS.items():
        (tmp_path / f"law-{name}.yaml").write_text(deployment(f"law-{name}", spec, "requests: {cpu: 100m}"))
    for name, resources in REQUESTS.items():
        (tmp_path / f"law-{name}.yaml").write_text(deployment(f"law-{name}", "", resources))
    fitted = nodelint("fit", "--format", "json", ".").stdout
    impossible = {
        workload["name"]
        for workload in (json.loads(fitted)["workloads"] if fitted else ())
        # What keeps a pool from becoming ready is an error of its own.
        if not workload["possible"] and not {pool["reason"] for pool in workload["pools"]} & {"static", "not-ready"}
    }
    answers = []
    other = (("--profile", "strict"), ("--select", "no-pool-for-workload"))[sorted(TREES).index(tree) % 2]
    for flags in ((), other):
        findings = json.loads(nodelint("check", "--format", "json", *flags, ".").stdout)["findings"]
        found = (f for f in findings if f["rule"] == "no-pool-for-workload" and "pods get a node" not in f["message"])
        answers.append({Path(f["path"]).stem for f in found if "leave room for" not in f["message"]})
    assert answers[0] == answers[1]
    assert impossible - answers[0] == set()
