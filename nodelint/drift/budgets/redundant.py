"""Disruption budgets without effect, because another budget always allows no more nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set

from nodelint.base.tuples import NamedTuple
from nodelint.drift.budgets.active import MONDAY, REASONS, UNHEALTHY, WEEK, Budget, count_nodes, read_budget
from nodelint.karpenter.controller.cron import Schedule
from nodelint.model.releases import NEWEST, Version, behaves
from nodelint.text import Node, UnknownValue


class RedundantBudget(NamedTuple):
    """A budget without effect, and the other budget that causes this: the other one is active at the same times and
    allows no more nodes.

    `allows_more` is true if the budget without effect allows more nodes than the other one.
    """

    entry: Node
    budget: Budget
    smaller: Node
    counts: Budget
    allows_more: bool


def without_effect(
    node: Node, conditional: Set[int] = frozenset(), release: Version = NEWEST
) -> Iterator[RedundantBudget]:
    """Yield the entries of a list of budgets without effect, for any number of nodes. Of two equal ones, the later is
    yielded.

    All of them can be removed together. `conditional` are entries, by the id of their nodes, that a template may
    omit: no other entry is without effect because of them. Nothing is yielded if the controller cannot read a budget.
    """
    every = REASONS | {UNHEALTHY} if behaves("graceful-repair", release) else REASONS
    known = [(item, budget, reasons) for item in node.items for budget, reasons in _read_known_budget(item, every)]
    if any(budget.broken for _, budget, _ in known):
        return  # nothing may be disrupted at all
    counting = [known_budget for known_budget in known if id(known_budget[0]) not in conditional]
    for known_budget in reversed(known):
        entry, budget, reasons = known_budget
        others = [counted for counted in counting if counted is not known_budget]
        by = [_first(others, reason, budget) for reason in sorted(reasons)]
        found = [covering for covering in by if covering is not None]
        if found and len(found) == len(by):
            more = [idle for idle in found if not _at_most(budget, idle[1])]
            yield RedundantBudget(entry, budget, *(more or found)[0], bool(more))
            counting = others


_Known = tuple[Node, Budget, frozenset[str]]


def _first(others: Iterable[_Known], reason: str, budget: Budget) -> tuple[Node, Budget] | None:
    """Return the first entry for `reason` that is active whenever `budget` is, and allows no more nodes than it.

    None if there is none.
    """
    return next(
        ((entry, other) for entry, other, its in others if reason in its and _covers(other, budget)),
        None,
    )


def _read_known_budget(item: Node, every: frozenset[str]) -> Iterator[tuple[Budget, frozenset[str]]]:
    """Yield a budget as the controller reads it, with the reasons that it concerns. Nothing for placeholders."""
    if item.kind != "mapping" or any(isinstance(e.value, UnknownValue) for e in item.walk() if e.kind == "scalar"):
        return
    plain = item.plain()
    reasons = plain.get("reasons") if isinstance(plain, dict) else ()
    if isinstance(plain, dict) and (reasons is None or isinstance(reasons, list)):
        yield read_budget(plain), every if reasons is None else frozenset(str(reason) for reason in reasons) & every


def _covers(budget: Budget, other: Budget) -> bool:
    """Return whether `budget` is active whenever `other` is, and then allows no more nodes."""
    if not _at_most(budget, other):
        return False
    if budget.schedule is None or (budget.schedule == other.schedule and budget.duration >= other.duration):
        return True
    if other.schedule is None or not (_is_weekly(budget.schedule) and _is_weekly(other.schedule)):
        return False
    ours, theirs = (list(budget.windows(MONDAY, MONDAY + 2 * WEEK)) for budget in (budget, other))
    return all(any(start <= begin and end <= finish for start, finish in ours) for begin, end in theirs)


def _is_weekly(schedule: Schedule) -> bool:
    return schedule.any_day and len(schedule.months) == 12 and len(schedule.days) == 31


def _at_most(budget: Budget, other: Budget) -> bool:
    """Return whether `budget` allows no more nodes than `other`, for any number of nodes."""
    a, b = (count_nodes(budget.nodes.removesuffix("%")) for budget in (budget, other))
    shares = budget.nodes.endswith("%"), other.nodes.endswith("%")
    if a == 0 or (shares[1] and b == 100):
        return True
    return a <= b if shares[0] == shares[1] else not shares[0] and a == 1 and b > 0
