"""Find installations of remote charts whose names say that they create pools or classes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from nodelint.files.safe_read import find_top
from nodelint.forms.input_text import InputText, RemoteUse
from nodelint.forms.lib.chart_values import MAKES_POOLS, MAY_MAKE_POOLS, makes_pools
from nodelint.forms.lib.controller_install import is_controller
from nodelint.forms.lib.unread_inputs import UnreadInputs, in_one_line, list_what_is_applied
from nodelint.forms.lib.values import own_roots
from nodelint.model.finding import span_of
from nodelint.text import Node, Source
from nodelint.text.missing import text_of as read_text
from nodelint.text.source import YAML_NAMES

_VERSIONS = ("version", "targetRevision")
_REFERENCE = re.compile(r"^(?:\$[\w-]+)?/+")
"""The source of an Application in whose repository a values file is."""
_LOCAL = re.compile(r"\.{0,2}/|file:")


_REASON = "how the chart {} is installed changes, and no template of it is here"


def list_remote_charts(source: Source) -> Iterator[RemoteUse]:
    """Yield each object, or list entry, that installs a remote chart whose name or values say that it creates pools.

    Its inputs are the version and the values, and the values files of the repository that make pools.
    """
    if source.may_be_template:
        return
    for root in own_roots(source):
        if root.kind != "mapping":
            continue
        for node in root.walk():
            name = _name_chart(node) if node.kind == "mapping" else ""
            if not name:
                continue
            whole = root if root.get("apiVersion") is not None and root.get("kind") is not None else node
            spec = whole.get("spec") or whole
            named = list(_list_values_of_pools(spec))
            is_named = MAKES_POOLS.search(name) or MAY_MAKE_POOLS.search(name)
            if is_named or named or makes_pools(spec):
                given = InputText(name, list_what_is_applied(spec), span_of(node))
                files = (InputText(path, in_one_line(values), span_of(values)) for path, values in named)
                yield RemoteUse(source.path, name, (given, *files), _REASON)


def _list_values_of_pools(spec: Node) -> Iterator[tuple[str, Node]]:
    """Yield (name, root) for each values file that an object names, that is in the repository, and that
    makes pools.
    """
    folder = os.path.dirname(os.path.abspath(spec.source.path))
    top = find_top(folder)
    if top is None:
        return
    files = UnreadInputs((), (), str(top))
    for node in spec.walk():
        name = node.value if node.kind == "scalar" and isinstance(node.value, str) else ""
        if not name.endswith(YAML_NAMES) or "://" in name:
            continue
        for above in dict.fromkeys((folder, str(top))):
            for found in files.list_named(above, _REFERENCE.sub("", name)):
                roots = own_roots(found.at.source) if isinstance(found.at.source, Source) else []
                yield from ((name, root) for root in roots if makes_pools(root))


def _name_chart(node: Node) -> str:
    """Return the name of the remote chart that a node installs.

    Empty if it is local, or the chart of Karpenter's controller.
    """
    chart = read_text(node.get("chart")) or read_text(node.get("remoteChart"))
    repository = read_text(node.get("repository"))
    name = chart or (read_text(node.get("name")) if repository else "")
    is_local = _LOCAL.match(chart) or _LOCAL.match(repository)
    has_version = any(node.get(key) is not None for key in _VERSIONS)
    return name if has_version and not is_local and not is_controller(name) else ""
