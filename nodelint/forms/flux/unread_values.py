"""Find Flux HelmReleases with values for a chart that are not in the repository."""

from __future__ import annotations

import os
from collections.abc import Iterator

from nodelint.files.safe_read import find_top
from nodelint.forms.flux.charts import HELM_GROUP, find_referenced_values
from nodelint.forms.input_text import InputText
from nodelint.forms.lib.unread_inputs import UnreadInputs, in_one_line
from nodelint.forms.lib.values import own_roots
from nodelint.model.finding import span_of
from nodelint.text import Node, Source
from nodelint.text.missing import items_of
from nodelint.text.missing import text_of as read_text
from nodelint.text.reading import nodes_of

_YAML = (".yaml", ".yml")


def list_unread_values(chart: str, files: UnreadInputs) -> Iterator[InputText]:
    """Yield the values that HelmReleases pass to a chart and that cannot be read."""
    for source in files.list_holding(HELM_GROUP):
        for root in nodes_of(source):
            if read_text(root.get("apiVersion")).startswith(HELM_GROUP):
                yield from _list_helm_release(root, chart, files)


def _list_helm_release(root: Node, chart: str, files: UnreadInputs) -> Iterator[InputText]:
    home = find_top(os.path.dirname(os.path.abspath(root.source.path))) or files.top
    named = read_text(root.find("spec", "chart", "spec", "chart"))
    if not named or os.path.normpath(os.path.join(home, named)) != chart:
        return
    for reference in items_of(root.find("spec", "valuesFrom")):
        name = read_text(reference.get("name"))
        if name and find_referenced_values(reference, root, files.by_path) is None:
            yield InputText(f"valuesFrom {name}", in_one_line(reference), span_of(reference))
            for path in files.paths:
                source = files.read(path) if path.endswith(_YAML) else None
                if source is not None and name in source.text and source.path != root.source.path:
                    yield from _list_holders(source, name, read_text(reference.get("valuesKey")) or "values.yaml")


def _list_holders(source: Source, name: str, key: str) -> Iterator[InputText]:
    for root in own_roots(source):
        kind, own = read_text(root.get("kind")), read_text(root.find("metadata", "name"))
        if kind in ("ConfigMap", "Secret", "SealedSecret", "ExternalSecret") and own == name:
            fields = (root.find(field, key) for field in ("data", "stringData"))
            value = next((field for field in fields if field is not None), root)
            yield InputText(f"{kind} {name}", in_one_line(value), span_of(value))
