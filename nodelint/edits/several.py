"""Apply several edits of a document in sequence."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

from nodelint.edits.collections import NotEditable, document_of, members_of
from nodelint.model.finding import Edit
from nodelint.text import SourceText, read_alone, reread_document
from nodelint.text.nodes import Node


def difference(source: SourceText, start: int, old: str, new: str, known: tuple[int, int] = (0, 0)) -> Edit:
    """Return the one edit that makes the text `old`, which stands at `start`, into another.

    `known` are how many characters at the beginning and at the end are known to be the same.
    """
    head = _common(lambda begin, end: (old[begin:end], new[begin:end]), min(len(old), len(new)), known[0])

    def from_the_end(begin: int, end: int) -> tuple[str, str]:
        here, there = len(old), len(new)
        return old[here - end : here - begin][::-1], new[there - end : there - begin][::-1]

    most = min(len(old), len(new)) - head
    tail = _common(from_the_end, most, min(most, known[1]))
    return Edit(source, start + head, start + len(old) - tail, new[head : len(new) - tail])


def _common(part: Callable[[int, int], tuple[str, str]], most: int, known: int) -> int:
    """Return how many characters two texts of at least `most` have in common, where that is known of some.

    `part` gives the same range of both. What is compared doubles: of long texts with a difference near the known
    beginning little is read.
    """
    step = 64
    while known < most:
        here, there = part(known, min(known + step, most))
        if here != there:
            return known + bisect_left(range(len(here)), True, key=lambda n: here[: n + 1] != there[: n + 1])
        known += len(here)
        step *= 2
    return known


def set_apart(nodes: Sequence[Node]) -> Sequence[Node]:
    """Return the nodes of a document as they stand in a text that holds nothing else; the same where it is not read
    alone.

    Each edit of several in a row makes a text again: that of a document, not of the thousands that a file may hold.
    """
    source, within = nodes[0].source, document_of(nodes[0])
    if len(source.documents) < 2 or within.host is not None or source.masked:
        return nodes
    alone = read_alone(source, within)
    if alone is None:
        return nodes
    found = []
    for node in nodes:
        twin = alone
        for step in find_steps(node):
            twin = member_at(twin, step)
        found.append(twin)
    return found


def put_back(node: Node, apart: Node, text: str) -> Edit:
    """Return the edit that makes of a node's document what edits have made of the text in which it was set apart."""
    source, within = node.source, document_of(node)
    if apart.source is source:
        return difference(source, 0, source.text, text, (within.start, len(source.text) - within.end))
    return difference(source, within.start, apart.source.text, text)


def find_steps(node: Node) -> list[int]:
    """Return the way from the root to a node, by the order of what is written."""
    steps: list[int] = []
    while node.parent is not None:
        members = members_of(node.parent)
        steps.append(next(i for i, (_, last) in enumerate(members) if last is node))
        node = node.parent
    return [*reversed(steps)]


def find_again(node: Node, steps: Sequence[int], text: str) -> Node:
    """Return the node that stands where this one stood in a text that edits to its document have made.

    Raise NotEditable where that text cannot be read again.
    """
    if text is node.source.text:
        return node
    index = document_of(node).index
    source = reread_document(node.source, index, text)
    root = source.documents[index].root if index < len(source.documents) else None
    for step in steps:
        root = member_at(root, step) if root is not None else None
    if root is None:
        raise NotEditable("nodelint could not read the file with this edit: edit it by hand")
    return root


def member_at(node: Node, step: int) -> Node:
    """Return the member of a list or mapping that a step of `find_steps` leads to."""
    return members_of(node)[step][1]
