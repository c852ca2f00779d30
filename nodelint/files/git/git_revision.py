"""Write the files of a git revision into a separate folder.

Only `rev-parse`, `merge-base`, `symbolic-ref`, `ls-tree` and `cat-file` are run: they do not touch the work tree or
the index, and run no hooks or filters.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from nodelint.base.tuples import NamedTuple
from nodelint.files.git.repository import FOUND_NOTHING, GitError, Repository, ask, repository, send

_BRANCHES = ("origin/main", "origin/master", "main", "master")

OF_OTHERS = (
    *(".png", ".jpg", ".jpeg", ".gif", ".webp", ".ico", ".svg", ".bmp", ".drawio", ".pdf", ".psd", ".ai"),
    *(".mp3", ".mp4", ".mov", ".webm", ".wav", ".ttf", ".otf", ".woff", ".woff2", ".eot"),
    *(".zip", ".gz", ".tgz", ".bz2", ".xz", ".zst", ".7z", ".tar", ".jar", ".war", ".whl", ".rpm", ".deb"),
    *(".exe", ".dll", ".so", ".dylib", ".a", ".o", ".class", ".pyc", ".wasm", ".bin", ".iso", ".img", ".db"),
    *(".parquet", ".sqlite", ".pb", ".onnx", ".pt", ".npy", ".csv", ".log", ".ipynb", ".map", ".sum"),
    *(".rst", ".html", ".css", ".scss", ".vue", ".js", ".jsx", ".mjs", ".ts", ".tsx"),
    *(".go", ".rs", ".java", ".kt", ".scala", ".cs", ".c", ".cc", ".cpp", ".h", ".hpp", ".swift", ".php", ".rb"),
)
"""Endings of files that are not read from a git revision, unless a form names them: no input of manifests.

A script, a text or a table may be an input, such as user data. A README may state a release.
"""


class RevisionFile(NamedTuple):
    """A file of a revision: its path from the top of the repository, and the id of its blob.

    For a submodule (`module`), the id is that of its commit.
    """

    path: str
    blob: str
    link: bool
    module: bool = False


def commit(where: Repository, name: str) -> str:
    """Return the commit of a revision. Raise GitError if there is no such revision."""
    if name.startswith("-"):  # git would read it as an option; no revision begins so
        raise GitError(f"`{name}` is not a revision of this repository")
    try:
        return ask(where, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}").strip()
    except GitError as error:
        if str(error) != FOUND_NOTHING:
            raise
        raise GitError(f"`{name}` is not a revision of this repository{_say_what_lacks(where)}") from None


def _say_what_lacks(where: Repository) -> str:
    """Return advice for a revision that is not found: a clone, above all a shallow one, may lack it."""
    if not os.path.exists(os.path.join(where.data, "shallow")):
        return "; `git branch --all` and `git tag` list the names, and `git fetch` brings those of the remote"
    return "; this clone has a part of the history: run `git fetch --unshallow`, or set `fetch-depth: 0` in CI"


def base(where: Repository) -> str:
    """Return the commit at which the current branch left the default branch. Raise GitError if there is none."""
    names = []
    with suppress(GitError):  # a clone without this reference has the branch itself
        names.append(ask(where, "symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD").strip())
    for name in (*names, *_BRANCHES):
        try:
            return ask(where, "merge-base", "HEAD", commit(where, name)).strip()
        except GitError:
            continue
    raise GitError(
        f"no default branch is found to compare with; name a revision with --against{_say_what_lacks(where)}"
    )


def list_changed(where: Repository, revision: str) -> frozenset[str]:
    """Return the paths that differ between a revision and the checked-out commit. Empty if git cannot tell."""
    try:
        found = ask(where, "diff-tree", "-r", "-z", "--name-only", "--no-renames", revision, "HEAD")
    except GitError:
        return frozenset()
    return frozenset(filter(None, found.split("\0")))


def write_files(
    where: Repository,
    revision: str,
    into: str,
    needed: Callable[[str], bool],
    wanted: Callable[[str], bool] = lambda path: False,
) -> None:
    """Write the files of a commit into a folder: the `needed` ones, and all files to which they may refer.

    Submodules that are checked out are included, each at the commit that the revision names.

    `wanted` files are written as well, if the clone has them. A partial clone may lack other files: these are left
    out. Links are written if they lead to a place inside. Raise OSError, and GitError also if a needed file is
    missing.
    """
    listed = list(_listed(where, revision))
    entries = [
        e
        for e in listed
        if not e.module and (needed(e.path) or wanted(e.path) or not e.path.lower().endswith(OF_OTHERS))
    ]
    links = []
    folders: set[str] = set()
    for entry, data in zip(entries, _blobs(where, [entry.blob for entry in entries]), strict=True):
        path = _inside(into, entry.path)
        if data is None and needed(entry.path):
            raise GitError(f"this clone does not have {entry.path} as it was: fetch all of {revision[:12]} first")
        if path is None or data is None:
            continue
        folder = os.path.dirname(path)
        if folder not in folders:
            os.makedirs(folder, exist_ok=True)
            folders.add(folder)
        if entry.link:
            links.append((path, os.fsdecode(data)))
            continue
        with open(path, "wb") as file:
            file.write(data)
    for path, target in links:
        end = os.path.normpath(os.path.join(os.path.dirname(path), target))
        if not os.path.isabs(target) and end.startswith(os.path.join(into, "")):
            os.symlink(target, path)
    for entry in listed:
        if entry.module:
            _write_submodule(where, entry, into, needed, wanted)


def _write_submodule(
    where: Repository,
    entry: RevisionFile,
    into: str,
    needed: Callable[[str], bool],
    wanted: Callable[[str], bool],
) -> None:
    """Write the files of a submodule that is checked out. Raise GitError if it lacks the commit."""
    folder, made = os.path.join(where.top, *entry.path.split("/")), _inside(into, entry.path)
    # A link could lead to another repository of this machine.
    if made is None or os.path.realpath(folder) != folder or not os.path.lexists(os.path.join(folder, ".git")):
        return
    inner = repository(folder)
    try:
        commit(inner, entry.blob)
    except GitError:
        what = f"the submodule {entry.path} does not have commit {entry.blob[:12]}"
        raise GitError(f"{what}: `git -C {entry.path} fetch` may bring it") from None
    os.makedirs(made, exist_ok=True)
    write_files(
        inner,
        entry.blob,
        made,
        lambda path: needed(f"{entry.path}/{path}"),
        lambda path: wanted(f"{entry.path}/{path}"),
    )


def _inside(folder: str, path: str) -> str | None:
    """Return the path at which a file of a revision is written.

    None if the path leads out of the folder: git itself creates no such path.
    """
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
        if kind in ("blob", "commit"):
            yield RevisionFile(path, blob, mode == "120000", kind == "commit")


def _blobs(where: Repository, names: Sequence[str]) -> Iterator[bytes | None]:
    """Yield the content of each blob. None if a shallow or partial clone does not have it."""
    try:
        out = _contents(where, names)
        known_ids = None
    except GitError:  # older versions of git stop at a blob that they would have to fetch
        listed = ask(where, "cat-file", "--batch-all-objects", "--unordered", "--batch-check=%(objectname)")
        known_ids = set(listed.split())
        out = _contents(where, [name for name in names if name in known_ids])
    position = 0
    for name in names:
        if known_ids is not None and name not in known_ids:
            yield None
            continue
        end = out.index(b"\n", position)
        head = out[position:end].split()
        if len(head) != 3:
            position = end + 1
            yield None
            continue
        size = int(head[2])
        yield out[end + 1 : end + 1 + size]
        position = end + 1 + size + 1


def _contents(where: Repository, names: Sequence[str]) -> bytes:
    return send(where, ["cat-file", "--batch"], "".join(f"{name}\n" for name in names).encode())
