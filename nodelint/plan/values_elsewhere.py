"""Values that change and that no chart of the files takes: what pools and classes become of them is not known."""

from __future__ import annotations

import os
from collections import Counter

from nodelint.files.gate import gate
from nodelint.forms.registry import TABLE
from nodelint.model.documents import objects
from nodelint.model.folders import path_below
from nodelint.model.gap import Gap
from nodelint.plan.uncompared import codes_of, holds_unknown, uncompared
from nodelint.plan.values import json_value
from nodelint.text import Node

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from nodelint.forms.input_text import InputText
    from nodelint.forms.terraform.unread_releases import UnreadRelease
    from nodelint.model.manifest import Object
    from nodelint.plan.read_side import Read
    from nodelint.text import Source

_FIELDS = ("amiSelectorTerms", "subnetSelectorTerms", "securityGroupSelectorTerms", "nodeClassName", "nodeClassRef")
"""Keys that pools and classes have, and charts that make these take from their values."""


def find_changes_elsewhere(was: Read, new: Read) -> Iterator[Gap]:
    """What differs between two sides and may change their objects, in a way that is not known."""
    yield from _changed_values(was, new)
    yield from _changed_chart_files(was, new)
    yield from _changed_releases(was, new)
    yield from _changed_unread_values(was, new)


def _changed_values(was: Read, new: Read) -> Iterator[Gap]:
    """The values of charts elsewhere that differ between two sides, or are on one side alone."""
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
    """Objects of which a value is not known that their template takes from files of its chart, where these differ."""
    others = {chart: _read_files(chart) for chart in _list_charts(was)}
    before = {os.path.relpath(chart, was.root): files for chart, files in others.items()}
    for chart, obj in _list_charts(new).items():
        old = before.get(os.path.relpath(chart, new.root))
        from nodelint.files.git.git_revision import OF_OTHERS

        now = _read_files(chart)
        # Of a revision, such files are not there: they differ only where both sides have them.
        alone = {path for path in (old or {}).keys() ^ now.keys() if not path.lower().endswith(OF_OTHERS)}
        if old is not None and (alone or any(old[path] != now[path] for path in old.keys() & now.keys())):
            reason = "a file of its chart changes that its template may take in with `.Files`"
            yield uncompared(obj.name_node, f"{obj.kind} {obj.name or obj.name_node.unquoted}", reason, True)


def _changed_releases(was: Read, new: Read) -> Iterator[Gap]:
    """Blocks of Terraform that may install a chart with values that are not read, where these differ."""
    before = _list_unread_releases(was)
    for chart, releases in _list_unread_releases(new).items():
        old = {text for release in before.get(chart, ()) for text in release.texts}
        now = {text for release in releases for text in release.texts}
        added = (release for release in releases if not release.texts <= old)
        gone = (release for release in before.get(chart, ()) if not release.texts <= now)
        changed = next(added, next(gone, None))
        if chart in before and changed is not None:
            reason = f"its values for the chart {chart} change, and are not read: pools and classes may change, too"
            yield uncompared(changed.span, changed.label, reason, True)


def _list_unread_releases(side: Read) -> dict[str, list[UnreadRelease]]:
    """The blocks that may install a chart with objects, by where it stands below the side's root."""
    paths = {obj.source.path for obj in side.inventory.objects() if obj.source.masked or obj.source.built}
    if not paths:
        return {}
    from nodelint.forms.lib.chart_places import chart_of
    from nodelint.forms.terraform.unread_releases import find_unread_releases
    from nodelint.forms.terraform.values import Modules

    charts = set(map(chart_of, paths))
    if not any(charts) or not any(path.endswith(TABLE.module_files) for path in side.found.seen):
        return {}
    modules = Modules(side.found.sources)
    return {
        os.path.relpath(chart, side.root): list(
            find_unread_releases(os.path.abspath(chart), os.path.abspath(side.root), modules)
        )
        for chart in charts
        if chart is not None
    }


def _changed_unread_values(was: Read, new: Read) -> Iterator[Gap]:
    """What may give values to charts with objects in ways that are not worked out, where it differs."""
    taken = {
        path_below(part, side.root) for side in (was, new) for built in side.inventory.built for part in built.parts
    }
    before, after = (_list_unread_values(side, taken) for side in (was, new))
    shown: set[str] = set()
    for chart in sorted(before.keys() & after.keys()):
        from nodelint.forms.input_text import list_changed_inputs

        for found in list_changed_inputs(before[chart], after[chart]):
            if found.name not in shown:
                shown.add(found.name)
                reason = (
                    f"it may give values to the chart {chart}, and is not read: pools and classes may change, too"
                )
                yield uncompared(found.at, found.name, reason, True)


def _list_unread_values(side: Read, taken: Collection[str]) -> dict[str, list[InputText]]:
    """What may give values to the charts with objects, by where they stand below the side's root.

    `taken` are the places of files with which a side builds something.
    """
    paths = {obj.source.path for obj in side.inventory.objects() if obj.source.masked or obj.source.built}
    if not paths:
        return {}
    from nodelint.forms.helm.unread_values import UnreadValues
    from nodelint.forms.lib.chart_places import chart_of

    charts = {os.path.abspath(chart) for chart in map(chart_of, paths) if chart is not None}
    if not charts:
        return {}
    built = {os.path.abspath(os.path.join(side.root, place)) for place in taken}
    values = UnreadValues(side.found.sources, side.found.seen, side.root, built)
    return {path_below(chart, side.root): values.list_inputs(chart) for chart in sorted(charts)}


def _list_charts(side: Read) -> dict[str, Object]:
    """The folders of charts that have such an object, each with one of these."""
    unknown = [obj for obj in side.inventory.objects() if obj.source.masked and holds_unknown(obj)]
    if not unknown:
        return {}
    from nodelint.forms.lib.chart_places import chart_of

    found = {}
    for obj in unknown:
        chart = chart_of(obj.source.path)
        if chart is not None and any(".Files" in code for code in codes_of(obj, whole=True)):
            found[os.path.abspath(chart)] = obj
    return found


def _read_files(chart: str) -> dict[str, bytes]:
    """The files of a chart that `.Files` gives: no templates, and nothing that Helm reads itself; not too many."""
    found: dict[str, bytes] = {}
    for folder, _, names in gate.walk(chart):
        below = os.path.relpath(folder, chart)
        if below.split(os.sep)[0] in ("templates", "charts") or len(found) > _MOST_FILES:
            continue
        for name in names:
            if below == os.curdir and name in _OF_HELM:
                continue
            try:
                found[os.path.join(below, name)] = gate.read(os.path.join(folder, name), _LARGEST, within=chart)
            except OSError:
                continue
    return found


_MOST_FILES, _LARGEST = 1000, 1 << 20
_OF_HELM = ("Chart.yaml", "Chart.lock", "values.yaml", "values.schema.json", ".helmignore")
_Values = tuple[list[Node], Counter[str]]
_NOTHING: _Values = ([], Counter())


def _collect_values(side: Read) -> dict[str, _Values]:
    """The values of each file that nothing is built of, by where it stands below the side's root."""
    found = {}
    for place, source in _list_sources(side).items():
        nodes = _list_values(source)
        if nodes:
            found[place] = nodes, Counter(map(_text_of, nodes))
    return found


def _list_sources(side: Read) -> dict[str, Source]:
    """The files that nothing is built of, by where they stand below the side's root."""
    built = {part for made in side.inventory.built for part in made.parts}
    return {
        path_below(source.path, side.root): source
        for source in side.found.sources
        if not (built and os.path.abspath(source.path) in built) and not source.may_be_template
    }


def _list_values(source: Source) -> list[Node]:
    """The parts of pools and classes that values hold, and whole values of which nothing more is known."""
    found = [obj.node for obj in objects(source) if obj.partial and obj.name is None]
    if found:
        return found
    roots = [document.root for document in source.documents if document.root is not None and document.host is None]
    return [root for root in roots if root.kind == "mapping" and root.get("apiVersion") is None and _has_parts(root)]


def _has_parts(root: Node) -> bool:
    return any(
        entry.name in _FIELDS or (entry.name == "requirements" and _holds_requirements(entry.value))
        for node in root.walk()
        if node.kind == "mapping"
        for entry in node.entries
    )


def _holds_requirements(node: Node) -> bool:
    return any(item.get("key") is not None and item.get("operator") is not None for item in node.items)


def _text_of(node: Node) -> str:
    return repr(json_value(node))
