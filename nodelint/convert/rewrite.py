"""Rewrite the text of a document so that an object in it gets another value, and keep all other text.

A field that only moves is moved as text, with its comments, quotes and placeholders. All other changes are made by
`edits`, one by one. The text is parsed after each step, and a step that breaks it is undone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from nodelint import edits
from nodelint.convert.migrate import Blocked, PlaceholderText, plain_with_placeholders, same
from nodelint.edits.formatting import MovedScalar, column
from nodelint.edits.line_diff import opcodes
from nodelint.model.finding import Edit
from nodelint.text import Source, SourceText
from nodelint.text.nodes import MappingEntry, Node

Path = tuple[str, ...]

_COMMENT = re.compile(r"(?:^|(?<=\s))#[^\r\n]*", re.M)

_STEPS = 400
"""More steps than any Karpenter object needs: a rewrite that takes more does not end."""


class EntryLines:
    """The lines of an entry of a block mapping, the column of its key, and the spaces per level of its content."""

    def __init__(self, lines: list[str], indent: int, key: str, step: int) -> None:
        self.lines = lines
        self.indent = indent
        self.key = key
        self.step = step

    def stepped(self, step: int) -> list[str]:
        """Re-indent the lines to `step` spaces per level. Return them unchanged if their indent is irregular."""
        depths = [_indent(line) - self.indent for line in self.lines]
        if step == self.step or any(depth % self.step for depth in depths):
            return self.lines
        return [
            " " * (self.indent + depth // self.step * step) + line.lstrip(" ") if line.strip() else line
            for depth, line in zip(depths, self.lines, strict=True)
        ]


class Draft:
    """The text of a document while it is rewritten, and the object in it that changes."""

    def __init__(self, path: str, text: str, steps: Sequence[str | int]) -> None:
        self._path = path
        self._steps = steps
        self._final = text.endswith("\n")
        self.newline = "\r\n" if "\r\n" in text else "\n"
        self._text = text
        self._node = self._read(text)

    @property
    def text(self) -> str:
        """Return the current text of the document."""
        return self._text

    @property
    def node(self) -> Node:
        """Return the object in the current text. Raise Blocked if the document cannot be parsed alone."""
        if self._node is None:
            raise Blocked("the document cannot be read on its own")
        return self._node

    def rename(self, path: Path, key: str) -> bool:
        """Rename the key at a path. Return whether this was possible."""
        parent = self.node.find(*path[:-1])
        node = parent.key(path[-1]) if parent is not None else None
        if node is None:
            return False
        return self.take(edits.apply(self._text, edits.set_key(node, key)))

    def move(self, source: Path, target: Path) -> bool:
        """Move an entry with its comments to another path, with new mappings if necessary. Return whether this was
        possible.
        """
        entry = self._entry(source)
        if entry is None or self.node.find(*target) is not None:
            return False
        first, last = self._extent(entry)
        lines = self._lines()
        block = EntryLines(lines[first:last], column(entry.key), source[-1], self._step())
        return self._put(block, target, (first, last))

    def paste(self, block: EntryLines, target: Path) -> bool:
        """Insert an entry of another document at a path. Return whether this was possible."""
        return self.node.find(*target) is None and self._put(block, target, None)

    def cut(self, path: Path) -> EntryLines | None:
        """Return the lines of an entry of a block mapping. The entry stays in the text.

        None if the entry shares a line with another one.
        """
        entry = self._entry(path)
        if entry is None:
            return None
        first, last = self._extent(entry)
        return EntryLines(self._lines()[first:last], column(entry.key), path[-1], self._step())

    def lift(self, path: Path) -> bool:
        """Replace an entry by its content. Return whether this was possible."""
        entry = self._entry(path)
        if entry is None or not _block(entry.value):
            return False
        _, last = self._extent(entry)
        lines = self._lines()
        number = self._line_of(entry.key.start)
        indent = column(entry.key)
        comment = lines[number].partition(" #")
        head = [" " * indent + "#" + comment[2]] if comment[1] else []
        body = _shift(lines[number + 1 : last], indent - column(entry.value.entries[0].key))
        return self.take("".join([*lines[:number], *head, *body, *lines[last:]]))

    def nest(self, path: Path, key: str, item: str) -> bool:
        """Rename an entry with a mapping to `key`, and make its value a list with the item `{item: mapping}`. Return
        whether this was possible.
        """
        entry = self._entry(path)
        if entry is None or not _block(entry.value):
            return False
        _, last = self._extent(entry)
        lines = self._lines()
        number = self._line_of(entry.key.start)
        indent = column(entry.value.entries[0].key)
        named = _rename_key(lines[number], entry.key.text, key)
        body = [" " * indent + f"- {item}:{self.newline}", *_shift(lines[number + 1 : last], 4)]
        return self.take("".join([*lines[:number], named, *body, *lines[last:]]))

    def comments(self, path: Path) -> list[str]:
        """Return the comments of an entry and its content. Empty if the entry shares its lines with others."""
        entry = self._entry(path)
        if entry is None:
            return []
        first, last = self._extent(entry)
        lines = _lines(self._text)
        return self._comments(len("".join(lines[:first])), len("".join(lines[:last])))

    def comment(self, path: Path, comments: Sequence[str]) -> None:
        """Insert those of the comments above an entry that the document lost."""
        entry = self._entry(path)
        lost = list((Counter(comments) - Counter(self._comments(0, len(self._text)))).elements()) if comments else []
        if entry is not None and lost:
            lines, at = self._lines(), self._line_of(entry.key.start)
            lines[at:at] = [" " * column(entry.key) + comment + self.newline for comment in lost]
            self.take("".join(lines))

    def _comments(self, start: int, end: int) -> list[str]:
        scalars = [node for node in self.node.walk() if node.kind == "scalar"]
        found = _COMMENT.finditer(self._text, start, end)
        return [m[0].rstrip() for m in found if not any(scalar.start <= m.start() < scalar.end for scalar in scalars)]

    def reach(self, target: Any) -> None:
        """Edit the text until the object has the value `target`. Raise Blocked if no edit achieves it."""
        for _ in range(_STEPS):
            found = _difference(self.node, target)
            if found is None:
                return
            if not self.take(edits.apply(self._text, found)):
                break
        raise Blocked("its text is written in a way that is not converted: do it by hand")

    def _put(self, block: EntryLines, target: Path, source: tuple[int, int] | None) -> bool:
        depth = len(target) - 1
        while depth and not _block(self.node.find(*target[:depth])):
            depth -= 1
        home = self.node.find(*target[:depth])
        if home is None or not _block(home):
            return False
        if depth < len(target) - 1 and home.get(target[depth]) is not None:
            return False
        lines = self._lines()
        indent = column(home.entries[0].key)
        step = self._step()
        wrappers = target[depth:-1]
        made = [" " * (indent + n * step) + name + ":" + self.newline for n, name in enumerate(wrappers)]
        body = [line.rstrip("\r\n") + self.newline for line in block.stepped(step)]
        place = next((n for n, line in enumerate(body) if not line.lstrip().startswith("#")), 0)
        body[place] = _rename_key(body[place], block.key, target[-1])
        made += _shift(body, indent + len(wrappers) * step - block.indent)
        at = self._place(home, target[depth], source)
        if source is None:
            return self.take("".join([*lines[:at], *made, *lines[at:]]))
        first, last = source
        if at != first and first and last < len(lines) and not lines[last].strip():
            above = lines[first - 1].strip()
            if not above or above.endswith(":"):  # remove one of two blank lines, and a blank line below a key
                last += 1
                at = at if at < first else max(at, last)
        if at <= first:
            return self.take("".join([*lines[:at], *made, *lines[at:first], *lines[last:]]))
        return self.take("".join([*lines[:first], *lines[last:at], *made, *lines[at:]]))

    def _place(self, home: Node, key: str, source: tuple[int, int] | None) -> int:
        """Return the number of the line before which a new entry of a mapping is inserted."""
        if key == "metadata":
            return self._extent(home.entries[0])[0]
        spans = [self._extent(entry) for entry in home.entries if not entry.merged]
        if source is not None and source in spans:
            return source[0]
        if not self._final and len(spans) > 1 and home.entries[-1].value.style in ("literal", "folded"):
            return spans[-1][0]  # the text would get a line break that it does not have at the end of a file
        return max(last for _, last in spans)

    def _entry(self, path: Path) -> MappingEntry | None:
        parent = self.node.find(*path[:-1])
        entry = parent.entry(path[-1]) if parent is not None and _block(parent) else None
        if entry is None or entry.merged or entry.key.unquoted != entry.name:
            return None
        if entry.value.alias or entry.value.shared:
            return None
        start = self._text.rfind("\n", 0, entry.key.start) + 1
        return entry if not self._text[start : entry.key.start].strip(" \ufeff") else None

    def _extent(self, entry: MappingEntry) -> tuple[int, int]:
        """Return the first line of an entry and the line after its last, including comments directly above it and
        indented comments below.
        """
        lines = self._lines()
        first = self._line_of(entry.key.start)
        last = self._line_of(max(entry.value.end, entry.key.end)) + 1
        place = column(entry.key)
        while first and lines[first - 1].lstrip().startswith("#") and _indent(lines[first - 1]) == place:
            first -= 1
        while last < len(lines) and lines[last].lstrip().startswith("#") and _indent(lines[last]) > place:
            last += 1
        return first, last

    def _lines(self) -> list[str]:
        lines = _lines(self._text)
        if lines and not lines[-1].endswith("\n"):
            lines[-1] += self.newline
        return lines

    def _line_of(self, offset: int) -> int:
        return self._text.count("\n", 0, offset)

    def _step(self) -> int:
        """Return the number of spaces by which a mapping is indented below its key."""
        spec = self.node.entry("spec")
        if spec is None or not _block(spec.value):
            return 2
        return max(1, column(spec.value.entries[0].key) - column(spec.key))

    def _read(self, text: str) -> Node | None:
        source = Source.from_text(self._path, text)
        roots = [document.root for document in source.documents if document.root is not None]
        if source.problems or source.set_aside or len(roots) != 1:
            return None
        return roots[0].find(*self._steps)

    def take(self, text: str) -> bool:
        """Replace the text. Return whether the object is still read from it; else nothing changes."""
        if not self._final:
            text = text.removesuffix("\n").removesuffix("\r")
        node = self._read(text)
        if node is None or node.kind != "mapping":
            return False
        self._text, self._node = text, node
        return True


def edits_between(source: SourceText, start: int, old: str, new: str) -> list[Edit]:
    """Return the edits that change the text `old`, which begins at `start` of a source, to `new`, line by line."""
    before, after = _lines(old), _lines(new)
    offsets = list(accumulate(map(len, before), initial=start))
    return [
        edits.difference(source, offsets[a], "".join(before[a:b]), "".join(after[c:d]))
        for tag, a, b, c, d in opcodes(before, after)
        if tag != "equal"
    ]


def _difference(node: Node, target: Any) -> list[Edit] | None:
    """Return the edits for the first place at which a node differs from `target`. None if they are equal."""
    if isinstance(target, dict) and node.kind == "mapping":
        return _mapping_difference(node, target)
    if isinstance(target, list) and node.kind == "sequence":
        return _sequence_difference(node, target)
    if same(plain_with_placeholders(node), target):
        return None
    if node.kind == "scalar" and isinstance(target, (str, int, float)) and not node.alias:
        return edits.set_value(node, _plain_value(target))
    return edits.replace(node, _plain_value(target))


def _mapping_difference(node: Node, target: dict[str, Any]) -> list[Edit] | None:
    for entry in node.entries:
        name = entry.key.text if entry.name is None else entry.name
        if name not in target:
            return edits.remove(entry.value)
    before: str | None = None
    values = {e.key.text if e.name is None else e.name: e.value for e in reversed(node.entries)}
    for key, value in target.items():
        entry_value = values.get(key)
        if entry_value is None:
            return edits.add_key(node, key, _plain_value(value), before)
        found = _difference(entry_value, value)
        if found is not None:
            return found
        before = key
    return None


def _sequence_difference(node: Node, target: list[Any]) -> list[Edit] | None:
    if len(node.items) > len(target):
        gone = next(
            item
            for number, item in enumerate(node.items)
            if number >= len(target) or not same(plain_with_placeholders(item), target[number])
        )
        return edits.remove(gone)
    for item, value in zip(node.items, target, strict=False):
        found = _difference(item, value)
        if found is not None:
            return found
    if len(node.items) < len(target):
        return edits.add_item(node, _plain_value(target[len(node.items)]))
    return None


def _plain_value(value: Any) -> Any:
    """Return a plain value for the edits, in which a placeholder keeps its source text with its quotes."""
    if isinstance(value, dict):
        return {_plain_value(key): _plain_value(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_plain_value(part) for part in value]
    if isinstance(value, PlaceholderText):
        return str(value) if value.written is None else MovedScalar(value.written)
    return value


def _lines(text: str) -> list[str]:
    """Return the lines of a text with their line breaks, as YAML counts them."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _block(node: Node | None) -> bool:
    return node is not None and node.kind == "mapping" and node.style == "block" and bool(node.entries)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _rename_key(line: str, old: str, new: str) -> str:
    return line if old == new else line.replace(old, new, 1)


def _shift(lines: list[str], by: int) -> list[str]:
    """Return lines that are indented by `by` more spaces, or by fewer if it is negative."""
    if by >= 0:
        return [" " * by + line if line.strip() else line for line in lines]
    return [line[min(-by, _indent(line)) :] if line.strip() else line for line in lines]
