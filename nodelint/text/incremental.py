"""Parse a source again after one change: unchanged documents keep their nodes.

Everywhere else a source never changes. Here the given source itself gets the new text: all results for its nodes and
objects stay, and only the changed part is parsed. The caller must drop positions in the old text, or translate them
with `Moved`.
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
    """The lengths of the common prefix (`head`) and of the common suffix (`tail`) of two texts."""

    head: int
    tail: int


class Moved(NamedTuple):
    """Positions of the old text of a source in its new text.

    - `same`: a range that ends here or before has not moved.
    - `behind`: a range that begins here or later has moved.
    - `by`: the number of characters by which it has moved.

    A range between `same` and `behind` does not exist any more.
    """

    source: Source
    same: int
    behind: int
    by: int

    def shift_of(self, start: int, end: int, later: bool) -> int | None:
        """Return the number of characters by which a range has moved. None if it is gone, at least in part.

        At the border of the change a range can belong to either side. `later` says that it belongs to the side after
        it.
        """
        if start >= self.behind and (later or end > self.same):
            return self.by
        return 0 if end <= self.same else None


def move(source: Source, text: str) -> Moved | None:
    """Give a source another text and return its moved positions.

    Return None and change nothing if all must be parsed.

    All must be parsed if the source is not plain YAML, a patch or a template: there, one character can change how the
    rest of the text is read. All must also be parsed if a word appears or disappears that was looked up in the text
    as a whole.
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
    """Return the lengths of the common prefix and the common suffix of two texts."""
    most = min(len(old), len(new))
    head = _count_alike(most, lambda begin, end: old[begin:end] == new[begin:end])
    far, near = len(old), len(new)
    tail = _count_alike(
        most - head, lambda begin, end: old[far - end : far - begin] == new[near - end : near - begin]
    )
    return CommonEnds(head, tail)


def _count_alike(most: int, alike: Callable[[int, int], bool]) -> int:
    """Return how many of the first `most` characters are equal. `alike` compares a range of them."""
    count, size = 0, 1 << most.bit_length()
    while size:
        if count + size <= most and alike(count, count + size):
            count += size
        size >>= 1
    return count


def _holds_same(source: Source, text: str, change: CommonEnds) -> bool:
    """Return whether the new text holds exactly the words that were found in the old text of the source."""
    return all(_holds_word(source.text, text, change, word, found) is found for word, found in source.words.items())


def _holds_word(old: str, new: str, change: CommonEnds, word: str, found: bool) -> bool:
    """Return whether a new text holds a word. `found` is whether the old text does."""
    begin, more = max(change.head - len(word) + 1, 0), len(word) - 1
    if new.find(word, begin, len(new) - change.tail + more) >= 0:
        return True
    return found and (old.find(word, begin, len(old) - change.tail + more) < 0 or word in new)


def _plain(source: Source) -> bool:
    """Return whether each document of a source is parsed by itself: a change to one does not affect the others."""
    return source.path.endswith(YAML_NAMES) and not (
        source.masked or source.tabbed or source.set_aside or source.part or source.encoding != "utf-8"
    )


def _divide(source: Source, text: str, change: CommonEnds) -> tuple[int, int, list[Range]]:
    """Return the numbers of documents to reuse at the beginning and at the end, and the ranges of text to parse.

    A document with a syntax error is not reused. The borders of the documents next to the change are found again:
    their markers and comments decide where the next document begins.
    """
    documents, by = source.documents, len(text) - len(source.text)
    faults = [problem.offset for problem in source.problems]
    first = min([change.head, *(fault - 1 for fault in faults)])  # an error may be at the end of its document
    last = max([len(source.text) - change.tail, *(fault + 1 for fault in faults)])
    head = max(bisect_right(documents, first, key=lambda document: document.end) - 1, 0)
    tail = max(len(documents) - bisect_left(documents, last, key=_start) - 1, 0)
    more = 1
    while True:
        # Documents from one chunk of the text have the same start: they stay together.
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


def _take_over(source: Source, fresh: Source, moved: Moved, head: int, tail: int) -> None:
    """Put the parsed documents of `fresh` between the documents that are reused, and replace the old text."""
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
    """Return every node of a document once, including nodes that are not part of its value, such as merge keys."""
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
