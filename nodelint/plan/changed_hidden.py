"""Changed files in hidden folders, such as `.argocd`: a run does not read them, but tools may apply them."""

from __future__ import annotations

import os

from nodelint.base.types import TYPE_CHECKING
from nodelint.files.file_kinds import YAML_ENDINGS
from nodelint.files.gate import gate
from nodelint.forms.lib.chart_places import names_chart
from nodelint.forms.lib.chart_values import MAKES_POOLS
from nodelint.forms.registry import TABLE
from nodelint.inventory.unread_forms import TOOLS
from nodelint.model.finding import Span
from nodelint.model.folders import path_below
from nodelint.plan.gone_appliers import show_place
from nodelint.plan.uncompared import uncompared
from nodelint.plan.values_elsewhere import list_own_charts
from nodelint.text import Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nodelint.model.gap import Gap
    from nodelint.plan.read_side import Read

_MOST_FILES = 2000
_LARGEST = 1 << 20
_REASON = "it is in a hidden folder, which is not read, and may decide on pools and classes"


def find_changed_hidden(was: Read, new: Read) -> Iterator[Gap]:
    """Yield the files in hidden folders that differ, if their folder has to do with pools or classes.

    It does if a file of it names Karpenter, something that makes pools, or a chart of these files. So does a file
    that another hidden file of this kind names.
    """
    tops = {path_below(path, side.root) for side in (was, new) for path in side.found.hidden}
    tops = {top for top in tops if os.path.basename(top) not in TOOLS}
    files = {top: [_read_files(side, top) for side in (was, new)] for top in sorted(tops)}
    if all(before == after for before, after in files.values()):
        return
    charts = list_own_charts(new)
    texts = {top: [*before.values(), *after.values()] for top, (before, after) in files.items()}
    concerned = {top for top, found in texts.items() if any(_concerns(text, charts) for text in found)}
    naming = [text for top in concerned for text in texts[top]]
    for top, (before, after) in files.items():
        for place in sorted(before.keys() | after.keys()):
            name = os.path.basename(place)
            if before.get(place) == after.get(place) or not (top in concerned or any(name in t for t in naming)):
                continue
            source = Source(os.path.join(new.root, place), after.get(place) or before.get(place, ""))
            yield uncompared(show_place(new, Span(source, 0, 0)), place, _REASON, True)


def _concerns(text: str, charts: Sequence[str]) -> bool:
    return "karpenter" in text or MAKES_POOLS.search(text) is not None or _names_any(text, charts)


def _names_any(text: str, charts: Sequence[str]) -> bool:
    return any(os.path.basename(chart) in text and names_chart(text, chart) for chart in charts)


def _read_files(side: Read, top: str) -> dict[str, str]:
    """Return the texts of the files below a hidden folder that may be applied, by their paths below the root."""
    found: dict[str, str] = {}
    for folder, folders, names in gate.walk(os.path.join(side.root, top)):
        folders[:] = sorted(set(folders) - TOOLS)
        for name in sorted(names):
            if len(found) < _MOST_FILES and name.endswith((*YAML_ENDINGS, *TABLE.module_files, *TABLE.read, ".json")):
                path = os.path.join(folder, name)
                try:
                    found[path_below(path, side.root)] = gate.read(path, _LARGEST).decode(errors="replace")
                except OSError:
                    continue
    return found
