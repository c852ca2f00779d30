"""Find the texts that may contain the values of a chart's workloads, without rendering the chart."""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cache, cached_property

from nodelint.files.gate import gate
from nodelint.forms.helm.charts import list_local_charts
from nodelint.forms.helm.command_releases import find_scripts_top, list_scripts
from nodelint.forms.lib.chart_places import CHART, chart_of, find_outer_chart
from nodelint.forms.registry import TABLE

_LARGEST = 1 << 20
_NAME = re.compile(r"(?m)^name:[ \t]*[\"']?([\w.-]+)")
_WORD = re.compile(r"[\w.-]+")
_VALUES = (".yaml", ".yml", ".json", ".gotmpl", ".tfvars", ".tpl", ".tftpl")
_ELSEWHERE = re.compile(
    r"\}\}?[\w.-]*\.(?:ya?ml|json|gotmpl|tpl)\b|[*?][\w.-]*\.ya?ml\b|\bvaluesFrom\b"
    r"|\b(?:resources|nodeSelector|affinity|topologySpreadConstraints)[.\[\\][\w\\]"
)
"""A values file whose name code or a pattern completes, values of other objects, and values that are set by path."""


class GivenTexts:
    """The texts from which the charts of a run may get values. Each text is read once."""

    def __init__(self, seen: Iterable[str], installing: Iterable[str]) -> None:
        """Search values in the files of `seen`, and in those that the files of `installing` name."""
        self._shown = {os.path.abspath(path): path for path in seen}
        self._installing = sorted(installing)
        self._found: dict[str, str | None] = {}
        self._find_chart = cache(lambda folder: chart_of(os.path.join(folder, "")))

    def find(self, template: str) -> str | None:
        """Return the texts that may contain values of a chart's template. None if they cannot be listed.

        Empty if the file is no template of a chart.
        """
        chart = self._find_chart(os.path.dirname(template))
        if chart is None:
            return ""
        place = os.path.abspath(chart)
        if place not in self._found:
            try:
                self._found[place] = self._read_all(place)
            except OSError:
                self._found[place] = None
        return self._found[place]

    def _read_all(self, chart: str) -> str | None:
        charts = [chart]
        for folder in charts:
            outer = find_outer_chart(folder)
            users = [*([os.path.abspath(outer)] if outer is not None else []), *self._users.get(folder, ())]
            charts += [user for user in users if user not in charts]
        texts = [text for folder in charts for text in self._list_own(folder)]
        for folder in charts:
            for text in self._list_installing(folder):
                if _ELSEWHERE.search(text) is not None:
                    return None
                texts += [text, *self._list_named(text)]
        return "\n".join(dict.fromkeys(texts))

    @cached_property
    def _users(self) -> dict[str, list[str]]:
        """Return the charts that depend on a chart by `file://`, by the folder of that chart."""
        found: dict[str, list[str]] = {}
        for path in self._shown:
            if os.path.basename(path) == CHART:
                for folder in list_local_charts(os.path.dirname(path)):
                    found.setdefault(os.path.abspath(folder), []).append(os.path.dirname(path))
        return found

    @cached_property
    def _values(self) -> list[str]:
        """Return the sorted paths that may be values files, so that those in one folder are neighbours."""
        return sorted(path for path in self._shown if path.endswith(_VALUES) and os.path.basename(path) != CHART)

    def _list_own(self, chart: str) -> Iterator[str]:
        """Yield the values files in the folder of a chart, the default values also if they were not requested."""
        own, folder = os.path.join(chart, "values.yaml"), os.path.join(chart, "")
        paths = [own]
        for path in self._values[bisect_left(self._values, folder) :]:
            if not path.startswith(folder):
                break
            if chart_of(path) is None and path != own:
                paths.append(path)
        for path in paths:
            yield _read(self._shown.get(path, os.path.relpath(path)))

    def _list_installing(self, chart: str) -> Iterator[str]:
        """Yield the texts of the files that name a chart, by its folder or by its own name."""
        named = _NAME.search(_read(os.path.relpath(os.path.join(chart, CHART))))
        names = {os.path.basename(chart), named[1] if named is not None else ""}
        yield from dict.fromkeys(text for name in sorted(names) for text in self._installing_by_word.get(name, ()))

    @cached_property
    def _installing_by_word(self) -> dict[str, list[str]]:
        """Return the texts that may install a chart by an object, by HCL or by a command, by each word in them."""
        programs = [path for path in self._shown.values() if path.endswith(TABLE.endings)]
        texts = [_read(path) for path in self._installing]
        texts += [text for text in map(_read, sorted(set(programs) - set(self._installing))) if "helm" in text]
        charts = {os.path.dirname(path) for path in self._shown if os.path.basename(path) == CHART}
        texts += [source.text for top in sorted(set(map(find_scripts_top, charts))) for source in list_scripts(top)]
        found: dict[str, list[str]] = {}
        for text in dict.fromkeys(texts):
            for word in set(_WORD.findall(text)):
                found.setdefault(word, []).append(text)
        return found

    @cached_property
    def _values_by_name(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in self._values:
            found.setdefault(os.path.basename(path), []).append(self._shown[path])
        return found

    def _list_named(self, text: str) -> Iterator[str]:
        """Yield the texts of the requested files whose names occur in a text."""
        for word in dict.fromkeys(_WORD.findall(text)):
            yield from map(_read, self._values_by_name.get(word, ()))


def _read(path: str) -> str:
    """Return a text; empty if there is none. Raise `OSError` for one that cannot be read, or that is too large."""
    try:
        return gate.read(path, _LARGEST).decode(errors="replace")
    except FileNotFoundError:
        return ""
