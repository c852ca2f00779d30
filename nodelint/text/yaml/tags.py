"""Compute the values of tagged scalars: `!!str 1` is a string, and `!Sub` is a placeholder."""

from __future__ import annotations

import re

from nodelint.text.nodes import Node
from nodelint.text.syntax_errors import Unreadable, shortened
from nodelint.text.unknown_value import UNKNOWN
from nodelint.text.yaml.scalars import finite, resolve

_CORE = "tag:yaml.org,2002:"
_DEFINED = ("int", "float", "bool", "null", "merge", "binary")
"""Tags for which go-yaml converts the value. Any other word after `!!` leaves the text."""


def set_by_tag(node: Node, tag: str, text: str, is_key: bool = False) -> None:
    """Set the tag of a scalar, and the value of `text` with that tag. Raise Unreadable if the text is invalid.

    A value with a tag that YAML does not define is UNKNOWN: another tool fills it in. A key is always its text.
    """
    node.tag = tag
    if tag == "!" or tag == _CORE + "str" or tag == _CORE + "timestamp":
        node.value = text
        return
    if not tag.startswith(_CORE):
        node.value = text if is_key else UNKNOWN  # `!Sub`, `!Ref`, `!vault`: another tool fills it in
        return
    name = tag.removeprefix(_CORE)
    if name not in _DEFINED:
        node.value = text
        return
    value = resolve(text)
    if name == "int" and type(value) is int:
        node.value = value
    elif name == "float" and isinstance(value, int | float) and (is_key or finite(value)):
        node.value = float(value)
    elif (name == "bool" and type(value) is bool) or (name == "null" and value is None):
        node.value = value
    elif name == "merge" and text == "<<":
        node.value = text
    elif name == "binary":
        import base64

        try:
            data = base64.b64decode(re.sub(r"[\r\n]", "", text), validate=True)
            node.value = data.decode("utf-8", "replace")
        except ValueError:
            raise Unreadable(node.start, "the text tagged `!!binary` is not base64") from None
    else:
        raise Unreadable(node.start, f"`{shortened(text)}` is not a value for the tag `!!{name}`")
