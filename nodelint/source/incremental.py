"""A source whose text has changed in one place: documents that are as before keep their nodes, which move.

Everywhere else a source never changes. Here the very source that is given becomes that of the new text: whatever
was worked out for its nodes and objects stays, and only what is typed at is read again. Who asks for that has to let
go of what he knows of places in the old text, or `Moved` tells where they are now.
"""

from __future__ import annotations

from nodelint.source import Source
from nodelint.source.nodes import Document, Node
from nodelint.source.text import YAML_NAMES, chunks
from nodelint.tuples import NamedTuple

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Sequence


Range = tuple[int, int]


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
        """By how much a range has moved; None where it is gone, or in part.

        `later` says that what it belongs to stands behind the change: at its border a range may be of either side.
        """
        if start >= self.behind and (later or end > self.same):
            return self.by
        return 0 if end <= self.same else None


def move(source: Source, text: str) -> Moved | None:
    """Make a source that of another text of the same file; None, and nothing is done, where all has to be read.

    That is so for what is not plain YAML, for patches, and for templates: there a character decides how others are
    read that stand far from it. It is so, too, where a word comes or goes that was asked about the text as a whole.
    """
    if not (_plain(source) and source.documents and _holds_same(source, text)):
        return None
    fresh = Source(source.path, text)
    if fresh.newline != source.newline or text[:1] == "\ufeff" or source.text[:1] == "\ufeff":
        return None
    # Each chunk became a document, or several at one place.
    old, new = list(dict.fromkeys((d.start, d.end) for d in source.documents)), chunks(text, 0)
    head, tail = _alike(source, old, text, new)
    for begin, end in new[head : len(new) - tail]:
        if not fresh.read_part(begin, end):
            return None
    if not _plain(fresh):
        return None
    same = old[head - 1][1] if head else 0
    behind = old[len(old) - tail][0] if tail else len(source.text)
    moved = Moved(source, same, behind, len(text) - len(source.text))
    _take_over(source, fresh, moved)
    return moved


def _holds_same(source: Source, text: str) -> bool:
    """Whether another text has the words that the source was asked about, and no others of them."""
    return all((word in text) is found for word, found in source.words.items())


def _plain(source: Source) -> bool:
    """Whether each document is read by itself."""
    return source.path.endswith(YAML_NAMES) and not (
        source.masked or source.tabbed or source.set_aside or source.part or source.encoding != "utf-8"
    )


def _alike(source: Source, old: Sequence[Range], text: str, new: Sequence[Range]) -> tuple[int, int]:
    """How many documents are the same at the head of two texts, and how many of the rest at their tails.

    None that cannot be read is among them.
    """
    faults = [problem.offset for problem in source.problems]
    first, last = min(faults, default=len(source.text) + 1), max(faults, default=-1)
    head = 0
    for (begin, end), there in zip(old, new, strict=False):
        if (begin, end) != there or end >= first or source.text[begin:end] != text[begin:end]:
            break
        head += 1
    tail, most = 0, min(len(old), len(new)) - head
    for (begin, end), (at, until) in zip(reversed(old), reversed(new), strict=False):
        if tail == most or begin <= last or source.text[begin:end] != text[at:until]:
            break
        tail += 1
    return head, tail


def _take_over(source: Source, fresh: Source, moved: Moved) -> None:
    """Put the documents that were read again among those that stay, and the new text in place of the old."""
    before = [d for d in source.documents if d.end <= moved.same]
    after = [d for d in source.documents if d.start >= moved.behind]
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
    """Every node of a document once, those that no reader of its value meets too."""
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
