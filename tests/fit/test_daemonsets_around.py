"""A part of a repository has the DaemonSets of the rest: `fit` of a folder and of the repository give one answer."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fit.test_daemonsets_near_overlays import CACHE, DAEMON, POOL
from tests.manifests import nodeclass
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

POOLS = f"{POOL}---\n{nodeclass()}"
AGENT = DAEMON.replace("MEMORY", "700Mi")
CHART = {"agent/Chart.yaml": "apiVersion: v2\nname: agent\nversion: 0.1.0\n", "agent/templates/ds.yaml": AGENT}
INSTALLED = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: agent}
spec:
  source: {repoURL: "https://github.com/acme/a.git", path: agent, helm: {valuesObject: {a: 1}}}
  destination: {server: "https://kubernetes.default.svc", namespace: a}
"""
AROUND = {
    "plain": {"addons/ds.yaml": AGENT},
    "overlay": {"addons/ds.yaml": AGENT, "addons/kustomization.yaml": "resources: [ds.yaml]\nnameSuffix: -a\n"},
    "application": {**CHART, "addons/agent.yaml": INSTALLED},
}
ASKED = {"folder": ("pools", "apps"), "files": ("pools/pools.yaml", "apps/cache.yaml"), "stdin": ("-", "pools")}


@pytest.mark.parametrize("paths", ASKED)
@pytest.mark.parametrize("form", AROUND)
def test_a_daemonset_outside_of_the_named_paths_takes_room(
    nodelint: Run, tmp_path: Path, form: str, paths: str
) -> None:
    write_files(tmp_path, {".git/HEAD": "", "pools/pools.yaml": POOLS, "apps/cache.yaml": CACHE, **AROUND[form]})
    whole = nodelint("fit", "--workload", "deployment/cache", ".")
    stdin = CACHE if paths == "stdin" else None
    part = nodelint("fit", "--workload", "deployment/cache", *ASKED[paths], stdin=stdin)
    assert "no pool takes it" in whole.stdout and "no pool takes it" in part.stdout
    assert "DaemonSet/agent" in part.stdout and "of the repository's other files takes room" in part.stderr


@pytest.mark.parametrize(
    ("folder", "files"),
    [
        ("repo/alpha", {"repo/beta/ds.yaml": AGENT, "repo/beta/pools.yaml": POOLS}),
        ("repo/alpha", {"ds.yaml": AGENT}),
        ("repo", {"repo/alpha/ds.yaml": AGENT.replace("700Mi", "100Mi")}),
    ],
    ids=["of another pool", "outside of the repository", "a small one"],
)
def test_other_daemonsets_take_no_room(nodelint: Run, tmp_path: Path, folder: str, files: dict[str, str]) -> None:
    write_files(tmp_path, {"repo/.git/HEAD": "", "repo/alpha/pools.yaml": POOLS, "repo/alpha/cache.yaml": CACHE})
    write_files(tmp_path, files)
    shown = nodelint("fit", "--workload", "deployment/cache", folder)
    assert "1 workload with a pool, 0 without" in shown.stdout and "other files" not in shown.stderr


INSTALLED_WITH_MEMORY = INSTALLED.replace("{a: 1}", "{memory: 700Mi}")
OPEN = {
    "overlay of an environment": {
        "agent/base/ds.yaml": DAEMON.replace("MEMORY", "700Mi"),
        "agent/base/kustomization.yaml": "resources: [ds.yaml]\n",
        "agent/overlays/prod/kustomization.yaml": "resources: [../../base]\n",
    },
    "installed chart": {
        "agent/Chart.yaml": CHART["agent/Chart.yaml"],
        "agent/values.yaml": "memory: 100Mi\n",
        "agent/templates/ds.yaml": DAEMON.replace("MEMORY", "{{ .Values.memory }}"),
        "addons/agent.yaml": INSTALLED_WITH_MEMORY,
    },
}


@pytest.mark.parametrize("memory", ["700Mi", "100Mi"])
@pytest.mark.parametrize("form", OPEN)
def test_a_daemonset_of_which_the_cluster_is_not_known_is_said(
    nodelint: Run, tmp_path: Path, form: str, memory: str
) -> None:
    around = {path: text.replace("700Mi", memory) for path, text in OPEN[form].items()}
    write_files(tmp_path, {".git/HEAD": "", "pools/pools.yaml": POOLS, "apps/cache.yaml": CACHE, **around})
    doubt = "runs on these nodes is not known, and no type has room next to it"
    has_room = memory == "100Mi"
    part = nodelint("fit", "-", "pools", "--format", "json", stdin=CACHE)
    for printed in (nodelint("fit", "."), nodelint("fit", "-", "pools", stdin=CACHE), part, nodelint("check")):
        assert (doubt in " ".join(printed.stdout.split())) is not has_room, printed
        assert "All good" not in printed.stdout or has_room


@pytest.mark.parametrize("folders", [("dev", "prod"), ("clusters/dev", "examples")])
def test_a_daemonset_that_is_certainly_elsewhere_is_not_said(
    nodelint: Run, tmp_path: Path, folders: tuple[str, str]
) -> None:
    pools, agent = folders
    write_files(tmp_path, {f"{pools}/pools.yaml": POOLS, f"{pools}/cache.yaml": CACHE, f"{agent}/ds.yaml": AGENT})
    assert "not known" not in nodelint("fit", ".").stdout
