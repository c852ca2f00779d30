"""Find the files of the repository that match a pattern of a form, such as of `fileset` or a generator."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from nodelint.base.budget import WorkBudget
from nodelint.files.gate import gate
from nodelint.text.limits import note_left_out

_MOST_ENTRIES = 20_000
"""The most entries of folders that are compared with one pattern."""


_MOST_CHOICES = 16


def match_files(folder: str, pattern: str, budget: WorkBudget | None = None) -> list[str] | None:
    """Return the files below a folder that match a pattern, as sorted relative paths. None if they are too many.

    `*` matches characters of a name, `**` any folders, `{a,b}` one of several texts. Each entry of a folder is a step
    of the budget, if there is one. Raise `BudgetSpent`.
    """
    choices = expand_braces(pattern)
    found: set[str] = set()
    left = [_MOST_ENTRIES]
    for choice in choices or ():
        before = left[0]
        found.update(_walk(folder, choice.split("/"), "", left))
        if budget is not None:
            budget.spend(before - left[0])
    if choices is None or left[0] <= 0:
        note_left_out(folder, f"the pattern `{pattern[:60]}` stands for too many files: they are not judged", 0)
        return None
    return sorted(found)


def names_file(pattern: str, path: str) -> bool:
    """Return whether a pattern, which begins with a folder, matches a file."""
    choices = expand_braces(os.path.normpath(pattern)) or ()
    return any(_matches(choice.split("/"), path.split("/")) for choice in choices)


def expand_braces(pattern: str) -> list[str] | None:
    """Return the patterns without braces for a pattern with braces. None if they are too many."""
    made = [""]
    for part in re.split(r"(\{[^{}]*\})", pattern):
        words = part[1:-1].split(",") if part.startswith("{") else [part]
        made = [before + word for before in made for word in words]
        if len(made) > _MOST_CHOICES:
            return None
    return made


def _walk(folder: str, steps: list[str], below: str, left: list[int]) -> Iterator[str]:
    try:
        entries = gate.entries(os.path.join(folder, below))
    except OSError:
        return
    step, rest = steps[0], steps[1:]
    for name, is_folder in entries:
        left[0] -= 1
        if left[0] <= 0:
            return
        path = f"{below}/{name}" if below else name
        if step == "**":
            if is_folder:
                yield from _walk(folder, steps, path, left)
            elif rest and _matches(rest, [name]):
                yield path
        elif fnmatchcase(name, step):
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
