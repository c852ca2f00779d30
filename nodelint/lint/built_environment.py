"""Judge the rendered manifests of one environment, and report the findings at the source files."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.forms.registry import TABLE
from nodelint.lint.cluster_releases import OfClusters, drop_dependent
from nodelint.lint.judging import judge_objects
from nodelint.lint.results import Result
from nodelint.lint.written_places import (
    find_written_object,
    has_part,
    lead_also,
    lead_withheld,
    list_given_parts,
    list_own_values,
    map_to_written,
    name_values,
)
from nodelint.model.documents import objects
from nodelint.model.finding import Also, Edit, Finding, Span, Withheld, span_of
from nodelint.model.gap import Gap
from nodelint.model.manifest import EC2NodeClass
from nodelint.text import Node

if TYPE_CHECKING:
    from nodelint.forms.rendered import Built, LedEdits, ValueOrigin
    from nodelint.lint.cluster_workloads import ClusterWorkloads
    from nodelint.lint.judging import ObjectMap, Outcome, RuleSetup
    from nodelint.model.manifest import Object
    from nodelint.releases.release_choice import Chosen
    from nodelint.rule.definition import Rule
    from nodelint.text import Source, SourceText

_NOT_OF_DEFAULTS = frozenset({"names", "template-code"})
"""Tags of rules that do not apply to the result of a chart's default values."""


def is_about_defaults(rule: Rule) -> bool:
    """Return whether a rule applies to a chart rendered with its default values.

    It does if it needs no facts of an AWS account and does not depend on names.
    """
    return not rule.needs and _NOT_OF_DEFAULTS.isdisjoint(rule.tags)


class BuiltOutcome(NamedTuple):
    """The results for files and rendered manifests together."""

    reported: list[Result]
    skipped: list[Gap]
    faults: list[str]
    objects: list[Object]
    chosen: dict[int, tuple[Chosen, ...]]


class KnownFindings:
    """The findings of the files and of the environments judged before, so that none is reported twice."""

    def __init__(self, results: Sequence[Result]) -> None:
        self.results: list[Result] = []
        self.mistakes: set[object] = set()
        self.places: set[tuple[str, Span]] = set()
        self.add(results)

    def add(self, results: Sequence[Result]) -> None:
        self.results += results
        self.mistakes.update(map(_mistake, results))


class AllFiles(NamedTuple):
    """The ids of the files whose findings are requested, and the objects of all files with objects, by path.

    - `of_clusters`: the templates that are rendered with the values of clusters.
    - `shared_values`: the paths of values files with which several environments are rendered.
    """

    asked: Collection[int]
    with_objects: Sequence[tuple[str, Sequence[Object]]]
    of_clusters: OfClusters
    shared_values: Set[str]


def list_files(
    read: tuple[Sequence[Source], Sequence[Source]], of_clusters: OfClusters, environments: Sequence[Sequence[Built]]
) -> AllFiles:
    values = Counter(path for built in environments for path in {path_of(f) for text in built for f in text.given})
    shared = {path for path, count in values.items() if count > 1}
    by_path = [(path_of(source), list(objects(source, foreign=True))) for source in (*read[0], *read[1])]
    with_objects = [(path, found) for path, found in by_path if found]
    return AllFiles({id(source) for source in read[0]}, with_objects, of_clusters, shared)


def _is_patch(obj: Object) -> bool:
    return obj.partial and bool(obj.source.part or obj.document.part or obj.document.target)


def _list_written_names(built: Sequence[Built]) -> set[tuple[str, object]]:
    """Return the kinds and names of objects as they are written before they are rendered.

    The patch of another overlay for one of them changes that overlay's copy, and defines no object of this name.
    """
    pairs = ((text, obj) for text in built for obj in objects(text.source, foreign=True))
    written = (text.written_object(obj) for text, obj in pairs)
    return {(obj.kind, obj.name) for obj in written if obj is not None}


class Environment:
    """The rendered manifests of one environment, and the objects of the files that are not part of it.

    `workloads` judges its workloads; None for an environment without defaults that may be replaced.
    """

    def __init__(
        self,
        built: list[Built],
        setup: RuleSetup,
        files: AllFiles,
        map_objects: ObjectMap,
        shared: set[str],
        workloads: ClusterWorkloads | None = None,
    ) -> None:
        self._shared = shared
        self._built = built
        self._workloads = workloads
        self._settled = settled = workloads is None
        self._by_default = built[0].by_default
        if self._by_default:
            running = [
                rule for rule in setup.running if is_about_defaults(rule) != settled or self._is_about_given(rule)
            ]
            running = [rule for rule in running if "template-code" not in rule.tags]
            reporting = setup.reporting & {rule.name for rule in running}
            setup = setup._replace(running=running, reporting=reporting)
        judging_workloads = () if workloads is None else workloads.rules
        running = [rule for rule in setup.running if rule not in judging_workloads]
        self._setup = setup._replace(running=running, files_of_roots=())
        self._found: Collection[tuple[str, Span]] = ()
        self._messages: Collection[tuple[str, str]] = ()
        self._each = map_objects
        # Without defaults, a file that passes values to a template may not be rendered: its own objects then count.
        parts = {path for text in built for path in (text.replaces if settled else text.parts)}
        around = (obj for path, found in files.with_objects if path not in parts for obj in found)
        own = _list_written_names(built)
        self._around = [obj for obj in around if not (_is_patch(obj) and (obj.kind, obj.name) in own)]
        self._asked = files.asked
        self._of_clusters = files.of_clusters
        self._shared_values = files.shared_values

    def judge(self, made: BuiltOutcome, known: KnownFindings, earlier: Sequence[Environment] = ()) -> None:
        """Add the findings of this environment to `made`, without those in `known`.

        `earlier` are the environments that were judged before. A finding is only reported as caused by the given
        values if the default values do not have it.
        """
        most = max(len(built.texts) for built in self._built)
        rounds = [self._judge_reading(number, made) for number in range(most)]
        self._found = {(result.rule.name, result.span) for result in rounds[0].values()}
        self._messages = {(result.rule.name, result.message) for result in rounds[0].values()}
        mistakes = known.mistakes if self._settled or not self._by_default else set()
        own: set[object] = set()
        given = self._built[0].given
        for finding_key, result in rounds[0].items():
            if result.stated is not None:
                made.reported.append(result)
                continue
            if not all(finding_key in others for others in rounds[1:]) or _mistake(result) in mistakes:
                continue
            if _mistake(result) in own:
                continue
            if self._by_default and _is_repeated(result, known.results):
                continue
            if given and (result.rule.name, result.span) in known.places:
                continue
            if self._is_about_given(result.rule) and not any(result.span.source is file for file in given):
                continue
            if given and not has_part(result, given):
                defaults = [run for run in earlier if run.is_default and run.takes(result.span.source)]
                if defaults and not any(run.finds(result) is False for run in defaults):
                    continue
                result = name_values(result, list_own_values(self._built[0], self._shared_values)[0])
            own.add(_mistake(result))
            made.reported.append(result)

    def _is_about_given(self, rule: Rule) -> bool:
        """Return whether a rule about names applies only to the given values, because nobody replaces these."""
        return bool(self._by_default and self._built[0].given) and not (self._settled or is_about_defaults(rule))

    def finds(self, result: Result) -> bool | None:
        """Return whether this environment has the finding as well.

        None if the file is not part of the environment, or if the rule does not run for it.
        """
        if result.rule.name not in self._setup.reporting or not self.takes(result.span.source):
            return None
        return (result.rule.name, result.span) in self._found

    def has_mistake(self, result: Result) -> bool:
        """Return whether this environment has the finding, or one with the same words at another place."""
        return (result.rule.name, result.message) in self._messages or bool(self.finds(result))

    @property
    def folders(self) -> set[str]:
        """Return the folder, or the values file, that distinguishes each rendered manifest from the others."""
        return {built.cluster for built in self._built}

    @property
    def is_default(self) -> bool:
        """Return whether these are charts with their default values."""
        return self._by_default and not self._built[0].given

    @property
    def is_of_cluster(self) -> bool:
        """Return whether a cluster gets these manifests, not only a chart's defaults in the place of its values."""
        return not self.is_default or self._built[0].applied_by[1] != ""

    @property
    def name(self) -> str:
        """Return the name of the environment for a message: the path of its own values, or of its folder."""
        built = self._built[0]
        own = list_own_values(built, self._shared_values)
        return os.path.relpath(own[0].path if own else built.cluster or built.source.path).replace(os.sep, "/")

    def has_own_place(self, result: Result) -> bool:
        """Return whether a finding shows a place in the values, or in the folder, of this environment alone."""
        spans = (result.span, *(place.span for place in result.finding.also))
        own = {id(file) for built in self._built for file in list_own_values(built, self._shared_values)}
        folder = os.path.join(self._built[0].cluster, "")
        return any(id(span.source) in own or path_of(span.source).startswith(folder) for span in spans)

    def takes(self, source: SourceText) -> bool:
        """Return whether the file is an input of a rendered manifest of this environment."""
        path = path_of(source)
        return any(path in built.parts for built in self._built)

    def asks_for(self, at: Node | Span) -> bool:
        """Return whether findings may be reported at this place: its file was requested."""
        return id(at.source) in self._asked

    def has_values_at(self, at: Node | Span) -> bool:
        """Return whether the place is in a values file with which the environment is rendered."""
        return any(at.source is file for built in self._built for file in built.given)

    def _judge_reading(self, number: int, made: BuiltOutcome) -> dict[object, Result]:
        """Return the findings for variant `number` of the unknown values, by the key that distinguishes findings."""
        texts = [built.texts[min(number, len(built.readings))] for built in self._built]
        built_of = {id(text): built for text, built in zip(texts, self._built, strict=True)}
        built_objects = [obj for text in texts for obj in objects(text, foreign=True, more=True)]
        judged, context_objects = self._setup.part(built_objects, self._around)
        outcome = judge_objects(self._setup, judged, context_objects, texts, lambda _: self._each)
        made.faults.extend(outcome.faults)
        if not self._by_default:
            self._add_objects(judged, outcome, built_of, made)
        elif number == 0 and not self._settled:
            written = {id(obj): built_of[id(obj.source)].written_object(obj) for obj in built_objects}
            have = {(obj.kind, str(obj.name), obj.source.path) for obj in made.objects}
            # What a template prints of values or of a named template alone is written as an object nowhere.
            made.objects.extend(
                obj
                for obj in built_objects
                if written[id(obj)] is None and (obj.kind, str(obj.name), obj.source.path) not in have
            )
            self._add_skips(outcome, {id(obj): written[id(obj)] or obj for obj in built_objects}, made)
        results = outcome.results
        if self.is_default:
            results = self._drop_of_no_cluster(results, outcome, built_of)
        if self._workloads is not None:
            results = [*results, *self._workloads.list_results(number, texts)]
        if self._settled and any(
            isinstance(o, EC2NodeClass) and not isinstance(o.name, str) for o in (*built_objects, *self._around)
        ):
            results = [result for result in results if "class-reference" not in result.rule.tags]
        found: dict[object, Result] = {}
        unfixed: list[_Unfixed] = []
        fixing = number == 0 and self._setup.only is None  # only the findings of a trial count
        for result in results:
            built = built_of.get(id(result.span.source))
            led = self._place(result) if built is None else self._lead(result, built, fixing)
            if led is None:
                continue
            finding_key = led.rule.name, led.span, led.finding.message
            if finding_key not in found:
                found[finding_key] = led
                has_lost = led.finding.withheld is not None and bool(result.finding.edits)
                if has_lost and built is not None and not self._by_default:
                    unfixed.append((finding_key, led, built, result.finding.edits))
        found.update(self._with_fixes(unfixed))
        return found

    def _drop_of_no_cluster(
        self, results: Sequence[Result], outcome: Outcome, built_of: Mapping[int, Built]
    ) -> list[Result]:
        """Return findings without those that depend on the release, of default values that no cluster gets."""

        def is_decided(result: Result, choices: Iterable[Chosen]) -> bool:
            built = built_of.get(id(result.span.source))
            is_default = built is not None and not built.applied_by[1]
            return is_default and self._of_clusters.decides(path_of(result.span.source), choices)

        return drop_dependent(results, is_decided, self._setup, outcome)

    def _place(self, result: Result) -> Result | None:
        """Return a finding that a rule reports about a source file, with the object of the file.

        None if the file is no input of this environment.
        """
        path = path_of(result.span.source)
        built = next((built for built in self._built if path in built.parts), None)
        if built is None:
            return None
        return result._replace(object=find_written_object(result.object, built, result.finding.at))

    def _lead(self, result: Result, built: Built, fixing: bool) -> Result | None:
        """Return a finding about a rendered manifest as a finding about the source files.

        None if it comes from none of the requested files.
        """
        finding = result.finding
        origin = built.find_origin(finding.at)
        if origin is None:
            return None
        own = list(lead_also(finding.also, built))
        at, steps = self._choose_place(origin, built)
        if at is None:
            return None
        also = [*steps, *own] if built.by_default else [*own, *steps]
        # A patch may be written in the file of the overlay itself.
        files = [step for step in steps if os.path.basename(span_of(step.at).source.path) not in TABLE.names]
        shown = also if built.given else [*own, *files]
        also += list_given_parts(
            result, [at, *(place.at for place in shown)], built, list_own_values(built, self._shared_values)
        )
        withheld = lead_withheld(finding.withheld, built)
        led = finding._replace(at=at, also=also, covers=(), edits=(), suggestions=(), withheld=withheld)
        if fixing:
            led = self._lead_fixes(led, finding, built)
        through = tuple(span_of(step.at) for step in origin.through)
        if at is not origin.at:  # a comment at the value counts as well
            through = (span_of(origin.at), *through)
        written = find_written_object(result.object, built, at)
        return result._replace(finding=led, object=written, through=through, built=result.object)

    def _lead_fixes(self, led: Finding, finding: Finding, built: Built) -> Finding:
        """Return the finding with its fix and suggestions as edits of source files.

        If this is not possible, `withheld` has the first reason.
        """
        withheld: Withheld | None = None
        if finding.edits:
            edits = self._lead_edits(finding.edits, led.at, built)
            if isinstance(edits, Withheld):
                withheld = edits
            else:
                led = led._replace(edits=edits.edits, safety="unsafe" if edits.shared else finding.safety)
        suggestions = []
        for suggestion in finding.suggestions:
            # A suggestion may change other environments: `judge_rendered` names them, and the user chooses.
            edits = built.lead_edits(suggestion.edits)
            if isinstance(edits, Withheld):
                withheld = withheld or edits
            else:
                suggestions.append(suggestion._replace(edits=edits.edits))
        # If an edit is offered, no reason is given for the others, except one of the rule itself.
        withheld = led.withheld if led.edits or suggestions else withheld or led.withheld
        return led._replace(suggestions=tuple(suggestions), withheld=withheld)

    def _lead_edits(self, wanted: Sequence[Edit], at: Node | Span, built: Built) -> LedEdits | Withheld:
        """Return edits of rendered text as edits of source files, or why they are withheld: they change another
        environment.
        """
        edits = built.lead_edits(wanted)
        if isinstance(edits, Withheld) or built.by_default:
            return edits
        changed = {path_of(edit.source) for edit in edits.edits} - {path_of(at.source)}
        if not changed & self._shared:
            return edits
        place = next(edit.span for edit in edits.edits if path_of(edit.source) in self._shared)
        return Withheld("shared", place, "other clusters take the file of the value too")

    def _choose_place(self, origin: ValueOrigin, built: Built) -> tuple[Node | Span | None, tuple[Also, ...]]:
        """Return the place at which a finding is reported, and the other places that contribute.

        It is the place where the value is written if its file was requested; else the first requested place that uses
        the value. None if no such file was requested.
        """
        if not built.by_default:
            return origin.at, origin.through
        if not self.asks_for(origin.at):
            for step in origin.through:
                if self.asks_for(step.at):
                    return step.at, (Also(origin.at, origin.role),) if origin.role else ()
        return origin.at, origin.through

    def _add_objects(
        self, objects: Sequence[Object], outcome: Outcome, built_of: Mapping[int, Built], made: BuiltOutcome
    ) -> None:
        """Add the source objects of the rendered objects to `made`, and the parts of them that are not judged."""
        written = map_to_written(objects, built_of)
        have = {id(obj) for obj in made.objects}
        made.objects.extend({id(obj): obj for obj in written.values() if id(obj) not in have}.values())
        made.chosen.update({id(written[key]): choices for key, choices in outcome.chosen.items()})
        self._add_skips(outcome, written, made)

    def _add_skips(self, outcome: Outcome, written: Mapping[int, Object], made: BuiltOutcome) -> None:
        """Add the gaps of rendered objects to `made` as gaps of the source objects."""
        for skip in outcome.skipped:
            obj = None if skip.object is None else written.get(id(skip.object), skip.object)
            path = skip.path and (obj.source.path if obj is not None else skip.path)
            made.skipped.append(skip._replace(place=skip.file_place._replace(path=path), object=obj))

    def _with_fixes(self, unfixed: Sequence[_Unfixed]) -> Iterator[tuple[object, Result]]:
        """Yield findings with the fix that the rule offers for the source object.

        This covers edits without a source, such as a field that is added. A fix is used if the rule reports the same
        about the source object and rendering the edited file gives the edited rendered text.
        """
        owners = {id(result.object): result.object for _, result, *_ in unfixed if result.object is not None}
        if not owners:
            return
        names = {result.rule.name for _, result, *_ in unfixed}
        running = [rule for rule in self._setup.running if rule.name in names]
        setup = self._setup._replace(running=running, reporting=self._setup.reporting & names)
        alone = judge_objects(setup, list(owners.values()), self._around, (), lambda _: self._each)
        fixes = {(r.rule.name, r.span, r.finding.message): r.finding for r in alone.results if r.finding.edits}
        for finding_key, result, built, edits in unfixed:
            same = fixes.get((result.rule.name, result.span, result.finding.message))
            if same is not None and built.confirms(edits, same.edits):
                finding = result.finding._replace(edits=same.edits, safety=same.safety, withheld=None)
                yield finding_key, result._replace(finding=finding)


_Unfixed = tuple[object, Result, "Built", Sequence[Edit]]
"""The key of a finding, the finding without its fix, the rendered object that it concerns, and the edits of
the fix.
"""


def _mistake(result: Result) -> tuple[object, ...]:
    """Return a key that is equal for findings about one mistake: the place, and the message without numbers."""
    span = result.span
    message = re.sub(r"[0-9][0-9.,]*", "0", result.finding.message)
    return result.rule.name, span.source.path, span.start, span.end, message


def _is_repeated(result: Result, known: Sequence[Result]) -> bool:
    """Return whether the rule reports the same about the template itself."""
    at = result.span
    return any(other.rule is result.rule and other.span.touches(at) for other in known)


def path_of(source: SourceText) -> str:
    """Return the absolute path of a source."""
    return os.path.abspath(source.path)
