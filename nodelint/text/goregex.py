"""Match Go's regular expressions, if Python's have the same meaning and run in linear time.

Supported are literals, sets, groups, alternatives and anchors. A repeated part must be one character or set, and the
part after it must not begin with the same character, so that there is no backtracking.
"""

from __future__ import annotations

import re

_LONGEST = 300
_ITEM = r"\\[wdsWDSnrt]|\\[^A-Za-z0-9]|\[\^?\]?(?:\\.|[^\]\\])+\]|[^\\\[\](){}|*+?.^$]"
_TOKEN = (
    rf"(?P<item>(?:{_ITEM})|\.)(?P<times>[*+?])?|(?P<open>\((?:\?:)?)|(?P<close>\))|(?P<or>\|)"
    r"|(?P<start>\^)|(?P<end>\$)"
)
_MOST_REPEATS = 4


def replace_matches(text: str, pattern: str, by: str) -> str | None:
    """Return a text with all matches replaced; `$1` and `${1}` are groups. None if the pattern is not supported."""
    compiled = _compile(pattern)
    if compiled is None or re.search(r"\$(?![0-9{$])|\$\{(?![0-9]+\})", by):
        return None
    parts = re.split(r"\$(?:\{([0-9]+)\}|([0-9]+)(?![A-Za-z_]))", by)
    if any(part is not None and "$" in part for part in parts[::3]):
        return None

    def instead(match: re.Match[str]) -> str:
        made = [parts[0]]
        for n in range(1, len(parts), 3):
            number = int(parts[n] or parts[n + 1])
            made += ((match[number] or "") if number <= match.re.groups else "", parts[n + 2])
        return "".join(made)

    return compiled.sub(instead, text)


def find_matches(text: str, pattern: str) -> list[str | tuple[str | None, ...]] | None:
    """Return the result of `regexall`: the matches, or the groups of each match.

    None if the pattern is not supported.
    """
    compiled = _compile(pattern)
    if compiled is None:
        return None
    return [match.groups() if compiled.groups else match[0] for match in compiled.finditer(text)]


def has_match(pattern: str, text: str) -> bool | None:
    """Return whether a pattern matches anywhere in a text. None if the pattern is not supported."""
    compiled = _compile(pattern)
    return None if compiled is None else compiled.search(text) is not None


def find_whole_matches(pattern: str, text: str) -> list[str] | None:
    """Return the whole matches in a text, without their groups. None if the pattern is not supported."""
    compiled = _compile(pattern)
    return None if compiled is None else [match[0] for match in compiled.finditer(text)]


def _compile(pattern: str) -> re.Pattern[str] | None:
    """Return a Go pattern compiled for Python. None if it is not supported."""
    tokens: list[re.Match[str]] = []
    at, token = 0, re.compile(_TOKEN, re.DOTALL)
    while at < len(pattern) and len(pattern) <= _LONGEST:
        match = token.match(pattern, at)
        if match is None or match.end() == at:
            return None
        tokens.append(match)
        at = match.end()
    repeats = [n for n, match in enumerate(tokens) if match["times"]]
    if not tokens or len(repeats) > _MOST_REPEATS or not all(_is_bounded(tokens, n) for n in repeats):
        return None
    if any(match["close"] and pattern[match.end() : match.end() + 1] in ("*", "+", "?", "{") for match in tokens):
        return None
    try:
        return re.compile("".join(r"\Z" if match["end"] else match[0] for match in tokens), re.ASCII)
    except re.error:
        return None


def _is_bounded(tokens: list[re.Match[str]], number: int) -> bool:
    """Return whether the pattern after a repeated character cannot match that character, so nothing backtracks."""
    own = tokens[number]["item"]
    for match in tokens[number + 1 :]:
        if match["close"] or match["start"]:
            continue
        if match["end"]:
            return True
        if match["item"] is None or own == "." or match["item"] == ".":
            return False
        mine, theirs = (re.compile(quantifier, re.ASCII) for quantifier in (own, match["item"]))
        if any(mine.fullmatch(chr(n)) and theirs.fullmatch(chr(n)) for n in range(256)):
            return False
        return match["times"] not in ("*", "?")
    return True
