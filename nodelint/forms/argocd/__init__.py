"""Render Argo CD Applications and ApplicationSets, which install charts and change overlays.

Files: any manifest with such an object. Requests rendering of overlays with the `kustomize` fields of a source, and
of the chart of each source with its values, for each Application that a set creates with its list, git and matrix
generators. Not known: the results of other generators, and plugins.
"""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nodelint.forms.interface import FormRun
    from nodelint.forms.lib.unread_inputs import UnreadInputs
    from nodelint.forms.requests import FolderUse

IN_MODULES = {
    "install_charts": "charts",
    "find_given_values": "charts",
    "list_generated_specs": "charts",
    "find_installs": "controller",
    "list_unread_values": "unread_values",
    "list_missing": "missing_sources",
    "make_value_readers": "value_readers.ParameterReaders",
}
"""Functions of the form (see `Form`) in modules of this package, which a run loads only if it needs them."""


def render(run: FormRun) -> None:
    """Replace the rendered overlays with the overlays as Applications change them."""
    if run.folder_files:
        from nodelint.forms.argocd.kustomizations import apply_sources

        run.put_in_place(apply_sources(run))


def list_applied_folders(files: UnreadInputs) -> Iterator[FolderUse]:
    """Yield the folders that Applications apply."""
    yaml = (source for path in files.paths if path.endswith((".yaml", ".yml")) and (source := files.read(path)))
    if not any("argoproj.io/" in source.text for source in yaml):
        return iter(())
    from nodelint.forms.argocd import kustomizations

    return kustomizations.list_applied_folders(files)
