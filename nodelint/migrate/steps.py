"""Changes of one object, step by step: each is an edit of the text that the ones before it have made."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from nodelint import edits
from nodelint.base.tuples import NamedTuple
from nodelint.edits import NotEditable
from nodelint.edits.formatting import Plain
from nodelint.model.documents import objects
from nodelint.model.finding import Edit
from nodelint.model.manifest import Object
from nodelint.text import UNKNOWN, Node, Source, reread

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Literal

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


class Note(NamedTuple):
    """What to know about a field that did not simply move: `line` of `path` in the files as they were, from 1.

    `object` is its label (empty for what is no object), `field` the path in the object, `value` its text.
    """

    kind: NoteKind
    object: str
    field: str
    path: str
    line: int
    message: str
    value: str = ""


class Step(NamedTuple):
    """One change of an object, as edits of the object's node. `notes` are what there is to say if it is made.

    Where it cannot be made, the notes become one for the owner, who is to do `otherwise`.
    """

    make: Callable[[Node], Sequence[Edit]]
    notes: tuple[Note, ...]
    otherwise: Note


def all_objects(source: Source) -> list[Object]:
    """The objects of a source in an order that no step changes."""
    return list(objects(source, foreign=True, more=True))


def note(kind: NoteKind, obj: Object, node: Node | None, message: str, field: str = "") -> Note:
    """A note about a node of an object, or about the object where there is no node."""
    at = node or obj.name_node
    line = obj.source.position(at.start).line
    value = "" if node is None else _short(node.text)
    return Note(kind, obj.label, field or (at.path if node is not None else ""), obj.source.path, line, message, value)


_LONGEST = 2000
"""Characters of a field's text that a note repeats."""


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def run_steps(source: Source, steps: Mapping[int, Sequence[Step]]) -> tuple[Source, list[Note]]:
    """The source with the steps of its objects made, each object named by its place in `all_objects`."""
    notes: list[Note] = []
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
        raise NotEditable("the edited text could not be read again")
    return new


def remove_field(path: Path) -> Callable[[Node], list[Edit]]:
    """Edits that take a field out."""

    def make(root: Node) -> list[Edit]:
        return edits.remove(_find(root, path))

    return make


def set_field(path: Path, value: str | int) -> Callable[[Node], list[Edit]]:
    """Edits that give a field another value."""
    return lambda root: edits.set_value(_find(root, path), value)


def rename_field(path: Path, key: str) -> Callable[[Node], list[Edit]]:
    """Edits that give a field another name."""
    return lambda root: edits.set_key(_key(root, path), key)


def replace_field(path: Path, key: str, value: Plain) -> Callable[[Node], list[Edit]]:
    """Edits that put another field with its value in the place of one; comments above stay."""

    def make(root: Node) -> list[Edit]:
        node = _find(root, path)
        _hold_to_known(node)
        named = edits.set_key(_key(root, path), key)
        return [*_keep_comments(_key(root, path), node, named), *edits.replace(node, value)]

    return make


_COMMENT = re.compile(r"(?m)(?:^|(?<=[ \t]))#[^\r\n]*")


def _keep_comments(key: Node, node: Node, named: Sequence[Edit]) -> list[Edit]:
    """The edits of a key, with the comments in its value, which is written anew, as lines above."""
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
    """Edits that move a field into a mapping that is there; comments above go along."""

    def make(root: Node) -> list[Edit]:
        node, target = _find(root, path), _find(root, home)
        _hold_to_known(node)
        key = str(path[-1])
        gone = edits.remove(node)
        return [*gone, *edits.with_comments(edits.add_key(target, key, value), f"{key}:", gone, node)]

    return make


def add_field(home: Path, key: str, value: Plain, after: Sequence[str] = ()) -> Callable[[Node], list[Edit]]:
    """Edits that add a field behind the first of some fields that is there, else in front of all others."""

    def make(root: Node) -> list[Edit]:
        mapping = _find(root, home)
        behind = next((name for name in after if mapping.get(name) is not None), None)
        return edits.add_keys(mapping, {key: value}, behind, first=behind is None)

    return make


def _hold_to_known(node: Node) -> None:
    """Raise NotEditable where what is to be written anew is worked out elsewhere."""
    if edits.dialect_of(node).SUFFIX != ".yaml" and any(part.value is UNKNOWN for part in node.walk()):
        raise NotEditable("it holds an expression")


def _find(root: Node, path: Path) -> Node:
    node = root.find(*path)
    if node is None:
        raise NotEditable("it is not written here as such")
    return node


def _key(root: Node, path: Path) -> Node:
    parent = _find(root, path[:-1])
    key = parent.key(str(path[-1]))
    if key is None:
        raise NotEditable("it is not written here as such")
    return key
