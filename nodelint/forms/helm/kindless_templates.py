"""Find chart templates whose apiVersion and kind come from values, so that they do not name the kinds they make."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence

from nodelint.files.gate import gate
from nodelint.forms.lib.chart_places import CHART, chart_of
from nodelint.forms.lib.remote_values import HOLDER
from nodelint.text import Source
from nodelint.text.limits import note_more
from nodelint.text.source import YAML_NAMES

_HOLDS = re.compile(rf"(?m)^[ \t-]*(?:{HOLDER}[ \t]*:|kind:[ \t]*[\"']?(?:NodePool|EC2NodeClass)\b)")
_KIND_OF_VALUES = re.compile(r"(?m)^[ \t-]*kind:[ \t]*[\"']?\{\{")
_API_OF_VALUES = re.compile(r"(?m)^[ \t-]*apiVersion:[ \t]*[\"']?\{\{")
_WHOLE_OBJECT = re.compile(r"(?m)^\{\{-?[^{}\n]*\b(?:toYaml|toJson|toPrettyJson|toRawJson|tpl)\b")
"""A value that is printed at the beginning of a line can be a whole object."""
_LARGEST = 1 << 20
_MOST_FILES = 500


def find_kindless_templates(sources: Sequence[Source], seen: Iterable[str]) -> list[Source]:
    """Return the templates that create objects of any kind, if a source has such objects as values.

    These are pools and classes, and the objects that a source was read for (`Source.also`). `seen` are the requested
    files.
    """
    also = next((source.also for source in sources if source.also is not None and _holds_others(source)), None)
    ours = any(not source.may_be_template and _HOLDS.search(source.text) for source in sources)
    if not ours and also is None:
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
        if _is_kindless(text, also is not None) and chart_of(path) is not None:
            found.append(Source.from_text(path.replace(os.sep, "/"), text, also))
    return found


def _holds_others(source: Source) -> bool:
    """Return whether a values file contains an object of the kinds that a source was read for."""
    return not source.may_be_template and os.path.lexists(os.path.join(os.path.dirname(source.path), CHART))


def _is_kindless(text: str, with_others: bool) -> bool:
    """Return whether a template takes the kind of an object from values. `with_others`: of objects of any API."""
    if with_others and _WHOLE_OBJECT.search(text) is not None:
        return True
    return _KIND_OF_VALUES.search(text) is not None and (with_others or _API_OF_VALUES.search(text) is not None)
