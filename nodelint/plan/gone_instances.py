"""Plan the deletion of the objects that a removed instance of a module created; equal instances keep theirs."""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING
from nodelint.plan.launch import launch
from nodelint.plan.matching import Pair
from nodelint.plan.reasons import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nodelint.model.gap import Gap
    from nodelint.plan import Plan


def delete_gone(plan: Plan, gaps: Iterable[Gap]) -> tuple[Plan, list[Gap]]:
    """Return the plan with a deleted pool or class for each gap about a removed instance, and the remaining gaps."""
    found = list(gaps)
    pools, classes = [*plan.pools], [*plan.classes]
    made = {id(pool.pair.new) for pool in plan.pools}
    # A class that is deleted alone leaves the pools that use it, wherever they are: that is not known.
    places = {(gap.at.source.path, gap.at.start) for gap in found if gap.what == "module" and id(gap.object) in made}
    gone = [gap for gap in found if gap.what == "module" and (gap.at.source.path, gap.at.start) in places]
    for gap in gone:
        for pool in (pool for pool in plan.pools if pool.pair.new is gap.object):
            deleted = pool._replace(
                pair=Pair("removed", pool.pair.old, None),
                at=gap.at,
                verdict=Verdict("all"),
                refused=(),
                launch=launch(pool.before, None, plan.options.region),
                after=None,
                pace=None,
                effects=(),
                uncompared=None,
                roll=None,
                stopped=None,
                no_room=None,
            )
            pools.append(deleted)
        classes += [Pair("removed", pair.old, None) for pair in plan.classes if pair.new is gap.object]
    pools.sort(key=lambda pool: pool.rank)
    whole = plan._replace(pools=tuple(pools), classes=tuple(classes))
    return whole, [gap for gap in found if gap not in gone]
