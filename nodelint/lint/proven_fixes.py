"""Prove fixes and suggestions: each is applied in memory and judged before it is offered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence, Set

from nodelint.base.budget import RUN
from nodelint.inventory import Inventory, may_fill
from nodelint.lint.broken_fixes import EditedTexts, applicable, choose_compatible, find_broken, make_edits
from nodelint.lint.engine import LintRequest, Report
from nodelint.lint.fix_causes import Alike, Causes, share_causes
from nodelint.lint.fix_offers import (
    EditEffect,
    Effects,
    FixOffer,
    attribute_changes,
    batches,
    find_suspects,
    list_offers,
    touches,
)
from nodelint.lint.fix_trials import (
    Build,
    BuildAround,
    ChangedObject,
    FindingKey,
    Name,
    PartlyChanged,
    Trials,
    Tried,
    count_reported,
    name_of,
)
from nodelint.lint.fixes_together import find_conflicting
from nodelint.lint.other_readers import OtherReaders
from nodelint.lint.results import Result, each_place, once_in_a_run
from nodelint.lint.rule_reach import name_words, reads_other_objects
from nodelint.lint.trial_budget import TrialBudget
from nodelint.lint.trial_verdicts import describe_finding, explain_withheld, is_lesser, share_out
from nodelint.model.documents import objects
from nodelint.model.finding import Edit, Withheld
from nodelint.model.manifest import NodePool, Object, RequirementLine
from nodelint.rule.suppressions import Suppression
from nodelint.text import Source

FindMoved = Callable[
    [Inventory, Inventory | PartlyChanged, Sequence[ChangedObject], LintRequest, Sequence[Source]],
    "set[Name]",
]
"""A function that returns the changed objects whose nodes are, or may be, replaced, such as `plan.fix_drift`."""

ListShown = Callable[[Sequence[Result]], Iterable[Result]]
"""A function that returns the results whose suggestions a report shows."""

_TOO_LARGE = (
    "to judge it, more objects would need to be rendered again than nodelint renders: apply it and check again"
)


class Prover:
    """Proves the fixes of a report over its files.

    `build` renders changed files again. `find_moved` returns the objects that lose nodes; without it, safe fixes are
    not checked for that.
    """

    def __init__(self, request: LintRequest, build: Build, find_moved: FindMoved | None = None) -> None:
        self._request = request
        self._build = build
        self.build_with_project: BuildAround | None = None
        """Renders changed files together with the files around them, which fixes may change as well."""
        self._find_moved = find_moved
        self._first: Inventory | None = None
        self._inventory: Inventory | None = None
        self._known: list[int] = []
        self.edited = EditedTexts()
        self.effects: Effects = {}
        """The effects of the fixes and suggestions of the last report."""
        self.following: set[FindingKey] = set()
        """What follows fixes that are offered all the same: nothing that is as bad as what they put right."""

    def begin(self, inventory: Inventory, sources: Sequence[Source] | None = None) -> Prover:
        """Set the inventory that was already built, from `sources` or from all files of the inventory."""
        self._inventory = inventory
        self._known = [*map(id, inventory.files if sources is None else sources)]
        return self

    def offered(self, sources: Sequence[Source], report: Report, list_shown: ListShown | None = None) -> Report:
        """Return the report with the fixes that a run offers: those that break no file and work.

        With `list_shown`, only the suggestions of the results that it returns are tried. The others are left as they
        are: nobody sees them.
        """
        if not _offers_any(report):
            return report
        if list_shown is None:
            return self._prove(sources, report, checking=True)
        wanted = _list_suggested(list_shown(report.results))
        proven = report
        while wanted or any(result.fixable for result in report.places):
            proven = self._prove(sources, report, checking=True, suggested=wanted)
            # Without a suggestion that does not work, other results may be shown.
            more = _list_suggested(list_shown(proven.results)) - wanted
            if not more:
                break
            wanted |= more
        return proven

    def __call__(self, sources: Sequence[Source], report: Report) -> Report:
        """Return the report with only the fixes and suggestions that work.

        The other findings have the reason why their fix is withheld.
        """
        return self._prove(sources, report) if _offers_any(report) else report

    def _prove(
        self,
        sources: Sequence[Source],
        report: Report,
        checking: bool = False,
        suggested: Set[tuple[Edit, ...]] | None = None,
    ) -> Report:
        """Return the report with the fixes that work. With `checking`, first remove fixes that break a file.

        With `suggested`, only these suggestions are tried.
        """
        inventory = self._find_inventory(sources)
        causes = Causes(sources, inventory.sources, self._request)
        if checking:
            report = applicable(sources, report, self.edited, causes.leave_firsts)
        trials = Trials(sources, self._request, inventory, self._build_changed, self.edited)
        proven, self.effects = report, {}
        if _offers_any(report):
            run = _Run(self, trials, report, report.places)
            proven = run.prove(causes, suggested)
            self.effects = run.list_effects()
        self.edited = EditedTexts()
        return proven

    def _find_inventory(self, sources: Sequence[Source]) -> Inventory:
        """Return the inventory of the files; the first inventory is the one with which fixes are compared."""
        inventory = self._inventory
        if inventory is None or self._known != [*map(id, sources)]:
            inventory = self._build_changed(sources)
        self._first = self._first or inventory
        return inventory

    def _build_changed(self, sources: Sequence[Source], around: Sequence[Source] = ()) -> Inventory:
        known = self._inventory or self._first
        is_built = known is not None and bool(known.built or known.folder_files)
        # In an editor, files around those that are open are built with them.
        if known is None or is_built or len(known.files) != len(sources) or may_fill(sources):
            return (
                self.build_with_project(sources, around)
                if self.build_with_project and around
                else self._build(sources)
            )
        return Inventory(sources)

    def list_harmed(
        self, before: Report, sources: Sequence[Source], after: Report, unsafe: bool, chosen: Sequence[Result] = ()
    ) -> set[Name]:
        """Return the objects for which fixes that work alone do not work together: the `chosen` ones of a round.

        If the API server refuses the objects as they are, no pod runs there, and a finding about a pod is no harm.
        """
        known, now = count_reported(before), count_reported(after)
        names = {name for _, name in known} | self._list_names()
        more = {
            finding_key
            for finding_key, count in now.items()
            if count > known[finding_key] and finding_key[1] in names
        } - self.following
        if chosen and all("admission" in result.rule.tags for result in chosen):
            more = {key for key in more if "workloads" not in self._request.rules[key[0]].tags}
        if more or unsafe or self._find_moved is None or self._first is None:
            return {name for _, name in more}
        inventory = self._build_changed(sources)
        first = Trials(self._first.files, self._request, self._first, self._build_changed, self.edited)
        changed = first.compare(inventory)
        return self._find_moved(self._first, inventory, changed, self._request, self._request.context_sources)

    def _list_names(self) -> set[Name]:
        """Return the names of all objects before any fix: a fix may let a rule report an object for the
        first time.
        """
        if self._first is None:
            return set()
        return {name_of(obj) for text in self._first.sources for obj in objects(text, foreign=True, more=True)}

    def find_moved(
        self, tried: Tried, request: LintRequest, only: Sequence[ChangedObject] | None = None
    ) -> set[Name] | None:
        """Return the objects that lose nodes after the trial, compared with the unedited files.

        With `only`, just these changes are applied. None if it is not known.
        """
        if self._find_moved is None or self._first is None:
            return None
        if only is not None:
            partly = PartlyChanged(self._first, tried.inventory, only)
            return self._find_moved(self._first, partly, only, request, request.context_sources)
        return self._find_moved(self._first, tried.inventory, tried.changed, request, tried.context_sources)


class _Run:
    """Proves the fixes of one report."""

    def __init__(self, prover: Prover, trials: Trials, report: Report, places: Sequence[Result]) -> None:
        self._prover = prover
        self._trials = trials
        self._report = report
        self._places = places
        self._before = count_reported(report)
        self._why: dict[tuple[Edit, ...], Withheld] = {}
        self._moved: set[tuple[Edit, ...]] = set()
        self._keeping: set[tuple[Edit, ...]] = set()
        self._consequences: dict[tuple[Edit, ...], str] = {}
        self._conflicts: dict[tuple[Edit, ...], str] = {}
        self._read_by: dict[tuple[Edit, ...], str] = {}
        self._bad: dict[tuple[Edit, ...], Sequence[FindingKey]] = {}
        self._changed: dict[tuple[Edit, ...], tuple[tuple[Object, Object | None], ...]] = {}
        self._proven_batches: list[set[tuple[Edit, ...]]] = []
        self._comments = frozenset(result.rule.name for result in places if result.rule.on is Suppression)
        self._budget = TrialBudget(trials.inventory)

    def prove(self, causes: Causes, suggested: Set[tuple[Edit, ...]] | None) -> Report:
        trials = self._trials
        sources = {id(source) for source in (*trials.sources, *trials.request.context_sources)}
        offers = list_offers(self._places, sources)
        if suggested is not None:
            offers = [offer for offer in offers if offer.messages is None or offer.edits in suggested]
        keys = self._prover.edited.list_keys()
        alike = share_causes(offers, causes)
        self._try_all([first for first, _ in alike], keys)
        # A rule that looked at nothing before may look for other words in names.
        left = [offer for _, others in alike for offer in others]
        if left and causes.words == name_words(trials.request.rules.values()):
            left = [offer for first, others in alike for offer in self._share_result(first, others)]
        self._try_all(left, keys)
        self._note_other_readers([offer for offer in offers if offer.safe and self._holds(offer)])
        self._hold_together([offer for offer in offers if offer.safe and self._holds(offer)], alike)
        if not any((self._why, self._moved, self._consequences, self._conflicts, self._read_by)):
            return self._make_report() if self._changed else self._report
        lost = [offer for offer in offers if offer.safe and not self._holds(offer)]
        self._note_broken(self._make_report(), {id(edit.source) for offer in lost for edit in offer.edits})
        self._prover.edited.keep_only(keys)
        return self._make_report()

    def list_effects(self) -> Effects:
        """Return the effects of the edits that were tried."""
        return {edits: EditEffect(pairs, edits in self._keeping) for edits, pairs in self._changed.items()}

    def _make_report(self) -> Report:
        return self._report._replace(results=tuple(once_in_a_run(map(self._proven, self._places))))

    def _note_broken(self, report: Report, changed: Set[int]) -> None:
        """Record safe fixes that break a file without other, unsafe fixes."""
        sources = [source for source in self._trials.sources if id(source) in changed]
        chosen = choose_compatible(report.results, sources, False, {}) if sources else []
        tried = make_edits(sources, chosen, self._prover.edited)
        for number, reason in find_broken(sources, chosen, report.target, tried).items():
            for place in chosen[number].alike or chosen[number : number + 1]:
                self._conflicts[tuple(place.finding.edits)] = f"without the other fixes {reason}"

    def _holds(self, offer: FixOffer) -> bool:
        return not any(
            offer.edits in found
            for found in (self._why, self._moved, self._consequences, self._conflicts, self._read_by)
        )

    def _try_all(self, offers: Sequence[FixOffer], keys: frozenset[object]) -> None:
        for part in (True, False):
            for batch in batches([offer for offer in offers if offer.safe is part], self._comments):
                self._try(batch)
                self._prover.edited.keep_only(keys)

    def _share_result(self, first: FixOffer, others: Sequence[FixOffer]) -> Sequence[FixOffer]:
        """Copy the result of the first fix of a cause to the others.

        Return the others if each must be tried by itself.

        Each must be tried if a rule that reads other objects is involved, or if the findings are about other objects.
        """
        bad, rules = self._bad.get(first.edits, ()), self._trials.request.rules
        why, follows = self._why.get(first.edits), self._consequences.get(first.edits)
        told_apart = any(name not in first.names or reads_other_objects(rules[rule]) for rule, name in bad)
        if told_apart or (why is not None and (not bad or why.at is not None)):
            return others
        for offer in others:
            if why is not None:
                self._why[offer.edits] = why._replace(detail=offer.rename(why.detail, first))
            if follows is not None:
                self._consequences[offer.edits] = offer.rename(follows, first)
                self._prover.following.update((rule, name) for rule, _ in bad for name in offer.names)
            for found in (self._moved, self._keeping):
                if first.edits in found:
                    found.add(offer.edits)
        return ()

    def _hold_together(self, offers: Sequence[FixOffer], alike: Sequence[Alike]) -> None:
        """Record the safe fixes that do not work together with the others, and the findings that result."""
        if RUN.is_over() or len(offers) < 2:
            return
        if not self._budget.takes_trial():
            self._conflicts.update((offer.edits, _TOO_LARGE) for offer in offers)
            return
        for offer, tried, bad in find_conflicting(
            offers, alike, self._proven_batches, self._trials, self._find_bad, self._budget.takes_trial
        ):
            own = [finding_key for finding_key in bad if finding_key[1] in offer.names] or bad
            text = f"there is {describe_finding(own[0], tried)}" if own else tried.unread[0]
            self._conflicts[offer.edits] = f"once the other fixes are made as well, {text}"
            if own and is_lesser(offer, own, tried):
                self._prover.following.update(own)

    def _try(self, batch: Sequence[FixOffer]) -> None:
        """Try the offers together; if this causes a finding, try the suspects alone."""
        if not self._budget.takes_trial():
            self._withhold_all(batch, Withheld("not-tried", detail=_TOO_LARGE))
            return
        tried = self._trials.run([edit for offer in batch for edit in offer.edits])
        self._budget.count(RUN.taken, tried.judged)
        if RUN.is_over():  # what they make was not judged
            self._withhold_all(batch, Withheld("not-editable", detail=RUN.late_reason))
            return
        self._changed.update(attribute_changes(batch, tried.changed))
        bad = self._find_bad(tried, batch)
        suspects = find_suspects(batch, bad, tried) if bad or tried.unread else []
        if batch[0].safe:
            moved = self._prover.find_moved(tried, self._trials.request)
            movers = [offer for offer in batch if any(touches(offer, name, tried) for name in moved or ())]
            self._moved.update(offer.edits for offer in movers)
        else:
            self._keeping.update(self._list_keeping(batch, tried))
        if not bad and not tried.unread:
            self._proven_batches.append({offer.edits for offer in batch})
        if len(batch) == 1:
            self._bad[batch[0].edits] = bad
            if bad and not tried.unread and is_lesser(batch[0], bad, tried):
                self._note_following(batch[0], bad, tried)
            elif bad or tried.unread:
                self._why[batch[0].edits] = explain_withheld(batch[0], bad, tried)
            return
        following = share_out(suspects, bad, tried)
        for offer, marks in following:
            self._note_following(offer, marks, tried)
        if following:
            return
        for offer in suspects:
            if not self._budget.takes_trial_alone():
                self._why[offer.edits] = Withheld("not-tried")
            else:
                self._moved.discard(offer.edits)
                self._try([offer])

    def _note_following(self, offer: FixOffer, marks: Sequence[FindingKey], tried: Tried) -> None:
        self._consequences[offer.edits] = describe_finding(marks[0], tried)
        self._prover.following.update(marks)

    def _list_keeping(self, batch: Sequence[FixOffer], tried: Tried) -> Iterator[tuple[Edit, ...]]:
        """Yield the edits that change only requirements of NodePools and replace no node."""
        narrowed = [change for change in tried.changed if _changes_requirements(change)]
        moved = self._prover.find_moved(tried, self._trials.request, narrowed) if narrowed else None
        if moved is None:
            return
        names = {change.name for change in narrowed} - moved
        for edits, pairs in attribute_changes(batch, tried.changed).items():
            if pairs and names.issuperset(name_of(old) for old, _ in pairs):
                yield edits

    def _withhold_all(self, batch: Sequence[FixOffer], why: Withheld) -> None:
        self._why.update((offer.edits, why) for offer in batch)

    def _note_other_readers(self, offers: Sequence[FixOffer]) -> None:
        """Record the safe fixes that change a value for something else as well, which is not judged."""
        readers = OtherReaders(self._trials.inventory)
        for offer in offers:
            place = readers.find(offer.edits)
            if place is not None:
                line = place.source.position(place.start).line
                self._read_by[offer.edits] = f"{place.source.path}:{line}"

    def _find_bad(self, tried: Tried, batch: Sequence[FixOffer]) -> list[FindingKey]:
        """Return the findings that occur more often than before, without those that the offers fix."""
        wanted: Counter[FindingKey] = Counter()
        for offer in batch:
            if offer.messages is None or not offer.messages.isdisjoint(tried.messages):
                wanted.update(offer.wants)
        return [
            finding_key
            for finding_key, count in tried.reported.items()
            if count > max(0, self._before[finding_key] - wanted[finding_key])
        ]

    def _proven(self, result: Result) -> Result:
        """Return a finding with the proven parts of its fix and suggestions."""
        finding = result.finding
        withheld = finding.withheld
        edits = tuple(finding.edits)
        if edits in self._why:
            withheld = self._why[edits]
            finding = finding._replace(edits=(), safety=None, withheld=withheld)
        elif edits in self._consequences or edits in self._conflicts:
            follows = self._consequences.get(edits)
            advice = self._conflicts[edits] if follows is None else f"once the fix is made, there is {follows}"
            both = f"{finding.help}; {advice}" if finding.help else advice
            finding = finding._replace(safety="unsafe", help=both)
        elif edits and (edits in self._moved or edits in self._read_by) and result.safety == "safe":
            finding = finding._replace(safety="unsafe")
        if finding.suggestions:
            suggestions = [offer for offer in finding.suggestions if tuple(offer.edits) not in self._why]
            if len(suggestions) < len(finding.suggestions):
                finding = finding._replace(suggestions=tuple(suggestions))
        changed = self._changed.get(edits, ()) if finding.edits else ()
        if finding is result.finding and not changed:
            return result
        stays = edits in self._keeping or (result.safety == "safe" and edits not in self._moved)
        return result._replace(
            finding=finding,
            changed=changed,
            replaces_no_node=stays,
            leads_to=self._consequences.get(edits, ""),
            read_by=self._read_by.get(edits, ""),
        )


def _list_suggested(results: Iterable[Result]) -> set[tuple[Edit, ...]]:
    return {tuple(suggestion.edits) for result in each_place(results) for suggestion in result.finding.suggestions}


def _offers_any(report: Report) -> bool:
    """Return whether any finding has a fix or a suggestion."""
    return any(result.fixable or result.finding.suggestions for result in report.places)


def _changes_requirements(change: ChangedObject) -> bool:
    """Return whether a NodePool has other requirements afterwards. Only `plan` knows which nodes still match them."""
    old, new = change.old, change.new
    if not isinstance(old, NodePool) or not isinstance(new, NodePool):
        return False
    return [*map(_content, old.requirements)] != [*map(_content, new.requirements)]


def _content(line: RequirementLine) -> tuple[object, ...]:
    return line.key, line.operator, line.texts, line.min_values, line.known
