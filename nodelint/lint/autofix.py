"""Fixes: edits are applied round by round until nothing changes, and what would break a file is taken back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from nodelint.edits import apply
from nodelint.lint.broken_fixes import choose_compatible, edits_by_source, find_broken, make_edits, mark_fix
from nodelint.lint.engine import LintRequest, Report, lint
from nodelint.lint.proven_fixes import Prover
from nodelint.lint.results import Result
from nodelint.source import Source, reread
from nodelint.tuples import NamedTuple

# A fix may make room for another one; every rule's fix is a fix point, so few rounds are ever needed.
_ROUNDS = 25

_UNSEEN = "it would stand inside the code of the template"
_TOGETHER = "beside the others it would make another finding, or replace nodes"

Judge = Callable[[Sequence[Source], LintRequest], Report]
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
    request: LintRequest,
    *,
    unsafe: bool = False,
    judge: Judge | None = None,
    report: Report | None = None,
    prove: Prover | None = None,
) -> Fixed:
    """Apply fixes until nothing changes: safe ones, with `unsafe` the others too.

    A fix is applied whole or not at all, and is left out when the new text does not parse or breaks
    the schema where the old one did not. `judge` stands in for `lint`; `report` is what it said of `sources`,
    where that has been asked already. `prove` leaves of the fixes of a report those that hold.
    """
    judge = judge or lint
    current = list(sources)
    applied: list[Result] = []
    refused: dict[tuple[str, str, str], tuple[Result, str]] = {}
    report = report or judge(current, request)
    report = prove(current, report) if prove is not None else report
    again = False  # whether what was refused may pass, for the text is another now
    undone: dict[tuple[str, str, str], tuple[Result, str]] = {}
    states: dict[tuple[str, ...], tuple[list[Source], Report, int]] = {}
    most: int | None = None  # of fixes in a round: fewer, where all that hold do not do so together
    for _ in range(_ROUNDS):
        chosen = choose_compatible(report.results, current, unsafe, refused)
        if not chosen and again:
            again = False
            refused = dict(undone)
            chosen = choose_compatible(report.results, current, unsafe, refused)
        if not chosen:
            break
        states[_texts(current)] = current, report, len(applied)
        tried = make_edits(current, chosen)
        harms = find_broken(current, chosen, request.target, tried)
        refused.update((mark_fix(chosen[n]), (chosen[n], why)) for n, why in harms.items())
        chosen = [result for n, result in enumerate(chosen) if n not in harms][:most]
        if not chosen:
            continue
        new = _rewritten(current, chosen, current if harms or most else tried)
        if _texts(new) in states:  # rules that answer each other would do so for ever
            current, report, count = states[_texts(new)]
            undone.update(_find_undone([*applied[count:], *chosen]))
            refused.update(undone)
            del applied[count:]
            continue
        then = judge(new, request)
        if prove is not None and not prove.hold_together(report, new, then, unsafe):
            if len(chosen) == 1:
                refused[mark_fix(chosen[0])] = chosen[0], _TOGETHER
            most = max(1, len(chosen) // 2)
            continue
        most = None
        idle = _without_effect(chosen, report, then)
        if idle:
            refused.update((mark_fix(result), (result, _UNSEEN)) for result in idle)
            continue
        applied += chosen
        # Objects that change together carry the same edits: what mends one mends the other.
        done = {tuple(r.finding.edits) for r in chosen}
        taken = {id(r) for r in chosen}
        applied += [r for r in report.results if id(r) not in taken and tuple(r.finding.edits) in done]
        current, report, again = new, prove(new, then) if prove is not None else then, bool(refused)
    return Fixed(tuple(current), report, tuple(applied), tuple(refused.values()))


def _texts(sources: Sequence[Source]) -> tuple[str, ...]:
    return tuple(source.text for source in sources)


def _find_undone(results: Sequence[Result]) -> dict[tuple[str, str, str], tuple[Result, str]]:
    """Fixes that lead back to the text that they began with, each with the rules whose fixes take it back."""
    found = {}
    for result in results:
        others = sorted({other.rule.name for other in results} - {result.rule.name}) or [result.rule.name]
        found[mark_fix(result)] = result, f"the fix of {' and '.join(others)} takes it back"
    return found


def _without_effect(chosen: Sequence[Result], before: Report, after: Report) -> list[Result]:
    """The fixes of a template after which the same is found as often as before: they were written into its code."""
    in_templates = [result for result in chosen if result.span.source.masked]
    if not in_templates:
        return []
    then, now = (Counter(mark_fix(r) for r in report.results if r.fixable) for report in (before, after))
    return [result for result in in_templates if now[mark_fix(result)] >= then[mark_fix(result)]]


def _rewritten(sources: Sequence[Source], results: Sequence[Result], tried: Sequence[Source]) -> list[Source]:
    """The sources with edits; those of `tried` have them already where they are not the same."""
    edits = edits_by_source(results)

    def with_edits(old: Source, new: Source) -> Source:
        if id(old) not in edits:
            return old
        return new if _is_read_whole(old, new) else reread(old, apply(old.text, edits[id(old)]))

    return [with_edits(old, new) for old, new in zip(sources, tried, strict=True)]


def _is_read_whole(old: Source, new: Source) -> bool:
    """Whether no document of the old text stands for one of the new: its places would be those in the old text."""
    return set(map(id, old.documents)).isdisjoint(map(id, new.documents))
