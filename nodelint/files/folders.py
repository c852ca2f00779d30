"""What discovery finds, and the walk through folders."""

from __future__ import annotations

import os

from nodelint.base.types import TYPE_CHECKING
from nodelint.files.file_kinds import GIT_FILES, GLANCE, READ, UNREAD, WORKFLOWS, is_text_of_others, purpose_of
from nodelint.files.safe_read import error_reason, repository

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nodelint.files.gitignore import Ignored
    from nodelint.files.globs import Excluded, Globs
    from nodelint.text import Source

# What no manifest of the user's own stands in; a folder that is named on the command line is read all the same.
_PASSED_OVER = frozenset({"node_modules", "__pycache__", "venv", "site-packages"})


class Discovery:
    """The files that a run reads, and what is known of the others.

    - `sources`: files that hold the word `karpenter`, or the pattern `also`
    - `unreadable`: paths that could not be read, each with the reason
    - `stating`: files that may state a release, files of `sources` among them
    - `seen`: paths of all files that may hold manifests; `glanced`: those of files that are read for a release alone
    - `unread`: texts and programs in folders, which may hold manifests and were not opened
    - `late`: how many files were not opened because the time of the run was over
    - `named`: files that were requested by their path; `values`: those of --values, in their order
    - `read_with`: files that are read only because a named file belongs to them
    - `folders`: requested folders; `hidden`: hidden folders in them, which are not read
    - `stdin`: the bytes of standard input, if it was requested; `stdin_path`: the name that its text has
    - `workloads`: files that may hold workloads; `contents`: the bytes of some of these
    - `buffers`: files that may hold CapacityBuffers; `node_groups`: those that may state nodes that others than
      Karpenter make; `installing`: those that may install a chart with values; `applying`: those that may change
      what a folder makes. These are found by single words.
    """

    def __init__(self) -> None:
        self.stating: list[Source] = []
        self.seen: set[str] = set()
        self.glanced: set[str] = set()
        self.unread: list[str] = []
        self.named: set[str] = set()
        self.read_with: set[str] = set()
        self.values: Sequence[str] = ()
        self.folders: list[str] = []
        self.hidden: list[str] = []
        self.sources: list[Source] = []
        self.unreadable: list[tuple[str, str]] = []
        self.late = 0
        self.files = 0
        self.stdin: bytes | None = None
        self.stdin_path = "-"
        self.also: str | None = None
        self.workloads: list[str] = []
        self.contents: dict[str, bytes] = {}
        self.buffers: list[str] = []
        self.installing: list[str] = []
        self.node_groups: list[str] = []
        self.applying: list[str] = []


def list_files(path: str, exclude: Excluded, include: Globs, found: Discovery) -> Iterator[str]:
    """Yield the files that a path stands for, each as a normal path."""
    path = os.path.normpath(path)
    if os.path.isdir(path):
        yield from _below(path, "" if path == os.curdir else os.path.join(path, ""), exclude, include, found)
    elif not exclude.match(path):
        yield path


def _below(folder: str, prefix: str, exclude: Excluded, include: Globs, found: Discovery) -> Iterator[str]:
    above = _ignored_around(folder, exclude) if exclude.gitignore else None
    excluding = bool(exclude)
    open_folders = [(prefix, *_list_folder(folder, found, above, exclude))]
    while open_folders:
        prefix, entries, ignored = open_folders[-1]
        for entry in entries:
            name = entry.name
            path = prefix + name
            if excluding and exclude.match(path):
                continue
            try:
                if entry.is_dir(follow_symlinks=False):
                    walked = (not name.startswith(".") or name in WORKFLOWS) and name not in _PASSED_OVER
                    if walked and not (ignored and ignored.ignores(name, folder=True)):
                        below = ignored.below(name) if ignored else None
                        open_folders.append((path + os.sep, *_list_folder(path, found, below, exclude)))
                        break
                    if name.startswith(".") and not walked and not (ignored and ignored.ignores(name, folder=True)):
                        found.hidden.append(path)
                    continue
                read = purpose_of(path, include)
                if not read or (ignored and ignored.ignores(name, folder=False)):
                    continue
                if _is_taken(entry, path, read, folder, found):
                    yield path
            except OSError as error:  # a link that leads back to itself
                found.unreadable.append((path, error_reason(error)))
        else:
            open_folders.pop()


def _is_taken(entry: os.DirEntry[str], path: str, read: int, top: str, found: Discovery) -> bool:
    """Whether an entry of a folder is read; `found` takes what is to be known of it in either case."""
    regular = entry.is_file()
    if (read != READ or not regular) and is_text_of_others(path):
        found.unread.append(path)
    if read == UNREAD or not regular:
        # An editor's lock is a link that leads nowhere by intent.
        if read == READ and not entry.name.startswith(".") and entry.is_symlink() and not os.path.exists(path):
            found.unreadable.append((path, "a link to a file that is not there"))
        return False
    if read == GLANCE:
        found.glanced.add(path)
    if not entry.is_symlink():
        return True
    from nodelint.files.links import link_leaves

    if (what := link_leaves(path, top)) is None:
        return True
    # Helm installs what is in `crds` as it is; definitions are no manifests.
    if read != GLANCE and not (what == "chart" and os.path.basename(os.path.dirname(path)) == "crds"):
        found.unreadable.append((path, f"a link out of the {what}, which is not followed"))
    return False


def _list_folder(
    folder: str, found: Discovery, above: Ignored | None, exclude: Excluded
) -> tuple[Iterator[os.DirEntry[str]], Ignored | None]:
    """Return the entries of a folder, and what git ignores of them."""
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda e: e.name)
    except OSError as error:
        found.unreadable.append((folder, error_reason(error)))
        return iter(()), above
    if exclude.gitignore and any(entry.name in GIT_FILES for entry in entries):
        from nodelint.files.gitignore import entered

        above = entered(above, folder, [entry.name for entry in entries])
    return iter(entries), above


def _ignored_around(folder: str, exclude: Excluded) -> Ignored | None:
    """Return what git ignores in a folder; None outside of a repository, where nothing of it is loaded.

    In a copy of a repository's folder, what git ignores in that folder is ignored.
    """
    if repository(os.path.abspath(folder)) is None:
        folder = exclude.counterpart(folder)
    if repository(os.path.abspath(folder)) is None:
        return None
    from nodelint.files.gitignore import Ignored

    return Ignored.around(folder)
