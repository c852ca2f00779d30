"""Map the places in a plan to the files of their side."""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING
from nodelint.model.finding import written_place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nodelint.model.finding import Span
    from nodelint.model.gap import Gap
    from nodelint.plan.effects import Effect
    from nodelint.plan.outcome import PoolPlan
    from nodelint.plan.reasons import Verdict
    from nodelint.plan.refusals import Refusal
    from nodelint.plan.sides import StoredObjects
    from nodelint.text import Node


class WrittenPlaces:
    """The places of two sides in stored form: the old side has number 0, the new one 1."""

    def __init__(self, sides: Sequence[StoredObjects]) -> None:
        self._find_origin = [side.find_origin for side in sides]
        self._old = {id(obj.source) for obj in sides[0].objects}

    def find(self, at: Node | Span, side: int = 1) -> Node | Span:
        """Return the place of a value of a side in its files."""
        return written_place(self._find_origin[side](at))

    def lead_pool(self, pool: PoolPlan) -> PoolPlan:
        """Return the plan of a pool with places in files."""
        if pool.pair.new is None:
            return pool._replace(at=self.find(pool.at, 0))
        return pool._replace(
            at=self.find(pool.at),
            verdict=self.lead_verdict(pool.verdict),
            refused=self.lead_refusals(pool.refused),
            effects=self.lead_effects(pool.effects),
            uncompared=self.lead_gap(pool.uncompared) if pool.uncompared is not None else None,
        )

    def lead_effects(self, effects: Sequence[Effect]) -> tuple[Effect, ...]:
        """Return effects that point at the files as written, not at the rendered text."""
        return tuple(effect._replace(at=self.find(effect.at)) for effect in effects)

    def lead_refusals(self, refused: Sequence[Refusal]) -> tuple[Refusal, ...]:
        """Return refusals that point at the files as written, not at the rendered text."""
        return tuple(refusal._replace(at=self.find(refusal.at)) for refusal in refused)

    def lead_verdict(self, found: Verdict) -> Verdict:
        """Return a verdict whose reasons point at the files as written, not at the rendered text."""
        if not found.reasons:
            return found
        return found._replace(reasons=tuple(reason._replace(at=self.find(reason.at)) for reason in found.reasons))

    def lead_gap(self, place: Gap) -> Gap:
        """Return a gap with its place in the files of its own side."""
        return place._replace(place=self.find(place.at, 0 if id(place.at.source) in self._old else 1))
