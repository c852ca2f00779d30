"""A base that is named on the command line, and the overlays that use it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

PATCH = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: edge}
spec: {wieght: 20}
"""
WORKLOAD = """\
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  nodeSelector: {kubernetes.io/arch: arm64}
  containers: [{name: a, image: a}]
"""


def overlay(*more: str) -> str:
    return "\n".join(["apiVersion: kustomize.config.k8s.io/v1beta1", "kind: Kustomization", *more, ""])


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    pool = nodepool("key: kubernetes.io/arch, operator: In, values: [amd64]", name="edge")
    files = {
        ".git/HEAD": "",
        "base/kustomization.yaml": overlay("resources: [pool.yaml]"),
        "base/pool.yaml": f"{pool}---\n{nodeclass()}",
        "overlays/dev/kustomization.yaml": overlay("resources: [../../base]"),
        "overlays/prod/kustomization.yaml": overlay("resources: [../../base]", "patches: [{path: weight.yaml}]"),
        "overlays/prod/weight.yaml": PATCH,
        "apps/train.yaml": WORKLOAD,
    }
    write_files(tmp_path, files)
    return tmp_path


@pytest.mark.parametrize("path", ["base", "base/", "base/pool.yaml", "base/kustomization.yaml"])
def test_it_is_judged_with_the_overlays_that_use_it(nodelint: Run, repository: Path, path: str) -> None:
    done = nodelint("check", path)
    assert "overlays/prod/weight.yaml:4:8" in done.stdout and "`wieght` is not a known field" in done.stdout


def test_an_overlay_is_judged_without_the_other_overlays(nodelint: Run, repository: Path) -> None:
    assert "wieght" not in nodelint("check", "overlays/dev").stdout


def test_fit_names_the_overlay_of_pools_that_share_a_name(nodelint: Run, repository: Path) -> None:
    printed = " ".join(nodelint("fit", ".").stdout.split())
    for folder in ("overlays/dev", "overlays/prod"):
        assert f"no edge (base/pool.yaml:4 with {folder}): incompatible requirements" in printed
    assert "note: several NodePools have the name `edge`" in printed
    assert "several NodePools" not in nodelint("fit", "overlays/dev", "apps").stdout


def test_check_names_a_place_of_several_overlays_once(nodelint: Run, repository: Path) -> None:
    done = nodelint("check", "--select", "no-pool-for-workload", ".")
    assert done.stdout.count("`edge` cannot take the pods") == 1
