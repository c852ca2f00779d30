"""What Terraform fills into a template: the arguments of its `templatefile`, and the defaults of variables.

A module's variables have the values of its `terraform.tfvars`, those that the one call of the module near it gives,
or their defaults. Nothing is evaluated but names of variables and locals.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from nodelint.source import reading
from nodelint.source.nodes import UNKNOWN, MappingEntry, Node

if TYPE_CHECKING:
    from nodelint.source.text import Source

_LARGEST = 1 << 20
_MOST_FILES = 300
_LEVELS = 4
"""Folders upwards in which a template's caller is looked for, with the folders in each."""
_MOST_FOLDERS = 100
_ENDS = (".tf", ".tofu")
_DEEPEST = 5


class Modules:
    """Modules of Terraform, each folder one, as far as templates ask for them."""

    def __init__(self) -> None:
        self._listed: dict[str, tuple[list[str], list[str]]] = {}
        self._near: dict[str, list[str]] = {}
        self._reading: dict[str, list[tuple[str, Source]]] = {}
        self._sources: dict[str, Source | None] = {}
        self._values: dict[str, dict[str, dict[str, Node]]] = {}

    def near(self, folder: str) -> list[str]:
        """The files of Terraform that may read what is in a folder: in it, above it, and in folders beside those."""
        if folder not in self._near:
            found: dict[str, None] = {}
            around = folder
            for _ in range(_LEVELS):
                below = self._list(around)[0]
                for each in (around, *(below if len(below) <= _MOST_FOLDERS else ())):
                    found.update(dict.fromkeys(self._list(each)[1]))
                above = os.path.dirname(around)
                if above == around or os.path.exists(os.path.join(around, ".git")) or len(found) > _MOST_FILES:
                    break
                around = above
            self._near[folder] = list(found)[:_MOST_FILES]
        return self._near[folder]

    def _list(self, folder: str) -> tuple[list[str], list[str]]:
        """The folders in a folder, and its files of Terraform."""
        if folder not in self._listed:
            folders, files = [], []
            try:
                for entry in os.scandir(folder):
                    if entry.name.endswith(_ENDS):
                        files.append(entry.path)
                    elif entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                        folders.append(entry.path)
            except OSError:
                pass
            self._listed[folder] = sorted(folders), sorted(files)
        return self._listed[folder]

    def given(self, path: str) -> Node | None:
        """What the one caller of a template fills into it; None where there is none, or there are several."""
        whole = os.path.abspath(path)
        name = os.path.basename(path)
        calls = []
        for file, source in self._readers(os.path.dirname(whole)):
            if name in source.text:
                calls += [(file, given) for given in _calls(source, file, whole)]
        if len(calls) != 1:
            return None
        file, given = calls[0]
        folder = os.path.dirname(file)
        pairs = [(entry.name, self._resolved(entry.value, folder, 0)) for entry in given.entries]
        return _mapping(given, {name: value for name, value in pairs if name is not None and value is not None})

    def _readers(self, folder: str) -> list[tuple[str, Source]]:
        """The files of Terraform near a folder that read templates."""
        if folder not in self._reading:
            sources = [(file, self._source(file)) for file in self.near(folder)]
            self._reading[folder] = [(file, each) for file, each in sources if each and "templat" in each.text]
        return self._reading[folder]

    def known(self, source: Source) -> Node | None:
        """The variables and locals that the expressions of a file may name, as `var` and `local`."""
        folder = os.path.dirname(os.path.abspath(source.path))
        root = Node(source, 0, 0, "mapping", "hcl")
        module = self._module(folder)
        local = {name: self._resolved(value, folder, 0) for name, value in module["local"].items()}
        known = {name: value for name, value in local.items() if value is not None}
        return _mapping(root, {"var": _mapping(root, module["var"]), "local": _mapping(root, known)})

    def _resolved(self, value: Node, folder: str, depth: int) -> Node | None:
        """A value, or what the variable or local that it names has; None where that is not known."""
        if value.kind != "scalar" or value.value is not UNKNOWN:
            return value
        name = re.fullmatch(r"(var|local)\.([\w-]+)", value.text)
        found = self._module(folder)[name[1]].get(name[2]) if name is not None and depth < _DEEPEST else None
        return None if found is None else self._resolved(found, folder, depth + 1)

    def _module(self, folder: str) -> dict[str, dict[str, Node]]:
        if folder not in self._values:
            found: dict[str, dict[str, Node]] = {"var": {}, "local": {}}
            for file in self._list(folder)[1]:
                source = self._source(file)
                if source is not None:
                    found["var"].update(_defaults(source))
                    found["local"].update(_locals(source))
            self._values[folder] = found
            found["var"].update(self._arguments(folder))
            found["var"].update(self._given_in(folder))
        return self._values[folder]

    def _arguments(self, folder: str) -> dict[str, Node]:
        """What the one call of a module gives to its variables; what is not known there is not known at all."""
        calls = []
        for file in self.near(folder):
            source = self._source(file)
            if source is not None and "module" in source.text and os.path.dirname(file) != folder:
                calls += [(file, given) for given in _module_calls(source, os.path.dirname(file), folder)]
        if len(calls) != 1:
            return {}
        file, given = calls[0]
        around = os.path.dirname(file)
        return {name: self._resolved(value, around, 0) or _unknown(value) for name, value in given.items()}

    def _given_in(self, folder: str) -> dict[str, Node]:
        """The values of the files that Terraform reads by itself."""
        from nodelint.source.hcl import members

        try:
            names = sorted(name for name in os.listdir(folder) if name.endswith(".auto.tfvars"))
        except OSError:
            return {}
        found: dict[str, Node] = {}
        for name in ("terraform.tfvars", *names):
            source = self._source(os.path.join(folder, name))
            if source is not None:
                found.update(members(source, None))
        return found

    def _source(self, path: str) -> Source | None:
        if path not in self._sources:
            from nodelint.source.text import Source

            try:
                home = reading.repository(os.path.dirname(path))
                self._sources[path] = Source(os.path.relpath(path), reading.read(path, _LARGEST, home).decode())
            except (OSError, ValueError):
                self._sources[path] = None
        return self._sources[path]


def _unknown(value: Node) -> Node:
    """In the place of an expression, whose names mean something else in another module."""
    return Node(value.source, value.start, value.start, "scalar", "plain", UNKNOWN)


def _mapping(at: Node, values: dict[str, Node]) -> Node:
    made = Node(at.source, at.start, at.end, "mapping", "hcl")
    made.entries = [MappingEntry(at, value, name) for name, value in values.items()]
    return made


def _defaults(source: Source) -> Iterator[tuple[str, Node]]:
    from nodelint.source.hcl import members

    for match in re.finditer(r'(?m)^[ \t]*variable[ \t]+"([\w-]+)"[ \t]*\{', source.text):
        value = members(source, match.end() - 1).get("default")
        if value is not None:
            yield match[1], value


def _locals(source: Source) -> Iterator[tuple[str, Node]]:
    from nodelint.source.hcl import members

    for match in re.finditer(r"(?m)^[ \t]*locals[ \t]*\{", source.text):
        yield from members(source, match.end() - 1).items()


def _module_calls(source: Source, folder: str, module: str) -> Iterator[dict[str, Node]]:
    """The arguments of each call of a module in a file of another folder."""
    from nodelint.source.hcl import members

    for match in re.finditer(r'(?m)^[ \t]*module[ \t]+"[\w-]+"[ \t]*\{', source.text):
        given = members(source, match.end() - 1)
        at = given.pop("source", None)
        path = at.value if at is not None and isinstance(at.value, str) else ""
        if path.startswith(".") and os.path.normpath(os.path.join(folder, path)) == module:
            yield given


def _calls(source: Source, file: str, template: str) -> Iterator[Node]:
    """What each call of a file gives to a template, by the template's whole path."""
    from nodelint.source.hcl import members, object_at

    folder = os.path.dirname(file)
    for match in re.finditer(r'\btemplatefile\(\s*"([^"\n]+)"\s*,\s*(?=\{)', source.text):
        if _path(match[1], folder) == template and (given := object_at(source, match.end())) is not None:
            yield given
    for match in re.finditer(r'(?m)^[ \t]*data[ \t]+"template_file"[ \t]+"[\w-]+"[ \t]*\{', source.text):
        found = members(source, match.end() - 1)
        text, given = found.get("template"), found.get("vars")
        read = re.search(r'\bfile\(\s*"([^"\n]+)"', text.text) if text is not None else None
        if read is not None and _path(read[1], folder) == template and given is not None and given.kind == "mapping":
            yield given


def _path(written: str, folder: str) -> str:
    relative = re.sub(r"^\$\{path\.(?:module|root|cwd)\}/?", "", written)
    return os.path.normpath(os.path.join(folder, relative))
