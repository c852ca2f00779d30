"""Installations of Karpenter's controller by HelmReleases of Flux."""

from __future__ import annotations

from collections.abc import Iterator

from nodelint.forms.flux.charts import flux_layers
from nodelint.forms.lib.controller_install import ControllerFiles, install_by, is_controller
from nodelint.model.controller_settings import ControllerInstall
from nodelint.text import Source
from nodelint.text.missing import text_of


def find_installs(source: Source, files: ControllerFiles) -> Iterator[ControllerInstall]:
    """The installations by the HelmReleases of a file, and by patches of such."""
    tree = files.tree(source)
    for root in files.roots(source) if tree is not None else ():
        assert tree is not None
        if text_of(root.get("kind")) != "HelmRelease":
            continue
        spec = root.find("spec", "chart", "spec")
        chart = text_of(spec.get("chart")) if spec is not None else text_of(root.find("spec", "chartRef", "name"))
        is_patch = spec is None and root.find("spec", "chartRef") is None
        if not is_controller(chart or (text_of(root.find("metadata", "name")) if is_patch else "")):
            continue
        tree.gaps.clear()
        layers = flux_layers(root, tree)
        version = text_of(spec.get("version")) if spec is not None else ""
        unread = layers is None or is_patch or "HelmRelease" in files.patched
        yield install_by(root, "the HelmRelease", version, layers or [], tree, unread=unread)
