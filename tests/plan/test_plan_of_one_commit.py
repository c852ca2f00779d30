"""On the default branch, a plan without `--against` compares a commit with itself: it says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plan.test_plan_command import git
from tests.plan.test_plan_missing_references import BOTH, Run
from tests.repositories import write_files

_WORDS = "is compared with itself"


@pytest.mark.parametrize(
    ("branch", "change", "is_itself"),
    [("main", "", True), ("topic", "", True), ("main", "file", False), ("topic", "commit", False)],
    ids=["default branch", "new branch", "edited file", "further commit"],
)
def test_a_commit_compared_with_itself_is_named(
    nodelint: Run, tmp_path: Path, branch: str, change: str, is_itself: bool
) -> None:
    write_files(tmp_path, {"n.yaml": BOTH})
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "before")
    if branch != "main":
        git(tmp_path, "checkout", "-q", "-b", branch)
    if change == "file":
        write_files(tmp_path, {"n.yaml": f"# a note\n{BOTH}"})
    elif change:
        git(tmp_path, "commit", "-q", "--allow-empty", "-m", "after")
    done = nodelint("plan", cwd=tmp_path)
    assert done.returncode == 0 and (_WORDS in done.stderr) == is_itself, done.stderr
    assert _WORDS not in nodelint("plan", "--against", "main", cwd=tmp_path).stderr
