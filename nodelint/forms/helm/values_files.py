"""Find the other values files for a chart of the repository, and merge them into its default values.

These are files next to `values.yaml` with a similar name (`values-prod.yaml`, `prod.values.yaml`), files in a folder
of the chart for them (`values/prod.yaml`), and files elsewhere in the repository, such as
`environments/prod/karpenter.yaml`, if the default values of exactly one chart have all their keys.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence

from nodelint.files.gate import gate
from nodelint.files.safe_read import repository
from nodelint.forms.lib.chart_places import CHART, OTHER_VALUES
from nodelint.forms.lib.values import is_empty, values_root
from nodelint.model.gap import NOT_AS_VALUES
from nodelint.text import Node, Source
from nodelint.text.limits import note_left_out, note_more

_FOLDERS = ("values", "env", "envs", "environment", "environments")
"""Folders of a chart with the values of each environment."""

MOST = 1000
"""The most values files with which one chart is rendered."""

_FEWEST_KEYS = 2
"""The number of keys that a file elsewhere must share with a chart. A single key, such as `karpenter`, proves little.

One is enough if the user names the file, or if the maps below the key have the same keys.
"""


def beside(values: str) -> list[str]:
    """Return the files with names like a chart's own values, next to them or in a folder for such files."""
    folder = os.path.dirname(values)
    found = [os.path.join(folder, name) for name in _list(folder) if re.fullmatch(OTHER_VALUES, name)]
    for below in (os.path.join(folder, name) for name in _FOLDERS):
        found += [os.path.join(below, name) for name in _list(below) if name.endswith((".yaml", ".yml"))]
    return found


def _list(folder: str) -> list[str]:
    return gate.names(folder or os.curdir)


def list_keys(text: str) -> set[str]:
    """Return the keys at the beginning of unindented lines of a text."""
    return set(re.findall(r"(?m)^([A-Za-z][\w-]*)[ \t]*:(?:[ \t\r]|$)", text))


def _find_own_values(path: str, is_named: bool) -> str | None:
    """Return the path of the default values to which a values file belongs by its folder and name.

    None if it belongs to no chart. A file next to the default values may have any name if the user names it.
    """
    folder, name = os.path.split(path)
    if re.fullmatch(OTHER_VALUES, name) or (is_named and gate.is_file(os.path.join(folder, CHART))):
        return os.path.join(folder, "values.yaml")
    above, last = os.path.split(folder)
    return os.path.join(above, "values.yaml") if last in _FOLDERS else None


def overrides(
    charts: Mapping[str, Source], sources: Sequence[Source], with_empty: bool = False
) -> Iterator[tuple[str, Source, Node]]:
    """Yield the files with values of a chart: the path of the chart's own values, the file, and its merged root.

    `charts` are the default values of charts by absolute path. `with_empty`: a file next to them without any value
    counts, too.
    """
    defaults = {path: root for path, values in charts.items() if (root := values_root(values)) is not None}
    counts = dict.fromkeys(defaults, 0)
    beyond: dict[str, str] = {}
    for source in sources:
        path = os.path.abspath(source.path)
        if path in charts or source.may_be_template or not path.endswith((".yaml", ".yml")):
            continue
        own = _find_own_values(path, source.is_named)
        if own in defaults:
            fitting = [own]
        elif gate.is_file(os.path.join(os.path.dirname(path), CHART)):
            continue  # the values of another chart
        else:
            fitting = [
                default_path
                for default_path in defaults
                if _fits(source, defaults[default_path]) and _one_repository(default_path, path)
            ]
        root = values_root(source) if len(fitting) == 1 else None
        if root is None and with_empty and own in defaults and is_empty(source):
            root = Node(source, 0, 0, "mapping", "flow")
        if root is None:
            if source.is_named:
                _note_unused(source, fitting, defaults)
            continue
        counts[fitting[0]] += 1
        if counts[fitting[0]] <= MOST:
            yield fitting[0], source, root
        else:
            beyond.setdefault(fitting[0], source.path)
    for chart, path in beyond.items():
        note_more(path, counts[chart], MOST, "values files of one chart")


def _note_unused(source: Source, fitting: Sequence[str], defaults: Mapping[str, Node]) -> None:
    """Record why a file that the command line names is not used as values of a chart, if some of its keys match."""
    root = values_root(source)
    if root is None:
        return
    shown = os.path.relpath
    if fitting:
        charts = ", ".join(shown(os.path.dirname(path)) for path in fitting)
        note_left_out(
            source.path,
            f"these may be values of several charts ({charts}): name one chart, and pass the file with --values",
        )
        return
    for path, own in defaults.items():
        unknown = [entry.name for entry in root.entries if entry.name and own.get(entry.name) is None]
        shared = [entry for entry in root.entries if entry.name and _is_group(entry.value, own.get(entry.name))]
        if unknown and shared:
            reason = f"{NOT_AS_VALUES}: {shown(path)} has no key `{unknown[0]}`; to judge the chart with this file,"
            note_left_out(source.path, f"{reason} {_BY_FLAG}")
            return


def note_near_values(path: str, keys: set[str], charts: Mapping[str, set[str]]) -> None:
    """Record a file that is not used as values because the only similar chart lacks a few of its keys.

    `charts` are the keys of default values, by path. A file for a remote chart is not recorded: most of its keys
    differ.
    """
    near = [own for own in charts if _FEWEST_KEYS <= len(keys & charts[own]) >= 2 * len(keys - charts[own])]
    if len(near) == 1:
        unknown, chart = min(keys - charts[near[0]]), os.path.basename(os.path.dirname(os.path.abspath(near[0])))
        reason = f"{NOT_AS_VALUES}: values.yaml of chart {chart} has no key `{unknown}`; to judge it with this file,"
        note_left_out(path.replace(os.sep, "/"), f"{reason} {_BY_FLAG}")


_BY_FLAG = "pass it with --values"


def _is_group(value: Node, default: Node | None) -> bool:
    return default is not None and value.kind == default.kind and value.kind != "scalar"


def _fits(source: Source, defaults: Node) -> bool:
    """Return whether the default values have all keys of a file, and its maps have some keys in common with them."""
    root = values_root(source)
    if root is None or not root.entries:
        return False
    if len(root.entries) < _FEWEST_KEYS and not source.is_named:
        return _is_alike(root.entries[0].value, defaults.get(root.entries[0].name or ""))
    return all(_same(entry.value, defaults.get(entry.name or "")) for entry in root.entries)


def _same(value: Node, default: Node | None) -> bool:
    if default is None:
        return False
    if value.kind != "mapping" or default.kind != "mapping" or not default.entries:
        return True
    return any(default.get(entry.name or "") is not None for entry in value.entries)


def _is_alike(value: Node, default: Node | None) -> bool:
    """Return whether both are lists or maps, and the keys of the first map are keys of the other one's."""
    if default is None or value.kind != default.kind or value.kind == "scalar":
        return False
    if value.kind == "sequence":
        return bool(value.items and default.items) and _is_alike(value.items[0], default.items[0])
    return len(value.entries) >= _FEWEST_KEYS and all(default.get(entry.name or "") for entry in value.entries)


def _one_repository(path: str, other: str) -> bool:
    return repository(os.path.dirname(path)) == repository(os.path.dirname(other))
