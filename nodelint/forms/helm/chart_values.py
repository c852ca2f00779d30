"""What a chart of a repository is installed with, by whatever form installs it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence

from nodelint.forms.lib.chart_values import (
    MOST_RELEASES,
    ChartRelease,
    RepositoryTree,
    files_in,
)
from nodelint.forms.lib.values import nodes_of, values_root
from nodelint.forms.registry import ARGOCD, FLUX, TABLE
from nodelint.text import Source
from nodelint.text.limits import note_more

RELEASES = "|".join(re.escape(word) for word in (*ARGOCD.installs, *FLUX.installs))
"""What is in a file with an object that installs a chart."""


def find_releases(
    charts: Mapping[str, Source], sources: Sequence[Source], holders: Sequence[Source] | None = None
) -> Iterator[ChartRelease]:
    """What Applications, HelmReleases and helmfiles give to charts of the repository.

    `charts` are the default values of charts by their absolute path, `holders` the texts with the objects, where
    these are not the sources themselves.
    """
    folders = {os.path.dirname(path): path for path in charts}
    counts = dict.fromkeys(charts, 0)
    beyond: dict[str, str] = {}
    by_path = {os.path.abspath(source.path): source for source in sources}
    named = [source for source in sources if holders is not None and os.path.basename(source.path) in TABLE.names]
    for source in sources if holders is None else dict.fromkeys((*holders, *named)):
        rows = [row for row in TABLE.rows if row.may_install(source.path, source.text)] if folders else ()
        if not rows or source.may_be_template:
            continue
        tree = RepositoryTree.around(source, by_path)
        for root in nodes_of(source) if tree is not None else ():
            assert tree is not None
            for folder, layers in (made for row in rows for made in row.load().install_charts(root, tree)):
                path = folders.get(folder)
                whole = values_root(charts[path]) if path is not None else None
                if path is None or whole is None or not layers:
                    continue
                counts[path] += 1
                if counts[path] > MOST_RELEASES:
                    beyond.setdefault(path, source.path)
                    continue
                for layer in layers:
                    whole = layer.apply(whole)
                yield ChartRelease(path, files_in(layers, whole, charts[path]), whole)
    for chart, first in beyond.items():
        note_more(first, counts[chart], MOST_RELEASES, "releases of one chart")


def install_known_charts(charts: Mapping[str, Source], sources: Sequence[Source]) -> Iterator[ChartRelease]:
    """What forms give to charts whose releases are no objects of YAML. `charts` are as in `find_releases`."""
    paths = {os.path.dirname(path): path for path in charts}
    for row in TABLE.rows if charts else ():
        # What installs a chart may name it alone: whoever has a language of its own looks into the files beside.
        for folder, layers in row.load().install_known_charts(charts, sources) if row.endings else ():
            path = paths[folder]
            whole = values_root(charts[path])
            if whole is None:
                continue
            for layer in layers:
                whole = layer.apply(whole)
            yield ChartRelease(path, files_in(layers, whole, charts[path]), whole)
