"""Find the field at the cursor of an incomplete object in HCL, from its brackets, without parsing the text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.lsp.outline import Place, Spot, find_owner, spot

ENDINGS = (".tf", ".tofu", ".hcl", ".tfvars")
"""Endings of the names of files in HCL."""

_TOP = re.compile(r"(?m)^[A-Za-z_]")
_TOKEN = re.compile(
    r"""(?P<text>"(?:[^"\\$\n]|\\.|\$(?!\{)|\$\{[^{}\n]*\})*"?)"""
    r"""|(?P<heredoc><<-?(?P<end>[A-Za-z_]\w*)[ \t]*\r?\n)"""
    r"""|(?P<comment>(?:\#|//)[^\n]*|/\*.*?(?:\*/|\Z))"""
    r"""|==|!=|<=|>=|=>|(?P<sign>[\[\](){}=:,\n])|[^"#/<=!>\[\](){}:,\n]+|.""",
    re.DOTALL,
)
_COMMENT = re.compile(r"(?m)(?:^|\s)(?:#|//).*$")
_WORD = re.compile(r"[\w./@+*-]*")
_LONGEST = 200_000
"""The most characters of a block that are read."""


class _Bracket:
    """An open bracket: its kind, the key whose value is being written and its start, and the values of the keys."""

    def __init__(self, mark: str) -> None:
        self.mark = mark
        self.key: str | None = None
        self.value_start = 0
        self.fields: dict[str, str] = {}


class _Cursor(NamedTuple):
    """The open brackets at the cursor, each with its key, and the start of the word at the cursor."""

    brackets: Sequence[tuple[_Bracket, str | None]]
    word: int


def find_spot(path: str, text: str, offset: int) -> Spot | None:
    """Return the spot at the cursor, in an object of YAML or, in a file of Terraform, of HCL."""
    in_hcl = find_hcl_spot(text, offset) if path.endswith(ENDINGS) else None
    return in_hcl if in_hcl is not None else spot(text, offset)


def find_hcl_spot(text: str, offset: int) -> Spot | None:
    """Return the spot at the cursor. None outside of Karpenter objects, in a comment and in a heredoc."""
    begin = max((match.start() for match in _TOP.finditer(text, 0, offset)), default=0)
    end = _WORD.match(text, offset)
    assert end is not None
    cursor = _Reader(text, offset, end.end()).read(begin) if offset - begin <= _LONGEST else None
    return _make_spot(text, offset, end.end(), cursor) if cursor is not None else None


class _Reader:
    """Reads the brackets of a block up to the end of the objects around the cursor."""

    def __init__(self, text: str, offset: int, word_end: int) -> None:
        self._text = text
        self._offset = offset
        self._word_end = word_end
        self._word_start = offset
        self._brackets: list[_Bracket] = []
        self._word = 0

    def read(self, begin: int) -> _Cursor | None:
        """Return the cursor, whose brackets also have the values after it. None in a comment or a heredoc."""
        self._word, at, cursor = begin, begin, None
        while at < min(len(self._text), begin + _LONGEST):
            if cursor is None and at >= self._offset:
                cursor = self._note_cursor()
            if cursor is not None and not self._brackets:
                break
            match = _TOKEN.match(self._text, at)
            assert match is not None
            at = self._pass_heredoc(match) if match["heredoc"] is not None else match.end()
            if cursor is None and self._offset <= at and (match["comment"] or match["heredoc"]) is not None:
                return None
            if cursor is None and self._offset < at:
                cursor = self._note_cursor()
            if match["comment"] is not None and not self._text[self._word : match.start()].strip():
                self._word = at
            elif match["sign"] is not None:
                self._take_sign(match["sign"], match.start())
        return cursor if cursor is not None else self._note_cursor()

    def _note_cursor(self) -> _Cursor:
        word = self._word
        while word < self._offset and self._text[word].isspace():
            word += 1
        self._word_start = word
        return _Cursor([(bracket, bracket.key) for bracket in self._brackets], word)

    def _pass_heredoc(self, match: re.Match[str]) -> int:
        """Return the end of a heredoc."""
        last = re.compile(rf"(?m)^[ \t]*{match['end']}[ \t\r]*$").search(self._text, match.end())
        return last.end() if last is not None else len(self._text)

    def _take_sign(self, sign: str, at: int) -> None:
        """Open or close a bracket, or begin or end a value."""
        top = self._brackets[-1] if self._brackets else None
        if sign in "[({":
            self._brackets.append(_Bracket(sign))
        elif sign in "])}":
            self._end_value(at)
            if top is not None:
                self._brackets.pop()
        elif top is None or (sign == "\n" and top.mark != "{"):
            return
        elif sign in ",\n":
            self._end_value(at)
        elif top.mark == "{" and top.key is None:
            top.key, top.value_start = self._text[self._word : at].strip(' \t\r\n"'), at + 1
        else:
            return
        self._word = at + 1

    def _end_value(self, at: int) -> None:
        """Record the value that ends at `at`, without the word at the cursor."""
        top = self._brackets[-1] if self._brackets else None
        if top is None or top.key is None:
            return
        value = self._text[top.value_start : at]
        if top.value_start <= self._word_start and self._word_end <= at:
            value = f"{self._text[top.value_start : self._word_start]} {self._text[self._word_end : at]}"
        top.fields[top.key] = _COMMENT.sub("", value).strip()
        top.key = None


def _make_spot(text: str, offset: int, end: int, cursor: _Cursor) -> Spot | None:
    """Return the spot of a cursor. None if no Karpenter object is around it."""
    owner, path = None, list[str]()
    for bracket, key in cursor.brackets:
        if owner is None and bracket.mark == "{":
            owner = find_owner({name: value.strip('"') for name, value in bracket.fields.items()})
            path = []
        path += ["-"] if bracket.mark == "[" else [key] if key is not None else []
    start = cursor.word + (text[cursor.word : cursor.word + 1] == '"' and cursor.word < offset)
    if owner is None or cursor.brackets[-1][0].mark == "(" or "\n" in text[start:offset]:
        return None
    top, key = cursor.brackets[-1]
    holder = next((bracket for bracket, _ in reversed(cursor.brackets) if bracket.mark == "{"), top)
    around = "\n".join(f"{name}: {value}" for name, value in holder.fields.items())
    place: Place = "key" if top.mark == "{" and key is None else "value"
    return Spot(*owner, tuple(path), place, start, end, around, frozenset(holder.fields), in_hcl=True)
