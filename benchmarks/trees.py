"""Lay out nodelint as it is here, and as it was at a revision, so that both are run by the same interpreter."""

from __future__ import annotations

import argparse
import io
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from measures import Command

ROOT = Path(__file__).resolve().parent.parent
RUN = ("-P", "-c", "from nodelint.__main__ import main; main()")
"""What Python is given to run nodelint of its path; `-P` keeps the working directory off that."""

_PACKED = ("nodelint", "rules", "schemas")
"""What a wheel holds."""


class Tree(NamedTuple):
    """The files of one revision in a folder of their own; `name` is what a table calls it: `now` or `then`."""

    name: str
    revision: str
    root: Path
    environment: dict[str, str]

    def command(self, *arguments: str, processes: int = 1) -> Command:
        """`nodelint ARGUMENTS`, judging in so many processes.

        A variable says so: a revision without the option `--jobs` runs all the same, in one process.
        """
        environment = {**self.environment, "NODELINT_JOBS": str(processes)}
        return Command((sys.executable, *RUN, *arguments), environment)


def add_against(parser: argparse.ArgumentParser) -> None:
    """The option that names the revision to compare with."""
    parser.add_argument(
        "--against",
        metavar="REVISION",
        help="Run nodelint of this revision of git in turn with nodelint as it is here: a commit, a tag, a branch.",
    )


def make_environment(folder: Path) -> dict[str, str]:
    """The variables of every measured command.

    As for an installed tool, modules are compiled once: the first run of a command writes below `folder` what later
    runs load.
    """
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return {**environment, "PYTHONPYCACHEPREFIX": str(folder / "compiled")}


@contextmanager
def lay_out_trees(against: str | None = None) -> Iterator[list[Tree]]:
    """The tree that this file is in, and after it that of a revision; both are gone at the end.

    Both are copies, so that neither an edit meanwhile nor the times of its files tell one from the other. Raises
    SystemExit for a revision that there is not.
    """
    revisions = {"now": describe_checkout()}
    commit = "" if against is None else find_commit(against)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place).resolve()
        for part in _PACKED:
            shutil.copytree(ROOT / part, folder / "now" / part, ignore=shutil.ignore_patterns("__pycache__"))
        if commit:
            revisions["then"] = commit[:8]
            extract_commit(commit, folder / "then")
        set_times(folder)
        environment, paths = make_environment(folder), os.environ.get("PYTHONPATH")
        trees = []
        for name, revision in revisions.items():
            root = folder / name
            path = f"{root}{os.pathsep}{paths}" if paths else str(root)
            trees.append(Tree(name, revision, root, {**environment, "PYTHONPATH": path}))
        yield trees


def set_times(folder: Path) -> None:
    """Give all files the same time: what is newer than an index of it is read once more by some revisions."""
    for place, _, files in os.walk(folder):
        for name in files:
            os.utime(Path(place, name), (1_700_000_000, 1_700_000_000))


def find_commit(revision: str) -> str:
    """The commit of a revision. Raises SystemExit where there is none."""
    commit = run_git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if not commit:
        raise SystemExit(f"--against: there is no revision `{revision}` in {ROOT}")
    return commit


def extract_commit(commit: str, folder: Path) -> None:
    """Write the files of a commit into a folder."""
    packed = subprocess.run(["git", "archive", "--format=zip", commit], cwd=ROOT, capture_output=True, check=True)
    with zipfile.ZipFile(io.BytesIO(packed.stdout)) as archive:
        archive.extractall(folder)


def describe_checkout() -> str:
    """The revision of this checkout, and whether its files differ from that."""
    commit = run_git("rev-parse", "--verify", "--quiet", "HEAD")
    changed = run_git("status", "--porcelain", "--", *_PACKED)
    return f"{commit[:8]} with changes" if commit and changed else commit[:8] or "no revision of git"


def run_git(*arguments: str) -> str:
    """What git prints; nothing where it fails, or is not installed."""
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def describe_run(trees: list[Tree]) -> str:
    """One line that names the trees, the interpreter, the cores and what else the machine does."""
    names = "; ".join(f"{tree.name}: {tree.revision}" for tree in trees)
    python = f"Python {'.'.join(map(str, sys.version_info[:3]))}"
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return f"{names}; {python}; {cores} core{'s' if cores > 1 else ''}; load {describe_load()} before"


def describe_load() -> str:
    """How many processes have wanted a core in the last minute."""
    return f"{os.getloadavg()[0]:.1f}"
