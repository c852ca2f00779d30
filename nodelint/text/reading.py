"""Parse the documents of a text whether or not they mention Karpenter, for example values files."""

from __future__ import annotations

from nodelint.text.keywords import holds_keyword
from nodelint.text.nodes import Document, Node
from nodelint.text.source import LARGEST_DOCUMENT, Source, chunks
from nodelint.text.syntax_errors import Unreadable
from nodelint.text.yaml.compose import compose


def nodes_of(source: Source) -> list[Node]:
    """Return the roots of a source's documents, also of those that do not mention Karpenter. Empty if unreadable.

    Documents that were skipped before become part of the source's documents.
    """
    if any(document.root is not None for document in source.documents):
        _read_passed_over(source)
        return [document.root for document in source.documents if document.root is not None]
    if len(source.text) > LARGEST_DOCUMENT and len(chunks(source.text, 0)) == 1:
        return []
    try:
        found = [root for root in compose(source, source.text, 0, masked=False) if root is not None]
    except Unreadable:
        return []
    source.documents = [Document(root, 0, len(source.text), n) for n, root in enumerate(found)]
    return found


def _read_passed_over(source: Source) -> None:
    """Parse the documents of a source that were skipped because they do not mention Karpenter."""
    for document in source.documents:
        if document.root is not None or document.host is not None:
            continue
        text = source.text[document.start : document.end]
        if not holds_keyword(text):
            try:
                roots = compose(source, text, document.start, masked=False)
            except Unreadable:
                continue
            document.root = roots[0] if len(roots) == 1 else None
