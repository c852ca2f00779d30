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


STATED = {
    ".git/HEAD": "",
    "clusters/dev/karpenter.yaml": RELEASE,
    "clusters/dev/pool.yaml": nodepool(name="dev") + "---\n" + nodeclass(),
    "clusters/prod/karpenter.yaml": RELEASE.replace("1.5.0", "1.4.0"),
    "clusters/prod/pool.yaml": nodepool(name="prod") + "---\n" + nodeclass(),
    "charts/pools/Chart.yaml": FILES["charts/pools/Chart.yaml"],
    "charts/pools/values.yaml": FILES["charts/pools/values.yaml"],
    "charts/pools/templates/pool.yaml": TEMPLATE,
}
PARTS = ["clusters/dev", "clusters/dev/pool.yaml", "clusters/dev clusters/prod", "clusters charts", "."]


@pytest.mark.parametrize("part", PARTS)
def test_a_release_out_of_support_is_reported_where_it_is_stated(nodelint: Run, tmp_path: Path, part: str) -> None:
    """Each stated release has a finding of its own, at one place in all runs, and a comment there silences it."""
    write_files(tmp_path, STATED)

    def report() -> set[str]:
        done = nodelint("check", "--select", "out-of-support", "--format", "concise", *part.split())
        lines = (line for line in done.stdout.splitlines() if "out-of-support" in line)
        return {" ".join(line.split()[:4]) for line in lines}

    dev = "clusters/dev/karpenter.yaml:4:7: info[out-of-support]: Karpenter 1.5.0"
    prod = "clusters/prod/karpenter.yaml:4:7: info[out-of-support]: Karpenter 1.4.0"
    dev, prod = (line.replace(":4:7", ":4:1") for line in (dev, prod))
    expected = {dev} if part.startswith("clusters/dev") and " " not in part else {dev, prod}
    assert report() == expected
    stated = RELEASE.replace("{tag: 1.5.0}}", "{tag: 1.5.0}} # nodelint: ignore[out-of-support] planned")
    write_files(tmp_path, {"clusters/dev/karpenter.yaml": stated})
    assert report() == expected - {dev}
    for named in (part, "clusters/dev/karpenter.yaml"):
        done = nodelint("check", "--fix", *named.split())
        assert "suppresses nothing" not in done.stdout, done.stdout
        assert (tmp_path / "clusters/dev/karpenter.yaml").read_text(encoding="utf-8") == stated


def test_a_part_of_a_repository_removes_no_comment(nodelint: Run, tmp_path: Path) -> None:
    """More files may use a value than a part of the repository has, so the fix of the part is unsafe."""
    text = "# nodelint: ignore[wildcard-value] planned\n" + nodepool(name="a")
    write_files(tmp_path, {".git/HEAD": "", "pools/a.yaml": text, "README.md": "karpenter"})
    flags = ("check", "--select", "unused-suppression,wildcard-value", "--fix")
    assert "may need the comment" in " ".join(nodelint(*flags, "pools").stdout.split())
    assert (tmp_path / "pools/a.yaml").read_text(encoding="utf-8") == text
    nodelint(*flags, ".")
    assert (tmp_path / "pools/a.yaml").read_text(encoding="utf-8") == nodepool(name="a")
