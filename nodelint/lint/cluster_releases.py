"""Leave findings that depend on the release to the renderings of each cluster.

A chart that several clusters install is judged for all of their releases, with values that no cluster may have.
Whether a release refuses what one cluster sets is decided by the chart with the values of this cluster.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence

from nodelint.base.types import TYPE_CHECKING
from nodelint.lint.judging import judge_in_turn, judge_objects
from nodelint.lint.results import Result
from nodelint.model.documents import objects
from nodelint.model.ranges import only
from nodelint.model.releases import NEWEST, OLDEST, supported
from nodelint.releases.release_choice import Chosen

if TYPE_CHECKING:
    from nodelint.forms.rendered import Built
    from nodelint.lint.judging import Outcome, RuleSetup
    from nodelint.model.manifest import Object

    Choose = Callable[[Object], tuple[Chosen, ...] | str]

_Key = tuple[str, object]


class OfClusters:
    """The templates that are rendered with the values of clusters, and the releases of these clusters.

    `by_default` are rendered charts. `choose` returns the releases of an object. None if all have one release.
    """

    def __init__(self, by_default: Sequence[Built], choose: Choose | None) -> None:
        self._choose = choose
        self._built: dict[str, list[Built]] = {}
        for built in by_default:
            for path in built.replaces if built.given or built.applied_by[1] else ():
                self._built.setdefault(path, []).append(built)
        self._installed = {p for p, texts in self._built.items() if any(text.applied_by[1] for text in texts)}
        self._releases: dict[str, set[Chosen | None]] = {}

    def is_of_none(self, built: Built) -> bool:
        """Return whether a manifest has the default values of a chart that clusters get with other values."""
        is_default = built.by_default and not built.given and not built.applied_by[1]
        return is_default and os.path.abspath(built.source.path) in self._installed

    def decides(self, path: str, choices: Iterable[Chosen]) -> bool:
        """Return whether a template is rendered with the values of all clusters with some releases.

        What installs the chart counts for all releases, a values file alone only for those of its cluster.
        """
        if path not in self._built or path in self._installed:
            return path in self._installed
        if path not in self._releases:
            self._releases[path] = set(self._list_releases(self._built[path]))
        return self._releases[path].issuperset({choice.bare for choice in choices} or {None})

    def _list_releases(self, builds: Sequence[Built]) -> Iterator[Chosen | None]:
        for obj in (obj for built in builds for obj in objects(built.source, foreign=True)):
            choices = self._choose(obj) if self._choose is not None else ()
            if isinstance(choices, str):
                continue
            yield from (choice.bare for choice in choices)
            if self._choose is None:
                yield None


def drop_dependent(
    results: Sequence[Result],
    is_decided: Callable[[Result, Iterable[Chosen]], bool],
    setup: RuleSetup,
    outcome: Outcome,
) -> list[Result]:
    """Return the results without those that depend on the release and that the renderings of clusters decide.

    `is_decided` returns whether the text of a result is rendered for all clusters with some releases.
    """
    chosen = outcome.chosen
    decided = [
        result
        for result in results
        if result.object is not None
        and (result.on or "release-dependent" in result.rule.tags)
        and is_decided(result, _list_holding(result, chosen.get(id(result.object), ())))
    ]
    dependent = {id(r) for r in decided if _holds_for_some(r, chosen.get(id(r.object), ()))}
    candidates = [r for r in decided if id(r) not in dependent and "release-dependent" in r.rule.tags]
    if candidates:
        independent = _find_held_by_all(candidates, setup, outcome)
        dependent.update(id(result) for result in candidates if _key(result) not in independent)
    return [result for result in results if id(result) not in dependent]


def _list_holding(result: Result, chosen: Sequence[Chosen]) -> Sequence[Chosen]:
    """Return the releases of an object for which a result holds."""
    return [choice for choice in chosen if not result.holds or any(_includes(part, choice) for part in result.holds)]


def _holds_for_some(result: Result, chosen: Sequence[Chosen]) -> bool:
    """Return whether a result holds for some of the releases of its object, and not for all."""
    return len(_list_holding(result, chosen)) < len(chosen)


def _includes(part: Chosen, choice: Chosen) -> bool:
    ours, theirs = part.karpenter, choice.karpenter
    return part.kubernetes == choice.kubernetes and ours.first <= theirs.first and theirs.last <= ours.last


def _find_held_by_all(results: Sequence[Result], setup: RuleSetup, outcome: Outcome) -> set[_Key]:
    """Return the keys of the results that the oldest and the newest release have, too."""
    about = {id(r.object): r.object for r in results if r.object is not None}
    around = [obj for obj in outcome.context.objects if id(obj) not in about]
    names = {result.rule.name for result in results}
    running = [rule for rule in setup.running if rule.name in names]
    independent = set(map(_key, results))
    choices = [choice for key in about for choice in outcome.chosen.get(key, ())]
    knows_kubernetes = setup.target.kubernetes is not None or any(choice.kubernetes for choice in choices)
    for choice in _list_extremes(knows_kubernetes):
        target = setup.target.for_choice(choice)
        judged = setup._replace(target=target, running=running, reporting=setup.reporting & names)
        made = judge_objects(judged, list(about.values()), around, (), lambda _: judge_in_turn(lambda: None))
        independent &= set(map(_key, made.results))
    return independent


def _list_extremes(with_kubernetes: bool) -> Iterator[Chosen]:
    for release, supporting in ((OLDEST, supported(OLDEST).least), (NEWEST, supported(NEWEST).most)):
        yield Chosen(only(release), supporting if with_kubernetes else None)


def _key(result: Result) -> _Key:
    return result.rule.name, result.span
