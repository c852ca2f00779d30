"""Evaluate the expressions of a template: fields of values, variables, functions, templates."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping

from nodelint.base.budget import WorkBudget
from nodelint.base.tuples import NamedTuple
from nodelint.forms.lib.gotemplate.sprig import call
from nodelint.forms.lib.gotemplate.sprig_signatures import read_text
from nodelint.forms.lib.gotemplate.sprig_values import (
    CopiedText,
    MadeNode,
    TracedText,
    Unresolved,
    Unset,
    as_node,
    hold_value,
    printed,
    truth,
)
from nodelint.forms.lib.gotemplate.syntax import BadTemplate, Code, Definition, Part, Pipeline, parse
from nodelint.forms.lib.gotemplate.value_sizes import ENCODING, size_made, size_of, steps_for
from nodelint.text.nodes import Node, SourceText
from nodelint.text.unknown_value import UNKNOWN

OPEN = object()
"""The value of everything that is unknown before the installation."""


class _Root:
    """The type of the top of helm's data: `.Values`, `.Release` and so on."""


ROOT = _Root()
_RENDERERS = ("include", "template", "tpl")
_CHANGING = ("set", "unset", "merge", "mergeOverwrite", "mustMerge", "mustMergeOverwrite")
"""Functions that change their first argument and return it."""

OwnPiece = tuple[str, Node | None, int | None]
"""A text, the value from which it comes, and its offset in the template if it is the template's own text."""


class NamedTemplate(NamedTuple):
    """A template that other templates include. `only_defines`: its text only defines templates and prints nothing."""

    source: SourceText
    definition: Definition
    only_defines: bool


Definitions = Mapping[str, NamedTemplate]
"""The named templates of a chart, by their names."""


class ChartData(NamedTuple):
    """What templates take from their chart besides its values.

    - `definitions`: the named templates.
    - `about`: the fields of `.Chart`. None if they are not known.
    """

    definitions: Definitions
    about: Node | None


NO_CHART = ChartData({}, None)


class ChartRefusal(NamedTuple):
    """Code at which helm stops with its own message: `fail`, or `required` with an empty value.

    - `source`: the file of the named template that contains it. None if it is in the rendered template itself.
    - `message`: the message of the chart. Empty if it is not known.
    """

    source: SourceText | None
    code: Code
    function: str
    message: str


class TemplateEvaluator(ABC):
    """Evaluates the expressions of one template.

    - `scopes`: its variables.
    - `unsure`: the number of conditions around whose values are unknown.
    - `changed`: maps that a function has changed, by id.
    - `broken`: code at which helm fails.
    - `refusals`: code at which helm stops for certain with a message of the chart.
    - `may_be_skipped`: what is evaluated is under a condition that is unknown, or that the values switch off.
    - `included`: the files that hold only named templates, one of which was included.
    - `is_complete`: nobody sets further values, so that an empty value is meant to be empty.
    """

    def __init__(self, values: Node | None, chart: ChartData, budget: WorkBudget) -> None:
        self.values = values
        self.budget = budget
        self.chart = chart
        self.depth = 0
        self.dollar: object = ROOT
        self.dot: object = ROOT
        self.scopes: list[dict[str, object]] = [{}]
        self.changed: dict[int, object] = {}
        self.unsure = 0
        self.off = 0
        self.code: Code | None = None
        self.broken: list[tuple[Code, tuple[str, ...]]] = []
        self.refusals: list[ChartRefusal] = []
        self.may_be_skipped = False
        self.included: set[str] = set()
        self.is_complete = False

    @abstractmethod
    def rendered(self, text: str, parts: Iterable[Part], dot: object) -> tuple[list[OwnPiece], bool]:
        """Return the text that a template prints, and whether its layout may differ from helm's.

        Raise `Unresolved`.
        """

    def value(self, expression: Pipeline) -> object:
        if expression.kind == "value":
            return expression.value
        if expression.kind == "call":
            return self.called(str(expression.value), expression.args)
        names = expression.value
        assert isinstance(names, tuple)
        of = expression.of
        value: object
        if isinstance(of, Pipeline):
            value = self.value(of)
        elif of == "$":
            value = self.dollar
        else:
            value = self.dot if of == "." else self.variable(str(of))
        top = value is ROOT and names[:1] != ("Chart",)
        if value is ROOT and names:
            value, names = self.field(value, names[0]), names[1:]
        if value is not self.chart.about:
            self.stopped(value, names, of, top)
        for name in names:
            if id(value) in self.changed:
                raise Unresolved
            value = self.field(value, name)
        if value is OPEN or id(value) in self.changed:
            raise Unresolved
        if self.is_complete and isinstance(value, Node) and value.kind == "scalar" and value.value == "":
            return TracedText([("", value)])
        return value

    def called(self, name: str, args: tuple[Pipeline, ...]) -> object:
        """Return the result of a call. For a choice, only the chosen argument must be known."""
        if name in ("and", "or"):
            found: object = None
            for arg in args:
                found = self.value(arg)
                if truth(found) == (name == "or"):
                    break
            return found
        if name == "default" and len(args) == 2:
            found = self.value(args[1])
            return found if truth(found) else self.value(args[0])
        if name == "ternary" and len(args) == 3:
            test = hold_value(self.value(args[2]))
            if not isinstance(test, bool):
                raise Unresolved
            return self.value(args[0 if test else 1])
        return self.call(name, [self.value(arg) for arg in args])

    def field(self, value: object, name: str) -> object:
        if value is ROOT:
            if name == "Values":
                return self.values
            if name != "Chart" or self.chart.about is None:
                raise Unresolved
            return self.chart.about
        return value.get(name) if isinstance(value, dict) else _field(value, name)

    def call(self, name: str, args: list[object]) -> object:
        """Return the result of a template function. Raise `Unresolved`, `Unset` and `Printed`."""
        if name in _RENDERERS and len(args) == 2:
            return self.tpl(args) if name == "tpl" else self.include(args)
        if name not in ("dict", "list", "tuple") and any(arg is ROOT for arg in args):
            raise Unresolved
        if name in ("fail", "required"):
            self.note_refusal(name, args)
        self.budget.spend(steps_for(name, args))
        self.budget.require(size_made(name, args))
        only = args[0] if len(args) == 1 and self.is_complete and name in ENCODING else None
        if isinstance(only, Node) and only.kind != "scalar" and not truth(only):
            return TracedText([("[]" if only.kind == "sequence" else "{}", None)], free=True)
        found = self.change(name, args) if name in _CHANGING and args else call(name, args)
        if isinstance(found, TracedText):
            self.budget.spend(0, found.size)
        return found

    def note_refusal(self, name: str, args: list[object]) -> None:
        """Record that helm stops at a call of `fail`, or of `required` with a value that is null or an empty text."""
        if self.may_be_skipped or self.unsure or self.off or self.code is None:
            return
        if len(args) != (1 if name == "fail" else 2) or (name == "required" and not _is_empty(args[1])):
            return
        try:
            message = read_text(args[0])
        except (Unresolved, Unset):
            message = ""
        self.refusals.append(ChartRefusal(None, self.code, name, message))

    def change(self, name: str, args: list[object]) -> object:
        """Return the result of a function that changes a map.

        A map that is written in values, or that is changed under an unknown condition, is unknown afterwards.
        """
        target = args[0]
        if not isinstance(target, dict):
            self.budget.spend(1 + size_of(target) // 8)
        if self.unsure or not isinstance(target, dict | MadeNode):
            self.mark_changed(target)
            if name in ("set", "unset"):
                raise Unresolved
        if name in ("set", "unset"):
            if not isinstance(target, dict) or len(args) != (3 if name == "set" else 2):
                self.mark_changed(target)
                raise Unresolved
            key = read_text(args[1])
            if name == "set" and _holds(args[2], target):
                self.mark_changed(target)
                raise Unresolved  # a dict that contains itself: helm would not terminate
            target.pop(key, None) if name == "unset" else target.update({key: args[2]})
            return target
        made = as_node(call(name, args))
        if self.unsure:
            return made
        if isinstance(target, dict):
            target.update({entry.name: entry.value for entry in made.entries if entry.name is not None})
        elif isinstance(target, MadeNode):
            # Go changes maps in place, and replaces lists and texts: a list of the values stays as it is.
            same = {id(node) for node in _nested_maps(made)}
            self.changed.update(
                (id(node), node) for node in _nested_maps(target) if type(node) is Node and id(node) not in same
            )
            target.entries = made.entries
        return target if isinstance(target, dict | MadeNode) else made

    def mark_changed(self, value: object) -> None:
        """Mark a map and the maps inside it as unknown, because they were changed."""
        for node in value.walk() if isinstance(value, Node) else (value,):
            self.changed[id(node)] = node

    def include(self, args: list[object]) -> TracedText:
        """Return the text that a named template of the chart prints (`include`). Unknown parts stay template code."""
        name = hold_value(args[0])
        found = self.chart.definitions.get(name) if isinstance(name, str) else None
        if found is None:
            raise Unresolved
        source = found.source
        if found.only_defines:
            self.included.add(os.path.abspath(source.path))
        first = len(self.refusals)
        pieces, free = self.rendered(source.text, found.definition.body, args[1])
        self.refusals[first:] = [
            refusal if refusal.source is not None else refusal._replace(source=source)
            for refusal in self.refusals[first:]
        ]
        copied = [
            node if start is None else CopiedText(source, start, start + len(text), "scalar", "plain", UNKNOWN)
            for text, node, start in pieces
        ]
        return TracedText([(text, node) for (text, *_), node in zip(pieces, copied, strict=True)], free)

    def tpl(self, args: list[object]) -> object:
        """Return the text that a value prints as a template (`tpl`)."""
        value = args[0]
        if (
            isinstance(value, Node)
            and value.value is UNKNOWN
            and "{{" in value.unquoted
            and "\\" not in value.unquoted
        ):
            traced_text = TracedText([(value.unquoted, value)])
        else:
            traced_text = printed(value)
        text = str(traced_text)
        if "{{" not in text:
            return args[0]
        try:
            parts = parse(text)
        except BadTemplate:
            raise Unresolved from None
        whole = traced_text.pieces[0][1] if len(traced_text.pieces) == 1 else None
        first = len(self.refusals)
        pieces, free = self.rendered(text, parts, args[1])
        assert self.code is not None
        self.refusals[first:] = [
            refusal if refusal.source is not None else refusal._replace(code=self.code)
            for refusal in self.refusals[first:]
        ]
        own = [(text, node if start is None else whole) for text, node, start in pieces]
        return TracedText(own, free or traced_text.free)

    def stopped(self, value: object, names: tuple[str, ...], of: object, top: bool) -> None:
        """Record the first missing field in a lookup: helm fails there, except for `Values` itself.

        In helm, a variable or an expression in brackets without a value gives nothing, so these are not recorded.
        """
        if (value is None and not top) or self.code is None or self.unsure or self.off or self.depth:
            return
        base = str(of).removesuffix(".") if isinstance(of, str) else ""
        written = f"{base}.Values" if top else base
        for n, name in enumerate(names):
            if n and (value is None or (isinstance(value, Node) and value.value is None and value.kind == "scalar")):
                self.broken.append((self.code, (written, *names[: n + 1])))
                return
            if value is not None and (not isinstance(value, Node) or value.kind != "mapping"):
                return
            value = value.get(name) if isinstance(value, Node) else None

    def variable(self, name: str) -> object:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        raise Unresolved


def _is_empty(value: object) -> bool:
    """Return whether `required` refuses a value. A value that is unknown is not empty."""
    if isinstance(value, Node):
        return value.kind == "scalar" and (value.value is None or (isinstance(value.value, str) and not value.value))
    return value is None or (isinstance(value, TracedText | str) and not str(value))


def _nested_maps(node: Node) -> Iterator[Node]:
    """Yield a map and the maps that are values in it, at all levels. Maps in lists are left out."""
    if node.kind == "mapping":
        yield node
        for entry in node.entries:
            yield from _nested_maps(entry.value)


def _holds(value: object, wanted: object) -> bool:
    """Return whether `value` is the dict `wanted`, or contains it at any depth."""
    pending, seen = [value], set()
    while pending:
        part = pending.pop()
        if part is wanted:
            return True
        if isinstance(part, dict | list) and id(part) not in seen:
            seen.add(id(part))
            pending += part.values() if isinstance(part, dict) else part
    return False


def _field(value: object, name: str) -> object:
    if value is None:
        return None
    if not isinstance(value, Node) or value.value is UNKNOWN:
        raise Unresolved
    if value.kind == "scalar" and value.value is None:
        return None
    if value.kind != "mapping":
        raise Unresolved
    return value.get(name)
