"""The pipeline: sources are parsed to objects, rules check them, and their findings form a report."""

from __future__ import annotations

import os
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
from nodelint.lint.release_results import point_to_statements
from nodelint.lint.results import (
    Result,
    Suppressed,
    drop_set_aside,
    each_place,
    hold_reminders,
    once_in_a_run,
    unique,
)
from nodelint.lint.suppression_filter import Suppressing, apply_suppressions
from nodelint.model.documents import left_out, objects
from nodelint.model.finding import SEVERITIES, Severity
from nodelint.model.gap import Gap, gap_of
from nodelint.model.manifest import NodePool, Object
from nodelint.model.providers import judged_in_part
from nodelint.rule.classification import GROUPS, PROFILES, Group
from nodelint.rule.definition import Rule
from nodelint.rule.target import Target
from nodelint.text import Source
from nodelint.text.syntax_errors import RenderingProblem

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
    """The rules that report: those of `groups` or of `select`, and those of `extra`, without `ignore`.

    The `per_path` globs start at `root` and match paths as `Globs` does with `seen_as`. A preview rule reports only
    with `preview`, even if it is named.
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
        """Return whether the rule reports."""
        if rule.preview and not self.preview:
            return False
        chosen = rule.group in self.groups if self.select is None else rule.name in self.select
        return (chosen or rule.name in self.extra) and rule.name not in self.ignore

    def shows(self, result: Result) -> bool:
        """Return whether a finding of a reporting rule is shown.

        Findings of the strict profile are hidden by default.

        A finding `on_request` is shown only if its rule is named.
        """
        if self.select is not None or result.rule.name in self.extra:
            return True
        return not result.finding.on_request and (not result.finding.strict or self.strict)

    @property
    def strict(self) -> bool:
        """Return whether findings of the strict profile are shown."""
        return self.select is not None or "practice" in self.groups

    def needs_strict(self, sources: Iterable[Source]) -> bool:
        """Return whether rules must look for findings of the strict profile: the user asks for them, or a `nodelint:`
        comment may suppress one.
        """
        return self.strict or bool(self.extra) or any(source.holds("nodelint:") for source in sources)

    def ignored_at(self, rule: str, path: str) -> bool:
        """Return whether a per-path ignore names the rule for this path."""
        globs = (glob for glob, rules in self.per_path.items() if rule in rules)
        return Globs(globs, self.root, self.seen_as).match(path)


DEFAULTS = Selection()


class Report(NamedTuple):
    """The result of a run. `objects` are the requested objects, without those read for context.

    `faults` are errors that rules raised; findings of other rules stay. `chosen` are the releases of each object by
    its id, if they differ from the release of `target`. `unjudged` counts objects and documents that were seen but
    not judged: classes of other providers, unreadable text. `seen` are the objects as clusters get them: rendered
    objects instead of templates. `skipped` are the gaps, `unbuilt` are remarks on rendered overlays. `suppressed` are
    the findings that comments and `per-path-ignores` silence.
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
    suppressed: tuple[Suppressed, ...] = ()

    @property
    def places(self) -> list[Result]:
        """Return the results, with one result for each place if a result stands for several."""
        return list(each_place(self.results))

    @property
    def issues(self) -> list[Result]:
        """Return the results for a list of issues: one for findings that are reported once in a run, else one for
        each place.
        """
        return [r for result in self.results for r in ((result,) if result.finding.once else each_place((result,)))]

    def number_of(self, severity: Severity) -> int:
        return sum(r.severity == severity for r in self.results)

    def at_or_above(self, severity: Severity) -> bool:
        """Return whether any result has this severity or a higher one."""
        return any(SEVERITIES.index(r.severity) <= SEVERITIES.index(severity) for r in self.results)


class LintRequest(NamedTuple):
    """The target, the rules and the selection of a run.

    `context_sources` are not judged; judged objects may refer to their objects. `only` are the ids of the objects and
    files to judge; None means all. `is_part`: the files are a part of their repository.
    """

    target: Target
    rules: Mapping[str, Rule]
    selection: Selection = DEFAULTS
    context_sources: Sequence[Source] = ()
    only: Set[int] | None = None
    is_part: bool = False


def lint(
    sources: Sequence[Source],
    request: LintRequest,
    *,
    pause: Callable[[], None] = lambda: None,
    jobs: int | None = 1,
    memory: ResultCaches | None = None,
    built: Sequence[Built] = (),
) -> Report:
    """Judge the objects of `sources` as `request` asks, and return the report.

    `built` are the rendered manifests of sources: they are judged instead of their inputs, and findings are reported
    at the source files. `pause` is called between objects and may raise an exception to end the run. `jobs` is the
    number of processes, None for an automatic number; the report does not depend on it. `memory` holds the results of
    the last run and is updated; only one process is used then.
    """
    target, rules, selection, context_sources, *_ = request
    requested = [obj for source in sources for obj in objects(source, foreign=True, more=True)]
    if built:
        from nodelint.lint.rendered import Replacement

        replacement = Replacement(built)
        requested = replacement.left(requested)
    context_objects = [obj for source in context_sources for obj in objects(source, foreign=True)]
    setup = _prepare(request, sources)
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
        raw, requested, chosen = more.reported, more.objects, {**chosen, **more.chosen}
        faults = [*faults, *more.faults]
    stating = _read_stating(target, raw := [*raw, *_judge_stated(request, setup, requested)])
    raw = point_to_statements(raw, (*stating, *sources))
    by_comments = _list_suppressing((*sources, *setup.files_of_roots), stating, raw, request)
    parts = apply_suppressions(raw, by_comments, setup.running, setup.reporting, made.context)
    shown, hidden = _select(parts, sources, selection)
    ours = tuple(obj for obj in requested if obj.counted)
    seen = replacement.cluster_objects(ours) if built else ours
    things = shown, tuple(dict.fromkeys(skipped)), ours, target, tuple(dict.fromkeys(faults))
    unbuilt = tuple(dict.fromkeys(problem for text in built for problem in text.problems))
    return Report(*things, chosen, len(unread) + _count_broken(sources), seen, unbuilt, hidden)


def _judge_stated(request: LintRequest, setup: RuleSetup, judged: Sequence[Object]) -> Sequence[Result]:
    """Return the findings about releases that the files of a part of a repository state, if it has no NodePool."""
    if not request.is_part or request.target.choose is None:
        return ()
    from nodelint.lint.stated_alone import judge_alone

    return judge_alone(setup, judged)


def _read_stating(target: Target, results: Sequence[Result]) -> Sequence[Source]:
    """Return the files that may state a release, if a finding is about one."""
    if target.stated is None or not any(result.stated is not None for result in results):
        return ()
    return target.stated().stating


def _list_suppressing(
    files: Sequence[Source], stating: Sequence[Source], results: Sequence[Result], request: LintRequest
) -> Suppressing:
    """Return the files whose comments suppress findings: those of the run, those that may state a release, and those
    with a value of a finding.
    """
    judged = {source.path for source in files}
    with_values = dict.fromkeys(span.source for result in results for span in result.through)
    others = dict.fromkeys((*stating, *(source for source in with_values if isinstance(source, Source))))
    return Suppressing(files, [source for source in others if source.path not in judged], request.is_part)


def _select(
    found: tuple[Sequence[Result], Sequence[Suppressed]], sources: Sequence[Source], selection: Selection
) -> tuple[tuple[Result, ...], tuple[Suppressed, ...]]:
    """Return the results that the profile shows, and those that comments or `per-path-ignores` silence."""
    results, suppressed = found
    shown, ignored = _part_ignored(filter(selection.shows, results), selection)
    return _in_order(shown, sources, selection), _sort_suppressed([*suppressed, *ignored], sources, selection)


def _prepare(request: LintRequest, sources: Sequence[Source]) -> RuleSetup:
    """Return which rules look at objects and files, and for what."""
    target, rules, selection, _, only, _ = request
    reporting = {name for name, rule in rules.items() if selection.enables(rule)}
    setup = RuleSetup(target, rules, reporting, _running(rules, reporting), selection.needs_strict(sources), only)
    return setup._replace(files_of_roots=_list_files_of_roots(setup, sources))


def _list_files_of_roots(setup: RuleSetup, sources: Sequence[Source]) -> Sequence[Source]:
    """Return the files of the root modules with Karpenter that are no files of the run, if a rule looks at them."""
    stated = setup.target.stated
    if stated is None or setup.only is not None or not any("root-module" in rule.tags for rule in setup.running):
        return ()
    if not any(source.path.endswith((".tf", ".tofu", ".tf.json", ".tofu.json")) for source in sources):
        return ()
    judged = {os.path.abspath(source.path) for source in sources}
    return [source for source in stated().terraform.files_of_roots if os.path.abspath(source.path) not in judged]


def _count_broken(sources: Sequence[Source]) -> int:
    """Return the number of documents about Karpenter that cannot be parsed."""
    return sum(source.concerns_karpenter(problem.offset) for source in sources for problem in source.problems)


def _in_order(results: Iterable[Result], sources: Sequence[Source], selection: Selection) -> tuple[Result, ...]:
    """Return the results without duplicates, sorted by file and place."""
    shown = list(unique(sorted(results, key=_place_key(sources))))
    # A rule that is asked for by its name answers.
    if selection.select is None:
        shown = hold_reminders(drop_set_aside(shown, sources))
    return tuple(once_in_a_run(shown))


def _place_key(sources: Sequence[Source]) -> Callable[[Result], tuple[int, int, str]]:
    order = {source.path: n for n, source in enumerate(sources)}

    def place(result: Result) -> tuple[int, int, str]:
        at = result.finding.at
        return order.get(at.source.path, len(order)), at.start, result.rule.name

    return place


def _sort_suppressed(
    suppressed: Sequence[Suppressed], sources: Sequence[Source], selection: Selection
) -> tuple[Suppressed, ...]:
    """Return the suppressed findings that the profile would show, by file and place, each once."""
    if not suppressed:
        return ()
    key = _place_key(sources)
    once = {
        (key(hidden.result), hidden.result.message): hidden for hidden in suppressed if selection.shows(hidden.result)
    }
    return tuple(once[mark] for mark in sorted(once))


def _part_ignored(results: Iterable[Result], selection: Selection) -> tuple[list[Result], list[Suppressed]]:
    """Return the results that are reported, and those that `per-path-ignores` silences."""
    if not selection.per_path:
        return list(results), []
    known: dict[tuple[str, str], bool] = {}
    shown: list[Result] = []
    ignored: list[Suppressed] = []
    for result in results:
        where = result.rule.name, result.finding.at.source.path
        if where not in known:
            known[where] = selection.ignored_at(*where)
        if known[where]:
            ignored.append(Suppressed(result, None))
        else:
            shown.append(result)
    return shown, ignored


def _running(rules: Mapping[str, Rule], reporting: Set[str]) -> list[Rule]:
    """Return the rules to run: those that report, and those that supersede a reporting rule.

    A superseding rule runs without reporting if its group is not stricter than that of the reporting rule. Otherwise
    a profile without it would lose the mistake.
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
    """Yield a gap for each part of an object that no rule has checked."""
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
    """Yield a gap for each object or document of a file that is not judged at all."""
    yield from (gap_of(None, source.path, obj, reason) for obj, reason in left_out(source, foreign=True))
    asides = [aside for aside in source.set_aside if source.concerns_karpenter(aside.offset)]
    for aside in asides:
        gap = gap_of(None, source.path, None, aside.message)
        yield gap._replace(fails=isinstance(aside, RenderingProblem))
