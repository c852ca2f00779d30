"""Read the files of a chart that its templates may include by `.Files`."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

from nodelint.files.gate import gate
from nodelint.forms.lib.chart_places import CHART

_MOST_FILES, _LARGEST = 1000, 1 << 20
_OWN = (CHART, "Chart.lock", "values.yaml", "values.schema.json", ".helmignore")
"""Files that Helm reads itself."""
_NAMED = re.compile(r"\.Files\.(?:Get|GetBytes|Lines|Glob)\s+\"([^\"]+)\"")


def read_taken_files(chart: str, codes: Sequence[str]) -> dict[str, bytes]:
    """Return the files that template code may include: the files that it names, or all if it computes a name."""
    files = read_other_files(chart)
    named = [name for code in codes for name in _NAMED.findall(code)]
    if len(named) < sum(code.count(".Files") for code in codes):
        return files
    # These patterns match everything that Helm's patterns match: here `*` also matches slashes.
    patterns = [re.sub(r"\{[^{}]*\}", "*", os.path.normpath(name)) for name in named]
    return {
        path: data
        for path, data in files.items()
        if any(fnmatchcase(os.path.normpath(path), pattern) for pattern in patterns)
    }


def read_other_files(chart: str) -> dict[str, bytes]:
    """Return the files of a chart, by path, that are not templates and that Helm does not read itself.

    Their number is limited.
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
