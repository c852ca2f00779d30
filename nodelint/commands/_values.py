"""The option `--values`: the values files with which the chart of a run is rendered."""

from __future__ import annotations

import os

from nodelint.base.types import TYPE_CHECKING
from nodelint.commands._console import stop
from nodelint.files.gate import gate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nodelint.files.folders import Discovery

_CHART = "Chart.yaml"
_SHOWN = 3
_SEVERAL = 2
_MOST_CHARACTERS = 1 << 16


def take_values(found: Discovery, values: Sequence[str], paths: Sequence[str]) -> None:
    """Store the values files of a run. End the run if one does not exist, or if there is not exactly one chart."""
    for path in values:
        if path.endswith((".tfvars", ".tfvars.json")):
            stop(
                f"--values {path}: --values names values of a Helm chart; name a file of Terraform's as a path, next"
                f" to its module: `nodelint check {' '.join(paths)} {path}`"
            )
        if not os.path.isfile(path):
            what = "is a folder: name its files" if os.path.isdir(path) else "no such file"
            stop(f"--values {path}: {what}")
        gate.admit(path)
        fault = _find_fault(path)
        if fault is not None:
            stop(f"--values {path}: {fault}")
    charts = find_charts(found)
    if not charts:
        stop(f"--values: no Helm chart in {' '.join(paths)}: name the folder with its {_CHART}")
    if len(charts) > 1:
        few = ", ".join(charts[:_SHOWN]) + (", ..." if len(charts) > _SHOWN else "")
        stop(f"--values are the values of one chart, and there are {len(charts)}: name the folder of one ({few})")
    found.values = [os.path.normpath(path) for path in values]


def hint_at_chart(path: str) -> str | None:
    """Return how to judge a file that may be a values file; None if it cannot be one."""
    if not os.path.isfile(path):
        return None
    try:
        text = gate.read(path).decode(errors="replace")[:_MOST_CHARACTERS]
    except OSError:
        return None
    if "apiVersion" in text or not any(line[:1].isalpha() and ":" in line for line in text.splitlines()):
        return None
    folder = os.path.dirname(path) or os.curdir
    if os.path.isfile(os.path.join(folder, _CHART)):
        return f"{path} belongs to a chart: nodelint check {folder}"
    return f"If {path} is a values file, name its chart: nodelint check CHART --values {path}"


def _find_fault(path: str) -> str | None:
    """Return why a file is no values file; None if it is one. An empty file is a values file."""
    from nodelint.text import Source
    from nodelint.text.syntax_errors import Unreadable
    from nodelint.text.yaml.compose import compose

    try:
        source = Source(path, gate.read(path).decode())
    except (OSError, UnicodeError) as error:
        return str(error)
    try:
        roots = [root for root in compose(source, source.text, 0, masked=False) if root is not None]
    except Unreadable as error:
        return f"line {source.position(error.offset).line}: {error.message}"
    if all(root.kind == "mapping" and root.get("apiVersion") is None for root in roots) and len(roots) < _SEVERAL:
        return None
    words = "not a values file: such a file holds one mapping, and no Kubernetes object"
    return f"{words}; to check its objects, name it as a path, without the option"


def find_charts(found: Discovery) -> list[str]:
    """Return the folders of the charts among the files, without charts vendored in another one."""
    from nodelint.forms.lib.chart_places import find_outer_chart

    folders = sorted(os.path.dirname(path) or os.curdir for path in found.seen if os.path.basename(path) == _CHART)
    read = set(map(os.path.abspath, folders))
    return [folder for folder in folders if find_outer_chart(folder) not in read]
