"""Find the files of a run: requested files, and files that are read only for references."""

from __future__ import annotations

import os

from nodelint.base.budget import RUN
from nodelint.base.types import TYPE_CHECKING
from nodelint.files.contents import (
    concerns_karpenter,
    display_path,
    explain_unreadable,
    is_own_output,
    read_content,
)
from nodelint.files.file_keywords import (
    FileKeywords,
    find_unnamed,
    may_be_related,
    may_make_pods,
    may_state,
)
from nodelint.files.file_kinds import is_program
from nodelint.files.folders import Discovery, list_files
from nodelint.files.gate import gate
from nodelint.files.globs import NOTHING, READ_ALL, Excluded, Globs
from nodelint.files.kept_contents import file_contents
from nodelint.files.release_files import read_for_releases
from nodelint.files.safe_read import error_reason, find_top, is_below, repository
from nodelint.forms.registry import TABLE
from nodelint.text.keywords import bytes_hold_keyword

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from nodelint.forms.registry import FormRow, FormTable
    from nodelint.text import Source


_HIGHEST = 6
"""The most folders between a file and the chart, kustomization or module that reads it."""

_LARGEST = 1 << 20
"""The most bytes of a values file."""

_KEPT = 2_000
"""The most files with workloads whose content is kept."""

# The number of bytes of files that are searched together. It is large enough to save most searches, and small enough
# that most blocks contain no file that mentions Karpenter.
_BLOCK = 1 << 13


def discover(
    paths: Sequence[str],
    exclude: Excluded = READ_ALL,
    stdin: Callable[[], bytes] | None = None,
    on_file: Callable[[int], None] | None = None,
    include: Globs = NOTHING,
    also: str | None = None,
    known: Mapping[bytes, Source] | None = None,
) -> Discovery:
    """Read files, folders (recursively) and `-` for standard input, each file once.

    In folders, only manifests, their templates and Terraform files are read, selected by their endings, and files
    that match `include`, such as scripts. Hidden folders and those of package managers are skipped. `include` and
    `exclude` are globs over the printed path; `exclude` wins. With `exclude.gitignore`, files that git ignores are
    skipped. A file or folder in `paths` is always read.

    `also` is a pattern of further files to read. `known` are sources that were parsed before, by their content, to
    reuse them.
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
            if not (file_contents.is_kept and path in gate.admitted):  # a path that was read before stays admitted
                gate.admit(path)
            if os.path.isdir(path):
                found.folders.append(os.path.abspath(path))
            else:
                found.named.add(os.path.normpath(path))
            for file in list_files(path, exclude, include, found):
                _take_file(file, path, block, on_file)
    block.sort_in()
    requested = frozenset(found.seen)
    for file in _list_needed(found, exclude, include, block):
        _take_file(file, file, block, on_file)
    block.sort_in()
    found.read_with.update(found.seen - requested)
    return found


def _list_needed(found: Discovery, exclude: Excluded, include: Globs, block: _Block) -> Iterator[str]:
    """Yield the files that were not requested but are rendered with those that were. The caller reads them."""
    read: set[str] = set()
    for more in (
        _list_read_with(found) if found.named or found.folders else (),
        _list_users(found) if found.folders else (),
        _list_related(found, exclude, include),
    ):
        for file in more:
            read = read or {os.path.abspath(path) for path in found.seen}  # a path may be named in several ways
            if os.path.abspath(file) not in read and not exclude.match(file):
                yield os.path.normpath(file)
        block.sort_in()


def _list_related(found: Discovery, exclude: Excluded, include: Globs) -> Iterator[str]:
    """Yield the files elsewhere in the repository that use the requested ones, or that these use."""
    top = _find_whole(found)
    glanced = (path for path in found.glanced if path.endswith(TABLE.related))
    requested = list(dict.fromkeys((*found.seen, *glanced)))
    if top is not None and any(map(may_be_related, requested)):
        from nodelint.files.related import list_related

        yield from list_related(top, requested, found, exclude, include)


def _list_module_inputs(found: Discovery) -> list[str]:
    """Return the files with values of modules among the requested ones. Most of them are not in `seen`."""
    endings = (*TABLE.module_inputs, *[f"{ending}.json" for ending in TABLE.module_inputs])
    return sorted(path for path in (*found.glanced, *found.seen) if path.endswith(endings))


def _find_whole(found: Discovery) -> str | None:
    """Return the repository (else the working folder) if a part of it was requested. None if all of it was."""
    first = next(iter([*found.folders, *map(os.path.abspath, sorted(found.named))]), None)
    if first is None:
        return None
    working = os.getcwd()
    top = find_top(first if os.path.isdir(first) else os.path.dirname(first), requested=False)
    top = working if top is None and is_below(first, working) else top
    if top is None or gate.refusal(top) is not None or any(is_below(top, folder) for folder in found.folders):
        return None
    return top


def _list_read_with(found: Discovery) -> Iterator[str]:
    """Yield further files that are needed to render the files that were requested by path.

    The values of modules in a requested folder count as well: alone, they make no object.
    """
    named = sorted(path for path in found.named if path in found.seen)
    if found.folders and (inputs := _list_module_inputs(found)) and _find_whole(found) is not None:
        named += [path for path in inputs if path not in found.named]
    # Most folders have nothing of any form above them, and are listed once for all forms.
    below = {folder: _is_below_form(TABLE, folder) for folder in {os.path.dirname(path) for path in named}}
    for row in TABLE.rows:
        near = {folder: False for folder, is_below in below.items() if not is_below}
        for path in named:
            if _may_be_read_with(row, path, found, near):
                yield from row.load().list_read_with(path)


def _list_users(found: Discovery) -> Iterator[str]:
    """Yield the files elsewhere in the repository that use a requested folder, such as the overlays of a base.

    Clusters get a base as its overlays render it. A run over the whole repository has read these files already.
    """
    if not found.sources or all(os.path.exists(os.path.join(folder, ".git")) for folder in found.folders):
        return
    holding: set[str] = set()
    for source in found.sources:
        folder = os.path.dirname(os.path.normpath(source.path))
        while folder not in holding:
            holding.add(folder)
            folder = os.path.dirname(folder)
    for row in TABLE.rows:
        for path in sorted(found.seen) if row.names else ():
            folder, name = os.path.split(os.path.normpath(path))
            if name in row.names and folder in holding:
                yield from row.load().list_read_with(path)


def _may_be_read_with(row: FormRow, path: str, found: Discovery, near: dict[str, bool]) -> bool:
    """Return whether a form may read further files together with a file. The form is not loaded.

    `near` caches which folders are below a folder of the form.
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
    # Values for a chart elsewhere, or an object that installs a chart.
    return bool(row.folders) and (path in found.installing or _may_be_values(path))


def _is_below_form(row: FormRow | FormTable, folder: str) -> bool:
    """Return whether a folder, or a folder above it, contains a file of the form."""
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
    """Return whether a file may hold values of a chart: it is YAML, but not a Kubernetes object."""
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

        found.sources.append(Source.from_bytes("-", found.stdin, found.also or find_unnamed(found.stdin)))


def name_stdin(found: Discovery, name: str) -> None:
    """Treat standard input as the content of the file `name`, which an editor has open.

    It replaces the file on disk.
    """
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

    source = Source.from_bytes(found.stdin_path, found.stdin, found.also or find_unnamed(found.stdin))
    source.part = TABLE.is_part(path)
    found.sources.append(source)
    if may_state(path, found.stdin, True):
        found.stating.append(source)


class _Block:
    """Contents of files that wait to be searched together."""

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
        """Record what each file may hold. It is parsed when a run needs it."""
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
        if karpenter or keywords.buffers or keywords.policies or found.also is not None:
            for file, data in files:
                ours = _is_wanted(data, found)
                if ours or (keywords.may_be_stated and keywords.may_state(file, data, ours)):
                    self._take(file, data, ours, keywords)
        elif keywords.may_be_stated:
            for file, data in files:
                if keywords.may_state(file, data, False):
                    self._take(file, data, False, keywords)

    def _note(self, files: Sequence[tuple[str, bytes]], keywords: FileKeywords) -> None:
        """Record the paths of files by what they may hold."""
        found = self.found
        # A file without any keyword is checked once. The other checks run only if the joined contents have the
        # keywords.
        workloads = {file: data for file, data in files if may_make_pods(file, data)}
        found.workloads += workloads
        if workloads and len(found.contents) < _KEPT:
            found.contents.update(workloads)
        if keywords.installs or keywords.installing_names:
            found.installing += [file for file, data in files if keywords.may_install_charts(file, data)]
        if keywords.applies:
            found.applying += [file for file, data in files if keywords.may_change_overlays(data)]
        if keywords.patches:
            found.patching += [file for file, data in files if keywords.may_patch(data)]
        if keywords.buffers:
            found.buffers += [file for file, data in files if keywords.may_hold_buffers(data)]
        if keywords.node_group_parts:
            found.node_groups += [file for file, data in files if keywords.may_state_node_groups(data)]

    def _take(self, file: str, data: bytes, ours: bool, keywords: FileKeywords) -> None:
        """Read a file that concerns Karpenter, or that may state a release."""
        from nodelint.text import Source

        found = self.found
        # A file named `-` is not standard input.
        path, also = display_path(file), (found.also or find_unnamed(data)) if ours else None
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


def says_nothing(file: str, data: bytes, also: str | None) -> bool:
    """Return whether a file can be left out because of its content, unless another text refers to it: nothing is
    rendered from it. `also` is a pattern of further files to read.
    """
    found = Discovery()
    found.also = also
    block = _Block(found, {})
    block.add(file, data)
    block.sort_in()
    noted = found.workloads, found.buffers, found.installing, found.node_groups, found.applying
    return not found.sources and not any(noted)


def _take_file(file: str, path: str, block: _Block, on_file: Callable[[int], None] | None) -> None:
    """Read a file that was found for the requested `path`, unless it was read before."""
    found = block.found
    if found.glanced and file in found.glanced and file != os.path.normpath(path):
        block.sort_in()
        read_for_releases([file], found)
        return
    if file in found.seen:
        return
    if is_program(file) and os.path.isfile(file):
        found.unread.append(file)
        return
    if RUN.is_over():
        found.late += 1
        return
    found.seen.add(file)
    found.files += 1
    if on_file is not None:
        on_file(found.files)
    data = read_content(file, found.unreadable)
    packed = explain_unreadable(data) if isinstance(data, bytes) and file == os.path.normpath(path) else None
    if packed is not None:
        found.unreadable.append((file, packed))
    elif isinstance(data, bytes):
        if not (file.endswith(".json") and is_own_output(data)):
            block.add(file, data)
    elif data is not None:
        block.sort_in()
        data.part = TABLE.is_part(file)
        found.sources.append(data)


def context(read: Discovery, exclude: Excluded = READ_ALL, include: Globs = NOTHING) -> list[Source]:
    """Return the other manifests of the repositories around the sources that were read.

    Empty if there is no repository, or if all of it was read.
    """
    folders = {os.path.dirname(os.path.abspath(source.path)) for source in read.sources}
    roots = {root for folder in folders if (root := repository(folder)) is not None}
    roots.difference_update(read.folders)
    if not roots:
        return []
    have = {os.path.realpath(source.path) for source in read.sources}
    found = discover([os.path.relpath(root) for root in sorted(roots)], exclude, include=include)
    return [source for source in found.sources if os.path.realpath(source.path) not in have]


def _is_wanted(data: bytes, found: Discovery) -> bool:
    if concerns_karpenter(data):
        return True
    if found.also is None:
        return find_unnamed(data) is not None
    import re

    return re.search(found.also.encode(), data) is not None
