"""Find installations of remote charts whose names say that they create pools or classes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nodelint.forms.input_text import InputText, RemoteUse
from nodelint.forms.lib.chart_values import MAKES_POOLS
from nodelint.forms.lib.unread_inputs import list_what_is_applied
from nodelint.forms.lib.values import own_roots
from nodelint.model.finding import span_of
from nodelint.text import Node, Source
from nodelint.text.missing import text_of as read_text

_VERSIONS = ("version", "targetRevision")
_LOCAL = re.compile(r"\.{0,2}/|file:")


_REASON = "how the chart {} is installed changes, and no template of it is here"


def list_remote_charts(source: Source) -> Iterator[RemoteUse]:
    """Yield each object, or list entry, that installs a remote chart whose name says that it creates pools.

    Its inputs are the version and the values.
    """
    if source.may_be_template:
        return
    for root in own_roots(source):
        if root.kind != "mapping":
            continue
        for node in root.walk():
            name = _name_chart(node) if node.kind == "mapping" else ""
            if name:
                whole = root if root.get("apiVersion") is not None and root.get("kind") is not None else node
                spec = whole.get("spec") or whole
                given = InputText(name, list_what_is_applied(spec), span_of(node))
                yield RemoteUse(source.path, name, (given,), _REASON)


def _name_chart(node: Node) -> str:
    """Return the name of the remote chart that a node installs. Empty if it is local, or unlikely to create pools."""
    chart, repository = read_text(node.get("chart")), read_text(node.get("repository"))
    name = chart or (read_text(node.get("name")) if repository else "")
    is_local = _LOCAL.match(chart) or _LOCAL.match(repository)
    has_version = any(node.get(key) is not None for key in _VERSIONS)
    return name if has_version and not is_local and MAKES_POOLS.search(name) else ""
