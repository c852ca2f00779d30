"""Find installations of Karpenter's controller by `helmCharts` of a kustomization."""

from __future__ import annotations

import os
from collections.abc import Iterator

from nodelint.forms.kustomize.charts import inflation_layers
from nodelint.forms.lib.controller_install import KARPENTER_CHART, ControllerFiles, install_by
from nodelint.model.controller_settings import ControllerInstall
from nodelint.text import Source
from nodelint.text.missing import items_of, text_of


def find_installs(source: Source, files: ControllerFiles) -> Iterator[ControllerInstall]:
    """Yield the installations by the charts that a kustomization inflates."""
    tree = files.tree(source)
    around = os.path.dirname(os.path.abspath(source.path))
    for root in files.roots(source) if tree is not None else ():
        assert tree is not None
        generates = text_of(root.get("kind")) == "HelmChartInflationGenerator"
        for node in (*items_of(root.get("helmCharts")), *((root,) if generates else ())):
            if text_of(node.get("name")) == KARPENTER_CHART:
                layers = inflation_layers(node, around, tree)
                yield install_by(node, "the kustomization", text_of(node.get("version")), layers, tree)
