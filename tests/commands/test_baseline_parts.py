"""A baseline of a whole repository, with runs over its parts: what hooks and subfolders see of it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

RELEASE = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: karpenter}
spec: {url: "oci://public.ecr.aws/karpenter/karpenter", ref: {tag: 1.5.0}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: karpenter}
spec: {chartRef: {kind: OCIRepository, name: karpenter}}
"""
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: pools}
spec:
  source: {repoURL: "https://github.com/acme/a.git", path: charts/pools, helm: {valueFiles: [values-prod.yaml]}}
  destination: {server: "https://kubernetes.default.svc"}
"""
WORKLOAD = """\
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  nodeSelector: {kubernetes.io/arch: arm64, karpenter.sh/nodepool: b}
  containers: [{name: a, image: a}]
"""
ARCH = "key: kubernetes.io/arch, operator: In, values: "
TEMPLATE = nodepool(f"{ARCH}[amd64]", name="of-chart").replace("[amd64]", "{{ toJson .Values.arch }}")
FILES = {
    ".git/HEAD": "",
    "flux/karpenter.yaml": RELEASE,
    "argocd/pools.yaml": APPLICATION,
    "clusters/a/pool.yaml": nodepool(f"{ARCH}[x86_64, amd64]", name="a") + "---\n" + nodeclass(),
    "clusters/b/pool.yaml": nodepool(f"{ARCH}[x86_64, amd64]", name="b") + "---\n" + nodeclass(),
    "clusters/b/train.yaml": WORKLOAD,
    "charts/pools/Chart.yaml": "apiVersion: v2\nname: pools\nversion: 0.1.0\n",
    "charts/pools/values.yaml": "arch: [amd64]\nother: 1\n",
    "charts/pools/values-prod.yaml": "arch: [x86_64, amd64]\nother: 2\n",
    "charts/pools/templates/pool.yaml": TEMPLATE,
}


@pytest.fixture
def known(nodelint: Run, tmp_path: Path) -> Path:
    write_files(tmp_path, FILES)
    nodelint("baseline", *FLAGS, "nodelint.baseline.json")
    whole = (tmp_path / "nodelint.baseline.json").read_text(encoding="utf-8")
    assert all(name in whole for name in ("out-of-support", "no-pool-for-workload", "charts/pools/values-prod.yaml"))
    return tmp_path


FLAGS = ("--extend-select", "all", "--baseline")


@pytest.mark.parametrize("part", ["clusters", "clusters/b", "charts", "argocd/pools.yaml", *list(FILES)[3:]])
def test_a_run_over_a_part_finds_nothing_new_and_nothing_gone(nodelint: Run, known: Path, part: str) -> None:
    before = (known / "nodelint.baseline.json").read_bytes()
    done = nodelint("check", *FLAGS, "nodelint.baseline.json", part)
    assert done.returncode == 0 and "Found" not in done.stdout and "no longer there" not in done.stdout, done.stdout
    nodelint("baseline", "--prune", *FLAGS, "nodelint.baseline.json", part)
    assert (known / "nodelint.baseline.json").read_bytes() == before


@pytest.mark.parametrize("folder", ["clusters/b", "charts/pools"])
def test_a_run_in_a_subfolder_is_about_that_folder(nodelint: Run, known: Path, folder: str) -> None:
    path = known / "nodelint.baseline.json"
    before = path.read_bytes()
    named = os.path.relpath(path, known / folder)
    assert "(0 gone)" in nodelint("baseline", "--prune", *FLAGS, named, cwd=known / folder).stdout
    assert path.read_bytes() == before


def test_a_finding_that_is_fixed_in_a_part_is_gone(nodelint: Run, known: Path) -> None:
    write_files(known, {"clusters/a/pool.yaml": FILES["clusters/a/pool.yaml"].replace("[x86_64, amd64]", "[amd64]")})
    for part in ("clusters/a/pool.yaml", "clusters/a", "."):
        assert "1 no longer there" in nodelint("check", *FLAGS, "nodelint.baseline.json", part).stdout, part
    done = nodelint("check", *FLAGS, "nodelint.baseline.json", "clusters/b/pool.yaml")
    assert "no longer there" not in done.stdout
    assert "(1 gone)" in nodelint("baseline", "--prune", *FLAGS, "nodelint.baseline.json", "clusters/a").stdout
