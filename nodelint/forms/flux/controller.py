"""Find installations of Karpenter's controller by Flux HelmReleases."""

from __future__ import annotations

from collections.abc import Iterator

from nodelint.forms.flux.charts import flux_layers
from nodelint.forms.lib.chart_values import read_block
from nodelint.forms.lib.controller_install import ControllerFiles, install_by, is_controller
from nodelint.model.controller_settings import ControllerInstall
from nodelint.text import Node, Source
from nodelint.text.missing import items_of, text_of


def find_installs(source: Source, files: ControllerFiles) -> Iterator[ControllerInstall]:
    """Yield the installations by the HelmReleases of a file, and by patches of HelmReleases."""
    tree = files.tree(source)
    for root in _releases_in(source, files) if tree is not None else ():
        assert tree is not None
        spec = root.find("spec", "chart", "spec")
        tree.gaps.clear()
        layers = flux_layers(root, tree)
        version = text_of(spec.get("version")) if spec is not None else ""
        unread = files.keep("flux patches", lambda: _has_patch(files))
        yield install_by(root, "the HelmRelease", version, layers, tree, unread=unread)


def _releases_in(source: Source, files: ControllerFiles) -> Iterator[Node]:
    """Yield the HelmReleases of the controller in a file, and patches of them, in files or inline."""
    roots = files.roots(source)
    inline = (item.get("patch") for root in roots for item in items_of(root.get("patches")))
    patches = [read_block(patch) for patch in inline if patch is not None]
    for root in (*roots, *(patch for patch in patches if patch is not None)):
        spec = root.find("spec", "chart", "spec")
        chart = text_of(spec.get("chart")) if spec is not None else text_of(root.find("spec", "chartRef", "name"))
        name = text_of(root.find("metadata", "name")) if _is_patch(root) else ""
        if text_of(root.get("kind")) == "HelmRelease" and is_controller(chart or name):
            yield root


def _is_patch(release: Node) -> bool:
    return release.find("spec", "chart", "spec") is None and release.find("spec", "chartRef") is None


def _has_patch(files: ControllerFiles) -> bool:
    """Return whether a patch may change the values of a HelmRelease."""
    if "HelmRelease" in files.patched:
        return True
    sources = (source for source in files.sources if "HelmRelease" in source.text)
    return any(_is_patch(root) for source in sources for root in _releases_in(source, files))
