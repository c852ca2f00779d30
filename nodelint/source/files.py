"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress

_TEMPORARY = re.compile(r"\.nodelint-[0-9a-f]{16}\.tmp")
_STALE = 3600
"""Seconds after which a temporary is one that a killed run has left."""


def replace(path: str, data: bytes) -> None:
    """Put a file's new content in place at once: whoever looks sees the old or the new one, never a part.

    A link stays a link, an old file keeps its permissions, a new one has those of the umask. Raises
    OSError; the file is then as it was, or not there as before.
    """
    real = os.path.realpath(path)
    mode = _mode(real)
    temporary = os.path.join(os.path.dirname(real), f".nodelint-{os.urandom(8).hex()}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    # What replaces a private file is private from its first byte on.
    handle = os.open(temporary, flags, 0o666 if mode is None else 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(temporary, mode)
        os.replace(temporary, real)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    # The new name outlasts a loss of power too; a file system that knows no such thing has the file all the same.
    with suppress(OSError):
        folder = os.open(os.path.dirname(real), os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def sweep(folder: str) -> None:
    """Remove the temporaries that killed runs have left in a folder, an hour old or more by its own clock."""
    with suppress(OSError):
        with os.scandir(folder) as listing:
            found = [entry for entry in listing if _TEMPORARY.fullmatch(entry.name)]
        if found:
            now = _clock(folder)
            for entry in found:
                about = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(about.st_mode) and now - about.st_mtime > _STALE:
                    os.unlink(entry.path)


def _clock(folder: str) -> float:
    """The file system's time, by a file that is made now: that of a network share may be another than ours."""
    path = os.path.join(folder, f".nodelint-{os.urandom(8).hex()}.tmp")
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        return os.fstat(handle).st_mtime
    finally:
        os.close(handle)
        os.unlink(path)


def _mode(path: str) -> int | None:
    """The permissions of the file that will be replaced; None where there is none."""
    try:
        about = os.stat(path)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(about.st_mode):
        raise OSError(22, "not a regular file")
    if not os.access(path, os.W_OK):
        raise PermissionError(13, "permission denied")
    return stat.S_IMODE(about.st_mode)
