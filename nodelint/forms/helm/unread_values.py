"""Find texts that may set values of a chart in ways that nodelint does not compute.

These are helm commands, and values files that nothing names. The objects of the chart may change with them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from nodelint.forms.helm.chart_inputs import VALUES
from nodelint.forms.helm.charts import other_templates
from nodelint.forms.helm.command_inputs import list_chart_commands, list_inputs
from nodelint.forms.helm.command_releases import read_script
from nodelint.forms.helm.tool_values import UsedValues, list_tool_values
from nodelint.forms.helm.unnamed_values import UnnamedValues
from nodelint.forms.input_text import InputText
from nodelint.forms.lib.chart_commands import namespace_of_command
from nodelint.forms.lib.chart_dependencies import ChartDependencies
from nodelint.forms.lib.chart_values import RepositoryTree, holds_unknown
from nodelint.forms.lib.unread_inputs import UnreadInputs, in_one_line
from nodelint.forms.lib.values import own_roots
from nodelint.forms.lib.variable_inputs import list_variables
from nodelint.model.finding import Span, span_of
from nodelint.text import Source
from nodelint.text.missing import items_of, text_of
from nodelint.text.source import YAML_NAMES

_RELEASE = re.compile(r"\b(?:upgrade|install|template)[ \t]+(?:-\S+[ \t]+)*([\w.${}-]+)")
"""The name of the release of a command."""
_VALUES_FILE = re.compile(r"(?:^|\s)(?:-f|--values|--set-file)[ =]+(?:[\w.]+=)?([^\s$]+)")


def list_unread_values(chart: str, files: UnreadInputs) -> Iterator[InputText]:
    """Yield the texts that may set values of a chart. `chart` is the absolute path of its folder."""
    return files.keep(_UnreadValues).list_inputs(chart)


class _UnreadValues:
    """Finds texts that may set values of a chart, in the files of one side of a plan."""

    def __init__(self, files: UnreadInputs) -> None:
        self._files = files
        self._dependencies = ChartDependencies(files.by_path)
        self._scripts = list(files.variables.list_scripts())

    def list_inputs(self, chart: str) -> Iterator[InputText]:
        templates = self._files.list_below(os.path.join(chart, "templates"))
        used = self._find_used(chart, templates)
        keys = used.keys
        yield from self._list_imported(chart)
        yield from list(list_tool_values(chart, self._files, used))
        handed = [*self._files.values_files, *self._list_commands(chart, used.is_of_release)]
        yield from (part for found in handed for part in _split_by_keys(found, keys))
        named = {os.path.abspath(found.at.source.path) for found in handed}
        yield from self._files.keep(UnnamedValues).list_inputs(chart, keys, named)

    def _list_imported(self, chart: str) -> Iterator[InputText]:
        """Yield the values that a chart imports from the charts on which it depends (`import-values`)."""
        for use in self._dependencies.list_parts(chart):
            imports = use.item.get("import-values") if use.item is not None else None
            values = self._files.read(os.path.join(use.chart, "values.yaml"))
            if imports is None or values is None:
                continue
            yield InputText(f"import-values of {use.name}", in_one_line(imports), span_of(imports))
            for root, item in ((root, item) for root in own_roots(values) for item in items_of(imports)):
                path = text_of(item.get("child")) if item.kind == "mapping" else f"exports.{text_of(item)}"
                taken = root.find(*path.split("."))
                if taken is not None:
                    yield InputText(f"{path} of {use.name}", in_one_line(taken), span_of(taken))

    def _list_commands(self, chart: str, with_names: bool) -> Iterator[InputText]:
        """Yield the `helm` commands that may install a chart, the values files that they name, and their variables.

        If all values of a script's commands are known, only the name and namespace of a release count, and only
        `with_names`.
        """
        for source in (source for source in self._scripts if "helm" in source.text.lower()):
            commands = list(list_chart_commands(source, chart, self._scripts))
            are_read = bool(commands) and self._are_read(source, chart, len(commands))
            for command in commands:
                if are_read:
                    name = _RELEASE.search(command.text) if with_names else None
                    if name is not None:
                        text = f"{name[1]} {namespace_of_command(source.text, command.start)}"
                        yield InputText("helm command", text, Span(source, command.start, command.end))
                    continue
                yield from list_inputs(command, self._scripts)
                yield from self._files.variables.list_inputs(list_variables(command.text, 0, len(command.text)))
                for name in _VALUES_FILE.findall(command.text):
                    for folder in {os.path.dirname(os.path.abspath(source.path)), self._files.top}:
                        yield from self._files.list_named(folder, name.strip("\"'"))

    def _are_read(self, source: Source, chart: str, commands: int) -> bool:
        """Return whether all values that the commands of a text set are known: then they are used for rendering."""
        tree = RepositoryTree(self._files.top, self._files.by_path, False, [])
        releases = list(read_script(source, [chart], tree))
        return len(releases) >= commands and not any(made.unread or holds_unknown(made.layers) for made in releases)

    def _find_used(self, chart: str, templates: Sequence[str]) -> UsedValues:
        """Return what the templates of a chart, and the charts on which it depends, use."""
        texts = [source.text for path in templates if (source := self._files.read(path)) is not None]
        texts += other_templates(templates[0]) if templates else []
        inner = [os.path.join(chart, "charts"), *(use.chart for use in self._dependencies.list_named(chart))]
        others = (self._files.read(path) for folder in inner for path in self._files.list_below(folder))
        takes = any(o is not None and (".Values" in o.text or "dependencies:" in o.text) for o in others)
        keys = set(self._dependencies.list_keys(chart, takes))
        is_of_release = bool(keys) or any(".Release" in text for text in texts)
        for fields, names in (found for text in texts for found in VALUES.findall(text)):
            path = [*fields.split(".")[1:], *re.findall(r'"([^"]+)"', names)]
            if not path:
                return UsedValues(None, is_of_release)
            keys.add(path[0])
        return UsedValues(frozenset(keys), is_of_release)


def _split_by_keys(found: InputText, keys: frozenset[str] | None) -> Iterator[InputText]:
    """Yield the entries of a values file that the templates of a chart use. Any other text is yielded unchanged."""
    source = found.at.source
    if (
        keys is None
        or not isinstance(source, Source)
        or found.text != source.text
        or not source.path.endswith(YAML_NAMES)
    ):
        yield found
        return
    roots = list(own_roots(source))
    if len(roots) != 1 or roots[0].kind != "mapping" or "{{" in source.text:
        yield found
        return
    for entry in roots[0].entries:
        if entry.name in keys or entry.name == "global":
            yield InputText(f"{found.name}: {entry.name}", in_one_line(entry.value), span_of(entry.value))
