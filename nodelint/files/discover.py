"""Find the files of a run: requested files, and files that are read only for references."""

from __future__ import annotations

import os

from nodelint.base.budget import RUN
from nodelint.base.types import TYPE_CHECKING
from nodelint.files.contents import concerns_karpenter, display_path, read_content
from nodelint.files.file_keywords import FileKeywords, find_buffers, may_make_pods, may_state
from nodelint.files.file_kinds import GIT_FILES, GLANCE, READ, UNREAD, WORKFLOWS, is_text_of_others, purpose_of
from nodelint.files.gate import gate
from nodelint.files.globs import NOTHING, READ_ALL, Excluded, Globs
from nodelint.files.kept_contents import file_contents
from nodelint.files.safe_read import error_reason, is_inside, repository
from nodelint.forms.registry import TABLE
from nodelint.text.keywords import bytes_hold_keyword

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from nodelint.files.gitignore import Ignored
    from nodelint.forms.registry import FormRow, FormTable
    from nodelint.text import Source


# What no manifest of the user's own stands in; a folder that is named on the command line is read all the same.
_PASSED_OVER = frozenset({"node_modules", "__pycache__", "venv", "site-packages"})


_HIGHEST = 6
"""Folders between a file and the chart, kustomization or module that reads it."""

_LARGEST = 1 << 20
"""Bytes of a file of values."""

_KEPT = 2_000
"""Of so many files with workloads the contents are kept."""

# Bytes of files that are searched together: so many that most searches are spared, and so few that most blocks of a
# repository hold no file that names Karpenter.
_BLOCK = 1 << 13


class Discovery:
    """What was found: sources that hold the word `karpenter`, and paths that could not be read, with why.

    `stdin` is what standard input brought, where it was asked for, `stdin_path` how its text is named. `stating` are
    files that may state which release runs, sources among them; `seen` are the paths of all files that may hold
    manifests, `glanced` those of others; `unread` are the paths of texts and programs in folders, which may hold
    manifests and were not opened. `late` counts the files that were not opened before the deadline. `named` are the
    files that were asked for by their paths, `values` those of --values, in their order. `folders` are the requested
    ones, `hidden` the hidden ones in them, which are passed over. `also` is a pattern of what is read although the
    word is not in it. `workloads` are the paths of files that may make pods, `contents` what some of these hold,
    `buffers` the paths of those that may hold CapacityBuffers, `node_groups` of those that may state nodes of others
    than Karpenter, `installing` of those that may install a chart with values, `applying` of those that may change
    what a folder makes: all told by single words.
    """

    def __init__(self) -> None:
        self.stating: list[Source] = []
        self.seen: set[str] = set()
        self.glanced: set[str] = set()
        self.unread: list[str] = []
        self.named: set[str] = set()
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


def discover(
    paths: Sequence[str],
    exclude: Excluded = READ_ALL,
    stdin: Callable[[], bytes] | None = None,
    on_file: Callable[[int], None] | None = None,
    include: Globs = NOTHING,
    also: str | None = None,
    known: Mapping[bytes, Source] | None = None,
) -> Discovery:
    """Read files, folders (with all that is below them) and `-` for standard input, each file once.

    In folders only manifests, their templates and Terraform's files are read, by their endings, and what `include`
    matches: scripts and Markdown, say. Hidden folders and those of package managers are passed over. `include` and
    `exclude` are globs over the path as it is printed; what both match is left out. What git ignores in a folder is
    left out where `exclude` says so; a file or folder of `paths` is read anyway. Files in which the pattern `also` is
    found are read although they do not hold the word. `known` are sources that were read before, by their bytes: what
    is the same is not read twice.
    """
    found = Discovery()
    found.also = also
    block = _Block(found, known or {})
    for path in paths:
        if not path:
            found.unreadable.append((path, "an empty path"))
        elif path == "-":
            gate.admit(os.curdir)
            block.sort_in()
            _take_stdin(found, stdin)
        else:
            if not (file_contents.is_kept and path in gate.admitted):  # in a run, a path is the one of before
                gate.admit(path)
            if os.path.isdir(path):
                found.folders.append(os.path.abspath(path))
            else:
                found.named.add(os.path.normpath(path))
            for file in _files(path, exclude, include, found):
                _take_file(file, path, block, on_file)
    block.sort_in()
    for file in _list_read_with(found) if found.named else ():
        if not exclude.match(file):
            _take_file(file, file, block, on_file)
    block.sort_in()
    return found


def _list_read_with(found: Discovery) -> Iterator[str]:
    """Yield the files without which a file that was asked for by its path makes no object."""
    named = sorted(path for path in found.named if path in found.seen)
    # Most folders have nothing of any form above them, and are listed once for all forms.
    below = {folder: _is_below_form(TABLE, folder) for folder in {os.path.dirname(path) for path in named}}
    for row in TABLE.rows:
        near = {folder: False for folder, is_below in below.items() if not is_below}
        for path in named:
            if _may_be_read_with(row, path, found, near):
                yield from row.load().list_read_with(path)


def _may_be_read_with(row: FormRow, path: str, found: Discovery, near: dict[str, bool]) -> bool:
    """Return whether a form may read others with a file, told without loading the form.

    `near` remembers the folders that are below one of the form's.
    """
    if path.endswith(row.language):
        return True
    if not (row.heads or row.names):
        return False
    folder = os.path.dirname(path)
    if folder not in near:
        near[folder] = _is_below_form(row, folder)
    if near[folder]:
        return True
    # Values of a chart elsewhere, or an object that installs one.
    return bool(row.folders) and (path in found.installing or _may_be_values(path))


def _is_below_form(row: FormRow | FormTable, folder: str) -> bool:
    """Return whether a folder, or one of those above it, holds a file of a form's own."""
    own = {*row.names, *row.heads}
    for _ in range(_HIGHEST):
        names = gate.names(folder or os.curdir)
        if not own.isdisjoint(names) or (row.endings and any(name.endswith(row.endings) for name in names)):
            return True
        folder = os.path.normpath(os.path.join(folder, os.pardir))
        if gate.refusal(folder) is not None:
            return False
    return False


def _may_be_values(path: str) -> bool:
    """Return whether a file may hold values of a chart: it is YAML, and no Kubernetes object."""
    if not path.endswith((".yaml", ".yml")):
        return False
    try:
        data = gate.read(path, _LARGEST)
    except OSError:
        return False
    return b"apiVersion" not in data and b"kind:" not in data


def _take_stdin(found: Discovery, stdin: Callable[[], bytes] | None) -> None:
    found.files += 1
    from nodelint.files.standard_input import read_standard_input

    try:
        found.stdin = (stdin or read_standard_input)()
    except OSError as error:
        found.unreadable.append(("-", error_reason(error)))
        return
    if _is_wanted(found.stdin, found):
        from nodelint.text import Source

        found.sources.append(Source.from_bytes("-", found.stdin, found.also or find_buffers(found.stdin)))


def name_stdin(found: Discovery, name: str) -> None:
    """Treat standard input as the text of a file that an editor holds; it replaces the file on disk."""
    if found.stdin is None:
        return
    gate.admit(name)
    path = os.path.normpath(name)
    found.stdin_path = display_path(path)
    whole = os.path.abspath(path)
    for sources in (found.sources, found.stating):
        sources[:] = [s for s in sources if s.path != "-" and os.path.abspath(s.path) != whole]
    found.seen.add(path)
    if not _is_wanted(found.stdin, found):
        return
    from nodelint.text import Source

    source = Source.from_bytes(found.stdin_path, found.stdin, found.also or find_buffers(found.stdin))
    source.part = TABLE.is_part(path)
    found.sources.append(source)
    if may_state(path, found.stdin, True):
        found.stating.append(source)


class _Block:
    """Contents that were read and wait to be searched together."""

    def __init__(self, found: Discovery, known: Mapping[bytes, Source]) -> None:
        self.found = found
        self.known = known
        self.files: list[tuple[str, bytes]] = []
        self.size = 0

    def add(self, file: str, data: bytes) -> None:
        self.files.append((file, data))
        self.size += len(data)
        if self.size >= _BLOCK:
            self.sort_in()

    def sort_in(self) -> None:
        """Note of each file what it may hold; that is read where a run asks for it."""
        files, found = self.files, self.found
        if not files:
            return
        joined = b"\n".join([data for _, data in files]) if len(files) > 1 else files[0][1]
        self.files, self.size = [], 0
        names = "\n".join([file for file, _ in files])
        keywords = FileKeywords(joined, names)
        keywords.search_forms(joined, names)
        self._note(files, keywords)
        karpenter = bytes_hold_keyword(joined) or joined.find(b"\0") >= 0
        if karpenter or keywords.buffers or found.also is not None:
            for file, data in files:
                ours = _is_wanted(data, found)
                if ours or (keywords.may_be_stated and keywords.may_state(file, data, ours)):
                    self._take(file, data, ours, keywords)
        elif keywords.may_be_stated:
            for file, data in files:
                if keywords.may_state(file, data, False):
                    self._take(file, data, False, keywords)

    def _note(self, files: Sequence[tuple[str, bytes]], keywords: FileKeywords) -> None:
        """Note the paths of files by what they may hold."""
        found = self.found
        # A file that holds nothing is asked one question; the others are asked where the joined contents raise them.
        workloads = {file: data for file, data in files if may_make_pods(file, data)}
        found.workloads += workloads
        if workloads and len(found.contents) < _KEPT:
            found.contents.update(workloads)
        if keywords.installs or keywords.installing_names:
            found.installing += [file for file, data in files if keywords.may_install_charts(file, data)]
        if keywords.applies:
            found.applying += [file for file, data in files if keywords.may_change_overlays(data)]
        if keywords.buffers:
            found.buffers += [file for file, data in files if keywords.may_hold_buffers(data)]
        if keywords.node_group_parts:
            found.node_groups += [file for file, data in files if keywords.may_state_node_groups(data)]

    def _take(self, file: str, data: bytes, ours: bool, keywords: FileKeywords) -> None:
        """Read a file that concerns Karpenter, or may state a release."""
        from nodelint.text import Source

        found = self.found
        # A file whose name is a dash is not standard input.
        path, also = display_path(file), (found.also or find_buffers(data)) if ours else None
        source = self._copy_known(path, data) if also is None else None
        if source is None:
            source = Source.from_bytes(path, data, also)
        if ours:
            source.part = TABLE.is_part(file)
            found.sources.append(source)
        if keywords.may_state(file, data, ours):
            found.stating.append(source)

    def _copy_known(self, path: str, data: bytes) -> Source | None:
        known = self.known.get(data)
        if known is None:
            return None
        from nodelint.text.copied import copy_source

        return copy_source(known, path)


def _take_file(file: str, path: str, block: _Block, on_file: Callable[[int], None] | None) -> None:
    """Read a file that `path` stands for, unless it was read before."""
    found = block.found
    if found.glanced and file in found.glanced and file != os.path.normpath(path):
        block.sort_in()
        _read_for_release(file, found)
        return
    if file in found.seen:
        return
    if RUN.is_over():
        found.late += 1
        return
    found.seen.add(file)
    found.files += 1
    if on_file is not None:
        on_file(found.files)
    data = read_content(file, found.unreadable)
    if isinstance(data, bytes):
        block.add(file, data)
    elif data is not None:
        block.sort_in()
        data.part = TABLE.is_part(file)
        found.sources.append(data)


def stating(found: Discovery, exclude: Excluded = READ_ALL) -> list[Source]:
    """Return the files that may state a release: those found, and the others of the repositories that the sources
    stand in.

    What of those others cannot be read is passed over: it was not asked for.
    """
    folders = {os.path.dirname(source.path) for source in found.sources if source.path != "-"}
    roots = sorted({root for folder in map(os.path.abspath, folders) if (root := repository(folder)) is not None})
    roots = [root for root in roots if not any(is_inside(root, folder) for folder in found.folders)]
    seen = {os.path.abspath(path) for path in (*found.seen, *found.glanced)} if roots else set()
    more = Discovery()
    for root in roots:
        for file in _files(os.path.relpath(root), exclude, NOTHING, more):
            if os.path.abspath(file) not in seen:
                _read_for_release(file, more)
    return [*found.stating, *more.stating]


def stating_around(folder: str, exclude: Excluded = READ_ALL) -> list[Source]:
    """Return the files that may state a release, of the repository around a folder; none outside of a repository."""
    root = repository(os.path.abspath(folder))
    found = Discovery()
    for file in _files(os.path.relpath(root), exclude, NOTHING, found) if root is not None else ():
        _read_for_release(file, found)
    return found.stating


def _read_for_release(file: str, found: Discovery) -> None:
    if any(source.path == display_path(file) for source in found.stating):
        return
    data = read_content(file, [])
    if isinstance(data, bytes) and may_state(file, data, concerns_karpenter(data)):
        from nodelint.text import Source

        found.stating.append(Source.from_bytes(display_path(file), data))


def context(sources: Iterable[Source], exclude: Excluded = READ_ALL, include: Globs = NOTHING) -> list[Source]:
    """Return the other manifests of the repositories that the sources stand in; of none if they stand in none."""
    sources = list(sources)
    folders = {os.path.dirname(os.path.abspath(source.path)) for source in sources}
    roots = sorted({root for folder in folders if (root := repository(folder)) is not None})
    have = {os.path.realpath(source.path) for source in sources}
    found = discover([os.path.relpath(root) for root in roots], exclude, include=include)
    return [source for source in found.sources if os.path.realpath(source.path) not in have]


def _files(path: str, exclude: Excluded, include: Globs, found: Discovery) -> Iterator[str]:
    """Yield the files that a path stands for, each as a normal path."""
    path = os.path.normpath(path)
    if os.path.isdir(path):
        yield from _below(path, "" if path == os.curdir else os.path.join(path, ""), exclude, include, found)
    elif not exclude.match(path):
        yield path


def _below(folder: str, prefix: str, exclude: Excluded, include: Globs, found: Discovery) -> Iterator[str]:
    above = _ignored_around(folder, exclude) if exclude.gitignore else None
    excluding = bool(exclude)
    open_folders = [(prefix, *_listed(folder, found, above, exclude))]
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
                        open_folders.append((path + os.sep, *_listed(path, found, below, exclude)))
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


def _listed(
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


def _is_wanted(data: bytes, found: Discovery) -> bool:
    if concerns_karpenter(data):
        return True
    if found.also is None:
        return find_buffers(data) is not None
    import re

    return re.search(found.also.encode(), data) is not None
