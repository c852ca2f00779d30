"""Find the charts that a helmfile installs, and the values that it passes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator

from nodelint.files.gate import gate
from nodelint.forms.lib.chart_values import (
    RepositoryTree,
    ValuesLayer,
    merge_layer,
    read_setting,
)
from nodelint.forms.lib.unread_inputs import UnreadInputs, in_one_line
from nodelint.forms.requests import FolderUse, InstallChart
from nodelint.model.finding import span_of
from nodelint.model.gvk import is_other_kind
from nodelint.text import Node, Source
from nodelint.text.missing import items_of, text_of
from nodelint.text.placeholders import mask
from nodelint.text.reading import nodes_of
from nodelint.text.syntax_errors import Unreadable
from nodelint.text.yaml.compose import compose

HELMFILE = re.compile(r"(?:^|/)(?:helmfile[^/]*|helmfile\.d/[^/]+)\.ya?ml(?:\.gotmpl)?$")

ENVIRONMENT = re.compile(r"\{\{-?\s*\.Environment\.Name\s*-?\}\}")
"""Code that stands for the name of the environment that is applied."""


def install_charts(root: Node, tree: RepositoryTree) -> Iterator[InstallChart]:
    """Yield the charts of the repository that a helmfile installs.

    https://helmfile.readthedocs.io/en/latest/#configuration
    """
    if HELMFILE.search(root.source.path) is None:
        return
    folder = os.path.dirname(os.path.abspath(root.source.path))
    for release in items_of(root.get("releases")):
        chart, installed = text_of(release.get("chart")), release.get("installed")
        if chart and "://" not in chart and (installed is None or installed.value is not False):
            path = os.path.normpath(os.path.join(folder, chart))
            by = os.path.abspath(root.source.path), f"release {text_of(release.get('name'))}"
            for environment in _list_applied_environments(release):
                layers = helmfile_layers(release, folder, tree, environment)
                yield InstallChart(
                    path, layers, by=(by[0], f"{by[1]} of environment {environment}" if environment else by[1])
                )


def list_environments(root: Node) -> set[str] | None:
    """Return the environments for which a helmfile may be applied. None if these are not known.

    Other files may declare some, or a values file may be missing. Without a name, helmfile applies the environment
    `default`, which a helmfile need not declare.
    """
    source = root.source
    if "missingFileHandler" in source.text or not isinstance(source, Source):
        return None
    nodes = [node for node in nodes_of(source) if node.kind == "mapping"]
    declared = [node.get("environments") for node in nodes]
    if any(node.get("bases") is not None for node in nodes) or any(
        found is not None and (found.kind != "mapping" or any(entry.name is None for entry in found.entries))
        for found in declared
    ):
        return None
    names = (entry.name for found in declared if found is not None for entry in found.entries)
    return {"default", *filter(None, names)}


def _list_applied_environments(release: Node) -> list[str]:
    """Return the environments whose names choose the values files of a release. One empty name if none does."""
    named = [item.unquoted for item in items_of(release.get("values")) if ENVIRONMENT.search(item.unquoted)]
    known = list_environments(release) if named else None
    if known is None:
        return [""]
    folder = os.path.dirname(os.path.abspath(release.source.path))
    there = [
        name
        for name in sorted(known)
        if any(gate.is_file(os.path.join(folder, ENVIRONMENT.sub(name, path))) for path in named)
    ]
    return there or [""]


def helmfile_layers(release: Node, folder: str, tree: RepositoryTree, environment: str = "") -> list[ValuesLayer]:
    """Return the values that a release of a helmfile passes to its chart, the weakest first.

    `environment` is the one that is applied, if it is known.
    """
    layers = []
    for item in items_of(release.get("values")):
        if environment and item.kind == "scalar" and ENVIRONMENT.search(item.unquoted):
            path = ENVIRONMENT.sub(environment, item.unquoted)
            item = Node(item.source, item.start, item.end, "scalar", item.style, path)
        given = item if item.kind == "mapping" else _read_template(folder, item, tree)
        if given is None:
            given = tree.read_named(folder, item)
        elif given is not item and "{{" in given.text:
            tree.gaps.append(item)  # a value that its code prints is not known
        layers += [merge_layer(given)] if given is not None else []
    for item in items_of(release.get("set")):
        name, value = item.get("name"), item.get("value")
        layer = read_setting(text_of(name), name, value, True) if name is not None and value is not None else None
        if layer is None:
            tree.gaps.append(item)
        else:
            layers.append(layer)
    for key in ("inherit", "secrets", "setTemplate", "valuesTemplate"):
        tree.gaps.extend(filter(None, [release.get(key)]))
    for key in _PATCHES:
        patches = release.get(key)
        if patches is not None and list_patches(patches, lambda name: tree.read_file(os.path.join(folder, name))):
            tree.gaps.append(patches)
    return layers


def list_patches(patches: Node, read_file: Callable[[str], Source | None]) -> list[str]:
    """Return the patches and transformers of a release that may change pools or classes, each on one line.

    `read_file` returns the file with a path that the release names.
    """
    found = []
    for item in patches.items:
        name = text_of(item)
        source = read_file(name) if name else None
        for root in nodes_of(source) if source is not None else [item]:
            kind = text_of(root.get("kind") if root.get("target") is None else root.find("target", "kind"))
            is_builtin = text_of(root.get("apiVersion")) == "builtin"
            if is_builtin or not is_other_kind(kind):
                found.append(in_one_line(root))
    return found


def _read_template(folder: str, name: Node, tree: RepositoryTree) -> Node | None:
    """Return the values in a template that helmfile renders: what its code prints is not known.

    None if code decides which keys there are.
    """
    path = os.path.normpath(os.path.join(folder, text_of(name)))
    source = tree.read_file(path) if path.endswith(".gotmpl") else None
    if source is None:
        return None
    text, lines = mask(source.text)
    try:
        roots = compose(source, text, 0, masked=True) if not lines else []
    except Unreadable:
        return None
    root = roots[0] if len(roots) == 1 else None
    return root if root is not None and root.kind == "mapping" and all(e.name for e in root.entries) else None


_DECIDING = ("condition", "namespace", "kubeContext")
"""Fields of a release that decide whether it is installed, and where."""
_PATCHES = ("strategicMergePatches", "jsonPatches", "transformers")
"""Fields of a release that change its rendered objects."""


def list_applied_folders(files: UnreadInputs) -> Iterator[FolderUse]:
    """Yield the charts that releases of helmfiles install."""
    for path in files.paths:
        source = files.read(path) if HELMFILE.search(path.replace(os.sep, "/")) else None
        for root in nodes_of(source) if source is not None and not source.may_be_template else ():
            for release in items_of(root.get("releases")):
                chart, installed = text_of(release.get("chart")), release.get("installed")
                if chart and "://" not in chart and (installed is None or installed.value is not False):
                    folder = os.path.normpath(os.path.join(os.path.dirname(path), chart))
                    fields = ((name, release.get(name)) for name in _DECIDING)
                    terms = tuple((name, in_one_line(found)) for name, found in fields if found is not None)
                    terms += tuple(_list_patch_terms(release, os.path.dirname(path), files))
                    yield FolderUse(f"release {text_of(release.get('name'))}", folder, span_of(release), terms)


def _list_patch_terms(release: Node, folder: str, files: UnreadInputs) -> Iterator[tuple[str, str]]:
    for name in _PATCHES:
        patches = release.get(name)
        if patches is not None:
            found = list_patches(patches, lambda path: files.read(os.path.normpath(os.path.join(folder, path))))
            yield from ((name, text) for text in found)
