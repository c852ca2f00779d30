"""Where a file of Terraform cannot be read: its blocks, attributes, brackets and texts, as far as words tell."""

from __future__ import annotations

from collections.abc import Sequence

from nodelint.forms.terraform.hcl import Text, Token

_CLOSING = {"{": "}", "[": "]", "(": ")"}
_NEVER_TWICE = frozenset(("<", ">", "==", "<=", ">="))
"""Signs of which no expression has two in a row; a merge conflict has seven."""


class _Broken(Exception):
    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset
        self.message = message


def find_hcl_problem(text: str) -> tuple[int, str] | None:
    """The first place that Terraform cannot read, as an offset, and what is wrong there; None where none is found.

    Expressions are held to their brackets and texts alone. Source: the specification of HCL's native syntax.
    """
    words = Text(text, 0, len(text))
    try:
        _check(text, words.tokens)
    except _Broken as broken:
        return broken.offset, broken.message
    return None


def _check(text: str, tokens: Sequence[Token]) -> None:
    index = 0
    open_blocks: list[Token] = []
    while index < len(tokens):
        token = tokens[index]
        if token.kind == "nl":
            index += 1
        elif token.kind == "}" and open_blocks:
            open_blocks.pop()
            index = _behind_line(tokens, index + 1, bool(open_blocks))
        elif token.kind != "id":
            raise _Broken(token.start, "expected a block or an attribute here")
        else:
            head = index
            index = _behind_labels(tokens, head + 1)
            kind = tokens[index].kind if index < len(tokens) else ""
            if kind == "{":
                open_blocks.append(tokens[index])
                index += 1
            elif kind == "=" and index == head + 1:
                index = _behind_expression(text, tokens, index + 1, bool(open_blocks))
                index = _behind_line(tokens, index, bool(open_blocks))
            else:
                raise _Broken(token.start, "expected a block or an attribute here")
    if open_blocks:
        raise _Broken(open_blocks[-1].start, "could not find the `}` of the block that begins here")


def _behind_labels(tokens: Sequence[Token], index: int) -> int:
    while index < len(tokens) and tokens[index].kind in ("id", "str"):
        index += 1
    return index


def _behind_line(tokens: Sequence[Token], index: int, within: bool) -> int:
    """Behind the end of the line that an attribute or a block ends with."""
    if index >= len(tokens) or tokens[index].kind == "nl" or (within and tokens[index].kind == "}"):
        return index
    raise _Broken(tokens[index].start, "expected the end of the line here")


def _behind_expression(text: str, tokens: Sequence[Token], index: int, within: bool) -> int:
    """Behind an expression: at the end of its line, or at the bracket that closes the block around it."""
    first = index
    brackets: list[Token] = []
    while index < len(tokens):
        token = tokens[index]
        if token.kind in _CLOSING:
            brackets.append(token)
        elif token.kind in _CLOSING.values():
            if not brackets and within and token.kind == "}":
                break
            if not brackets or _CLOSING[brackets.pop().kind] != token.kind:
                raise _Broken(token.start, f"nothing is open that `{token.kind}` could close")
        elif token.kind == "nl" and not brackets:
            break
        elif token.kind == "str" and not _is_closed(text, token):
            raise _Broken(token.start, "could not find the end of the quoted text that starts here")
        elif token.kind == "op" or token.kind == "<<":
            raise _Broken(token.start, "could not find the end of the text that starts here")
        elif token.kind in _NEVER_TWICE and index > first and tokens[index - 1].kind == token.kind:
            raise _Broken(token.start, "expected a value here")
        index += 1
    if brackets:
        opened = brackets[-1]
        raise _Broken(opened.start, f"could not find the `{_CLOSING[opened.kind]}` of what begins here")
    if index == first:
        at = tokens[index].start if index < len(tokens) else len(text)
        raise _Broken(at, "expected a value here")
    return index


def _is_closed(text: str, token: Token) -> bool:
    return token.end - token.start > 1 and text[token.end - 1] == '"'
