"""Check whether an input of a rendered manifest can be parsed, as YAML or by its form.

Rendering skips a file that cannot be parsed. A comparison of two sides needs to know: such a file is a gap, not a
change.
"""

from __future__ import annotations

import os

from nodelint.forms.lib.variable_inputs import may_be_script
from nodelint.forms.registry import TABLE
from nodelint.forms.syntax_check import find_undecodable, is_mapping
from nodelint.text import Source
from nodelint.text.syntax_errors import SyntaxProblem, Unreadable
from nodelint.text.yaml.compose import compose

_YAML = (".yaml", ".yml", ".json")


def find_fault(path: str, data: bytes, known: dict[str, object] | None = None) -> tuple[Source, SyntaxProblem | None]:
    """Return the source of a file, and its syntax error.

    The error is None if the text is valid, if no form knows it, or if it has template code.

    `known` is a cache that forms share between files.
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
    if source.problems and (path.endswith(_YAML) or not may_be_script(path)):
        return source, SyntaxProblem(source.problems[0].offset, source.problems[0].message)
    language = TABLE.of_language(path)
    if language is not None:
        return source, language.load().find_fault(source, known)
    return source, _find_yaml_fault(source) if path.endswith(_YAML) and not source.masked else None


def _find_yaml_fault(source: Source) -> SyntaxProblem | None:
    name = os.path.basename(source.path)
    try:
        roots = compose(source, source.text, 0, masked=False)
    except Unreadable as error:
        # Helm uses the last of two keys with the same name.
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
