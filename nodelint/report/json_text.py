"""JSON as it is printed: indented by two, and a row of a long list in one line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any


class JsonLine(dict[str, Any]):
    """An object that is printed in one line: one of hundreds in a list, as an instance type of a pool."""


def json_parts(value: object, ascii_only: bool) -> Iterator[str]:
    """The text of a value part by part, as `json.dumps(value, indent=2)` makes it but for rows.

    `ascii_only` escapes all other characters. The library encodes rows and scalars: its encoder in C does not indent.
    """
    encoder = json.JSONEncoder(ensure_ascii=ascii_only)
    rows: dict[int, str] = {}

    def encode_row(row: JsonLine) -> str:
        # Lists may share rows, as pools of like classes do.
        text = rows.get(id(row))
        if text is None:
            text = encoder.encode(row)
            if len(rows) < _MOST_ROWS:
                rows[id(row)] = text
        return text

    def parts(value: object, margin: str) -> Iterator[str]:
        if isinstance(value, JsonLine):
            yield encode_row(value)
            return
        if not isinstance(value, (dict, list, tuple)) or not value:
            yield encoder.encode(value)
            return
        inner = margin + "  "
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        between = opening
        for item in value.items() if isinstance(value, dict) else value:
            yield between + inner
            if isinstance(value, dict):
                yield encoder.encode(item[0]) + ": "
                item = item[1]
            yield from parts(item, inner)
            between = ","
        yield margin + closing

    return parts(value, "\n")


_MOST_ROWS = 10_000
"""Rows whose text is kept while a value is printed."""
