"""Find paths in objects of any form that the repository does not have, so that the form's tool applies nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nodelint.base.types import TYPE_CHECKING
from nodelint.forms.registry import TABLE
from nodelint.model.gap import Gap, line_of

if TYPE_CHECKING:
    from nodelint.forms.lib.missing_sources import MissingSource
    from nodelint.forms.registry import FormRow
    from nodelint.text import Source


def list_missing(source: Source, sources: Sequence[Source], of_any: bool = False) -> Iterator[MissingSource]:
    """Yield the missing paths in the objects of a file. `sources` are files with such objects.

    Only those that concern Karpenter are yielded, or all with `of_any`.
    """
    for row in TABLE.rows:
        if _may_name_paths(row, source):
            yield from row.load().list_missing(source, sources, of_any)


def _may_name_paths(row: FormRow, source: Source) -> bool:
    """Return whether a file may have objects of a form that name charts and folders."""
    if row.kinds:
        return row.may_install(source.path, source.text) or any(word in source.text for word in row.words)
    named = (*row.endings, *row.heads, *row.names)
    return source.path.endswith(named) or row.may_install(source.path, source.text)


def list_all_missing(sources: Sequence[Source], of_any: bool = False) -> Iterator[MissingSource]:
    """Yield the missing paths in the objects of some files: those that concern Karpenter, or all with `of_any`."""
    sources = [source for source in sources if any(_may_name_paths(row, source) for row in TABLE.rows)]
    for source in sources:
        yield from list_missing(source, sources, of_any)


def find_missing_sources(sources: Sequence[Source]) -> Iterator[Gap]:
    """Yield a gap for each chart and folder that an object applies and that is not among the files."""
    for missing in list_all_missing(sources):
        if not missing.is_values:
            reason = f"{missing.reason}: what the {missing.name.split()[0]} makes of it is not known"
            yield Gap(line_of(missing.node), "chart", reason)
