"""Find the files that are rendered together with the requested ones: what these use, and what uses them.

The paths in texts decide: the source of a module, the folder that a controller applies, the chart and the values
files of a release; and the names of objects with values. Nothing is parsed. A path that leads to no file of the
repository is ignored. `forms.registry` has the files and the words of each form.
"""

from __future__ import annotations

import os

from nodelint.base.budget import RUN
from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.files.contents import join_contents, read_content
from nodelint.files.file_keywords import OBJECTS_WITH_VALUES, holds_any, may_be_related
from nodelint.files.file_kinds import SCRIPTS, TEMPLATES, YAML_ENDINGS
from nodelint.files.folders import Discovery, list_files
from nodelint.files.safe_read import is_below, repository
from nodelint.forms.registry import TABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from nodelint.files.globs import Excluded, Globs

_LARGEST = 1 << 20
"""The most bytes of a file that is searched for paths."""
_MOST_OUTSIDE = 10_000
"""The most files that are searched outside of a repository, where the working folder may be of any size."""
_MOST_BASES = 8
"""The most folders to which the paths in a file may be relative."""
_LISTED_AT_ONCE = 256
_FEW = 40
"""Up to so many files are searched by name. Above that, most texts contain the name of one of them."""
_YAML = (".yaml", ".yml")
_OWN = (*TABLE.naming, *[f"/{name}" for name in TABLE.names])
_TEXTS = (*YAML_ENDINGS, *TEMPLATES, *TABLE.templates, *TABLE.naming, *TABLE.module_inputs)
_OBJECT = "="
"""Begins the name of an object, in place of a path: no path begins so."""
# Most runs need no pattern: they are compiled at their first use.
_WORDS = r"[^\s\"'\[\],()|;=]+"
_KEYED = rf"\b(?:{'|'.join(TABLE.path_keys)})[\"']?[ \t]*[:=][ \t]*[\"']?([\w.-]+)[\"']?[ \t]*(?:[\n,}}]|$)"
_LISTED = r"(?m)^[ \t]*-[ \t]+[\"']?([\w.-]+)"
_COMMENT = r"(?m)^[ \t]*(?:#|//).*$"
_BEFORE = r"(?:\$\{[^{}$]*+\}|\$\w++)/*+"
_VARIABLE = r"[*?{$<]"
_CODE = r"\{\{[^{}\n]*\}\}"
_ANY_NAME = r"\{\{\}\}|\$\{[^{}$]*+\}|\$\w++|\*+"
_OBJECT_NAME = r"\bname[\"']?:[ \t]*[\"']?([\w.-]+)"
_FOLDERS_ABOVE = rb"(?<![\w.-])\.\.?/*(?![^\s\"'\],;)|}])"
_BEFORE_A_VARIABLE = rb"([^\s\"'\[\],()|;=/*?{$<]+)[*?{$<]"


class _UsedPath(NamedTuple):
    """A path to which a text leads. `is_module`: the text uses the files in the folder, and none of folders below."""

    path: str
    is_module: bool


class _RepositoryFiles:
    """The files that a run over the whole repository reads, and the paths in them."""

    def __init__(self, top: str, paths: Sequence[str]) -> None:
        self._top = top
        shown = os.path.relpath(top)
        start = 0 if shown == os.curdir else len(os.path.join(shown, ""))
        # Each path is normal and begins as the top does: `os.path.abspath` would take longer than all else.
        self.paths = {f"{folder}{path[start:]}": path for folder in [os.path.join(top, "")] for path in paths}
        self._uses: dict[str, tuple[_UsedPath, ...]] = {}
        self._folders: dict[str, list[str]] = {}
        self._by_name: dict[str, list[str]] = {}
        """The files by their own names, once a file is read that others include."""
        self._objects: dict[str, list[str]] | None = None
        self._users = self._read_users()
        self._scripts: set[str] = set()
        """The files with commands that name others."""

    def _find_folders(self) -> dict[str, list[str]]:
        """Return the files in each folder. Folders without files are empty."""
        if self._folders:
            return self._folders
        folders = self._folders
        for path in self.paths:
            folder = path.rpartition(os.sep)[0]
            if (names := folders.get(folder)) is not None:
                names.append(path)
                continue
            folders[folder] = [path]
            while len(folder) > len(self._top) and (folder := os.path.dirname(folder)) not in folders:
                folders[folder] = []
        return folders

    def _read_users(self) -> dict[str, bytes]:
        """Return the files in which other files may be named, with their contents."""
        found: dict[str, bytes] = {}
        may_name = (*_YAML, *TABLE.naming, *TABLE.names, *SCRIPTS)
        words = (*TABLE.naming_words, *TABLE.script_words)
        contents = ((path, read_content(shown, [])) for path, shown in self.paths.items() if path.endswith(may_name))
        for group, joined in join_contents(contents, _LARGEST):
            holds_words = holds_any(joined, words)
            found.update(
                (path, data) for path, data in group if path.endswith(_OWN) or (holds_words and _is_user(path, data))
            )
        return found

    def _find_objects(self, name: str) -> list[str]:
        """Return the files with an object of this name and of a kind that may hold values for others, such as a
        ConfigMap.
        """
        if self._objects is None:
            self._objects = {}
            for path in self.paths:
                for other in self.list_objects(path):
                    self._objects.setdefault(other, []).append(path)
        return self._objects.get(name, [])

    def list_objects(self, path: str) -> set[str]:
        """Return the names of the objects in a file if one of them may hold values for others, as a ConfigMap may.
        Else return an empty set.
        """
        if not path.endswith(_YAML):
            return set()
        data = read_content(self.paths[path], [])
        if not isinstance(data, bytes) or len(data) > _LARGEST or not holds_any(data, OBJECTS_WITH_VALUES):
            return set()
        import re

        return {_OBJECT + name for name in re.findall(_OBJECT_NAME, data.decode(errors="replace"))}

    def list_beside(self, path: str) -> list[str]:
        """Return the files that form one module with a file."""
        if not path.endswith(TABLE.module):
            return []
        return self._list_in(os.path.dirname(path), (*TABLE.module, *TABLE.module_inputs))

    def list_used(self, path: str) -> Iterator[str]:
        """Yield the files to which the paths in a file lead, also those in folders."""
        for used in self._uses_of(path):
            if used.path in self.paths:
                yield used.path
            elif used.path.startswith(_OBJECT):
                yield from self._find_objects(used.path)
            elif used.is_module or (path in self._scripts and not self._is_chart(used.path)):
                yield from self._list_in(used.path, TABLE.naming)
            elif used.path != self._top:
                yield from self._list_below(used.path)

    def list_given(self, path: str, to_chart: bool) -> Iterator[str]:
        """Yield the files, such as values files, that a file names.

        With `to_chart`, also those of charts, and those of modules that a script names.
        """
        for used in self._uses_of(path):
            if used.path in self.paths:
                yield used.path
            elif used.path.startswith(_OBJECT):
                yield from self._find_objects(used.path)
            elif to_chart and self._is_chart(used.path):
                yield from self._list_below(used.path)
            elif to_chart and path in self._scripts:
                yield from self._list_in(used.path, TABLE.naming)

    def _is_chart(self, folder: str) -> bool:
        return any(os.path.join(folder, head) in self.paths for head in TABLE.package_heads)

    def _list_below(self, folder: str) -> list[str]:
        below = [path for path in self.paths if is_below(path, folder)]
        if not self._is_chart(folder):
            return below
        # Further values files of a chart belong to other releases.
        return [
            path
            for path in below
            if os.path.dirname(path) != folder or not any(word in os.path.basename(path) for word in TABLE.chosen)
        ]

    def list_users(self, targets: Collection[str]) -> Iterator[tuple[str, bool]]:
        """Yield the files with a path to one of `targets` or to its folder, and whether it leads to the file.

        A name of an object in a file counts as a path to the file.
        """
        if not self._users or not targets:
            return
        wanted: dict[_UsedPath, bool] = {}
        for path in targets:
            folder = os.path.dirname(path)
            wanted.setdefault(_UsedPath(folder, True), False)
            while is_below(folder, self._top):
                wanted.setdefault(_UsedPath(folder, False), False)
                folder = os.path.dirname(folder)
            for name in self.list_objects(path):
                wanted[_UsedPath(name, False)] = True
        wanted.update({_UsedPath(path, False): True for path in targets})
        may_name = self._make_search(targets)
        for user, data in self._users.items():
            if may_name(data):
                named = [wanted[used] for used in self._uses_of(user) if used in wanted]
                if named and list(targets) != [user]:
                    yield user, any(named)

    def _make_search(self, targets: Collection[str]) -> Callable[[bytes], bool]:
        """Return a check that is false for texts that certainly name none of the files, nor a folder around them."""
        import re

        if len(targets) > _FEW:
            return lambda data: True
        names = {name for path in targets for name in path[len(self._top) :].split(os.sep) if name}
        names.update(name[1:] for path in targets for name in self.list_objects(path))
        needles = [os.fsencode(name) for name in names]
        starts = [os.path.basename(os.fsencode(path)) for path in targets]
        defaults = [word for word, name in TABLE.above_default if name in names]

        def may_name(data: bytes) -> bool:
            if holds_any(data, needles) or holds_any(data, defaults) or re.search(_FOLDERS_ABOVE, data):
                return True
            return any(
                name.startswith(start) for start in set(re.findall(_BEFORE_A_VARIABLE, data)) for name in starts
            )

        return may_name

    def _match_below(self, folder: str, rest: str) -> list[str]:
        """Return the files below a folder whose paths a text with variables may name. Empty for no values file."""
        if not rest.endswith(_YAML) or folder == self._top or folder not in self._find_folders():
            return []
        import re

        fits, start = re.compile(_make_pattern(rest)).fullmatch, len(os.path.join(folder, ""))
        return [path for path in self.paths if is_below(path, folder) and fits(path[start:].replace(os.sep, "/"))]

    def _list_in(self, folder: str, endings: tuple[str, ...]) -> list[str]:
        return [path for path in self._find_folders().get(folder, ()) if path.endswith(endings)]

    def _uses_of(self, path: str) -> tuple[_UsedPath, ...]:
        found = self._uses.get(path)
        if found is None:
            found = self._uses[path] = tuple(dict.fromkeys((*self._search(path), *self._list_matched(path))))
        return found

    def _search(self, path: str) -> Iterator[_UsedPath]:
        data = self._users.get(path)
        if data is None:
            return
        import re

        if not path.endswith(_OWN) and holds_any(data, TABLE.script_words):
            self._scripts.add(path)
        folder = os.path.dirname(path)
        bases = [folder, self._top]
        if path.endswith(_YAML) and holds_any(data, TABLE.controllers):
            bases = [self._top, folder]
        is_above = path.endswith(TABLE.above)
        if is_above:
            bases = self._list_above(folder)
        text = re.sub(_CODE, "{{}}", re.sub(_COMMENT, "", data.decode(errors="replace")))
        unknown = []
        words = [*self._list_words(path, text)]
        if is_above:
            words += [name for word, name in TABLE.above_default if word in data]
        for word in words:
            found = self._resolve(word, bases)
            if is_above and found in ([], [path]):  # a file may name one above it that has its own name
                found = self._resolve(word, bases[1:]) or self._find_from_above(word, folder, bases)
            if not found:
                unknown.append(word)
                continue
            yield from (self._use(target, path) for target in found)
            if found[0] in self._find_folders() and len(bases) < _MOST_BASES:
                bases = [*bases, found[0]]
        # Values files are named relative to the folder of the chart.
        for word in unknown:
            yield from (self._use(target, path) for target in self._resolve(word, bases[2:]))
        if holds_any(data, TABLE.object_words):
            yield from (_UsedPath(_OBJECT + name, False) for name in re.findall(_OBJECT_NAME, text))

    def _list_matched(self, path: str) -> Iterator[_UsedPath]:
        """Yield the files that the patterns in a controller's object match, from the top of the repository."""
        data = self._users.get(path, b"")
        if not path.endswith(_YAML) or b"*" not in data or not holds_any(data, TABLE.controllers):
            return
        import fnmatch
        import re

        for word in dict.fromkeys(re.findall(_WORDS, data.decode(errors="replace"))):
            if "*" in word and "/" in word:
                pattern = os.path.join(self._top, word.rstrip("}").lstrip("/"))
                yield from (_UsedPath(name, False) for name in fnmatch.filter(self.paths, pattern))

    def _list_above(self, folder: str) -> list[str]:
        """Return a folder and the folders above it, the nearest first."""
        bases = [folder]
        while len(bases) < _MOST_BASES and is_below(folder, self._top) and folder != self._top:
            bases.append(folder := os.path.dirname(folder))
        return bases

    def _find_from_above(self, word: str, folder: str, bases: Sequence[str]) -> list[str]:
        """Return the paths that a word may name in a file that another file, in a folder below, includes.

        Empty if there is none.
        """
        word = word.lstrip("}./")
        if "/" in word:
            return self._resolve(word, bases)
        if not self._by_name:
            for path in self.paths:
                self._by_name.setdefault(os.path.basename(path), []).append(path)
        return [path for path in self._by_name.get(word, ()) if is_below(path, folder)]

    def _list_words(self, path: str, text: str) -> Iterable[str]:
        """Return the words of a text that may be paths, each once."""
        import re

        words: list[str] = re.findall(_WORDS, text)
        if path not in self._scripts:
            words = [w for w in words if "/" in w or "{" in w or w.rstrip("}").endswith(_TEXTS)]
        words += re.findall(_KEYED, text)
        if os.path.basename(path) in TABLE.names:
            words += re.findall(_LISTED, text)
        return dict.fromkeys(words)

    def _use(self, target: str, user: str) -> _UsedPath:
        return _UsedPath(target, user.endswith(TABLE.naming) and self._list_in(target, TABLE.naming) != [])

    def _resolve(self, word: str, bases: Sequence[str]) -> list[str]:
        """Return the paths of the repository that a word may name. Empty if there is none.

        A name that ends in a variable, such as `values-{{ .env }}.yaml`, may be of each file that begins so.
        """
        if "://" in word or word.startswith(("git@", "git::")):
            return []
        import re

        word = word.rstrip("}") if "{" not in word else word
        if (before := re.match(_BEFORE, word)) is not None:
            word = word[before.end() :]
        word = word.replace("//", "/").lstrip("}/")
        variable, start, whole = re.search(_VARIABLE, word), "", word
        if variable is not None:
            word, _, start = word[: variable.start()].rpartition("/")
        if not word.strip("./") and not start and (not word or variable is not None):
            return []
        for base in bases:
            path = os.path.normpath(os.path.join(base, word))
            if variable is not None and (named := self._match_below(path, whole[len(word) :].lstrip("/"))):
                return named
            if start:
                named = [
                    file for file in self._find_folders().get(path, ()) if os.path.basename(file).startswith(start)
                ]
                if named:
                    return named
            elif path in self.paths or path in self._find_folders():
                return [path]
        return []


def _make_pattern(word: str) -> str:
    """Return a regular expression for the paths that a word with variables may be. A variable is no `/`."""
    import re

    parts = re.split(_ANY_NAME, word)
    return "[^/]*".join(map(re.escape, parts))


def _is_user(path: str, data: bytes) -> bool:
    """Return whether a file that is in no form's own language may name others."""
    return holds_any(data, TABLE.naming_words if path.endswith(_YAML) else ()) or (
        path.endswith(_YAML + SCRIPTS) and holds_any(data, TABLE.script_words)
    )


def list_related(
    top: str, named: Iterable[str], found: Discovery, exclude: Excluded, include: Globs
) -> Iterator[str]:
    """Yield the files elsewhere below `top` that are rendered with the requested ones, `named`.

    A run over a part of a repository then judges the objects of the part as a run over all of it.
    """
    listed: list[str] = []
    is_repository = os.path.exists(os.path.join(top, ".git"))
    for path in list_files(os.path.relpath(top), exclude, include, Discovery()):
        if not is_repository and len(listed) >= _MOST_OUTSIDE:
            found.unsearched = _MOST_OUTSIDE
            break
        listed.append(path)
        if not len(listed) % _LISTED_AT_ONCE and RUN.is_over():
            found.late += 1
            return
    requested = {os.path.abspath(path) for path in named}
    if not is_repository:
        listed = _drop_clones(listed, requested)
    files = _RepositoryFiles(top, listed)
    if not include:
        found.around[top, exclude.key] = files.paths
    for path in _follow(files, [path for path in files.paths if path in requested]):
        if path not in requested and (path.endswith(_TEXTS) or os.path.basename(path) in TABLE.names):
            yield files.paths[path]


def _drop_clones(paths: Sequence[str], requested: Collection[str]) -> list[str]:
    """Return the requested paths, and those that are in no git repository.

    The files of a clone do not belong to the files next to it. `requested` are absolute paths.
    """
    folders = {os.path.dirname(path) for path in paths}
    outside = {folder for folder in folders if repository(os.path.abspath(folder)) is None}
    return [path for path in paths if os.path.dirname(path) in outside or os.path.abspath(path) in requested]


def _follow(files: _RepositoryFiles, requested: Sequence[str]) -> list[str]:
    """Return the files that use the requested ones, directly or through others, and all files that these use."""
    using = dict.fromkeys(requested)
    pending = list(requested)
    needed: dict[str, None] = {}
    naming: set[str] = set()
    while pending:
        more = dict.fromkeys(other for path in pending for other in files.list_beside(path))
        targets = [path for path in pending if may_be_related(files.paths[path])]
        for user, is_file in files.list_users(targets):
            more[user] = None
            if is_file:
                naming.add(user)
            needed.update(dict.fromkeys(files.list_given(user, to_chart=is_file)))
        pending = [path for path in more if path not in using]
        using.update(dict.fromkeys(pending))
    whole = (*TABLE.names, *[head for head in TABLE.heads if head.endswith(TABLE.naming)])
    # What is rendered with a value of a file is rendered with all that the file with its name uses.
    naming.update(requested)
    pending = [path for path in using if path in naming or os.path.basename(path) in whole]
    pending += [other for path in requested for other in files.list_beside(path)]
    reached = dict.fromkeys(pending)
    while pending:
        new = [path for path in files.list_used(pending.pop()) if path not in reached]
        reached.update(dict.fromkeys(new))
        pending += new
    return list({**using, **needed, **reached})
