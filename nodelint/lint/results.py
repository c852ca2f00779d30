"""Results of rules: one finding for each cause, with the releases to which it applies."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.model import messages
from nodelint.model.finding import (
    SEVERITIES,
    Also,
    Finding,
    NoEdits,
    Safety,
    Severity,
    Span,
    Suggestion,
    Withheld,
    overlap,
    span_of,
)
from nodelint.model.folders import is_set_aside
from nodelint.model.gap import Gap
from nodelint.model.manifest import Object
from nodelint.model.releases import NEWEST, Version, is_newer
from nodelint.model.span_index import SpanIndex
from nodelint.rule.definition import Rule
from nodelint.text import Node, Source

if TYPE_CHECKING:
    from nodelint.model.evidence import Evidence
    from nodelint.releases.release_choice import Chosen


def has_written_name(obj: Object) -> bool:
    """Return whether the name of an object is written where the object is."""
    return isinstance(obj.name, str)


class Result(NamedTuple):
    """A finding with the data that the engine adds.

    If the object was judged for several releases, `holds` are those with the finding, and `on` names them if they are
    not all. `through` are more places where a comment suppresses the finding: those that use its value. `alike` are
    the results of each place, its own first, if one result stands for several. `built` is the rendered object with
    the finding; `object` is then the written one. `changed` are the objects that the fix changes, before and after;
    empty if the fix was not tried alone. `replaces_no_node`: the fix provably replaces no running node. `leads_to`
    is the finding that the fix causes, empty if it causes none. `read_by` is the place of something else that reads
    the changed value, empty if there is none. `stated` is the statement of the release that the
    finding is about.
    """

    rule: Rule
    finding: Finding
    object: Object | None
    holds: tuple[Chosen, ...] = ()
    on: str = ""
    through: tuple[Span, ...] = ()
    alike: tuple[Result, ...] = ()
    built: Object | None = None
    changed: tuple[tuple[Object, Object | None], ...] = ()
    replaces_no_node: bool = False
    leads_to: str = ""
    read_by: str = ""
    stated: Evidence | None = None

    @property
    def named_object(self) -> Object | None:
        """Return the object with the name that people know: the rendered one if the written one has no name."""
        written = self.object
        return (
            self.built
            if self.built is not None and written is not None and not has_written_name(written)
            else written
        )

    @property
    def message(self) -> str:
        """Return the finding's message, with the releases to which it applies if these are not all judged
        releases.
        """
        return f"{self.finding.message} ({self.on})" if self.on else self.finding.message

    @property
    def severity(self) -> Severity:
        return self.finding.severity or self.rule.severity

    @property
    def safety(self) -> Safety:
        """Return the safety of the fix. It is only meaningful if `fixable`."""
        return self.finding.safety or self.rule.fix or "unsafe"

    @property
    def fixable(self) -> bool:
        return bool(self.finding.edits)

    @property
    def span(self) -> Span:
        return span_of(self.finding.at)


class Suppressed(NamedTuple):
    """A finding that is not reported. `comment` suppresses it; if it is None, `per-path-ignores` does."""

    result: Result
    comment: Span | None


def hold_to_known(rule: Rule, finding: Finding, release: Version) -> Finding:
    """Return a finding as reported for a release: an admission error is a warning if the release is unknown to
    nodelint.

    If the edits cannot be made, the finding says why its fix is withheld.
    """
    if isinstance(finding.edits, NoEdits) and finding.withheld is None:
        withheld = Withheld("not-editable", finding.at, finding.edits.reason)
        finding = finding._replace(edits=(), withheld=withheld)
    if finding.edits and overlap(finding.edits):
        finding = finding._replace(edits=(), withheld=Withheld("two-edits-overlap", finding.at))
    if any(overlap(offer.edits) for offer in finding.suggestions):
        offers = [offer for offer in finding.suggestions if not overlap(offer.edits)]
        finding = finding._replace(suggestions=offers)
    if not is_newer(release) or "admission" not in rule.tags or (finding.severity or rule.severity) != "error":
        return finding
    note = f"as of Karpenter {NEWEST}; whether {release} takes it is not known here"
    return finding._replace(severity="warning", note=f"{finding.note}; {note}" if finding.note else note)


class RuleOutput(NamedTuple):
    """The output of rules for one object, or for all files."""

    raw: list[Result]
    skipped: list[Gap]
    faults: list[str]


def drop_superseded(raw: Sequence[Result]) -> list[Result]:
    """Return one finding for each cause: drop findings at a place that a superseding rule explains.

    A less severe finding never replaces a more severe one, because the run would pass.
    """
    better: dict[tuple[str, int, Severity, bool], SpanIndex] = {}
    explaining: dict[tuple[str, int, Severity, bool], list[Result]] = {}
    for result in raw:
        if result.finding.strict and result.rule.group != "practice":
            continue  # it may not be shown, and what it would explain would be lost
        key = result.rule.name, id(result.object), result.severity, result.finding.on_request
        explaining.setdefault(key, []).append(result)
    results = []
    for result in raw:
        as_grave = SEVERITIES[: SEVERITIES.index(result.severity) + 1]
        # A finding that is shown only on request replaces only such findings.
        requested = (False, True) if result.finding.on_request else (False,)
        for name, severity, on_request in product(result.rule.gives_way_to, as_grave, requested):
            key = name, id(result.object), severity, on_request
            if key in explaining and key not in better:
                better[key] = SpanIndex((place, place) for place in _places(explaining[key]))
            if key in better and _explained(result, better[key]):
                break
        else:
            results.append(result)
    return results


def _places(results: Iterable[Result]) -> Iterator[Node | Span]:
    """Yield the places of the findings, and the places that they cover."""
    for result in results:
        yield result.finding.at
        yield from result.finding.covers


def _explained(result: Result, better: SpanIndex) -> bool:
    """Return whether a better finding contains the place of this one, or is within what this one covers.

    A finding about a whole mapping is not explained by a mistake inside the mapping.
    """
    if any(span_of(place).holds(result.span) for place in better.near(result.span)):
        return True
    covered = map(span_of, result.finding.covers)
    return any(span_of(place).touches(span) for span in covered for place in better.near(span))


def hold_reminders(results: Sequence[Result]) -> list[Result]:
    """Drop practice findings for objects of a removed API.

    Such an object must be converted first, and the rules then judge the converted object. The first finding that asks
    for the conversion counts the dropped findings in its note.
    """
    first, unserved = None, set[int]()
    for result in results:
        if "retired-api" in result.rule.tags and result.severity != "info":
            unserved.add(id(result.object))
            first = first or result
    reminders = [result for result in results if result.rule.group == "practice" and id(result.object) in unserved]
    if first is None or not reminders:
        return list(results)
    objects = len({id(result.object) for result in reminders})
    counts = messages.counted(len(reminders), "reminder"), messages.counted(objects, "object")
    note = f"{counts[0]} about {counts[1]} of an old API left out, until written as v1"
    finding = first.finding
    noted = first._replace(finding=finding._replace(note=f"{finding.note}; {note}" if finding.note else note))
    left_out = set(map(id, reminders))
    return [noted if result is first else result for result in results if id(result) not in left_out]


def drop_set_aside(results: Sequence[Result], sources: Iterable[Source]) -> Sequence[Result]:
    """Drop practice findings in folders such as `old` and `archive`, unless the run has no other files."""
    aside = {source.path: is_set_aside(source.path) for source in sources}
    if not any(aside.values()) or all(aside.values()):
        return results
    return [r for r in results if r.rule.group != "practice" or not aside.get(r.finding.at.source.path)]


def once_in_a_run(results: Iterable[Result]) -> list[Result]:
    """Return the results, with findings that are reported once in a run merged into the first, which counts the
    others.

    They are: findings with `once`, practice findings with one message about several objects, and infos about one
    place. Two findings about one object are not merged.
    """
    first_results: list[Result] = []
    firsts: dict[tuple[object, ...], int] = {}
    others: dict[tuple[object, ...], list[Result]] = {}
    for result in results:
        finding = result.finding
        reminds = result.rule.group == "practice" or (result.severity == "info" and not finding.also)
        reminder = reminds and not finding.once and result.object is not None
        if not finding.once and not reminder:
            first_results.append(result)
            continue
        name: tuple[object, ...] = (result.rule.name,)
        if reminder:
            name += _without_values(finding.message), result.severity, result.safety
        else:
            name += (finding.once if isinstance(finding.once, str) else _without_values(finding.message),)
        if name not in firsts:
            firsts[name], others[name] = len(first_results), []
            first_results.append(result)
        elif reminder and first_results[firsts[name]].object is result.object:
            first_results.append(result)
        else:
            others[name].append(result)
    for name, index in firsts.items():
        if others[name]:
            first_results[index] = _with_object_count(first_results[index], others[name])
    return first_results


def _without_values(message: str) -> str:
    """Return a message with names and numbers replaced by `*`."""
    values = r"`[^`]*`( \(default\))?|(?<![^\s`])[^\s`\d]*+\d\S*( \(default\))?"
    return re.sub(r"(\*[ ,]*)+", "*", re.sub(values, "*", message))


def each_place(results: Iterable[Result]) -> Iterator[Result]:
    """Yield the result of each place if one result stands for several; this undoes `once_in_a_run`."""
    for result in results:
        yield from result.alike or (result,)


def _more_objects(count: int, results: Sequence[Result]) -> str:
    """Return `3 more NodePools`, or `3 more objects` if they are of several kinds."""
    kinds = {result.object.kind if result.object is not None else "object" for result in results}
    kind = kinds.pop() if len(kinds) == 1 else "object"
    plural = "" if count == 1 else "es" if kind.endswith("s") else "s"
    return f"{count} more {kind}{plural}"


def _with_object_count(first: Result, others: Sequence[Result]) -> Result:
    count = len({id(other.object) for other in others} - {id(first.object)})
    places = [Also(other.finding.at, "also here") for other in others]
    finding = first.finding
    message = f"{finding.message} (and {_more_objects(count, others)})" if count else finding.message
    alike = [other.finding.edits for other in others if other.safety == first.safety]
    return first._replace(
        finding=finding._replace(
            message=message,
            edits=[*finding.edits, *(edit for edits in alike for edit in edits)],
            suggestions=[_join(offer, others) for offer in finding.suggestions],
            also=[*finding.also, *places],
        ),
        alike=(first, *others),
    )


def _join(offer: Suggestion, others: Sequence[Result]) -> Suggestion:
    """Return the suggestion with the edits of the other results' suggestions of the same name."""
    offers = (suggestion for other in others for suggestion in other.finding.suggestions)
    more = [edit for suggestion in offers if suggestion.name == offer.name for edit in suggestion.edits]
    return offer._replace(edits=list(dict.fromkeys([*offer.edits, *more])))


def unique(results: Iterable[Result]) -> Iterable[Result]:
    """Yield the results without duplicates: a place that several aliases reach is reported once."""
    seen = set()
    for r in results:
        at = r.finding.at
        identity = (r.rule.name, at.source.path, at.start, at.end, r.finding.message)
        if identity not in seen:
            seen.add(identity)
            yield r


class OccupiedSpans:
    """The spans of accepted edits. No two touch, unless one fix has both."""

    def __init__(self) -> None:
        self._by_source: dict[int, tuple[list[int], list[Span]]] = {}

    def touches(self, place: Span) -> bool:
        """Return whether the place touches one of the spans."""
        if id(place.source) not in self._by_source:
            return False
        starts, spans = self._by_source[id(place.source)]
        # The spans are sorted, so that those that may touch the place are neighbours.
        at = bisect_right(starts, place.end) - 1
        while at >= 0 and spans[at].end >= place.start:
            if spans[at].touches(place):
                return True
            at -= 1
        return False

    def add(self, spans: Iterable[Span]) -> None:
        """Add more spans."""
        for span in spans:
            starts, ordered = self._by_source.setdefault(id(span.source), ([], []))
            at = bisect_right(starts, span.start)
            starts.insert(at, span.start)
            ordered.insert(at, span)


def merge_releases(
    results_by_release: Iterable[tuple[Chosen, Sequence[Result]]], judged: Mapping[int, Sequence[Chosen]]
) -> list[Result]:
    """Return the findings of several releases, oldest first, merged: equal findings once, as for the newest release.

    The severity is the highest of them. `on` names releases with other numbers in the message. `judged` are the
    releases of each object, by its id. A finding that does not hold for all releases names them, and its fix is
    unsafe, because the others do not need the fix.
    """
    same: dict[tuple[object, ...], list[tuple[Chosen, Result]]] = {}
    for chosen, results in results_by_release:
        for result in results:
            same.setdefault(_finding_identity(result, _RELEASE), []).append((chosen, result))
    alike: dict[tuple[object, ...], list[list[tuple[Chosen, Result]]]] = {}
    for pairs in same.values():
        others = alike.setdefault(_finding_identity(pairs[0][1], _NUMBER), [])
        releases = {chosen for chosen, _ in pairs}
        met = next((other for other in others if releases.isdisjoint(chosen for chosen, _ in other)), None)
        if met is None:
            others.append(pairs)
        else:
            met += pairs
    return [
        _release_result(sorted(pairs, key=lambda pair: pair[0].order), judged[id(pairs[0][1].object)])
        for groups in alike.values()
        for pairs in groups
    ]


_RELEASE = r"\b\d+\.\d+(?:\.\d+)?\b"
_NUMBER = r"\d+(?:[.,]\d+)*"


def _finding_identity(result: Result, number: str) -> tuple[object, ...]:
    """Return a key that is equal for one finding in several releases: all but the numbers of its message."""
    at, message = result.span, re.sub(number, "*", result.finding.message)
    return result.rule.name, id(result.object), id(at.source), at.start, at.end, message


def _release_result(pairs: Sequence[tuple[Chosen, Result]], judged: Sequence[Chosen]) -> Result:
    result = pairs[-1][1]
    if len(judged) < 2:
        return result
    gravest = min((result.severity for _, result in pairs), key=SEVERITIES.index)
    finding = result.finding._replace(severity=gravest)
    holds = _in_parts(chosen for chosen, _ in pairs)
    newest = _finding_identity(result, _RELEASE)
    same = _in_parts(chosen for chosen, result in pairs if _finding_identity(result, _RELEASE) == newest)
    other = _in_parts(chosen for chosen, result in pairs if _finding_identity(result, _RELEASE) != newest)
    if len({chosen for chosen, _ in pairs}) == len(judged):
        on = f"{_names(same, judged)}; other numbers on {_names(other, judged)}" if other else ""
        return result._replace(finding=finding, holds=tuple(holds), on=on)
    if finding.edits:
        finding = finding._replace(safety="unsafe")
    return result._replace(finding=finding, holds=tuple(holds), on=_names(holds, judged))


def _in_parts(where: Iterable[Chosen]) -> list[Chosen]:
    """Return the choices with consecutive releases joined to ranges."""
    from nodelint.model.ranges import joined

    choices = list(dict.fromkeys(where))
    parts: list[Chosen] = []
    for kubernetes in dict.fromkeys(chosen.kubernetes for chosen in choices):
        together = joined(c.karpenter for c in choices if c.kubernetes == kubernetes)
        parts += [choices[0]._replace(karpenter=part, kubernetes=kubernetes) for part in together]
    return parts


def _names(choices: Sequence[Chosen], judged: Sequence[Chosen]) -> str:
    differ = len({c.karpenter for c in judged}) > 1
    names = list(dict.fromkeys(str(c.karpenter if differ else c.kubernetes) for c in choices))
    several = " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
    return f"{'Karpenter' if differ else 'Kubernetes'} {several}" if names else ""
