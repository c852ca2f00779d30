"""Values by their tags: `!!str 1` is a text, and `!Sub` is for somebody else to fill in."""

from __future__ import annotations

import re

from nodelint.source.nodes import UNKNOWN, Node
from nodelint.source.scalars import finite, resolve
from nodelint.source.unreadable import Unreadable, shortened

_CORE = "tag:yaml.org,2002:"


def set_by_tag(node: Node, tag: str, text: str) -> None:
    """Give a scalar its tag, and the value that this makes of its text. Raises Unreadable."""
    node.tag = tag
    if tag == "!" or tag == _CORE + "str" or tag == _CORE + "timestamp":
        node.value = text
        return
    if not tag.startswith(_CORE):
        node.value = UNKNOWN  # `!Sub`, `!Ref`, `!vault`: somebody else fills it in
        return
    name = tag.removeprefix(_CORE)
    value = resolve(text)
    if name == "int" and type(value) is int:
        node.value = value
    elif name == "float" and isinstance(value, int | float) and finite(value):
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
