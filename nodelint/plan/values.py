"""A value before and after a change, as it is shown beside its field."""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.drift.stored_form import placeholder_text
from nodelint.model.messages import short
from nodelint.model.requirement import OPERATORS
from nodelint.text import UnknownValue

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nodelint.drift.hashstructure import Path
    from nodelint.drift.struct_diff import ValueDifference
    from nodelint.model.manifest import Object
    from nodelint.text import Node

LONGEST = 48
"""Characters of a value that are shown."""


class ValueChange(NamedTuple):
    """A value before and after; None where nothing is written."""

    old: str | None
    new: str | None

    def __str__(self) -> str:
        """Both values; words that long ones begin with alike are said once, for what follows tells them apart."""
        old, new = ("unset" if value is None else " ".join(value.split()) for value in self)
        start = _common_start(old, new) if max(len(old), len(new)) > LONGEST // 2 else ""
        head = f"{start.rstrip(' :')}: " if start else ""
        return f"{head}{short(old[len(start) :], LONGEST)} -> {short(new[len(start) :], LONGEST)}"


def _common_start(old: str, new: str) -> str:
    """The whole words that two texts begin with, where more follows; of requirements key and operator."""
    pairs = zip(old, new, strict=False)
    length = next((at for at, (was, now) in enumerate(pairs) if was != now), min(len(old), len(new)))
    start = old[: old.rfind(" ", 0, length) + 1]
    words = start.split(" ")
    return f"{words[0]} {words[1]} " if len(words) > 2 and words[1] in OPERATORS else start


def change_of(old: Object, new: Object, difference: ValueDifference) -> ValueChange | None:
    """What stands at both places of a difference; None where it is written the same: a default may differ."""
    was, now = _text_at(old, difference.old), _text_at(new, difference.new)
    return None if was == now else ValueChange(was, now)


def _text_at(obj: Object, path: Path | None) -> str | None:
    node = obj.node.find(*path) if path is not None else None
    return None if node is None else text_of(node)


def text_of(node: Node) -> str:
    """A value in one line: a text as it is, a requirement as a sentence, fields by their paths.

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
    return _in_words(value)


def _in_words(value: object) -> str:
    """Maps and lists in one line: `deviceName: /dev/xvda, ebs.volumeSize: 20Gi; deviceName: /dev/xvdb`."""
    if isinstance(value, dict) and value:
        return ", ".join(f"{path}: {text}" for path, text in _fields_of(value))
    if isinstance(value, list) and value:
        whole = any(isinstance(item, dict | list) for item in value)
        return ("; " if whole else " ").join(map(_in_words, value))
    if isinstance(value, str):
        return value
    import json  # here: few values that change are none

    return json.dumps(value, ensure_ascii=False)


def _fields_of(value: dict[str, object]) -> Iterator[tuple[str, str]]:
    for name, member in value.items():
        if isinstance(member, dict) and member:
            yield from ((f"{name}.{path}", text) for path, text in _fields_of(member))
        else:
            yield name, _in_words(member)


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
