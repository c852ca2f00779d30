"""Represent values as kustomize does, each with the node at which it is written."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nodelint.base.tuples import NamedTuple
from nodelint.forms.kustomize.errors import BuildError
from nodelint.text import UNKNOWN, Node
from nodelint.text.nodes import Kind
from nodelint.text.yaml.libyaml import END_OF_STREAM, SCALAR, libyaml
from nodelint.text.yaml.scalars import reads_as_text, resolve

JsonScalar = str | int | float | bool | None

_LARGEST_PLAIN = 6
"""The exponent from which on Go writes a float in exponential form."""
_DATE = r"(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ](\d{1,2}):(\d{1,2}):(\d{1,2})(\.\d{1,9})?(Z|[-+]\d\d:\d\d)?)?"


class TreeField(NamedTuple):
    """A key of a mapping with its value. `key` is the key's node, None if kustomize adds the key."""

    key: Node | None
    value: YamlTree


class YamlTree:
    """A mapping, a list or a scalar, which can be changed in place.

    - `at`: the node at which it is written, None if it is in no file.
    - `exact`: it is written only there, and nothing else comes from there.
    - `value`: the JSON value of a scalar. For a placeholder, it is the text.
    - `raw`: the characters of a scalar that is not a string.
    - `blank`: a null without characters.
    - `in_flow`: a collection in brackets.
    - `quoted`: a scalar that makes its replacement a string.
    - `loose`: a scalar from a replacement. It becomes a string when a patch is merged over it.
    """

    __slots__ = ("at", "blank", "exact", "fields", "in_flow", "items", "kind", "loose", "quoted", "raw", "value")

    def __init__(self, kind: Kind, at: Node | None = None, exact: bool = False, value: JsonScalar = None) -> None:
        self.kind = kind
        self.at = at
        self.exact = exact
        self.value = value
        self.raw: str | None = None
        self.quoted = False
        self.loose = False
        self.fields: dict[str, TreeField] = {}
        self.items: list[YamlTree] = []
        self.blank = False
        self.in_flow = False

    @property
    def is_null(self) -> bool:
        """Return whether the value is null, written or blank."""
        return self.kind == "scalar" and self.value is None

    def get(self, *path: str) -> YamlTree | None:
        """Return the value at a path of keys. None if there is none."""
        value = self
        for step in path:
            field = value.fields.get(step)
            if field is None:
                return None
            value = field.value
        return value

    def text(self, *path: str) -> str:
        """Return the string at a path of keys. Empty if there is none, or if it is not a string."""
        found = self.get(*path)
        return found.value if found is not None and isinstance(found.value, str) else ""

    def put(self, name: str, value: YamlTree, key: Node | None = None) -> None:
        """Set the value of a key. An existing key keeps its position."""
        there = self.fields.get(name)
        self.fields[name] = TreeField(there.key if key is None and there is not None else key, value)

    def become(self, other: YamlTree) -> None:
        """Change a scalar into another one in place, because several keys may share it."""
        for name in ("value", "raw", "at", "exact", "blank", "in_flow", "quoted", "loose"):
            setattr(self, name, getattr(other, name))

    def plain(self) -> object:
        """Return the value as plain JSON types."""
        if self.kind == "mapping":
            return {name: field.value.plain() for name, field in self.fields.items()}
        if self.kind == "sequence":
            return [item.plain() for item in self.items]
        return self.value

    def copy(self) -> YamlTree:
        """Return a copy of the value, with the same places."""
        other = YamlTree(self.kind, self.at, self.exact, self.value)
        other.blank, other.in_flow, other.raw = self.blank, self.in_flow, self.raw
        other.quoted, other.loose = self.quoted, self.loose
        other.fields = {name: TreeField(field.key, field.value.copy()) for name, field in self.fields.items()}
        other.items = [item.copy() for item in self.items]
        return other

    def walk(self) -> Iterator[YamlTree]:
        """Yield the value and all values below it."""
        pending = [self]
        while pending:
            value = pending.pop()
            yield value
            pending += [field.value for field in value.fields.values()]
            pending += value.items

    def as_text(self) -> str:
        """Return a scalar as kustomize writes it where only strings are allowed."""
        if isinstance(self.value, str) and self.raw is None:
            return self.value
        if self.raw is not None:
            return self.raw
        return format_number(self.value)

    def become_text(self) -> None:
        """Change a scalar into a string of its characters."""
        self.exact = self.exact and isinstance(self.value, str)
        self.value, self.raw, self.loose = self.as_text(), None, False

    def become_json(self, whole: bool = False) -> None:
        """Change the value and all values below it as conversion through JSON does.

        With `whole`, integers stay integers.
        """
        self.fill_blanks()
        for value in self.walk():
            is_whole = isinstance(value.value, int) and not isinstance(value.value, bool)
            value.raw = str(value.value) if whole and is_whole else None
            value.loose = False
            value.blank = False
            if isinstance(value.value, int) and is_whole and not whole and abs(value.value) > 1 << 53:
                value.value, value.exact = float(value.value), False
            value.quoted = isinstance(value.value, str) and (whole or not reads_as_text(value.value or "~"))
            value.in_flow = whole

    def fill_blanks(self) -> None:
        """Change blank nulls in brackets into empty strings, as kustomize prints them."""
        pending = [(self, False)]
        while pending:
            value, in_flow = pending.pop()
            if value.kind == "scalar":
                if value.is_null and value.blank and in_flow:
                    value.value, value.raw, value.blank = "", None, False
                continue
            in_flow = in_flow or value.in_flow
            pending += [(field.value, in_flow) for field in value.fields.values()]
            pending += [(item, in_flow) for item in value.items]


def format_number(value: JsonScalar) -> str:
    """Return a scalar that is not a string as Go prints it from JSON, with the shortest form of a float."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    digits = f"{float(value):e}" if float(value) == 0 else repr(float(value))
    mantissa, _, exponent = digits.partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, decimals = mantissa.lstrip("-").removesuffix(".0").partition(".")
    shift = int(exponent or 0) + len(whole) - 1
    significant = (whole + decimals).lstrip("0")
    shift -= len(whole + decimals) - len(significant) if significant else 0
    significant = significant.rstrip("0") or "0"
    if significant == "0":
        return "0"
    if -4 <= shift < _LARGEST_PLAIN:
        return str(int(value)) if float(value).is_integer() else repr(float(value))
    behind = f".{significant[1:]}" if len(significant) > 1 else ""
    return f"{sign}{significant[0]}{behind}e{'-' if shift < 0 else '+'}{abs(shift):02d}"


def new_text(text: str, at: Node | None, exact: bool = False) -> YamlTree:
    """Return a string value that is written at a node, or computed from it."""
    return YamlTree("scalar", at, exact, text)


def read_object(node: Node, within: Node | None = None) -> YamlTree:
    """Return an object, or a strategic merge patch, as kustomize reads it: `yes` and `on` are strings.

    A date gets a time. `within` is the scalar that contains the text, if its nodes have no positions in the file.
    """
    return _read(node, within, False)


def read_json(node: Node, within: Node | None = None) -> YamlTree:
    """Return a value as kustomize reads it through JSON: `yes` is true.

    It is used for patch operations and fields of a kustomization. `within` is as in `read_object`.
    """
    return _read(node, within, True)


def read_name(key: Node, name: str | None, as_json: bool = False) -> str:
    """Return the name of a key. In an object, `on` stays `on`."""
    if name is None:
        return written_text(key)
    if (
        not as_json
        and isinstance(key.value, bool)
        and key.style == "plain"
        and key.text.lower() not in ("true", "false")
    ):
        return key.text
    return name


def check_name(name: str, at: Node | None) -> None:
    """Raise `BuildError` for a key that kustomize does not write as a string, so that it cannot be in JSON."""
    if not isinstance(resolve_scalar(name), str):
        raise BuildError(at, f"the key `{name}` is no text to kustomize")


def resolve_scalar(text: str) -> JsonScalar:
    """Return the value of a plain scalar as kustomize reads it: `yes` is a string."""
    value = resolve(text)
    return text if isinstance(value, bool) and text.lower() not in ("true", "false") else value


def _read(node: Node, within: Node | None, as_json: bool) -> YamlTree:
    value = YamlTree(node.kind, within or node, within is None and not (node.shared or node.aliased or node.alias))
    value.in_flow = node.style == "flow"
    if node.kind == "mapping":
        for entry in node.entries:
            name = read_name(entry.key, entry.name, as_json)
            if not as_json and entry.key.style == "plain" and not isinstance(entry.key.value, str):
                check_name(name, entry.key)
            value.fields[name] = TreeField(within or entry.key, _read(entry.value, within, as_json))
    elif node.kind == "sequence":
        value.items = [_read(item, within, as_json) for item in node.items]
    else:
        value.value = _scalar(node, as_json)
        if node.style == "plain" and not (isinstance(value.value, str) and value.value == node.text):
            value.raw = node.text
        value.quoted = node.style != "plain" and node.tag is None
        value.blank = value.value is None and node.start == node.end
    return value


def _scalar(node: Node, as_json: bool) -> JsonScalar:
    value = node.value
    if value is UNKNOWN:
        return written_text(node)
    if as_json or node.style != "plain" or node.tag is not None:
        return value  # type: ignore[return-value]
    if isinstance(value, bool):
        return value if node.text.lower() in ("true", "false") else node.text
    if isinstance(value, str) and value[:1].isdigit() and (date := re.fullmatch(_DATE, value)) is not None:
        return _with_time(value, date)
    return value  # type: ignore[return-value]


def _with_time(text: str, date: re.Match[str]) -> str:
    """Return a date as Go writes it in JSON. If it is no valid date, return the text."""
    from datetime import datetime

    year, month, day, hour, minute, second, fraction, zone = date.groups()
    try:
        at = datetime(int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0))
    except ValueError:
        return text
    if zone and (hour is None or " " in text):
        return text
    if hour is not None and "T" in text and not zone:
        return text
    return at.strftime("%Y-%m-%dT%H:%M:%S").zfill(19) + (fraction or "").rstrip("0").rstrip(".") + (zone or "Z")


def written_text(node: Node) -> str:
    """Return the text of a scalar as a parser without placeholders reads it."""
    if isinstance(node.value, str):
        return node.value
    if node.style == "plain":
        return node.text
    parser = libyaml()
    try:
        next_event = parser.read_events(node.text + "\n")
        while (event := next_event())[0] != END_OF_STREAM:
            if event[0] == SCALAR:
                return event[3]
    except parser.error:
        pass
    return node.unquoted
