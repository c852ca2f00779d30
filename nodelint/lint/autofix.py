"""Apply fixes in rounds until nothing changes. A fix that would break a file is reverted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence

from nodelint.base.budget import RUN
from nodelint.base.tuples import NamedTuple
from nodelint.edits import apply
from nodelint.lint.broken_fixes import choose_compatible, edits_by_source, find_broken, make_edits, mark_fix
from nodelint.lint.chosen_edits import ChosenEdits
from nodelint.lint.engine import LintRequest, Report, lint
from nodelint.lint.fix_trials import Name, count_reported, key_of_finding
from nodelint.lint.proven_fixes import Prover
from nodelint.lint.results import Result
from nodelint.text import Source, reread

# A fix may make room for another one; every rule's fix is a fix point, so few rounds are ever needed.
_ROUNDS = 25

_UNSEEN = "it would stand inside the code of the template"
_TOGETHER = "together with the other fixes it would cause another finding, or replace nodes"

Judge = Callable[[Sequence[Source], LintRequest], Report]
"""A function that judges sources as `lint` does."""


class Fixed(NamedTuple):
    """The result of fixing: `sources` contain the new texts, `report` the remaining findings.

    `applied` are the results whose edits were written. `refused` are results whose edits would break a file, each
    with the reason.
    """

    sources: tuple[Source, ...]
    report: Report
    applied: tuple[Result, ...]
    refused: tuple[tuple[Result, str], ...]


def fix(
    sources: Sequence[Source],
    request: LintRequest,
    *,
    unsafe: bool = False,
    judge: Judge | None = None,
    report: Report | None = None,
    prove: Prover | None = None,
    chosen_edits: ChosenEdits | None = None,
) -> Fixed:
    """Apply fixes until nothing changes. With `unsafe`, unsafe fixes follow after all safe ones.

    With `chosen_edits`, only these fixes and suggestions are applied; ChoiceError is raised if there are none.

    A fix is applied completely or not at all. It is refused if the new text does not parse, or if it breaks the
    schema and the old text did not. `judge` replaces `lint`. `report` is the report on `sources`, if it was made
    before. `prove` removes from a report the fixes that do not work.
    """
    judge = judge or lint
    report = report or judge(sources, request)
    fixing = _Fixing(sources, prove(sources, report) if prove is not None else report, prove, chosen_edits)
    for _ in range(_ROUNDS * (1 + unsafe)):
        chosen = fixing.choose()
        if not chosen and unsafe and not fixing.unsafe:
            fixing.unsafe = True
            chosen = fixing.choose()
        if not chosen:
            break
        new = fixing.make(chosen, request)
        if new is None:
            continue
        then = judge(new, request)
        if RUN.is_over():
            break  # what these fixes make was not judged
        harmed = prove.list_harmed(fixing.report, new, then, fixing.unsafe) if prove is not None else ()
        if harmed:
            fixing.part(harmed, then)
        elif not fixing.refuse_idle(then):
            fixing.take(new, prove(new, then) if prove is not None else then)
    refused = (*fixing.refused.values(), *(chosen_edits.left if chosen_edits is not None else ()))
    return Fixed(tuple(fixing.sources), fixing.report, tuple(fixing.applied), refused)


_Refused = dict[tuple[str, str, str], tuple[Result, str]]


class _Fixing:
    """The state of a fix run: the files, the applied fixes and the refused fixes."""

    def __init__(
        self, sources: Sequence[Source], report: Report, prove: Prover | None, chosen_edits: ChosenEdits | None
    ) -> None:
        self.sources = list(sources)
        self.report = report
        self._prove = prove
        self._chosen_edits = chosen_edits
        self.applied: list[Result] = []
        self.refused: _Refused = {}
        self.unsafe = False  # whether unsafe fixes are chosen as well
        self._again = False  # whether what was refused may pass, for the text is another now
        self._undone: _Refused = {}
        self._states: dict[tuple[str, ...], tuple[list[Source], Report, int]] = {}
        self._most: int | None = None  # of fixes in a round: fewer, where all that hold do not do so together
        self._held_back: set[tuple[str, str, str]] = set()  # until others are written
        self._results: Sequence[Result] = ()
        self._chosen: list[Result] = []

    def choose(self) -> list[Result]:
        """Return the fixes of the next round; empty at the end."""
        results = self._results = self._list_results()
        chosen = choose_compatible(results, self.sources, self.unsafe, self.refused)
        if not chosen and self._again:
            self._again = False
            self.refused = dict(self._undone)
            chosen = choose_compatible(results, self.sources, self.unsafe, self.refused)
        return chosen

    def _list_results(self) -> Sequence[Result]:
        """Return the findings that are fixed: all of the report, or those that the user chose."""
        if self._chosen_edits is None:
            return self.report.results
        return self._chosen_edits.pick(self.report.results, self._prove.effects if self._prove is not None else {})

    def make(self, chosen: Sequence[Result], request: LintRequest) -> list[Source] | None:
        """Return the files with these fixes, without the fixes that would break a file.

        None if no fix remains, or if the result equals an earlier text. Rules whose fixes undo each other would loop
        forever: their fixes are reverted.
        """
        current = self.sources
        self._states[_texts(current)] = current, self.report, len(self.applied)
        tried = make_edits(current, chosen)
        harms = find_broken(current, chosen, request.target, tried)
        self.refused.update((mark_fix(chosen[n]), (chosen[n], why)) for n, why in harms.items())
        left = [result for n, result in enumerate(chosen) if n not in harms]
        free = [result for result in left if mark_fix(result) not in self._held_back]
        if not free:
            self._held_back.clear()
        self._chosen = (free or left)[: self._most]
        if not self._chosen:
            return None
        new = _rewritten(current, self._chosen, tried if len(self._chosen) == len(chosen) else current)
        if _texts(new) not in self._states:
            return new
        self.sources, self.report, count = self._states[_texts(new)]
        self._undone.update(_find_undone([*self.applied[count:], *self._chosen]))
        self.refused.update(self._undone)
        del self.applied[count:]
        return None

    def part(self, harmed: Collection[Name], then: Report) -> None:
        """Try fewer fixes in the next round: those that harm no object, else half of them.

        A single fix that does not work is refused. `then` is the report on the files with the fixes.
        """
        if len(self._chosen) == 1:
            caused = _describe_harm(self.report, then, harmed)
            self.refused[mark_fix(self._chosen[0])] = (
                self._chosen[0],
                f"it would cause {caused}" if caused else _TOGETHER,
            )
        held_back = {mark_fix(result) for result in self._chosen if key_of_finding(result)[1] in harmed}
        if any(mark_fix(result) not in held_back for result in self._chosen) and held_back:
            self._held_back |= held_back
        else:
            self._most = max(1, len(self._chosen) // 2)

    def refuse_idle(self, then: Report) -> bool:
        """Refuse the fixes after which the same findings remain. Return whether there is any."""
        idle = _without_effect(self._chosen, self.report, then)
        self.refused.update((mark_fix(result), (result, _UNSEEN)) for result in idle)
        return bool(idle)

    def take(self, new: list[Source], report: Report) -> None:
        """Keep the result of a round whose fixes were written."""
        self.applied += self._chosen
        # Objects that change together carry the same edits: what mends one mends the other.
        done = {tuple(r.finding.edits) for r in self._chosen}
        taken = {id(r) for r in self._chosen}
        self.applied += [r for r in self._results if id(r) not in taken and tuple(r.finding.edits) in done]
        self.sources, self.report, self._again, self._most = new, report, bool(self.refused), None
        self._held_back.clear()


def _texts(sources: Sequence[Source]) -> tuple[str, ...]:
    return tuple(source.text for source in sources)


def _describe_harm(before: Report, then: Report, harmed: Collection[Name]) -> str:
    """Return the first finding that fixes add for the harmed objects. Empty if they add none."""
    known, now = count_reported(before), count_reported(then)
    keys = {key for key, count in now.items() if count > known[key] and key[1] in harmed}
    first = next((result for result in then.places if key_of_finding(result) in keys), None)
    return f"{first.rule.name}: {first.finding.message}" if first is not None else ""


def _find_undone(results: Sequence[Result]) -> dict[tuple[str, str, str], tuple[Result, str]]:
    """Return the fixes that restore an earlier text, each with the rules whose fixes undo it."""
    found = {}
    for result in results:
        others = sorted({other.rule.name for other in results} - {result.rule.name}) or [result.rule.name]
        found[mark_fix(result)] = result, f"the fix of {' and '.join(others)} takes it back"
    return found


def _without_effect(chosen: Sequence[Result], before: Report, after: Report) -> list[Result]:
    """Return the fixes of a template after which as many findings remain: their edits went into template code."""
    in_templates = [result for result in chosen if result.span.source.masked]
    if not in_templates:
        return []
    # Of findings that say the same, one may have a fix and the other none: all are counted.
    then, now = (Counter(map(mark_fix, report.places)) for report in (before, after))
    return [
        result
        for result in in_templates
        if all(now[mark_fix(r)] >= then[mark_fix(r)] for r in result.alike or (result,))
    ]


def _rewritten(sources: Sequence[Source], results: Sequence[Result], tried: Sequence[Source]) -> list[Source]:
    """Return the sources with the edits applied. A source of `tried` is used if it was parsed completely again."""
    edits = edits_by_source(results)

    def with_edits(old: Source, new: Source) -> Source:
        if id(old) not in edits:
            return old
        return new if _is_read_whole(old, new) else reread(old, apply(old.text, edits[id(old)]))

    return [with_edits(old, new) for old, new in zip(sources, tried, strict=True)]


def _is_read_whole(old: Source, new: Source) -> bool:
    """Return whether the new source shares no parsed document with the old one, so that all its offsets are
    its own.
    """
    return set(map(id, old.documents)).isdisjoint(map(id, new.documents))
