"""Write a value in the style of the lines around it.

The style comes from a model: a node in a similar place, such as the same key of the previous item, or a list of the
same name elsewhere in the document. The model gives the quotes, flow or block style, indents and padding. Without a
model, the most frequent style of the document is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache

from nodelint.text.nodes import Node, Style
from nodelint.text.yaml.scalars import reads_as_text

Plain = str | int | float | bool | None | Sequence["Plain"] | Mapping[str, "Plain"]


class MovedScalar(str):
    """The source text of a scalar with its quotes.

    It is written unchanged: a placeholder in it may print its own quotes.
    """

    __slots__ = ()


_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._/")
"""A text of these characters that begins with a letter needs no quotes, unless it is a word such as `yes`."""
# a conservative choice of what every YAML 1.1 and 1.2 parser reads as a string
_SAFE = r"(?:[^\W\d]|[0-9/.$(_]|-(?=\w))[^\x00-\x1f\x7f-\xa0\u2028\u2029\ufeff\ud800-\udfff\ue000]*+(?<! )"
_RISKY = r": |:$| #|^---|^\.\.\.|\t"
_MAYBE_NOT_TEXT = (  # a date, a base-60 number, a number for other parsers, special signs
    r"\d{4}-\d\d?-\d\d?(?:[Tt\s].*)?|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?"
    r"|[-+]?[0-9._]+(?:[eE][0-9]*)?|<<|="
)
_ESCAPED = r"[\x00-\x1f\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]"
"""Characters that YAML does not allow, or that are invisible."""
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


@lru_cache(4096)
def plain_is_safe(text: str, flow: bool) -> bool:
    """Return whether a string can be written without quotes and is still read as the same string."""
    if not text or not reads_as_text(text):
        return False
    if text[0].isalpha() and _PLAIN.issuperset(text):
        return True
    if re.fullmatch(_MAYBE_NOT_TEXT, text):
        return False
    if not re.fullmatch(_SAFE, text) or re.search(_RISKY, text):
        return False
    return not (flow and re.search(r"[,\[\]{}:?]", text))


def quoted(text: str, style: Style) -> str:
    """Return a string in single or double quotes. Double quotes are used if single quotes cannot hold it."""
    if style == "single" and re.search(_ESCAPED, text) is None:
        return "'" + text.replace("'", "''") + "'"
    out = []
    for character in text:
        if character in _ESCAPES:
            out.append(_ESCAPES[character])
        elif re.match(_ESCAPED, character):
            out.append(f"\\u{ord(character):04x}")
        else:
            out.append(character)
    return '"' + "".join(out) + '"'


def scalar(value: str | int | float | bool | None, style: Style, flow: bool, fallback: Style = "double") -> str:
    """Return a scalar in a quote style. `fallback` is the style if the string needs quotes."""
    if value is None:
        return "null"
    if isinstance(value, MovedScalar):
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if style not in ("single", "double") and plain_is_safe(value, flow):
        return value
    return quoted(value, style if style in ("single", "double") else fallback)


class _Counts:
    """Counts of the styles in a document, to find the most frequent ones."""

    def __init__(self) -> None:
        self.quotes: dict[Style, int] = {"single": 0, "double": 0}
        self.texts: dict[Style, int] = {"plain": 0, "single": 0, "double": 0}
        self.keys: dict[int, Style] = {}
        self.lists: dict[Style, int] = {"flow": 0, "block": 0}
        self.spaced = self.compact = 0

    def count_text(self, node: Node) -> None:
        """Count the style of a scalar. The keys of its mapping must be in `keys` already."""
        style = node.style
        if style in self.texts and isinstance(node.value, str) and id(node) not in self.keys:
            if style in self.quotes:
                self.quotes[style] += 1
            if plain_is_safe(node.value, False):  # otherwise the quotes are needed
                self.texts[style] += 1

    def count_list(self, node: Node) -> None:
        """Count the style of a list, and the spaces after its commas."""
        if node.items and all(item.kind == "scalar" for item in node.items):
            self.lists[node.style] = self.lists.get(node.style, 0) + 1
        if node.style == "flow" and not node.alias and len(node.items) > 1:
            after = node.source.text[node.items[0].end : node.items[1].start]
            self.spaced += ", " in after
            self.compact += after == ","


class Manner:
    """The style of a document, for places without a model. The document is searched at first use."""

    def __init__(self, root: Node) -> None:
        self.root = root
        self.source = root.source
        self.json = root.style == "flow" and all(entry.key.style == "double" for entry in root.entries)

    @cached_property
    def usual(self) -> UsualStyles:
        """Return the most frequent styles of the document."""
        return UsualStyles(self.root, self.json)


class UsualStyles:
    """The most frequent styles of a document for strings, keys and lists, and its indents below a key."""

    def __init__(self, root: Node, json: bool) -> None:
        self._by_key: dict[str, list[Node]] = {}
        self.step = 0
        self.sequence_step = -1
        counts = _Counts()
        for node in root.walk():
            if node.shared:
                continue
            if node.kind == "scalar":
                counts.count_text(node)
            elif node.kind == "mapping":
                self._see_mapping(node, counts)
            else:
                counts.count_list(node)
        self.step = self.step or 2
        if self.sequence_step < 0:
            self.sequence_step = self.step
        self.compact = counts.compact > counts.spaced
        if json and "\n" not in root.text and re.search(r'":[^\s]', root.text):
            self.compact = True
        self.quotes: Style = "single" if counts.quotes["single"] > counts.quotes["double"] else "double"
        styles = set(counts.keys.values())
        self.keys: Style = styles.pop() if len(styles) == 1 else "plain"
        self.strings: Style = "double" if json else max(counts.texts, key=lambda style: counts.texts[style])
        self.lists: Style = "block" if counts.lists["block"] > counts.lists["flow"] else "flow"

    def _see_mapping(self, mapping: Node, counts: _Counts) -> None:
        """Record the values of the keys, and the first indent of a mapping and of a list below a key."""
        for entry in mapping.entries:
            if entry.merged:
                continue
            value = entry.value
            counts.keys[id(entry.key)] = entry.key.style
            if entry.name is not None:
                self._by_key.setdefault(entry.name, []).append(value)
            if mapping.style == "block" and value.style == "block" and not value.alias:
                shift = column(value) - column(mapping)
                if value.kind == "mapping" and not self.step and shift > 0:
                    self.step = shift
                elif value.kind == "sequence" and self.sequence_step < 0 <= shift:
                    self.sequence_step = shift

    def like(self, key: str, before: int) -> Node | None:
        """Return the nearest value of the same key above an offset, else the first one below.

        None if there is none.
        """
        found = self._by_key.get(key)
        if not found:
            return None
        above = [node for node in found if node.start < before]
        return above[-1] if above else found[0]


class Writer:
    """Writes values in the style of one place of a document."""

    def __init__(self, manner: Manner, at: int) -> None:
        self.manner = manner
        self.at = at

    def flow(self, value: Plain, model: Node | None) -> str:
        """Return a value in flow style on one line, in the style of `model`."""
        if isinstance(value, Mapping | Sequence) and not value and not isinstance(value, str):
            return "{}" if isinstance(value, Mapping) else "[]"
        manner = self.manner
        comma, colon = (
            ("," if manner.usual.compact else ", "),
            (":" if manner.json and manner.usual.compact else ": "),
        )
        if isinstance(value, Mapping):
            pad = _padding(model)
            parts = [
                self.key(key, True) + colon + self.flow(item, self.model_of(model, key))
                for key, item in value.items()
            ]
            return "{" + pad + comma.join(parts) + pad + "}"
        if isinstance(value, Sequence) and not isinstance(value, str):
            pad = _padding(model)
            parts = [self.flow(item, item_model(model)) for item in value]
            return "[" + pad + comma.join(parts) + pad + "]"
        return scalar(value, self.style(value, model), True, manner.usual.quotes)

    def broken(self, value: Plain, indent: str, model: Node | None) -> str:
        """Return a value in flow style over several lines, as in indented JSON.

        `indent` is that of its first line.
        """
        if isinstance(value, str) or not isinstance(value, Mapping | Sequence) or not value:
            return self.flow(value, model)
        if model is not None and model.style == "flow" and not is_broken(model) and (model.items or model.entries):
            return self.flow(value, model)
        newline, inner = self.manner.source.newline, indent + self.unit()
        if isinstance(value, Mapping):
            parts = [
                f"{self.key(key, True)}: {self.broken(item, inner, self.model_of(model, key))}"
                for key, item in value.items()
            ]
            opening, closing = "{", "}"
        else:
            parts = [self.broken(item, inner, item_model(model)) for item in value]
            opening, closing = "[", "]"
        return opening + newline + inner + f",{newline}{inner}".join(parts) + newline + indent + closing

    def unit(self) -> str:
        """Return the white space of one level of indent in a flow collection over several lines."""
        return step_of_broken(self.manner.root, "flow")

    def block(self, value: Plain, indent: int, model: Node | None) -> list[str]:
        """Return the lines of a value in block style.

        The first line begins at column `indent`, without its indent.
        """
        if isinstance(value, Mapping) and value and not self.is_flow(model):
            lines: list[str] = []
            for key, item in value.items():
                written = self.entry(key, item, indent, self.model_of(model, key))
                lines += [written[0] if not lines else " " * indent + written[0], *written[1:]]
            return lines
        if isinstance(value, Sequence) and not isinstance(value, str) and value and not self.flow_list(value, model):
            lines = []
            gap = dash_gap(model)
            for item in value:
                written = self.block(item, indent + 1 + len(gap), item_model(model))
                first = "-" + gap + written[0]
                lines += [first if not lines else " " * indent + first, *written[1:]]
            return lines
        return self.one_line(value, indent, model)

    def one_line(self, value: Plain, indent: int, model: Node | None) -> list[str]:
        """Return the lines of a value that begins after its key or dash.

        Only a literal block scalar has several lines.
        """
        if isinstance(value, str):
            literal = None if isinstance(value, MovedScalar) else self.literal(value, indent)
            return literal or [scalar(value, self.style(value, model), False, self.manner.usual.quotes)]
        if isinstance(value, Mapping | Sequence):
            return [self.flow(value, model)]
        return [scalar(value, "plain", False)]

    def entry(self, key: str, value: Plain, indent: int, model: Node | None) -> list[str]:
        """Return the lines of `key: value` in a block mapping.

        `indent` is the column of the mapping's keys; the first line is without it. `model` is a node whose style to
        use.
        """
        name = self.key(key, False)
        if isinstance(value, Mapping) and value and not self.is_flow(model):
            inner = indent + self.shift(model, self.manner.usual.step, 1)
            lines = self.block(value, inner, model)
            return [name + ":", " " * inner + lines[0], *lines[1:]]
        if isinstance(value, Sequence) and not isinstance(value, str) and value and not self.flow_list(value, model):
            inner = indent + self.shift(model, self.manner.usual.sequence_step, 0)
            lines = self.block(value, inner, model)
            return [name + ":", " " * inner + lines[0], *lines[1:]]
        lines = self.one_line(value, indent, model)
        return [f"{name}: {lines[0]}", *lines[1:]]

    def literal(self, value: str, indent: int) -> list[str] | None:
        """Return the lines of a `|` scalar for a text of several lines.

        None if such a scalar cannot hold the text.
        """
        body = value.removesuffix("\n")
        if "\n" not in value or not body or body[0] in " \n\t" or body.endswith("\n"):
            return None
        if re.search(r"[\x00-\x08\x0b-\x1f\x7f-\xa0\u2028\u2029\ufeff\ud800-\udfff]", body):
            return None
        pad = " " * (indent + self.manner.usual.step)
        header = "|" if value.endswith("\n") else "|-"
        return [header, *(pad + line if line else "" for line in body.split("\n"))]

    def key(self, key: str, flow: bool) -> str:
        """Return a key in the quotes that the keys of the file have."""
        return scalar(key, self.manner.usual.keys, flow, self.manner.usual.quotes)

    def style(self, value: Plain, model: Node | None) -> Style:
        """Return the quote style of a string: that of the model, else the most frequent style of the file."""
        if self.manner.json:
            return "double"
        if model is None or model.kind != "scalar" or not isinstance(value, str):
            return self.manner.usual.strings
        is_text = model.style in ("single", "double") or isinstance(model.value, str)
        return model.style if is_text else self.manner.usual.strings

    def model_of(self, model: Node | None, key: str) -> Node | None:
        """Return the model for the value of a key: the same key in the model, else the nearest one in the file."""
        return (model.get(key) if model is not None else None) or self.manner.usual.like(key, self.at)

    def shift(self, model: Node | None, usual: int, least: int) -> int:
        """Return the number of columns by which a block collection is indented below its key."""
        if model is None or model.alias or model.style != "block" or model.parent is None:
            return usual
        if model.parent.kind != "mapping" or model.parent.style != "block":
            return usual
        return max(least, column(model) - column(model.parent))

    def is_flow(self, model: Node | None) -> bool:
        """Return whether the model is a non-empty mapping in braces."""
        return model is not None and model.kind == "mapping" and model.style == "flow" and bool(model.entries)

    def flow_list(self, value: Sequence[Plain], model: Node | None) -> bool:
        """Return whether to write a list in brackets: like the model, else like most lists of the file."""
        if model is not None and model.kind == "sequence" and model.items:
            return model.style == "flow"
        return self.manner.usual.lists == "flow" and not any(isinstance(v, Mapping | list | tuple) for v in value)


def item_model(model: Node | None) -> Node | None:
    """Return the model for a new item of a list: the last item of `model`. None if there is none."""
    if model is None or model.kind != "sequence" or not model.items:
        return None
    return model.items[-1]


def dash_gap(sequence: Node | None) -> str:
    """Return the white space between a `-` and its item."""
    if sequence is not None and sequence.style == "block" and not sequence.alias:
        text = sequence.source.text
        match = re.match(r"-( +)[^\s&!#]", text[sequence.start : sequence.start + 12])
        if match is not None:
            return match.group(1)
    return " "


def column(node: Node) -> int:
    """Return the number of characters between the start of the line and the node."""
    return node.start - line_start(node.source.text, node.start)


def leading(node: Node) -> str:
    """Return the white space with which the line of a node begins."""
    text = node.source.text
    begin = line_start(text, node.start)
    end = begin
    while end < len(text) and text[end] in " \t":
        end += 1
    return text[begin:end]


def line_start(text: str, offset: int) -> int:
    """Return the offset at which the line of a character begins, after a byte order mark."""
    start = text.rfind("\n", 0, offset) + 1
    return 1 if start == 0 and text.startswith("\ufeff") and offset > 0 else start


def line_end(text: str, offset: int) -> int:
    """Return the offset at which the line of a character ends, before its line break."""
    end = text.find("\n", offset)
    if end < 0:
        return len(text)
    return end - 1 if end > offset and text[end - 1] == "\r" else end


def children(node: Node) -> Iterator[tuple[Node, Node]]:
    """Yield the first and the last node of each member that is written in a collection. Merged keys are left out."""
    for item in node.items:
        yield item, item
    for entry in (*node.entries, *node.merges):
        if not entry.merged:
            yield entry.key, entry.value


def is_broken(node: Node) -> bool:
    """Return whether a flow collection has a line break before its first member."""
    first = next(children(node), None)
    return first is not None and "\n" in node.source.text[node.start : first[0].raw]


def _padding(model: Node | None) -> str:
    if model is not None and model.style == "flow" and not model.alias and not is_broken(model):
        text = model.source.text
        if text[model.start + 1 : model.start + 2] == " " and (model.items or model.entries):
            return " "
    return ""


def step_of_broken(root: Node, style: Style) -> str:
    """Return the indent of the first collection in a style that spans several lines. Two spaces if there is none."""
    for node in root.walk():
        if node.style == style and is_broken(node):
            inner = leading(node.items[0] if node.items else node.entries[0].key)
            outer = leading(node)
            if len(inner) > len(outer):
                return inner[len(outer) :]
    return "  "
