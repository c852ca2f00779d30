"""Find the code of a template, in any language, that affects a place: on its lines, or open or set above."""

from __future__ import annotations

import re

_OPENED = re.compile(r"\{\{|\{%|<%|%\{")
_CLOSED = {"{{": "}}", "{%": "%}", "<%": "%>", "%{": "}"}
_OPENERS = ("if", "range", "with", "define", "block", "for", "macro")
_SETS = r"\$\w+ :?= |\b(?:set|unset|mergeOverwrite|merge) "
"""Code that changes a variable, or the values, for everything below."""


def list_codes(text: str) -> list[str]:
    """Return the pieces of template code in a text, in order, with single spaces."""
    codes: list[str] = []
    unclosed: set[str] = set()  # each is searched only once
    found = _OPENED.search(text)
    while found is not None:
        mark = found[0]
        end = -1 if mark in unclosed else text.find(_CLOSED[mark], found.end())
        if end < 0:
            unclosed.add(mark)
            found = _OPENED.search(text, found.start() + 1)
            continue
        end += len(_CLOSED[mark])
        codes.append(" ".join(text[found.start() : end].split()))
        found = _OPENED.search(text, end)
    return codes


def list_surrounding_code(above: str) -> list[str]:
    """Return the code in the text above a place that affects the place: it sets a variable, or opens a block that is
    not closed.
    """
    opened: list[tuple[int, str]] = []
    found: list[tuple[int, str]] = []
    for number, code in enumerate(list_codes(above)):
        word = re.match(r"\W*(\w+)", code)
        first = word[1] if word is not None and "/*" not in word[0] else ""
        if first in _OPENERS:
            opened.append((number, code))
        elif first.startswith("end") and opened:
            opened.pop()
        elif first and re.search(_SETS, code):
            found.append((number, code))
    return [code for _, code in sorted([*found, *opened])]
