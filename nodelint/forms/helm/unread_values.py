"""Find texts that may set values of a chart in ways that nodelint does not compute.

These are helm commands, and values files that nothing names. The objects of the chart may change with them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence

from nodelint.files.gate import gate
from nodelint.files.safe_read import is_below
from nodelint.forms.helm.chart_inputs import VALUES
from nodelint.forms.helm.charts import other_templates
from nodelint.forms.helm.command_releases import read_script
from nodelint.forms.input_text import InputText
from nodelint.forms.lib.chart_commands import is_trial, join_lines
from nodelint.forms.lib.chart_dependencies import ChartDependencies
from nodelint.forms.lib.chart_places import CHART, names_chart
from nodelint.forms.lib.chart_values import RepositoryTree, holds_unknown
from nodelint.forms.lib.unread_inputs import UnreadInputs, in_one_line
from nodelint.forms.lib.values import own_roots
from nodelint.forms.lib.variable_inputs import VariableInputs, list_variables
from nodelint.model.finding import Span, span_of
from nodelint.text import Source
from nodelint.text.nodes import MappingEntry

_YAML = (".yaml", ".yml")
_COMMAND = re.compile(r"\bhelm[ \t]+(?:upgrade|install|template|diff)\b[^\n;&|]{0,2000}")
_VALUES_FILE = re.compile(r"(?:^|\s)(?:-f|--values|--set-file)[ =]+(?:[\w.]+=)?([^\s$]+)")
_OF_VALUES = re.compile(r"(?:^|/)(?:(?:vals|values|env|envs|environments?|overrides)/|[^/]*values[^/]*$)")
"""Folders and names of values files."""
_PASSED_OVER = ("templates", "crds", "charts", "ci", "tests")
"""Folders of a chart without values for an installation."""


def list_unread_values(chart: str, files: UnreadInputs) -> Iterator[InputText]:
    """Yield the texts that may set values of a chart. `chart` is the absolute path of its folder."""
    return _UnreadValues(files).list_inputs(chart)


class _UnreadValues:
    """Finds texts that may set values of a chart, in the files of one side of a plan."""

    def __init__(self, files: UnreadInputs) -> None:
        self._files = files
        self._variables = VariableInputs(files.top)
        self._dependencies = ChartDependencies(files.by_path)

    def list_inputs(self, chart: str) -> Iterator[InputText]:
        templates = [path for path in self._files.paths if path.startswith(os.path.join(chart, "templates", ""))]
        keys = self._list_keys(templates)
        inner = list(self._dependencies.list_names(chart)) if keys is not None else []
        keys = keys.union(inner, ("global", "tags") if inner else ()) if keys is not None else None
        handed = [*self._files.values_files, *self._list_commands(chart)]
        yield from (part for found in handed for part in _split_by_keys(found, keys))
        yield from self._list_unnamed(chart, keys, {os.path.abspath(found.at.source.path) for found in handed})

    def _list_commands(self, chart: str) -> Iterator[InputText]:
        """Yield the `helm` commands that install a chart, the values files that they name, and their variables."""
        for source in self._variables.list_scripts():
            if "helm" not in source.text or not names_chart(source.text, chart):
                continue
            if self._are_read(source, chart):
                continue
            for command in _COMMAND.finditer(join_lines(source.text)):
                if not names_chart(command[0], chart) or is_trial(command[0]):
                    continue
                yield InputText(
                    "helm command", " ".join(command[0].split()), Span(source, command.start(), command.end())
                )
                yield from self._variables.list_inputs(list_variables(command[0], 0, len(command[0])))
                for name in _VALUES_FILE.findall(command[0]):
                    for folder in {os.path.dirname(os.path.abspath(source.path)), self._files.top}:
                        yield from self._files.list_named(folder, name.strip("\"'"))

    def _are_read(self, source: Source, chart: str) -> bool:
        """Return whether all values that the commands of a text set are known: then they are used for rendering."""
        tree = RepositoryTree(self._files.top, self._files.by_path, False, [])
        releases = list(read_script(source, [chart], tree))
        return bool(releases) and not any(made.unread or holds_unknown(made.layers) for made in releases)

    def _list_keys(self, templates: Sequence[str]) -> frozenset[str] | None:
        """Return the top-level keys of values that the templates of a chart use. None if any key may be used."""
        texts = [source.text for path in templates if (source := self._files.read(path)) is not None]
        texts += other_templates(templates[0]) if templates else []
        keys = set()
        for fields, names in (found for text in texts for found in VALUES.findall(text)):
            path = [*fields.split(".")[1:], *re.findall(r'"([^"]+)"', names)]
            if not path:
                return None
            keys.add(path[0])
        return frozenset(keys)

    def _list_entries(self, path: str) -> Iterator[MappingEntry]:
        source = self._files.read(path)
        for root in own_roots(source) if source is not None else ():
            if root.kind == "mapping" and root.get("apiVersion") is None:
                yield from root.entries

    # -- files that nothing names

    def _list_unnamed(self, chart: str, keys: frozenset[str] | None, named: Collection[str]) -> Iterator[InputText]:
        """Yield the values files that no rendering uses and whose keys are those of a chart."""
        own = self._files.read(os.path.join(chart, "values.yaml"))
        known = {*(keys or ()), *(entry.name for entry in self._list_entries(os.path.join(chart, "values.yaml")))}
        for path in self._files.paths:
            if not path.endswith(_YAML) or path in self._files.taken or path in {*named, *self._files.not_applied}:
                continue
            if own is self._files.read(path) or not self._may_be_values(path, chart):
                continue
            entries = list(self._list_entries(path))
            if not entries or not known.issuperset(entry.name for entry in entries):
                entries = self._list_of_chart(path, chart, entries)
            for entry in entries:
                if keys is None or entry.name in keys:
                    yield InputText(
                        f"{os.path.basename(path)}: {entry.name}", in_one_line(entry.value), span_of(entry.value)
                    )

    def _list_of_chart(self, path: str, chart: str, entries: Sequence[MappingEntry]) -> list[MappingEntry]:
        """Return the entries of a file with other keys, too, that may be values of a chart.

        These are lists and maps where the chart has such values, and any in a file whose name or folder is one for
        values. None are if another chart has all its keys.
        """
        names = {entry.name for entry in entries}
        own = {entry.name: entry.value.kind for entry in self._list_entries(os.path.join(chart, "values.yaml"))}
        if names.isdisjoint(own) or any(
            names <= {entry.name for entry in self._list_entries(other)}
            for other in self._files.paths
            if os.path.basename(other) == "values.yaml" and other != path
        ):
            return []
        is_named = is_below(path, chart) or _OF_VALUES.search(os.path.relpath(path, self._files.top)) is not None
        return [
            entry
            for entry in entries
            if own.get(entry.name) == entry.value.kind and (is_named or entry.value.kind != "scalar")
        ]

    def _may_be_values(self, path: str, chart: str) -> bool:
        below = os.path.relpath(path, self._files.top).split(os.sep)
        if any(part.startswith(".") and part != ".." for part in below) or os.path.basename(path) == CHART:
            return False
        if is_below(path, chart):
            return os.path.relpath(path, chart).split(os.sep)[0] not in _PASSED_OVER
        return not any(
            gate.is_file(os.path.join(self._files.top, *below[:depth], CHART)) for depth in range(1, len(below))
        )


def _split_by_keys(found: InputText, keys: frozenset[str] | None) -> Iterator[InputText]:
    """Yield the entries of a values file that the templates of a chart use. Any other text is yielded unchanged."""
    source = found.at.source
    if keys is None or not isinstance(source, Source) or found.text != source.text or not source.path.endswith(_YAML):
        yield found
        return
    roots = list(own_roots(source))
    if len(roots) != 1 or roots[0].kind != "mapping" or "{{" in source.text:
        yield found
        return
    for entry in roots[0].entries:
        if entry.name in keys or entry.name == "global":
            yield InputText(f"{found.name}: {entry.name}", in_one_line(entry.value), span_of(entry.value))
