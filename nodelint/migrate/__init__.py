"""Convert objects of a self-managed Karpenter to those of EKS Auto Mode, and the other way round.

Each edit replaces a range of characters of a file, so comments, order and anchors stay. A field without a counterpart
becomes a `MoveNote` with its place and what to do.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from nodelint import edits
from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.edits import line_diff
from nodelint.migrate.classes import class_notes, plan_class
from nodelint.migrate.labels import MoveTarget
from nodelint.migrate.pools import plan_pool, pool_notes, refused_parts, unset_notes
from nodelint.migrate.references import (
    auto_expressions,
    auto_selectors,
    edits_of_names,
    left_names,
    selector_note,
    without_selector,
)
from nodelint.migrate.steps import MoveNote, NoteKind, Step, all_objects, is_json_patch, note, run_steps
from nodelint.model.documents import objects
from nodelint.model.finding import find_object_place, span_of
from nodelint.model.manifest import AutoModeClass, EC2NodeClass, NodePool, Object, Retired
from nodelint.text import Node, Source, reread

if TYPE_CHECKING:
    from nodelint.forms.rendered import Built
    from nodelint.inventory import Inventory
    from nodelint.model.gap import Gap

__all__ = ["MoveNote", "MoveTarget", "MovedFiles", "NoteKind", "is_of_other_side", "left_in_rendered", "migrate"]

_PROVIDERS: Mapping[MoveTarget, str] = {"auto-mode": "auto-mode", "karpenter": "aws"}
_MOST_LEFT = 3
"""The most lines of a file that are named because they still contain a name of the other side."""


class MovedFiles(NamedTuple):
    """The files before and after a migration, and the notes; `moved` are the objects that changed sides.

    `gaps` are inputs that could not be read and so were not converted.
    """

    old: tuple[Source, ...]
    new: tuple[Source, ...]
    notes: tuple[MoveNote, ...]
    moved: tuple[Object, ...]
    gaps: tuple[Gap, ...] = ()

    @property
    def changed(self) -> list[tuple[Source, Source]]:
        """Return the files that change, as (old, new) pairs."""
        return [(old, new) for old, new in zip(self.old, self.new, strict=True) if old.text != new.text]

    @property
    def is_whole(self) -> bool:
        """Return whether everything was converted: no note says that a field was dropped or is to be edited
        by hand.
        """
        return all(note.kind in ("differs", "added") for note in self.notes)


def migrate(files: Sequence[Source], target: MoveTarget) -> MovedFiles:
    """Convert the objects of files to `target`. No content of a file raises an error."""
    classes = [obj.name for source in files for obj in all_objects(source) if _is_class(obj)]
    made = [_migrate_file(source, target, classes) for source in files]
    notes = dict.fromkeys(chain.from_iterable(notes for _, notes, _ in made))
    moved = tuple(chain.from_iterable(moved for _, _, moved in made))
    return MovedFiles(tuple(files), tuple(new for new, _, _ in made), tuple(notes), moved)


def is_of_other_side(obj: Object, target: MoveTarget) -> bool:
    """Return whether the object is to be converted: its provider is not the target's, and its version is v1."""
    if not isinstance(obj, (NodePool, EC2NodeClass, AutoModeClass)) or obj.version != "v1":
        return False
    return obj.provider == ("aws" if target == "auto-mode" else "auto-mode")


def _is_class(obj: Object) -> bool:
    return isinstance(obj, (EC2NodeClass, AutoModeClass))


def _is_old(obj: Object) -> bool:
    return isinstance(obj, Retired) or (isinstance(obj, (NodePool, EC2NodeClass)) and obj.version != "v1")


def _migrate_file(
    source: Source, target: MoveTarget, classes: Sequence[object]
) -> tuple[Source, list[MoveNote], list[Object]]:
    """Return the converted file, its notes by line, and its objects that were converted."""
    present = all_objects(source)
    old = [obj for obj in present if _is_old(obj)]
    if old and target == "auto-mode":
        message = (
            f"`{old[0].api_version}` does not move: make the objects of this file v1 first (`nodelint check --fix`)"
        )
        return source, [note("by-hand", obj, obj.node.get("apiVersion"), message) for obj in old], []
    moving = [(index, obj) for index, obj in enumerate(present) if is_of_other_side(obj, target)]
    named = edits_of_names(source, target)
    renamed = reread(source, edits.apply(source.text, named)) if named else source
    notes = [found for _, obj in moving for found in _notes_of(obj, target, classes)]
    notes += _left_notes(renamed, target, {(found.path, found.line) for found in notes if found.kind == "by-hand"})
    notes += _notes_of_patches(source, target)
    steps = {index: list(_plan(obj, target)) for index, obj in moving}
    if len(all_objects(renamed)) != len(present):
        return (
            source,
            [note("by-hand", obj, None, "the file is not read alike after the edits") for obj in present],
            [],
        )
    new, more = run_steps(renamed, steps)
    notes += more
    if target == "karpenter":
        new, more = _without_selectors(source, new)
        notes += more
    return new, sorted(notes, key=lambda found: found.line), [obj for _, obj in moving]


def _notes_of(obj: Object, target: MoveTarget, classes: Sequence[object]) -> Iterator[MoveNote]:
    if obj.of_values and _is_class(obj):
        yield note("by-hand", obj, None, f"a chart makes an {obj.kind} of these values: the chart decides what moves")
    elif isinstance(obj, NodePool):
        yield from pool_notes(obj, target, classes)
    else:
        yield from class_notes(obj, target)


def _plan(obj: Object, target: MoveTarget) -> Iterator[Step]:
    if obj.of_values and _is_class(obj):
        return
    yield from plan_pool(obj, target) if isinstance(obj, NodePool) else plan_class(obj, target)


def _notes_of_patches(source: Source, target: MoveTarget) -> Iterator[MoveNote]:
    """Yield notes on operations of JSON6902 patches whose field the other kind lacks or has at another path."""
    for obj in objects(source, foreign=True):
        if is_json_patch(obj) and _is_class(obj) and is_of_other_side(obj, target):
            for step in plan_class(obj, target):
                if step.otherwise.value:
                    yield step.otherwise._replace(message=f"a patch writes it: {step.otherwise.message}")


def _left_notes(renamed: Source, target: MoveTarget, known: set[tuple[str, int]]) -> Iterator[MoveNote]:
    """Yield notes on lines that still contain a name of the other side after the edits."""
    lines = [found for found in left_names(renamed, target) if (renamed.path, found[0]) not in known]
    for number, word in lines[:_MOST_LEFT]:
        more = f" ({len(lines) - _MOST_LEFT} more lines)" if len(lines) > _MOST_LEFT and number == lines[2][0] else ""
        yield MoveNote("by-hand", "", "", renamed.path, number, f"`{word}` still stands here: change it{more}")


def _without_selectors(old: Source, new: Source) -> tuple[Source, list[MoveNote]]:
    """Return the source without node selectors for EKS Auto Mode's nodes, and a note for each of them."""
    there = auto_selectors(old)
    for _ in there:
        new, _ = without_selector(new)
    left = len(auto_selectors(new))
    notes = [selector_note(mapping, old) for mapping in there]
    if left:
        notes = [found._replace(kind="by-hand", message=f"remove the selector: {found.message}") for found in notes]
    for mapping in auto_expressions(old):
        message = "only nodes of EKS Auto Mode have this label: remove the expression, or select another label"
        line = old.position(mapping.start).line
        notes.append(MoveNote("by-hand", "", mapping.path, old.path, line, message, mapping.text))
    return new, notes


def left_in_rendered(made: MovedFiles, target: MoveTarget, inventory: Inventory) -> list[MoveNote]:
    """Return notes on rendered objects that still belong to the other side, or that have another default now.

    Their values come from values files and expressions, which no edit of one file can change. `inventory` is that of
    the converted files.
    """
    lines = {source.path: _old_lines(before, source) for before, source in made.changed}
    notes: list[MoveNote] = []
    besides: list[MoveNote] = []
    for rendered in inventory.built:
        for obj in all_objects(rendered.source):
            notes += _place_notes(rendered, obj, _list_left(obj, target), lines)
            besides += _place_notes(rendered, obj, _list_besides(rendered, obj, target, made), lines)
    known = {(found.path, found.line) for found in made.notes}
    fields = {(found.path, found.field) for found in made.notes}
    left = [n for n in notes if (n.path, n.line) not in known and (n.path, n.field) not in fields]
    return [*_once_each([*left, *besides]), *_unset_in_rendered(made, target, inventory, lines)]


def _once_each(notes: Sequence[MoveNote]) -> list[MoveNote]:
    """Return the notes without repetitions. Objects with a common value in a file have a common note."""
    found: dict[MoveNote, MoveNote] = {}
    for found_note in notes:
        key = found_note._replace(object="")
        other = found.setdefault(key, found_note)
        if other.object != found_note.object:
            found[key] = found_note._replace(object=found_note.object.partition("/")[0])
    return list(found.values())


def _unset_in_rendered(
    made: MovedFiles, target: MoveTarget, inventory: Inventory, lines: dict[str, Callable[[int], int]]
) -> list[MoveNote]:
    """Return notes on unset fields of rendered NodePools whose default differs, one note for each place and field."""
    known = {(found.path, found.field) for found in made.notes}
    notes: dict[tuple[str, int, str], MoveNote] = {}
    for obj in inventory.objects(foreign=True):
        if isinstance(obj, NodePool) and obj.source.built is not None and obj.provider == _PROVIDERS[target]:
            path, line = find_object_place(obj)
            line = lines.get(path, int)(line)
            for found in unset_notes(obj, target):
                if (path, found.field) not in known:
                    placed = found._replace(object=obj.kind, path=path, line=line)
                    notes.setdefault((path, line, found.field), placed)
    return list(notes.values())


_Left = tuple[NoteKind, str, "Node", str]
"""A manual step for a part of a rendered object: the kind of the note, the field, its node, and the instruction."""


def _place_notes(
    rendered: Built, obj: Object, left: Iterable[_Left], lines: dict[str, Callable[[int], int]]
) -> Iterator[MoveNote]:
    """Yield notes on parts of a rendered object, at the places of the files before the migration."""
    for kind, field, node, message in left:
        origin = rendered.find_origin(node)
        if origin is not None:
            span = span_of(origin.at)
            line = span.source.position(span.start).line
            before = lines.get(span.source.path, int)(line)
            yield MoveNote(kind, obj.label, field, span.source.path, before, message)


def _list_besides(rendered: Built, obj: Object, target: MoveTarget, made: MovedFiles) -> Iterator[_Left]:
    """Yield what a class needs in addition to its own fields, if the class was converted in a file from which the
    rendered object comes.
    """
    parts = set(rendered.parts)
    if not isinstance(obj, AutoModeClass) or parts.isdisjoint(os.path.abspath(old.path) for old, _ in made.changed):
        return
    known = {(note.field, note.message) for note in made.notes if os.path.abspath(note.path) in parts}
    for found in class_notes(obj, target):
        if (found.field, found.message) not in known:
            node = obj.node.find(*found.field.split("."))
            yield found.kind, found.field, obj.name_node if node is None else node, found.message


def _list_left(obj: Object, target: MoveTarget) -> Iterator[_Left]:
    """Yield what to do by hand for each part of a rendered object that still belongs to the other side."""
    if is_of_other_side(obj, target):
        yield "by-hand", "", obj.name_node, f"{obj.label} is still of `{obj.group}`: change what makes it"
    elif _is_class(obj):
        steps = (step.otherwise for step in plan_class(obj, target))
        yield from (
            ("by-hand", left.field, _find_node(obj, left.field), left.message) for left in steps if left.value
        )
    elif isinstance(obj, NodePool) and target == "auto-mode" and obj.provider == _PROVIDERS[target]:
        yield from (("by-hand", node.path, node, message) for node, message in refused_parts(obj))


def _find_node(obj: Object, path: str) -> Node:
    """Return the node at a path such as `spec.role`; the node of the object's name if there is none."""
    return next((node for node in obj.node.walk() if node.parent is not None and node.path == path), obj.name_node)


def _old_lines(old: Source, new: Source) -> Callable[[int], int]:
    """Return a function from a line number of the new text to the line number of the old text; both start at 1."""
    steps = line_diff.opcodes(old.text.split("\n"), new.text.split("\n"))

    def line_of(number: int) -> int:
        for tag, a, b, c, d in steps:
            if c <= number - 1 < d:
                return a + (number - 1 - c) + 1 if tag == "equal" else min(a, max(b - 1, 0)) + 1
        return number

    return line_of
