"""Whether a file that something is built of can be read at all, as YAML or by the form whose file it is.

What builds objects passes over a file that it cannot read. A comparison of two sides asks here, for such a file is a
gap and no change.
"""

from __future__ import annotations

import os

from nodelint.forms.registry import TABLE
from nodelint.forms.syntax_check import find_undecodable, is_mapping
from nodelint.text import Source
from nodelint.text.syntax_errors import SyntaxProblem, Unreadable
from nodelint.text.yaml.compose import compose

_YAML = (".yaml", ".yml", ".json")


def find_fault(path: str, data: bytes, known: dict[str, object] | None = None) -> tuple[Source, SyntaxProblem | None]:
    """Return a file as it is read, and what is wrong with it; None if it can be read, or is of a form not known here.

    `known` is what forms remember from one file to the next.
    """
    source = Source.from_bytes(path, data)
    known = {} if known is None else known
    fault = find_undecodable(source, data)
    if fault is not None:
        return source, fault
    folders = path.replace(os.sep, "/").split("/")
    for row in TABLE.rows:
        if not set(row.folders).isdisjoint(folders) and row.load().owns(path):
            return source, row.load().find_fault(source, known)
    if source.problems:
        return source, SyntaxProblem(source.problems[0].offset, source.problems[0].message)
    language = TABLE.of_language(path)
    if language is not None:
        return source, language.load().find_fault(source, known)
    return source, _find_yaml_fault(source, known) if path.endswith(_YAML) and not source.masked else None


def _find_yaml_fault(source: Source, known: dict[str, object]) -> SyntaxProblem | None:
    name = os.path.basename(source.path)
    try:
        roots = compose(source, source.text, 0, masked=False)
    except Unreadable as error:
        # Helm takes the last of two keys of one name.
        is_repeated = error.first is not None and name not in TABLE.names
        return None if is_repeated else SyntaxProblem(error.offset, error.message)
    row = next((row for row in TABLE.rows if name in (*row.names, *row.heads)), None)
    fault: SyntaxProblem | None = row.load().find_root_fault(roots) if row is not None else None
    if fault is not None:
        return fault
    if row is not None or "values" in name:
        other = next((root for root in roots if root is not None and not is_mapping(root)), None)
        return SyntaxProblem(other.start, "expected a mapping here") if other is not None else None
    return None
