"""Map objects, places and withheld fixes of rendered manifests to the source files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from nodelint.base.types import TYPE_CHECKING
from nodelint.lint.results import Result
from nodelint.model.finding import Also, Span, Withheld, shown_label
from nodelint.model.messages import list_first
from nodelint.text import Node

if TYPE_CHECKING:
    from nodelint.forms.rendered import Built
    from nodelint.model.manifest import Object
    from nodelint.text import SourceText


GIVEN_PART = "rendered with this value"
"""The words of a finding for a value with which the object is rendered."""


def map_to_written(objects: Sequence[Object], built_of: Mapping[int, Built]) -> dict[int, Object]:
    """Return the source objects of rendered objects, by the id of the rendered object."""
    return {id(obj): built_of[id(obj.source)].written_object(obj) or obj for obj in objects}


def find_written_object(obj: Object | None, built: Built, at: Node | Span) -> Object | None:
    """Return the source object of a finding: the one around its place, else the one that was rendered."""
    if obj is None:
        return None
    from nodelint.forms.rendered import find_object_at

    if built.by_default:
        return built.written_object(obj) or obj
    return find_object_at(at, obj.kind) or built.written_object(obj) or obj


def once_each(also: Iterable[Also]) -> list[Also]:
    """Return places without repetitions: pools of several overlays may be written at one place."""
    return list({(place.span, place.message): place for place in also}.values())


def lead_also(also: Iterable[Also], built: Built | None) -> Iterator[Also]:
    """Yield the places of files for places that may be in `built` or in another rendered manifest."""
    for place in also:
        owner = place.at.source.built
        if owner is None and built is not None and place.at.source is built.source:
            owner = built
        if owner is None:
            yield place  # a place in a file that is not rendered
            continue
        origin = owner.find_origin(place.at)
        if origin is not None:
            yield Also(origin.at, place.message)


def list_own_values(built: Built, shared: Set[str]) -> Sequence[SourceText]:
    """Return the values files of a rendered manifest without those of other ones (`shared`); all, if none is left."""
    return [file for file in built.given if os.path.abspath(file.path) not in shared] or built.given


def list_given_parts(
    result: Result, places: Sequence[Node | Span], built: Built, own_values: Sequence[SourceText]
) -> Iterator[Also]:
    """Yield the values of values files (for an overlay: the patches) that contribute, if the finding shows none of
    them.

    The cause of a wrong key in a template may be the value next to the key. `own_values` are as in `list_own_values`.
    """
    files = {id(file) for file in own_values}
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
        nearest = (
            part for field in (_find_field(node, around), around) if field is not None for part in field.walk()
        )
        parts = (part for part in nearest if part.kind == "scalar")
        origins = (built.find_origin(part) for part in parts)
        written = (origin.at for origin in origins if origin is not None)
        own = next((at for at in written if _may_be_shown(id(at.source), files, shown_files)), None)
        if own is not None:
            shown = True
            yield Also(own, GIVEN_PART)
    if files and not shown and result.severity == "error":
        yield Also(Span(own_values[0], 0, 0), "with the values of this file")


def _find_field(key: Node | Span, mapping: Node | None) -> Node | None:
    """Return the value of a key in its mapping. None if the node is no key."""
    if mapping is None or not isinstance(key, Node) or not isinstance(key.value, str):
        return None
    return mapping.get(key.value) if mapping.key(key.value) is key else None


def has_part(result: Result, files: Sequence[SourceText]) -> bool:
    """Return whether a finding shows a place in one of some files."""
    spans = (result.span, *(place.span for place in result.finding.also))
    return any(span.source is file for span in spans for file in files)


def name_values(result: Result, file: SourceText) -> Result:
    """Return a finding about a template that also points to the values with which it is found."""
    line = Span(file, 0, len(file.text.partition("\n")[0]))
    also = [*result.finding.also, Also(line, "found with these values")]
    return result._replace(finding=result.finding._replace(also=also))


def _may_be_shown(source: int, files: Set[int], shown: Set[int]) -> bool:
    """Return whether a value of this source may be shown: of the values files, or of a file not yet shown."""
    return source in files if files else source not in shown


def lead_withheld(withheld: Withheld | None, built: Built) -> Withheld | None:
    """Return the reason that a rule's fix is withheld, with its place in a source file."""
    if withheld is None or withheld.at is None:
        return withheld
    origin = built.find_origin(withheld.at)
    return withheld._replace(at=None if origin is None else origin.at)


def withhold_shared(other: Built) -> Withheld:
    """Return the reason that a fix is withheld: it also changes another rendered manifest that does not have the
    problem.
    """
    return Withheld("shared", detail=f"`{name_rendering(other)}` has the value too, and nothing is wrong there")


def name_rendering(built: Built) -> str:
    """Return the name of a rendered manifest for a message: its inputs, else its folder."""
    return shown_label(built.source) or os.path.relpath(built.cluster or built.source.path).replace(os.sep, "/")


def note_environment(result: Result, folders: Set[str], built: Sequence[Built], requested: Set[str]) -> Result:
    """Return a finding with a note that names its environment and the line to change.

    The finding is returned unchanged if a file that only its environment uses was requested, or if every environment
    with the template has the finding. `folders` are those of the environments with the finding, `requested` the
    absolute paths of the requested files.
    """
    path = os.path.abspath(result.span.source.path)
    holding = [text for text in built if text.cluster in folders and path in text.parts]
    templates = {path for text in holding for path in text.replaces}
    others = [text for text in built if text.cluster not in folders and not templates.isdisjoint(text.replaces)]
    shared = {path for text in others for path in text.parts}
    files = {path for text in holding for path in text.parts} - shared
    if not others or not files or not files.isdisjoint(requested):
        return result
    finding = result.finding
    places = [*(edit.span for edit in finding.edits), finding.span, *(also.span for also in finding.also)]
    names = dict.fromkeys(f"`{os.path.relpath(text.cluster).replace(os.sep, '/')}`" for text in holding)
    note = f"only {list_first(list(names), 2)} {'has' if len(names) == 1 else 'have'} this mistake"
    for place in places:
        if os.path.abspath(place.source.path) in files:
            line = place.source.position(place.start).line
            note += f": correct it at {place.source.path}:{line}"
            break
    return result._replace(finding=finding._replace(note=f"{finding.note}; {note}" if finding.note else note))
