"""Templates of Terraform, `${x}` and `%{ for x in y }`, as the parts that `filling` fills in.

A name is a field of `Values`, a name of a loop a variable. What is none of the forms read here stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from nodelint.source.gotemplate import Action, BadTemplate, Block, Branch, Code, Part, Pipeline, Verbatim

_CODE = (
    r"(?P<escaped>\$\$\{|%%\{)|(?P<sign>[$%])\{(?P<left>~?)\s*"
    r"(?P<body>(?:\"(?:\\.|[^\"\\\n])*\"|[^{}\"\n]|\{[^{}\n]*\})*?)\s*(?P<right>~?)\}"
)
_NAME = r"[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*"
_FUNCTIONS = {"jsonencode": "toJson", "lower": "lower", "tostring": "toString", "upper": "upper"}
_DEEPEST = 30


def parse(text: str, ranges: Sequence[tuple[int, int]], bare: Sequence[tuple[int, int]] = ()) -> tuple[Part, ...]:
    """The parts of a text that has templates at some places, and bare names at others, as Terraform's objects have.

    Raises `BadTemplate` where blocks are not closed.
    """
    return _Parser(text, ranges, bare).parts()


class _Parser:
    def __init__(self, text: str, ranges: Sequence[tuple[int, int]], bare: Sequence[tuple[int, int]]) -> None:
        self.text = text
        codes = [code for start, end in ranges for code in self._codes(start, end)]
        codes += [("=", Code(start, end, start, end, text[start:end])) for start, end in bare]
        self.codes = sorted(codes, key=lambda each: each[1].start)
        self.at = 0
        self.offset = 0

    def _codes(self, start: int, end: int) -> list[tuple[str, Code]]:
        found: list[tuple[str, Code]] = []
        last = start
        for match in re.compile(_CODE).finditer(self.text, start, end):
            if match["escaped"]:
                continue
            left, right = match.span()
            if match["left"]:
                while left > last and self.text[left - 1] in " \t":
                    left -= 1
            if match["right"]:
                blank = re.compile(r"[ \t]*\r?\n|[ \t]*").match(self.text, right, end)
                right = blank.end() if blank is not None else right
            last = right
            found.append((match["sign"], Code(match.start(), match.end(), left, right, match["body"])))
        return found

    def parts(self) -> tuple[Part, ...]:
        parts, closing = self.until((), 0, frozenset())
        if closing is not None:
            raise BadTemplate
        return tuple(parts)

    def until(self, words: tuple[str, ...], depth: int, names: frozenset[str]) -> tuple[list[Part], Code | None]:
        """Parts up to a directive that is one of some words, and that; `names` are those of the loops around."""
        if depth > _DEEPEST:
            raise BadTemplate
        parts: list[Part] = []
        while self.at < len(self.codes):
            sign, code = self.codes[self.at]
            self.at += 1
            if code.outer_start > self.offset:
                parts.append(Verbatim(self.offset, code.outer_start))
            self.offset = max(self.offset, code.outer_end)
            word, _, rest = code.text.partition(" ")
            if sign == "=":
                of = _expression(code.text, frozenset())
                parts.append(Action(code, None if of is None else Pipeline("call", "toJson", None, (of,))))
            elif sign == "$":
                parts.append(Action(code, _expression(code.text, names)))
            elif word in words:
                return parts, code
            elif word == "for":
                parts.append(self.loop(code, rest, depth, names))
            elif word == "if":
                parts.append(self.condition(code, rest, depth, names))
            else:
                raise BadTemplate
        if self.offset < len(self.text):
            parts.append(Verbatim(self.offset, len(self.text)))
            self.offset = len(self.text)
        return parts, None

    def loop(self, code: Code, head: str, depth: int, names: frozenset[str]) -> Block:
        match = re.fullmatch(r"([\w-]+)(?:\s*,\s*([\w-]+))?\s+in\s+(.*)", head, re.S)
        if match is None:
            raise BadTemplate
        own = [name for name in match.groups()[:2] if name is not None]
        body, end = self.until(("endfor",), depth + 1, names | set(own))
        if end is None:
            raise BadTemplate
        variables = tuple(f"${name}" for name in own)
        return Block((Branch(code, "range", _expression(match[3], names), variables, tuple(body)),), end)

    def condition(self, code: Code, head: str, depth: int, names: frozenset[str]) -> Block:
        body, closing = self.until(("else", "endif"), depth + 1, names)
        branches = [Branch(code, "if", _expression(head, names), (), tuple(body))]
        if closing is not None and closing.text.startswith("else"):
            other, end = self.until(("endif",), depth + 1, names)
            branches.append(Branch(closing, "else", None, (), tuple(other)))
            closing = end
        if closing is None:
            raise BadTemplate
        return Block(tuple(branches), closing)


def _expression(text: str, names: frozenset[str]) -> Pipeline | None:
    """What an expression says; None where it is of a form that is not read."""
    text = text.strip()
    if re.fullmatch(_NAME, text):
        first, *rest = text.split(".")
        if first in names:
            return Pipeline("field", tuple(rest), f"${first}")
        return Pipeline("field", ("Values", first, *rest), "$")
    call = re.fullmatch(r"(\w+)\((.*)\)", text, re.S)
    if call is not None and call[1] in _FUNCTIONS:
        of = _expression(call[2], names)
        return None if of is None else Pipeline("call", _FUNCTIONS[call[1]], None, (of,))
    joined = re.fullmatch(r'join\(\s*"([^"\\$]*)"\s*,(.*)\)', text, re.S)
    if joined is not None:
        of = _expression(joined[2], names)
        return None if of is None else Pipeline("call", "join", None, (Pipeline("value", joined[1]), of))
    return None
