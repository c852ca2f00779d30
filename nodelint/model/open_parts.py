"""Find the parts of an object that depend on template code which nodelint does not evaluate."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.model.finding import Span
from nodelint.model.partial_objects import CODE_LINE, CONTROL, SILENT, after, is_part
from nodelint.text import UNKNOWN, Document, Node
from nodelint.text.placeholders import TemplateBlock, list_blocks

_BRANCH = r"[ \t#]*(?:\{\{|\{%|%\{|<%)[-~+=]?\s*(?:else|elif|elsif|end\w*)\b"


class OpenParts(NamedTuple):
    """The parts of an object that depend on template code. Keys are the ids of nodes, values the spans of the code.

    - `values`: values that template code may change or omit, and lists with such an item.
    - `gaining`: mappings to which template code may add keys.
    - `items`: items of lists that template code may omit.
    """

    values: dict[int, Span]
    gaining: dict[int, Span]
    items: dict[int, Span]

    def concerns(self, item: Node) -> bool:
        """Return whether an item of a list depends on template code, as a whole or in part."""
        return id(item) in self.items or any(item.start <= at.start < item.end for at in self.spans)

    def may_omit(self, node: Node) -> bool:
        """Return whether template code may change or omit a value, or a mapping or list that holds it."""
        around: Node | None = node
        while around is not None:
            if id(around) in self.values or id(around) in self.items:
                return True
            around = around.parent
        return False

    @property
    def spans(self) -> list[Span]:
        """Return the spans of all the template code."""
        return [*self.values.values(), *self.gaining.values()]


NO_OPEN_PARTS = OpenParts({}, {}, {})


def find_open_parts(node: Node, kind: str, document: Document) -> OpenParts | None:
    """Return the parts of an object's `spec` that depend on template code. None if they cannot be determined."""
    entry = node.entry("spec")
    if entry is None or not document.templated or is_part(node, kind, document):
        return None
    later = [member.key.start for member in node.entries if member.key.start > entry.key.start]
    end = min((document.end if node is document.root else after(node)), *later, document.end)
    return _Finder(entry.value, entry.key.end, end, document).find()


class _Finder:
    """Finds the parts of a `spec` that depend on template code, between two offsets."""

    def __init__(self, spec: Node, start: int, end: int, document: Document) -> None:
        self._spec, self._start, self._end = spec, start, end
        self._text = spec.source.text
        self._every_block = list_blocks(self._text, document.start, document.end)
        self._blocks = [block for block in self._every_block if start < block.start < end]
        lines = list(re.compile(CODE_LINE).finditer(self._text, start, end))
        self._lines = [line.start() for line in lines]
        self._printing = {
            line.start(): self._level(line)
            for line in lines
            if not any(re.match(pattern, line[0]) for pattern in (CONTROL, SILENT, _BRANCH))
        }
        self._branches = [line.start() for line in lines if re.match(_BRANCH, line[0])]
        self._parts = OpenParts({}, {}, {})
        self._placed: list[tuple[int, int]] = []
        """The ranges of template code that were assigned to a part."""

    @staticmethod
    def _level(line: re.Match[str]) -> int:
        """Return the column at which a line of template code prints."""
        indents = re.findall(r"\bn?indent\s+(\d+)", line[0])
        return int(indents[-1]) if indents else len(line[0]) - len(line[0].lstrip(" \t"))

    def find(self) -> OpenParts | None:
        inside = self._spec.end
        if any(block.start <= self._start < block.end < inside for block in self._every_block):
            return None  # it begins outside and ends inside
        if any(at < inside and not any(b.start < at <= b.end for b in self._blocks) for at in self._branches):
            return None
        self._walk(self._spec, self._start)
        if any(not any(begin <= at < stop for begin, stop in self._placed) for at in self._printing):
            return None
        return self._parts

    def _walk(self, node: Node, home: int) -> None:
        """Visit a value. All template code that belongs to it is after the offset `home`."""
        if node.kind == "mapping":
            self._walk_mapping(node, home)
        elif node.kind == "sequence":
            self._walk_sequence(node, home)
        elif node.value is UNKNOWN:
            self._placed.append((home, node.end))
        elif any(node.start <= at < node.end for at in self._lines):
            self._open(node, node.start, node.end)

    def _walk_mapping(self, node: Node, home: int) -> None:
        keys = sorted(entry.key.start for entry in node.entries)
        for entry in node.entries:
            block = self._block_of(entry.key.start, home)
            if block is not None:
                self._open(entry.value, block.start, block.end)
                continue
            stop = min((key for key in keys if key > entry.key.start), default=self._reach(node))
            printing = [
                at for at in self._printing_in(entry.key.end, stop) if self._printing[at] > self._column(node)
            ]
            if entry.value.start == entry.value.end and printing:
                self._open(entry.value, printing[0], stop)
                continue
            self._walk(entry.value, entry.key.end)
        gaining = self._list_gaining(node, home)
        if gaining:
            self._parts.gaining[id(node)] = self._cover(node, gaining)

    def _walk_sequence(self, node: Node, home: int) -> None:
        gaining = [self._line_end(at) for at in self._list_gaining(node, home)]
        for item in node.items:
            block = self._block_of(item.start, home)
            if block is None:
                self._walk(item, item.start)
            else:
                self._parts.items[id(item)] = Span(node.source, block.start, block.end)
                gaining.append(block.end)
        if gaining:
            self._open(node, home, max([node.end, *gaining]))

    def _block_of(self, at: int, home: int) -> TemplateBlock | None:
        """Return the outermost block that begins at or after `home` and contains the offset `at`.

        None if there is none.
        """
        return next((block for block in self._blocks if home <= block.start < at < block.end), None)

    def _open(self, node: Node, start: int, stop: int) -> None:
        self._placed.append((start, stop))
        self._parts.values[id(node)] = Span(node.source, start, stop)

    def _list_gaining(self, node: Node, home: int) -> Sequence[int]:
        """Return the offsets of template code that may print further members into a collection, at its column."""
        if node.style != "block" or not (node.entries or node.items):
            return ()
        column = self._column(node)
        return [at for at in self._printing_in(home, self._reach(node)) if self._printing[at] == column]

    def _cover(self, node: Node, lines: Sequence[int]) -> Span:
        """Return the range of all template code around lines that print into a mapping."""
        covered = [(at, self._line_end(at)) for at in lines]
        self._placed += covered
        around = [block for block in self._blocks if any(block.start < at < block.end for at in lines)]
        start = min([lines[0], *(block.start for block in around)])
        return Span(node.source, start, max([covered[-1][1], *(block.end for block in around)]))

    def _printing_in(self, start: int, stop: int) -> Iterator[int]:
        return (at for at in self._printing if start <= at < stop)

    def _reach(self, node: Node) -> int:
        return min(after(node), self._end)

    def _line_end(self, at: int) -> int:
        end = self._text.find("\n", at)
        return end if end >= 0 else len(self._text)

    def _column(self, node: Node) -> int:
        first = node.entries[0].key.start if node.entries else node.start
        return first - self._text.rfind("\n", 0, first) - 1
