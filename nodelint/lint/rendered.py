"""Run rules on rendered manifests and map the findings to the source files."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.lint.judging import judge_objects
from nodelint.lint.results import Result
from nodelint.lint.written_places import (
    GIVEN_PART,
    find_written_object,
    lead_also,
    lead_withheld,
    list_given_parts,
    map_to_written,
    withhold_shared,
)
from nodelint.model.documents import objects
from nodelint.model.finding import Also, Edit, Finding, Span, Withheld, span_of
from nodelint.model.gap import Gap
from nodelint.model.manifest import EC2NodeClass
from nodelint.text import Node

if TYPE_CHECKING:
    from nodelint.forms.rendered import Built, LedEdits, ValueOrigin
    from nodelint.lint.judging import ObjectMap, Outcome, RuleSetup
    from nodelint.model.manifest import Object
    from nodelint.releases.release_choice import Chosen
    from nodelint.rule.definition import Rule
    from nodelint.text import Source, SourceText

_NOT_OF_DEFAULTS = frozenset({"names", "template-code"})
"""Tags of rules that say nothing of what a chart makes of its defaults."""


def is_about_defaults(rule: Rule) -> bool:
    """Whether a rule says what holds in whatever account, and whatever names are given."""
    return not rule.needs and _NOT_OF_DEFAULTS.isdisjoint(rule.tags)


class BuiltOutcome(NamedTuple):
    """What is said of files and built objects together."""

    reported: list[Result]
    skipped: list[Gap]
    faults: list[str]
    objects: list[Object]
    chosen: dict[int, tuple[Chosen, ...]]


class Replacement:
    """Built objects in the place of the files that they are built of."""

    def __init__(self, built: Sequence[Built]) -> None:
        self._built = built
        sure = [built_text for built_text in built if not built_text.by_default]
        self._replaced = {path for built_text in sure for path in built_text.replaces}
        self._parts = {path for built_text in built for path in built_text.parts}
        self._filled = {path for built_text in built if built_text.by_default for path in built_text.replaces}
        self._texts = [built_text.source.text for built_text in sure]

    def left(self, objects: Sequence[Object]) -> list[Object]:
        """Return the objects that are judged as their file has them.

        Left out are objects that a rendered version of the file replaces, unless they are template code, and objects
        of values files that a chart uses, because the chart's result is judged instead.
        """
        return [
            obj
            for obj in objects
            if not (obj.of_values and _path(obj.source) in self._parts)
            and (obj.source.masked or not self._is_replaced(obj.source))
        ]

    def cluster_objects(self, judged: Sequence[Object]) -> tuple[Object, ...]:
        """Return the objects as the clusters get them; `judged` are those in the files."""
        replaced = {path for built in self._built for path in built.replaces}
        left = [obj for obj in judged if _path(obj.source) not in replaced]
        return *left, *(obj for built in self._built for obj in objects(built.source, foreign=True))

    def kept_skips(self, skipped: Sequence[Gap], rules: Mapping[str, Rule]) -> list[Gap]:
        """Return the skips without those that a built version of the file answers for."""
        return [skip for skip in skipped if not self.is_judged(skip, rules)]

    def is_judged(self, skip: Gap, rules: Mapping[str, Rule]) -> bool:
        """Whether what is not judged of a file is judged in what is built of it."""
        path = os.path.abspath(skip.path) if skip.path else ""
        if path in self._filled and skip.rule is not None and skip.fact is None:
            return is_about_defaults(rules[skip.rule])
        if path in self._filled and skip.rule is None and skip.object is None:
            return True  # a template that is no YAML by itself, and is once values are filled in
        return path in self._replaced

    def judge(
        self,
        setup: RuleSetup,
        plain: Outcome,
        objects: Sequence[Object],
        read: tuple[Sequence[Source], Sequence[Source]],
        map_objects: ObjectMap,
    ) -> BuiltOutcome:
        """Judge what is built, and say it with what is `plain` from the files alone."""
        results = [r for r in plain.results if not self._is_replaced(r.span.source) or self._stays(r)]
        made = BuiltOutcome(results, [], [], [o for o in objects if not self._is_replaced(o.source)], {})
        known = _Known(results)
        counts = Counter(path for built in self._built for path in built.parts)
        shared = {path for path, count in counts.items() if count > 1}
        holders: dict[object, list[Built]] = {}
        files = _list_files(read)
        runs: list[_Environment] = []
        for environment in _environments(self._built):
            before = len(made.reported)
            runs.append(_Environment(environment, setup, files, map_objects, shared))
            runs[-1].judge(made, known)
            known.places.update((result.rule.name, result.span) for result in made.reported[before:])
            for result in made.reported[before:]:
                holders.setdefault(_fix_key(result), []).extend(environment)
        made.reported[:] = [self._spare_others(result, holders, shared) for result in made.reported]
        known.add(made.reported)
        for environment in self._settled_environments(setup):
            before = len(made.reported)
            _Environment(environment, setup, files, map_objects, shared, settled=True).judge(made, known)
            known.add(made.reported[before:])
        made.reported[:] = [_point_to_values(result, runs) for result in made.reported]
        return made

    def _spare_others(
        self, result: Result, holders: Mapping[object, Sequence[Built]], shared: Collection[str]
    ) -> Result:
        """Return a finding without a fix that changes what others make of the same file, where nothing is said of
        these.
        """
        edits = result.finding.edits
        changed = {_path(edit.source) for edit in edits} & set(shared)
        holding = holders.get(_fix_key(result)) if changed else None
        if holding is None:
            return result
        own = {id(built) for built in holding}
        others = (b for b in self._built if id(b) not in own and not b.by_default and changed.intersection(b.parts))
        other = next((built for built in others if not built.stays(edits)), None)
        if other is None:
            return result
        withheld = withhold_shared(other)
        return result._replace(finding=result.finding._replace(edits=(), safety=None, withheld=withheld))

    def _settled_environments(self, setup: RuleSetup) -> list[list[Built]]:
        """Return the built texts without replaceable defaults, for the rules that judge nothing else."""
        if all(is_about_defaults(rule) for rule in setup.running):
            return []
        paths = {path: built.settle for built in self._built if built.settle is not None for path in built.replaces}
        return _environments([built for settle in paths.values() for built in settle()])

    def _is_replaced(self, source: SourceText) -> bool:
        return bool(self._replaced) and _path(source) in self._replaced

    def _stays(self, result: Result) -> bool:
        """Whether a finding about a file holds whatever is built of the file."""
        return "installation" in result.rule.tags or self._is_about_code(result)

    def _is_about_code(self, result: Result) -> bool:
        """Whether a finding about a template is about its code, or about a field that nothing built of it has."""
        span = result.span
        text = span.source.text[span.start : span.end]
        if not span.source.masked or not text:
            return False
        is_key = text.isidentifier() and span.source.text[span.end : span.end + 1] == ":"
        return "{{" in text or (is_key and not any(f"{text}:" in built_text for built_text in self._texts))


def _path(source: SourceText) -> str:
    return os.path.abspath(source.path)


def _environments(built: Sequence[Built]) -> list[list[Built]]:
    """Return the built texts of each environment. What charts render with default values stands by itself.

    Of a file that a root module of Terraform takes several times, each environment has it once.
    """
    found: dict[tuple[object, ...], list[Built]] = {}
    modules: dict[str, dict[str, list[Built]]] = {}
    for built_text in built:
        if built_text.settle is not None:
            modules.setdefault(built_text.cluster, {}).setdefault(_path(built_text.source), []).append(built_text)
            continue
        key = (
            ("default",)
            if built_text.by_default and not built_text.given
            else (built_text.cluster, *map(id, built_text.given))
        )
        found.setdefault(key, []).append(built_text)
    for files in modules.values():
        for n in range(max(map(len, files.values()))):
            found[id(files), n] = [calls[min(n, len(calls) - 1)] for calls in files.values()]
    return list(found.values())


class _Known:
    """Findings of which nothing is said twice. `places` are those of what was built for any cluster so far."""

    def __init__(self, results: Sequence[Result]) -> None:
        self.results: list[Result] = []
        self.mistakes: set[object] = set()
        self.places: set[tuple[str, Span]] = set()
        self.add(results)

    def add(self, results: Sequence[Result]) -> None:
        self.results += results
        self.mistakes.update(map(_mistake, results))


class _AllFiles(NamedTuple):
    """The ids of the files whose findings are wanted, and the paths of all files with objects, with these."""

    asked: Collection[int]
    with_objects: Sequence[tuple[str, Sequence[Object]]]


def _list_files(read: tuple[Sequence[Source], Sequence[Source]]) -> _AllFiles:
    by_path = [(_path(source), list(objects(source, foreign=True))) for source in (*read[0], *read[1])]
    return _AllFiles({id(source) for source in read[0]}, [(path, found) for path, found in by_path if found])


class _Environment:
    """What is built for one cluster, and the files that are no part of it."""

    def __init__(
        self,
        built: list[Built],
        setup: RuleSetup,
        files: _AllFiles,
        map_objects: ObjectMap,
        shared: set[str],
        settled: bool = False,
    ) -> None:
        self._shared = shared
        self._built = built
        self._settled = settled
        self._by_default = built[0].by_default
        if self._by_default:
            running = [rule for rule in setup.running if is_about_defaults(rule) != settled]
            running = [rule for rule in running if "template-code" not in rule.tags]
            reporting = setup.reporting & {rule.name for rule in running}
            setup = setup._replace(running=running, reporting=reporting)
        self._setup = setup
        self._found: Collection[tuple[str, Span]] = ()
        self._each = map_objects
        parts = {path for built_text in built for path in built_text.parts}
        self._around = [obj for path, found in files.with_objects if path not in parts for obj in found]
        self._asked = files.asked

    def judge(self, made: BuiltOutcome, known: _Known) -> None:
        """Add what is found, less what is known and said already."""
        most = max(len(built.texts) for built in self._built)
        rounds = [self._judge_reading(number, made) for number in range(most)]
        self._found = {(result.rule.name, result.span) for result in rounds[0].values()}
        mistakes = known.mistakes if self._settled or not self._by_default else set()
        own: set[object] = set()
        given = self._built[0].given
        for finding_key, result in rounds[0].items():
            if not all(finding_key in others for others in rounds[1:]) or _mistake(result) in mistakes:
                continue
            if _mistake(result) in own:
                continue
            if self._by_default and _is_repeated(result, known.results):
                continue
            if given and ((result.rule.name, result.span) in known.places or not _has_part(result, given)):
                continue
            own.add(_mistake(result))
            made.reported.append(result)

    def finds(self, result: Result) -> bool | None:
        """Return whether a finding is one of this environment, too. None if the environment does not have its file,
        or does not run its rule.
        """
        if result.rule.name not in self._setup.reporting or not self.takes(result.span.source):
            return None
        return (result.rule.name, result.span) in self._found

    def takes(self, source: SourceText) -> bool:
        """Return whether something of this environment is made of a file."""
        path = _path(source)
        return any(path in built.parts for built in self._built)

    def asks_for(self, at: Node | Span) -> bool:
        """Return whether findings may be reported at a place: its file was requested."""
        return id(at.source) in self._asked

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
        if self._settled and any(
            isinstance(o, EC2NodeClass) and not isinstance(o.name, str) for o in (*built_objects, *self._around)
        ):
            results = [result for result in results if "class-reference" not in result.rule.tags]
        found: dict[object, Result] = {}
        unfixed: list[_Unfixed] = []
        fixing = number == 0 and self._setup.only is None  # of a trial only what is found counts
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

    def _place(self, result: Result) -> Result | None:
        """Return a finding that a rule says of a file itself.

        None if nothing of this cluster is built of that file.
        """
        path = _path(result.span.source)
        built = next((built for built in self._built if path in built.parts), None)
        if built is None:
            return None
        return result._replace(object=find_written_object(result.object, built, result.finding.at))

    def _lead(self, result: Result, built: Built, fixing: bool) -> Result | None:
        """Return a finding about what is built as one about the files.

        None if none of the requested ones has a part.
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
        shown = also if built.given else own  # a patch may stand in the file of the overlay itself
        also += list_given_parts(result, [at, *(place.at for place in shown)], built)
        withheld = lead_withheld(finding.withheld, built)
        led = finding._replace(at=at, also=also, covers=(), edits=(), suggestions=(), withheld=withheld)
        if fixing:
            led = self._lead_fixes(led, finding, built)
        through = tuple(span_of(step.at) for step in origin.through)
        written = find_written_object(result.object, built, at)
        return result._replace(finding=led, object=written, through=through, built=result.object)

    def _lead_fixes(self, led: Finding, finding: Finding, built: Built) -> Finding:
        """Return the fix and the suggestions of a finding as edits of files; of the first that is none, why."""
        withheld: Withheld | None = None
        if finding.edits:
            edits = self._lead_edits(finding.edits, led.at, built)
            if isinstance(edits, Withheld):
                withheld = edits
            else:
                led = led._replace(edits=edits.edits, safety="unsafe" if edits.shared else finding.safety)
        suggestions = []
        for suggestion in finding.suggestions:
            edits = self._lead_edits(suggestion.edits, led.at, built)
            if isinstance(edits, Withheld):
                withheld = withheld or edits
            else:
                suggestions.append(suggestion._replace(edits=edits.edits))
        # Where an edit is offered, no other is withheld; what the rule has said itself stays.
        withheld = led.withheld if led.edits or suggestions else withheld or led.withheld
        return led._replace(suggestions=tuple(suggestions), withheld=withheld)

    def _lead_edits(self, wanted: Sequence[Edit], at: Node | Span, built: Built) -> LedEdits | Withheld:
        """Edits of what is built as edits of files, or why not: they change what another cluster has, too."""
        edits = built.lead_edits(wanted)
        if isinstance(edits, Withheld) or built.by_default:
            return edits
        changed = {_path(edit.source) for edit in edits.edits} - {_path(at.source)}
        if not changed & self._shared:
            return edits
        place = next(edit.span for edit in edits.edits if _path(edit.source) in self._shared)
        return Withheld("shared", place, "other clusters take the file of the value too")

    def _choose_place(self, origin: ValueOrigin, built: Built) -> tuple[Node | Span | None, tuple[Also, ...]]:
        """Return the place that a finding is said of, and the others that have a part in it.

        That is where the value is written, in a file that was asked for; else what of these takes the value in.
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
        """Count the objects in the files that something is built of, and what is not judged of them."""
        written = map_to_written(objects, built_of)
        have = {id(obj) for obj in made.objects}
        made.objects.extend({id(obj): obj for obj in written.values() if id(obj) not in have}.values())
        made.chosen.update({id(written[key]): choices for key, choices in outcome.chosen.items()})
        self._add_skips(outcome, written, made)

    def _add_skips(self, outcome: Outcome, written: Mapping[int, Object], made: BuiltOutcome) -> None:
        """Say what is not judged of what is built as said of the objects in the files."""
        for skip in outcome.skipped:
            obj = None if skip.object is None else written.get(id(skip.object), skip.object)
            path = skip.path and (obj.source.path if obj is not None else skip.path)
            made.skipped.append(skip._replace(place=skip.file_place._replace(path=path), object=obj))

    def _with_fixes(self, unfixed: Sequence[_Unfixed]) -> Iterator[tuple[object, Result]]:
        """Yield the findings with the fixes that their rules offer for the objects as they are written.

        A field that is added, say, has no place of its own before. The fix holds where the rule says the same of the
        file, and where the file then comes to what it would make of the built object.
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
"""What tells a finding apart, the finding without its fix, what it is said of, and the fix of that."""


def _point_to_values(result: Result, runs: Sequence[_Environment]) -> Result:
    """Return a finding about a template at the value of the one values file with which it is found.

    Without that file the template is right, so the value is wrong. An editor that shows the values file alone gets
    the finding there as well. A comment silences the finding at both places, and at the other values that have a part
    in it.
    """
    parts = [also for also in result.finding.also if also.message == GIVEN_PART]
    if not parts or not all(runs[0].asks_for(part.at) for part in parts):
        return result
    answers = [answer for run in runs if (answer := run.finds(result)) is not None]
    is_own = all(sum(run.takes(part.span.source) for run in runs) == 1 for part in parts)
    if runs[0].asks_for(result.finding.at) and (answers.count(True) != 1 or len(answers) < 2 or not is_own):
        return result
    first, *others = parts
    rest = [also for also in result.finding.also if also is not first]
    finding = result.finding._replace(at=first.at, also=[Also(result.finding.at, "filled in here"), *rest])
    through = (*result.through, result.span, *(other.span for other in others))
    return result._replace(finding=finding, through=through)


def _fix_key(result: Result) -> object:
    """Return what is one fix of one place, in whatever is built of that."""
    return result.rule.name, result.span, tuple(result.finding.edits)


def _mistake(result: Result) -> tuple[object, ...]:
    """Return what findings about one mistake have in common: the place, and the message without numbers, which differ
    from object to object.
    """
    span = result.span
    message = re.sub(r"[0-9][0-9.,]*", "0", result.finding.message)
    return result.rule.name, span.source.path, span.start, span.end, message


def _is_repeated(result: Result, known: Sequence[Result]) -> bool:
    """Whether the template says the same before it is filled in."""
    at = result.span
    return any(other.rule is result.rule and other.span.touches(at) for other in known)


def _has_part(result: Result, files: Sequence[SourceText]) -> bool:
    spans = (result.span, *(place.span for place in result.finding.also))
    return any(span.source is file for span in spans for file in files)
