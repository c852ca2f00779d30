"""What is piped in is judged by itself, whatever repository the command runs in."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

POOL = nodepool("key: kubernetes.io/arch, operator: In, values: [amd64]", name="live", node_class="live")
CHART = "kind: HelmRelease\nspec: {chart: {spec: {chart: karpenter, version: 1.5.0}}}\n"
NOTE = "which states 1.5.0 (flux/karpenter.yaml:2); if it is: --karpenter-version 1.5.0"
FORBIDDEN = {
    "kind": "Status",
    "apiVersion": "v1",
    "status": "Failure",
    "message": 'nodepools.karpenter.sh is forbidden: User "x" cannot list resource "nodepools"',
    "reason": "Forbidden",
    "code": 403,
}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    write_files(tmp_path, {".git/HEAD": "", "flux/karpenter.yaml": CHART, "class.yaml": nodeclass(name="other")})
    return tmp_path


@pytest.mark.parametrize("command", ["check", "explain", "hash"])
def test_the_release_of_the_repository_is_named_and_not_taken(nodelint: Run, repository: Path, command: str) -> None:
    done = nodelint(command, "-", stdin=POOL)
    assert NOTE in done.stderr
    assert "1.15.1" in done.stdout and "1.5.0" not in done.stdout
    assert NOTE not in nodelint(command, "-", "--karpenter-version", "1.5.0", stdin=POOL).stderr
    (repository / "flux/karpenter.yaml").unlink()
    assert nodelint(command, "-", stdin=POOL).stderr == ""


def test_a_class_is_looked_for_where_the_pool_is(nodelint: Run, repository: Path) -> None:
    (repository / "pool.yaml").write_text(POOL, encoding="utf-8")
    assert "the files of this run define no EC2NodeClass `live`" in nodelint("check", "pool.yaml").stdout
    assert "unknown-node-class" not in nodelint("check", "-", stdin=POOL).stdout
    piped = nodelint("check", "-", stdin=f"{POOL}---\n{nodeclass(name='another')}").stdout
    assert "standard input defines no EC2NodeClass `live`" in piped
    assert "`other`" not in piped


@pytest.mark.parametrize("before", ["", f"{POOL}---\n"], ids=["alone", "behind a pool"])
@pytest.mark.parametrize("command", ["check", "explain", "fit", "hash", "baseline"])
def test_an_error_of_the_api_server_is_no_list_of_objects(
    nodelint: Run, repository: Path, command: str, before: str
) -> None:
    done = nodelint(command, "-", stdin=before + json.dumps(FORBIDDEN))
    assert (done.returncode, done.stdout) == (2, "")
    assert "standard input holds an error in place of objects" in done.stderr
    assert "your user needs get and list on nodepools.karpenter.sh" in done.stderr
