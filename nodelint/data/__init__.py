"""Facts as data: each file names its source. This is the one place that reads them."""

from __future__ import annotations

import os
from functools import cache

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

DATA = os.path.dirname(os.path.abspath(__file__))
"""The folder of the tables."""

_PACKAGE = os.path.dirname(DATA)


def shipped(folder: str) -> str:
    """Return the path of `rules`, `schemas` or `docs/rules`: inside the package in a wheel, next to it in a
    checkout.
    """
    inside = os.path.join(_PACKAGE, folder)
    return inside if os.path.isdir(inside) else os.path.join(os.path.dirname(_PACKAGE), folder)


@cache
def table(name: str) -> dict[str, Any]:
    """Return a file of this folder by its name, such as `labels`; read once."""
    with open(os.path.join(DATA, f"{name}.json"), "rb") as file:
        read: dict[str, Any] = read_json(file.read())
    return read


def read_json(data: str | bytes) -> Any:
    """Return the value of a JSON text, as `json.loads` reads it. Raise ValueError and RecursionError as that does.

    json's own parser reads it; the package around it is loaded for what is not plain, and for errors in words.
    """
    try:
        from _json import make_scanner

        how: Any = _Plainly()
        text = data if isinstance(data, str) else data.decode()
        value, end = make_scanner(how)(text, 0)
        if not text[end:].strip(" \t\n\r"):
            return value
    except (ImportError, StopIteration, ValueError, SystemError):
        pass  # another interpreter, or a text that json has more to say of (SystemError: without json loaded)
    import json

    return json.loads(data)


class _Plainly:
    """How json's parser is told to read; json itself would take longer to load than most files to read."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float
