"""Find files of charts that helm cannot read, or that are missing."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from nodelint.data import table
from nodelint.files.gate import gate
from nodelint.forms.helm.charts import DefinedNames, find_undefined_include
from nodelint.forms.helm.other_kinds import makes_other_kinds
from nodelint.forms.lib.chart_places import OTHER_VALUES, chart_of, find_templates_folder
from nodelint.forms.lib.gotemplate.mistakes import find_mistake
from nodelint.forms.lib.gotemplate.syntax import BadTemplate, parse
from nodelint.forms.registry import HELM
from nodelint.forms.rendered import Built
from nodelint.forms.syntax_check import is_mapping
from nodelint.text import Node, Source
from nodelint.text.limits import note_limit
from nodelint.text.syntax_errors import SyntaxProblem

CHART = HELM.heads[0]
_MOST_FILES = 20_000
"""The most files of charts that are checked."""


def list_inputs(sources: Sequence[Source], builds: Sequence[Built], *_: object) -> Iterator[str]:
    """Yield the absolute paths of the chart files that contain objects or are inputs of rendered manifests."""
    paths = [source.path for source in sources if source.may_be_template and not makes_other_kinds(source)]
    paths += [part for built in builds for part in built.parts]
    charts = {chart for path in map(os.path.abspath, paths) if (chart := chart_of(path)) is not None}
    for count, path in enumerate(_list_charts(charts)):
        if count >= _MOST_FILES:
            note_limit(path, _MOST_FILES, "files of charts, whose syntax is looked at", 0)
            return
        yield path


def _list_charts(charts: set[str]) -> Iterator[str]:
    for chart in sorted(charts):
        for folder, _, names in gate.walk(chart):
            for name in sorted(names):
                if name.endswith((".yaml", ".yml", ".tpl")):
                    yield os.path.join(folder, name)


def is_required(path: str) -> bool:
    """Return whether helm always reads a file, or an installation uses it."""
    name = os.path.basename(path)
    return name in (CHART, "values.yaml") or chart_of(path) is not None or re.match(OTHER_VALUES, name) is not None


def find_fault(source: Source, known: dict[str, object]) -> SyntaxProblem | None:
    """Return the reason why helm cannot read a template. None if it can. `known` caches the names of templates."""
    fault = _find_template_fault(source.text)
    if fault is not None:
        return fault
    names: DefinedNames = known.setdefault("names of templates", {})  # type: ignore[assignment]
    included = find_undefined_include(source.path, source.text, names)
    return SyntaxProblem(included[0], f"no template of the chart is named `{included[1]}`") if included else None


def find_root_fault(roots: Sequence[Node | None]) -> SyntaxProblem | None:
    """Return the reason why helm cannot load a chart with this Chart.yaml. None if it can."""
    lacking = _find_lacking(roots)
    return SyntaxProblem(0, f"the chart has no `{lacking}`") if lacking is not None else None


def _find_template_fault(text: str) -> SyntaxProblem | None:
    if "{{" not in text:
        return None
    mistake = find_mistake(text, frozenset(table("templates")["functions"]))
    if mistake is not None:
        return SyntaxProblem(mistake.offset, mistake.message, mistake.length)
    try:
        parse(text)
    except BadTemplate:
        return SyntaxProblem(0, "its blocks are nested too deeply for nodelint")
    return None


def _find_lacking(roots: Sequence[Node | None]) -> str | None:
    """Return the required field that a Chart.yaml lacks. None if it has all of them."""
    root = roots[0] if roots else None
    if root is not None and not is_mapping(root):
        return None
    return next((name for name in ("name", "version") if root is None or _is_empty(root.get(name))), None)


def _is_empty(node: Node | None) -> bool:
    return node is None or (node.kind == "scalar" and node.value in (None, ""))


def find_lost_inputs(sources: Sequence[Source]) -> Iterator[tuple[str, str]]:
    """Yield the first template of each vendored chart without Chart.yaml, with the reason that helm stops there."""
    known: set[str] = set()
    for source in sources:
        path = os.path.abspath(source.path)
        chart = os.path.dirname(find_templates_folder(path) or "") if source.may_be_template else ""
        outer, below = os.path.split(os.path.dirname(chart))
        if below != "charts" or chart in known or os.path.lexists(os.path.join(chart, CHART)):
            continue
        if os.path.basename(chart).startswith(("_", ".")):
            continue  # helm ignores these
        known.add(chart)
        if gate.is_file(os.path.join(outer, CHART)):
            missing = os.path.relpath(os.path.join(chart, CHART))
            yield f"{source.path}:1", f"cannot be read: helm loads no chart without its `{missing}`"
