"""Represent a rendered text with its objects, and map each value to its place in the files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.edits import NotEditable, reread_edited
from nodelint.forms.map_edits import change_value, find_changes
from nodelint.model.documents import objects
from nodelint.model.finding import Also, Edit, Span, Withheld, by_source, overlap, span_of
from nodelint.text import Node, Source, SourceText

if TYPE_CHECKING:
    from nodelint.files.folders import Discovery
    from nodelint.model.gap import Gap
    from nodelint.model.manifest import Object
    from nodelint.text import SourceText


class ValueOrigin(NamedTuple):
    """The place in a file of the repository at which a value of a rendered object is written.

    - `at`: the place.
    - `exact`: the value is written there alone, so that an edit changes this value and nothing around it.
    - `through`: the places between the value and the object, the nearest to the value first, each with its effect:
      template code that prints the value, or an overlay that includes the file.
    - `role`: what the written value is for these places, if not obvious: `the chart's default`.
    """

    at: Node | Span
    exact: bool
    through: tuple[Also, ...] = ()
    role: str = ""


class LedEdits(NamedTuple):
    """The edits of files for a change of a rendered object. `shared`: they change other objects as well."""

    edits: Sequence[Edit]
    shared: bool = False


class LostItems(NamedTuple):
    """Items of a list that a patch removes by replacing the list.

    - `kind`, `name`: the object.
    - `path`: the keys that lead to the list.
    - `new`, `old`: the two lists.
    - `items`: the removed items.
    """

    kind: str
    name: str
    path: tuple[str, ...]
    new: Node
    old: Node
    items: tuple[Node, ...]


class UnmatchedPatch(NamedTuple):
    """A patch without a target.

    - `at`: the place to look at.
    - `wanted`: the target in words.
    - `fails`: kustomize stops there.
    """

    at: Node
    wanted: str
    fails: bool


class UnreadKey(NamedTuple):
    """The node of a key in the values of an installation that its chart reads nowhere, its name, and the names of the
    chart's own values that no installation sets.
    """

    at: Node
    name: str
    unset: tuple[str, ...]


class Built(NamedTuple):
    """A rendered manifest: the objects that a cluster gets from some files.

    - `source`: the text with the objects. A placeholder in it is a value that is unknown before the installation.
    - `find_origin`: returns the place in the files of a node or range of the text (or of one of the `readings`). None
      if no file contains it.
    - `parts`: absolute paths of the files that were read for it; `replaces`: those whose own objects it replaces;
      `printed`: those of them whose objects it holds with other values.
    - `cluster`: the environment, as the folder of the overlay, chart or root module. Objects of different
      environments do not see each other.
    - `label`: its inputs apart from the folder, if not obvious: `values-prod.yaml`.
    - `by_default`: it is rendered with values that are meant to be replaced, and its text may become another one.
      Only findings about these values themselves are reported.
    - `given`: the files that make it differ from another rendering of the same files. The first is its own. A finding
      that they do not affect is reported for the other rendering.
    - `user`: an installation that sets no values, if the text is rendered with a chart's defaults. Empty if none is
      known.
    - `is_installed`: the defaults of a chart that is also installed with other values.
    - `applied_by`: what applies it, if known: the absolute path of its file and its name, such as that of an
      Application or of the call of a module. Both sides of a change are compared by it.
    - `also_applied_by`: what else applies it, as in `applied_by`: more installations of a chart with default values.
    - `needs_values`: it lacks values for which other files are there, so that nothing applies it without one of them.
    - `unread`: a gap for further values that cannot be read and may change anything.
    - `readings`: variants of the text for unknown values. A finding is certain only if it holds in all of them.
    - `settle`: returns the rendering without the defaults that a user may replace, if each such value is known. All
      findings hold there.
    - `problems`: gaps.
    - `lost`: list items that patches remove; `unmatched`: patches without a target.
    - `find_object`: returns the object in the files for an object of the text. If None, it is the object around the
      origin of its `kind`.
    - `map_edits`: returns edits of the text as edits of files, or why that is not certain. If None, the exact origins
      of changed values are edited.
    - `comes_to`: returns whether other sources at some absolute paths give another text. If None, no edit may add,
      remove or reshape.
    - `release`: the number of the release whose values a chart has: an ApplicationSet creates several.
    - `values`: all values with which a chart's template is rendered.
    - `refused`: why helm refuses the installation with these values.
    - `may_be_refused`: why helm refuses the chart with these values, if the installation sets no further ones.
    - `unread_keys`: the keys of its values that the chart reads nowhere.
    - `written_in`: yields the files with its values, if that is known without looking up each origin.
    """

    source: Source
    find_origin: Callable[[Node | Span], ValueOrigin | None]
    parts: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    printed: tuple[str, ...] = ()
    cluster: str = ""
    label: str = ""
    by_default: bool = False
    given: tuple[SourceText, ...] = ()
    readings: tuple[Source, ...] = ()
    settle: Callable[[], Sequence[Built]] | None = None
    problems: tuple[Gap, ...] = ()
    find_object: Callable[[Object], Object | None] | None = None
    map_edits: Callable[[Sequence[Edit]], LedEdits | Withheld] | None = None
    lost: tuple[LostItems, ...] = ()
    unmatched: tuple[UnmatchedPatch, ...] = ()
    comes_to: Callable[[Mapping[str, Source], Source], bool] | None = None
    release: int | None = None
    applied_by: tuple[str, str] = ("", "")
    user: str = ""
    is_installed: bool = False
    needs_values: bool = False
    unread: Gap | None = None
    values: Node | None = None
    refused: tuple[Gap, ...] = ()
    may_be_refused: tuple[Gap, ...] = ()
    unread_keys: tuple[UnreadKey, ...] = ()
    written_in: Callable[[], Iterator[SourceText]] | None = None
    also_applied_by: tuple[tuple[str, str], ...] = ()

    @property
    def texts(self) -> tuple[Source, ...]:
        """Return the rendered text, and its variants for unknown values (`readings`)."""
        return (self.source, *self.readings)

    def lead_edits(self, edits: Sequence[Edit]) -> LedEdits | Withheld:
        """Return the edits of files that make a change of the text, or a `Withheld` with the reason."""
        if overlap(edits):
            return Withheld("two-edits-overlap")
        led = self.map_edits(edits) if self.map_edits is not None else _edits_of_origins(self, edits)
        return Withheld("two-edits-overlap") if isinstance(led, LedEdits) and overlap(led.edits) else led

    def confirms(self, edits: Sequence[Edit], made: Sequence[Edit]) -> bool:
        """Return whether edits of files (`made`) have the same result as edits of the text.

        True if that cannot be checked.
        """
        if self.comes_to is None:
            return True
        if overlap(edits) or any(edit.source is not self.source for edit in edits):
            return False
        return _comes_to(self, made, reread_edited(self.source, edits))

    def stays(self, edits: Sequence[Edit]) -> bool:
        """Return whether edits of files leave the text unchanged. False if that cannot be checked."""
        return _comes_to(self, edits, self.source)

    def written_object(self, obj: Object) -> Object | None:
        """Return the object in the files for an object of the text. None if no file contains one."""
        if self.find_object is not None:
            return self.find_object(obj)
        kind = obj.node.get("kind")
        origin = self.find_origin(kind if kind is not None else obj.node)
        return None if origin is None else find_object_at(origin.at, obj.kind)


def find_object_at(at: Node | Span, kind: str) -> Object | None:
    """Return the object of a kind at a place of a file. None if there is none."""
    span = span_of(at)
    for other in objects(span.source, foreign=True):
        if other.kind == kind and Span(span.source, other.node.start, other.node.end).touches(span):
            return other
    return None


def _edits_of_origins(built: Built, edits: Sequence[Edit]) -> LedEdits | Withheld:
    source = built.source
    if not edits or any(edit.source is not source for edit in edits):
        return Withheld("other-result")
    after = reread_edited(source, edits)
    if len(after.documents) != len(source.documents):
        return Withheld("other-result")
    made: list[Edit] = []
    reshapes = False
    for node, new in find_changes(source, after):
        texts = isinstance(new, list) and all(isinstance(item, str) for item in new)
        reshapes = reshapes or not (node.kind == "scalar" or texts)
        origin = built.find_origin(node)
        if origin is None:
            return Withheld("not-written-as-such")
        if not origin.exact or isinstance(origin.at, Span) or origin.at.kind != node.kind:
            return Withheld("not-written-as-such", origin.at)
        try:
            made += change_value(origin.at, new, node)
        except NotEditable as error:
            return Withheld("not-editable", origin.at, str(error))
    made = list(dict.fromkeys(made))
    if not made or (reshapes and not _comes_to(built, made, after)):
        return Withheld("other-result")
    return LedEdits(tuple(made))


def _comes_to(built: Built, edits: Sequence[Edit], after: Source) -> bool:
    """Return whether the edited files render to `after`. A patch may find its target by a name or an index."""
    if built.comes_to is None or overlap(edits):
        return False
    changed = {}
    for group in by_source(edits):
        source = group[0].source
        changed[os.path.abspath(source.path)] = reread_edited(source, group)
    return built.comes_to(changed, after)


def find_parts(built: Sequence[Built], found: Discovery) -> Iterator[Source]:
    """Yield the requested files, not yet among the sources, in which values of rendered manifests are written.

    They are the same sources to which the origins of values refer, so that a fix can edit them.
    """
    have = {id(source) for source in found.sources}
    names = {os.path.abspath(source.path) for source in found.sources}
    seen = {os.path.abspath(path) for path in (*found.seen, *found.glanced)}
    for built_text in built:
        if not any(part in seen and part not in names for part in built_text.parts):
            continue
        for source in _list_sources(built_text):
            if not isinstance(source, Source) or id(source) in have:
                continue
            have.add(id(source))
            path = os.path.abspath(source.path)
            if path in seen and path not in names:
                names.add(path)
                yield source


def _list_sources(built: Built) -> Iterator[SourceText]:
    """Yield the files with the values of a rendered manifest, and files with patches that a finding may concern."""
    yield from built.given
    yield from (gap.at.source for gap in built.refused)
    yield from (key.at.source for key in built.unread_keys)
    if built.by_default and built.settle is None:
        return
    yield from (patch.at.source for patch in built.unmatched)
    yield from (lost.new.source for lost in built.lost)
    if built.written_in is not None:
        yield from built.written_in()
        return
    for document in built.source.documents:
        for node in document.root.walk() if document.root is not None else ():
            origin = built.find_origin(node)
            if origin is not None:
                yield span_of(origin.at).source


def put_in_place(built: Sequence[Built], made: list[Built]) -> list[Built]:
    """Return the rendered manifests in which overlays are replaced by the overlays as controllers change them."""
    replaced = {path for result in made for path in result.replaces}
    return [*(overlay for overlay in built if not made or not replaced.issuperset(overlay.replaces)), *made]


def lead_through(built: Built, overlay: Built) -> Built:
    """Return a rendered chart whose values come from an overlay, with origins in the files of that overlay."""

    def find_origin(at: Node | Span) -> ValueOrigin | None:
        origin = built.find_origin(at)
        if origin is None:
            return None
        through = tuple(also._replace(at=find_file_place(also.at, overlay)) for also in origin.through)
        if origin.at.source is not overlay.source:
            return origin._replace(through=through)
        below = overlay.find_origin(origin.at)
        return None if below is None else ValueOrigin(below.at, False, (*through, *below.through), origin.role)

    def map_edits(edits: Sequence[Edit]) -> LedEdits | Withheld:
        assert built.map_edits is not None
        led = built.map_edits(edits)
        if isinstance(led, Withheld) and led.at is not None:
            return led._replace(at=find_file_place(led.at, overlay))
        return led

    parts = (*(part for part in built.parts if part != os.path.abspath(overlay.source.path)), *overlay.parts)
    return built._replace(
        find_origin=find_origin,
        written_in=None,
        map_edits=map_edits if built.map_edits is not None else None,
        parts=parts,
        cluster=overlay.cluster,
        label=overlay.label,
    )


def find_file_place(at: Node | Span, overlay: Built) -> Node | Span:
    """Return the place in a file of a part of a rendered overlay. A place in another text is returned unchanged."""
    origin = overlay.find_origin(at) if at.source is overlay.source else None
    return origin.at if origin is not None else at


def show_folder(folder: str) -> str:
    shown = os.path.relpath(folder)
    return (folder if shown.startswith("..") else shown).replace(os.sep, "/")
