"""From what is rendered to the files: objects, further places and withheld fixes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from nodelint.base.types import TYPE_CHECKING
from nodelint.lint.results import Result
from nodelint.model.finding import Also, Span, Withheld, label_of
from nodelint.text import Node

if TYPE_CHECKING:
    from nodelint.forms.rendered import Built
    from nodelint.model.manifest import Object


GIVEN_PART = "a value of this file"
"""What a finding says of a value that the object is built with."""


def map_to_written(objects: Sequence[Object], built_of: Mapping[int, Built]) -> dict[int, Object]:
    """Return the objects in the files that those of built texts are made of, by the `id` of the built object."""
    return {id(obj): built_of[id(obj.source)].written_object(obj) or obj for obj in objects}


def find_written_object(obj: Object | None, built: Built, at: Node | Span) -> Object | None:
    """Return the object of a finding in the files: the one around its place, else the one that it was made of."""
    if obj is None:
        return None
    from nodelint.forms.rendered import find_object_at

    if built.by_default:
        return built.written_object(obj) or obj
    return find_object_at(at, obj.kind) or built.written_object(obj) or obj


def once_each(also: Iterable[Also]) -> list[Also]:
    """Return places without repetitions: pools of several overlays may be written at one place."""
    return list({(place.span, place.message): place for place in also}.values())


def lead_also(also: Iterable[Also], built: Built) -> Iterator[Also]:
    for place in also:
        if place.at.source.built is None and place.at.source is not built.source:
            yield place  # a file as it is written, such as one of Terraform, is no part of what is built
            continue
        origin = built.find_origin(place.at)
        if origin is not None:
            yield Also(origin.at, place.message)


def list_given_parts(result: Result, places: Sequence[Node | Span], built: Built) -> Iterator[Also]:
    """Yield the values of the files that an object is built with, besides what a finding shows, where it shows none
    of them. Of an overlay, these are the patches.

    What is wrong with a key that the template writes may be the value next to it.
    """
    files = {id(file) for file in built.given}
    if built.by_default and not files:
        return
    shown_files = {id(place.source) for place in places}
    if shown_files & files:
        return
    shown = False
    for node in (result.finding.at, *(place.at for place in result.finding.also)):
        around = node.parent if isinstance(node, Node) else None
        if around is not None and not files and (around.parent is None or around.parent.kind != "sequence"):
            continue  # a patch of another field has no part in it
        parts = (part for part in around.walk() if part.kind == "scalar") if around is not None else ()
        origins = (built.find_origin(part) for part in parts)
        written = (origin.at for origin in origins if origin is not None)
        own = next((at for at in written if _may_be_shown(id(at.source), files, shown_files)), None)
        if own is not None:
            shown = True
            yield Also(own, GIVEN_PART)
    if files and not shown and result.severity == "error":
        yield Also(Span(built.given[0], 0, 0), "with the values of this file")


def _may_be_shown(source: int, files: Set[int], shown: Set[int]) -> bool:
    """Whether a value of a source is to be shown: of the files that an object is built with, or of another file."""
    return source in files if files else source not in shown


def lead_withheld(withheld: Withheld | None, built: Built) -> Withheld | None:
    """Return what keeps a fix of a rule from being made, with its place in a file."""
    if withheld is None or withheld.at is None:
        return withheld
    origin = built.find_origin(withheld.at)
    return withheld._replace(at=None if origin is None else origin.at)


def withhold_shared(other: Built) -> Withheld:
    """Return the reason that a fix is not offered: it changes what is built elsewhere of the same file, where nothing
    is wrong.
    """
    place = label_of(other.source) or os.path.relpath(other.cluster or other.source.path).replace(os.sep, "/")
    return Withheld("shared", detail=f"`{place}` has the value too, and nothing is wrong there")
