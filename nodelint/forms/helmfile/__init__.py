"""Read helmfile releases, which install charts with values.

Files: `helmfile.yaml` and similar names, and files below `helmfile.d/`. Renders nothing itself: it requests rendering
of the chart of each installed release. Not known: what code in templates (`.gotmpl`) prints, secrets, values of
environments.
"""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nodelint.forms.input_text import InputText
    from nodelint.forms.lib.chart_values import RepositoryTree
    from nodelint.forms.lib.controller_install import ControllerFiles
    from nodelint.forms.lib.missing_sources import MissingSource
    from nodelint.forms.lib.unread_inputs import UnreadInputs
    from nodelint.forms.requests import FolderUse, InstallChart
    from nodelint.model.controller_settings import ControllerInstall
    from nodelint.text import Node, Source


def install_charts(root: Node, tree: RepositoryTree) -> Iterator[InstallChart]:
    """Yield the charts of the repository that a helmfile installs."""
    from nodelint.forms.helmfile import charts

    return charts.install_charts(root, tree)


def find_installs(source: Source, files: ControllerFiles) -> Iterator[ControllerInstall]:
    """Yield the installations of Karpenter's controller by a helmfile."""
    from nodelint.forms.helmfile import controller

    return controller.find_installs(source, files)


def list_unread_values(chart: str, files: UnreadInputs) -> Iterator[InputText]:
    """Yield the helmfiles that install a chart with template code in its values, and the files that they name."""
    from nodelint.forms.helmfile import unread_values

    return unread_values.list_unread_values(chart, files)


def list_applied_folders(files: UnreadInputs) -> Iterator[FolderUse]:
    """Yield the charts that releases of helmfiles install."""
    if not any("helmfile" in path for path in files.paths):
        return iter(())
    from nodelint.forms.helmfile import charts

    return charts.list_applied_folders(files)


def list_missing(source: Source, sources: Sequence[Source], of_any: bool = False) -> Iterator[MissingSource]:
    """Yield the paths of releases of helmfiles in a file that the repository does not have."""
    from nodelint.forms.helmfile import missing_sources

    return missing_sources.list_missing(source, sources, of_any)
