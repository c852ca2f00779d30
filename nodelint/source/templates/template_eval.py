"""A template with the values of its chart filled in, and where each character of the result is from.

What cannot be told before the chart is installed stays template code. A value that is empty becomes a placeholder,
and what a condition leaves out for an empty value becomes keys whose values are placeholders: both are for whoever
installs the chart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal

from nodelint.source.nodes import UNKNOWN, Node
from nodelint.source.templates.gotemplate import (
    Action,
    BadTemplate,
    Block,
    Branch,
    Code,
    Definition,
    Part,
    Pipeline,
    Verbatim,
    parse,
)
from nodelint.source.templates.sprig import call
from nodelint.source.templates.sprig_values import (
    UNSET,
    Printed,
    Rope,
    Unresolved,
    Unset,
    as_node,
    plain,
    printed,
    truth,
)
from nodelint.tuples import NamedTuple

_MOST = 2_000_000
"""Characters that a template may come to."""
_MOST_PARTS = 200_000
"""Parts of it that are filled, those of each round of a loop."""


class Segment(NamedTuple):
    """Characters from `at` on of the result, up to the next segment's.

    They are the template's own from `start` on where `code` is None; else what that code printed, of a value `node`.
    """

    at: int
    start: int
    code: Code | None = None
    node: Node | None = None


class Filled(NamedTuple):
    """A filled template.

    `values` counts the values in it, `holes` the blocks that print nothing because a value is empty. `broken` is code
    over which helm stops, each with the field that it asks of a value that is not there.
    """

    text: str
    segments: tuple[Segment, ...]
    values: int
    holes: int
    broken: tuple[tuple[Code, tuple[str, ...]], ...] = ()


Holes = Literal["keys", "some keys", "code", "nothing"]
"""What stands for a block that prints nothing: its keys with placeholders (in every other), its code, or nothing."""


class TooLong(Exception):
    """The template comes to more than any chart's would."""


_OPEN = object()
"""The value of what is not known before the chart is installed."""


class _Root:
    """What helm gives a template: `.Values`, `.Release` and the like."""


_ROOT = _Root()
_DEEPEST = 12
"""Templates that include each other."""
_RENDERERS = ("include", "template", "tpl")

Definitions = Mapping[str, tuple[str, Definition]]
"""The named templates of a chart, each with the text that it stands in."""


def fill(
    text: str, parts: Iterable[Part], values: Node | None, holes: Holes, definitions: Definitions | None = None
) -> Filled:
    """Fill a template that was parsed. Raises `TooLong`."""
    filler = _Filler(text, values, holes, definitions or {})
    filler.fill_parts(parts)
    segments = tuple(filler.segments)
    given = sum(segment.node is not None for segment in segments)
    return Filled("".join(filler.out), segments, given, filler.left_out, tuple(filler.broken))


class _Filler:
    def __init__(self, text: str, values: Node | None, holes: Holes, definitions: Definitions) -> None:
        self.text = text
        self.definitions = definitions
        self.depth = 0
        self.dollar: object = _ROOT
        self.unresolved = 0
        self.changed: set[int] = set()
        self.values = values
        self.holes = holes
        self.left_out = 0
        self.parts = 0
        self.out: list[str] = []
        self.length = 0
        self.segments: list[Segment] = []
        self.dot: object = _ROOT
        self.scopes: list[dict[str, object]] = [{}]
        self.unsure = 0
        self.off = 0
        self.code: Code | None = None
        self.broken: list[tuple[Code, tuple[str, ...]]] = []

    # -- writing

    def add(self, text: str, start: int, code: Code | None = None, node: Node | None = None) -> None:
        if not text:
            return
        self.segments.append(Segment(self.length, start, code, node))
        self.out.append(text)
        self.length += len(text)
        if self.length > _MOST:
            raise TooLong

    def verbatim(self, start: int, end: int) -> None:
        self.add(self.text[start:end], start)

    def last(self) -> str:
        """The last character but blanks and line breaks."""
        for text in reversed(self.out):
            if text.strip():
                return text.rstrip()[-1]
        return ""

    # -- parts

    def fill_parts(self, parts: Iterable[Part]) -> None:
        for part in parts:
            self.parts += 1
            if self.parts > _MOST_PARTS:
                raise TooLong
            if isinstance(part, Verbatim):
                self.verbatim(part.start, part.end)
            elif isinstance(part, Action):
                self.action(part)
            elif isinstance(part, Block):
                self.block(part)
            else:
                assert isinstance(part, Definition)

    def action(self, action: Action) -> None:
        code = self.code = action.code
        if action.variable is not None:
            self.set(action)
            return
        try:
            if action.expression is None:
                raise Unresolved
            rope = printed(self.value(action.expression))
        except Unresolved:
            self.unresolved += 1
            self.verbatim(code.outer_start, code.outer_end)
        except (Unset, Printed):
            self.unset(code)
        else:
            self.rope(rope, code)

    def rope(self, rope: Rope, code: Code) -> None:
        for text, node in rope.pieces:
            self.add(text, code.start, code, node)

    def unset(self, code: Code) -> None:
        """Put a placeholder for a value; where lines are to come that may be many, the code itself stays."""
        line = self.text[self.text.rfind("\n", 0, code.start) + 1 : code.start]
        behind = self.text[code.end : code.end + 1]
        alone = not line.strip() and behind in ("", "\n", "\r")
        if alone and self.last() not in (":", "-"):
            self.verbatim(code.outer_start, code.outer_end)
            return
        gap = " " if self.out and self.out[-1][-1] in ":-" else ""
        self.add(gap + UNSET, code.start, code)

    def set(self, action: Action) -> None:
        assert action.variable is not None
        value: object = _OPEN
        if action.expression is not None:
            try:
                value = self.value(action.expression)
            except (Unresolved, Printed):
                value = _OPEN
            except Unset:
                value = None
        if action.declares:
            self.scopes[-1][action.variable] = value
            return
        for scope in reversed(self.scopes):
            if action.variable in scope:
                scope[action.variable] = _OPEN if self.unsure else value
                return

    # -- blocks

    def block(self, block: Block) -> None:
        for n, branch in enumerate(block.branches):
            self.code = branch.code
            try:
                if branch.word == "else":
                    self.inside(branch, _OPEN, False)
                    return
                if branch.expression is None:
                    raise Unresolved
                value = self.value(branch.expression)
                if isinstance(value, dict | list):
                    value = as_node(value)
                taken = truth(value) or self.is_switched_off(block, value)
                if taken and branch.word == "range" and (not isinstance(value, Node) or value.kind == "scalar"):
                    raise Unresolved
            except (Unresolved, Printed):
                self.open(block, n)
                return
            except Unset:
                value, taken = None, False
            if taken and branch.word == "range":
                self.range(branch, value)
                return
            if taken:
                off = not truth(value)
                self.off += off
                self.inside(branch, value, branch.word == "with")
                self.off -= off
                return
        self.hole(block)

    def is_switched_off(self, block: Block, value: object) -> bool:
        """Whether a block of whole objects is left out for a `false` in the values: once switched on, it is there."""
        if len(block.branches) > 1 or block.branches[0].word != "if" or not isinstance(value, Node):
            return False
        body = self.text[block.branches[0].code.end : block.end.start]
        return value.value is False and re.search(r"(?m)^apiVersion:", body) is not None

    def inside(self, branch: Branch, value: object, as_dot: bool) -> None:
        dot = self.dot
        self.scopes.append(dict.fromkeys(branch.variables, value))
        if as_dot:
            self.dot = value
        self.fill_parts(branch.body)
        self.dot = dot
        self.scopes.pop()

    def range(self, branch: Branch, value: object) -> None:
        assert isinstance(value, Node)
        dot = self.dot
        pairs: list[tuple[object, object]]
        if value.kind == "mapping":
            named = [(entry.name, entry) for entry in value.entries if entry.name is not None]
            pairs = [(Rope([(name, e.key)]), e.value) for name, e in sorted(named, key=lambda entry: entry[0])]
        else:
            pairs = list(enumerate(value.items))
        for key, item in pairs:
            given = (key, item) if len(branch.variables) > 1 else (item,)
            self.scopes.append(dict(zip(branch.variables, given, strict=False)))
            self.dot = item
            self.fill_parts(branch.body)
            self.scopes.pop()
        self.dot = dot

    def open(self, block: Block, first: int) -> None:
        """Leave a block as it is from one of its branches on; what is known inside is filled in."""
        self.unsure += 1
        self.unresolved += 1
        for n, branch in enumerate(block.branches[first:]):
            code = branch.code
            if n == 0 and first:  # `else if` begins the block, for the branches before it are not there
                written = self.text[code.outer_start : code.outer_end]
                self.add(re.sub(r"\belse\s+", "", written, count=1), code.start, code)
            else:
                self.verbatim(code.outer_start, code.outer_end)
            self.scopes.append(dict.fromkeys(branch.variables, _OPEN))
            dot = self.dot
            if branch.word in ("with", "range"):
                self.dot = _OPEN
            self.fill_parts(branch.body)
            self.dot = dot
            self.scopes.pop()
        self.verbatim(block.end.outer_start, block.end.outer_end)
        self.unsure -= 1

    def hole(self, block: Block) -> None:
        """What stands for a block that prints nothing, for the value it asks for is empty."""
        first, end = block.branches[0].code, block.end
        body = "\n".join(self.text[b.code.end : e.start] for b, e in _until(block))
        if "\n" not in body:
            return
        self.left_out += 1
        if self.holes == "nothing" or (self.holes == "some keys" and self.left_out % 2):
            return
        keys = None if self.holes == "code" else _keys(body)
        if keys is None:
            self.verbatim(first.outer_start, first.end)
            self.verbatim(end.start, end.outer_end)
            return
        for indent, key in keys:
            self.add(f"\n{indent}{key}: {UNSET}", first.start, first)

    # -- expressions

    def value(self, expression: Pipeline) -> object:
        if expression.kind == "value":
            return expression.value
        if expression.value in ("and", "or") and expression.kind == "call":
            found: object = None
            for arg in expression.args:
                found = self.value(arg)
                if truth(found) == (expression.value == "or"):
                    break
            return found
        if expression.kind == "call":
            return self.call(str(expression.value), [self.value(arg) for arg in expression.args])
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
        top = value is _ROOT
        if top and names:
            value, names = self.field(value, names[0]), names[1:]
        self.stopped(value, names, of, top)
        for name in names:
            if id(value) in self.changed:
                raise Unresolved
            value = self.field(value, name)
        if value is _OPEN or id(value) in self.changed:
            raise Unresolved
        return value

    def field(self, value: object, name: str) -> object:
        if value is _ROOT:
            if name != "Values":
                raise Unresolved
            return self.values
        return value.get(name) if isinstance(value, dict) else _field(value, name)

    def call(self, name: str, args: list[object]) -> object:
        """What a function gives. Raises `Unresolved`, `Unset` and `Printed`."""
        if name in ("set", "unset") and args:
            self.changed.add(id(args[0]))
            raise Unresolved
        if name in _RENDERERS and len(args) == 2:
            return self.tpl(args) if name == "tpl" else self.include(args)
        if name not in ("dict", "list", "tuple") and any(arg is _ROOT for arg in args):
            raise Unresolved
        return call(name, args)

    def include(self, args: list[object]) -> Rope:
        """What a template of the chart prints. What of it is not known makes all of it unknown."""
        found = self.definitions.get(str(plain(args[0])))
        if found is None:
            raise Unresolved
        text, definition = found
        return Rope([(piece, node) for piece, node, _ in self.rendered(text, definition.body, args[1])])

    def tpl(self, args: list[object]) -> object:
        """What a text of the values prints that is a template itself."""
        value = args[0]
        if (
            isinstance(value, Node)
            and value.value is UNKNOWN
            and "{{" in value.unquoted
            and "\\" not in value.unquoted
        ):
            rope = Rope([(value.unquoted, value)])
        else:
            rope = printed(value)
        text = str(rope)
        if "{{" not in text:
            return args[0]
        try:
            parts = parse(text)
        except BadTemplate:
            raise Unresolved from None
        whole = rope.pieces[0][1] if len(rope.pieces) == 1 else None
        made = self.rendered(text, parts, args[1])
        return Rope([(piece, whole if copied else node) for piece, node, copied in made])

    def rendered(self, text: str, parts: Iterable[Part], dot: object) -> list[tuple[str, Node | None, bool]]:
        """What a template prints: texts, each with its value, and whether it is the template's own."""
        if self.depth >= _DEEPEST:
            raise Unresolved
        inner = _Filler(text, self.values, "nothing", self.definitions)
        inner.depth, inner.dot, inner.dollar, inner.changed = self.depth + 1, dot, dot, self.changed
        inner.parts, inner.length = self.parts, self.length
        inner.fill_parts(parts)
        self.parts = inner.parts
        if inner.unresolved or inner.left_out:
            raise Unresolved
        pairs = zip(inner.out, inner.segments, strict=True)
        return [(piece, segment.node, segment.code is None) for piece, segment in pairs]

    def stopped(self, value: object, names: tuple[str, ...], of: object, top: bool) -> None:
        """Note a field of a value that is looked up, and is not there: helm stops at it, but for `Values` itself.

        What a variable holds, or stands in brackets, has no such fields: helm takes these for nothing.
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


def _until(block: Block) -> list[tuple[Branch, Code]]:
    """The branches of a block, each with the code that ends it."""
    codes = [branch.code for branch in block.branches[1:]]
    return list(zip(block.branches, [*codes, block.end], strict=True))


def _keys(body: str) -> list[tuple[str, str]] | None:
    """The keys that the outermost lines of a block write, with their indent; None where these are not keys alone."""
    lines = [line for line in body.split("\n") if line.strip() and not re.match(r"\s*(?:#|\{\{)", line)]
    found = [re.match(r"([ ]*)([A-Za-z][\w./-]*):(?=\s|$)", line) for line in lines]
    least = min((len(line) - len(line.lstrip()) for line in lines), default=None)
    if least is None:
        return None
    outer = [match for line, match in zip(lines, found, strict=True) if len(line) - len(line.lstrip()) == least]
    if any(match is None for match in outer):
        return None
    return list(dict.fromkeys((match[1], match[2]) for match in outer if match is not None))
