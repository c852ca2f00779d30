"""Define the tree of expressions and templates of HCL, and process the white space of templates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from nodelint.base.tuples import NamedTuple


class BadExpression(Exception):
    """Raised for tokens that are not an HCL expression, or that are nested too deeply."""


class HclExpression(NamedTuple):
    """A node of an expression tree: the characters `start` to `end`.

    The content of `value` and `parts` depends on `kind`:

    - `literal`: the value.
    - `template`: `quoted`, `heredoc`, `json` or `flush`, and a tuple of `TemplatePiece`.
    - `name`: the name.
    - `attribute`: its name; the object.
    - `index`: the collection and the index.
    - `splat`: the collection, and the expression for each item, in which the item is the name `*`.
    - `call`: the function; its arguments.
    - `spread`: an argument with `...`.
    - `list`: the items.
    - `object`: keys and values in turn.
    - `for`: a `ForLoop`.
    - `condition`: test, then, else.
    - `operation`: the sign; its operands.
    """

    kind: str
    start: int
    end: int
    value: object = None
    parts: tuple[HclExpression, ...] = ()


class ForLoop(NamedTuple):
    """A `for` expression.

    - `names`: its variables.
    - `over`: the collection.
    - `key`: the key of each item, None for a list.
    - `item`: the value of each item.
    - `test`: the condition after `if`.
    - `grouped`: `...` after the value groups values by key.
    """

    names: tuple[str, ...]
    over: HclExpression
    key: HclExpression | None
    item: HclExpression
    test: HclExpression | None
    grouped: bool


class TemplatePiece(NamedTuple):
    """A part of a template: text (`word` is empty, `expression` None), `${}` (`$`), or a directive.

    The word of a directive is `if`, `for`, `else`, `endif`, `endfor`, or `?` if it cannot be parsed. For code,
    `outer_start` and `outer_end` are its range with the white space that its `~` removes. For text, they are its
    range before white space was removed.
    """

    word: str
    start: int
    end: int
    outer_start: int
    outer_end: int
    expression: HclExpression | None = None
    names: tuple[str, ...] = ()


def list_parts(expression: HclExpression) -> list[HclExpression]:
    """Return the expressions directly inside an expression."""
    value = expression.value
    if isinstance(value, ForLoop):
        return [part for part in (value.over, value.key, value.item, value.test) if part is not None]
    if expression.kind == "template" and isinstance(value, tuple):
        return [piece.expression for piece in value[1] if piece.expression is not None]
    return list(expression.parts)


def list_calls(expression: HclExpression, names: Sequence[str]) -> Iterator[HclExpression]:
    """Yield the calls of some functions at or inside an expression."""
    pending = [expression]
    for part in pending:
        if part.kind == "call" and part.value in names:
            yield part
        pending += list_parts(part)


_JSON_LINE = r"(?:[^\\]|\\(?!n).)*+\\n|(?:[^\\]|\\(?!n).)++"


def text_pieces(text: str, start: int, end: int, kind: str) -> Iterator[TemplatePiece]:
    """Yield the text between two offsets of a template, a piece for each line. In JSON, a line break is an escape."""
    if kind == "json":
        for line in re.compile(_JSON_LINE, re.DOTALL).finditer(text, start, end):
            yield TemplatePiece("", line.start(), line.end(), line.start(), line.end())
        return
    while start < end:
        line_end = text.find("\n", start, end) + 1 if kind != "quoted" else 0
        stop = line_end or end
        yield TemplatePiece("", start, stop, start, stop)
        start = stop


def trim_pieces(text: str, pieces: list[TemplatePiece], kind: str) -> None:
    """Remove the white space that the `~` of code removes."""
    blank = r"(?:\s|\\[nrt])" if kind in ("quoted", "json") else r"\s"
    behind = re.compile(rf"{blank}*+")
    for n, piece in enumerate(pieces):
        if not piece.word:
            continue
        left, right = piece.start, piece.end
        neighbour = pieces[n - 1] if n else piece
        if not neighbour.word and text[piece.start + 2] == "~":
            left = _before_blanks(text, neighbour.start, neighbour.end, kind)
            pieces[n - 1] = neighbour._replace(end=left)
        neighbour = pieces[n + 1] if n + 1 < len(pieces) else piece
        if not neighbour.word and text[piece.end - 2] == "~" and piece.end - piece.start > 4:
            match = behind.match(text, neighbour.start, neighbour.end)
            right = match.end() if match is not None else neighbour.start
            pieces[n + 1] = neighbour._replace(start=right)
        pieces[n] = piece._replace(outer_start=left, outer_end=right)


def _before_blanks(text: str, start: int, end: int, kind: str) -> int:
    """Return the offset of the white space at the end of a text.

    In quotes and in JSON, escaped line breaks and tabs are white space as well.
    """
    rest = text[start:end]
    if kind not in ("quoted", "json"):
        return start + len(rest.rstrip())
    parts: list[str] = re.findall(r"\\.|[^\\]|\\\Z", rest, re.DOTALL)
    while parts and (parts[-1].isspace() or parts[-1] in ("\\n", "\\r", "\\t")):
        parts.pop()
    return start + sum(map(len, parts))


def flush_pieces(text: str, pieces: list[TemplatePiece]) -> None:
    """Remove the common indent of the lines of a `<<-` heredoc. Source: `flushHeredocTemplateParts` of hclsyntax.

    If `~` has removed a line break, the text after it does not begin a line and keeps its spaces.
    """
    least: int | None = None
    begins = True
    indents: dict[int, int] = {}
    for n, piece in enumerate(pieces):
        written = text[piece.start : piece.end] if not piece.word else ""
        if begins:
            spaces = len(written) - len(written.lstrip())
            if spaces < len(written) or not written.endswith("\n"):
                least = spaces if least is None else min(least, spaces)
                indents[n] = spaces
        begins = written.endswith("\n")
    for n in indents:
        if not pieces[n].word:
            pieces[n] = pieces[n]._replace(start=pieces[n].start + (least or 0))
