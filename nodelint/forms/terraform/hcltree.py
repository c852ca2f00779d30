"""What expressions and templates of HCL are read into, and the white space of templates."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nodelint.base.tuples import NamedTuple


class BadExpression(Exception):
    """Words that are no expression of HCL, or one that is nested beyond measure."""


class HclExpression(NamedTuple):
    """A part of an expression: characters `start` to `end`, and what it is.

    `kind` with what `value` and `parts` hold: `literal` (the value), `template` (`quoted`, `heredoc` or `flush`, and
    a tuple of `TemplatePiece`), `name`, `attribute` (name; of what), `index` (of what, which), `splat` (of what, and
    what is asked of each item as an expression over the name `*`), `call` (name; arguments), `spread` (an argument
    with `...`), `list`, `object` (keys and values in turn), `for` (a `ForLoop`), `condition` (test, then, else),
    `operation` (sign; operands).
    """

    kind: str
    start: int
    end: int
    value: object = None
    parts: tuple[HclExpression, ...] = ()


class ForLoop(NamedTuple):
    """A `for` expression: its names, what it runs over, and what it makes of each item."""

    names: tuple[str, ...]
    over: HclExpression
    key: HclExpression | None
    item: HclExpression
    test: HclExpression | None
    grouped: bool


class TemplatePiece(NamedTuple):
    """A part of a template: a text (`word` is empty, `expression` None), `${}` (`$`), or a directive.

    A directive's word is `if`, `for`, `else`, `endif`, `endfor`, or `?` for one that cannot be read. `outer_start`
    and `outer_end` are its place with the white space that its `~` take away; those of a text, its place with what is
    taken away from it.
    """

    word: str
    start: int
    end: int
    outer_start: int
    outer_end: int
    expression: HclExpression | None = None
    names: tuple[str, ...] = ()


_JSON_LINE = r"(?:[^\\]|\\(?!n).)*+\\n|(?:[^\\]|\\(?!n).)++"


def text_pieces(text: str, start: int, end: int, kind: str) -> Iterator[TemplatePiece]:
    """Yield the text between two places of a template, a piece for each line. In JSON a line break is an escape."""
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
    """Take the white space away that the `~` of code take."""
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
    """Where the white space begins that ends a text; `\\\\n` is none."""
    rest = text[start:end]
    if kind not in ("quoted", "json"):
        return start + len(rest.rstrip())
    parts: list[str] = re.findall(r"\\.|[^\\]|\\\Z", rest, re.DOTALL)
    while parts and (parts[-1].isspace() or parts[-1] in ("\\n", "\\r", "\\t")):
        parts.pop()
    return start + sum(map(len, parts))


def flush_pieces(text: str, pieces: list[TemplatePiece]) -> None:
    """Take away what the lines of a `<<-` heredoc begin with alike. Source: `flushHeredocTemplateParts` of hclsyntax.

    A line whose break a `~` has taken is not followed by the beginning of a line: what stands there stays.
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
