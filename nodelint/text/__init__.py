"""Parse the YAML of a file, with the exact position of each value.

A source does not change: an edit makes a new text, which is parsed again. Only the language server changes a source
in place while the user types (`text.incremental`).

The modules that parse YAML are loaded at first use: most files hold no Karpenter object.
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
