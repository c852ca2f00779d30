"""Changed programs that install charts with pools or classes: what they pass to a chart is not read."""

from __future__ import annotations

import os
import re

from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.forms.input_text import list_changed_inputs
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

    from nodelint.forms.input_text import InputText, RemoteUse
    from nodelint.forms.registry import FormRow
    from nodelint.model.gap import Gap
    from nodelint.plan.read_side import Read

_ENDS = (
    *(".ts", ".tsx", ".js", ".mjs", ".py", ".go", ".java", ".kt", ".cs", ".rb", ".rs"),
    *(".star", ".tiltfile", "Tiltfile"),
)
_PASSED_OVER = frozenset({*TOOLS, "node_modules", "venv", "vendor", "cdk.out"})
_REASON = "it installs the chart {} with values that are not read: pools and classes may change"
_MOST_FILES = 20_000
_LARGEST = 1 << 20


_CREATES_CLUSTER = re.compile(r"\b(?:eks|EKS)\b")
_CLUSTER_VERSION = re.compile(
    r"KubernetesVersion\.V1_\d\d\b|KubernetesVersion_V1_\d\d\b"
    r"|[Vv](?:ersion|ERSION)\b[^\n]{0,40}?(?<![\w.])1\.[23]\d(?![\w.-])"
)
"""A Kubernetes version in a program of the CDK or Pulumi; 1.33.0 and 1.33-eksbuild.1 are versions of other things."""
_NEW_VERSION = (
    "it has a Kubernetes version, which is not read, and which changes: an alias may stand for other images"
)


def find_changed_programs(was: Read, new: Read, by_alias: bool) -> Iterator[Gap]:
    """Yield the changed calls of programs that install a chart of these files, or a remote one that makes pools.

    `by_alias`: a class selects images by an alias. Then changed Kubernetes versions of programs are yielded, too.
    Programs that only the new side has are left out: a revision is read without unchanged programs.
    """
    rows = [row for row in TABLE.rows if row.folders]
    charts: tuple[list[str], list[str]] | None = None
    for place in _list_changed(was, new):
        charts = charts or (list_own_charts(was), list_own_charts(new))
        old, now = _read(was, place), _read(new, place)
        at = _find_new_version(old, now) if by_alias and old is not None and now is not None else None
        if at is not None:
            yield uncompared(show_place(new, at), place, _NEW_VERSION, True)
        for row in rows:
            before, after = _list_values(row, was, old, charts[0]), _list_values(row, new, now, charts[1])
            for chart in sorted(before.keys() & after.keys()):
                for found in list_changed_inputs(before[chart], after[chart])[:1]:
                    yield uncompared(show_place(new, found.at), place, _REASON.format(chart), True)
            yield from _compare_remote(_list_remote(row, old), _list_remote(row, now), new)


def _find_new_version(old: Source, now: Source) -> Span | None:
    """Return the place of the first Kubernetes version that a program of EKS did not have before, or has no more."""
    if not _CREATES_CLUSTER.search(now.text):
        return None
    before, after = ([found[0] for found in _CLUSTER_VERSION.finditer(source.text)] for source in (old, now))
    if before == after:
        return None
    new = next((found for found in _CLUSTER_VERSION.finditer(now.text) if found[0] not in before), None)
    return Span(now, *new.span()) if new is not None else Span(now, 0, 0)


def _list_changed(was: Read, new: Read) -> Iterator[str]:
    """Yield the paths of the programs of the old side that differ on the new side, below the folders of the sides."""
    left = _MOST_FILES
    for folder, folders, names in gate.walk(was.root):
        folders[:] = sorted(set(folders) - _PASSED_OVER)
        for name in sorted(names):
            if not name.endswith(_ENDS):
                continue
            left -= 1
            if left < 0:
                return
            place = path_below(os.path.join(folder, name), was.root)
            texts = [_read(side, place) for side in (was, new)]
            if texts[0] is not None and (texts[1] is None or texts[0].text != texts[1].text):
                yield place


def _read(side: Read, place: str) -> Source | None:
    path = os.path.join(side.root, place)
    try:
        return Source(os.path.relpath(path).replace(os.sep, "/"), gate.read(path, _LARGEST).decode(errors="replace"))
    except OSError:
        return None


def _list_values(
    row: FormRow, side: Read, source: Source | None, charts: Sequence[str]
) -> dict[str, list[InputText]]:
    found: dict[str, list[InputText]] = {path_below(chart, side.root): [] for chart in charts}
    if source is not None:
        for chart, given in row.load().list_program_values(source, charts):
            found[path_below(chart, side.root)].append(given)
    return found


def _list_remote(row: FormRow, source: Source | None) -> list[RemoteUse]:
    return list(row.load().list_program_charts(source)) if source is not None else []


def _compare_remote(old: Sequence[RemoteUse], now: Sequence[RemoteUse], new: Read) -> Iterator[Gap]:
    before, after = ([given for use in side for given in use.inputs] for side in (old, now))
    for found in list_changed_inputs(before, after)[:1]:
        use = next(use for use in (*now, *old) if found in use.inputs)
        yield uncompared(show_place(new, found.at), use.name, use.reason.format(found.name), True)
