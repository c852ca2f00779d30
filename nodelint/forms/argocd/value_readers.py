"""Find the fields of an ApplicationSet that a parameter of its generators fills, besides the values of its chart."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from nodelint.base.types import TYPE_CHECKING
from nodelint.model.finding import Span, span_of
from nodelint.text import Node, Source
from nodelint.text.missing import text_of

_OF_KEYS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

if TYPE_CHECKING:
    from nodelint.forms.requests import JudgedPlaces
    from nodelint.model.finding import Edit


class ParameterReaders:
    """Finds these fields for a parameter that is written in the ApplicationSet itself."""

    def __init__(self, _: JudgedPlaces, sources: Sequence[Source]) -> None:
        pass

    def list_places(self, edit: Edit) -> Iterator[Span]:
        """Yield the fields that the value which an edit changes fills."""
        source = edit.source
        if not isinstance(source, Source) or "ApplicationSet" not in source.text:
            return
        key = _find_key(source.text[source.text.rfind("\n", 0, edit.start) + 1 : edit.start])
        for document in source.documents if key else ():
            root = document.root
            is_set = root is not None and text_of(root.get("kind")) == "ApplicationSet"
            if root is None or not is_set or not root.start <= edit.start < root.end:
                continue
            used = re.compile(rf"\{{\{{[^{{}}]*\b{re.escape(key)}\b[^{{}}]*\}}\}}")
            template = root.find("spec", "template")
            for node in template.walk() if template is not None else ():
                if node.kind == "scalar" and used.search(node.text) is not None and not _is_below(node, "helm"):
                    yield span_of(node)


def _find_key(before: str) -> str:
    """Return the key of a value, from the text before the value in its line. Empty if there is none."""
    text = before.rstrip(" \t\"'")
    text = text[:-1].rstrip(" \t\"'") if text.endswith(":") else ""
    return text[len(text.rstrip(_OF_KEYS)) :]


def _is_below(node: Node, key: str) -> bool:
    above: Node | None = node
    while above is not None:
        parent = above.parent
        if parent is not None and parent.kind == "mapping" and parent.get(key) is above:
            return True
        above = parent
    return False
