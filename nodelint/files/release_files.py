"""Find the files that may state a release of Karpenter or Kubernetes, also outside of the requested paths."""

from __future__ import annotations

import os

from nodelint.base.types import TYPE_CHECKING
from nodelint.files.contents import concerns_karpenter, display_path, join_contents, read_content
from nodelint.files.file_keywords import FileKeywords, holds_any
from nodelint.files.folders import Discovery, list_files
from nodelint.files.globs import NOTHING, READ_ALL, Excluded
from nodelint.files.safe_read import is_inside, repository
from nodelint.forms.registry import TABLE
from nodelint.text.keywords import bytes_hold_keyword

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nodelint.text import Source

_CONTROLLERS = tuple(
    dict.fromkeys(word.encode() for row in TABLE.rows if row.kinds for word in (*row.words, *row.installs))
)
"""A file with an object that applies a folder or installs a chart of the repository contains one of these."""


def list_roots_around(found: Discovery) -> list[str]:
    """Return the repositories that the run reads only in part."""
    # An overlay whose base is elsewhere may have no file about Karpenter of its own.
    folders = {*(os.path.dirname(source.path) for source in found.sources if source.path != "-"), *found.folders}
    roots = sorted({root for folder in map(os.path.abspath, folders) if (root := repository(folder)) is not None})
    return [root for root in roots if not any(is_inside(root, folder) for folder in found.folders)]


def read_stating_files(found: Discovery, exclude: Excluded = READ_ALL) -> list[Source]:
    """Return the files that may state a release, also from the rest of the repositories around the sources.

    Files of the rest that cannot be read are skipped: nobody requested them.
    """
    roots = list_roots_around(found)
    seen = {os.path.abspath(path) for path in (*found.seen, *found.glanced)} if roots else set()
    more = Discovery()
    for root in roots:
        around = found.around.get((root, exclude.key))
        if around is None:
            listed = list_files(os.path.relpath(root), exclude, NOTHING, more)
            around = {os.path.abspath(file): file for file in listed}
        read_for_releases([file for path, file in around.items() if path not in seen], more)
    found.deploying = more.deploying
    return [*found.stating, *more.stating]


def list_release_files(exclude: Excluded = READ_ALL) -> list[Source]:
    """Return the files of the repository around the working folder that may state a release. Empty outside of one."""
    root = repository(os.getcwd())
    found = Discovery()
    if root is not None:
        read_for_releases(list_files(os.path.relpath(root), exclude, NOTHING, found), found)
    return found.stating


def read_for_releases(files: Iterable[str], found: Discovery) -> None:
    """Read the files that may state a release. Files that cannot be read are skipped."""
    for group, joined in join_contents((file, read_content(file, [])) for file in files):
        keywords = FileKeywords(joined, "\n".join([file for file, _ in group]))
        if holds_any(joined, _CONTROLLERS):
            found.deploying += [file for file, data in group if holds_any(data, _CONTROLLERS)]
        if keywords.may_be_stated or bytes_hold_keyword(joined) or joined.find(b"\0") >= 0:
            for file, data in group:
                if keywords.may_state(file, data, concerns_karpenter(data)):
                    _take_stating(file, data, found)


def _take_stating(file: str, data: bytes, found: Discovery) -> None:
    path = display_path(file)
    if all(source.path != path for source in found.stating):
        from nodelint.text import Source

        found.stating.append(Source.from_bytes(path, data))
