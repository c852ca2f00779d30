"""Find the charts that a kustomization inflates, and the values that it passes."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator

from nodelint.forms.kustomize.kustomizations import KUSTOMIZATIONS
from nodelint.forms.lib.chart_values import (
    RepositoryTree,
    ValuesLayer,
    merge_layer,
)
from nodelint.forms.lib.unread_inputs import UnreadInputs
from nodelint.forms.requests import FolderUse, InstallChart
from nodelint.model.finding import span_of
from nodelint.text import Node
from nodelint.text.missing import items_of, text_of
from nodelint.text.reading import nodes_of


def install_charts(root: Node, tree: RepositoryTree) -> Iterator[InstallChart]:
    """Yield the charts of the repository that a kustomization inflates.

    https://kubectl.docs.kubernetes.io/references/kustomize/builtins/#_helmchartinflationgenerator_
    """
    around = os.path.dirname(os.path.abspath(root.source.path))
    for chart, folder in list_inflated(root):
        yield InstallChart(
            folder, inflation_layers(chart, around, tree), by=(os.path.abspath(root.source.path), _name(chart))
        )


def list_applied_folders(files: UnreadInputs) -> Iterator[FolderUse]:
    """Yield the charts of the repository that kustomizations inflate."""
    for path in files.paths:
        source = files.read(path) if os.path.basename(path) in KUSTOMIZATIONS else None
        for root in nodes_of(source) if source is not None and "helmCharts" in source.text else ():
            for chart, folder in list_inflated(root):
                name = f"{_name(chart)} of {os.path.relpath(path, files.top).replace(os.sep, '/')}"
                terms = (
                    ("releaseName", text_of(chart.get("releaseName")) or text_of(chart.get("name"))),
                    ("namespace", text_of(chart.get("namespace"))),
                )
                yield FolderUse(name, folder, span_of(chart), release_terms=terms)


def list_inflated(root: Node) -> Iterator[tuple[Node, str]]:
    """Yield the entries of `helmCharts` of a kustomization, each with the absolute path of its chart's folder."""
    if os.path.basename(root.source.path) not in KUSTOMIZATIONS:
        return
    home = text_of(root.find("helmGlobals", "chartHome")) or "charts"
    folder = os.path.join(os.path.dirname(os.path.abspath(root.source.path)), home)
    for chart in items_of(root.get("helmCharts")):
        yield chart, os.path.normpath(os.path.join(folder, text_of(chart.get("name"))))


def _name(chart: Node) -> str:
    return f"helmCharts {text_of(chart.get('releaseName')) or text_of(chart.get('name'))}"


def inflation_layers(chart: Node, around: str, tree: RepositoryTree) -> list[ValuesLayer]:
    """Return the values that an entry of `helmCharts` passes to its chart, the weakest first."""
    own, inline = chart.get("valuesFile"), chart.get("valuesInline")
    more, merge = chart.get("additionalValuesFiles"), text_of(chart.get("valuesMerge")) or "override"
    base = tree.read_named(around, own) if own is not None else None
    given = [base, inline] if merge == "override" else [inline, base] if merge == "merge" else [inline]
    given += [tree.read_named(around, item) for item in items_of(more)]
    return [merge_layer(node) for node in given if node is not None and node.kind == "mapping"]


def find_given_values(root: Node, charts: Collection[str]) -> Iterator[tuple[str, Node]]:
    """Yield the inline values of charts whose folders are not in `charts`, each with the name of the chart."""
    folder, name = os.path.split(os.path.abspath(root.source.path))
    for chart in items_of(root.get("helmCharts")) if name in KUSTOMIZATIONS else ():
        local = os.path.join(folder, text_of(root.find("helmGlobals", "chartHome")) or "charts")
        values = chart.get("valuesInline")
        if values is not None and os.path.join(local, text_of(chart.get("name"))) not in charts:
            yield text_of(chart.get("name")), values
