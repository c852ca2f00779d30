"""Cache the contents of files during a run: a command needs a file in many places, and opens it once.

A run takes a short time, so the cache does not become outdated. A server runs for a long time and does not use it.
"""

from __future__ import annotations

import os

_MOST = 64 << 20
"""The most bytes in the cache. Further files are opened each time."""

_LARGEST = 4 << 20
"""The most bytes of a cached file: the tree of a larger file needs the memory itself."""

_FOR_NAME = 100
"""The bytes that count for a name in a cached folder."""


class KeptContents:
    """A cache of the contents of files by their absolute paths, and of the names in folders by their real paths."""

    def __init__(self) -> None:
        self.is_kept = False
        """Whether the cache is in use."""
        self._contents: dict[str, bytes] | None = None
        self._names: dict[str, list[tuple[str, bool]]] = {}
        self.repositories: dict[str, str | None] = {}
        """The repositories around folders. Only a run that caches contents uses it."""
        self._size = 0
        self._folder = ""

    def begin(self) -> None:
        """Start to cache contents."""
        self.is_kept = True
        self._folder = os.path.join(os.getcwd(), "")
        if self._contents is None:
            self._contents = {}

    def end(self) -> None:
        """Clear the cache and stop caching."""
        self.is_kept = False
        self._contents, self._size = None, 0
        self._names.clear()
        self.repositories.clear()

    def get(self, path: str) -> bytes | None:
        """Return the cached content of a file. None if it must be opened."""
        return self._contents.get(self._find_absolute(path)) if self._contents else None

    def keep(self, path: str, content: bytes) -> None:
        """Cache the content of a whole file, as long as there is room."""
        if self._contents is not None and len(content) <= _LARGEST and self._size + len(content) <= _MOST:
            self._contents[self._find_absolute(path)] = content
            self._size += len(content)

    def names_in(self, folder: str) -> list[tuple[str, bool]] | None:
        """Return the cached names in a folder, and for each whether it is a folder. None if it must be listed."""
        return self._names.get(folder)

    def keep_names(self, folder: str, names: list[tuple[str, bool]]) -> None:
        """Cache the names in a folder, as long as there is room."""
        size = _FOR_NAME * (1 + len(names))
        if self._contents is not None and self._size + size <= _MOST:
            self._names[folder] = names
            self._size += size

    def forget(self, path: str) -> None:
        """Remove a file that is written from the cache, so that it is read again, and all names: it may be new."""
        self._names.clear()
        if self._contents:
            self._contents.pop(self._find_absolute(path), None)

    def _find_absolute(self, path: str) -> str:
        """Return the same as `os.path.abspath`, in a tenth of the time for a plain path."""
        if os.name == "nt" or not path or path[0] == "." or path[-1] == "/" or "//" in path or "/." in path:
            return os.path.abspath(path)
        return path if path[0] == "/" else f"{self._folder}{path}"


file_contents = KeptContents()
