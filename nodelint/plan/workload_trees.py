"""The workloads of both sides of a plan against the NodePools of their side."""

from __future__ import annotations

from nodelint.lint.workloads import read_texts

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence, Set

    from nodelint.files.discover import Discovery
    from nodelint.fit.tree import Tree
    from nodelint.plan import PlanOptions
    from nodelint.plan.read_side import Read
    from nodelint.plan.workloads import WorkloadChange

    Discover = Callable[[Sequence[str], str], Discovery]
    """What gives the files of some paths that hold what a pattern finds."""


def workload_changes(
    sides: tuple[Read, Read],
    absent: Set[int],
    options: PlanOptions,
    discover: Callable[[Sequence[str], str], Discovery],
) -> tuple[WorkloadChange, ...]:
    """The workloads that lose a pool by the change; nothing is read where a side has no pool or no workload.

    `absent` are the ids of objects that Terraform does not make on their side.
    """
    if not all(side.found.workloads for side in sides):
        return ()
    trees = [_tree(side, absent, options, discover) for side in sides]
    if any(tree is None for tree in trees):
        return ()
    from nodelint.plan.sides import place_below
    from nodelint.plan.workloads import find_workload_changes

    old_tree, new_tree = trees
    if old_tree is None or new_tree is None:
        return ()
    places: dict[int, str] = {}
    for side, tree in zip(sides, (old_tree, new_tree), strict=True):
        places |= {id(obj): place_below(obj, side.root) for obj in tree.workloads}
        places |= {id(pool.pool): place_below(pool.pool, side.root) for pool in tree.pools}
    return tuple(find_workload_changes(old_tree, new_tree, lambda obj: places[id(obj)]))


def _tree(side: Read, absent: Set[int], options: PlanOptions, discover: Discover) -> Tree | None:
    from nodelint.fit.tree import Tree
    from nodelint.inventory import read_inventory
    from nodelint.model.cluster_objects import PATTERN, ClusterObject
    from nodelint.model.documents import objects
    from nodelint.model.manifest import NodePool, served
    from nodelint.rule.context import Context
    from nodelint.rule.target import Target

    ours = [obj for obj in side.inventory.objects() if not obj.of_cluster and id(obj) not in absent]
    ours += [obj for source in side.beside for obj in objects(source)]
    pools = [o for o in ours if isinstance(o, NodePool) and not o.partial and served(o, options.release)]
    if not pools:
        return None
    context = Context(ours, Target(options.release, options.kubernetes, options.schemas, options.facts))
    # What overlays and charts make of workloads, too: files without the word of Karpenter's are read for it.
    more = read_inventory(discover(side.paths, PATTERN))
    cluster_objects = [
        o for source in more.sources for o in objects(source, more=True) if isinstance(o, ClusterObject)
    ]
    node_groups = read_texts(side.found.node_groups)
    return Tree([context.resolution(pool) for pool in pools], cluster_objects, (), node_groups)
