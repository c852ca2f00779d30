"""Parse expressions of HCL to a tree. Nothing is evaluated here (see `evaluate`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

from nodelint.base.kept import kept_by_text
from nodelint.forms.terraform.hcl import HclError, HclManifest, Heredoc, Text, Token
from nodelint.forms.terraform.hclstrings import unescape
from nodelint.forms.terraform.hcltree import (
    BadExpression,
    ForLoop,
    HclExpression,
    TemplatePiece,
    flush_pieces,
    text_pieces,
    trim_pieces,
)
from nodelint.text.nodes import Node, SourceText
from nodelint.text.placeholders import template_end

DEEPEST = 30
"""The deepest nesting of expressions that is parsed."""

_OPERATORS = (("||",), ("&&",), ("==", "!="), ("<", ">", "<=", ">="), ("+", "-"), ("*", "/", "%"))
"""Binary operators by precedence, the weakest first."""
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}


def parse_expression(text: str, start: int, end: int) -> HclExpression:
    """Return the expression in a range of a text. Raise `BadExpression`."""
    return _whole(text, start, end, 0)


def _whole(text: str, start: int, end: int, depth: int) -> HclExpression:
    words = Text(text, start, end)
    reader = ExpressionReader(text, words.tokens, words.heredocs)
    reader.brackets = 1  # a line break does not end it
    found = reader.expression(depth)
    if reader.peek() != "end":
        raise BadExpression
    return found


class ExpressionReader:
    """Parses expressions from tokens, beginning at the token number `at`."""

    def __init__(self, text: str, tokens: Sequence[Token], heredocs: Sequence[Heredoc], at: int = 0) -> None:
        self.text = text
        self.tokens = tokens
        self.heredocs = {heredoc.mark: heredoc for heredoc in heredocs}
        self.at = at
        self.brackets = 0

    def peek(self) -> str:
        """Return the kind of the next token. Line breaks in brackets are skipped."""
        while self.at < len(self.tokens) and self.brackets and self.tokens[self.at].kind == "nl":
            self.at += 1
        return self.tokens[self.at].kind if self.at < len(self.tokens) else "end"

    def take(self, *kinds: str) -> Token:
        """Return the next token if it is of one of the kinds. Else raise `BadExpression`."""
        if self.peek() not in kinds:
            raise BadExpression
        self.at += 1
        return self.tokens[self.at - 1]

    def word(self) -> str:
        """Return the next token as it is written if it is a name, else an empty text."""
        if self.peek() != "id":
            return ""
        token = self.tokens[self.at]
        return self.text[token.start : token.end]

    def expression(self, depth: int) -> HclExpression:
        """Return the expression that begins at the next token. Raise `BadExpression`."""
        if depth > DEEPEST:
            raise BadExpression
        test = self.operation(depth, 0)
        if self.peek() != "?":
            return test
        self.at += 1
        self.skip_line_breaks()
        then = self.expression(depth + 1)
        self.skip_line_breaks()
        self.take(":")
        self.skip_line_breaks()
        other = self.expression(depth + 1)
        return HclExpression("condition", test.start, other.end, None, (test, then, other))

    def skip_line_breaks(self) -> None:
        """Skip line breaks where the expression cannot end."""
        while self.at < len(self.tokens) and self.tokens[self.at].kind == "nl":
            self.at += 1

    def operation(self, depth: int, rank: int) -> HclExpression:
        if rank == len(_OPERATORS):
            return self.unary(depth)
        left = self.operation(depth, rank + 1)
        while self.peek() in _OPERATORS[rank]:
            sign = self.take(*_OPERATORS[rank]).kind
            right = self.operation(depth, rank + 1)
            left = HclExpression("operation", left.start, right.end, sign, (left, right))
        return left

    def unary(self, depth: int) -> HclExpression:
        if depth > DEEPEST:
            raise BadExpression
        if self.peek() in ("-", "!"):
            token = self.take("-", "!")
            of = self.unary(depth + 1)
            return HclExpression("operation", token.start, of.end, token.kind, (of,))
        return self.steps(self.primary(depth), depth)

    def steps(self, of: HclExpression, depth: int, names_only: bool = False) -> HclExpression:
        """Return an expression with the attributes and indices after it.

        With `names_only`, only attributes are read.
        """
        if depth > DEEPEST:
            raise BadExpression
        while self.peek() == "." or (self.peek() == "[" and not names_only):
            sign = self.take(".", "[").kind
            if sign == "." and self.peek() in ("id", "num"):
                token = self.take("id", "num")
                name = self.text[token.start : token.end]
                of = HclExpression("attribute", of.start, token.end, name, (of,))
            elif self.peek() == "*":
                end = self.take("*").end
                if sign == "[":
                    end = self.close("]").end
                asked_of_item = self.steps(HclExpression("name", end, end, "*"), depth + 1, sign == ".")
                of = HclExpression("splat", of.start, asked_of_item.end, None, (of, asked_of_item))
            elif sign == "[":
                self.brackets += 1
                index = self.expression(depth + 1)
                of = HclExpression("index", of.start, self.close("]", opened=True).end, None, (of, index))
            else:
                raise BadExpression
        return of

    def close(self, kind: str, opened: bool = False) -> Token:
        token = self.take(kind)
        self.brackets -= opened
        return token

    def primary(self, depth: int) -> HclExpression:
        kind = self.peek()
        if kind == "id":
            return self.name_or_call(depth)
        token = self.take("num", "str", "heredoc", "(", "[", "{")
        if kind == "num":
            return HclExpression("literal", token.start, token.end, _number(self.text[token.start : token.end]))
        if kind == "str":
            return quoted(self.text, token, depth)
        if kind == "heredoc":
            heredoc = self.heredocs.get(token.start)
            if heredoc is None:
                raise BadExpression
            return heredoc_template(self.text, token, heredoc, depth)
        around, self.brackets = self.brackets, self.brackets + 1
        found = self.bracketed(token, depth)
        self.brackets = around
        return found

    def bracketed(self, token: Token, depth: int) -> HclExpression:
        if token.kind == "(":
            inner = self.expression(depth + 1)
            self.take(")")
            return inner
        if self.word() == "for" and self.following() == "id":
            return self.loop(token, depth)
        if token.kind == "[":
            items = []
            while self.peek() != "]":
                items.append(self.expression(depth + 1))
                if self.peek() != "]":
                    self.take(",")
            return HclExpression("list", token.start, self.take("]").end, None, tuple(items))
        return self.object(token, depth)

    def following(self) -> str:
        """Return the kind of the token after the next one."""
        return self.tokens[self.at + 1].kind if self.at + 1 < len(self.tokens) else "end"

    def object(self, token: Token, depth: int) -> HclExpression:
        members: list[HclExpression] = []
        while self.peek() != "}":
            if self.peek() in ("id", "num") and self.following() in ("=", ":"):
                name = self.take("id", "num")
                key = HclExpression("literal", name.start, name.end, self.text[name.start : name.end])
            else:
                key = self.expression(depth + 1)
            self.take("=", ":")
            around, self.brackets = self.brackets, 0  # a line break ends a value
            self.skip_line_breaks()
            members += (key, self.expression(depth + 1))
            broken = self.peek() == "nl"
            self.brackets = around
            if self.peek() == ",":
                self.at += 1
            elif self.peek() != "}" and not broken:
                raise BadExpression
        return HclExpression("object", token.start, self.take("}").end, None, tuple(members))

    def loop(self, token: Token, depth: int) -> HclExpression:
        self.take("id")
        names = [self.name()]
        if self.peek() == ",":
            self.at += 1
            names.append(self.name())
        if self.name() != "in":
            raise BadExpression
        over = self.expression(depth + 1)
        self.take(":")
        key, item, grouped = None, self.expression(depth + 1), False
        if token.kind == "{":
            self.take("=>")
            key, item = item, self.expression(depth + 1)
            if self.peek() == "...":
                self.at += 1
                grouped = True
        test = None
        if self.word() == "if":
            self.at += 1
            test = self.expression(depth + 1)
        end = self.take("}" if token.kind == "{" else "]").end
        return HclExpression("for", token.start, end, ForLoop(tuple(names), over, key, item, test, grouped))

    def name(self) -> str:
        token = self.take("id")
        return self.text[token.start : token.end]

    def name_or_call(self, depth: int) -> HclExpression:
        token = self.take("id")
        name = self.text[token.start : token.end]
        while self.tokens[self.at : self.at + 3] and self.is_scoped():
            self.at += 3
            name += "::" + self.text[self.tokens[self.at - 1].start : self.tokens[self.at - 1].end]
        if self.peek() != "(" or self.tokens[self.at].start != self.tokens[self.at - 1].end:
            if name in _WORDS:
                return HclExpression("literal", token.start, token.end, _WORDS[name])
            return HclExpression("name", token.start, token.end, name)
        self.take("(")
        around, self.brackets = self.brackets, self.brackets + 1
        args: list[HclExpression] = []
        while self.peek() != ")":
            args.append(self.expression(depth + 1))
            if self.peek() == "...":
                self.at += 1
                args[-1] = HclExpression("spread", args[-1].start, args[-1].end, None, (args[-1],))
            if self.peek() != ")":
                self.take(",")
        end = self.take(")").end
        self.brackets = around
        return HclExpression("call", token.start, end, name.removeprefix("provider::terraform::"), tuple(args))

    def is_scoped(self) -> bool:
        kinds = [token.kind for token in self.tokens[self.at : self.at + 3]]
        return kinds == [":", ":", "id"]


def _number(written: str) -> int | float:
    try:
        return int(written) if len(written) < 40 else float(written)
    except ValueError:
        value = float(written)
    if value in (float("inf"), float("-inf")):
        raise BadExpression
    return value


def quoted(text: str, token: Token, depth: int = 0) -> HclExpression:
    """Return a quoted string: a literal, or a template. Raise `BadExpression` if it is not closed."""
    body = text[token.start + 1 : token.end - 1]
    if token.end - token.start < 2 or text[token.end - 1] != '"':
        raise BadExpression
    if "${" not in body and "%{" not in body:
        return HclExpression("literal", token.start, token.end, unescape(body))
    pieces = read_template(text, token.start + 1, token.end - 1, depth, "quoted")
    return HclExpression("template", token.start, token.end, ("quoted", pieces))


def heredoc_template(text: str, token: Token, heredoc: Heredoc, depth: int = 0) -> HclExpression:
    """Return a heredoc as a template. Raise `BadExpression`."""
    kind = "flush" if text.startswith("<<-", token.start) else "heredoc"
    pieces = read_template(text, heredoc.start, heredoc.end, depth, kind)
    return HclExpression("template", token.start, token.end, (kind, pieces))


_OPENS = r"\$\$\{|%%\{|[$%]\{"


@kept_by_text
def read_file_template(text: str) -> tuple[TemplatePiece, ...]:
    """Return the parts of a file that is a template (see `read_template`). Raise `BadExpression`."""
    return read_template(text, 0, len(text))


def read_template(
    text: str, start: int, end: int, depth: int = 0, kind: str = "heredoc"
) -> tuple[TemplatePiece, ...]:
    """Return the parts of a template, in order. Code that cannot be parsed has no expression. Raise `BadExpression`.

    `kind` is `quoted`, `json`, `heredoc` (also for a file), or `flush` for a heredoc of `<<-`. Each line of text is a
    separate part: a `~` removes white space of the part next to it only.
    """
    if depth > DEEPEST:
        raise BadExpression
    pieces: list[TemplatePiece] = []
    opens = re.compile(_OPENS)
    last, at = start, start
    while (match := opens.search(text, at, end)) is not None:
        at = match.end()
        if len(match.group()) > 2:
            continue
        close = template_end(text, match.start(), end)
        at = close
        if text[close - 1] != "}":
            break
        pieces += text_pieces(text, last, match.start(), kind)
        pieces.append(_code(text, match.start(), close, depth))
        last = close
    pieces += text_pieces(text, last, end, kind)
    trim_pieces(text, pieces, kind)
    if kind == "flush":
        flush_pieces(text, pieces)
    return tuple(pieces)


def _code(text: str, start: int, end: int, depth: int) -> TemplatePiece:
    inner, close = start + 2, end - 1
    inner += text[inner : inner + 1] == "~"
    close -= close > inner and text[close - 1] == "~"
    place = start, end, start, end
    if text[start] == "$":
        return TemplatePiece("$", *place, _readable(text, inner, close, depth))
    head = re.compile(r"\s*(if|for|else|endif|endfor)\b\s*").match(text, inner, close)
    if head is None:
        return TemplatePiece("?", *place)
    if head[1] == "if":
        return TemplatePiece("if", *place, _readable(text, head.end(), close, depth))
    if head[1] == "for":
        loop = re.compile(r"([\w-]+)(?:\s*,\s*([\w-]+))?\s+in\s").match(text, head.end(), close)
        if loop is None:
            return TemplatePiece("?", *place)
        names = tuple(name for name in loop.groups() if name is not None)
        return TemplatePiece("for", *place, _readable(text, loop.end(), close, depth), names)
    return TemplatePiece(head[1], *place)


def _readable(text: str, start: int, end: int, depth: int) -> HclExpression | None:
    try:
        return _whole(text, start, end, depth + 1)
    except BadExpression:
        return None


OF_KARPENTER = r"(?m:^)[ \t]*[\"']?(?:requirements|(?:ami|subnet|securityGroup)SelectorTerms)[\"']?[ \t]*="


def read_encoded(source: SourceText, words: Text) -> Iterator[Node]:
    """Yield the objects with a Karpenter list that are the only argument of `yamlencode` or `jsonencode`."""
    tokens, lists = words.tokens, re.compile(OF_KARPENTER)
    for index in range(2, len(tokens)):
        if tokens[index].kind != "{" or tokens[index - 1].kind != "(":
            continue
        function = source.text[tokens[index - 2].start : tokens[index - 2].end]
        if function not in ("yamlencode", "jsonencode"):
            continue
        if lists.search(source.text, tokens[index].start, words.end_of(index)) is not None:
            with suppress(HclError):
                yield words.object(source, HclManifest(index, False))
