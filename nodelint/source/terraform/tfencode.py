"""Values of Terraform as JSON and YAML, in pieces that know which value they are from."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

from nodelint.source.nodes import UNKNOWN, Node, Scalar
from nodelint.source.terraform.tfeval import TextNode, text_of
from nodelint.source.yaml.scalars import reads_as_text

Piece = tuple[str, Node | None]

UNSET = "${unset}"
"""Stands in a text for a value that is not known: a placeholder."""


def json_pieces(node: Node, unset: Callable[[Node], str] = lambda node: f'"{UNSET}"') -> Iterator[Piece]:
    """A value as JSON; what is not known in it as `unset` says."""
    if node.kind == "scalar":
        if isinstance(node, TextNode) and node.value is UNKNOWN:
            text = "".join(text for text, _ in node.pieces)
            yield (json.dumps(text, ensure_ascii=False) if unset(node).startswith('"') else unset(node)), node
        else:
            yield unset(node) if node.value is UNKNOWN else _json(node.value), node
        return
    yield "[" if node.kind == "sequence" else "{", node
    for n, item in enumerate(node.items):
        yield ", " if n else "", node
        yield from json_pieces(item, unset)
    for n, entry in enumerate(node.entries):
        yield ", " if n else "", node
        yield json.dumps(entry.name or UNSET, ensure_ascii=False), entry.key
        yield ": ", node
        yield from json_pieces(entry.value, unset)
    yield "]" if node.kind == "sequence" else "}", node


def _json(value: Scalar) -> str:
    if value is None:
        return "null"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else text_of(value)


def yaml_pieces(node: Node, indent: str = "") -> Iterator[Piece]:
    """A value as block YAML, without a line break at its end."""
    if node.kind == "scalar" or not (node.items or node.entries):
        yield _yaml_scalar(node), node
        return
    for n, item in enumerate(node.items):
        yield ("\n" + indent if n else "") + "- ", node
        yield from yaml_pieces(item, indent + "  ")
    for n, entry in enumerate(node.entries):
        if n:
            yield "\n" + indent, node
        yield _yaml_key(entry.name), entry.key
        yield ":", node
        below = entry.value
        if below.items or below.entries:
            yield "\n" + indent + "  ", node
            yield from yaml_pieces(below, indent + "  ")
        else:
            yield " ", node
            yield _yaml_scalar(below), below


def _yaml_key(name: str | None) -> str:
    if name is None:
        return UNSET
    plain = re.fullmatch(r"[A-Za-z][\w./-]*", name) is not None and reads_as_text(name)
    return name if plain else json.dumps(name, ensure_ascii=False)


def _yaml_scalar(node: Node) -> str:
    if node.kind != "scalar":
        return "[]" if node.kind == "sequence" else "{}"
    if isinstance(node, TextNode) and node.value is UNKNOWN:
        return json.dumps("".join(text for text, _ in node.pieces), ensure_ascii=False)
    return f'"{UNSET}"' if node.value is UNKNOWN else _json(node.value)
