"""Find the field of a rendered object that a value sets, from a values file or a Terraform variable."""

from __future__ import annotations

from collections.abc import Iterator

from nodelint.base.tuples import NamedTuple
from nodelint.lsp.buffers import Buffer
from nodelint.lsp.outline import Spot
from nodelint.lsp.view import View
from nodelint.model.documents import objects
from nodelint.text import Node

_MOST = 2_000
"""The most values of rendered objects that are read for one completion."""


class _Reached(NamedTuple):
    """A value of a rendered object, and the range of the open text from which it comes."""

    node: Node
    kind: str
    api_version: str
    start: int
    end: int


def find_reached_spot(view: View, buffer: Buffer, offset: int) -> Spot | None:
    """Return the spot in a rendered object that the value at an offset sets; None if there is none.

    A new entry of a list sets the same field as the other entries.
    """
    written = list(_values_from(view, buffer))
    reached = next((value for value in written if value.start <= offset <= value.end), None)
    if reached is not None:
        return _spot(buffer, reached, reached.start, reached.end, [])
    list_node = _list_around(buffer, offset)
    if list_node is None:
        return None
    others = [value for value in written if list_node.start <= value.start and value.end <= list_node.end + 1]
    return _spot(buffer, others[0], offset, offset, [value.node.text for value in others]) if others else None


def _values_from(view: View, buffer: Buffer) -> Iterator[_Reached]:
    seen = 0
    for built in view.inventory.built:
        for obj in objects(built.source):
            for node in obj.node.walk():
                if node.kind != "scalar":
                    continue
                seen += 1
                if seen > _MOST:
                    return
                origin = built.find_origin(node)
                if origin is not None and origin.exact and origin.at.source is buffer.source:
                    yield _Reached(node, obj.kind, obj.api_version, origin.at.start, origin.at.end)


def _list_around(buffer: Buffer, offset: int) -> Node | None:
    """Return the list of a text that contains an offset, or ends right before it; None if there is none."""
    found = None
    for document in buffer.source.documents:
        for node in document.root.walk() if document.root is not None else ():
            if node.kind == "sequence" and (node.start <= offset <= node.end or _begins_entry(buffer, node, offset)):
                found = node
    return found


def _begins_entry(buffer: Buffer, node: Node, offset: int) -> bool:
    """Return whether there is only a dash between the end of a block list and an offset."""
    return node.style == "block" and node.end <= offset and not buffer.text[node.end : offset].strip(" \t\r\n-")


def _spot(buffer: Buffer, reached: _Reached, start: int, end: int, others: list[str]) -> Spot:
    """Return the spot of a value; `others` are the present entries of its list."""
    steps: list[str] = []
    node = reached.node
    key = ""
    while node.parent is not None:
        parent = node.parent
        if parent.kind == "sequence":
            steps.append("-")
        else:
            steps.append(next((str(entry.key.value) for entry in parent.entries if entry.value is node), ""))
            key = key or next((entry.value.text for entry in parent.entries if entry.key.value == "key"), "")
        node = parent
    if buffer.text[start : start + 1] in ("'", '"') and end - start >= 2:
        start, end = start + 1, end - 1
    around = " ".join([f"key: {key}", *others])
    return Spot(reached.kind, reached.api_version, tuple(reversed(steps)), "value", start, end, around, frozenset())
