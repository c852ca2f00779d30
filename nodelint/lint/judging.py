"""Judge objects for one release: run each rule on each object to which it applies."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cache

from nodelint.base.budget import RUN, BudgetSpent
from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.ec2.facts import Missing
from nodelint.lint.release_results import downgrade_severity, split_stated
from nodelint.lint.results import (
    Result,
    RuleOutput,
    drop_superseded,
    hold_to_known,
    merge_releases,
)
from nodelint.lint.rule_gaps import gap_of_missing, note_fault, skip_for_missing_facts
from nodelint.model.finding import Finding
from nodelint.model.gap import Findings, Gap, gap_of
from nodelint.model.manifest import Object, UnknownKind, served
from nodelint.rule.context import Context
from nodelint.rule.definition import Rule, former_names, load_check
from nodelint.rule.target import Target
from nodelint.text import Source

if TYPE_CHECKING:
    from nodelint.lint.incremental import ResultCache, ResultCaches
    from nodelint.releases.release_choice import Chosen

MAX_FINDINGS = 1000
"""Findings that one rule has of one object: what has more was not written by hand, and nobody reads them all."""

ObjectMap = Callable[[Callable[[Object], "RuleOutput"], Sequence[Object]], Iterable["RuleOutput"]]
"""Calls a function with every object, and gives what it says in their order."""

_FEW = 200
"""Objects that are judged before more processes would have been started."""

_TOO_MANY = f"only the first {MAX_FINDINGS:,} findings of a rule in one object are reported"


class RuleSetup(NamedTuple):
    """The rules to run (`running`) and their target; `reporting` are the names of rules whose findings are reported.

    `strict`: findings of the strict profile are needed. `only` are the ids of the objects to judge, None for all; the
    others serve as context. `files_of_roots` are more Terraform files, for the rules that look at whole root modules.
    """

    target: Target
    rules: Mapping[str, Rule]
    reporting: Set[str]
    running: Sequence[Rule]
    strict: bool = True
    only: Set[int] | None = None
    files_of_roots: Sequence[Source] = ()

    def part(self, objects: Sequence[Object], context_objects: Sequence[Object]) -> tuple[list[Object], list[Object]]:
        """Return the objects to judge, and all others."""
        if self.only is None:
            return list(objects), list(context_objects)
        judged = [obj for obj in objects if id(obj) in self.only]
        return judged, [*(obj for obj in objects if id(obj) not in self.only), *context_objects]

    def files(self, sources: Sequence[Source]) -> Sequence[Source]:
        """Return the files that are judged as a whole."""
        return sources if self.only is None else [source for source in sources if id(source) in self.only]


class Outcome(NamedTuple):
    """The rule results for objects in all of their releases; `context` is the context of the first run."""

    results: list[Result]
    skipped: list[Gap]
    faults: list[str]
    chosen: dict[int, tuple[Chosen, ...]]
    context: Context


def judge_objects(
    setup: RuleSetup,
    requested: Sequence[Object],
    context_objects: Sequence[Object],
    files: Sequence[Source],
    share: Callable[[Sequence[Object]], ObjectMap],
    memory: ResultCaches | None = None,
) -> Outcome:
    """Run the rules on objects, each for its releases, and on files as a whole.

    `context_objects` are only referred to. `share` returns the function that maps over the objects.
    """
    target = setup.target

    def run(target: Target, objects: Sequence[Object], files: Sequence[Source] = ()) -> ReleaseRun:
        made = start_run(target, requested, setup, memory, context_objects)
        made.files_of_roots = setup.files_of_roots
        made.judge(objects, setup.running, files, share(objects))
        made.judge_converted(objects, setup.running)
        made.judge_branches(objects, setup.running)
        return made

    chosen, skipped = _choose_releases(requested, target)
    # A finding about a file as a whole does not depend on the release.
    runs = [run(target, requested if target.choose is None else (), files)]
    results = runs[0].results
    if target.choose is not None:
        by_release = []
        for release, release_objects in _group_by_release(requested, chosen):
            stating = next(
                (choice for obj in release_objects for choice in chosen[id(obj)] if choice.bare == release), release
            )
            runs.append(run(target.for_choice(stating), release_objects))
            about, others = split_stated(runs[-1].results, chosen, release)
            results += about
            by_release.append((release, others))
        results = downgrade_severity([*results, *merge_releases(by_release, chosen)], chosen)
    skipped += [skip for made in runs for skip in made.skipped]
    RUN.note_reasons(skip.reason for skip in skipped)
    return Outcome(results, skipped, [fault for made in runs for fault in made.faults], chosen, runs[0].context)


def share_objects(
    jobs: int | None,
    objects: Sequence[Object],
    things: tuple[Sequence[object], Sequence[Source]],
    pause: Callable[[], None],
) -> ObjectMap | None:
    """Return a function that judges objects in several processes; None if one process is enough.

    `things` are the objects and sources that results may refer to.
    """
    if jobs == 1 or (jobs is None and len(objects) < _FEW):
        return None
    from nodelint.lint.workers import Names, processes, shared

    count = processes(jobs, len(objects))
    if count < 2:
        return None
    names = Names(*things)

    def judge_shared(judge: Callable[[Object], RuleOutput], objects: Sequence[Object]) -> Sequence[RuleOutput]:
        def judge_one(obj: Object) -> RuleOutput:
            pause()
            return judge(obj)

        return shared(judge_one, objects, count, names)

    return judge_shared


def judge_in_turn(pause: Callable[[], None]) -> ObjectMap:
    def judge_each(judge: Callable[[Object], RuleOutput], objects: Sequence[Object]) -> Iterator[RuleOutput]:
        for obj in objects:
            pause()
            yield judge(obj)

    return judge_each


def start_run(
    target: Target,
    requested: Sequence[Object],
    setup: RuleSetup,
    memory: ResultCaches | None,
    context_objects: Sequence[Object] = (),
) -> ReleaseRun:
    rules, reporting = setup.rules, setup.reporting
    read = (*requested, *context_objects)
    foreign = [obj for obj in read if obj.foreign]
    objects = [obj for obj in read if not obj.foreign] if foreign else read
    context: type[Context] = Context
    cache: ResultCache | None = None
    if memory is not None:
        from nodelint.lint.recording_context import RecordingContext

        context, cache = RecordingContext, memory.for_release(target.releases)
        cache.begin(
            (target.schemas, target.facts, *setup.running),
            (frozenset(rules), frozenset(reporting), setup.strict, target.today, target.day),
        )
    return ReleaseRun(
        target,
        context(
            objects,
            target,
            foreign=foreign,
            context_count=sum(not obj.foreign for obj in context_objects) if foreign else len(context_objects),
            rule_names=tuple(rules),
            former_names=former_names(rules),
            strict=setup.strict,
        ),
        reporting,
        cache,
    )


class ReleaseRun:
    """The rule results for one release. `results` has one finding for each cause."""

    def __init__(
        self,
        target: Target,
        context: Context,
        reporting: Set[str],
        cache: ResultCache | None = None,
    ) -> None:
        self.target = target
        self._cache = cache
        self.context = context
        self.reporting = reporting
        self.results: list[Result] = []
        self.skipped: list[Gap] = []
        self.faults: list[str] = []
        self._checks: dict[str, Callable[..., Findings]] = {}
        self.files_of_roots: Sequence[Source] = ()

    def judge(
        self,
        objects: Sequence[Object],
        running: Sequence[Rule],
        sources: Sequence[Source],
        map_objects: ObjectMap = map,
    ) -> None:
        """Run the rules on objects, by `map_objects`, and on files as a whole."""
        target = self.target
        about_objects = [r for r in running if issubclass(r.on, Object) and r.applies_to_release(target.karpenter)]
        if not target.facts:
            self.skipped += skip_for_missing_facts(
                [r for r in about_objects if r.name in self.reporting], objects, target
            )
            about_objects = [r for r in about_objects if not r.needs]
        words = _same_words(frozenset(word for rule in about_objects for word in rule.mentions))
        about: dict[tuple[object, ...], list[Rule]] = {}

        def rules_for(obj: Object) -> Sequence[Rule]:
            accepted = served(obj, target.karpenter)
            mentioned = obj.once("held words", (words,), lambda: find_words(obj, words))
            alike = (type(obj), obj.provider, accepted, mentioned)
            rules = about.get(alike)
            if rules is None:
                rules = about[alike] = [
                    rule
                    for rule in about_objects
                    if rule.applies_to(obj)
                    and (accepted or rule.on is Object)
                    and not (rule.mentions and mentioned.isdisjoint(rule.mentions))
                ]
            return rules

        def judged(obj: Object) -> RuleOutput:
            if self._cache is not None:
                return self._cache.judge(obj, rules_for, self.context, self._run_on_object)
            output = RuleOutput([], [], [])
            for rule in _in_time(rules_for(obj), obj, output):
                self._run_rule(rule, obj, obj, obj.source.path, output)
            return output._replace(raw=drop_superseded(output.raw))

        of_files = self._judge_files(running, sources)
        for output in (*map_objects(judged, objects), of_files):
            self.results += [r for r in output.raw if r.rule.name in self.reporting]
            self.skipped += output.skipped
            self.faults += output.faults
        if self._cache is not None:
            self._cache.end()

    def _judge_files(self, running: Sequence[Rule], sources: Sequence[Source]) -> RuleOutput:
        """Return the output of the rules about files."""
        output = RuleOutput([], [], [])
        self.context.files = sources
        stated = self.target.stated
        scripts = stated().scripts if stated is not None and sources else ()
        about_files = [rule for rule in running if rule.on is Source]
        words = {word for rule in about_files for word in rule.mentions}
        texts = [*_find_words_of_files((*sources, *scripts), words)]
        of_roots = [*_find_words_of_files(self.files_of_roots if sources else (), words)]
        words_held = {word for _, present in (*texts, *of_roots) for word in present}
        for rule in about_files:
            if rule.mentions and words_held.isdisjoint(rule.mentions):
                continue
            for source, present in (*texts, *(of_roots if "root-module" in rule.tags else ())):
                if rule.mentions and present.isdisjoint(rule.mentions):
                    continue
                if RUN.is_over():
                    output.skipped.append(gap_of(None, source.path, None, RUN.late_reason))
                    return output._replace(raw=drop_superseded(output.raw))
                self._run_rule(rule, source, None, source.path, output)
        return output._replace(raw=drop_superseded(output.raw))

    def _run_on_object(self, rule: Rule, obj: Object, into: RuleOutput) -> None:
        self._run_rule(rule, obj, obj, obj.source.path, into)

    def judge_converted(self, objects: Sequence[Object], running: Sequence[Rule]) -> None:
        """Judge the v1 form of objects that the target release does not serve."""
        old = [o for o in objects if not served(o, self.target.karpenter) and not isinstance(o, UnknownKind)]
        if not old:
            return
        from nodelint.lint.converted_objects import Converted

        became = Converted(old, self.context)
        run = self._run_over(became.objects)
        run.judge([new for new, _ in became.pairs], running, ())
        known = {(r.rule.name, r.span.source.path, r.span.start) for r in self.results}
        # Rules about objects of any API have looked at the old ones.
        moved = became.map_back(run.results)
        self.results += [r for r in moved if (r.rule.name, r.span.source.path, r.span.start) not in known]
        self.faults += run.faults

    def judge_branches(self, objects: Sequence[Object], running: Sequence[Rule]) -> None:
        """Judge objects as they are if a template takes another branch than the first."""
        templated = [obj for obj in objects if obj.source.masked and served(obj, self.target.karpenter)]
        if not templated:
            return
        from nodelint.lint.template_branches import rounds

        known = {(r.rule.name, r.span.source.path, r.span.start) for r in self.results}
        for alternatives in rounds(templated):
            instead = {id(alternative.original): alternative.obj for alternative in alternatives}
            run_objects = [instead.get(id(obj), obj) for obj in self.context.objects]
            run = self._run_over(run_objects)
            run.judge([alternative.obj for alternative in alternatives], running, ())
            self.results += [
                result for alternative in alternatives for result in alternative.map_back(run.results, known)
            ]
            self.faults += run.faults

    def _run_over(self, objects: Sequence[Object]) -> ReleaseRun:
        """Return a run for the same release over other objects: converted ones, or those of another
        template branch.
        """
        context = Context(objects, self.target, rule_names=self.context.rule_names, strict=self.context.strict)
        return ReleaseRun(self.target, context, self.reporting)

    def _load_check(self, rule: Rule) -> Callable[..., Findings]:
        """Return the check of a rule; one that finds nothing for a rule that has nothing to look at in the run."""
        if rule.tags and self.context.run_files.lacks_files_for(rule.tags):
            return _find_nothing
        return load_check(rule)

    def _run_rule(self, rule: Rule, subject: object, obj: Object | None, path: str, into: RuleOutput) -> None:
        skips = 0
        try:
            check = self._checks.get(rule.name)
            if check is None:
                check = self._checks[rule.name] = self._load_check(rule)
            for skip in check(subject, self.context):
                if isinstance(skip, Finding):
                    skips += 1
                    if skips > MAX_FINDINGS and obj is not None:
                        if rule.name in self.reporting:
                            into.skipped.append(gap_of(rule.name, path, obj, _TOO_MANY))
                        return
                    into.raw.append(Result(rule, hold_to_known(rule, skip, self.target.karpenter), obj))
                elif rule.name in self.reporting:
                    into.skipped.append(gap_of(rule.name, path, obj, skip.reason, skip.transient, skip.fact))
        except (Missing, BudgetSpent) as missing:
            if rule.name in self.reporting:
                into.skipped.append(gap_of_missing(rule, path, obj, missing))
        except Exception as error:
            if os.environ.get("NODELINT_DEBUG"):
                raise
            note_fault(rule, obj, path, error, into)


def _find_nothing(_subject: object, _context: Context) -> Findings:
    return iter(())


_TOGETHER = 1 << 14
"""Characters of texts that are searched together: most words are in few files."""


def _find_words_of_files(sources: Iterable[Source], words: Iterable[str]) -> Iterator[tuple[Source, frozenset[str]]]:
    """Yield the texts, each with the words that it contains."""
    group: list[Source] = []
    size = 0
    for source in (*sources, None):
        if source is not None and size < _TOGETHER:
            group.append(source)
            size += len(source.text)
            continue
        joined = "\n".join([other.text for other in group]) if len(group) > 1 else ""
        present = [word for word in words if word in joined] if joined else words
        yield from ((other, frozenset(filter(other.holds, present))) for other in group)
        group, size = ([], 0) if source is None else ([source], len(source.text))


def _in_time(rules: Sequence[Rule], obj: Object, into: RuleOutput) -> Iterable[Rule]:
    """Return the rules for an object; those after the deadline are left out and recorded as a gap."""
    return _watch(rules, obj, into) if RUN.is_timed else rules


def _watch(rules: Sequence[Rule], obj: Object, into: RuleOutput) -> Iterator[Rule]:
    for rule in rules:
        if RUN.is_over():
            into.skipped.append(gap_of(None, obj.source.path, obj, RUN.late_reason))
            return
        yield rule


@cache
def _same_words(words: frozenset[str]) -> frozenset[str]:
    """Return the same frozenset object for equal sets, so that cached values of objects stay valid between edits."""
    return words


def find_words(obj: Object, words: Set[str]) -> Set[str]:
    """Return the words that may be in the keys and values of an object, because the text of its document contains
    them.

    All words are returned if a value may differ from its text (escapes, or an object that is rendered from other
    texts), and if the document contains several objects.
    """
    document, source = obj.document, obj.source
    if source.masked or document.host is not None or obj.partial or obj.of_values or obj.node is not document.root:
        return words
    text = source.text[document.start : document.end]
    if "\\" in text or "binary" in text:
        return words
    return _same_words(frozenset([word for word in words if word in text]))


def _choose_releases(objects: Sequence[Object], target: Target) -> tuple[dict[int, tuple[Chosen, ...]], list[Gap]]:
    """Return the releases of each object by its id, and a gap for each object without a release."""
    found: dict[int, tuple[Chosen, ...]] = {}
    skipped = []
    for obj in objects if target.choose is not None else ():
        choices = target.choose(obj) if target.choose is not None else ()
        if isinstance(choices, str):
            skipped.append(gap_of(None, obj.source.path, obj, choices))
        else:
            found[id(obj)] = choices
    return found, skipped


def _group_by_release(
    objects: Sequence[Object], chosen: Mapping[int, tuple[Chosen, ...]]
) -> Iterator[tuple[Chosen, list[Object]]]:
    """Yield each release with its objects, the oldest release first."""
    for release in sorted(
        {choice.bare for choices in chosen.values() for choice in choices}, key=lambda choice: choice.order
    ):
        yield release, [obj for obj in objects if any(choice.bare == release for choice in chosen.get(id(obj), ()))]
