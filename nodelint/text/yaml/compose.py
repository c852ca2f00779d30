"""Compose nodes from libyaml's events: exact positions, values, and readable errors.

No function here is recursive: a deeply nested file needs no stack.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from sys import intern

from nodelint.base.budget import BudgetSpent
from nodelint.base.types import TYPE_CHECKING
from nodelint.text.nodes import Kind, MappingEntry, Node, Scalar, SourceText, Style
from nodelint.text.placeholders import (
    CODE,
    MASK,
    alternatives,
    holds_placeholder,
    is_live,
    is_placeholder,
    may_be_replaced,
    may_hold_placeholder,
    replaced,
    unmask,
)
from nodelint.text.syntax_errors import NotInTime, Unreadable, shortened
from nodelint.text.unknown_value import UNKNOWN
from nodelint.text.yaml.libyaml import (
    ALIAS,
    DOCUMENT,
    END_OF_COLLECTION,
    END_OF_STREAM,
    MAPPING,
    SCALAR,
    SEQUENCE,
    Parser,
    libyaml,
)
from nodelint.text.yaml.scalars import finite, key_name, resolve

if TYPE_CHECKING:
    from nodelint.text.yaml.aliases import Copies

DEEPEST = 100
"""The deepest nesting of collections, with aliases resolved. An API server stops at 10,000; no object needs ten."""

_SHORT_STYLES: dict[str | None, Style] = {None: "plain", "": "plain", "'": "single", '"': "double"}
_STYLES: dict[str | None, Style] = {**_SHORT_STYLES, "|": "literal", ">": "folded"}
_IN_WORDS = {"mapping": "mapping", "sequence": "list"}
_MERGES = (None, "tag:yaml.org,2002:merge")
"""Tags of a merge key. Some tools write the tag of `<<` explicitly: `!!merge <<`."""
# compiled at first use: few files have an anchor, a tag or template code
_PROPERTIES = r"(?:(?:&[\w-]+|!<[^>\s]*>|![^\s,\[\]{}]*)(?:\s++|(?<=\s)#[^\n\r]*+)*+)+"
_CODE_AHEAD = r"(?:[ \t]*+(?:#[^\n]*+|\r?)\n)*+[ \t]*(?:\{\{|\{%|%\{|<%|\$\{)"
_BRANCH = r"(?:\{\{|\{%|%\{|<%)[-~+=]?\s*(?:if|unless|else|elif|elsif|end|with|range|for)\b"
_ELSE = r"(?:\{\{|\{%|%\{|<%)[-~+=]?\s*(?:else|elif|elsif)\b"
_IDENTITY = ("apiVersion", "kind")
"""Keys that make two objects if they occur twice. With an `else` between them, only one object is rendered."""
_BYTE_ORDER_MARK = "[\n\r\x85\u2028\u2029](\ufeff)"
"""A byte order mark at the beginning of a line. libyaml skips it, Go's parser reads it as text."""
_SLASH = r"(?<!\\)(?:\\\\)*(\\/)"


_SHORT = 40
"""The most characters of a scalar of which equal ones share one string: keys, kinds and label values occur often."""


class _Frame:
    __slots__ = ("anchor", "key", "names", "node", "raw")

    def __init__(self, node: Node, raw: int, anchor: str | None) -> None:
        self.node = node
        self.raw = raw
        self.key: Node | None = None
        self.names: set[str] = set()
        self.anchor = anchor


def compose(source: SourceText, text: str, base: int, *, masked: bool, literal: bool = False) -> list[Node | None]:
    """Return the roots of the documents in `text`, which begins at offset `base` of the source. Raise `Unreadable`.

    `masked`: template code is masked, so that values may be unknown. `literal`: a `$` is an ordinary character.
    """
    parser = libyaml()
    escapes = "\\u" in text or "\\/" in text
    if escapes and not masked:
        from nodelint.text.yaml.lenient_yaml import is_json  # here, because escapes are rare

        escapes = is_json(text)
    try:
        return _Composer(source, text, base, masked, literal, escapes).run(parser)
    except BudgetSpent as late:
        raise NotInTime(base, str(late)) from None
    except (parser.error, UnicodeEncodeError):
        # ruamel.yaml.clib has libyaml 0.1.7, which refuses `[http://x]`; PyYAML's 0.2.5 is closer to Go's parser.
        return _compose_again(source, text, base, masked, literal, escapes)


def _compose_again(
    source: SourceText, text: str, base: int, masked: bool, literal: bool, escapes: bool
) -> list[Node | None]:
    """Return the roots of a text, parsed with repairs by a newer libyaml. Raise `Unreadable`."""
    from nodelint.text.yaml.lenient_yaml import read_repaired

    def read(parser: Parser, written: str, restore: Callable[[str], str] | None) -> list[Node | None]:
        composer = _Composer(source, written, base, masked, literal, escapes)
        composer.restore = restore
        return composer.run(parser)

    return read_repaired(read, text, base, escapes)


class _Composer:
    def __init__(self, source: SourceText, text: str, base: int, masked: bool, literal: bool, escapes: bool) -> None:
        self.source = source
        self.text = text
        self.base = base
        self.masked = masked
        self.literal = literal
        self.restore: Callable[[str], str] | None = None
        """The function that reverts repairs in a scalar. None if nothing was repaired."""
        self.slashes = "\\/" in text and not escapes
        self.live = not masked and is_live(text)
        self.replaced = not self.live and may_be_replaced(text)
        self.anchors: dict[str, Node | None] = {}
        self.copied: Copies | None = None
        self.byte_order_marks = (
            [found.start(1) for found in re.finditer(_BYTE_ORDER_MARK, text)] if "\ufeff" in text else []
        )
        self.plainly = not (masked or self.slashes or self.byte_order_marks or "?" in text) and (
            self.live or not (self.replaced or may_hold_placeholder(text))
        )
        """Whether a scalar without tag and anchor has the value of its text. This holds for most documents."""

    def run(self, parser: Parser) -> list[Node | None]:
        base, source, plainly = self.base, self.source, self.plainly and self.restore is None
        next_event = parser.read_events(self.text)
        roots: list[Node | None] = []
        stack: list[_Frame] = []
        frame: _Frame | None = None
        while True:
            kind, anchor, tag, text, start, end, form = next_event()
            if kind == SCALAR:
                text = intern(text) if len(text) <= _SHORT else text
                style = _SHORT_STYLES.get(form) if plainly and tag is None and anchor is None else None
                value = resolve(text) if style == "plain" else text
                if style is None or type(value) is float:
                    node = self.scalar(text, _STYLES[form], start + base, end + base, anchor, tag, frame)
                else:
                    node = Node(source, start + base, end + base, "scalar", style, value)
            elif kind == MAPPING or kind == SEQUENCE:  # noqa: SIM109 - a tuple takes longer to look through
                collection: Kind = "mapping" if kind == MAPPING else "sequence"
                frame = self.open(collection, anchor, tag, start + base, end + base, form, frame, len(stack))
                stack.append(frame)
                continue
            elif kind == END_OF_COLLECTION:
                assert frame is not None
                node = frame.node
                self.close(frame, end + base)
                node.raw = frame.raw
                stack.pop()
                frame = stack[-1] if stack else None
            elif kind == ALIAS:
                assert anchor is not None
                node = self.alias(anchor, start + base, end + base, len(stack))
            elif kind == DOCUMENT:
                self.anchors = {}
                roots.append(None)
                continue
            elif kind == END_OF_STREAM:
                break
            else:
                continue
            # the node is complete: add it to its parent
            if frame is None:
                roots[-1] = node
            elif frame.key is None:
                self.item_or_key(frame, node)
            else:
                self.entry(frame, frame.key, node)
        if self.byte_order_marks:
            raise Unreadable(self.base + self.byte_order_marks[0], "the character U+FEFF is not allowed in YAML")
        return roots

    def open(
        self,
        kind: Kind,
        anchor: str | None,
        tag: str | None,
        raw: int,
        end: int,
        flow: bool,
        around: _Frame | None,
        depth: int,
    ) -> _Frame:
        """Return the frame of a mapping or list that begins.

        `around` is the frame of the collection around it, if any.
        """
        if depth >= DEEPEST:
            raise Unreadable(raw, f"nested more than {DEEPEST} levels deep")
        if around is not None and around.key is None and around.node.kind == "mapping":
            raise Unreadable(raw, f"a key must be a string, but this one is a {_IN_WORDS[kind]}")
        start = raw if anchor is None and tag is None else self.after_properties(raw)
        node = Node(self.source, start, end, kind, "flow" if flow else "block")
        if tag is not None:
            node.tag = tag
        if anchor is not None:
            self.anchors[anchor] = None
        return _Frame(node, raw, anchor)

    def item_or_key(self, frame: _Frame, node: Node) -> None:
        """Add an item to a list, or remember a key until its value follows."""
        node.parent = around = frame.node
        if around.kind == "sequence":
            around.items.append(node)
            return
        if node.kind != "scalar":
            raise Unreadable(node.raw, f"a key must be a string, but this one is a {_IN_WORDS[node.kind]}")
        frame.key = node
        if not around.entries and around.style == "block" and not around.merges:
            around.start = node.raw

    def entry(self, frame: _Frame, key: Node, value: Node) -> None:
        """Add a key with its value to the mapping."""
        mapping, value_of_key = frame.node, key.value
        value.parent, frame.key = mapping, None
        if value_of_key is UNKNOWN and value.value is None and value.kind == "scalar" and value.start == value.end:
            value.value = UNKNOWN  # `{ {{ include "tags" . }} }`: the code prints whole entries
        if value_of_key == "<<" and key.style == "plain" and key.tag in _MERGES:
            if not mapping.merges:
                mapping.merges = []
            mapping.merges.append(MappingEntry(key, value, "<<"))
            return
        if type(value_of_key) is str:
            name: str | None = value_of_key
        elif value_of_key is None or (type(value_of_key) is int and value_of_key >= 2**63):
            what = "null" if value_of_key is None else "too large a number"
            raise Unreadable(key.start, f"a key must be a string, but this one is {what}")
        else:
            name = key_name(value_of_key)
        if name is not None:
            if name in frame.names and not self.is_alternative(mapping, key, name):
                first = mapping.key(name)
                raise Unreadable(
                    key.start,
                    f"the key `{shortened(name)}` is set twice",
                    max(1, key.end - key.start),
                    None if first is None else first.start,
                )
            frame.names.add(name)
        mapping.entries.append(MappingEntry(key, value, name))

    def is_alternative(self, mapping: Node, key: Node, name: str) -> bool:
        """Return whether a repeated key is in another branch of a template than its first occurrence."""
        before = mapping.key(name)
        if not self.masked or before is None:
            return False
        between = _ELSE if name in _IDENTITY else _BRANCH
        return re.compile(between).search(self.source.text, before.end, key.start) is not None

    def close(self, frame: _Frame, end: int) -> None:
        node = frame.node
        if node.style == "flow":
            node.end = end
            if not node.entries and not node.items and self.code_ahead(node.start + 1):
                node.kind, node.value = "scalar", UNKNOWN
        elif node.kind == "sequence":
            node.end = node.items[-1].end if node.items else node.start + 1
            if node.items and node.items[-1].start == node.items[-1].end:
                node.end = max(node.end, node.items[-1].start)
            if self.masked and len(node.items) > 1:
                others = alternatives(self.source.text, [item.start for item in node.items])
                node.merges = [MappingEntry(node.items[n], node.items[n], None) for n in others]
                node.items = [item for n, item in enumerate(node.items) if n not in others]
        else:
            node.end = node.entries[-1].value.end if node.entries else node.start
            if node.merges:
                node.end = max(node.end, node.merges[-1].value.end)
        if node.merges and node.kind == "mapping":
            self.copies().merge(node)
        if frame.anchor is not None:
            self.anchors[frame.anchor] = node

    def scalar(
        self,
        text: str,
        style: Style,
        raw: int,
        end: int,
        anchor: str | None,
        tag: str | None,
        frame: _Frame | None,
    ) -> Node:
        """Return the node of a scalar of any kind. Raise `Unreadable` for an invalid one."""
        is_key = frame is not None and frame.key is None and frame.node.kind == "mapping"
        start = raw if anchor is None and tag is None else min(self.after_properties(raw), end)
        if self.restore is not None:
            text = self.restore(text)
        node = Node(self.source, start, end, "scalar", style, text)
        node.raw = raw
        if anchor is not None:
            self.anchors[anchor] = node
        if style == "literal" or style == "folded":
            node.end = self.block_end(start, end)
            node.value = self.block_value(text, start, node.end)
            if tag is not None:
                _tagged(node, tag, text, is_key)
            return node
        if not self.live and self.holds_placeholder(text, style):
            node.value = UNKNOWN
            node.tag = tag
            return node
        if style in ("single", "double"):
            self.hold_quoted(style, start, end)
        if "?" in text and style == "plain" and frame is not None and frame.node.style == "flow":
            raise Unreadable(start, "a `?` cannot stand in a text between brackets; put it in quotes")
        if tag is not None:
            _tagged(node, tag, text, is_key)
        elif style == "plain":
            value = node.value = resolve(text)
            if type(value) is float and not finite(value) and not is_key:
                raise Unreadable(start, f"`{text}` is not a number in JSON, and Kubernetes takes no other")
            if value is None and start == end and self.code_ahead(start):
                node.value = UNKNOWN
        return node

    def holds_placeholder(self, text: str, style: Style) -> bool:
        """Return whether a text in one line contains a placeholder. In a script, `$NAME` is the script's variable."""
        if style != "plain" and "\n" in text.strip():
            return self.masked and (MASK in text or any(mark in text for mark in CODE))
        return holds_placeholder(text.replace("$", "") if self.literal else text) or (
            self.replaced and replaced(text)
        )

    def hold_quoted(self, style: Style, start: int, end: int) -> None:
        if self.byte_order_marks:
            self.byte_order_marks = [mark for mark in self.byte_order_marks if not start <= self.base + mark < end]
        if not self.slashes or style != "double":
            return
        slash = re.compile(_SLASH).search(self.text, start - self.base, end - self.base)
        if slash is not None:
            raise Unreadable(self.base + slash.start(1), "`\\/` is an escape in JSON alone; write `/`")

    def code_ahead(self, offset: int) -> bool:
        """Return whether masked template code stands at an offset where a value is expected, and renders it."""
        return self.masked and re.compile(_CODE_AHEAD).match(self.source.text, offset) is not None

    def block_end(self, start: int, end: int) -> int:
        """Return the end of a block scalar, without blank lines and without less indented lines of template code."""
        text = self.source.text
        indent = -1
        while True:
            while end > start and text[end - 1] in "\r\n":
                end -= 1
            line = max(text.rfind("\n", start, end), text.rfind("\r", start, end)) + 1
            if line <= start:
                break
            written = text[line:end].strip(" \t")
            if written:
                if not self.masked or self.text[line - self.base : end - self.base].strip():
                    break
                if indent < 0:
                    indent = self.indent_of(start, end)
                if text.find(written, line) - line >= indent:
                    break
            end = line
        return end if line > start else start + len(text[start:end].rstrip(" \t"))

    def indent_of(self, start: int, end: int) -> int:
        """Return the indent of the first non-blank line of a block scalar."""
        for line in self.text[start - self.base : end - self.base].splitlines()[1:]:
            if line.strip():
                return len(line) - len(line.lstrip(" "))
        return 0

    def block_value(self, text: str, start: int, end: int) -> Scalar:
        line = text.strip()
        if (
            "\n" not in line
            and not self.live
            and is_placeholder(line)
            and not (self.literal and line.startswith("$"))
        ):
            return UNKNOWN
        if not self.masked:
            return text
        original = self.source.text[start:end]
        if any(mark in original for mark in CODE):
            return UNKNOWN
        if MASK in text:
            text = unmask(text, self.text[start - self.base : end - self.base], original)
        return UNKNOWN if MASK in text else text

    def after_properties(self, raw: int) -> int:
        match = re.compile(_PROPERTIES).match(self.text, raw - self.base)
        return raw if match is None else match.end() + self.base

    def alias(self, name: str, start: int, end: int, depth: int) -> Node:
        if name not in self.anchors:
            raise Unreadable(start, f"`*{name}` has no anchor `&{name}` above it")
        target = self.anchors[name]
        if target is None:
            raise Unreadable(start, f"`*{name}` refers to a value that contains it")
        target.aliased = True
        node = self.copies().copy(target, depth, start)
        node.start, node.end, node.raw = start, end, start
        node.alias, node.shared = True, False
        return node

    def copies(self) -> Copies:
        if self.copied is None:
            from nodelint.text.yaml.aliases import Copies  # here, because few files have an alias or a merge

            self.copied = Copies(DEEPEST)
        return self.copied


def _tagged(node: Node, tag: str, text: str, is_key: bool) -> None:
    """Set the tag of a scalar, and the value of its text with that tag. Raise `Unreadable` if the text is invalid."""
    from nodelint.text.yaml.tags import set_by_tag  # here, because tags are rare

    set_by_tag(node, tag, text, is_key)
