"""Where charts of the repository are: the folder around a template, and how further values files are named."""

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
"""Names of further files of values: beside the chart's own, and in its folder `ci`."""


def chart_of(path: str) -> str | None:
    """Return the folder of the chart, be it vendored or not, whose template a file is; None for any other file."""
    folder = templates_around(path)
    chart = os.path.dirname(folder) if folder is not None else None
    return chart if chart is not None and os.path.lexists(os.path.join(chart, CHART)) else None


def templates_around(path: str) -> str | None:
    """Return the folder `templates` that a file is in, however deep; None if it is in none."""
    folder = os.path.dirname(path)
    while os.path.basename(folder) != _FOLDER:
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    return folder


def chart_around(chart: str) -> str | None:
    """Return the chart that a chart is vendored in; None for one that stands by itself."""
    outer, name = os.path.split(os.path.dirname(os.path.abspath(chart)))
    return outer if name == "charts" and gate.is_file(os.path.join(outer, CHART)) else None


_LONGEST = 200
"""Characters of a path that are looked at."""
_OF_PATHS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/"
_GIVEN = r"\b(?:path|chart)\s{0,40}[=:]\s{0,40}[\"']?\Z"
"""What stands before the name of a chart in the folder of the file."""


def names_chart(text: str, chart: str) -> bool:
    """Whether a text holds the path of a chart, or its end."""
    folder, name = os.path.split(chart)
    for found in re.finditer(rf"(?<![\w.-]){re.escape(name)}/?(?![\w./-])", text):
        before = text[max(0, found.start() - _LONGEST) : found.start()]
        path = before[len(before.rstrip(_OF_PATHS)) :]
        named = [part for part in path.split("/") if part not in ("", ".", "..")]
        is_given = path.endswith("/") or re.search(_GIVEN, before) is not None
        if is_given and folder.split(os.sep)[len(folder.split(os.sep)) - len(named) :] == named:
            return True
    return False
