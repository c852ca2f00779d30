"""Cache rule results of objects from one run of the language server to the next.

A rule reads its object and asks the `Context` about others. The questions and answers are recorded. The next run
repeats the questions, and a rule runs again only if an answer changed. Unchanged documents keep their objects (see
`text.incremental`); a document that was parsed again has new objects, which changes the answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import is_

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.lint.recording_context import Answers, Beginning, Question, RecordingContext
from nodelint.lint.results import Result, RuleOutput, drop_superseded
from nodelint.model.finding import Edit, Finding, Span
from nodelint.model.gap import Gap
from nodelint.model.manifest import Object
from nodelint.rule.context import Context
from nodelint.text.incremental import Moved

if TYPE_CHECKING:
    from typing import Any, TypeVar

    from nodelint.rule.definition import Rule

    _Place = TypeVar("_Place", Span, Edit)

_FEW = 10
"""The most items of a list that are compared for each object that used the list."""


class CachedResults(NamedTuple):
    """The cached results for one object: findings and gaps, by rule."""

    obj: Object
    rules: Sequence[Rule]
    results: dict[str, list[Result]]
    skipped: dict[str, list[Gap]]
    dependencies: dict[Question, tuple[Object | None, object, set[str]]]
    """The questions, each with its answer and the rules that asked it."""
    reported: list[Result]
    """One finding for each cause."""


RunRule = Callable[["Rule", Object, RuleOutput], None]
"""A function that runs a rule on an object and adds the findings."""


class ResultCache:
    """The cached results for one release; they are dropped if the account, the schemas or the rules change."""

    def __init__(self) -> None:
        self._mark: tuple[tuple[object, ...], tuple[object, ...]] = (), ()
        self._said: dict[int, CachedResults] = {}
        self._now: dict[int, CachedResults] = {}
        self._compared: dict[tuple[int, int], tuple[bool, object, object]] = {}

    def begin(self, things: tuple[object, ...], values: tuple[object, ...]) -> None:
        """Begin a run.

        Drop the cached results unless `things` are the same objects and `values` equal those of the last run.
        """
        if values != self._mark[1] or not _is_same_identity(things, self._mark[0]):
            self._said = {}
        self._mark = things, values
        self._now = {}
        self._compared = {}

    def end(self) -> None:
        """End a run: drop the results for objects that the run did not contain."""
        self._said = self._now

    def judge(
        self, obj: Object, rules_for: Callable[[Object], Sequence[Rule]], context: Context, run: RunRule
    ) -> RuleOutput:
        """Return the rule output for an object: one finding for each cause, gaps and faults.

        A rule runs only if it has no cached result, or if an answer that it used has changed. The rules for an object
        depend only on the object and on the arguments of `begin`.
        """
        assert isinstance(context, RecordingContext)
        cached = self._said.get(id(obj))
        if cached is None or cached.obj is not obj:
            cached = CachedResults(obj, rules_for(obj), {}, {}, {}, [])
            again = {rule.name for rule in cached.rules}
        else:
            again = self._otherwise(cached, context)
        faults: list[str] = []
        if again:
            faults = _rerun_rules(cached, again, context, run)
            cached.reported[:] = drop_superseded(
                [result for rule in cached.rules for result in cached.results.get(rule.name, ())]
            )
        if not faults:
            self._said[id(obj)] = self._now[id(obj)] = cached
        skipped = [skip for skips in cached.skipped.values() for skip in skips] if cached.skipped else []
        return RuleOutput(cached.reported, skipped, faults)

    def _otherwise(self, cached: CachedResults, context: RecordingContext) -> set[str]:
        """Return the rules whose recorded answers have changed, and forget the questions of these rules."""
        again: set[str] = set()
        for (name, _, detail), (about, answer, names) in cached.dependencies.items():
            now = context.ask(name, about, detail)
            if now is not answer and not self._same(answer, now):
                again |= names
        if again:
            for question, (_, _, names) in list(cached.dependencies.items()):
                names -= again
                if not names:
                    del cached.dependencies[question]
        return again

    def _same(self, old: object, other: object) -> bool:
        if isinstance(old, Beginning):
            return isinstance(other, Iterator) and old.begins(other)
        if type(old) is not type(other) or isinstance(old, str):
            return old == other
        if isinstance(old, list) and len(old) < _FEW:
            return old == other  # objects are compared by identity
        pair = id(old), id(other)
        if pair not in self._compared:
            # Held, so that no id is given to another thing in this run.
            self._compared[pair] = _is_same_identity(old, other), old, other
        return self._compared[pair][0]

    def carry_over(self, unchanged: Mapping[int, Object]) -> ResultCache:
        """Return a cache of results for objects that have not changed (`unchanged`: the new object, by the id of the
        old). A rule without a finding is not run again, unless it asked about a changed object. A rule with a finding
        is run again, because its findings contain positions.
        """
        carried = ResultCache()
        carried._mark = self._mark
        known: dict[int, object] = {}
        for cached in self._said.values():
            twin = unchanged.get(id(cached.obj))
            if twin is None:
                continue
            again = {*cached.results, *cached.skipped}
            dependencies: dict[Question, tuple[Object | None, object, set[str]]] = {}
            for (name, _, detail), (about, answer, names) in cached.dependencies.items():
                asked_about = None if about is None else unchanged.get(id(about), _OTHERWISE)
                if id(answer) not in known:
                    known[id(answer)] = _carry_answer(answer, unchanged)
                expected = known[id(answer)]
                if asked_about is _OTHERWISE or expected is _OTHERWISE:
                    again |= names
                else:
                    dependencies[name, id(asked_about), detail] = asked_about, expected, set(names)
            if again:
                dependencies[_ASKED_AGAIN] = None, _OTHERWISE, again
            carried._said[id(twin)] = CachedResults(twin, cached.rules, {}, {}, dependencies, [])
        return carried

    def move(self, moved: Moved) -> None:
        """Move the cached results after a text changed; drop those whose places are gone."""
        for key, cached in list(self._said.items()):
            if cached.results and not _move_results(cached, moved):
                del self._said[key]


class ResultCaches:
    """The cached results of a view, by release."""

    def __init__(self) -> None:
        self._kept: dict[object, ResultCache] = {}

    def for_release(self, release: object) -> ResultCache:
        """Return the cache for one release."""
        return self._kept.setdefault(release, ResultCache())

    def carry_over(self, unchanged: Mapping[int, Object]) -> ResultCaches:
        """Return caches for unchanged objects (`unchanged`: the new object, by the id of the old)."""
        carried = ResultCaches()
        carried._kept = {release: cache.carry_over(unchanged) for release, cache in self._kept.items()}
        return carried

    def move(self, moved: Moved) -> None:
        """Move the cached results of a source whose text has changed, for each release."""
        for result_cache in self._kept.values():
            result_cache.move(moved)


def _rerun_rules(cached: CachedResults, again: set[str], context: RecordingContext, run: RunRule) -> list[str]:
    """Run the rules `again` on the object and cache the results. Return the faults of the rules."""
    output = RuleOutput([], [], [])
    noted: Answers = {}
    try:
        for rule in cached.rules:
            name = rule.name
            if name not in again:
                continue
            context.noted = noted
            run(rule, cached.obj, output)
            # Most rules have nothing to say of most objects, and ask for nothing: nothing is kept of that.
            if output.raw:
                cached.results[name] = output.raw
            elif cached.results:
                cached.results.pop(name, None)
            if output.skipped:
                cached.skipped[name] = output.skipped
            elif cached.skipped:
                cached.skipped.pop(name, None)
            if output.raw or output.skipped:
                output = RuleOutput([], [], output.faults)
            if noted:
                _keep_answers(cached, name, noted)
                noted = {}
    finally:
        context.noted = None
    return output.faults


def _keep_answers(cached: CachedResults, rule: str, noted: Answers) -> None:
    """Record the questions and answers of a rule."""
    for question, (about, answer) in noted.items():
        before = cached.dependencies.get(question)
        if before is None:
            cached.dependencies[question] = about, answer, {rule}
            continue
        before[2].add(rule)
        if isinstance(answer, Beginning) and isinstance(before[1], list) and len(answer) > len(before[1]):
            cached.dependencies[question] = about, answer, before[2]


_ASKED_AGAIN: Question = ("objects", id(None), "asked again")
_OTHERWISE: Any = object()
"""A value that is no answer to any question."""


def _carry_answer(answer: object, unchanged: Mapping[int, Object]) -> object:
    """Return an answer in which each object is replaced by the unchanged object of the other side of a plan.

    `_OTHERWISE` if an object has no unchanged counterpart.
    """
    if isinstance(answer, Mapping):
        entries = {key: unchanged.get(id(value), _OTHERWISE) for key, value in answer.items()}
        return _OTHERWISE if _OTHERWISE in entries.values() else entries
    if isinstance(answer, list | tuple):
        objects = [None if obj is None else unchanged.get(id(obj), _OTHERWISE) for obj in answer]
        return _OTHERWISE if _OTHERWISE in objects else type(answer)(objects)
    if isinstance(answer, Object):
        return unchanged.get(id(answer), _OTHERWISE)
    return answer if answer is None or isinstance(answer, bool | str) else _OTHERWISE


def _is_same_identity(old: object, other: object) -> bool:
    """Return whether two collections contain the same objects (compared by identity)."""
    if isinstance(old, Mapping) and isinstance(other, Mapping):
        return list(old) == list(other) and _is_same_identity(list(old.values()), list(other.values()))
    if isinstance(old, list | tuple) and isinstance(other, list | tuple):
        return len(old) == len(other) and all(map(is_, old, other))
    return False


def _move_results(cached: CachedResults, moved: Moved) -> bool:
    """Move all places of the cached results and return True; return False if a place is gone."""
    known: dict[int, Result] = {}
    # At the border between what stays and what moves there are places of both.
    document = cached.obj.document
    later = cached.obj.source is moved.source and document.start >= moved.behind + moved.by
    for name, results in cached.results.items():
        new = []
        for result in results:
            finding = _move_finding(result.finding, moved, later)
            if finding is None:
                return False
            known[id(result)] = moved_result = (
                result if finding is result.finding else result._replace(finding=finding)
            )
            new.append(moved_result)
        cached.results[name] = new
    cached.reported[:] = [known[id(result)] for result in cached.reported]
    return True


class _Gone(Exception):
    """Raised if a place is gone."""


def _move_finding(finding: Finding, moved: Moved, later: bool) -> Finding | None:
    """Return a finding with its places moved; the same finding if no place moves. None if a place is gone."""

    def place(given: _Place) -> _Place:
        if given.source is not moved.source:
            return given
        by = moved.shift_of(given.start, given.end, later)
        if by is None:
            raise _Gone
        return given._replace(start=given.start + by, end=given.end + by) if by else given

    try:
        new: dict[str, Any] = {}
        if isinstance(finding.at, Span):
            new["at"] = place(finding.at)
        if finding.edits:
            edits = tuple(map(place, finding.edits))
            if not all(map(is_, edits, finding.edits)):
                new["edits"] = edits
        if any(isinstance(also.at, Span) for also in finding.also):
            new["also"] = [
                also._replace(at=place(also.at)) if isinstance(also.at, Span) else also for also in finding.also
            ]
        if finding.suggestions:
            new["suggestions"] = [
                suggestion._replace(edits=tuple(map(place, suggestion.edits))) for suggestion in finding.suggestions
            ]
    except _Gone:
        return None
    return finding._replace(**new) if new else finding
