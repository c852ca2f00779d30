"""Files as they stand in a revision of a git repository, written into a folder of their own.

Only `rev-parse`, `merge-base`, `symbolic-ref`, `ls-tree` and `cat-file` are run: none of them touches the work tree
or the index, and none runs hooks or filters.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from nodelint.source.git.repository import FOUND_NOTHING, GitError, Repository, ask, send
from nodelint.tuples import NamedTuple

_BRANCHES = ("origin/main", "origin/master", "main", "master")


class RevisionFile(NamedTuple):
    """A file of a revision: its path from the top of the repository, and the blob that holds it."""

    path: str
    blob: str
    link: bool


def commit(where: Repository, name: str) -> str:
    """The commit that a revision stands for. Raises GitError where there is no such revision."""
    if name.startswith("-"):  # an option of git, and no revision begins so
        raise GitError(f"`{name}` is not a revision of this repository")
    try:
        return ask(where, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}").strip()
    except GitError as error:
        if str(error) != FOUND_NOTHING:
            raise
        raise GitError(f"`{name}` is not a revision of this repository") from None


def base(where: Repository) -> str:
    """The commit at which the current branch left the default branch. Raises GitError where none is found."""
    names = []
    with suppress(GitError):  # a clone without it has the branch itself
        names.append(ask(where, "symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD").strip())
    for name in (*names, *_BRANCHES):
        try:
            return ask(where, "merge-base", "HEAD", commit(where, name)).strip()
        except GitError:
            continue
    raise GitError("no default branch is found to compare with; name a revision with --against")


def write_files(where: Repository, revision: str, into: str, wanted: Callable[[str], bool]) -> int:
    """Write the files of a commit that are wanted below a folder; how many there were.

    Links are written where they lead to a place inside. Raises GitError and OSError.
    """
    entries = [entry for entry in _listed(where, revision) if wanted(entry.path)]
    links = []
    for entry, data in zip(entries, _blobs(where, [entry.blob for entry in entries]), strict=True):
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


def _listed(where: Repository, revision: str) -> Iterator[RevisionFile]:
    for line in ask(where, "ls-tree", "-r", "-z", "--full-tree", revision).split("\0"):
        about, _, path = line.partition("\t")
        if not path:
            continue
        mode, kind, blob = about.split()
        if kind == "blob":
            yield RevisionFile(path, blob, mode == "120000")


def _blobs(where: Repository, names: Sequence[str]) -> Iterator[bytes]:
    out = send(where, ["cat-file", "--batch"], "".join(f"{name}\n" for name in names).encode())
    position = 0
    for name in names:
        end = out.index(b"\n", position)
        head = out[position:end].split()
        if len(head) != 3:
            raise GitError(f"git does not have the object {name}; is this a shallow or partial clone?")
        size = int(head[2])
        yield out[end + 1 : end + 1 + size]
        position = end + 1 + size + 1
