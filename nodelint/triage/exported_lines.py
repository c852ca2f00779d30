"""Find the controller's log lines in a line of a log export: in an array, in JSON strings or CSV cells, or
in a row.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator
from typing import Any

LEVELS = frozenset({"DEBUG", "INFO", "WARN", "ERROR", "DPANIC", "PANIC", "FATAL"})
LEVEL_NAMES = "|".join(sorted(LEVELS))
# Where a line of the controller's begins: as it is, and inside a JSON string.
BEGINS = re.compile(r'\{ ?"level": ?"')
_BEGINS_ESCAPED = re.compile(
    rf'\{{ ?\\"level\\": ?\\"|\\t(?:{LEVEL_NAMES})\\t(?:controller|webhook)\b', re.IGNORECASE
)
_CELL = re.compile(r'"(\{ ?""level"": ?""(?:[^"]|"")*)"')
ARRAY = re.compile(r"\s*\[\s*(?=\{)")
_NEXT = re.compile(r"\s*,\s*(?=\{)")
# So that a long line of something else takes no long time.
_MOST_BROKEN = 100

_DECODER = json.JSONDecoder()


def read_object(text: str, start: int) -> dict[str, Any] | None:
    """Return the JSON object that begins at `start`; None if there is none, or if it is incomplete."""
    try:
        found, _ = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def is_controller_line(found: dict[str, Any]) -> bool:
    """Return whether an object is a line of the controller: zap's keys, and Karpenter's logger or commit."""
    level, logger = found.get("level"), found.get("logger")
    if not isinstance(level, str) or level.upper() not in LEVELS or not isinstance(found.get("message"), str):
        return False
    named = isinstance(logger, str) and logger.partition(".")[0] in ("controller", "webhook")
    return named or (isinstance(found.get("commit"), str) and "time" in found)


def split_export(line: str) -> Iterator[str]:
    """Yield the controller's lines in a line of an export."""
    rest = yield from _in_array(line)
    if rest is None:
        return
    broken = yield from _in_strings(line, rest)
    for cell in _CELL.finditer(line):
        yield cell[1].replace('""', '"')
    yield from _side_by_side(line, rest, broken)


def _in_array(line: str) -> Generator[str, None, int | None]:
    """Yield the lines in an array.

    The generator returns where the rest begins: 0 if there is no array, None if the array was read to its end.
    """
    array = ARRAY.match(line)
    if array is None:
        return 0
    start = array.end()
    while True:
        try:
            found, end = _DECODER.raw_decode(line, start)
        except (ValueError, RecursionError):
            return start
        if isinstance(found, dict) and is_controller_line(found):
            yield line[start:end]
        else:
            yield from split_export(line[start:end])
        comma = _NEXT.match(line, end)
        if comma is None:
            return None
        start = comma.end()


def _in_strings(line: str, done: int) -> Generator[str, None, int]:
    """Yield the JSON strings that contain a line, from `done` on. The generator returns how many could not
    be parsed.
    """
    broken = 0
    for mark in _BEGINS_ESCAPED.finditer(line):
        if mark.start() < done or broken == _MOST_BROKEN:
            continue
        # The string begins there, or a prefix before: a time, the name of a pod.
        floor = max(done, mark.start() - 500)
        opens = line.rfind('"', floor, mark.start())
        while opens > floor and line[opens - 1] == "\\":
            opens = line.rfind('"', floor, opens)
        try:
            text, done = _DECODER.raw_decode(line, opens) if opens >= floor else ("", done)
        except ValueError:
            broken += 1
        else:
            yield text
    return broken


def _side_by_side(line: str, done: int, broken: int) -> Iterator[str]:
    """Yield the objects in a row on one line, from `done` on; `broken` is the number of strings that could not be
    parsed.
    """
    for begins in BEGINS.finditer(line, done):
        if begins.start() < done or broken == _MOST_BROKEN:
            continue
        try:
            _, done = _DECODER.raw_decode(line, begins.start())
        except (ValueError, RecursionError):
            broken += 1
        else:
            yield line[begins.start() : done]
