"""Both sides of a change: the files as they are, and as a revision or another folder has them."""

from __future__ import annotations

import os

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.model.documents import objects
from nodelint.model.finding import span_of
from nodelint.model.folders import path_below
from nodelint.model.gap import FilePlace
from nodelint.plan.matching import written_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nodelint.config.session import Session
    from nodelint.files.folders import Discovery
    from nodelint.forms.rendered import Built
    from nodelint.inventory import Inventory
    from nodelint.plan import Plan
    from nodelint.plan.outcome import Findings
    from nodelint.text import Source


class Read(NamedTuple):
    """What was read of a side: the files, those read for context, and what the clusters get of them.

    `paths` are the requested ones. Paths are compared from `root` on; `above` is the top of the repository whose
    revision stands in that folder.
    """

    found: Discovery
    beside: list[Source]
    root: str
    inventory: Inventory
    paths: Sequence[str]
    above: str | None = None


def read_side(found: Discovery, session: Session, root: str, paths: Sequence[str], whole: bool = False) -> Read:
    """Read a side from the files that were found.

    Classes that are not available are looked for in the repository around, unless the side is `whole`.
    """
    from nodelint.inventory import read_inventory

    inventory = read_inventory(found, each_release=True)
    objects = list(inventory.objects())
    sources = [] if whole else session.beside(objects, found)
    for source in sources:
        source.path = os.path.relpath(source.path).replace(os.sep, "/")
    return Read(found, sources, root, inventory, paths)


def is_lost(read: Read) -> bool:
    """Whether nothing of a side was read, as something is wrong with its files."""
    sources = read.found.sources
    return any(source.problems for source in sources) and next(read.inventory.objects(foreign=True), None) is None


def root_of(paths: Sequence[str]) -> str:
    """Return the folder from which the files of a side are compared with those of the other."""
    first = os.path.normpath(paths[0])
    folder = first if os.path.isdir(first) else os.path.dirname(first)
    return folder or os.curdir


def applied(mine: Read, other: Read) -> Inventory:
    """Return what the clusters get of a side, without files that only the other side's overlays take.

    A file that a kustomization no longer lists, or does not list yet, stays in the repository and is not applied. Nor
    is what a chart makes of its default values, if everything that installs it gives others.
    """
    inventory = _without_empty(mine, other, _without_defaults(mine, other))
    if not other.inventory.built:
        return inventory
    folders = {os.path.dirname(os.path.relpath(path, mine.root)) for path in inventory.folder_files}
    taken = {os.path.relpath(path, _absolute(other)) for built in other.inventory.built for path in built.replaces}
    own = {path for built in inventory.built for path in built.replaces}
    built_names = {(obj.kind, written_name(obj)) for built in other.inventory.built for obj in objects(built.source)}
    there = {path_below(os.path.abspath(source.path), _absolute(other)) for source in other.inventory.files}

    def is_left_out(source: Source) -> bool:
        place = os.path.relpath(os.path.abspath(source.path), _absolute(mine))
        folder = os.path.dirname(place)
        if place in taken:
            return any(not above or folder == above or folder.startswith(above + os.sep) for above in folders)
        # Of objects that the other side's overlays have, a new file that no overlay takes gives a cluster nothing.
        return folder in folders and place not in there and _holds_only(source, built_names)

    own_files = [s for s in inventory.files if os.path.abspath(s.path) in own or not is_left_out(s)]
    return inventory._replace(files=own_files)


def _holds_only(source: Source, names: set[tuple[str, str | None]]) -> bool:
    """Whether a file has objects, and all of them are of some kinds and names."""
    found = [(obj.kind, written_name(obj)) for obj in objects(source)]
    return bool(found) and names.issuperset(found)


def _without_defaults(mine: Read, other: Read) -> Inventory:
    """Leave out what is made of defaults that nothing applies, unless the other side may apply these."""
    if not any(map(_is_unapplied, mine.inventory.built)):
        return mine.inventory
    used = {
        (path_below(built.source.path, other.root), built.label)
        for built in other.inventory.built
        if not built.given and built.release is None and not _is_unapplied(built)
    }
    left = [
        built
        for built in mine.inventory.built
        if not _is_unapplied(built) or (path_below(built.source.path, mine.root), built.label) in used
    ]
    return mine.inventory._replace(built=tuple(left))


def _without_empty(mine: Read, other: Read, inventory: Inventory) -> Inventory:
    """Leave out what is made with a values file that holds no value, and that the other side does not build with.

    It does not show that there is an environment of that name.
    """
    used = {(path_below(built.source.path, other.root), built.label) for built in other.inventory.built}
    left = [
        built
        for built in inventory.built
        if not _is_of_empty_file(built) or (path_below(built.source.path, mine.root), built.label) in used
    ]
    return inventory if len(left) == len(inventory.built) else inventory._replace(built=tuple(left))


def _is_of_empty_file(built: Built) -> bool:
    if len(built.given) != 1 or built.applied_by[1] or not built.given[0].path.endswith((".yaml", ".yml")):
        return False
    lines = (line.strip() for line in built.given[0].text.splitlines())
    return all(line in ("", "---") or line.startswith("#") for line in lines)


def _is_unapplied(built: Built) -> bool:
    return built.is_installed or built.needs_values


def _absolute(read: Read) -> str:
    return os.path.abspath(read.root)


def renamed(read: Read, plan: Plan, findings: Findings) -> None:
    """Name the files of a revision as they are named in the repository, seen from the working folder."""
    if read.above is None:
        return
    texts = [result.span.source for result in findings.gone]
    texts += [span_of(pool.at).source for pool in plan.pools if pool.pair.new is None]
    texts += [gap.at.source for gap in plan.uncompared if not isinstance(gap.place, FilePlace)]
    inside = os.path.join(read.root, "")
    for source in {id(s): s for s in (*read.found.sources, *read.beside, *read.inventory.sources, *texts)}.values():
        whole = os.path.abspath(source.path)
        if whole.startswith(inside):
            path = os.path.join(read.above, os.path.relpath(whole, read.root))
            source.path = os.path.relpath(path).replace(os.sep, "/")
    for built in read.inventory.built:
        label = built.label
        if os.path.isabs(label) and label.startswith(inside):
            label = os.path.relpath(label, read.root).replace(os.sep, "/")
            for text in built.texts:
                text.built = built._replace(label=label)
    for index, (path, reason) in enumerate(read.found.unreadable):
        if os.path.abspath(path).startswith(inside):
            read.found.unreadable[index] = (os.path.relpath(path, read.root), reason)
