"""Match patterns of ignore files as git does, in time linear in pattern and path.

Each `*` matches as little as possible, and this choice is never revised: any other choice leaves less for the rest of
the pattern. git compares bytes, and so does this module.
"""

from __future__ import annotations

import re
from functools import lru_cache

from nodelint.base.tuples import NamedTuple

_CLASSES = {
    "alnum": r"[0-9A-Za-z]",
    "alpha": r"[A-Za-z]",
    "blank": r"[ \t]",
    "cntrl": r"[\x00-\x1f\x7f]",
    "digit": r"[0-9]",
    "graph": r"[!-~]",
    "lower": r"[a-z]",
    "print": r"[ -~]",
    "punct": r"[!-/:-@\[-`{-~]",
    "space": r"[ \t\n\v\f\r]",
    "upper": r"[A-Z]",
    "xdigit": r"[0-9A-Fa-f]",
}


class _Unclosed(Exception):
    """Raised for a bracket without an end, or with an unknown class: for git such a pattern matches nothing."""


class _Step(NamedTuple):
    """A part of a pattern between slashes.

    - `deep`: the part is `**`, for any number of folders.
    - `least`: the least number of folders that it matches.
    """

    pattern: bytes
    deep: bool = False
    least: int = 0


def matches(pattern: str, path: str) -> bool:
    """Return whether a pattern matches a path.

    The pattern has no `!` and no slash at its end. The path is relative to the folder of the ignore file.
    """
    regex = _regex(pattern)
    return regex is not None and regex.match(_bytes(path)) is not None


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


@lru_cache(4096)
def _regex(pattern: str) -> re.Pattern[bytes] | None:
    text = _bytes(pattern).decode("latin-1").removeprefix("/")
    try:
        steps = _steps(text)
    except _Unclosed:
        return None
    groups: list[list[_Step]] = [[]]
    for step in steps:
        if step.deep:
            groups.append([step])
        else:
            groups[-1].append(step)
    out = []
    for n, (first, *rest) in enumerate(group for group in groups if group):
        last = n == sum(map(bool, groups)) - 1
        named = b"/".join(step.pattern for step in (rest if first.deep else (first, *rest)))
        if not first.deep:
            out.append(named + (b"" if last else b"/"))
        elif not rest:
            out.append(b".*" if last else b"(?:[^/]+/){%d}" % first.least)
        elif last:
            out.append(b"(?:[^/]+/){%d,}" % first.least + named)
        else:
            out.append(b"(?>(?:[^/]+/){%d,}?" % first.least + named + b"/)")
    return re.compile(b"".join(out) + rb"\Z", re.S)


def _steps(text: str) -> list[_Step]:
    """Return the parts of a pattern between slashes. Raise _Unclosed."""
    steps: list[_Step] = []
    pieces: list[bytes] = []  # the texts of a part before, between and after its stars
    piece, at, begin = b"", 0, 0
    while True:
        if at == len(text) or text[at] == "/" or text.startswith("\\/", at):
            escaped = at < len(text) and text[at] == "\\"
            stars = text[begin:at]
            if len(stars) > 1 and not stars.strip("*"):
                steps.append(_Step(b"", True, int(escaped)))
            else:
                steps.append(_Step(_part([*pieces, piece])))
            pieces, piece = [], b""
            if at == len(text):
                return steps
            at += 1 + escaped
            begin = at
        elif text[at] == "*":
            while at < len(text) and text[at] == "*":
                at += 1
            pieces, piece = [*pieces, piece], b""
        else:
            start, at = _character(text, at)
            piece += start


def _part(pieces: list[bytes]) -> bytes:
    """Return the regular expression of a part: its texts match as early as possible, the last one at the end."""
    first, *rest = pieces
    if not rest:
        return first
    middle = b"".join(rb"(?>[^/]*?%b)" % piece for piece in rest[:-1] if piece)
    return rb"(?>%b%b[^/]*%b(?![^/]))" % (first, middle, rest[-1])


def _character(text: str, at: int) -> tuple[bytes, int]:
    """Return the regular expression of one character of the pattern, and the offset of the next one."""
    if text[at] == "?":
        return rb"[^/]", at + 1
    if text[at] == "[":
        return _bracket(text, at + 1)
    if text[at] == "\\":
        at += 1
        if at == len(text):
            raise _Unclosed
    return re.escape(text[at].encode("latin-1")), at + 1


def _bracket(text: str, at: int) -> tuple[bytes, int]:
    """Return the regular expression of a character set as git reads it, and the offset after it.

    `at` is the offset after the opening bracket. A `]` directly after it is a member.
    """
    negated = text[at : at + 1] in ("!", "^")
    at += negated
    found: set[int] = set()
    before = ""
    first = True
    while first or text[at : at + 1] != "]":
        first = False
        now, at, more = _member(text, at, before)
        found |= more
        before = now
    members = [code for code in range(1, 256) if (code in found) != negated and code != 0x2F]
    return (b"[" + b"".join(rb"\x%02x" % code for code in members) + b"]" if members else b"(?!)"), at + 1


def _member(text: str, at: int, before: str) -> tuple[str, int, set[int]]:
    """Return a member of a character set.

    The result is the character with which a range may begin, the offset of the next member, and the codes of the
    characters.
    """
    character = text[at : at + 1]
    if character == "\\":
        at += 1
        character = text[at : at + 1]
    elif character == "-" and before and text[at + 1 : at + 2] not in ("", "]"):
        at += 1 + (text[at + 1] == "\\")
        if at >= len(text):
            raise _Unclosed
        return "", at + 1, set(range(ord(before), ord(text[at]) + 1))
    elif character == "[" and text.startswith("[:", at):
        end = text.find("]", at + 2)
        if end < 0:
            raise _Unclosed
        if end > at + 2 and text[end - 1] == ":":
            kind = _CLASSES.get(text[at + 2 : end - 1])
            if kind is None:
                raise _Unclosed
            return "", end + 1, {code for code in range(256) if re.match(kind, chr(code))}
    if not character:
        raise _Unclosed
    return character, at + 1, {ord(character)}
