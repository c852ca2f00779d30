"""Judge workloads with the NodePools and DaemonSets of all files and rendered manifests of a run, as `fit` does.

Pools, DaemonSets and workloads of one cluster may each have an overlay, a chart or plain files of their own. Which of
them belong together is known to `fit.tree` alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from nodelint.base.types import TYPE_CHECKING
from nodelint.lint.judging import judge_objects
from nodelint.lint.written_places import lead_also, once_each
from nodelint.model.documents import objects
from nodelint.model.manifest import NodePool

if TYPE_CHECKING:
    from nodelint.forms.rendered import Built
    from nodelint.lint.judging import ObjectMap, RuleSetup
    from nodelint.lint.results import Result
    from nodelint.model.gap import Gap
    from nodelint.model.manifest import Object
    from nodelint.rule.definition import Rule
    from nodelint.text import Source


class ClusterWorkloads:
    """The findings about the workloads of a run that renders manifests.

    `rules` are the rules that judge workloads. Their findings about rendered workloads are in the rendered text.
    """

    def __init__(
        self, setup: RuleSetup, built: Sequence[Built], files: Iterable[Source], map_objects: ObjectMap
    ) -> None:
        self.rules = [rule for rule in setup.running if _judges_workloads(rule)]
        names = {rule.name for rule in self.rules}
        self._setup = setup._replace(
            running=self.rules, reporting=setup.reporting & names, only=None, files_of_roots=()
        )
        self._part = setup.part
        self._built = built
        self._map = map_objects
        self._files = list(files) if self.rules else []
        self._results: dict[int, list[Result]] = {}
        self._plain: set[int] = set()
        self.faults: list[str] = []
        self.skipped: list[Gap] = []

    def list_results(self, number: int, texts: Iterable[Source]) -> list[Result]:
        """Return the findings about the workloads of rendered texts: variant `number` of their manifests."""
        wanted = set(map(id, texts))
        return [r for r in self._judge(number) if r.object is not None and id(r.object.source) in wanted]

    def with_plain(self, results: Sequence[Result]) -> list[Result]:
        """Return the results, with those about the workloads of plain files replaced by the findings here."""
        found = [result for result in self._judge(0) if id(result.object) in self._plain]
        names = {rule.name for rule in self.rules}
        others = [r for r in results if r.rule.name not in names or id(r.object) not in self._plain]
        return [*others, *map(_lead, found)]

    def _judge(self, number: int) -> list[Result]:
        """Return the findings with variant `number` of each rendered manifest. Each variant is judged once."""
        found = self._results.get(number)
        if found is None:
            found = self._results[number] = self._judge_variant(number) if self.rules else []
        return found

    def _judge_variant(self, number: int) -> list[Result]:
        read = list(self._list_objects(number))
        judged, around = self._part([obj for obj in read if obj.of_cluster], ())
        if not judged or not any(isinstance(obj, NodePool) for obj in read):
            return []
        around += [obj for obj in read if not obj.of_cluster]
        self._plain.update(id(obj) for obj in judged if obj.source.built is None)
        outcome = judge_objects(self._setup, judged, around, (), lambda _: self._map)
        self.faults += outcome.faults
        self.skipped += outcome.skipped
        return outcome.results

    def _list_objects(self, number: int) -> Iterator[Object]:
        """Yield the objects that clusters get: those of rendered manifests, and of files that none replaces."""
        replaced = {path for built in self._built for path in built.replaces}
        parts = {path for built in self._built for path in built.parts}
        for source in self._files:
            path = os.path.abspath(source.path)
            if path not in replaced:
                made = objects(source, foreign=True, more=True)
                yield from (obj for obj in made if not (obj.of_values and path in parts))
        for built in self._built:
            yield from objects(built.texts[min(number, len(built.readings))], foreign=True, more=True)


def _judges_workloads(rule: Rule) -> bool:
    return isinstance(rule.on, type) and bool(getattr(rule.on, "of_cluster", False)) and "workloads" in rule.tags


def _lead(result: Result) -> Result:
    """Return a finding about a plain file with its other places in files, without suggestions that edit rendered
    text.
    """
    suggestions = [
        suggestion
        for suggestion in result.finding.suggestions
        if all(edit.source.built is None for edit in suggestion.edits)
    ]
    also = once_each(lead_also(result.finding.also, None))
    return result._replace(finding=result.finding._replace(also=tuple(also), suggestions=tuple(suggestions)))
