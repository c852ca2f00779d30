"""Convert offsets of a text to lines and columns."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate, count

from nodelint.base.tuples import NamedTuple

_ODD_BREAK = "\r(?!\n)|[\x85\u2028\u2029]"


class Position(NamedTuple):
    """A place in a text: line and column count from 1 (columns in code points), the offset from 0."""

    line: int
    column: int
    offset: int


class Lines:
    """The lines of a text, to convert offsets to lines and columns."""

    __slots__ = ("_flat", "_starts", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._flat: str | None = None
        self._starts: list[int] | None = None

    @property
    def flat(self) -> str:
        """Return the text with each lone `\\r`, NEL, LS and PS replaced by a line feed. Offsets do not change.

        It is the text itself if there are none of them.
        """
        if self._flat is None:
            plain = self._text.isascii() and "\r" not in self._text
            self._flat = self._text if plain else re.sub(_ODD_BREAK, "\n", self._text)
            if self._flat == self._text:
                self._flat = self._text
        return self._flat

    def position(self, offset: int) -> Position:
        """Return the line and the column of the character at an offset."""
        lines = self._list_starts()
        offset = max(0, min(offset, len(self._text)))
        line = bisect_right(lines, offset)
        start = lines[line - 1]
        column = offset - start + 1
        if line == 1 and offset > 0 and self._text.startswith("\ufeff"):
            column -= 1  # editors do not count the byte order mark
        return Position(line, column, offset)

    def line(self, number: int) -> str:
        """Return the text of a line, counted from 1, without its line break; empty if there is none."""
        lines = self._list_starts()
        if not 1 <= number <= len(lines):
            return ""
        end = lines[number] - 1 if number < len(lines) else len(self._text)
        return self._text[lines[number - 1] : end].removesuffix("\r").removeprefix("\ufeff")

    def start_of_line(self, number: int) -> int:
        """Return the offset at which a line begins, counted from 1.

        For a number beyond the end, use the last line.
        """
        lines = self._list_starts()
        return lines[min(max(number, 1), len(lines)) - 1]

    def _list_starts(self) -> list[int]:
        if self._starts is None:
            if "\r" in self._text:  # a lone one ends a line for YAML and for editors
                self._starts = [0, *(match.end() for match in re.finditer(r"\r\n?|\n", self._text))]
            else:
                ends = accumulate(map(len, self._text.split("\n")[:-1]))
                self._starts = [0, *map(int.__add__, ends, count(1))]
        return self._starts
