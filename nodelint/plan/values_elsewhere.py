"""Changed values that no chart in the files uses: their effect on pools and classes is not known."""

from __future__ import annotations

import os
from collections import Counter

from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.forms.input_text import list_changed_inputs
from nodelint.forms.registry import TABLE
from nodelint.model.documents import objects
from nodelint.model.finding import Span
from nodelint.model.folders import path_below
from nodelint.model.gap import Gap
from nodelint.plan.gone_appliers import show_place
from nodelint.plan.uncompared import codes_of, uncompared
from nodelint.plan.values import json_value
from nodelint.text import Node, Source

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from nodelint.forms.input_text import InputText
    from nodelint.model.manifest import Object
    from nodelint.plan.read_side import Read

_IGNORED = ".helmignore"
_FIELDS = ("amiSelectorTerms", "subnetSelectorTerms", "securityGroupSelectorTerms", "nodeClassName", "nodeClassRef")
"""Keys of pools and classes that charts often read from their values."""


def find_changes_elsewhere(was: Read, new: Read) -> Iterator[Gap]:
    """Yield the differences between two sides that may change their objects in an unknown way."""
    yield from _changed_values(was, new)
    yield from _changed_chart_files(was, new)
    yield from _changed_ignore_files(was, new)
    yield from _changed_releases(was, new)
    yield from _changed_unread_values(was, new)


def _changed_values(was: Read, new: Read) -> Iterator[Gap]:
    """Yield the values for charts elsewhere that differ between two sides, or that only one side has."""
    old, new_values = (_collect_values(side) for side in (was, new))
    moved = [values for place, (_, values) in old.items() if place not in new_values]
    for place in dict.fromkeys((*new_values, *old)):
        before, after = old.get(place, _NOTHING), new_values.get(place, _NOTHING)
        if before[1] == after[1] or (place not in old and after[1] in moved):
            continue
        if place not in new_values and any(
            before[1] == new_values[other][1] for other in new_values if other not in old
        ):
            continue
        common = before[1] & after[1]
        at = next(node for node in (*after[0], *before[0]) if _text_of(node) not in common or not common)
        reason = "no chart of these files takes these values: what becomes of pools and classes is not known"
        yield uncompared(at, os.path.basename(place), reason, True)


def _changed_chart_files(was: Read, new: Read) -> Iterator[Gap]:
    """Yield a gap for an object with an unknown value that its template reads from files of its chart, if these files
    differ.
    """
    after = _list_taken_files(new)
    before = _list_taken_files(was) if after else {}
    for chart, (obj, now) in after.items():
        from nodelint.files.git.git_revision import OF_OTHERS

        _, old = before.get(chart, (None, None))
        # A revision is read without such files, so only files that both sides have are compared.
        alone = {path for path in (old or {}).keys() ^ now.keys() if not path.lower().endswith(OF_OTHERS)}
        if old is not None and (alone or any(old[path] != now[path] for path in old.keys() & now.keys())):
            reason = "a file of its chart changes that its template may take in with `.Files`"
            yield uncompared(obj.name_node, f"{obj.kind} {obj.name or obj.name_node.unquoted}", reason, True)


def _changed_ignore_files(was: Read, new: Read) -> Iterator[Gap]:
    """Yield the charts with objects whose list of files that helm ignores changes."""
    before, after = (_read_ignore_files(side) for side in (was, new))
    for chart in sorted(before.keys() & after.keys()):
        if before[chart].text.split() != after[chart].text.split():
            reason = "helm may ignore other files of the chart now, and leave out pools and classes"
            yield uncompared(show_place(new, Span(after[chart], 0, 0)), os.path.join(chart, _IGNORED), reason, True)


def _read_ignore_files(side: Read) -> dict[str, Source]:
    """Return the list of ignored files of each chart with objects, without comments, by the path of the chart."""
    found = {}
    for chart in list_own_charts(side):
        path = os.path.join(chart, _IGNORED)
        try:
            text = gate.read(path).decode(errors="replace") if gate.is_file(path) else ""
        except OSError:
            text = ""
        lines = (line.strip() for line in text.splitlines())
        patterns = "\n".join(line for line in lines if line and not line.startswith("#"))
        found[path_below(chart, side.root)] = Source(os.path.relpath(path).replace(os.sep, "/"), patterns)
    return found


def _changed_releases(was: Read, new: Read) -> Iterator[Gap]:
    """Yield the blocks that may install a chart with values that are not read, if these values differ."""
    before = list_unread_releases(was)
    for chart, releases in list_unread_releases(new).items():
        if chart not in before:
            continue
        old, now = ({found.text for found in side} for side in (before[chart], releases))
        added = (found for found in releases if found.text not in old)
        gone = (found for found in before[chart] if found.text not in now)
        changed = next(added, next(gone, None))
        if changed is not None:
            reason = f"its values for the chart {chart} change, and are not read: pools and classes may change, too"
            yield uncompared(changed.at, changed.name, reason, True)


def list_unread_releases(side: Read) -> dict[str, list[InputText]]:
    """Return the blocks that may install a chart with objects, by the path of the chart below the side's root."""
    charts, rows = list_own_charts(side), TABLE.of_languages(side.found.seen)
    if not charts or not rows:
        return {}
    found: dict[str, list[InputText]] = {path_below(chart, side.root): [] for chart in charts}
    for row in rows:
        for chart, given in (
            row.load().list_unread_releases(charts, os.path.abspath(side.root), side.found.sources).items()
        ):
            found[path_below(chart, side.root)] += given
    return found


def list_own_charts(side: Read) -> list[str]:
    """Return the absolute paths of the charts whose templates contain objects, and of their parent charts."""
    sources = (obj.source for obj in side.inventory.objects())
    paths = {source.path for source in sources if source.masked or source.built or source.holds("{{")}
    if not paths:
        return []
    from nodelint.forms.lib.chart_dependencies import ChartDependencies
    from nodelint.forms.lib.chart_places import chart_of

    charts = {os.path.abspath(chart) for chart in map(chart_of, paths) if chart is not None}
    dependencies = ChartDependencies({os.path.abspath(source.path): source for source in side.found.sources})
    return sorted(charts.union(dependencies.list_charts_using(charts) if charts else ()))


def _changed_unread_values(was: Read, new: Read) -> Iterator[Gap]:
    """Yield the inputs that may give values to charts with objects and are not evaluated, if they differ."""
    taken = {
        path_below(part, side.root) for side in (was, new) for built in side.inventory.built for part in built.parts
    }
    before, after = (_list_unread_values(side, taken) for side in (was, new))
    shown: set[str] = set()
    for chart in sorted(before.keys() & after.keys()):
        for found in list_changed_inputs(before[chart], after[chart]):
            if found.name not in shown:
                shown.add(found.name)
                reason = (
                    f"it may give values to the chart {chart}, and is not read: pools and classes may change, too"
                )
                yield uncompared(found.at, found.name, reason, True)


def _list_unread_values(side: Read, taken: Collection[str]) -> dict[str, list[InputText]]:
    """Return the inputs that may give values to the charts with objects, by the path of the chart below the side's
    root.

    `taken` are the paths of the values files with which a side renders charts.
    """
    charts = list_own_charts(side)
    if not charts:
        return {}
    from nodelint.forms.lib.unread_inputs import UnreadInputs

    built = {os.path.abspath(os.path.join(side.root, place)) for place in taken}
    files = UnreadInputs(side.found.sources, side.found.seen, side.root)
    values: dict[str, list[InputText]] = {}
    for chart in charts:
        found = values[path_below(chart, side.root)] = []
        files.taken, files.values_files = built, []
        for row in TABLE.rows:
            found += row.load().list_unread_values(chart, files)
            files.taken = built | {os.path.abspath(given.at.source.path) for given in found}
    return values


def _list_taken_files(side: Read) -> dict[str, tuple[Object, Mapping[str, bytes]]]:
    """Return the folders from which template code reads files for unknown values, each with an object and the
    files.
    """
    found: dict[str, tuple[Object, Mapping[str, bytes]]] = {}
    for obj in side.inventory.objects():
        codes = codes_of(obj, whole=True)
        if not codes:
            continue
        for row in (row for row in TABLE.rows if row.folders):
            taken = row.load().read_files_taken(obj.source.path, codes)
            if taken is not None:
                found[os.path.relpath(taken[0], side.root)] = obj, taken[1]
    return found


_Values = tuple[list[Node], Counter[str]]
_NOTHING: _Values = ([], Counter())


def _collect_values(side: Read) -> dict[str, _Values]:
    """Return the values in each file that is no input of a rendered manifest, by its path below the side's root."""
    found = {}
    for place, source in _list_sources(side).items():
        nodes = _list_values(source)
        if nodes:
            found[place] = nodes, Counter(map(_text_of, nodes))
    return found


def _list_sources(side: Read) -> dict[str, Source]:
    """Return the files that are no input of a rendered manifest, by their path below the side's root.

    A kustomization is included only if it gives values to a chart: a component that no overlay uses has none.
    """
    built = {part for made in side.inventory.built for part in made.parts}
    return {
        path_below(source.path, side.root): source
        for source in side.found.sources
        if not (built and os.path.abspath(source.path) in built)
        and not source.may_be_template
        and not source.path.endswith(TABLE.module)
        and (os.path.basename(source.path) not in TABLE.names or _gives_values(source))
    }


def _gives_values(source: Source) -> bool:
    return any(obj.of_values for obj in objects(source, more=True))


def _list_values(source: Source) -> list[Node]:
    """Return the parts of pools and classes in a values file, or its whole values if only some of their fields look
    like these. Fields of whole objects, as in a program of Pulumi in YAML, do not count.
    """
    found = [obj.node for obj in objects(source) if obj.partial and obj.name is None]
    if found:
        return found
    roots = [document.root for document in source.documents if document.root is not None and document.host is None]
    roots = [root for root in roots if root.kind == "mapping" and root.get("apiVersion") is None]
    whole = [obj.node for obj in objects(source, more=True) if not (obj.partial or obj.of_values)] if roots else []
    return [root for root in roots if _has_parts(root, whole)]


def _has_parts(root: Node, whole: Sequence[Node]) -> bool:
    """Return whether a mapping outside of some objects has a field of a pool or class."""
    return any(
        entry.name in _FIELDS or (entry.name == "requirements" and _holds_requirements(entry.value))
        for node in root.walk()
        if node.kind == "mapping" and not any(obj.start <= node.start < obj.end for obj in whole)
        for entry in node.entries
    )


def _holds_requirements(node: Node) -> bool:
    return any(item.get("key") is not None and item.get("operator") is not None for item in node.items)


def _text_of(node: Node) -> str:
    return repr(json_value(node))
