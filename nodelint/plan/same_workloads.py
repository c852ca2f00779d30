"""Find out from the changed files whether both sides have the same workloads, so that these are rendered once."""

from __future__ import annotations

import os
import re

from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.files.git.git_revision import OF_OTHERS
from nodelint.model.documents import objects
from nodelint.model.folders import path_below
from nodelint.plan.unchanged_objects import is_plain, is_whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nodelint.inventory import Inventory
    from nodelint.plan.read_side import Read

_MOST_FILES = 50_000
"""The most files of a side that are compared. If there are more, the workloads of both sides are rendered."""


def have_same_workloads(was: Read, new: Read, built: Inventory) -> bool:
    """Return whether the workloads of both sides are certainly equal. `built` are those of the new side.

    They are if all differing files are plain files with only complete NodePools and EC2NodeClasses, and nothing is
    rendered from these files.
    """
    if _places(was) != _places(new):
        return False
    parts = {path for text in built.built for path in text.parts}
    allowed = _list_own_files(was).keys() & _list_own_files(new).keys()
    allowed -= {path_below(path, os.path.abspath(new.root)) for path in parts}
    return all(path in allowed for path in _list_changed(was, new))


def _places(side: Read) -> set[str]:
    return {os.path.relpath(path, side.root) for path in side.paths}


def _list_own_files(side: Read) -> dict[str, str]:
    """Return the plain files that contain only complete NodePools and EC2NodeClasses, by their path below the
    root.
    """
    found = {}
    passed_over = {*side.found.installing, *side.found.applying}
    for source in side.found.sources:
        own = [*objects(source, foreign=True, more=True)] if is_plain(source) else []
        documents = re.findall(r"(?m)^(?:kind:|---)", source.text)
        is_read = documents.count("kind:") == len(own) >= documents.count("---")
        if own and is_read and source.path not in passed_over and all(map(is_whole, own)):
            found[path_below(source.path, side.root)] = source.path
    return found


def _list_changed(was: Read, new: Read) -> Iterator[str]:
    """Yield the paths of files that differ, or that only one side has. The latter come first."""
    files = [_list_files(side.root) for side in (was, new)]
    yield from files[0].keys() ^ files[1].keys()
    if max(map(len, files)) > _MOST_FILES:
        yield ""
    for place, path in files[0].items():
        try:
            if gate.read(path) != gate.read(files[1][place]):
                yield place
        except OSError:
            yield place


def _list_files(root: str) -> dict[str, str]:
    """Return the files below a folder that a rendering may use, by their path below it."""
    return {
        path_below(path, root): path
        for folder, _, names in gate.walk(root)
        for path in (os.path.join(folder, name) for name in names)
        if not path.lower().endswith(OF_OTHERS)
    }
