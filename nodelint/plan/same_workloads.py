"""Find out from the changed files whether both sides have the same workloads, so that they are built once."""

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
"""Files of a side that are compared; of more, each side is read by itself."""


def have_same_workloads(was: Read, new: Read, built: Inventory) -> bool:
    """Return whether the workloads of the new side, as `built` has them, are those of the old one for certain.

    They are if nothing differs but plain files whose documents are all whole NodePools and EC2NodeClasses, and
    nothing is built of such a file: no workload can depend on one.
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
    """Return the plain files with nothing but whole NodePools and EC2NodeClasses, by where they stand below the
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
    """Yield the files that differ, or stand on one side alone, by their places; those first that one side lacks."""
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
    """Return the files below a folder that something may be built of, by their places."""
    return {
        path_below(path, root): path
        for folder, _, names in gate.walk(root)
        for path in (os.path.join(folder, name) for name in names)
        if not path.lower().endswith(OF_OTHERS)
    }
