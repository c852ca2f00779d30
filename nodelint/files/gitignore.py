"""Find out what git ignores, from `.gitignore` files, `.git/info/exclude` and the user's own file.

Patterns without a wildcard are compared as text. Other patterns are compiled by `wildmatch` when a path may match. A
file that git tracks is not ignored, whatever pattern matches it or a folder above.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from nodelint.base.tuples import NamedTuple
from nodelint.files import safe_read
from nodelint.files.gate import gate
from nodelint.files.git_index import GitIndex

FILE = ".gitignore"
"""The name of files with patterns for their folder and the folders below."""

_LARGEST = 4 << 20
_WILD = frozenset("*?[\\")
_SECTION = r"\s*\[\s*([^\]\s]*)"
_EXCLUDES_FILE = r'(?i)\s*+excludesfile\s*+=\s*+(?:"([^"]*+)"\s*+|([^"#;]*+))(?:[#;].*)?$'


class _Pattern(NamedTuple):
    """A line of an ignore file.

    - `text`: the pattern without `!` and without the slash at its end.
    - `negated`: the line begins with `!`.
    - `for_folders`: it ends with a slash.
    - `anchored`: it matches paths from the file's folder, not names.
    - `wild`: it has a wildcard.
    - `hint`: a text that every match contains.
    """

    text: str
    negated: bool
    for_folders: bool
    anchored: bool
    wild: bool
    hint: str

    def matches(self, path: str, name: str) -> bool:
        seen = path if self.anchored else name
        if not self.wild or self.hint not in seen:
            return not self.wild and seen == self.text
        from nodelint.files.wildmatch import matches

        return matches(self.text, seen)


class _Level:
    """The patterns of one file, for paths below the folder `base` (with a slash at its end; empty for the top)."""

    def __init__(self, base: str, patterns: Iterable[_Pattern]) -> None:
        self._base = len(base)
        self._names: dict[str, list[tuple[int, _Pattern]]] = {}
        self._others: list[tuple[int, _Pattern]] = []
        for number, pattern in enumerate(patterns):
            by_name = not pattern.wild and not pattern.anchored
            of = self._names.setdefault(pattern.text, []) if by_name else self._others
            of.insert(0, (number, pattern))

    def decides(self, path: str, name: str, *, folder: bool) -> bool | None:
        """Return whether a path is ignored. None if no pattern matches. The last match decides."""
        inside = path[self._base :]
        last = -1
        ignored = None
        for number, pattern in self._names.get(name, ()):
            if folder or not pattern.for_folders:
                last, ignored = number, not pattern.negated
                break
        for number, pattern in self._others:
            if number < last:
                break
            if (folder or not pattern.for_folders) and pattern.matches(inside, name):
                return not pattern.negated
        return ignored


class Ignored:
    """The ignore rules for a folder of a repository and the folders below.

    - `levels`: the patterns, the strongest first.
    - `whole`: a pattern matches the folder itself, so that only tracked files in it are read.
    """

    def __init__(self, levels: tuple[_Level, ...], inside: str, index: GitIndex, whole: bool = False) -> None:
        self._levels = levels
        self._inside = inside
        self._index = index
        self._whole = whole

    @classmethod
    def around(cls, folder: str) -> Ignored | None:
        """Return the ignore rules of a folder without its own `.gitignore`. None outside of a repository.

        The folder itself is never ignored.
        """
        folder = os.path.abspath(folder)
        root = safe_read.repository(folder)
        if root is None:
            return None
        found = cls._at_root(root)
        steps = os.path.relpath(folder, root).split(os.sep)
        for step in steps if folder != root else ():
            found = found.with_file(os.path.join(root, found._inside)).below(step)
        return found

    @classmethod
    def _at_root(cls, root: str) -> Ignored:
        own = _git_folder(root)
        files = (os.path.join(own, "info", "exclude") if own is not None else None, _of_the_user(root))
        return cls(tuple(level for file in files if file and (level := _level(file, ""))), "", GitIndex(root))

    def below(self, name: str) -> Ignored:
        """Return the ignore rules of a subfolder, without its own `.gitignore`."""
        whole = self._whole or self._inside + name in self._index.entered
        return Ignored(self._levels, f"{self._inside}{name}/", self._index, whole)

    def with_file(self, folder: str) -> Ignored:
        """Return these rules together with the folder's own `.gitignore`. Like git, do not follow a link."""
        path = os.path.join(folder, FILE)
        level = None if os.path.islink(path) else _level(path, self._inside)
        return Ignored((level, *self._levels), self._inside, self._index, self._whole) if level else self

    def ignores(self, name: str, *, folder: bool) -> bool:
        """Return whether an entry of the folder is ignored and contains no tracked file."""
        path = self._inside + name
        return (self._whole or self._matches(path, name, folder)) and not self._index.tracks(path, folder=folder)

    def _matches(self, path: str, name: str, folder: bool) -> bool:
        for level in self._levels:
            decided = level.decides(path, name, folder=folder)
            if decided is not None:
                return decided
        return False


def is_ignored(path: str) -> bool:
    """Return whether git ignores a file and does not track it, so that a clone of the repository lacks it."""
    folder, name = os.path.split(os.path.abspath(path))
    rules = Ignored.around(folder)
    return rules is not None and rules.with_file(folder).ignores(name, folder=False)


def entered(above: Ignored | None, folder: str, names: Iterable[str]) -> Ignored | None:
    """Return the ignore rules that apply inside a folder.

    `above` are those of its parent (None if there are none), `names` the entries of the folder. A folder with `.git`
    is a repository of its own; a `.gitignore` adds its rules.
    """
    names = frozenset(names)
    if ".git" in names and (above is None or above._inside):  # a separate repository
        above = Ignored.around(folder)
    return above.with_file(folder) if above is not None and FILE in names else above


def _level(file: str, base: str) -> _Level | None:
    patterns = list(_patterns(file))
    return _Level(base, patterns) if patterns else None


def _patterns(file: str) -> Iterator[_Pattern]:
    """Yield the patterns of a file. Nothing if it cannot be read, as in git."""
    try:
        data = safe_read.read(file, _LARGEST)
    except OSError:
        return
    for line in os.fsdecode(data.removeprefix(b"\xef\xbb\xbf")).split("\n"):
        pattern = _pattern(line.removesuffix("\r"))
        if pattern is not None:
            yield pattern


def _pattern(line: str) -> _Pattern | None:
    if line.startswith("#"):
        return None
    text = line.rstrip(" ")
    if len(text) < len(line) and (len(text) - len(text.rstrip("\\"))) % 2:
        text += " "  # a backslash keeps the space after it
    negated = text.startswith("!")
    text = text.removeprefix("!")
    for_folders = text.endswith("/")
    text = text.removesuffix("/")
    if not text:
        return None
    anchored = "/" in text
    wild = not _WILD.isdisjoint(text)
    if not wild:
        return _Pattern(text.removeprefix("/"), negated, for_folders, anchored, False, "")
    return _Pattern(text, negated, for_folders, anchored, True, _hint(text))


def _hint(text: str) -> str:
    """Return the longest literal part of a pattern, before the first bracket or backslash."""
    plain = re.split(r"[\[\\]", text, maxsplit=1)[0]
    return max(re.split(r"[*?]", plain), key=len).strip("/")


# -- the places of git's own files


def _git_folder(root: str) -> str | None:
    """Return the folder of git's data (of the main work tree, for a linked one). None if nodelint may not read it."""
    path = os.path.join(root, ".git")
    if not gate.holds_git_of(root):
        return None
    if os.path.isdir(path):
        return path
    target = _text(path).removeprefix("gitdir:").strip()
    folder = os.path.join(root, target)
    return os.path.join(folder, _text(os.path.join(folder, "commondir")).strip())


def _of_the_user(root: str) -> str | None:
    """Return the file that `core.excludesFile` of the user or of the system names, else git's default file.

    The repository's own configuration is not read: it may contain a token, and may not be the user's. Includes of
    other configuration files are not followed.
    """
    home = os.path.expanduser("~")
    xdg = os.path.join(os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "git")
    configurations = (
        os.environ.get("GIT_CONFIG_GLOBAL") or os.path.join(home, ".gitconfig"),
        os.path.join(xdg, "config"),
        "/etc/gitconfig",
    )
    for path in configurations:
        named = _excludes_file(_text(path))
        if named is not None:
            return os.path.join(root, os.path.expanduser(named)) if named else None
    return os.path.join(xdg, "ignore")


def _excludes_file(configuration: str) -> str | None:
    section, named = "", None
    if "excludesfile" not in configuration.lower():
        return None
    for line in configuration.splitlines():
        begins = re.match(_SECTION, line)
        if begins:
            section = begins[1].lower()
        elif section == "core" and (found := re.match(_EXCLUDES_FILE, line)):
            value = found[2].rstrip() if found[1] is None else found[1]
            named = value.replace("\\\\", "\\")
    return named


def _text(path: str) -> str:
    try:
        return os.fsdecode(safe_read.read(path, _LARGEST))
    except OSError:
        return ""
