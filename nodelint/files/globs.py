"""Patterns over paths, as a configuration writes them."""

from __future__ import annotations

import os

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class Globs:
    """Patterns over paths that start at a folder, `root`: that of the file which they are written in.

    `*` stands for anything, slashes too; a folder stands for all that is below it. Standard input is `-`.
    """

    def __init__(self, patterns: Iterable[str], root: str = "") -> None:
        self._patterns = tuple(patterns)
        self._root = root

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def match(self, path: str) -> bool:
        """Whether one of the patterns is about the path."""
        if not self._patterns:
            return False
        if path == "-":
            name = path
        elif self._root or os.path.isabs(path):
            name = os.path.relpath(path, self._root or os.curdir)
        else:
            name = os.path.normpath(path)
        whole = os.path.abspath(path)
        return any(
            _matches((whole if pattern.startswith("/") else name).replace(os.sep, "/"), pattern)
            for pattern in self._patterns
        )


class Excluded(Globs):
    """Patterns over paths that are not read; with `gitignore`, what git ignores in a folder is not read either."""

    def __init__(self, patterns: Iterable[str] = (), root: str = "", *, gitignore: bool = False) -> None:
        super().__init__(patterns, root)
        self.gitignore = gitignore


NOTHING = Globs(())
"""Patterns that match no path."""

READ_ALL = Excluded()
"""Nothing is excluded."""


def _matches(name: str, pattern: str) -> bool:
    pattern = pattern.removeprefix("./").rstrip("/")
    forms = [pattern, f"{pattern}/*"]
    if pattern.startswith("**/"):  # any number of folders, none too
        forms += [form[3:] for form in forms]
    from fnmatch import fnmatchcase  # most runs have no pattern

    return any(fnmatchcase(name, form) for form in forms)
