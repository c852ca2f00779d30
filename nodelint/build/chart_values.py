"""What a chart of a repository is installed with: by the chart that it is vendored in, by Argo CD, by Flux."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence

from nodelint.build.roots import nodes_of, read
from nodelint.build.values_files import beside, merged, values_root
from nodelint.source import Node, Source, SourceText
from nodelint.source.files.safe_read import repository
from nodelint.source.nodes import MappingEntry
from nodelint.source.syntax_errors import Unreadable
from nodelint.source.templates.charts import vendored_chart
from nodelint.source.yaml.compose import compose
from nodelint.tuples import NamedTuple

_MOST_RELEASES = 20
"""Releases that one chart is judged with."""
_ARGO, _FLUX = "argoproj.io/", "helm.toolkit.fluxcd.io/"


class ChartValues(NamedTuple):
    """Values of a chart: the file of its defaults, all of them, and the file that gives others, if one does."""

    defaults: Source
    root: Node
    own: Source | None = None


def find_vendored_values(template: Source, sources: Mapping[str, Source]) -> Iterator[ChartValues]:
    """What the chart around gives to a vendored one: by its default values, and by each file that is named like them.

    `sources` are files that are read already, by their absolute path.
    """
    found = vendored_chart(template.path)
    if found is None:
        return
    defaults = _source(found.values, sources) if found.values is not None else None
    outer = _source(found.outer_values, sources) if found.outer_values is not None else None
    around = values_root(outer) if outer is not None else None
    base = defaults if defaults is not None else outer
    own = values_root(defaults) if defaults is not None else None
    if base is None or (own is None and around is None):
        return
    for name in found.names:
        root = _values_of_subchart(name, own, around)
        if root is not None:
            yield ChartValues(base, root)
        for path in beside(found.outer_values) if found.outer_values is not None and around is not None else ():
            other = sources.get(os.path.abspath(path))
            over = values_root(other) if other is not None else None
            root = (
                _values_of_subchart(name, own, merged(around, over))
                if over is not None and around is not None
                else None
            )
            if root is not None:
                yield ChartValues(base, root, other)


def vendored_files(template: Source) -> list[str]:
    """The files that give values to a template of a vendored chart."""
    found = vendored_chart(template.path)
    if found is None:
        return []
    outer = found.outer_values
    return [path for path in (found.values, outer) if path is not None] + (beside(outer) if outer is not None else [])


def _values_of_subchart(name: str, own: Node | None, around: Node | None) -> Node | None:
    """The values of a vendored chart: its own, those that the chart around has for it, and what is global.

    None where the chart around has none for it: its own are then for whoever makes that chart.
    """
    over = around.get(name) if around is not None else None
    if over is None or over.kind != "mapping":
        return None
    root = over if own is None else merged(own, over)
    entry = around.entry("global") if around is not None else None
    if entry is None:
        return root
    made = Node(root.source, root.start, root.end, "mapping", root.style)
    held = root.get("global")
    value = merged(held, entry.value) if held is not None else entry.value
    made.entries = [each for each in root.entries if each.name != "global"]
    made.entries.append(MappingEntry(entry.key, value, "global"))
    return made


def _source(path: str, sources: Mapping[str, Source]) -> Source | None:
    return sources.get(os.path.abspath(path)) or read(path)


# -- Argo CD and Flux


def find_releases(charts: Mapping[str, Source], sources: Sequence[Source]) -> Iterator[tuple[str, SourceText, Node]]:
    """What Applications and HelmReleases give to charts of the repository: the chart's own values, a file, and all.

    There is one for each file that has a part in it: the object's own, and files of values that it names. `charts`
    are the default values of charts by their absolute path.
    """
    folders = {os.path.dirname(path): path for path in charts}
    counts = dict.fromkeys(charts, 0)
    for source in sources:
        if not folders or not re.search(rf"{_ARGO}|{_FLUX}", source.text) or source.may_be_template:
            continue
        home = repository(os.path.dirname(os.path.abspath(source.path)))
        for root in nodes_of(source) if home is not None else ():
            for folder, layers in _releases_in(root, str(home)):
                path = folders.get(folder)
                whole = values_root(charts[path]) if path is not None else None
                if path is None or whole is None or not layers or counts[path] >= _MOST_RELEASES:
                    continue
                counts[path] += 1
                for layer in layers:
                    whole = merged(whole, layer)
                for given in {id(layer.source): layer.source for layer in layers}.values():
                    yield path, given, whole


def _releases_in(root: Node, home: str) -> Iterator[tuple[str, list[Node]]]:
    """The folder of each chart that an object installs, with the values that it gives, the weakest first."""
    version, kind = root.get("apiVersion"), root.get("kind")
    group = str(version.value) if version is not None else ""
    if group.startswith(_FLUX) and kind is not None and kind.value == "HelmRelease":
        chart = _text(root.find("spec", "chart", "spec", "chart"))
        values = root.find("spec", "values")
        if chart and values is not None and values.kind == "mapping":
            yield os.path.normpath(os.path.join(home, chart)), [values]
    elif group.startswith(_ARGO) and kind is not None:
        spec = root.get("spec") if kind.value == "Application" else root.find("spec", "template", "spec")
        if spec is not None:
            several = spec.get("sources")
            single = spec.get("source")
            for each in [*(several.items if several is not None else ()), *([single] if single is not None else ())]:
                path, helm = _text(each.get("path")), each.get("helm")
                if path and helm is not None:
                    folder = os.path.normpath(os.path.join(home, path))
                    yield folder, list(_argo_values(helm, folder, home))


def _argo_values(helm: Node, folder: str, home: str) -> Iterator[Node]:
    files = helm.get("valueFiles")
    for each in files.items if files is not None else ():
        name = _text(each)
        within = re.match(r"\$[\w-]+/", name)
        path = os.path.join(home, name[within.end() :]) if within is not None else os.path.join(folder, name)
        source = read(os.path.normpath(path)) if name and "://" not in name and os.path.isfile(path) else None
        root = values_root(source) if source is not None else None
        if root is not None and os.path.basename(path) != "values.yaml":
            yield root
    text, values = helm.get("values"), helm.get("valuesObject")
    if text is not None and (inner := _inner(text)) is not None:
        yield inner
    if values is not None and values.kind == "mapping":
        yield values
    parameters = helm.get("parameters")
    for each in parameters.items if parameters is not None else ():
        made = _parameter(each)
        if made is not None:
            yield made


def _inner(node: Node) -> Node | None:
    """The values that a block of text holds."""
    if node.style != "literal":
        return None
    text = node.source.text
    start = text.find("\n", node.start, node.end) + 1
    try:
        roots = compose(node.source, text[start : node.end], start, masked=False)
    except Unreadable:
        return None
    return roots[0] if len(roots) == 1 and roots[0] is not None and roots[0].kind == "mapping" else None


def _parameter(node: Node) -> Node | None:
    """A parameter, as `--set` reads it; None for one of a list."""
    name, value, forced = node.get("name"), node.get("value"), node.get("forceString")
    path = _text(name)
    if name is None or value is None or not re.fullmatch(r"[\w-]+(?:\.[\w-]+)*", path):
        return None
    made = value
    if isinstance(value.value, str) and (forced is None or forced.value is not True):
        made = Node(value.source, value.start, value.end, "scalar", value.style, _typed(value.value))
    for step in reversed(path.split(".")):
        around = Node(value.source, value.start, value.end, "mapping", "flow")
        around.entries = [MappingEntry(name, made, step)]
        made = around
    return made


def _typed(text: str) -> str | int | bool | None:
    if text in ("true", "false", "null"):
        return {"true": True, "false": False, "null": None}[text]
    return int(text) if re.fullmatch(r"0|-?[1-9]\d{0,17}", text) else text


def _text(node: Node | None) -> str:
    return node.value if node is not None and isinstance(node.value, str) else ""
