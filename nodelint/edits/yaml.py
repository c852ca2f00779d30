"""Edit YAML and JSON in the layout of the lines around: indent, quotes, flow or block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nodelint.edits.collections import (
    NotEditable,
    after_key,
    behind_colon,
    behind_mark,
    edit_of,
    entry_of,
    guard,
    hold_to_line_feeds,
    in_block,
    index_of,
    insert_member,
    is_explicit,
    key_column,
    later_indent,
    manner_of,
    members_of,
    model_for,
    opens_block,
    remove_from_block,
    remove_from_flow,
    root_of,
    text_model,
)
from nodelint.edits.formatting import (
    Plain,
    Writer,
    column,
    dash_gap,
    is_broken,
    leading,
    line_end,
    line_start,
    plain_is_safe,
    scalar,
)
from nodelint.model.finding import Edit
from nodelint.text.nodes import MappingEntry, Node

SUFFIX = ".yaml"
MOVES_TEXT = True
_TEXT_TAGS = (None, "!", "tag:yaml.org,2002:str")


def set_value(node: Node, value: str | int | float | bool) -> list[Edit]:
    """Return edits that replace the value of a node with a scalar. Quotes stay if the new value allows it."""
    if node.kind != "scalar" or node.alias:
        return replace(node, value)
    guard(node)
    manner = manner_of(root_of(node))
    in_flow = node.parent is not None and node.parent.style == "flow"
    style = node.style if node.style in ("plain", "single", "double") else manner.usual.strings
    if manner.json:
        style = "double"
    quotes = manner.usual.quotes if isinstance(value, str) and not plain_is_safe(value, in_flow) else "double"
    written = scalar(value, style, in_flow, quotes)
    keeps_tag = isinstance(value, str) and node.tag in _TEXT_TAGS
    start = node.start if node.tag is None or keeps_tag else node.raw
    if node.start == node.end and start == node.start:
        _hold_to_place(node)
        return [edit_of(node, start, start, behind_mark(node, written))]
    if node.source.text[start : node.end] == written:
        return []
    return [edit_of(node, start, node.end, written)]


def _hold_to_place(node: Node) -> None:
    """Raise NotEditable if the key is written with `?`, so that the place of the value is not known."""
    entry = entry_of(node)
    if entry is not None and entry.value is node and is_explicit(entry.key):
        raise NotEditable("its key is written with `?`")


def replace(node: Node, value: Plain) -> list[Edit]:
    """Return edits that replace the value of a node, in the style of the old value.

    Comments inside it are removed.
    """
    guard(node, structure=node.kind != "scalar")
    hold_to_line_feeds(node.source)
    _hold_to_place(node)
    writer = Writer(manner_of(root_of(node)), node.start)
    entry = entry_of(node)
    if entry is not None and entry.key is node:
        raise NotEditable("a key can only be renamed")
    is_flow = node.style == "flow" if node.parent is None else node.parent.style != "block"
    if is_flow:
        return _replace_in_flow(node, value, writer)
    if node.style == "block" and not node.alias:
        return _replace_block(node, value, writer, entry)
    return _replace_in_block(node, value, writer, entry)


def _replace_in_flow(node: Node, value: Plain, writer: Writer) -> list[Edit]:
    """Return edits that replace a value in brackets, or a document that is in brackets."""
    model = None if node.alias else node
    written = writer.broken(value, leading(node), model) if is_broken(node) else writer.flow(value, model)
    return [edit_of(node, node.raw, node.end, behind_mark(node, written) if node.raw == node.end else written)]


def _replace_block(node: Node, value: Plain, writer: Writer, entry: MappingEntry | None) -> list[Edit]:
    """Return edits that replace a mapping or list in block style with a scalar, or with a value of another layout."""
    text, newline = node.source.text, node.source.newline
    indent, start = column(node), node.start
    if entry is not None and node.kind == "sequence" and isinstance(value, Mapping):
        # a list may begin at the column of its key, a mapping must be indented
        indent = max(indent, key_column(entry) + writer.manner.usual.step)
    lines = writer.block(value, indent, node)
    if len(lines) > 1 or opens_block(lines[0], value):
        if indent != column(node):
            start, lines[0] = line_start(text, start), " " * indent + lines[0]
        return [edit_of(node, start, node.end, newline.join(lines))]
    colon = behind_colon(entry) if entry is not None else None
    if colon is None or "\n" not in text[colon : node.start] or node.raw != node.start:
        return [edit_of(node, node.raw, node.end, lines[0])]
    # a value that fits on one line is written after its key; the old lines are removed
    first = line_end(text, colon)
    return [edit_of(node, colon, colon, " " + lines[0]), edit_of(node, first, line_end(text, node.end), "")]


def _replace_in_block(node: Node, value: Plain, writer: Writer, entry: MappingEntry | None) -> list[Edit]:
    """Return edits that replace a one-line value of a block mapping or list. The new value may span several lines."""
    text, newline = node.source.text, node.source.newline
    model = None if node.alias else node
    start, opens = node.raw, False
    if entry is None:
        lines = writer.block(value, column(node), model)
    else:
        lines = writer.entry(entry.name or "", value, key_column(entry), model_for(model, value))
        opens = len(lines) > 1 and lines[0].endswith(":")
        lines[0] = (
            "" if opens else lines[0].partition(": ")[2] if entry.name is None else after_key(lines[0], writer, entry)
        )
        if opens:
            colon = behind_colon(entry)
            if colon is None:
                raise NotEditable("nodelint does not edit a key in this form: edit it by hand")
            start = colon
    first_line = lines[0] if node.raw != node.end or opens else behind_mark(node, lines[0])
    rest = "".join(newline + line for line in lines[1:])
    end = line_end(text, node.end)
    if not rest or not text[node.end : end].strip():
        return [edit_of(node, start, node.end if not rest else end, first_line + rest)]
    return [edit_of(node, start, node.end, first_line), edit_of(node, end, end, rest)]


def insert_items(sequence: Node, index: int, items: Sequence[Plain]) -> list[Edit]:
    """Return edits that insert items, in this order, before the item at `index`."""
    writer = Writer(manner_of(root_of(sequence)), sequence.end)
    models = sequence.items[:index] or sequence.items
    model = text_model(models, items) or (models[-1] if models else None)
    if not sequence.items and in_block(sequence):
        return replace(sequence, items)

    def block(indent: int) -> list[str]:
        gap = dash_gap(sequence)
        lines: list[str] = []
        for item in items:
            written = writer.block(item, indent + 1 + len(gap), model)
            lines += [later_indent(indent, bool(lines)) + "-" + gap + written[0], *written[1:]]
        return lines

    def flow(indent: str | None) -> list[str]:
        return [writer.flow(i, model) if indent is None else writer.broken(i, indent, model) for i in items]

    return insert_member(sequence, index, block, flow, writer)


def add_keys(mapping: Node, values: Mapping[str, Plain], after: str | None = None, first: bool = False) -> list[Edit]:
    """Return edits that add keys, in order: after the key `after`, or at the start (`first`), else at the end."""
    members = members_of(mapping)
    if not members and in_block(mapping):
        return replace(mapping, dict(values))
    index = 0 if first else len(members)
    previous = mapping.entry(after) if after is not None else None
    if previous is not None:
        index = next((i + 1 for i, (start, _) in enumerate(members) if start is previous.key), index)
    if any(entry.merged and entry.name in values for entry in mapping.entries):
        index = len(members)  # below the merge, which would otherwise replace it
    writer = Writer(manner_of(root_of(mapping)), mapping.end)
    models = {key: writer.manner.usual.like(key, mapping.end) for key in values}

    def block(indent: int) -> list[str]:
        lines: list[str] = []
        for key, value in values.items():
            written = writer.entry(key, value, indent, models[key])
            lines += [later_indent(indent, bool(lines)) + written[0], *written[1:]]
        return lines

    def flow(indent: str | None) -> list[str]:
        tight = indent is None and writer.manner.json and writer.manner.usual.compact
        parts = []
        for key, value in values.items():
            model = models[key]
            written = writer.flow(value, model) if indent is None else writer.broken(value, indent, model)
            parts.append(writer.key(key, True) + (":" if tight else ": ") + written)
        return parts

    return insert_member(mapping, index, block, flow, writer)


def remove(node: Node) -> list[Edit]:
    """Return edits that remove an item of a list, or a key with its value: whole lines with their comments."""
    parent = node.parent
    if parent is None:
        raise NotEditable("this is a whole document")
    if node.shared:
        guard(node)
    guard(parent, structure=True)
    guard(node, whole=True)
    members = members_of(parent)
    index = index_of(node)
    if index is None:
        raise NotEditable("a YAML merge (<<) brings the value: edit the anchor by hand")
    if any(part.aliased for part in members[index]):
        raise NotEditable("a YAML alias elsewhere stands for the same value: edit it by hand")
    if len(members) == 1:
        if parent.style == "flow":
            return [edit_of(parent, parent.start + 1, parent.end - 1, "")]
        return replace(parent, [] if parent.kind == "sequence" else {})
    if parent.style == "flow":
        return remove_from_flow(parent, members, index)
    return remove_from_block(parent, members, index)
