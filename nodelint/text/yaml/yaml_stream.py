"""Streams of YAML too long to be read whole: the documents that concern Karpenter, at their places in the stream."""

from __future__ import annotations

import errno
import os
from bisect import bisect_right
from collections.abc import Callable

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.text import Position, Source
from nodelint.text.keywords import bytes_hold_keyword

if TYPE_CHECKING:
    from typing import ClassVar


LONGEST = 1 << 30
"""Bytes of a stream that is still read."""

_BLOCK = 1 << 17
"""Bytes that are read at once: they stay in the cache of a processor while they are searched."""

_LONGEST_DOCUMENT = 8 << 20
_BORDER = b"\n---"
_OVERLAP = 32
"""Bytes that a keyword or a border which two blocks share may take."""


class PassedOver(NamedTuple):
    """What of a stream is left out before a character of its excerpt: lines and characters, from the start on.

    That is no gap: nothing in it names Karpenter. Places count it.
    """

    offset: int
    lines: int
    characters: int


class Excerpt(Source):
    """Documents of a stream, one behind the other. Places are those in the stream; no fix is written."""

    __slots__ = ("_firsts", "_offsets", "_passed_over")
    whole: ClassVar[bool] = False

    def __init__(self, path: str, text: str, also: str | None = None) -> None:
        super().__init__(path, text, also)
        self._passed_over: list[PassedOver] = []
        self._offsets: list[int] = []
        self._firsts: list[int] = []

    def take_passed_over(self, passed_over: list[PassedOver]) -> None:
        """Take what was left out, in the order of the text."""
        self._passed_over = passed_over
        self._offsets = [part.offset for part in passed_over]
        self._firsts = [super(Excerpt, self).position(offset).line for offset in self._offsets]

    def position(self, offset: int) -> Position:
        """Line, column and offset in the stream of a character."""
        at = super().position(offset)
        last = bisect_right(self._offsets, offset) - 1
        if last < 0:
            return at
        _, lines, characters = self._passed_over[last]
        return Position(at.line + lines, at.column, at.offset + characters)

    def line(self, number: int) -> str:
        """Return the text of a line of the stream; empty for one that is left out."""
        shown = [first + part.lines for first, part in zip(self._firsts, self._passed_over, strict=True)]
        at = bisect_right(shown, number) - 1
        own = number if at < 0 else number - self._passed_over[at].lines
        if at + 1 < len(self._firsts) and own >= self._firsts[at + 1]:
            return ""
        return super().line(own)


def read(path: str, handle: int) -> Excerpt | None:
    """Return what a stream of YAML holds of Karpenter's, read block by block; None if that is nothing.

    Raise OSError for a stream, or for a document of Karpenter's, that is too long.
    """
    parts = _Parts()
    size = 0
    while block := os.read(handle, _BLOCK):
        size += len(block)
        if size > LONGEST:
            raise OSError(errno.EFBIG, f"larger than {LONGEST >> 30} GiB, which no manifest is")
        parts.add(block)
    parts.end()
    if not parts.karpenter_documents:
        return None
    source = Excerpt.from_bytes(path, b"".join(parts.karpenter_documents))
    assert isinstance(source, Excerpt)
    source.take_passed_over(parts.passed_over)
    return source


class _Parts:
    """The documents of a stream that concern Karpenter, and the gaps between them."""

    def __init__(self) -> None:
        self.karpenter_documents: list[bytes] = []
        self.passed_over: list[PassedOver] = []
        self._length = 0
        self._lines = self._characters = 0
        self._pending: list[bytes] = []
        self._size = 0
        self._has_keyword = False
        """Whether what is pending holds a keyword."""
        self._tail = b""
        self._cut = False

    def add(self, block: bytes) -> None:
        """Take what follows. Raise OSError for a document of Karpenter's that is too long."""
        before, last = self._tail, _last_border(block)
        ahead = before[-len(_BORDER) :]
        shared = 0 if last else _last_border(ahead + block[: len(_BORDER)])
        left = len(block) - last if last else len(ahead) - shared + len(block)
        self._has_keyword = (
            self._has_keyword or bytes_hold_keyword(block) or bytes_hold_keyword(before + block[:_OVERLAP])
        )
        self._pending.append(block)
        self._size += len(block)
        self._tail = (before + block[-_OVERLAP:])[-_OVERLAP:]
        if last and not self._has_keyword and all(map(bytes.isascii, self._pending)):
            self._pass_over(block, last)
        elif last or shared:
            self._go_on(left, self._documents)
        elif self._size > _LONGEST_DOCUMENT:
            if self._has_keyword:
                self._refuse()
            self._go_on(_OVERLAP, self._skip)
            self._cut = True

    def _pass_over(self, block: bytes, end: int) -> None:
        """Skip the pending blocks up to `end` in the last one, without joining them."""
        self._lines += sum([piece.count(b"\n") for piece in self._pending[:-1]]) + block.count(b"\n", 0, end)
        self._characters += self._size - len(block) + end
        self._begin(block[end:])
        self._cut = False

    def _go_on(self, left: int, take: Callable[[bytes], None]) -> None:
        """Give `take` the pending bytes except the last `left`; these stay pending."""
        data = b"".join(self._pending)
        take(data[: len(data) - left])
        self._begin(data[len(data) - left :])

    def _begin(self, data: bytes) -> None:
        """Start with the beginning of a document as all that is pending."""
        self._pending = [data]
        self._size = len(data)
        self._tail = data[-_OVERLAP:]
        self._has_keyword = bytes_hold_keyword(data)

    def end(self) -> None:
        """Take the pending bytes, at the end of the stream."""
        self._documents(b"".join(self._pending))

    def _documents(self, data: bytes) -> None:
        if not data:
            return
        if bytes_hold_keyword(data):
            start = 0
            while start < len(data):
                end = _border(data, start + 1)
                self._document(data[start:end])
                start = end
        else:
            self._skip(data)
        self._cut = False

    def _document(self, data: bytes) -> None:
        if not bytes_hold_keyword(data):
            self._skip(data)
        elif self._cut:
            self._refuse()
        else:
            self.passed_over.append(PassedOver(self._length, self._lines, self._characters))
            self.karpenter_documents.append(data)
            self._length += len(data.decode("utf-8", "replace"))
        self._cut = False

    def _skip(self, data: bytes) -> None:
        self._lines += data.count(b"\n")
        self._characters += len(data) if data.isascii() else len(data.decode("utf-8", "replace"))

    def _refuse(self) -> None:
        text = f"a document of more than {_LONGEST_DOCUMENT >> 20} MiB mentions Karpenter, which no manifest is"
        raise OSError(errno.EFBIG, text)


def _border(data: bytes, start: int) -> int:
    """Return where the next document begins, behind `start`; the end where none does."""
    at = data.find(_BORDER, start - 1)
    while at >= 0 and not _parts(data, at):
        at = data.find(_BORDER, at + 1)
    return at + 1 if at >= 0 else len(data)


def _last_border(data: bytes) -> int:
    """Return where the last document begins; 0 where none does but at the start."""
    at = data.rfind(_BORDER)
    while at >= 0 and not _parts(data, at):
        at = data.rfind(_BORDER, 0, at + len(_BORDER) - 1)
    return at + 1


def _parts(data: bytes, at: int) -> bool:
    """Whether the line behind a line feed separates documents. A line that the block cuts off is not taken
    for one.
    """
    return data[at + len(_BORDER) : at + len(_BORDER) + 1] in (b" ", b"\t", b"\r", b"\n")
