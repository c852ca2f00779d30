"""The checks of a list and a mapping as a whole: how many entries it has, which are missing or repeated."""

from __future__ import annotations

import re

from nodelint.apiserver import problems as schema_words
from nodelint.apiserver.cel.text import escaped
from nodelint.apiserver.schema_node import SchemaNode
from nodelint.apiserver.walk_state import WalkState
from nodelint.base.types import Any
from nodelint.text import Node


def check_unique(state: WalkState, node: Node, shape: SchemaNode, path: str, values: list[Any]) -> None:
    """Record each entry that a list of distinct entries has twice."""
    kind = shape.raw.get("x-kubernetes-list-type")
    keys = shape.raw.get("x-kubernetes-list-map-keys") or []
    if kind not in ("set", "map"):
        return
    seen: set[object] = set()
    for index, value in enumerate(values):
        mark = value
        if kind == "map" and isinstance(value, dict):
            mark = {key: value[key] for key in keys if key in value}
        if schema_words.holds_unknown(mark):
            continue
        token = schema_words.token(mark)
        if token in seen:
            shown = f"`{mark}` is" if isinstance(mark, str) else "an entry is"
            state.say(node.items[index], f"{path}[{index}]", f"{shown} listed twice")
        seen.add(token)


def check_size(
    state: WalkState, node: Node, shape: SchemaNode, path: str, value: dict[str, Any], any_key: bool
) -> bool:
    """Record missing fields and a wrong number of keys. Return whether there are too many keys to evaluate
    rules.
    """
    if not state.partial and not any_key:
        for name in shape.required:
            if escaped(name) not in value and (state.loose or name not in _names_in_hints(node, shape)):
                at = f"{path}.{name}" if path else name
                # The message names the list, not the index of the entry.
                entry = f" in an entry of `{schema_words.last(path)}`" if path.endswith("]") else f" in {path}"
                where = entry if path else ""
                message = f"required field `{name}` is missing{where}"
                value[escaped(name)] = state.unsound(state.head(node), at, message, missing=name, holder=node)
    if not shape.bounded:
        return False
    most, least = shape.raw.get("maxProperties"), shape.raw.get("minProperties")
    count = len(value)
    if most is not None and count > most:
        name = schema_words.last(path)
        message = f"`{name}` has {count} keys, the maximum is {most}" if most else f"`{name}` must be empty"
        state.unsound(node, path, message)
        return True
    if least is not None and count < least and not state.partial and not any_key:
        state.say(node, path, f"`{schema_words.last(path)}` has {count} keys, the minimum is {least}")
    return False


def _names_in_hints(node: Node, shape: SchemaNode) -> set[str]:
    """Return the fields that hints about fields of older APIs name, because the hints say how to write them."""
    return set(re.findall(r"\w+", " ".join(shape.moved.get(entry.name or "", "") for entry in node.entries)))
