"""Find the charts that Argo CD Applications and ApplicationSets install, and the values that they pass."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator

from nodelint.files.safe_read import find_top
from nodelint.forms.argocd.application_sets import list_applications
from nodelint.forms.lib.chart_values import (
    RepositoryTree,
    ValuesLayer,
    merge_layer,
    read_block,
    read_setting,
)
from nodelint.forms.lib.values import read
from nodelint.forms.requests import InstallChart
from nodelint.text import Node, Source
from nodelint.text.missing import items_of, text_of
from nodelint.text.unknown_value import UNKNOWN

ARGO = "argoproj.io/"


def install_charts(root: Node, tree: RepositoryTree) -> Iterator[InstallChart]:
    """Yield the charts of the repository that an Application, or each of an ApplicationSet, installs."""
    if not text_of(root.get("apiVersion")).startswith(ARGO) or root.get("kind") is None:
        return
    patch = find_values_patch(root)
    for spec in list_specs(root, tree.read_file):
        by = os.path.abspath(root.source.path), name_applier(root, spec)
        # Without the file of a generator there is no such release, even if its values are written elsewhere.
        files = {id(node.source): node for node in spec.walk() if node.source is not root.source}
        inputs = [merge_layer(Node(node.source, 0, 0, "mapping", "flow")) for node in files.values()]
        for release in list_sources_of(spec):
            path, helm = text_of(release.get("path")), release.get("helm")
            if path:
                folder = os.path.normpath(os.path.join(tree.home, path))
                layers = list(argo_layers(helm, folder, tree)) if helm is not None else []
                entry = patch.own_entry if patch is not None else None
                yield InstallChart(folder, [*inputs, *layers], entry.key if entry is not None else None, by)


_OF_SOURCES = re.compile(r"\b(?:helm|sources?|path|chart|kustomize)[\"']?[ \t]*:")


def find_values_patch(root: Node) -> Node | None:
    """Return the `templatePatch` of an ApplicationSet that may change sources or values. None if it has none.

    The patch is rendered for each Application, and is not read.
    """
    patch = root.find("spec", "templatePatch") if text_of(root.get("kind")) == "ApplicationSet" else None
    return patch if patch is not None and _OF_SOURCES.search(patch.text) is not None else None


def name_applier(root: Node, spec: Node) -> str:
    """Return the kind and name of an Application. For an ApplicationSet, add the destination of one of its
    Applications, so that their names differ.
    """
    names = [text_of(root.get("kind")), text_of(root.find("metadata", "name"))]
    if names[0] == "ApplicationSet":
        names += [text_of(spec.find("destination", key)) for key in ("name", "server", "namespace")]
    return " ".join(names)


def list_sources(root: Node, read_file: Callable[[str], Source | None]) -> Iterator[Node]:
    """Yield the sources (`spec.source`, `spec.sources`) of an Application.

    For an ApplicationSet, yield the sources of the Applications that it creates. `read_file` returns a file by its
    absolute path.
    """
    for spec in list_specs(root, read_file):
        yield from list_sources_of(spec)


def list_sources_of(spec: Node) -> Iterator[Node]:
    """Yield the entries `source` and `sources` in the spec of an Application."""
    single = spec.get("source")
    yield from (*items_of(spec.get("sources")), *((single,) if single is not None else ()))


def list_specs(root: Node, read_file: Callable[[str], Source | None]) -> Iterator[Node]:
    """Yield the spec of an Application, or of each Application of an ApplicationSet."""
    kind, spec = text_of(root.get("kind")), root.get("spec")
    if kind == "Application" and spec is not None:
        yield spec
    elif kind == "ApplicationSet":
        yield from list_applications(root, read_file)


def list_generated_specs(root: Node) -> Iterator[Node]:
    """Yield the spec of each Application that an ApplicationSet creates from parameters in the repository."""
    if text_of(root.get("kind")) == "ApplicationSet" and text_of(root.get("apiVersion")).startswith(ARGO):
        yield from list_applications(root, read)


def argo_layers(helm: Node, folder: str | None, tree: RepositoryTree) -> Iterator[ValuesLayer]:
    """Yield the values that a source of an Application passes to its chart, the weakest first.

    `folder` is the folder of the chart. None for a chart in a registry, whose own files are not in the repository.
    """
    for node in items_of(helm.get("valueFiles")):
        name = text_of(node)
        of_another = re.match(r"\$[\w-]+/", name)
        within = name[of_another.end() :] if of_another is not None else name.lstrip("/")
        above = tree.home if of_another is not None or name.startswith("/") else folder
        root = tree.read_values(above, within, node) if name and "://" not in name and above is not None else None
        is_skipped = skips_missing(helm) and above is not None and not tree.exists(above, within)
        if root is None and not (folder is None and name == "values.yaml") and not is_skipped:
            broken = tree.find_broken(above, within) if above is not None and "://" not in name else None
            tree.gaps.append(broken or node)
        if root is not None and (
            folder is None or os.path.abspath(root.source.path) != os.path.join(folder, "values.yaml")
        ):
            yield merge_layer(root)
    yield from _argo_inline(helm, tree)
    for node in items_of(helm.get("parameters")):
        key, value, forced = node.get("name"), node.get("value"), node.get("forceString")
        if key is not None and value is not None:
            typed = forced is None or forced.value is not True
            if (layer := read_setting(text_of(key), key, value, typed)) is not None:
                yield layer
            else:
                tree.gaps.append(node)
    for parameter in items_of(helm.get("fileParameters")):
        key, place = parameter.get("name"), parameter.get("path")
        if key is not None and place is not None:
            content = _read_parameter(place, folder, tree)
            if (layer := read_setting(text_of(key), key, content, typed=False)) is not None:
                yield layer


def skips_missing(helm: Node) -> bool:
    """Return whether Argo CD ignores missing values files."""
    setting = helm.get("ignoreMissingValueFiles")
    return setting is not None and setting.value is True


def _read_parameter(place: Node, folder: str | None, tree: RepositoryTree) -> Node:
    """Return the content of the file that a parameter names. UNKNOWN if the file cannot be read."""
    source = _find_parameter_file(text_of(place), folder, tree)
    if source is None or source.may_be_template:
        return Node(place.source, place.start, place.end, "scalar", place.style, UNKNOWN)
    return Node(source, 0, len(source.text), "scalar", "literal", source.text)


def _find_parameter_file(name: str, folder: str | None, tree: RepositoryTree) -> Source | None:
    """Return the file of a parameter, relative to the chart's folder, or to the top for `$name/` and `/`.

    None if unread.
    """
    within = re.sub(r"^\$[\w-]+/|^/", "", name)
    above = folder if within == name else tree.home
    return tree.read_file(os.path.normpath(os.path.join(above, within))) if within and above is not None else None


def _argo_inline(helm: Node, tree: RepositoryTree) -> Iterator[ValuesLayer]:
    """Yield the chart values written in an Application: `helm.values` and `helm.valuesObject`."""
    text, values = helm.get("values"), helm.get("valuesObject")
    if text is not None and (inner := text if text.kind == "mapping" else read_block(text)) is not None:
        yield merge_layer(inner, helm.source)
    elif text is not None and text.value not in (None, ""):
        tree.gaps.append(text)
    if values is not None and values.kind == "mapping":
        yield merge_layer(values)


def find_given_values(root: Node, charts: Collection[str]) -> Iterator[tuple[str, Node]]:
    """Yield the values that an Application passes to a chart whose folder is not in `charts`.

    Each item is the name or path of the chart, and the mapping of values.
    """
    if not text_of(root.get("apiVersion")).startswith(ARGO):
        return
    home = str(find_top(os.path.dirname(os.path.abspath(root.source.path))) or "")
    for entry in list_written_sources(root):
        where, helm = entry.get("path"), entry.get("helm")
        if helm is not None and os.path.normpath(os.path.join(home, text_of(where) or "-")) not in charts:
            name_node = entry.get("chart") or where
            shown = name_node.unquoted if name_node is not None else ""
            for given in filter(None, (helm.get("valuesObject"), helm.get("values"))):
                values = given if given.kind == "mapping" else read_block(given)
                if values is not None:
                    yield shown, values


def list_written_sources(root: Node) -> Iterator[Node]:
    """Yield the sources of an Application, or of an ApplicationSet's template, without filling in parameters."""
    is_set = text_of(root.get("kind")) == "ApplicationSet"
    spec = root.find("spec", "template", "spec") if is_set else root.get("spec")
    if spec is not None:
        yield from list_sources_of(spec)
