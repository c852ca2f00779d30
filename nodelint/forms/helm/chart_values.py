"""What a chart of a repository is installed with: by Argo CD, by Flux, by helmfile, by kustomize."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Literal

from nodelint.base.tuples import NamedTuple
from nodelint.files.safe_read import is_inside, repository
from nodelint.forms.kustomize.kustomizations import KUSTOMIZATIONS
from nodelint.forms.lib.gotemplate.sprig_values import SetNode
from nodelint.forms.lib.values import merged, nodes_of, read, values_root
from nodelint.text import Node, Source, SourceText
from nodelint.text.missing import text_of
from nodelint.text.nodes import UNKNOWN, MappingEntry
from nodelint.text.syntax_errors import Unreadable
from nodelint.text.yaml.compose import compose

MOST_RELEASES = 20
"""Releases that one chart is judged with."""
ARGO, FLUX = "argoproj.io/", "helm.toolkit.fluxcd.io/"
RELEASES = rf"{re.escape(ARGO)}|{re.escape(FLUX)}"
_HELM_CHARTS = "helmCharts"
_HELMFILE = re.compile(r"(?:^|/)(?:helmfile[^/]*|helmfile\.d/[^/]+)\.ya?ml$")


class _Tree(NamedTuple):
    """The repository of a release: its top, the files that are read already, and whether paths are shown whole."""

    home: str
    sources: Mapping[str, Source]
    absolute: bool

    def read_file(self, path: str) -> Source | None:
        """A file of the repository, by its absolute path; None where it is outside, or missing."""
        source = self.sources.get(path)
        if source is None and os.path.isfile(path) and is_inside(path, self.home):
            source = read(path if self.absolute else os.path.relpath(path))
        return source

    def read_values(self, *path: str) -> Node | None:
        """The values in a file of the repository; None where it is outside, missing, or no file of values."""
        source = self.read_file(os.path.normpath(os.path.join(*path)))
        return values_root(source) if source is not None else None


class ChartRelease(NamedTuple):
    """A release of a chart: the path of the chart's own values, the files that give others, and all values.

    The strongest of the files is the first.
    """

    path: str
    given: tuple[SourceText, ...]
    root: Node


class ValuesLayer(NamedTuple):
    """Values that a release adds to those below it: the text they stand in, and how they change the whole."""

    given: SourceText
    apply: Callable[[Node], Node]


def find_releases(
    charts: Mapping[str, Source], sources: Sequence[Source], holders: Sequence[Source] | None = None
) -> Iterator[ChartRelease]:
    """What Applications, HelmReleases and helmfiles give to charts of the repository.

    `charts` are the default values of charts by their absolute path, `holders` the texts with the objects, where
    these are not the sources themselves.
    """
    folders = {os.path.dirname(path): path for path in charts}
    counts = dict.fromkeys(charts, 0)
    by_path = {os.path.abspath(source.path): source for source in sources}
    inflating = [source for source in sources if holders is not None and _HELM_CHARTS in source.text]
    for source in sources if holders is None else dict.fromkeys((*holders, *inflating)):
        is_helmfile = _HELMFILE.search(source.path) is not None
        gives = is_helmfile or re.search(rf"{ARGO}|{FLUX}|{_HELM_CHARTS}", source.text)
        if not folders or not gives or source.may_be_template:
            continue
        home = repository(os.path.dirname(os.path.abspath(source.path)))
        tree = _Tree(str(home), by_path, os.path.isabs(source.path))
        for root in nodes_of(source) if home is not None else ():
            for folder, layers in _releases_of_helmfile(root, tree) if is_helmfile else _releases_in(root, tree):
                path = folders.get(folder)
                whole = values_root(charts[path]) if path is not None else None
                if path is None or whole is None or not layers or counts[path] >= MOST_RELEASES:
                    continue
                counts[path] += 1
                for layer in layers:
                    whole = layer.apply(whole)
                yield ChartRelease(path, files_in(layers, whole, charts[path]), whole)


def files_of(layers: Sequence[ValuesLayer]) -> tuple[SourceText, ...]:
    """The files in which layers of values stand, that of the strongest layer first."""
    return tuple({id(layer.given): layer.given for layer in reversed(layers)}.values())


def files_in(layers: Sequence[ValuesLayer], root: Node, defaults: Source) -> tuple[SourceText, ...]:
    """The files with a part in the values: those of the layers, and others that their values are from."""
    files = {id(source): source for source in files_of(layers)}
    files.update((id(node.source), node.source) for node in root.walk() if node.source is not defaults)
    return tuple(files.values())


def _releases_in(root: Node, tree: _Tree) -> Iterator[tuple[str, list[ValuesLayer]]]:
    """The folder of each chart that an object installs, with the values that it gives, the weakest first."""
    version, kind = root.get("apiVersion"), root.get("kind")
    if os.path.basename(root.source.path) in KUSTOMIZATIONS:
        yield from _releases_of_kustomization(root, tree)
        return
    group = str(version.value) if version is not None else ""
    if group.startswith(FLUX) and kind is not None and kind.value == "HelmRelease":
        chart = text_of(root.find("spec", "chart", "spec", "chart"))
        if chart:
            layers = _flux_layers(root, tree)
            yield os.path.normpath(os.path.join(tree.home, chart)), layers if layers is not None else []
    elif group.startswith(ARGO) and kind is not None:
        for release in list_sources(root, tree.read_file):
            path, helm = text_of(release.get("path")), release.get("helm")
            if path and helm is not None:
                folder = os.path.normpath(os.path.join(tree.home, path))
                yield folder, list(_argo_layers(helm, folder, tree))


def _releases_of_kustomization(root: Node, tree: _Tree) -> Iterator[tuple[str, list[ValuesLayer]]]:
    """The folder of each chart that a kustomization inflates, with its values, the weakest first.

    https://kubectl.docs.kubernetes.io/references/kustomize/builtins/#_helmchartinflationgenerator_
    """
    around = os.path.dirname(os.path.abspath(root.source.path))
    home = text_of(root.find("helmGlobals", "chartHome")) or "charts"
    charts = root.get("helmCharts")
    for chart in charts.items if charts is not None else ():
        own, inline = text_of(chart.get("valuesFile")), chart.get("valuesInline")
        more, merge = chart.get("additionalValuesFiles"), text_of(chart.get("valuesMerge")) or "override"
        base = tree.read_values(around, own) if own else None
        given = [base, inline] if merge == "override" else [inline, base] if merge == "merge" else [inline]
        given += [tree.read_values(around, text_of(item)) for item in (more.items if more is not None else ())]
        layers = [_merging(node) for node in given if node is not None and node.kind == "mapping"]
        yield os.path.normpath(os.path.join(around, home, text_of(chart.get("name")))), layers


def list_sources(root: Node, read_file: Callable[[str], Source | None]) -> Iterator[Node]:
    """The sources of the Applications that an object is, or makes; `read_file` reads one by its absolute path."""
    kind = root.get("kind")
    for spec in _application_specs(root, str(kind.value), read_file) if kind is not None else ():
        several, single = spec.get("sources"), spec.get("source")
        yield from several.items if several is not None else ()
        if single is not None:
            yield single


def _releases_of_helmfile(root: Node, tree: _Tree) -> Iterator[tuple[str, list[ValuesLayer]]]:
    """The folder of each chart that a helmfile installs, with its values, the weakest first.

    https://helmfile.readthedocs.io/en/latest/#configuration
    """
    folder = os.path.dirname(os.path.abspath(root.source.path))
    releases = root.get("releases")
    for release in releases.items if releases is not None else ():
        chart, values, settings = text_of(release.get("chart")), release.get("values"), release.get("set")
        installed = release.get("installed")
        if not chart or "://" in chart or (installed is not None and installed.value is False):
            continue
        layers = []
        for item in values.items if values is not None else ():
            given = (
                item if item.kind == "mapping" else tree.read_values(folder, text_of(item)) if text_of(item) else None
            )
            layers += [_merging(given)] if given is not None else []
        for item in settings.items if settings is not None else ():
            name, value = item.get("name"), item.get("value")
            layer = read_setting(text_of(name), name, value, True) if name is not None and value is not None else None
            layers += [layer] if layer is not None else []
        yield os.path.normpath(os.path.join(folder, chart)), layers


def _application_specs(root: Node, kind: str, read_file: Callable[[str], Source | None]) -> Iterator[Node]:
    """The specs of the Applications that an object is, or makes."""
    spec = root.get("spec")
    if kind == "Application" and spec is not None:
        yield spec
    elif kind == "ApplicationSet":
        from nodelint.forms.argocd.application_sets import list_applications

        yield from list_applications(root, read_file)


def _merging(node: Node, given: SourceText | None = None) -> ValuesLayer:
    return ValuesLayer(given or node.source, lambda whole: merged(whole, node))


def _argo_layers(helm: Node, folder: str, tree: _Tree) -> Iterator[ValuesLayer]:
    files = helm.get("valueFiles")
    for node in files.items if files is not None else ():
        name = text_of(node)
        of_another = re.match(r"\$[\w-]+/", name)
        within = name[of_another.end() :] if of_another is not None else name.lstrip("/")
        above = tree.home if of_another is not None or name.startswith("/") else folder
        root = tree.read_values(above, within) if name and "://" not in name else None
        if root is not None and os.path.abspath(root.source.path) != os.path.join(folder, "values.yaml"):
            yield _merging(root)
    text, values = helm.get("values"), helm.get("valuesObject")
    if text is not None and (inner := text if text.kind == "mapping" else read_block(text)) is not None:
        yield _merging(inner, helm.source)
    if values is not None and values.kind == "mapping":
        yield _merging(values)
    parameters = helm.get("parameters")
    for node in parameters.items if parameters is not None else ():
        key, value, forced = node.get("name"), node.get("value"), node.get("forceString")
        if key is not None and value is not None:
            typed = forced is None or forced.value is not True
            if (layer := read_setting(text_of(key), key, value, typed)) is not None:
                yield layer
    files = helm.get("fileParameters")
    for parameter in files.items if files is not None else ():
        key, place = parameter.get("name"), parameter.get("path")
        if key is not None and place is not None:
            content = Node(place.source, place.start, place.end, "scalar", place.style, UNKNOWN)
            if (layer := read_setting(text_of(key), key, content, typed=False)) is not None:
                yield layer


def _flux_layers(root: Node, tree: _Tree) -> list[ValuesLayer] | None:
    """What a HelmRelease gives; None where a file that stands in the place of the defaults cannot be read."""
    layers: list[ValuesLayer] = []
    files = root.find("spec", "chart", "spec", "valuesFiles")
    for number, item in enumerate(files.items if files is not None else ()):
        found = tree.read_values(tree.home, text_of(item))
        if found is None:
            return None
        # These files are in the place of the chart's own values.yaml, which counts only where it is one of them.
        layers.append(ValuesLayer(found.source, partial(_instead, found)) if number == 0 else _merging(found))
    references = root.find("spec", "valuesFrom")
    for reference in references.items if references is not None else ():
        node = _config_value(reference, root, tree)
        target = text_of(reference.get("targetPath"))
        if node is None:
            continue
        if target:
            setting = read_setting(target, node, node, True)
            layers += [setting] if setting is not None else []
        elif (inner := node if node.kind == "mapping" else read_block(node)) is not None:
            layers.append(_merging(inner))
    values = root.find("spec", "values")
    if values is not None and values.kind == "mapping":
        layers.append(_merging(values))
    return layers


def _instead(values: Node, whole: Node) -> Node:
    return values


def find_held_values(reference: Node, release: Node, sources: Mapping[str, Source]) -> Node | None:
    """The values that a `valuesFrom` of a HelmRelease names; None where they are in a Secret, or not to be found."""
    path = release.source.path
    home = repository(os.path.dirname(os.path.abspath(path)))
    return _config_value(reference, release, _Tree(str(home), sources, os.path.isabs(path))) if home else None


def _config_value(reference: Node, release: Node, tree: _Tree) -> Node | None:
    """The values that a ConfigMap of the repository holds for a release: the nearest one; None where two are as near.

    One that a kustomization generates is read from the file that it names.
    """
    name, key = text_of(reference.get("name")), text_of(reference.get("valuesKey")) or "values.yaml"
    if text_of(reference.get("kind")) != "ConfigMap" or not name:
        return None
    namespace = text_of(release.find("metadata", "namespace"))
    around = os.path.dirname(os.path.abspath(release.source.path))
    found: dict[int, list[Node]] = {}
    for path, source in tree.sources.items():
        if name not in source.text or not is_inside(path, tree.home) or source.may_be_template:
            continue
        values = list(_config_maps(source, name, namespace, key, tree))
        shared = len(os.path.commonpath([around, os.path.dirname(path)]))
        found.setdefault(shared, []).extend(values)
    nearest = next((values for _, values in sorted(found.items(), reverse=True) if values), [])
    return nearest[0] if len(nearest) == 1 else None


def _config_maps(source: Source, name: str, namespace: str, key: str, tree: _Tree) -> Iterator[Node]:
    for root in nodes_of(source):
        if text_of(root.get("kind")) == "ConfigMap" and text_of(root.find("metadata", "name")) == name:
            own, value = text_of(root.find("metadata", "namespace")), root.find("data", key)
            if value is not None and (not own or not namespace or own == namespace):
                yield value
        generators = root.get("configMapGenerator") if os.path.basename(source.path) in KUSTOMIZATIONS else None
        for node in generators.items if generators is not None else ():
            files = node.get("files")
            for item in files.items if files is not None and text_of(node.get("name")) == name else ():
                own, _, path = text_of(item).rpartition("=")
                found = tree.read_values(os.path.dirname(os.path.abspath(source.path)), path)
                if found is not None and (own or os.path.basename(path)) == key:
                    yield found


def read_block(node: Node) -> Node | None:
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


def read_setting(path: str, name: Node, value: Node, typed: bool) -> ValuesLayer | None:
    """One value at a path such as `pools[0].limits.cpu`, as `--set` takes it; None for a path of another form.

    `typed` reads `true` and `5` as what they are, and not as text. `{a,b}` is a list, and `\\.` a dot of a key.
    """
    steps = _read_steps(path)
    if steps is None:
        return None
    made = _read_set_value(value, typed)
    return ValuesLayer(value.source, lambda whole: _with_value(whole, steps, name, made))


_STEP = r"((?:[^\\.\[\]=,]|\\.)+)((?:\[\d{1,3}\])*)(?:\.(?!\Z)|\Z)"


def _read_steps(path: str) -> list[str | int] | None:
    steps: list[str | int] = []
    at = 0
    while at < len(path):
        found = re.compile(_STEP).match(path, at)
        if found is None:
            return None
        steps.append(re.sub(r"\\(.)", r"\1", found[1]))
        steps += map(int, re.findall(r"\d+", found[2]))
        at = found.end()
    return steps or None


def _read_set_value(value: Node, typed: bool) -> Node:
    """What `--set` makes of a value: of a text in braces, and of a list, a list of such values."""
    text = value.value
    items = value.items if value.kind == "sequence" else None
    if isinstance(text, str) and re.fullmatch(r"\{[^{}]*\}", text):
        parts = text[1:-1].split(",") if text != "{}" else []
        items = [Node(value.source, value.start, value.end, "scalar", value.style, part.strip()) for part in parts]
    if items is not None:
        made = Node(value.source, value.start, value.end, "sequence", "flow")
        made.items = [_read_set_value(item, typed) if item.kind == "scalar" else item for item in items]
        return made
    if isinstance(text, str) and typed:
        return SetNode(value.source, value.start, value.end, "scalar", value.style, _typed(text))
    return value


def _with_value(base: Node | None, steps: Sequence[str | int], name: Node, value: Node) -> Node:
    """A copy of values with one of them set; what is not there on the way to it is made."""
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    kind: Literal["sequence", "mapping"] = "sequence" if isinstance(step, int) else "mapping"
    node = base if base is not None and base.kind == kind else None
    place = node if node is not None else value
    made = Node(place.source, place.start, place.end, kind, node.style if node is not None else "flow")
    if isinstance(step, int):
        made.items = list(node.items) if node is not None else []
        while len(made.items) <= step:
            made.items.append(Node(value.source, value.start, value.end, "scalar", "plain", None))
        made.items[step] = _with_value(made.items[step], rest, name, value)
        return made
    entries = node.entries if node is not None else []
    own = next((entry for entry in entries if entry.name == step), None)
    below = _with_value(own.value if own is not None else None, rest, name, value)
    key = own.key if own is not None else Node(name.source, name.start, name.end, "scalar", name.style, step)
    new = MappingEntry(key, below, step)
    made.entries = [new if entry is own else entry for entry in entries] + ([new] if own is None else [])
    return made


def _typed(text: str) -> str | int | bool | None:
    if text.lower() in ("true", "false", "null"):
        return {"true": True, "false": False, "null": None}[text.lower()]
    return int(text) if re.fullmatch(r"0|-?[1-9]\d{0,17}", text) else text
