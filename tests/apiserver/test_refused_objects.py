"""`explain` and `fit` tell of pools as they are written; one that the API server refuses is in no cluster so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.fit.test_fit import pod
from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]
POOL = nodepool("key: kubernetes.io/arch, operator: In, values: [amd64]")


@pytest.mark.parametrize("command", ["explain", "fit"])
@pytest.mark.parametrize(
    ("pool", "node_class", "label"),
    [
        (POOL, nodeclass(), None),
        (POOL.replace("spec:\n", "spec:\n  weight: 101\n", 1), nodeclass(), "NodePool/default"),
        (POOL, nodeclass().replace("spec:\n", "spec:\n  instanceProfile: a\n", 1), "EC2NodeClass/default"),
        (POOL.replace("spec:\n", "spec:\n  wieght: 1\n", 1), nodeclass(), None),
    ],
)
def test_what_the_api_server_refuses_is_named(
    nodelint: Run, tmp_path: Path, command: str, pool: str, node_class: str, label: str | None
) -> None:
    write_files(tmp_path, {"pool.yaml": pool, "class.yaml": node_class, "web.yaml": pod("")})
    done = nodelint(command, ".", cwd=tmp_path)
    assert done.returncode == (label is not None and command == "fit")  # no pool takes the pod
    notes = [line for line in done.stderr.splitlines() if "the API server refuses" in line]
    assert [label in note and note.startswith("nodelint: ") for note in notes if label] == [True] * (
        label is not None
    )
    assert bool(notes) is (label is not None)


def test_few_of_many_are_named(nodelint: Run, tmp_path: Path) -> None:
    pools = [
        POOL.replace("name: default", f"name: p{n}", 1).replace("spec:\n", "spec:\n  weight: 101\n", 1)
        for n in range(7)
    ]
    write_files(tmp_path, {"pools.yaml": "---\n".join([*pools, nodeclass()])})
    assert "refuses 2 more objects" in nodelint("explain", ".", cwd=tmp_path).stderr
