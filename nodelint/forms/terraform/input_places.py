"""Find the places of expressions on which an unknown value depends, and the parts of maps that references use."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.forms.terraform.file_blocks import TerraformBlock, TerraformFile
from nodelint.forms.terraform.hcltree import HclExpression
from nodelint.text import Node, SourceText

COMMENT = re.compile(r"(?m)^[ \t]*(?:#|//)[^\n]*$")
"""A comment on a line of its own."""
ANY = "*"
"""A step to each value of a map or list: the key or index is not known."""
_STEP = re.compile(r"\.([\w-]+|\*)|\[\s*(?:\"([^\"$%]*)\"|(\d+))\s*\]|\[[^\[\]\n]*\]")
_LOOKUP = re.compile(r"\blookup\(\s*([A-Za-z_][\w.\-\[\]\"]*)\s*,\s*(\"[^\"$%]*\")")
_OF_ITEMS = ("list", "map", "set")


class InputPlace(NamedTuple):
    """An expression to follow.

    - `name`: its name.
    - `folder`: its module.
    - `source`, `start`, `end`: its place.
    - `block`: the block around it.
    - `call`: the label of the module call whose arguments are used. Empty if the arguments of all calls are.
    - `steps`: the path to the part of its value that is used.
    - `caller`: the call of the module, as in `InputText`.
    """

    name: str
    folder: str
    source: SourceText
    start: int
    end: int
    block: TerraformBlock | None = None
    call: str = ""
    steps: tuple[str, ...] = ()
    caller: str = ""


def list_steps(text: str) -> list[str]:
    """Return the steps in the text after a name: `.a`, `["a"]`, `[0]`."""
    return [next(filter(None, found.groups()), ANY) for found in _STEP.finditer(text)]


def write_lookups_as_indexes(text: str) -> str:
    """Return an expression in which `lookup(map, "key")` is written as an index, `lookup(map["key"]`."""
    return _LOOKUP.sub(r"lookup(\1[\2]", text)


def narrow(expression: HclExpression, steps: Sequence[str], text: str) -> Iterator[tuple[HclExpression, list[str]]]:
    """Yield the parts of an expression that determine the value at some steps, each with the remaining steps."""
    kind, parts = expression.kind, expression.parts
    if not steps:
        yield expression, []
    elif kind == "object":
        yield from _narrow_object(expression, steps, text)
    elif kind == "list" and (steps[0] == ANY or steps[0].isdigit()):
        chosen = parts if steps[0] == ANY else parts[int(steps[0]) : int(steps[0]) + 1]
        for part in chosen:
            yield from narrow(part, steps[1:], text)
    elif kind == "call" and expression.value == "merge" and steps[0] != ANY:
        yield from _narrow_merge(parts, steps, text)
    elif kind == "call" and expression.value == "object" and parts:
        yield from narrow(parts[0], steps, text)
    elif kind == "call" and expression.value in _OF_ITEMS and parts:
        yield from narrow(parts[0], steps[1:], text)
    elif kind == "call" and expression.value == "optional":
        for part in parts:
            yield from narrow(part, steps, text)
    else:
        yield expression, list(steps)


def _narrow_object(
    expression: HclExpression, steps: Sequence[str], text: str
) -> Iterator[tuple[HclExpression, list[str]]]:
    keys = [_key_of(key, text) for key in expression.parts[::2]]
    values = expression.parts[1::2]
    if None in keys and steps[0] != ANY:
        yield expression, list(steps)
        return
    for key, value in zip(keys, values, strict=True):
        if steps[0] in (ANY, key):
            yield from narrow(value, steps[1:], text)


def _narrow_merge(
    parts: Sequence[HclExpression], steps: Sequence[str], text: str
) -> Iterator[tuple[HclExpression, list[str]]]:
    """Yield the arguments of `merge` that determine a value, the last first.

    Arguments before an argument that certainly has the key are left out.
    """
    for part in reversed(parts):
        yield from narrow(part, steps, text)
        if part.kind == "object":
            keys = [_key_of(key, text) for key in part.parts[::2]]
            if steps[0] in keys and None not in keys:
                return


def _key_of(key: HclExpression, text: str) -> str | None:
    """Return the key of an object as it is written. None if it is computed."""
    written = text[key.start : key.end].strip('"')
    return (
        written if re.fullmatch(r"[\w.\-/: ]+", written) and not text[key.start : key.end].startswith("(") else None
    )


def narrow_node(node: Node, steps: Sequence[str]) -> Iterator[Node]:
    """Yield the parts of a value at some steps. If there are none, yield the value itself."""
    if not steps or node.kind == "scalar":
        yield node
    elif node.kind == "mapping":
        for entry in node.entries:
            if steps[0] in (ANY, entry.name):
                yield from narrow_node(entry.value, steps[1:])
    elif steps[0] == ANY or steps[0].isdigit():
        items = node.items if steps[0] == ANY else node.items[int(steps[0]) : int(steps[0]) + 1]
        for item in items:
            yield from narrow_node(item, steps[1:])
    else:
        yield node


def list_arguments(file: TerraformFile, block: TerraformBlock, words: set[str]) -> Iterator[HclExpression]:
    """Yield the arguments of a `templatefile`, or of `vars`, whose names are in `words`.

    If names are unknown, yield all.
    """
    pending = list(file.attributes(block).values())
    given = file.attributes(block)
    while pending:
        expression = pending.pop()
        values = None
        if expression.kind == "call" and expression.value == "templatefile" and len(expression.parts) > 1:
            values = expression.parts[1]
        elif expression is given.get("vars"):
            values = expression
        if values is None:
            pending += _parts_of(expression)
            continue
        if values.kind != "object":
            yield values
            continue
        for key, value in zip(values.parts[::2], values.parts[1::2], strict=True):
            if file.source.text[key.start : key.end].strip('"() ') in words:
                yield value


def _parts_of(expression: HclExpression) -> Iterator[HclExpression]:
    yield from expression.parts
    if expression.kind == "template" and isinstance(expression.value, tuple):
        yield from (piece.expression for piece in expression.value[1] if piece.expression is not None)
    if expression.kind == "for":
        loop = expression.value
        yield from (part for part in (loop.over, loop.key, loop.item, loop.test) if isinstance(part, HclExpression))  # type: ignore[attr-defined]
