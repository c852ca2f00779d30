"""Read a document again with a newer libyaml and repairs, if Go accepts it and the first reader does not."""

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
"""A private-use character in the place of a `:` that ends a text between brackets, `[a:]`: one that libyaml
refuses there, and that Go's reader takes for a part of the text."""
_APOSTROPHE = "\ue002\ue002"
"""What stands for `\\'` between double quotes, which Go's reader knows too."""
_MOST_REPAIRS = 100
"""Each is found by reading the document once more."""


def read_repaired(
    read: Callable[[Parser, str, Callable[[str], str] | None], list[Node | None]],
    text: str,
    base: int,
    escapes: bool,
) -> list[Node | None]:
    """Return what `read` makes of a text by PyYAML's libyaml, of `text` itself or of one with the same number of
    characters.

    `read` is given the parser, the text, and what takes a repair back in a scalar. Raise `Unreadable`.
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
    """Return the text with something else where a problem was found; the same text where there is no repair."""
    if problem == "found unexpected ':'":
        return text[:at] + _COLON + text[at + 1 :]
    if problem == "found unknown escape character" and text[at : at + 2] == "\\'":
        return text[:at] + _APOSTROPHE + text[at + 2 :]
    return re.sub(_SURROGATES, _join, text) if escapes else text


def _restored(text: str) -> str:
    return text.replace(_COLON, ":").replace(_APOSTROPHE, "'")


def _join(pair: re.Match[str]) -> str:
    """Return what libyaml reads as Go reads surrogates in JSON, in as many characters: an escaped line break and a
    pair.
    """
    if pair[1] is None:
        return "\\ufffd" if pair[0].startswith("\\u") else pair[0]
    code = 0x10000 + ((int(pair[1], 16) - 0xD800) << 10) + int(pair[2], 16) - 0xDC00
    return f"\\\n\\U{code:08x}"


def is_json(text: str) -> bool:
    """Whether a document is JSON, which kubectl reads as such: with its escapes, where YAML has others."""
    from json import loads

    if not text.lstrip("\ufeff \t\r\n").startswith("{"):
        return False
    try:
        loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return False
    return True
