"""Find chart templates that do not name Karpenter, but include a named template that does."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence

from nodelint.files.gate import gate
from nodelint.forms.helm.charts import find_users
from nodelint.forms.lib.chart_places import chart_of
from nodelint.text import Source
from nodelint.text.limits import note_more

_DEFINED = re.compile(r"\{\{-?\s*define\s+[\"`]([^\"`\n]+)[\"`]")
_INCLUDED = re.compile(r"\b(?:include|template)\s+[\"`]([^\"`\n]+)[\"`]")
_LARGEST = 4 << 20
_MOST_FILES = 5000
"""The most templates of one chart that are searched."""
_ENDINGS = (".yaml", ".yml", ".tpl")


def find_including_templates(sources: Sequence[Source], seen: Iterable[str]) -> list[Source]:
    """Return the templates, not among the sources, that include a named template defined in a source.

    `seen` are the requested files. Indirect includes also count.
    """
    named = {chart: names for chart, names in _list_definitions(sources).items() if names}
    also = next((source.also for source in sources if source.also is not None), None)
    if not named:
        return []
    shown = {os.path.abspath(path): path for path in seen}
    have = {os.path.abspath(source.path) for source in sources}
    found: dict[str, Source] = {}
    for chart, names in named.items():
        for user in [chart, *find_users(chart, shown)]:
            found.update((path, s) for path, s in _including(user, names, shown, also) if path not in have)
    return [found[path] for path in sorted(found)]


def _list_definitions(sources: Sequence[Source]) -> dict[str, set[str]]:
    """Return the names of the templates that the sources define, by the folder of the chart."""
    found: dict[str, set[str]] = {}
    for source in sources:
        if source.may_be_template and "define" in source.text:
            chart = chart_of(source.path)
            if chart is not None:
                found.setdefault(os.path.abspath(chart), set()).update(_DEFINED.findall(source.text))
    return found


def _including(chart: str, names: set[str], shown: dict[str, str], also: str | None) -> Iterator[tuple[str, Source]]:
    """Yield path and source of each template of a chart that includes one of the names, directly or indirectly.

    `also` is the pattern of further objects for which the sources are read (see `Source.also`).
    """
    folder = os.path.join(chart, "templates", "")
    texts: dict[str, str] = {}
    paths = [path for path in shown if path.startswith(folder) and path.endswith(_ENDINGS)]
    note_more(chart, len(paths), _MOST_FILES, "templates of this chart", 0)
    for path in paths[:_MOST_FILES]:
        try:
            texts[path] = gate.read(path, _LARGEST, within=chart).decode()
        except (OSError, ValueError):
            continue
    known = set(names)
    while True:
        including = [path for path, text in texts.items() if not known.isdisjoint(_INCLUDED.findall(text))]
        more = {name for path in including for name in _DEFINED.findall(texts[path])} - known
        if not more:
            break
        known |= more
    for path in including:
        yield path, Source.from_text(shown[path].replace(os.sep, "/"), texts[path], also)
