"""Render Kustomize overlays without running kustomize.

Files: `kustomization.yaml`, `kustomization.yml`, `Kustomization`, and the files that they name in the same
repository. Renders each overlay that no other one includes or that something applies, and folders that a controller
applies. Not known: files that kustomize would fetch, and plugins and functions that it would run: such an overlay is
not rendered, and is reported.
"""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nodelint.forms.interface import FormRun
    from nodelint.forms.lib.unread_inputs import UnreadInputs
    from nodelint.forms.rendered import Built
    from nodelint.forms.requests import ApplyFolder, FolderUse
    from nodelint.model.gap import Gap

IN_MODULES = {
    "list_inputs": "unread_inputs",
    "is_part": "kustomizations.is_patch",
    "find_patched_folder": "kustomizations.patched_in",
    "builds_on": "kustomizations",
    "list_read_with": "kustomizations",
    "forget": "kustomizations",
    "install_charts": "charts",
    "find_given_values": "charts",
    "find_installs": "controller",
    "find_root_fault": "unread_inputs",
    "find_missing_path": "unread_inputs",
    "list_missing": "missing_sources",
}
"""Functions of the form (see `Form`) in modules of this package, which a run loads only if it needs them."""


def list_applied_folders(files: UnreadInputs) -> Iterator[FolderUse]:
    """Yield the folders and files that commands apply, and the charts that kustomizations inflate."""
    from nodelint.forms.kustomize import charts, commands

    yield from commands.list_applied_folders(files)
    yield from charts.list_applied_folders(files)


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
