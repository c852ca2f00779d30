"""Find texts that may set values of a chart in ways that nodelint does not compute.

These are values of a chart that depends on this one, helm commands, and values files that nothing names. The objects
of the chart may change with them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence

from nodelint.files.gate import gate
from nodelint.files.safe_read import is_below
from nodelint.forms.helm.chart_inputs import VALUES
from nodelint.forms.helm.charts import find_users, other_templates
from nodelint.forms.helm.command_releases import read_script
from nodelint.forms.helm.values_files import beside
from nodelint.forms.input_text import InputText
from nodelint.forms.lib.chart_commands import is_trial, join_lines
from nodelint.forms.lib.chart_places import CHART, chart_around, names_chart
from nodelint.forms.lib.chart_values import RepositoryTree, holds_unknown
from nodelint.forms.lib.unread_inputs import UnreadInputs, in_one_line
from nodelint.forms.lib.values import own_roots
from nodelint.forms.lib.variable_inputs import VariableInputs, list_variables
from nodelint.model.finding import Span, span_of
from nodelint.text import Node, Source
from nodelint.text.missing import items_of
from nodelint.text.missing import text_of as read_text
from nodelint.text.nodes import MappingEntry
from nodelint.text.reading import nodes_of

_YAML = (".yaml", ".yml")
_COMMAND = re.compile(r"\bhelm[ \t]+(?:upgrade|install|template|diff)\b[^\n;&|]{0,2000}")
_VALUES_FILE = re.compile(r"(?:^|\s)(?:-f|--values|--set-file)[ =]+(?:[\w.]+=)?([^\s$]+)")
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

    def list_inputs(self, chart: str) -> Iterator[InputText]:
        templates = [path for path in self._files.paths if path.startswith(os.path.join(chart, "templates", ""))]
        keys = self._list_keys(chart, templates)
        yield from self._list_outer_values(chart, keys)
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

    def _list_keys(self, chart: str, templates: Sequence[str]) -> frozenset[str] | None:
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

    # -- values of outer charts and of charts that depend on this one

    def _list_outer_values(self, chart: str, keys: frozenset[str] | None) -> Iterator[InputText]:
        around = chart_around(chart)
        for user in map(os.path.abspath, find_users(chart, self._files.depending_charts)):
            outer = chart_around(user)
            if user == around and outer is None:
                continue  # the chart is rendered with these values
            yield from self._list_given(user, {*self._list_names(user, chart), "global"}, keys)
            yield from self._list_conditions(user, chart)
            if outer is not None:
                yield from self._list_given(outer, {*self._list_names(outer, user), "global"}, None)

    def _list_given(self, user: str, names: Collection[str], keys: frozenset[str] | None) -> Iterator[InputText]:
        own = os.path.join(user, "values.yaml")
        for path in (own, *beside(own)):
            for entry in self._list_entries(path):
                if entry.name in names:
                    value = self._used(entry.value, keys, entry.name == "global")
                    yield InputText(f"{os.path.basename(path)}: {entry.name}", value, span_of(entry.value))

    def _used(self, value: Node, keys: frozenset[str] | None, is_global: bool) -> str:
        """Return the part of a chart's values that its templates use, as text."""
        if is_global or keys is None or value.kind != "mapping":
            return in_one_line(value) if keys is None or not is_global or "global" in keys else ""
        return " ".join(f"{entry.name}={in_one_line(entry.value)}" for entry in value.entries if entry.name in keys)

    def _list_names(self, user: str, chart: str) -> Iterator[str]:
        """Yield the keys under which a chart passes values to another chart."""
        yield self._name_of(chart)
        for item in self._list_dependencies(user, chart):
            yield read_text(item.get("alias")) or read_text(item.get("name"))

    def _name_of(self, chart: str) -> str:
        own = self._files.read(os.path.join(chart, CHART))
        return next((read_text(root.get("name")) for root in (nodes_of(own) if own is not None else ())), "")

    def _list_dependencies(self, user: str, chart: str) -> Iterator[Node]:
        """Yield the entries of a chart's `dependencies` that are a given other chart."""
        around, name = self._files.read(os.path.join(os.path.abspath(user), CHART)), self._name_of(chart)
        for root in nodes_of(around) if around is not None else ():
            for item in items_of(root.get("dependencies")):
                address = read_text(item.get("repository")).removeprefix("file://")
                is_same = os.path.normpath(os.path.join(os.path.abspath(user), address or ".")) == chart
                if is_same or read_text(item.get("name")) == name:
                    yield item

    def _list_conditions(self, user: str, chart: str) -> Iterator[InputText]:
        """Yield the condition and tags that decide whether a chart includes another one, and their values."""
        own = os.path.join(user, "values.yaml")
        for item in self._list_dependencies(user, chart):
            tags, condition = item.get("tags"), item.get("condition")
            paths = [path.strip().split(".") for path in read_text(condition).split(",") if path.strip()]
            paths += [["tags", read_text(tag)] for tag in items_of(tags)]
            for field in filter(None, (tags, condition)):
                yield InputText(f"{CHART}: {read_text(item.get('name'))}", in_one_line(field), span_of(field))
            for file in (own, *beside(own)):
                source = self._files.read(file)
                for root in own_roots(source) if source is not None else ():
                    for path in paths:
                        value = root.find(*path)
                        if value is not None:
                            label = f"{os.path.basename(file)}: {'.'.join(path)}"
                            yield InputText(label, in_one_line(value), span_of(value))

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
            if not path.endswith(_YAML) or path in self._files.taken or path in named:
                continue
            if own is self._files.read(path) or not self._may_be_values(path, chart):
                continue
            entries = list(self._list_entries(path))
            if not entries or any(entry.name not in known for entry in entries):
                continue
            for entry in entries:
                if keys is None or entry.name in keys:
                    yield InputText(
                        f"{os.path.basename(path)}: {entry.name}", in_one_line(entry.value), span_of(entry.value)
                    )

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
