"""Values with pools and classes for charts whose templates are not among the files: what these make is not known."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence

from nodelint.files.links import CHART
from nodelint.files.safe_read import find_top
from nodelint.forms.helm.chart_values import ARGO, FLUX, find_held_values, read_block
from nodelint.forms.kustomize.kustomizations import KUSTOMIZATIONS
from nodelint.forms.lib.values import nodes_of
from nodelint.model.documents import objects
from nodelint.model.gap import Gap
from nodelint.text import Node, Source
from nodelint.text.missing import items_of, text_of
from nodelint.text.nodes import MappingEntry

HOLDER = (
    r"(?i:(?:karpenter[_-]?)?(?:node[_-]?pools?|(?:ec2)?[_-]?node[_-]?class(?:es)?|provisioners"
    r"|(?:aws)?[_-]?node[_-]?templates))"
)
"""Keys under which charts take pools and classes."""
FIELD = (
    r"(?i:instance|capacity|ami|subnet|securityGroup|requirement|disruption|consolidat|expire|arch|taint"
    r"|weight|blockDevice|userData|metadataOptions|zones?$|limits$|cpu)"
)
"""How a key begins that says what a pool launches, or a class takes."""
_NOT_TAKEN = "are values that no template here is filled with: what a chart makes of them is not judged"
NOT_HERE = "no template of which is here: what it makes of them is not judged"


def may_hold_remote_values(source: Source) -> bool:
    """Whether a file may hold values of a chart; a manifest of Karpenter's holds none."""
    text = source.text
    if source.may_be_template or not source.path.endswith((".yaml", ".yml", ".json")):
        return False
    return "kind:" not in text or re.search(f"{ARGO}|{FLUX}|helmCharts", text) is not None


def find_remote_values(files: Sequence[Source], taken: Collection[str]) -> Iterator[Gap]:
    """Name pools and classes in values that no template of the files takes.

    `taken` are the absolute paths of files that something is built of. Values that have Karpenter's own fields are
    judged as they are, and not named.
    """
    by_path = {os.path.abspath(source.path): source for source in files}
    charts = {_chart_of(path) for path, source in by_path.items() if source.may_be_template}
    for source in files:
        if not may_hold_remote_values(source):
            continue
        judged = [(obj.node.start, obj.node.end) for obj in objects(source, foreign=True, more=True)]
        path = os.path.abspath(source.path)
        found: list[Gap] = []
        for root in nodes_of(source):
            for chart, values in _values_in(root, path, charts, taken):
                reason = f"are values of the chart {chart}, {NOT_HERE}" if chart else _NOT_TAKEN
                found += [_describe(entry.key, f"`{entry.name}` {reason}") for entry in _find_holders(values, judged)]
            found += _find_hidden_values(root, charts, by_path)
        yield from sorted(set(found), key=lambda values: values.line)


def _describe(at: Node, reason: str) -> Gap:
    return Gap(at, "values", reason)


def _chart_of(path: str) -> str:
    head, found, _ = path.rpartition(f"{os.sep}templates{os.sep}")
    return head if found else ""


def _values_in(root: Node, path: str, charts: Collection[str], taken: Collection[str]) -> Iterator[tuple[str, Node]]:
    """The values that a document gives to charts without a template here, each with the name of the chart."""
    version, kind = text_of(root.get("apiVersion")), text_of(root.get("kind"))
    folder, name = os.path.split(path)
    home = str(find_top(folder) or "")
    if name in KUSTOMIZATIONS:
        for chart in items_of(root.get("helmCharts")):
            local = os.path.join(folder, text_of(root.find("helmGlobals", "chartHome")) or "charts")
            if os.path.join(local, text_of(chart.get("name"))) not in charts:
                yield from ((text_of(chart.get("name")), values) for values in _as_list(chart.get("valuesInline")))
    elif not kind and not version:
        is_own = os.path.dirname(path) in charts or path in taken
        if name != CHART and root.kind == "mapping" and not is_own:
            yield "", root
    elif version.startswith(ARGO):
        spec = root.find("spec", "template", "spec") if kind == "ApplicationSet" else root.get("spec")
        sources = [*items_of(spec.get("sources")), *_as_list(spec.get("source"))] if spec is not None else []
        for entry in sources:
            where, helm = entry.get("path"), entry.get("helm")
            if helm is not None and os.path.normpath(os.path.join(home, text_of(where) or "-")) not in charts:
                name_node = entry.get("chart") or where
                given = [*_as_list(helm.get("valuesObject")), *_as_list(helm.get("values"))]
                shown = name_node.unquoted if name_node is not None else ""
                yield from ((shown, values) for values in _read_values(given))
    elif version.startswith(FLUX) and kind == "HelmRelease" and _flux_chart(root, home) not in charts:
        shown = text_of(root.find("spec", "chart", "spec", "chart")) or text_of(root.find("spec", "chartRef", "name"))
        yield from ((shown, values) for values in _as_list(root.find("spec", "values")))


def _flux_chart(root: Node, home: str) -> str:
    return os.path.normpath(os.path.join(home, text_of(root.find("spec", "chart", "spec", "chart")) or "-"))


def _read_values(given: Sequence[Node]) -> Iterator[Node]:
    for node in given:
        values = node if node.kind == "mapping" else read_block(node)
        yield from _as_list(values)


def _find_holders(values: Node, judged: Sequence[tuple[int, int]]) -> Iterator[MappingEntry]:
    """The keys of values under which pools or classes stand of which one is not judged."""
    pending = [values]
    while pending:
        node = pending.pop()
        pending += node.items
        for entry in reversed(node.entries):
            if entry.merged or entry.value.kind == "scalar":
                continue
            if entry.name is None or re.fullmatch(HOLDER, entry.name) is None:
                pending.append(entry.value)
            elif _is_switched_on(entry.value) and any(
                not _is_judged(part, judged) for part in _list_parts(entry.value)
            ):
                yield entry


def _list_parts(holder: Node) -> list[Node]:
    """The pools or classes under a key: it is one itself, or has a list or a map of them."""
    if any(re.match(FIELD, entry.name or "") for entry in holder.entries):
        return [holder]
    below = [*holder.items, *(entry.value for entry in holder.entries)]
    return [node for node in below if _says_field(node) and _is_switched_on(node)]


def _says_field(node: Node) -> bool:
    return any(re.match(FIELD, e.name or "") or _says_field(e.value) for e in node.entries)


def _is_switched_on(node: Node) -> bool:
    """Whether nothing says that a thing is switched off."""
    switch = node.get("enabled") or node.get("create")
    return switch is None or switch.value is not False


def _is_judged(node: Node, judged: Sequence[tuple[int, int]]) -> bool:
    return any(start < node.end and node.start < end for start, end in judged)


def _find_hidden_values(root: Node, charts: Collection[str], sources: dict[str, Source]) -> Iterator[Gap]:
    """What a HelmRelease takes for a chart of the files from a Secret, or from what is not among the files."""
    if not text_of(root.get("apiVersion")).startswith(FLUX) or text_of(root.get("kind")) != "HelmRelease":
        return
    home = str(find_top(os.path.dirname(os.path.abspath(root.source.path))) or "")
    if _flux_chart(root, home) not in charts:
        return
    for reference in items_of(root.find("spec", "valuesFrom")):
        if find_held_values(reference, root, sources) is None:
            name = f"{text_of(reference.get('kind'))} `{text_of(reference.get('name'))}`"
            yield _describe(reference, f"the values in the {name} are not known: what they change is not judged")


def _as_list(node: Node | None) -> list[Node]:
    return [node] if node is not None else []
