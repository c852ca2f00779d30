"""The open texts of one configuration and repository, and their reports."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property

from nodelint.base.tuples import NamedTuple
from nodelint.config.session import Session, list_stated
from nodelint.files.contents import concerns_karpenter
from nodelint.files.file_keywords import may_state
from nodelint.inventory import Inventory
from nodelint.inventory.gaps import list_gaps_of_texts
from nodelint.lint import autofix, baseline, engine
from nodelint.lint.fingerprints import Known
from nodelint.lint.incremental import ResultCaches
from nodelint.lint.proven_fixes import Prover
from nodelint.lsp.around import build_with_project, list_broken_values
from nodelint.lsp.buffers import Buffer
from nodelint.lsp.positions import LineIndex
from nodelint.model.documents import objects
from nodelint.model.finding import Withheld
from nodelint.model.gap import Gap
from nodelint.model.manifest import Object
from nodelint.plan.fix_drift import find_moved
from nodelint.rule.context import Context
from nodelint.rule.definition import Rule
from nodelint.text import Source, SourceText


class Setup(NamedTuple):
    """The rules and target of a configuration; `known` are the findings of the baseline, None without one."""

    session: Session
    rules: Mapping[str, Rule]
    selection: engine.Selection
    target: engine.Target
    known: tuple[baseline.KnownFinding, ...] | None = None


class View:
    """The open texts of one configuration and repository.

    `home` is the folder for relative paths.
    """

    def __init__(self, setup: Setup, buffers: Sequence[Buffer], home: str) -> None:
        self.setup = setup
        self.buffers = buffers
        self.home = home
        self.beside: list[Source] = []
        self.folder_files: Sequence[str] = ()
        self.pause: Callable[[], None] = lambda: None
        self.memory: ResultCaches | None = None
        self.known_fingerprints: dict[str, Known] = {}
        self._lines: dict[tuple[int, str], LineIndex] = {}
        self._fixed: dict[str, autofix.Fixed] = {}
        self._of_releases: dict[object, View] = {}

    @property
    def target(self) -> engine.Target:
        return self.setup.target

    def for_object(self, obj: Object) -> View:
        """Return this view for the release of one object, as `nodelint explain` uses it."""
        targets = self.target.for_object(obj)
        if self.target.choose is None or not targets:
            return self
        target = targets[-1]
        if target.releases not in self._of_releases:
            view = View(self.setup._replace(target=target), self.buffers, self.home)
            view.beside, view.folder_files = self.beside, self.folder_files
            view.inventory, view._objects = self.inventory, self._objects
            self._of_releases[target.releases] = view
        return self._of_releases[target.releases]

    def for_text(self, buffer: Buffer) -> View:
        """Return this view for the release of a text's first object, or of a NodePool that would be written there."""
        path, text = buffer.source.path, "apiVersion: karpenter.sh/v1\nkind: NodePool\n"
        objects_here = self.objects(buffer) or list(objects(Source.from_text(path, text)))
        return self.for_object(objects_here[0]) if objects_here else self

    @property
    def request(self) -> engine.LintRequest:
        """Return the lint request for the texts of the view. With files around them, they are a part of these."""
        is_part = bool(self.beside) or self.target.choose is not None
        return engine.LintRequest(self.target, self.setup.rules, self.setup.selection, self.beside, is_part=is_part)

    @cached_property
    def inventory(self) -> Inventory:
        """Return the inventory of the texts, rendered together with the files around them."""
        return build_with_project([buffer.source for buffer in self.buffers], self.beside, self.folder_files)

    @cached_property
    def report(self) -> engine.Report:
        """Return the report on all texts of the view, without findings of the baseline."""
        sources = [buffer.source for buffer in self.buffers]
        report = engine.lint(
            sources,
            self.request,
            pause=self.pause,
            memory=self.memory,
            built=self.inventory.built,
        )
        if stated := self._judge_stated():
            known = {_offer_key(result) for result in report.places}
            more = [result for result in stated if _offer_key(result) not in known]
            report = report._replace(results=(*report.results, *more))
        file = self.setup.session.settings.baseline
        if self.setup.known is None or file is None:
            return report
        return baseline.split(report, self.setup.known, os.path.dirname(os.path.abspath(file))).new

    def _judge_stated(self) -> list[engine.Result]:
        """Return the findings about the releases that the texts state, such as one that is out of support.

        They are about all NodePools of the repository, and stand where the release is stated.
        """
        stating = [buffer.source for buffer in self.buffers if buffer.on_disk and _may_state(buffer)]
        target = self.target
        if not stating or target.choose is None:
            return []
        rules = {name: rule for name, rule in self.setup.rules.items() if "stated-release" in rule.tags}
        target = target._replace(today=self.setup.session.today, list_alone=lambda: list_stated(stating))
        request = engine.LintRequest(target, rules, self.setup.selection, is_part=True)
        found = engine.lint([*stating, *self.beside], request, pause=self.pause).places
        return [result for result in found if any(result.span.source is source for source in stating)]

    def same_as(self, other: View) -> bool:
        """Return whether both views have the same input, so that their reports are equal."""
        if self.inventory.built or other.inventory.built:  # their values may have changed on disk
            return False
        mine = (*self.setup[1:], self.buffers, self.home, self.beside)
        return mine == (*other.setup[1:], other.buffers, other.home, other.beside)

    def results(self, buffer: Buffer) -> list[engine.Result]:
        """Return the findings of one text."""
        return self._by_source.get(id(buffer.source), [])

    def gaps(self, buffer: Buffer) -> list[Gap]:
        """Return the gaps of one text: parts that are not judged or not rendered."""
        path = os.path.abspath(buffer.source.path)
        return [gap for gap in self._gaps if os.path.abspath(gap.path) == path]

    @cached_property
    def _gaps(self) -> list[Gap]:
        texts = [buffer.source for buffer in self.buffers]
        skipped = (gap for gap in self.report.skipped if gap.rule is None)
        broken = list_broken_values(texts, self.beside)
        found = (*broken, *list_gaps_of_texts(texts, self.inventory, self.home), *skipped)
        return list({(gap.path, gap.line, gap.sentence): gap for gap in found}.values())

    @cached_property
    def _by_source(self) -> dict[int, list[engine.Result]]:
        found: dict[int, list[engine.Result]] = {}
        for result in self.report.places:
            found.setdefault(id(result.finding.at.source), []).append(result)
        return found

    def fixed(self, buffer: Buffer) -> autofix.Fixed:
        """Return the result of `nodelint check --fix` for one text."""
        if buffer.uri not in self._fixed:
            others = [other.source for other in self.buffers if other is not buffer]
            around = [*others, *self.beside]

            def build_again(sources: Sequence[Source]) -> Inventory:
                return build_with_project(sources, around, self.folder_files)

            def judge(sources: Sequence[Source], request: engine.LintRequest) -> engine.Report:
                return engine.lint(sources, request, built=build_again(sources).built)

            request = self.request._replace(context_sources=around)
            prover = Prover(request, build_again, find_moved)
            prover.build_with_project = self._build_around
            self._fixed[buffer.uri] = autofix.fix([buffer.source], request, judge=judge, prove=prover)
        return self._fixed[buffer.uri]

    def offered(self, result: engine.Result) -> engine.Result:
        """Return a finding with the fix and suggestions that work. They are tried at the first call."""
        return self._offered.get(_offer_key(result), result)

    @cached_property
    def _offered(self) -> dict[tuple[object, ...], engine.Result]:
        def build_again(sources: Sequence[Source]) -> Inventory:
            return build_with_project(sources, self.beside, self.folder_files)

        sources = [buffer.source for buffer in self.buffers]
        prover = Prover(self.request, build_again, find_moved).begin(self.inventory, sources)
        prover.build_with_project = self._build_around
        tried = {id(source) for source in (*sources, *self.beside)}
        places = prover(sources, self.report).places
        return {_offer_key(result): _without_untried(result, tried) for result in places}

    def _build_around(self, sources: Sequence[Source], around: Sequence[Source]) -> Inventory:
        """Return the inventory of edited texts. Edited files of the project count as open."""
        known = {id(source) for source in self.beside}
        edited = [source for source in around if id(source) not in known]
        others = [source for source in around if id(source) in known]
        return build_with_project([*sources, *edited], others, self.folder_files)

    @cached_property
    def _objects(self) -> dict[int, list[Object]]:
        sources = [*(buffer.source for buffer in self.buffers), *self.beside]
        return {id(source): list(objects(source)) for source in sources}

    @cached_property
    def built(self) -> list[Object]:
        """Return the rendered objects of the texts, such as those of templates with their values.

        Objects that lack values for which other files are there come last.
        """
        ordered = sorted(self.inventory.built, key=lambda built: built.needs_values)
        return [obj for built in ordered for obj in objects(built.source)]

    def objects(self, buffer: Buffer) -> list[Object]:
        """Return the Karpenter objects of one text; `context` contains them."""
        return self._objects.get(id(buffer.source), [])

    @cached_property
    def context(self) -> Context:
        """Return the context of the rules, for hover and completion."""
        every = [*(obj for found in self._objects.values() for obj in found), *self.built]
        return Context(every, self.target)

    def lines_of(self, source: SourceText, encoding: str) -> LineIndex:
        """Return the line index of a source, as an editor shows it."""
        opened = self.buffer_of(source)
        if opened is not None:
            return opened.lines
        key = id(source), encoding
        if key not in self._lines:
            self._lines[key] = LineIndex(source.text, encoding, hides_bom=True)
        return self._lines[key]

    def buffer_of(self, source: SourceText) -> Buffer | None:
        """Return the open text of a source; None if it is not open."""
        return next((buffer for buffer in self.buffers if buffer.source is source), None)


def _may_state(buffer: Buffer) -> bool:
    """Return whether a text may state a release."""
    data = buffer.text.encode(errors="replace")
    return may_state(buffer.path, data, concerns_karpenter(data))


def _without_untried(result: engine.Result, tried: Collection[int]) -> engine.Result:
    """Return a finding without the edits of files that were not tried, such as a module that no open text is in."""
    finding = result.finding
    path = next((edit.source.path for edit in finding.edits if id(edit.source) not in tried), None)
    if path is not None:
        withheld = Withheld("not-tried", detail=f"it changes {path}: open this file to see whether the fix works")
        finding = finding._replace(edits=(), safety=None, withheld=withheld)
    suggestions = [offer for offer in finding.suggestions if all(id(edit.source) in tried for edit in offer.edits)]
    if len(suggestions) < len(finding.suggestions):
        finding = finding._replace(suggestions=tuple(suggestions))
    return result if finding is result.finding else result._replace(finding=finding)


def _offer_key(result: engine.Result) -> tuple[object, ...]:
    return result.rule.name, result.span, result.finding.message
