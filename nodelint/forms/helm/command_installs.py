"""Find installations of a repository's charts by `helm` commands, with what their values cannot be read from."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from nodelint.forms.helm.command_inputs import list_chart_commands
from nodelint.forms.helm.command_releases import find_scripts_top, list_scripts, read_script
from nodelint.forms.lib.chart_values import MOST_RELEASES, RepositoryTree
from nodelint.forms.requests import InstallChart
from nodelint.model.finding import Span
from nodelint.text import Source


def install_known_charts(charts: Mapping[str, Source], sources: Sequence[Source]) -> Iterator[InstallChart]:
    """Yield the values that `helm` commands pass to charts of the repository.

    A command that may install a chart by variables without a known value has values that cannot be read.
    `charts` are the default values of charts by absolute path.
    """
    by_top: dict[str, list[str]] = {}
    for path in charts:
        folder = os.path.dirname(path)
        by_top.setdefault(find_scripts_top(folder), []).append(folder)
    by_path = {os.path.abspath(source.path): source for source in sources}
    for top, folders in by_top.items():
        counts = dict.fromkeys(folders, 0)
        scripts = list(list_scripts(top))
        for source in scripts:
            if "upgrade" not in source.text and "install" not in source.text and "template" not in source.text:
                continue
            releases = list(read_script(source, folders, RepositoryTree(top, by_path, False, [])))
            releases += _list_unread(source, set(folders).difference(release.folder for release in releases), scripts)
            for release in releases:
                counts[release.folder] += 1
                if counts[release.folder] <= MOST_RELEASES:
                    yield release


def _list_unread(source: Source, folders: set[str], scripts: Sequence[Source]) -> Iterator[InstallChart]:
    for folder in sorted(folders):
        command = next(list_chart_commands(source, folder, scripts), None)
        if command is not None:
            place = Span(source, command.start, command.end)
            yield InstallChart(folder, [], place, (os.path.abspath(source.path), "helm"))
