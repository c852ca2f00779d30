"""Create edits for a node in the style of the file: indent, quotes, flow or block, line breaks.

An edit replaces a range of characters; nothing is dumped as YAML, so all other characters stay. Every function raises
`NotEditable` if the value is written elsewhere (behind an alias), if the edit would change another place as well (an
anchor in use), or if the value is within template code.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from nodelint.base.types import TYPE_CHECKING
from nodelint.edits.collections import (
    NotEditable,
    as_text,
    document_of,
    edit_of,
    guard,
    hold_to_line_feeds,
    insert_member,
    is_json,
    last_line_end,
    manner_of,
    members_of,
    root_of,
)
from nodelint.edits.comments import with_comments
from nodelint.edits.formatting import Plain, Writer, column, dash_gap, leading, line_start
from nodelint.edits.several import difference, find_again, find_steps, member_at, parse_alone, put_back
from nodelint.edits.writer import dialect_of
from nodelint.forms.registry import TABLE
from nodelint.model.finding import Edit, NoEdits
from nodelint.text import Document, Source, SourceText, reread, reread_document, reread_documents
from nodelint.text.nodes import Node

if TYPE_CHECKING:
    from typing import ParamSpec, TypeVar

    _P = ParamSpec("_P")
    _E = TypeVar("_E", bound=Sequence[Edit])

__all__ = [
    "NoEdits",
    "NotEditable",
    "add_document",
    "add_item",
    "add_key",
    "add_keys",
    "add_object",
    "apply",
    "copy_document",
    "dialect_of",
    "difference",
    "find_steps",
    "if_editable",
    "insert_item",
    "insert_items",
    "listed",
    "member_at",
    "plain_fields",
    "remove",
    "remove_all",
    "replace",
    "reread_edited",
    "restructure",
    "set_key",
    "set_value",
    "set_values",
    "with_comments",
]


def apply(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with all edits applied.

    Raise ValueError if two edits overlap, or if one is outside the text.
    """
    out: list[str] = []
    at = 0
    for edit in sorted(edits, key=lambda e: (e.start, e.end)):
        if edit.start < at or edit.end < edit.start or edit.end > len(text):
            raise ValueError(f"the edit of {edit.start} to {edit.end} overlaps another or lies outside the text")
        out += [text[at : edit.start], edit.text]
        at = edit.end
    return "".join([*out, text[at:]])


def if_editable(edit: Callable[_P, _E], *args: _P.args, **kwargs: _P.kwargs) -> _E | list[Edit]:
    """Return the edits of a call. If it raises `NotEditable`, return an empty list with the reason (`NoEdits`)."""
    try:
        return edit(*args, **kwargs)
    except NotEditable as error:
        return NoEdits(error.reason)


def set_value(node: Node, value: str | int | float | bool) -> list[Edit]:
    """Return edits that replace the value of a node with a scalar. Quotes stay if the new value allows it."""
    return dialect_of(node).set_value(node, value)


def set_key(node_of_key: Node, new: str) -> list[Edit]:
    """Return edits that rename a key of a mapping."""
    return set_value(node_of_key, new)


def replace(node: Node, value: Plain) -> list[Edit]:
    """Return edits that replace the value of a node, in the style of the old value.

    Comments inside it are removed.
    """
    return dialect_of(node).replace(node, value)


def add_item(sequence: Node, item: Plain) -> list[Edit]:
    """Return edits that append an item to a list, in the style of the items before it."""
    return insert_items(sequence, len(sequence.items), [item])


def insert_item(sequence: Node, index: int, item: Plain) -> list[Edit]:
    """Return edits that insert an item before the item at `index`."""
    return insert_items(sequence, index, [item])


def insert_items(sequence: Node, index: int, items: Sequence[Plain]) -> list[Edit]:
    """Return edits that insert items, in this order, before the item at `index`."""
    if sequence.kind != "sequence":
        raise NotEditable("there is no list here")
    if not items:
        return []
    guard(sequence, structure=True)
    return dialect_of(sequence).insert_items(sequence, index, items)


def add_key(mapping: Node, key: str, value: Plain, after: str | None = None) -> list[Edit]:
    """Return edits that add a key to a mapping: after the key `after`, else at the end."""
    return add_keys(mapping, {key: value}, after)


def add_keys(mapping: Node, values: Mapping[str, Plain], after: str | None = None, first: bool = False) -> list[Edit]:
    """Return edits that add keys to a mapping: after the key `after`, or at the start (`first`), else at the end."""
    _hold_to_new_keys(mapping, values)
    return dialect_of(mapping).add_keys(mapping, values, after, first)


def _hold_to_new_keys(mapping: Node, keys: Iterable[str]) -> None:
    if mapping.kind != "mapping":
        raise NotEditable("there is no mapping here")
    guard(mapping, structure=True)
    for key in keys:
        if any(entry.name == key and not entry.merged for entry in (*mapping.entries, *mapping.merges)):
            raise NotEditable(f"the key `{key}` is there already")


def remove(node: Node) -> list[Edit]:
    """Return edits that remove an item of a list, or a key with its value. `node` is the item, the key or the value.

    Whole lines are removed, with the comment at their end and the comments directly above. A list or mapping that
    loses its last member becomes `[]` or `{}`.
    """
    parent = node.parent
    if parent is None:
        raise NotEditable("this is a whole document")
    return dialect_of(parent).remove(node)


def remove_all(nodes: Sequence[Node]) -> list[Edit]:
    """Return edits that remove several items or keys of one document.

    They may be neighbours, but not contain each other.
    """
    if len(nodes) > _MOST_AT_ONCE:
        raise NotEditable(f"more than {_MOST_AT_ONCE:,} items would go")
    single = sorted([edit for node in nodes for edit in remove(node)], key=lambda edit: (edit.start, edit.end))
    around = {id(node.parent): node.parent for node in nodes if node.parent is not None}.values()
    emptied = any(sum(node.parent is parent for node in nodes) == len(members_of(parent)) for parent in around)
    if not emptied and all(before.end <= after.start for before, after in pairwise(single)):
        return single
    apart = parse_alone(nodes)
    text = apart[0].source.text
    # from the back, so that earlier indices do not change
    for node in sorted(apart, key=lambda node: node.start, reverse=True):
        text = apply(text, remove(find_again(node, find_steps(node), text)))
    return [put_back(nodes[0], apart[0], text)]


_MOST_AT_ONCE = 200
"""The most items that are removed one by one."""

_BEHIND = 1000
"""The number of characters after a document that are compared to find the end of an edit."""

_MOST_REMOVED = 100
"""Removing an item takes a step. A list that loses more items is written again, without its comments."""


def listed(mapping: Node) -> list[Edit]:
    """Return edits that make a mapping the only item of a list: they put `[` and `]` around it, or `- ` before it."""
    if mapping.kind != "mapping":
        raise NotEditable("there is no mapping here")
    guard(mapping, structure=True)
    source, text = mapping.source, mapping.source.text
    if mapping.style != "block":
        return [Edit(source, mapping.start, mapping.start, "["), Edit(source, mapping.end, mapping.end, "]")]
    if text[line_start(text, mapping.start) : mapping.start].strip(" "):
        raise NotEditable("it does not begin a line")
    filled = re.compile(r"(?<=\n)(?=[ ]*[^ \r\n])").finditer(text, mapping.start, mapping.end)
    deeper = [Edit(source, line.start(), line.start(), "  ") for line in filled]
    return [Edit(source, mapping.start, mapping.start, "- "), *deeper]


def set_values(sequence: Node, texts: Sequence[str]) -> list[Edit]:
    """Return edits that make a list hold exactly these texts. Items that stay keep their quotes and comments."""
    if sequence.kind != "sequence":
        raise NotEditable("there is no list here")
    guard(sequence, structure=True)
    now = [as_text(item) for item in sequence.items]
    if now == list(texts):
        return []
    if not texts:
        if sequence.style == "flow":
            return [edit_of(sequence, sequence.start + 1, sequence.end - 1, "")]
        return replace(sequence, [])
    if len(now) - len(texts) > _MOST_REMOVED:
        return replace(sequence, list(texts))
    changes = _find_changes(now, texts)
    within = document_of(sequence)
    if len(changes) == 1 and (edit := _take_out(sequence, within, *changes[0])) is not None:
        return [edit]
    (apart,) = parse_alone([sequence])
    node, steps, text = apart, find_steps(apart), apart.source.text
    # from the back, so that earlier indices do not change
    for _, a, b, c, d in changes:
        shared = min(b - a, d - c)
        if shared:
            node = find_again(node, steps, text)
            text = apply(text, [e for i in range(shared) for e in set_value(node.items[a + i], texts[c + i])])
        if d - c > shared:
            node = find_again(node, steps, text)
            text = apply(text, insert_items(node, a + shared, texts[c + shared : d]))
        for index in reversed(range(a + shared, b)):
            node = find_again(node, steps, text)
            text = apply(text, remove(node.items[index]))
    return [put_back(sequence, apart, text)] if text != apart.source.text else []


def _find_changes(old: Sequence[str], new: Sequence[str]) -> list[tuple[str, int, int, int, int]]:
    """Return the opcodes (difflib) from one list to another, the last first, so that earlier indices stay valid."""
    from difflib import SequenceMatcher

    codes = SequenceMatcher(None, old, list(new), autojunk=False).get_opcodes()
    return [code for code in reversed(codes) if code[0] != "equal"]


def _take_out(sequence: Node, within: Document, kind: str, start: int, end: int, *_: int) -> Edit | None:
    """Return one edit that removes an item. None if the change is not one removal, or if it touches another document.

    Only the text of the document `within` is read: the file may be long, with many such documents.
    """
    if kind != "delete" or end - start != 1:
        return None
    made = remove(sequence.items[start])
    if not made or any(edit.start < within.start or edit.end > within.end for edit in made):
        return None
    part = sequence.source.text[within.start : within.end + _BEHIND]
    moved = [edit._replace(start=edit.start - within.start, end=edit.end - within.start) for edit in made]
    return difference(sequence.source, within.start, part, apply(part, moved), (0, 0))


def reread_edited(source: SourceText, edits: Sequence[Edit]) -> Source:
    """Return the source with edits applied, to inspect the result.

    If possible, only the edited document is parsed.
    """
    text = apply(source.text, edits)
    start, end = min(edit.start for edit in edits), max(edit.end for edit in edits)
    for document in source.documents:
        if document.start < start and end <= document.end:
            return reread_document(source, document.index, text)
    growth = _growth_of_documents(source, edits)
    return (reread_documents(source, growth, text) if growth else None) or reread(source, text)


def _growth_of_documents(source: SourceText, edits: Sequence[Edit]) -> dict[int, int]:
    """Return the number of characters by which edits lengthen each changed document, by the index of the document.

    Empty if an edit is not inside one document, or if most documents change: then the whole text is parsed again.
    """
    growth: dict[int, int] = {}
    starts = [document.start for document in source.documents]
    for edit in edits:
        number = bisect_left(starts, edit.start) - 1
        if number < 0 or edit.end >= source.documents[number].end:
            return {}
        growth[number] = growth.get(number, 0) + len(edit.text) - (edit.end - edit.start)
    return growth if 2 * len(growth) <= len(starts) else {}


def restructure(place: Node, new: object) -> list[Edit]:
    """Return one edit that makes a mapping or list hold `new`, also if changes are next to each other."""
    from nodelint.edits.restructuring import Operations, Restructuring

    (apart,) = parse_alone([place])
    document, steps = document_of(apart), find_steps(apart)

    def find(root: Node) -> Node:
        for step in steps:
            root = member_at(root, step)
        return root

    def read_edited(root: Node, made: list[Edit]) -> Node:
        documents = reread_document(root.source, document.index, apply(root.source.text, made)).documents
        edited = documents[document.index].root if document.index < len(documents) else None
        if edited is None:
            raise NotEditable("nodelint could not read the file with this edit: edit it by hand")
        return edited

    assert document.root is not None
    operations = Operations(set_value, replace, insert_items, add_keys, remove)
    text = Restructuring(operations, read_edited, find).run(document.root, new).source.text
    return [put_back(place, apart, text)]


def plain_fields(mapping: Node) -> dict[str, object]:
    """Return the plain values of a mapping by key. A caller changes some of them and passes them to `restructure`."""
    return {str(entry.name): entry.value.plain() for entry in mapping.entries}


def add_document(document: Document, text: str) -> list[Edit]:
    """Return edits that add a YAML document directly after this one. The text may begin with its own `---`."""
    if document.root is None:
        raise NotEditable("the document is not read")
    source = document.root.source
    hold_to_line_feeds(source)
    if not dialect_of(document.root).MOVES_TEXT:
        raise NotEditable("an object of HCL is not followed by documents")
    if document.host in TABLE.embedding and not _has_more_documents(document):
        raise NotEditable("the heredoc is the one manifest of a resource")
    if document.root.style == "flow" and len(source.documents) == 1 and is_json(source):
        raise NotEditable("a JSON file holds one object")
    newline = source.newline
    body = re.sub(r"\A(?:---[ \t]*\r?\n)?(?:[ \t]*\r?\n)*", "", text).rstrip("\r\n")
    lines = [document.prefix + line if line.strip() else line for line in ("---", *re.split(r"\r?\n", body))]
    end = document.end
    if end >= len(source.text):
        last = source.text.endswith("\n")
        written = newline.join(lines)
        return [Edit(source, end, end, written + newline if last else newline + written)]
    return [Edit(source, end, end, "".join(line + newline for line in lines))]


def _has_more_documents(document: Document) -> bool:
    """Return whether a heredoc holds further documents."""
    assert document.root is not None
    text = document.root.source.text
    if re.match(r"[ \t]*---", text[document.start : document.root.start]):
        return True
    return re.compile(r"[ \t]*---[ \t]*\r?\n").match(text, document.end) is not None


def add_object(node: Node, text: str) -> list[Edit]:
    """Return edits that add an object after this one: a document, or an item if it is in a `List`.

    `text` is its YAML.
    """
    if node.parent is None:
        return add_document(document_of(node), text)
    sequence = node.parent
    if sequence.kind != "sequence":
        raise NotEditable("there is no list here")
    guard(sequence, structure=True)
    writer = Writer(manner_of(root_of(node)), node.end)
    lines = re.split(r"\r?\n", text.removeprefix("---").strip("\r\n"))
    index = next(i for i, item in enumerate(sequence.items) if item is node) + 1

    def block(indent: int) -> list[str]:
        gap = dash_gap(sequence)
        pad = " " * (indent + 1 + len(gap))
        return ["-" + gap + lines[0], *(pad + line if line.strip() else line for line in lines[1:])]

    def flow(indent: str | None) -> list[str]:
        return [(sequence.source.newline + (indent or "")).join(lines)]

    return insert_member(sequence, index, block, flow, writer)


def copy_document(node: Node) -> str:
    """Return the source text of an object, from its first key to its last value, without the indent of its place."""
    text = node.source.text
    if not dialect_of(node).MOVES_TEXT:
        raise NotEditable("an object of HCL is not YAML")
    end = node.end if node.style == "flow" else last_line_end(text, node)
    if node.parent is None and not document_of(node).prefix:
        return text[line_start(text, node.start) : end]
    width = len(leading(node)) if node.style == "flow" else column(node)
    first, *rest = text[node.start : end].split("\n")
    return "\n".join([first, *(line[width:] if not line[:width].strip() else line for line in rest)])
