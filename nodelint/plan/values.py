"""A value before and after a change, as it is shown beside its field."""

from __future__ import annotations

import json

from nodelint.drift.hashstructure import Path
from nodelint.drift.stored_form import placeholder_text
from nodelint.drift.struct_diff import ValueDifference
from nodelint.model.manifest import Object
from nodelint.model.messages import short
from nodelint.source import Node, UnknownValue
from nodelint.tuples import NamedTuple

LONGEST = 48
"""Characters of a value that are shown."""


class ValueChange(NamedTuple):
    """A value before and after; None where nothing is written."""

    old: str | None
    new: str | None

    def __str__(self) -> str:
        return " -> ".join("unset" if value is None else short(value, LONGEST) for value in self)


def change_of(old: Object, new: Object, difference: ValueDifference) -> ValueChange | None:
    """What stands at both places of a difference; None where it is written the same: a default may differ."""
    was, now = _text_at(old, difference.old), _text_at(new, difference.new)
    return None if was == now else ValueChange(was, now)


def _text_at(obj: Object, path: Path | None) -> str | None:
    node = obj.node.find(*path) if path is not None else None
    return None if node is None else text_of(node)


def text_of(node: Node) -> str:
    """A value in one line: a text as it is, a requirement as a sentence, everything else as JSON.

    Placeholders stay as they are written; of a text of several lines only their number is told.
    """
    if node.kind == "scalar":
        text = node.value if isinstance(node.value, str) else _plain(node)
        lines = text.strip().count("\n") + 1
        return text if lines == 1 else f"{lines} lines"
    value = json_value(node)
    if isinstance(value, dict) and {"key", "operator"} <= value.keys():
        values = value.get("values")
        words = [value["key"], value["operator"], *(map(str, values) if isinstance(values, list) else ())]
        least = [f"(minValues {value['minValues']})"] if "minValues" in value else []
        return " ".join(map(str, [*words, *least]))
    if isinstance(value, dict) and value and not any(isinstance(each, dict | list) for each in value.values()):
        return ", ".join(f"{key}: {each}" for key, each in value.items())
    return json.dumps(value, ensure_ascii=False)


def json_value(node: Node) -> object:
    """The value as JSON would carry it, a placeholder as the text that stands for it."""
    if node.kind == "mapping":
        return {_key(entry.key): json_value(entry.value) for entry in node.entries}
    if node.kind == "sequence":
        return [json_value(item) for item in node.items]
    if isinstance(node.value, UnknownValue):
        return placeholder_text(node)
    return node.plain()


def _plain(node: Node) -> str:
    return placeholder_text(node) if isinstance(node.value, UnknownValue) else node.unquoted


def _key(key: Node) -> str:
    return key.unquoted if isinstance(key.value, UnknownValue) else str(key.plain())
