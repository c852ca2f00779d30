"""Open files that a text of the repository names. No other module does.

The author of the text is a stranger, so the path may lead anywhere: out by `..` or a link, to a device, or into
`.git` with the token of a checkout. The gate has roots: for each path of the command line, its repository, or outside
of any repository the named folder. It opens only folders and regular files of limited size that are below a root when
all links are followed, and no files of git.
"""

from __future__ import annotations

import errno
import os
import stat

from nodelint.base.types import TYPE_CHECKING
from nodelint.files.kept_contents import file_contents
from nodelint.files.safe_read import LARGEST, edited_text, explain_kind, is_below, read, read_in_place, repository
from nodelint.text.limits import note_left_out

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nodelint.text.nodes import SourceText

OUTSIDE = "outside of the repository"
OF_GIT = "a file of git, which is not read"

_GIT = ".git"
_HAS_WALK = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW") and hasattr(os, "O_DIRECTORY")
_STAY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FOLDER = _STAY | getattr(os, "O_DIRECTORY", 0)
_PASS = _FOLDER | getattr(os, "O_PATH", os.O_RDONLY)
_READ = _STAY | os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOCTTY", 0)


class Refused(PermissionError):
    """Raised for a path that leads out of the roots, or into git's own files. `strerror` has the reason."""


class OpenedFiles:
    """A context manager: the real paths of the files whose content any gate is asked for meanwhile.

    Whatever is computed meanwhile depends on no other content.
    """

    def __init__(self) -> None:
        self._named: set[str] = set()

    def __enter__(self) -> OpenedFiles:
        _watching.append(self._named)
        return self

    def __exit__(self, *_: object) -> None:
        _watching.remove(self._named)

    def list_real(self) -> set[str]:
        """Return the paths without links."""
        folders = {folder: os.path.realpath(folder) for folder in map(os.path.dirname, self._named)}
        places = {os.path.join(folders[os.path.dirname(path)], os.path.basename(path)) for path in self._named}
        return places.union(map(os.path.realpath, filter(os.path.islink, places)))


_watching: list[set[str]] = []


def _note_opened(path: str) -> None:
    for opened in _watching:
        opened.add(os.path.abspath(path))


class Gate:
    """Opens files below its roots, and nothing else.

    Without roots, the repository of the working folder is the root.
    """

    def __init__(self, *roots: str) -> None:
        self.admitted: set[str] = set()
        """The paths that were admitted, as the command line names them."""
        self._roots: list[str] = []
        self._git_folders: set[str] = set()
        self._folders: dict[str, tuple[str, str]] = {}
        """The real paths of folders. A folder that becomes a link meanwhile is not opened any more."""
        for root in roots:
            self._add(os.path.realpath(root))

    def admit(self, named: str) -> None:
        """Add the root for a path of the command line: its repository, else the folder itself.

        Outside of a repository, the root of a file is the working folder if it contains the file, unless that is the
        user's home or the whole disk. Otherwise it is the folder of the file. For a link, the place of the link
        counts, not its target.
        """
        self.admitted.add(named)
        self._folders.clear()
        is_folder = os.path.isdir(named)
        folder = os.path.realpath(named if is_folder else os.path.dirname(named) or os.curdir)
        root = repository(folder)
        if root is None and not is_folder:
            here = os.path.realpath(os.curdir)
            if is_below(folder, here) and here not in (
                os.path.dirname(here),
                os.path.realpath(os.path.expanduser("~")),
            ):
                root = here
        self._add(root or folder)

    def reset(self) -> None:
        """Remove all roots, before another run in the same process."""
        self.admitted.clear()
        self._roots.clear()
        self._git_folders.clear()
        self._folders.clear()
        file_contents.end()

    def holds(self, path: str) -> bool:
        """Return whether a path is below a root and not one of git's own files. The path need not exist."""
        return self.refusal(path) is None

    def surrounds(self, path: str) -> bool:
        """Return whether a path, or the target of its link, is below a root."""
        whole = os.path.abspath(path)
        around = os.path.join(os.path.realpath(os.path.dirname(whole)), os.path.basename(whole))
        places = (around, os.path.realpath(whole))
        return any(is_below(place, root) for place in places for root in self._roots or [_find_default()])

    def refusal(self, path: str) -> str | None:
        """Return why a path may not be opened, as the end of a sentence. None if it may be.

        The path need not exist.
        """
        try:
            self._resolve(path)
        except OSError as error:
            return error.strerror
        return None

    def notes_refusal(self, path: str, named: str, source: SourceText, start: int) -> bool:
        """Return whether a path may not be opened.

        If so, record a gap: the text of `source` names it at offset `start`.
        """
        reason = self.refusal(path)
        if reason is not None:
            note_left_out(source.path, f"`{named}` is {reason}", source.position(start).line)
        return reason is not None

    def holds_git_of(self, folder: str) -> bool:
        """Return whether nodelint may read git's data of a repository: it must belong to a root or be inside one.

        A submodule has its data in the repository around it. Any other folder may have a file `.git` by the author of
        the repository, which leads anywhere.
        """
        real = os.path.realpath(folder)
        data = os.path.join(real, _GIT)
        if not self._roots or real in self._roots:
            return True
        target = _read_git_file(data) if os.path.isfile(data) else os.path.realpath(data)
        return any(is_below(target, root) for root in self._roots)

    def is_file(self, path: str) -> bool:
        """Return whether a path is a file below a root."""
        return os.path.isfile(path) and self.holds(path)

    def is_folder(self, path: str) -> bool:
        """Return whether a path is a folder below a root."""
        return os.path.isdir(path) and self.holds(path)

    def exists(self, path: str) -> bool:
        """Return whether a path below a root exists."""
        return os.path.exists(path) and self.holds(path)

    def read(self, path: str, largest: int = LARGEST, within: str | None = None) -> bytes:
        """Return the content of a regular file of at most `largest` bytes.

        `within` is a folder below a root, such as a chart, that no link may leave. Raise `Refused` for a path outside
        of the roots, and OSError with the reason in `strerror` for any other error.
        """
        _note_opened(path)
        root, real = self._resolve(path)
        if within is not None and not is_below(real, os.path.realpath(within)):
            raise Refused(errno.EPERM, f"a link out of {os.path.abspath(within)}", path)
        if (text := edited_text(path)) is not None:
            return text
        data = file_contents.get(real)
        if data is None:
            handle = _open(root, real, path, _READ, stat.S_ISREG)
            with os.fdopen(handle, "rb") as file:
                data = file.read(largest + 1)
            if len(data) <= largest:
                file_contents.keep(real, data)
        if len(data) > largest:
            raise OSError(errno.EFBIG, f"larger than {largest >> 20} MiB", path)
        return data

    def load_text(self, path: str, largest: int = LARGEST, within: str | None = None) -> str | None:
        """Return the text of a file, with U+FFFD for bytes that are not UTF-8. None if `read` raises an error."""
        try:
            return self.read(path, largest, within).decode(errors="replace")
        except OSError:
            return None

    def read_listed(self, path: str, largest: int = LARGEST) -> bytes:
        """Return the content of a file in a folder that was listed before. The file must not be a link.

        It is much faster than `read`, for folders with many files. Raise OSError as `read` does.
        """
        _note_opened(path)
        data = file_contents.get(path)
        if data is None or len(data) > largest or os.path.islink(path):
            data = read_in_place(path, largest)
            file_contents.keep(path, data)
        return data

    def entries(self, folder: str) -> list[tuple[str, bool]]:
        """Return the names in a folder, in order, and for each whether it is a folder (links do not count).

        Git's own folder is left out. Raise OSError as `read` does.
        """
        root, real = self._resolve(folder or os.curdir)
        if (names := file_contents.names_in(real)) is not None:
            return [*names]
        handle = _open(root, real, folder, _FOLDER | os.O_RDONLY, stat.S_ISDIR) if _HAS_WALK else None
        try:
            with os.scandir(real if handle is None else handle) as listing:
                found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in listing]
        finally:
            if handle is not None:
                os.close(handle)
        names = sorted([entry for entry in found if not _is_git(entry[0])])
        file_contents.keep_names(real, names)
        return [*names]

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder, in order. Empty if it cannot be listed."""
        try:
            return [entry[0] for entry in self.entries(folder)]
        except OSError:
            return []

    def walk(self, top: str) -> Iterator[tuple[str, list[str], list[str]]]:
        """Yield a folder and those below it as `os.walk` does, in order. Links to folders are not followed."""
        pending = [top]
        while pending:
            around = pending.pop()
            try:
                entries = self.entries(around)
            except OSError:
                continue
            folders = [name for name, is_folder in entries if is_folder]
            yield around, folders, [name for name, is_folder in entries if not is_folder]
            pending += [os.path.join(around, name) for name in reversed(folders)]

    def _add(self, root: str) -> None:
        if root in self._roots:
            return
        self._roots.append(root)
        # A worktree, a submodule, and a repository whose data has another place have a file `.git`.
        data = os.path.join(root, _GIT)
        if os.path.isfile(data):
            self._git_folders.add(_read_git_file(data))

    def _resolve(self, path: str) -> tuple[str, str]:
        """Return the root of a path, and its real path. Raise `Refused`."""
        try:
            whole = os.path.abspath(path)
            folder, name = os.path.split(whole)
            if not name or _is_git(name) or os.path.islink(whole):
                return self._place(os.path.realpath(whole), path)
            if folder not in self._folders:
                real = os.path.realpath(whole)
                root, real = self._place(real, path)
                if real == root:
                    return root, real
                self._folders[folder] = root, os.path.dirname(real)
            root, around = self._folders[folder]
            real = os.path.join(around, name)
            if real in self._git_folders:
                raise Refused(errno.EPERM, OF_GIT, path)
            return root, real
        except ValueError:
            reason = "no file name holds a null character or half of a surrogate pair"
            raise OSError(errno.EINVAL, reason, path) from None

    def _place(self, real: str, path: str) -> tuple[str, str]:
        """Return the root of a path without links, and that path. Raise `Refused`."""
        for root in self._roots or [_find_default()]:
            if is_below(real, root):
                if any(map(_is_git, real[len(root) :].split(os.sep))) or any(
                    is_below(real, folder) for folder in self._git_folders
                ):
                    raise Refused(errno.EPERM, OF_GIT, path)
                return root, real
        raise Refused(errno.EPERM, OUTSIDE, path)


gate = Gate()
"""The gate of this run. `discover` adds the paths of the command line."""


def read_bounded(path: str, within: str | None) -> bytes:
    """Return the content of a file that must be in the folder `within`.

    None allows any place, for files that a flag names.

    Raise OSError as `Gate.read` does.
    """
    return read(path) if within is None else Gate(within).read(path)


def _find_default() -> str:
    folder = os.path.realpath(os.curdir)
    return repository(folder) or folder


def _is_git(name: str) -> bool:
    """Return whether a file system may treat a name as `.git`.

    Some ignore case, dots and blanks at the end, the text after a colon, and characters without width.
    """
    if name[:1] != "." and "~" not in name and name.isascii():
        return False
    seen = "".join(filter(str.isprintable, name)).partition(":")[0].rstrip(" .").casefold()
    return seen in (_GIT, "git~1")


def _read_git_file(path: str) -> str:
    """Return the folder that a `.git` file names."""
    with open(path, "rb") as file:
        named = os.fsdecode(file.read(1 << 12)).partition("\n")[0].removeprefix("gitdir:").strip()
    return os.path.realpath(os.path.join(os.path.dirname(path), named.replace("\0", "")))


def _open(root: str, real: str, path: str, flags: int, is_wanted: Callable[[int], bool]) -> int:
    """Open a path without links and return its file descriptor.

    Each folder is opened relative to its parent without following links, so that a path that changes meanwhile cannot
    lead elsewhere. If the system cannot do that, the opened file is compared with the path afterwards.
    """
    if not _HAS_WALK:
        handle = os.open(real, flags)
        if os.path.realpath(real) != real or not os.path.samestat(os.fstat(handle), os.lstat(real)):
            os.close(handle)
            raise Refused(errno.EPERM, OUTSIDE, path)
        return _hold_to_kind(handle, path, is_wanted)
    folder = os.open(root, _PASS & ~getattr(os, "O_NOFOLLOW", 0))
    try:
        *above, name = [part for part in real[len(root) :].split(os.sep) if part] or [os.curdir]
        for part in above:
            inner = os.open(part, _PASS, dir_fd=folder)
            os.close(folder)
            folder = inner
        # Check before opening: opening alone has an effect on some devices.
        if not is_wanted(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise explain_kind(path)
        return _hold_to_kind(os.open(name, flags, dir_fd=folder), path, is_wanted)
    finally:
        os.close(folder)


def _hold_to_kind(handle: int, path: str, is_wanted: Callable[[int], bool]) -> int:
    if not is_wanted(os.fstat(handle).st_mode):
        os.close(handle)
        raise explain_kind(path)
    return handle
