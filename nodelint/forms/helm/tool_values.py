"""Find what other tools pass to a chart of the repository: the values are compared as they are written.

Skaffold, Fleet, Ansible, Pulumi, helmsman and pipelines name the folder of a chart next to its values. A chart
may also install another one, by an Application or a HelmRelease among its templates.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.forms.helm.chart_inputs import VALUES, ChartInputs
from nodelint.forms.helm.chart_values import RELEASES
from nodelint.forms.input_text import InputText
from nodelint.forms.lib.chart_places import CHART, chart_of, names_chart
from nodelint.forms.lib.unread_inputs import UnreadInputs, in_one_line
from nodelint.forms.registry import TABLE
from nodelint.model.finding import Span, span_of
from nodelint.text import Node, Source
from nodelint.text.missing import items_of, text_of
from nodelint.text.reading import nodes_of
from nodelint.text.source import YAML_NAMES

_NAMES = re.compile(r"(?i)chart|path|ref\Z")
"""A key whose value may be the folder of a chart."""
_FIELD = re.compile(
    r"(?i:chart|path|ref)[\w-]{0,40}[\"']?[ \t]{0,20}[:=][ \t]{0,20}[\"']?"
    r"(?:[^\s\"']{0,200}/)?([\w.-]{1,100})/?(?=[\"',}]|\s|\Z)"
)
"""A field that may be the folder of a chart. The group is the name of the folder."""
_GIVES = re.compile(r"(?i)val|\Aset|overrid|param|arg")
"""A key, next to that of a chart, with values or the names of files with values."""
_OF_RELEASE = re.compile(r"(?i)(?:release_?|target|default)?(?:name|namespace)")
"""A key, next to that of a chart, with the name or namespace of the release."""
_FLEET = "fleet.yaml"
_SEPARATOR = re.compile(r"(?m)^---.*$")


class UsedValues(NamedTuple):
    """What the templates of a chart use.

    - `keys`: the top-level keys of values. None if any key may be used.
    - `is_of_release`: they may use the name or namespace of the release.
    """

    keys: frozenset[str] | None
    is_of_release: bool

    def holds(self, key: str) -> bool:
        return self.keys is None or key in self.keys


def list_tool_values(chart: str, files: UnreadInputs, used: UsedValues) -> Iterator[InputText]:
    """Yield what other tools pass to a chart."""
    found = files.keep(_ToolFiles)
    for source in found.templates:
        if not os.path.abspath(source.path).startswith(os.path.join(chart, "")):
            yield from _list_of_template(source, chart, found.inputs)
    own = files.read(os.path.join(chart, _FLEET))
    for source in (*found.by_chart.get(os.path.basename(chart), ()), *((own,) if own is not None else ())):
        yield from _list_of_file(source, chart, files, used)


class _ToolFiles:
    """The files of one side of a plan that may pass values to charts.

    - `templates`: templates with objects that install charts.
    - `by_chart`: files of other tools, by the names of the folders that their fields may name.
    """

    def __init__(self, files: UnreadInputs) -> None:
        self.inputs = ChartInputs(list(files.by_path.values()))
        self.templates: list[Source] = []
        self.by_chart: dict[str, list[Source]] = {}
        for path in files.paths:
            source = files.read(path) if path.endswith(YAML_NAMES) else None
            if source is None:
                continue
            if chart_of(path) is not None:
                if re.search(RELEASES, source.text):
                    self.templates.append(source)
            elif not _is_read(source):
                for name in dict.fromkeys(_FIELD.findall(source.text)):
                    self.by_chart.setdefault(name, []).append(source)


def _is_read(source: Source) -> bool:
    """Return whether a file belongs to a form whose releases are read."""
    is_installer = any(row.may_install(source.path, source.text) for row in TABLE.rows)
    return is_installer or os.path.basename(source.path) in (*TABLE.names, CHART)


def _list_of_file(source: Source, chart: str, files: UnreadInputs, used: UsedValues) -> Iterator[InputText]:
    folder = os.path.dirname(os.path.abspath(source.path))
    is_own = os.path.basename(source.path) == _FLEET and folder == chart
    for root in nodes_of(source):
        yield from _list_patches(root, chart)
        for node in root.walk():
            if node.kind != "mapping" or not (_names(node, chart) or (is_own and _is_of_fleet(node))):
                continue
            for entry in node.entries:
                label = f"{os.path.basename(source.path)}: {entry.name}"
                if used.is_of_release and _OF_RELEASE.fullmatch(entry.name or ""):
                    yield InputText(label, in_one_line(entry.value), span_of(entry.value))
                elif _GIVES.search(entry.name or ""):
                    yield from _list_values(label, entry.value, used)
                    files.values_files += _list_named_files(entry.value, folder, files)


def _list_patches(root: Node, chart: str) -> Iterator[InputText]:
    """Yield the patches of a Skaffold file's profiles that change how it installs charts, if it names the chart."""
    is_ours = text_of(root.get("apiVersion")).startswith("skaffold/")
    if not is_ours or not any(node.kind == "mapping" and _names(node, chart) for node in root.walk()):
        return
    for profile in items_of(root.get("profiles")):
        for patch in items_of(profile.get("patches")):
            if "/helm" in text_of(patch.get("path")):
                name = f"profile {text_of(profile.get('name'))}"
                yield InputText(name, in_one_line(patch), span_of(patch))


def _names(node: Node, chart: str) -> bool:
    """Return whether a field of a mapping is the folder of a chart."""
    return any(
        entry.value.kind == "scalar"
        and _NAMES.search(entry.name or "") is not None
        and names_chart(f"path: {entry.value.unquoted}", chart)
        for entry in node.entries
    )


def _is_of_fleet(node: Node) -> bool:
    """Return whether a mapping is the `helm` of a fleet.yaml without a chart: it installs the chart around it."""
    return node.get("chart") is None and (node.get("values") or node.get("valuesFiles")) is not None


def _list_values(name: str, given: Node, used: UsedValues) -> Iterator[InputText]:
    """Yield the values in a field that a chart uses. A text or a list counts as a whole."""
    if given.kind != "mapping":
        yield InputText(name, in_one_line(given), span_of(given))
    for entry in given.entries:
        if entry.name is None or used.holds(entry.name.split(".")[0].split("[")[0]):
            yield InputText(f"{name} {entry.name}", in_one_line(entry.value), span_of(entry.value))


def _list_named_files(given: Node, folder: str, files: UnreadInputs) -> Iterator[InputText]:
    """Yield the files that a field may name, relative to the folder around it or to the top."""
    texts = [node.unquoted for node in given.walk() if node.kind == "scalar"]
    for text in texts:
        if text.endswith((*YAML_NAMES, ".json")) and "://" not in text:
            for above in dict.fromkeys((folder, files.top)):
                yield from files.list_named(above, text)


def _list_of_template(source: Source, chart: str, inputs: ChartInputs) -> Iterator[InputText]:
    """Yield the parts of a template with an Application or a release of a chart, and the values that they use."""
    parts = [part for part in _split(source) if re.search(RELEASES, part[0])]
    named = [part for part in parts if names_chart(part[0], chart)]
    roots = inputs.list_values_of(source.path)
    if not named and not any(names_chart(root.source.text, chart) for root in roots):
        return
    for text, span in named or parts:
        yield InputText(f"template {os.path.basename(source.path)}", text, span)
        keys = {re.split(r"[.\s\"]+", fields + names)[1] for fields, names in VALUES.findall(text) if fields or names}
        for root in roots:
            for entry in root.entries:
                if entry.name in keys:
                    yield from _narrow(entry.name or "", entry.value, chart)


def _narrow(name: str, value: Node, chart: str) -> Iterator[InputText]:
    """Return the items of a value that name a chart. If none does, return the value itself."""
    items = value.items or [entry.value for entry in value.entries]
    named = [item for item in items if names_chart(item.text, chart)]
    for node in named or [value]:
        yield InputText(name, in_one_line(node), span_of(node))


def _split(source: Source) -> Sequence[tuple[str, Span]]:
    """Return the documents of a template: the text of each, and its place."""
    ends = [found.start() for found in _SEPARATOR.finditer(source.text)]
    places = zip([0, *ends], [*ends, len(source.text)], strict=True)
    return [(source.text[start:end], Span(source, start, end)) for start, end in places]
