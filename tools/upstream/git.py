"""Read a git directory of one of Karpenter's repositories at a revision. No work tree is needed."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

_CORE = re.compile(r"^\s*sigs\.k8s\.io/karpenter (v\S+)", re.MULTILINE)
_COMMIT = re.compile(r"[-.]\d{14}-([0-9a-f]{12})$")


class Unreadable(Exception):
    """Raised for a revision or a file that does not exist, or a folder that is no git directory. The message names
    it.
    """


class Repository:
    """A clone, bare or not: `git_dir` is what `git --git-dir` takes, or a folder that holds `.git`."""

    def __init__(self, git_dir: Path) -> None:
        inner = git_dir / ".git"
        self.git_dir = inner if inner.exists() else git_dir
        self.git = cache(self._git)

    def _git(self, *arguments: str) -> str:
        command = ["git", f"--git-dir={self.git_dir}", *arguments]
        done = subprocess.run(command, capture_output=True, encoding="utf-8")
        if done.returncode:
            reason = done.stderr.strip().splitlines() or ["git failed"]
            raise Unreadable(f"{self.git_dir}: git {' '.join(arguments[:3])}: {reason[-1]}")
        return done.stdout

    def show(self, revision: str, path: str) -> str:
        """Return a file at a revision. Raise Unreadable if it does not exist there."""
        return self.git("show", f"{revision}:{path}")

    def contains(self, revision: str, path: str) -> bool:
        return bool(self.git("ls-tree", "--name-only", revision, path).strip())

    def files(self, revision: str, folder: str) -> list[str]:
        """Return the paths of all files below a folder at a revision; none if there is no such folder."""
        return self.git("ls-tree", "-r", "--name-only", revision, f"{folder}/").splitlines()

    def day(self, revision: str, path: str | None = None) -> str:
        """Return the day of a commit (`2026-08-20`). With `path`, return that of the last commit before it that
        changed the path.
        """
        return self.git("log", "-1", "--format=%cs", revision, *(("--", path) if path else ())).strip()

    def commit(self, revision: str, length: int = 40) -> str:
        """Return the hash of the commit that a revision names, shortened to `length` characters."""
        return self.git("rev-parse", "--verify", f"{revision}^{{commit}}").strip()[:length]

    def tags(self) -> frozenset[str]:
        return frozenset(self.git("tag").split())


def required_core(provider: Repository, revision: str, core: Repository) -> str:
    """Return the revision of Karpenter's core that the provider requires: a tag, or the commit of a
    pseudo-version.
    """
    found = _CORE.search(provider.show(revision, "go.mod"))
    if found is None:
        raise Unreadable(f"go.mod at {revision} requires no sigs.k8s.io/karpenter")
    version = found[1]
    if version in core.tags():
        return version
    commit = _COMMIT.search(version)
    if commit is None:
        raise Unreadable(f"{core.git_dir}: no tag {version}, which the provider requires at {revision}")
    return core.commit(commit[1])
