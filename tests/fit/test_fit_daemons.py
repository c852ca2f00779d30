"""Which DaemonSets take room beside a workload's pods: those that certainly go to the pool's cluster."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.manifests import nodepool
from tests.plain_yaml import dump_yaml
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]
TYPE = "key: node.kubernetes.io/instance-type, operator: In, values: [m5.large]"


def workload(kind: str, name: str, container: dict[str, Any], **spec: Any) -> str:
    template = {"spec": {"containers": [{"name": "a", "image": "a", **container}], **spec}}
    manifest = {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": {"template": template}}
    return dump_yaml(manifest, sort_keys=False)


def asking(cpu: str) -> dict[str, Any]:
    return {"resources": {"requests": {"cpu": cpu}}}


WEB = workload("Deployment", "web", asking("1500m"))
AGENT = workload("DaemonSet", "agent", asking("1"))


def write(folder: Path, files: dict[str, str]) -> None:
    (folder / ".git").mkdir(exist_ok=True)
    write_files(folder, files)


def verdicts(nodelint: Run, name: str = "web") -> dict[str, Any]:
    """What each pool makes of a workload."""
    found = json.loads(nodelint("fit", ".", "--format", "json").stdout)["workloads"]
    return {pool["name"]: pool for entry in found if entry["name"] == name for pool in entry["pools"]}


def pool(name: str, *more: str) -> str:
    return nodepool(TYPE, *more, name=name)


@pytest.mark.parametrize(
    ("pools", "daemon", "counts"),
    [
        (["pool.yaml"], "pool.yaml", ["p0"]),
        (["pool.yaml"], "agent.yaml", ["p0"]),
        (["karpenter/pool.yaml"], "monitoring/agent.yaml", ["p0"]),
        (["karpenter/cpu/pool.yaml", "karpenter/gpu/pool.yaml"], "monitoring/agent.yaml", ["p0", "p1"]),
        (["one/karpenter/pool.yaml", "two/karpenter/pool.yaml"], "one/monitoring/agent.yaml", ["p0"]),
        (["karpenter/cpu/pool.yaml", "karpenter/gpu/pool.yaml"], "karpenter/gpu/agent.yaml", ["p1"]),
        (["examples/pool.yaml"], "examples/agent.yaml", ["p0"]),
        (["examples/a/pool.yaml", "examples/b/pool.yaml"], "examples/b/agent.yaml", ["p1"]),
        (["examples/a/pools/pool.yaml"], "examples/a/daemons/agent.yaml", ["p0"]),
        (["examples/a/pool.yaml"], "examples/b/agent.yaml", []),
        (["examples/pool.yaml"], "examples/b/agent.yaml", []),
        (["karpenter/pool.yaml"], "examples/agent.yaml", []),
        (["samples/pool.yaml"], "monitoring/agent.yaml", []),
        (["prod/karpenter/pool.yaml"], "prod/monitoring/agent.yaml", ["p0"]),
        (["prod/karpenter/pool.yaml"], "dev/monitoring/agent.yaml", []),
        (["karpenter/pool.yaml"], "monitoring/agent-staging.yaml", []),
        (["karpenter/us-east-1/pool.yaml"], "monitoring/us-east-1/agent.yaml", ["p0"]),
        (["karpenter/us-east-1/pool.yaml"], "monitoring/eu-west-1/agent.yaml", []),
    ],
)
def test_a_daemon_set_counts_where_it_certainly_runs(
    tmp_path: Path, nodelint: Run, pools: list[str], daemon: str, counts: list[str]
) -> None:
    files = {path: pool(f"p{n}") for n, path in enumerate(pools)}
    files[daemon] = "---\n".join(filter(None, [files.get(daemon), AGENT]))
    write(tmp_path, {**files, "web.yaml": WEB})
    found = verdicts(nodelint)
    assert [name for name in sorted(found) if not found[name]["fits"]] == counts
    assert all(found[name]["daemonSets"] == ["agent"] for name in counts)
    note = f"DaemonSet/agent ({daemon})"
    assert (note in nodelint("fit", ".").stderr) is (not counts)


def test_of_several_with_one_name_that_of_the_pools_cluster_counts(tmp_path: Path, nodelint: Run) -> None:
    small = workload("DaemonSet", "agent", asking("100m"))
    files = {f"{env}/karpenter/pool.yaml": pool(env) for env in ("dev", "prod")}
    write(tmp_path, {**files, "dev/agent.yaml": small, "prod/agent.yaml": AGENT, "web.yaml": WEB})
    assert {name: found["fits"] for name, found in verdicts(nodelint).items()} == {"dev": True, "prod": False}


PLACEHOLDERS = {
    "selector": {"nodeSelector": {"team": "${TEAM}"}},
    "key of a selector": {"nodeSelector": {"${KEY}": "a"}},
    "toleration": {"tolerations": [{"key": "${KEY}", "operator": "Exists"}]},
    "term": {
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In", "values": ["${V}"]}]}]
                }
            }
        }
    },
}


@pytest.mark.parametrize("title", PLACEHOLDERS)
def test_a_daemon_set_that_may_stay_off_the_nodes_takes_no_room(tmp_path: Path, nodelint: Run, title: str) -> None:
    files = {"pool.yaml": pool("p"), "web.yaml": WEB, "agent.yaml": AGENT}
    write(tmp_path, files)
    assert not verdicts(nodelint)["p"]["fits"]
    write(tmp_path, {"agent.yaml": workload("DaemonSet", "agent", asking("1"), **PLACEHOLDERS[title])})
    assert verdicts(nodelint)["p"]["fits"]


TAINTED = "      taints: [{key: TAINT, value: a, effect: NoSchedule}]\n      requirements:"


@pytest.mark.parametrize(
    ("written", "tolerations", "selector", "fits"),
    [
        ("      requirements:", [], {"team": "a"}, True),
        (TAINTED.replace("TAINT", "team"), [{"key": "team", "operator": "Exists"}], {}, False),
        (TAINTED.replace("TAINT", "${TAINT}"), [{"key": "team", "operator": "Exists"}], {}, True),
        (TAINTED.replace("TAINT", "${TAINT}"), [{"operator": "Exists"}], {}, False),
        ("      taints: ${TAINTS}\n      requirements:", [{"key": "team", "operator": "Exists"}], {}, True),
        ("      requirements:\n        - {key: team, operator: In, values: [a]}", [], {"team": "a"}, False),
        ('      requirements:\n        - {key: team, operator: In, values: ["${T}"]}', [], {"team": "a"}, True),
        ('      requirements:\n        - {key: "${K}", operator: Exists}', [], {"team": "a"}, True),
    ],
)
def test_what_is_not_known_of_a_pool_may_keep_a_daemon_off(
    tmp_path: Path,
    nodelint: Run,
    written: str,
    tolerations: list[dict[str, str]],
    selector: dict[str, str],
    fits: bool,
) -> None:
    text = pool("p").replace("      requirements:", written, 1)
    assert written in text
    agent = workload("DaemonSet", "agent", asking("1"), tolerations=tolerations, nodeSelector=selector)
    web = workload("Deployment", "web", asking("1500m"), tolerations=[{"operator": "Exists"}])
    write(tmp_path, {"pool.yaml": text, "web.yaml": web, "agent.yaml": agent})
    assert verdicts(nodelint)["p"]["fits"] is fits


def test_the_daemon_set_that_is_in_the_way_is_named(tmp_path: Path, nodelint: Run) -> None:
    port = {"ports": [{"containerPort": 80, "hostPort": 9100}]}
    web = workload("Deployment", "web", {**asking("1500m"), **port})
    other = workload("DaemonSet", "other", {})
    write(tmp_path, {"pool.yaml": pool("p"), "web.yaml": web, "agent.yaml": AGENT, "other.yaml": other})
    shown = nodelint("fit", ".", "--workload", "web").stdout
    assert "together with DaemonSet/agent (agent.yaml:4), which takes {cpu: 1} of each node" in " ".join(
        shown.split()
    )
    write(tmp_path, {"agent.yaml": workload("DaemonSet", "agent", {**asking("10m"), **port})})
    shown = nodelint("fit", ".", "--workload", "web").stdout
    assert "port 9100/TCP of the node is taken by DaemonSet/agent (agent.yaml:4)" in shown
    assert verdicts(nodelint)["p"]["daemonSets"] == ["agent"]
    write(tmp_path, {"web.yaml": workload("Deployment", "web", asking("3"))})
    assert verdicts(nodelint)["p"]["daemonSets"] == []


def test_what_a_chart_makes_by_its_defaults_takes_room_of_its_own_pools(tmp_path: Path, nodelint: Run) -> None:
    chart = {"Chart.yaml": "apiVersion: v2\nname: x\nversion: 1.0.0\n", "values.yaml": "name: agent\n"}
    made = AGENT.replace("name: agent", "name: {{ .Values.name }}")
    files = {f"agent/{name}": text for name, text in chart.items()} | {"agent/templates/agent.yaml": made}
    write(tmp_path, {**files, "pool.yaml": pool("p"), "web.yaml": WEB})
    assert verdicts(nodelint)["p"]["fits"]
    write(tmp_path, {"agent/templates/pool.yaml": pool("q").replace("name: q", "name: '{{ .Values.name }}'")})
    found = verdicts(nodelint)
    assert (found["p"]["fits"], found["agent"]["fits"]) == (True, False)
