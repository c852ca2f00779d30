"""Find safe fixes that work alone but not together with the other safe fixes of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.lint.fix_causes import Alike, find_shared_documents
from nodelint.lint.fix_offers import FixOffer, find_suspects, groups
from nodelint.lint.fix_trials import FindingKey, Trials, Tried
from nodelint.model.finding import Edit

_MOST = 12
"""The most trials of parts of fixes that do not work together."""

_MOST_ALIKE = 60
"""Fixes of one cause that are tried with the others: as many pools are compared with one that changes. A run that
makes them judges them all."""

FindBad = Callable[[Tried, Sequence[FixOffer]], list[FindingKey]]
"""A function that returns the findings that a trial adds, without those that some offers fix."""


class Conflicting(NamedTuple):
    """A fix that does not work together with the others, and the findings that result if all are applied."""

    offer: FixOffer
    tried: Tried
    bad: Sequence[FindingKey]


def find_conflicting(
    offers: Sequence[FixOffer],
    alike: Sequence[Alike],
    held_batches: Collection[Collection[tuple[Edit, ...]]],
    trials: Trials,
    find_bad: FindBad,
    can_try: Callable[[], bool],
) -> Iterator[Conflicting]:
    """Yield the safe fixes that work alone, but not together with the others.

    A run applies all safe fixes at once. Of the fixes that do not work together, those of the first causes stay.
    `alike` has the offers by cause. `held_batches` are the batches that were tried together and work. `can_try`
    returns whether a further trial may be made.
    """
    together = next(groups(offers), [])
    if len(together) < 2 or {offer.edits for offer in together} in held_batches:
        return
    attempt = _Attempt(trials, find_bad)
    near = find_shared_documents(together, alike)
    # Where the fixes of each document hold together, only what rules ask of other objects can be another thing.
    attempt.beside = not near or not attempt.fails(near)
    first_offers = _leave_some(together, alike)
    if (len(first_offers) < len(together) and not attempt.fails(first_offers)) or not attempt.fails(together):
        return
    tried, bad = attempt.last
    suspects = set(map(id, find_suspects(together, bad, tried)))
    standing = [offer for offer in together if id(offer) not in suspects]
    causes = [[offer for offer in (first, *others) if id(offer) in suspects] for first, others in alike]
    pending = [[cause for cause in causes if cause]]
    left: Sequence[FixOffer] = ()
    while pending and attempt.number < _MOST and can_try():
        part = pending.pop()
        own = [offer for cause in part for offer in cause]
        if len(standing) + len(own) < len(together) and not attempt.fails([*standing, *own]):
            standing += own
        elif len(part) > 1:
            half = (len(part) + 1) // 2
            pending += part[half:], part[:half]
        elif len(own) > 1:
            left = own[1:]
            pending += [left], [own[:1]]
        else:
            # What is left of its cause would do the same.
            rest = pending.pop()[0] if pending and pending[-1] == [left] else []
            yield from (Conflicting(offer, tried, bad) for offer in (*own, *rest))
    yield from (Conflicting(offer, tried, bad) for part in pending for cause in part for offer in cause)


def _leave_some(together: Sequence[FixOffer], alike: Sequence[Alike]) -> list[FixOffer]:
    """Return the fixes with at most `_MOST_ALIKE` of each cause."""
    numbers = {offer.edits: n for n, (first, others) in enumerate(alike) for offer in (first, *others)}
    counts: Counter[int] = Counter()
    left = []
    for offer in together:
        counts[numbers[offer.edits]] += 1
        if counts[numbers[offer.edits]] <= _MOST_ALIKE:
            left.append(offer)
    return left


class _Attempt:
    """Fixes tried together; `last` is the result of the last trial, `number` the number of trials."""

    def __init__(self, trials: Trials, find_bad: FindBad) -> None:
        self.beside = False
        self.number = 0
        self.last: tuple[Tried, list[FindingKey]]
        self._trials = trials
        self._find_bad = find_bad

    def fails(self, offers: Sequence[FixOffer]) -> bool:
        """Return whether the fixes do not work together."""
        tried = self._trials.run([edit for offer in offers for edit in offer.edits], self.beside)
        self.last = tried, self._find_bad(tried, offers)
        self.number += 1
        return bool(self.last[1]) or bool(tried.unread)
