"""Kustomize: overlays, built as kustomize builds them, without running it.

Files: `kustomization.yaml`, `kustomization.yml`, `Kustomization`, and what they name in the same repository. Renders
each overlay that no other takes in, and for other forms a folder that a controller applies. Not known: what kustomize
would fetch, plugins and functions that it would run; such an overlay is not built, and that is said.
"""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from nodelint.forms.interface import FormRun
    from nodelint.forms.lib.chart_values import RepositoryTree
    from nodelint.forms.lib.controller_install import ControllerFiles
    from nodelint.forms.rendered import Built
    from nodelint.forms.requests import ApplyFolder, InstallChart
    from nodelint.model.controller_settings import ControllerInstall
    from nodelint.model.gap import Gap
    from nodelint.text import Node, Source
    from nodelint.text.syntax_errors import SyntaxProblem


def is_part(path: str) -> bool | None:
    """Whether a kustomization names a file as a patch; None where the object has to tell."""
    from nodelint.forms.kustomize.kustomizations import is_patch

    return is_patch(path)


def find_patched_folder(path: str) -> str | None:
    """The folder of the kustomization, beside a file or above it, that names the file as a patch."""
    from nodelint.forms.kustomize.kustomizations import patched_in

    return patched_in(path)


def builds_on(patch: str, base: str) -> bool:
    """Whether an overlay that names a patch takes the file of another object, directly or by way of others."""
    from nodelint.forms.kustomize import kustomizations

    return kustomizations.builds_on(patch, base)


def list_read_with(path: str) -> Iterator[str]:
    """The kustomizations that name a file which the user names, and the files that these take."""
    from nodelint.forms.kustomize import kustomizations

    return kustomizations.list_read_with(path)


def forget() -> None:
    """Read every kustomization anew: for a process that outlives a change of one."""
    from nodelint.forms.kustomize import kustomizations

    kustomizations.forget()


def render(run: FormRun) -> None:
    """Build the overlays of a run."""
    from nodelint.forms.kustomize.overlays import build_native

    built, unbuilt = build_native(run.sources, run.folder_files)
    run.built += built
    run.unbuilt += unbuilt


def apply_folder(request: ApplyFolder, run: FormRun) -> Built | Gap | None:
    """What a controller makes of a folder; None where no object is Karpenter's."""
    from nodelint.forms.kustomize.files import Files
    from nodelint.forms.kustomize.overlays import build_applied

    files = run.keep("files of applied folders", lambda: Files(run.by_path))
    return build_applied(request, files, run.sources)


def install_charts(root: Node, tree: RepositoryTree) -> Iterator[InstallChart]:
    """The charts of the repository that a kustomization inflates."""
    from nodelint.forms.kustomize import charts

    return charts.install_charts(root, tree)


def find_given_values(root: Node, charts: Collection[str]) -> Iterator[tuple[str, Node]]:
    """Values that a kustomization gives to a chart without a template here, each with the name of the chart."""
    from nodelint.forms.kustomize import charts as own

    return own.find_given_values(root, charts)


def find_installs(source: Source, files: ControllerFiles) -> Iterator[ControllerInstall]:
    """Return the installations of Karpenter's controller by a kustomization."""
    from nodelint.forms.kustomize import controller

    return controller.find_installs(source, files)


def list_inputs(
    sources: Sequence[Source], builds: Sequence[Built], folder_files: Sequence[str], paths: Collection[str]
) -> Iterator[str]:
    """The kustomizations that something is built of, or that may take in an object."""
    from nodelint.forms.kustomize import unread_inputs

    return unread_inputs.list_inputs(sources, builds, folder_files)


def find_root_fault(roots: Sequence[Node | None]) -> SyntaxProblem | None:
    """Why kustomize stops at a kustomization that is YAML."""
    from nodelint.forms.kustomize import unread_inputs

    return unread_inputs.find_root_fault(roots)


def find_missing_path(source: Source) -> SyntaxProblem | None:
    """The first path of the repository that a kustomization names and that is not there."""
    from nodelint.forms.kustomize import unread_inputs

    return unread_inputs.find_missing_path(source)
