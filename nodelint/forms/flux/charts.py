"""Find the charts that Flux HelmReleases install, and the values that they pass."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial

from nodelint.files.gate import gate
from nodelint.files.safe_read import find_top, is_inside
from nodelint.forms.lib.chart_values import (
    RepositoryTree,
    ValuesLayer,
    folder_of,
    merge_layer,
    read_block,
    read_setting,
)
from nodelint.forms.registry import KUSTOMIZE
from nodelint.forms.requests import InstallChart
from nodelint.model.gap import FilePlace, Gap
from nodelint.text import Node, Source
from nodelint.text.missing import items_of, text_of
from nodelint.text.reading import nodes_of

HELM_GROUP = "helm.toolkit.fluxcd.io/"
_VALUES_FROM = "valuesFrom"


def install_charts(root: Node, tree: RepositoryTree) -> Iterator[InstallChart]:
    """Yield the chart that a HelmRelease names by its path in the repository. The path may not exist."""
    chart = text_of(root.find("spec", "chart", "spec", "chart")) if is_helm_release(root) else ""
    if chart:
        names = (text_of(root.find("metadata", key)) for key in ("namespace", "name"))
        by = os.path.abspath(root.source.path), " ".join(("HelmRelease", *names))
        yield InstallChart(find_chart_folder(chart, tree.home), flux_layers(root, tree), by=by)


def find_chart_folder(chart: str, home: str) -> str:
    """Return the absolute folder of a chart. Its path counts from the top of the repository, and cannot leave it."""
    return os.path.normpath(os.path.join(home, chart.lstrip("/")))


def is_helm_release(root: Node) -> bool:
    """Return whether an object is a HelmRelease."""
    kind = root.get("kind")
    return text_of(root.get("apiVersion")).startswith(HELM_GROUP) and kind is not None and kind.value == "HelmRelease"


def flux_layers(root: Node, tree: RepositoryTree) -> list[ValuesLayer]:
    """Return the values that a HelmRelease passes. `tree` records the files and objects that cannot be read."""
    layers: list[ValuesLayer] = []
    for item in items_of(root.find("spec", "chart", "spec", "valuesFiles")):
        if skips_missing(root) and not tree.exists(tree.home, text_of(item)):
            continue
        found = tree.read_named(tree.home, item)
        if found is not None and found.entries:
            # These files replace the chart's own values.yaml, which is used only if it is one of them.
            layers.append(merge_layer(found) if layers else ValuesLayer(found.source, partial(_instead, found)))
    for reference in items_of(root.find("spec", _VALUES_FROM)):
        node = _find_config_value(reference, root, tree)
        target = text_of(reference.get("targetPath"))
        layer = None
        if node is not None and target:
            layer = read_setting(target, node, node, True)
        elif node is not None and (inner := node if node.kind == "mapping" else read_block(node)) is not None:
            layer = merge_layer(inner)
        if layer is None:
            tree.gaps.append(reference)
        else:
            layers.append(layer)
    values = root.find("spec", "values")
    if values is not None and values.kind == "mapping":
        layers.append(merge_layer(values))
    return layers


def skips_missing(root: Node) -> bool:
    """Return whether Flux ignores the values files of a HelmRelease that do not exist."""
    setting = root.find("spec", "chart", "spec", "ignoreMissingValuesFiles")
    return setting is not None and setting.value is True


def _instead(values: Node, whole: Node) -> Node:
    return values


def list_values_objects(sources: Sequence[Source]) -> set[str]:
    """Return the names of the ConfigMaps and Secrets from which HelmReleases in some files take values."""
    texts = [source for source in sources if _VALUES_FROM in source.text and not source.may_be_template]
    roots = [root for source in texts for root in nodes_of(source) if is_helm_release(root)]
    return {text_of(item.get("name")) for root in roots for item in items_of(root.find("spec", _VALUES_FROM))} - {""}


def find_referenced_values(reference: Node, release: Node, sources: Mapping[str, Source]) -> Node | None:
    """Return the values that a `valuesFrom` of a HelmRelease names. None if they are encrypted or not found."""
    tree = RepositoryTree.around(release.source, dict(sources))
    return _find_config_value(reference, release, tree) if tree is not None else None


def _find_config_value(reference: Node, release: Node, tree: RepositoryTree) -> Node | None:
    """Return the values for a release in the nearest ConfigMap or Secret.

    None if there is none, or two are equally near.

    If a kustomization generates the object, the values are read from the file that it names.
    """
    kind, name = text_of(reference.get("kind")), text_of(reference.get("name"))
    key = text_of(reference.get("valuesKey")) or "values.yaml"
    if kind not in _GENERATORS or not name:
        return None
    namespace = text_of(release.find("metadata", "namespace"))
    around = folder_of(release.source)
    for files in (list(tree.sources.items()), _list_other_files(around, tree)):
        found: dict[int, list[Node]] = {}
        for path, source in files:
            if name not in source.text or not is_inside(path, tree.home) or source.may_be_template:
                continue
            values = list(_values_in(source, (kind, name, namespace), key, tree))
            shared = len(os.path.commonpath([around, os.path.dirname(path)]))
            found.setdefault(shared, []).extend(values)
        nearest = next((values for _, values in sorted(found.items(), reverse=True) if values), [])
        if nearest:
            return nearest[0] if len(nearest) == 1 else None
    return None


_GENERATORS = {"ConfigMap": "configMapGenerator", "Secret": "secretGenerator"}
"""The kinds of objects that hold values, and for each the field of a kustomization that generates it."""


_MOST_BESIDE = 100


def _list_other_files(folder: str, tree: RepositoryTree) -> Iterator[tuple[str, Source]]:
    """Yield files of a folder that are not in the run, up to a limit: an object with values need not
    name Karpenter.
    """
    names = gate.names(folder) if gate.is_folder(folder) else []
    manifests = [name for name in names if name.endswith((".yaml", ".yml"))]
    for path in (os.path.join(folder, name) for name in manifests[:_MOST_BESIDE]):
        if path not in tree.sources and (source := tree.read_file(path)) is not None:
            yield path, source


def _values_in(source: Source, wanted: tuple[str, str, str], key: str, tree: RepositoryTree) -> Iterator[Node]:
    """Yield the values in a file under a key of the object with a kind, name and namespace."""
    kind, name, namespace = wanted
    for root in nodes_of(source):
        if text_of(root.get("kind")) == kind and text_of(root.find("metadata", "name")) == name:
            own, value = text_of(root.find("metadata", "namespace")), _value_under(root, key)
            if value is not None and (not own or not namespace or own == namespace):
                yield value
        is_kustomization = os.path.basename(source.path) in KUSTOMIZE.names
        for node in items_of(root.get(_GENERATORS[kind]) if is_kustomization else None):
            files = node.get("files")
            for item in files.items if files is not None and text_of(node.get("name")) == name else ():
                own, _, path = text_of(item).rpartition("=")
                found = tree.read_values(os.path.dirname(os.path.abspath(source.path)), path, item)
                if found is not None and (own or os.path.basename(path)) == key:
                    yield found
            literals = node.get("literals")
            for item in literals.items if literals is not None and text_of(node.get("name")) == name else ():
                own, equals, text = text_of(item).partition("=")
                if equals and own == key:
                    yield Node(item.source, item.start, item.end, "scalar", "double", text.strip("\"'"))


def _value_under(root: Node, key: str) -> Node | None:
    """Return the text under a key of a ConfigMap or Secret. None if it is encrypted or missing."""
    if text_of(root.get("kind")) == "ConfigMap":
        return root.find("data", key)
    if root.get("sops") is not None:
        return None
    plain, encoded = root.find("stringData", key), root.find("data", key)
    if plain is not None or encoded is None:
        return plain
    from base64 import b64decode

    try:
        text = b64decode("".join(text_of(encoded).split()), validate=True).decode()
    except ValueError:
        return None
    return Node(encoded.source, encoded.start, encoded.end, "scalar", "double", text)


def find_given_values(root: Node, charts: Collection[str]) -> Iterator[tuple[str, Node]]:
    """Yield the values that a HelmRelease passes to a chart whose folder is not in `charts`.

    Each item is the name of the chart, and the mapping of values.
    """
    values = root.find("spec", "values")
    if values is not None and is_helm_release(root) and _chart_folder(root) not in charts:
        yield (
            text_of(root.find("spec", "chart", "spec", "chart")) or text_of(root.find("spec", "chartRef", "name")),
            values,
        )


def find_hidden_values(root: Node, charts: Collection[str], sources: Mapping[str, Source]) -> Iterator[Gap]:
    """Yield a gap for each `valuesFrom` of a HelmRelease that cannot be read.

    The chart must be in `charts`. The values may be encrypted, or their object may not be among the files.
    """
    if not is_helm_release(root) or _chart_folder(root) not in charts:
        return
    for reference in items_of(root.find("spec", _VALUES_FROM)):
        if find_referenced_values(reference, root, sources) is None:
            name = f"{text_of(reference.get('kind'))} `{text_of(reference.get('name'))}`"
            line = reference.source.position(reference.start).line
            reason = f"the values in the {name} are not known: what they change is not judged"
            yield Gap(FilePlace(reference.source.path, line), "values", reason)


def _chart_folder(root: Node) -> str:
    home = str(find_top(os.path.dirname(os.path.abspath(root.source.path))) or "")
    return os.path.normpath(os.path.join(home, text_of(root.find("spec", "chart", "spec", "chart")) or "-"))
