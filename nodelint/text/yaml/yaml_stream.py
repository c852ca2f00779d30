"""Read the documents that concern Karpenter from a YAML stream that is too long for memory, with their positions."""

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
"""The most bytes of a stream that is read."""

_BLOCK = 1 << 17
"""The number of bytes that are read at once: they stay in the processor's cache while they are searched."""

_LONGEST_DOCUMENT = 8 << 20
_BORDER = b"\n---"
_OVERLAP = 32
"""The most bytes of a keyword or a `---` line that is split between two blocks."""


class PassedOver(NamedTuple):
    """The amount of skipped text before an offset of an excerpt, counted from the start of the stream.

    - `offset`: the offset in the excerpt.
    - `lines`, `characters`: the skipped lines and characters.

    Skipped text is not a gap, because it does not mention Karpenter. Positions take it into account.
    """

    offset: int
    lines: int
    characters: int


class Excerpt(Source):
    """The documents of a stream that concern Karpenter, joined. Positions are those in the stream.

    It cannot be edited.
    """

    __slots__ = ("_firsts", "_offsets", "_passed_over")
    whole: ClassVar[bool] = False

    def __init__(self, path: str, text: str, also: str | None = None) -> None:
        super().__init__(path, text, also)
        self._passed_over: list[PassedOver] = []
        self._offsets: list[int] = []
        self._firsts: list[int] = []

    def take_passed_over(self, passed_over: list[PassedOver]) -> None:
        """Set the skipped parts, in the order of the text."""
        self._passed_over = passed_over
        self._offsets = [part.offset for part in passed_over]
        self._firsts = [super(Excerpt, self).position(offset).line for offset in self._offsets]

    def position(self, offset: int) -> Position:
        """Return line, column and offset of a character in the stream."""
        at = super().position(offset)
        last = bisect_right(self._offsets, offset) - 1
        if last < 0:
            return at
        _, lines, characters = self._passed_over[last]
        return Position(at.line + lines, at.column, at.offset + characters)

    def line(self, number: int) -> str:
        """Return the text of a line of the stream. Empty if the line was skipped."""
        shown = [first + part.lines for first, part in zip(self._firsts, self._passed_over, strict=True)]
        at = bisect_right(shown, number) - 1
        own = number if at < 0 else number - self._passed_over[at].lines
        if at + 1 < len(self._firsts) and own >= self._firsts[at + 1]:
            return ""
        return super().line(own)


def read(path: str, handle: int) -> Excerpt | None:
    """Return the documents of a YAML stream that mention Karpenter. None if there are none.

    The stream is read block by block. Raise OSError if the stream, or a document that mentions Karpenter, is too
    long.
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
    """Collects the documents of a stream that mention Karpenter, and the skipped parts between them."""

    def __init__(self) -> None:
        self.karpenter_documents: list[bytes] = []
        self.passed_over: list[PassedOver] = []
        self._length = 0
        self._lines = self._characters = 0
        self._pending: list[bytes] = []
        self._size = 0
        self._has_keyword = False
        """Whether the pending bytes contain a keyword."""
        self._tail = b""
        self._cut = False

    def add(self, block: bytes) -> None:
        """Add the next block of the stream. Raise OSError if a document that mentions Karpenter is too long."""
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
        """Make the beginning of a document the only pending bytes."""
        self._pending = [data]
        self._size = len(data)
        self._tail = data[-_OVERLAP:]
        self._has_keyword = bytes_hold_keyword(data)

    def end(self) -> None:
        """Process the pending bytes at the end of the stream."""
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
    """Return the offset of the next document after `start`, or the end of the data."""
    at = data.find(_BORDER, start - 1)
    while at >= 0 and not _parts(data, at):
        at = data.find(_BORDER, at + 1)
    return at + 1 if at >= 0 else len(data)


def _last_border(data: bytes) -> int:
    """Return the offset of the last document. 0 if there is only one."""
    at = data.rfind(_BORDER)
    while at >= 0 and not _parts(data, at):
        at = data.rfind(_BORDER, 0, at + len(_BORDER) - 1)
    return at + 1


def _parts(data: bytes, at: int) -> bool:
    """Return whether the line after a line feed is a `---` line. If the block ends within the line, return False."""
    return data[at + len(_BORDER) : at + len(_BORDER) + 1] in (b" ", b"\t", b"\r", b"\n")
