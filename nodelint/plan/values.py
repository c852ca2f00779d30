"""A value before and after a change, as reports show it."""

from __future__ import annotations

from collections import Counter

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.drift.stored_form import placeholder_text
from nodelint.model.messages import short
from nodelint.model.requirement import OPERATORS
from nodelint.text import UnknownValue

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nodelint.drift.hashstructure import Path
    from nodelint.drift.struct_diff import ValueDifference
    from nodelint.model.manifest import Object
    from nodelint.text import Node

LONGEST = 48
"""The most characters of a value that are shown."""


MOST_ENTRIES = 8
"""The most removed, and the most added, entries of a list that are shown."""


class ValueChange(NamedTuple):
    """A value before and after. None if the field is not set.

    `removed` and `added` are the entries of a list, or the lines of a long text, that only one side has. Both are
    empty for other values, and if only the order differs.
    """

    old: str | None
    new: str | None
    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the removed and added entries. For other values, return both values without their common
        beginning.
        """
        if self.removed or self.added:
            return _in_entries(self)
        return self._in_full()

    def _in_full(self) -> str:
        old, new = ("unset" if value is None else " ".join(value.split()) for value in (self.old, self.new))
        start = _common_start(old, new) if max(len(old), len(new)) > LONGEST // 2 else ""
        head = f"{start.rstrip(' :')}: " if start else ""
        return f"{head}{short(old[len(start) :], LONGEST)} -> {short(new[len(start) :], LONGEST)}"


def _in_entries(change: ValueChange) -> str:
    """Return the removed and added entries as text: `instance-family In: - m5, + m7g`."""
    old, new = change.old or "", change.new or ""
    start = _common_start(old, new)
    head = f"{start.rstrip()}: " if start.split(" ")[1:2] and start.split(" ")[1] in OPERATORS else ""
    rows = []
    for sign, entries in (("-", change.removed), ("+", change.added)):
        others = change.added if sign == "-" else change.removed
        rows += [f"{sign} {_short_entry(entry, others)}" for entry in entries[:MOST_ENTRIES]]
        rows += [f"{sign} {len(entries) - MOST_ENTRIES:,} more"] if len(entries) > MOST_ENTRIES else []
    return head + ", ".join(rows)


def _short_entry(entry: str, others: Sequence[str]) -> str:
    """Return an entry, shortened so that its difference from the entries of the other side is shown."""
    flat = " ".join(entry.split())
    starts = [_common_start(flat, other) for other in others]
    alike = max((start.rfind(", ") for start in starts), default=-1)
    head = flat.find(", ")
    if len(flat) <= LONGEST or alike <= head:
        return short(flat, LONGEST)
    return f"{short(flat[:head], LONGEST // 2)}, …{short(flat[alike:], LONGEST)}"


def _common_start(old: str, new: str) -> str:
    """Return the whole words with which two texts begin, before their difference. For requirements, return key and
    operator.
    """
    pairs = zip(old, new, strict=False)
    length = next((at for at, (was, now) in enumerate(pairs) if was != now), min(len(old), len(new)))
    start = old[: old.rfind(" ", 0, length) + 1]
    words = start.split(" ")
    return f"{words[0]} {words[1]} " if len(words) > 2 and words[1] in OPERATORS else start


def change_of(old: Object, new: Object, difference: ValueDifference) -> ValueChange | None:
    """Return the values at both places of a difference. None if the text is equal: then a default differs."""
    return change_between(_node_at(old, difference.old), _node_at(new, difference.new))


def change_between(old: Node | None, new: Node | None) -> ValueChange | None:
    """Return a value before and after. None if both are written in the same way."""
    was, now = (text_of(node) if node is not None else None for node in (old, new))
    before, after = (_entries(node) if node is not None else None for node in (old, new))
    is_bound = (_asks(new) or ("", ""))[1] in ("Gt", "Lt", "Gte", "Lte")  # of one value
    if before is None or after is None or is_bound or _asks(old) != _asks(new):
        return None if was == now else ValueChange(was, now)
    gone, come = Counter(before) - Counter(after), Counter(after) - Counter(before)
    if was == now and not gone and not come:
        return None
    return ValueChange(was, now, tuple(gone.elements()), tuple(come.elements()))


def _node_at(obj: Object, path: Path | None) -> Node | None:
    return obj.node.find(*path) if path is not None else None


def _asks(node: Node | None) -> tuple[str, str] | None:
    """Return the key and operator of a requirement. None for another value."""
    if node is None:
        return None
    key, operator = node.get("key"), node.get("operator")
    return None if key is None or operator is None else (text_of(key), text_of(operator))


def _entries(node: Node) -> list[str] | None:
    """Return the entries of a list, the values of a requirement, or the lines of a long text. None for another
    value.
    """
    if node.kind == "sequence":
        return [text_of(item) for item in node.items]
    if node.kind == "mapping":
        values, least = node.get("values"), node.get("minValues")
        if _asks(node) is None or values is None or values.kind != "sequence":
            return None
        return [*map(text_of, values.items), *([f"(minValues {text_of(least)})"] if least is not None else [])]
    lines = node.value.strip().split("\n") if isinstance(node.value, str) else []
    return [stripped for line in lines if (stripped := line.strip())] if len(lines) > 1 else None


def text_of(node: Node) -> str:
    """Return a value in one line: a text unchanged, a requirement as `key operator values`, fields with their paths.

    Placeholders keep their text. For a text of several lines, return the number of lines.
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
    """Return maps and lists in one line: `deviceName: /dev/xvda, ebs.volumeSize: 20Gi; deviceName: /dev/xvdb`."""
    if isinstance(value, dict) and value:
        return ", ".join(f"{path}: {text}" for path, text in _fields_of(value))
    if isinstance(value, list) and value:
        whole = any(isinstance(item, dict | list) for item in value)
        return ("; " if whole else " ").join(map(_in_words, value))
    if isinstance(value, str):
        return value
    import json  # imported here: few changed values are no texts

    return json.dumps(value, ensure_ascii=False)


def _fields_of(value: dict[str, object]) -> Iterator[tuple[str, str]]:
    for name, member in value.items():
        if isinstance(member, dict) and member:
            yield from ((f"{name}.{path}", text) for path, text in _fields_of(member))
        else:
            yield name, _in_words(member)


def json_value(node: Node) -> object:
    """Return the value as JSON data, in which a placeholder is represented by a text."""
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
