"""JSON as it is printed: indented by two, and a row of a long list in one line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any


class JsonLine(dict[str, Any]):
    """An object that is printed in one line: one of hundreds in a list, as an instance type of a pool."""


class SharedObject(dict[str, Any]):
    """An object that stands in several lists of one depth, as what a pool makes of pods that ask the same."""


def json_parts(value: object, ascii_only: bool) -> Iterator[str]:
    """The text of a value part by part, as `json.dumps(value, indent=2)` makes it but for rows.

    `ascii_only` escapes all other characters. The library encodes rows and scalars: its encoder in C does not indent.
    """
    return _Writer(ascii_only).parts(value, "\n")


class _Writer:
    """Writes values part by part, and what is there more than once from memory."""

    def __init__(self, ascii_only: bool) -> None:
        self._encode = json.JSONEncoder(ensure_ascii=ascii_only).encode
        self._rows: dict[int, str] = {}
        self._shared: dict[int, str] = {}
        self._names: dict[str, str] = {}

    def parts(self, value: object, margin: str) -> Iterator[str]:
        """The text of a value part by part, on lines that begin with a margin."""
        if isinstance(value, JsonLine):
            yield self._row(value)
        elif isinstance(value, SharedObject):
            text = self._shared.get(id(value))
            if text is None:
                text = self._shared[id(value)] = "".join(self.parts(dict(value), margin))
            yield text
        elif isinstance(value, dict) and value:
            yield from self._object_parts(value, margin)
        elif isinstance(value, (list, tuple)) and value:
            inner, between = f"{margin}  ", "["
            for item in value:
                yield between + inner
                yield from self.parts(item, inner)
                between = ","
            yield f"{margin}]"
        else:
            yield self._encode(value)

    def _object_parts(self, value: dict[str, Any], margin: str) -> Iterator[str]:
        inner, between = f"{margin}  ", "{"
        for name, item in value.items():
            # Objects of a list have the same names, hundreds of times.
            written = self._names.get(name)
            if written is None:
                written = self._names[name] = f"{self._encode(name)}: "
            yield between + inner + written
            yield from self.parts(item, inner)
            between = ","
        yield f"{margin}}}"

    def _row(self, row: JsonLine) -> str:
        """A row's text: lists may share rows, as pools of like classes do."""
        text = self._rows.get(id(row))
        if text is None:
            text = self._encode(row)
            if len(self._rows) < _MOST_ROWS:
                self._rows[id(row)] = text
        return text


_MOST_ROWS = 10_000
"""Rows whose text is kept while a value is printed."""
