"""Read the fields of a kustomization, and find fields that nodelint does not support."""

from __future__ import annotations

import os
from collections.abc import Iterator

from nodelint.forms.kustomize.errors import BuildError
from nodelint.forms.kustomize.files import Files
from nodelint.forms.kustomize.values import YamlTree, read_json
from nodelint.text import Node, Source

_LISTS = (
    *(
        "resources",
        "bases",
        "components",
        "patches",
        "patchesStrategicMerge",
        "patchesJson6902",
        "labels",
        "replacements",
    ),
    *("images", "imageTags", "replicas", "vars", "configurations", "crds", "buildMetadata"),
    *("configMapGenerator", "secretGenerator", "generators", "transformers", "validators"),
    *("helmCharts", "helmChartInflationGenerator"),
)
_TEXTS = ("apiVersion", "kind", "namePrefix", "nameSuffix", "namespace")
_MAPPINGS = (
    "commonLabels",
    "commonAnnotations",
    "metadata",
    "generatorOptions",
    "openapi",
    "helmGlobals",
    "sortOptions",
)
_HEAD = frozenset({"apiVersion", "kind", "metadata"})
_FIELDS = {name.lower(): name for name in (*_LISTS, *_TEXTS, *_MAPPINGS)}
_ADDS = {
    "generators": "what its generators make",
    "helmCharts": "its Helm charts",
    "helmChartInflationGenerator": "its Helm charts",
    "configMapGenerator": "its generated ConfigMaps (they are no NodePools)",
    "secretGenerator": "its generated Secrets (they are no NodePools)",
    "buildMetadata": "the labels and annotations of `buildMetadata`",
}
"""Fields that add objects which nodelint does not render."""
OF_NO_NODES = frozenset(_ADDS[field] for field in ("configMapGenerator", "secretGenerator", "buildMetadata"))
"""Objects that are not rendered and are never pools or classes. Replacements read generated ConfigMaps."""
_ALTERS = {
    "transformers": "transformers may change any object",
    "openapi": "a schema of its own decides how patches are merged",
    "crds": "the schemas of CRDs decide which names are followed",
}
"""Fields whose effect nodelint cannot compute: with one of them, the resulting objects are not known."""


class Kustomization:
    """The kustomization of a folder. Fields have the names of kustomize, whatever their case in the file."""

    def __init__(self, folder: str, path: str, source: Source, value: YamlTree) -> None:
        self.folder = folder
        self.path = path
        self.source = source
        self.value = value
        self.faults: list[BuildError] = []
        """Fields that kustomize refuses: it then renders nothing."""

    @property
    def is_component(self) -> bool:
        return self.value.text("kind") == "Component"

    @property
    def start(self) -> Node:
        """Return the place to report if the file as a whole is wrong."""
        return self.value.at or Node(self.source, 0, 0, "scalar", "plain")

    def items(self, field: str) -> list[YamlTree]:
        """Return the items of a field that is a list."""
        value = self.value.get(field)
        return value.items if value is not None else []

    def texts(self, field: str) -> Iterator[tuple[str, Node | None]]:
        """Yield the strings in a field that is a list, each with its node."""
        for item in self.items(field):
            if isinstance(item.value, str):
                yield item.value, item.at

    def pairs(self, field: str) -> YamlTree | None:
        """Return a mapping of strings, such as labels. Raise `BuildError` if a value is not a string."""
        return check_texts(self.value.get(field))

    def taken(self) -> Iterator[tuple[str, Node | None]]:
        """Yield the files and folders that the kustomization includes, `bases` last."""
        yield from self.texts("resources")
        yield from self.texts("bases")

    def unbuilt(self) -> Iterator[tuple[Node | None, str]]:
        """Yield the key and a description of each setting that is not rendered."""
        for field, what in _ADDS.items():
            if self.items(field):
                yield self._key(field), what

    def check(self) -> None:
        """Raise `BuildError` for a field of the wrong type, or with an effect that is not known."""
        for fault in self.faults:
            raise fault
        if not set(self.value.fields) - _HEAD:
            raise BuildError(self.start, "the kustomization is empty")
        for field, why in _ALTERS.items():
            value = self.value.get(field)
            if value is not None and (value.items or value.fields):
                raise BuildError(self._key(field), f"`{field}` is not read: {why}", fails=False)

    def _key(self, field: str) -> Node | None:
        found = self.value.fields.get(field)
        return found.key if found is not None else None


def check_texts(value: YamlTree | None) -> YamlTree | None:
    """Return a mapping with only strings. Raise `BuildError` otherwise."""
    for name, field in value.fields.items() if value is not None else ():
        if not isinstance(field.value.value, str):
            raise BuildError(field.value.at, f"`{name}` must be a text; put it in quotes")
    return value


def read_kustomization(files: Files, folder: str) -> Kustomization | None:
    """Return the kustomization of a folder. None if there is none, or if the file is another kind of object.

    Raise `BuildError`, OSError.
    """
    path = files.find_kustomization(folder)
    if path is None:
        return None
    source = files.read(path)
    roots = files.read_roots(path)
    value = read_json(roots[0][0]) if roots else YamlTree("mapping")
    if value.kind != "mapping":
        raise BuildError(roots[0][0], "a kustomization is a mapping")
    if not value.text("apiVersion").startswith(("kustomize.config.k8s.io/", "")[value.get("apiVersion") is None]):
        return None
    named = YamlTree("mapping", value.at, value.exact)
    kustomization = Kustomization(os.path.normpath(folder), path, source, named)
    for name, field in value.fields.items():
        known = _FIELDS.get(name.lower())
        if known is None:
            kustomization.faults.append(BuildError(field.key, f"kustomize knows no field `{name}`"))
        elif (fault := _find_wrong_type(known, field.value)) is not None:
            kustomization.faults.append(fault)
        elif not field.value.is_null:
            named.fields[known] = field
    return kustomization


def _find_wrong_type(name: str, value: YamlTree) -> BuildError | None:
    if value.is_null:
        return None
    wanted = "sequence" if name in _LISTS else "mapping" if name in _MAPPINGS else "scalar"
    if value.kind != wanted or (wanted == "scalar" and not isinstance(value.value, str)):
        what = {"sequence": "a list", "mapping": "a mapping", "scalar": "a text"}[wanted]
        return BuildError(value.at, f"`{name}` must be {what}")
    return None
