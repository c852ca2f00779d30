"""The pipeline: sources become objects, rules look at them, findings become a report, fixes new texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from types import MappingProxyType

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.files.globs import Globs
from nodelint.lint.judging import (
    MAX_FINDINGS,
    ObjectMap,
    RuleSetup,
    judge_in_turn,
    judge_objects,
    share_objects,
)
from nodelint.lint.results import Result, drop_set_aside, each_place, hold_reminders, once_in_a_run, unique
from nodelint.lint.suppression_filter import apply_suppressions
from nodelint.model.documents import left_out, objects
from nodelint.model.finding import SEVERITIES, Severity
from nodelint.model.gap import Gap, gap_of
from nodelint.model.manifest import NodePool, Object
from nodelint.model.providers import judged_in_part
from nodelint.rule.classification import GROUPS, PROFILES, Group
from nodelint.rule.definition import Rule
from nodelint.rule.target import Target
from nodelint.text import Source

if TYPE_CHECKING:
    from nodelint.forms.rendered import Built
    from nodelint.lint.incremental import ResultCaches
    from nodelint.releases.release_choice import Chosen

__all__ = [
    "DEFAULTS",
    "MAX_FINDINGS",
    "LintRequest",
    "Report",
    "Result",
    "Selection",
    "Target",
    "lint",
]


class Selection(NamedTuple):
    """Which rules report: those of `groups`, or those that `select` names, and those that `extra` names.

    `per_path` globs start at `root`, and take paths as `Globs` does by `seen_as`. A preview rule reports with
    `preview` alone, whatever names it.
    """

    select: frozenset[str] | None = None
    ignore: frozenset[str] = frozenset()
    per_path: Mapping[str, frozenset[str]] = MappingProxyType({})
    root: str = ""
    groups: frozenset[Group] = PROFILES["default"]
    extra: frozenset[str] = frozenset()
    preview: bool = False
    seen_as: tuple[str, str] | None = None

    def enables(self, rule: Rule) -> bool:
        """Whether the rule reports."""
        if rule.preview and not self.preview:
            return False
        chosen = rule.group in self.groups if self.select is None else rule.name in self.select
        return (chosen or rule.name in self.extra) and rule.name not in self.ignore

    def shows(self, result: Result) -> bool:
        """Whether a finding of a rule that reports is shown: those for the strict profile are not by default.

        No profile shows those on request: the rule has to be asked for.
        """
        if self.select is not None or result.rule.name in self.extra:
            return True
        return not result.finding.on_request and (not result.finding.strict or self.strict)

    @property
    def strict(self) -> bool:
        """Whether findings for the strict profile are shown."""
        return self.select is not None or "practice" in self.groups

    def needs_strict(self, sources: Iterable[Source]) -> bool:
        """Whether rules must look for findings of the strict profile: these are shown, or a `nodelint:` comment may
        silence one.
        """
        return self.strict or bool(self.extra) or any(source.holds("nodelint:") for source in sources)

    def ignored_at(self, rule: str, path: str) -> bool:
        """Whether a per-path ignore names the rule for this path."""
        globs = (glob for glob, rules in self.per_path.items() if rule in rules)
        return Globs(globs, self.root, self.seen_as).match(path)


DEFAULTS = Selection()


class Report(NamedTuple):
    """What a run has to say. `objects` are those it was asked about, not those read for context.

    `faults` are rules that raised an error over an object; the findings of other rules stay. `chosen` are
    the releases of each object, by its id, where not all are judged for the `target`'s own. `unjudged` counts objects
    and documents that were seen and are not one of these: classes of other providers, what cannot be read. `seen` are
    the objects as the clusters get them: in the place of those of a template what is built of it. `skipped` is what
    was not judged, `unbuilt` are remarks on overlays that are built.
    """

    results: tuple[Result, ...]
    skipped: tuple[Gap, ...]
    objects: tuple[Object, ...]
    target: Target
    faults: tuple[str, ...] = ()
    chosen: Mapping[int, tuple[Chosen, ...]] = MappingProxyType({})
    unjudged: int = 0
    seen: tuple[Object, ...] = ()
    unbuilt: tuple[Gap, ...] = ()

    @property
    def places(self) -> list[Result]:
        """The results, each place on its own where one of them stands for several."""
        return list(each_place(self.results))

    @property
    def issues(self) -> list[Result]:
        """The results as a list of issues has them: of what is said once in a run one, of all else each place."""
        return [r for result in self.results for r in ((result,) if result.finding.once else each_place((result,)))]

    def number_of(self, severity: Severity) -> int:
        return sum(r.severity == severity for r in self.results)

    def at_or_above(self, severity: Severity) -> bool:
        """Whether anything is as grave as `severity` or graver."""
        return any(SEVERITIES.index(r.severity) <= SEVERITIES.index(severity) for r in self.results)


class LintRequest(NamedTuple):
    """What a run asks: for what the manifests are judged, by which rules, and which of these report.

    `context_sources` are not judged: what is may refer to their objects. `only` are the ids of the objects and files
    that are judged where not all are.
    """

    target: Target
    rules: Mapping[str, Rule]
    selection: Selection = DEFAULTS
    context_sources: Sequence[Source] = ()
    only: Set[int] | None = None


def lint(
    sources: Sequence[Source],
    request: LintRequest,
    *,
    pause: Callable[[], None] = lambda: None,
    jobs: int | None = 1,
    memory: ResultCaches | None = None,
    built: Sequence[Built] = (),
) -> Report:
    """Judge the objects of `sources` as `request` asks.

    `built` is what the clusters get of some of the sources. What it stands for is not judged as it is written, and
    findings about it stand where its values are written. `pause` is called between objects, and may raise to end the
    run. `jobs` processes share the objects; None for as many as suit. What is said, and in which order, does not
    depend on it. `memory` holds what was said in the run before, and is left what is said in this one; one process
    then judges all.
    """
    target, rules, selection, context_sources, only = request
    requested = [obj for source in sources for obj in objects(source, foreign=True, more=True)]
    if built:
        from nodelint.lint.rendered import Replacement

        replacement = Replacement(built)
        requested = replacement.left(requested)
    context_objects = [obj for source in context_sources for obj in objects(source, foreign=True)]
    reporting = {name for name, rule in rules.items() if selection.enables(rule)}
    setup = RuleSetup(target, rules, reporting, _running(rules, reporting), selection.needs_strict(sources), only)
    requested, context_objects = setup.part(requested, context_objects)
    shared = (*rules.values(), *requested, *context_objects), (*sources, *context_sources)

    def share(objects: Sequence[Object]) -> ObjectMap:
        return (share_objects(jobs, objects, shared, pause) if memory is None else None) or judge_in_turn(pause)

    made = judge_objects(setup, requested, context_objects, setup.files(sources), share, memory)
    raw, chosen, faults = made.results, made.chosen, made.faults
    unread = [s for source in sources for s in _not_read(source) if not built or not replacement.is_judged(s, rules)]
    skipped = [*made.skipped, *_not_looked_at(requested), *unread]
    if built:
        more = replacement.judge(setup, made, requested, (sources, context_sources), judge_in_turn(pause))
        skipped = [*replacement.kept_skips(skipped, rules), *more.skipped]
        raw = _with_plain_workloads(setup, built, sources, context_sources, more.reported, pause)
        requested, chosen, faults = more.objects, {**chosen, **more.chosen}, [*faults, *more.faults]
    results = apply_suppressions(raw, sources, setup.running, reporting, made.context)
    ours = tuple(obj for obj in requested if obj.counted)
    seen = replacement.cluster_objects(ours) if built else ours
    things = _in_order(results, sources, selection), tuple(dict.fromkeys(skipped)), ours
    unbuilt = tuple(dict.fromkeys(problem for text in built for problem in text.problems))
    unjudged = len(unread) + _count_broken(sources)
    return Report(*things, target, tuple(dict.fromkeys(faults)), chosen, unjudged, seen, unbuilt)


def _with_plain_workloads(
    setup: RuleSetup,
    built: Sequence[Built],
    sources: Sequence[Source],
    context_sources: Sequence[Source],
    results: list[Result],
    pause: Callable[[], None],
) -> list[Result]:
    """Results with what is said of workloads in plain files, where any are read."""
    if not any("workloads" in rule.tags for rule in setup.running):
        return results
    from nodelint.lint.plain_workloads import judge_plain_workloads

    return judge_plain_workloads(setup, built, sources, context_sources, results, judge_in_turn(pause))


def _count_broken(sources: Sequence[Source]) -> int:
    """Return the documents of Karpenter's that cannot be read."""
    return sum(source.concerns_karpenter(problem.offset) for source in sources for problem in source.problems)


def _in_order(results: Iterable[Result], sources: Sequence[Source], selection: Selection) -> tuple[Result, ...]:
    """Return the results that are shown, each once, by file and place."""
    order = {source.path: n for n, source in enumerate(sources)}

    def place(result: Result) -> tuple[int, int, str]:
        at = result.finding.at
        return order.get(at.source.path, len(order)), at.start, result.rule.name

    shown = list(unique(sorted(_not_ignored(filter(selection.shows, results), selection), key=place)))
    # A rule that is asked for by its name answers.
    if selection.select is None:
        shown = hold_reminders(drop_set_aside(shown, sources))
    return tuple(once_in_a_run(shown))


def _not_ignored(results: Iterable[Result], selection: Selection) -> Iterable[Result]:
    """Return the results that no per-path ignore is about."""
    if not selection.per_path:
        return results
    known: dict[tuple[str, str], bool] = {}
    shown_results = []
    for result in results:
        where = result.rule.name, result.finding.at.source.path
        if where not in known:
            known[where] = selection.ignored_at(*where)
        if not known[where]:
            shown_results.append(result)
    return shown_results


def _running(rules: Mapping[str, Rule], reporting: Set[str]) -> list[Rule]:
    """Return the rules that look at objects: those that report, and those that may explain better what these find.

    Such a rule silences one that reports even where it does not report itself. One of a less strict group does not: a
    profile without it would lose the mistake.
    """
    running = {
        other
        for name in reporting
        for other in (name, *rules[name].gives_way_to)
        if other in reporting
        or (other in rules and GROUPS.index(rules[other].group) <= GROUPS.index(rules[name].group))
    }
    return [rules[name] for name in rules if name in running]


def _not_looked_at(objects: Sequence[Object]) -> Iterator[Gap]:
    """Yield what of objects no rule has looked at."""
    if any(obj.source.masked for obj in objects):
        from nodelint.lint.template_branches import not_judged
    for obj in objects:
        for name in not_judged(obj) if obj.source.masked and not obj.of_cluster else ():
            reason = f"of `{name}`, written in several branches of a template, only the first is judged as a whole"
            yield gap_of(None, obj.source.path, obj, reason)
        if isinstance(obj, NodePool) and obj.provider == "other":
            kind = obj.class_ref.kind if obj.class_ref else None
            reason = judged_in_part(obj.provider, kind, obj.version, obj.has_ec2_types)
            yield gap_of(None, obj.source.path, obj, reason)


def _not_read(source: Source) -> Iterator[Gap]:
    """Yield the objects and documents of a file that are not judged at all."""
    yield from (gap_of(None, source.path, obj, reason) for obj, reason in left_out(source, foreign=True))
    asides = [aside for aside in source.set_aside if source.concerns_karpenter(aside.offset)]
    yield from (gap_of(None, source.path, None, aside.message) for aside in asides)
