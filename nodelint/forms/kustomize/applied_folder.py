"""What Flux and Argo CD do to a folder that they apply: patches, components, names, namespace, labels.

https://fluxcd.io/flux/components/kustomize/kustomizations/
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from nodelint.forms.kustomize.configuration import Kustomization
from nodelint.forms.kustomize.files import Files
from nodelint.forms.kustomize.kustomizations import KUSTOMIZATIONS
from nodelint.forms.kustomize.overlay import Overlay
from nodelint.forms.kustomize.values import YamlTree, new_text, read_json
from nodelint.text import Node, Source

_SAME = ("patches", "namePrefix", "nameSuffix")
_OLDER = ("patchesStrategicMerge", "patchesJson6902")
"""Fields of v1beta2 that hold whole objects where kustomize has texts; they are not built."""
_MOST_FILES = 500


def changes_objects(root: Node) -> bool:
    """Whether a Kustomization of Flux changes the objects of its folder, in ways that are built."""
    spec = root.get("spec")
    if spec is None or any(spec.get(field) is not None for field in _OLDER):
        return False
    fields = (*_SAME, "components", "targetNamespace", "commonMetadata")
    return any(spec.get(field) is not None for field in fields)


def flux_fields(root: Node) -> YamlTree:
    """The fields of a kustomization that do what a Kustomization of Flux does; `components` from its folder on."""
    made = YamlTree("mapping", root)
    spec = read_json(root).get("spec") or YamlTree("mapping")
    for name in (*_SAME, "components"):
        if (value := spec.get(name)) is not None:
            made.put(name, value)
    if (namespace := spec.get("targetNamespace")) is not None:
        made.put("namespace", namespace)
    if (annotations := spec.get("commonMetadata", "annotations")) is not None:
        made.put("commonAnnotations", annotations)
    if (labels := spec.get("commonMetadata", "labels")) is not None:
        pairs = YamlTree("mapping", labels.at)
        pairs.put("pairs", labels)
        made.put("labels", YamlTree("sequence", labels.at))
        made.fields["labels"].value.items = [pairs]
    return made


def argo_fields(kustomize: Node) -> YamlTree:
    """The same of what an Application of Argo CD says of kustomize for one of its sources.

    https://argo-cd.readthedocs.io/en/stable/user-guide/kustomize/
    """
    made = YamlTree("mapping", kustomize)
    value = read_json(kustomize)
    for name in (*_SAME, "components", "namespace", "commonAnnotations", "commonLabels"):
        if (field := value.get(name)) is not None:
            made.put(name, field)
    return made


class AppliedFolder(Overlay):
    """What a controller makes of a folder: a kustomization over the one in it, or over its files.

    `root` is the object that says so, `fields` what a kustomization of the same effect has beside its resources.
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
        """The fields of a kustomization that do the same."""
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
        """The folder, where it has a kustomization; else the folders and files that Flux finds in it."""
        if self._has_kustomization(self.below):
            yield self.below
            return
        count = 0
        for around, folders, names in os.walk(self.below):
            below = [name for name in sorted(folders) if self._has_kustomization(os.path.join(around, name))]
            yield from (os.path.join(around, name) for name in below)
            folders[:] = [name for name in sorted(folders) if name not in below and not name.startswith(".")]
            for name in sorted(names):
                count += 1
                if name.endswith((".yaml", ".yml")) and not name.startswith(".") and count <= _MOST_FILES:
                    yield os.path.join(around, name)

    def _has_kustomization(self, folder: str) -> bool:
        return any(os.path.isfile(os.path.join(folder, name)) for name in KUSTOMIZATIONS)
