"""Read files that a repository names: only regular files of limited size inside the repository.

A pull request decides what a configuration contains and where links lead. The commands and the language server read
each file that is not a manifest with `read`.
"""

from __future__ import annotations

import errno
import os
import stat

from nodelint.base.types import TYPE_CHECKING
from nodelint.files.kept_contents import file_contents

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LARGEST = 32 << 20
"""The most bytes of a file: more than a baseline, a snapshot or the CRDs of a cluster need."""


_edited: Mapping[str, str] = {}


def stand_in(texts: Mapping[str, str]) -> None:
    """Use these texts in place of files, by absolute path: they are open in an editor."""
    global _edited
    _edited = texts


def edited_text(path: str) -> bytes | None:
    """Return the text of a file that is open in an editor. None if it is not open."""
    text = _edited.get(os.path.abspath(path)) if _edited else None
    return None if text is None else text.encode(errors="replace")


def read(path: str, largest: int = LARGEST, within: str | None = None) -> bytes:
    """Return the content of a regular file of at most `largest` bytes.

    `within` is the folder in which the file must be when all links are followed; None allows any place. Raise OSError
    with the reason in `strerror`. Pipes and devices are not opened, so that nothing blocks.
    """
    if (text := edited_text(path)) is not None:
        return text
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise explain_kind(path)
        if within is not None and not is_inside(path, within):
            raise OSError(errno.EPERM, f"a link out of {os.path.abspath(within)}", path)
        # The file may become a pipe after the check: without O_NONBLOCK, opening it would wait for a writer.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except ValueError:
        raise OSError(errno.EINVAL, "no file name holds a null character or half of a surrogate pair") from None
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise explain_kind(path)
        data = file.read(largest + 1)
    if len(data) > largest:
        raise OSError(errno.EFBIG, f"larger than {largest >> 20} MiB", path)
    return data


def read_in_place(path: str, largest: int = LARGEST) -> bytes:
    """Return the content of a file that is not a link. It is much faster than `read`, for folders with many files.

    A folder above it may be a link. Raise OSError as `read` does, and for a link.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    if not hasattr(os, "O_NOFOLLOW") and os.path.islink(path):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
    handle = os.open(path, flags)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise explain_kind(path)
        chunks, size = [], 0
        while size <= largest and (chunk := os.read(handle, 1 << 16)):
            chunks.append(chunk)
            size += len(chunk)
    finally:
        os.close(handle)
    if size > largest:
        raise OSError(errno.EFBIG, f"larger than {largest >> 20} MiB", path)
    return b"".join(chunks)


def is_below(path: str, folder: str) -> bool:
    """Return whether a path is a folder or is below it. Only the two paths are compared (see `is_inside`)."""
    return path == folder or path.startswith(os.path.join(folder, ""))


def is_inside(path: str, folder: str) -> bool:
    """Return whether a path is in a folder when all links are followed."""
    folder = os.path.realpath(folder)
    try:
        return os.path.commonpath([os.path.realpath(path), folder]) == folder
    except ValueError:  # two drives of Windows
        return False


def repository(folder: str) -> str | None:
    """Return the nearest folder upwards that contains `.git`. None if there is none."""
    if not file_contents.is_kept:
        return _find_repository(folder)
    if folder not in file_contents.repositories:
        file_contents.repositories[folder] = _find_repository(folder)
    return file_contents.repositories[folder]


def _find_repository(folder: str) -> str | None:
    while True:
        if os.path.exists(os.path.join(folder, ".git")):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


_tops: frozenset[str] = frozenset()
_requested: frozenset[str] = frozenset()


def count_as_repositories(folders: Iterable[str]) -> None:
    """Treat these folders outside of git, and no others, as tops of repositories for `find_top`."""
    global _tops
    _tops = frozenset(map(os.path.abspath, folders))


def count_requested(paths: Iterable[str]) -> None:
    """Treat the folders among the paths of a run, and no others, as tops for `find_top` where there is no git."""
    global _requested
    _requested = frozenset(os.path.abspath(path) for path in paths if path != "-" and os.path.isdir(path))


def find_top(folder: str, requested: bool = True) -> str | None:
    """Return the top of the repository around an absolute folder, or the folder that counts as its top.

    None if there is neither. Paths of Argo CD, Flux and Terragrunt are relative to the top. Without `requested`, a
    requested folder does not count as one.
    """
    found = repository(folder)
    tops = _tops or (_requested if requested else _tops)
    if found is not None or not tops:
        return found
    while folder not in tops:
        if folder == (folder := os.path.dirname(folder)):
            return None
    return folder


def error_reason(error: OSError | ValueError) -> str:
    """Return the reason of an error, as the end of a sentence. Text that is not the system's own is unchanged."""
    if isinstance(error, IsADirectoryError):
        return "is a folder: name a file"
    reason = getattr(error, "strerror", None)
    return reason[:1].lower() + reason[1:] if reason else str(error)


def write_error_reason(path: str, error: OSError) -> str:
    """Return why a file could not be written, as the end of a sentence."""
    folder = os.path.dirname(path)
    if os.path.isdir(path):
        return "is a folder: name a file"
    return f"the folder {folder} does not exist" if folder and not os.path.isdir(folder) else error_reason(error)


def explain_kind(path: str) -> OSError:
    """Return the error for a path that is not a regular file: a folder or a device."""
    if os.path.isdir(path):
        return IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    return OSError(errno.EINVAL, "not a regular file", path)
