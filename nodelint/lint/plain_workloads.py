"""Compare workloads in plain files with the NodePools that charts, overlays and Terraform render."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from nodelint.base.types import TYPE_CHECKING
from nodelint.lint.judging import judge_objects
from nodelint.lint.written_places import once_each
from nodelint.model.cluster_objects import Workload
from nodelint.model.documents import objects
from nodelint.model.finding import Also, Finding
from nodelint.model.manifest import NodePool

if TYPE_CHECKING:
    from nodelint.forms.rendered import Built
    from nodelint.lint.judging import ObjectMap, RuleSetup
    from nodelint.lint.results import Result
    from nodelint.text import Source


def judge_plain_workloads(
    setup: RuleSetup,
    built: Sequence[Built],
    sources: Sequence[Source],
    context_sources: Sequence[Source],
    results: Sequence[Result],
    map_objects: ObjectMap,
) -> list[Result]:
    """Return the results, with those about workloads in plain files judged again against rendered NodePools."""
    running = [rule for rule in setup.running if rule.on is Workload and "workloads" in rule.tags]
    made = [obj for built_text in built for obj in objects(built_text.source, foreign=True, more=True)]
    if not running or not any(isinstance(obj, NodePool) for obj in made):
        return list(results)
    parts = {path for built_text in built for path in (*built_text.parts, *built_text.replaces)}
    plain = [source for source in sources if os.path.abspath(source.path) not in parts]
    there = [obj for source in plain for obj in objects(source, foreign=True, more=True)]
    workloads, around = setup.part([obj for obj in there if isinstance(obj, Workload)], ())
    if not workloads:
        return list(results)
    around += [obj for obj in there if not isinstance(obj, Workload)]
    around += [obj for source in context_sources for obj in objects(source, foreign=True)]
    names = {rule.name for rule in running}
    narrow = setup._replace(running=running, reporting=setup.reporting & names, only=None)
    outcome = judge_objects(narrow, workloads, [*around, *made], (), lambda _: map_objects)
    of_source = {id(text): built_text for built_text in built for text in built_text.texts}
    judged = {id(workload) for workload in workloads}
    others = [result for result in results if result.rule.name not in names or id(result.object) not in judged]
    found = (result._replace(finding=_lead(result.finding, of_source)) for result in outcome.results)
    return [*others, *(result for result in found if id(result.span.source) not in of_source)]


def _lead(finding: Finding, built_of: dict[int, Built]) -> Finding:
    """Return a finding with its other places in source files, without suggestions that edit rendered text."""
    suggestions = [
        suggestion
        for suggestion in finding.suggestions
        if not any(id(edit.source) in built_of for edit in suggestion.edits)
    ]
    also = once_each(_lead_also(finding.also, built_of))
    return finding._replace(also=tuple(also), suggestions=tuple(suggestions))


def _lead_also(also: Sequence[Also], built_of: dict[int, Built]) -> Iterator[Also]:
    for place in also:
        built = built_of.get(id(place.at.source))
        if built is None:
            yield place
        elif (origin := built.find_origin(place.at)) is not None:
            yield Also(origin.at, place.message)
