"""Find pools and classes in values for charts whose templates are not among the files: they are not judged."""

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

NOT_TAKEN = "are values that no template here is filled with: what a chart makes of them is not judged"


def may_hold_remote_values(source: Source) -> bool:
    """Return whether a file may hold values of a chart. A Karpenter manifest does not."""
    text = source.text
    if source.may_be_template or not source.path.endswith((".yaml", ".yml", ".json")):
        return False
    return "kind:" not in text or any(row.may_install(source.path, source.text) for row in TABLE.rows)


def find_remote_values(files: Sequence[Source], taken: Collection[str]) -> Iterator[Gap]:
    """Yield a gap for pools and classes in values that no template of the files uses.

    `taken` are the absolute paths of files that are inputs of a rendered manifest. Values with Karpenter's own fields
    are judged as they are, so they are not a gap.
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
                reason = f"are values of the chart {chart}, {NOT_HERE}" if chart else NOT_TAKEN
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
    """Yield the values in a document for charts without a template here: the name of the chart, and the values."""
    folder, name = os.path.split(path)
    if root.get("kind") is None and root.get("apiVersion") is None and name not in TABLE.names:
        if name not in TABLE.heads and root.kind == "mapping" and not (folder in charts or path in taken):
            yield "", root
        return
    for row in rows:
        yield from row.load().find_given_values(root, charts)


def _find_holders(values: Node, judged: Sequence[tuple[int, int]]) -> Iterator[MappingEntry]:
    """Yield the keys of values that hold pools or classes, if at least one of them is not judged."""
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
    """Return the pools or classes under a key: the value itself, or the members of a list or map."""
    if any(re.match(FIELD, entry.name or "") for entry in holder.entries):
        return [holder]
    below = [*holder.items, *(entry.value for entry in holder.entries)]
    return [node for node in below if _says_field(node) and _is_switched_on(node)]


def _says_field(node: Node) -> bool:
    return any(re.match(FIELD, e.name or "") or _says_field(e.value) for e in node.entries)


def _is_switched_on(node: Node) -> bool:
    """Return whether a node has neither `enabled: false` nor `create: false`. True if neither key exists."""
    switch = node.get("enabled") or node.get("create")
    return switch is None or switch.value is not False


def _is_judged(node: Node, judged: Sequence[tuple[int, int]]) -> bool:
    return any(start < node.end and node.start < end for start, end in judged)
