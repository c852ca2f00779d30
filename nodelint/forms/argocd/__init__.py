"""Render Argo CD Applications and ApplicationSets, which install charts and change overlays.

Files: any manifest with such an object. Requests rendering of overlays with the `kustomize` fields of a source, and
of the chart of each source with its values, for each Application that a set creates with its list, git and matrix
generators. Not known: the results of other generators, and plugins.
"""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from nodelint.forms.input_text import InputText
    from nodelint.forms.interface import FormRun
    from nodelint.forms.lib.chart_values import RepositoryTree
    from nodelint.forms.lib.controller_install import ControllerFiles
    from nodelint.forms.lib.missing_sources import MissingSource
    from nodelint.forms.lib.unread_inputs import UnreadInputs
    from nodelint.forms.requests import FolderUse, InstallChart
    from nodelint.model.controller_settings import ControllerInstall
    from nodelint.text import Node, Source


def render(run: FormRun) -> None:
    """Replace the rendered overlays with the overlays as Applications change them."""
    if run.folder_files:
        from nodelint.forms.argocd.kustomizations import apply_sources

        run.put_in_place(apply_sources(run))


def install_charts(root: Node, tree: RepositoryTree) -> Iterator[InstallChart]:
    """Yield the charts of the repository that an Application, or each of an ApplicationSet, installs."""
    from nodelint.forms.argocd import charts

    return charts.install_charts(root, tree)


def find_given_values(root: Node, charts: Collection[str]) -> Iterator[tuple[str, Node]]:
    """Yield the values that an Application passes to a chart whose folder is not in `charts`.

    Each item is the name or path of the chart, and the mapping of values.
    """
    from nodelint.forms.argocd import charts as own

    return own.find_given_values(root, charts)


def find_installs(source: Source, files: ControllerFiles) -> Iterator[ControllerInstall]:
    """Yield the installations of Karpenter's controller by Applications."""
    from nodelint.forms.argocd import controller

    return controller.find_installs(source, files)


def list_unread_values(chart: str, files: UnreadInputs) -> Iterator[InputText]:
    """Yield the values that Applications pass to a chart and that are only partly known."""
    from nodelint.forms.argocd import unread_values

    return unread_values.list_unread_values(chart, files)


def list_applied_folders(files: UnreadInputs) -> Iterator[FolderUse]:
    """Yield the folders that Applications apply."""
    yaml = (source for path in files.paths if path.endswith((".yaml", ".yml")) and (source := files.read(path)))
    if not any("argoproj.io/" in source.text for source in yaml):
        return iter(())
    from nodelint.forms.argocd import kustomizations

    return kustomizations.list_applied_folders(files)


def list_missing(source: Source, sources: Sequence[Source], of_any: bool = False) -> Iterator[MissingSource]:
    """Yield the paths of Applications in a file that the repository does not have."""
    from nodelint.forms.argocd import missing_sources

    return missing_sources.list_missing(source, sources, of_any)
