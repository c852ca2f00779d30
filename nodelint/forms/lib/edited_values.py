"""Find the values of a release again after edits of the files that hold them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from nodelint.edits import apply, reread_edited
from nodelint.edits.collections import root_of
from nodelint.edits.several import find_steps, member_at
from nodelint.forms.lib.chart_values import read_block, typed_value
from nodelint.forms.lib.gotemplate.sprig_values import SetNode
from nodelint.forms.registry import TABLE
from nodelint.model.finding import Edit, by_source
from nodelint.text import Node, Source
from nodelint.text.nodes import MappingEntry
from nodelint.text.reading import nodes_of


class _MissingValue(Exception):
    """Raised for a value that cannot be found again."""


def with_edits(root: Node, edits: Sequence[Edit]) -> Node | None:
    """Return merged values after edits of their files. None if a value cannot be found again."""
    renewed: dict[int, Source | Sequence[Edit]] = {}
    for group in by_source(edits):
        if group[0].source.path.endswith(TABLE.module_files):
            renewed[id(group[0].source)] = group
            continue
        source = reread_edited(group[0].source, group)
        nodes_of(source)
        renewed[id(group[0].source)] = source
    try:
        return _find_all_again(root, renewed)
    except _MissingValue:
        return None


def _find_all_again(node: Node, renewed: Mapping[int, Source | Sequence[Edit]]) -> Node:
    source = renewed.get(id(node.source))
    if isinstance(source, Source) and node.kind == "mapping" and _is_in_document(root_of(node)):
        return _find_again(node, source)  # no other values are merged into it: an edit may add and remove keys
    if node.kind == "mapping":
        made = Node(node.source, node.start, node.end, "mapping", node.style)
        made.entries = [
            MappingEntry(entry.key, _find_all_again(entry.value, renewed), entry.name) for entry in node.entries
        ]
        return made
    if node.kind == "sequence" and not _is_in_document(root_of(node)):
        made = Node(node.source, node.start, node.end, "sequence", node.style)
        made.items = [_find_all_again(item, renewed) for item in node.items]
        return made
    if source is None:
        return node
    return _find_again(node, source) if isinstance(source, Source) else _edit_literal(node, source)


def _edit_literal(node: Node, edits: Sequence[Edit]) -> Node:
    """Return a literal of a module's file after edits of the file. Edits of other parts of the file do not count.

    Only a literal of a resource is used nowhere else: the value of a local may also decide about other values.
    """
    own = [edit for edit in edits if edit.start < node.end and node.start < edit.end]
    if not own:
        return node
    heads = re.findall(r"(?m)^(\w+)[ \t]+(?=[\w\"{])", node.source.text[: node.start])
    if heads[-1:] != ["resource"] or any(edit.start < node.start or node.end < edit.end for edit in own):
        raise _MissingValue
    moved = [Edit(edit.source, edit.start - node.start, edit.end - node.start, edit.text) for edit in own]
    written = apply(node.source.text[node.start : node.end], moved)
    try:
        value = json.loads(written)
    except ValueError:
        raise _MissingValue from None
    if isinstance(value, list | dict) or "${" in written or "%{" in written:
        raise _MissingValue
    return Node(node.source, node.start, node.end, "scalar", node.style, value)


def _find_again(node: Node, source: Source) -> Node:
    """Return a value in the edited source: in a document, in a text with YAML, or made from a scalar."""
    top = root_of(node)
    if _is_in_document(top):
        return _follow(_document_root(top, source), _list_steps(node))
    holder = _find_holder(top)
    found = _follow(_document_root(root_of(holder), source), _list_steps(holder))
    if top.kind == "mapping":
        return _follow(read_block(found), _list_steps(node))
    if found.value == holder.value:
        return node
    if node.value != holder.value or not isinstance(found.value, str):
        raise _MissingValue
    is_typed = isinstance(node, SetNode)
    kind, value = (SetNode, typed_value(found.value)) if is_typed else (Node, found.value)
    return kind(found.source, found.start, found.end, "scalar", found.style, value)


def _is_in_document(top: Node) -> bool:
    return any(document.root is top for document in getattr(top.source, "documents", ()))


def _document_root(top: Node, source: Source) -> Node | None:
    """Return the root of the document in the edited source that corresponds to a root of the unedited one."""
    numbers = (n for n, document in enumerate(top.source.documents) if document.root is top)
    number = next(numbers, None)
    return source.documents[number].root if number is not None and number < len(source.documents) else None


def _find_holder(top: Node) -> Node:
    """Return the scalar of a document that holds a value: its text, or the text from which the value is made."""
    for document in getattr(top.source, "documents", ()):
        root: Node | None = document.root
        for node in root.walk() if root is not None else ():
            is_exact = node.start == top.start and node.end == top.end
            if node.kind == "scalar" and (is_exact or (top.kind == "mapping" and node.start <= top.start < node.end)):
                return node
    raise _MissingValue


def _list_steps(node: Node) -> list[int]:
    """Return the steps from the root to a value. Raise `_MissingValue` if the value was merged from another file and
    its parent does not contain it.
    """
    try:
        return find_steps(node)
    except StopIteration:
        raise _MissingValue from None


def _follow(node: Node | None, steps: Sequence[int]) -> Node:
    """Return the part of a value at some steps."""
    try:
        for step in steps:
            node = member_at(node, step) if node is not None else None
    except IndexError:
        node = None
    if node is None:
        raise _MissingValue
    return node
