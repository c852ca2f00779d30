"""Map each character of a scalar's value to its place in the file."""

from __future__ import annotations

import re
from json import dumps

from nodelint.edits import NotEditable
from nodelint.edits.collections import guard
from nodelint.model.finding import Edit, Span
from nodelint.text import Node

_ESCAPE = r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[^\r\n])|[^\\\r\n]"


class ScalarPlaces:
    """The text of a scalar, with the place of each character in the source.

    If the value is folded, or escaped so that characters cannot be mapped, every place is the whole scalar. The
    places are relative to the scalar, so that they stay valid after an edit above it.
    """

    def __init__(self, node: Node, text: str) -> None:
        self.node = node
        self.text = text
        offsets = _offsets(node, text)
        self._offsets = None if offsets is None else [offset - node.start for offset in offsets]

    def locate(self, start: int, end: int) -> Node | Span:
        """Return the span of a range of the text, or the scalar itself if the characters cannot be mapped."""
        if self._offsets is None:
            return self.node
        last = self._offset(end - 1) + 1 if end > start else self._offset(end)
        return Span(self.node.source, self._offset(start), last)

    def replace(self, start: int, end: int, new: str) -> list[Edit]:
        """Return the edits that replace a range of the text. Raise NotEditable if the characters cannot be mapped."""
        if self._offsets is None:
            raise NotEditable("the text is folded or escaped")
        guard(self.node)
        source = self.node.source
        first, last = self._offset(start), self._offset(end)
        if self.node.style == "double":
            return [Edit(source, first, last, dumps(new, ensure_ascii=False)[1:-1])]
        if self.node.style != "literal":
            if "\n" in new:
                raise NotEditable("the text has one line")
            return [Edit(source, first, last, new)]
        begin = source.text.rfind("\n", 0, first) + 1
        indent = source.text[begin:first] if start == 0 or self.text[start - 1] == "\n" else None
        whole = indent is not None and end > start and (end == len(self.text) or self.text[end - 1] == "\n")
        if whole and not new:
            # whole lines are removed with their indent; a blank line has none
            last = self._line(end)
            if last == len(source.text) and not source.text.endswith("\n") and start > 0:
                begin = self._offset(start - 1)  # the file still has no line break at its end
            return [Edit(source, begin, last, "")]
        pad = " " * self._indent()
        return [Edit(source, first, last, new.replace("\n", source.newline + pad))]

    def _offset(self, at: int) -> int:
        """Return the offset in the current source of a character of the text, or of its end."""
        assert self._offsets is not None
        return self.node.start + self._offsets[at]

    def _line(self, at: int) -> int:
        """Return the offset at which the source line of a character begins. For the end of the text, return the end
        of its last line.
        """
        if at == len(self.text):
            end = self.node.source.text.find("\n", self._offset(at))
            return self._offset(at) if self.text.endswith("\n") else (end + 1 or len(self.node.source.text))
        return self.node.source.text.rfind("\n", 0, self._offset(at)) + 1

    def _indent(self) -> int:
        at = next((i for i, c in enumerate(self.text) if c != "\n" and (i == 0 or self.text[i - 1] == "\n")), 0)
        return self._offset(at) - (self.node.source.text.rfind("\n", 0, self._offset(at)) + 1)


def _offsets(node: Node, text: str) -> list[int] | None:
    if node.alias or node.shared:
        return None
    if node.style == "literal":
        return _of_block(node, text)
    if node.style in ("plain", "single", "double"):
        return _of_line(node, text)
    return None


def _of_line(node: Node, text: str) -> list[int] | None:
    inner = node.start + (node.style != "plain")
    raw = node.source.text[inner : node.end - (node.style != "plain")]
    if raw == text and "\\" not in raw:
        return [inner + i for i in range(len(text) + 1)]
    if node.style != "double":
        return None
    found = list(re.finditer(_ESCAPE, raw))
    if sum(len(match[0]) for match in found) != len(raw) or len(found) != len(text):
        return None
    return [*(inner + match.start() for match in found), inner + len(raw)]


def _of_block(node: Node, text: str) -> list[int] | None:
    source = node.source.text
    at = source.find("\n", node.start) + 1
    indent = _block_indent(source, node, at)
    if not at or indent is None:
        return None
    found: list[int] = []
    for line in text.split("\n"):
        end = source.find("\n", at)
        end = len(source) if end < 0 else end
        tight = end - 1 if end > at and source[end - 1] == "\r" else end
        begin = min(at + indent, tight)
        if len(found) == len(text):  # the break that ends the text
            return [*found, at]
        if source[begin:tight] != line:
            return None
        found += range(begin, tight + 1)
        at = end + 1
    return found if len(found) == len(text) + 1 else None


def _block_indent(source: str, node: Node, at: int) -> int | None:
    """Return the indent of a block scalar's lines, which is that of its first line that is not blank. None if it is
    not known.
    """
    header = source[node.start : at]
    if re.match(r"[|>][-+]?[1-9]", header):
        return None  # the header states the indent relative to the parent's: rare
    first = re.compile(r"(?:[ \t]*\r?\n)*( +)\S").match(source, at)
    return None if first is None else len(first[1])
