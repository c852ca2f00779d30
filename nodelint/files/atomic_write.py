"""Write a file completely or not at all, and never through a link out of the repository."""

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
"""Seconds after which a temporary is one that a killed run has left."""

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
_CHANGED = "changed since it was read; run nodelint again"
_OF_THE_CONTENT = frozenset({"security.evm", "security.ima"})
"""Attributes that the system makes of a file's content. To keep those of the old content would make it unreadable."""


def place(path: str) -> str:
    """Return the file that a path leads to when all links are followed.

    Raise PermissionError where a link of the path leads out of its repository, or into its `.git`: whoever wrote the
    repository would choose the file. Without a repository, a link has to stay in the working folder, or next to
    itself. Links above both, such as `/tmp` on macOS, lead anywhere.
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

    `last` says that the link is the last part of a path. None if there is no such folder.
    """
    here = os.getcwd()
    return repository(folder) or (here if is_inside(folder, here) else folder if last else None)


def replace(path: str, data: bytes, before: bytes | None = None) -> None:
    """Put a file's new content in place at once: whoever looks sees the old or the new one, never a part.

    A link stays a link. A new file has the permissions of the umask, an old one keeps its own, and its owner, group,
    ACL and extended attributes where that is possible.

    `before` is what the file held when it was read. A file that holds something else by now, or is gone, is left as
    it is. So is one whose owner, group or attributes cannot be kept, and one with several hard links, as the other
    names would keep the old content. Raise OSError, whose `strerror` says why; the file is then as it was, or not
    there as before.
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
            return  # written by another of its names
        old.hold_to(before)
    temporary = os.path.join(os.path.dirname(real), f".nodelint-{os.urandom(8).hex()}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    # What replaces a private file is private from its first byte on.
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
    # The new name outlasts a loss of power too; a file system that knows no such thing has the file all the same.
    with suppress(OSError):
        folder = os.open(os.path.dirname(real), os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _replace_unchanged(temporary: str, real: str, old: Old) -> None:
    """Put a temporary in the place of a file that nobody has saved or removed meanwhile; else raise OSError.

    The two names change places, and only then is the old file looked at: between a look and a replacement it could
    be saved.
    """
    ours = _identity(temporary)
    if not exchange(temporary, real):
        # The next best: as late as possible.
        if Old.read(real) != old:
            raise OSError(errno.EBUSY, _CHANGED)
        os.replace(temporary, real)
        return
    if Old.read(temporary) == old:
        os.unlink(temporary)
        return
    # Theirs goes back. Where it was saved once more meanwhile, that is what comes out, and it goes back instead.
    there = ours
    while True:
        back = _identity(temporary)
        exchange(temporary, real)
        if _identity(temporary) == there:
            break
        there = back
    raise OSError(errno.EBUSY, _CHANGED)


def exchange(path: str, other: str) -> bool:
    """Let two files change names at once; False where the system cannot. Raise OSError where one is not there.

    That is renameat2(2) with RENAME_EXCHANGE, which Python does not offer.
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
    """A file that will be replaced: which one it is, what it holds, and what belongs to it besides that."""

    inode: tuple[int, int]
    content: bytes
    owner: int
    group: int
    mode: int
    links: int
    attributes: Mapping[str, bytes]

    @classmethod
    def read(cls, path: str) -> Old | None:
        """Return the file of a path; None if there is none. Raise OSError for what may not be written."""
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
        """Raise OSError if the file is not the one that was read, or has further hard links."""
        if self.content != before:
            raise OSError(errno.EBUSY, _CHANGED)
        if self.links > 1:
            raise OSError(errno.EMLINK, f"has {self.links} hard links, and the others would keep the old content")

    def pass_on(self, handle: int, strict: bool) -> None:
        """Give an open file what belongs to this one. Raise OSError for what cannot be passed on, if `strict`."""
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
        for name in given.keys() - self.attributes.keys():  # an ACL by the folder's default
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
    """Return the extended attributes of an open file, ACLs among them.

    None if Python or the file system knows none.
    """
    if sys.platform != "linux":
        return {}
    try:
        names = os.listxattr(handle)
    except OSError:
        return {}
    return {name: os.getxattr(handle, name) for name in names if name not in _OF_THE_CONTENT}


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
    """Return the file system's time, by a file that is made now: that of a network share may be another than ours."""
    path = os.path.join(folder, f".nodelint-{os.urandom(8).hex()}.tmp")
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        return os.fstat(handle).st_mtime
    finally:
        os.close(handle)
        os.unlink(path)


_sweep_once = cache(sweep)
