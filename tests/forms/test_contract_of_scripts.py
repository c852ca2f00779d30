"""What every form keeps (`tests/forms/test_contract.py`), by scripts, whose manifests stand where they are read."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from nodelint.edits import apply, set_value
from nodelint.files.discover import discover
from nodelint.files.globs import Globs
from nodelint.files.release_files import read_stating_files
from nodelint.inventory import read_inventory
from nodelint.model.manifest import NodePool
from nodelint.releases import evidence_of
from tests.manifests import nodepool
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

NAME = "install.sh"
POOL = nodepool(name="general").replace("spec:\n", "spec:\n  weight: 10\n", 1)
SCRIPT = f"""#!/bin/sh
helm upgrade --install karpenter oci://public.ecr.aws/karpenter/karpenter --version 1.6.0
cat <<EOF | kubectl apply -f -
{POOL}EOF
"""


@pytest.fixture(autouse=True)
def repository(here: Path) -> None:
    write_files(here, {NAME: SCRIPT})


def read_pool() -> NodePool:
    [pool] = read_inventory(discover(["."], include=Globs(["**/*.sh"]))).objects()
    assert isinstance(pool, NodePool)
    return pool


def test_an_edit_of_a_value_changes_the_script_there(here: Path) -> None:
    pool = read_pool()
    weight = pool.node.find("spec", "weight")
    assert weight is not None and weight.source.path == NAME
    (here / NAME).write_text(apply(SCRIPT, set_value(weight, 20)))
    assert (here / NAME).read_text() == SCRIPT.replace("weight: 10", "weight: 20")
    assert read_pool().node.find("spec", "weight").value == 20  # type: ignore[union-attr]


def test_a_manifest_that_is_broken_is_named(here: Path, nodelint: Run) -> None:
    (here / NAME).write_text(SCRIPT.replace("spec:\n", "spec: [\n", 1))
    done = nodelint("check", ".", "--include", "**/*.sh", cwd=here)
    assert NAME in done.stdout + done.stderr and "All good" not in done.stdout


def test_a_value_that_is_not_known_is_no_finding(here: Path, nodelint: Run) -> None:
    found = []
    for weight in ("101", "${WEIGHT}"):
        (here / NAME).write_text(SCRIPT.replace("weight: 10", f"weight: {weight}"))
        done = nodelint("check", ".", "--include", "**/*.sh", "--format", "json", cwd=here)
        found.append([f for f in json.loads(done.stdout)["findings"] if "weight" in str(f)])
    assert found[0] and not found[1]


def test_a_plan_of_a_script_against_itself_is_empty(here: Path, nodelint: Run) -> None:
    write_files(here, {f"old/{NAME}": SCRIPT, f"new/{NAME}": SCRIPT})
    arguments = ("plan", "--old", "old", "new", "--include", "**/*.sh", "--format", "json")
    done = nodelint(*arguments, cwd=here)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [pool["change"] for pool in json.loads(done.stdout)["nodePools"]] == ["unchanged"]


def test_a_script_that_is_not_read_is_a_gap(here: Path, nodelint: Run) -> None:
    done = nodelint("check", ".", cwd=here)
    assert f"({NAME}); --include '**/*.sh' reads them" in done.stdout


def test_what_is_stated_has_a_place() -> None:
    [evidence] = evidence_of(read_stating_files(discover(["."]))).all
    assert (evidence.version, evidence.path, evidence.line) == ("1.6.0", NAME, 2)
