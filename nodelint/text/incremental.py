"""Read a source again after one change: documents that did not change keep their nodes.

Everywhere else a source never changes. Here the very source that is given becomes that of the new text: whatever
was worked out for its nodes and objects stays, and only what is typed at is read again. Who asks for that has to let
go of what he knows of places in the old text, or `Moved` tells where they are now.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.text import Source
from nodelint.text.nodes import Document, Node
from nodelint.text.source import YAML_NAMES, chunks

Range = tuple[int, int]


class CommonEnds(NamedTuple):
    """The number of characters that two texts share at their heads, and of the rest at their tails."""

    head: int
    tail: int


class Moved(NamedTuple):
    """Where characters of a source's former text are now.

    What ends at `same` or before is where it was; what begins at `behind` or later is `by` characters further on.
    What lies between is gone.
    """

    source: Source
    same: int
    behind: int
    by: int

    def shift_of(self, start: int, end: int, later: bool) -> int | None:
        """By how much a range has moved; None if it is gone, or in part.

        `later` says that what it belongs to stands behind the change: at its border a range may be of either side.
        """
        if start >= self.behind and (later or end > self.same):
            return self.by
        return 0 if end <= self.same else None


def move(source: Source, text: str) -> Moved | None:
    """Make a source that of another text of the same file; None, and nothing is done, where all must be read.

    That is so for what is not plain YAML, for patches, and for templates: there a character decides how others are
    read that stand far from it. It is so, too, where a word comes or goes that was asked about the text as a whole.
    """
    if not (_plain(source) and source.documents):
        return None
    change = _find_change(source.text, text)
    if not _holds_same(source, text, change):
        return None
    fresh = Source(source.path, text)
    if fresh.newline != source.newline or text[:1] == "\ufeff" or source.text[:1] == "\ufeff":
        return None
    head, tail, parts = _divide(source, text, change)
    for begin, end in parts:
        if not fresh.read_part(begin, end):
            return None
    if not _plain(fresh):
        return None
    same = source.documents[head - 1].end if head else 0
    behind = source.documents[-tail].start if tail else len(source.text)
    moved = Moved(source, same, behind, len(text) - len(source.text))
    _take_over(source, fresh, moved, head, tail)
    return moved


def _find_change(old: str, new: str) -> CommonEnds:
    """Return how much two texts share at both ends; what is between them has changed."""
    most = min(len(old), len(new))
    head = _count_alike(most, lambda begin, end: old[begin:end] == new[begin:end])
    far, near = len(old), len(new)
    tail = _count_alike(
        most - head, lambda begin, end: old[far - end : far - begin] == new[near - end : near - begin]
    )
    return CommonEnds(head, tail)


def _count_alike(most: int, alike: Callable[[int, int], bool]) -> int:
    """Return how many of `most` characters are alike from the first on; `alike` compares a range of them."""
    count, size = 0, 1 << most.bit_length()
    while size:
        if count + size <= most and alike(count, count + size):
            count += size
        size >>= 1
    return count


def _holds_same(source: Source, text: str, change: CommonEnds) -> bool:
    """Whether another text has the words that the source was asked about, and no others of them."""
    return all(_holds_word(source.text, text, change, word, found) is found for word, found in source.words.items())


def _holds_word(old: str, new: str, change: CommonEnds, word: str, found: bool) -> bool:
    """Whether a text holds a word, where it is known whether the former text does."""
    begin, more = max(change.head - len(word) + 1, 0), len(word) - 1
    if new.find(word, begin, len(new) - change.tail + more) >= 0:
        return True
    return found and (old.find(word, begin, len(old) - change.tail + more) < 0 or word in new)


def _plain(source: Source) -> bool:
    """Whether each document of a source is read by itself, so that a change of one does not touch the others."""
    return source.path.endswith(YAML_NAMES) and not (
        source.masked or source.tabbed or source.set_aside or source.part or source.encoding != "utf-8"
    )


def _divide(source: Source, text: str, change: CommonEnds) -> tuple[int, int, list[Range]]:
    """Return how many documents stay at the head and at the tail, and the parts of the text between that are to be
    read.

    None that cannot be read stays. Where parts begin is looked up again for the documents next to the change too: the
    marker of one, and whether it holds nothing but comments, decides where the next one begins.
    """
    documents, by = source.documents, len(text) - len(source.text)
    faults = [problem.offset for problem in source.problems]
    first = min([change.head, *(fault - 1 for fault in faults)])  # one may stand where its document ends
    last = max([len(source.text) - change.tail, *(fault + 1 for fault in faults)])
    head = max(bisect_right(documents, first, key=_end) - 1, 0)
    tail = max(len(documents) - bisect_left(documents, last, key=_start) - 1, 0)
    more = 1
    while True:
        # What one part of the text holds are several documents at one place, which stay together.
        while head and documents[head - 1].start == documents[head].start:
            head -= 1
        while tail and documents[-tail - 1].start == documents[-tail].start:
            tail -= 1
        begin = documents[head].start
        end = (documents[-tail].start if tail else len(source.text)) + by
        parts = [(begin + start, begin + stop) for start, stop in chunks(text[begin:end], 0)]
        if not tail or (parts and parts[-1] == _range(documents[-tail - 1], by)):
            break
        tail, more = max(tail - more, 0), 2 * more
    left = documents[head : len(documents) - tail]
    if parts and left and left[0].end <= first and parts[0] == _range(left[0]):
        head = bisect_right(documents, parts.pop(0)[0], key=_start)
        left = documents[head : len(documents) - tail]
    if parts and left and left[-1].start >= last and parts[-1] == _range(left[-1], by):
        tail = len(documents) - bisect_left(documents, left[-1].start, key=_start)
        parts.pop()
    return head, tail, parts


def _range(document: Document, by: int = 0) -> Range:
    return document.start + by, document.end + by


def _start(document: Document) -> int:
    return document.start


def _end(document: Document) -> int:
    return document.end


def _take_over(source: Source, fresh: Source, moved: Moved, head: int, tail: int) -> None:
    """Put the documents that were read again among those that stay, and the new text in place of the old."""
    before = source.documents[:head]
    after = source.documents[len(source.documents) - tail :]
    for document in fresh.documents:
        for node in _nodes(document):
            node.source = source
    if moved.by:
        for document in after:
            _shift(document, moved.by)
    source.problems[:] = fresh.problems
    source.documents[:] = [*before, *fresh.documents, *after]
    for index, document in enumerate(source.documents):
        document.index = index
    source.replace_text(fresh.text)


def _shift(document: Document, by: int) -> None:
    document.start += by
    document.end += by
    for node in _nodes(document):
        node.start += by
        node.end += by
        node.raw += by


def _nodes(document: Document) -> Sequence[Node]:
    """Return every node of a document once, also those that no reader of its value meets."""
    if document.nodes is None:
        document.nodes = tuple(_document_nodes(document))
    return document.nodes


def _document_nodes(document: Document) -> Sequence[Node]:
    if document.root is None:
        return ()
    pending, nodes, shared = [document.root], [], False
    while pending:
        node = pending.pop()
        nodes.append(node)
        shared = shared or node.aliased or node.alias or node.shared
        for entry in (*node.entries, *node.merges) if node.merges else node.entries:
            pending.append(entry.key)
            pending.append(entry.value)
        if node.items:
            pending.extend(node.items)
    return list({id(node): node for node in nodes}.values()) if shared else nodes
