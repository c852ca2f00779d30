"""Find chart templates whose apiVersion and kind come from values, so that they do not contain Karpenter's name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence

from nodelint.files.gate import gate
from nodelint.forms.lib.chart_places import chart_of
from nodelint.forms.lib.remote_values import HOLDER
from nodelint.text import Source
from nodelint.text.limits import note_more
from nodelint.text.source import YAML_NAMES

_HOLDS = re.compile(rf"(?m)^[ \t-]*(?:{HOLDER}[ \t]*:|kind:[ \t]*[\"']?(?:NodePool|EC2NodeClass)\b)")
_KIND_OF_VALUES = re.compile(r"(?m)^[ \t-]*kind:[ \t]*[\"']?\{\{")
_API_OF_VALUES = re.compile(r"(?m)^[ \t-]*apiVersion:[ \t]*[\"']?\{\{")
_LARGEST = 1 << 20
_MOST_FILES = 500


def find_kindless_templates(sources: Sequence[Source], seen: Iterable[str]) -> list[Source]:
    """Return the templates that create objects of any kind, if a source has pools or classes as values.

    `seen` are the requested files.
    """
    if not any(not source.may_be_template and _HOLDS.search(source.text) for source in sources):
        return []
    have = {os.path.abspath(source.path) for source in sources}
    places = [path for path in sorted(seen) if path.endswith(YAML_NAMES) and "templates" in path.split(os.sep)]
    places = [path for path in places if os.path.abspath(path) not in have]
    if places:
        note_more(places[0], len(places), _MOST_FILES, "templates that may take kinds of objects from values", 0)
    found = []
    for path in places[:_MOST_FILES]:
        try:
            text = gate.read(path, _LARGEST).decode()
        except (OSError, ValueError):
            continue
        if _KIND_OF_VALUES.search(text) and _API_OF_VALUES.search(text) and chart_of(path) is not None:
            found.append(Source.from_text(path.replace(os.sep, "/"), text))
    return found
