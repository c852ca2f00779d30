"""Find values files of a chart that nothing names: their keys are those of the chart."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence

from nodelint.files.gate import gate
from nodelint.files.safe_read import is_below
from nodelint.forms.input_text import InputText
from nodelint.forms.lib.chart_places import CHART
from nodelint.forms.lib.unread_inputs import UnreadInputs, in_one_line
from nodelint.forms.lib.values import own_roots
from nodelint.model.finding import span_of
from nodelint.text.nodes import MappingEntry
from nodelint.text.source import YAML_NAMES

_OF_VALUES = re.compile(r"(?:^|/)(?:(?:vals|values|env|envs|environments?|overrides)/|[^/]*values[^/]*$)")
"""Folders and names of values files."""
_PASSED_OVER = ("templates", "crds", "charts", "ci", "tests")
"""Folders of a chart without values for an installation."""
_OBJECT = re.compile(r"(?m)^apiVersion:")


class UnnamedValues:
    """Finds values files that nothing names, among the files of one side of a plan. Files are searched by their
    keys.
    """

    def __init__(self, files: UnreadInputs) -> None:
        self._files = files
        self._entries: dict[str, list[MappingEntry]] = {}
        self._by_key: dict[str, list[str]] = {}
        self._charts: dict[str, list[str]] = {}
        self._in_chart: dict[str, bool] = {}
        for path in files.paths:
            if os.path.basename(path) == "values.yaml":
                self._index(self._charts, path)
            if (
                path.endswith(YAML_NAMES)
                and self._may_be_values(path)
                and not self._is_in_chart(os.path.dirname(path))
            ):
                self._index(self._by_key, path)

    def _index(self, found: dict[str, list[str]], path: str) -> None:
        for entry in self._list_entries(path):
            if entry.name is not None:
                found.setdefault(entry.name, []).append(path)

    def list_inputs(self, chart: str, keys: frozenset[str] | None, named: Collection[str]) -> Iterator[InputText]:
        """Yield the values files that no rendering uses and whose keys are those of a chart.

        `keys` are the keys of values that the chart uses. `named` are the files that something names.
        """
        values = os.path.join(chart, "values.yaml")
        known = {*(keys or ()), *(entry.name for entry in self._list_entries(values))}
        below = [path for path in self._files.list_below(chart) if self._may_belong(path, chart)]
        others = (path for key in known if key is not None for path in self._by_key.get(key, ()))
        for path in sorted({*below, *others} - {values, *named, *self._files.taken, *self._files.not_applied}):
            entries = self._list_entries(path)
            if not entries or not known.issuperset(entry.name for entry in entries):
                entries = self._list_of_chart(path, chart, entries)
            for entry in entries:
                if keys is None or entry.name in keys:
                    label = f"{os.path.basename(path)}: {entry.name}"
                    yield InputText(label, in_one_line(entry.value), span_of(entry.value))

    def _list_entries(self, path: str) -> list[MappingEntry]:
        """Return the entries of a file. Empty for an object."""
        if path not in self._entries:
            source = self._files.read(path)
            is_object = source is None or _OBJECT.search(source.text) is not None
            roots = list(own_roots(source)) if source is not None and not is_object else []
            self._entries[path] = [entry for root in roots if root.kind == "mapping" for entry in root.entries]
        return self._entries[path]

    def _list_of_chart(self, path: str, chart: str, entries: Sequence[MappingEntry]) -> list[MappingEntry]:
        """Return the entries of a file with other keys, too, that may be values of a chart.

        These are lists and maps where the chart has such values, and any in a file whose name or folder is one for
        values. None are if another chart has all its keys.
        """
        names = {entry.name for entry in entries}
        own = {entry.name: entry.value.kind for entry in self._list_entries(os.path.join(chart, "values.yaml"))}
        having = self._charts.get(next(iter(names), None) or "", ())
        if names.isdisjoint(own) or any(
            names <= {entry.name for entry in self._list_entries(other)} for other in having if other != path
        ):
            return []
        is_named = is_below(path, chart) or _OF_VALUES.search(os.path.relpath(path, self._files.top)) is not None
        return [
            entry
            for entry in entries
            if own.get(entry.name) == entry.value.kind and (is_named or entry.value.kind != "scalar")
        ]

    def _may_be_values(self, path: str) -> bool:
        below = os.path.relpath(path, self._files.top).split(os.sep)
        return os.path.basename(path) != CHART and not any(part.startswith(".") and part != ".." for part in below)

    def _may_belong(self, path: str, chart: str) -> bool:
        first = os.path.relpath(path, chart).split(os.sep)[0]
        return path.endswith(YAML_NAMES) and first not in _PASSED_OVER and self._may_be_values(path)

    def _is_in_chart(self, folder: str) -> bool:
        """Return whether a folder of the tree is a chart, or is inside one."""
        if folder == self._files.top or not is_below(folder, self._files.top):
            return False
        if folder not in self._in_chart:
            own = gate.is_file(os.path.join(folder, CHART))
            self._in_chart[folder] = own or self._is_in_chart(os.path.dirname(folder))
        return self._in_chart[folder]
