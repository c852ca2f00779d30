"""Find installations of Karpenter's controller by objects for helm charts other than those of Flux and Argo CD.

These are the HelmChart of k3s and RKE2, the Release of Crossplane's provider for Helm, and `fleet.yaml`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from nodelint.forms.lib.chart_values import (
    RepositoryTree,
    ValuesLayer,
    merge_layer,
    read_block,
    read_setting,
)
from nodelint.forms.lib.controller_install import ControllerFiles, install_by, is_controller
from nodelint.model.controller_settings import ControllerInstall
from nodelint.text import Node, Source
from nodelint.text.missing import items_of, text_of

_FLEET = ("fleet.yaml", "fleet.yml")
_K3S, _CROSSPLANE = "helm.cattle.io/", "helm.crossplane.io/"


def find_installs(source: Source, files: ControllerFiles) -> Iterator[ControllerInstall]:
    """Yield the installations by the objects of a file."""
    if not source.path.endswith((".yaml", ".yml", ".json")):
        return
    tree = files.tree(source)
    is_fleet = os.path.basename(source.path) in _FLEET
    for root in files.roots(source) if tree is not None else ():
        assert tree is not None
        tree.gaps.clear()
        group, kind = text_of(root.get("apiVersion")), text_of(root.get("kind"))
        if is_fleet and not kind:
            yield from _read_fleet(root, tree)
        elif kind == "HelmChart" and group.startswith(_K3S):
            yield from _read_helm_chart(root, files, tree)
        elif kind == "Release" and group.startswith(_CROSSPLANE):
            yield from _read_release(root, tree)


def _read_fleet(root: Node, tree: RepositoryTree) -> Iterator[ControllerInstall]:
    """Yield the installation by a Fleet file (https://fleet.rancher.io/ref-fleet-yaml)."""
    helm = root.get("helm")
    if helm is None or not is_controller(text_of(helm.get("chart"))):
        return
    around = os.path.dirname(os.path.abspath(root.source.path))
    layers = list(merge_values(helm.get("values"), tree))
    for item in items_of(helm.get("valuesFiles")):
        found = tree.read_named(around, item)
        layers += [merge_layer(found)] if found is not None else []
    unread = any(root.get(key) is not None for key in ("targetCustomizations", "overrideTargets"))
    unread |= any(helm.get(key) is not None for key in ("valuesFrom", "templateValues"))
    yield install_by(helm, "the fleet.yaml", text_of(helm.get("version")), layers, tree, unread)


def _read_helm_chart(root: Node, files: ControllerFiles, tree: RepositoryTree) -> Iterator[ControllerInstall]:
    """Yield the installation by a HelmChart of k3s (https://docs.k3s.io/helm)."""
    spec = root.get("spec")
    if spec is None or not is_controller(text_of(spec.get("chart"))):
        return
    layers = [*merge_values(spec.get("valuesContent"), tree), *merge_values(spec.get("values"), tree)]
    name = text_of(root.find("metadata", "name"))
    for other in (
        other for source in files.sources if "HelmChartConfig" in source.text for other in files.roots(source)
    ):
        if text_of(other.get("kind")) == "HelmChartConfig" and text_of(other.find("metadata", "name")) == name:
            layers += merge_values(other.find("spec", "valuesContent"), tree)
    settings = spec.get("set")
    for entry in settings.entries if settings is not None else ():
        layers += set_value(entry.key, entry.value, tree)
    unread = spec.get("valuesSecrets") is not None
    yield install_by(root, "the HelmChart", text_of(spec.get("version")), layers, tree, unread)


def _read_release(root: Node, tree: RepositoryTree) -> Iterator[ControllerInstall]:
    """Yield the installation by a Crossplane Release (https://github.com/crossplane-contrib/provider-helm)."""
    given = root.find("spec", "forProvider")
    chart = given.get("chart") if given is not None else None
    if given is None or chart is None or not is_controller(text_of(chart.get("name")) or text_of(chart.get("url"))):
        return
    layers = list(merge_values(given.get("values"), tree))
    for item in items_of(given.get("set")):
        layers += set_value(item.get("name"), item.get("value"), tree)
    unread = given.get("valuesFrom") is not None
    yield install_by(root, "the Release", text_of(chart.get("version")), layers, tree, unread)


def merge_values(values: Node | None, tree: RepositoryTree) -> Iterator[ValuesLayer]:
    """Yield the values of a mapping or of a YAML text. Record a gap for any other value."""
    found = values if values is None or values.kind == "mapping" else read_block(values)
    if found is not None:
        yield merge_layer(found)
    elif values is not None and values.value not in (None, ""):
        tree.gaps.append(values)


def set_value(name: Node | None, value: Node | None, tree: RepositoryTree) -> Iterator[ValuesLayer]:
    """Yield one value at a path, as with `--set`. Record a gap if it cannot be read."""
    layer = read_setting(text_of(name), name, value, True) if name is not None and value is not None else None
    if layer is not None:
        yield layer
    elif name is not None:
        tree.gaps.append(name)
