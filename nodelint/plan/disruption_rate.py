"""How fast drifted nodes are replaced: the limits of the budgets over the next week, as text."""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.drift.budgets import budgets, describe_times, inside, week
from nodelint.model.messages import counted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from typing import Any

    from nodelint.drift.budgets import Budget, Interval


class Pace(NamedTuple):
    """The limits of the next week, interval by interval, and the other fields that decide how fast nodes are
    replaced.
    """

    stretches: tuple[Interval, ...]
    grace: str | None
    expire: str | None

    @property
    def now(self) -> Interval:
        return self.stretches[0]


def pace(stored: dict[str, Any], start: datetime) -> Pace:
    """Return the rate at which a stored NodePool allows drifted nodes to be replaced: its budgets in the week from
    `start` on, its grace period and its expiry.
    """
    template = inside(stored, "spec", "template", "spec")
    grace, expire = template.get("terminationGracePeriod"), template.get("expireAfter")
    return Pace(
        tuple(week(budgets(stored), start.replace(second=0, microsecond=0))),
        grace if isinstance(grace, str) else None,
        expire if isinstance(expire, str) and expire != "Never" else None,
    )


def words(found: Pace, nodes: int | None = None) -> list[str]:
    """Return the disruption rate in short sentences. If the number of nodes is known, limits are numbers."""
    used: list[Budget] = list(dict.fromkeys(budget for interval in found.stretches for budget in interval.budgets))
    always = [b for b in used if all(b in interval.budgets for interval in found.stretches)]
    sentences = [f"the pool's budget cannot be read: {b.broken}; nothing is replaced" for b in used if b.broken][:1]
    if not sentences:
        base = _limit(always, nodes) if always else "without a limit"
        if base == "none":
            expiry = (
                [f"nodes expire after {found.expire}, whatever the budgets say"] if found.expire is not None else []
            )
            return ["never for drift: a budget allows none", *expiry]
        sentences = [f"{base}, one after the other, empty nodes first"]
        sentences += [
            f"{_limit([*always, b], nodes)} {describe_times(b, found.stretches)}" for b in used if b not in always
        ]
    if found.grace is None:
        sentences.append(
            "a node whose pods may not be evicted waits for them: the pool has no terminationGracePeriod"
        )
    else:
        sentences.append(f"a node whose pods may not be evicted goes after {found.grace} anyway")
    if found.expire is not None:
        sentences.append(f"nodes expire after {found.expire} whatever the budgets say")
    return sentences


def _limit(active: Sequence[Budget], nodes: int | None) -> str:
    if any(budget.nodes in ("0", "0%") for budget in active):
        return "none"
    if nodes is not None:
        return f"at most {min(budget.limit(nodes) for budget in active)} of {counted(nodes, 'node')} at a time"
    kinds = sorted({budget.nodes for budget in active})
    if len(kinds) > 1 and all(kind.endswith("%") for kind in kinds):
        kinds = [min(kinds, key=lambda kind: int(kind[:-1]))]
    if len(kinds) > 1 and not any(kind.endswith("%") for kind in kinds):
        kinds = [min(kinds, key=int)]
    shown = " and ".join(kind if kind.endswith("%") else counted(int(kind), "node") for kind in kinds)
    fewer = ", whichever is fewer," if len(kinds) > 1 else ""
    return f"at most {shown.replace(' and ', ' or ')}{fewer} at a time"
