"""Find the field at the cursor of an incomplete manifest, from indent and brackets, without parsing the text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from nodelint.base.tuples import NamedTuple
from nodelint.model.gvk import AWS_GROUP, CORE_GROUP, GROUPS

_KEY = re.compile(r"""("[^"\n]*"|'[^'\n]*'|[^\s\-#:,\[\]{}"'&*!|>%@`](?:[^:#\n]*[^:#\s])?)[ \t]*+:(?=[ \t]|$)""")
_LINE = re.compile(r"([^\r\n]*)(\r\n?|\n|$)")
_DASH = re.compile(r"-(?:[ \t]+|$)")
_MARKER = re.compile(r"(?:---|\.\.\.)(?:[ \t]|$)")
_SCALAR = re.compile(r"[|>][-+0-9]*[ \t]*(?:#.*)?$")
_WORD_END = re.compile(r"[\w./@+-]*")
_WORDS = re.compile(r""""([^"\n]*)"|'([^'\n]*)'|([^\s,\[\]{}"'#]+)""")

Place = Literal["key", "value", "open"]


class Spot(NamedTuple):
    """A place in a Karpenter object where text can be written.

    `path` are the keys from the object's root, `-` for an entry of a list; for a value, its key is the last one.
    `place` is `open` if it may become a key or a value. A completion replaces `start` to `end`. `around` is the text
    of the mapping with the last key of the path, without the word at the cursor; `present` are the keys of the
    mapping. `in_hcl`: the object is written in HCL.
    """

    kind: str
    api_version: str
    path: tuple[str, ...]
    place: Place
    start: int
    end: int
    around: str
    present: frozenset[str]
    in_hcl: bool = False

    def beside(self, key: str) -> str | None:
        """Return the scalar of a key in the surrounding mapping; None if there is none."""
        found = re.search(rf"""(?:^|[\s{{,"'-]){key}["']?[ \t]*:[ \t]*["']?([^\s"',}}\]#]+)""", self.around)
        return None if found is None else found[1]

    def listed(self) -> frozenset[str]:
        """Return the words of the surrounding mapping, which include the present entries of a list."""
        return frozenset(word for words in _WORDS.findall(self.around) for word in words if word)


class _Line(NamedTuple):
    """A line with its indent: the columns of its dashes, and its key; the rest begins at `value`."""

    start: int
    text: str
    first: int
    dashes: tuple[int, ...]
    column: int
    key: str | None
    value: int

    @property
    def is_blank(self) -> bool:
        body = self.text.strip(" \t\ufeff")
        return not body or body.startswith("#")


class _Level(NamedTuple):
    """A key (or the dash of an entry) around the cursor: its column and line."""

    name: str
    column: int
    line: int


class _Bracket:
    """An open bracket of a flow collection: its offset, and the key whose value is being written."""

    def __init__(self, mark: str, start: int) -> None:
        self.mark = mark
        self.start = start
        self.key: str | None = None
        self.fields: dict[str, str] = {}


def spot(text: str, offset: int) -> Spot | None:
    """Return the spot at the cursor. None outside of Karpenter objects, and in a comment."""
    return _spot(text, offset, _lines(text, offset))


def _spot(text: str, offset: int, lines: Sequence[_Line]) -> Spot | None:
    current = max(i for i, line in enumerate(lines) if line.start <= offset)
    stack: list[_Level] = []
    number = 0
    while number < current:
        line = lines[number]
        number += 1
        if line.is_blank:
            continue
        _push(stack, line, number - 1)
        value = line.text[line.value :]
        if _SCALAR.match(value):
            column = line.dashes[-1] if line.key is None and line.dashes else line.column
            begin = number
            while number < len(lines) and (lines[number].is_blank or lines[number].first > column):
                number += 1
            if begin <= current < number:
                return _spot(text, offset, lines[begin:number])  # the scalar may hold a manifest of its own
        elif value[:1] in ("[", "{"):
            brackets, end, word = _flow(text, line.start + line.value, offset)
            if brackets and _still_open(lines, line, number, current):
                return _in_flow(text, offset, lines, stack, brackets, word)
            while number < current and lines[number].start < end and not brackets:
                number += 1
    return _on_line(text, offset, lines, stack, current)


def _lines(text: str, offset: int) -> list[_Line]:
    """Return the lines of the document around an offset."""
    found: list[_Line] = []
    at = 0
    while True:
        match = _LINE.match(text, at)
        assert match is not None
        if _MARKER.match(match[1]):
            if at > offset:
                break
            found = []
        found.append(_read(at, match[1]))
        at = match.end()
        if not match[2]:
            break
    return found


def _read(start: int, line: str) -> _Line:
    first = at = len(line) - len(line.lstrip(" \t\ufeff"))
    dashes = []
    while dash := _DASH.match(line, at):
        dashes.append(at)
        at = dash.end()
    key = _KEY.match(line, at)
    if key is None:
        return _Line(start, line, first, tuple(dashes), at, None, at)
    rest = key.end()
    rest += len(line[rest:]) - len(line[rest:].lstrip(" \t"))
    return _Line(start, line, first, tuple(dashes), at, key[1].strip("\"'"), rest)


def _push(stack: list[_Level], line: _Line, number: int) -> None:
    """Update the stack for a line: remove deeper or equal levels, and add the line's dashes and key."""
    for dash in line.dashes:
        while stack and (stack[-1].column > dash or (stack[-1].column == dash and stack[-1].name == "-")):
            stack.pop()
        stack.append(_Level("-", dash, number))
    if line.key is not None:
        _pop(stack, line.column)
        stack.append(_Level(line.key, line.column, number))


def _pop(stack: list[_Level], column: int) -> None:
    while stack and stack[-1].column >= column:
        stack.pop()


def _still_open(lines: Sequence[_Line], opener: _Line, begin: int, current: int) -> bool:
    """Return whether an unclosed bracket reaches to a line: a key with the same or a smaller indent ends it."""
    if opener.key is None:
        return True
    between = [line for line in lines[begin : current + 1] if not line.is_blank]
    return all(line.first > opener.first or line.text.lstrip()[:1] in ("]", "}") for line in between)


def _on_line(text: str, offset: int, lines: Sequence[_Line], stack: list[_Level], current: int) -> Spot | None:
    """Return the spot of a cursor on a line of block style. None if no text can be written there."""
    line = lines[current]
    head = line.text[: offset - line.start]
    if re.search(r"(?:^|\s)#", re.sub(r"\"[^\"]*\"|'[^']*'", "", head)):
        return None
    read = _read(line.start, head)
    if read.key is not None:
        if read.value == len(head) and not head.endswith((" ", "\t")):
            return None  # right behind the colon, from which a value must be parted
        _push(stack, read, current)
        value = head[read.value :]
        if value[:1] in ("[", "{"):
            brackets, _, begin = _flow(text, line.start + read.value, offset)
            return _in_flow(text, offset, lines, stack, brackets, begin) if brackets else None
        return _in_block(text, offset, lines, stack, value, None)
    column = read.column if head.strip(" \t\ufeff") else len(head)
    _push(stack, read, current)
    if not read.dashes:
        _pop_to(stack, column, head[column:])
    word = head[column:]
    if word[:1] in ("[", "{"):
        brackets, _, begin = _flow(text, line.start + column, offset)
        return _in_flow(text, offset, lines, stack, brackets, begin) if brackets else None
    return _in_block(text, offset, lines, stack, word, _Level("", column, current))


def _pop_to(stack: list[_Level], column: int, word: str) -> None:
    """Remove the levels that are deeper than a dash, which may be in the same column as the key of its list."""
    while stack and (stack[-1].column > column or (stack[-1].column == column and word != "-")):
        stack.pop()


def _in_block(
    text: str, offset: int, lines: Sequence[_Line], stack: list[_Level], word: str, here: _Level | None
) -> Spot | None:
    levels = [(index, level) for index, level in enumerate(stack) if level.name != "-"]
    for index, level in [*levels, *([(len(stack), here)] if here is not None else [])]:
        owner = find_owner(_keys_at_level(lines, level))
        if owner is None:
            continue
        start = offset - len(word.lstrip("\"'"))
        end = _end_of_word(text, offset)
        last = levels[-1][1] if levels else None
        around = _less(text, _span(lines, last), start, end) if last is not None else ""
        neighbour = here or last
        present = frozenset(_keys_at_level(lines, neighbour)) if neighbour is not None else frozenset()
        path = tuple(level.name for level in stack[index:])
        return Spot(*owner, path, "open" if here is not None else "value", start, end, around, present)
    return None


def _in_flow(
    text: str, offset: int, lines: Sequence[_Line], stack: list[_Level], brackets: list[_Bracket], word: int
) -> Spot | None:
    owner, path = None, list[str]()
    for index, level in enumerate(stack):
        if level.name != "-" and (owner := find_owner(_keys_at_level(lines, level))) is not None:
            path = [level.name for level in stack[index:]]
            break
    for bracket in brackets:
        if owner is None and bracket.mark == "{":
            owner = find_owner(bracket.fields)
            path = []
        path += ["-"] if bracket.mark == "[" else [bracket.key] if bracket.key is not None else []
    if owner is None:
        return None
    start = word + (text[word : word + 1] in ("'", '"')) if word < offset else word
    if re.search(r"[\r\n]", text[start:offset]):
        return None  # a quote that is open since another line, or a text that goes over several
    end = _end_of_word(text, offset)
    top = brackets[-1]
    holder = next((bracket for bracket in reversed(brackets) if bracket.mark == "{"), None)
    if holder is not None:
        span = (holder.start, max(_closing(text, holder.start), end))
    else:
        span = _span(lines, next(level for level in reversed(stack) if level.name != "-"))
    around = _less(text, span, start, end)
    present = (
        frozenset(re.findall(r"""["']?(?<![\w./-])([\w./-]++)["']?[ \t]*+:(?=\s|$)""", around))
        if holder
        else frozenset()
    )
    place: Place = "key" if top.mark == "{" and top.key is None else "value"
    return Spot(*owner, tuple(path), place, start, end, around, present)


def _flow(text: str, start: int, stop: int) -> tuple[list[_Bracket], int, int]:
    """Return the open brackets of a flow collection at `stop`, the end of the collection (if none is open), and the
    start of the word.
    """
    brackets: list[_Bracket] = []
    at = word = start
    while at < stop:
        char = text[at]
        if char in "[{":
            brackets.append(_Bracket(char, at))
            word = at + 1
        elif char in "]}":
            _field(brackets[-1], text[word:at])
            brackets.pop()
            if not brackets:
                return [], at + 1, at + 1
            word = at + 1
        elif char == ",":
            _field(brackets[-1], text[word:at])
            brackets[-1].key = None
            word = at + 1
        elif char == ":" and brackets[-1].mark == "{" and _ends_key(text, at):
            brackets[-1].key = text[word:at].strip(" \t\r\n\"'")
            word = at + 1
        elif char in "\"'" and not text[word:at].strip():
            word = at
            closed = re.compile(rf"[^{char}\r\n]*{char}").match(text, at + 1, stop)
            at = closed.end() - 1 if closed else at
        elif char == "#" and text[at - 1] in " \t\r\n":
            while at < stop and text[at] not in "\r\n":
                at += 1
            if at == stop:
                return [], stop, stop  # the cursor is in the comment
            word = at
        at += 1
    while word < stop and text[word] in " \t\r\n":
        word += 1
    return brackets, stop, word


def _ends_key(text: str, at: int) -> bool:
    """Return whether the colon at `at` in a flow mapping ends a key.

    A quote must precede it, or a space or the end of the text follow.
    """
    return text[at - 1] in "\"'" or text[at + 1 : at + 2] in ("", " ", "\t", "\r", "\n")


def _field(bracket: _Bracket, value: str) -> None:
    if bracket.key is not None:
        bracket.fields[bracket.key] = value.strip(" \t\r\n\"'")


def _closing(text: str, start: int) -> int:
    """Return the offset after the mapping that begins at a brace; the end of the line if it is not closed soon."""
    depth = 0
    for at in range(start, min(len(text), start + 2000)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if not depth:
            return at + 1
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def _extent(lines: Sequence[_Line], level: _Level) -> tuple[int, int]:
    """Return the first line and the line after the last one of the mapping whose keys are in a level's column."""
    first, last = level.line, level.line + 1
    while first > 0 and not (lines[first].dashes and lines[first].column == level.column):
        above = lines[first - 1]
        if not above.is_blank and above.first < level.column and not (above.dashes and above.column == level.column):
            break
        first -= 1
    while last < len(lines) and (lines[last].is_blank or lines[last].first >= level.column):
        last += 1
    return first, last


def _keys_at_level(lines: Sequence[_Line], level: _Level) -> dict[str, str]:
    """Return the keys of the mapping at a level, each with the rest of its line."""
    found = {}
    for line in lines[slice(*_extent(lines, level))]:
        if line.key is not None and line.column == level.column and not line.is_blank:
            found[line.key] = re.sub(r"(?:^|\s)#.*", "", line.text[line.value :]).strip().strip("\"'")
    return found


def _span(lines: Sequence[_Line], level: _Level) -> tuple[int, int]:
    first, last = _extent(lines, level)
    return lines[first].start, lines[last - 1].start + len(lines[last - 1].text)


def find_owner(named: dict[str, str]) -> tuple[str, str] | None:
    """Return the kind and API version of a mapping with these keys; None if it is no Karpenter object."""
    kind = named.get("kind", "")
    group = GROUPS.get(kind)
    api_version = named.get("apiVersion") or f"{group}/v1"
    if group is None or api_version.partition("/")[0] not in (CORE_GROUP, AWS_GROUP):
        return None
    if "name" in named or "group" in named:  # a reference to an object, which has both deeper down
        return None
    return kind, api_version


def _less(text: str, span: tuple[int, int], start: int, end: int) -> str:
    return f"{text[span[0] : start]} {text[end : span[1]]}"


def _end_of_word(text: str, offset: int) -> int:
    found = _WORD_END.match(text, offset)
    assert found is not None
    return found.end()
