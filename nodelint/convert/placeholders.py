"""Placeholders in text that moves: their text must not change, or nothing is moved.

The text that a placeholder prints is not known: `${jsonencode(var.age)}` prints its own quotes, `{{ toYaml .Values.a
}}` a mapping. With added or removed quotes, the result may be invalid.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from nodelint.convert.migrate import Blocked
from nodelint.model.messages import short
from nodelint.text.nodes import Node
from nodelint.text.unknown_value import UNKNOWN

_VALUE = (
    r"\$\{?(?:var\.|local\.|each\.value\.)?\w+\}?"
    r"|\{\{-?\s*\$?(?:\.\w+)+(?:\s*\|\s*(?:int|default\s+\d+))*\s*-?\}\}"
)
"""A pattern for placeholders that print a value without quotes, so that a unit may follow them."""


def hold_placeholders(before: Iterable[Node], after: Node) -> None:
    """Raise Blocked if a scalar with a placeholder is written differently from all scalars of the nodes `before`."""
    known = {_mark(scalar) for node in before for scalar in node.walk() if scalar.kind == "scalar"}
    texts = {text for text, _ in known}
    for scalar in after.walk():
        text, loose = mark = _mark(scalar)
        if scalar.kind != "scalar" or scalar.value is not UNKNOWN or mark in known or (text in texts and not loose):
            continue
        seconds = scalar.unquoted.removesuffix("s")
        if (
            seconds == scalar.unquoted
            or re.fullmatch(_VALUE, seconds) is None
            or seconds not in {t.strip("\"'") for t in texts}
        ):
            shown = short(text)
            raise Blocked(f"`{shown}` would need to be written in another way, and what it prints is not known")


def _mark(scalar: Node) -> tuple[str, bool]:
    """Return a scalar as it is written, and whether it is in a flow collection without quotes."""
    around = scalar.parent
    loose = scalar.style not in ("single", "double") and around is not None and around.style == "flow"
    return " ".join(scalar.text.split()), loose
