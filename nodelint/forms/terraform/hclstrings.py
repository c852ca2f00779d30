"""Find the ends of quoted HCL strings, and resolve their escapes."""

from __future__ import annotations

import re

from nodelint.text.placeholders import template_end

_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}
_ESCAPED = r'\\(?:([nrt"\\])|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))|(\$\$|%%)(?=\{)'


def string_end(text: str, at: int, end: int) -> int:
    """Return the offset after the closing quote of the string at `at`. If it has none, return the end of its line."""
    at += 1
    stop = re.compile(r'[^"\\\n$%]*')
    while at < end:
        match = stop.match(text, at, end)
        at = match.end() if match is not None else at
        if at >= end or text[at] == "\n":
            return min(at, end)
        if text[at] == '"':
            return at + 1
        if text[at] == "\\":
            at += 2
        elif text.startswith(("$${", "%%{"), at):
            at += 3
        elif text.startswith(("${", "%{"), at):
            at = template_end(text, at, end)
        else:
            at += 1
    return end


def unescape(body: str) -> str:
    """Return the text of a quoted string. `body` is the string without its quotes."""
    if "\\" not in body and "$${" not in body and "%%{" not in body:
        return body
    return re.sub(_ESCAPED, _unescaped, body)


def _unescaped(match: re.Match[str]) -> str:
    if match[1] is not None:
        return _ESCAPES[match[1]]
    code = match[2] or match[3]
    if code is None:
        return match[4][0]
    number = int(code, 16)
    return chr(number) if number < 0xD800 or 0xE000 <= number < 0x110000 else "\ufffd"
