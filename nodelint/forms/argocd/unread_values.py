"""Find Argo CD Applications whose values for a chart are known only in the cluster."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from nodelint.files.safe_read import find_top
from nodelint.forms.argocd.application_sets import list_unread_generators
from nodelint.forms.argocd.charts import ARGO, find_values_patch, list_sources, list_written_sources
from nodelint.forms.input_text import InputText
from nodelint.forms.lib.unread_inputs import PLACEHOLDER, UnreadInputs, in_one_line
from nodelint.model.finding import span_of
from nodelint.text import UNKNOWN, Node, Source
from nodelint.text.missing import items_of
from nodelint.text.missing import text_of as read_text
from nodelint.text.reading import nodes_of


def list_unread_values(chart: str, files: UnreadInputs) -> Iterator[InputText]:
    """Yield the values that Applications pass to a chart and that are only partly known."""
    for source in files.list_holding(ARGO):
        for root in nodes_of(source):
            if read_text(root.get("apiVersion")).startswith(ARGO):
                yield from _list_application(root, chart, os.path.dirname(os.path.abspath(source.path)), files)


def _list_patch(root: Node, home: str, files: UnreadInputs) -> Iterator[InputText]:
    """Yield the patch of an ApplicationSet that may change values, and the generators that fill it."""
    patch, generators = find_values_patch(root), root.find("spec", "generators")
    if patch is None:
        return
    label = f"{read_text(root.get('kind'))} {read_text(root.find('metadata', 'name'))}"
    yield InputText(f"{label}: templatePatch", in_one_line(patch), span_of(patch))
    for node in generators.walk() if generators is not None else ():
        if node.own_name == "generators" or node is generators:
            yield InputText(f"{label}: generators", in_one_line(node), span_of(node))
        elif node.own_name == "path" and node.kind == "scalar":
            yield from files.list_named(home, read_text(node))


def _list_application(root: Node, chart: str, folder: str, files: UnreadInputs) -> Iterator[InputText]:
    home = find_top(folder) or files.top
    holds_code = any(_holds_code(made) for made in list_sources(root, files.read))
    yield from _list_patch(root, home, files)
    for entry in list_written_sources(root):
        where, helm = read_text(entry.get("path")), entry.get("helm")
        if not where and entry.get("path") is not None:
            where = entry.get("path").unquoted  # type: ignore[union-attr]
        if helm is None or not _may_name(where, os.path.relpath(chart, home)):
            continue
        for item in items_of(helm.get("fileParameters")):
            named = files.list_named(chart, read_text(item.get("path")))
            # A file whose content is known is compared by the rendered result.
            unread = (found for found in named if os.path.abspath(found.at.source.path) not in files.taken)
            yield from (found for found in unread if holds_code or _may_be_template(found))
        if not holds_code:
            continue
        names = [item.unquoted for item in items_of(helm.get("valueFiles"))]
        label = f"{read_text(root.get('kind'))} {read_text(root.find('metadata', 'name'))}"
        yield InputText(label, in_one_line(helm), span_of(helm))
        for part in list_unread_generators(root):
            yield InputText(f"{label}: generators", in_one_line(part), span_of(part))
        for name in names:
            above = home if name.startswith(("$", "/")) else chart
            files.values_files += files.list_named(above, re.sub(r"^\$[\w-]+/|^/", "", name))


def _may_be_template(found: InputText) -> bool:
    """Return whether another tool may still fill in the content of a file."""
    return Source(found.at.source.path, found.at.source.text).may_be_template


def _holds_code(made: Node) -> bool:
    """Return whether the path or the values of an Application have parts that only the cluster knows."""
    parts = [part for part in (made.get("path"), made.get("helm")) if part is not None]
    return any(node.kind == "scalar" and _is_code(node) for part in parts for node in part.walk())


def _is_code(node: Node) -> bool:
    return node.value is UNKNOWN or (isinstance(node.value, str) and "{{" in node.value)


def _may_name(pattern: str, path: str) -> bool:
    """Return whether a path with placeholders may be equal to a path."""
    if not pattern:
        return False
    first, *others = PLACEHOLDER.split(os.path.normpath(pattern))
    if not others or not path.startswith(first):
        return first == path
    at = len(first)
    for part in others[:-1]:
        at = path.find(part, at + 1)  # a placeholder stands for at least one character
        if at < 0:
            return False
        at += len(part)
    return path.endswith(others[-1]) and at < len(path) - len(others[-1])
