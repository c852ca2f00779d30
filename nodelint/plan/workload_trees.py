"""The workloads of both sides of a plan, compared with the NodePools of their side."""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING
from nodelint.forms.registry import TABLE
from nodelint.lint.workloads import read_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence, Set

    from nodelint.files.folders import Discovery
    from nodelint.fit.tree import Tree
    from nodelint.inventory import Inventory
    from nodelint.karpenter.resolve import Resolution
    from nodelint.model.cluster_objects import ClusterObject
    from nodelint.plan import Plan, PlanOptions
    from nodelint.plan.read_side import Read
    from nodelint.plan.workloads import WorkloadChange

    Discover = Callable[[Sequence[str], str], Discovery]
    """A function that returns the files in some paths that a pattern matches."""


def trees_of(
    sides: tuple[Read, Read], absent: Set[int], options: PlanOptions, discover: Discover
) -> tuple[Tree, Tree] | None:
    """Return the workloads and pools of both sides. None, without reading workloads, if a side has no pool or no
    workload.

    `absent` are the ids of objects that Terraform does not create on their side.
    """
    if not all(side.found.workloads for side in sides):
        return None
    from nodelint.files.gate import OpenedFiles
    from nodelint.fit.other_capacity import OtherCapacity
    from nodelint.fit.tree import Tree
    from nodelint.plan.same_workloads import have_same_workloads, move_objects

    resolutions = [_resolve_pools(side, absent, options) for side in sides]
    if not all(resolutions):
        return None
    was, new = sides
    TABLE.forget()  # what forms have kept of files is read again, so that it is known which files these are
    with OpenedFiles() as opened:
        built = build_side(new, discover)
    of_new = _list_objects(built)
    # The old side is rendered again only if anything differs on which a workload may depend.
    is_same = have_same_workloads(was, new, built, opened)
    of_old = move_objects(of_new, new.root, was.root) if is_same else _list_objects(build_side(was, discover))
    old_tree, new_tree = (
        Tree(pools, found, other_capacity=OtherCapacity(read_texts(side.found.node_groups)))
        for side, pools, found in zip(sides, resolutions, (of_old, of_new), strict=True)
    )
    return old_tree, new_tree


def workload_changes(
    sides: tuple[Read, Read], trees: tuple[Tree, Tree] | None, plan: Plan
) -> tuple[WorkloadChange, ...]:
    """Return the workloads that lose a pool by the change."""
    if trees is None:
        return ()
    from nodelint.plan.sides import place_below
    from nodelint.plan.workloads import find_workload_changes

    old_tree, new_tree = trees
    places: dict[int, str] = {}
    stopped = _list_stopped(plan)
    refused = (pool.pair.new for pool in plan.pools if pool.refused and pool.pair.old is not None)
    held_ids = frozenset(id(plan.written.get(id(pool), pool)) for pool in refused)
    for side, tree in zip(sides, trees, strict=True):
        places |= {id(obj): place_below(obj, side.root) for obj in tree.workloads}
        places |= {id(pool.pool): place_below(pool.pool, side.root) for pool in tree.pools}
    return tuple(find_workload_changes(old_tree, new_tree, lambda obj: places[id(obj)], stopped, held_ids))


def _list_stopped(plan: Plan) -> frozenset[int]:
    """Return the ids of the pools of the new side that can launch nothing because their class is gone or refused."""
    pools = (pool.pair.new for pool in plan.pools if pool.stopped is not None and pool.stopped.of_class)
    return frozenset(id(plan.written.get(id(pool), pool)) for pool in pools)


def list_never_used(plan: Plan) -> frozenset[int]:
    """Return the ids of the new pools that can launch nothing: no node of them takes pods. Empty if there are no
    others, because workloads are compared with at least one pool.
    """
    there = [pool.pair.new for pool in plan.pools if pool.pair.new is not None]
    old = {id(plan.written.get(id(pool.pair.new), pool.pair.new)) for pool in plan.pools if pool.change != "added"}
    found = _list_stopped(plan) - old
    return found if len(found) < len(there) else frozenset()


def _resolve_pools(side: Read, absent: Set[int], options: PlanOptions) -> list[Resolution]:
    """Return, for each pool of a side that accepts pods, the instance types that it can launch."""
    from nodelint.model.documents import objects
    from nodelint.model.manifest import NodePool, served
    from nodelint.rule.context import Context
    from nodelint.rule.target import Target

    ours = [obj for obj in side.inventory.objects() if not obj.of_cluster and id(obj) not in absent]
    ours += [obj for source in side.beside for obj in objects(source)]
    pools = [o for o in ours if isinstance(o, NodePool) and not o.partial and served(o, options.release)]
    context = Context(ours, Target(options.release, options.kubernetes, options.schemas, options.facts))
    return [context.resolution(pool) for pool in pools]


def build_side(side: Read, discover: Discover) -> Inventory:
    """Return the inventory of a side with the workloads that overlays and charts render: files that do not name
    Karpenter are read for this.
    """
    from nodelint.inventory import build_found
    from nodelint.model.cluster_objects import PATTERN_WITH_SCALERS

    return build_found(discover(side.paths, PATTERN_WITH_SCALERS))


def _list_objects(inventory: Inventory) -> list[ClusterObject]:
    from nodelint.model.cluster_objects import ClusterObject
    from nodelint.model.documents import objects

    found = (obj for source in inventory.sources for obj in objects(source, more=True))
    return [obj for obj in found if isinstance(obj, ClusterObject)]


def plan_with_cost(plan: Plan, trees: tuple[Tree, Tree] | None) -> Plan:
    """Return the plan with the effect on the cost: of pools, and of the workloads of both sides if these are
    known.
    """
    from nodelint.plan.cost import PoolSides, cost_of_plan

    before = after = None
    if trees is not None and not _are_alike(plan, trees):
        from nodelint.fit.cost import cost_of

        before, after = (cost_of(tree, [tree.fit(workload) for workload in tree.workloads]) for tree in trees)
    facts = plan.options.facts.region
    pools = [PoolSides(pool.name, None if pool.had_no_class else pool.before, pool.after) for pool in plan.pools]
    return plan._replace(cost=cost_of_plan(pools, before, after, facts.name if facts is not None else None))


def _are_alike(plan: Plan, trees: tuple[Tree, Tree]) -> bool:
    """Return whether no pool changes what it can launch, and no text of a workload, its scaler or its volume
    changes: a pool whose update is refused may stand in the same file.
    """
    old, new = (sorted({obj.source.text[obj.node.start : obj.node.end] for obj in tree.objects}) for tree in trees)
    return old == new and all(pool.before is pool.after for pool in plan.pools)
