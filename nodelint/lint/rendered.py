"""Run rules on rendered manifests and map the findings to the source files."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from nodelint.base.types import TYPE_CHECKING
from nodelint.lint.built_environment import (
    BuiltOutcome,
    Environment,
    KnownFindings,
    is_about_defaults,
    list_files,
    path_of,
)
from nodelint.lint.cluster_releases import OfClusters, drop_dependent
from nodelint.lint.cluster_workloads import ClusterWorkloads
from nodelint.lint.results import Result
from nodelint.lint.written_places import GIVEN_PART, name_rendering, note_environment, withhold_shared
from nodelint.model.documents import objects
from nodelint.model.finding import Also, span_of, written_place
from nodelint.model.gap import Gap
from nodelint.model.messages import list_first

if TYPE_CHECKING:
    from nodelint.forms.rendered import Built
    from nodelint.lint.judging import ObjectMap, Outcome, RuleSetup
    from nodelint.model.finding import Edit
    from nodelint.model.manifest import Object
    from nodelint.releases.release_choice import Chosen
    from nodelint.rule.definition import Rule
    from nodelint.text import Source, SourceText


class Replacement:
    """Rendered manifests that are judged instead of their input files."""

    def __init__(self, built: Sequence[Built]) -> None:
        self._built = built
        sure = [built_text for built_text in built if not built_text.by_default]
        self._printed = {path for built_text in built for path in built_text.printed}
        self._replaced = {path for built_text in sure for path in built_text.replaces} | self._printed
        self._parts = {path for built_text in built for path in built_text.parts}
        self._filled = {path for built_text in built if built_text.by_default for path in built_text.replaces}
        self._texts = [built_text.source.text for built_text in sure]
        self._by_default = [built_text for built_text in built if built_text.by_default]

    def left(self, objects: Sequence[Object]) -> list[Object]:
        """Return the objects that are judged as written in their file.

        Objects are left out if a rendered manifest replaces their file (except template code), or if they are in a
        values file of a rendered chart.
        """
        return [
            obj
            for obj in objects
            if not (obj.of_values and path_of(obj.source) in self._parts)
            and path_of(obj.source) not in self._printed
            and (obj.source.masked or not self._is_replaced(obj.source))
        ]

    def cluster_objects(self, judged: Sequence[Object]) -> tuple[Object, ...]:
        """Return the objects as clusters get them; `judged` are those in the files.

        An object that lacks values for which other files are there is left out if it is rendered with one of them.
        """
        replaced = {path for built in self._built for path in built.replaces}
        left = [obj for obj in judged if path_of(obj.source) not in replaced]
        of_clusters = OfClusters(self._by_default, None)
        builds = (built for built in self._built if not of_clusters.is_of_none(built))
        made = [obj for built in builds for obj in objects(built.source, foreign=True)]
        if any(built.needs_values for built in self._built):
            complete = {_find_written_place(obj) for obj in made if not _needs_values(obj)}
            made = [obj for obj in made if not _needs_values(obj) or _find_written_place(obj) not in complete]
        return *left, *made

    def kept_skips(self, skipped: Sequence[Gap], rules: Mapping[str, Rule]) -> list[Gap]:
        """Return the gaps that no rendered manifest of the file resolves."""
        return [skip for skip in skipped if not self.is_judged(skip, rules)]

    def is_judged(self, skip: Gap, rules: Mapping[str, Rule]) -> bool:
        """Return whether the skipped part of a file is judged in its rendered manifests."""
        path = os.path.abspath(skip.path) if skip.path else ""
        if skip.fails:
            return False  # the rendered text is no YAML
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
        """Judge the rendered manifests, and return their results together with the `plain` ones of the files."""
        results = [r for r in plain.results if not self._is_replaced(r.span.source) or self._stays(r)]
        of_clusters = OfClusters(self._by_default, setup.target.choose)

        def is_decided(result: Result, choices: Iterable[Chosen]) -> bool:
            return result.span.source.masked and of_clusters.decides(path_of(result.span.source), choices)

        results = drop_dependent(results, is_decided, setup, plain)
        made = BuiltOutcome(results, [], [], [o for o in objects if not self._is_replaced(o.source)], {})
        known = KnownFindings(results)
        counts = Counter(path for built in self._built for path in built.parts)
        shared = {path for path, count in counts.items() if count > 1}
        holders: dict[object, list[Built]] = {}
        workloads = ClusterWorkloads(setup, self._built, (*read[0], *read[1]), map_objects)
        environments = _environments(self._built)
        files = list_files(read, of_clusters, environments)
        runs: list[Environment] = []
        for environment in environments:
            before = len(made.reported)
            runs.append(Environment(environment, setup, files, map_objects, shared, workloads))
            runs[-1].judge(made, known, runs[:-1])
            known.places.update((result.rule.name, result.span) for result in made.reported[before:])
            for result in made.reported[before:]:
                holders.setdefault(_fix_key(result), []).extend(environment)
        requested = {path_of(source) for source in read[0] if source.is_editable}
        for number, result in enumerate(made.reported):
            folders = {folder for run in runs if run.has_mistake(result) for folder in run.folders}
            made.reported[number] = note_environment(result, folders, self._built, requested)
        made.reported[:] = [self._withhold_shared(result, holders, shared) for result in made.reported]
        made.reported[:] = [self._name_reach(result, holders, shared) for result in made.reported]
        known.add(made.reported)
        for environment in self._settled_environments(setup):
            before = len(made.reported)
            Environment(environment, setup, files, map_objects, shared).judge(made, known)
            known.add(made.reported[before:])
        made.reported[:] = workloads.with_plain(
            [_name_cluster(_point_to_values(result, runs), runs) for result in made.reported]
        )
        made.faults.extend(workloads.faults)
        made.skipped.extend(workloads.skipped)
        return made

    def _withhold_shared(
        self, result: Result, holders: Mapping[object, Sequence[Built]], shared: Collection[str]
    ) -> Result:
        """Return a finding without its fix if the fix changes another environment that does not have the finding."""
        holding = holders.get(_fix_key(result))
        other = next(self._list_changed(result.finding.edits, holding, shared), None) if holding is not None else None
        if other is None:
            return result
        withheld = withhold_shared(other)
        return result._replace(finding=result.finding._replace(edits=(), safety=None, withheld=withheld))

    def _name_reach(
        self, result: Result, holders: Mapping[object, Sequence[Built]], shared: Collection[str]
    ) -> Result:
        """Return a finding whose suggestions name what they change beyond the environments with the finding, and
        files that the user did not name.
        """
        if not result.finding.suggestions:
            return result
        holding = holders.get(_fix_key(result), ())
        named = []
        for suggestion in result.finding.suggestions:
            files = dict.fromkeys(edit.source.path for edit in suggestion.edits if not edit.source.is_editable)
            notes = [f"in {' and '.join(files)}, which was not named"] if files else []
            changed = dict.fromkeys(map(name_rendering, self._list_changed(suggestion.edits, holding, shared)))
            notes += [f"also changes {list_first(list(changed), 2)}"] if changed else []
            named.append(suggestion._replace(name=f"{suggestion.name} ({'; '.join(notes)})") if notes else suggestion)
        return result._replace(finding=result.finding._replace(suggestions=tuple(named)))

    def _list_changed(
        self, edits: Sequence[Edit], holding: Sequence[Built], shared: Collection[str]
    ) -> Iterator[Built]:
        """Yield the rendered manifests that edits change, except those with the finding (`holding`)."""
        changed = {path_of(edit.source) for edit in edits}.intersection(shared)
        own = {id(built) for built in holding}
        for built in self._built if changed else ():
            is_other = id(built) not in own and not built.by_default
            if is_other and changed.intersection(built.parts) and not built.stays(edits):
                yield built

    def _settled_environments(self, setup: RuleSetup) -> list[list[Built]]:
        """Return the rendered manifests without replaceable defaults, for the rules that need these."""
        if all(is_about_defaults(rule) for rule in setup.running):
            return []
        paths = {path: built.settle for built in self._built if built.settle is not None for path in built.replaces}
        return _environments([built for settle in paths.values() for built in settle()])

    def _is_replaced(self, source: SourceText) -> bool:
        return bool(self._replaced) and path_of(source) in self._replaced

    def _stays(self, result: Result) -> bool:
        """Return whether a finding about a file is kept although rendered manifests replace the file."""
        return not {"installation", "root-module"}.isdisjoint(result.rule.tags) or self._is_about_code(result)

    def _is_about_code(self, result: Result) -> bool:
        """Return whether a finding is about template code, or about a field that no rendered manifest of the file
        has.
        """
        span = result.span
        text = span.source.text[span.start : span.end]
        if not span.source.masked or not text:
            return False
        is_key = text.isidentifier() and span.source.text[span.end : span.end + 1] == ":"
        return "{{" in text or (is_key and not any(f"{text}:" in built_text for built_text in self._texts))


def _needs_values(obj: Object) -> bool:
    return obj.source.built is not None and obj.source.built.needs_values


def _find_written_place(obj: Object) -> object:
    """Return the place of an object in the files."""
    at = span_of(written_place(obj.node.get("kind") or obj.node))
    return at.source.path, at.start


def _environments(built: Sequence[Built]) -> list[list[Built]]:
    """Return the rendered manifests of each environment. Charts rendered with default values are one on their own.

    If a Terraform root module renders a file several times, each environment has it once.
    """
    found: dict[tuple[object, ...], list[Built]] = {}
    modules: dict[str, dict[str, list[Built]]] = {}
    for built_text in built:
        if built_text.settle is not None:
            modules.setdefault(built_text.cluster, {}).setdefault(path_of(built_text.source), []).append(built_text)
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


def _fix_key(result: Result) -> object:
    """Return a key for a finding with its fix, whatever manifest it was found in."""
    return result.rule.name, result.span, tuple(result.finding.edits)


def _point_to_values(result: Result, runs: Sequence[Environment]) -> Result:
    """Return a finding about a template at the value that causes it.

    Environments with the file of the value have the finding, and all others with the template do not: so the value is
    wrong. A comment suppresses the finding at both places, and at the other values that contribute.
    """
    parts = [also for also in result.finding.also if also.message == GIVEN_PART]
    if not parts:
        return result
    answers = [(run, answer) for run in runs if (answer := run.finds(result)) is not None]
    first, *others = parts
    if runs[0].asks_for(result.finding.at):
        holders = {id(run) for run, answer in answers if answer}
        is_own = all({id(run) for run in runs if run.takes(part.span.source)} == holders for part in parts)
        if len(answers) == len(holders) or not is_own:
            return result
    elif not any(run.has_values_at(first.at) for run in runs):
        return result
    if not all(runs[0].asks_for(part.at) for part in parts):
        return result._replace(through=(*result.through, *(part.span for part in parts)))
    rest = [also for also in result.finding.also if also is not first]
    finding = result.finding._replace(at=first.at, also=[Also(result.finding.at, "filled in here"), *rest])
    through = (*result.through, result.span, *(other.span for other in others))
    return result._replace(finding=finding, through=through)


def _name_cluster(result: Result, runs: Sequence[Environment]) -> Result:
    """Return an error about a file that several clusters share, with the clusters that have it, if others do not."""
    if result.severity != "error" or result.object is None:
        return result
    answers = [(run, run.finds(result)) for run in runs if run.is_of_cluster]
    holders = [run for run, answer in answers if answer]
    if (
        not holders
        or all(answer is not False for _, answer in answers)
        or any(r.has_own_place(result) for r in holders)
    ):
        return result
    names = list(dict.fromkeys(run.name for run in holders))
    note = f"only {list_first(names, 2)} {'has' if len(names) == 1 else 'have'} this error"
    finding = result.finding
    return result._replace(finding=finding._replace(note=f"{finding.note}; {note}" if finding.note else note))
