"""A plan of files in git submodules: the old side has them at the commit that its revision names."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.commands.test_cli import Run
from tests.plan.test_plan_command import git
from tests.plan.test_plan_inputs import POOL, class_of
from tests.repositories import write_files

CLASS = class_of()


def commit(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "x")


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A repository whose submodule `nodes` has a pool, and gets another role with the last commit."""
    for name in ("sub", "top"):
        (tmp_path / name).mkdir()
        git(tmp_path / name, "init", "-q")
    write_files(tmp_path / "sub", {"p.yaml": POOL, "c.yaml": CLASS})
    commit(tmp_path / "sub")
    git(tmp_path / "top", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../sub", "nodes")
    commit(tmp_path / "top")
    write_files(tmp_path / "top" / "nodes", {"c.yaml": CLASS.replace("role: nodes", "role: others")})
    commit(tmp_path / "top" / "nodes")
    commit(tmp_path / "top")
    return tmp_path / "top"


def test_a_submodule_gets_another_commit(nodelint: Run, top: Path) -> None:
    done = nodelint("plan", "--against", "HEAD~1", cwd=top)
    assert (done.returncode, "NodeClassDrift  nodes/c.yaml" in done.stdout) == (1, True), done.stdout
    done = nodelint("plan", "--against", "HEAD", cwd=top)
    assert (done.returncode, "1 NodePool, not changed" in done.stdout) == (0, True), done.stdout


def test_a_submodule_lacks_the_commit(nodelint: Run, top: Path) -> None:
    shutil.rmtree(top / "nodes")
    shutil.rmtree(top / ".git" / "modules")
    write_files(top / "nodes", {"p.yaml": POOL, "c.yaml": f"{CLASS}# other\n"})
    git(top / "nodes", "init", "-q")
    commit(top / "nodes")
    done = nodelint("plan", "--against", "HEAD~1", cwd=top)
    assert (done.returncode, "the submodule nodes does not have commit" in done.stderr) == (2, True), done.stderr


def test_a_link_in_its_place_is_not_followed(nodelint: Run, top: Path) -> None:
    other = top.parent / "other"
    shutil.move(top / "nodes", other)
    (top / "nodes").symlink_to(other)
    write_files(top, {"p.yaml": POOL.replace("name: web", "name: own", 1)})
    done = nodelint("plan", "--against", "HEAD~1", cwd=top)
    assert "NodePool web" not in done.stdout, done.stdout
