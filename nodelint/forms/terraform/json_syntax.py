"""Parse Terraform files in JSON syntax as blocks and expressions of HCL.

Source of the mapping: Terraform's language, "JSON Configuration Syntax". A string is a template; `\\"` inside a `${}`
is a quote of the expression.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from nodelint.base.budget import RUN
from nodelint.base.types import TYPE_CHECKING
from nodelint.forms.terraform.file_blocks import TerraformBlock, TerraformFile
from nodelint.forms.terraform.fill import JSON_ENDS
from nodelint.forms.terraform.hcl import Text, Token
from nodelint.forms.terraform.hclexpr import ExpressionReader, parse_expression, read_template
from nodelint.forms.terraform.hcltree import BadExpression, HclExpression
from nodelint.forms.terraform.parsed import parse_text

if TYPE_CHECKING:
    from nodelint.text.source import Source

_LABELS = {"resource": 2, "data": 2, "module": 1, "variable": 1, "output": 1, "locals": 0}
"""The blocks that are read, with the number of their labels."""
_TOKEN = (
    r'(?P<blank>[ \t\r\n\ufeff]+)|(?P<str>"(?:[^"\\\n]|\\.)*+")|(?P<num>\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)'
    r"|(?P<id>[a-z]+)|(?P<op>[-{}\[\],:])"
)
_SIGN = re.compile(r'(?<!\$)\$\{|(?<!%)%\{|\\"|[{}]')
"""What begins code in a string, or what may be in code: an escaped quote, or a brace."""
_OPEN_END = r"(?<!\$)\$\{|(?<!%)%\{|\\(?:[/bf]|u[dD][89a-fA-F])"
"""Code in a string that is not supported, and escapes that only JSON has."""


def read_file(source: Source) -> TerraformFile:
    """Parse a Terraform file in HCL or JSON syntax. A file with a syntax error may have no blocks."""
    if not source.path.endswith(JSON_ENDS):
        parsed = parse_text(source.text)
        return TerraformFile(source, parsed.words, parsed.blocks, parsed.attributes)
    words = Text(source.text, 0, 0)
    try:
        words.tokens = list(RUN.in_time(_tokens(source.text)))
        reader = _JsonReader(source.text, words.tokens, ())
        reader.show_quotes()
        whole = reader.expression(0)
        return TerraformFile(source, words, tuple(_blocks(source.text, whole)))
    except BadExpression:
        return TerraformFile(source, words, ())


def _tokens(text: str) -> Iterator[Token]:
    token = re.compile(_TOKEN)
    at = 0
    while at < len(text):
        match = token.match(text, at)
        if match is None or match.lastgroup is None:
            raise BadExpression
        if match.lastgroup != "blank":
            yield Token(match.group() if match.lastgroup == "op" else match.lastgroup, at, match.end())
        at = match.end()


class _JsonReader(ExpressionReader):
    shown = ""
    """The file with quotes in place of their escapes in code, so that offsets do not change."""
    unread: frozenset[int] = frozenset()
    """The offsets of strings whose code is not read."""

    def show_quotes(self) -> None:
        """Compute `shown` (the file with unescaped quotes in code) and `unread` (offsets of unsupported strings)."""
        parts, unread, at = [], set(), 0
        for token in self.tokens:
            written = self.text[token.start : token.end] if token.kind == "str" else ""
            if "\\" in written and ("${" in written or "%{" in written):
                shown = _show_quotes(written)
                if shown is None:
                    unread.add(token.start)
                else:
                    parts += [self.text[at : token.start], shown]
                    at = token.end
        self.shown, self.unread = "".join([*parts, self.text[at:]]), frozenset(unread)

    def primary(self, depth: int) -> HclExpression:
        if self.peek() != "str":
            return super().primary(depth)
        _, start, end = self.take("str")
        written = self.text[start:end]
        if "${" not in written and "%{" not in written:
            try:
                return HclExpression("literal", start, end, json.loads(written))
            except ValueError:
                raise BadExpression from None
        if start in self.unread:
            return HclExpression("name", start, end, "")  # a name that nothing defines: unknown
        pieces = read_template(self.shown, start + 1, end - 1, 0, "json")
        return HclExpression("template", start, end, ("quoted", pieces))


def _show_quotes(written: str) -> str | None:
    """Unescape quotes inside `${...}` of a JSON string, keeping its length.

    None if that is ambiguous: a string in the code contains code, or the text has escapes that only JSON has.
    """
    parts = _split_code(written)
    if any(re.search(_OPEN_END, part) for part in parts[::2]) or any(
        re.search(r"[$%]\{.*[$%]\{", part) for part in parts[1::2]
    ):
        return None
    for n, part in enumerate(parts[1::2]):
        between = part.split('\\"')
        quotes = (' "', '" ')
        parts[2 * n + 1] = between[0] + "".join(quotes[k % 2] + rest for k, rest in enumerate(between[1:]))
        if "\\" in parts[2 * n + 1]:
            return None
    return "".join(parts)


def _split_code(written: str) -> list[str]:
    """Return the parts of a string: text, code, text and so on. Braces in a string of the code do not count."""
    parts, begun, depth, is_quoted = [""], 0, 0, False
    for sign in _SIGN.finditer(written):
        if depth == 0 and sign[0][0] in "$%":
            parts[-1] = written[begun : sign.start()]
            begun, depth = sign.start(), 1
        elif depth and sign[0] == '\\"':
            is_quoted = not is_quoted
        elif depth and not is_quoted:
            depth += 1 if sign[0][-1] == "{" else -1
            if depth == 0:
                parts += [written[begun : sign.end()], ""]
                begun = sign.end()
    parts[-1] += written[begun:]
    return parts


def _read_code(text: str, start: int, end: int) -> HclExpression | None:
    """Return the expression in a string. Quotes replace their escapes, so that offsets do not change.

    None if it is invalid.
    """
    parts = text[start:end].split('\\"')
    quotes = (' "', '" ')
    code = parts[0] + "".join(quotes[n % 2] + part for n, part in enumerate(parts[1:]))
    try:
        return parse_expression(text[:start] + code + text[end:], start, end)
    except BadExpression:
        return None


def _blocks(text: str, whole: HclExpression) -> Iterator[TerraformBlock]:
    for kind, value in _members(whole):
        if kind in _LABELS:
            for names, body in _bodies(value, _LABELS[kind]):
                if kind == "variable":
                    body = _with_type(text, body)
                yield TerraformBlock(kind, names, (), body.start, body.end, body)


def _bodies(value: HclExpression, labels: int) -> Iterator[tuple[tuple[str, ...], HclExpression]]:
    if value.kind == "list":
        for part in value.parts:
            yield from _bodies(part, labels)
    elif labels:
        for name, below in _members(value):
            for names, body in _bodies(below, labels - 1):
                yield (name, *names), body
    elif value.kind == "object":
        yield (), value


def _members(value: HclExpression) -> Iterator[tuple[str, HclExpression]]:
    if value.kind == "list":
        for part in value.parts:
            yield from _members(part)
    elif value.kind == "object":
        for key, member in zip(value.parts[::2], value.parts[1::2], strict=True):
            if isinstance(key.value, str):
                yield key.value, member


def _with_type(text: str, body: HclExpression) -> HclExpression:
    """Return the body of a variable with its type as an expression. In JSON, the type is a string."""
    parts = list(body.parts)
    for n in range(0, len(parts), 2):
        kind = parts[n + 1]
        if parts[n].value == "type" and kind.kind == "literal" and isinstance(kind.value, str):
            found = _read_code(text, kind.start + 1, kind.end - 1)
            parts[n + 1] = kind._replace(kind="name", value="any") if found is None else found
    return body._replace(parts=tuple(parts))
