"""Write a file completely or not at all, and never through a link that leads out of the repository."""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache

from nodelint.base.tuples import NamedTuple
from nodelint.files.kept_contents import file_contents
from nodelint.files.safe_read import error_reason, is_inside, repository

_TEMPORARY = re.compile(r"\.nodelint-[0-9a-f]{16}\.tmp")
_STALE = 3600
"""The age in seconds of a temporary file that a killed run must have left."""

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
_CHANGED = "changed since it was read; run nodelint again"
_OF_THE_CONTENT = frozenset({"security.evm", "security.ima"})
"""Extended attributes that the system computes from a file's content.

With those of the old content, the new file would be unreadable.
"""


def place(path: str) -> str:
    """Return the file to which a path leads when all links are followed.

    Raise PermissionError if a link of the path leads out of its repository or into its `.git`: otherwise the author
    of the repository could choose the file. Outside of a repository, a link must stay in the working folder, or in
    its own folder. Links above both, such as `/tmp` on macOS, may lead anywhere.
    """
    real, link = os.path.realpath(path), os.path.abspath(path)
    last = True
    while link != os.path.dirname(link):
        if os.path.islink(link):
            top = _top(os.path.dirname(link), last)
            if top is not None and (not is_inside(real, top) or is_inside(real, os.path.join(top, ".git"))):
                raise PermissionError(errno.EPERM, f"{link} is a link that leads out of {top}")
        link, last = os.path.dirname(link), False
    return real


def _top(folder: str, last: bool) -> str | None:
    """Return the folder that symlinks must stay inside: the repository, else the working directory.

    `last`: the link is the last part of the path. None if there is no such folder.
    """
    here = os.getcwd()
    return repository(folder) or (here if is_inside(folder, here) else folder if last else None)


def replace(path: str, data: bytes, before: bytes | None = None) -> None:
    """Replace a file's content in one step: readers see the old or the new content, never a part.

    A link stays a link. A new file has the permissions of the umask. An existing file keeps its permissions, and if
    possible its owner, group, ACL and extended attributes.

    `before` is the content when the file was read. The file is not changed if it was changed or removed since then,
    if its owner, group or attributes cannot be kept, or if it has several hard links (the other names would keep the
    old content).

    Raise OSError with the reason in `strerror`. The file is then as before.
    """
    real = place(path)
    file_contents.forget(path)
    file_contents.forget(real)
    _sweep_once(os.path.dirname(real))
    old = Old.read(real)
    if before is not None:
        if old is None:
            raise FileNotFoundError(errno.ENOENT, "removed since it was read", path)
        if old.content == data:
            return  # the content was already written under another name of the file
        old.hold_to(before)
    temporary = os.path.join(os.path.dirname(real), f".nodelint-{os.urandom(8).hex()}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    # The file that replaces a private file is private from its first byte.
    handle = os.open(temporary, flags, 0o666 if old is None else 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            if old is not None:
                old.pass_on(handle, strict=before is not None)
            os.fsync(handle)
        if old is None or before is None:
            os.replace(temporary, real)
        else:
            _replace_unchanged(temporary, real, old)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    # The new name also survives a power failure. On a file system without that feature, the file is still written.
    with suppress(OSError):
        folder = os.open(os.path.dirname(real), os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _replace_unchanged(temporary: str, real: str, old: Old) -> None:
    """Replace a file with a temporary one, unless the file was changed or removed meanwhile. Then raise OSError.

    The two names are exchanged first, and the old file is compared afterwards: it could change between a comparison
    and a replacement.
    """
    ours = _identity(temporary)
    if not exchange(temporary, real):
        # The next best way: compare as late as possible.
        if Old.read(real) != old:
            raise OSError(errno.EBUSY, _CHANGED)
        os.replace(temporary, real)
        return
    if Old.read(temporary) == old:
        os.unlink(temporary)
        return
    # Put the changed file back. If it was saved again meanwhile, the exchange returns the newest content, which is
    # put back instead.
    there = ours
    while True:
        back = _identity(temporary)
        exchange(temporary, real)
        if _identity(temporary) == there:
            break
        there = back
    raise OSError(errno.EBUSY, _CHANGED)


def exchange(path: str, other: str) -> bool:
    """Exchange the names of two files in one step. False if the system cannot. Raise OSError if one does not exist.

    It uses renameat2(2) with RENAME_EXCHANGE, which Python does not offer.
    """
    rename = _find_renameat2() if sys.platform == "linux" else None
    if rename is None:
        return False
    import ctypes

    if rename(_AT_FDCWD, os.fsencode(path), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP):
        return False
    raise OSError(code, "removed since it was read" if code == errno.ENOENT else os.strerror(code), other)


@cache
def _find_renameat2() -> Callable[..., int] | None:
    import ctypes

    return getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)


def _identity(path: str) -> tuple[int, int]:
    about = os.stat(path)
    return about.st_dev, about.st_ino


class Old(NamedTuple):
    """A file that will be replaced.

    - `inode`: its device and inode number.
    - `content`: its bytes.
    - `owner`, `group`, `mode`, `links`: as in `os.stat`.
    - `attributes`: its extended attributes.
    """

    inode: tuple[int, int]
    content: bytes
    owner: int
    group: int
    mode: int
    links: int
    attributes: Mapping[str, bytes]

    @classmethod
    def read(cls, path: str) -> Old | None:
        """Return the file at a path. None if there is none. Raise OSError if it may not be written."""
        try:
            about = os.stat(path)
            if not stat.S_ISREG(about.st_mode):
                raise OSError(errno.EINVAL, "not a regular file", path)
            handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        except FileNotFoundError:
            return None
        if not os.access(path, os.W_OK):
            os.close(handle)
            raise PermissionError(errno.EACCES, "permission denied", path)
        with os.fdopen(handle, "rb") as file:
            about = os.fstat(handle)
            if not stat.S_ISREG(about.st_mode):
                raise OSError(errno.EINVAL, "not a regular file", path)
            inode, mode = (about.st_dev, about.st_ino), stat.S_IMODE(about.st_mode)
            attributes = _attributes(handle)
            return cls(inode, file.read(), about.st_uid, about.st_gid, mode, about.st_nlink, attributes)

    def hold_to(self, before: bytes) -> None:
        """Raise OSError if the content is not `before`, or if the file has further hard links."""
        if self.content != before:
            raise OSError(errno.EBUSY, _CHANGED)
        if self.links > 1:
            raise OSError(errno.EMLINK, f"has {self.links} hard links, and the others would keep the old content")

    def pass_on(self, handle: int, strict: bool) -> None:
        """Give an open file the owner, group, mode and attributes of this file.

        With `strict`, raise OSError if one of them cannot be set.
        """
        about = os.fstat(handle)
        for what, mine, theirs, ids in (
            ("group", about.st_gid, self.group, (-1, self.group)),
            ("owner", about.st_uid, self.owner, (self.owner, -1)),
        ):
            if mine != theirs:
                with _strict_only(f"{what} {theirs}", strict):
                    os.fchown(handle, *ids)
        os.fchmod(handle, self.mode)
        given = _attributes(handle)
        for name in given.keys() - self.attributes.keys():  # an ACL that is the default of the folder
            with _strict_only(f"lack of {name}", strict):
                os.removexattr(handle, name)
        for name, value in self.attributes.items():
            if given.get(name) != value:
                with _strict_only(f"attribute {name}", strict):
                    os.setxattr(handle, name, value)


@contextmanager
def _strict_only(what: str, strict: bool) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if strict:
            raise OSError(error.errno, f"its {what} cannot be kept: {error_reason(error)}") from None


def _attributes(handle: int) -> dict[str, bytes]:
    """Return the extended attributes of an open file, with its ACLs.

    The result is empty if Python or the file system does not support them.
    """
    if sys.platform != "linux":
        return {}
    try:
        names = os.listxattr(handle)
    except OSError:
        return {}
    return {name: os.getxattr(handle, name) for name in names if name not in _OF_THE_CONTENT}


def sweep(folder: str) -> None:
    """Remove the temporary files of killed runs in a folder, if they are more than an hour old."""
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
    """Return the time of the file system, from a file that is created now: a network share may have another clock."""
    path = os.path.join(folder, f".nodelint-{os.urandom(8).hex()}.tmp")
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        return os.fstat(handle).st_mtime
    finally:
        os.close(handle)
        os.unlink(path)


_sweep_once = cache(sweep)
