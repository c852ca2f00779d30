"""Print objects as YAML, and map each node of the text to the place where its value is written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from nodelint.base.tuples import NamedTuple
from nodelint.forms.kustomize.files import is_wanted
from nodelint.forms.kustomize.values import YamlTree, read_name, written_text
from nodelint.text import UNKNOWN, Node, Source
from nodelint.text.yaml.scalars import reads_as_text

_PLAIN = re.compile(r"[A-Za-z0-9_./$][A-Za-z0-9_./$%+@=-]*(?: [A-Za-z0-9_./$%+@=-]+)*")
_BLOCK = re.compile(r"[^\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]*")
"""Texts that a block scalar can hold: without tabs, and with line feeds only."""


class ValuePlace(NamedTuple):
    """The place where a value is written. `exact` is False if only a part of the value is written there."""

    at: Node | None
    exact: bool


class PrintedObjects(NamedTuple):
    """The printed text, its objects, and the places of its nodes by the id of the node."""

    source: Source
    objects: list[YamlTree]
    places: dict[int, ValuePlace]


def print_objects(objects: Iterable[YamlTree], path: str, also: str | None = None) -> PrintedObjects:
    """Return the objects that mention Karpenter or match `also`, printed as the documents of one text, in order."""
    shown: list[YamlTree] = []
    texts: list[str] = []
    for value in objects:
        value.fill_blanks()
        text = f"---\n{_Printer().print(value)}"
        if is_wanted(text, also):
            shown.append(value)
            texts.append(text)
    source = Source.from_text(path, "".join(texts), also)
    roots = [document.root for document in source.documents if document.host is None]
    places: dict[int, ValuePlace] = {}
    if len(roots) == len(shown):
        for root, value in zip(roots, shown, strict=True):
            if root is not None:
                _pair(root, value, places)
    return PrintedObjects(source, shown, places)


def is_printed(value: YamlTree, also: str | None) -> bool:
    """Return whether `print_objects` prints an object. Like that function, it replaces blank nulls."""
    value.fill_blanks()
    named = value.text("apiVersion") + value.text("kind")
    return is_wanted(named, None) or is_wanted(_Printer().print(value), also)


class _Printer:
    def __init__(self) -> None:
        self._lines: list[str] = []

    def print(self, value: YamlTree) -> str:
        if not value.fields:
            return "{}\n"
        self._mapping(value, 0)
        return "\n".join(self._lines) + "\n"

    def _mapping(self, value: YamlTree, indent: int, first: str = "") -> None:
        """Print a mapping. `first` replaces the indent before the first key."""
        before = first or " " * indent
        for name, field in value.fields.items():
            self._value(f"{before}{_quote(name)}:", field.value, indent)
            before = " " * indent

    def _value(self, before: str, value: YamlTree, indent: int) -> None:
        if value.kind == "mapping" and value.fields:
            self._lines.append(before)
            self._mapping(value, indent + 2)
        elif value.kind == "sequence" and value.items:
            self._lines.append(before)
            self._sequence(value, indent)
        else:
            self._lines.append(f"{before} {_scalar(value, indent)}")

    def _sequence(self, value: YamlTree, indent: int) -> None:
        for item in value.items:
            dash = " " * indent + "- "
            if item.kind == "mapping" and item.fields:
                self._mapping(item, indent + 2, dash)
            elif item.kind == "sequence" and item.items:
                self._lines.append(dash.rstrip())
                self._sequence(item, indent + 2)
            else:
                self._lines.append(dash + _scalar(item, indent))


def _scalar(value: YamlTree, indent: int) -> str:
    if value.kind != "scalar":
        return "{}" if value.kind == "mapping" else "[]"
    text = value.value
    if text is None:
        return "null"
    if isinstance(text, bool):
        return "true" if text else "false"
    if isinstance(text, str):
        if "\n" in text.rstrip("\n") and text.strip() and not text[0].isspace() and _BLOCK.fullmatch(text):
            return _block(text, indent)
        return _quote(text)
    return value.raw if value.raw is not None and not reads_as_text(value.raw) else repr(text)


def _block(text: str, indent: int) -> str:
    body = text.rstrip("\n")
    behind = len(text) - len(body)
    mark = "|-" if behind == 0 else "|" if behind == 1 else "|+"
    margin = " " * (indent + 2)
    lines = [margin + line if line else "" for line in body.split("\n")]
    return "\n".join([mark, *lines, *[""] * (behind - 1)])


def _quote(text: str) -> str:
    """Return a text as a one-line scalar that is read as the same text."""
    if _PLAIN.fullmatch(text) and reads_as_text(text) and not text.startswith("..."):
        return text
    return (
        '"' + "".join(_ESCAPES.get(c) or (c if c.isprintable() and c != "\ufeff" else _escape(c)) for c in text) + '"'
    )


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _pair(root: Node, value: YamlTree, places: dict[int, ValuePlace]) -> None:
    """Record the places of the nodes of a printed text, by walking it together with the printed values."""
    pending = [(root, value)]
    while pending:
        node, value = pending.pop()
        places[id(node)] = ValuePlace(value.at, value.exact)
        for entry, field in zip(node.entries, value.fields.values(), strict=False):
            places[id(entry.key)] = ValuePlace(field.key, field.key is not None and field.value.exact)
            pending.append((entry.value, field.value))
        pending += zip(node.items, value.items, strict=False)


def differing(node: Node, value: YamlTree) -> Iterator[tuple[Node, YamlTree]]:
    """Yield each value that reads differently after it was written as YAML.

    The text may be used only if there is none.
    """
    pending = [(node, value)]
    while pending:
        node, value = pending.pop()
        if node.kind == value.kind == "mapping" and len(node.entries) == len(value.fields):
            pending += zip((e.value for e in node.entries), (f.value for f in value.fields.values()), strict=True)
        elif node.kind == value.kind == "sequence" and len(node.items) == len(value.items):
            pending += zip(node.items, value.items, strict=True)
        elif node.kind != "scalar" or not (node.value is UNKNOWN or node.plain() == _plain_value(value)):
            yield node, value


def is_value_of(node: Node, value: YamlTree) -> bool:
    """Return whether a node has a value, with keys in any order. A placeholder is compared as text."""
    if node.kind == value.kind == "mapping":
        names = [read_name(entry.key, entry.name) for entry in node.entries]
        return set(names) == set(value.fields) and all(
            is_value_of(entry.value, value.fields[name].value)
            for name, entry in zip(names, node.entries, strict=True)
        )
    if node.kind == value.kind == "sequence":
        return len(node.items) == len(value.items) and all(map(is_value_of, node.items, value.items))
    if node.kind != value.kind:
        return False
    return value.value == (written_text(node) if node.value is UNKNOWN else node.value)


def _plain_value(value: YamlTree) -> object:
    plain = value.plain()
    return int(plain) if isinstance(plain, float) and plain.is_integer() and abs(plain) < 1e21 else plain
