"""Find the values that a script, a Makefile or a workflow sets itself, and the lines on which a command depends."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

VARIABLE = re.compile(
    r"\$\{\{\s*+(?:[\w-]++\.)*+([A-Za-z_][\w-]*+)\s*+\}\}"
    r"|\$\{(?:inputs:)?([A-Za-z_]\w*+)(?:\[[@*\w]*+\])?(?::?[-=?+][^{}]*+)?\}"
    r"|\$\((?:\w++\.)*+([A-Za-z_]\w*+)\)|\$([A-Za-z_]\w*+)"
    r"|\{\{-?\s*+\.?([A-Za-z_]\w*+)[^{}]*+\}\}|(?<![{$])\{([A-Za-z_]\w*+)\}"
)
"""A variable of a shell, make, a pipeline, a template or a Python string. One of the groups is its name."""
_DEFAULT = re.compile(r"\$\{\w+:?[-=]([^{}]*)\}")
_LOOP = r"\bfor[ \t]+{name}[ \t]+in[ \t]+([^;\n]*)"
_PLAIN = re.compile(r"[\w./-]+")
_MOST_VALUES = 100
"""The most paths that a word may be. If it may be more, it is not known."""
_DEEPEST = 5
"""The most variables that refer to each other. A longer chain is not known."""
_OWN_FOLDER = re.compile(r"\A(?:\$\{\{[^{}]*\}\}|\$\([^()]*(?:\([^()]*\)[^()]*)*\)|\$[({][^(){}]*[)}]|\$\w+)(?=/)")
"""Code before the first slash of a path: the folder of the script, or a checkout."""


def expand_path(word: str, text: str) -> list[str]:
    """Return the paths that a word of a command may be, if the text sets its variables to plain values.

    Code before the first slash is dropped, because it is the folder of the script or the checkout. Variables without
    a value in the text stay as they are.
    """
    pending, done = [(word.strip("\"'"), 0)], list[str]()
    while pending:
        if len(pending) + len(done) > _MOST_VALUES:
            return [word]
        path, depth = pending.pop(0)
        found = VARIABLE.search(path) if depth < _DEEPEST else None
        values = find_values(_name_of(found), text) if found is not None else []
        if found is not None and values:
            pending += [(f"{path[: found.start()]}{value}{path[found.end() :]}", depth + 1) for value in values]
        else:
            done.append(_OWN_FOLDER.sub(".", path))
    return list(dict.fromkeys(done))


def find_values(name: str, text: str) -> list[str]:
    """Return the values that a text gives a variable: by assignments, a default, or a loop over words."""
    values: list[str] = []
    for found in _assignment_of(name).finditer(text):
        value = found[1].strip().rstrip(",;").strip()
        default = _DEFAULT.fullmatch(value.strip("\"'"))
        values.append(default[1] if default is not None else _unquote(value))
    for found in re.finditer(_LOOP.format(name=re.escape(name)), text):
        values += [word for word in found[1].split() if _PLAIN.fullmatch(word)]
    return list(dict.fromkeys(value for value in values if value))


def _unquote(value: str) -> str:
    """Return a value without the quotes around it and a comment after it."""
    quoted = re.match(r"""\A(["'])((?:\$\((?:[^()]++|\([^()]*+\))*+\)|(?!\1).)*+)\1""", value)
    return quoted[2] if quoted is not None else re.sub(r"\s#.*", "", value).strip()


def _assignment_of(name: str) -> re.Pattern[str]:
    """Return a pattern for a place that sets a variable; group 1 is the rest of its line."""
    word = rf"[\"']?{re.escape(name)}[\"']?"
    return re.compile(rf"(?<![\w$./-])(?<!\$\{{){word}\]?[ \t]*(?::=|\?=|\+=|=(?!=)|:(?!/))([^\n]*)")


def list_names(text: str) -> set[str]:
    """Return the names of the variables in a command or a line."""
    return {_name_of(found) for found in VARIABLE.finditer(text)}


def _name_of(found: re.Match[str]) -> str:
    return next(name for name in found.groups() if name)


def list_setting_lines(text: str, names: Collection[str]) -> Iterator[tuple[str, int, int]]:
    """Yield the lines that set one of some variables, or a variable on which it depends: the name, start and end.

    The lines that belong to a value, because they are deeper, are part of it.
    """
    known, new = set(names), sorted(names)
    while new:
        found = [place for name in new for place in _find_lines(text, name)]
        yield from found
        used = {name for _, start, end in found for name in list_names(text[start:end])}
        new = sorted(used - known)
        known |= used


def _find_lines(text: str, name: str) -> Iterator[tuple[str, int, int]]:
    word = re.escape(name)
    sets = (
        rf"{_assignment_of(name).pattern}|{_LOOP.format(name=word)}|\bread\b[^\n]*\b{word}\b"
        rf"|\b(?:name|ParameterKey)[\"']?[ \t]*[:=][ \t]*[\"']?{word}\b[^\n]*"
        r"(?:\n[ \t]*[\"']?(?:value|default|ParameterValue)[\"']?[ \t]*:[^\n]*)?"
    )
    at = 0
    for found in re.finditer(sets, text):
        start = text.rfind("\n", 0, found.start()) + 1
        if start < at or text[start : found.start()].lstrip().startswith(("#", "//")):
            continue
        end = text.find("\n", found.end())
        at = end = _find_end(text, start, len(text) if end < 0 else end)
        yield name, start, end


def _find_end(text: str, start: int, end: int) -> int:
    """Return the end of the lines that belong to a line: those that are deeper, if the line has no value itself."""
    line = text[start:end].rstrip()
    if not line.endswith((":", "|", ">", "-", "(", "[", "{", "\\", ",")):
        return end
    indent = len(line) - len(line.lstrip())
    while end < len(text):
        stop = text.find("\n", end + 1)
        stop = len(text) if stop < 0 else stop
        following = text[end + 1 : stop]
        if following.strip() and len(following) - len(following.lstrip()) <= indent and not line.endswith("\\"):
            return end
        line, end = following.rstrip() if line.endswith("\\") else line, stop
    return end
