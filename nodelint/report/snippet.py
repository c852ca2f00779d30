"""Excerpts of files with underlines below the places of a finding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nodelint.base.printable import flat, printable
from nodelint.base.tuples import NamedTuple
from nodelint.model.finding import Span
from nodelint.report.style import TextStyle, cells, wrap
from nodelint.text import SourceText

# Where a long line is cut, the end of a word is looked for within so many characters.
_WORD = 24


class Underline(NamedTuple):
    """A place to underline: with `^` and a colour for the finding's own place, else with `-`; `label` is its text."""

    span: Span
    label: str = ""
    own: bool = False
    colour: str = ""


class _PlacedUnderline(NamedTuple):
    """An underline on its line, from column `start` (0 is the first) up to column `end`."""

    underline: Underline
    line: int
    start: int
    end: int


def excerpt(source: SourceText, underlines: Sequence[Underline], look: TextStyle) -> Iterator[str]:
    """Yield the lines of one file with underlines, in order; `...` replaces skipped lines."""
    placed = [on for underline in underlines if (on := _placed(source, underline)) is not None]
    if not placed:
        return
    margin = len(str(max(on.line for on in placed)))
    gutter = look.style(f"{' ' * margin} |", dim=True)
    room = max(look.width - margin - 3, 20)
    yield gutter
    before = 0
    for number in sorted({on.line for on in placed}):
        if before and number == before + 2:
            left, right, _ = window(source.line(number - 1), 0, 0, room)
            between = source.line(number - 1)[left:right]
            yield f"{look.style(f'{number - 1:>{margin}} |', dim=True)} {flat(between)}".rstrip()
        elif before and number > before + 1:
            yield look.style("...", dim=True)
        before = number
        head = f"{look.style(f'{number:>{margin}} |', dim=True)} "
        for shown, rows in _rows(source.line(number), [on for on in placed if on.line == number], room, look):
            yield f"{head}{shown}".rstrip()
            yield from (f"{gutter} {row}".rstrip() for row in rows)


def _placed(source: SourceText, underline: Underline) -> _PlacedUnderline | None:
    at = source.position(underline.span.start)
    line = source.line(at.line)
    if not line.strip():
        return None
    start = at.column - 1
    # Of what goes over many lines, the first says where to look.
    end = start + max(1, min(underline.span.end - underline.span.start, len(line.rstrip()) - start))
    return _PlacedUnderline(underline, at.line, start, end)


def _rows(
    line: str, underlines: Sequence[_PlacedUnderline], room: int, look: TextStyle
) -> Iterator[tuple[str, list[str]]]:
    """Yield the shown part of a line, with the rows of underlines below; several times if underlines are
    far apart.
    """
    left = sorted(underlines, key=lambda on: (not on.underline.own, on.start))
    while left:
        first = left[0]
        start, end, cut = window(line, first.start, first.end, room)
        here = [on for on in left if on is first or start <= on.start < end]
        left = [on for on in left if on not in here]
        shown = f"{'…' if start else ''}{flat(line[start:end])}{'…' if cut else ''}"
        lead = 1 if start else 0

        def column(offset: int, start: int = start, lead: int = lead) -> int:
            return lead + cells(flat(line[start:offset]))

        yield (
            shown,
            list(_underline_rows([(on, column(on.start), column(min(on.end, end))) for on in here], room, look)),
        )


def _underline_rows(
    underlines: Sequence[tuple[_PlacedUnderline, int, int]], room: int, look: TextStyle
) -> Iterator[str]:
    """Yield one row with the underlines without labels and the last one with a label, then a row for each other
    label.
    """
    ordered = sorted(underlines, key=lambda underline: (underline[1], underline[2]))
    bare = [underline for underline in ordered if not underline[0].underline.label]
    named = [underline for underline in ordered if underline[0].underline.label]
    if named and all(underline[2] < named[-1][1] for underline in bare):
        together, named = [*bare, named[-1]], named[:-1]
    else:
        together = bare
    if together:
        yield from _row(together, room, look)
    for underline in reversed(named):
        yield from _row([underline], room, look)


def _row(underlines: Sequence[tuple[_PlacedUnderline, int, int]], room: int, look: TextStyle) -> Iterator[str]:
    row, at = "", 0
    for on, start, end in underlines:
        if start < at:
            continue
        sign = "^" if on.underline.own else "-"
        colours = {"fg": on.underline.colour, "bold": True} if on.underline.own else {"fg": "cyan"}
        row += " " * (start - at) + look.style(sign * max(1, end - start), **colours)
        at = max(end, start + 1)
    last, start, _ = underlines[-1]
    label = printable(last.underline.label)
    if label and at + 1 + cells(label) <= room:
        yield f"{row} {label}"
        return
    yield row
    indent = " " * min(start, room - cells(label) if cells(label) <= room else room // 4)
    yield from wrap(label, room, indent, indent)


def window(line: str, start: int, end: int, room: int) -> tuple[int, int, bool]:
    """Return start and end of the part of a line that is shown, and whether its end is cut.

    The part contains `start` to `end` and is cut between words. An ellipsis takes one column.
    """
    if cells(line) <= room:
        return 0, len(line), False
    room = max(8, room - 2 if line.isascii() else (room - 2) // 2)
    left = 0 if end <= room else max(0, min(start, start - (room - min(end - start, room)) // 2))
    if left:
        blank = _blank(line, left, min(start, left + _WORD), 1)
        left = blank if blank is not None else left
    right = min(len(line), left + room)
    if right < len(line):
        blank = _blank(line, right, max(min(end, right), right - _WORD), -1)
        right = blank if blank is not None else right
    return left, right, right < len(line)


def _blank(line: str, start: int, stop: int, step: int) -> int | None:
    """Return the first index from `start` to `stop` after white space; None if there is none."""
    return next((n for n in range(start, stop + step, step) if line[n - 1 : n].isspace()), None)
