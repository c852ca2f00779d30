"""The defaults that the API server fills in."""

from __future__ import annotations

from nodelint.apiserver.cel.text import escaped
from nodelint.apiserver.schema_node import SchemaNode
from nodelint.base.types import Any


def fill(value: dict[str, Any], shape: SchemaNode) -> None:
    """Add the defaults of missing fields to a value."""
    for name, child in shape.defaults:
        if escaped(name) not in value:
            value[escaped(name)] = filled(child, child.raw["default"])


def filled(shape: SchemaNode, value: Any) -> Any:
    """Return a default value in which missing fields have their defaults."""
    if isinstance(value, dict):
        made = {name: filled(shape.field(name) or shape.extra or shape, v) for name, v in value.items()}
        for name, child in shape.defaults:
            if name not in made:
                made[name] = filled(child, child.raw["default"])
        return made
    if isinstance(value, list):
        items = shape.items
        return [value_ if items is None else filled(items, value_) for value_ in value]
    return value
