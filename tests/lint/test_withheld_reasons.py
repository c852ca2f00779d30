"""A fix that is not offered says why: in the text, in JSON and in the editor; a tree for each reason."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from textwrap import indent

import pytest

from tests.inventory.test_gaps_everywhere import NUMBERS, open_texts
from tests.manifests import nodepool
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]


def pool(weight: str, name: str = "general") -> str:
    return nodepool(name=name).replace("spec:\n", f"spec:\n  weight: {weight}\n", 1)


CHART = "apiVersion: v2\nname: a\nversion: 1.0.0\n"
HEREDOC = 'resource "kubectl_manifest" "pool" {{\n  yaml_body = <<-YAML\n{}  YAML\n}}\n'
FLUX = """apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: pools}
spec:
  path: ./pools
  postBuild:
    substitute: {a: "10"}
  sourceRef: {kind: GitRepository, name: a}
"""
REPLACEMENT = """resources: [pool.yaml, config.yaml]
replacements:
- source: {kind: ConfigMap, name: a, fieldPath: data.w}
  targets: [{select: {kind: NodePool}, fieldPaths: [spec.weight]}]
"""
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {w: 101} # karpenter\n"
MISSPELT = "key: karpenter.sh/capacity-type, operator: In, values: *v"

TREES: dict[str, tuple[dict[str, str], str, str]] = {
    "an expression of Terraform": (
        {"main.tf": f'variable "a" {{\n  default = 100\n}}\n{HEREDOC.format(indent(pool("${var.a + 1}"), "    "))}'},
        "computed",
        "main.tf",
    ),
    "an expression of a template": (
        {
            "chart/Chart.yaml": CHART,
            "chart/values.yaml": "weight: 100\n",
            "chart/templates/pool.yaml": pool("{{ add .Values.weight 1 }}"),
        },
        "computed",
        "chart/templates/pool.yaml",
    ),
    "a part of a value that Flux fills in": (
        {
            "pools/pool.yaml": pool("${a}1"),
            "pools/kustomization.yaml": "resources: [pool.yaml]\n",
            "clusters/pools.yaml": FLUX,
        },
        "computed",
        "pools/pool.yaml",
    ),
    "a value that another object is made of": (
        {
            "chart/Chart.yaml": CHART,
            "chart/values.yaml": "weight: 101\n",
            "chart/templates/pools.yaml": f"{pool('{{ .Values.weight }}')}---\n"
            + pool("{{ sub .Values.weight 50 }}", "other"),
        },
        "other-result",
        "chart/values.yaml",
    ),
    "a value that kustomize copies": (
        {"kustomization.yaml": REPLACEMENT, "pool.yaml": pool("10"), "config.yaml": CONFIG},
        "not-written-as-such",
        "config.yaml",
    ),
    "an alias": (
        {"pool.yaml": nodepool(MISSPELT).replace("metadata:", "metadata:\n  finalizers: &v [spott]", 1)},
        "not-editable",
        "pool.yaml",
    ),
}


@pytest.mark.parametrize("name", TREES)
def test_why_a_fix_is_not_offered_is_said_everywhere(nodelint: Run, tmp_path: Path, name: str) -> None:
    files, reason, path = TREES[name]
    home = tmp_path / "repository"
    write_files(home, files)
    found = json.loads(nodelint("check", ".", "--format", "json", cwd=home).stdout)["findings"]
    withheld = [finding["fixWithheld"] for finding in found if finding["fixWithheld"] is not None]
    assert {why["reason"] for why in withheld} == {reason}
    assert all((home / why["place"]["path"]).is_file() for why in withheld if why["place"] is not None)
    [message] = {why["message"] for why in withheld}
    assert f"fix withheld: {message}" in " ".join(nodelint("check", ".", cwd=home).stdout.split())
    shown = open_texts(home, next(NUMBERS))
    assert any(f"fix withheld: {message}" in text for text in shown[path]), shown
