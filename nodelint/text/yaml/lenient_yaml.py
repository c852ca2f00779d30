"""Parse a document again with a newer libyaml and repairs, if Go accepts it and the first parser does not."""

from __future__ import annotations

import re
from collections.abc import Callable

from nodelint.base.types import TYPE_CHECKING
from nodelint.text.syntax_errors import Unreadable, worded
from nodelint.text.yaml.libyaml import Parser

if TYPE_CHECKING:
    from nodelint.text.nodes import Node

_SURROGATES = r"\\\\|\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
_COLON = "\ue001"
"""A private-use character in place of a `:` that ends a text in brackets, `[a:]`.

libyaml refuses such a `:`. Go reads it as part of the text.
"""
_APOSTROPHE = "\ue002\ue002"
"""Two characters in place of `\\'` in double quotes. Go accepts this escape."""
_MOST_REPAIRS = 100
"""The most repairs of a document. After each repair it is parsed again."""


def read_repaired(
    read: Callable[[Parser, str, Callable[[str], str] | None], list[Node | None]],
    text: str,
    base: int,
    escapes: bool,
) -> list[Node | None]:
    """Return the result of `read` for a text, with PyYAML's libyaml.

    If that fails, the text is repaired: it keeps its length. `read` gets the parser, the text, and a function that
    reverts a repair in a scalar (None if there is none). Raise `Unreadable`.
    """
    import yaml
    import yaml.cyaml

    parser, written = Parser(yaml, yaml.cyaml.CParser), text
    for _ in range(_MOST_REPAIRS):
        try:
            return read(parser, text, None if text is written else _restored)
        except UnicodeEncodeError as error:
            raise worded(error, text, base) from None
        except yaml.YAMLError as error:
            problem, mark = getattr(error, "problem", None), getattr(error, "problem_mark", None)
            at = mark.index if mark is not None else 0
            other = _repaired(text, problem, at, escapes)
            if other == text:
                raise worded(error, text, base) from None
            text = other
    raise Unreadable(base + at, "a `:` or `\\'` cannot stand here")


def _repaired(text: str, problem: str | None, at: int, escapes: bool) -> str:
    """Return the text with a repair at the position of a problem. Return it unchanged if no repair is known."""
    if problem == "found unexpected ':'":
        return text[:at] + _COLON + text[at + 1 :]
    if problem == "found unknown escape character" and text[at : at + 2] == "\\'":
        return text[:at] + _APOSTROPHE + text[at + 2 :]
    return re.sub(_SURROGATES, _join, text) if escapes else text


def _restored(text: str) -> str:
    return text.replace(_COLON, ":").replace(_APOSTROPHE, "'")


def _join(pair: re.Match[str]) -> str:
    """Return surrogate escapes of JSON in a form that libyaml reads as Go does. The length does not change."""
    if pair[1] is None:
        return "\\ufffd" if pair[0].startswith("\\u") else pair[0]
    code = 0x10000 + ((int(pair[1], 16) - 0xD800) << 10) + int(pair[2], 16) - 0xDC00
    return f"\\\n\\U{code:08x}"


def is_json(text: str) -> bool:
    """Return whether a document is JSON. kubectl reads it with the escapes of JSON, not of YAML."""
    from json import loads

    if not text.lstrip("\ufeff \t\r\n").startswith("{"):
        return False
    try:
        loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return False
    return True
