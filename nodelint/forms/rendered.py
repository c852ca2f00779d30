"""A rendered text with its objects, and the place in the files of each value."""

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
    from nodelint.files.discover import Discovery
    from nodelint.model.gap import Gap
    from nodelint.model.manifest import Object
    from nodelint.text import SourceText


class ValueOrigin(NamedTuple):
    """Where a value of a built object is written, in a file of the repository.

    `exact`: the written value is this very value, so that an edit of it changes this value and nothing around it.
    `through` are the places on the way from the written value to the object, the nearest to the value first, each
    with what it does: the code of a template that prints the value, the overlay that takes the file in. `role` says
    what the written value is to those places, where that is not plain: `the chart's default`.
    """

    at: Node | Span
    exact: bool
    through: tuple[Also, ...] = ()
    role: str = ""


class LedEdits(NamedTuple):
    """A change of a built object as a change of files; `shared`: it changes other objects as well."""

    edits: Sequence[Edit]
    shared: bool = False


class LostItems(NamedTuple):
    """Entries of a list that a patch takes away by giving the list again.

    `path` are the keys that lead to the list in an object of a kind and name. `new` and `old` are the two lists.
    """

    kind: str
    name: str
    path: tuple[str, ...]
    new: Node
    old: Node
    items: tuple[Node, ...]


class UnmatchedPatch(NamedTuple):
    """A patch for which there is no object. `at` is the place to look at, `fails` whether kustomize stops there."""

    at: Node
    wanted: str
    fails: bool


class Built(NamedTuple):
    """What a cluster gets of some files.

    `source` is the text with the objects. A placeholder in it is a value that nobody knows before it is installed.
    `find_origin` gives the place of a node or of characters of that text (or of one of the `readings`) in the files;
    None if no file holds it.

    `parts` are the files that were read for it, `replaces` those whose own objects it stands for. Both are absolute
    paths. `cluster` is the folder of the overlay, chart or root module: objects of different clusters do not see each
    other. `label` is what it is built with besides its folder, where that is not plain: `values-prod.yaml`.

    `by_default`: it is built of values that are there to be replaced, and of a text that may come to something else;
    only what these values themselves do is a finding. `given` are the files that make it differ from another object
    that is built of the same files, `own` the first of them: what they have no part in is said of the other.

    `applied_by` is what applies it, if that is known, by which both sides of a change are compared: the absolute path
    of its file, and its name, such as that of an Application or of the call of a module.

    `is_installed`: the defaults of a chart that is installed with other values, each time that the files install it.
    `needs_values`: it lacks values for which other files are there, so that nothing applies it without one of them.
    `unread`: it is filled with further values, which cannot be read and may change anything.

    `readings` are the same objects where what is not known is there in other ways: what holds of them all is certain.
    `settle` gives the same file without the defaults that somebody may replace, where that is known value by value:
    everything holds of what is left.

    `lost` are entries of lists that patches of an overlay took away by giving the lists again, `unmatched` its
    patches for which there is no object.

    `find_object` gives the object in the files that one of the text is made of; without it, it is the one around the
    origin of its `kind`. `map_edits` gives edits of the text as edits of files, or why that is not certain; without
    it they are edits of the exact origins of the values that change. `comes_to` says whether other sources at some
    absolute paths come to another text; without it no edit adds, removes or reshapes. `release` is the number of the
    release that gives the values of a chart: an ApplicationSet makes several. `values` are all values that a chart's
    template is filled with. `written_in` gives the files that its values are written in, if that is known without
    looking up the origin of each.
    """

    source: Source
    find_origin: Callable[[Node | Span], ValueOrigin | None]
    parts: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
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
    is_installed: bool = False
    needs_values: bool = False
    unread: Gap | None = None
    values: Node | None = None
    written_in: Callable[[], Iterator[SourceText]] | None = None

    @property
    def texts(self) -> tuple[Source, ...]:
        """Return the text and its further readings."""
        return (self.source, *self.readings)

    def lead_edits(self, edits: Sequence[Edit]) -> LedEdits | Withheld:
        """Edits of the text as edits of files, or why no file can be changed to the same effect."""
        if overlap(edits):
            return Withheld("two-edits-overlap")
        led = self.map_edits(edits) if self.map_edits is not None else _edits_of_origins(self, edits)
        return Withheld("two-edits-overlap") if isinstance(led, LedEdits) and overlap(led.edits) else led

    def confirms(self, edits: Sequence[Edit], made: Sequence[Edit]) -> bool:
        """Whether edits that are `made` to files come to edits of the text, where that can be told."""
        if self.comes_to is None:
            return True
        if overlap(edits) or any(edit.source is not self.source for edit in edits):
            return False
        return _comes_to(self, made, reread_edited(self.source, edits))

    def stays(self, edits: Sequence[Edit]) -> bool:
        """Whether the text is unchanged by edits of files, where that can be said without building it again."""
        return _comes_to(self, edits, self.source)

    def written_object(self, obj: Object) -> Object | None:
        """Return the object in the files that one of the text is made of; None if no file holds one."""
        if self.find_object is not None:
            return self.find_object(obj)
        kind = obj.node.get("kind")
        origin = self.find_origin(kind if kind is not None else obj.node)
        return None if origin is None else object_around(origin.at, obj.kind)


def object_around(at: Node | Span, kind: str) -> Object | None:
    """Return the object of a kind that a place of a file is in."""
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
    """Whether the files come to what is wanted: a patch may find its object by a name, or an item by its number."""
    if built.comes_to is None or overlap(edits):
        return False
    changed = {}
    for group in by_source(edits):
        source = group[0].source
        changed[os.path.abspath(source.path)] = reread_edited(source, group)
    return built.comes_to(changed, after)


def find_parts(built: Sequence[Built], found: Discovery) -> Iterator[Source]:
    """Yield the requested files that are not among the sources, in which a value of what is built is written.

    They are the very sources of these values, so that a fix may be theirs.
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
    """Yield the files in which values are written, and patches that a finding may be about; of a chart, its values
    files.
    """
    yield from built.given
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
    """Return what is built, with what controllers make of it in the place of the overlays that they apply."""
    replaced = {path for result in made for path in result.replaces}
    return [*(overlay for overlay in built if not made or not replaced.issuperset(overlay.replaces)), *made]


def lead_through(built: Built, overlay: Built) -> Built:
    """Return a built chart whose values are those of an overlay, with origins in the files of that overlay."""

    def find_origin(at: Node | Span) -> ValueOrigin | None:
        origin = built.find_origin(at)
        if origin is None:
            return None
        through = tuple(also._replace(at=_lead_place(also.at, overlay)) for also in origin.through)
        if origin.at.source is not overlay.source:
            return origin._replace(through=through)
        below = overlay.find_origin(origin.at)
        return None if below is None else ValueOrigin(below.at, False, (*through, *below.through), origin.role)

    def map_edits(edits: Sequence[Edit]) -> LedEdits | Withheld:
        assert built.map_edits is not None
        led = built.map_edits(edits)
        if isinstance(led, Withheld) and led.at is not None:
            return led._replace(at=_lead_place(led.at, overlay))
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


def _lead_place(at: Node | Span, overlay: Built) -> Node | Span:
    origin = overlay.find_origin(at) if at.source is overlay.source else None
    return origin.at if origin is not None else at


def show_folder(folder: str) -> str:
    shown = os.path.relpath(folder)
    return (folder if shown.startswith("..") else shown).replace(os.sep, "/")
