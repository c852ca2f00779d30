"""Compare both sides of a change, each pool and class for the releases that files near it state."""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING
from nodelint.plan.outcome import ClassPlan, PoolPlan
from nodelint.plan.planner import ALL_READ, Planner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from nodelint.model.gap import Gap
    from nodelint.model.manifest import Object
    from nodelint.plan.outcome import Plan, PlanOptions
    from nodelint.plan.sides import Side
    from nodelint.plan.unread import UnreadFiles

_At = tuple[int | None, int | None]
_Place = tuple[type, int | None, int | None]
"""The type of a part of the plan, and the index of its object on each side."""
_Key = tuple[object, ...]


def make_each(
    old: Side,
    new: Side,
    options: PlanOptions,
    options_of: Callable[[Object | None, Object | None], PlanOptions],
    unread: UnreadFiles = ALL_READ,
) -> Plan:
    """Return the plan of two sides. Each pool and class is compared for its own releases: `options_of` returns them
    for an object before and after.

    The options of the plan itself are those of the newest release.
    """
    return _EachRelease(old, new, options_of, unread).run(options)


class _EachRelease:
    def __init__(
        self,
        old: Side,
        new: Side,
        options_of: Callable[[Object | None, Object | None], PlanOptions],
        unread: UnreadFiles,
    ) -> None:
        self.sides = old, new
        self.options_of = options_of
        self.unread = unread
        self.written = old.all_objects, new.all_objects
        self.planners: dict[_Key, Planner] = {}
        self.plans: dict[_Key, Plan] = {}
        self.parts: dict[_Key, dict[_Place, PoolPlan | ClassPlan]] = {}

    def run(self, options: PlanOptions) -> Plan:
        old, new = self.sides
        every = [self.options_of(obj, None) for obj in old.objects] + [self.options_of(None, o) for o in new.objects]
        newest = max(every, key=lambda own: (own.release, own.kubernetes or ()), default=options)
        first = self.plan_for(newest)
        whole = self.plans[first]
        unserved = self.planners[first].list_unserved()
        for own in every if unserved else ():
            self.plan_for(own)
        served = list(self.find_served(first)) if unserved else []
        parts = [(first, part) for part in _list_parts(whole)]
        both = (self.find_own(key, part) for key, part in (*parts, *served))
        found = [part for part in both if part is not None]
        pools = sorted((part for part in found if isinstance(part, PoolPlan)), key=lambda pool: pool.rank)
        moves = {plan.options.moved for plan in self.plans.values() if plan.options.moved is not None}
        return whole._replace(
            pools=tuple(pools),
            class_plans=tuple(part for part in found if isinstance(part, ClassPlan)),
            moves=tuple(sorted(moves)),
            uncompared=tuple(self.list_uncompared(first, unserved, served)),
            written={now: was for plan in self.plans.values() for now, was in plan.written.items()},
        )

    def plan_for(self, options: PlanOptions) -> _Key:
        """Compare the sides for some releases, once. Return the key of the result."""
        key = (options.release, options.kubernetes, options.moved, options.upgraded)
        if key not in self.plans:
            planner = self.planners[key] = Planner(*self.sides, options, self.unread)
            plan = self.plans[key] = planner.run()
            by_place = self.parts.setdefault(key, {})
            for part in _list_parts(plan):
                by_place.setdefault((type(part), *planner.find_place(part.pair)), part)
        return key

    def own_key(self, at: _At) -> _Key:
        """Return the key of the result for the releases of the objects at a place of each side."""
        old, new = (objs[i] if i is not None else None for i, objs in zip(at, self.written, strict=True))
        return self.plan_for(self.options_of(old, new))

    def find_own(self, key: _Key, part: PoolPlan | ClassPlan) -> PoolPlan | ClassPlan | None:
        """Return the outcome for a pool or class in the plan for the releases that files near it state.

        None for a class whose change replaces no node with another release, if the plan for its own releases does
        not have it.
        """
        at = self.planners[key].find_place(part.pair)
        own = self.parts[self.own_key(at)].get((type(part), *at))
        return part if own is None and not (isinstance(part, ClassPlan) and part.replaces_none) else own

    def find_served(self, first: _Key) -> Iterator[tuple[_Key, PoolPlan | ClassPlan]]:
        """Yield the pools and classes that the newest release does not serve, but their own releases do."""
        known = {(kind, side, n) for kind, *at in self.parts[first] for side, n in enumerate(at)}
        for key, parts in list(self.parts.items()):
            for (kind, *at), part in parts.items():
                places = [(kind, side, n) for side, n in enumerate(at) if n is not None]
                if key != first and known.isdisjoint(places) and self.own_key((at[0], at[1])) == key:
                    known.update(places)
                    yield key, part

    def list_uncompared(
        self, first: _Key, unserved: Sequence[Gap], served: Sequence[tuple[_Key, PoolPlan | ClassPlan]]
    ) -> Iterator[Gap]:
        """Yield the gaps of the plan for the newest release, and those of the parts that only other releases
        serve.
        """
        places = {
            (side, n)
            for key, part in served
            for side, n in enumerate(self.planners[key].find_place(part.pair))
            if n is not None
        }
        yield from (place for place in self.plans[first].uncompared if place not in unserved)
        yield from self.planners[first].list_unserved(places)
        own = [part.at for _, part in served]
        own += [
            part.uncompared.at for _, part in served if isinstance(part, PoolPlan) and part.uncompared is not None
        ]
        for key in dict.fromkeys(key for key, _ in served):
            yield from (place for place in self.plans[key].uncompared if place.at in own)


def _list_parts(plan: Plan) -> list[PoolPlan | ClassPlan]:
    return [*plan.pools, *plan.class_plans]
