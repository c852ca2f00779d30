"""Copy the parsed documents of a file for another file with the same text: this takes half the time of parsing."""

from __future__ import annotations

import os

from nodelint.text.nodes import Document, MappingEntry, Node
from nodelint.text.source import YAML_NAMES, Source

_SHARING = ("&", "*", "<<")
"""Characters without which no node can occur in two places: they begin an anchor, an alias and a merge."""


def copy_source(source: Source, path: str) -> Source | None:
    """Return a copy of a source for another path. None if the file at the path must be parsed itself.

    A copy needs the same file name, and plain YAML in UTF-8: without template code, problems, skipped regions, extra
    keywords, anchors, aliases and merges.
    """
    if os.path.basename(path) != os.path.basename(source.path) or not path.endswith(YAML_NAMES):
        return None
    if source.masked or source.problems or source.set_aside or source.encoding != "utf-8" or source.also:
        return None
    if any(mark in source.text for mark in _SHARING):
        return None
    twin = Source(path, source.text)
    twin.tabbed = source.tabbed
    for document in source.documents:
        root = None if document.root is None else _copy_node(document.root, twin, None)
        twin.documents.append(Document(root, document.start, document.end, document.index, document.templated))
    return twin


def _copy_node(node: Node, source: Source, parent: Node | None) -> Node:
    twin = Node(source, node.start, node.end, node.kind, node.style, node.value)
    twin.raw, twin.parent, twin.tag = node.raw, parent, node.tag
    if node.entries:
        twin.entries = [
            MappingEntry(_copy_node(entry.key, source, twin), _copy_node(entry.value, source, twin), entry.name)
            for entry in node.entries
        ]
    elif node.items:
        twin.items = [_copy_node(item, source, twin) for item in node.items]
    return twin
