"""What a run has read of files: a command asks for one file in many places, and each is opened once.

A run is over in a moment, so that what is kept cannot become old. A server lives on, and keeps nothing.
"""

from __future__ import annotations

import os

_MOST = 64 << 20
"""Bytes that are kept; what is read beyond them is opened again where it is asked for again."""

_LARGEST = 4 << 20
"""Bytes of a file that is kept: the tree of a larger one takes what memory a run may have."""


class KeptContents:
    """The contents of files by their absolute paths."""

    def __init__(self) -> None:
        self.is_kept = False
        """Whether a run keeps what it reads."""
        self._contents: dict[str, bytes] | None = None
        self._size = 0
        self._folder = ""

    def begin(self) -> None:
        """Keep what is read from now on."""
        self.is_kept = True
        self._folder = os.path.join(os.getcwd(), "")
        if self._contents is None:
            self._contents = {}

    def end(self) -> None:
        """Forget all, and keep nothing more."""
        self.is_kept = False
        self._contents, self._size = None, 0

    def get(self, path: str) -> bytes | None:
        """Return what was read of a file; None if it must be opened."""
        return self._contents.get(self._find_absolute(path)) if self._contents else None

    def keep(self, path: str, content: bytes) -> None:
        """Keep what was read of a whole file, as long as there is room."""
        if self._contents is not None and len(content) <= _LARGEST and self._size + len(content) <= _MOST:
            self._contents[self._find_absolute(path)] = content
            self._size += len(content)

    def forget(self, path: str) -> None:
        """Forget the content of a file that is written, so that it is read again."""
        if self._contents:
            self._contents.pop(self._find_absolute(path), None)

    def _find_absolute(self, path: str) -> str:
        """Return what `os.path.abspath` does, in a tenth of the time for a plain path: each file is asked for."""
        if os.name == "nt" or not path or path[0] == "." or path[-1] == "/" or "//" in path or "/." in path:
            return os.path.abspath(path)
        return path if path[0] == "/" else f"{self._folder}{path}"


file_contents = KeptContents()
