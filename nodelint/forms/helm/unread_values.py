"""Texts that may give values to a chart of the repository in ways that are not worked out.

A generator of an ApplicationSet that only the cluster knows, a values file that is a template (helmfile), a Secret,
the values of a chart that depends on this one by a path, a values file that nobody names. The objects of the chart
may change with them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence

from nodelint.base.caching import cached_property
from nodelint.files.gate import gate
from nodelint.files.links import CHART
from nodelint.files.safe_read import find_top
from nodelint.forms.helm.chart_inputs import VALUES, text_of
from nodelint.forms.helm.chart_values import ARGO, FLUX, find_held_values, list_sources
from nodelint.forms.helm.charts import chart_around, find_users, other_templates
from nodelint.forms.helm.values_files import beside
from nodelint.forms.input_text import InputText, make_rest
from nodelint.forms.lib.values import nodes_of, own_roots
from nodelint.forms.terraform.files import match_files
from nodelint.model.finding import Span, span_of
from nodelint.text import UNKNOWN, Node, Source
from nodelint.text.missing import items_of
from nodelint.text.missing import text_of as read_text
from nodelint.text.nodes import MappingEntry

_LARGEST = 1 << 20
_MOST_NAMED = 50
"""Files that one path with placeholders may name."""
_HELMFILE = re.compile(r"(?:^|/)(?:helmfile[^/]*|helmfile\.d/[^/]+)\.ya?ml(?:\.gotmpl)?$")
_PATH = re.compile(
    r"(?<![\w./$*-])(?!\.(?:ya?ml|json)\b)[\w./$*-]*(?:\{\{[^{}\n]*\}\}[\w./$*-]*){0,20}"
    r"\.(?:ya?ml|json)(?:\.gotmpl)?(?![\w.])"
)
_CODE = re.compile(r"\{\{[^{}\n]*\}\}")
_YAML = (".yaml", ".yml")
_PASSED_OVER = ("templates", "crds", "charts", "ci", "tests")
"""Folders of a chart that hold no values for an installation."""


class UnreadValues:
    """Finds such texts among the files of one side; `paths` are those of all files that may hold manifests."""

    def __init__(self, sources: Sequence[Source], paths: Collection[str], top: str, taken: Collection[str]) -> None:
        self._by_path = {os.path.abspath(source.path): source for source in sources}
        self._paths = sorted({*map(os.path.abspath, paths), *self._by_path})
        self._top = os.path.abspath(top)
        self._taken = taken
        self._texts: dict[str, Source | None] = {}

    def list_inputs(self, chart: str) -> list[InputText]:
        """Return what may give values to a chart, by the absolute path of its folder."""
        templates = [path for path in self._paths if path.startswith(os.path.join(chart, "templates", ""))]
        keys = self._list_keys(chart, templates)
        return [
            *self._list_outer_values(chart, keys),
            *(named := [*self._list_releases(chart), *self._list_helmfiles(chart)]),
            *self._list_unnamed(chart, keys, {os.path.abspath(found.at.source.path) for found in named}),
        ]

    def _read(self, path: str) -> Source | None:
        if path not in self._texts:
            found = self._by_path.get(path)
            if found is None:
                try:
                    text = gate.read(path, _LARGEST, within=self._top).decode(errors="replace")
                    found = Source(os.path.relpath(path).replace(os.sep, "/"), text)
                except OSError:
                    found = None
            self._texts[path] = found
        return self._texts[path]

    def _list_keys(self, chart: str, templates: Sequence[str]) -> frozenset[str] | None:
        """The keys at the top of values that the templates of a chart use; None where any may count."""
        texts = [source.text for path in templates if (source := self._read(path)) is not None]
        texts += other_templates(templates[0]) if templates else []
        keys = set()
        for fields, names in (found for text in texts for found in VALUES.findall(text)):
            path = [*fields.split(".")[1:], *re.findall(r'"([^"]+)"', names)]
            if not path:
                return None
            keys.add(path[0])
        return frozenset(keys)

    # -- values of charts around, and of charts that depend on this one

    def _list_outer_values(self, chart: str, keys: frozenset[str] | None) -> Iterator[InputText]:
        around = chart_around(chart)
        for user in map(os.path.abspath, find_users(chart, self._dependants)):
            outer = chart_around(user)
            if user == around and outer is None:
                continue  # these values are filled in
            yield from self._list_given(user, {*self._list_names(user, chart), "global"}, keys)
            if outer is not None:
                yield from self._list_given(outer, {*self._list_names(outer, user), "global"}, None)

    @cached_property
    def _dependants(self) -> list[str]:
        """The Chart.yaml of the charts that depend on another by a path."""
        charts = (path for path in self._paths if os.path.basename(path) == CHART)
        return [path for path in charts if (source := self._read(path)) is not None and "file://" in source.text]

    def _list_given(self, user: str, names: Collection[str], keys: frozenset[str] | None) -> Iterator[InputText]:
        own = os.path.join(user, "values.yaml")
        for path in (own, *beside(own)):
            for entry in self._list_entries(path):
                if entry.name in names:
                    value = self._used(entry.value, keys, entry.name == "global")
                    yield InputText(f"{os.path.basename(path)}: {entry.name}", value, span_of(entry.value))

    def _used(self, value: Node, keys: frozenset[str] | None, is_global: bool) -> str:
        """The part of values for a chart that its templates use."""
        if is_global or keys is None or value.kind != "mapping":
            return text_of(value) if keys is None or not is_global or "global" in keys else ""
        return " ".join(f"{entry.name}={text_of(entry.value)}" for entry in value.entries if entry.name in keys)

    def _list_names(self, user: str, chart: str) -> Iterator[str]:
        """The keys under which a chart gives values to another."""
        own = self._read(os.path.join(chart, CHART))
        name = next((read_text(root.get("name")) for root in (nodes_of(own) if own is not None else ())), "")
        yield name
        around = self._read(os.path.join(os.path.abspath(user), CHART))
        for root in nodes_of(around) if around is not None else ():
            for item in items_of(root.get("dependencies")):
                address = read_text(item.get("repository")).removeprefix("file://")
                is_same = os.path.normpath(os.path.join(os.path.abspath(user), address or ".")) == chart
                if is_same or read_text(item.get("name")) == name:
                    yield read_text(item.get("alias")) or read_text(item.get("name"))

    def _list_entries(self, path: str) -> Iterator[MappingEntry]:
        source = self._read(path)
        for root in own_roots(source) if source is not None else ():
            if root.kind == "mapping" and root.get("apiVersion") is None:
                yield from root.entries

    # -- releases

    def _list_releases(self, chart: str) -> Iterator[InputText]:
        """The Applications and HelmReleases whose values for a chart hold what is not known here."""
        for path, source in self._by_path.items():
            if source.may_be_template or not re.search(f"{re.escape(ARGO)}|{re.escape(FLUX)}", source.text):
                continue
            for root in nodes_of(source):
                group = read_text(root.get("apiVersion"))
                if group.startswith(ARGO):
                    yield from self._list_application(root, chart, os.path.dirname(path))
                elif group.startswith(FLUX):
                    yield from self._list_helm_release(root, chart)

    def _list_application(self, root: Node, chart: str, folder: str) -> Iterator[InputText]:
        home = find_top(folder) or self._top
        holds_code = any(_holds_code(made) for made in list_sources(root, self._read))
        for entry in _list_argo_sources(root):
            where, helm = read_text(entry.get("path")), entry.get("helm")
            if not where and entry.get("path") is not None:
                where = entry.get("path").unquoted  # type: ignore[union-attr]
            if helm is None or not _may_name(where, os.path.relpath(chart, home)):
                continue
            for item in items_of(helm.get("fileParameters")):
                yield from self._list_named(chart, read_text(item.get("path")))
            if not holds_code:
                continue
            files = [item.unquoted for item in items_of(helm.get("valueFiles"))]
            label = f"{read_text(root.get('kind'))} {read_text(root.find('metadata', 'name'))}"
            yield InputText(label, text_of(helm), span_of(helm))
            for name in files:
                above = home if name.startswith(("$", "/")) else chart
                yield from self._list_named(above, re.sub(r"^\$[\w-]+/|^/", "", name))

    def _list_helm_release(self, root: Node, chart: str) -> Iterator[InputText]:
        home = find_top(os.path.dirname(os.path.abspath(root.source.path))) or self._top
        named = read_text(root.find("spec", "chart", "spec", "chart"))
        if not named or os.path.normpath(os.path.join(home, named)) != chart:
            return
        for reference in items_of(root.find("spec", "valuesFrom")):
            name = read_text(reference.get("name"))
            if name and find_held_values(reference, root, self._by_path) is None:
                yield InputText(f"valuesFrom {name}", text_of(reference), span_of(reference))
                for path in self._paths:
                    source = self._read(path) if path.endswith(_YAML) else None
                    if source is not None and name in source.text and source.path != root.source.path:
                        yield from self._list_holders(source, name)

    def _list_holders(self, source: Source, name: str) -> Iterator[InputText]:
        for root in own_roots(source):
            kind, own = read_text(root.get("kind")), read_text(root.find("metadata", "name"))
            if kind in ("ConfigMap", "Secret", "SealedSecret", "ExternalSecret") and own == name:
                yield InputText(f"{kind} {name}", text_of(root), span_of(root))

    def _list_helmfiles(self, chart: str) -> Iterator[InputText]:
        """The helmfiles that install a chart with values that hold template code, and the files that they name."""
        from nodelint.forms.terraform.unread_releases import names_chart

        for path in self._paths:
            source = self._read(path) if _HELMFILE.search(path.replace(os.sep, "/")) else None
            if source is None or not names_chart(source.text, chart):
                continue
            if not re.search(r"\{\{|\.gotmpl|(?m:^environments:)", source.text):
                continue
            yield _whole(source)
            for name in dict.fromkeys(_PATH.findall(source.text)):
                yield from self._list_named(os.path.dirname(path), name)

    def _list_named(self, folder: str, name: str) -> Iterator[InputText]:
        """The files that a path with placeholders may name."""
        pattern = os.path.normpath(_CODE.sub("*", name))
        while pattern.startswith(os.path.join(os.pardir, "")):
            folder, pattern = os.path.dirname(folder), pattern[3:]
        sources = (self._read(os.path.join(folder, found)) for found in match_files(folder, pattern) or ())
        there = [source for source in sources if source is not None]
        yield from map(_whole, there[:_MOST_NAMED])
        if len(there) > _MOST_NAMED:
            yield make_rest((source.text for source in there), Span(there[0], 0, 0))

    # -- files that nobody names

    def _list_unnamed(self, chart: str, keys: frozenset[str] | None, named: Collection[str]) -> Iterator[InputText]:
        """The files of values that nothing is built with and whose keys are those of a chart."""
        own = self._read(os.path.join(chart, "values.yaml"))
        known = {*(keys or ()), *(entry.name for entry in self._list_entries(os.path.join(chart, "values.yaml")))}
        for path in self._paths:
            if not path.endswith(_YAML) or path in self._taken or path in named or own is self._read(path):
                continue
            if not self._may_be_values(path, chart):
                continue
            entries = list(self._list_entries(path))
            if not entries or any(entry.name not in known for entry in entries):
                continue
            for entry in entries:
                if keys is None or entry.name in keys:
                    yield InputText(
                        f"{os.path.basename(path)}: {entry.name}", text_of(entry.value), span_of(entry.value)
                    )

    def _may_be_values(self, path: str, chart: str) -> bool:
        below = os.path.relpath(path, self._top).split(os.sep)
        if any(part.startswith(".") and part != ".." for part in below) or os.path.basename(path) == CHART:
            return False
        if path.startswith(os.path.join(chart, "")):
            return os.path.relpath(path, chart).split(os.sep)[0] not in _PASSED_OVER
        return not any(gate.is_file(os.path.join(self._top, *below[:depth], CHART)) for depth in range(1, len(below)))


def _list_argo_sources(root: Node) -> Iterator[Node]:
    spec = (
        root.find("spec", "template", "spec") if read_text(root.get("kind")) == "ApplicationSet" else root.get("spec")
    )
    if spec is not None:
        single = spec.get("source")
        yield from (*items_of(spec.get("sources")), *((single,) if single is not None else ()))


def _holds_code(made: Node) -> bool:
    """Whether the path or the values of an Application hold what only the cluster knows."""
    parts = [part for part in (made.get("path"), made.get("helm")) if part is not None]
    return any(node.kind == "scalar" and _is_code(node) for part in parts for node in part.walk())


def _is_code(node: Node) -> bool:
    return node.value is UNKNOWN or (isinstance(node.value, str) and "{{" in node.value)


def _may_name(pattern: str, path: str) -> bool:
    """Whether a path with placeholders may be a path."""
    if not pattern:
        return False
    first, *others = _CODE.split(os.path.normpath(pattern))
    if not others or not path.startswith(first):
        return first == path
    at = len(first)
    for part in others[:-1]:
        at = path.find(part, at + 1)  # a placeholder stands for one character at least
        if at < 0:
            return False
        at += len(part)
    return path.endswith(others[-1]) and at < len(path) - len(others[-1])


def _whole(source: Source) -> InputText:
    return InputText(os.path.basename(source.path), source.text, Span(source, 0, 0))
