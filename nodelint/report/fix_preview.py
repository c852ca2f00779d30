"""Show a fix as removed and added lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from nodelint.base.printable import flat, printable
from nodelint.base.tuples import NamedTuple
from nodelint.edits import apply
from nodelint.model.finding import Edit, by_source
from nodelint.model.messages import counted
from nodelint.report.snippet import window
from nodelint.report.style import TextStyle, cells
from nodelint.text import SourceText

LINES = 20
"""The most lines of a fix that are shown in one file."""

FILES = 3
"""The most files of a fix that are shown."""

_ABOVE = 6
"""The most lines that are read above a removed block, to show the block from its first line on."""

# A line that would fill more rows of the terminal is shown around what changes.
_ROWS = 6


class _Line(NamedTuple):
    """A removed (`-`) or added (`+`) line, its number in the old or the new text, and the range that differs."""

    number: int
    sign: str
    text: str
    start: int
    end: int


def fix_lines(edits: Sequence[Edit], home: SourceText, look: TextStyle, rest: str) -> Iterator[str]:
    """Yield the lines that a fix changes, those of the finding's file `home` first.

    `rest` says how to see all lines.
    """
    groups = _group_edits(edits, home)
    for group in groups[:FILES]:
        source = group[0].source
        if len(groups) > 1 or source is not home:
            yield f"    in {printable(source.path)}:"
        changed = list(_changed(source, group))
        for line in changed[:LINES]:
            colour = "red" if line.sign == "-" else "green"
            yield look.style(_show_line(line, look), fg=colour)
        if len(changed) > LINES:
            yield f"      … {counted(len(changed) - LINES, 'more line')}, {rest}"
    if len(groups) > FILES:
        yield f"    … and in {counted(len(groups) - FILES, 'more file')}, {rest}"


def list_shown_edits(edits: Sequence[Edit], home: SourceText) -> list[Edit]:
    """Return the edits in the files whose lines `fix_lines` shows."""
    return [edit for group in _group_edits(edits, home)[:FILES] for edit in group]


def _group_edits(edits: Sequence[Edit], home: SourceText) -> list[Sequence[Edit]]:
    return sorted(by_source(dict.fromkeys(edits)), key=lambda group: group[0].source is not home)


def _show_line(line: _Line, look: TextStyle) -> str:
    """Return a line in one piece, so that it can be copied; of a very long line only the part that changes."""
    head = f"{line.number:>5} {line.sign} "
    text = flat(line.text)
    room = look.width - len(head)
    if cells(text) <= room * _ROWS:
        return f"{head}{text}".rstrip()
    start, end, cut = window(text, line.start, line.end, room)
    return f"{head}{'…' if start else ''}{text[start:end]}{'…' if cut else ''}"


def _changed(source: SourceText, edits: Sequence[Edit]) -> Iterator[_Line]:
    from nodelint.edits.line_diff import fewest

    # Only what lies between the first and the last edit can differ: their lines and one on either side.
    start = min(e.start for e in edits)
    for _ in range(_ABOVE if len(edits) == 1 and not edits[0].text else 2):
        start = source.text.rfind("\n", 0, max(0, start - 1)) + 1
    end = max(e.end for e in edits)
    for _ in range(2):
        end = source.text.find("\n", end) + 1 or len(source.text)
    first = source.position(start).line
    part = source.text[start:end]
    moved = [Edit(source, e.start - start, e.end - start, e.text) for e in edits]
    old, new = part.removesuffix("\n").split("\n"), apply(part, moved).removesuffix("\n").split("\n")
    for tag, i1, i2, j1, j2 in fewest(old, new):
        if tag == "equal":
            continue
        if i1 == i2 or j1 == j2:
            up = _slide(old, i1, i2) if j1 == j2 else _slide(new, j1, j2)
            i1, i2, j1, j2 = i1 - up, i2 - up, j1 - up, j2 - up
        paired = i2 - i1 == j2 - j1
        for i in range(i1, i2):
            yield _Line(first + i, "-", old[i], *_differs(old[i], new[j1 + i - i1] if paired else ""))
        for j in range(j1, j2):
            yield _Line(first + j, "+", new[j], *_differs(new[j], old[i1 + j - j1] if paired else ""))


def _slide(lines: Sequence[str], start: int, end: int) -> int:
    """Return by how many lines to move a change up, so that its block begins with the smallest indent."""
    best, best_indent = 0, _indent(lines[start])
    for up in range(1, start + 1):
        if lines[start - up] != lines[end - up]:
            break
        if (indent := _indent(lines[start - up])) < best_indent:
            best, best_indent = up, indent
    return best


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip()) if line.strip() else len(line) + 1_000  # nothing begins with a blank line


def _differs(line: str, other: str) -> tuple[int, int]:
    """Return start and end of the part of `line` that differs from `other`: the text between their common prefix and
    suffix.
    """
    shorter = min(len(line), len(other))
    start = _alike(shorter, lambda n: line[:n] == other[:n])
    return start, len(line) - _alike(shorter - start, lambda n: line[len(line) - n :] == other[len(other) - n :])


def _alike(most: int, holds: Callable[[int], bool]) -> int:
    """Return the largest number up to `most` for which `holds` is true; it is true for all smaller numbers."""
    least = 0
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if holds(middle) else (least, middle - 1)
    return least
