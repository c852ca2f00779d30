"""List the files below requested folders, and hold what a run knows of all files."""

from __future__ import annotations

import os

from nodelint.base.types import TYPE_CHECKING
from nodelint.files.file_kinds import GIT_FILES, GLANCE, READ, UNREAD, WORKFLOWS, is_unread_text, purpose_of
from nodelint.files.safe_read import error_reason, repository

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nodelint.files.gitignore import Ignored
    from nodelint.files.globs import Excluded, Globs
    from nodelint.text import Source

# Folders that contain no manifests of the user. If such a folder is named on the command line, it is read.
_PASSED_OVER = frozenset({"node_modules", "__pycache__", "venv", "site-packages"})


class Discovery:
    """The files of a run. A file is sorted by keywords, not parsed.

    - `sources`: the sources that mention Karpenter or match `also`.
    - `unreadable`: paths that could not be read, with the reason.
    - `stating`: files that may state which release runs; some are also in `sources`.
    - `seen`: paths of all files that may hold manifests.
    - `glanced`: paths of files that were read only for the releases that they may state.
    - `unread`: paths of texts and programs in folders that may hold manifests, but were not opened.
    - `late`: the number of files that were not opened before the deadline.
    - `around`: the absolute paths of all files below a folder that was requested only in part. The key is the folder
      with what was left out.
    - `unsearched`: the number of files that were searched for paths, if there are more. Else 0.
    - `named`: files that were requested by path; `values`: the files of `--values`, in order.
    - `read_with`: files that are read only because a requested file needs them.
    - `folders`: the requested folders; `hidden`: hidden folders in them, which are skipped.
    - `stdin`: the content of standard input if it was requested; `stdin_path`: the file name of that content.
    - `also`: a pattern of further texts for which a file is read, although it does not mention Karpenter.
    - `workloads`: paths of files that may create pods; `contents`: the content of some of them.
    - `buffers`: paths of files that may hold CapacityBuffers.
    - `node_groups`: paths of files that may declare nodes of other tools than Karpenter.
    - `installing`: paths of files that may install a chart with values.
    - `applying`: paths of files that may change the objects of a folder.
    - `deploying`: paths of files of both kinds in the rest of the repository, once it was searched for releases.
    - `patching`: paths of files that may patch the spec of an object by path.
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
        self.around: dict[tuple[str, tuple[object, ...]], dict[str, str]] = {}
        self.unsearched = 0
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
        self.deploying: list[str] = []
        self.patching: list[str] = []


def list_files(path: str, exclude: Excluded, include: Globs, found: Discovery) -> Iterator[str]:
    """Yield the files of a requested path: itself, or all files below a folder. Each path is normalized."""
    path = os.path.normpath(path)
    if os.path.isdir(path):
        yield from _below(path, "" if path == os.curdir else os.path.join(path, ""), exclude, include, found)
    elif not exclude.match(path):
        yield path


def _below(folder: str, prefix: str, exclude: Excluded, include: Globs, found: Discovery) -> Iterator[str]:
    above = _find_ignore_rules(folder, exclude) if exclude.gitignore else None
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
    """Return whether an entry of a folder is read. `found` records the entry if it is of interest but not read."""
    regular = entry.is_file()
    if (read != READ or not regular) and is_unread_text(path):
        found.unread.append(path)
    if read == UNREAD or not regular:
        # The lock file of an editor is a link that leads nowhere on purpose.
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
    # Helm installs the files in `crds` unchanged: they are definitions, not manifests.
    if read != GLANCE and not (what == "chart" and os.path.basename(os.path.dirname(path)) == "crds"):
        found.unreadable.append((path, f"a link out of the {what}, which is not followed"))
    return False


def _list_folder(
    folder: str, found: Discovery, above: Ignored | None, exclude: Excluded
) -> tuple[Iterator[os.DirEntry[str]], Ignored | None]:
    """Return the entries of a folder, and the ignore rules of git for them."""
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


def _find_ignore_rules(folder: str, exclude: Excluded) -> Ignored | None:
    """Return the ignore rules of git in a folder. None outside of a repository.

    In a copy of a repository's folder, the rules of the original folder apply.
    """
    if repository(os.path.abspath(folder)) is None:
        folder = exclude.counterpart(folder)
    if repository(os.path.abspath(folder)) is None:
        return None
    from nodelint.files.gitignore import Ignored

    return Ignored.around(folder)
