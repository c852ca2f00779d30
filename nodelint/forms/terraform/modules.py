"""Find and read Terraform modules. Files are read and parsed once."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.files.safe_read import find_top
from nodelint.forms.terraform.file_blocks import TerraformBlock, TerraformFile
from nodelint.forms.terraform.fill import ENDS
from nodelint.forms.terraform.json_syntax import read_file
from nodelint.text.limits import note_more

if TYPE_CHECKING:
    from nodelint.forms.terraform.terragrunt import TerragruntCall
    from nodelint.text.source import Source

_LARGEST = 1 << 20
_MOST_FILES = 5000
"""The most Terraform files that are searched for callers of a module or a template."""
_LEVELS = 4
"""The number of folders upwards in which a template's caller is searched, with their subfolders."""
_LEVELS_BELOW = 4
_MOST_FOLDERS = 2000
"""The most subfolders that are searched for callers."""
_LOCAL_CALL = r"source\"?\s*[=:]\s*\"\."
"""Text of a file that calls a module of the same repository."""


class KeptUnits(NamedTuple):
    """The Terragrunt units of a repository.

    - `calls`: the calls by the folder of the module.
    - `paths`: all files that were read for them.
    """

    calls: Mapping[str, Sequence[TerragruntCall]]
    paths: Collection[str]


class ModuleFiles:
    """Terraform files, each read at first use. `sources` were already read, or are files of another instance."""

    _listed: dict[str, tuple[list[str], list[str]]]
    _near: dict[str, list[str]]
    _below: dict[str, list[str]]
    _handed_in: dict[str, list[str]]
    """The given files by folder. In an editor, some may not exist on the disk."""
    _sources: dict[str, Source | None]
    _files: dict[str, TerraformFile]
    _calls: dict[str, list[tuple[str, TerraformFile, TerraformBlock]]]
    _units: dict[str, KeptUnits]

    _callers: dict[str, list[str]] | None = None

    def __init__(self, sources: Sequence[Source] | ModuleFiles = ()) -> None:
        if isinstance(sources, ModuleFiles):
            self._listed, self._near, self._handed_in = sources._listed, sources._near, sources._handed_in
            self._below, self._units = sources._below, sources._units
            self._sources, self._files, self._calls = sources._sources, sources._files, sources._calls
            return
        self._listed, self._near, self._below, self._handed_in = {}, {}, {}, {}
        self._sources = {os.path.abspath(source.path): source for source in sources}
        for path in self._sources:
            self._handed_in.setdefault(os.path.dirname(path), []).append(path)
        self._files, self._calls, self._units = {}, {}, {}

    def replace(self, changed: Mapping[str, Source]) -> ModuleFiles:
        """Return the files with new sources at some absolute paths. The other files are not read again."""
        made = ModuleFiles(self)
        made._sources = {**self._sources, **changed}
        made._files = {path: file for path, file in self._files.items() if path not in changed}
        made._calls = {path: calls for path, calls in self._calls.items() if path not in changed}
        made._units = {home: units for home, units in self._units.items() if changed.keys().isdisjoint(units.paths)}
        return made

    def near(self, folder: str) -> list[str]:
        """Return the Terraform files that may read files of a folder: below it, and below folders around it."""
        if folder not in self._near:
            found: dict[str, None] = {}
            around = folder
            for _ in range(_LEVELS):
                found.update(dict.fromkeys(self._list_files_below(around)))
                above = os.path.dirname(around)
                if above == around or find_top(around) == around or len(found) > _MOST_FILES:
                    break
                around = above
            note_more(
                folder,
                len(found),
                _MOST_FILES,
                "files of Terraform around this folder, which may call what is here",
                0,
            )
            self._near[folder] = list(found)[:_MOST_FILES]
        return self._near[folder]

    def _list_files_below(self, folder: str) -> list[str]:
        """Return the Terraform files in a folder and in the folders below it.

        The result is cached for neighbouring folders.
        """
        if folder not in self._below:
            below = (folder, *self._list_below(folder))
            self._below[folder] = [path for near_folder in below for path in self._list(near_folder)[1]]
        return self._below[folder]

    def _list_below(self, folder: str) -> list[str]:
        """Return the folders below a folder (`environments/prod/eu-west-1`), level by level, up to a limit."""
        found: list[str] = []
        level = self._list(folder)[0]
        for _ in range(_LEVELS_BELOW):
            if len(found) + len(level) > _MOST_FOLDERS:
                what = "folders here, which may call modules"
                note_more(folder, len(found) + len(level), len(found), what, 0)
                break
            found += level
            level = [inner for outer in level for inner in self._list(outer)[0]]
        return found

    def _list(self, folder: str) -> tuple[list[str], list[str]]:
        """Return the subfolders of a folder, and its Terraform files."""
        if folder not in self._listed:
            folders, files = [], []
            try:
                for name, is_folder in gate.entries(folder):
                    if name.endswith(ENDS):
                        files.append(os.path.join(folder, name))
                    elif is_folder and not name.startswith("."):
                        folders.append(os.path.join(folder, name))
            except OSError:
                pass
            files += (path for path in self._handed_in.get(folder, ()) if path.endswith(ENDS))
            self._listed[folder] = sorted(folders), sorted({*files})
        return self._listed[folder]

    def files(self, folder: str) -> list[TerraformFile]:
        """Return the parsed Terraform files of the module in a folder."""
        found = (self.file(path) for path in self._list(folder)[1])
        return [file for file in found if file is not None]

    def read_texts(self, folder: str) -> list[Source]:
        """Return the Terraform files of the module in a folder as sources, without parsing them."""
        found = map(self.source, self._list(folder)[1])
        return [source for source in found if source is not None]

    def file(self, path: str) -> TerraformFile | None:
        """Return a Terraform file. None if it cannot be read."""
        if path not in self._files:
            source = self.source(path)
            if source is None:
                return None
            self._files[path] = read_file(source)
        return self._files[path]

    def local_calls(self, path: str) -> list[tuple[str, TerraformFile, TerraformBlock]]:
        """Return the calls of modules of the same repository in a file: the module's folder, the file, the block."""
        if path not in self._calls:
            found = self._calls[path] = []
            source = self.source(path)
            file = self.file(path) if source is not None and re.search(_LOCAL_CALL, source.text) else None
            for block in file.blocks if file is not None else ():
                at = file.attributes(block).get("source") if file is not None and block.kind == "module" else None
                if file is not None and at is not None and isinstance(at.value, str) and at.value.startswith("."):
                    found.append((os.path.normpath(os.path.join(os.path.dirname(path), at.value)), file, block))
        return self._calls[path]

    def callers(self, folder: str) -> list[str]:
        """Return the files that may call a module: the files near it, and given files that do call it."""
        if self._callers is None:
            self._callers = {}
            for path in (path for paths in self._handed_in.values() for path in paths if path.endswith(ENDS)):
                for called, _, _ in self.local_calls(path):
                    self._callers.setdefault(called, []).append(path)
        return list(dict.fromkeys([*self.near(folder), *sorted(self._callers.get(folder, ()))]))

    def texts(self) -> list[str]:
        """Return the texts of all files that were read so far, in an order that does not depend on their paths."""
        return sorted(source.text for source in self._sources.values() if source is not None)

    def source(self, path: str) -> Source | None:
        """Return a file of the repository. None if it cannot be read."""
        if path not in self._sources:
            from nodelint.text.source import Source  # here, because that module imports the readers of Terraform

            try:
                self._sources[path] = Source(os.path.relpath(path), gate.read(path, _LARGEST).decode())
            except (OSError, ValueError):
                self._sources[path] = None
        return self._sources[path]
