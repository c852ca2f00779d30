"""Files as they stand in a revision of a git repository, written into a folder of their own.

Only `rev-parse`, `merge-base`, `symbolic-ref`, `ls-tree` and `cat-file` are run: none of them touches the work tree
or the index, and none runs hooks or filters. A revision that a user names goes through `rev-parse --verify
--end-of-options`, so that it can be no option.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from nodelint.tuples import NamedTuple

_BRANCHES = ("origin/main", "origin/master", "main", "master")
_SECONDS = 120
_FOUND_NOTHING = "git found nothing"


class RevisionError(Exception):
    """What git said where it could not tell."""


class RevisionFile(NamedTuple):
    """A file of a revision: its path from the top of the repository, and the blob that holds it."""

    path: str
    blob: str
    link: bool


def top(folder: str) -> str:
    """The top of the repository around a folder. Raises RevisionError where there is none."""
    return os.path.realpath(_git(folder, "rev-parse", "--show-toplevel").rstrip("\n"))


def commit(folder: str, name: str) -> str:
    """The commit that a revision stands for. Raises RevisionError where there is no such revision."""
    try:
        return _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}").strip()
    except RevisionError as error:
        if str(error) != _FOUND_NOTHING:
            raise
        raise RevisionError(f"`{name}` is not a revision of this repository") from None


def base(folder: str) -> str:
    """The commit at which the current branch left the default branch. Raises RevisionError where none is found."""
    names = []
    with suppress(RevisionError):  # a clone without it has the branch itself
        names.append(_git(folder, "symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD").strip())
    for name in (*names, *_BRANCHES):
        try:
            return _git(folder, "merge-base", "--end-of-options", "HEAD", commit(folder, name)).strip()
        except RevisionError:
            continue
    raise RevisionError("no default branch is found to compare with; name a revision with --against")


def written(folder: str, revision: str, into: str, wanted: Callable[[str], bool]) -> int:
    """Write the files of a commit that are wanted below a folder; how many there were.

    Links are written where they lead to a place inside. Raises RevisionError and OSError.
    """
    entries = [entry for entry in _listed(folder, revision) if wanted(entry.path)]
    links = []
    for entry, data in zip(entries, _blobs(folder, [entry.blob for entry in entries]), strict=True):
        path = _inside(into, entry.path)
        if path is None:
            continue
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if entry.link:
            links.append((path, os.fsdecode(data)))
            continue
        with open(path, "wb") as file:
            file.write(data)
    for path, target in links:
        end = os.path.normpath(os.path.join(os.path.dirname(path), target))
        if not os.path.isabs(target) and end.startswith(os.path.join(into, "")):
            os.symlink(target, path)
    return len(entries)


def _inside(folder: str, path: str) -> str | None:
    """Where a path of a revision is written; None for one that leads elsewhere, which git itself never makes."""
    steps = path.split("/")
    if any(step in ("", ".", "..") or step.lower() == ".git" for step in steps) or os.path.isabs(path):
        return None
    return os.path.join(folder, *steps)


def _listed(folder: str, revision: str) -> Iterator[RevisionFile]:
    for line in _git(folder, "ls-tree", "-r", "-z", "--full-tree", revision).split("\0"):
        about, _, path = line.partition("\t")
        if not path:
            continue
        mode, kind, blob = about.split()
        if kind == "blob":
            yield RevisionFile(path, blob, mode == "120000")


def _blobs(folder: str, names: Sequence[str]) -> Iterator[bytes]:
    out = _run(folder, ["cat-file", "--batch"], "".join(f"{name}\n" for name in names).encode())
    position = 0
    for name in names:
        end = out.index(b"\n", position)
        head = out[position:end].split()
        if len(head) != 3:
            raise RevisionError(f"git does not have the object {name}; is this a shallow or partial clone?")
        size = int(head[2])
        yield out[end + 1 : end + 1 + size]
        position = end + 1 + size + 1


def _git(folder: str, *arguments: str) -> str:
    return os.fsdecode(_run(folder, arguments, b""))


def _run(folder: str, arguments: Sequence[str], sent: bytes) -> bytes:
    try:
        done = subprocess.run(
            ["git", "-C", folder, *arguments], input=sent, capture_output=True, timeout=_SECONDS, check=False
        )
    except FileNotFoundError:
        raise RevisionError("there is no git on the PATH") from None
    except subprocess.TimeoutExpired:
        raise RevisionError(f"git gave no answer within {_SECONDS} seconds") from None
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise RevisionError(f"git: {lines[0].removeprefix('fatal: ')}" if lines else _FOUND_NOTHING)
    return done.stdout
