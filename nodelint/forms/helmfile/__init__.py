"""Read helmfile releases, which install charts with values.

Files: `helmfile.yaml` and similar names, and files below `helmfile.d/`. Renders nothing itself: it requests rendering
of the chart of each installed release. Not known: what code in templates (`.gotmpl`) prints, secrets, values of
environments.
"""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nodelint.forms.lib.unread_inputs import UnreadInputs
    from nodelint.forms.requests import FolderUse

IN_MODULES = {
    "install_charts": "charts",
    "find_installs": "controller",
    "list_unread_values": "unread_values",
    "list_missing": "missing_sources",
}
"""Functions of the form (see `Form`) in modules of this package, which a run loads only if it needs them."""


def list_applied_folders(files: UnreadInputs) -> Iterator[FolderUse]:
    """Yield the charts that releases of helmfiles install."""
    if not any("helmfile" in path for path in files.paths):
        return iter(())
    from nodelint.forms.helmfile import charts

    return charts.list_applied_folders(files)
