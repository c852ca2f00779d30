"""Render a folder as a controller changes it: with patches, components, names, namespace and labels."""

from __future__ import annotations

import os
from collections.abc import Iterator

from nodelint.files.gate import gate
from nodelint.forms.kustomize.configuration import Kustomization
from nodelint.forms.kustomize.files import Files
from nodelint.forms.kustomize.kustomizations import KUSTOMIZATIONS
from nodelint.forms.kustomize.overlay import Overlay
from nodelint.forms.kustomize.values import YamlTree, new_text, read_json
from nodelint.forms.requests import ApplyFolder
from nodelint.text import Node, Source
from nodelint.text.limits import note_more

_MOST_FILES = 5000
"""The most files of one folder that a controller applies."""


def read_fields(request: ApplyFolder) -> YamlTree:
    """Return the fields of a kustomization that make the same changes as a controller."""
    made = YamlTree("mapping", request.by)
    for name, written in request.fields.items():
        value = read_json(written)
        if name == "labels":
            pairs = YamlTree("mapping", value.at)
            pairs.put("pairs", value)
            value = YamlTree("sequence", value.at)
            value.items = [pairs]
        made.put(name, value)
    return made


class AppliedFolder(Overlay):
    """A folder as a controller changes it: a kustomization over the one in the folder, or over its files.

    `root` is the object that applies the folder. `fields` are the fields of an equivalent kustomization, except its
    resources.
    """

    def __init__(self, files: Files, root: Node, folder: str, fields: YamlTree) -> None:
        super().__init__(files, os.path.dirname(os.path.abspath(root.source.path)))
        self._root = root
        self.below = folder
        self._fields = fields
        self._is_read = False

    def _read(self, folder: str) -> Kustomization | None:
        if self._is_read:
            return super()._read(folder)
        self._is_read = True
        source = self._root.source
        assert isinstance(source, Source)
        path = os.path.abspath(source.path)
        self.parts.setdefault(path)
        return Kustomization(self.folder, path, source, self._configuration())

    def _configuration(self) -> YamlTree:
        """Return a kustomization with the same effect as the controller's object."""
        made = YamlTree("mapping", self._root)
        resources = YamlTree("sequence", self._root)
        resources.items = [
            new_text(os.path.relpath(path, self.folder), self._root) for path in self._list_resources()
        ]
        made.put("resources", resources)
        for name, field in self._fields.fields.items():
            made.put(name, field.value, field.key)
        components = self._fields.get("components")
        if components is not None:
            below = os.path.relpath(self.below, self.folder)
            made.put("components", YamlTree("sequence", components.at))
            made.fields["components"].value.items = [
                new_text(path if "://" in path else os.path.join(below, path), item.at)
                for item in components.items
                for path in [str(item.value)]
            ]
        return made

    def _list_resources(self) -> Iterator[str]:
        """Yield the folder if it has a kustomization, else the folders and files in it that a controller applies."""
        if self._has_kustomization(self.below):
            yield self.below
            return
        count = 0
        for around, folders, names in gate.walk(self.below):
            below = [name for name in sorted(folders) if self._has_kustomization(os.path.join(around, name))]
            yield from (os.path.join(around, name) for name in below)
            folders[:] = [name for name in sorted(folders) if name not in below and not name.startswith(".")]
            for name in sorted(names):
                count += 1
                if name.endswith((".yaml", ".yml")) and not name.startswith(".") and count <= _MOST_FILES:
                    yield os.path.join(around, name)
        note_more(self.below, count, _MOST_FILES, "files in this folder, which a controller applies", 0)

    def _has_kustomization(self, folder: str) -> bool:
        return any(gate.is_file(os.path.join(folder, name)) for name in KUSTOMIZATIONS)
