"""Render Flux Kustomizations, which apply folders, and HelmReleases, which install charts.

Files: any manifest with a Flux object. Fills in the variables of a Kustomization's `postBuild`, and requests
rendering of its folder with its patches, and of the chart of each HelmRelease with its values. Not known: the content
of Secrets, and objects that are not in the repository.
"""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nodelint.forms.interface import FormRun
    from nodelint.forms.lib.unread_inputs import UnreadInputs
    from nodelint.forms.requests import FolderUse
    from nodelint.model.gap import Gap

IN_MODULES = {
    "install_charts": "charts",
    "find_given_values": "charts",
    "find_hidden_values": "charts",
    "find_installs": "controller",
    "list_unread_values": "unread_values",
    "list_missing": "missing_sources",
}
"""Functions of the form (see `Form`) in modules of this package, which a run loads only if it needs them."""


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


def list_applied_folders(files: UnreadInputs) -> Iterator[FolderUse]:
    """Yield the folders that Kustomizations apply, and the charts that HelmReleases install."""
    if not any(".toolkit.fluxcd.io" in source.text for source in files.by_path.values()):
        return iter(())
    from nodelint.forms.flux import applied

    return applied.list_applied_folders(files)
