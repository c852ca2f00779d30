"""Files that Terraform names by a pattern: `fileset`, and documents of a provider."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

_MOST_ENTRIES = 5000
"""Entries of folders that one pattern is held against."""
_MOST_CHOICES = 16


def match_files(folder: str, pattern: str) -> list[str] | None:
    """The files below a folder that match a pattern, as their paths from it, in order; None where they are too many.

    `*` stands for characters of a name, `**` for any folders, `{a,b}` for one of several texts.
    """
    choices = _expand(pattern)
    found: set[str] = set()
    left = [_MOST_ENTRIES]
    for choice in choices or ():
        found.update(_walk(folder, choice.split("/"), "", left))
    return sorted(found) if choices is not None and left[0] > 0 else None


def names_file(pattern: str, path: str) -> bool:
    """Whether a pattern, which begins with a folder, stands for a file."""
    choices = _expand(os.path.normpath(pattern)) or ()
    return any(_matches(choice.split("/"), path.split("/")) for choice in choices)


def may_name(text: str, name: str) -> bool:
    """Whether a text of Terraform may fill in a file of a name, or one of a pattern."""
    return ("templat" in text and (name in text or "fileset" in text)) or "kubectl_path_documents" in text


def _expand(pattern: str) -> list[str] | None:
    """A pattern without braces; None where it comes to too many."""
    made = [""]
    for part in re.split(r"(\{[^{}]*\})", pattern):
        words = part[1:-1].split(",") if part.startswith("{") else [part]
        made = [before + word for before in made for word in words]
        if len(made) > _MOST_CHOICES:
            return None
    return made


def _walk(folder: str, steps: list[str], below: str, left: list[int]) -> Iterator[str]:
    try:
        entries = sorted(os.scandir(os.path.join(folder, below)), key=lambda entry: entry.name)
    except OSError:
        return
    step, rest = steps[0], steps[1:]
    for entry in entries:
        left[0] -= 1
        if left[0] <= 0:
            return
        path = f"{below}/{entry.name}" if below else entry.name
        is_folder = entry.is_dir(follow_symlinks=False)
        if step == "**":
            if is_folder:
                yield from _walk(folder, steps, path, left)
            elif rest and _matches(rest, [entry.name]):
                yield path
        elif fnmatchcase(entry.name, step):
            if rest and is_folder:
                yield from _walk(folder, rest, path, left)
            elif not rest and not is_folder:
                yield path
    if step == "**" and len(rest) > 1:
        yield from _walk(folder, rest, below, left)


def _matches(steps: list[str], names: list[str]) -> bool:
    if not steps:
        return not names
    if steps[0] == "**":
        return any(_matches(steps[1:], names[n:]) for n in range(len(names) + 1))
    return bool(names) and fnmatchcase(names[0], steps[0]) and _matches(steps[1:], names[1:])
