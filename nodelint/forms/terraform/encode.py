"""Encode Terraform values as JSON and YAML, in pieces that record from which value they come."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

from nodelint.forms.lib.made_nodes import UNSET
from nodelint.forms.terraform.nodes import TextNode, sorted_entries, text_of
from nodelint.text.nodes import Node, Scalar
from nodelint.text.unknown_value import UNKNOWN

Piece = tuple[str, Node | None]


def json_pieces(
    node: Node, unset: Callable[[Node], str] = lambda node: f'"{UNSET}"', compact: bool = False
) -> Iterator[Piece]:
    """Yield a value as JSON. `unset` returns the text for an unknown value.

    With `compact`, the layout is Terraform's.
    """
    comma, colon = (",", ":") if compact else (", ", ": ")
    if node.kind == "scalar":
        if isinstance(node, TextNode) and node.value is UNKNOWN:
            text = "".join(text for text, _ in node.pieces)
            yield (json.dumps(text, ensure_ascii=False) if unset(node).startswith('"') else unset(node)), node
        else:
            yield unset(node) if node.value is UNKNOWN else _json(node.value, compact), node
        return
    yield "[" if node.kind == "sequence" else "{", node
    for n, item in enumerate(node.items):
        yield comma if n else "", node
        yield from json_pieces(item, unset, compact)
    for n, entry in enumerate(sorted_entries(node) if compact else node.entries):
        yield comma if n else "", node
        yield _json(entry.name or UNSET, compact), entry.key
        yield colon, node
        yield from json_pieces(entry.value, unset, compact)
    yield "]" if node.kind == "sequence" else "}", node


def _json(value: Scalar, escaped: bool = False) -> str:
    if value is None:
        return "null"
    if not isinstance(value, str):
        return text_of(value)
    text = json.dumps(value, ensure_ascii=False)
    return re.sub("[<>&\u2028\u2029]", lambda match: f"\\u{ord(match[0]):04x}", text) if escaped else text


def yaml_pieces(node: Node, indent: str = "") -> Iterator[Piece]:
    """Yield a value as `yamlencode` writes it, without a final line break."""
    if node.kind == "scalar" or not (node.items or node.entries):
        yield _yaml_scalar(node, indent), node
        return
    for n, item in enumerate(node.items):
        yield ("\n" + indent if n else "") + "- ", node
        yield from yaml_pieces(item, indent + "  ")
    for n, entry in enumerate(sorted_entries(node)):
        if n:
            yield "\n" + indent, node
        yield UNSET if entry.name is None else json.dumps(entry.name, ensure_ascii=False), entry.key
        yield ":", node
        below = entry.value
        if below.items or below.entries:
            inner = indent + "  " if below.entries else indent
            yield "\n" + inner, node
            yield from yaml_pieces(below, inner)
        else:
            yield " ", node
            yield _yaml_scalar(below, indent + "  "), below


def _yaml_scalar(node: Node, indent: str) -> str:
    if node.kind != "scalar":
        return "[]" if node.kind == "sequence" else "{}"
    if isinstance(node, TextNode) and node.value is UNKNOWN:
        return json.dumps("".join(text for text, _ in node.pieces), ensure_ascii=False)
    if isinstance(node.value, str) and indent and _BLOCK.fullmatch(node.value):
        return _yaml_block(node.value, indent)
    return f'"{UNSET}"' if node.value is UNKNOWN else _json(node.value)


_BLOCK = re.compile(r"(?=[^\n]*\n)[\n -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]*")
"""A text of several lines whose characters need no escape."""


def _yaml_block(text: str, indent: str) -> str:
    """Return a text as a literal block like `yamlencode`. If a line ends with a space, return it in quotes."""
    if re.search(r" $", text, re.M):
        return _json(text)
    ends = len(text) - len(text.rstrip("\n"))
    sign = "|" + ("2" if text[0] in " \n" else "") + ("-", "", "+")[min(ends, 2) if text != "\n" else 2]
    lines = text.removesuffix("\n").split("\n")
    return sign + "".join("\n" + (indent + line if line else "") for line in lines)
