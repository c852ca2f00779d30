"""An overlay on which another overlay builds, and that is also applied itself: it is judged too."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.manifests import nodepool
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

BASE = {
    ".git/HEAD": "",
    "base/kustomization.yaml": "resources: [pool.yaml]\n",
    "base/pool.yaml": nodepool("key: karpenter.sh/capacity-type, operator: In, values: [on-demand]", name="edge"),
}
WEIGHT = """\
resources: [../{below}]
patches:
- patch: |-
    apiVersion: karpenter.sh/v1
    kind: NodePool
    metadata: {{name: edge}}
    spec: {{weight: {weight}}}
"""
SOURCE = "{repoURL: https://git.example.com/x.git, path: overlays/%s}"
APPLICATION = f"""\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {{name: edge, namespace: argocd}}
spec:
  source: {SOURCE}
  destination: {{server: https://kubernetes.default.svc}}
"""
APPLICATION_SET = f"""\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {{name: edge, namespace: argocd}}
spec:
  goTemplate: true
  generators: [{{list: {{elements: [{{name: %s}}]}}}}]
  template:
    spec:
      source: {SOURCE % "{{.name}}"}
""".replace("path: overlays/{{.name}}", "path: 'overlays/{{.name}}'")
KUSTOMIZATION = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: edge, namespace: flux-system}
spec:
  path: ./overlays/%s
  sourceRef: {kind: GitRepository, name: fleet}
"""
APPLIERS = {
    "Application": ("apps/edge.yaml", APPLICATION),
    "ApplicationSet": ("apps/edge.yaml", APPLICATION_SET),
    "Flux": ("apps/edge.yaml", KUSTOMIZATION),
    "script": ("deploy.sh", "kubectl apply -k overlays/%s\n"),
}


def write_overlays(tmp_path: Path, lower: str, upper: str, right: str = "7") -> None:
    """Write an overlay whose weight is wrong, and one on top of it with another weight."""
    overlays = {
        f"overlays/{lower}/kustomization.yaml": WEIGHT.format(below="../base", weight="0"),
        f"overlays/{upper}/kustomization.yaml": WEIGHT.format(below=lower, weight=right),
    }
    write_files(tmp_path, {**BASE, **overlays})


def list_errors(nodelint: Run, *paths: str) -> list[str]:
    done = nodelint("check", "--format", "concise", "--select", "correctness", *paths)
    return [line.partition(": ")[0] for line in done.stdout.splitlines() if ": error" in line]


@pytest.mark.parametrize("path", [".", "overlays/alpha"])
@pytest.mark.parametrize("applier", APPLIERS)
def test_an_applied_overlay_is_judged_beside_the_one_on_it(
    nodelint: Run, tmp_path: Path, applier: str, path: str
) -> None:
    write_overlays(tmp_path, "alpha", "beta")
    name, text = APPLIERS[applier]
    write_files(tmp_path, {name: text % "beta"})
    assert list_errors(nodelint, path) == [], "what is only a base may be incomplete"
    write_files(tmp_path, {name: text % "alpha"})
    assert list_errors(nodelint, path) == ["overlays/alpha/kustomization.yaml:7:20"]


@pytest.mark.parametrize(
    ("lower", "upper", "is_judged"),
    [("prod", "stage", True), ("prod", "prod-eu", False), ("common", "prod", False), ("prod", "all", False)],
)
def test_an_environment_on_which_another_builds_is_judged(
    nodelint: Run, tmp_path: Path, lower: str, upper: str, is_judged: bool
) -> None:
    write_overlays(tmp_path, lower, upper)
    assert list_errors(nodelint, ".") == [f"overlays/{lower}/kustomization.yaml:7:20"] * is_judged


def test_a_fault_of_both_overlays_is_reported_once(nodelint: Run, tmp_path: Path) -> None:
    write_overlays(tmp_path, "prod", "stage")
    write_files(tmp_path, {"overlays/stage/kustomization.yaml": "resources: [../prod]\nnamePrefix: stage-\n"})
    assert list_errors(nodelint, ".") == ["overlays/prod/kustomization.yaml:7:20"]
