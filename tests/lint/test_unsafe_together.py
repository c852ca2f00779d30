"""Unsafe fixes are written after the safe ones, cost none of these, and are named in the diff with what they do."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

BAD = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "examples" / "bad").iterdir()}


def read_files(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.yaml")}


@pytest.mark.parametrize("names", [["typos.yaml"], list(BAD)], ids=" ".join)
def test_unsafe_fixes_cost_no_safe_one(nodelint: Run, tmp_path: Path, names: list[str]) -> None:
    """In one run and in two, in whatever order the files are named, the files come to the same."""
    files = {name: BAD[name] for name in names}
    write_files(tmp_path, files)
    nodelint("check", "--isolated", "--fix", *names)
    nodelint("check", "--isolated", "--fix", "--unsafe-fixes", *names)
    after_both = read_files(tmp_path)
    for order in (names, names[::-1]):
        write_files(tmp_path, files)
        nodelint("check", "--isolated", "--unsafe-fixes", *order)
        assert read_files(tmp_path) == after_both


def test_a_diff_names_each_unsafe_fix_and_applies(nodelint: Run, tmp_path: Path) -> None:
    write_files(tmp_path, BAD)
    safe = nodelint("check", "--isolated", "--diff", ".")
    assert "unsafe" not in safe.stdout + safe.stderr
    done = nodelint("check", "--isolated", "--diff", "--unsafe-fixes", ".")
    notes = re.findall(r"(?m)^# unsafe: ([\w-]+), line (\d+): (.+)$", done.stdout)
    assert (
        "unknown-label",
        "17",
        "it brings a new finding, unmatchable-value; no running node is replaced",
    ) in notes
    assert f"{len(notes)} of them by unsafe fixes" in done.stderr
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=done.stdout.encode(), check=True)
    applied = read_files(tmp_path)
    write_files(tmp_path, BAD)
    nodelint("check", "--isolated", "--unsafe-fixes", ".")
    assert read_files(tmp_path) == applied
