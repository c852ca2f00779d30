"""List objects of Terraform blocks that create no instance."""

from __future__ import annotations

import os

from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.forms.registry import TABLE
from nodelint.model.finding import span_of, written_place

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nodelint.model.manifest import Object
    from nodelint.text import SourceText


def list_switched_off(objects: Sequence[Object]) -> Iterator[tuple[Object, str]]:
    """Yield the objects of blocks that create no instance, with the reason."""
    folders = {os.path.dirname(_source(obj).path) for obj in objects}
    rows = TABLE.of_languages(list(_list_near(set(map(os.path.abspath, folders)))))
    if not rows:
        return
    from nodelint.text import Source

    sources = {id(source): source for obj in objects if isinstance(source := _source(obj), Source)}
    for row in rows:
        for obj, _, reason in row.load().find_addresses(objects, list(sources.values())):
            if reason:
                yield obj, reason


def _list_near(folders: set[str]) -> Iterator[str]:
    """Yield the names of the files in some folders and in the folders above, up to two levels.

    It is a quick check: few repositories have blocks of code there.
    """
    for _ in range(_LEVELS):
        for folder in folders:
            yield from gate.names(folder)
        folders = {os.path.dirname(folder) for folder in folders}


_LEVELS = 3


def _source(obj: Object) -> SourceText:
    return span_of(written_place(obj.node)).source
