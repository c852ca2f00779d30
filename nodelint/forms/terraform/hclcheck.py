"""Find the first syntax error of a Terraform file by the grammar of HCL's native syntax.

The result is the first place that Terraform refuses, with the reason. Nothing is evaluated, and code nested deeper
than `DEEPEST` is not checked. Source: the specification of HCL's native syntax, and the parser of hashicorp/hcl for
strings.
"""

from __future__ import annotations

import re

from nodelint.base.kept import kept_by_text
from nodelint.forms.terraform.hcl import DEEPEST, Text, Token, words_of
from nodelint.text.placeholders import template_end

_CLOSING = {"{": "}", "[": "]", "(": ")"}
_OPERATORS = frozenset(("||", "&&", "==", "!=", "<", ">", "<=", ">=", "+", "-", "*", "/", "%"))
_NAMES = {"id": "name", "num": "number", "str": "text", "heredoc": "heredoc"}
_ENDS = {"endif": ("if", "else"), "endfor": ("for",)}
_BLANKS = r"(?:[ \t\r\ufeff]|/\*(?:[^*]|\*(?!/))*+\*/)*+"


class _Broken(Exception):
    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset
        self.message = message


class _TooDeep(Exception):
    """Raised if expressions are nested too deeply to be checked."""


@kept_by_text
def find_hcl_problem(text: str) -> tuple[int, str] | None:
    """Return offset and reason of the first place that Terraform cannot parse. None if there is none."""
    try:
        _BodyChecker(words_of(text), 0, len(text)).check()
    except _Broken as broken:
        return broken.offset, broken.message
    except _TooDeep:
        return None
    return None


class _ExpressionChecker:
    """Checks expressions. Raise `_Broken` at the first token that is not allowed."""

    def __init__(self, words: Text, start: int, end: int, depth: int = 0) -> None:
        self.text = words.text
        self.tokens = words.tokens
        self.heredocs = {heredoc.mark: heredoc for heredoc in words.heredocs}
        self.end = end
        self.at = 0
        self.lines = True
        """Whether a line break is a token here. In brackets and templates it is not."""
        self.depth = depth
        self.check_comment(self.tokens[-1].end if self.tokens else start)

    def check_comment(self, at: int) -> None:
        """Raise `_Broken` if a comment after the last token is not closed."""
        match = re.compile(_BLANKS).match(self.text, at, self.end)
        at = match.end() if match is not None else at
        if self.text.startswith("/*", at, self.end):
            raise _Broken(at, "the comment that begins here is not closed")
        if self.end < len(self.text) and self.text.startswith(("#", "//"), at, self.end):
            raise _Broken(at, "the `}` of this code stands in a comment")

    def peek(self) -> str:
        while not self.lines and self.at < len(self.tokens) and self.tokens[self.at].kind == "nl":
            self.at += 1
        return self.tokens[self.at].kind if self.at < len(self.tokens) else "end"

    def word(self) -> str:
        """Return the next token as it is written if it is a name, else an empty text."""
        return self.next_text() if self.peek() == "id" else ""

    def next_text(self) -> str:
        token = self.tokens[self.at]
        return self.text[token.start : token.end]

    def place(self) -> int:
        return self.tokens[self.at].start if self.peek() != "end" else self.end

    def describe_next(self) -> str:
        """Return a description of the next token for a message."""
        kind = self.peek()
        if kind in ("nl", "end"):
            return "the end of the line" if kind == "nl" else "the end" if self.end == len(self.text) else "`}`"
        written = self.next_text()
        if kind in ("str", "heredoc") or len(written) > 30:
            return f"a {_NAMES.get(kind, 'word')}"
        return f"`{written}`" if kind not in ("id", "num") else f"the {_NAMES[kind]} `{written}`"

    def fail(self, message: str) -> _Broken:
        return _Broken(self.place(), message)

    def expression(self) -> None:
        if self.depth > DEEPEST:
            raise _TooDeep
        self.depth += 1
        self.term()
        while self.peek() in _OPERATORS:
            self.at += 1
            self.term()
        if self.peek() == "?":
            question = self.place()
            self.at += 1
            self.expression()
            if self.peek() != ":":
                raise _Broken(question, "the condition has no `:` with the value that counts otherwise")
            self.at += 1
            self.expression()
        self.depth -= 1

    def term(self) -> None:
        while self.peek() in ("-", "!"):
            self.at += 1
        kind = self.peek()
        token = self.tokens[self.at] if kind != "end" else None
        if token is None or kind not in ("id", "num", "str", "heredoc", "(", "[", "{"):
            self.refuse_value(kind)
            return
        self.at += 1
        if kind == "id":
            self.call(token)
        elif kind == "str":
            self.check_quoted(token)
        elif kind == "heredoc":
            self.check_heredoc(token)
        elif kind == "num":
            if re.compile(r"\.\d").match(self.text, token.end):
                raise _Broken(token.start, "a number has one point at most; a text stands in quotes")
        else:
            around, self.lines = self.lines, False
            self.bracketed(token)
            self.lines = around
        self.steps()

    def refuse_value(self, kind: str) -> None:
        if kind in ("op", "<<") or (kind == "<" and self.text.startswith("<<", self.place())):
            raise self.fail("could not find the end of the text that starts here")
        before = self.tokens[self.at - 1] if self.at else None
        is_sign = before is not None and before.kind in (*_OPERATORS, "=", "?", ":")
        after = f" after `{before.kind}`" if before is not None and is_sign else ""
        raise self.fail(f"expected a value{after}, found {self.describe_next()}")

    def bracketed(self, opened: Token) -> None:
        if opened.kind == "(":
            self.expression()
            self.close(opened, "`)`")
        elif self.word() == "for":
            self.loop(opened)
        elif opened.kind == "[":
            while self.peek() != "]":
                self.expression()
                if self.peek() == ",":
                    self.at += 1
                elif self.peek() != "]":
                    raise self.unclosed(opened) or self.fail(self.lacking(opened, "`,` or `]`"))
            self.at += 1
        else:
            self.object(opened)

    def object(self, opened: Token) -> None:
        self.lines = True
        while True:
            while self.peek() == "nl":
                self.at += 1
            if self.peek() == "}":
                break
            if self.peek() == "end":
                raise self.unclosed(opened) or self.fail("expected a key here")
            key = self.next_text()
            self.expression()
            if self.peek() not in ("=", ":"):
                named = f" after the key `{key}`" if len(key) <= 40 and "\n" not in key else ""
                raise self.unclosed(opened) or self.fail(f"expected `=`{named}, found {self.describe_next()}")
            self.at += 1
            self.expression()
            if self.peek() in (",", "nl"):
                self.at += 1
            elif self.peek() != "}":
                raise self.unclosed(opened) or self.fail(
                    f"expected `,` or the end of the line in front of the next key, found {self.describe_next()}"
                )
        self.at += 1

    def loop(self, opened: Token) -> None:
        self.at += 1
        self.loop_names()
        self.expression()
        if self.peek() != ":":
            raise self.fail(f"expected `:` after what the `for` runs over, found {self.describe_next()}")
        self.at += 1
        self.expression()
        is_object = opened.kind == "{"
        if is_object and self.peek() != "=>":
            raise self.fail(f"expected `=>` after the key of the `for`, found {self.describe_next()}")
        if is_object:
            self.at += 1
            self.expression()
            self.at += self.peek() == "..."
        if self.word() == "if":
            self.at += 1
            self.expression()
        self.close(opened, f"`{_CLOSING[opened.kind]}` after the `for`")

    def loop_names(self) -> None:
        for _ in range(2):
            if self.peek() != "id":
                raise self.fail(f"expected a name after `for`, found {self.describe_next()}")
            self.at += 1
            if self.peek() != ",":
                break
            self.at += 1
        if self.word() != "in":
            raise self.fail(f"expected `in` after the names of the `for`, found {self.describe_next()}")
        self.at += 1

    def close(self, opened: Token, expected: str) -> None:
        if self.peek() != _CLOSING[opened.kind]:
            raise self.unclosed(opened) or self.fail(self.lacking(opened, expected))
        self.at += 1

    def lacking(self, opened: Token, expected: str) -> str:
        """Return the message for a missing token in brackets. It names brackets that open on a line above."""
        line = self.text.count("\n", 0, opened.start) + 1
        is_above = "\n" in self.text[opened.start : self.place()]
        around = f" of the `{opened.kind}` in line {line}" if is_above else ""
        return f"expected {expected}{around}, found {self.describe_next()}"

    def unclosed(self, opened: Token) -> _Broken | None:
        """Return the error for brackets that are not closed at the end of the text. None before the end."""
        closed = f"the `{opened.kind}` that stands here is not closed"
        return _Broken(opened.start, closed) if self.peek() == "end" else None

    def call(self, name: Token) -> None:
        scoped = False
        while [token.kind for token in self.tokens[self.at : self.at + 3]] == [":", ":", "id"]:
            self.at += 3
            scoped = True
        if self.peek() != "(":
            if scoped:
                raise self.fail(f"expected `(` after the name of the function, found {self.describe_next()}")
            return
        opened = self.tokens[self.at]
        self.at += 1
        around, self.lines = self.lines, False
        while self.peek() != ")":
            self.expression()
            if self.peek() == "...":
                self.at += 1
                self.close(opened, "`)` after `...`")
                self.at -= 1
            elif self.peek() == ",":
                self.at += 1
            elif self.peek() != ")":
                raise self.unclosed(opened) or self.fail(self.lacking(opened, "`,` or `)`"))
        self.at += 1
        self.lines = around

    def steps(self) -> None:
        """Check the attributes and indices after a value."""
        while self.peek() in (".", "["):
            opened = self.tokens[self.at]
            self.at += 1
            if opened.kind == ".":
                if self.peek() not in ("id", "num", "*"):
                    raise self.fail(f"expected a name after `.`, found {self.describe_next()}")
                if self.peek() == "num" and "." in self.next_text():
                    raise self.fail("one index directly after another is written as `[0][1]`")
                self.at += 1
                continue
            around, self.lines = self.lines, False
            if self.peek() == "*":
                self.at += 1
            else:
                self.expression()
            self.close(opened, "`]`")
            self.lines = around

    def check_quoted(self, token: Token) -> None:
        body = self.text[token.start + 1 : token.end - 1]
        escaped = (len(body) - len(body.rstrip("\\"))) % 2
        if token.end - token.start < 2 or self.text[token.end - 1] != '"' or escaped:
            raise _Broken(token.start, "could not find the end of the quoted text that starts here")
        self.check_template(token.start + 1, token.end - 1, quoted=True)

    def check_heredoc(self, token: Token) -> None:
        heredoc = self.heredocs.get(token.start)
        if heredoc is not None:
            if self.text[heredoc.mark : heredoc.start].rstrip("\r\n")[-1:] in " \t":
                raise _Broken(token.start, "a blank stands after the mark of the heredoc, which Terraform refuses")
            self.check_template(heredoc.start, heredoc.end)

    def check_template(self, start: int, end: int, quoted: bool = False) -> None:
        """Check the code of a template, and that each of its blocks has an end."""
        opens = re.compile(r"\\.|\$\$\{|%%\{|[$%]\{" if quoted else r"\$\$\{|%%\{|[$%]\{")
        blocks: list[tuple[str, int]] = []
        at = start
        while (match := opens.search(self.text, at, end)) is not None:
            at = match.end()
            if match.group() not in ("${", "%{"):
                if quoted and match.group()[0] == "\\":
                    self.check_escape(match.start())
                continue
            at = template_end(self.text, match.start(), end)
            if self.text[at - 1] != "}" or at - match.start() < 3:
                raise _Broken(match.start(), f"could not find the `}}` of the `{match.group()}` that stands here")
            self.check_code(match.start(), at, blocks)
        if blocks:
            word, place = blocks[-1]
            word = "for" if word == "for" else "if"
            raise _Broken(place, f"the `%{{ {word} }}` that stands here has no `%{{ end{word} }}`")

    def check_escape(self, at: int) -> None:
        if re.compile(r'\\(?:[nrt"\\]|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})').match(self.text, at) is None:
            written = self.text[at : at + 2]
            raise _Broken(at, f"`{written}` is no escape of HCL; a backslash is written as `\\\\`")

    def check_code(self, start: int, end: int, blocks: list[tuple[str, int]]) -> None:
        inner, close = start + 2, end - 1
        inner += self.text[inner] == "~"
        close -= close > inner and self.text[close - 1] == "~"
        code = _ExpressionChecker(Text(self.text, inner, close), inner, close, self.depth)
        code.lines = False
        if self.text[start] == "%":
            code.directive(start, blocks)
        else:
            code.expression()
        if code.peek() != "end":
            raise code.fail(f"expected `}}` here, found {code.describe_next()}")

    def directive(self, start: int, blocks: list[tuple[str, int]]) -> None:
        word = self.word()
        self.at += 1
        if word in ("if", "for"):
            if word == "for":
                self.loop_names()
            self.expression()
            blocks.append((word, start))
        elif word == "else" and blocks and blocks[-1][0] == "if":
            blocks[-1] = ("else", blocks[-1][1])
        elif word in _ENDS and blocks and blocks[-1][0] in _ENDS[word]:
            blocks.pop()
        else:
            raise _Broken(start, f"`%{{ {word} }}` has no block here" if word else "expected `if` or `for` here")


class _BodyChecker(_ExpressionChecker):
    """Checks the blocks and the attributes of a file."""

    def check(self) -> None:
        opened: list[tuple[Token, set[str]]] = []
        names: set[str] = set()
        while (kind := self.peek()) != "end":
            if kind == "nl":
                self.at += 1
            elif kind == "}" and opened:
                self.at += 1
                names = opened.pop()[1]
                self.end_line("the block")
            elif kind != "id":
                raise self.fail(f"expected a block or an attribute here, found {self.describe_next()}")
            elif (brace := self.item(names)) is not None:
                opened.append((brace, names))
                names = set()
        if opened:
            raise _Broken(opened[-1][0].start, "could not find the `}` of the block that begins here")

    def item(self, names: set[str]) -> Token | None:
        """Check an attribute, a block of one line, or the head of a block.

        Return the `{` of a block's head, None for the other two.
        """
        head = self.tokens[self.at]
        name = self.next_text()
        self.at += 1
        if self.peek() == "=":
            self.attribute(name, names, head)
            self.end_line(f"the value of `{name}`")
            return None
        while self.peek() in ("id", "str"):
            if self.peek() == "str":
                self.label(self.tokens[self.at])
            self.at += 1
        if self.peek() != "{":
            is_alone = self.tokens[self.at - 1] is head
            expected = "`=` or `{`" if is_alone else "`{`"
            raise self.fail(f"expected {expected} after `{name}`, found {self.describe_next()}")
        brace = self.tokens[self.at]
        self.at += 1
        if self.peek() in ("nl", "}", "end"):
            return brace
        self.one_line(brace)
        return None

    def label(self, token: Token) -> None:
        self.check_quoted(token)
        if re.compile(r"(?<![$%])[$%]\{").search(self.text, token.start, token.end):
            raise _Broken(token.start, "a label of a block is a plain text, without `${`")

    def attribute(self, name: str, names: set[str], head: Token) -> None:
        if name in names:
            raise _Broken(head.start, f"`{name}` is set a second time in its block")
        names.add(name)
        self.at += 1
        self.expression()

    def one_line(self, brace: Token) -> None:
        """Check a block on one line, which has at most one attribute."""
        name = self.next_text()
        head = self.tokens[self.at]
        if self.peek() != "id":
            raise self.fail(f"expected an attribute here, found {self.describe_next()}")
        self.at += 1
        if self.peek() != "=":
            raise self.fail(
                f"expected `=` after `{name}`, found {self.describe_next()}: a block on one line holds one attribute"
            )
        self.attribute(name, set(), head)
        if self.peek() != "}":
            raise self.fail(f"expected the `}}` of the block that begins on this line, found {self.describe_next()}")
        self.at += 1
        self.end_line("the block")

    def end_line(self, what: str) -> None:
        if self.peek() not in ("nl", "end"):
            raise self.fail(f"expected the end of the line after {what}, found {self.describe_next()}")
