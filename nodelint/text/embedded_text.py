"""Find what a shell expands in a text with manifests, and resolve the escapes of a quoted text."""

from __future__ import annotations

import re

# What a shell replaces with a value. All other readers also know names in capitals and in braces.
_EXPANSION = r"\\[$`\\]|\$\(\(|\$\(|`|\$?\$\{|\$[A-Za-z_]\w*|\$[0-9@*#?$!-]"
_LONGEST_EXPANSION = 500
"""The most characters in which the closing bracket of a `$(` is searched."""
_KNOWN = r"\$[A-Z_][A-Z0-9_]*(?!\w)|\$\{[^{}\n]*\}"


def unescape_in_place(quoted: str) -> str | None:
    """Return a quoted text with a blank in place of each backslash.

    None if it has escapes other than `\\n` and `\\"`.

    The blank is outside of the inner quotes, so that the text between them does not change. Keys in quotes move one
    column to the right. So does the dash of a list below such a key, as `yamlencode` writes it.
    """
    opens = True
    has_quoted_keys = re.search(r'(?:^|\\n) *\\"', quoted) is not None

    def replace(match: re.Match[str]) -> str:
        nonlocal opens
        dashes = match[1] or ""
        if match[2] == "n":
            opens = True
            return f"{dashes} \n"
        begun = quoted.rfind(r"\n", 0, match.start()) + 1 if dashes and has_quoted_keys else 0
        if opens and dashes and has_quoted_keys and quoted[begun + (begun > 0) : match.start()].strip(" ") == "":
            opens = False
            return f' {dashes}"'
        made = ' "' if opens else '" '
        opens = not opens
        return dashes + made

    if re.search(r'\\[^n"]', quoted) is not None or "\n" in quoted:
        return None
    return re.sub(r'((?:- ){1,3})?\\([n"])', replace, quoted)


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
