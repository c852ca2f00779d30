"""Render Flux Kustomizations, which apply folders, and HelmReleases, which install charts.

Files: any manifest with a Flux object. Fills in the variables of a Kustomization's `postBuild`, and requests
rendering of its folder with its patches, and of the chart of each HelmRelease with its values. Not known: the content
of Secrets, and objects that are not in the repository.
"""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from nodelint.forms.input_text import InputText
    from nodelint.forms.interface import FormRun
    from nodelint.forms.lib.chart_values import RepositoryTree
    from nodelint.forms.lib.controller_install import ControllerFiles
    from nodelint.forms.lib.missing_sources import MissingSource
    from nodelint.forms.lib.unread_inputs import UnreadInputs
    from nodelint.forms.requests import FolderUse, InstallChart
    from nodelint.model.controller_settings import ControllerInstall
    from nodelint.model.gap import Gap
    from nodelint.text import Node, Source


def read_needed_files(run: FormRun) -> None:
    """Read the ConfigMaps and Secrets from which Kustomizations take variables, and HelmReleases values."""
    from nodelint.forms.flux.kustomizations import read_objects_with_values

    run.sources += read_objects_with_values(run.sources, run.seen)


def render(run: FormRun) -> None:
    """Replace the rendered folders with the folders as Kustomizations change them."""
    from nodelint.forms.flux.kustomizations import apply_kustomizations

    unbuilt: list[Gap] = []
    run.put_in_place(apply_kustomizations(run, unbuilt))
    run.unbuilt += unbuilt


def install_charts(root: Node, tree: RepositoryTree) -> Iterator[InstallChart]:
    """Yield the chart of the repository that a HelmRelease installs."""
    from nodelint.forms.flux import charts

    return charts.install_charts(root, tree)


def find_given_values(root: Node, charts: Collection[str]) -> Iterator[tuple[str, Node]]:
    """Yield the values that a HelmRelease passes to a chart whose folder is not in `charts`.

    Each item is the name of the chart, and the mapping of values.
    """
    from nodelint.forms.flux import charts as own

    return own.find_given_values(root, charts)


def find_hidden_values(root: Node, charts: Collection[str], sources: Mapping[str, Source]) -> Iterator[Gap]:
    """Yield a gap for each `valuesFrom` of a HelmRelease that cannot be read, if its chart is in `charts`."""
    from nodelint.forms.flux import charts as own

    return own.find_hidden_values(root, charts, sources)


def find_installs(source: Source, files: ControllerFiles) -> Iterator[ControllerInstall]:
    """Yield the installations of Karpenter's controller by HelmReleases."""
    from nodelint.forms.flux import controller

    return controller.find_installs(source, files)


def list_unread_values(chart: str, files: UnreadInputs) -> Iterator[InputText]:
    """Yield the values that HelmReleases pass to a chart and that cannot be read."""
    from nodelint.forms.flux import unread_values

    return unread_values.list_unread_values(chart, files)


def list_applied_folders(files: UnreadInputs) -> Iterator[FolderUse]:
    """Yield the folders that Kustomizations apply, and the charts that HelmReleases install."""
    if not any(".toolkit.fluxcd.io" in source.text for source in files.by_path.values()):
        return iter(())
    from nodelint.forms.flux import applied

    return applied.list_applied_folders(files)


def list_missing(source: Source, sources: Sequence[Source], of_any: bool = False) -> Iterator[MissingSource]:
    """Yield the paths of Flux objects in a file that the repository does not have."""
    from nodelint.forms.flux import missing_sources

    return missing_sources.list_missing(source, sources, of_any)
