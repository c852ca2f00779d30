"""Find out from the changed files whether both sides have the same workloads, so that these are rendered once."""

from __future__ import annotations

import os
import re
from copy import copy

from nodelint.base.types import TYPE_CHECKING
from nodelint.files.discover import says_nothing
from nodelint.files.file_kinds import GIT_FILES, purpose_of
from nodelint.files.gate import gate
from nodelint.files.git.git_revision import OF_OTHERS
from nodelint.files.globs import NOTHING
from nodelint.model.cluster_objects import PATTERN_WITH_SCALERS
from nodelint.model.documents import objects
from nodelint.model.folders import path_below
from nodelint.plan.unchanged_objects import is_plain, is_whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nodelint.files.gate import OpenedFiles
    from nodelint.inventory import Inventory
    from nodelint.model.cluster_objects import ClusterObject
    from nodelint.plan.read_side import Read
    from nodelint.text import SourceText

_MOST_FILES = 50_000
"""The most files of a side that are compared. If there are more, the workloads of both sides are rendered."""


def have_same_workloads(was: Read, new: Read, built: Inventory, opened: OpenedFiles) -> bool:
    """Return whether the workloads of both sides are certainly equal. `built` are those of the new side.

    They are if both sides have the same files, and each differing file is one of these: a plain file with only
    complete NodePools and EC2NodeClasses of which nothing is rendered; or a file that was not opened for `built`
    (`opened`), and in which the search for files finds nothing on either side.
    """
    if _places(was) != _places(new):
        return False
    changed = _list_changed(was, new)
    if changed is None:
        return False
    parts = {path for text in built.built for path in text.parts}
    own = _list_own_files(was).keys() & _list_own_files(new).keys()
    own -= {path_below(path, os.path.abspath(new.root)) for path in parts}
    left = [place for place in changed if place not in own]
    read = opened.list_real() if left else ()
    return not any(
        os.path.realpath(os.path.join(new.root, place)) in read or _may_count(place, (was, new)) for place in left
    )


def _may_count(place: str, sides: tuple[Read, Read]) -> bool:
    """Return whether the search for files may take something from a file of either side."""
    if os.path.basename(place) in GIT_FILES:
        return True
    for side in sides:
        path = os.path.join(side.root, place)
        is_searched = purpose_of(place, NOTHING) or any(seen.endswith(place) for seen in side.found.seen)
        try:
            if os.path.islink(path) or (
                is_searched and not says_nothing(place, gate.read(path), PATTERN_WITH_SCALERS)
            ):
                return True
        except OSError:
            return True
    return False


def move_objects(objects: Sequence[ClusterObject], root: str, to: str) -> list[ClusterObject]:
    """Return objects of files below a folder as if these were below another one, `to`."""

    def move(path: str) -> str:
        below = path_below(os.path.abspath(path), os.path.abspath(root)) if path else ""
        return path if not path or below.startswith(os.pardir) else os.path.join(to, below)

    def move_whole(path: str) -> str:
        return os.path.abspath(move(path)) if path else path

    sources: dict[int, SourceText] = {}
    moved = []
    for obj in objects:
        source = sources.get(id(obj.source))
        if source is None:
            source = sources[id(obj.source)] = copy(obj.source)
            source.derived = {}
            source.path, source.cluster, built = move(source.path), move_whole(source.cluster), source.built
            if built is not None:
                path, name = built.applied_by
                source.built = built._replace(cluster=source.cluster, applied_by=(move_whole(path), name))
        node = copy(obj.node)
        node.source = source
        moved.append(type(obj)(node, obj.document, obj.api_version, obj.kind, obj.partial))
    return moved


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


def _list_changed(was: Read, new: Read) -> list[str] | None:
    """Return the paths of files that differ. None if only one side has a file, or if there are too many."""
    files = [_list_files(side.root) for side in (was, new)]
    if files[0].keys() != files[1].keys() or len(files[0]) > _MOST_FILES:
        return None
    return [place for place, path in files[0].items() if not _are_equal(path, files[1][place])]


def _are_equal(path: str, other: str) -> bool:
    try:
        return gate.read(path) == gate.read(other)
    except OSError:
        return False


def _list_files(root: str) -> dict[str, str]:
    """Return the files below a folder that a rendering may use, by their path below it."""
    return {
        path_below(path, root): path
        for folder, _, names in gate.walk(root)
        for path in (os.path.join(folder, name) for name in names)
        if not path.lower().endswith(OF_OTHERS)
    }
