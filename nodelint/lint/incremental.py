"""What rules have said of objects, kept from one run to the next of a language server.

A rule may ask its object and the `Context`. What it asks of other objects is noted. In the next run the same
questions are asked again, and only rules that get another answer look at the object once more. Objects that are kept
are the very same (see `source.incremental`); one that was read again is another, and so is the answer that names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from nodelint.lint.context import Context
from nodelint.lint.results import Result, Skipped, drop_superseded
from nodelint.model.finding import Edit, Finding, Span
from nodelint.model.manifest import EC2NodeClass, NodePool, Object, Text
from nodelint.source.incremental import Moved
from nodelint.tuples import NamedTuple

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any, TypeVar

    from nodelint.apiserver import SchemaProblem
    from nodelint.karpenter.convert import Conversion
    from nodelint.karpenter.images import ImageSet
    from nodelint.karpenter.resolve import Resolution
    from nodelint.karpenter.userdata import UserData
    from nodelint.lint.rule import Rule
    from nodelint.lint.target import Target
    from nodelint.lint.templates import Templates
    from nodelint.release_evidence.settings import ControllerFacts

    _T = TypeVar("_T")
    _Place = TypeVar("_Place", Span, Edit)


class Dependency(NamedTuple):
    """One thing that a rule asks a context: of an object, or of the world as a whole where `about` is None."""

    name: str
    about: Object | None
    detail: str | None = None

    def __hash__(self) -> int:
        return hash((self.name, id(self.about), self.detail))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Dependency)
            and (self.name, self.detail) == (other.name, other.detail)
            and self.about is other.about
        )

    def ask(self, context: RecordingContext) -> object:
        """What a context says now; nothing of that is noted."""
        found = getattr(super(RecordingContext, context), self.name)
        if self.about is None:
            return found
        now = found(self.about) if self.detail is None else found(self.about, self.detail)
        return [*now] if isinstance(now, Iterator) else now


class RecordingContext(Context):
    """A context that notes what it is asked about other objects, and what it says."""

    def __init__(self, objects: Sequence[Object], target: Target, **options: Any) -> None:
        super().__init__(objects, target, **options)
        self.noted: dict[Dependency, object] | None = None

    def _note(self, name: str, about: Object | None, work: Callable[[], _T], detail: str | None = None) -> _T:
        """What `work` gives, noted; what is asked on the way to it is part of that."""
        noted = self.noted
        if noted is None:
            return work()
        self.noted = None
        try:
            answer = work()
        finally:
            self.noted = noted
        noted[Dependency(name, about, detail)] = answer
        return answer

    @property
    def objects(self) -> Sequence[Object]:
        return self._note("objects", None, lambda: super(RecordingContext, self).objects)

    @property
    def classes(self) -> list[EC2NodeClass]:
        return self._note("classes", None, lambda: super(RecordingContext, self).classes)

    @property
    def templates(self) -> Templates:
        """Of texts, not of objects: it is another one in each run, so that what asks for it looks once more."""
        return self._note("templates", None, lambda: super(RecordingContext, self).templates)

    @property
    def defined_classes(self) -> dict[Text | None, Object]:
        return self._note("defined_classes", None, lambda: super(RecordingContext, self).defined_classes)

    def may_be_named_so(self, pool: NodePool) -> bool:
        return self._note("may_be_named_so", pool, lambda: super(RecordingContext, self).may_be_named_so(pool))

    def node_class(self, pool: NodePool) -> EC2NodeClass | None:
        return self._note("node_class", pool, lambda: super(RecordingContext, self).node_class(pool))

    def pools(self, node_class: EC2NodeClass) -> list[NodePool]:
        return self._note("pools", node_class, lambda: super(RecordingContext, self).pools(node_class))

    def foreign_group(self, pool: NodePool) -> list[Object]:
        return self._note("foreign_group", pool, lambda: super(RecordingContext, self).foreign_group(pool))

    def interchangeable_pools(self, pool: NodePool, launching: str | None = None) -> Iterator[NodePool]:
        work = super().interchangeable_pools
        return iter(self._note("interchangeable_pools", pool, lambda: [*work(pool, launching)], launching))

    def cluster_pools(self, pool: NodePool) -> list[NodePool]:
        return self._note("cluster_pools", pool, lambda: super(RecordingContext, self).cluster_pools(pool))

    def definition_elsewhere(self, obj: Object) -> Object | None:
        return self._note(
            "definition_elsewhere", obj, lambda: super(RecordingContext, self).definition_elsewhere(obj)
        )

    def duplicates(self, obj: Object) -> list[Object]:
        return self._note("duplicates", obj, lambda: super(RecordingContext, self).duplicates(obj))

    def conversion(self, obj: Object) -> Conversion:
        return self._note("conversion", obj, lambda: super(RecordingContext, self).conversion(obj))

    def resolution(self, pool: NodePool) -> Resolution:
        return self._note("resolution", pool, lambda: super(RecordingContext, self).resolution(pool))

    def problems(self, obj: Object) -> list[SchemaProblem]:
        return self._note("problems", obj, lambda: super(RecordingContext, self).problems(obj))

    def images(self, node_class: EC2NodeClass) -> ImageSet:
        return self._note("images", node_class, lambda: super(RecordingContext, self).images(node_class))

    def settings(self, obj: Object) -> ControllerFacts:
        return self._note("settings", obj, lambda: super(RecordingContext, self).settings(obj))

    def user_data(self, node_class: EC2NodeClass) -> UserData | None:
        # What is read of user data knows its places, and is read anew; it hangs on nothing but the images.
        self.images(node_class)
        return super().user_data(node_class)


class CachedResults(NamedTuple):
    """What rules have said of one object: by rule what they found, and what they could not judge."""

    obj: Object
    rules: Sequence[Rule]
    results: dict[str, list[Result]]
    skipped: dict[str, list[Skipped]]
    dependencies: dict[Dependency, tuple[object, set[str]]]
    reported: list[Result]
    """One finding for each cause."""


RuleRun = tuple[list[Result], list[Skipped], list[str]]
"""Findings, what could not be judged, and faults of rules themselves."""

RunRule = Callable[["Rule"], RuleRun]
"""Lets a rule look at an object."""


class ResultCache:
    """What is kept for one release; another account, another schema or another rule ends it."""

    def __init__(self) -> None:
        self._mark: tuple[object, ...] = ()
        self._said: dict[int, CachedResults] = {}
        self._now: dict[int, CachedResults] = {}
        self._compared: dict[tuple[int, int], tuple[bool, object, object]] = {}

    def begin(self, mark: tuple[object, ...]) -> None:
        """A run begins. What was kept counts where the mark is made of the very same things."""
        if not _is_same_identity(mark, self._mark):
            self._said = {}
        self._mark = mark
        self._now = {}
        self._compared = {}

    def end(self) -> None:
        """A run has come to its end: what it has not met is gone."""
        self._said = self._now

    def judge(self, obj: Object, rules: Sequence[Rule], context: Context, run: RunRule) -> RuleRun:
        """What rules say of an object: one finding for each cause, what could not be judged, and their faults.

        They look where they have not yet, and where they are told other things than before.
        """
        assert isinstance(context, RecordingContext)
        cached = self._said.get(id(obj))
        if cached is None or cached.obj is not obj or not self._same(cached.rules, rules):
            cached = CachedResults(obj, rules, {}, {}, {}, [])
            again = {rule.name for rule in rules}
        else:
            again = self._otherwise(cached, context)
        faults: list[str] = []
        for rule in rules if again else ():
            if rule.name in again:
                faults += _rerun_rule(cached, rule, context, run)
        if again:
            cached.reported[:] = drop_superseded(
                [result for rule in rules for result in cached.results.get(rule.name, ())]
            )
        if not faults:
            self._said[id(obj)] = self._now[id(obj)] = cached
        return cached.reported, [skip for skips in cached.skipped.values() for skip in skips], faults

    def _otherwise(self, cached: CachedResults, context: RecordingContext) -> set[str]:
        """The rules that would be told other things than they were; what they have asked is forgotten."""
        again: set[str] = set()
        for question, (answer, names) in cached.dependencies.items():
            if again and names <= again:
                continue
            now = question.ask(context)
            if now is not answer and not self._same(answer, now):
                again |= names
        for question, (_, names) in list(cached.dependencies.items()) if again else ():
            names -= again
            if not names:
                del cached.dependencies[question]
        return again

    def _same(self, old: object, other: object) -> bool:
        if old is other or old is None or other is None:
            return old is other
        pair = id(old), id(other)
        if pair not in self._compared:
            # Held, so that no id is given to another thing in this run.
            self._compared[pair] = _is_same_identity(old, other), old, other
        return self._compared[pair][0]

    def carry_over(self, twins: Mapping[int, Object]) -> ResultCache:
        """What holds of other objects that are the same, by the ids of those that were judged.

        A rule that was silent is silent again, unless it is told other things. Those that said something look again:
        what they say knows its places.
        """
        carried = ResultCache()
        carried._mark = self._mark
        known: dict[int, object] = {}
        for cached in self._said.values():
            twin = twins.get(id(cached.obj))
            if twin is None:
                continue
            again = {*cached.results, *cached.skipped}
            dependencies: dict[Dependency, tuple[object, set[str]]] = {}
            for question, (answer, names) in cached.dependencies.items():
                equivalents = _carry_question(question, answer, twins, known)
                if equivalents is None:
                    again |= names
                    continue
                for same, expected in equivalents:
                    dependencies.setdefault(same, (expected, set()))[1].update(names)
            if again:
                dependencies[_ASKED_AGAIN] = (_OTHERWISE, again)
            carried._said[id(twin)] = CachedResults(twin, cached.rules, {}, {}, dependencies, [])
        return carried

    def move(self, moved: Moved) -> None:
        """A source's text has changed: what is said of it is somewhere else now, or has to be said anew."""
        for key, cached in list(self._said.items()):
            if cached.results and not _move_results(cached, moved):
                del self._said[key]


class ResultCaches:
    """What is kept of a view, by the release that its objects are judged for."""

    def __init__(self) -> None:
        self._kept: dict[object, ResultCache] = {}

    def for_release(self, release: object) -> ResultCache:
        """What is kept for one release."""
        return self._kept.setdefault(release, ResultCache())

    def carry_over(self, twins: Mapping[int, Object]) -> ResultCaches:
        """What holds of other objects that are the same, by the ids of those that were judged (see `plan.twins`)."""
        carried = ResultCaches()
        carried._kept = {release: cache.carry_over(twins) for release, cache in self._kept.items()}
        return carried

    def move(self, moved: Moved) -> None:
        """A source's text has changed."""
        for result_cache in self._kept.values():
            result_cache.move(moved)


def _rerun_rule(cached: CachedResults, rule: Rule, context: RecordingContext, run: RunRule) -> list[str]:
    noted: dict[Dependency, object] = {}
    context.noted = noted
    try:
        results, skipped, faults = run(rule)
    finally:
        context.noted = None
    # Most rules have nothing to say of most objects: nothing is kept of that.
    if results:
        cached.results[rule.name] = results
    elif cached.results:
        cached.results.pop(rule.name, None)
    if skipped:
        cached.skipped[rule.name] = skipped
    elif cached.skipped:
        cached.skipped.pop(rule.name, None)
    for question, answer in noted.items():
        cached.dependencies.setdefault(question, (answer, set()))[1].add(rule.name)
    return faults


_RELATIONS = frozenset(
    {"objects", "classes", "defined_classes", "may_be_named_so", "node_class", "pools", "foreign_group", "duplicates"}
    | {"interchangeable_pools", "cluster_pools", "definition_elsewhere"}
)
"""Questions whose answer is objects, or whether there are any."""

_ASKED_AGAIN = Dependency("objects", None, "asked again")
_OTHERWISE = object()
"""What no question is answered with."""


def _carry_question(
    question: Dependency, answer: object, twins: Mapping[int, Object], known: dict[int, object]
) -> Sequence[tuple[Dependency, object]] | None:
    """The questions, each with its answer, on which the answer to one rests for other objects that are the same.

    None where that is not known, or where the answer is about an object that has no twin. `known` are answers by the
    ids of those that were given.
    """
    about = None if question.about is None else twins.get(id(question.about))
    if question.about is not None and about is None:
        return None
    if question.name in _RELATIONS:
        if id(answer) not in known:
            known[id(answer)] = _carry_answer(answer, twins)
        expected = known[id(answer)]
        return None if expected is _OTHERWISE else [(question._replace(about=about), expected)]
    if question.name in ("problems", "images"):
        return []
    if question.name == "resolution":
        node_class = twins.get(id(getattr(answer, "node_class", None)))
        return None if node_class is None else [(Dependency("node_class", about), node_class)]
    return None


def _carry_answer(answer: object, twins: Mapping[int, Object]) -> object:
    if isinstance(answer, Mapping):
        entries = {key: twins.get(id(value), _OTHERWISE) for key, value in answer.items()}
        return _OTHERWISE if _OTHERWISE in entries.values() else entries
    if isinstance(answer, list | tuple):
        objects = [twins.get(id(value), _OTHERWISE) for value in answer]
        return _OTHERWISE if _OTHERWISE in objects else objects
    if isinstance(answer, Object):
        return twins.get(id(answer), _OTHERWISE)
    return answer if answer is None or isinstance(answer, bool) else _OTHERWISE


def _is_same_identity(old: object, other: object) -> bool:
    """Whether two collections hold the very same things."""
    if isinstance(old, Mapping) and isinstance(other, Mapping):
        return list(old) == list(other) and _is_same_identity(list(old.values()), list(other.values()))
    if isinstance(old, list | tuple) and isinstance(other, list | tuple):
        return len(old) == len(other) and all(
            a is b or (isinstance(a, frozenset) and a == b) for a, b in zip(old, other, strict=True)
        )
    return False


def _move_results(cached: CachedResults, moved: Moved) -> bool:
    """Move all places of what was said; False where one is gone."""
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
    """A place is gone."""


def _move_finding(finding: Finding, moved: Moved, later: bool) -> Finding | None:
    """A finding where it is now, the same one where no place in it is by offsets; None where one is gone."""

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
            new["edits"] = tuple(map(place, finding.edits))
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
