"""Render a template with the values of its chart, and record the origin of each character.

Template code with a result that is unknown before the installation stays. An empty value becomes a placeholder. A
condition on an empty value becomes keys with placeholders, because the user of the chart may set the value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from nodelint.base.budget import WorkBudget
from nodelint.base.tuples import NamedTuple
from nodelint.forms.lib.gotemplate.expressions import (
    NO_CHART,
    OPEN,
    ChartData,
    ChartRefusal,
    OwnPiece,
    TemplateEvaluator,
)
from nodelint.forms.lib.gotemplate.sprig_values import (
    UNSET,
    Printed,
    TracedText,
    Unresolved,
    Unset,
    as_node,
    printed,
    truth,
)
from nodelint.forms.lib.gotemplate.syntax import Action, Block, Branch, Code, Definition, Part, Verbatim
from nodelint.text.nodes import Node, SourceText

_MOST = 8_000_000
"""The most bytes that a template and its functions create."""
_FOR_SEGMENT = 64
"""The least number of bytes that count for a piece of text in addition to its characters."""


class Segment(NamedTuple):
    """The characters of the rendered text from `at` to the next segment.

    - If `code` is None, they are the template's own characters from `start` on.
    - Otherwise `code` printed them, and `node` is the value or the part of a named template.
    """

    at: int
    start: int
    code: Code | None = None
    node: Node | None = None


class Filled(NamedTuple):
    """A rendered template.

    - `text`: the text.
    - `segments`: the origins of its characters.
    - `values`: the number of values and templates that it prints.
    - `holes`: the number of blocks that print nothing because a value is empty.
    - `broken`: code at which helm fails, each with the field that it reads from a missing value.
    - `included`: the files that hold only named templates, one of which it prints.
    - `left_out`: whether one of the holes is a block of whole objects.
    - `refusals`: code at which helm stops with a message of the chart.
    """

    text: str
    segments: tuple[Segment, ...]
    values: int
    holes: int
    broken: tuple[tuple[Code, tuple[str, ...]], ...] = ()
    included: frozenset[str] = frozenset()
    left_out: bool = False
    refusals: tuple[ChartRefusal, ...] = ()


Holes = Literal["keys", "some keys", "code", "nothing", "as helm", "objects"]
"""The text for a block that prints nothing.

It is the keys of the block with placeholders (in all blocks or in every other one), its code, or nothing. `as helm`
also prints nothing for a block of whole objects that a `false` disables; `objects` keeps each block of whole objects,
and is else as `keys`.
"""


_DEEPEST = 12
"""The deepest nesting of templates that include each other."""
_FIELD_OF_DOT = re.compile(
    r"\{\{-?\s*(?:if|with|range|else\s+if|else\s+with)\s+\.[A-Za-z]\w*\s*-?\}\}|\{\{-?\s*else\s*-?\}\}"
)
_WHOLE_OBJECT = re.compile(r"(?m)^apiVersion:")
_LEAVES = re.compile(r"\{\{-?\s*(?:break|continue)\b")


def fill(
    text: str,
    parts: Iterable[Part],
    values: Node | None,
    holes: Holes,
    chart: ChartData = NO_CHART,
    defaults: SourceText | None = None,
    is_complete: bool = False,
) -> Filled:
    """Render a parsed template. Raise `BudgetSpent`.

    `defaults` are the chart's own values if others are merged: then a list item from the others is complete.
    `is_complete`: the values are all values of a release. An empty text in a longer one is empty, and a block whose
    value is empty prints nothing.
    """
    filler = _Filler(text, values, holes, chart, WorkBudget(size=_MOST))
    filler.defaults, filler.is_complete = defaults, is_complete
    filler.fill_parts(parts)
    segments = tuple(filler.segments)
    return Filled(
        "".join(filler.out),
        segments,
        filler.printed,
        filler.left_out,
        tuple(filler.broken),
        frozenset(filler.included),
        filler.left_out_objects > 0,
        tuple(filler.refusals),
    )


def fill_text(text: str, parts: Iterable[Part], dot: object) -> list[OwnPiece]:
    """Return the text that a template prints for `dot` alone, in pieces. Raise `BudgetSpent` and `Unresolved`.

    Nobody sets further values: what is empty is printed as empty.
    """
    filler = _Filler(text, None, "code", NO_CHART, WorkBudget(size=_MOST))
    filler.is_complete = True
    return filler.rendered(text, parts, dot)[0]


class _Filler(TemplateEvaluator):
    def __init__(self, text: str, values: Node | None, holes: Holes, chart: ChartData, budget: WorkBudget) -> None:
        super().__init__(values, chart, budget)
        self.text = text
        self.unresolved = 0
        self.holes = holes
        self.left_out = self.left_out_objects = 0
        self.free = False
        self.defaults: SourceText | None = None
        self.whole: object = None
        """The item of a list that no other values extend."""
        self.printed = 0
        self.out: list[str] = []
        self.length = 0
        self.segments: list[Segment] = []

    # -- writing

    def add(self, text: str, start: int, code: Code | None = None, node: Node | None = None) -> None:
        if not text:
            return
        self.segments.append(Segment(self.length, start, code, node))
        self.out.append(text)
        self.length += len(text)
        self.budget.spend(0, len(text) + _FOR_SEGMENT)

    def verbatim(self, start: int, end: int) -> None:
        self.add(self.text[start:end], start)

    def last(self) -> str:
        """Return the last character that is not white space. Empty if there is none."""
        for text in reversed(self.out):
            if text.strip():
                return text.rstrip()[-1]
        return ""

    # -- parts

    def fill_parts(self, parts: Iterable[Part]) -> None:
        for part in parts:
            self.budget.spend()
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
            traced_text = printed(self.value(action.expression))
            if self.is_complete and not str(traced_text).strip("\"'") and not self.is_within_text(code):
                raise Unset
        except Unresolved:
            self.unresolved += 1
            self.verbatim(code.outer_start, code.outer_end)
        except (Unset, Printed):
            self.unset(code)
        else:
            self.traced_text(traced_text, code)

    def traced_text(self, traced_text: TracedText, code: Code) -> None:
        self.free |= traced_text.free
        self.printed += 1
        for text, node in traced_text.pieces:
            self.add(text, code.start, code, node)

    def is_within_text(self, code: Code) -> bool:
        """Return whether code prints only a part of a text, such as the prefix of a name."""
        before, after = (self.out[-1][-1] if self.out else ""), self.text[code.outer_end : code.outer_end + 1]
        return not (before.isspace() or before in "\"'") or not (after.isspace() or after in "\"'")

    def unset(self, code: Code) -> None:
        """Print a placeholder for a value that is not set.

        If the value may have several lines, print the code instead.
        """
        self.free = True
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
        value: object = OPEN
        if action.expression is not None:
            try:
                value = self.value(action.expression)
            except (Unresolved, Printed):
                value = OPEN
            except Unset:
                value = None
        if action.declares:
            self.scopes[-1][action.variable] = value
            return
        for scope in reversed(self.scopes):
            if action.variable in scope:
                scope[action.variable] = OPEN if self.unsure else value
                return

    # -- blocks

    def block(self, block: Block) -> None:
        for n, branch in enumerate(block.branches):
            self.code = branch.code
            try:
                if branch.word == "else":
                    self.inside(branch, OPEN, False)
                    return
                if branch.expression is None or self.is_left_early(block, n):
                    raise Unresolved
                value = self.value(branch.expression)
                if isinstance(value, dict | list):
                    value = as_node(value)
                taken = truth(value) or (self.holes != "as helm" and self.is_switched_off(block, value))
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

    def is_left_early(self, block: Block, n: int) -> bool:
        """Return whether a loop may end, or skip an iteration, before its last line."""
        start = block.branches[n].code.end
        return block.branches[n].word == "range" and _LEAVES.search(self.text, start, block.end.start) is not None

    def is_switched_off(self, block: Block, value: object) -> bool:
        """Return whether a block of whole objects is disabled by a `false` in the values.

        The block is rendered nevertheless: other values may enable it.
        """
        if len(block.branches) > 1 or block.branches[0].word != "if" or not isinstance(value, Node):
            return False
        body = self.text[block.branches[0].code.end : block.end.start]
        return value.value is False and _WHOLE_OBJECT.search(body) is not None

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
            pairs = [(TracedText([(name, e.key)]), e.value) for name, e in sorted(named, key=lambda entry: entry[0])]
        else:
            pairs = list(enumerate(value.items))
        self.budget.spend(len(pairs))
        for key, item in pairs:
            given = (key, item) if len(branch.variables) > 1 else (item,)
            self.scopes.append(dict(zip(branch.variables, given, strict=False)))
            self.dot = item
            whole, self.whole = self.whole, item if value.kind == "sequence" else self.whole
            self.fill_parts(branch.body)
            self.whole = whole
            self.scopes.pop()
        self.dot = dot

    def open(self, block: Block, first: int) -> None:
        """Keep the code of a block from one of its branches on. Known values in it are filled in."""
        self.unsure += 1
        self.unresolved += 1
        for n, branch in enumerate(block.branches[first:]):
            code = branch.code
            if n == 0 and first:  # `else if` becomes `if`, because the branches before it are omitted
                written = self.text[code.outer_start : code.outer_end]
                self.add(re.sub(r"\belse\s+", "", written, count=1), code.start, code)
            else:
                self.verbatim(code.outer_start, code.outer_end)
            self.scopes.append(dict.fromkeys(branch.variables, OPEN))
            dot = self.dot
            if branch.word in ("with", "range"):
                self.dot = OPEN
            self.fill_parts(branch.body)
            self.dot = dot
            self.scopes.pop()
        self.verbatim(block.end.outer_start, block.end.outer_end)
        self.unsure -= 1

    def hole(self, block: Block) -> None:
        """Print the replacement for a block that prints nothing because its value is empty."""
        first, end = block.branches[0].code, block.end
        body = "\n".join(self.text[b.code.end : e.start] for b, e in _until(block))
        if "\n" not in body or self.is_final(block):
            return
        if _WHOLE_OBJECT.search(body):
            self.left_out_objects += 1
            if self.holes == "objects":
                self.open(block, 0)  # other values may enable it
                return
        elif self.is_complete:
            return  # helm prints nothing here either
        self.left_out += 1
        if self.holes in ("nothing", "as helm") or (self.holes == "some keys" and self.left_out % 2):
            return
        keys = None if self.holes == "code" else _keys(body)
        if keys is None:
            self.verbatim(first.outer_start, first.end)
            self.verbatim(end.start, end.outer_end)
            return
        for indent, key in keys:
            self.add(f"\n{indent}{key}: {UNSET}", first.start, first)

    def is_final(self, block: Block) -> bool:
        """Return whether a block tests a field of a list item written for this chart only: helm merges no lists."""
        item = self.dot
        if not isinstance(item, Node) or item is not self.whole or item.kind != "mapping":
            return False
        if self.defaults is None or item.source is self.defaults or any(entry.name is None for entry in item.entries):
            return False
        codes = (self.text[branch.code.start : branch.code.end] for branch in block.branches)
        return all(_FIELD_OF_DOT.fullmatch(code) for code in codes)

    def rendered(self, text: str, parts: Iterable[Part], dot: object) -> tuple[list[OwnPiece], bool]:
        """Return the pieces of text that a template prints for `dot`, and whether a part is unknown.

        Unknown parts stay template code, and empty blocks are replaced as in this template. Raise `Unresolved` if
        templates are nested too deeply.
        """
        if self.depth >= _DEEPEST:
            raise Unresolved
        inner = _Filler(text, self.values, self.holes, self.chart, self.budget)
        inner.depth, inner.dot, inner.dollar, inner.changed = self.depth + 1, dot, dot, self.changed
        inner.included, inner.refusals = self.included, self.refusals
        inner.may_be_skipped = bool(self.may_be_skipped or self.unsure or self.off)
        inner.left_out, inner.defaults, inner.whole = self.left_out, self.defaults, self.whole
        inner.is_complete = self.is_complete
        inner.fill_parts(parts)
        self.left_out = inner.left_out
        self.left_out_objects += inner.left_out_objects
        pairs = zip(inner.out, inner.segments, strict=True)
        unknown = inner.free or inner.unresolved > 0
        own = [(text, s.node, s.start if s.code is None else None) for text, s in pairs]
        return own, unknown


def _until(block: Block) -> list[tuple[Branch, Code]]:
    """Return the branches of a block, each with the code that ends it."""
    codes = [branch.code for branch in block.branches[1:]]
    return list(zip(block.branches, [*codes, block.end], strict=True))


def _keys(body: str) -> list[tuple[str, str]] | None:
    """Return the keys on the outermost lines of a block, each with its indent. None if there are other lines."""
    lines = [line for line in body.split("\n") if line.strip() and not re.match(r"\s*(?:#|\{\{)", line)]
    found = [re.match(r"([ ]*)([A-Za-z][\w./-]*):(?=\s|$)", line) for line in lines]
    least = min((len(line) - len(line.lstrip()) for line in lines), default=None)
    if least is None:
        return None
    outer = [match for line, match in zip(lines, found, strict=True) if len(line) - len(line.lstrip()) == least]
    if any(match is None for match in outer):
        return None
    return list(dict.fromkeys((match[1], match[2]) for match in outer if match is not None))
