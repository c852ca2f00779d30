"""The pipeline: sources become objects, rules look at them, findings become a report, fixes new texts."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, product
from types import MappingProxyType
from typing import Any

from nodelint.apiserver import Schemas
from nodelint.ec2.facts import NOTHING, Facts, Missing
from nodelint.ec2.snapshot import Question
from nodelint.edits import apply
from nodelint.lint.rule import PROFILES, Context, Group, Rule
from nodelint.lint.suppress import Suppression, suppressions
from nodelint.model.fact_kinds import FactKind
from nodelint.model.finding import SEVERITIES, Edit, Finding, Safety, Severity, Span, span_of
from nodelint.model.manifest import Object, left_out, objects, served
from nodelint.model.releases import KubernetesVersion, Version
from nodelint.source import Source
from nodelint.source.globs import Globs
from nodelint.tuples import NamedTuple

# A fix may make room for another one; every rule's fix is a fix point, so few rounds are ever needed.
_ROUNDS = 25


class Target(NamedTuple):
    """What the manifests are judged for.

    `schemas` stand for the API server, None for the bundled ones; `facts` are what is known of AWS.
    """

    karpenter: Version
    kubernetes: KubernetesVersion | None = None
    schemas: Schemas | None = None
    facts: Facts = NOTHING


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

    def ignored_at(self, rule: str, path: str) -> bool:
        """Whether a per-path ignore names the rule for this path."""
        return Globs((glob for glob, rules in self.per_path.items() if rule in rules), self.root).match(path)


DEFAULTS = Selection()


class Result(NamedTuple):
    """A finding with what the engine knows of it."""

    rule: Rule
    finding: Finding
    object: Object | None

    @property
    def severity(self) -> Severity:
        return self.finding.severity or self.rule.severity

    @property
    def safety(self) -> Safety:
        """How safe the fix is; a finding without edits has none, and says so by `fixable`."""
        return self.finding.safety or self.rule.fix or "unsafe"

    @property
    def fixable(self) -> bool:
        return bool(self.finding.edits)

    @property
    def span(self) -> Span:
        return self.finding.span


class Skipped(NamedTuple):
    """A rule, or all of them where `rule` is None, that did not judge an object or a file.

    `fact` is the kind of fact from AWS that was missing, where that is the reason. `path` is empty where
    the rule judged nothing in the whole run, for want of facts.
    """

    rule: str | None
    path: str
    object: Object | None
    reason: str
    transient: bool
    fact: FactKind | None = None


class Report(NamedTuple):
    """What a run has to say. `objects` are those it was asked about, not those read for context.

    `faults` are rules that broke down over an object: our own mistakes, said aloud, the rest still told.
    """

    results: tuple[Result, ...]
    skipped: tuple[Skipped, ...]
    objects: tuple[Object, ...]
    target: Target
    faults: tuple[str, ...] = ()

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
) -> Report:
    """Judge the objects of `sources`; those of `context_sources` are only there to be referred to."""
    asked = [obj for source in sources for obj in objects(source)]
    beside = [obj for source in context_sources for obj in objects(source)]
    context = Context(
        [*asked, *beside], target.karpenter, target.kubernetes, target.schemas, tuple(rules), target.facts
    )
    reporting = {name for name, rule in rules.items() if selection.has(rule)}
    silent_too = {other for name in reporting for other in rules[name].gives_way_to if other in rules}
    running = [rules[name] for name in rules if name in reporting | silent_too]

    raw: list[Result] = []
    skipped: list[Skipped] = []
    faults: list[str] = []

    def run(rule: Rule, subject: object, obj: Object | None, path: str) -> None:
        try:
            for said in rule.check(subject, context):
                if isinstance(said, Finding):
                    raw.append(Result(rule, said, obj))
                elif rule.name in reporting:
                    skipped.append(Skipped(rule.name, path, obj, said.reason, said.transient, said.fact))
        except Missing as missing:
            if rule.name in reporting:
                skipped.append(Skipped(rule.name, path, obj, missing.reason, missing.transient, missing.kind))
        except Exception as error:
            if os.environ.get("NODELINT_DEBUG"):
                raise
            what = obj.label if obj else "the file"
            faults.append(f"{rule.name} on {what} of {path}: {type(error).__name__}: {error}")

    about_objects = [r for r in running if issubclass(r.on, Object) and r.speaks_of(target.karpenter)]
    if not target.facts:
        skipped += _without_facts([r for r in about_objects if r.name in reporting], asked, target)
        about_objects = [r for r in about_objects if not r.needs]
    for obj in asked:
        accepted = served(obj, target.karpenter)
        for rule in about_objects:
            if isinstance(obj, rule.on) and (accepted or rule.on is Object):
                run(rule, obj, obj, obj.source.path)
    for rule in running:
        if rule.on is Source:
            for source in sources:
                run(rule, source, None, source.path)
    for obj in asked:
        for name in _in_several_branches(obj):
            reason = f"of `{name}`, written in several branches of a template, only the first is judged as a whole"
            skipped.append(Skipped(None, obj.source.path, obj, reason, False))
    skipped += [Skipped(None, s.path, obj, reason, False) for s in sources for obj, reason in left_out(s)]
    for source in sources:
        asides = [aside for aside in source.set_aside if source.concerns_karpenter(aside.offset)]
        skipped += [Skipped(None, source.path, None, aside.reason, False) for aside in asides]

    told = [r for r in _first_causes(raw) if r.rule.name in reporting]
    comments = [s for source in sources for s in suppressions(source)]
    scopes = _Index((comment.scope, comment) for comment in comments if comment.scope is not None)
    kept = [r for r in told if not _silenced(r, scopes)]
    ran = {r.name for r in running if r.name in reporting}
    kept += _about_suppressions(comments, [r for r in running if r.on is Suppression], context, ran)
    kept = [r for r in kept if not selection.ignored_at(r.rule.name, r.span.source.path)]

    order = {source.path: n for n, source in enumerate(sources)}
    kept.sort(key=lambda r: (order.get(r.span.source.path, len(order)), r.span.start, r.rule.name))
    return Report(tuple(_unique(kept)), tuple(dict.fromkeys(skipped)), tuple(asked), target, tuple(faults))


def _in_several_branches(obj: Object) -> Iterator[str]:
    """The fields that a template writes more than once: what they mean is read from the first."""
    for node in obj.node.walk():
        names = [entry.name for entry in node.entries if entry.name is not None]
        if len(set(names)) < len(names):
            yield from (name for name, times in Counter(names).items() if times > 1)


def _without_facts(rules: Sequence[Rule], asked: Sequence[Object], target: Target) -> Iterator[Skipped]:
    """One skip for each rule that needs facts from AWS and would have had something to look at."""
    kinds = {type(obj) for obj in asked if served(obj, target.karpenter)}
    for rule in rules:
        if rule.needs and any(issubclass(kind, rule.on) for kind in kinds):
            try:
                target.facts.answer(Question(rule.needs[0]))
            except Missing as missing:
                yield Skipped(rule.name, "", None, missing.reason, missing.transient, missing.kind)


def _first_causes(raw: Sequence[Result]) -> list[Result]:
    """One cause, one finding: drop what a rule says about a place that a rule it gives way to explains.

    What is less grave explains nothing: a warning in the place of an error would let a run pass.
    """
    better: dict[tuple[str, int, Severity], _Index] = {}
    places: dict[tuple[str, int, Severity], list[Span]] = {}
    for result in raw:
        of_rule = places.setdefault((result.rule.name, id(result.object), result.severity), [])
        of_rule += [result.span, *map(span_of, result.finding.covers)]
    kept = []
    for result in raw:
        as_grave = SEVERITIES[: SEVERITIES.index(result.severity) + 1]
        for name, severity in product(result.rule.gives_way_to, as_grave):
            key = (name, id(result.object), severity)
            if key in places and key not in better:
                better[key] = _Index((span, span) for span in places[key])
            if key in better and _explained(result, better[key]):
                break
        else:
            kept.append(result)
    return kept


def _explained(result: Result, better: _Index) -> bool:
    """Whether a place of the better findings holds this one's, or meets what this one covers.

    What is said of a whole mapping is not explained by a mistake somewhere inside it.
    """
    if any(place.holds(result.span) for place in better.near(result.span)):
        return True
    covered = map(span_of, result.finding.covers)
    return any(place.touches(span) for span in covered for place in better.near(span))


def _unique(results: Iterable[Result]) -> Iterable[Result]:
    """A place reached through several aliases is reported once."""
    seen = set()
    for r in results:
        mark = (r.rule.name, r.span.source.path, r.span.start, r.span.end, r.finding.message)
        if mark not in seen:
            seen.add(mark)
            yield r


class _Index:
    """Things by their places, so that few have to be asked about a place."""

    def __init__(self, things: Iterable[tuple[Span, Any]]) -> None:
        self._by_source: dict[int, list[tuple[Span, Any]]] = {}
        for span, thing in things:
            self._by_source.setdefault(id(span.source), []).append((span, thing))
        self._furthest: dict[int, list[int]] = {}
        for source, pairs in self._by_source.items():
            pairs.sort(key=lambda pair: pair[0].start)
            self._furthest[source] = list(accumulate((span.end for span, _ in pairs), max))

    def near(self, place: Span) -> Iterator[Any]:
        """What may share a character or a border with the place, the last first."""
        pairs = self._by_source.get(id(place.source), [])
        at = bisect_right(pairs, place.end, key=lambda pair: pair[0].start) - 1
        while at >= 0 and self._furthest[id(place.source)][at] >= place.start:
            yield pairs[at][1]
            at -= 1


def _silenced(result: Result, scopes: _Index) -> bool:
    hit = False
    for comment in scopes.near(result.span):
        if comment.silences(result.rule.name, result.finding):
            comment.used.add(result.rule.name)
            hit = True
    return hit


def _about_suppressions(
    comments: Sequence[Suppression], rules: Sequence[Rule], context: Context, ran: set[str]
) -> list[Result]:
    """What the rules about suppressions say; a comment for a rule that did not run is left in peace."""
    results = []
    for rule in rules:
        for comment in comments:
            known = [name for name in comment.rules if name in context.rule_names]
            if all(name in ran for name in known):
                said = rule.check(comment, context)
                results += [Result(rule, f, None) for f in said if isinstance(f, Finding)]
    return results


Judge = Callable[[Sequence[Source], Target, Mapping[str, Rule], Selection, Sequence[Source]], Report]
"""What judges sources as `lint` does."""


class Fixed(NamedTuple):
    """What fixing made of the sources: `sources` hold the new texts, `report` what is left to say.

    `applied` are the results whose edits were written; `refused` those whose edits would have broken
    the file, with the reason.
    """

    sources: tuple[Source, ...]
    report: Report
    applied: tuple[Result, ...]
    refused: tuple[tuple[Result, str], ...]


def fix(
    sources: Sequence[Source],
    target: Target,
    rules: Mapping[str, Rule],
    selection: Selection = DEFAULTS,
    context_sources: Sequence[Source] = (),
    unsafe: bool = False,
    judge: Judge | None = None,
) -> Fixed:
    """Apply fixes until nothing changes: safe ones, with `unsafe` the others too.

    A fix is applied whole or not at all, and is left out when the new text does not parse or breaks
    the schema where the old one did not. `judge` stands in for `lint`.
    """
    judge = judge or lint
    current = list(sources)
    applied: list[Result] = []
    refused: dict[tuple[str, str, str], tuple[Result, str]] = {}
    report = judge(current, target, rules, selection, context_sources)
    for _ in range(_ROUNDS):
        chosen = _compatible(report.results, current, unsafe, refused)
        if not chosen:
            break
        new = _rewritten(current, chosen)
        if why_broken(current, new, target):
            # One of them is to blame: try them alone, and remember those that do harm.
            chosen_alone: list[Result] = []
            new = current
            for result in chosen:
                alone = _rewritten(current, [*chosen_alone, result])
                why = why_broken(current, alone, target)
                if why:
                    refused[_mark(result)] = (result, why)
                else:
                    chosen_alone.append(result)
                    new = alone
            chosen = chosen_alone
        applied += chosen
        # Objects that change together carry the same edits: what mends one mends the other.
        done = [tuple(r.finding.edits) for r in chosen]
        applied += [r for r in report.results if r not in chosen and tuple(r.finding.edits) in done]
        current = new
        report = judge(current, target, rules, selection, context_sources)
    return Fixed(tuple(current), report, tuple(applied), tuple(refused.values()))


def _mark(result: Result) -> tuple[str, str, str]:
    return result.rule.name, result.span.source.path, result.finding.message


def _compatible(
    results: Sequence[Result],
    sources: Sequence[Source],
    unsafe: bool,
    refused: dict[tuple[str, str, str], tuple[Result, str]],
) -> list[Result]:
    """The fixes of one round, in the order of place, leaving out what touches an accepted one.

    A fix that reaches into a file that the user did not name joins the refused.
    """
    chosen: list[Result] = []
    taken: list[Span] = []
    asked = {id(source) for source in sources}
    for result in results:
        spans = [edit.span for edit in result.finding.edits]
        if not spans or (result.safety == "unsafe" and not unsafe) or _mark(result) in refused:
            continue
        beyond = next((span.source.path for span in spans if id(span.source) not in asked), None)
        if beyond is not None:
            refused[_mark(result)] = (result, f"it changes {beyond} too, which was not named")
            continue
        if not any(mine.touches(other) for mine in spans for other in taken):
            chosen.append(result)
            taken += spans
    return chosen


def _rewritten(sources: Sequence[Source], results: Sequence[Result]) -> list[Source]:
    edits: dict[int, list[Edit]] = {}
    for result in results:
        for edit in result.finding.edits:
            edits.setdefault(id(edit.source), []).append(edit)
    return [s.with_text(apply(s.text, edits[id(s)])) if id(s) in edits else s for s in sources]


def why_broken(before: Sequence[Source], after: Sequence[Source], target: Target) -> str | None:
    """Why the new texts are worse than the old ones; None when they are not."""
    for old, new in zip(before, after, strict=True):
        if new is old:
            continue
        if len(new.problems) > len(old.problems) or len(new.set_aside) > len(old.set_aside):
            return "the file would no longer parse"
        fresh = _schema_faults(new, target) - _schema_faults(old, target)
        gone = [o for o in objects(old) if not served(o, target.karpenter)]
        if fresh and not gone:
            return f"the API server would refuse the file: {next(iter(fresh))}"
    return None


def _schema_faults(source: Source, target: Target) -> Counter[str]:
    found = [o for o in objects(source) if served(o, target.karpenter)]
    context = Context(found, target.karpenter, target.kubernetes, target.schemas)
    return Counter(problem.message for obj in found for problem in context.problems(obj))
