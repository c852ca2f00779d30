"""Read both sides of a change: the files in the working tree, and those of a revision or another folder."""

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
    """The content of a side: its files, those read for context (`beside`), and the rendered manifests.

    `paths` are the requested ones. Paths are compared relative to `root`; `above` is the top of the repository whose
    revision is in that folder, else None.
    """

    found: Discovery
    beside: list[Source]
    root: str
    inventory: Inventory
    paths: Sequence[str]
    above: str | None = None


def read_side(found: Discovery, session: Session, root: str, paths: Sequence[str], whole: bool = False) -> Read:
    """Return a side from the files that were found.

    Classes that are missing are searched in the rest of the repository, unless the side is `whole`.
    """
    from nodelint.inventory import read_inventory

    inventory = read_inventory(found, each_release=True)
    objects = list(inventory.objects())
    sources = [] if whole else session.beside(objects, found)
    return Read(found, _with_short_paths(sources), root, inventory, paths)


def read_same_context(was: Read, new: Read, sessions: tuple[Session, Session], whole: bool) -> tuple[Read, Read]:
    """Return both sides with the rest of the repository read for context on both of them, if it was read on one.

    Otherwise each class in the rest of the repository would look added or deleted.
    """
    if whole or bool(was.beside) == bool(new.beside):
        return was, new

    def with_rest(read: Read, session: Session) -> Read:
        if read.beside:
            return read
        return read._replace(beside=_with_short_paths(session.read_rest(read.found)))

    return with_rest(was, sessions[0]), with_rest(new, sessions[1])


def _with_short_paths(sources: list[Source]) -> list[Source]:
    """Return sources whose paths are relative to the working folder."""
    for source in sources:
        source.path = os.path.relpath(source.path).replace(os.sep, "/")
    return sources


def is_lost(read: Read) -> bool:
    """Return whether nothing of a side was read because its files have errors."""
    sources = read.found.sources
    return any(source.problems for source in sources) and next(read.inventory.objects(foreign=True), None) is None


def root_of(paths: Sequence[str]) -> str:
    """Return the folder to which the paths of a side are relative when it is compared with the other side."""
    first = os.path.normpath(paths[0])
    folder = first if os.path.isdir(first) else os.path.dirname(first)
    return folder or os.curdir


def applied(mine: Read, other: Read) -> Inventory:
    """Return the objects that a side applies, without files that only overlays of the other side use.

    A file that a kustomization does not list stays in the repository but is not applied. A chart rendered with its
    default values is not applied either, if every installation gives other values.
    """
    inventory = _without_empty(mine, other, _without_defaults(mine, other))
    if not other.inventory.built:
        return inventory
    folders = {os.path.dirname(os.path.relpath(path, mine.root)) for path in inventory.folder_files}
    taken = {
        os.path.relpath(path, _absolute(other))
        for built in other.inventory.built
        for path in built.replaces
        if path != os.path.abspath(built.source.path)  # a template belongs to its chart, whatever renders that
    }
    own = {path for built in inventory.built for path in built.replaces}
    built_names = {(obj.kind, written_name(obj)) for built in other.inventory.built for obj in objects(built.source)}
    there = {path_below(os.path.abspath(source.path), _absolute(other)) for source in other.inventory.files}

    def is_left_out(source: Source) -> bool:
        place = os.path.relpath(os.path.abspath(source.path), _absolute(mine))
        folder = os.path.dirname(place)
        if place in taken:
            return any(not above or folder == above or folder.startswith(above + os.sep) for above in folders)
        # A new file with objects of the other side's overlays is not applied if no overlay uses the file.
        return folder in folders and place not in there and _holds_only(source, built_names)

    own_files = [s for s in inventory.files if os.path.abspath(s.path) in own or not is_left_out(s)]
    return inventory._replace(files=own_files)


def _holds_only(source: Source, names: set[tuple[str, str | None]]) -> bool:
    """Return whether a file has objects, and all have one of these kinds and names."""
    found = [(obj.kind, written_name(obj)) for obj in objects(source)]
    return bool(found) and names.issuperset(found)


def _without_defaults(mine: Read, other: Read) -> Inventory:
    """Return an inventory without charts rendered with default values that nothing applies, unless the other side may
    apply them.
    """
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
    """Return an inventory without manifests rendered with an empty values file with which the other side does not
    render.

    Such a file does not show that there is an environment of this name.
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
    """Change the paths of a revision's files to those in the repository, relative to the working folder."""
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
