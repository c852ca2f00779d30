"""Find installations of a chart at which helm stops, because a template calls `fail` or `required`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence

from nodelint.base.budget import BudgetSpent
from nodelint.base.types import TYPE_CHECKING
from nodelint.forms.helm.charts import ChartFiles, list_templates
from nodelint.forms.lib.chart_places import find_templates_folder
from nodelint.forms.lib.gotemplate.evaluate import fill
from nodelint.forms.lib.gotemplate.syntax import BadTemplate, parse
from nodelint.model.finding import Span
from nodelint.model.gap import Gap
from nodelint.text import Node, Source

if TYPE_CHECKING:
    from nodelint.forms.lib.gotemplate.expressions import ChartRefusal
    from nodelint.forms.rendered import Built

_STOPS = re.compile(r"\b(?:fail|required)\s+[\"`($.]|\|\s*(?:fail|required)\b")
_INCLUDES = re.compile(r"\b(?:include|template|tpl)\b")
_PRINTS = re.compile(r"\{\{-?\s*(?!\$\w+\s*:?=|(?:if|with|range|else)\b)")
"""Code that prints a value: where the value is missing, the object with it is not judged in full."""


def note_refusals(builds: Iterable[Built], sources: Sequence[Source]) -> list[Built]:
    """Return rendered templates of charts, each with the reasons why helm refuses its installation.

    If an object or a command installs the chart and all its values are known, helm refuses the installation.
    Otherwise it may set further values.
    """
    stops = _Stops(ChartFiles({os.path.abspath(source.path): source for source in sources}))
    return [_note_refusal(built, stops.find(built)) for built in builds]


def _note_refusal(built: Built, gaps: Sequence[Gap]) -> Built:
    if not gaps:
        return built
    paths = (os.path.abspath(gap.at.source.path) for gap in gaps)
    built = built._replace(parts=tuple(dict.fromkeys((*built.parts, *paths))))
    name = " ".join((built.applied_by[1] or built.user).split())
    if name and (built.unread is None or built.user):
        return built._replace(refused=tuple(gap._replace(subject=name) for gap in gaps))
    return built if built.is_installed else built._replace(may_be_refused=tuple(filter(_is_news, gaps)))


class _Stops:
    """The code at which helm stops. Each template is evaluated once for each set of values."""

    def __init__(self, files: ChartFiles) -> None:
        self._files = files
        self._candidates: dict[str, list[Source]] = {}
        self._found: dict[tuple[str, int], list[Gap]] = {}
        self._sources: dict[str, Source] = {}

    def find(self, built: Built) -> list[Gap]:
        """Return the places at which helm stops with the values of a rendered template."""
        folder = find_templates_folder(built.source.path)
        root = built.values
        candidates = self._list_candidates(folder) if folder is not None and root is not None else ()
        if folder is None or not candidates:
            return []
        key = folder, id(root)
        if key not in self._found:
            self._found[key] = [gap for file in candidates for gap in self._evaluate(file, root)]
        return self._found[key]

    def _list_candidates(self, folder: str) -> list[Source]:
        """Return the templates that call `fail` or `required`, or that include a template which does."""
        found = self._candidates.get(folder)
        if found is None:
            texts = dict(list_templates(folder))
            stopping = {path for path, text in texts.items() if _STOPS.search(text)}
            is_shared = any("define" in texts[path] for path in stopping)
            rendered = [path for path in sorted(texts) if not os.path.basename(path).startswith("_")]
            wanted = [path for path in rendered if path in stopping or (is_shared and _INCLUDES.search(texts[path]))]
            found = self._candidates[folder] = [self._read(path, texts[path]) for path in wanted]
        return found

    def _read(self, path: str, text: str) -> Source:
        """Return the source of a template: that of the run, if it has one."""
        whole = os.path.abspath(path)
        if whole not in self._sources:
            self._sources[whole] = self._files.sources.get(whole) or Source(path.replace(os.sep, "/"), text)
        return self._sources[whole]

    def _evaluate(self, template: Source, root: Node | None) -> Iterator[Gap]:
        """Yield the first place of a template at which helm stops."""
        try:
            parts = parse(template.text)
            chart = self._files.data_for(template)
            filled = fill(template.text, parts, root, "as helm", chart, is_complete=True)
        except (BadTemplate, BudgetSpent):
            return
        for refusal in filled.refusals[:1]:
            source = refusal.source
            yield _explain(refusal, self._read(source.path, source.text) if source is not None else template)


def _explain(refusal: ChartRefusal, source: Source) -> Gap:
    in_brackets = f" (`{refusal.message}`)" if refusal.message else ""
    why = "a `required` value is missing" if refusal.function == "required" else "the chart calls `fail`"
    return Gap(Span(source, refusal.code.start, refusal.code.end), "chart", f"helm stops here: {why}{in_brackets}")


def _is_news(gap: Gap) -> bool:
    """Return whether no gap about an unknown value of an object says the same."""
    at = gap.at
    return "required" not in gap.reason or _PRINTS.match(at.source.text, at.start) is None


def list_possible(builds: Sequence[Built]) -> Iterator[Gap]:
    """Yield a gap for each place at which helm stops unless the installation sets further values.

    The default values of a chart count only if no file has others.
    """
    given = {place for built in builds if built.given for place in built.replaces}
    for built in builds:
        if built.given or given.isdisjoint(built.replaces):
            values = f"the values of {built.given[0].path}" if built.given else "the chart's default values"
            for gap in built.may_be_refused:
                reason = f"{gap.reason} with {values}: which values its installation adds is not known"
                yield gap._replace(reason=reason)
