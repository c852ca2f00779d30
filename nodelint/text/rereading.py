"""Parse a source again with another text; if possible, only the document that differs."""

from __future__ import annotations

from collections.abc import Mapping

from nodelint.forms.registry import TABLE
from nodelint.text.nodes import Document, Node, SourceText
from nodelint.text.reading import nodes_of
from nodelint.text.source import Source, chunks, is_yaml_alone


def reread(source: SourceText, text: str) -> Source:
    """Return a source with another text, and with the path and the settings of a given source."""
    new = Source.from_text(source.path, text, source.also)
    _take_marks(new, source)
    if len(new.documents) == len(source.documents):  # `part` is set after parsing
        for document, old in zip(new.documents, source.documents, strict=True):
            document.part = document.part or old.part
    return new


def _take_marks(new: Source, source: SourceText) -> None:
    """Copy the settings of a source (encoding, `part`, named on the command line) to its new version."""
    new.part, new.encoding = source.part, source.encoding
    new.is_named, new.values_order = source.is_named, source.values_order
    new.is_editable = source.is_editable


def reread_document(source: SourceText, index: int, text: str) -> Source:
    """Return a source with another text that differs in one document only. Only this document is parsed.

    The other documents are the same objects as before, and keep their positions in the old source. A document that
    was parsed although it does not mention Karpenter, such as values, is parsed again.
    """
    new, document = _reread_document(source, index, text), source.documents[index]
    is_lost = index >= len(new.documents) or new.documents[index].root is None
    if is_lost and document.root is not None and document.host is None:
        nodes_of(new)
    return new


def reread_documents(source: SourceText, growth: Mapping[int, int], text: str) -> Source | None:
    """Return the same file with another text, as `reread_document` does, where several documents differ.

    `growth` says by how many characters each of them is longer. None where a document is not read by itself, or does
    not stay what it was: then all of the file must be read.
    """
    if source.holds("nodelint:") or not is_yaml_alone(source.path) or source.masked:
        return None
    new, by, replaced = _begin_reread(source, text), 0, {}
    for index in sorted(growth):
        start, end = source.documents[index].start + by, source.documents[index].end + by + growth[index]
        if not _read_one(source, index, new, start, end) or new.documents[-1].root is None:
            return None
        replaced[index] = new.documents[-1]
        by += growth[index]
    for index, document in replaced.items():
        document.index = index
    new.documents = [replaced.get(index, document) for index, document in enumerate(source.documents)]
    _add_others(source, new)
    return new


def _begin_reread(source: SourceText, text: str) -> Source:
    new = Source(source.path, text, source.also)
    _take_marks(new, source)
    new.tabbed = source.tabbed
    return new


def _read_one(source: SourceText, index: int, new: Source, start: int, end: int) -> bool:
    """Add the document that stands between two places of a new text; False where that is not one document alone."""
    text, document, count = new.text, source.documents[index], len(new.documents)
    ends = end == len(text) or text[end - 1] == "\n"
    if document.root is None or document.host is not None or not ends:
        return False
    if chunks(text[start:end], 0) != [(0, end - start)]:
        return False
    return new.read_part(start, end) and len(new.documents) == count + 1 and not new.masked


def _reread_document(source: SourceText, index: int, text: str) -> Source:
    document = source.documents[index]
    if document.host is not None:
        return _reread_embedded(source, index, text) or reread(source, text)
    end = document.end + len(text) - len(source.text)
    new = _begin_reread(source, text)
    apart = is_yaml_alone(source.path) and not source.masked
    if not apart or not _read_one(source, index, new, document.start, end):
        return reread(source, text)
    return _between_others(source, index, new, new.documents[0])


def _reread_embedded(source: SourceText, index: int, text: str) -> Source | None:
    """Return the source with one embedded document parsed again. The other documents are skipped.

    None if the document does not have the same range as before. In the other documents, `apiVersion` and `karpenter`
    are replaced by words of the same length, so that the parser finds no object in them.
    """
    document, by = source.documents[index], len(text) - len(source.text)
    if document.root is None or document.host == "hcl" or document.part:
        return None
    if document.host in TABLE.embedding and (near := _reread_near(source, index, text)) is not None:
        return near
    shown, at = [], 0
    for other in sorted(source.documents, key=lambda other: other.start):
        begin, end = other.start, other.end
        if other.host in (None, "hcl") or begin < at or (begin < document.end and document.start < end):
            continue  # it contains this document, or is inside it
        begin, end = (begin + by, end + by) if begin >= document.end else (begin, end)
        shown += [
            text[at:begin],
            text[begin:end].replace("apiVersion", "apiVersio_").replace("karpenter", "karpente_"),
        ]
        at = end
    new = Source.from_text(source.path, "".join(shown) + text[at:], source.also)
    if len(new.text) != len(text):
        return None
    new.text = text
    return _with_reread(source, index, new)


def _reread_near(source: SourceText, index: int, text: str) -> Source | None:
    """Return the source with one Terraform heredoc parsed again. Only the text between its neighbours is parsed.

    A rendered file may have hundreds of heredocs. If a heredoc holds several documents, a longer range is parsed.
    None if no range gives the same documents as before.
    """
    from nodelint.text.embedded import host_of, read

    host = host_of(source.path)
    if host is None:
        return None
    document, by = source.documents[index], len(text) - len(source.text)
    for count in _NEIGHBOURS:
        before = [other.end for other in source.documents[max(0, index - 2 * count) : index]]
        after = [other.start for other in source.documents[index + 1 : index + 1 + 2 * count]]
        before = sorted(end for end in before if end <= document.start)[-count:]
        after = sorted(start for start in after if start >= document.end)[:count]
        new = Source(source.path, text, source.also)
        start, end = min(before, default=0), max(after, default=len(source.text)) + by
        new._take(read(new, host, start, end))
        found = _with_reread(source, index, new)
        if found is not None:
            return found
    return None


def _with_reread(source: SourceText, index: int, new: Source) -> Source | None:
    """Return a source in which one document is replaced by its version in `new`.

    None if the document does not match.
    """
    document, by = source.documents[index], len(new.text) - len(source.text)
    found = [other for other in new.documents if other.start == document.start and other.host == document.host]
    if len(found) != 1 or found[0].root is None or found[0].end != document.end + by:
        return None
    if len(new.problems) + len(new.set_aside):
        return None
    _take_marks(new, source)
    return _between_others(source, index, new, found[0])


def _between_others(source: SourceText, index: int, new: Source, document: Document) -> Source:
    """Return the source `new` with one newly parsed document. Its other documents are those of the old source."""
    document.index = index
    new.documents = [*source.documents[:index], document, *source.documents[index + 1 :]]
    new.noted = document
    _add_others(source, new)
    return new


def _add_others(source: SourceText, new: Source) -> None:
    """Add what is known of the documents that stay to a text of which some documents were read."""
    new.problems = [*source.problems, *new.problems]
    new.set_aside = [*source.set_aside, *new.set_aside]
    if source.held is not None:  # their objects stay the same as well
        new.held = None, source.held[1]


def read_alone(source: SourceText, document: Document) -> Node | None:
    """Return the root of a document that is parsed as a text of its own. None if that gives another result."""
    if not is_yaml_alone(source.path):
        return None
    alone = Source.from_text(source.path, source.text[document.start : document.end], source.also)
    if len(alone.documents) != 1 or alone.problems or alone.newline != source.newline:
        return None
    return alone.documents[0].root


_NEIGHBOURS = (1, 8)
"""The numbers of neighbours on each side between which Terraform text is parsed: first 1, then 8."""
