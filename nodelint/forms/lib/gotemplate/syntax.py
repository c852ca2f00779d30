"""Parse Go templates as helm does: text, code with its expressions, and blocks. Nothing is evaluated here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from nodelint.base.tuples import NamedTuple

_OPEN = r"\{\{(?P<left>-(?=\s))?+\s*+"
_BODY = (
    r"(?P<body>(?:\"(?:\\.|[^\"\\\n])*+\"|`[^`]*+`|(?!\s*+-?\}\})[^\"`\s]|(?!\s*+-?\}\})\s++|(?!-?\}\})[\"`])*+)"
    r"\s*+(?P<right>-)?\}\}"
)
_COMMENT_ENDS = r"\*/\s*+(?P<right>-)?\}\}"
_TOKEN = r"\s*(\"(?:\\.|[^\"\\])*\"|`[^`]*`|-?\d+(?:\.\d+)?(?!\w)|\$\w*|(?:\.\w+)+|\.|\w+|:=|=|[|(),])"
_BLOCKS = ("if", "with", "range")
_DEEPEST = 30
_DIGITS = 40
"""The most digits of a number: more than any template prints."""
_MOST_PIPES = 100
"""The most functions in one pipeline. They are nested in each other."""
_MOST_UNCLOSED = 8
"""The most opening brackets without an end. After that, the rest of the text is not a template."""


class BadTemplate(Exception):
    """Raised for template code that this parser does not understand."""


class Code(NamedTuple):
    """A piece of template code.

    - `start`, `end`: its range.
    - `outer_start`, `outer_end`: the range with the white space that its `-` removes.
    - `text`: the code.
    """

    start: int
    end: int
    outer_start: int
    outer_end: int
    text: str


class Pipeline(NamedTuple):
    """The meaning of a pipeline.

    `kind` is `value`, `field` (of the dot, a variable or another pipeline), or `call`.
    """

    kind: str
    value: object = None
    of: Pipeline | str | None = None
    args: tuple[Pipeline, ...] = ()


class Verbatim(NamedTuple):
    """A range of literal text."""

    start: int
    end: int


class Action(NamedTuple):
    """Code that prints a value, or sets a variable. `expression` is None if it is not understood."""

    code: Code
    expression: Pipeline | None
    variable: str | None = None
    declares: bool = False


class Branch(NamedTuple):
    """A branch of a block.

    - `code`: its code.
    - `word`: `if`, `else` and so on.
    - `expression`: its condition, None for a plain `else`.
    - `variables`: the variables of a `range`.
    - `body`: its content.
    """

    code: Code
    word: str
    expression: Pipeline | None
    variables: tuple[str, ...]
    body: tuple[Part, ...]


class Block(NamedTuple):
    """An `if`, `with` or `range` block with its branches and its end."""

    branches: tuple[Branch, ...]
    end: Code


class Definition(NamedTuple):
    """A named template (`define`). The definition itself prints nothing.

    `name` is None if it is not a literal string.
    """

    start: int
    end: int
    name: str | None = None
    body: tuple[Part, ...] = ()


Part = Verbatim | Action | Block | Definition


@lru_cache(maxsize=1024)
def parse(text: str) -> tuple[Part, ...]:
    """Return the parts of a template. Raise `BadTemplate` if blocks are not closed or nested too deeply.

    The result is cached, because a template is rendered with each values file.
    """
    return _Parser(text).parts()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.codes = list(_codes(text))
        self.at = 0
        self.offset = 0

    def parts(self) -> tuple[Part, ...]:
        parts, code, _ = self.until_end(0)
        if code is not None:
            raise BadTemplate
        return tuple(parts)

    def until_end(self, depth: int) -> tuple[list[Part], Code | None, str]:
        """Return the parts up to an `else` or `end`, the code of that, and its text.

        The text is `end`, or the condition after `else`. At the end of the template, the code is None and the text is
        empty.
        """
        if depth > _DEEPEST:
            raise BadTemplate
        parts: list[Part] = []
        while self.at < len(self.codes):
            code = self.codes[self.at]
            self.at += 1
            if code.outer_start > self.offset:
                parts.append(Verbatim(self.offset, code.outer_start))
            self.offset = max(self.offset, code.outer_end)
            word, rest = _first_word(code.text)
            if word in ("else", "end"):
                return parts, code, rest.strip() if word == "else" else "end"
            if word in _BLOCKS:
                parts.append(self.block(code, word, rest, depth))
            elif word in ("define", "block"):
                body = self.passed(depth)
                name = re.match(r"\s*\"([^\"\\]+)\"", rest)
                parts.append(Definition(code.start, self.offset, name[1] if name is not None else None, body))
                if word == "block":  # a `block` also prints
                    parts.append(Action(code, None))
            elif not code.text.startswith("/*"):
                parts.append(_action(code))
        if self.offset < len(self.text):
            parts.append(Verbatim(self.offset, len(self.text)))
            self.offset = len(self.text)
        return parts, None, ""

    def block(self, code: Code, word: str, head: str, depth: int) -> Block:
        branches = []
        while True:
            variables, expression = _head(head) if head or word != "else" else ((), None)
            body, closing, rest = self.until_end(depth + 1)
            branches.append(Branch(code, word, expression, variables, tuple(body)))
            if closing is None:
                raise BadTemplate
            if rest == "end":
                return Block(tuple(branches), closing)
            code = closing
            word, head = _first_word(rest)
            if word and word not in ("if", "with"):
                raise BadTemplate
            word = word or "else"

    def passed(self, depth: int) -> tuple[Part, ...]:
        body: list[Part] = []
        while True:
            parts, closing, rest = self.until_end(depth + 1)
            body += parts
            if closing is None:
                raise BadTemplate
            if rest == "end":
                return tuple(body)


def _first_word(text: str) -> tuple[str, str]:
    """Return the first word of code, and the rest. No space is needed between them, as in `if.Values.enabled`."""
    word = re.match(r"\w*", text)
    return (word[0], text[word.end() :].lstrip()) if word is not None else ("", text)


def _codes(text: str) -> Iterator[Code]:
    last = at = failed = 0
    opens = re.compile(_OPEN)
    bodies = re.compile(_BODY, re.S)
    comments = _Comments(text)
    while failed < _MOST_UNCLOSED and (opened := opens.search(text, at)) is not None:
        inner = opened.end()
        closed = comments.closed(inner) or bodies.match(text, inner)
        if closed is None:
            failed, at = failed + 1, opened.start() + 1
            continue
        start, at = opened.start(), closed.end()
        left, right = start, at
        if opened["left"]:
            while left > last and text[left - 1].isspace():
                left -= 1
        if closed["right"]:
            while right < len(text) and text[right].isspace():
                right += 1
        last = right
        body = closed["body"] if closed.re is bodies else text[inner : closed.start() + 2]
        yield Code(start, at, left, right, " ".join(body.split()) if "\n" in body else body)


class _Comments:
    """Finds the ends of template comments.

    Each end is searched only once, however many comments may begin before it.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._ends = re.compile(_COMMENT_ENDS)
        self._next: int | None = None

    def closed(self, start: int) -> re.Match[str] | None:
        """Return a match for the end of the comment that begins at an offset.

        None if there is no comment, or no valid end.
        """
        if not self._text.startswith("/*", start):
            return None
        if self._next is None or 0 <= self._next < start + 2:
            self._next = self._text.find("*/", start + 2)
        return self._ends.match(self._text, self._next) if self._next >= 0 else None


def _action(code: Code) -> Action:
    set_ = re.match(r"(\$\w+)\s*(:?=)\s*", code.text)
    try:
        expression = expression_of(code.text[set_.end() :] if set_ else code.text)
    except BadTemplate:
        expression = None
    return Action(code, expression, set_[1] if set_ else None, set_ is not None and set_[2] == ":=")


def _head(text: str) -> tuple[tuple[str, ...], Pipeline | None]:
    named = re.match(r"(\$\w+)(?:\s*,\s*(\$\w+))?\s*:=\s*", text)
    variables = tuple(filter(None, named.groups())) if named else ()
    try:
        return variables, expression_of(text[named.end() :] if named else text)
    except BadTemplate:
        return variables, None


# -- pipelines


def expression_of(text: str) -> Pipeline:
    """Return the meaning of a pipeline. Raise `BadTemplate`."""
    tokens: list[tuple[str, bool]] = []
    at = 0
    while at < len(text.rstrip()):
        match = re.compile(_TOKEN).match(text, at)
        if match is None:
            raise BadTemplate
        tokens.append((match[1], match.start(1) == at))
        at = match.end()
    reader = _Tokens(tokens)
    found = reader.pipeline(0)
    if reader.tokens:
        raise BadTemplate
    return found


class _Tokens:
    def __init__(self, tokens: list[tuple[str, bool]]) -> None:
        self.tokens = tokens[::-1]

    def peek(self) -> str:
        return self.tokens[-1][0] if self.tokens else ""

    def pipeline(self, depth: int) -> Pipeline:
        if depth > _DEEPEST:
            raise BadTemplate
        found = self.command(depth, None)
        pipes = 0
        while self.peek() == "|":
            pipes += 1
            if pipes > _MOST_PIPES:
                raise BadTemplate
            self.tokens.pop()
            found = self.command(depth, found)
        return found

    def command(self, depth: int, piped: Pipeline | None) -> Pipeline:
        name = self.peek()
        if re.fullmatch(r"[A-Za-z_]\w*", name) and name not in ("true", "false", "nil"):
            self.tokens.pop()
            args = []
            while self.peek() not in ("", "|", ")"):
                args.append(self.operand(depth))
            if piped is not None:
                args.append(piped)
            return Pipeline("call", name, None, tuple(args))
        if piped is not None:
            raise BadTemplate
        return self.operand(depth)

    def operand(self, depth: int) -> Pipeline:
        if not self.tokens:
            raise BadTemplate
        token, _ = self.tokens.pop()
        if token == "(":
            found = self.pipeline(depth + 1)
            if self.peek() != ")":
                raise BadTemplate
            self.tokens.pop()
        elif token[0] == "$":
            found = Pipeline("field", (), token)
        elif token[0] == ".":
            return Pipeline("field", tuple(filter(None, token.split("."))), ".")
        else:
            return Pipeline("value", _literal(token))
        if self.tokens and self.tokens[-1][1] and self.peek().startswith(".") and len(self.peek()) > 1:
            names = tuple(self.tokens.pop()[0].split(".")[1:])
            found = Pipeline("field", names, token if token[0] == "$" else found)
        return found


def _literal(token: str) -> object:
    if token in ("true", "false", "nil"):
        return {"true": True, "false": False, "nil": None}[token]
    if token[0] == "`":
        return token[1:-1]
    if token[0] == '"':
        from json import loads

        try:
            return loads(token)
        except ValueError:
            raise BadTemplate from None
    if re.fullmatch(r"-?\d+", token) and len(token) <= _DIGITS:
        return int(token)
    if re.fullmatch(r"-?\d+\.\d+", token) and len(token) <= _DIGITS:
        return float(token)
    raise BadTemplate  # also a function without arguments as an argument
