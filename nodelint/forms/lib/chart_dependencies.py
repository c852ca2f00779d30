"""Find the dependencies between charts of a repository: in the folder `charts`, or named by a path."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping

from nodelint.base.tuples import NamedTuple
from nodelint.files.gate import gate
from nodelint.files.safe_read import is_inside, repository
from nodelint.forms.lib.chart_places import CHART, find_outer_chart
from nodelint.forms.lib.values import read
from nodelint.text import Node, Source
from nodelint.text.missing import items_of
from nodelint.text.missing import text_of as read_text
from nodelint.text.reading import nodes_of

BY_PATH = "file://"
_MOST_AROUND = 100
"""The most outer charts that are searched for a chart."""


class Dependency(NamedTuple):
    """A chart that another chart uses.

    - `user`, `chart`: the absolute paths of both folders.
    - `name`: the key of its values in the user.
    - `item`: its entry in the user's Chart.yaml, None if there is none.
    """

    user: str
    chart: str
    name: str
    item: Node | None


class ChartDependencies:
    """The dependencies between charts. `sources` are files that were already read, by absolute path.

    A dependency by a path is found only if the user's Chart.yaml is among the sources.
    """

    def __init__(self, sources: Mapping[str, Source]) -> None:
        self._sources = sources
        self._roots: dict[str, Node | None] = {}
        self._by_path: dict[str, list[Dependency]] | None = None
        self._uses: dict[str, list[Dependency]] = {}

    def list_uses(self, chart: str) -> list[Dependency]:
        """Return the dependencies of other charts on a chart. `chart` is the absolute path of its folder."""
        if self._by_path is None:
            self._by_path = {}
            for path, source in self._sources.items():
                if os.path.basename(path) == CHART and BY_PATH in source.text:
                    for use in self.list_named(os.path.dirname(path)):
                        self._by_path.setdefault(use.chart, []).append(use)
        if chart not in self._uses:
            vendoring = list(self._list_vendoring(chart))
            users = {use.user for use in vendoring}
            named = (use for use in self._by_path.get(chart, ()) if use.user not in users)
            self._uses[chart] = [*vendoring, *named]
        return self._uses[chart]

    def list_charts_using(self, charts: Iterable[str]) -> list[str]:
        """Return the charts that use some charts, directly or through other charts."""
        found: dict[str, None] = {}
        pending = list(charts)
        while pending and len(found) < _MOST_AROUND + len(pending):
            for use in self.list_uses(pending.pop()):
                if use.user not in found:
                    found[use.user] = None
                    pending.append(use.user)
        return list(found)

    def list_keys(self, chart: str, with_values: bool = True) -> Iterator[str]:
        """Yield the top-level keys of a chart's values that enable its dependencies, and `with_values` of those that
        they get.
        """
        items = items_of(self._get(chart, "dependencies"))
        for item in items:
            if with_values:
                yield read_text(item.get("alias")) or read_text(item.get("name"))
            conditions = read_text(item.get("condition"))
            yield from (path.strip().split(".")[0] for path in conditions.split(",") if conditions)
        if items:
            yield from ("global", "tags") if with_values else ("tags",)

    def _list_vendoring(self, chart: str) -> Iterator[Dependency]:
        outer = find_outer_chart(chart)
        if outer is None:
            return
        name = read_text(self._get(chart, "name"))
        items = [item for item in items_of(self._get(outer, "dependencies")) if read_text(item.get("name")) == name]
        for item in items or (None,):
            alias = read_text(item.get("alias")) if item is not None else ""
            yield Dependency(outer, chart, alias or name, item)

    def list_named(self, user: str) -> Iterator[Dependency]:
        """Yield the dependencies of a chart that it names by a path."""
        home = repository(user)
        for item in items_of(self._get(user, "dependencies")):
            address = read_text(item.get("repository"))
            folder = os.path.normpath(os.path.join(user, address.removeprefix(BY_PATH)))
            if not address.startswith(BY_PATH) or not gate.is_file(os.path.join(folder, CHART)):
                continue
            if home is None or is_inside(folder, home):
                name = read_text(item.get("alias")) or read_text(item.get("name"))
                yield Dependency(user, folder, name, item)

    def list_parts(self, user: str) -> Iterator[Dependency]:
        """Yield the dependencies of a chart whose files are here: in its folder `charts`, or named by a path."""
        yield from self.list_named(user)
        for item in items_of(self._get(user, "dependencies")):
            name = read_text(item.get("name"))
            folder = os.path.join(user, "charts", name)
            if os.path.basename(folder) == name and gate.is_file(os.path.join(folder, CHART)):
                yield Dependency(user, folder, read_text(item.get("alias")) or name, item)

    def _get(self, chart: str, field: str) -> Node | None:
        """Return a field of a chart's Chart.yaml. None if there is none."""
        path = os.path.join(chart, CHART)
        if path not in self._roots:
            source = self._sources.get(path) or read(path)
            self._roots[path] = (
                next((root for root in nodes_of(source) if root.kind == "mapping"), None)
                if (source is not None)
                else None
            )
        root = self._roots[path]
        return root.get(field) if root is not None else None


def find_depending_charts(charts: Collection[str], paths: Iterable[str]) -> list[Source]:
    """Return the Chart.yaml of each chart that depends by a path on some charts, directly or through other charts.

    `charts` are absolute paths of folders. `paths` are the files to search.
    """
    found: dict[str, Source] = {}
    for path in paths if charts else ():
        if os.path.basename(path) == CHART and _names_by_path(path):
            source = read(path)
            if source is not None:
                found[os.path.abspath(path)] = source
    if not found:
        return []
    around = ChartDependencies(found).list_charts_using(charts)
    return [source for chart in around if (source := found.get(os.path.join(chart, CHART))) is not None]


def _names_by_path(path: str) -> bool:
    try:
        return BY_PATH.encode() in gate.read_listed(path)
    except OSError:
        return False
