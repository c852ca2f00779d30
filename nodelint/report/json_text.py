"""Write JSON indented by two spaces, with each row of a long list on one line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any


class JsonLine(dict[str, Any]):
    """An object that is written on one line, such as one instance type in a list of hundreds."""


class SharedObject(dict[str, Any]):
    """An object that several lists contain at the same depth, such as the verdict of a pool for equal pods."""


def json_parts(value: object, ascii_only: bool) -> Iterator[str]:
    """Yield the JSON text of a value in parts, as `json.dumps(value, indent=2)` writes it, except `JsonLine` rows.

    `ascii_only` escapes all other characters. The C encoder of the library encodes only rows and scalars, because it
    cannot indent.
    """
    return _Writer(ascii_only).parts(value, "\n", _PARTED)


_PARTED = 2
"""The depth to which members of lists and objects are printed as separate parts, such as the findings of a report."""


class _Writer:
    """Writes values in parts, and caches the text of repeated objects."""

    def __init__(self, ascii_only: bool) -> None:
        self._encode = json.JSONEncoder(ensure_ascii=ascii_only).encode
        self._string = json.encoder.encode_basestring_ascii if ascii_only else json.encoder.encode_basestring
        self._rows: dict[int, str] = {}
        self._shared: dict[int, str] = {}
        self._names: dict[str, str] = {}

    def parts(self, value: object, margin: str, depth: int) -> Iterator[str]:
        """Yield the JSON text of a value in parts. Values nested deeper than `depth` are one part.

        Each line begins with `margin`.
        """
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
        """Return the text of a value."""
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
        """Return a key with its colon, from a cache: objects of a list have the same keys."""
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
        """Return the text of a row, from a cache: several lists may contain the same row."""
        text = self._rows.get(id(row))
        if text is None:
            text = self._encode(row)
            if len(self._rows) < _MOST_ROWS:
                self._rows[id(row)] = text
        return text


_MOST_ROWS = 10_000
"""The most rows whose text is cached while a value is printed."""
