"""Map an edit of a rendered object to an edit of the source files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nodelint.edits import NotEditable, restructure, set_value, set_values
from nodelint.edits.collections import root_of
from nodelint.model.finding import Edit
from nodelint.text import UNKNOWN, Node, Source


def find_changes(before: Source, after: Source) -> Iterator[tuple[Node, object]]:
    """Yield the smallest nodes that differ between two texts with equally many documents, each with its new value."""
    for old, new in zip(before.documents, after.documents, strict=True):
        if old is not new and old.root is not None and new.root is not None:
            yield from _differing(old.root, new.root)


def _differing(old: Node, new: Node) -> Iterator[tuple[Node, object]]:
    if old.plain() == new.plain():
        return
    if old.kind == new.kind == "mapping" and len(old.entries) == len(new.entries):
        for a, b in zip(old.entries, new.entries, strict=True):
            if a.name != b.name:
                yield a.key, b.name
            yield from _differing(a.value, b.value)
    elif old.kind == new.kind == "sequence" and len(old.items) == len(new.items):
        for x, y in zip(old.items, new.items, strict=True):
            yield from _differing(x, y)
    else:
        yield old, new.plain()


def change_value(place: Node, new: object, built: Node) -> Sequence[Edit]:
    """Return edits that change the value at a place, from which the rendered node `built` comes.

    Raise `NotEditable` if the new value cannot be written there.
    """
    if place.kind == "scalar" and isinstance(new, str | int | float):
        return set_value(place, new)
    texts = isinstance(new, list) and all(isinstance(item, str) for item in new)
    if isinstance(new, list) and texts and place.kind == "sequence" and _in_a_document(place):
        return set_values(place, new)
    if not _in_a_document(place):
        raise NotEditable("the value goes over several lines: edit it by hand")
    return restructure(place, _merge_written(new, built.plain(), place.plain()))


def _merge_written(new: object, built: object, written: object) -> object:
    """Return the new value to write. Parts of the rendered value that did not change keep their `written` form.

    Raise `NotEditable` if the rendered value has other keys or items than the written one.
    """
    if new == built:
        return written
    if isinstance(built, dict) and isinstance(written, dict) and isinstance(new, dict):
        if built.keys() != written.keys():
            raise NotEditable("a base or a template adds keys to those that are written here: edit it by hand")
        return {
            name: _merge_written(value, built[name], written[name]) if name in built else value
            for name, value in new.items()
        }
    if isinstance(built, list) and isinstance(written, list) and isinstance(new, list):
        if len(built) != len(written):
            raise NotEditable("a base or a template adds items to those that are written here: edit it by hand")
        left = list(zip(built, written, strict=True))
        found = []
        for item in new:
            same = next((n for n, (own, _) in enumerate(left) if own == item), None)
            found.append(item if same is None else left.pop(same)[1])
        if any(own != as_written for own, as_written in left):
            raise NotEditable("the fix would remove an item that is filled in from elsewhere: edit it by hand")
        return found
    if _holds_unknown(new):
        raise NotEditable("a part of the value is filled in from elsewhere: edit it by hand")
    return new


def _holds_unknown(value: object) -> bool:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return value is UNKNOWN or any(map(_holds_unknown, parts))


def _in_a_document(node: Node) -> bool:
    """Return whether a node can be edited: one in the text of a patch cannot be parsed again."""
    root = root_of(node)
    return any(document.root is root for document in node.source.documents)
