"""Objects of charts that values disable are deleted by helm, and what is disabled on both sides is still compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands.test_cli import Run
from tests.plan.test_plan_inputs import POOL, class_of
from tests.plan.test_plan_seen_in_public import plan

CLASS = class_of()
CHART = "apiVersion: v2\nname: nodes\nversion: 1.0.0\n"
OUTER = "apiVersion: v2\nname: outer\nversion: 1.0.0\ndependencies:\n"
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: n, namespace: argocd}
spec:
  destination: {server: https://a, namespace: k}
  source:
    repoURL: https://github.com/acme/x
    path: chart
    helm:
      valuesObject: {enabled: true}
"""


def chart_of(condition: str, values: str, objects: str = f"{CLASS}---\n{POOL}") -> dict[str, str]:
    return {
        "chart/Chart.yaml": CHART,
        "chart/values.yaml": f"{values}\nother: 1\n",
        "chart/templates/n.yaml": "{{- " + condition + " }}\n" + objects + "{{- end }}\n",
    }


@pytest.mark.parametrize(
    ("condition", "on", "off"),
    [
        ("if .Values.enabled", "enabled: true", "enabled: false"),
        ("if not .Values.disabled", "disabled: false", "disabled: true"),
        ("with .Values.pool", "pool: {a: 1}", "pool: {}"),
        ('if and .Values.enabled (eq .Values.env "prod")', "{env: prod, enabled: true", "{env: dev, enabled: true"),
        ("range $name, $pool := .Values.pools }}{{ if $pool.on }}{{ end", "pools: {a: {on: true}}", "pools: {}"),
    ],
)
def test_what_values_disable_is_deleted(nodelint: Run, tmp_path: Path, condition: str, on: str, off: str) -> None:
    on, off = (text.replace("{env", "env").replace(", enabled", "\nenabled") for text in (on, off))
    old, new = chart_of(condition, on), chart_of(condition, off)
    (pool,) = plan(nodelint, tmp_path, old, new)["nodePools"]
    assert pool["change"] == "removed"
    twin = {**old, "chart/values.yaml": old["chart/values.yaml"].replace("other: 1", "other: 2")}
    (pool,) = plan(nodelint, tmp_path / "twin", old, twin)["nodePools"]
    assert (pool["change"], pool["replaced"]) == ("unchanged", "none")
    # Whoever installs a chart may enable what its defaults disable.
    other = {**new, "chart/templates/n.yaml": new["chart/templates/n.yaml"].replace("role: nodes", "role: others")}
    (pool,) = plan(nodelint, tmp_path / "both", new, other)["nodePools"]
    assert pool["replaced"] == "all"


def test_what_an_application_disables_is_deleted(nodelint: Run, tmp_path: Path) -> None:
    files = {**chart_of("if .Values.enabled", "enabled: true"), "app.yaml": APPLICATION}
    off = {**files, "app.yaml": APPLICATION.replace("enabled: true", "enabled: false")}
    (pool,) = plan(nodelint, tmp_path, files, off)["nodePools"]
    assert pool["change"] == "removed"


def test_a_chart_without_code_that_an_outer_chart_disables_is_deleted(nodelint: Run, tmp_path: Path) -> None:
    files = {
        "outer/Chart.yaml": f"{OUTER}  - {{name: nodes, version: 1.0.0, condition: nodes.enabled}}\n",
        "outer/values.yaml": "nodes: {enabled: true}\n",
        "outer/charts/nodes/Chart.yaml": CHART,
        "outer/charts/nodes/templates/n.yaml": f"{CLASS}---\n{POOL}",
    }
    off = {**files, "outer/values.yaml": "nodes: {enabled: false}\n"}
    (pool,) = plan(nodelint, tmp_path, files, off)["nodePools"]
    assert pool["change"] == "removed"
    assert plan(nodelint, tmp_path / "same", off, off)["notCompared"] == []


def test_what_an_overlay_of_a_release_disables_is_deleted(nodelint: Run, tmp_path: Path) -> None:
    release = (
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: n, namespace: k}\nspec:\n"
        "  chart: {spec: {chart: ./chart, sourceRef: {kind: GitRepository, name: r}}}\n  values: {enabled: true}\n"
    )
    patch = '[{"op": "replace", "path": "/spec/values/enabled", "value": true}]'
    overlay = f"resources: [hr.yaml]\npatches: [{{target: {{kind: HelmRelease}}, patch: '{patch}'}}]\n"
    files = {**chart_of("if .Values.enabled", "enabled: true"), "hr.yaml": release, "kustomization.yaml": overlay}
    off = {**files, "kustomization.yaml": overlay.replace(": true}", ": false}")}
    (pool,) = plan(nodelint, tmp_path, files, off)["nodePools"]
    assert pool["change"] == "removed"


@pytest.mark.parametrize("uses", ["local.c", "local.every[0]"])
def test_a_local_whose_resource_has_no_instance_makes_nothing(nodelint: Run, tmp_path: Path, uses: str) -> None:
    text = (
        f'resource "kubernetes_manifest" "c" {{\n  count = var.on ? 1 : 0\n  manifest = yamldecode({uses})\n}}\n'
        f"locals {{\n  every = [local.c]\n  c = <<-Y\n{CLASS}\n  Y\n}}\n"
        'variable "on" {\n  default = true\n}\n'
    )
    files = {"c.tf": text, "p.yaml": POOL}
    (pool,) = plan(nodelint, tmp_path, files, {**files, "c.tf": text.replace("= true", "= false")})["nodePools"]
    assert pool["replaced"] != "none" or "gone" in str(pool)
