"""Find the chart files without which a file that the user names creates no object."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from nodelint.files.gate import gate
from nodelint.files.safe_read import repository
from nodelint.forms.helm.values_files import beside, list_keys
from nodelint.forms.lib.chart_places import CHART, chart_of, find_outer_chart

_DEEPEST = 6
"""The most folders between a file of a chart and its Chart.yaml."""
_MOST_FOLDERS = 5000
"""The most folders of a repository in which charts are searched."""
_LARGEST = 1 << 20
_READ = (".yaml", ".yml", ".tpl", ".json")
_GIVEN = re.compile(r"\b(?:path|chart)\"?\s{0,20}[:=]\s{0,20}[\"']?([\w./-]+)")


def list_read_with(path: str) -> Iterator[str]:
    """Yield the files of the charts that are needed with a requested file.

    The file belongs to the chart, passes values to it, or installs it.
    """
    chart = _find_chart(os.path.dirname(path))
    if chart is not None:
        yield from _list_of_chart(chart, path, chart_of(path) is None and _is_further_values(path, chart))
        return
    text = _read(path)
    if "apiVersion" in text or "releases:" in text:
        for folder in _list_installed(path, text):
            yield from _list_of_chart(folder, path, True)
    elif path.endswith((".yaml", ".yml")) and (keys := list_keys(text)):
        for folder in _list_charts(path):
            if keys <= list_keys(_read(os.path.join(folder, "values.yaml"))):
                yield from _list_of_chart(folder, path, True)


def _find_chart(folder: str) -> str | None:
    """Return the folder of the chart around a folder, the outermost one of nested charts. None if there is none."""
    for _ in range(_DEEPEST):
        if gate.is_file(os.path.join(folder, CHART)):
            while (outer := find_outer_chart(folder or os.curdir)) is not None:
                folder = os.path.relpath(outer)
            return folder
        folder = os.path.normpath(os.path.join(folder, os.pardir))
        if gate.refusal(folder) is not None:
            return None
    return None


def _is_further_values(path: str, chart: str) -> bool:
    """Return whether a file of a chart is a further values file, to be merged into the default values."""
    if path in map(os.path.normpath, beside(os.path.join(chart, "values.yaml"))):
        return True
    folder, name = os.path.split(path)
    return folder == chart and name.endswith((".yaml", ".yml")) and name not in (CHART, "values.yaml")


def _list_of_chart(chart: str, named: str, is_values: bool) -> Iterator[str]:
    """Yield the templates of a chart, and its further values files unless the named file is one.

    The default values are read anyway. They were not requested, so they must not be edited and are not yielded.
    """
    own = os.path.normpath(os.path.join(chart, "values.yaml"))
    others = {os.path.normpath(path) for path in beside(own)}
    for folder, _, names in gate.walk(chart or os.curdir):
        for name in names:
            path = os.path.normpath(os.path.join(folder, name))
            if name.endswith(_READ) and path not in (named, own) and not (is_values and path in others):
                yield path


def _list_installed(path: str, text: str) -> Iterator[str]:
    """Yield the folders of charts that a text names, relative to the repository's top or to the text's folder."""
    folder = os.path.dirname(path)
    top = repository(os.path.abspath(folder))
    bases = [folder, *([os.path.relpath(top)] if top is not None else [])]
    for named in dict.fromkeys(_GIVEN.findall(text)):
        for base in bases:
            chart = os.path.normpath(os.path.join(base, named.lstrip("/")))
            if gate.is_file(os.path.join(chart, CHART)):
                yield chart
                break


def _list_charts(path: str) -> Iterator[str]:
    """Yield the folders of all charts in the repository of a file, without nested charts."""
    top = repository(os.path.abspath(os.path.dirname(path)))
    pending = [os.path.relpath(top)] if top is not None else []
    for _ in range(_MOST_FOLDERS):
        if not pending:
            return
        folder = pending.pop()
        try:
            entries = gate.entries(folder)
        except OSError:
            continue
        if any(name == CHART for name, _ in entries):
            yield os.path.normpath(folder)
            continue
        pending += [
            os.path.join(folder, name)
            for name, is_folder in entries
            if is_folder and not name.startswith(".") and name != "node_modules"
        ]


def _read(path: str) -> str:
    return gate.load_text(path, _LARGEST) or ""
