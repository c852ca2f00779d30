"""Pods in each form in which a repository writes them: the same answer from `fit` and from `check`."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.manifests import nodeclass, nodepool
from tests.plain_yaml import dump_all_yaml
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]
RULE = "no-pool-for-workload"
POOL = nodepool(
    "key: karpenter.k8s.aws/instance-family, operator: In, values: [m5]", "key: team, operator: In, values: [batch]"
)
CONTAINER = {"name": "a", "image": "a", "resources": {"requests": {"cpu": "1"}}}


def workload(team: str, kind: str = "Deployment", group: str = "apps/v1") -> dict[str, Any]:
    template: dict[str, Any] = {"spec": {"nodeSelector": {"team": team}, "containers": [CONTAINER]}}
    spec: dict[str, Any] = {"template": template}
    if kind == "CronJob":
        spec = {"schedule": "@daily", "jobTemplate": {"spec": spec}}
    return {"apiVersion": group, "kind": kind, "metadata": {"name": "web"}, "spec": spec}


def dump(*manifests: dict[str, Any]) -> str:
    return dump_all_yaml(manifests, sort_keys=False)


MANIFEST = """
locals { team = "%s" }
resource "kubernetes_manifest" "web" {
  manifest = {
    apiVersion = "apps/v1"
    kind       = "Deployment"
    metadata   = { name = "web" }
    spec = { template = { spec = {
      nodeSelector = { team = local.team }
      containers   = [{ name = "a", image = "a", resources = { requests = { cpu = "1" } } }]
    } } }
  }
}
"""
YAML_BODY = """
locals { team = "%s" }
resource "kubectl_manifest" "web" {
  yaml_body = <<-YAML
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: web
    spec:
      template:
        spec:
          nodeSelector:
            team: ${local.team}
          containers: [{name: a, image: a, resources: {requests: {cpu: "1"}}}]
  YAML
}
"""
TEMPLATE = """apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  template:
    spec:
      nodeSelector: {{- toYaml .Values.nodeSelector | nindent 8 }}
      containers: [{name: a, image: a, resources: {requests: {cpu: "1"}}}]
"""


def form(name: str, team: str) -> dict[str, str]:
    """The files that write one workload whose pods select a team."""
    plain = workload(team)
    patch = {key: plain[key] for key in ("apiVersion", "kind", "metadata")}
    patch |= {"spec": {"template": {"spec": {"nodeSelector": {"team": team}}}}}
    inside = textwrap.indent(dump(plain), "    ")
    holder = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata:\n  web.yaml: |\n{inside}"
    forms = {
        "YAML": {"web.yaml": dump(plain)},
        "JSON": {"web.json": json.dumps(plain)},
        "List": {"web.yaml": dump({"apiVersion": "v1", "kind": "List", "items": [plain]})},
        "CronJob": {"web.yaml": dump(workload(team, "CronJob", "batch/v1"))},
        "Rollout": {"web.yaml": dump(workload(team, "Rollout", "argoproj.io/v1alpha1"))},
        "ConfigMap": {"web.yaml": holder},
        "Kustomize": {
            "base/kustomization.yaml": "resources: [web.yaml]\n",
            "base/web.yaml": dump(workload("batch")),
            "prod/kustomization.yaml": "resources: [../base]\npatches: [{path: patch.yaml}]\n",
            "prod/patch.yaml": dump(patch),
        },
        "chart": {
            "chart/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
            "chart/values.yaml": f"nodeSelector:\n  team: {team}\n",
            "chart/templates/web.yaml": TEMPLATE,
        },
        "kubernetes_manifest": {"web.tf": MANIFEST % team},
        "kubectl_manifest": {"web.tf": YAML_BODY % team},
    }
    return {path: textwrap.dedent(text) for path, text in forms[name].items()}


FORMS = [
    *("YAML", "JSON", "List", "CronJob", "Rollout", "ConfigMap", "Kustomize", "chart"),
    *("kubernetes_manifest", "kubectl_manifest"),
]


@pytest.mark.parametrize("team", ["batch", "bach"])
@pytest.mark.parametrize("name", FORMS)
def test_fit_and_check_say_the_same_in_each_form(tmp_path: Path, nodelint: Run, name: str, team: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "pools.yaml").write_text(f"{POOL}---\n{nodeclass()}")
    write_files(tmp_path, form(name, team))
    answer = json.loads(nodelint("fit", ".", "--format", "json").stdout)
    answers = {workload["possible"] for workload in answer["workloads"] if workload["name"] == "web"}
    assert (team == "batch") in answers and not answer["skipped"], answer
    done = nodelint("check", ".", "--select", RULE, "--format", "json")
    findings = [finding for finding in json.loads(done.stdout)["findings"] if finding["rule"] == RULE]
    assert len(findings) == (team == "bach"), findings


PATCHES = {
    "merge": {"path": "web.yaml"},
    "json6902": {
        "target": {"kind": "Deployment", "name": "web"},
        "patch": '[{"op": "add", "path": "/spec/template/spec/nodeSelector", "value": {"team": "bach"}}]',
    },
}


@pytest.mark.parametrize("name", PATCHES)
def test_a_selector_that_only_an_overlay_adds_is_judged(tmp_path: Path, nodelint: Run, name: str) -> None:
    base = workload("bach")
    selector = {"nodeSelector": base["spec"]["template"]["spec"].pop("nodeSelector")}
    patch = {**base, "spec": {"template": {"spec": selector}}}
    files = {
        "pools.yaml": f"{POOL}---\n{nodeclass()}",
        "base/web.yaml": dump(base),
        "base/kustomization.yaml": dump({"resources": ["web.yaml"]}),
        "prod/kustomization.yaml": dump({"resources": ["../base"], "patches": [PATCHES[name]]}),
        **({"prod/web.yaml": dump(patch)} if name == "merge" else {}),
    }
    (tmp_path / ".git").mkdir()
    write_files(tmp_path, files)
    report = json.loads(nodelint("check", ".", "--format", "json").stdout)
    found = [finding["path"] for finding in report["findings"] if finding["rule"] == RULE]
    assert found == ["prod/web.yaml" if name == "merge" else "prod/kustomization.yaml"]


def test_an_overlay_of_workloads_that_cannot_be_built_fails_no_check(tmp_path: Path, nodelint: Run) -> None:
    files = {
        "pools.yaml": f"{POOL}---\n{nodeclass()}",
        "base/web.yaml": dump(workload("batch")),
        "base/values.yaml": "replicas: 2\n",
        "base/kustomization.yaml": dump({"resources": ["web.yaml", "values.yaml"]}),
    }
    (tmp_path / ".git").mkdir()
    write_files(tmp_path, files)
    checked = nodelint("check", ".", "--select", RULE)
    assert (checked.returncode, checked.stderr) == (0, "")
    assert "base/values.yaml:1" in nodelint("fit", ".").stderr


@pytest.mark.parametrize("team", ["batch", "bach"])
def test_a_pod_that_names_its_node_waits_for_none(tmp_path: Path, nodelint: Run, team: str) -> None:
    manifest = workload(team)
    manifest["spec"]["template"]["spec"]["nodeName"] = "ip-10-0-0-1.ec2.internal"
    (tmp_path / "pools.yaml").write_text(f"{POOL}---\n{nodeclass()}")
    (tmp_path / "web.yaml").write_text(dump(manifest))
    result = nodelint("fit", ".")
    assert result.returncode == 0
    assert "=> no pool, on purpose: `nodeName` binds the pod to a node" in result.stdout
    assert "help:" not in result.stdout


ARGO = """apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web, namespace: argocd}
spec:
  destination: {server: https://kubernetes.default.svc, namespace: web}
  source: {repoURL: https://example.com/a.git, path: charts/web, helm: {valuesObject: {team: %s}}}
"""
HELMFILE = "releases:\n  - name: web\n    chart: ./charts/web\n    values: [{team: %s}]\n"
TERRAFORM = """resource "helm_release" "web" {
  name   = "web"
  chart  = "${path.module}/charts/web"
  values = [yamlencode({ team = "%s" })]
}
"""


@pytest.mark.parametrize(
    ("file", "text"), [("app.yaml", ARGO), ("helmfile.yaml", HELMFILE), ("main.tf", TERRAFORM), ("notes.txt", "%s")]
)
@pytest.mark.parametrize(("team", "count"), [("x", 0), ("z", 1)])
def test_defaults_of_a_chart_that_is_installed_with_other_values(
    tmp_path: Path, nodelint: Run, file: str, text: str, team: str, count: int
) -> None:
    """Where nothing installs the chart, its own values are what is known."""
    deployment = LABELLED.replace("TEAM", "{{ .Values.team }}")
    pool = nodepool("key: kubernetes.io/arch, operator: In, values: [amd64]", labels="{team: x}")
    files = {".git/HEAD": "", "pool.yaml": f"{pool}---\n{nodeclass('')}", file: text % team}
    files["charts/web/Chart.yaml"] = "apiVersion: v2\nname: web\nversion: 0.1.0\n"
    files["charts/web/values.yaml"] = "team: other\n"
    files["charts/web/templates/web.yaml"] = deployment
    write_files(tmp_path, files)
    shown = nodelint("check", "--output-format", "concise", "--select", "no-pool-for-workload", str(tmp_path)).stdout
    assert shown.count("[no-pool-for-workload]") == (count if file != "notes.txt" else 1)


LABELLED = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {team: TEAM}
      containers: [{name: a, image: a}]
"""
