"""Functions on texts as Go and RE2 define them, for Kubernetes' CEL functions."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from nodelint.base.budget import MORE_STEPS, BudgetSpent


def strict_int(text: str) -> int:
    """Return a decimal integer of 64 bits as Go's ParseInt reads it. Raise ValueError for any other text."""
    digits = text[1:] if text.startswith(("+", "-")) else text
    if not (digits.isascii() and digits.isdigit()) or not -(2**63) <= int(text) < 2**63:
        raise ValueError(f"`{text}` is not an integer")
    return int(text)


def find(text: str, pattern: str) -> str:
    """Return the leftmost match of an RE2 pattern. Empty if there is none."""
    match = bounded(pattern, text).search(text)
    return match[0] if match else ""


def split(text: str, separator: str) -> list[str]:
    """Return the parts of a text between separators. With an empty separator, return the characters."""
    return text.split(separator) if separator else list(text)


_MOST_TRIES = 10_000_000
"""The most steps of Python's regular expressions on a text: they backtrack, RE2's do not."""
_REPEAT = (
    r"\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]|(?P<open>\()|(?P<close>\))"
    r"|(?P<or>\|)|(?P<sign>[*+]|\{[0-9]+(?:,[0-9]*)?\})"
)


def bounded(pattern: str, text: str) -> re.Pattern[str]:
    """Return a regular expression of CEL, compiled for Python.

    Raise BudgetSpent if a search in `text` may take too many steps.
    """
    found = expression(pattern)
    steps = degree(pattern)
    if steps is None or max(len(text), 2) ** steps > _MOST_TRIES:
        raise BudgetSpent(f"its regular expressions {MORE_STEPS}")
    return found


@cache
def degree(pattern: str) -> int | None:
    """Return how often a pattern may scan a text, as a power of the text's length. None if there is no such bound.

    There is none if a repeated group contains a repetition or alternatives: it may match one text in many ways.
    """
    signs, inner = 0, [False]
    closed = False
    """True if the previous token closes a group with a repetition or alternatives in it."""
    for token in re.finditer(_REPEAT + "|.", pattern, re.DOTALL):
        if token["sign"]:
            if closed:
                return None
            signs += 1
            inner[-1] = True
        elif token["open"]:
            inner.append(False)
        elif token["or"]:
            inner[-1] = True
        closed = bool(token["close"]) and len(inner) > 1 and inner.pop()
        if closed:
            inner[-1] = True
    return signs + 1


@cache
def expression(pattern: str) -> re.Pattern[str]:
    """Return a Python pattern with the matches of an RE2 pattern. Raise ValueError for syntax that only RE2 has.

    RE2's classes are ASCII and its `$` is the end of the text. Python's search is leftmost-first, like RE2's.
    """
    try:
        return re.compile(_python(pattern), re.ASCII)
    except re.error as error:
        raise ValueError(f"the pattern `{pattern}` is not supported here: {error}") from None


_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "digit": "0-9",
    "lower": "a-z",
    "upper": "A-Z",
    "space": r"\t\n\v\f\r ",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}


def _python(pattern: str) -> str:
    out: list[str] = []
    i, inside = 0, False
    while i < len(pattern):
        c = pattern[i]
        if c == "\\" and i + 1 < len(pattern):
            pair = pattern[i : i + 2]
            out.append(r"\Z" if pair == r"\z" else pair)
            i += 2
            continue
        if inside:
            named = pattern[i + 2 :].partition(":]")[0] if pattern.startswith("[:", i) else ""
            if named in _CLASSES:
                out.append(_CLASSES[named])
                i += len(f"[:{named}:]")
                continue
            inside = c != "]"
            c = r"\[" if c == "[" else c
        elif c == "[":
            inside = True
            end = i + 1 + pattern.startswith("^", i + 1)
            end += pattern.startswith("]", end)
            out.append(pattern[i:end])
            i = end
            continue
        elif c == "$":
            c = r"\Z"
        out.append(c)
        i += 1
    return "".join(out)


# Separated by spaces, as an identifier contains none.
_KEYWORDS = (
    " true false null in as break const continue else for function if import let loop package namespace return"
    " var void while "
)


@lru_cache(10_000)
def escaped(name: str) -> str:
    """Return the name of a field as CEL rules write it: names that are no identifiers are escaped, as Kubernetes
    documents it.
    """
    if name.isidentifier() and "__" not in name:
        return f"__{name}__" if f" {name} " in _KEYWORDS else name
    if not re.fullmatch(r"[A-Za-z_.\-/][A-Za-z0-9_.\-/]*", name):
        return name
    name = name.replace("__", "__underscores__").replace(".", "__dot__")
    return name.replace("-", "__dash__").replace("/", "__slash__")
