"""Compute the values of a vendored chart from the values of its outer chart."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from nodelint.base.tuples import NamedTuple
from nodelint.forms.helm.charts import vendored_chart
from nodelint.forms.helm.values_files import beside
from nodelint.forms.lib.values import merged, read, values_root
from nodelint.text import Node, Source
from nodelint.text.nodes import MappingEntry


class ChartValues(NamedTuple):
    """Values of a chart.

    - `defaults`: the file with its default values.
    - `root`: all values, merged.
    - `own`: the file with other values, if any.
    """

    defaults: Source
    root: Node
    own: Source | None = None


def find_vendored_values(template: Source, sources: Mapping[str, Source]) -> Iterator[ChartValues]:
    """Yield the values that the outer chart passes to a vendored one: by default, and by each of its values files.

    `sources` are files that were already read, by absolute path.
    """
    found = vendored_chart(template.path)
    if found is None:
        return
    defaults = _source(found.values, sources) if found.values is not None else None
    outer = _source(found.outer_values, sources) if found.outer_values is not None else None
    around = values_root(outer) if outer is not None else None
    base = defaults if defaults is not None else outer
    own = values_root(defaults) if defaults is not None else None
    if base is None or (own is None and around is None):
        return
    for name in found.names:
        root = _values_of_subchart(name, own, around)
        if root is not None:
            yield ChartValues(base, root)
        for path in beside(found.outer_values) if found.outer_values is not None and around is not None else ():
            other = sources.get(os.path.abspath(path))
            over = values_root(other) if other is not None else None
            root = (
                _values_of_subchart(name, own, merged(around, over))
                if over is not None and around is not None
                else None
            )
            if root is not None:
                yield ChartValues(base, root, other)


def vendored_files(template: Source) -> list[str]:
    """Return the files with values for a template of a vendored chart."""
    found = vendored_chart(template.path)
    if found is None:
        return []
    outer = found.outer_values
    return [path for path in (found.values, outer) if path is not None] + (beside(outer) if outer is not None else [])


def _values_of_subchart(name: str, own: Node | None, around: Node | None) -> Node | None:
    """Return the values of a vendored chart: its own, those from the outer chart, and global ones.

    None if the outer chart sets none: then the defaults only matter to the chart's author.
    """
    over = around.get(name) if around is not None else None
    entry = around.entry("global") if around is not None else None
    is_given = over is not None and over.kind == "mapping"
    root = (over if own is None else merged(own, over)) if over is not None and is_given else own
    if root is None or (entry is None and not is_given):
        return None
    if entry is None:
        return root
    made = Node(root.source, root.start, root.end, "mapping", root.style)
    node = root.get("global")
    value = merged(node, entry.value) if node is not None else entry.value
    made.entries = [field for field in root.entries if field.name != "global"]
    made.entries.append(MappingEntry(entry.key, value, "global"))
    return made


def _source(path: str, sources: Mapping[str, Source]) -> Source | None:
    return sources.get(os.path.abspath(path)) or read(path)
