"""Render Terraform templates, `${x}` and `%{ for x in y }`, to pieces of text.

Code with an unknown value stays as it is written, with the known values inside it filled in.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from nodelint.base.tuples import NamedTuple
from nodelint.forms.terraform.evaluate import ExpressionEvaluator
from nodelint.forms.terraform.hclstrings import unescape
from nodelint.forms.terraform.hcltree import HclExpression, TemplatePiece
from nodelint.forms.terraform.nodes import EvaluationFailure, TextNode, items_of, joined, text_of
from nodelint.text.nodes import Node
from nodelint.text.unknown_value import UNKNOWN

TextPiece = tuple[str, Node | None]
_DEEPEST = 30


class BadBlocks(Exception):
    """Raised for directives that are not closed or cannot be parsed."""


class TemplatePart(NamedTuple):
    """A piece with its content: the branches of a condition or the body of a loop, and the closing directive."""

    piece: TemplatePiece
    body: tuple[TemplatePart, ...] = ()
    otherwise: tuple[TemplatePart, ...] = ()
    middle: TemplatePiece | None = None
    end: TemplatePiece | None = None


class TemplateOutput(Protocol):
    """The receiver of a rendered template."""

    def text(self, start: int, end: int) -> None:
        """Add characters of the template itself."""

    def code(self, start: int, end: int) -> None:
        """Add code that stays because its value is unknown."""

    def value(self, piece: TemplatePiece, pieces: Sequence[TextPiece], whole: bool) -> None:
        """Add the output of code. `whole`: all of it is known."""


def nest(pieces: Sequence[TemplatePiece]) -> tuple[TemplatePart, ...]:
    """Return pieces nested by their directives. Raise `BadBlocks`."""
    reader = iter(pieces)

    def until(words: tuple[str, ...], depth: int) -> tuple[tuple[TemplatePart, ...], TemplatePiece | None]:
        if depth > _DEEPEST:
            raise BadBlocks
        parts: list[TemplatePart] = []
        for piece in reader:
            if piece.word in words:
                return tuple(parts), piece
            if piece.word in ("", "$"):
                parts.append(TemplatePart(piece))
            elif piece.word == "for":
                body, end = until(("endfor",), depth + 1)
                parts.append(TemplatePart(piece, body, end=end))
            elif piece.word == "if":
                body, end = until(("else", "endif"), depth + 1)
                middle: TemplatePiece | None = None
                other: tuple[TemplatePart, ...] = ()
                if end is not None and end.word == "else":
                    middle = end
                    other, end = until(("endif",), depth + 1)
                parts.append(TemplatePart(piece, body, other, middle, end))
            else:
                raise BadBlocks
        if words:
            raise BadBlocks
        return tuple(parts), None

    return until((), 0)[0]


def render(parts: Sequence[TemplatePart], evaluator: ExpressionEvaluator, output: TemplateOutput) -> None:
    """Render a template to `output`. Raise `BudgetSpent`."""
    for part in parts:
        evaluator.budget.spend()
        piece = part.piece
        if piece.word == "":
            output.text(piece.start, piece.end)
        elif piece.word == "$":
            found = _printed(piece, evaluator)
            if found is None:
                output.code(piece.outer_start, piece.outer_end)
            else:
                output.value(piece, *found)
        elif piece.word == "if":
            _condition(part, evaluator, output)
        else:
            _loop(part, evaluator, output)


def _printed(piece: TemplatePiece, evaluator: ExpressionEvaluator) -> tuple[Sequence[TextPiece], bool] | None:
    """Return the output of an interpolation, and whether all of it is known. None if nothing is known."""
    if piece.expression is None:
        return None
    value = evaluator.part(piece.expression)
    if isinstance(value, TextNode):
        return value.pieces, value.value is not UNKNOWN
    if evaluator.budget.attempts and (value.kind != "scalar" or value.value is None):
        raise EvaluationFailure
    if value.kind != "scalar" or value.value is UNKNOWN or value.value is None:
        return None
    return [(text_of(value.value), value)], True


def _condition(part: TemplatePart, evaluator: ExpressionEvaluator, output: TemplateOutput) -> None:
    piece = part.piece
    test = evaluator.value(piece.expression).value if piece.expression is not None else UNKNOWN
    if test in ("true", "false"):
        test = test == "true"
    if isinstance(test, bool):
        render(part.body if test else part.otherwise, evaluator, output)
        return
    output.code(piece.outer_start, piece.outer_end)
    render(part.body, evaluator, output)
    if part.middle is not None:
        output.code(part.middle.outer_start, part.middle.outer_end)
        render(part.otherwise, evaluator, output)
    if part.end is not None:
        output.code(part.end.outer_start, part.end.outer_end)


def _loop(part: TemplatePart, evaluator: ExpressionEvaluator, output: TemplateOutput) -> None:
    piece = part.piece
    over = evaluator.value(piece.expression) if piece.expression is not None else None
    pairs = items_of(over) if over is not None else None
    if pairs is not None:
        for key, item in pairs:
            evaluator.budget.spend()
            given = (key, item) if len(piece.names) > 1 else (item,)
            render(part.body, evaluator.inside(dict(zip(piece.names, given, strict=True))), output)
        return
    at = Node(evaluator.scope.source, piece.start, piece.start, "scalar", "plain", UNKNOWN)
    output.code(piece.outer_start, piece.outer_end)
    render(part.body, evaluator.inside(dict.fromkeys(piece.names, at)), output)
    if part.end is not None:
        output.code(part.end.outer_start, part.end.outer_end)


# -- a template as a value


class Evaluator(ExpressionEvaluator):
    """Evaluates expressions and templates of HCL."""

    def _eval_template(self, expression: HclExpression) -> Node:
        assert isinstance(expression.value, tuple)
        kind, pieces = expression.value
        if kind == "quoted" and len(pieces) == 1 and pieces[0].word == "$" and pieces[0].expression is not None:
            return self.strict(pieces[0].expression)
        place = self.place(expression)
        try:
            parts = nest(pieces)
        except BadBlocks:
            return place
        output = _Text(self, kind)
        render(parts, self, output)
        if not output.whole and all(node is None for _, node in output.pieces):
            return place
        return joined(place, output.pieces, output.whole)


class _Text:
    """Collects the text of a rendered template."""

    def __init__(self, evaluator: ExpressionEvaluator, kind: str) -> None:
        self.source = evaluator.scope.source
        self.budget = evaluator.budget
        self.kind = kind
        self.pieces: list[TextPiece] = []
        self.whole = True

    def text(self, start: int, end: int) -> None:
        written = self.source.text[start:end]
        text = unescape(written) if self.kind == "quoted" else re.sub(r"\$(?=\$\{)|%(?=%\{)", "", written)
        self.budget.spend(0, len(text))
        if text:
            self.pieces.append((text, Node(self.source, start, end, "scalar", "plain", text)))

    def code(self, start: int, end: int) -> None:
        self.whole = False
        self.pieces.append((self.source.text[start:end], None))

    def value(self, piece: TemplatePiece, pieces: Sequence[TextPiece], whole: bool) -> None:
        self.budget.spend(0, sum(len(text) for text, _ in pieces))
        self.pieces += pieces
        self.whole = self.whole and whole
