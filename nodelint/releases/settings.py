"""Controller settings in files: values of its chart, variables and flags of its Deployment.

`inventory.controller_installs` reads the installations. Settings that are not in `data/settings.json` are ignored,
because charts have many other values. A setting applies to the objects that are nearest to its file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.data import table
from nodelint.forms.registry import TABLE
from nodelint.model.controller_settings import ControllerInstall, list_gates
from nodelint.model.releases import Version, releases_match
from nodelint.releases import folders_of
from nodelint.text import Source

if TYPE_CHECKING:
    from typing import Any

    from nodelint.forms.terraform.terraform_trace import TerraformBlocks

INSTALLING = (*TABLE.installing_words, "karpenter/controller", "settings:", "settings.")
"""Texts of which a file that installs the controller, or sets values of its chart, contains at least one."""


@cache
def _rows(kind: str, key: str) -> dict[str, Any]:
    """Return the rows of a kind that have a key, by the value of this key."""
    return {row[key]: row for row in reversed(table("settings")[kind]) if key in row}


class StatedSetting(NamedTuple):
    """A setting in a file: `name` is the name of a feature gate, or of a variable. `folders` are the folders of the
    file's path.
    """

    folders: tuple[str, ...]
    gate: bool
    name: str
    value: str


class ControllerFacts:
    """The settings of the controller that manages an object, as far as files state them."""

    def __init__(self, stated: Sequence[StatedSetting], release: Version, has_gaps: bool = False) -> None:
        self._stated = stated
        self._release = release
        self.has_gaps = has_gaps
        """True if the controller has further values that could not be read, and that may set other settings."""

    def gate(self, name: str) -> bool | None:
        """Return whether a feature gate is on.

        None if no file states `true` or `false`, or if the release does not have the gate.
        """
        row = _rows("gates", "gate").get(name)
        if row is None or not releases_match(row["releases"], self._release):
            return None
        value = self._value(name, gate=True)
        return {"true": True, "false": False}.get(value.lower()) if value is not None else None

    def setting(self, variable: str) -> str | None:
        """Return the value of a setting by its variable, such as `MIN_VALUES_POLICY`. None if files state no value or
        several.

        None as well if the release does not have the setting.
        """
        row = _rows("settings", "variable").get(variable)
        known = row is not None and releases_match(row["releases"], self._release)
        return self._value(variable, gate=False) if known else None

    def is_open(self, variable: str) -> bool:
        """Return whether the release has a setting whose value is not known: it is a placeholder, or may be in values
        that were not read.
        """
        row = _rows("settings", "variable").get(variable)
        if row is None or not releases_match(row["releases"], self._release) or self.setting(variable) is not None:
            return False
        return self.has_gaps or any(not setting.gate and setting.name == variable for setting in self._stated)

    def _value(self, name: str, gate: bool) -> str | None:
        found = {setting.value for setting in self._stated if (setting.gate, setting.name) == (gate, name)}
        return found.pop() if len(found) == 1 and "" not in found else None


class StatedSettings:
    """All settings that the files of a run state, with look-up by the path of an object's file.

    `find` reads the installations on first use. `others` are files of the run without a manifest, `files` are all of
    them. `read_stating` returns the files that may state a release, also those of the repositories around the run.
    """

    def __init__(
        self,
        find: Callable[[], Sequence[ControllerInstall]],
        others: Sequence[Source] = (),
        files: Sequence[Source] = (),
        read_stating: Callable[[], Sequence[Source]] = tuple,
    ) -> None:
        self._find = find
        self._read_stating = read_stating
        self._facts: dict[tuple[tuple[str, ...], Version], ControllerFacts] = {}
        self._matches: dict[re.Pattern[str] | str, tuple[list[Source], list[Source]]] = {}
        self.others = others
        self.files = files

    @cached_property
    def stating(self) -> Sequence[Source]:
        """Return the files that may state a release, also those of the repositories around the run."""
        return self._read_stating()

    @cached_property
    def scripts(self) -> list[Source]:
        """Return the files without a manifest that install the controller by a command."""
        if not self.others:
            return []
        from nodelint.forms.lib.chart_commands import INSTALLS_CONTROLLER

        return [source for source in self.others if re.search(INSTALLS_CONTROLLER, source.text)]

    @cached_property
    def installs(self) -> Sequence[ControllerInstall]:
        """Return all installations of the controller."""
        return self._find()

    @cached_property
    def terraform(self) -> TerraformBlocks:
        """Return the Terraform blocks in the files of the run and next to them, computed once for all objects."""
        from nodelint.forms.terraform.terraform_trace import TerraformBlocks

        return TerraformBlocks(self.files)

    @cached_property
    def _stated_settings(self) -> list[StatedSetting]:
        return [setting for install in self.installs for setting in stated_settings(install)]

    def files_with(self, pattern: re.Pattern[str] | str) -> tuple[list[Source], list[Source]]:
        """Return (found in `files`, found in `others`): the sources that contain a text or match a pattern."""
        found = self._matches.get(pattern)
        if found is None:
            searched = ([file for file in files if is_match(file, pattern)] for files in (self.files, self.others))
            found = self._matches[pattern] = next(searched), next(searched)
        return found

    def for_path(self, path: str, release: Version) -> ControllerFacts:
        """Return the settings in the files that have the deepest folder in common with a path."""
        folders = folders_of(path)
        known = self._facts.get((folders, release))
        if known is None:
            known = self._facts[folders, release] = self._find_facts(folders, release)
        return known

    def _find_facts(self, folders: tuple[str, ...], release: Version) -> ControllerFacts:
        prefixes = [folders[:depth] for depth in range(len(folders), -1, -1)]
        nearest = next((prefix for prefix in prefixes if prefix in self._below), None)
        gap = next((prefix for prefix in prefixes if prefix in self._gaps), None)
        has_gaps = gap is not None and len(gap) >= len(nearest or ())
        return ControllerFacts(self._below[nearest] if nearest is not None else (), release, has_gaps)

    @cached_property
    def _below(self) -> dict[tuple[str, ...], list[StatedSetting]]:
        """Return the settings below each folder."""
        found: dict[tuple[str, ...], list[StatedSetting]] = {}
        for setting in self._stated_settings:
            for depth in range(len(setting.folders) + 1):
                found.setdefault(setting.folders[:depth], []).append(setting)
        return found

    @cached_property
    def _gaps(self) -> set[tuple[str, ...]]:
        """Return the folders below which an installation has values that are not known."""
        ends = [folders_of(install.at.source.path) for install in self.installs if install.has_gaps]
        return {folders[:depth] for folders in ends for depth in range(len(folders) + 1)}


def is_match(file: Source, pattern: re.Pattern[str] | str) -> bool:
    """Return whether a file holds a text or matches a pattern. A pattern is searched once in a text."""
    if isinstance(pattern, str):
        return pattern in file.text
    return file.once(pattern, lambda: pattern.search(file.text) is not None)


def stated_settings(install: ControllerInstall) -> Iterator[StatedSetting]:
    """Yield the settings that one installation states. The value is empty if it is not known."""
    folders = folders_of(install.at.source.path)
    for setting in install.settings:
        variable = setting.variable
        if variable is not None and (setting.value or not setting.is_known):
            yield StatedSetting(folders, False, variable, setting.value)
        for gate, state in list_gates(*setting[:3]):
            yield StatedSetting(folders, True, gate, state)
