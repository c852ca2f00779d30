"""Implement template functions for strings: parts, changes, patterns, paths, digests."""

from __future__ import annotations

import base64
import hashlib
import json
import posixpath
import re
from collections.abc import Sequence

from nodelint.forms.lib.gotemplate.sprig_signatures import Function, of_texts, read_items, read_text, typed
from nodelint.forms.lib.gotemplate.sprig_values import (
    Piece,
    TracedText,
    Unresolved,
    Unset,
    hold_value,
    kind_of,
    printed,
)
from nodelint.text.goregex import find_whole_matches, has_match, replace_matches

_MOST = 100_000
"""The most characters of a repeated text."""


def _quote(*values: object) -> TracedText:
    pieces: list[Piece] = []
    for value in values:
        traced_text = printed(value)
        if any(not (char.isprintable() or char in "\n\r\t") for char in str(traced_text)):
            raise Unresolved  # Go escapes these in its own way
        pieces += [(" ", None)] if pieces else []
        pieces.append(('"', None))
        pieces += [(json.dumps(text, ensure_ascii=False)[1:-1], node) for text, node in traced_text.pieces]
        pieces.append(('"', None))
    return TracedText(pieces)


def _squote(*values: object) -> TracedText:
    pieces: list[Piece] = []
    for value in values:
        pieces += [(" ", None)] if pieces else []
        pieces += [("'", None), *printed(value).pieces, ("'", None)]
    return TracedText(pieces)


def _cat(*values: object) -> TracedText:
    pieces: list[Piece] = []
    for value in values:
        pieces += [(" ", None)] if pieces else []
        pieces += printed(value).pieces
    return TracedText(pieces)


def _indent(width: int, value: object) -> TracedText:
    if not 0 <= width <= 100:
        raise Unresolved
    traced_text = printed(_text(value))
    pieces: list[Piece] = []
    for line in traced_text.lines():
        pieces += [("\n" if pieces else "", None), (" " * width, None), *line]
    return TracedText(pieces, traced_text.free)


def _text(value: object) -> object:
    read_text(value)
    return value


def _nindent(width: int, value: object) -> TracedText:
    made = _indent(width, value)
    return TracedText([("\n", None), *made.pieces], made.free)


def _trim(value: object) -> object:
    traced_text = printed(_text(value))
    new = str(traced_text).strip(" \t\n\v\f\r\x85\xa0")
    if str(traced_text) == new:
        return traced_text
    return TracedText([(new, traced_text.pieces[0][1] if len(traced_text.pieces) == 1 else None)], traced_text.free)


def _truncated(length: int, text: str) -> str:
    data = text.encode()
    if length < 0 and len(data) + length > 0:
        data = data[len(data) + length :]
    elif length >= 0:
        data = data[:length]
    return _decoded(data)


def _substring(start: int, end: int, text: str) -> str:
    data = text.encode()
    stop = len(data) if start >= 0 and (end < 0 or end > len(data)) else end
    if not 0 <= max(start, 0) <= stop <= len(data):
        raise Unresolved
    return _decoded(data[max(start, 0) : stop])


def _decoded(data: bytes) -> str:
    """Return bytes as a string. Raise `Unresolved` if a character was cut."""
    try:
        return data.decode()
    except ValueError:
        raise Unresolved from None


def _repeated(count: int, text: str) -> str:
    if count < 0 or count * len(text) > _MOST:
        raise Unresolved
    return text * count


def _title(text: str) -> str:
    """Return a text with each word capitalized. Raise `Unresolved` if the text is not ASCII."""
    if not text.isascii():
        raise Unresolved
    return re.sub(r"(?<![A-Za-z0-9_'])[a-z]", lambda match: match[0].upper(), text)


def _change_case(text: str, upper: bool) -> str:
    """Return a text in upper or lower case. Like Go, change each character separately."""
    return "".join(changed if len(changed := char.upper() if upper else char.lower()) == 1 else char for char in text)


def _split_list(between: str, text: str) -> list[object]:
    return [*text.split(between)] if between else [*text]


def _split_few(between: str, count: int, text: str) -> dict[str, object]:
    if count < 1 or not between:
        raise Unresolved
    return {f"_{n}": part for n, part in enumerate(text.split(between, count - 1))}


def _from_base64(text: str) -> str:
    try:
        return _decoded(base64.b64decode(text, validate=True))
    except ValueError:
        raise Unresolved from None


def _matched(pattern: str, text: str) -> bool:
    found = has_match(pattern, text)
    if found is None:
        raise Unresolved
    return found


def _matches(pattern: str, text: str, count: int) -> list[object]:
    found = find_whole_matches(pattern, text)
    if found is None:
        raise Unresolved
    return [*(found if count < 0 else found[:count])]


def _first_match(pattern: str, text: str) -> object:
    return next(iter(_matches(pattern, text, 1)), "")


def _matches_replaced(pattern: str, text: str, by: str) -> str:
    made = replace_matches(text, pattern, by)
    if made is None:
        raise Unresolved
    return made


def _matches_replaced_by_text(pattern: str, text: str, by: str) -> str:
    if "$" in by:
        raise Unresolved
    return _matches_replaced(pattern, text, by)


def _printf(form: str, *values: object) -> TracedText:
    """Return a formatted text. Raise `Unresolved` for a verb that Go prints differently or refuses."""
    parts = re.split(r"(%%|%[sdvqt]|%0?\d{1,2}d)", form)
    if any("%" in part for part in parts[::2]) or sum(verb != "%%" for verb in parts[1::2]) != len(values):
        raise Unresolved
    left = iter(values)
    pieces: list[Piece] = [(parts[0], None)]
    for verb, part in zip(parts[1::2], parts[2::2], strict=True):
        pieces += [("%", None)] if verb == "%%" else _formatted(verb, next(left))
        pieces.append((part, None))
    return TracedText([piece for piece in pieces if piece[0]])


def _formatted(verb: str, value: object) -> Sequence[Piece]:
    traced_text, scalar = printed(value), hold_value(value)
    wanted = {"s": str, "q": str, "d": int, "t": bool}.get(verb[-1])
    if wanted is not None and type(scalar) is not wanted:
        raise Unresolved
    if verb[-1] == "q":
        return _quote(value).pieces
    return ((verb % scalar, None),) if len(verb) > 2 else traced_text.pieces


def _joined(between: str, value: object) -> TracedText:
    items = read_items(value) if kind_of(value) == "slice" else [value]
    texts = [str(printed(item)) for item in items if hold_value(item) is not None]
    if not texts:
        raise Unset
    return TracedText([(between.join(texts), None)])


def _digest(name: str) -> Function:
    return typed("s", lambda text: hashlib.new(name, text.encode(), usedforsecurity=False).hexdigest())


TEXTS: dict[str, Function] = {
    "b64dec": of_texts("s", _from_base64),
    "b64enc": of_texts("s", lambda text: base64.b64encode(text.encode()).decode()),
    "base": of_texts("s", lambda path: posixpath.basename(path.rstrip("/")) or "/"),
    "cat": _cat,
    "contains": typed("ss", lambda part, text: part in text),
    "ext": of_texts("s", lambda path: (re.search(r"\.[^./]*\Z", path) or [""])[0]),
    "hasPrefix": typed("ss", lambda start, text: text.startswith(start)),
    "hasSuffix": typed("ss", lambda end, text: text.endswith(end)),
    "indent": typed("ia", _indent),
    "join": typed("sa", _joined),
    "lower": of_texts("s", lambda text: _change_case(text, upper=False)),
    "mustRegexFind": typed("ss", _first_match),
    "mustRegexFindAll": typed("ssi", _matches),
    "mustRegexMatch": typed("ss", _matched),
    "mustRegexReplaceAll": of_texts("sss", _matches_replaced),
    "nindent": typed("ia", _nindent),
    "nospace": of_texts("s", lambda text: "".join(text.split())),
    "printf": typed("sa*", _printf),
    "quote": _quote,
    "regexFind": typed("ss", _first_match),
    "regexFindAll": typed("ssi", _matches),
    "regexMatch": typed("ss", _matched),
    "regexReplaceAll": of_texts("sss", _matches_replaced),
    "regexReplaceAllLiteral": of_texts("sss", _matches_replaced_by_text),
    "repeat": of_texts("is", _repeated),
    "replace": of_texts("sss", lambda old, new, text: text.replace(old, new)),
    "sha1sum": _digest("sha1"),
    "sha256sum": _digest("sha256"),
    "sha512sum": _digest("sha512"),
    "split": typed("ss", lambda between, text: {f"_{n}": part for n, part in enumerate(_split_list(between, text))}),
    "splitList": typed("ss", _split_list),
    "splitn": typed("sis", _split_few),
    "squote": _squote,
    "substr": of_texts("iis", _substring),
    "title": of_texts("s", _title),
    "trim": typed("a", _trim),
    "trimAll": of_texts("ss", lambda characters, text: text.strip(characters) if characters else text),
    "trimPrefix": of_texts("ss", lambda prefix, text: text.removeprefix(prefix)),
    "trimSuffix": of_texts("ss", lambda suffix, text: text.removesuffix(suffix)),
    "trunc": of_texts("is", _truncated),
    "upper": of_texts("s", lambda text: _change_case(text, upper=True)),
}
