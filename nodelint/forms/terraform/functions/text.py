"""Implement Terraform functions for strings. Unknown arguments give unknown results."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from nodelint.forms.lib.made_nodes import UNSET, scalar, sequence
from nodelint.forms.terraform.encode import json_pieces
from nodelint.forms.terraform.functions.collections import (
    Function,
    has_clusters,
    take_integer,
    take_items,
    take_number,
    take_text,
)
from nodelint.forms.terraform.nodes import (
    EvaluationFailure,
    TextNode,
    is_known,
    is_unknown,
    joined,
    number_of,
    unknown,
)
from nodelint.forms.terraform.types import BOOL, convert
from nodelint.text.goregex import find_matches, replace_matches
from nodelint.text.nodes import Node
from nodelint.text.unknown_value import UNKNOWN

Piece = tuple[str, Node | None]


def print_format(at: Node, form: Node, *args: Node) -> object:
    if form.value is UNKNOWN:
        return unknown(at)
    shape = take_text(form)
    parts = re.split(r"(%%|%[-+0 ]*+\d*+(?:\.\d++)?[a-zA-Z])", shape)
    if any("%" in part for part in parts[::2]):
        return unknown(at)  # numbered arguments, and values in Terraform's notation, are not supported
    if sum(part.startswith("%") and part != "%%" for part in parts[1::2]) != len(args):
        raise EvaluationFailure
    pieces: list[Piece] = []
    whole, given = True, iter(args)
    for n, part in enumerate(parts):
        if n % 2 == 0 or part == "%%":
            pieces.append((part.replace("%%", "%") if n % 2 else part, form))
            continue
        arg = next(given)
        if arg.kind != "scalar" and part == "%v" and is_known(arg):
            pieces += json_pieces(arg, compact=True)
            continue
        if not is_known(arg) or arg.kind != "scalar":
            whole = False
            pieces.append((UNSET, arg))
            continue
        text = _formatted(part, arg)
        whole = whole and text is not None
        pieces.append((UNSET if text is None else text, arg))
    return joined(at, [piece for piece in pieces if piece[0]], whole)


def _formatted(verb: str, arg: Node) -> str | None:
    """Return a value as a verb of `format` prints it. None for a verb that is not supported."""
    parts = re.fullmatch(r"%([-+0 ]*)(\d{0,3})(?:\.(\d{1,2}))?([a-zA-Z])", verb)
    if parts is None:
        return None
    flags, width, digits, kind = parts.groups()
    if kind == "q" and not (flags or width or digits):
        return json.dumps(take_text(arg), ensure_ascii=False)
    if kind in ("s", "v", "t") and digits is None and "+" not in flags and "0" not in flags:
        if kind == "t":
            arg = convert(arg, BOOL)
        text = "null" if kind == "v" and arg.value is None else take_text(arg)
        if type(arg.value) in (int, float) and arg.value and not 1e-4 <= abs(number_of(arg.value) or 0) < 1e20:
            return None  # with an exponent
        return text.ljust(int(width or 0)) if "-" in flags else text.rjust(int(width or 0))
    if kind in ("d", "f", "x", "X", "o"):
        number = take_number(arg)
        if (kind != "f" and not isinstance(number, int)) or abs(number) >= 1 << 53:
            return None
        return verb % number
    return format(int(take_number(arg)), "b") if verb == "%b" and isinstance(arg.value, int) else None


def _join(at: Node, between: Node, *lists: Node) -> object:
    if not is_known(between) or any(map(is_unknown, lists)):
        return unknown(at)
    pieces: list[Piece] = []
    whole = True
    for item in (item for arg in lists for item in take_items(arg)):
        if pieces:
            pieces.append((take_text(between), between))
        known = is_known(item)
        whole = whole and known
        pieces.append((take_text(item) if known else UNSET, item))
    return joined(at, pieces, whole)


def _indent(at: Node, width: Node, value: Node) -> object:
    if width.value is UNKNOWN or not 0 <= take_integer(width) <= 200:
        return unknown(at)
    if isinstance(value, TextNode):
        pad = "\n" + " " * take_integer(width)
        pieces = [(text.replace("\n", pad), node) for text, node in value.pieces]
        return joined(at, pieces, isinstance(value.value, str))
    if value.value is UNKNOWN:
        return unknown(at)
    return take_text(value).replace("\n", "\n" + " " * take_integer(width))


def _split(at: Node, between: Node, value: Node) -> object:
    text, by = take_text(value), take_text(between)
    return sequence(at, [scalar(value, part) for part in (text.split(by) if by else list(text))], "list")


def _replace(at: Node, value: Node, old: Node, new: Node) -> object:
    if len(take_text(old)) > 1 and take_text(old).startswith("/") and take_text(old).endswith("/"):
        found = replace_matches(take_text(value), take_text(old)[1:-1], take_text(new))
        return unknown(at) if found is None else found
    return take_text(value).replace(take_text(old), take_text(new))


def _substr(at: Node, value: Node, start: Node, length: Node) -> object:
    text, first, count = take_text(value), take_integer(start), take_integer(length)
    if has_clusters(text):
        return unknown(at)
    whole = count < 0 or (first < 0 and not count)
    first = max(len(text) + first, 0) if first < 0 else first
    return text[first:] if whole else text[first : first + count]


def _changed(change: Callable[..., str]) -> Function:
    """Return a function of strings.

    If the result is equal to the argument, it returns the argument with its place.
    """

    def function(at: Node, *args: Node) -> object:
        made = change(*map(take_text, args))
        return args[0] if made == args[0].value else made

    return function


def _regex_all(at: Node, pattern: Node, value: Node) -> object:
    found = find_matches(take_text(value), take_text(pattern))
    if found is None:
        return unknown(at)
    return sequence(at, [_groups(at, match) for match in found], "list")


def _regex(at: Node, pattern: Node, value: Node) -> object:
    found = find_matches(take_text(value), take_text(pattern))
    if found is None:
        return unknown(at)
    if not found:
        raise EvaluationFailure
    return _groups(at, found[0])


def _groups(at: Node, match: str | tuple[str | None, ...]) -> Node:
    if isinstance(match, str):
        return scalar(at, match)
    return sequence(at, [scalar(at, group) for group in match])


def _parse_integer(at: Node, value: Node, base: Node) -> object:
    digits = take_text(value)
    if not 2 <= take_integer(base) <= 36 or re.fullmatch(r"[-+]?[0-9A-Za-z]{1,200}", digits) is None:
        raise EvaluationFailure
    return int(digits, take_integer(base))


def _digest(name: str) -> Function:
    def function(at: Node, value: Node) -> object:
        import hashlib

        return hashlib.new(name, take_text(value).encode(), usedforsecurity=False).hexdigest()

    return function


def _decode_base64(at: Node, value: Node) -> object:
    from base64 import b64decode

    return b64decode(take_text(value), validate=True).decode()


def _base_name(path: str) -> str:
    name = path.rstrip("/").rpartition("/")[2]
    return name or ("/" if path else ".")


def _folder_name(path: str) -> str:
    from posixpath import normpath

    folder = normpath(path[: path.rfind("/") + 1])
    return "/" if folder == "//" else folder


def _base64(at: Node, value: Node) -> object:
    from base64 import b64encode

    return b64encode(take_text(value).encode()).decode()


def _change_letters(text: str, change: Callable[[str], str]) -> str:
    """Return a text with each letter changed separately. A letter that would become several stays."""
    return "".join(made if len(made := change(letter)) == 1 else letter for letter in text)


def _url_encode(at: Node, value: Node) -> object:
    from urllib.parse import quote_plus

    return quote_plus(take_text(value), safe="")


PARTLY_KNOWN_TEXTS: dict[str, Function] = {
    "format": print_format,
    "indent": _indent,
    "join": _join,
}
"""Functions that accept unknown arguments, by name."""
KNOWN_TEXTS: dict[str, Function] = {
    "base64decode": _decode_base64,
    "base64encode": _base64,
    "basename": lambda at, path: _base_name(take_text(path)),
    "chomp": _changed(lambda text: text.rstrip("\r\n")),
    "dirname": lambda at, path: _folder_name(take_text(path)),
    "endswith": lambda at, value, end: take_text(value).endswith(take_text(end)),
    "lower": _changed(lambda text: _change_letters(text, str.lower)),
    "md5": _digest("md5"),
    "parseint": _parse_integer,
    "regex": _regex,
    "regexall": _regex_all,
    "replace": _replace,
    "sha1": _digest("sha1"),
    "sha256": _digest("sha256"),
    "sha512": _digest("sha512"),
    "split": _split,
    "startswith": lambda at, value, start: take_text(value).startswith(take_text(start)),
    "strcontains": lambda at, value, part: take_text(part) in take_text(value),
    "strrev": lambda at, value: unknown(at) if has_clusters(take_text(value)) else take_text(value)[::-1],
    "substr": _substr,
    "title": _changed(lambda text: re.sub(r"\b[^\W\d_]", lambda match: match[0].upper(), text)),
    "trim": _changed(lambda text, characters: text.strip(characters)),
    "trimprefix": _changed(lambda text, start: text.removeprefix(start)),
    "trimspace": _changed(str.strip),
    "trimsuffix": _changed(lambda text, end: text.removesuffix(end)),
    "upper": _changed(lambda text: _change_letters(text, str.upper)),
    "urlencode": _url_encode,
}
"""Functions that need all arguments, by name."""
