"""YAML values with the exact place where each is written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, Literal

from nodelint.tuples import NamedTuple

if TYPE_CHECKING:
    from nodelint.source import Source


class UnknownValue:
    """The value of a scalar that holds a placeholder. There is one: `UNKNOWN`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "unknown"


UNKNOWN: Final = UnknownValue()
Scalar = str | int | float | bool | None | UnknownValue
Kind = Literal["scalar", "mapping", "sequence"]
Style = Literal["plain", "single", "double", "literal", "folded", "flow", "block", "hcl"]


class Position(NamedTuple):
    """A place in a text: line and column count from 1 (columns in code points), the offset from 0."""

    line: int
    column: int
    offset: int


class MappingEntry:
    """A key of a mapping with its value. `merged`: it came through `<<`.

    `name` is the key as it stands in JSON (`true` for `on`), None where it is a placeholder.
    """

    __slots__ = ("key", "merged", "name", "value")

    def __init__(self, key: Node, value: Node, name: str | None, merged: bool = False) -> None:
        self.key = key
        self.value = value
        self.name = name
        self.merged = merged

    def __repr__(self) -> str:
        return f"Entry({self.name!r}, {self.value!r})"


class Node:
    """A YAML value and the characters `start` to `end` of its source that it is written in.

    The span is tight: no anchor, no tag, no comment, no line break after the last character. A block
    scalar begins at its `|` or `>`. A scalar without characters (`key:`) is an empty span behind its
    `:` or `-`. Nodes are compared by identity.
    """

    __slots__ = (
        "alias",
        "aliased",
        "end",
        "entries",
        "items",
        "kind",
        "merges",
        "parent",
        "raw",
        "shared",
        "source",
        "start",
        "style",
        "tag",
        "value",
    )

    source: Source
    start: int
    end: int
    raw: int
    """Where its anchor or tag begins; `start` where it has none."""
    kind: Kind
    style: Style
    value: Scalar
    entries: list[MappingEntry]
    """A mapping's keys: those written, in order, then those merged in."""
    items: list[Node]
    parent: Node | None
    """The collection around it, also for a key; None for the root of a document."""
    alias: bool
    """It is written as `*x`: it may be replaced whole, but nothing inside it."""
    shared: bool
    """It lies inside an alias or a merge and is written elsewhere: no edit may touch it."""
    aliased: bool
    """An alias or a merge refers to it: an edit here changes another place too."""
    tag: str | None
    """The tag it carries, as in `tag:yaml.org,2002:str`."""
    merges: list[MappingEntry]
    """What a mapping holds that is no key of its value: `<<`, and keys that a `<<` below them replaces.

    Of a list, the items that a template writes in the place of others.
    """

    def __init__(self, source: Source, start: int, end: int, kind: Kind, style: Style, value: Scalar = None) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.raw = start
        self.kind = kind
        self.style = style
        self.value = value
        self.entries = _NO_ENTRIES if kind != "mapping" else []
        self.items = _NO_ITEMS if kind != "sequence" else []
        self.merges = _NO_ENTRIES
        self.parent = None
        self.alias = False
        self.shared = False
        self.aliased = False
        self.tag = None

    def __repr__(self) -> str:
        return f"<{self.kind} {self.start}-{self.end} {self.text[:40]!r}>"

    def entry(self, key: str) -> MappingEntry | None:
        """A mapping's key with its value; None where there is no such key or no mapping."""
        for entry in self.entries:
            if entry.name == key:
                return entry
        return None

    def get(self, key: str) -> Node | None:
        """The value of a mapping's key; None where there is no such key or no mapping."""
        for entry in self.entries:
            if entry.name == key:
                return entry.value
        return None

    def key(self, key: str) -> Node | None:
        """The node of a mapping's key itself."""
        for entry in self.entries:
            if entry.name == key:
                return entry.key
        return None

    def at(self, *path: str | int) -> Node | None:
        """The node at the end of a path of keys and indices, None where the path ends early."""
        node: Node | None = self
        for step in path:
            if node is None:
                return None
            if isinstance(step, str):
                node = node.get(step)
            else:
                node = node.items[step] if -len(node.items) <= step < len(node.items) else None
        return node

    def plain(self) -> object:
        """The value as JSON would carry it: dict, list and scalars; placeholders stay `UNKNOWN`."""
        if self.kind == "mapping":
            return {_written(entry): entry.value.plain() for entry in self.entries}
        if self.kind == "sequence":
            return [item.plain() for item in self.items]
        value = self.value
        if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
            return int(value)
        return value

    @property
    def text(self) -> str:
        """The characters it is written in."""
        return self.source.text[self.start : self.end]

    @property
    def written(self) -> str:
        """The same, less the quotes: what a placeholder is shown as."""
        return self.text[1:-1] if self.style in ("single", "double") else self.text

    def walk(self) -> Iterator[Node]:
        """The node and all below it, keys too, in the order of the text (what was merged in comes last)."""
        pending = [self]
        while pending:
            node = pending.pop()
            yield node
            if node.kind == "mapping":
                for entry in reversed(node.entries):
                    pending.append(entry.value)
                    pending.append(entry.key)
            elif node.kind == "sequence":
                pending.extend(reversed(node.items))

    @property
    def path(self) -> str:
        """Where it is in its document: `spec.template.spec.requirements[0].key`, empty for the root."""
        from json import dumps

        steps: list[str] = []
        node = self
        while node.parent is not None:
            parent = node.parent
            if parent.kind == "sequence":
                steps.append(f"[{next(i for i, item in enumerate(parent.items) if item is node)}]")
            else:
                entry = next(e for e in (*parent.entries, *parent.merges) if e.value is node or e.key is node)
                name = _written(entry)
                steps.append(f".{name}" if re.fullmatch(_BARE, name) else f"[{dumps(name)}]")
            node = parent
        return "".join(reversed(steps)).removeprefix(".")


def _written(entry: MappingEntry) -> str:
    """A key's name; of a placeholder its characters, less its quotes."""
    return entry.key.written if entry.name is None else entry.name


_NO_ENTRIES: list[MappingEntry] = []
_NO_ITEMS: list[Node] = []
_BARE = r"[A-Za-z0-9_-]+"
