"""Leave findings that depend on the release to the renderings of each cluster.

A chart that several clusters install is judged for all of their releases, with values that no cluster may have. Whether
a release refuses what one cluster sets is decided by the chart with the values of this cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from nodelint.base.types import TYPE_CHECKING
from nodelint.lint.judging import judge_in_turn, judge_objects
from nodelint.lint.results import Result
from nodelint.model.ranges import only
from nodelint.model.releases import NEWEST, OLDEST, supported
from nodelint.releases.release_choice import Chosen

if TYPE_CHECKING:
    from nodelint.lint.judging import RuleSetup
    from nodelint.model.manifest import Object

_Key = tuple[str, object]


def drop_dependent(
    results: Sequence[Result],
    is_decided: Callable[[Result], bool],
    setup: RuleSetup,
    chosen: Mapping[int, Sequence[Chosen]],
    context_objects: Sequence[Object],
) -> list[Result]:
    """Return the results without those that depend on the release, of those that `is_decided` accepts.

    `is_decided` returns whether a result is about a text that is also rendered with the values of each cluster.
    `chosen` are the releases of each object, by its id.
    """
    candidates = {id(result) for result in results if chosen.get(id(result.object)) and is_decided(result)}
    dependent = {id(r) for r in results if id(r) in candidates and _holds_for_some(r, chosen[id(r.object)])}
    asked = [
        r
        for r in results
        if id(r) in candidates and id(r) not in dependent and "release-dependent" in r.rule.tags
    ]
    if asked:
        held = _find_held_by_all(asked, setup, chosen, context_objects)
        dependent.update(id(result) for result in asked if _key(result) not in held)
    return [result for result in results if id(result) not in dependent]


def _holds_for_some(result: Result, chosen: Sequence[Chosen]) -> bool:
    """Return whether a result holds for some of the releases of its object, and not for all."""
    return bool(result.holds) and not all(any(_includes(part, choice) for part in result.holds) for choice in chosen)


def _includes(part: Chosen, choice: Chosen) -> bool:
    ours, theirs = part.karpenter, choice.karpenter
    return part.kubernetes == choice.kubernetes and ours.first <= theirs.first and theirs.last <= ours.last


def _find_held_by_all(
    results: Sequence[Result],
    setup: RuleSetup,
    chosen: Mapping[int, Sequence[Chosen]],
    context_objects: Sequence[Object],
) -> set[_Key]:
    """Return the keys of the results that the oldest and the newest release have, too."""
    objects = list({id(r.object): r.object for r in results if r.object is not None}.values())
    about = {id(obj) for obj in objects}
    around = [obj for obj in context_objects if id(obj) not in about]
    names = {result.rule.name for result in results}
    running = [rule for rule in setup.running if rule.name in names]
    held = set(map(_key, results))
    knows_kubernetes = any(choice.kubernetes for choices in map(chosen.get, about) for choice in choices or ())
    for choice in _list_extremes(knows_kubernetes):
        judged = setup._replace(
            target=setup.target.for_choice(choice), running=running, reporting=setup.reporting & names
        )
        made = judge_objects(judged, objects, around, (), lambda _: judge_in_turn(lambda: None))
        held &= set(map(_key, made.results))
    return held


def _list_extremes(with_kubernetes: bool) -> Iterator[Chosen]:
    for release, supporting in ((OLDEST, supported(OLDEST).least), (NEWEST, supported(NEWEST).most)):
        yield Chosen(only(release), supporting if with_kubernetes else None)


def _key(result: Result) -> _Key:
    return result.rule.name, result.span
