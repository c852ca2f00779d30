"""Compute the values of a subchart from each release of the charts around it."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.forms.helm.values_files import beside
from nodelint.forms.lib.chart_dependencies import BY_PATH, ChartDependencies, Dependency
from nodelint.forms.lib.chart_places import CHART, chart_of
from nodelint.forms.lib.chart_values import MOST_RELEASES, ChartRelease
from nodelint.forms.lib.unread_inputs import UnreadInputs
from nodelint.forms.lib.values import merged, read, values_root
from nodelint.forms.requests import FolderUse
from nodelint.model.finding import span_of
from nodelint.text import Node, Source
from nodelint.text.limits import note_limit
from nodelint.text.missing import items_of
from nodelint.text.missing import text_of as read_text
from nodelint.text.nodes import MappingEntry

if TYPE_CHECKING:
    from nodelint.forms.helm.overlay_releases import OverlayRelease

    AnyRelease = ChartRelease | OverlayRelease

VALUES = "values.yaml"
_MAY_ENABLE = ", and without them the chart is disabled"
"""Added to the reason why values are not known, if they may enable a chart."""
_DEEPEST = 10


class SubchartRelease(NamedTuple):
    """A subchart in one release of the chart around it.

    - `release`: the release, with the values of the subchart.
    - `tags`: the `tags` of the outermost chart's values.
    - `is_default`: no release sets other values than the charts' own.
    - `is_replaced`: each release of the outermost chart sets other values.
    - `is_off`: a condition or tag disables the subchart.
    - `has_own`: the outer charts pass no values to it.
    """

    release: AnyRelease
    tags: Node | None
    is_default: bool = False
    is_replaced: bool = False
    is_off: bool = False
    has_own: bool = False


class Subcharts:
    """The outer charts of some charts, and their releases.

    - `charts`: the default values of the charts, by absolute path.
    - `sources`: the files that were already read, by absolute path.
    """

    def __init__(self, charts: Mapping[str, Source], sources: Mapping[str, Source]) -> None:
        self._dependencies = ChartDependencies(sources)
        folders = [os.path.dirname(path) for path in charts]
        around = self._dependencies.list_charts_using(folders) if charts else []
        is_absolute = any(os.path.isabs(values.path) for values in charts.values())
        self.defaults = {**charts}
        for folder in around:
            path = os.path.join(folder, VALUES)
            self.defaults.setdefault(path, read_defaults(path, sources, is_absolute))
        self._given: dict[str, list[AnyRelease]] = {}
        self._installed: Collection[str] = ()
        self._users: Mapping[str, tuple[str, str]] = {}

    def add_releases(
        self, given: Iterable[AnyRelease], installed: Collection[str], users: Mapping[str, tuple[str, str]]
    ) -> None:
        """Record releases with other values, and the charts (`installed`) whose releases all have other values.

        `users` has what installs a chart without other values (as in `InstallChart`), if all its values are known.
        """
        self._installed, self._users = installed, users
        for release in given:
            self._given.setdefault(release.path, []).append(release)

    def gives_values(self, path: str, each_release: bool) -> bool:
        """Return whether a chart is a subchart whose every release gets values from its outer chart.

        With `each_release`, releases without such values count as well, but not one that its defaults disable: a user
        may enable it.
        """
        found = self.list_releases(path)
        if each_release:
            return any(release.is_replaced or not (release.is_default and release.is_off) for release in found)
        return bool(found) and not any(release.has_own for release in found)

    def is_switched(self, path: str) -> bool:
        """Return whether a condition or tag of an outer chart may disable a chart."""
        folder = os.path.dirname(path)
        charts = [folder, *self._dependencies.list_charts_using([folder])]
        items = [use.item for chart in charts for use in self._dependencies.list_uses(chart)]
        return any(item is not None and (item.get("condition") or item.get("tags")) is not None for item in items)

    def list_releases(self, path: str) -> list[SubchartRelease]:
        """Return the releases of a subchart, by the releases of its outer charts.

        `path` is the absolute path of its default values.
        """
        found = list(islice(self._list_releases(path, ()), MOST_RELEASES + 1))
        if len(found) > MOST_RELEASES:
            note_limit(self.defaults[path].path, MOST_RELEASES, "releases of one chart")
            found.pop()
        return found

    def _list_releases(self, path: str, inner: Sequence[str]) -> Iterator[SubchartRelease]:
        if path in inner or len(inner) >= _DEEPEST:
            return
        for use in self._dependencies.list_uses(os.path.dirname(path)):
            outer = os.path.join(use.user, VALUES)
            if outer in self.defaults:
                for made in self._list_of_chart(outer, (*inner, path)):
                    yield from self._enter(path, use, made)

    def _list_of_chart(self, path: str, inner: Sequence[str]) -> Iterator[SubchartRelease]:
        """Yield the releases of an outer chart, by itself and as a subchart."""
        own = values_root(self.defaults[path]) or Node(self.defaults[path], 0, 0, "mapping", "flow")
        for release in self._given.get(path, ()):
            yield SubchartRelease(release, release.root.get("tags"))
        is_subchart = False
        for made in self._list_releases(path, inner):
            is_subchart = True
            yield made
        if not is_subchart:
            release = ChartRelease(path, (self.defaults[path],), own, by=self._users.get(path, ("", "")))
            yield SubchartRelease(release, own.get("tags"), True, path in self._installed)

    def _enter(self, path: str, use: Dependency, outer: SubchartRelease) -> Iterator[SubchartRelease]:
        """Yield a release of a subchart in a release of its outer chart. A disabled subchart is yielded as well."""
        around, own = outer.release.root, values_root(self.defaults[path])
        root = _values_of_subchart(use.name, own, around)
        whole = root or own or Node(self.defaults[path], 0, 0, "mapping", "flow")
        release, is_off = outer.release._replace(path=path, root=whole), outer.is_off
        if not is_off and not _takes_part(use, around, whole, outer.tags):
            unread = release.unread
            is_off = unread is None
            if unread is not None:
                release = release._replace(unread=unread._replace(reason=f"{unread.reason}{_MAY_ENABLE}"))
        yield outer._replace(release=release, is_off=is_off, has_own=root is None)


def _values_of_subchart(name: str, own: Node | None, around: Node | None) -> Node | None:
    """Return the values of a subchart: its own, the values that the outer chart passes to it, and global ones.

    None if the outer chart passes none: then the subchart is judged with its own values.
    """
    over = around.get(name) if around is not None else None
    entry = around.entry("global") if around is not None else None
    is_given = over is not None and over.kind == "mapping"
    root = (over if own is None else merged(own, over)) if over is not None and is_given else own
    if root is None:
        root = Node(entry.key.source, entry.key.start, entry.key.start, "mapping", "flow") if entry else None
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


def _takes_part(use: Dependency, around: Node, own: Node, tags: Node | None) -> bool:
    """Return whether values enable a subchart: by the first condition that has a value, else by its tags."""
    if use.item is None:
        return True
    switches = [tags.get(read_text(tag)) for tag in items_of(use.item.get("tags"))] if tags is not None else []
    stated = [node.value for node in switches if node is not None]
    is_on = not stated or any(value is not False for value in stated)
    for condition in read_text(use.item.get("condition")).split(","):
        first, *rest = condition.strip().split(".")
        node = own.find(*rest) if first == use.name and rest else around.find(first, *rest)
        if node is not None and node.kind == "scalar":
            return node.value is not False
    return is_on


def list_used_charts(files: UnreadInputs) -> Iterator[FolderUse]:
    """Yield the charts on which other charts depend by a path. A chart in the folder `charts` needs no entry."""
    for path in files.paths:
        source = files.read(path) if os.path.basename(path) == CHART else None
        if source is not None and BY_PATH in source.text:
            user = os.path.dirname(path)
            for use in ChartDependencies({path: source}).list_named(user):
                assert use.item is not None
                name = f"dependency {use.name} of chart {os.path.basename(user)}"
                yield FolderUse(name, use.chart, span_of(use.item))


def list_values_files(template: Source, dependencies: ChartDependencies) -> list[str]:
    """Return the values files of a subchart's template: its own, and those of outer charts.

    Empty if it is no subchart.
    """
    chart = chart_of(template.path)
    around = dependencies.list_charts_using([os.path.abspath(chart)]) if chart is not None else []
    if chart is None or not around:
        return []
    is_absolute = os.path.isabs(template.path)
    outer = [os.path.join(folder if is_absolute else os.path.relpath(folder), VALUES) for folder in around]
    files = [os.path.join(chart, VALUES), *outer]
    return [*filter(gate.is_file, files), *(path for values in outer for path in beside(values))]


def read_defaults(path: str, sources: Mapping[str, Source], is_absolute: bool) -> Source:
    """Return the default values of a chart. If it has no such file, return an empty source."""
    shown = path if is_absolute else os.path.relpath(path)
    return sources.get(path) or read(shown) or Source.from_text(shown, "{}\n")
