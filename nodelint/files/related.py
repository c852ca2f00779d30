"""Find the files that are rendered together with the requested ones: what these use, and what uses them.

The paths in texts decide: the source of a module, the folder that a controller applies, the chart and the values
files of a release. Nothing is parsed. A path that leads to no file of the repository is ignored.
"""

from __future__ import annotations

import os
import re

from nodelint.base.budget import RUN
from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.files.contents import read_content
from nodelint.files.file_keywords import CONTROLLERS, holds_any, may_be_related
from nodelint.files.folders import Discovery, list_files
from nodelint.files.safe_read import is_below
from nodelint.forms.registry import TABLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nodelint.files.globs import Excluded, Globs

_LARGEST = 1 << 20
"""The most bytes of a file that is searched for paths."""
_MOST_OUTSIDE = 2000
"""The most files that are searched outside of a repository, where the working folder may be of any size."""
_MOST_BASES = 8
"""The most folders to which the paths in a file may be relative."""
_MODULE = (".tf", ".tofu", ".tf.json", ".tofu.json")
_BLOCKS = (*_MODULE, ".hcl")
_YAML = (".yaml", ".yml")
_TEXTS = (*_YAML, ".json", ".tpl", ".tftpl", ".tmpl", ".gotmpl", ".tfvars", ".hcl")
_CHART = "Chart.yaml"
_WORDS = re.compile(r"[^\s\"'\[\],()|;]+")
_KEYED = re.compile(r"\b(?:path|chart|source)[\"']?[ \t]*[:=][ \t]*[\"']?([\w.-]+)[\"']?[ \t]*(?:[\n,}]|$)")
_COMMENT = re.compile(r"(?m)^[ \t]*(?:#|//).*$")
_BEFORE = re.compile(r"(?:\$\{[^{}$]*+\}|\$\w++)/*+")
_VARIABLE = re.compile(r"[*?{$<]")


class _UsedPath(NamedTuple):
    """A path to which a text leads. `is_module`: the text uses the files in the folder, and none of folders below."""

    path: str
    is_module: bool


class _RepositoryFiles:
    """The files that a run over the whole repository reads, and the paths in them."""

    def __init__(self, top: str, paths: Iterable[str]) -> None:
        self._top = top
        self.paths = {os.path.abspath(path): path for path in paths}
        self._folders: dict[str, list[str]] = {}
        for path in self.paths:
            folder = os.path.dirname(path)
            self._folders.setdefault(folder, []).append(path)
            while folder != top and (folder := os.path.dirname(folder)) not in self._folders:
                self._folders[folder] = []
        self._uses: dict[str, tuple[_UsedPath, ...]] = {}
        self._users: dict[_UsedPath, list[str]] = {}

    def list_beside(self, path: str) -> list[str]:
        """Return the files that form one module with a file."""
        return self._list_module(os.path.dirname(path), ".tfvars") if path.endswith(_MODULE) else []

    def list_used(self, path: str) -> Iterator[str]:
        """Yield the files to which the paths in a file lead, also those in folders."""
        for used in self._uses_of(path):
            if used.path in self.paths:
                yield used.path
            elif used.is_module:
                yield from self._list_module(used.path, ".hcl")
            elif used.path != self._top:
                yield from self._list_below(used.path)

    def list_given(self, path: str, to_chart: bool) -> Iterator[str]:
        """Yield the files, such as values files, that a file names. With `to_chart`, also those of charts."""
        for used in self._uses_of(path):
            if used.path in self.paths:
                yield used.path
            elif to_chart and self._is_chart(used.path):
                yield from self._list_below(used.path)

    def _is_chart(self, folder: str) -> bool:
        return os.path.join(folder, _CHART) in self.paths

    def _list_below(self, folder: str) -> list[str]:
        below = [path for path in self.paths if is_below(path, folder)]
        if not self._is_chart(folder):
            return below
        # Further values files of a chart belong to other releases.
        return [path for path in below if os.path.dirname(path) != folder or "values" not in os.path.basename(path)]

    def list_users(self, path: str) -> Iterator[tuple[str, bool]]:
        """Yield the files with a path that leads to a file or to its folder, and whether it leads to the file."""
        if not self._users:
            for user in self.paths:
                for used in self._uses_of(user):
                    self._users.setdefault(used, []).append(user)
        yield from ((user, True) for user in self._users.get(_UsedPath(path, False), ()) if user != path)
        folder = os.path.dirname(path)
        yield from ((user, False) for user in self._users.get(_UsedPath(folder, True), ()) if user != path)
        while is_below(folder, self._top):
            yield from ((user, False) for user in self._users.get(_UsedPath(folder, False), ()) if user != path)
            folder = os.path.dirname(folder)

    def _list_module(self, folder: str, *more: str) -> list[str]:
        return [path for path in self._folders.get(folder, ()) if path.endswith((*_MODULE, *more))]

    def _uses_of(self, path: str) -> tuple[_UsedPath, ...]:
        found = self._uses.get(path)
        if found is None:
            found = self._uses[path] = tuple(dict.fromkeys(self._search(path)))
        return found

    def _search(self, path: str) -> Iterator[_UsedPath]:
        name = os.path.basename(path)
        if not path.endswith((*_BLOCKS, *_YAML)) and name not in TABLE.names:
            return
        data = read_content(self.paths[path], [])
        if not isinstance(data, bytes) or len(data) > _LARGEST:
            return
        folder = os.path.dirname(path)
        bases = [folder, self._top]
        if path.endswith(_YAML) and name not in TABLE.names:
            if holds_any(data, CONTROLLERS):
                bases = [self._top, folder]
            elif data.find(b"releases:") < 0:
                return
        text = _COMMENT.sub("", data.decode(errors="replace"))
        words = [
            word for word in _WORDS.findall(text) if "/" in word or "{" in word or word.rstrip("}").endswith(_TEXTS)
        ]
        words += _KEYED.findall(text)
        if name in TABLE.names:
            words += re.findall(r"(?m)^[ \t]*-[ \t]+[\"']?([\w.-]+)", text)
        unknown = []
        for word in dict.fromkeys(words):
            found = self._resolve(word, bases)
            if not found:
                unknown.append(word)
                continue
            yield from (self._use(target, path) for target in found)
            if found[0] in self._folders and len(bases) < _MOST_BASES:
                bases = [*bases, found[0]]
        # Values files are named relative to the folder of the chart.
        for word in unknown:
            yield from (self._use(target, path) for target in self._resolve(word, bases[2:]))

    def _use(self, target: str, user: str) -> _UsedPath:
        return _UsedPath(target, user.endswith(_BLOCKS) and self._list_module(target, ".hcl") != [])

    def _resolve(self, word: str, bases: Sequence[str]) -> list[str]:
        """Return the paths of the repository that a word may name. Empty if there is none.

        A name that ends in a variable, such as `values-{{ .env }}.yaml`, may be of each file that begins so.
        """
        if "://" in word or word.startswith(("git@", "git::")):
            return []
        word = _BEFORE.sub("", word.rstrip("}") if "{" not in word else word, count=1).replace("//", "/").lstrip("/")
        variable, start = _VARIABLE.search(word), ""
        if variable is not None:
            word, _, start = word[: variable.start()].rpartition("/")
        if not word.strip("./") and not start and (not word or variable is not None):
            return []
        for base in bases:
            path = os.path.normpath(os.path.join(base, word))
            named = [file for file in self._folders.get(path, ()) if os.path.basename(file).startswith(start)]
            if start and named:
                return named
            if not start and (path in self.paths or path in self._folders):
                return [path]
        return []


def list_related(top: str, found: Discovery, exclude: Excluded, include: Globs) -> Iterator[str]:
    """Yield the files elsewhere below `top` that are rendered with the requested ones.

    A run over a part of a repository then judges the objects of the part as a run over all of it.
    """
    listed: list[str] = []
    is_repository = os.path.exists(os.path.join(top, ".git"))
    for path in list_files(os.path.relpath(top), exclude, include, Discovery()):
        listed.append(path)
        if RUN.is_over():
            found.late += 1
            return
        if not is_repository and len(listed) > _MOST_OUTSIDE:
            return
    files = _RepositoryFiles(top, listed)
    requested = {os.path.abspath(path) for path in found.seen}
    for path in _follow(files, [path for path in files.paths if path in requested]):
        if path not in requested:
            yield files.paths[path]


def _follow(files: _RepositoryFiles, requested: Sequence[str]) -> list[str]:
    """Return the files that use the requested ones, directly or through others, and all files that these use."""
    using = dict.fromkeys(requested)
    pending = list(requested)
    needed: dict[str, None] = {}
    while pending:
        path = pending.pop()
        more = dict.fromkeys(files.list_beside(path))
        for user, is_file in files.list_users(path) if may_be_related(files.paths[path]) else ():
            more[user] = None
            needed.update(dict.fromkeys(files.list_given(user, to_chart=is_file)))
        new = [path for path in more if path not in using]
        using.update(dict.fromkeys(new))
        pending += new
    pending = [path for path in using if path in requested or os.path.basename(path) in TABLE.names]
    pending += [other for path in requested for other in files.list_beside(path)]
    reached = dict.fromkeys(pending)
    while pending:
        new = [path for path in files.list_used(pending.pop()) if path not in reached]
        reached.update(dict.fromkeys(new))
        pending += new
    return list({**using, **needed, **reached})
