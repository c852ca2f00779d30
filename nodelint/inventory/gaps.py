"""List everything that a run could not read or judge, so that all commands report the same gaps."""

from __future__ import annotations

import os
import re

from nodelint.base.types import TYPE_CHECKING
from nodelint.forms.registry import TABLE
from nodelint.model.documents import left_out, objects
from nodelint.model.finding import Span
from nodelint.model.gap import CHART_ELSEWHERE, FilePlace, Gap, line_of
from nodelint.text.syntax_errors import RenderingProblem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nodelint.files.folders import Discovery
    from nodelint.forms.rendered import Built
    from nodelint.inventory import Inventory
    from nodelint.text import Source

_HOLDS = "holds NodePools or EC2NodeClasses"
_OF_RENDERING = ("overlay", "chart")
"""Kinds of inputs that no program rendered, and that were judged anyway."""


def list_gaps(found: Discovery, inventory: Inventory) -> list[Gap]:
    """Return everything that could not be read or judged, without duplicates. Inputs that stop a tool come first."""
    misread = _list_misread(found)
    unbuilt = (*_list_unbuilt(inventory), *_list_left_out(inventory))
    return _once((*_list_unreadable(found), *misread, *unbuilt, *_list_unread_forms(found, inventory.built)))


def list_gaps_of_texts(texts: Sequence[Source], inventory: Inventory, folder: str) -> list[Gap]:
    """Return the gaps of texts that an editor has open in a folder.

    Broken documents and skipped objects are not among them: the report of the texts has them. `inventory` was
    rendered from the texts.
    """
    from nodelint.files.folders import Discovery
    from nodelint.inventory import note_unread

    found = Discovery()
    found.sources, found.folders, found.seen = list(texts), [folder], {source.path for source in texts}
    found.unread = [source.path for source in texts if not any(objects(source, foreign=True, more=True))]
    found.installing = [s.path for s in texts if any(row.may_install(s.path, s.text) for row in TABLE.rows)]
    inventory = note_unread(found, inventory._replace(files=found.sources))
    unread = _list_unread_forms(found, inventory.built)
    return _once((*_list_unreadable(found), *_list_unbuilt(inventory), *unread))


def _once(gaps: Iterable[Gap]) -> list[Gap]:
    return list({(*gap.file_place, gap.reason): gap for gap in gaps}.values())


def _list_unbuilt(inventory: Inventory) -> Iterator[Gap]:
    """Yield the gaps of inputs that were read but could not be rendered completely."""
    yield from inventory.gaps
    yield from (gap for built in inventory.built for gap in (*built.problems, *built.refused))
    yield from _list_values_objects(inventory)
    yield from _list_set_aside(inventory)


def _list_unreadable(found: Discovery) -> Iterator[Gap]:
    """Yield a gap for each path that cannot be read."""
    for shown, reason in found.unreadable:
        match = re.fullmatch(r"(.*?)(?::(\d+))?(?::(\d+))?", shown, re.DOTALL)
        path, line, column = match.groups() if match is not None else (shown, None, None)
        yield Gap(FilePlace(path, int(line or 0), int(column or 0)), "file", reason, fails=True)


def _list_misread(found: Discovery) -> Iterator[Gap]:
    """Yield a gap for each document with a syntax error."""
    for source in found.sources:
        for problem in source.problems:
            if source.concerns_karpenter(problem.offset):
                at = source.position(problem.offset)
                yield Gap(FilePlace(source.path, at.line, at.column), "file", problem.message, fails=True)


def _list_set_aside(inventory: Inventory) -> Iterator[Gap]:
    """Yield a gap for each template that was not rendered and that is not valid YAML as it is, or that is no YAML
    after rendering.
    """
    replaced = {path for built in inventory.built for path in built.replaces}
    for source in inventory.files:
        for aside in source.set_aside:
            is_left = isinstance(aside, RenderingProblem) or os.path.abspath(source.path) not in replaced
            if is_left and source.concerns_karpenter(aside.offset):
                yield Gap(Span(source, aside.offset, aside.offset), "file", aside.message)


def _list_left_out(inventory: Inventory) -> Iterator[Gap]:
    """Yield a gap for each object of another provider, and for each object of a kind that no release has."""
    for source in inventory.sources:
        for obj, reason in left_out(source):
            place = FilePlace(source.path)
            yield Gap(place, "object", f"{obj.label} is left out: {reason}", object=obj, subject=obj.label)


def _list_values_objects(inventory: Inventory) -> Iterator[Gap]:
    """Yield a gap for each pool and class in values of a chart that is not among the files."""
    taken = inventory.rendered_inputs
    for source in inventory.files:
        if os.path.abspath(source.path) in taken:
            continue
        for obj in objects(source, more=True):
            if obj.of_values:
                yield Gap(line_of(obj.name_node), "values", CHART_ELSEWHERE, subject=obj.label)


def _list_unread_forms(found: Discovery, built: Sequence[Built]) -> Iterator[Gap]:
    """Yield a gap for each script, program and template with objects that is not read."""
    from nodelint.inventory.unread_forms import unread

    for group in unread(found, built=built):
        if group.kind in _OF_RENDERING:
            continue
        holds = f"{_HOLDS}, which are" if group.objects else "is"
        if group.kind == "Jinja template":
            holds = "names Karpenter, and is"
        way = f"; {group.way} reads it" if group.way else ""
        for path in group.files:
            reason = f"the {group.kind} {holds} not read{way}"
            yield Gap(FilePlace(path), "file", reason, subject=group.kind)
