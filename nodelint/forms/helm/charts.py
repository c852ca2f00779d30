"""Find the chart of a template, its default values, and its files."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from nodelint.files import safe_read
from nodelint.files.gate import gate
from nodelint.forms.lib.chart_places import (
    _FOLDER,
    CHART,
    OTHER_VALUES,
    TRIAL_VALUES,
    chart_of,
    find_outer_chart,
    find_templates_folder,
)
from nodelint.forms.lib.gotemplate.expressions import ChartData, Definitions, NamedTemplate
from nodelint.forms.lib.gotemplate.syntax import Action, BadTemplate, Block, Code, Definition, Part, Verbatim, parse
from nodelint.forms.lib.values import read
from nodelint.model.messages import nearest_name
from nodelint.text import UNKNOWN, Node, Source, SourceText
from nodelint.text.limits import note_limit, note_more
from nodelint.text.missing import items_of
from nodelint.text.nodes import MappingEntry
from nodelint.text.reading import nodes_of
from nodelint.text.syntax_errors import Unreadable
from nodelint.text.yaml.compose import compose

_VALUES = "values.yaml"
_INCLUDES = r"\b(?:include|template|tpl)\b"
_TEXTS = ("Name", "Version", "AppVersion", "APIVersion", "Description", "Type", "KubeVersion", "Home", "Icon")
"""The fields of `.Chart` that are texts of Chart.yaml."""
_NOT_READ = (
    "IsRoot",
    "Keywords",
    "Sources",
    "Maintainers",
    "Condition",
    "Tags",
    "Deprecated",
    "Dependencies",
    "Metadata",
)
_LARGEST = 4 << 20
_MOST_FILES = 5000
_MOST_VALUES = 1000


def values_of(path: str) -> str | None:
    """Return the path of the default values for a template of a chart. None for any other file.

    A chart inside another one has none: the outer chart may override them.
    """
    values = values_place(path)
    return values if values is not None and gate.is_file(values) else None


def values_place(path: str) -> str | None:
    """Return the path at which the default values for a template must be, whether they exist or not.

    None in the same cases as `values_of`.
    """
    folder = find_templates_folder(path)
    if folder is None:
        return None
    chart = os.path.dirname(folder)
    if not gate.is_file(os.path.join(chart, CHART)) or find_outer_chart(chart) is not None:
        return None
    return os.path.join(chart, _VALUES)


def vendored_place(path: str) -> str | None:
    """Return the path of a vendored chart's default values, for one of its templates. None for any other file."""
    folder = find_templates_folder(path)
    chart = os.path.dirname(folder) if folder is not None else None
    if chart is None or not gate.is_file(os.path.join(chart, CHART)) or find_outer_chart(chart) is None:
        return None
    return os.path.join(chart, _VALUES)


def _name(node: Node, key: str = "name") -> str:
    value = node.get(key)
    return value.value if value is not None and isinstance(value.value, str) else ""


def default_values(path: str) -> Node | None:
    """Return the default values for a template. None if there are none, or if they cannot be read."""
    values = values_of(path)
    return _root(values) if values is not None else None


def more_values(path: str) -> list[Node]:
    """Return the values of a template's chart in addition to the defaults: `values-prod.yaml`, and those in `ci/`."""
    values = values_of(path)
    if values is None:
        return []
    chart, found = os.path.dirname(values), []
    for folder, pattern in ((chart, OTHER_VALUES), (os.path.join(chart, "ci"), TRIAL_VALUES)):
        names = gate.names(folder or os.curdir)
        found += [os.path.join(folder, name) for name in names if re.fullmatch(pattern, name)]
    note_more(chart, len(found), _MOST_VALUES, "values files of this chart", 0)
    roots = (_root(path) for path in found[:_MOST_VALUES])
    return [root for root in roots if root is not None]


def _root(values: str) -> Node | None:
    try:
        source = Source(values, gate.read(values, _LARGEST).decode())
        return compose(source, source.text, 0, masked=False)[0]
    except (OSError, ValueError, Unreadable, IndexError):
        return None


def other_templates(path: str) -> list[str]:
    """Return the texts of the chart's other templates, as far as they can be read."""
    folder = find_templates_folder(path)
    if folder is None:
        return []
    return [text for _, text in _texts(folder, lambda other: os.path.abspath(other) != os.path.abspath(path))]


def other_files(path: str) -> list[str]:
    """Return the texts of a chart's YAML files that are neither templates nor the default values."""
    folder = find_templates_folder(path)
    if folder is None:
        return []
    chart = os.path.dirname(folder) or os.curdir

    def is_beside(other: str) -> bool:
        name = os.path.relpath(other, chart)
        return name.endswith((".yaml", ".yml")) and name != _VALUES and not name.startswith(_FOLDER + os.sep)

    return [text for _, text in _texts(chart, is_beside)]


def list_templates(folder: str) -> Iterator[tuple[str, str]]:
    """Yield path and text of each file that helm reads in a chart's folder of templates."""
    yield from _texts(folder, _may_define)


def installing_texts(path: str) -> list[str]:
    """Return the texts of a repository's Terraform files and scripts that name the folder of a template's chart.

    They install it, and may pass values: of a `helm_release`, or of flags of a command.
    """
    chart = chart_of(path)
    if chart is None:
        return []
    name = os.path.basename(os.path.abspath(chart))
    home = safe_read.repository(os.path.abspath(chart)) or os.getcwd()
    if os.path.commonpath([home, os.path.abspath(chart)]) != home:
        return []
    found = _texts(home, lambda other: other.endswith((".tf", ".sh", "Makefile", "justfile")))
    return [text for _, text in found if f"/{name}" in text]


class ChartFiles:
    """The chart files of one run. The named templates of a chart are read once.

    - `sources`: files that were already read, by absolute path.
    - `switched`: the absolute paths of the default values of charts that other charts may disable.
    """

    def __init__(self, sources: Mapping[str, Source]) -> None:
        self.sources = sources
        self.switched: Collection[str] = ()
        self._definitions: dict[tuple[str, bool], Definitions] = {}
        self._tops: dict[str, str] = {}
        self._about: dict[str, Node | None] = {}

    def data_for(self, template: SourceText) -> ChartData:
        """Return what a template may take from its chart besides the values."""
        includes = re.search(_INCLUDES, template.text) is not None
        definitions = self.definitions(template.path) if includes else {}
        return ChartData(
            definitions, self._read_about(template.path) if includes or ".Chart" in template.text else None
        )

    def _read_about(self, path: str) -> Node | None:
        """Return the fields of `.Chart` for a template. None if its Chart.yaml cannot be read."""
        chart = chart_of(path)
        if chart is None:
            return None
        if chart not in self._about:
            place = os.path.join(chart, CHART)
            source = self.sources.get(os.path.abspath(place)) or read(place)
            root = next((root for root in nodes_of(source)), None) if source is not None else None
            self._about[chart] = _about(root) if root is not None and root.kind == "mapping" else None
        return self._about[chart]

    def definitions(self, path: str) -> Definitions:
        """Return the named templates that a template may include: of its chart, its outer chart, and dependencies.

        A name with two different definitions is left out.
        """
        folder = find_templates_folder(path)
        if folder is None:
            return {}
        chart = os.path.dirname(folder)
        top = self._tops.get(chart)
        if top is None:
            top = self._tops[chart] = find_outer_chart(chart) or chart or os.curdir
        key = top, os.path.isabs(path)
        found = self._definitions.get(key)
        if found is None:
            found = self._definitions[key] = _definitions_in(*key, self.sources)
        return found


def _about(root: Node) -> Node:
    """Return the fields of `.Chart` from the root of a Chart.yaml. Helm prints a missing text as an empty one."""
    made = Node(root.source, root.start, root.end, "mapping", root.style)
    for name in _TEXTS:
        key = name[:1].lower() + name[1:] if name != "APIVersion" else "apiVersion"
        found = root.entry(key)
        at = found.value if found is not None else root
        is_text = found is not None and found.value.kind == "scalar" and found.value.value is not None
        text = Node(root.source, at.start, at.end if is_text else at.start, "scalar", at.style)
        text.value = at.unquoted if is_text else ""
        made.entries.append(MappingEntry(found.key if found is not None else text, text, name))
    annotations = root.entry("annotations")
    if annotations is not None:
        made.entries.append(MappingEntry(annotations.key, annotations.value, "Annotations"))
    for name in _NOT_READ:
        unknown = Node(root.source, root.start, root.start, "scalar", "plain", UNKNOWN)
        made.entries.append(MappingEntry(unknown, unknown, name))
    return made


def _definitions_in(top: str, absolute: bool, sources: Mapping[str, Source]) -> Definitions:
    found: dict[str, NamedTemplate] = {}
    twice: set[str] = set()
    for file, text in (file for place in (top, *list_local_charts(top)) for file in _texts(place, _may_define)):
        shown = (file if absolute else os.path.relpath(file)).replace(os.sep, "/")
        source = sources.get(os.path.abspath(file)) or SourceText(shown, text)
        text = source.text
        if "define" not in text:
            continue
        try:
            parts = parse(text)
        except BadTemplate:
            continue
        only = all(isinstance(part, Definition) or _is_blank(part, text) for part in parts)
        for part in parts:
            if isinstance(part, Definition) and part.name is not None:
                first = found.setdefault(part.name, NamedTemplate(source, part, only))
                if first.source.text[first.definition.start : first.definition.end] != text[part.start : part.end]:
                    twice.add(part.name)
    return {name: definition for name, definition in found.items() if name not in twice}


DefinedNames = dict[str, frozenset[str] | None]
"""For the folder of each chart, the names of the templates that it may include. None if a dependency is missing."""


def find_undefined_include(path: str, text: str, known: DefinedNames) -> tuple[int, str] | None:
    """Return offset and name of the first template that a file always includes and that is not defined anywhere.

    None if a dependency that may define it is missing. `known` caches the names for each chart.
    """
    if not path.endswith((".yaml", ".yml")) or not re.search(_INCLUDE, text):
        return None
    chart = chart_of(path)
    top = (find_outer_chart(chart) or chart) if chart is not None else None
    if top is None:
        return None
    if top not in known:
        known[top] = _defined_names(top) if _has_dependencies(top) else None
    defined = known[top]
    if defined is None:
        return None
    try:
        codes = list(_list_actions(parse(text)))
    except BadTemplate:
        return None
    for code, is_in_loop in codes:
        match = re.compile(_INCLUDE).search(text, code.start, code.end)
        if match is None or match[1] in defined:
            continue
        # A loop may have no items: there, only a name that is probably misspelled counts.
        if not is_in_loop or nearest_name(match[1], defined, _ALIKE) is not None:
            return match.start(), match[1]
    return None


def _list_actions(parts: Iterable[Part], is_in_loop: bool = False) -> Iterator[tuple[Code, bool]]:
    """Yield the code of a template that runs, and whether it is in a loop. Code under a condition may never run."""
    for part in parts:
        if isinstance(part, Action):
            yield part.code, is_in_loop
        elif isinstance(part, Block) and part.branches[0].word == "range" and len(part.branches) == 1:
            yield from _list_actions(part.branches[0].body, True)


def _defined_names(top: str) -> frozenset[str]:
    texts = (text for place in (top, *list_local_charts(top)) for _, text in _texts(place, _may_define))
    return frozenset(name for text in texts for name in re.findall(_DEFINE, text))


_ALIKE = 0.8
"""How similar a missing name and a defined one are, as a ratio of difflib, if the name is misspelled."""
_DEFINE = r"\{\{-?\s*(?:define|block)\s+[\"`]([^\"`\n]+)[\"`]"
_INCLUDE = r"\b(?:include|template)\s+\"([^\"\n]+)\""


def _has_dependencies(chart: str) -> bool:
    """Return whether all charts on which a chart depends are available, in its folder `charts` or by a path."""
    root = _root(os.path.join(chart, CHART))
    listed = root.get("dependencies") if root is not None else None
    if root is None or gate.is_file(os.path.join(chart, "requirements.yaml")):
        return False
    local = {os.path.basename(folder) for folder in list_local_charts(chart)}
    names = [_name(node) for node in items_of(listed)]
    vendored = os.path.join(chart, "charts")
    return all(name in local or gate.is_file(os.path.join(vendored, name, CHART)) for name in names)


def find_users(chart: str, paths: Iterable[str]) -> list[str]:
    """Return the charts whose templates may include templates of a chart.

    These are its outer chart, and charts that depend on it.

    `paths` are absolute paths of files, with the Chart.yaml of charts that name it by `file://`.
    """
    around = find_outer_chart(chart)
    named = [os.path.dirname(path) for path in paths if os.path.basename(path) == CHART]
    dependants = [
        folder for folder in named if os.path.abspath(chart) in map(os.path.abspath, list_local_charts(folder))
    ]
    return [*([around] if around is not None else []), *dependants]


def list_local_charts(chart: str) -> list[str]:
    """Return the folders of the local charts on which a chart depends by `file://`."""
    root = _root(os.path.join(chart, CHART))
    listed = root.get("dependencies") if root is not None else None
    home = safe_read.repository(os.path.abspath(chart))
    found = []
    for node in items_of(listed):
        address = _name(node, "repository")
        folder = os.path.normpath(os.path.join(chart, address.removeprefix("file://")))
        is_local = address.startswith("file://")
        if is_local and gate.notes_refusal(folder, address, node.source, node.start):
            continue
        inside = home is None or safe_read.is_inside(folder, home)
        if is_local and inside and gate.is_file(os.path.join(folder, CHART)):
            found.append(folder)
    return found


def _is_blank(part: Part, text: str) -> bool:
    return isinstance(part, Verbatim) and not text[part.start : part.end].strip()


def _may_define(path: str) -> bool:
    return find_templates_folder(path) is not None and path.endswith((".tpl", ".yaml", ".yml", ".txt"))


def _texts(folder: str, wanted: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
    """Yield path and text of each file below a folder for which `wanted` is true, as far as they can be read."""
    count = 0
    for around, _, names in gate.walk(folder):
        for path in (os.path.join(around, name) for name in sorted(names)):
            if not wanted(path):
                continue
            count += 1
            if count > _MOST_FILES:
                note_limit(folder, _MOST_FILES, "files of this chart", 0)
                return
            try:
                yield path, gate.read(path, _LARGEST).decode()
            except (OSError, ValueError):
                continue
