"""Read a JSON6902 patch as the part of the object that its operations set.

Each value keeps its position. It is put into mappings and lists whose keys are the steps of the operation's path.
"""

from __future__ import annotations

import re

from nodelint.text.missing import text_of
from nodelint.text.nodes import MappingEntry, Node

API_VERSIONS = {"NodePool": "karpenter.sh/v1", "EC2NodeClass": "karpenter.k8s.aws/v1"}
_NAME = r"[a-z0-9.-]+"
"""A target's name is a regular expression. Names like this match only themselves, except for the dot."""
_WRITES = ("add", "replace")
# fields that no other commonly patched kind has
_OWN = {
    "NodePool": r"/spec/(?:disruption|weight$|template/spec/(?:requirements|nodeClassRef|startupTaints|expireAfter))",
    "EC2NodeClass": r"/spec/(?:amiSelectorTerms|subnetSelectorTerms|securityGroupSelectorTerms|amiFamily)",
}


def is_patch(root: Node) -> bool:
    """Return whether a document is a list of JSON6902 operations."""
    return (
        root.kind == "sequence"
        and bool(root.items)
        and all(item.get("op") is not None and item.get("path") is not None for item in root.items)
    )


def target(node: Node) -> Node | None:
    """Return the node of the kind that a patch in a kustomization targets. None if it is not a v1 Karpenter kind."""
    parent = node.parent
    named = parent.get("target") if parent is not None and parent.get("patch") is node else None
    kind = named.get("kind") if named is not None else None
    if named is None or kind is None or kind.value not in API_VERSIONS:
        return None
    group, _, version = API_VERSIONS[kind.value].partition("/")
    fields = [(named.get("group"), group), (named.get("version"), version)]
    return kind if all(node is None or node.value == meant for node, meant in fields) else None


def part(root: Node, kind: Node | None) -> Node | None:
    """Return the object that a JSON patch would make of an empty one. None if its kind is not known."""
    name = _guessed(root) if kind is None else str(kind.value)
    if name is None:
        return None
    top = _around(root, "mapping")
    _enter(top, _make_scalar(root, "apiVersion"), _make_scalar(root, API_VERSIONS[name]))
    _enter(top, _make_scalar(root, "kind"), kind or _make_scalar(root, name))
    called = kind.parent.get("name") if kind is not None and kind.parent is not None else None
    if called is not None and re.fullmatch(_NAME, text_of(called)):
        metadata = _around(called, "mapping")
        _enter(top, _make_scalar(root, "metadata"), metadata)
        _enter(metadata, _make_scalar(root, "name"), called)
    for operation in root.items:
        path, value = operation.get("path"), operation.get("value")
        if value is not None and path is not None and text_of(operation.get("op")) in _WRITES:
            _put(top, path, value)
    return top


def _guessed(root: Node) -> str | None:
    paths = [text_of(operation.get("path")) for operation in root.items]
    kinds = [kind for kind, own in _OWN.items() if any(re.match(own, path) for path in paths)]
    return kinds[0] if len(kinds) == 1 else None


def _put(top: Node, path: Node, value: Node) -> None:
    """Put a value at a path of the object. Do nothing if another operation has set a value on the way to it."""
    written = text_of(path)
    if not written.startswith("/spec/"):
        return
    steps = written[1:].split("/")
    at, offset = top, path.start + (path.style in ("single", "double")) + 1
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        key = Node(path.source, offset, offset + len(step), "scalar", "plain", _unescaped(step))
        key.shared = True
        offset += len(step) + 1
        there = at.get(_unescaped(step)) if at.kind == "mapping" else None
        if following is None:
            if there is None:
                _enter(at, key, value if value.kind == "scalar" else _copy(value))
            return
        if there is None:
            there = _around(path, "sequence" if re.fullmatch(r"\d+|-", following) else "mapping")
            _enter(at, key, there)
        elif there.parent is not at:  # a value in which another operation makes a change
            return
        at = there


def _enter(holder: Node, key: Node, value: Node) -> None:
    if holder.kind == "sequence":
        value.parent = holder
        holder.items.append(value)
    else:
        key.parent = holder
        if value.parent is None:
            value.parent = holder
        holder.entries.append(MappingEntry(key, value, key.value if isinstance(key.value, str) else None))


def _copy(value: Node) -> Node:
    """Return a copy of a collection. Its content may be edited, but not the copy: other paths may lead through it."""
    copy = Node(value.source, value.start, value.end, value.kind, value.style, value.value)
    copy.entries, copy.items, copy.merges, copy.tag = [*value.entries], [*value.items], value.merges, value.tag
    copy.shared = True
    return copy


def _around(place: Node, kind: str) -> Node:
    node = Node(place.source, place.start, place.end, "sequence" if kind == "sequence" else "mapping", "block")
    node.shared = True
    return node


def _make_scalar(place: Node, text: str) -> Node:
    node = Node(place.source, place.start, place.start, "scalar", "plain", text)
    node.shared = True
    return node


def _unescaped(step: str) -> str:
    return step.replace("~1", "/").replace("~0", "~")
