"""Workloads that Terraform makes of blocks have the verdicts that the same workloads have as manifests."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.manifests import nodeclass, nodepool

Nodelint = Callable[..., subprocess.CompletedProcess[str]]

POOLS = (
    nodepool(
        "key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]",
        "key: kubernetes.io/arch, operator: In, values: [amd64]",
        "key: topology.kubernetes.io/zone, operator: In, values: [us-east-1a, us-east-1b]",
        "key: karpenter.k8s.aws/instance-family, operator: In, values: [c7i]",
        name="data",
        labels="{team: data}",
        template="      taints: [{key: team, value: data, effect: NoSchedule}]\n",
    )
    + "---\n"
    + nodeclass(role="nodes", ami="alias: al2023@v20260714", net="tags: {karpenter.sh/discovery: c}")
)
TOLERATION = 'toleration {\n key = "team"\n operator = "Equal"\n value = "data"\n effect = "NoSchedule"\n}\n'
CONTAINER = 'container {\n name = "a"\n image = "a"\n resources {\n requests = { cpu = "<cpu>" }\n }\n}\n'
TOLERATES = {"tolerations": [{"key": "team", "operator": "Equal", "value": "data", "effect": "NoSchedule"}]}


def containers(cpu: str) -> dict[str, Any]:
    return {"containers": [{"name": "a", "image": "a", "resources": {"requests": {"cpu": cpu}}}]}


def affinity(operator: str, value: str) -> tuple[str, dict[str, Any]]:
    expression = {"key": "topology.kubernetes.io/zone", "operator": operator, "values": [value]}
    required = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    blocks = (
        "affinity {\n node_affinity {\n required_during_scheduling_ignored_during_execution {\n"
        " node_selector_term {\n"
        f' match_expressions {{\n key = "topology.kubernetes.io/zone"\n operator = "{operator}"\n'
        f' values = ["{value}"]\n }}\n }}\n }}\n }}\n}}\n'
    )
    return blocks, {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


PODS: dict[str, tuple[str, dict[str, Any]]] = {
    "tolerates": (TOLERATION + CONTAINER.replace("<cpu>", "1"), {**TOLERATES, **containers("1")}),
    "taint": (CONTAINER.replace("<cpu>", "1"), containers("1")),
    "too large": (TOLERATION + CONTAINER.replace("<cpu>", "400"), {**TOLERATES, **containers("400")}),
    "two containers": (
        TOLERATION + CONTAINER.replace("<cpu>", "100") * 2,
        {**TOLERATES, "containers": containers("100")["containers"] * 2},
    ),
    "init container": (
        TOLERATION + CONTAINER.replace("<cpu>", "1") + "init_" + CONTAINER.replace("<cpu>", "400"),
        {**TOLERATES, **containers("1"), "initContainers": containers("400")["containers"]},
    ),
    "node selector": (
        TOLERATION + CONTAINER.replace("<cpu>", "1") + 'node_selector = {\n team = "web"\n}\n',
        {**TOLERATES, **containers("1"), "nodeSelector": {"team": "web"}},
    ),
    "selector that fits": (
        TOLERATION + CONTAINER.replace("<cpu>", "1") + 'node_selector = { "team" = "data" }\n',
        {**TOLERATES, **containers("1"), "nodeSelector": {"team": "data"}},
    ),
}
for _operator, _zone in (("In", "us-east-1a"), ("In", "us-east-1c"), ("NotIn", "us-east-1a")):
    _blocks, _field = affinity(_operator, _zone)
    PODS[f"zone {_operator} {_zone}"] = (
        TOLERATION + CONTAINER.replace("<cpu>", "1") + _blocks,
        {**TOLERATES, **containers("1"), **_field},
    )

KINDS = {
    "deployment_v1": ("apps/v1", "Deployment"),
    "deployment": ("apps/v1", "Deployment"),
    "stateful_set": ("apps/v1", "StatefulSet"),
    "job_v1": ("batch/v1", "Job"),
    "cron_job_v1": ("batch/v1", "CronJob"),
    "pod_v1": ("v1", "Pod"),
}


def resource(kind: str, pod: str, more: str = "") -> str:
    spec = f"spec {{\n{pod}}}\n"
    if kind != "pod_v1":
        spec = f'spec {{\ntemplate {{\nmetadata {{\n labels = {{ app = "web" }}\n}}\n{spec}}}\n}}\n'
    if kind == "cron_job_v1":
        spec = f'spec {{\n schedule = "@daily"\njob_template {{\nmetadata {{}}\n{spec}}}\n}}\n'
    return f'resource "kubernetes_{kind}" "web" {{\n{more}metadata {{\n  name = "web"\n}}\n{spec}}}\n'


def manifest(kind: str, pod: dict[str, Any]) -> str:
    api_version, name = KINDS[kind]
    spec = pod
    if kind != "pod_v1":
        spec = {"template": {"metadata": {"labels": {"app": "web"}}, "spec": spec}}
    if kind == "cron_job_v1":
        spec = {"schedule": "@daily", "jobTemplate": {"spec": spec}}
    return json.dumps({"apiVersion": api_version, "kind": name, "metadata": {"name": "web"}, "spec": spec})


def verdicts(nodelint: Nodelint, folder: Path, name: str, text: str) -> list[dict[str, Any]]:
    folder.mkdir()
    (folder / "pools.yaml").write_text(POOLS)
    (folder / name).write_text(text)
    report = json.loads(nodelint("fit", ".", "--format", "json", cwd=folder).stdout)
    assert report["skipped"] == []
    return [
        {"kind": w["kind"], "name": w["name"], "possible": w["possible"]}
        | {key: w["pools"][0][key] for key in ("fits", "instanceTypes", "reason")}
        for w in report["workloads"]
    ]


# A kind with a template and one with two of them have every pod.
CASES = [
    (kind, name)
    for kind in KINDS
    for name in PODS
    if kind in ("deployment_v1", "cron_job_v1") or name in ("tolerates", "node selector")
]


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_a_resource_has_the_verdict_of_its_manifest(nodelint: Nodelint, tmp_path: Path, kind: str, name: str) -> None:
    blocks, pod = PODS[name]
    expected = verdicts(nodelint, tmp_path / "yaml", "web.yaml", manifest(kind, pod))
    assert len(expected) == 1
    assert verdicts(nodelint, tmp_path / "tf", "main.tf", resource(kind, blocks)) == expected


def test_variables_are_filled_in(nodelint: Nodelint, tmp_path: Path) -> None:
    pod = TOLERATION.replace('"data"', "var.team") + CONTAINER.replace("<cpu>", "1")
    text = 'variable "team" { default = "data" }\n' + resource("deployment_v1", pod)
    assert [w["possible"] for w in verdicts(nodelint, tmp_path / "one", "main.tf", text)] == [True]
    text = 'variable "team" { default = "web" }\n' + resource("deployment_v1", pod)
    assert [w["reason"] for w in verdicts(nodelint, tmp_path / "other", "main.tf", text)] == ["taint"]


def test_a_dynamic_block_is_not_known_and_no_pool_is_refused_for_it(nodelint: Nodelint, tmp_path: Path) -> None:
    dynamic = 'dynamic "toleration" {\n for_each = var.tolerations\n content {\n key = toleration.value\n }\n}\n'
    (tmp_path / "pools.yaml").write_text(POOLS)
    (tmp_path / "main.tf").write_text(resource("deployment_v1", dynamic + CONTAINER.replace("<cpu>", "1")))
    report = json.loads(nodelint("fit", ".", "--format", "json", cwd=tmp_path).stdout)
    assert [workload["possible"] for workload in report["workloads"]] in ([], [True])
    assert nodelint("fit", ".", cwd=tmp_path).returncode == 0


def test_check_names_the_line_of_the_selector_and_edits_no_block(nodelint: Nodelint, tmp_path: Path) -> None:
    (tmp_path / "pools.yaml").write_text(POOLS)
    text = resource("deployment_v1", PODS["node selector"][0])
    (tmp_path / "main.tf").write_text(text)
    report = json.loads(nodelint("check", ".", "--format", "json", cwd=tmp_path).stdout)
    found = [finding for finding in report["findings"] if finding["rule"] == "no-pool-for-workload"]
    assert [(finding["path"], finding["object"]["kind"]) for finding in found] == [("main.tf", "Deployment")]
    assert "web" in text.splitlines()[found[0]["start"]["line"] - 1]
    nodelint("check", ".", "--fix", "--unsafe-fixes", cwd=tmp_path)
    assert (tmp_path / "main.tf").read_text() == text


def test_a_block_that_cannot_be_read_is_named(nodelint: Nodelint, tmp_path: Path) -> None:
    (tmp_path / "pools.yaml").write_text(POOLS)
    (tmp_path / "main.tf").write_text('resource "kubernetes_deployment_v1" "web" {\n  metadata {\n    name = "web"\n')
    result = nodelint("fit", ".", cwd=tmp_path)
    assert "main.tf" in result.stdout + result.stderr
    assert result.returncode != 0
