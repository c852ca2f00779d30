"""Facts as data: each file names its source. This is the one place that reads them."""

from __future__ import annotations

import json
import os
from functools import cache

from nodelint.base.types import Any

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
        read: dict[str, Any] = json.load(file)
    return read
