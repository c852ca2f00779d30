"""Find the chart template that rendered a document, by the comment `# Source:` above it."""

from __future__ import annotations

import re
from bisect import bisect_right
from operator import itemgetter

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nodelint.text.nodes import SourceText

_NAMED = r"(?m)^# Source: ([^\s:]+/(?:templates|crds)/[^\r\n]+)"


def template_of(source: SourceText, offset: int) -> str | None:
    """Return the chart file that rendered the document at an offset. None if no comment of Helm names it."""
    templates = source.once(template_of, lambda: list(_list_templates(source)))
    at = bisect_right(templates, offset, key=itemgetter(0)) - 1
    if at < 0:
        return None
    _, end, template = templates[at]
    return template if offset < end else None


def _list_templates(source: SourceText) -> Iterator[tuple[int, int, str | None]]:
    """Yield start, end and template of each outermost document. A document inside another document is skipped."""
    last = -1
    for document in sorted(source.documents, key=lambda d: d.start) if "# Source: " in source.text else ():
        if document.start >= last and document.end > document.start:
            last = document.end
            root = document.root
            named = re.search(_NAMED, source.text[document.start : root.start]) if root is not None else None
            yield document.start, document.end, named[1].rstrip() if named is not None else None
