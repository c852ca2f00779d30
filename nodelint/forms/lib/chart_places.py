"""Find the chart of a template, and recognize the names of values files."""

from __future__ import annotations

import os
import re

from nodelint.files.gate import gate
from nodelint.forms.registry import HELM

CHART = HELM.heads[0]
"""The file that makes a folder a chart."""
_FOLDER = "templates"


OTHER_VALUES = r"\A(?:values[-._][^/]*|[^/]+[-._]values)\.ya?ml"


TRIAL_VALUES = r"\A[^/]*values\.ya?ml"
"""Names of other values files: next to the chart's own, and in its folder `ci`."""


def chart_of(path: str) -> str | None:
    """Return the folder of the chart, vendored or not, to which a template belongs. None for any other file."""
    folder = find_templates_folder(path)
    chart = os.path.dirname(folder) if folder is not None else None
    return chart if chart is not None and os.path.lexists(os.path.join(chart, CHART)) else None


def find_templates_folder(path: str) -> str | None:
    """Return the folder `templates` that contains a file at any depth. None if there is none."""
    folder = os.path.dirname(path)
    while os.path.basename(folder) != _FOLDER:
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    return folder


def find_outer_chart(chart: str) -> str | None:
    """Return the outer chart of a vendored chart. None if the chart is not vendored."""
    outer, name = os.path.split(os.path.dirname(os.path.abspath(chart)))
    return outer if name == "charts" and gate.is_file(os.path.join(outer, CHART)) else None


_LONGEST = 200
"""The most characters before a name in which a path is searched."""
_OF_PATHS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/"
_GIVEN = r"\b(?:path|chart)\s{0,40}[=:]\s{0,40}[\"']?\Z"
"""The text before the name of a chart in the same folder."""


def names_chart(text: str, chart: str) -> bool:
    """Return whether a text contains the path of a chart, or its last part."""
    folder, name = os.path.split(chart)
    for found in re.finditer(rf"(?<![\w.-]){re.escape(name)}/?(?![\w./-])", text):
        before = text[max(0, found.start() - _LONGEST) : found.start()]
        path = before[len(before.rstrip(_OF_PATHS)) :]
        named = [part for part in path.split("/") if part not in ("", ".", "..")]
        is_given = path.endswith("/") or re.search(_GIVEN, before) is not None
        if is_given and folder.split(os.sep)[len(folder.split(os.sep)) - len(named) :] == named:
            return True
    return False
