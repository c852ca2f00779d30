"""Flux: Kustomizations that apply folders, and HelmReleases that install charts.

Files: any manifest with an object of Flux. Renders what a Kustomization makes of the overlay or the files of its
folder: variables of `postBuild`, and patches, by a request to whom builds folders. Asks for the chart of each
HelmRelease, with its values. Not known: what a Secret holds, and objects that are not in the repository.
"""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from nodelint.forms.input_text import InputText
    from nodelint.forms.interface import FormRun
    from nodelint.forms.lib.chart_values import RepositoryTree
    from nodelint.forms.lib.controller_install import ControllerFiles
    from nodelint.forms.lib.unread_inputs import UnreadInputs
    from nodelint.forms.requests import FolderUse, InstallChart
    from nodelint.model.controller_settings import ControllerInstall
    from nodelint.model.gap import Gap
    from nodelint.text import Node, Source


def read_beside(run: FormRun) -> None:
    """Read the ConfigMaps whose values Kustomizations fill in."""
    from nodelint.forms.flux.kustomizations import read_config_maps

    run.sources += read_config_maps(run.sources, run.seen)


def render(run: FormRun) -> None:
    """Put what Kustomizations make of folders in the place of these, where they change something."""
    from nodelint.forms.flux.kustomizations import apply_kustomizations

    unbuilt: list[Gap] = []
    run.put_in_place(apply_kustomizations(run, unbuilt))
    run.unbuilt += unbuilt


def install_charts(root: Node, tree: RepositoryTree) -> Iterator[InstallChart]:
    """Return the chart of the repository that a HelmRelease installs."""
    from nodelint.forms.flux import charts

    return charts.install_charts(root, tree)


def find_given_values(root: Node, charts: Collection[str]) -> Iterator[tuple[str, Node]]:
    """Values that a HelmRelease gives to a chart without a template here, each with the name of the chart."""
    from nodelint.forms.flux import charts as own

    return own.find_given_values(root, charts)


def find_hidden_values(root: Node, charts: Collection[str], sources: Mapping[str, Source]) -> Iterator[Gap]:
    """Return what a HelmRelease takes for a chart of the files from where it cannot be read."""
    from nodelint.forms.flux import charts as own

    return own.find_hidden_values(root, charts, sources)


def find_installs(source: Source, files: ControllerFiles) -> Iterator[ControllerInstall]:
    """Return the installations of Karpenter's controller by HelmReleases."""
    from nodelint.forms.flux import controller

    return controller.find_installs(source, files)


def list_unread_values(chart: str, files: UnreadInputs) -> Iterator[InputText]:
    """Return the HelmReleases whose values for a chart come from where they cannot be read."""
    from nodelint.forms.flux import unread_values

    return unread_values.list_unread_values(chart, files)


def list_applied_folders(files: UnreadInputs) -> Iterator[FolderUse]:
    """Return the folders that Kustomizations apply, and the charts that HelmReleases install."""
    if not any(".toolkit.fluxcd.io" in source.text for source in files.by_path.values()):
        return iter(())
    from nodelint.forms.flux import applied

    return applied.list_applied_folders(files)
