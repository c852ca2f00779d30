"""Find the first mistake for which helm refuses a template before it renders anything.

The rules are those of Go's parser (`text/template/parse`): the parser of `syntax` reads more than helm does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nodelint.base.tuples import NamedTuple

_OPENS = r"\{\{(?:-(?=[ \t\r\n]))?"
_COMMENT = r"\s*/\*"
_COMMENT_END = r"\*/\s*?(?:[ \t\r\n]-)?\}\}"
_SPACE = r"[ \t\r\n]+"
_CLOSES = r"(?:(?<=[ \t\r\n])-)?\}\}"
_TOKENS = {
    "text": r'"(?:\\.|[^"\\\n])*"|`[^`]*`',
    "character": r"'(?:\\.|[^'\\\n])+'",
    "variable": r"\$\w*",
    "field": r"\.[^\W\d]\w*",
    "number": r"[+-]?\.?\d[\w.]*(?:[pPeE][+-]\d+)?i?",
    "word": r"[^\W\d]\w*",
    "sign": r":=|[=|(),.]",
}
_TOKEN = "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _TOKENS.items())
_BLOCKS = ("if", "with", "range", "define", "block")
_CONSTANTS = ("true", "false", "nil")
_SHOWN = 20
"""How much of a piece of code a message shows, in characters."""


class Mistake(NamedTuple):
    """A mistake in a template: its offset, its length, and what is wrong."""

    offset: int
    length: int
    message: str


class _Token(NamedTuple):
    kind: str
    text: str
    at: int


class _Refusal(Exception):
    """Raised with the first mistake."""

    def __init__(self, at: int, length: int, message: str) -> None:
        super().__init__(message)
        self.mistake = Mistake(at, length, message)


def find_mistake(text: str, functions: frozenset[str]) -> Mistake | None:
    """Return the first mistake in a template. None if Go's parser accepts it. `functions` are those of helm."""
    checker = _Checker(functions)
    try:
        for start, tokens in _actions(text):
            checker.action(start, tokens)
        checker.end()
    except _Refusal as refusal:
        return refusal.mistake
    return None


def _actions(text: str) -> Iterator[tuple[int, list[_Token]]]:
    """Yield the offset and the tokens of each action of a template. Comments are left out."""
    opens, token = re.compile(_OPENS), re.compile(_TOKEN)
    space, closes = re.compile(_SPACE), re.compile(_CLOSES)
    at = 0
    while (opened := opens.search(text, at)) is not None:
        start, at = opened.span()
        comment = re.compile(_COMMENT).match(text, at)
        if comment is not None:
            ends = text.find("*/", comment.end())
            closed = re.compile(_COMMENT_END).match(text, ends) if ends >= 0 else None
            if closed is None:
                raise _Refusal(start, 2, "the comment that begins here does not end with `*/}}`")
            at = closed.end()
            continue
        tokens: list[_Token] = []
        while True:
            if (blank := space.match(text, at)) is not None:
                at = blank.end()
            if at >= len(text):
                raise _Refusal(start, 2, "could not find the `}}` of what begins here")
            if (closed := closes.match(text, at)) is not None:
                at = closed.end()
                break
            read = token.match(text, at)
            if read is None:
                raise _Refusal(at, 1, _describe(text[at]))
            tokens.append(_Token(read.lastgroup or "", read[0], at))
            at = read.end()
        yield start, tokens


def _describe(character: str) -> str:
    if character in "\"`'":
        return "the text in quotes that begins here has no end"
    if character == "}":
        return "the code ends with one `}`: two are needed"
    return f"helm does not understand `{character}` in template code"


class _Checker:
    """Checks the actions of a template in order.

    - `blocks`: the open blocks, each with its word, its offset, and whether it had an `else`.
    - `variables`: the declared variables, a list for each open block.
    """

    def __init__(self, functions: frozenset[str]) -> None:
        self.functions = functions
        self.blocks: list[tuple[str, int, bool]] = []
        self.variables: list[list[str]] = [["$"]]

    def action(self, start: int, tokens: list[_Token]) -> None:
        if not tokens:
            raise _Refusal(start, 2, "`{{ }}` has no value")
        first = tokens[0]
        word = first.text if first.kind == "word" else ""
        if word == "end":
            self._close(first)
        elif word == "else":
            self._else(first, tokens[1:])
        elif word in _BLOCKS:
            self._open(first, tokens[1:])
        elif word == "template":
            self._pipeline(tokens[2:])
        elif word not in ("break", "continue"):
            self._pipeline(tokens)

    def end(self) -> None:
        if self.blocks:
            word, at, _ = self.blocks[-1]
            raise _Refusal(at, len(word), f"`{word}` has no `{{{{ end }}}}`")

    def _open(self, first: _Token, rest: list[_Token]) -> None:
        if not rest:
            raise _Refusal(first.at, len(first.text), f"`{first.text}` has no value")
        self.blocks.append((first.text, first.at, False))
        self.variables.append([])
        if first.text not in ("define", "block"):
            self._pipeline(rest)
        elif first.text == "block":
            self._pipeline(rest[1:])

    def _close(self, first: _Token) -> None:
        if not self.blocks:
            raise _Refusal(first.at, 3, "`end` without `if`, `with`, `range` or `define`")
        self.blocks.pop()
        self.variables.pop()

    def _else(self, first: _Token, rest: list[_Token]) -> None:
        word, at, had_else = self.blocks[-1] if self.blocks else ("", 0, False)
        if word not in ("if", "with", "range") or had_else:
            raise _Refusal(first.at, 4, "`else` without `if`, `with` or `range`")
        if not rest:
            self.blocks[-1] = (word, at, True)
            return
        if rest[0].text not in ("if", "with") or len(rest) < 2:
            raise _Refusal(rest[0].at, len(rest[0].text), f"`{_short(rest[0].text)}` cannot follow `else`")
        self._pipeline(rest[1:])

    def _pipeline(self, tokens: list[_Token]) -> None:
        """Check a pipeline. `tokens` may begin with variables that it sets."""
        names: list[str] = []
        count = next((n for n, token in enumerate(tokens[:4]) if token.text in (":=", "=")), None)
        if count is not None:
            names = [token.text for token in tokens[:count] if token.kind == "variable"]
            tokens = tokens[count + 1 :]
        self._commands(tokens)
        self.variables[-1] += names

    def _commands(self, tokens: list[_Token]) -> None:
        opened: list[_Token] = []
        before: _Token | None = None
        for token in tokens:
            if token.text == "(":
                opened.append(token)
            elif token.text == ")":
                if not opened:
                    raise _Refusal(token.at, 1, "`)` without `(`")
                opened.pop()
            elif token.kind == "word":
                self._word(token)
            elif token.kind == "variable":
                self._variable(token)
            if token.text in ("|", ")") and (before is None or before.text in ("|", "(")):
                raise _Refusal(token.at, 1, f"no value before `{token.text}`")
            before = token
        if opened:
            raise _Refusal(opened[-1].at, 1, "`(` is not closed")
        if before is not None and before.text == "|":
            raise _Refusal(before.at, 1, "no function after `|`")

    def _word(self, token: _Token) -> None:
        if token.text in _CONSTANTS or token.text in self.functions:
            return
        raise _Refusal(token.at, len(token.text), f"helm has no function `{_short(token.text)}`")

    def _variable(self, token: _Token) -> None:
        inside = next((n for n in reversed(range(len(self.blocks))) if self.blocks[n][0] in ("define", "block")), -1)
        known = ["$", *(name for names in self.variables[inside + 1 :] for name in names)]
        if token.text not in known:
            raise _Refusal(token.at, len(token.text), f"the variable `{_short(token.text)}` is not set here")


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
