"""A change to what was rendered, as the same change to the values that it was rendered from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nodelint.edits import NotEditable, set_value, set_values
from nodelint.model.finding import Edit
from nodelint.source import Node, Source


def find_changes(before: Source, after: Source) -> Iterator[tuple[Node, object]]:
    """The smallest values that differ between two texts of as many documents, with what they have become."""
    for old, new in zip(before.documents, after.documents, strict=True):
        if old.root is not None and new.root is not None:
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


def change_value(place: Node, new: object) -> Sequence[Edit]:
    """Another value in a place. Raises `NotEditable` where it is not one that can be written there."""
    if place.kind == "scalar" and isinstance(new, str | int | float):
        return set_value(place, new)
    texts = isinstance(new, list) and all(isinstance(item, str) for item in new)
    if isinstance(new, list) and texts and place.kind == "sequence" and _in_a_document(place):
        return set_values(place, new)
    raise NotEditable("it is no value of one line")


def _in_a_document(node: Node) -> bool:
    """Whether a list can be edited: one within the text of a patch is not read anew."""
    while node.parent is not None:
        node = node.parent
    return any(document.root is node for document in node.source.documents)
