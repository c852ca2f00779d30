"""Find the charts that a helmfile installs, and the values that it passes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from nodelint.forms.lib.chart_values import (
    RepositoryTree,
    ValuesLayer,
    merge_layer,
    read_setting,
)
from nodelint.forms.lib.unread_inputs import UnreadInputs, in_one_line
from nodelint.forms.requests import FolderUse, InstallChart
from nodelint.model.finding import span_of
from nodelint.text import Node
from nodelint.text.missing import items_of, text_of
from nodelint.text.reading import nodes_of

HELMFILE = re.compile(r"(?:^|/)(?:helmfile[^/]*|helmfile\.d/[^/]+)\.ya?ml(?:\.gotmpl)?$")


def install_charts(root: Node, tree: RepositoryTree) -> Iterator[InstallChart]:
    """Yield the charts of the repository that a helmfile installs.

    https://helmfile.readthedocs.io/en/latest/#configuration
    """
    if HELMFILE.search(root.source.path) is None:
        return
    folder = os.path.dirname(os.path.abspath(root.source.path))
    releases = root.get("releases")
    for release in releases.items if releases is not None else ():
        chart, installed = text_of(release.get("chart")), release.get("installed")
        if chart and "://" not in chart and (installed is None or installed.value is not False):
            path = os.path.normpath(os.path.join(folder, chart))
            by = os.path.abspath(root.source.path), f"release {text_of(release.get('name'))}"
            yield InstallChart(path, helmfile_layers(release, folder, tree), by=by)


def helmfile_layers(release: Node, folder: str, tree: RepositoryTree) -> list[ValuesLayer]:
    """Return the values that a release of a helmfile passes to its chart, the weakest first."""
    values, settings = release.get("values"), release.get("set")
    layers = []
    for item in values.items if values is not None else ():
        given = item if item.kind == "mapping" else tree.read_named(folder, item)
        layers += [merge_layer(given)] if given is not None else []
    for item in settings.items if settings is not None else ():
        name, value = item.get("name"), item.get("value")
        layer = read_setting(text_of(name), name, value, True) if name is not None and value is not None else None
        if layer is None:
            tree.gaps.append(item)
        else:
            layers.append(layer)
    for key in ("inherit", "secrets", "setTemplate", "valuesTemplate", "strategicMergePatches", "jsonPatches"):
        tree.gaps.extend(filter(None, [release.get(key)]))
    return layers


_DECIDING = ("condition", "namespace", "kubeContext", "strategicMergePatches", "jsonPatches", "transformers")
"""Fields of a release that decide whether it is installed, where, and how its rendered objects change."""


def list_applied_folders(files: UnreadInputs) -> Iterator[FolderUse]:
    """Yield the charts that releases of helmfiles install."""
    for path in files.paths:
        source = files.read(path) if HELMFILE.search(path.replace(os.sep, "/")) else None
        for root in nodes_of(source) if source is not None and not source.may_be_template else ():
            for release in items_of(root.get("releases")):
                chart, installed = text_of(release.get("chart")), release.get("installed")
                if chart and "://" not in chart and (installed is None or installed.value is not False):
                    folder = os.path.normpath(os.path.join(os.path.dirname(path), chart))
                    fields = ((name, release.get(name)) for name in _DECIDING)
                    terms = tuple((name, in_one_line(found)) for name, found in fields if found is not None)
                    yield FolderUse(f"release {text_of(release.get('name'))}", folder, span_of(release), terms)
