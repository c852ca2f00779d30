"""Read files with values: their documents are parsed whether or not they mention Karpenter."""

from __future__ import annotations

import os

from nodelint.files.gate import gate
from nodelint.text import Node, Source
from nodelint.text.limits import note_broken
from nodelint.text.nodes import MappingEntry
from nodelint.text.reading import nodes_of
from nodelint.text.source import WHOLE_FILE
from nodelint.text.syntax_errors import SyntaxProblem

_LARGEST = 64 << 20


def own_roots(source: Source) -> list[Node]:
    """Return the roots of a source's documents without embedded documents. Empty if unreadable."""
    nodes_of(source)
    return [document.root for document in source.documents if document.root is not None and document.host is None]


def read(path: str, also: str | None = None) -> Source | None:
    """Return a file as a source. None if it cannot be read, or is a link out of its repository.

    `also` is a pattern of further texts for which it is parsed, as in `Source`.
    """
    try:
        return Source.from_bytes(os.path.normpath(path).replace(os.sep, "/"), content_of(path), also)
    except OSError:
        return None


def content_of(path: str) -> bytes:
    """Return the bytes of a file in its repository. Raise OSError with the reason if it cannot be read."""
    return gate.read(path, _LARGEST)


def merged(base: Node, over: Node) -> Node:
    """Return values with others merged over them, as in helm: maps key by key, and a null removes a key."""
    if base.kind != "mapping" or over.kind != "mapping":
        return over
    made = Node(over.source, over.start, over.end, "mapping", over.style)
    ours = {entry.name: entry for entry in over.entries}
    for entry in base.entries:
        own = ours.pop(entry.name, None) if entry.name is not None else None
        if own is None:
            made.entries.append(entry)
        elif own.value.kind != "scalar" or own.value.value is not None:
            made.entries.append(MappingEntry(own.key, merged(entry.value, own.value), own.name))
    made.entries += [entry for entry in over.entries if entry.name in ours]
    return made


def values_root(values: Source) -> Node | None:
    """Return the only document of a values file. None if it is another kind of file."""
    if values.problems or values.code_masked:
        return None
    found = own_roots(values)
    root = found[0] if len(found) == 1 and found[0].kind == "mapping" else None
    return None if root is None or root.get("apiVersion") is not None else root


def is_empty(source: Source) -> bool:
    """Return whether a file holds comments alone, or nothing."""
    lines = (line.strip().removeprefix("\ufeff") for line in source.text.splitlines())
    return all(not line or line.startswith("#") or line in ("---", "...", "null", "~") for line in lines)


def read_broken(source: Source) -> SyntaxProblem | None:
    """Return the first syntax error of a file whose values a release needs. None if it is YAML, or a template.

    The source is parsed again as a whole, because errors in a text without Karpenter's name are not recorded.
    """
    again = Source.from_text(source.path, source.text, WHOLE_FILE)
    problem = find_values_error(again)
    if problem is None:
        return None
    source.also, source.documents, source.problems = WHOLE_FILE, again.documents, again.problems
    return problem


def find_values_error(whole: Source) -> SyntaxProblem | None:
    """Return the first syntax error of a values file that was parsed as a whole. None if helm can read it."""
    problem = next(iter(whole.problems), None)
    # helm uses the last of two keys with the same name.
    return None if problem is None or problem.first is not None else problem


def note_broken_text(value: Node) -> None:
    """Record a syntax error in a file whose whole text is the value: a tool that needs the file stops."""
    source = value.source
    is_file = value.value == source.text and source.path.endswith((".yaml", ".yml"))
    if isinstance(source, Source) and is_file and read_broken(source) is not None:
        note_broken([source])
