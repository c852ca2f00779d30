"""Instance types that a newer Karpenter release excludes for a class: running nodes of these types drift.

Karpenter compares the instance type of a node with those that the pool is offered now (InstanceTypeNotFound). Source:
karpenter pkg/controllers/nodeclaim/disruption/drift.go@v1.14.1:123-150.
"""

from __future__ import annotations

from functools import cached_property

from nodelint.base.types import TYPE_CHECKING
from nodelint.karpenter.labels import natural
from nodelint.model.releases import behaves
from nodelint.plan.coverage import joined
from nodelint.plan.reasons import Reason
from nodelint.plan.stops import find_stop
from nodelint.plan.values import ValueChange
from nodelint.rule.context import Context
from nodelint.rule.target import Target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nodelint.karpenter.resolve import Resolution
    from nodelint.model.manifest import Object
    from nodelint.plan.outcome import PlanOptions
    from nodelint.plan.pool_comparison import PoolComparison
    from nodelint.plan.verdict import Sides


class LeftOutTypes:
    """Finds the instance types that a new Karpenter excludes from a pool. `objects` are those of the old side."""

    def __init__(self, options: PlanOptions, objects: Sequence[Object]) -> None:
        self._options = options
        self._objects = objects

    @cached_property
    def _before(self) -> Context:
        options = self._options
        target = Target(options.old_release, options.old_kubernetes, options.schemas, options.old_facts)
        return Context(self._objects, target)

    def add(self, done: PoolComparison, sides: Sides, after: Resolution) -> PoolComparison:
        """Return the comparison of a pool with the types that its class does not offer in the new release as a reason
        for drift.

        `after` is what the pool of the old side can launch in the new release.
        """
        is_moved = self._options.upgraded is not None and behaves("type-drift", self._options.release)
        pool = sides.pool
        if not is_moved or sides.node_class is None:
            return done
        before = self._before.resolution(pool)
        offered = set(before.catalog.names_in(before.launchable))
        gone = offered - set(after.catalog.names_in(after.alive))
        if not gone:
            return done
        at = pool.requirements_node or pool.name_node
        change = ValueChange("", "", removed=tuple(sorted(gone, key=natural)))
        reason = Reason("InstanceTypeNotFound", at, at.path, "all" if gone == offered else "some", change)
        found = done.found._replace(reasons=(*done.found.reasons, reason))
        found = found._replace(replaced=joined((found.replaced, reason.covered)))
        return done._replace(found=found, stopped_before=find_stop(before), stopped=done.stopped or find_stop(after))
