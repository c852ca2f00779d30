"""Describe the syntax errors of a text, and the templates that are skipped."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nodelint.base.types import Any

_FORBIDDEN = "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufeff\ufffe\uffff]"


class Unreadable(Exception):
    """Raised for a document that cannot be parsed.

    - `offset`, `length`: the characters in the source's text.
    - `first`: the offset of an earlier key that is repeated here.
    - `opened`: the offset of a bracket that is still open.
    """

    def __init__(
        self, offset: int, message: str, length: int = 1, first: int | None = None, opened: int | None = None
    ) -> None:
        super().__init__(message)
        self.offset = offset
        self.message = message
        self.length = length
        self.first = first
        self.opened = opened


class NotInTime(Unreadable):
    """Raised for a document that was not parsed before the deadline. It may be valid."""


class SyntaxProblem:
    """A reason why a text, or a document in it, was not parsed.

    - `offset`, `length`: the characters in the text.
    - `first`: the offset of an earlier key that is repeated here.
    - `opened`: the offset of a bracket that is still open.

    It may be a syntax error, or a template or another form that is skipped. The caller reports it as a finding or a
    `Gap`.
    """

    __slots__ = ("first", "length", "message", "offset", "opened")

    def __init__(
        self, offset: int, message: str, length: int = 1, first: int | None = None, opened: int | None = None
    ) -> None:
        self.offset = offset
        self.message = message
        self.length = length
        self.first = first
        self.opened = opened

    def __repr__(self) -> str:
        return f"SyntaxProblem({self.offset}, {self.message!r})"


class RenderingProblem(SyntaxProblem):
    """A reason why a text cannot be parsed after its values are filled in. The file around it may be rendered."""

    __slots__ = ()


_WORDS: dict[str, str] = {
    "mapping values are not allowed in this context": "a `:` cannot follow here; quote the text",
    "did not find expected key": "expected a key here; look at the indentation and the quotes above",
    "did not find expected '-' indicator": "expected `- ` as in the items above; look at the indent",
    "did not find expected <document start>": "expected `---` or the end here",
    "did not find expected node content": "expected a value here",
    "did not find expected alphabetic or numeric character": "expected a name after `*` or `&`",
    "block sequence entries are not allowed in this context": "a list must begin on its own line",
    "block mapping entries are not allowed in this context": "a key cannot stand here",
    "mapping keys are not allowed in this context": "a key cannot stand here",
    "found invalid Unicode character escape code": "a `\\u` of half a character; write the character itself",
    "found unknown escape character": "a backslash cannot escape this character",
    "found a tab character that violates indentation": "a tab cannot indent YAML; use spaces",
    "found a tab character where an indentation space is expected": "a tab cannot indent YAML; use spaces",
    "found undefined tag handle": "the tag that begins here is not declared",
}


def worded(error: Any, text: str, base: int) -> Unreadable:
    """Return libyaml's error as an `Unreadable`. `base` is the offset of the text in its source."""
    forbidden = re.search(_FORBIDDEN, text)
    if forbidden is not None:
        code = ord(forbidden.group())
        return Unreadable(base + forbidden.start(), f"the character U+{code:04X} is not allowed in YAML")
    problem = str(getattr(error, "problem", None) or getattr(error, "reason", None) or "")
    context = str(getattr(error, "context", None) or "")
    mark, context_mark = getattr(error, "problem_mark", None), getattr(error, "context_mark", None)
    at = mark.index if mark is not None else 0
    if problem == "found invalid Unicode character escape code":
        at -= 2
    begun = context_mark.index if context_mark is not None else at
    if "quoted scalar" in context and ("end of stream" in problem or "document indicator" in problem):
        return Unreadable(base + begun, "could not find the end of the quoted text that starts here")
    if problem == "could not find expected ':'":
        return Unreadable(base + begun, "expected a `:` after the key that starts here")
    if problem.startswith("did not find expected ',' or"):
        what, close = ("mapping", "}") if "}" in problem else ("list", "]")
        return Unreadable(
            base + at, f"expected `,` or `{close}` here, in a {what} that began above", opened=base + begun
        )
    if problem in _OF_INDENT and (misplaced := _misindented(text, at)) is not None:
        return Unreadable(base + misplaced[0], misplaced[1])
    if problem == "found character that cannot start any token":
        character = text[at : at + 1]
        if character == "\t":
            return Unreadable(base + at, "a tab cannot indent YAML; use spaces")
        return Unreadable(base + at, f"`{character}` cannot begin a value; put it in quotes")
    return Unreadable(base + at, _WORDS.get(problem) or f"not YAML: {problem or context or 'cannot be read'}"[:100])


_OF_INDENT = (
    "did not find expected key",
    "did not find expected '-' indicator",
    "mapping values are not allowed in this context",
)


def shortened(text: str) -> str:
    """Return a text shortened to 40 characters for a message."""
    return text if len(text) <= 40 else text[:39] + "…"


def _misindented(text: str, at: int) -> tuple[int, str] | None:
    """Return offset and message for a key with a wrong indent. None if its indent is correct.

    The indent is wrong if it is neither that of the key above nor that of a key around it.
    """
    start = text.rfind("\n", 0, at) + 1
    key = re.compile(r"( *)([\w./-]+):(?=\s|$)").match(text, start)
    if key is None or not key.start(2) <= at <= key.end():
        return None
    own = len(key[1])
    above = _keys_above(text, start)
    first = next(above, None)
    if first is None:
        return None
    indent, name, value = first
    if indent == own or (indent < own and not value):
        return None
    while indent > own:
        indent, _, _ = next(above, (-1, "", ""))
    if indent == own:
        return None
    return key.start(2), f"`{key[2]}` begins in column {own + 1}, but `{name}` above it in column {first[0] + 1}"


def _keys_above(text: str, end: int) -> Iterator[tuple[int, str, str]]:
    """Yield column, name and value of each key on the lines before an offset, from the last line up."""
    for line in reversed(text[:end].splitlines()):
        if line.strip() and not line.lstrip().startswith("#"):
            match = re.match(r"( *(?:- +)*)([\w./-]+):(?: +|$)(.*)", line)
            if match is None:
                return
            yield len(match[1]), match[2], match[3].partition(" #")[0].strip()
