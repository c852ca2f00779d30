"""Fixes and suggestions that hold: each is made in memory and judged before it is offered, and safe is proven."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from nodelint.base.budget import RUN
from nodelint.base.tuples import NamedTuple
from nodelint.inventory import Inventory, may_fill
from nodelint.lint.broken_fixes import EditedTexts, applicable
from nodelint.lint.engine import LintRequest, Report
from nodelint.lint.fix_bisection import document_number
from nodelint.lint.fix_trials import (
    Build,
    ChangedObject,
    Mark,
    Name,
    Trials,
    Tried,
    count_said,
    mark_of,
    name_of,
    without_repetitions,
)
from nodelint.lint.results import OccupiedSpans, Result, once_in_a_run
from nodelint.model.documents import objects
from nodelint.model.finding import Edit, Withheld, written_place
from nodelint.model.manifest import NodePool, Object
from nodelint.rule.suppressions import Suppression
from nodelint.text import Source

FindMoved = Callable[
    [Inventory, Inventory, Sequence[ChangedObject], LintRequest, Sequence[Source]],
    "set[Name]",
]
"""The changed objects of which nodes are replaced, or may be: `plan.fix_drift` says so."""

_MOST_APART = 8
"""Groups of edits in which no two change one document, before edits of one document are tried together."""

_MOST_ALONE = 24
"""Edits that are tried alone, for they are among others that make a finding: each reads all objects once."""

_MOST_BUILT = 3_000_000
"""Characters of built texts that all trials of a run may have built anew."""

_LARGEST_BUILT = 1_000_000
"""Characters of built texts that one trial may have built anew."""

_MOST_STEPS = 1_000_000
"""Steps after which no further trial is made: what is given up for its size would be worked out in each of them."""

_TOO_LARGE = "to judge it, more would have to be rendered again than nodelint renders: apply it and check again"


class _Offer(NamedTuple):
    """Edits that are offered, and the findings of which they are a fix or a suggestion; `safe` is to be proven.

    `wants` counts the findings that they put right, by rule and object. `messages` are what these say, where the
    edits are suggestions alone: what settles one thing may let the same rule speak of the next. `of_errors`: they are
    a fix, and of errors alone.
    """

    edits: tuple[Edit, ...]
    safe: bool
    wants: Counter[Mark]
    messages: frozenset[tuple[Mark, str]] | None
    of_errors: bool


class Prover:
    """Proves the fixes of a report, over the files that it is about.

    `build` makes anew of changed files what the clusters get, `find_moved` tells which objects lose nodes: without it
    what is safe is not proven.
    """

    def __init__(self, request: LintRequest, build: Build, find_moved: FindMoved | None = None) -> None:
        self._request = request
        self._build = build
        self._find_moved = find_moved
        self._first: Inventory | None = None
        self._inventory: Inventory | None = None
        self._known: list[int] = []
        self.edited = EditedTexts()
        self.following: set[Mark] = set()
        """What follows fixes that are offered all the same: nothing that is as bad as what they put right."""

    def begin(self, inventory: Inventory, sources: Sequence[Source] | None = None) -> Prover:
        """Take what was built of the files already, or of `sources` and the files around them."""
        self._inventory = inventory
        self._known = [*map(id, inventory.files if sources is None else sources)]
        return self

    def offered(self, sources: Sequence[Source], report: Report) -> Report:
        """The report with what a run offers: fixes that break no file, and of these those that hold."""
        if any(result.fixable for result in report.results):
            report = applicable(sources, report, self.edited)
        return self(sources, report)

    def __call__(self, sources: Sequence[Source], report: Report) -> Report:
        """The report with those fixes and suggestions alone that hold; the other findings say why not."""
        places = report.places
        if not any(result.fixable or result.finding.suggestions for result in places):
            return report
        inventory = self._inventory
        if inventory is None or self._known != [*map(id, sources)]:
            inventory = self._build_changed(sources)
        self._first = self._first or inventory
        trials = Trials(sources, self._request, inventory, self._build_changed, self.edited)
        proven = _Run(self, trials, report, places).prove()
        self.edited = EditedTexts()
        return proven

    def _build_changed(self, sources: Sequence[Source]) -> Inventory:
        known = self._inventory or self._first
        if known is not None and not known.built and not known.folder_files and not may_fill(sources):
            return Inventory(sources)
        return self._build(sources)

    def hold_together(self, before: Report, sources: Sequence[Source], after: Report, unsafe: bool) -> bool:
        """Whether fixes that hold by themselves do so beside each other, by what is said once all are made."""
        known, now = count_said(before), count_said(after)
        names = {name for _, name in known} | self._list_names()
        more = {mark for mark, count in now.items() if count > known[mark] and mark[1] in names}
        if more - self.following:
            return False
        if unsafe or self._find_moved is None or self._first is None:
            return True
        inventory = self._build_changed(sources)
        first = Trials(self._first.files, self._request, self._first, self._build_changed, self.edited)
        changed = first.compare(inventory)
        return not self._find_moved(self._first, inventory, changed, self._request, self._request.context_sources)

    def _list_names(self) -> set[Name]:
        """The objects that were there at first: a fix may be the first to let a rule speak of one."""
        if self._first is None:
            return set()
        return {name_of(obj) for text in self._first.sources for obj in objects(text, foreign=True, more=True)}

    def find_moved(self, tried: Tried, request: LintRequest) -> set[Name] | None:
        """The objects that lose nodes by what was tried, beside the files as they were at first; None: not known."""
        if self._find_moved is None or self._first is None:
            return None
        return self._find_moved(self._first, tried.inventory, tried.changed, request, tried.context_sources)


class _Run:
    """The fixes of one report proven."""

    def __init__(self, prover: Prover, trials: Trials, report: Report, places: Sequence[Result]) -> None:
        self._prover = prover
        self._trials = trials
        self._report = report
        self._places = places
        self._before = count_said(report)
        self._sources = {id(source) for source in (*trials.sources, *trials.request.context_sources)}
        self._why: dict[tuple[Edit, ...], Withheld] = {}
        self._moved: set[tuple[Edit, ...]] = set()
        self._follows: dict[tuple[Edit, ...], str] = {}
        self._changed: dict[tuple[Edit, ...], tuple[tuple[Object, Object | None], ...]] = {}
        self._comments = frozenset(result.rule.name for result in places if result.rule.on is Suppression)
        self._alone = 0
        self._size = sum(len(text.text) for built in trials.inventory.built for text in built.texts)
        self._built = 0
        self._steps = 0

    def prove(self) -> Report:
        offers, edited = self._list_offers(), self._prover.edited
        keys = edited.list_keys()
        for part in (True, False):
            for batch in _batches([offer for offer in offers if offer.safe is part], self._comments):
                self._try(batch)
                edited.forget_others(keys)
        if not self._why and not self._moved and not self._follows and not self._changed:
            return self._report
        return self._report._replace(results=tuple(once_in_a_run(map(self._proven, self._places))))

    def _list_offers(self) -> list[_Offer]:
        wants: dict[tuple[Edit, ...], Counter[Mark]] = {}
        safe: dict[tuple[Edit, ...], bool] = {}
        messages: dict[tuple[Edit, ...], set[tuple[Mark, str]] | None] = {}
        lesser: set[tuple[Edit, ...]] = set()
        for result in without_repetitions(self._places):
            for edits, is_fix in _edits_of(result):
                if any(id(edit.source) not in self._sources or not edit.source.whole for edit in edits):
                    continue
                mark = mark_of(result)
                wants.setdefault(edits, Counter())[mark] += 1
                safe[edits] = safe.get(edits, False) or (is_fix and result.safety == "safe")
                texts = messages.setdefault(edits, set())
                if result.severity != "error":
                    lesser.add(edits)
                if is_fix:
                    messages[edits] = None
                elif texts is not None:
                    texts.add((mark, result.finding.message))
        return [
            _Offer(edits, safe[edits], marks, None if texts is None else frozenset(texts), edits not in lesser)
            for (edits, marks), texts in zip(wants.items(), messages.values(), strict=True)
        ]

    def _try(self, batch: Sequence[_Offer]) -> None:
        """Try offers that change different objects at once; alone, where something speaks against any of them."""
        self._built += self._size
        if self._size > _LARGEST_BUILT or self._built > _MOST_BUILT or self._steps > _MOST_STEPS:
            self._withhold_all(batch, Withheld("not-tried", detail=_TOO_LARGE))
            return
        tried = self._trials.run([edit for offer in batch for edit in offer.edits])
        self._steps += RUN.taken
        if RUN.is_over():  # what they make was not judged
            self._withhold_all(batch, Withheld("not-editable", detail=RUN.late_reason))
            return
        self._changed.update(_attribute_changes(batch, tried.changed))
        bad = self._find_bad(tried, batch)
        suspects = [offer for offer in batch if any(_touches(offer, mark[1], tried) for mark in bad)]
        if tried.unread or (bad and not suspects):
            suspects = list(batch)
        if batch[0].safe:
            moved = self._prover.find_moved(tried, self._trials.request)
            movers = [offer for offer in batch if any(_touches(offer, name, tried) for name in moved or ())]
            self._moved.update(offer.edits for offer in movers)
        if len(batch) == 1:
            if bad and not tried.unread and _is_lesser(batch[0], bad, tried):
                self._follows[batch[0].edits] = _describe(bad[0], tried)
                self._prover.following.update(bad)
            elif bad or tried.unread:
                self._why[batch[0].edits] = _withhold(batch[0], bad, tried)
            return
        for offer in suspects:
            self._alone += 1
            if self._alone > _MOST_ALONE:
                self._why[offer.edits] = Withheld("not-tried")
            else:
                self._moved.discard(offer.edits)
                self._try([offer])

    def _withhold_all(self, batch: Sequence[_Offer], why: Withheld) -> None:
        self._why.update((offer.edits, why) for offer in batch)

    def _find_bad(self, tried: Tried, batch: Sequence[_Offer]) -> list[Mark]:
        """What the rules say more often than they did, less what the offers put right."""
        wanted: Counter[Mark] = Counter()
        for offer in batch:
            if offer.messages is None or not offer.messages.isdisjoint(tried.messages):
                wanted.update(offer.wants)
        return [mark for mark, count in tried.said.items() if count > max(0, self._before[mark] - wanted[mark])]

    def _proven(self, result: Result) -> Result:
        """A finding with what holds of its fix and suggestions."""
        finding = result.finding
        withheld = finding.withheld
        edits = tuple(finding.edits)
        if edits in self._why:
            withheld = self._why[edits]
            finding = finding._replace(edits=(), safety=None, withheld=withheld)
        elif edits in self._follows:
            advice = f"once the fix is made, there is {self._follows[edits]}"
            both = f"{finding.help}; {advice}" if finding.help else advice
            finding = finding._replace(safety="unsafe", help=both)
        elif edits and edits in self._moved and result.safety == "safe":
            finding = finding._replace(safety="unsafe")
        if finding.suggestions:
            suggestions = [offer for offer in finding.suggestions if tuple(offer.edits) not in self._why]
            if len(suggestions) < len(finding.suggestions):
                finding = finding._replace(suggestions=tuple(suggestions))
        changed = self._changed.get(edits, ()) if finding.edits else ()
        return (
            result if finding is result.finding and not changed else result._replace(finding=finding, changed=changed)
        )


def _edits_of(result: Result) -> Iterator[tuple[tuple[Edit, ...], bool]]:
    """The edits of a finding's fix and suggestions, and whether they are its fix."""
    if result.fixable:
        yield tuple(result.finding.edits), True
    for suggestion in result.finding.suggestions:
        yield tuple(suggestion.edits), False


def _batches(offers: Sequence[_Offer], comments: Collection[str]) -> Iterator[list[_Offer]]:
    """The offers in groups of which no two change one document, nor one text of a file that others are built of.

    Those of rules about `comments` may: to take comments away silences no more, so what holds together holds alone.
    """
    about_comments = [offer for offer in offers if all(mark[0] in comments for mark in offer.wants)]
    ids = set(map(id, about_comments))
    yield from _groups(about_comments, 0)
    yield from _groups([offer for offer in offers if id(offer) not in ids], _MOST_APART)


def _groups(left: Sequence[_Offer], apart: int) -> Iterator[list[_Offer]]:
    """The offers in groups of which no two edits touch. In the first groups, no two offers change one document.

    `apart` is the number of those first groups: each of them has everything judged once, so that many offers of one
    document are tried together from then on.
    """
    while left:
        batch: list[_Offer] = []
        rest: list[_Offer] = []
        parts: set[tuple[int, int]] = set()
        names: set[Name] = set()
        spans = OccupiedSpans()
        for offer in left:
            own = {(id(edit.source), document_number(edit)) for edit in offer.edits}
            about = {mark[1] for mark in offer.wants}
            met = apart > 0 and bool(own & parts if all(number >= 0 for _, number in own) else about & names)
            if met or any(spans.touches(edit.span) for edit in offer.edits):
                rest.append(offer)
                continue
            batch.append(offer)
            parts |= own
            names |= about
            spans.add(edit.span for edit in offer.edits)
        yield batch
        left = rest
        apart -= 1


def _touches(offer: _Offer, name: Name, tried: Tried) -> bool:
    """Whether an object that is named changes by an offer, or is read by one that does."""
    if any(mark[1] == name for mark in offer.wants):
        return True
    paths = {os.path.abspath(edit.source.path) for edit in offer.edits}
    if not name[0]:
        return os.path.abspath(name[1]) in paths
    documents = {(os.path.abspath(edit.source.path), document_number(edit)) for edit in offer.edits}

    def changes(change: ChangedObject) -> bool:
        if change.document < 0:
            return not paths.isdisjoint(change.paths)
        (path,) = change.paths
        return (path, change.document) in documents or (path, -1) in documents

    own = [change for change in tried.changed if changes(change)]
    return any(change.name == name or name in _near(change) for change in own)


def _attribute_changes(
    batch: Sequence[_Offer], changed: Sequence[ChangedObject]
) -> dict[tuple[Edit, ...], tuple[tuple[Object, Object | None], ...]]:
    """Return the objects that each fix of a batch changes, before and after it.

    A fix that changes an object together with another fix is left out.
    """
    of_file: dict[str, set[int]] = {}
    of_document: dict[tuple[str, int], set[int]] = {}
    for index, offer in enumerate(batch):
        for edit in offer.edits:
            path = os.path.abspath(edit.source.path)
            of_file.setdefault(path, set()).add(index)
            of_document.setdefault((path, document_number(edit)), set()).add(index)
    found: dict[int, list[ChangedObject]] = {}
    mixed: set[int] = set()
    for change in changed:
        if change.document < 0:
            owners = {index for path in change.paths for index in of_file.get(path, ())}
        else:
            (path,) = change.paths
            owners = {*of_document.get((path, change.document), ()), *of_document.get((path, -1), ())}
        if len(owners) == 1:
            found.setdefault(owners.pop(), []).append(change)
        else:
            mixed |= owners
    return {
        batch[index].edits: tuple((change.old, change.new) for change in changes if change.old is not None)
        for index, changes in found.items()
        if index not in mixed and batch[index].messages is None
    }


def _near(change: ChangedObject) -> Iterable[Name]:
    """Objects of other kinds whose rules read a changed object."""
    for obj in (change.old, change.new):
        if isinstance(obj, NodePool) and obj.class_ref is not None:
            yield "EC2NodeClass", str(obj.class_ref.name)


def _is_lesser(offer: _Offer, bad: Sequence[Mark], tried: Tried) -> bool:
    """Whether a fix of errors makes nothing but lesser findings: information, and warnings of the same object.

    They could not be seen before, or the object did nothing. Such a fix is offered, as unsafe and with what follows.
    """
    if not offer.of_errors or offer.messages is not None:
        return False
    own = {wanted[1] for wanted in offer.wants}
    return all(
        mark not in offer.wants
        and mark not in tried.errors
        and (tried.first[mark].severity == "info" or mark[1] in own)
        for mark in bad
    )


def _describe(mark: Mark, tried: Tried) -> str:
    return f"{mark[0]}: {tried.first[mark].finding.message}"


def _withhold(offer: _Offer, bad: Sequence[Mark], tried: Tried) -> Withheld:
    """Why edits are not offered, by what is found once they are made."""
    if tried.unread:
        return Withheld("not-editable", detail="the file could no longer be read")
    mark = next((mark for mark in bad if mark not in offer.wants), bad[0])
    result = tried.first[mark]
    text = _describe(mark, tried)
    own = {wanted[1] for wanted in offer.wants}
    if mark in offer.wants:
        return Withheld("finding-stays")
    if mark[1] not in own and result.object is not None:
        label = f"{mark[1][0]} `{mark[1][1]}`"
        changed = {change.name for change in tried.changed if change.old is not None}
        verb = "reads the value too and would have" if mark[1] in changed else "would have"
        reader = next((change.old for change in tried.changed if change.name == mark[1]), None)
        place = written_place(reader.name_node) if reader is not None else None
        return Withheld("shared", place, f"{label} {verb} {text}")
    return Withheld("new-finding", detail=f"it would make {text}")
