"""The pipeline: sources become objects, rules look at them, findings become a report, fixes new texts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from types import MappingProxyType

from nodelint.apiserver import Schemas
from nodelint.ec2.facts import NOTHING, AwsFacts, Missing
from nodelint.ec2.snapshot import Question
from nodelint.lint.context import Context
from nodelint.lint.results import Result, Skipped, first_causes, merged, of_older_release, unique
from nodelint.lint.rule import GROUPS, PROFILES, Group, Rule, former_names
from nodelint.lint.silenced import after_comments
from nodelint.model.documents import left_out, objects
from nodelint.model.finding import SEVERITIES, Finding, Severity
from nodelint.model.manifest import NodePool, Object, UnknownKind, served
from nodelint.model.providers import judged_in_part
from nodelint.model.releases import KubernetesVersion, Version
from nodelint.source import Source
from nodelint.source.globs import Globs
from nodelint.tuples import NamedTuple

TYPE_CHECKING = False

if TYPE_CHECKING:
    from nodelint.lint.kept import Kept, Memory
    from nodelint.target.chosen import Chosen

__all__ = [
    "DEFAULTS",
    "Report",
    "Result",
    "Selection",
    "Skipped",
    "Target",
    "lint",
]


MOST_FINDINGS = 1000
"""Findings that one rule has of one object: what has more was not written by hand, and nobody reads them all."""

Each = Callable[[Callable[[Object], "_Said"], Sequence[Object]], Iterable["_Said"]]
"""Calls a function with every object, and gives what it says in their order."""

_FEW = 200
"""Objects that are judged before more processes would have been started."""

_TOO_MANY = f"only the first {MOST_FINDINGS:,} findings of a rule in one object are reported"


class Target(NamedTuple):
    """What the manifests are judged for.

    `schemas` stand for the API server, None for the bundled ones; `facts` are what is known of AWS. `choose` gives
    the releases of an object, oldest first, in the place of these, or says why it is not judged.
    """

    karpenter: Version
    kubernetes: KubernetesVersion | None = None
    schemas: Schemas | None = None
    facts: AwsFacts = NOTHING
    choose: Callable[[Object], tuple[Chosen, ...] | str] | None = None

    def at(self, chosen: Chosen) -> Target:
        """The same for releases that were chosen for an object."""
        return self._replace(karpenter=chosen.karpenter.last, kubernetes=chosen.kubernetes, choose=None)

    def each(self, obj: Object) -> tuple[Target, ...]:
        """All that an object is judged for; nothing where it is not judged."""
        if self.choose is None:
            return (self,)
        chosen = self.choose(obj)
        return () if isinstance(chosen, str) else tuple(map(self.at, chosen))


class Selection(NamedTuple):
    """Which rules report: those of `groups`, or those that `select` names. `per_path` globs start at `root`."""

    select: frozenset[str] | None = None
    ignore: frozenset[str] = frozenset()
    per_path: Mapping[str, frozenset[str]] = MappingProxyType({})
    root: str = ""
    groups: frozenset[Group] = PROFILES["default"]

    def has(self, rule: Rule) -> bool:
        """Whether the rule reports at all."""
        chosen = rule.group in self.groups if self.select is None else rule.name in self.select
        return chosen and rule.name not in self.ignore

    def shows(self, result: Result) -> bool:
        """Whether a finding of a rule that reports is shown: those for the strict profile are not by default."""
        return not result.finding.strict or self.select is not None or "practice" in self.groups

    def ignored_at(self, rule: str, path: str) -> bool:
        """Whether a per-path ignore names the rule for this path."""
        return Globs((glob for glob, rules in self.per_path.items() if rule in rules), self.root).match(path)


DEFAULTS = Selection()


class Report(NamedTuple):
    """What a run has to say. `objects` are those it was asked about, not those read for context.

    `faults` are rules that raised an error over an object; the findings of other rules stay. `chosen` are
    the releases of each object, by its id, where not all are judged for the `target`'s own. `unjudged` counts objects
    and documents that were seen and are not one of these: classes of other providers, what cannot be read.
    """

    results: tuple[Result, ...]
    skipped: tuple[Skipped, ...]
    objects: tuple[Object, ...]
    target: Target
    faults: tuple[str, ...] = ()
    chosen: Mapping[int, tuple[Chosen, ...]] = MappingProxyType({})
    unjudged: int = 0

    def number_of(self, severity: Severity) -> int:
        return sum(r.severity == severity for r in self.results)

    def at_or_above(self, severity: Severity) -> bool:
        """Whether anything is as grave as `severity` or graver."""
        return any(SEVERITIES.index(r.severity) <= SEVERITIES.index(severity) for r in self.results)


def lint(
    sources: Sequence[Source],
    target: Target,
    rules: Mapping[str, Rule],
    selection: Selection = DEFAULTS,
    context_sources: Sequence[Source] = (),
    pause: Callable[[], None] = lambda: None,
    jobs: int | None = 1,
    memory: Memory | None = None,
) -> Report:
    """Judge the objects of `sources`; those of `context_sources` are only there to be referred to.

    `pause` is called between objects, and may raise to end the run. `jobs` processes share the objects; None for
    as many as suit. What is said, and in which order, does not depend on it. `memory` holds what was said in the run
    before, and is left what is said in this one; one process then judges all.
    """
    asked = [obj for source in sources for obj in objects(source, foreign=True, more=True)]
    beside = [obj for source in context_sources for obj in objects(source, foreign=True)]
    reporting = {name for name, rule in rules.items() if selection.has(rule)}
    running = _running(rules, reporting)
    shared = (*rules.values(), *asked, *beside), (*sources, *context_sources)

    def judged_for(one: Target, some: Sequence[Object], files: Sequence[Source] = ()) -> _Pass:
        made = _pass(one, (*asked, *beside), rules, reporting, running, memory)
        sharing = _sharing(jobs, some, shared) if memory is None else None
        made.judge(some, running, files, sharing or _one_by_one(pause))
        made.judge_converted(some, running)
        made.judge_branches(some, running)
        return made

    chosen, skipped = _chosen(asked, target)
    # A finding about a file as a whole does not depend on the release.
    passes = [judged_for(target, asked if target.choose is None else (), sources)]
    told = passes[0].told
    if target.choose is not None:
        by_release = []
        for release, some in _by_release(asked, chosen):
            passes.append(judged_for(target.at(release), some))
            by_release.append((release, passes[-1].told))
        told = of_older_release([*told, *merged(by_release, chosen)], chosen)
    unread = [skip for source in sources for skip in _not_read(source)]
    skipped += [*(skip for each in passes for skip in each.skipped), *_not_looked_at(asked), *unread]

    kept = after_comments(told, sources, running, reporting, passes[0].context)
    kept = _in_order(_not_ignored(filter(selection.shows, kept), selection), sources)
    faults = dict.fromkeys(fault for each in passes for fault in each.faults)
    broken = sum(source.concerns_karpenter(problem.offset) for source in sources for problem in source.problems)
    unjudged = len(unread) + broken
    skipped = list(dict.fromkeys(skipped))
    return Report(tuple(unique(kept)), tuple(skipped), tuple(asked), target, tuple(faults), chosen, unjudged)


def _in_order(results: Iterable[Result], sources: Sequence[Source]) -> list[Result]:
    order = {source.path: n for n, source in enumerate(sources)}

    def place(result: Result) -> tuple[int, int, str]:
        at = result.finding.at
        return order.get(at.source.path, len(order)), at.start, result.rule.name

    return sorted(results, key=place)


def _not_ignored(results: Iterable[Result], selection: Selection) -> Iterable[Result]:
    """The results that no per-path ignore is about."""
    if not selection.per_path:
        return results
    known: dict[tuple[str, str], bool] = {}
    kept = []
    for result in results:
        where = result.rule.name, result.finding.at.source.path
        if where not in known:
            known[where] = selection.ignored_at(*where)
        if not known[where]:
            kept.append(result)
    return kept


def _is_foreign(obj: Object) -> bool:
    return isinstance(obj, NodePool) and obj.foreign


def _running(rules: Mapping[str, Rule], reporting: Set[str]) -> list[Rule]:
    """The rules that look at objects: those that report, and those that may explain better what these find."""
    silent_too = {other for name in reporting for other in _explaining(rules[name], rules)}
    return [rules[name] for name in rules if name in reporting | silent_too]


def _explaining(rule: Rule, rules: Mapping[str, Rule]) -> Iterator[str]:
    """The rules that silence this one even where they do not report themselves.

    Those of a less strict group do not: a profile without them would lose the mistake.
    """
    for name in rule.gives_way_to:
        if name in rules and GROUPS.index(rules[name].group) <= GROUPS.index(rule.group):
            yield name


class _Said(NamedTuple):
    """What rules say of one object, or of all files."""

    raw: list[Result]
    skipped: list[Skipped]
    faults: list[str]


def _sharing(
    jobs: int | None, asked: Sequence[Object], things: tuple[Sequence[object], Sequence[Source]]
) -> Each | None:
    """What calls a function with every object in several processes; None where one process is enough.

    `things` are what rules may speak of, with the sources whose nodes they may speak of.
    """
    if jobs == 1 or (jobs is None and len(asked) < _FEW):
        return None
    from nodelint.lint.workers import Names, processes, shared

    count = processes(jobs, len(asked))
    return partial(shared, count=count, names=Names(*things)) if count > 1 else None


def _one_by_one(pause: Callable[[], None]) -> Each:
    def each(judge: Callable[[Object], _Said], asked: Sequence[Object]) -> Iterator[_Said]:
        for obj in asked:
            pause()
            yield judge(obj)

    return each


def _pass(
    target: Target,
    read: Sequence[Object],
    rules: Mapping[str, Rule],
    reporting: Set[str],
    running: Sequence[Rule],
    memory: Memory | None,
) -> _Pass:
    foreign = [obj for obj in read if isinstance(obj, NodePool) and obj.foreign]
    held = [obj for obj in read if not _is_foreign(obj)] if foreign else read
    names = tuple(rules)
    asked = (
        held,
        target.karpenter,
        target.kubernetes,
        target.schemas,
        names,
        target.facts,
        foreign,
        former_names(rules),
    )
    if memory is None:
        return _Pass(target, Context(*asked), reporting)
    from nodelint.lint.kept import Noting

    kept = memory.of((target.karpenter, target.kubernetes))
    kept.begin((target.schemas, target.facts, frozenset(names), frozenset(reporting), *running))
    return _Pass(target, Noting(*asked), reporting, kept)


class _Pass:
    """What the rules say of objects and files for one release; `told` is one finding for each cause."""

    def __init__(self, target: Target, context: Context, reporting: Set[str], kept: Kept | None = None) -> None:
        self.target = target
        self._kept = kept
        self.context = context
        self.reporting = reporting
        self.told: list[Result] = []
        self.skipped: list[Skipped] = []
        self.faults: list[str] = []

    def judge(
        self, asked: Sequence[Object], running: Sequence[Rule], sources: Sequence[Source], each: Each = map
    ) -> None:
        """Let the rules look at objects, and at files as a whole; `each` calls a function with every object."""
        target = self.target
        about_objects = [r for r in running if issubclass(r.on, Object) and r.speaks_of(target.karpenter)]
        if not target.facts:
            self.skipped += _without_facts([r for r in about_objects if r.name in self.reporting], asked, target)
            about_objects = [r for r in about_objects if not r.needs]
        about: dict[tuple[object, ...], list[Rule]] = {}

        def judged(obj: Object) -> _Said:
            accepted = served(obj, target.karpenter)
            alike = (type(obj), obj.provider if isinstance(obj, NodePool) else None, accepted)
            if alike not in about:
                about[alike] = [r for r in about_objects if r.is_about(obj) and (accepted or r.on is Object)]
            if self._kept is not None:
                return _Said(*self._kept.judge(obj, about[alike], self.context, partial(self._said, obj=obj)))
            said = _Said([], [], [])
            for rule in about[alike]:
                self._run(rule, obj, obj, obj.source.path, said)
            return said._replace(raw=first_causes(said.raw))

        of_files = _Said([], [], [])
        for rule in running:
            if rule.on is Source:
                for source in sources:
                    self._run(rule, source, None, source.path, of_files)
        for said in (*each(judged, asked), of_files._replace(raw=first_causes(of_files.raw))):
            self.told += [r for r in said.raw if r.rule.name in self.reporting]
            self.skipped += said.skipped
            self.faults += said.faults
        if self._kept is not None:
            self._kept.end()

    def _said(self, rule: Rule, obj: Object) -> _Said:
        """What one rule says of an object."""
        said = _Said([], [], [])
        self._run(rule, obj, obj, obj.source.path, said)
        return said

    def judge_converted(self, asked: Sequence[Object], running: Sequence[Rule]) -> None:
        """Let the rules look at what objects become that the target does not serve."""
        old = [o for o in asked if not served(o, self.target.karpenter) and not isinstance(o, UnknownKind)]
        if not old:
            return
        from nodelint.lint.converted import Converted

        became = Converted(old, self.context)
        one = self.target
        context = Context(
            became.world, one.karpenter, one.kubernetes, one.schemas, self.context.rule_names, one.facts
        )
        made = _Pass(one, context, self.reporting)
        made.judge([new for new, _ in became.pairs], running, ())
        said = {(r.rule.name, r.span.source.path, r.span.start) for r in self.told}
        # Rules about objects of any API have looked at the old ones.
        moved = became.told(made.told)
        self.told += [r for r in moved if (r.rule.name, r.span.source.path, r.span.start) not in said]
        self.faults += made.faults

    def judge_branches(self, asked: Sequence[Object], running: Sequence[Rule]) -> None:
        """Let the rules look at what objects are where a template takes another branch than the first."""
        templated = [obj for obj in asked if obj.source.masked and served(obj, self.target.karpenter)]
        if not templated:
            return
        from nodelint.lint.branches import rounds

        one, said = self.target, {(r.rule.name, r.span.source.path, r.span.start) for r in self.told}
        for some in rounds(templated):
            instead = {id(each.original): each.obj for each in some}
            world = [instead.get(id(obj), obj) for obj in self.context.objects]
            context = Context(world, one.karpenter, one.kubernetes, one.schemas, self.context.rule_names, one.facts)
            made = _Pass(one, context, self.reporting)
            made.judge([each.obj for each in some], running, ())
            self.told += [result for each in some for result in each.told(made.told, said)]
            self.faults += made.faults

    def _run(self, rule: Rule, subject: object, obj: Object | None, path: str, into: _Said) -> None:
        told = 0
        try:
            for said in rule.check(subject, self.context):
                if isinstance(said, Finding):
                    told += 1
                    if told > MOST_FINDINGS and obj is not None:
                        if rule.name in self.reporting:
                            into.skipped.append(Skipped(rule.name, path, obj, _TOO_MANY, False))
                        return
                    into.raw.append(Result(rule, said, obj))
                elif rule.name in self.reporting:
                    into.skipped.append(Skipped(rule.name, path, obj, said.reason, said.transient, said.fact))
        except Missing as missing:
            if rule.name in self.reporting:
                into.skipped.append(Skipped(rule.name, path, obj, missing.reason, missing.transient, missing.kind))
        except Exception as error:
            if os.environ.get("NODELINT_DEBUG"):
                raise
            what = obj.label if obj else "the file"
            into.faults.append(f"{rule.name} on {what} of {path}: {type(error).__name__}: {error}")


def _chosen(asked: Sequence[Object], target: Target) -> tuple[dict[int, tuple[Chosen, ...]], list[Skipped]]:
    """The releases of each object, by its id, and the objects that are judged for none."""
    found: dict[int, tuple[Chosen, ...]] = {}
    skipped = []
    for obj in asked if target.choose is not None else ():
        some = target.choose(obj) if target.choose is not None else ()
        if isinstance(some, str):
            skipped.append(Skipped(None, obj.source.path, obj, some, False))
        else:
            found[id(obj)] = some
    return found, skipped


def _by_release(
    asked: Sequence[Object], chosen: Mapping[int, tuple[Chosen, ...]]
) -> Iterator[tuple[Chosen, list[Object]]]:
    """The objects that are judged for each release, oldest first."""
    for release in sorted({each.bare for some in chosen.values() for each in some}, key=lambda each: each.order):
        yield release, [obj for obj in asked if any(each.bare == release for each in chosen.get(id(obj), ()))]


def _not_looked_at(asked: Sequence[Object]) -> Iterator[Skipped]:
    """What of objects no rule has looked at."""
    if any(obj.source.masked for obj in asked):
        from nodelint.lint.branches import not_judged
    for obj in asked:
        for name in not_judged(obj) if obj.source.masked else ():
            reason = f"of `{name}`, written in several branches of a template, only the first is judged as a whole"
            yield Skipped(None, obj.source.path, obj, reason, False)
        if isinstance(obj, NodePool) and obj.foreign:
            kind = obj.class_ref.kind if obj.class_ref else None
            yield Skipped(None, obj.source.path, obj, judged_in_part(obj.provider, kind), False)


def _not_read(source: Source) -> Iterator[Skipped]:
    """The objects and documents of a file that are not judged at all."""
    yield from (Skipped(None, source.path, obj, reason, False) for obj, reason in left_out(source, foreign=True))
    asides = [aside for aside in source.set_aside if source.concerns_karpenter(aside.offset)]
    yield from (Skipped(None, source.path, None, aside.reason, False) for aside in asides)


def _without_facts(rules: Sequence[Rule], asked: Sequence[Object], target: Target) -> Iterator[Skipped]:
    """One skip for each rule that needs facts from AWS and would have had something to look at."""
    kinds = {type(obj) for obj in asked if served(obj, target.karpenter) and not _is_foreign(obj)}
    for rule in rules:
        needs = rule.needs or rule.may_need
        if needs and any(issubclass(kind, rule.on) for kind in kinds):
            try:
                target.facts.answer(Question(needs[0]))
            except Missing as missing:
                yield Skipped(rule.name, "", None, missing.reason, missing.transient, missing.kind)
