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
_NAMED = re.compile(r"\.Files\.(?:Get|GetBytes|Lines|Glob)\s+(\(\s*printf\s+)?(?:\"([^\"]+)\"|`([^`]+)`)")
_FOUND = re.compile(r"\brange\s++(\$\w++)\s*+(?:,\s*+\$\w++\s*+)?:=\s*+\(?\s*+\$?\.Files\.Glob\b")
"""A loop over the files of a pattern: the variable of their names."""


def read_taken_files(chart: str, codes: Sequence[str]) -> dict[str, bytes]:
    """Return the files that template code may include: the files that it names, or all if it computes a name."""
    files = read_other_files(chart)
    named = [_make_pattern(*found) for code in codes for found in _NAMED.findall(code)]
    loops = {name for code in codes for name in _FOUND.findall(code)}
    of_loops = sum(
        len(re.findall(rf"\.Files\.\w+\s+{re.escape(name)}(?!\w)", code)) for name in loops for code in codes
    )
    if len(named) + of_loops < sum(code.count(".Files") for code in codes):
        return files
    # These patterns match everything that Helm's patterns match: here `*` also matches slashes.
    patterns = [re.sub(r"\{[^{}]*\}", "*", os.path.normpath(name)) for name in named]
    return {
        path: data
        for path, data in files.items()
        if any(fnmatchcase(os.path.normpath(path), pattern) for pattern in patterns)
    }


def _make_pattern(formatting: str, quoted: str, raw: str) -> str:
    """Return the pattern of the file names that code may write. It matches any text in the place of a formatted
    value.
    """
    return re.sub(r"%[-+#0-9.]*[a-zA-Z]", "*", quoted or raw) if formatting else quoted or raw


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
