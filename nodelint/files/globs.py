"""Match paths with the patterns of a configuration."""

from __future__ import annotations

import os

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class Globs:
    """Patterns for paths relative to the folder `root`, in which the configuration file is.

    `*` matches anything, slashes as well. A folder matches everything below it. Standard input is `-`. Paths at or
    below the first path of `seen_as` are matched as if they were at the second: so the old side of a change has the
    settings of the new one.
    """

    def __init__(self, patterns: Iterable[str], root: str = "", seen_as: tuple[str, str] | None = None) -> None:
        self._patterns = tuple(patterns)
        self._root = root
        self._seen_as = seen_as

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def match(self, path: str) -> bool:
        """Return whether one of the patterns matches the path."""
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
        """Return the path with which a path is matched (see `seen_as`); most paths are unchanged."""
        if self._seen_as is None or path == "-":
            return path
        folder, other = self._seen_as
        whole = os.path.abspath(path)
        if whole != folder and not whole.startswith(os.path.join(folder, "")):
            return path
        return os.path.normpath(os.path.join(other, os.path.relpath(whole, folder)))


class Excluded(Globs):
    """Patterns of paths that are not read. With `gitignore`, files that git ignores are not read either."""

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
        self.key = (self._patterns, root, seen_as, gitignore)
        """What is equal for two that exclude the same paths."""


NOTHING = Globs(())
"""Patterns that match no path."""

READ_ALL = Excluded()
"""Excludes nothing."""


def _matches(name: str, pattern: str) -> bool:
    pattern = pattern.removeprefix("./").rstrip("/")
    forms = [pattern, f"{pattern}/*"]
    if pattern.startswith("**/"):  # any number of folders, also none
        forms += [form[3:] for form in forms]
    from fnmatch import fnmatchcase  # most runs have no pattern

    return any(fnmatchcase(name, form) for form in forms)
