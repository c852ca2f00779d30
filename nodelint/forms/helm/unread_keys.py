"""Find keys in the values of an installation that no file of the chart reads."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.forms.helm.charts import list_templates, values_of
from nodelint.forms.lib.chart_places import CHART, find_outer_chart, find_templates_folder
from nodelint.forms.lib.values import own_roots
from nodelint.forms.rendered import UnreadKey
from nodelint.text import Source

if TYPE_CHECKING:
    from nodelint.forms.rendered import Built
    from nodelint.text import Node
    from nodelint.text.nodes import MappingEntry

_ALL_VALUES = re.compile(r"\.Values(?![\w.])|\btpl\b|\.AsMap\b|\.Subcharts\b")
"""Code that may read any value: all values at once, or a value that is a template itself."""
_SCHEMA = "values.schema.json"


def note_unread_keys(builds: Iterable[Built]) -> list[Built]:
    """Return rendered templates of charts, each with the keys at the root of its values that the chart reads
    nowhere.

    A chart with dependencies is left out, because they read values as well, and so are keys of a values file that
    several charts may share. A key that another chart reads at the same place is none.
    """
    builds = list(builds)
    texts: dict[str, str | None] = {}
    unread: list[list[UnreadKey]] = []
    read = set()
    for built in builds:
        folder = find_templates_folder(built.source.path)
        if folder is not None and folder not in texts:
            texts[folder] = _read_chart(folder)
        code = texts[folder] if folder is not None else None
        unread.append(list(_list_unread(built, code)) if code is not None else [])
        own = {_place(key.at) for key in unread[-1]}
        read |= {_place(entry.key) for entry in built.values.entries} - own if built.values is not None else set()
    return [
        built._replace(unread_keys=tuple(key for key in keys if _place(key.at) not in read)) if keys else built
        for built, keys in zip(builds, unread, strict=True)
    ]


def _place(node: Node) -> tuple[str, int]:
    return node.source.path, node.start


def _read_chart(folder: str) -> str | None:
    """Return the texts of a chart that may read values. None if other texts may read any of them."""
    chart = os.path.dirname(folder)
    texts = [text for _, text in list_templates(folder)]
    try:
        about = gate.read(os.path.join(chart, CHART), 1 << 20).decode()
        schema = os.path.join(chart, _SCHEMA)
        texts += [about, *([gate.read(schema, 1 << 20).decode()] if gate.is_file(schema) else [])]
    except (OSError, ValueError):
        return None
    whole = "\n".join(texts)
    depends = "dependencies:" in about or find_outer_chart(chart) is not None
    depends = depends or gate.is_file(os.path.join(chart, "requirements.yaml"))
    return None if depends or _ALL_VALUES.search(whole) else whole


def _list_unread(built: Built, code: str) -> Iterator[UnreadKey]:
    own = values_of(built.source.path)
    if own is None or built.values is None:
        return
    own = os.path.abspath(own)
    entries = [entry for entry in built.values.entries if entry.name]
    unset = tuple(str(e.name) for e in entries if os.path.abspath(e.key.source.path) == own)
    for entry in entries:
        is_own = os.path.abspath(entry.key.source.path) == own
        if is_own or entry.name == "global" or re.search(rf"\b{re.escape(str(entry.name))}\b", code):
            continue
        if isinstance(entry.key.source, Source) and not _is_of_file(entry, entry.key.source):
            yield UnreadKey(entry.key, str(entry.name), unset)


def _is_of_file(entry: MappingEntry, source: Source) -> bool:
    """Return whether a key is at the root of a file, or in a ConfigMap: several charts may share these values."""
    for root in own_roots(source):
        kind = root.get("kind")
        is_within = root.start <= entry.key.start < root.end
        if is_within and kind is not None and kind.value in ("ConfigMap", "Secret"):
            return True
        if any(found.key.start == entry.key.start for found in root.entries):
            return True
    return False
