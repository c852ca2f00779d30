"""Change one object step by step: each step edits the text that the steps before it produced."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from nodelint import edits
from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.edits import NotEditable
from nodelint.edits.formatting import Plain
from nodelint.model.documents import objects
from nodelint.model.finding import Edit
from nodelint.model.manifest import Object
from nodelint.text import Node, Source, reread

if TYPE_CHECKING:
    from typing import Any, Literal

    NoteKind = Literal["dropped", "differs", "added", "by-hand"]
    """What became of a field.

    - `dropped`: the other side has nothing for it, and it is gone.
    - `differs`: it is there, or was left to a default, and means something else now.
    - `added`: the other side asks for it, and it is written.
    - `by-hand`: only the owner can change it; it stands as it did.
    """
else:
    NoteKind = str

Path = tuple["str | int", ...]


class MoveNote(NamedTuple):
    """A note on a field that could not simply be copied: `line` (from 1) of `path` in the files before the migration.

    `object` is the object's label (empty for a place outside of objects), `field` its path in the object, `value` its
    text.
    """

    kind: NoteKind
    object: str
    field: str
    path: str
    line: int
    message: str
    value: str = ""


class Step(NamedTuple):
    """One change of an object, as edits of the object's node. `notes` are added if the edit succeeds.

    If the edit fails, only the note `otherwise` is added: it says what to do by hand.
    """

    make: Callable[[Node], Sequence[Edit]]
    notes: tuple[MoveNote, ...]
    otherwise: MoveNote


def all_objects(source: Source) -> list[Object]:
    """Return the objects of a source in an order that no step changes.

    Workloads, which are read only where a run needs them, and objects of JSON6902 patches are not among them.
    """
    found = objects(source, foreign=True, more=True)
    return [obj for obj in found if not obj.of_cluster and not is_json_patch(obj)]


def is_json_patch(obj: Object) -> bool:
    """Return whether the object comes from operations of a JSON6902 patch, so that its fields are not written as
    such.
    """
    return obj.document.root is not None and obj.document.root.kind == "sequence"


def note(kind: NoteKind, obj: Object, node: Node | None, message: str, field: str = "") -> MoveNote:
    """Return a note about a node of an object, or about the object if `node` is None."""
    at = node or obj.name_node
    line = obj.source.position(at.start).line
    value = "" if node is None else _short(node.text)
    return MoveNote(
        kind, obj.label, field or (at.path if node is not None else ""), obj.source.path, line, message, value
    )


_LONGEST = 2000
"""The most characters of a field that a note repeats."""


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def run_steps(source: Source, steps: Mapping[int, Sequence[Step]]) -> tuple[Source, list[MoveNote]]:
    """Return the source after the steps, and the notes. Steps are by the index of their object in `all_objects`."""
    notes: list[MoveNote] = []
    for index, of_object in steps.items():
        for step in of_object:
            try:
                source = _run(source, index, step)
            except (NotEditable, ValueError) as error:
                reason = error.reason if isinstance(error, NotEditable) else "the edits overlap"
                by_hand = step.otherwise
                notes.append(by_hand._replace(message=f"{by_hand.message} (not edited: {reason})"))
            else:
                notes += step.notes
    return source, notes


def _run(source: Source, index: int, step: Step) -> Source:
    before = all_objects(source)
    made = step.make(before[index].node)
    if not made:
        return source
    new = reread(source, edits.apply(source.text, made))
    after = all_objects(new)
    if len(after) != len(before) or len(new.problems) > len(source.problems):
        raise NotEditable("nodelint could not read the file with this edit: edit it by hand")
    return new


def remove_field(path: Path) -> Callable[[Node], list[Edit]]:
    """Return a function that makes the edits to remove a field."""

    def make(root: Node) -> list[Edit]:
        return edits.remove(_find(root, path))

    return make


def set_field(path: Path, value: str | int) -> Callable[[Node], list[Edit]]:
    """Return a function that makes the edits to set a field to another value."""
    return lambda root: edits.set_value(_find(root, path), value)


def rename_field(path: Path, key: str) -> Callable[[Node], list[Edit]]:
    """Return a function that makes the edits to rename a field."""
    return lambda root: edits.set_key(_key(root, path), key)


def replace_field(path: Path, key: str, value: Plain) -> Callable[[Node], list[Edit]]:
    """Return a function that makes the edits to replace a field by another field. Comments above the field stay."""

    def make(root: Node) -> list[Edit]:
        node, words = _find(root, path), _Verbatims()
        named = edits.set_key(_key(root, path), key)
        written = words.show(edits.replace(node, words.hide(value)))
        return [*_keep_comments(_key(root, path), node, named), *written]

    return make


class WrittenScalar(str):
    """A scalar that is copied as written: with its quotes, its template code or its HCL expression."""

    __slots__ = ()


def written_value(node: Node) -> Any:
    """Return the value of a node for another place, with scalars as they are written."""
    if node.kind == "mapping":
        return {entry.name or entry.key.unquoted: written_value(entry.value) for entry in node.entries}
    if node.kind == "sequence":
        return [written_value(item) for item in node.items]
    if node.alias or node.style in ("literal", "folded") or "\n" in node.text:
        return str(node.value) if isinstance(node.value, str) else node.plain()
    return WrittenScalar(node.text)


class _Verbatims:
    """Replaces scalars by placeholder words while the text around them is written."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def hide(self, value: Any) -> Any:
        """Return the value with a placeholder word instead of each scalar that is copied as written."""
        if isinstance(value, dict):
            return {key: self.hide(part) for key, part in value.items()}
        if isinstance(value, list):
            return [self.hide(part) for part in value]
        if not isinstance(value, WrittenScalar):
            return value
        self._texts.append(str(value))
        return f"moved-scalar-{len(self._texts) - 1}-x"

    def show(self, made: Sequence[Edit]) -> list[Edit]:
        """Return the edits with the scalars instead of their placeholder words."""

        def text_of(match: re.Match[str]) -> str:
            return self._texts[int(match[2])]

        pattern = re.compile(r"([\"']?)moved-scalar-([0-9]+)-x\1")
        return [edit._replace(text=pattern.sub(text_of, edit.text)) for edit in made]


_COMMENT = re.compile(r"(?m)(?:^|(?<=[ \t]))#[^\r\n]*")


def _keep_comments(key: Node, node: Node, named: Sequence[Edit]) -> list[Edit]:
    """Return the edits of a key, with the comments of its rewritten value as lines above the key."""
    text, scalars = node.source.text, [part for part in node.walk() if part.kind == "scalar"]
    begin = text.rfind("\n", 0, key.start) + 1
    indent = text[begin : key.start]
    found = [
        match[0].rstrip()
        for match in _COMMENT.finditer(text, node.start, node.end)
        if not any(part.start <= match.start() < part.end for part in scalars)
    ]
    if indent.strip() or not found:
        return list(named)
    above = "".join(f"{comment}{node.source.newline}{indent}" for comment in found)
    return [edit._replace(text=above + edit.text) if edit.start == key.start else edit for edit in named]


def move_into(path: Path, home: Path, value: Plain) -> Callable[[Node], list[Edit]]:
    """Return a function that makes the edits to move a field and its comments into an existing mapping."""

    def make(root: Node) -> list[Edit]:
        node, target, words = _find(root, path), _find(root, home), _Verbatims()
        key = str(path[-1])
        gone, added = edits.remove(node), words.show(edits.add_key(target, key, words.hide(value)))
        return [*gone, *edits.with_comments(added, f"{key}:", gone, node)]

    return make


def add_field(home: Path, key: str, value: Plain, after: Sequence[str] = ()) -> Callable[[Node], list[Edit]]:
    """Return a function that makes the edits to add a field after the first existing one of `after`, else as the
    first field.
    """

    def make(root: Node) -> list[Edit]:
        mapping = _find(root, home)
        behind = next((name for name in after if mapping.get(name) is not None), None)
        return edits.add_keys(mapping, {key: value}, behind, first=behind is None)

    return make


def _find(root: Node, path: Path) -> Node:
    node = root.find(*path)
    if node is None:
        raise NotEditable("the value is not written here as it is rendered: edit it by hand")
    return node


def _key(root: Node, path: Path) -> Node:
    parent = _find(root, path[:-1])
    key = parent.key(str(path[-1]))
    if key is None:
        raise NotEditable("the value is not written here as it is rendered: edit it by hand")
    return key
