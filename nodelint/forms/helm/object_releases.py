"""Find the charts of the repository that deployed programs install: templates of `cdk synth`, and stacks of Pulumi.

Sources: aws-cdk-lib/aws-eks/lib/helm-chart.ts at v2.170.0; the deployment that `pulumi stack export` prints, and
https://www.pulumi.com/registry/packages/kubernetes/api-docs/helm/v3/release/.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from nodelint.forms.helm.controller_objects import merge_values
from nodelint.forms.lib.chart_places import CHART
from nodelint.forms.lib.chart_values import RepositoryTree, ValuesLayer, merge_layer, read_block
from nodelint.forms.requests import InstallChart
from nodelint.text import Node
from nodelint.text.missing import items_of, text_of

CDK = "Custom::AWSCDK-EKS-HelmChart"
PULUMI = re.compile(r"kubernetes:helm\.sh/v[34]:(?:Release|Chart)")
_ASSET = re.compile(r"/([0-9a-f]{64})\.zip\b")
"""The end of the address of a chart that the CDK copies to `asset.<hash>` beside its template."""


def install_charts(root: Node, tree: RepositoryTree) -> Iterator[InstallChart]:
    """Yield the charts of the repository that a template of the CDK or a stack of Pulumi installs."""
    resources = root.get("Resources")
    for entry in resources.entries if resources is not None else ():
        properties = entry.value.get("Properties")
        if properties is not None and text_of(entry.value.get("Type")) == CDK:
            written = properties.get("Values")
            values = read_block(written) if written is not None else None
            if written is not None and values is None:
                tree.gaps.append(written)
            yield from _read_release(properties, _find_cdk_chart(properties, tree), values, tree)
    for kind, given in _list_pulumi(root):
        if PULUMI.fullmatch(kind) is not None:
            folder = _find_folder(given, text_of(given.get("chart")), tree)
            yield from _read_release(given, folder, given.get("values"), tree)


def _list_pulumi(root: Node) -> Iterator[tuple[str, Node]]:
    """Yield the type and the inputs of each resource in a stack's export or in a program in YAML."""
    for resource in items_of(root.find("deployment", "resources")):
        inputs = resource.get("inputs")
        if inputs is not None:
            yield text_of(resource.get("type")), inputs
    resources = root.get("resources") if root.get("runtime") is not None else None
    for entry in resources.entries if resources is not None else ():
        properties = entry.value.get("properties")
        if properties is not None:
            yield text_of(entry.value.get("type")), properties


def _read_release(at: Node, folder: str | None, values: Node | None, tree: RepositoryTree) -> Iterator[InstallChart]:
    """Yield the release of a chart in a folder of the repository. Nothing without such a folder."""
    if folder is None:
        return
    layers: list[ValuesLayer] = []
    for name in items_of(at.get("valueYamlFiles")):
        found = tree.read_named(os.path.dirname(os.path.abspath(at.source.path)), name)
        layers += [merge_layer(found)] if found is not None else []
    layers += merge_values(values, tree)
    release = text_of(at.get("Release")) or text_of(at.get("name")) or os.path.basename(folder)
    yield InstallChart(folder, layers, by=(os.path.abspath(at.source.path), f"release {release}"))


def _find_cdk_chart(properties: Node, tree: RepositoryTree) -> str | None:
    """Return the folder of a chart: of its path, or of the asset beside the template. None for a remote chart."""
    address = properties.get("ChartAssetURL")
    if address is None:
        return _find_folder(properties, text_of(properties.get("Chart")), tree)
    asset = _ASSET.search(address.source.text, address.start, address.end)
    return _find_folder(properties, f"./asset.{asset[1]}", tree) if asset is not None else None


def _find_folder(at: Node, written: str, tree: RepositoryTree) -> str | None:
    """Return the folder of a chart by its path from the folder of a file, or from one above it. None without one."""
    around = os.path.dirname(os.path.abspath(at.source.path))
    while written.startswith((".", "/")) or "/" in written:
        folder = os.path.normpath(os.path.join(around, written.lstrip("/")))
        if "://" not in written and tree.exists(folder, CHART):
            return folder
        if around in (tree.home, os.path.dirname(around)):
            break
        around = os.path.dirname(around)
    return None
