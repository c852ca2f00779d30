"""Convert between offsets of a text and positions of the protocol, and apply a client's changes."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from lsprotocol import types

_UTF8, _UTF32 = types.PositionEncodingKind.Utf8, types.PositionEncodingKind.Utf32


class LineIndex:
    """The lines of a text, for positions in one encoding (`utf-16`, `utf-8` or `utf-32` units).

    Lines end at `\\n`, `\\r\\n` and a lone `\\r`, as in the protocol. `hides_bom` is for a file that no client has
    opened: an editor shows it without its byte order mark.
    """

    def __init__(self, text: str, encoding: str, hides_bom: bool = False, starts: list[int] | None = None) -> None:
        self.text = text
        self._encoding = encoding
        self._starts = [0, *_behind_breaks(text, 0, len(text))] if starts is None else starts
        if hides_bom and text.startswith("\ufeff"):
            self._starts[0] = 1
        self._plain = encoding == _UTF32 or text.isascii()

    def replaced(self, start: int, end: int, new: str) -> LineIndex:
        """Return the line index of the text with a range replaced."""
        text = self.text[:start] + new + self.text[end:]
        by = len(text) - len(self.text)
        # A line on either side: a `\r` and a `\n` may have come together, or apart.
        first = max(bisect_right(self._starts, start) - 2, 0)
        last = bisect_right(self._starts, end) + 1
        border = self._starts[last] + by if last < len(self._starts) else len(text) + 1
        here = _behind_breaks(text, self._starts[first], min(border, len(text)))
        starts = [*self._starts[: first + 1], *(offset for offset in here if offset < border)]
        starts += [start + by for start in self._starts[last:]] if by else self._starts[last:]
        return LineIndex(text, self._encoding, starts=starts)

    def position(self, offset: int) -> types.Position:
        """Return the position of an offset, limited to the text."""
        offset = max(self._starts[0], min(offset, len(self.text)))
        line = bisect_right(self._starts, offset) - 1
        return types.Position(line, self._units(self.text[self._starts[line] : offset]))

    def offset(self, position: types.Position) -> int:
        """Return the offset of a position; a position after the end of its line is that end."""
        if position.line >= len(self._starts):
            return len(self.text)
        start, end = self._starts[position.line], self.line_end(position.line)
        if self._plain:
            return min(start + position.character, end)
        units = 0
        for offset in range(start, end):
            if units >= position.character:
                return offset
            units += self._units(self.text[offset])
        return end

    def range(self, start: int, end: int) -> types.Range:
        """Return the range between two offsets."""
        return types.Range(self.position(start), self.position(end))

    def line_end(self, line: int) -> int:
        """Return the offset of the line break of a line (0 is the first); the end of the text for the last line."""
        if line + 1 >= len(self._starts):
            return len(self.text)
        end = self._starts[line + 1] - 1
        return end - 1 if self.text[end] == "\n" and self.text[end - 1 : end] == "\r" else end

    def end_of_line_at(self, offset: int) -> int:
        """Return the offset at which the line of a character ends."""
        return self.line_end(bisect_right(self._starts, offset) - 1)

    def _units(self, text: str) -> int:
        if self._plain:
            return len(text)
        if self._encoding == _UTF8:
            return len(text.encode("utf-8", "surrogatepass"))
        return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _behind_breaks(text: str, begin: int, end: int) -> Iterator[int]:
    """Return the offsets after the line breaks in a range of a text."""
    breaks = r"\r\n?|\n" if text.find("\r", begin, end) >= 0 else "\n"
    return (found.end() for found in re.compile(breaks).finditer(text, begin, end))


def changed(lines: LineIndex, changes: Sequence[types.TextDocumentContentChangeEvent], encoding: str) -> LineIndex:
    """Return the line index of a text after a client's changes, each of which applies to the result of the one
    before.
    """
    for change in changes:
        if isinstance(change, types.TextDocumentContentChangePartial):
            start, end = lines.offset(change.range.start), lines.offset(change.range.end)
            lines = lines.replaced(min(start, end), max(start, end), change.text)
        else:
            lines = LineIndex(change.text, encoding)
    return lines
