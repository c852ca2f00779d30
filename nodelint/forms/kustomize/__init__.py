"""Render Kustomize overlays without running kustomize.

Files: `kustomization.yaml`, `kustomization.yml`, `Kustomization`, and the files that they name in the same
repository. Renders each overlay that no other one includes, and folders that a controller applies. Not known: files
that kustomize would fetch, and plugins and functions that it would run: such an overlay is not rendered, and is
reported.
"""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from nodelint.forms.interface import FormRun
    from nodelint.forms.lib.chart_values import RepositoryTree
    from nodelint.forms.lib.controller_install import ControllerFiles
    from nodelint.forms.lib.missing_sources import MissingSource
    from nodelint.forms.lib.unread_inputs import UnreadInputs
    from nodelint.forms.rendered import Built
    from nodelint.forms.requests import ApplyFolder, FolderUse, InstallChart
    from nodelint.model.controller_settings import ControllerInstall
    from nodelint.model.gap import Gap
    from nodelint.text import Node, Source
    from nodelint.text.syntax_errors import SyntaxProblem


def is_part(path: str) -> bool | None:
    """Return whether a kustomization names a file as a patch.

    None if that cannot be determined from kustomizations.
    """
    from nodelint.forms.kustomize.kustomizations import is_patch

    return is_patch(path)


def find_patched_folder(path: str) -> str | None:
    """Return the folder of the kustomization next to a file or above it that names the file as a patch."""
    from nodelint.forms.kustomize.kustomizations import patched_in

    return patched_in(path)


def builds_on(patch: str, base: str) -> bool:
    """Return whether an overlay that names a patch includes the file of another object, directly or indirectly."""
    from nodelint.forms.kustomize import kustomizations

    return kustomizations.builds_on(patch, base)


def list_read_with(path: str) -> Iterator[str]:
    """Yield the kustomizations that name a requested file, and the files that they include."""
    from nodelint.forms.kustomize import kustomizations

    return kustomizations.list_read_with(path)


def list_applied_folders(files: UnreadInputs) -> Iterator[FolderUse]:
    """Yield the folders and files that commands apply, and the charts that kustomizations inflate."""
    from nodelint.forms.kustomize import charts, commands

    yield from commands.list_applied_folders(files)
    yield from charts.list_applied_folders(files)


def forget() -> None:
    """Clear the cache of kustomizations. A server calls it when one changes."""
    from nodelint.forms.kustomize import kustomizations

    kustomizations.forget()


def render(run: FormRun) -> None:
    """Render the overlays of a run."""
    from nodelint.forms.kustomize.overlays import build_native

    built, unbuilt = build_native(run.sources, run.folder_files)
    run.built += built
    run.unbuilt += unbuilt


def apply_folder(request: ApplyFolder, run: FormRun) -> Built | Gap | None:
    """Render the folder of a request as its controller changes it. Return None if it has no Karpenter object."""
    from nodelint.forms.kustomize.files import Files
    from nodelint.forms.kustomize.overlays import build_applied

    files = run.keep("files of applied folders", lambda: Files(run.by_path))
    return build_applied(request, files, run.sources)


def install_charts(root: Node, tree: RepositoryTree) -> Iterator[InstallChart]:
    """Yield the charts of the repository that a kustomization inflates."""
    from nodelint.forms.kustomize import charts

    return charts.install_charts(root, tree)


def find_given_values(root: Node, charts: Collection[str]) -> Iterator[tuple[str, Node]]:
    """Yield the values that a kustomization passes to a chart whose folder is not in `charts`.

    Each item is the name of the chart, and the mapping of values.
    """
    from nodelint.forms.kustomize import charts as own

    return own.find_given_values(root, charts)


def find_installs(source: Source, files: ControllerFiles) -> Iterator[ControllerInstall]:
    """Yield the installations of Karpenter's controller by a kustomization."""
    from nodelint.forms.kustomize import controller

    return controller.find_installs(source, files)


def list_inputs(
    sources: Sequence[Source], builds: Sequence[Built], folder_files: Sequence[str], paths: Collection[str]
) -> Iterator[str]:
    """Yield the paths of the kustomizations that were rendered, and of those that may include an object."""
    from nodelint.forms.kustomize import unread_inputs

    return unread_inputs.list_inputs(sources, builds, folder_files)


def find_root_fault(roots: Sequence[Node | None]) -> SyntaxProblem | None:
    """Return the reason why kustomize refuses a kustomization that is valid YAML. None if it accepts it."""
    from nodelint.forms.kustomize import unread_inputs

    return unread_inputs.find_root_fault(roots)


def find_missing_path(source: Source) -> SyntaxProblem | None:
    """Return the first path of the repository in a kustomization that does not exist. None if all exist."""
    from nodelint.forms.kustomize import unread_inputs

    return unread_inputs.find_missing_path(source)


def list_missing(source: Source, sources: Sequence[Source], of_any: bool = False) -> Iterator[MissingSource]:
    """Yield the files and folders that a kustomization names and that do not exist."""
    from nodelint.forms.kustomize import missing_sources

    return missing_sources.list_missing(source, sources, of_any)
