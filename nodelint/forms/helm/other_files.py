"""The files of a chart that its templates may take in by `.Files`."""

from __future__ import annotations

import os

from nodelint.files.gate import gate
from nodelint.forms.lib.chart_places import CHART

_MOST_FILES, _LARGEST = 1000, 1 << 20
_OWN = (CHART, "Chart.lock", "values.yaml", "values.schema.json", ".helmignore")
"""Files that Helm reads itself."""


def read_other_files(chart: str) -> dict[str, bytes]:
    """Return the files that are no templates and that Helm does not read itself, by their path in the chart.

    They are not too many.
    """
    found: dict[str, bytes] = {}
    for folder, _, names in gate.walk(chart):
        below = os.path.relpath(folder, chart)
        if below.split(os.sep)[0] in ("templates", "charts") or len(found) > _MOST_FILES:
            continue
        for name in names:
            if below == os.curdir and name in _OWN:
                continue
            try:
                found[os.path.join(below, name)] = gate.read(os.path.join(folder, name), _LARGEST, within=chart)
            except OSError:
                continue
    return found
