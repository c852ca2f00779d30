"""Find what a shell expands in a text with manifests."""

from __future__ import annotations

import re

# What a shell replaces with a value. All other readers also know names in capitals and in braces.
_EXPANSION = r"\\[$`\\]|\$\(\(|\$\(|`|\$?\$\{|\$[A-Za-z_]\w*|\$[0-9@*#?$!-]"
_LONGEST_EXPANSION = 500
"""The most characters in which the closing bracket of a `$(` is searched."""
_KNOWN = r"\$[A-Z_][A-Z0-9_]*(?!\w)|\$\{[^{}\n]*\}"


def find_expansions(text: str) -> list[tuple[int, int]]:
    """Return the ranges of a heredoc that a shell replaces, without those that every reader knows as placeholders."""
    found = []
    at = 0
    expansion, known = re.compile(_EXPANSION), re.compile(_KNOWN)
    while (match := expansion.search(text, at)) is not None:
        plain = known.match(text, match.start())
        if plain is not None:
            at = plain.end()
            continue
        at = match.end()
        opening = match.group()
        if opening == "`":
            close = text.find("`", at)
            at = close + 1 if close >= 0 else at
        elif opening.endswith(("(", "{")):
            at = _closed(text, match.end(), opening)
        found.append((match.start(), at))
    return found


def _closed(text: str, at: int, opening: str) -> int:
    """Return the offset after the brackets that close a `$(`, `$((` or `${`. If they are not closed, return `at`."""
    pair = "{}" if opening.endswith("{") else "()"
    depth = opening.count(pair[0])
    for match in re.compile(r"[{}]" if pair == "{}" else r"[()]").finditer(text, at, at + _LONGEST_EXPANSION):
        depth += 1 if match.group() == pair[0] else -1
        if depth == 0:
            return match.end()
    return at
