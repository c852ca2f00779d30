"""Templates judged with the values that their chart comes with, where no helm renders them.

A chart's values are there to be replaced. So only what the defaults themselves do is a finding, and nothing that
depends on an account: what is empty, or left out for an empty value, is not known.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from nodelint.edits import NotEditable, apply
from nodelint.lint import engine
from nodelint.lint.results import Result
from nodelint.model.documents import objects
from nodelint.model.finding import Also, Edit, Finding, Span, span_of
from nodelint.render import terraform
from nodelint.render.changes import changed, to
from nodelint.render.overrides import beside, merged, overrides
from nodelint.render.roots import nodes_of, read
from nodelint.source import Node, Source, SourceText, reread
from nodelint.source.charts import values_of
from nodelint.source.compose import compose
from nodelint.source.filling import Filled, Holes, Segment, TooLong, fill
from nodelint.source.gotemplate import BadTemplate, Code, Part, parse
from nodelint.source.unreadable import Unreadable
from nodelint.tuples import NamedTuple

if TYPE_CHECKING:
    from nodelint.lint.engine import Report, Selection, Target
    from nodelint.lint.rule import Rule
    from nodelint.model.manifest import Object

_DEFAULT, _GIVEN = "the chart's default", "a value of this file"


def more(sources: Sequence[Source], seen: set[str]) -> list[Source]:
    """The values of charts with a template among the sources, as far as they were asked for: a fix may be theirs."""
    have = {os.path.abspath(source.path) for source in sources}
    found = []
    for source in sources:
        path = values_of(source.path) if source.may_be_template else None
        for each in (path, *beside(path)) if path is not None else ():
            if os.path.abspath(each) not in have and each in seen and (values := read(each)):
                nodes_of(values)
                have.add(os.path.abspath(each))
                found.append(values)
    return found


def added(
    plain: Report,
    sources: Sequence[Source],
    target: Target,
    rules: Mapping[str, Rule],
    selection: Selection,
    context_sources: Sequence[Source] = (),
) -> Report:
    """What `engine.lint` said of files, and what the default values of charts do to their templates among them."""
    try:
        made, given = list(_filled(sources)), list(_given(sources))
        if not made and not given:
            return plain
        told, faults = _told(made, sources, target, rules, selection, context_sources)
        others, faulty = _told(given, sources, target, rules, selection, context_sources, fixing=False)
        told, faults = [*told, *others], [*faults, *faulty]
    except Exception as error:
        if os.environ.get("NODELINT_DEBUG"):
            raise
        fault = f"the default values of charts: {type(error).__name__}: {error}"
        return plain._replace(faults=(*plain.faults, fault))
    silenced = _silenced(plain, told, [*made, *given], rules)
    shown = {id(backs[0].defaults) for backs in made}
    for source, backs in _with_others(sources):
        shown.add(id(source))
        others, faulty = _told(backs, sources, target, rules, selection, (), fixing=False)
        told += _of_others(others, source, told)
        faults += faulty
    told = [result for result in told if result.rule.name != _COMMENTS]
    told = [result for result in told if _wanted(result, selection)]
    # What the templates make of values is known here: it is not guessed from the values alone.
    guessed = {id(o) for o in plain.objects if o.of_values and id(o.source) in shown}
    kept = [result for result in plain.results if id(result.object) not in guessed]
    told = [result for result in told if not _said(result, kept)]
    order = {source.path: n for n, source in enumerate(sources)}
    results = sorted(
        (*(result for result in kept if id(result) not in silenced), *told),
        key=lambda r: (order.get(r.span.source.path, len(order)), r.span.start, r.rule.name),
    )
    return plain._replace(
        results=tuple(results),
        objects=tuple(o for o in plain.objects if id(o) not in guessed),
        skipped=tuple(each for each in plain.skipped if id(each.object) not in guessed),
        faults=tuple(dict.fromkeys([*plain.faults, *faults])),
    )


def _told(
    made: Sequence[tuple[_Back, ...]],
    sources: Sequence[Source],
    target: Target,
    rules: Mapping[str, Rule],
    selection: Selection,
    context_sources: Sequence[Source],
    fixing: bool = True,
) -> tuple[list[Result], list[str]]:
    """What values are found to do, whatever stands for what they leave out."""
    if not made:
        return [], []
    judged = {name: rule for name, rule in rules.items() if _is_about_defaults(rule)}
    replaced = {id(backs[0].template) for backs in made}
    around = [source for source in (*sources, *context_sources) if id(source) not in replaced]
    asked = {id(source) for source in sources}
    found: list[dict[tuple[object, ...], Result]] = []
    faults: list[str] = []
    for variant in range(max(map(len, made))):
        backs = {id(back.result): back for each in made for back in (each[min(variant, len(each) - 1)],)}
        results = [back.result for back in backs.values()]
        report = engine.lint(results, target, judged, selection, around)
        faults += report.faults
        told = [r for r in report.results if id(r.span.source) in backs]
        led = [backs[id(r.span.source)].led(r, asked, fixing and variant == 0) for r in reversed(told)]
        found.append({(r.rule.name, r.span, r.finding.message): r for r in led})
    return [result for mark, result in found[0].items() if all(mark in others for others in found)], faults


_COMMENTS = "unused-suppression"
_ABOUT_NAMES = ("duplicate-name", "placeholder-left", "unknown-node-class")
"""Rules about names, which whoever installs the chart gives."""
_ABOUT_CODE = (
    "crossed-condition",
    "dead-default",
    "empty-default",
    "false-never-printed",
    "fixed-class-kind",
    "nil-pointer",
    "repeated-by-loop",
    "required-under-condition",
    "unprinted-field",
    "unquoted-value",
)
"""Rules about the code of a template, which is judged before it is filled in."""


def _silenced(
    plain: Report, told: Sequence[Result], made: Sequence[tuple[_Back, ...]], rules: Mapping[str, Rule]
) -> set[int]:
    """By their id, the findings about comments that silence nothing but what the defaults do."""
    files = {id(source) for backs in made for source in (backs[0].template, backs[0].defaults)}
    idle = {result.span for result in told if result.rule.name == _COMMENTS}
    found = set()
    for result in plain.results:
        if result.rule.name == _COMMENTS and id(result.span.source) in files and result.span not in idle:
            names = re.findall(r"`([\w-]+)`", result.finding.message)
            if any(name in rules and _is_about_defaults(rules[name]) for name in names):
                found.add(id(result))
    return found


def _is_about_defaults(rule: Rule) -> bool:
    """Whether a rule says what holds in whatever account, and whatever names are given."""
    return not rule.needs and rule.name not in (*_ABOUT_NAMES, *_ABOUT_CODE)


def _said(result: Result, plain: Sequence[Result]) -> bool:
    """Whether the template says the same before it is filled in."""
    at = result.span
    return any(other.rule is result.rule and other.span.touches(at) for other in plain)


def _wanted(result: Result, selection: Selection) -> bool:
    from nodelint.lint.suppress import suppressions

    source = result.span.source
    if selection.ignored_at(result.rule.name, source.path):
        return False
    return not any(comment.silences(result.rule.name, result.finding) for comment in suppressions(source))


# -- filling


def _filled(sources: Sequence[Source]) -> Iterator[tuple[_Back, ...]]:
    uses: _Uses = {}
    for values, templates in _charts(sources).values():
        for template in templates:
            made = _one(template, values, uses)
            if made:
                yield made


def _charts(sources: Sequence[Source]) -> dict[str, tuple[Source, list[Source]]]:
    """The default values of charts, by their absolute path, and the templates of each among the sources."""
    by_path = {os.path.abspath(source.path): source for source in sources}
    found: dict[str, tuple[Source, list[Source]]] = {}
    for source in sources:
        path = values_of(source.path) if source.may_be_template else None
        whole = os.path.abspath(path) if path is not None else ""
        values = by_path.get(whole) or (read(path) if path is not None else None)
        if values is not None:
            by_path[whole] = values
            found.setdefault(whole, (values, []))[1].append(source)
    return found


def _with_others(sources: Sequence[Source]) -> Iterator[tuple[Source, list[tuple[_Back, ...]]]]:
    """Each other file of values of a chart, and the templates of the chart with it."""
    charts = _charts(sources)
    for path, source, root in overrides({path: values for path, (values, _) in charts.items()}, sources):
        values, templates = charts[path]
        whole = merged(next(iter(_roots(values)), root), root)
        made = [back for template in templates if (back := _one(template, values, {}, whole))]
        if made:
            yield source, made


def _of_others(told: Sequence[Result], values: Source, known: Sequence[Result]) -> Iterator[Result]:
    """The findings that a file of values has a part in, less those that were told of the same place."""
    places = {(result.rule.name, result.span) for result in known}
    for result in told:
        spans = (result.span, *(each.span for each in result.finding.also))
        if (result.rule.name, result.span) not in places and any(span.source is values for span in spans):
            yield result


def _roots(values: Source) -> list[Node]:
    """The documents of values, which do not mention Karpenter as a rule and are not read then."""
    known = [document.root for document in values.documents if document.root is not None]
    if known:
        return known
    try:
        return [root for root in compose(values, values.text, 0, masked=False) if root is not None]
    except Unreadable:
        return []


_Uses = dict[int, set[tuple[int, int]]]
"""Where each value is used, by its id: templates and places in them."""


def _one(template: Source, values: Source, uses: _Uses, root: Node | None = None) -> tuple[_Back, ...]:
    """A template with values; where these leave fields out, with all of those fields, with some, and with none.

    Nothing where it has none of the values, or does not come to something that can be read. `root` are the values,
    where they are not just those of the file.
    """
    if values.problems or values.masked or len(_roots(values)) > 1:
        return ()
    try:
        parts = parse(template.text)
    except BadTemplate:
        return ()
    return _variants(template, parts, values, root or next(iter(_roots(values)), None), uses)


def _given(sources: Sequence[Source]) -> Iterator[tuple[_Back, ...]]:
    """The texts that Terraform fills in."""
    for template, parts, values in terraform.templates(sources):
        made = _variants(template, parts, values.source, values, {})
        for back in made:
            back.default = "the variable's value"
        if made:
            yield made


def _variants(
    template: Source, parts: tuple[Part, ...], values: SourceText, root: Node | None, uses: _Uses
) -> tuple[_Back, ...]:
    try:
        back = _try(template, parts, values, root, "keys", uses) or _try(template, parts, values, root, "code", uses)
        if back is None or not back.holes:
            return () if back is None else (back,)
        some = _try(template, parts, values, root, "some keys", uses) or back
        none = _try(template, parts, values, root, "nothing", uses)
    except TooLong:
        return ()
    return () if none is None else (back, some, none)


def _try(
    template: Source, parts: tuple[Part, ...], values: SourceText, root: Node | None, holes: Holes, uses: _Uses
) -> _Back | None:
    filled = fill(template.text, parts, root, holes)
    if not filled.values:
        return None
    result = Source.from_text(template.path, filled.text)
    result.part = template.part
    if result.problems or result.set_aside:
        return None
    for segment in filled.segments:
        if segment.node is not None and segment.code is not None:
            uses.setdefault(id(segment.node), set()).add((id(template), segment.code.start))
    return _Back(template, result, values, filled, uses)


# -- leading back


class _Found(NamedTuple):
    """A place in the files; `values` are those that its text is of, each with the code that prints it."""

    at: Node | Span
    values: tuple[tuple[Node, Code], ...]


def _lost_quotes(at: Node | Span, value: Node) -> bool:
    """Whether a text of the values is none where the template prints it without quotes."""
    return isinstance(at, Node) and isinstance(value.value, str) and not isinstance(at.value, str)


class _Back:
    """Where the result of a template is from."""

    def __init__(self, template: Source, result: Source, defaults: SourceText, filled: Filled, uses: _Uses) -> None:
        self.template = template
        self.result = result
        self.defaults = defaults
        self.default = _DEFAULT
        self._uses = uses
        self.holes = filled.holes
        self._segments = filled.segments
        self._starts = [segment.at for segment in filled.segments]
        self._values: dict[int, Node | None] = {}

    def led(self, result: Result, asked: set[int], fixing: bool) -> Result:
        """A finding about the result as one about the files: about the values, where those were asked for."""
        finding = result.finding
        place = self._place(finding.at)
        at = place.at
        also = [Also(p.at, each.message) for each in finding.also if (p := self._place(each.at)) is not None]
        if isinstance(at, Node) and id(at.source) in asked and not _lost_quotes(finding.at, at):
            used = [Also(self._code(code), self._use(at)) for _, code in place.values[:1]]
            also = [*used, *also]
        else:
            own = [(at, None)] if isinstance(at, Node) else place.values[:3]
            defaults = [Also(node, self._about(node)) for node, _ in own]
            at, also = self._span(finding.at), [*defaults, *also]
        edits, shared = self._edits(finding) if fixing else ((), False)
        safety = "unsafe" if shared else finding.safety
        led = finding._replace(at=at, also=also, covers=(), edits=edits, safety=safety, suggestions=())
        return result._replace(finding=led, object=self._object(result.object))

    def _object(self, obj: Object | None) -> Object | None:
        """The object of the template that one of the result is made of; itself where the template has none there."""
        if obj is None:
            return None
        span = self._span(obj.node)
        for other in objects(self.template, foreign=True):
            if other.kind == obj.kind and Span(other.source, other.node.start, other.node.end).touches(span):
                return other
        return obj

    def _about(self, value: Node) -> str:
        return self.default if value.source is self.defaults or self.default != _DEFAULT else _GIVEN

    def _use(self, value: Node) -> str:
        return "filled in here" + (f": the value is {_DEFAULT}" if value.source is self.defaults else "")

    def _code(self, code: Code) -> Span:
        return Span(self.template, code.start, code.end)

    def _over(self, start: int, end: int) -> list[tuple[Segment, int, int]]:
        """The segments of some characters, each with the part of it that is among these."""
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

    def _place(self, at: Node | Span) -> _Found:
        span = span_of(at)
        if span.source is not self.result:
            return _Found(at, ())
        over = self._over(span.start, span.end)
        given = {id(s.node): (s.node, s.code) for s, *_ in over if s.node is not None and s.code is not None}
        values = tuple(given.values())
        if isinstance(at, Node):
            value = self.value(at)
            if value is not None:
                own = [pair for pair in values if pair[0] is value] or list(values)
                return _Found(value, tuple(own))
        elif len(over) == 1 and len(values) == 1:
            return _Found(values[0][0], values)
        return _Found(self._span(at), values)

    def _span(self, at: Node | Span) -> Span:
        """The characters of the template that came to some of the result."""
        span = span_of(at)
        if span.source is not self.result:
            return span
        starts, ends = [], []
        for segment, start, end in self._over(span.start, span.end):
            if segment.code is None:
                starts.append(segment.start + start - segment.at)
                ends.append(segment.start + end - segment.at)
            else:
                starts.append(segment.code.start)
                ends.append(segment.code.end)
        first = starts[0] if starts else 0
        return Span(self.template, first, max(first, ends[-1] if ends else 0))

    def value(self, node: Node) -> Node | None:
        """The value of the chart that is all of a node of the result; None where the template has a part in it."""
        if id(node) not in self._values:
            self._values[id(node)] = self._scalar(node) if node.kind == "scalar" else self._collection(node)
        return self._values[id(node)]

    def _scalar(self, node: Node) -> Node | None:
        quoted = node.style in ("single", "double")
        over = self._over(node.start + quoted, node.end - quoted)
        first = over[0][0].node if over else None
        if any(segment.node is not first for segment, *_ in over):
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

    def _edits(self, finding: Finding) -> tuple[Sequence[Edit], bool]:
        """The same change in the files, where it can be made; and whether it changes values used elsewhere."""
        edits = finding.edits
        if not edits or any(edit.source is not self.result for edit in edits):
            return (), False
        direct = [own for edit in edits if (own := self._own(edit)) is not None]
        if len(direct) == len(edits):
            return direct, False
        after = reread(self.result, apply(self.result.text, edits))
        if len(after.documents) != len(self.result.documents):
            return (), False
        made: list[Edit] = []
        shared = False
        for node, new in changed(self.result, after):
            try:
                part, others = self._instead(node, new)
            except NotEditable:
                return (), False
            made += part
            shared = shared or others
        made = list(dict.fromkeys(made))
        return (made, shared) if self._comes_to(made, after) else ((), False)

    def _own(self, edit: Edit) -> Edit | None:
        """An edit of characters that stand in the template as they do in the result."""
        over = self._over(max(edit.start - 1, 0), edit.end + 1)
        if len(over) != 1 or over[0][0].code is not None:
            return None
        shift = over[0][0].start - over[0][0].at
        return Edit(self.template, edit.start + shift, edit.end + shift, edit.text)

    def _instead(self, node: Node, new: object) -> tuple[Sequence[Edit], bool]:
        """What makes a node of the result another value, and whether that value is used elsewhere as well.

        What lacks quotes gets them in the template: the values of others need them, too.
        """
        value = self.value(node)
        if value is None or value.kind != node.kind:
            raise NotEditable("the template has a part in it")
        over = self._over(node.start, node.end)
        code = over[0][0].code
        bare = isinstance(new, str) and node.style == "plain" and not isinstance(node.value, str)
        if bare and code is not None and re.fullmatch(r"[$.\w]+", code.text):
            end = self.template.text.index(code.text, code.start) + len(code.text)
            return [Edit(self.template, end, end, " | quote")], False
        uses = {use for part in value.walk() for use in self._uses.get(id(part), ())}
        return to(value, new), len(uses) > 1

    def _comes_to(self, edits: Sequence[Edit], after: Source) -> bool:
        """Whether the files come to a text of the same values, once they are edited."""
        own = [edit for edit in edits if edit.source is self.template]
        others = [edit for edit in edits if edit.source is self.defaults]
        template = reread(self.template, apply(self.template.text, own)) if own else self.template
        values = reread(self.defaults, apply(self.defaults.text, others)) if others else self.defaults
        made = _one(template, values, {}) if isinstance(values, Source) else ()
        if not made or len(own) + len(others) < len(edits):
            return False
        roots = [document.root.plain() for document in made[0].result.documents if document.root is not None]
        return roots == [document.root.plain() for document in after.documents if document.root is not None]
