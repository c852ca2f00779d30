"""The files of charts that have to be read with a file that the user names: without them it makes no object."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from nodelint.files.gate import gate
from nodelint.files.safe_read import repository
from nodelint.forms.helm.values_files import beside, list_keys
from nodelint.forms.lib.chart_places import CHART, chart_around, chart_of

_DEEPEST = 6
"""Folders between a file of a chart and its Chart.yaml."""
_MOST_FOLDERS = 5000
"""Folders of a repository that are looked at for charts."""
_LARGEST = 1 << 20
_READ = (".yaml", ".yml", ".tpl", ".json")
_GIVEN = re.compile(r"\b(?:path|chart)\"?\s{0,20}[:=]\s{0,20}[\"']?([\w./-]+)")


def list_read_with(path: str) -> Iterator[str]:
    """Yield the files of the charts that a named file is of, gives values to, or installs."""
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
    """Return the folder of the chart that a folder is in, the outermost of charts within each other."""
    for _ in range(_DEEPEST):
        if gate.is_file(os.path.join(folder, CHART)):
            while (outer := chart_around(folder or os.curdir)) is not None:
                folder = os.path.relpath(outer)
            return folder
        folder = os.path.normpath(os.path.join(folder, os.pardir))
        if gate.refusal(folder) is not None:
            return None
    return None


def _is_further_values(path: str, chart: str) -> bool:
    """Whether a file of a chart holds values that are merged into the defaults."""
    if path in map(os.path.normpath, beside(os.path.join(chart, "values.yaml"))):
        return True
    folder, name = os.path.split(path)
    return folder == chart and name.endswith((".yaml", ".yml")) and name not in (CHART, "values.yaml")


def _list_of_chart(chart: str, named: str, is_values: bool) -> Iterator[str]:
    """Yield the templates and values of a chart; with values that are named, no others but the defaults."""
    others = {os.path.normpath(path) for path in beside(os.path.join(chart, "values.yaml"))}
    for folder, _, names in gate.walk(chart or os.curdir):
        for name in names:
            path = os.path.normpath(os.path.join(folder, name))
            if name.endswith(_READ) and path != named and not (is_values and path in others):
                yield path


def _list_installed(path: str, text: str) -> Iterator[str]:
    """Yield the folders of the charts of the repository that a text names: from its top, or from its own folder."""
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
    """Yield the folders of the charts of the repository that a file stands in, but those within others."""
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
    try:
        return gate.read(path, _LARGEST).decode(errors="replace")
    except OSError:
        return ""
