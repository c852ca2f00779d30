"""The law of a plan over what it does not know, on trees that are made at random.

A tree is made of one form's ways to pass a value on, so that it is known on which texts a hashed value depends. If
one of these changes, the plan never says that all is well; if another text changes, it says nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from subprocess import CompletedProcess
from typing import NamedTuple

from tests.plan.law import charts, loops, overlays, terraform
from tests.plan.law.made import Change, Tree
from tests.plan.test_plan_command import git
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]
FORMS: dict[str, Callable[[Random], Tree]] = {
    "terraform": terraform.make,
    "chart": charts.make,
    "overlay": overlays.make,
    "loop": loops.make,
}


class Break(NamedTuple):
    """A change of which the plan says what it may not say."""

    kind: str
    change: Change
    output: str
    files: dict[str, str]


def find_breaks(nodelint: Run, folder: Path, tree: Tree, by_git: bool, tried: Counter[str]) -> Iterator[Break]:
    """Yield the changes of a tree of which a plan says too little or too much; count those that are tried."""
    write_files(folder / "old", tree.files)
    if by_git:
        _commit(folder / "old", "init")
    changes = [("input", change) for change in tree.inputs] + [("outside", change) for change in tree.outside]
    for number, (kind, change) in enumerate(changes):
        path, old, new = change
        assert tree.files[path].count(old) >= 1, (tree.about, change)
        files = {**tree.files, path: tree.files[path].replace(old, new)}
        tried[kind] += 1
        if by_git:
            write_files(folder / "old", files)
            done = nodelint("plan", "--against", "HEAD", cwd=folder / "old")
            write_files(folder / "old", tree.files)
        else:
            write_files(folder / str(number), files)
            done = nodelint("plan", "--old", "old", str(number), cwd=folder)
        output = done.stdout.replace("No node is replaced in what was compared", "")
        if done.returncode != (kind == "input") or (kind == "input" and "No node is replaced" in output):
            yield Break(kind, change, f"exit {done.returncode}: {done.stdout[-300:]}{done.stderr[-500:]}", files)


def _commit(folder: Path, message: str) -> None:
    git(folder, "init", "-q")
    git(folder, "remote", "add", "origin", "https://example.com/x.git")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", message)
