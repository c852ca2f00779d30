"""Read the lines of a log as bytes, in any encoding, with a limit on the length of a line."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from itertools import chain
from typing import BinaryIO

from nodelint.files.contents import explain_unreadable

LONGEST_LINE = 1 << 20
"""The most bytes of a line that are read. The rest of a longer line is dropped, so that memory is bounded."""

_MARK = re.compile(rb'"?\{ ?(?:\\"|""|")level(?:\\"|""|"):')


class NoLog(ValueError):
    """Raised if the input contains no line of a Karpenter controller's log."""


def bounded(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a stream, each at most `LONGEST_LINE` bytes long. Raise OSError if it cannot be read.

    UTF-16, as Windows PowerShell writes it, becomes UTF-8. A line of an export with many entries is split. Raise
    NoLog for a compressed stream.
    """
    line = stream.readline(LONGEST_LINE)
    if (packed := explain_unreadable(line)) is not None:
        raise NoLog(packed)
    if line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        yield from _lines_of_utf16(line, stream)
        return
    while line:
        if len(line) < LONGEST_LINE or line.endswith(b"\n"):
            yield line
        else:
            yield from _parts(line, stream)
        line = stream.readline(LONGEST_LINE)


def _parts(line: bytes, stream: BinaryIO) -> Iterator[bytes]:
    """Yield a line that is longer than `LONGEST_LINE` in parts.

    A line with many exported entries is cut between entries; of any other line only the beginning is kept.
    """
    more = line
    while len(more) == LONGEST_LINE and not more.endswith(b"\n"):
        marks = [mark.start() for mark in _MARK.finditer(line)]
        rest = line[marks[-1] :] if len(marks) > 1 else b""
        if line:
            yield line[: len(line) - len(rest)]
        more = stream.readline(LONGEST_LINE)
        line = rest + more if rest else b""
    if line:
        yield line


def _lines_of_utf16(start: bytes, stream: BinaryIO) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder("utf-16")("replace")
    rest = ""
    for chunk in chain([start], iter(lambda: stream.read(1 << 16), b"")):
        *whole, rest = (rest + decoder.decode(chunk)).split("\n")
        for text in whole:
            yield f"{text}\n".encode("utf-8", "replace")
        rest = rest[:LONGEST_LINE]
    yield rest.encode("utf-8", "replace")
