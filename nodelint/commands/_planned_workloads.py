"""The workloads of both sides of a plan against the NodePools of their side."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from nodelint.commands._workloads import read_texts

if TYPE_CHECKING:
    from nodelint.commands._revisions import Read
    from nodelint.fit.tree import Tree
    from nodelint.plan import Aim
    from nodelint.plan.workloads import WorkloadChange


def workload_changes(was: Read, new: Read, aim: Aim) -> tuple[WorkloadChange, ...]:
    """The workloads that lose a pool by the change; nothing is read where a side has no pool or no workload."""
    if not was.found.workloads or not new.found.workloads:
        return ()
    trees = [_tree(side, aim) for side in (was, new)]
    if any(tree is None for tree in trees):
        return ()
    from nodelint.plan.workloads import find_workload_changes

    old_tree, new_tree = trees
    return tuple(find_workload_changes(old_tree, new_tree)) if old_tree and new_tree else ()


def _tree(side: Read, aim: Aim) -> Tree | None:
    from nodelint.fit.tree import Tree
    from nodelint.lint.context import Context
    from nodelint.model.cluster_objects import PATTERN, ClusterObject
    from nodelint.model.documents import objects
    from nodelint.model.manifest import NodePool, served
    from nodelint.source import Source

    ours = [obj for obj in side.inventory.objects() if not obj.of_cluster]
    ours += [obj for source in side.beside for obj in objects(source)]
    pools = [o for o in ours if isinstance(o, NodePool) and not o.partial and served(o, aim.release)]
    if not pools:
        return None
    context = Context(ours, aim.release, aim.kubernetes, aim.schemas, facts=aim.facts)
    texts = [(path, read_texts([path])) for path in side.found.workloads]
    sources = [Source.from_text(path.replace(os.sep, "/"), text[0], PATTERN) for path, text in texts if text]
    held = [obj for source in sources for obj in objects(source, more=True) if isinstance(obj, ClusterObject)]
    node_groups = read_texts(side.found.node_groups)
    return Tree([context.resolution(pool) for pool in pools], held, (), node_groups)
