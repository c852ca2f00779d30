"""Findings for an older, widely used Karpenter release, if the newest release is only assumed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.lint.engine import LintRequest, Report, Result, lint
from nodelint.model.manifest import Object
from nodelint.model.ranges import Releases, only, runs
from nodelint.model.releases import RELEASES, Version, releases_match, target
from nodelint.releases.release_choice import Chosen
from nodelint.rule.definition import Rule
from nodelint.text import Source

_WIDELY_RUN = "1.2"
"""A minor release that many clusters run, and that gets fixes for a long time."""

_MOST = 4
"""The most objects that are judged a second time. This is only a hint, and must not slow down a check."""

_LONGEST = 20_000
"""The most characters of an object that is judged a second time. A NodePool has about a thousand."""

_Key = tuple[str, str, int]


class Older(NamedTuple):
    """The number of additional findings for a release and those before; `least` if not all objects were judged."""

    release: Version
    findings: int
    least: bool


def older(
    report: Report,
    request: LintRequest,
    sources: Sequence[Source],
) -> Older | None:
    """Return the additional errors and warnings for a widely used older release; None if there are none.

    It judges objects whose release is assumed to be the newest because no file states one.
    """
    taken = [obj for obj in report.objects if _assumed(report, obj)]
    short = [obj for obj in taken if obj.node.end - obj.node.start <= _LONGEST]
    places = {_place(obj) for obj in short[:_MOST]}
    ours = [source for source in sources if any(path == source.path for path, _ in places)]
    if not ours:
        return None
    others = [*(source for source in sources if source not in ours), *request.context_sources]
    known = {_key(result) for result in report.places}

    def find_more(names: frozenset[str], release: Version) -> list[Result]:
        def choose(obj: Object) -> tuple[Chosen, ...] | str:
            kubernetes = report.target.for_object(obj)[0].kubernetes if _place(obj) in places else None
            return (Chosen(only(release), kubernetes),) if _place(obj) in places else "another object"

        lint_request = LintRequest(
            report.target._replace(choose=choose), request.rules, request.selection._replace(select=names), others
        )
        found = lint(ours, lint_request).places
        return [
            result for result in found if result.severity != "info" and result.object and _key(result) not in known
        ]

    probe = target(_WIDELY_RUN)
    names = {
        n
        for n, rule in request.rules.items()
        if request.selection.enables(rule)
        and rule.severity != "info"
        and ("release-dependent" in rule.tags or _ends(rule))
    }
    found = find_more(frozenset(names), probe)
    if not found:
        return None
    last = min(_last(rule) for rule in (result.rule for result in found))
    unbound = [result for result in found if not _ends(result.rule)]
    if unbound:
        wanted = {_key(result) for result in unbound}
        rest = frozenset(result.rule.name for result in unbound)
        after = runs(release for release in RELEASES if probe <= release <= last)
        last = _newest(after, lambda release: wanted <= {_key(result) for result in find_more(rest, release)})
    return Older(last, len(found), len(taken) > len(places))


def _newest(parted: Sequence[Releases], holds: Callable[[Version], bool]) -> Version:
    """Return the newest release for which `holds` is true. It is true for the oldest, and false from some
    release on.
    """
    low, high = 0, len(parted) - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(parted[middle].last) else (low, middle - 1)
    return parted[low].last


def _assumed(report: Report, obj: Object) -> bool:
    if obj.foreign:
        return False
    if report.target.choose is None:
        return True
    chosen = report.target.choose(obj)
    return not isinstance(chosen, str) and all(choice.assumed for choice in chosen)


def _ends(rule: Rule) -> bool:
    """Return whether a rule does not apply to the newest Karpenter release."""
    return not rule.applies_to_release(RELEASES[-1])


def _last(rule: Rule) -> Version:
    return max(release for release in RELEASES if releases_match(rule.releases, release))


def _place(obj: Object) -> tuple[str, int]:
    return obj.source.path, obj.node.start


def _key(result: Result) -> _Key:
    return result.rule.name, result.span.source.path, result.span.start
