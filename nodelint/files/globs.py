"""Patterns over paths, as a configuration writes them."""

from __future__ import annotations

import os

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class Globs:
    """Patterns over paths that start at a folder, `root`: that of the file which they are written in.

    `*` stands for anything, slashes too; a folder stands for all that is below it. Standard input is `-`. What is at
    or below the first path of `seen_as` is matched as if it were at the second one: so does the old side of a change
    have the settings of the new one.
    """

    def __init__(self, patterns: Iterable[str], root: str = "", seen_as: tuple[str, str] | None = None) -> None:
        self._patterns = tuple(patterns)
        self._root = root
        self._seen_as = seen_as

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def match(self, path: str) -> bool:
        """Whether one of the patterns is about the path."""
        if not self._patterns:
            return False
        path = self.counterpart(path)
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

    def counterpart(self, path: str) -> str:
        """Return the path that another one is seen as; most are seen as themselves."""
        if self._seen_as is None or path == "-":
            return path
        folder, other = self._seen_as
        whole = os.path.abspath(path)
        if whole != folder and not whole.startswith(os.path.join(folder, "")):
            return path
        return os.path.normpath(os.path.join(other, os.path.relpath(whole, folder)))


class Excluded(Globs):
    """Patterns over paths that are not read; with `gitignore`, what git ignores in a folder is not read either."""

    def __init__(
        self,
        patterns: Iterable[str] = (),
        root: str = "",
        seen_as: tuple[str, str] | None = None,
        *,
        gitignore: bool = False,
    ) -> None:
        super().__init__(patterns, root, seen_as)
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
