"""Values as kustomize holds them, each with the node of the file where it is written."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.forms.kustomize.errors import BuildError
from nodelint.text import UNKNOWN, Node
from nodelint.text.yaml.libyaml import END_OF_STREAM, SCALAR, libyaml
from nodelint.text.yaml.scalars import reads_as_text, resolve

if TYPE_CHECKING:
    from nodelint.text.nodes import Kind

JsonScalar = str | int | float | bool | None

_LARGEST_PLAIN = 6
"""The exponent from which Go writes a float with one."""
_DATE = r"(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ](\d{1,2}):(\d{1,2}):(\d{1,2})(\.\d{1,9})?(Z|[-+]\d\d:\d\d)?)?"


class TreeField(NamedTuple):
    """A key of a mapping, where it is written, and its value. `key` is None for what kustomize itself adds."""

    key: Node | None
    value: YamlTree


class YamlTree:
    """A mapping, a list or a scalar, which may be changed in place.

    `at` is where it is written, None if no file says so. `exact`: it is written there and nowhere else, and nothing
    else comes from there. A scalar's `value` is what JSON has for it, a placeholder the text that it is to kustomize;
    `raw` are the characters of one that is no text. `blank` is a null of no characters, `in_flow` a collection
    between brackets: kustomize treats these in ways of their own. What takes the place of a `quoted` scalar becomes a
    text; one that is `loose` was made by a replacement, and becomes one when a patch passes over it.
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
        """Whether it is a null, written or left out."""
        return self.kind == "scalar" and self.value is None

    def get(self, *path: str) -> YamlTree | None:
        """Return the value below some keys; None if there is none."""
        value = self
        for step in path:
            field = value.fields.get(step)
            if field is None:
                return None
            value = field.value
        return value

    def text(self, *path: str) -> str:
        """Return the text below some keys; empty if there is none, or none that is a text."""
        found = self.get(*path)
        return found.value if found is not None and isinstance(found.value, str) else ""

    def put(self, name: str, value: YamlTree, key: Node | None = None) -> None:
        """Set a key; one that is there keeps its place among the others, and is written where the new value is."""
        there = self.fields.get(name)
        self.fields[name] = TreeField(there.key if key is None and there is not None else key, value)

    def become(self, other: YamlTree) -> None:
        """Turn a scalar into another one where it is: kustomize may have the same one in two places."""
        for name in ("value", "raw", "at", "exact", "blank", "in_flow", "quoted", "loose"):
            setattr(self, name, getattr(other, name))

    def plain(self) -> object:
        """Return the value as JSON has it."""
        if self.kind == "mapping":
            return {name: field.value.plain() for name, field in self.fields.items()}
        if self.kind == "sequence":
            return [item.plain() for item in self.items]
        return self.value

    def copy(self) -> YamlTree:
        """Return a copy of the value, written in the same places."""
        other = YamlTree(self.kind, self.at, self.exact, self.value)
        other.blank, other.in_flow, other.raw = self.blank, self.in_flow, self.raw
        other.quoted, other.loose = self.quoted, self.loose
        other.fields = {name: TreeField(field.key, field.value.copy()) for name, field in self.fields.items()}
        other.items = [item.copy() for item in self.items]
        return other

    def walk(self) -> Iterator[YamlTree]:
        """Yield the value and all below it."""
        pending = [self]
        while pending:
            value = pending.pop()
            yield value
            pending += [field.value for field in value.fields.values()]
            pending += value.items

    def as_text(self) -> str:
        """Return a scalar as the text that kustomize makes of it where only texts may be."""
        if isinstance(self.value, str) and self.raw is None:
            return self.value
        if self.raw is not None:
            return self.raw
        return format_number(self.value)

    def become_text(self) -> None:
        """Turn a scalar into a text of its characters."""
        self.exact = self.exact and isinstance(self.value, str)
        self.value, self.raw, self.loose = self.as_text(), None, False

    def become_json(self, whole: bool = False) -> None:
        """Turn the value and all below it into what JSON keeps of it. `whole` numbers stay whole."""
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
        """Turn nulls of no characters between brackets into empty texts, as kustomize prints them."""
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
    """Return a scalar that is no text as kustomize writes it after a way through JSON: Go's shortest form of a
    float.
    """
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
    """Return a text that is written in a place, or is made from what stands there."""
    return YamlTree("scalar", at, exact, text)


def read_object(node: Node, within: Node | None = None) -> YamlTree:
    """Return an object, or a strategic merge patch, as kustomize reads it: `yes` and `on` are texts, a date gets a
    time.

    `within` is the scalar whose text the nodes were read from, where they have no places in the file.
    """
    return _read(node, within, False)


def read_json(node: Node, within: Node | None = None) -> YamlTree:
    """Return the value of an operation or of a field of a kustomization, which kustomize turns into JSON: `yes` is
    true.
    """
    return _read(node, within, True)


def read_name(key: Node, name: str | None, as_json: bool = False) -> str:
    """Return the name of a key: `on` is itself in an object."""
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
    """Raise `BuildError` for a key that kustomize writes as something else than a text, so that JSON has none."""
    if not isinstance(resolve_scalar(name), str):
        raise BuildError(at, f"the key `{name}` is no text to kustomize")


def resolve_scalar(text: str) -> JsonScalar:
    """Return a plain scalar as kustomize reads it: `yes` is a text."""
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
    """Return a date as Go writes it in JSON; the text itself where it is none."""
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
    """Return the text that a scalar is to a reader who knows no placeholders."""
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
