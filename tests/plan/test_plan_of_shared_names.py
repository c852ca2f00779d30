"""A pool that may use one of several classes of its class's name: only a class that may replace nodes counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands.test_cli import Run
from tests.plan.test_plan_inputs import POOL, class_of
from tests.repositories import write_files

CLASS = class_of()
FAMILY = CLASS.replace("spec:\n", "spec:\n  amiFamily: AL2023\n")
OTHER_ROLE = CLASS.replace("role: nodes", "role: others")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"one/class.yaml": FAMILY}, 0),
        ({"one/class.yaml": FAMILY, "two/class.yaml": FAMILY}, 0),
        ({"one/class.yaml": FAMILY, "two/class.yaml": OTHER_ROLE}, 1),
        ({"two/class.yaml": OTHER_ROLE}, 1),
        ({"three/class.yaml": CLASS}, 1),
        ({"one/class.yaml": "# none\n"}, 1),
    ],
)
def test_several_classes_of_one_name(nodelint: Run, tmp_path: Path, change: dict[str, str], code: int) -> None:
    files = {"one/class.yaml": CLASS, "two/class.yaml": CLASS, "pools/pool.yaml": POOL}
    write_files(tmp_path / "old", files)
    write_files(tmp_path / "new", {**files, **change})
    found = nodelint("plan", "--old", "old", "new", cwd=tmp_path)
    assert ("No node is replaced" in found.stdout) == (code == 0), found.stdout
    assert found.returncode == code


@pytest.mark.parametrize("version", ["1.33", "1.34"])
def test_another_kubernetes_version_below_classes_of_one_name(nodelint: Run, tmp_path: Path, version: str) -> None:
    cluster = 'resource "aws_eks_cluster" "a" {\n  name = "a"\n  version = "%s"\n}\n'
    classes = CLASS.replace("al2023@v20260618", "al2023@latest")
    files = {"one/class.yaml": classes, "two/class.yaml": classes, "pools/pool.yaml": POOL}
    write_files(tmp_path / "old", {**files, "main.tf": cluster % "1.33"})
    write_files(tmp_path / "new", {**files, "main.tf": cluster % version})
    found = nodelint("plan", "--old", "old", "new", cwd=tmp_path)
    assert ("No node is replaced" in found.stdout) == (version == "1.33"), found.stdout
    assert found.returncode == (version != "1.33")
