"""Values with pools and classes for charts whose templates are not among the files: what these make is not known."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence

from nodelint.forms.lib.remote_values import FIELD, HOLDER, NOT_HERE
from nodelint.forms.registry import TABLE, FormRow
from nodelint.model.documents import objects
from nodelint.model.gap import Gap
from nodelint.text import Node, Source
from nodelint.text.nodes import MappingEntry
from nodelint.text.reading import nodes_of

_NOT_TAKEN = "are values that no template here is filled with: what a chart makes of them is not judged"


def may_hold_remote_values(source: Source) -> bool:
    """Whether a file may hold values of a chart; a manifest of Karpenter's holds none."""
    text = source.text
    if source.may_be_template or not source.path.endswith((".yaml", ".yml", ".json")):
        return False
    return "kind:" not in text or any(row.may_install(source.path, source.text) for row in TABLE.rows)


def find_remote_values(files: Sequence[Source], taken: Collection[str]) -> Iterator[Gap]:
    """Name pools and classes in values that no template of the files takes.

    `taken` are the absolute paths of files that something is built of. Values that have Karpenter's own fields are
    judged as they are, and not named.
    """
    by_path = {os.path.abspath(source.path): source for source in files}
    charts = {_chart_of(path) for path, source in by_path.items() if source.may_be_template}
    for source in files:
        if not may_hold_remote_values(source):
            continue
        judged = [(obj.node.start, obj.node.end) for obj in objects(source, foreign=True, more=True)]
        path = os.path.abspath(source.path)
        rows = [row for row in TABLE.rows if row.may_install(source.path, source.text)]
        found: list[Gap] = []
        for root in nodes_of(source):
            for chart, values in _values_in(root, path, charts, taken, rows):
                reason = f"are values of the chart {chart}, {NOT_HERE}" if chart else _NOT_TAKEN
                found += [_describe(entry.key, f"`{entry.name}` {reason}") for entry in _find_holders(values, judged)]
            for row in rows:
                found += row.load().find_hidden_values(root, charts, by_path)
        yield from sorted(set(found), key=lambda values: values.line)


def _describe(at: Node, reason: str) -> Gap:
    return Gap(at, "values", reason)


def _chart_of(path: str) -> str:
    head, found, _ = path.rpartition(f"{os.sep}templates{os.sep}")
    return head if found else ""


def _values_in(
    root: Node, path: str, charts: Collection[str], taken: Collection[str], rows: Sequence[FormRow]
) -> Iterator[tuple[str, Node]]:
    """The values that a document gives to charts without a template here, each with the name of the chart."""
    folder, name = os.path.split(path)
    if root.get("kind") is None and root.get("apiVersion") is None and name not in TABLE.names:
        if name not in TABLE.heads and root.kind == "mapping" and not (folder in charts or path in taken):
            yield "", root
        return
    for row in rows:
        yield from row.load().find_given_values(root, charts)


def _find_holders(values: Node, judged: Sequence[tuple[int, int]]) -> Iterator[MappingEntry]:
    """The keys of values under which pools or classes stand of which one is not judged."""
    pending = [values]
    while pending:
        node = pending.pop()
        pending += node.items
        for entry in reversed(node.entries):
            if entry.merged or entry.value.kind == "scalar":
                continue
            if entry.name is None or re.fullmatch(HOLDER, entry.name) is None:
                pending.append(entry.value)
            elif _is_switched_on(entry.value) and any(
                not _is_judged(part, judged) for part in _list_parts(entry.value)
            ):
                yield entry


def _list_parts(holder: Node) -> list[Node]:
    """The pools or classes under a key: it is one itself, or has a list or a map of them."""
    if any(re.match(FIELD, entry.name or "") for entry in holder.entries):
        return [holder]
    below = [*holder.items, *(entry.value for entry in holder.entries)]
    return [node for node in below if _says_field(node) and _is_switched_on(node)]


def _says_field(node: Node) -> bool:
    return any(re.match(FIELD, e.name or "") or _says_field(e.value) for e in node.entries)


def _is_switched_on(node: Node) -> bool:
    """Whether nothing says that a thing is switched off."""
    switch = node.get("enabled") or node.get("create")
    return switch is None or switch.value is not False


def _is_judged(node: Node, judged: Sequence[tuple[int, int]]) -> bool:
    return any(start < node.end and node.start < end for start, end in judged)
