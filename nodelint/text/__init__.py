"""The exact text of a file and the YAML values in it, each with the place where it is written.

A source does not change: an edit makes a new text, and that is read again. Only a language server lets one follow the
text that is typed (`text.incremental`).

What reads YAML is loaded when something of it is first asked for: most files hold nothing of Karpenter's.
"""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from nodelint.text.lines import Position
    from nodelint.text.nodes import Document, MappingEntry, Node, Scalar, SourceText
    from nodelint.text.rereading import read_alone, reread, reread_document, reread_documents
    from nodelint.text.source import Source
    from nodelint.text.unknown_value import UNKNOWN, UnknownValue

__all__ = [
    "UNKNOWN",
    "Document",
    "MappingEntry",
    "Node",
    "Position",
    "Scalar",
    "Source",
    "SourceText",
    "UnknownValue",
    "read_alone",
    "reread",
    "reread_document",
    "reread_documents",
]

_NODES = ("Document", "MappingEntry", "Node", "Scalar", "SourceText")
_MODULES = {
    **dict.fromkeys(_NODES, "nodelint.text.nodes"),
    **dict.fromkeys(("UNKNOWN", "UnknownValue"), "nodelint.text.unknown_value"),
    **dict.fromkeys(("read_alone", "reread", "reread_document", "reread_documents"), "nodelint.text.rereading"),
    "Position": "nodelint.text.lines",
    "Source": "nodelint.text.source",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"nodelint.text has no `{name}`")
    from importlib import import_module

    found = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return found
