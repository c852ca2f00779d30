"""Read from the index of a repository which files git tracks: these are read, whatever an ignore pattern says.

An index is read once, and only if something is ignored. Entries of the usual versions contain the whole path, so that
a path is searched in the bytes. Version 4 stores only the part that differs from the previous path. Entries in the
shared file of a split index are not seen. Format: git's `Documentation/gitformat-index.adoc`.
"""

from __future__ import annotations

import os

from nodelint.files import safe_read
from nodelint.files.gate import gate

_LARGEST = 256 << 20
_HEADER = 12
_FIXED = 62
"""The bytes of an entry before its path, in a repository with SHA-1 objects."""
_EXTENDED = 0x4000
_LENGTH = 0xFFF
"""Bits in the flags of an entry: `_EXTENDED` means two more bytes of flags, `_LENGTH` masks the length of the path.
"""


class GitIndex:
    """The git index of the repository at `root`. It is read at first use."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._data: bytes | None = None
        self._paths: list[bytes] = []
        self.entered: set[str] = set()
        """Folders that match an ignore pattern and that contain tracked files."""

    def tracks(self, path: str, *, folder: bool) -> bool:
        """Return whether git tracks a file, or a file in a folder. `path` is relative to the top, with slashes."""
        if self._data is None:
            self._read()
        wanted = os.fsencode(path) + (b"/" if folder else b"")
        if self._paths:
            found = any(path.startswith(wanted) if folder else path == wanted for path in self._paths)
        else:
            found = self._lists(wanted, folder)
        if found and folder:
            self.entered.add(path)
        return found

    def _read(self) -> None:
        try:
            own = _own_folder(self._root) if gate.holds_git_of(self._root) else None
            self._data = safe_read.read_in_place(os.path.join(own, "index"), _LARGEST) if own is not None else b""
        except OSError:
            self._data = b""
        if self._data[:4] == b"DIRC" and self._data[4:8] == b"\0\0\0\4":
            self._paths = _list_compressed(self._data)

    def _lists(self, wanted: bytes, folder: bool) -> bool:
        """Return whether an entry has this path, or for a folder, a path that begins with it.

        The length of the path before the entry confirms the match.
        """
        data = self._data or b""
        at = data.find(wanted, _HEADER)
        while at >= 0:
            end = data.find(b"\0", at)
            length = min(end - at, _LENGTH)
            before = (int.from_bytes(data[at - back : at - back + 2], "big") for back in (2, 4))
            if (folder or end - at == len(wanted)) and any(flags & _LENGTH == length for flags in before):
                return True
            at = data.find(wanted, at + 1)
        return False


def _own_folder(root: str) -> str:
    """Return the folder that contains the index of a work tree."""
    path = os.path.join(root, ".git")
    if os.path.isdir(path):
        return path
    try:
        target = os.fsdecode(safe_read.read(path, _LARGEST)).removeprefix("gitdir:").strip()
    except OSError:
        return path
    return os.path.join(root, target)


def _list_compressed(data: bytes) -> list[bytes]:
    """Return the paths of an index of version 4. If it is broken, return the paths before the fault."""
    found: list[bytes] = []
    at, last = _HEADER, b""
    for _ in range(int.from_bytes(data[8:12], "big")):
        flags = int.from_bytes(data[at + _FIXED - 2 : at + _FIXED], "big")
        at += _FIXED + (2 if flags & _EXTENDED else 0)
        if at >= len(data):
            break
        byte = data[at]
        less = byte & 127
        while byte & 128 and at + 1 < len(data):
            at += 1
            byte = data[at]
            less = ((less + 1) << 7) | (byte & 127)
        end = data.find(b"\0", at + 1)
        if end < 0:
            break
        last = last[: len(last) - less] + data[at + 1 : end]
        found.append(last)
        at = end + 1
    return found
