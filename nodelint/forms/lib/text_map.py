"""Map rendered templates to their source files, so that findings point to the files."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.edits import NotEditable, apply
from nodelint.forms.lib.gotemplate.evaluate import Filled, Segment
from nodelint.forms.lib.gotemplate.sprig_values import CopiedText
from nodelint.forms.lib.gotemplate.syntax import Code
from nodelint.forms.map_edits import change_value, find_changes
from nodelint.forms.rendered import Built, LedEdits, ValueOrigin, find_object_at
from nodelint.model.finding import Also, Edit, Span, Withheld, span_of
from nodelint.model.manifest import Object
from nodelint.text import Node, Source, SourceText, reread

_DEFAULT, _GIVEN = "the chart's default", "rendered with this value"


def make_built(
    variants: Sequence[Back], values: SourceText, given: Sequence[SourceText] = (), fixing: bool = False
) -> Built:
    """Return a rendered manifest for the variants of a rendered template.

    `given` are the files with values that override the chart's own, the strongest first: edits are mapped only to
    these files. `fixing`: edits may also change the chart and its own values.
    """
    template = variants[0].template
    back_of = {id(back.result): back for back in variants}

    def find_origin(at: Node | Span) -> ValueOrigin | None:
        back = back_of.get(id(at.source))
        return ValueOrigin(at, True) if back is None else back.find_origin(at)

    def find_object(obj: Object) -> Object | None:
        back = back_of.get(id(obj.source))
        return None if back is None else back.find_object(obj)

    def map_edits(edits: Sequence[Edit]) -> LedEdits | Withheld:
        led = variants[0].lead_edits(edits) if fixing or given else Withheld("shared", detail=_CHANGES_CHART)
        if fixing or isinstance(led, Withheld) or all(edit.source in given for edit in led.edits):
            return led
        return Withheld("shared", detail=_CHANGES_CHART)

    files = (template.path, *variants[0].included, values.path, *(source.path for source in given))
    cluster, label = _find_cluster(values, given)
    return Built(
        variants[0].result,
        find_origin,
        parts=tuple(map(os.path.abspath, files)),
        replaces=(os.path.abspath(template.path), *variants[0].included),
        cluster=cluster,
        label=label,
        by_default=True,
        given=tuple(given),
        readings=tuple(back.result for back in variants[1:]),
        find_object=find_object,
        map_edits=map_edits,
    )


def leave_out(template: Source, values: SourceText, given: Sequence[SourceText] = ()) -> Built:
    """Return the empty rendering of a template for a release that disables its chart."""
    cluster, label = _find_cluster(values, given)
    return Built(
        Source.from_text(template.path, ""),
        lambda _: None,
        parts=tuple(os.path.abspath(file.path) for file in (template, values, *given)),
        replaces=(os.path.abspath(template.path),),
        cluster=cluster,
        label=label,
        by_default=True,
        given=tuple(given),
    )


def _find_cluster(values: SourceText, given: Sequence[SourceText]) -> tuple[str, str]:
    """Return the environment of a chart with its values files, and the label of the rendering."""
    chart = os.path.dirname(os.path.abspath(values.path))
    own = next(iter(given), None)
    if own is None:
        return chart, ""
    return os.path.abspath(own.path), os.path.relpath(own.path, chart).replace(os.sep, "/")


_CHANGES_CHART = "it would change the chart, which is installed with other values too"

Uses = dict[int, set[tuple[int, int]]]
"""The uses of each value, by its id: templates, and offsets in them."""


# -- mapping to files


class _FilledPlace(NamedTuple):
    """A place in the files. `values` are the values of its text, each with the code that prints it."""

    at: Node | Span
    values: tuple[tuple[Node, Code], ...]


def _lost_quotes(at: Node | Span, value: Node) -> bool:
    """Return whether a string value is no string after the template has printed it without quotes."""
    return isinstance(at, Node) and isinstance(value.value, str) and not isinstance(at.value, str)


class Back:
    """The source map of a rendered template."""

    def __init__(
        self,
        template: Source,
        result: Source,
        defaults: SourceText,
        filled: Filled,
        uses: Uses,
    ) -> None:
        self.template = template
        self.result = result
        self.defaults = defaults
        self.default = _DEFAULT
        self._uses = uses
        self.holes = filled.holes
        self.leaves_out = filled.left_out
        self.included = sorted(filled.included)
        self._segments = filled.segments
        self._starts = [segment.at for segment in filled.segments]
        self._values: dict[int, Node | None] = {}

    def find_origin(self, at: Node | Span) -> ValueOrigin:
        """Return the place where a part of the rendered text is written.

        If the part is a value, it is the place in the values, else the place in the template.
        """
        place = self._place(at)
        if isinstance(place.at, Node) and not _lost_quotes(at, place.at):
            code = [self._code(code) for _, code in place.values[:1]]
            through = tuple(Also(span, self._use(place.at)) for span in code) or (Also(self._span(at), ""),)
            return ValueOrigin(place.at, True, through, self._about(place.at))
        own = [(place.at, None)] if isinstance(place.at, Node) else place.values[:3]
        through = tuple(Also(node, self._about(node)) for node, _ in own)
        span = self._span(at)
        if span.source is not self.template:
            through += tuple(Also(self._code(code), "included here") for code in self._codes(at)[:1])
        return ValueOrigin(span, not own, through)

    def list_texts(self) -> Iterator[SourceText]:
        """Yield the template, and the files with whole values of the rendered text."""
        yield self.template
        for document in self.result.documents:
            for node in document.root.walk() if document.root is not None else ():
                value = self.value(node)
                if value is not None and not _lost_quotes(node, value):
                    yield value.source

    def find_object(self, obj: Object) -> Object | None:
        """Return the object of the template from which a rendered object comes. None if there is none."""
        return find_object_at(self._span(obj.node), obj.kind)

    def _about(self, value: Node) -> str:
        return self.default if value.source is self.defaults or self.default != _DEFAULT else _GIVEN

    def _use(self, value: Node) -> str:
        return "filled in here" + (f": the value is {_DEFAULT}" if value.source is self.defaults else "")

    def _code(self, code: Code) -> Span:
        return Span(self.template, code.start, code.end)

    def _over(self, start: int, end: int) -> list[tuple[Segment, int, int]]:
        """Return the segments of a range of characters, each with the part of the range that it covers."""
        first = max(bisect_right(self._starts, start) - 1, 0)
        found: list[tuple[Segment, int, int]] = []
        for n in range(first, len(self._segments)):
            segment = self._segments[n]
            stop = self._starts[n + 1] if n + 1 < len(self._starts) else len(self.result.text)
            if segment.at >= end and found:
                break
            if stop > start or n == len(self._segments) - 1:
                found.append((segment, max(start, segment.at), min(end, stop)))
        return found

    def _place(self, at: Node | Span) -> _FilledPlace:
        span = span_of(at)
        if span.source is not self.result:
            return _FilledPlace(at, ())
        over = self._over(span.start, span.end)
        given = {
            id(s.node): (s.node, s.code)
            for s, *_ in over
            if s.node is not None and s.code is not None and not isinstance(s.node, CopiedText)
        }
        values = tuple(given.values())
        if isinstance(at, Node):
            value = self.value(at)
            if value is not None:
                own = [pair for pair in values if pair[0] is value] or list(values)
                return _FilledPlace(value, tuple(own))
        elif len(over) == 1 and len(values) == 1:
            return _FilledPlace(values[0][0], values)
        return _FilledPlace(self._span(at), values)

    def _codes(self, at: Node | Span) -> list[Code]:
        """Return the template code that printed a part of the rendered text."""
        span = span_of(at)
        found = [segment.code for segment, *_ in self._over(span.start, span.end) if segment.code is not None]
        return list(dict.fromkeys(found))

    def _copied(self, over: Sequence[tuple[Segment, int, int]]) -> Span | None:
        """Return the characters of a named template that were copied to a part of the rendered text.

        None if some of the part was not copied.
        """
        if any(segment.code is None for segment, *_ in over):
            return None
        texts = [(s.node, s.at, start, end) for s, start, end in over if isinstance(s.node, CopiedText)]
        if not texts or any(node.source is not texts[0][0].source for node, *_ in texts):
            return None
        starts = [node.start + start - at for node, at, start, _ in texts]
        return Span(texts[0][0].source, min(starts), max(node.start + end - at for node, at, _, end in texts))

    def _span(self, at: Node | Span) -> Span:
        """Return the characters of the template, or of an included one, that became a part of the rendered text."""
        span = span_of(at)
        if span.source is not self.result:
            return span
        over = self._over(span.start, span.end)
        copied = self._copied(over)
        if copied is not None:
            return copied
        starts, ends = [], []
        for segment, start, end in over:
            if segment.code is None:
                starts.append(segment.start + start - segment.at)
                ends.append(segment.start + end - segment.at)
            else:
                starts.append(segment.code.start)
                ends.append(segment.code.end)
        first = starts[0] if starts else 0
        return Span(self.template, first, max(first, ends[-1] if ends else 0))

    def value(self, node: Node) -> Node | None:
        """Return the chart value that is the whole of a rendered node. None if the template adds something."""
        if id(node) not in self._values:
            self._values[id(node)] = self._scalar(node) if node.kind == "scalar" else self._collection(node)
        return self._values[id(node)]

    def _scalar(self, node: Node) -> Node | None:
        quoted = node.style in ("single", "double")
        over = self._over(node.start + quoted, node.end - quoted)
        first = over[0][0].node if over else None
        if isinstance(first, CopiedText) or any(segment.node is not first for segment, *_ in over):
            return None
        return first

    def _collection(self, node: Node) -> Node | None:
        parts = node.items or [entry.key for entry in node.entries]
        values = [self.value(part) for part in parts]
        around = values[0].parent if values and values[0] is not None else None
        if around is None or any(value is None or value.parent is not around for value in values):
            return None
        whole = len(around.items or around.entries) == len(values) and around.kind == node.kind
        return around if whole else None

    # -- edits

    def lead_edits(self, edits: Sequence[Edit]) -> LedEdits | Withheld:
        """Return the edits of files that make a change of the rendered text.

        Return a `Withheld` if there are none.
        """
        if not edits or any(edit.source is not self.result for edit in edits):
            return Withheld("other-result")
        direct = [own for edit in edits if (own := self._own(edit)) is not None]
        if len(direct) == len(edits):
            return self._lead_further(direct)
        after = reread(self.result, apply(self.result.text, edits))
        if len(after.documents) != len(self.result.documents):
            return Withheld("other-result")
        return self._lead_values(after)

    def _lead_further(self, edits: Sequence[Edit]) -> LedEdits | Withheld:
        """Return edits of the template as edits of files."""
        return LedEdits(edits)

    def _lead_values(self, after: Source) -> LedEdits | Withheld:
        """Return the edits of values that make the rendered text equal to `after`, or a `Withheld`."""
        made: list[Edit] = []
        shared = False
        for node, new in find_changes(self.result, after):
            try:
                part, others = self._instead(node, new)
            except NotEditable as error:
                return Withheld("computed", self.find_origin(node).at, str(error))
            made += part
            shared = shared or others
        made = list(dict.fromkeys(made))
        return LedEdits(made, shared) if self._comes_to(made, after) else Withheld("other-result")

    def _comes_to(self, edits: Sequence[Edit], after: Source) -> bool:
        """Return whether the edited files render to the same values as `after`. The form overrides it."""
        return False

    def _own(self, edit: Edit) -> Edit | None:
        """Map an edit of the rendered text to the template, or to an included one.

        None if the characters were not copied unchanged.
        """
        copied = self._copied(self._over(edit.start, edit.end))
        if copied is not None:
            same = copied.source.text[copied.start : copied.end] == self.result.text[edit.start : edit.end]
            return edit._replace(source=copied.source, start=copied.start, end=copied.end) if same else None
        over = self._over(max(edit.start - 1, 0), edit.end + 1)
        if len(over) != 1 or over[0][0].code is not None:
            return None
        shift = over[0][0].start - over[0][0].at
        return Edit(self.template, edit.start + shift, edit.end + shift, edit.text)

    def _instead(self, node: Node, new: object) -> tuple[Sequence[Edit], bool]:
        """Return edits that change a rendered node to a new value, and whether the value is also used elsewhere.

        Missing quotes are added in the template, because other values need them as well.
        """
        value = self.value(node)
        if value is None or value.kind != node.kind:
            raise NotEditable("the template makes a part of the value: edit it by hand")
        over = self._over(node.start, node.end)
        code = over[0][0].code
        bare = node.style == "plain" and not isinstance(node.value, str) and new == node.text
        if bare and code is not None and re.fullmatch(r"[$.\w]+", code.text):
            end = self.template.text.index(code.text, code.start) + len(code.text)
            return [Edit(self.template, end, end, " | quote")], False
        uses = {use for part in value.walk() for use in self._uses.get(id(part), ())}
        return change_value(value, new, node), len(uses) > 1
