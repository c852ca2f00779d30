"""Apply several edits of a document in sequence."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

from nodelint.edits.collections import NotEditable, document_of, members_of
from nodelint.model.finding import Edit
from nodelint.text import SourceText, read_alone, reread_document
from nodelint.text.nodes import Node


def difference(source: SourceText, start: int, old: str, new: str, known: tuple[int, int] = (0, 0)) -> Edit:
    """Return the single edit that changes the text `old`, at offset `start`, into `new`.

    `known` are the numbers of characters at the beginning and at the end that are known to be equal.
    """
    head = _common(lambda begin, end: (old[begin:end], new[begin:end]), min(len(old), len(new)), known[0])

    def from_the_end(begin: int, end: int) -> tuple[str, str]:
        here, there = len(old), len(new)
        return old[here - end : here - begin][::-1], new[there - end : there - begin][::-1]

    most = min(len(old), len(new)) - head
    tail = _common(from_the_end, most, min(most, known[1]))
    return Edit(source, start + head, start + len(old) - tail, new[head : len(new) - tail])


def _common(part: Callable[[int, int], tuple[str, str]], most: int, known: int) -> int:
    """Return the length of the common beginning of two texts, of at most `most`.

    The first `known` characters are equal.

    `part` returns the same range of both texts. The compared range doubles, so that little is read if the texts
    differ near the beginning.
    """
    step = 64
    while known < most:
        here, there = part(known, min(known + step, most))
        if here != there:
            return known + bisect_left(range(len(here)), True, key=lambda n: here[: n + 1] != there[: n + 1])
        known += len(here)
        step *= 2
    return known


def parse_alone(nodes: Sequence[Node]) -> Sequence[Node]:
    """Return the nodes as parsed from their document alone. If that is not possible, return the same nodes.

    Each edit in a series builds the text again: this way it is the text of one document, not of a file with
    thousands.
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
    """Return the edit of a node's document that makes the same changes as in `text`, where the document was alone."""
    source, within = node.source, document_of(node)
    if apart.source is source:
        return difference(source, 0, source.text, text, (within.start, len(source.text) - within.end))
    return difference(source, within.start, apart.source.text, text)


def find_steps(node: Node) -> list[int]:
    """Return the index of each step from the root to a node."""
    steps: list[int] = []
    while node.parent is not None:
        members = members_of(node.parent)
        steps.append(next(i for i, (_, last) in enumerate(members) if last is node))
        node = node.parent
    return [*reversed(steps)]


def find_again(node: Node, steps: Sequence[int], text: str) -> Node:
    """Return the node at the same place in an edited text of its document.

    `steps` are the indices of `find_steps`. Raise NotEditable if the text cannot be parsed again.
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
    """Return the member of a list or mapping for one step of `find_steps`."""
    return members_of(node)[step][1]
