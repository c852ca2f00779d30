"""Edit HCL objects and lists in the layout of the lines around.

The layout of `terraform fmt` is followed if that needs no further edit: the `=` signs of a new object are aligned,
and a new key is aligned with the key above if it is short enough.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.edits.collections import NotEditable, edit_of, index_of, members_of, root_of
from nodelint.edits.formatting import Plain, is_broken, leading, line_end, line_start, step_of_broken
from nodelint.forms.terraform.hcl import read_literal
from nodelint.model.finding import Edit
from nodelint.text.nodes import Node, SourceText

SUFFIX = ".tf"
MOVES_TEXT = False
_IDENTIFIER = r"[^\W\d][\w-]*"
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_TAIL = r"(?P<comma>[ \t]*,)?[ \t]*(?:#[^\r\n]*|//[^\r\n]*|/\*[^\r\n]*?\*/[ \t]*)?(?=\r?\n)"


class AttributeForm(NamedTuple):
    """The notation of keys in an object: whether they have quotes, and the text between key and value."""

    quoted: bool
    sign: str


def set_value(node: Node, value: str | int | float | bool) -> list[Edit]:
    """Return edits that replace the value of a node with a scalar. For a key, they rename it."""
    if node.kind != "scalar":
        return replace(node, value)
    is_key = node.parent is not None and any(entry.key is node for entry in node.parent.entries)
    written = _key(str(value), node.style == "double") if is_key else _scalar(value)
    return [] if node.text == written else [edit_of(node, node.start, node.end, written)]


def replace(node: Node, value: Plain) -> list[Edit]:
    """Return edits that replace the value of a node."""
    if node.parent is None:
        raise NotEditable("this is a whole object")
    if any(entry.key is node for entry in node.parent.entries):
        raise NotEditable("a key can only be renamed")
    written = _value(
        value, leading(node), node, _form(node), step_of_broken(root_of(node), "hcl"), node.source.newline
    )
    return [edit_of(node, node.start, node.end, written)]


def insert_items(sequence: Node, index: int, items: Sequence[Plain]) -> list[Edit]:
    """Return edits that insert items, in this order, before the item at `index`."""
    near = sequence.items[max(index, 1) - 1 : max(index, 1)]
    model = near[0] if near else None

    def render_items(indent: str) -> list[str]:
        form, unit, newline = _form(sequence), step_of_broken(root_of(sequence), "hcl"), sequence.source.newline
        return [_value(item, indent, model, form, unit, newline) for item in items]

    if sequence.items:
        return _insert(sequence, index, render_items)
    indent = leading(sequence)
    if any(isinstance(item, Mapping) for item in items):
        indent += step_of_broken(root_of(sequence), "hcl")
        return _fill(sequence, render_items(indent), indent)
    return _fill(sequence, render_items(indent), None)


def add_keys(mapping: Node, values: Mapping[str, Plain], after: str | None = None, first: bool = False) -> list[Edit]:
    """Return edits that add keys, in order: after the key `after`, or at the start (`first`), else at the end."""
    members = members_of(mapping)
    previous = mapping.entry(after) if after is not None else None
    index = 0 if first else len(members)
    if previous is not None:
        index = next((i + 1 for i, (start, _) in enumerate(members) if start is previous.key), index)

    def render_items(indent: str) -> list[str]:
        form, unit, newline = _form(mapping), step_of_broken(root_of(mapping), "hcl"), mapping.source.newline
        width = _column_of_sign(members[max(index - 1, 0)]) if members else 0
        found = []
        for key, value in values.items():
            text = _value(value, indent, _like(mapping, key), form, unit, newline)
            found.append(_key(key, form.quoted).ljust(width if "\n" not in text else 0) + form.sign + text)
        return found

    if members:
        return _insert(mapping, index, render_items)
    inner = leading(mapping) + step_of_broken(root_of(mapping), "hcl")
    return _fill(mapping, render_items(inner), inner)


def remove(node: Node) -> list[Edit]:
    """Return edits that remove an item, or a key with its value.

    Its lines are removed with the comments above them.
    """
    parent = node.parent
    if parent is None:
        raise NotEditable("this is a whole object")
    text = node.source.text
    members = members_of(parent)
    index = index_of(node)
    if index is None:
        raise NotEditable("merge() brings the value: edit it by hand")
    first, last = members[index]
    if len(members) == 1:
        return [edit_of(parent, parent.start + 1, parent.end - 1, "")]
    line = line_start(text, first.start)
    tail = re.compile(_TAIL).match(text, last.end)
    if not text[line : first.start].strip() and tail is not None:
        floor = members[index - 1][1].end if index else parent.start
        while (above := line_start(text, line - 1)) > floor and text[above:line].lstrip().startswith(("#", "//")):
            line = above
        return [edit_of(parent, line, text.index("\n", tail.end()) + 1, "")]
    if index + 1 < len(members):
        return [edit_of(parent, first.start, members[index + 1][0].start, "")]
    return [edit_of(parent, members[index - 1][1].end, last.end, "")]


# -- places of members


def _insert(node: Node, index: int, written: Callable[[str], list[str]]) -> list[Edit]:
    text, newline = node.source.text, node.source.newline
    members = members_of(node)
    index = min(index, len(members))
    near = members[max(index - 1, 0)]
    indent = leading(near[0])
    own_line = not text[line_start(text, near[0].start) : near[0].start].strip()
    # In an object, a line break separates two members. A list needs commas.
    needs_comma = node.kind == "sequence"
    if index == 0:
        parts = written(indent)
        comma = "," if needs_comma or not own_line else ""
        gap = newline + indent if own_line else " "
        return [edit_of(node, near[0].start, near[0].start, "".join(part + comma + gap for part in parts))]
    tail = re.compile(_TAIL).match(text, near[1].end)
    if not own_line or tail is None:
        return [edit_of(node, near[1].end, near[1].end, "".join(", " + part for part in written(leading(node))))]
    parts = written(indent)
    at = line_end(text, tail.end())
    has_comma = tail["comma"] is not None
    comma = "," if needs_comma or has_comma else ""
    lines = "".join(newline + indent + part + comma for part in parts)
    if needs_comma and not has_comma:
        lines = lines.removesuffix(",")
        return [edit_of(node, near[1].end, near[1].end, ","), edit_of(node, at, at, lines)]
    return [edit_of(node, at, at, lines)]


def _fill(node: Node, parts: list[str], indent: str | None) -> list[Edit]:
    """Return edits that add the first members to an empty list or object.

    With `indent`, each is on a separate line.
    """
    if node.source.text[node.start + 1 : node.end - 1].strip():
        raise NotEditable("a comment stands between the lines of the edit: edit it by hand")
    if indent is None:
        return [edit_of(node, node.start + 1, node.end - 1, ", ".join(parts))]
    newline = node.source.newline
    comma = "," if node.kind == "sequence" else ""
    lines = "".join(newline + indent + part + comma for part in parts)
    return [edit_of(node, node.start + 1, node.end - 1, lines + newline + leading(node))]


# -- notation of values


def _scalar(value: str | int | float | bool | None) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    out = "".join(_ESCAPES.get(c) or (f"\\u{ord(c):04x}" if ord(c) < 0x20 else c) for c in value)
    return '"' + out.replace("${", "$${").replace("%{", "%%{") + '"'


def _key(key: str, quoted: bool) -> str:
    return _scalar(key) if quoted or not re.fullmatch(_IDENTIFIER, key) else key


def _value(value: Plain, indent: str, model: Node | None, form: AttributeForm, unit: str, newline: str) -> str:
    """Return a value as text in the style of a model. `indent` is that of its first line."""
    inner = indent + unit
    if isinstance(value, Mapping):
        model = model if model is not None and model.kind == "mapping" else None
        if not value:
            return "{}"
        if model is not None and model.entries and not is_broken(model):
            parts = [
                _key(key, form.quoted) + form.sign + _value(v, indent, model.get(key), form, unit, newline)
                for key, v in value.items()
            ]
            return "{ " + ", ".join(parts) + " }"
        return "{" + newline + _lines(value, inner, model, form, unit, newline) + indent + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        model = model if model is not None and model.kind == "sequence" and model.items else None
        last = model.items[-1] if model is not None else None
        broken = is_broken(model) if model is not None else any(isinstance(v, Mapping) for v in value)
        if not value:
            return "[]"
        if not broken:
            return "[" + ", ".join(_value(v, indent, last, form, unit, newline) for v in value) + "]"
        lines = [inner + _value(v, inner, last, form, unit, newline) for v in value]
        return "[" + newline + ("," + newline).join(lines) + newline + indent + "]"
    return _scalar(value)


def _lines(
    value: Mapping[str, Plain], indent: str, model: Node | None, form: AttributeForm, unit: str, newline: str
) -> str:
    keys = {key: _key(key, form.quoted) for key in value}
    texts = {
        key: _value(v, indent, model.get(key) if model is not None else None, form, unit, newline)
        for key, v in value.items()
    }
    width = max((len(keys[key]) for key in value if newline not in texts[key]), default=0)
    if form.sign != " = ":
        width = 0
    return "".join(
        indent + keys[key].ljust(width if newline not in texts[key] else 0) + form.sign + texts[key] + newline
        for key in value
    )


def _form(node: Node) -> AttributeForm:
    """Return the notation of keys in the nearest object."""
    at: Node | None = node
    while at is not None:
        if at.kind == "mapping" and at.entries:
            entry = at.entries[0]
            between = node.source.text[entry.key.end : entry.value.start]
            return AttributeForm(entry.key.style == "double", ": " if ":" in between else " = ")
        at = at.parent
    return AttributeForm(False, " = ")


def _column_of_sign(member: tuple[Node, Node]) -> int:
    """Return the width of a key with the blanks that align its sign. 0 if its value spans several lines."""
    key, value = member
    text = key.source.text
    if "\n" in text[value.start : value.end]:
        return 0
    sign = re.compile(r"[ \t]*(?= [=:])").match(text, key.end)
    return 0 if sign is None else sign.end() - key.start


def _like(mapping: Node, key: str) -> Node | None:
    """Return a value with the key `key` elsewhere in the object, as a model for the style. None if there is none."""
    for node in root_of(mapping).walk():
        if node.kind == "mapping" and node is not mapping:
            found = node.get(key)
            if found is not None:
                return found
    return None


# -- literals anywhere in a file


def is_literal(node: Node) -> bool:
    """Return whether a value is a literal: a quoted string, a number, a word, or a list of such."""
    again = _read_literal(node.source, node)
    return again is not None and again.plain() == node.plain()


def change_literal(node: Node, value: object) -> list[Edit]:
    """Return the fewest edits that replace a literal. Raise `NotEditable`."""
    own = _read_literal(node.source, node)
    if own is None or own.kind != node.kind:
        raise NotEditable("the value is an expression: edit it by hand")
    if own.kind == "scalar" and isinstance(value, str | int | float):
        return set_value(own, value)
    if (
        own.kind == "scalar"
        and isinstance(value, list)
        and all(isinstance(item, str | int | float) for item in value)
    ):
        return [Edit(own.source, node.start, node.end, f"[{', '.join(map(_scalar, value))}]")]
    from nodelint.edits.restructuring import Operations, Restructuring

    source, text = own.source, own.source.text
    operations = Operations(set_value, replace, insert_items, add_keys, remove)
    own = Restructuring(operations, _apply, lambda literal: literal).run(own, value)
    end = len(text) - (len(own.source.text) - own.end)
    if own.source.text == text:
        return []
    return [Edit(source, node.start, end, own.source.text[own.start : own.end])]


def _apply(node: Node, edits: list[Edit]) -> Node:
    """Return a literal list after edits, parsed again from a separate text."""
    text = node.source.text
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end), reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    again = _read_literal(SourceText(node.source.path, text), node)
    if again is None:
        raise NotEditable("nodelint could not read the file with this edit: edit it by hand")
    return again


def _read_literal(source: SourceText, node: Node) -> Node | None:
    """Return the literal that begins at the start of a node. None if there is something else."""
    return read_literal(source, node.start, node.end if source is node.source else len(source.text))
