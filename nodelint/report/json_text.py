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
    """Return the text of a value part by part, as `json.dumps(value, indent=2)` makes it except rows.

    `ascii_only` escapes all other characters. The library encodes rows and scalars: its encoder in C does not indent.
    """
    return _Writer(ascii_only).parts(value, "\n", _PARTED)


_PARTED = 2
"""How deep the lists and objects are whose members are parts of their own: the findings of a report, its pools."""


class _Writer:
    """Writes values part by part, and what is there more than once from memory."""

    def __init__(self, ascii_only: bool) -> None:
        self._encode = json.JSONEncoder(ensure_ascii=ascii_only).encode
        self._string = json.encoder.encode_basestring_ascii if ascii_only else json.encoder.encode_basestring
        self._rows: dict[int, str] = {}
        self._shared: dict[int, str] = {}
        self._names: dict[str, str] = {}

    def parts(self, value: object, margin: str, depth: int) -> Iterator[str]:
        """Yield the text of a value, on lines that begin with a margin: part by part down to a depth."""
        if not depth or not value or isinstance(value, (JsonLine, SharedObject)):
            yield self._text(value, margin)
        elif isinstance(value, dict):
            between = "{"
            for name, item in value.items():
                yield f"{between}{margin}  {self._name(name)}"
                yield from self.parts(item, f"{margin}  ", depth - 1)
                between = ","
            yield f"{margin}}}"
        elif isinstance(value, (list, tuple)):
            between = "["
            for item in value:
                yield f"{between}{margin}  "
                yield from self.parts(item, f"{margin}  ", depth - 1)
                between = ","
            yield f"{margin}]"
        else:
            yield self._text(value, margin)

    def _text(self, value: object, margin: str) -> str:
        """Return the whole text of a value."""
        if isinstance(value, str):
            return self._string(value)
        if value is None:
            return "null"
        if type(value) is int:
            return str(value)
        if isinstance(value, JsonLine):
            return self._row(value)
        if isinstance(value, SharedObject):
            return self._shared_text(value, margin)
        inner = f"{margin}  "
        if isinstance(value, dict) and value:
            members = [f"{inner}{self._name(name)}{self._text(item, inner)}" for name, item in value.items()]
            return f"{{{','.join(members)}{margin}}}"
        if isinstance(value, (list, tuple)) and value:
            return f"[{','.join([inner + self._text(item, inner) for item in value])}{margin}]"
        return self._encode(value)

    def _name(self, name: str) -> str:
        """Return a member's name as it stands before its value.

        Objects of a list have the same names, hundreds of times.
        """
        written = self._names.get(name)
        if written is None:
            written = self._names[name] = f"{self._encode(name)}: "
        return written

    def _shared_text(self, value: SharedObject, margin: str) -> str:
        text = self._shared.get(id(value))
        if text is None:
            text = self._shared[id(value)] = self._text(dict(value), margin)
        return text

    def _row(self, row: JsonLine) -> str:
        """Return a row's text: lists may share rows, as pools of like classes do."""
        text = self._rows.get(id(row))
        if text is None:
            text = self._encode(row)
            if len(self._rows) < _MOST_ROWS:
                self._rows[id(row)] = text
        return text


_MOST_ROWS = 10_000
"""Rows whose text is kept while a value is printed."""
