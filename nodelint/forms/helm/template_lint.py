"""Find mistakes in the conditions and loops of a template that do not depend on its values."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nodelint.base.tuples import NamedTuple
from nodelint.forms.lib.gotemplate.syntax import Action, BadTemplate, Block, Branch, Part, Pipeline, Verbatim, parse


class Guarded(NamedTuple):
    """The only field inside a condition.

    - `key`: the field of the object.
    - `asked`, `printed`: the values that the condition tests, and that are printed.
    - `condition`, `value`: the characters of the template with these values.
    - `alike`: whether both values have the same last name.
    - `used`: whether the tested value is also printed elsewhere, alone and under its own name.
    """

    key: str
    asked: str
    printed: str
    condition: tuple[int, int]
    value: tuple[int, int]
    alike: bool
    used: bool


def guarded(text: str) -> list[Guarded]:
    """Return the fields of a template that are the only content of a condition on a value."""
    try:
        parts = parse(text)
    except BadTemplate:
        return []
    blocks = list(_blocks(parts))
    bodies = [parts, *(branch.body for block in blocks for branch in block.branches)]
    names = {(key, value) for body in bodies for key, value, _ in _own(body, text)}
    found = []
    for block in blocks:
        branch = block.branches[0]
        if len(block.branches) > 1 or branch.word != "if" or branch.expression is None:
            continue
        guard = _path(branch.expression) if branch.expression.kind == "field" else None
        given = [use for use in _own(branch.body, text) if use[1] is not None]
        inside = re.findall(_KEY, text[branch.code.end : block.end.start])
        if guard is None or len(given) != 1 or len(inside) != 1:
            continue
        key, value, at = given[0]
        if value is not None:
            alike = value[:-1] == guard[:-1] and key == value[-1]
            used = (guard[-1], guard) in names
            place = _place(text, branch, guard)
            found.append(Guarded(key, _path_text(guard), _path_text(value), place, at, alike, used))
    return found


def repeated(text: str) -> list[tuple[int, int, tuple[int, int]]]:
    """Return the keys that a loop writes again in each iteration: start, end, and the range of the loop's code."""
    try:
        blocks = list(_blocks(parse(text)))
    except BadTemplate:
        return []
    found = []
    for block in blocks:
        branch = block.branches[0]
        if branch.word == "range":
            code = branch.code
            found += [(start, end, (code.start, code.end)) for start, end in _outermost(branch, text)]
    return found


def running_together(text: str) -> list[tuple[int, int, tuple[int, int]]]:
    """Return the `apiVersion` of documents that a loop writes without `---` in between: start, end, loop's range."""
    try:
        loops = [block for block in _blocks(parse(text)) if block.branches[0].word == "range"]
    except BadTemplate:
        return []
    found = []
    for block in loops:
        code = block.branches[0].code
        body = text[code.end : block.end.start]
        key = re.search(r"(?m)^apiVersion(?=:)", body)
        parts = re.split(r"(?m)^---", re.sub(r"(?s)\{\{.*?(?:\}\}|\Z)", "", body))
        # code that prints the line, or includes a text with it, may be anywhere
        unclear = re.search(r"\{\{[^{}]*(?:---|\b(?:include|template|tpl)\b)", body) or len(block.branches) > 1
        if key is not None and not unclear and all(re.search(r"(?m)^\w+:", part) for part in (parts[0], parts[-1])):
            found.append((code.end + key.start(), code.end + key.end(), (code.start, code.end)))
    return found


def _outermost(branch: Branch, text: str) -> list[tuple[int, int]]:
    """Return the ranges of the outermost keys in the body of a loop. Empty if other lines are at the same indent."""
    lines: list[re.Match[str]] = []
    for part in branch.body:
        if isinstance(part, Verbatim):
            begin = text.rfind("\n", 0, part.start) + 1
            alone = part.start if text[begin : part.start].strip() else begin
            lines += re.compile(_LINE).finditer(text, alone, part.end)
    least = min((len(line[1]) for line in lines), default=0)
    outer = [line for line in lines if len(line[1]) == least]
    if outer and not outer[0][2].startswith("-"):  # the items of a list may have the indent of its key
        outer = [line for line in outer if not line[2].startswith("- ")]
    keys = [re.compile(r"[A-Za-z][\w./-]*(?=:(?:\s|$))").match(text, line.start(2)) for line in outer]
    if not keys or any(key is None or key[0] == "apiVersion" for key in keys):
        return []
    return [key.span() for key in keys if key is not None]


_LINE = r"(?m)^([ \t]*)([^\s#{][^\n]*)"
_KEY = r"(?m)^[ \t]*(?:- )?([A-Za-z][\w./-]*):"
_Path = tuple[str, ...]


def _blocks(parts: tuple[Part, ...]) -> Iterator[Block]:
    for part in parts:
        if isinstance(part, Block):
            yield part
            for branch in part.branches:
                yield from _blocks(branch.body)


def _own(parts: tuple[Part, ...], text: str) -> Iterator[tuple[str, _Path | None, tuple[int, int]]]:
    """Yield the keys whose values are printed by code: the key, the printed field, and the range of the code."""
    for part in parts:
        if isinstance(part, Action) and part.variable is None:
            line = text[text.rfind("\n", 0, part.code.start) + 1 : part.code.start]
            above = text[: part.code.outer_start] if not line.strip() else line
            key = re.search(r"(?<![\w./-])([A-Za-z][\w./-]*+):[ \t]*+[\"']?$", above[-200:])
            if key is not None:
                yield key[1], _path(part.expression), (part.code.start, part.code.end)


def _path(expression: Pipeline | None) -> _Path | None:
    """Return the only field that a pipeline uses, from `.` or a variable on. None if it uses others as well."""
    if expression is None or expression.kind == "value":
        return None
    if expression.kind == "call":
        fields = [path for arg in expression.args if (path := _path(arg)) is not None]
        return fields[0] if len(fields) == 1 and expression.value not in ("default", "include", "tpl") else None
    names = expression.value
    assert isinstance(names, tuple)
    return (expression.of, *names) if isinstance(expression.of, str) and names else None


def _path_text(path: _Path) -> str:
    return ".".join(["" if path[0] == "." else path[0], *path[1:]])


def _place(text: str, branch: Branch, path: _Path) -> tuple[int, int]:
    written = _path_text(path)
    start = text.index(written, branch.code.start)
    return start, start + len(written)
